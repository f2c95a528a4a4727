/* SPDX-License-Identifier: GPL-2.0 */
/* What is simulated: GPUs, rings, processes and queues, named to the host. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim.h"

/** struct kind - rings of one kind; @load: percent busy, @weight: share of the jobs */
struct kind {
	const char *name;
	enum gt_engine engine;
	unsigned int weight, load;
	bool queues;
};

static const struct kind kinds[] = {
	{ "gfx", GT_ENGINE_GRAPHICS, 4, 60, false },
	{ "comp_1.0.", GT_ENGINE_COMPUTE, 2, 45, true },
	{ "sdma", GT_ENGINE_COPY, 2, 30, false },
	{ "vcn_dec", GT_ENGINE_VIDEO_DECODE, 1, 20, false },
	{ "vcn_enc", GT_ENGINE_VIDEO_ENCODE, 1, 20, false },
};

/* The kinds of a GPU's rings in order, again from COMP0 on where there are more. */
static const uint8_t layout[] = { 0, 1, 1, 2, 3, 4 };
#define COMP0 1

static const struct kind *kind_of(unsigned int ring)
{
	const unsigned int n = sizeof(layout);

	return &kinds[layout[ring < n ? ring : COMP0 + (ring - COMP0) % (n - COMP0)]];
}

static void name_ring(unsigned int ring, char *buf, size_t len)
{
	const struct kind *k = kind_of(ring);
	unsigned int nth = 0;

	for (unsigned int i = 0; i < ring; i++)
		nth += kind_of(i) == k;
	if (k == &kinds[0])
		snprintf(buf, len, "%s", k->name);
	else
		snprintf(buf, len, "%s%u", k->name, nth);
}

static int init_rings(struct gt_sim_world *w, struct gt_plugin *p, unsigned int g)
{
	char dev[32];
	struct gt_gpu_desc desc = { .driver = "sim", .dev = dev, .minor = -1 };
	uint16_t gpu;

	snprintf(dev, sizeof(dev), "sim:%u", g);
	gpu = p->host->gpu(p, &desc);
	if (gpu == GT_NONE16)
		return -ENOSPC;
	for (unsigned int i = 0; i < w->nrings; i++) {
		struct gt_sim_ring *r = &w->rings[g * w->nrings + i];
		const struct kind *k = kind_of(i);

		name_ring(i, r->name, sizeof(r->name));
		r->gpu = gpu;
		r->id = p->host->ring(p, gpu, r->name, k->engine);
		if (r->id == GT_NONE16)
			return -ENOSPC;
		r->weight = k->weight;
		r->load = k->load;
		r->queues = k->queues;
		if (!g)
			w->weights += k->weight;
	}
	return 0;
}

static void init_procs(struct gt_sim_world *w, struct gt_plugin *p, const struct gt_sim_options *o,
		       uint64_t t0)
{
	static const char *const comms[] = { "game",	"render", "train",   "infer",
					     "decoder", "encode", "browser", "compositor" };
	const unsigned int n = sizeof(comms) / sizeof(comms[0]);

	for (unsigned int i = 0; i < w->nprocs; i++) {
		struct gt_sim_proc *q = &w->procs[i];
		union gt_record r;

		q->pid = GT_SIM_FIRST_PID + i;
		q->uid = (uint32_t)o->first_uid + i % (unsigned int)o->users;
		snprintf(q->comm, sizeof(q->comm), i < n ? "%s" : "%s-%u", comms[i % n], i / n);
		gt_record_init(&r, t0, GT_PROCESS);
		r.process.start = t0;
		r.process.pid = q->pid;
		r.process.uid = q->uid;
		memcpy(r.process.comm, q->comm, sizeof(r.process.comm));
		r.process.reserved = 0;
		p->host->push(p, &r, 1);
	}
}

void gt_sim_queue_new(struct gt_sim_world *w, unsigned int gpu, unsigned int proc)
{
	struct gt_sim_queue *q = &w->queues[gpu * w->nprocs + proc];

	q->id = ++w->last_queue;
	q->mapped = true;
}

void gt_sim_queue_record(const struct gt_sim_world *w, unsigned int gpu, unsigned int proc,
			 uint64_t ts, enum gt_type type, union gt_record *r)
{
	gt_record_init(r, ts, type);
	r->ev.gpu = w->rings[gpu * w->nrings].gpu;
	r->ev.pid = r->ev.tid = w->procs[proc].pid;
	r->ev.uid = w->procs[proc].uid;
	r->ev.queue = w->queues[gpu * w->nprocs + proc].id;
}

void gt_sim_queue_desc(const struct gt_sim_world *w, unsigned int gpu, unsigned int proc,
		       uint64_t ts, union gt_record *r)
{
	gt_record_init(r, ts, GT_QUEUE);
	r->queue.gpu = w->rings[gpu * w->nrings].gpu;
	r->queue.queue = w->queues[gpu * w->nprocs + proc].id;
	r->queue.pid = w->procs[proc].pid;
	r->queue.uid = w->procs[proc].uid;
	r->queue.engine = GT_ENGINE_COMPUTE;
	if (proc % 4) { /* as NVIDIA's driver has them */
		r->queue.kind = GT_QUEUE_TSG;
		r->queue.runlist = 0;
		r->queue.channels = 8;
		r->queue.timeslice_us = 1024;
		r->queue.interleave = 1;
	} else { /* as KFD does */
		r->queue.kind = GT_QUEUE_COMPUTE;
		r->queue.priority = 7;
		r->queue.size = 1 << 20;
	}
}

/* Every second process has a queue on each GPU that has compute rings: in turn of either kind. */
static void init_queues(struct gt_sim_world *w)
{
	bool any = false;

	for (unsigned int i = 0; i < w->nrings; i++)
		any |= w->rings[i].queues;
	for (unsigned int i = 0; any && i < w->ngpus * w->nprocs; i++)
		if (i % w->nprocs % 2 == 0)
			gt_sim_queue_new(w, i / w->nprocs, i % w->nprocs);
}

int gt_sim_world_init(struct gt_sim_world *w, struct gt_plugin *p, const struct gt_sim_options *o,
		      uint64_t t0)
{
	size_t nrings = (size_t)(o->gpus * o->rings);
	int ret = 0;

	w->ngpus = (unsigned int)o->gpus;
	w->nrings = (unsigned int)o->rings;
	w->nprocs = (unsigned int)o->procs;
	w->rings = calloc(nrings, sizeof(*w->rings));
	w->procs = calloc(w->nprocs, sizeof(*w->procs));
	w->queues = calloc((size_t)w->ngpus * w->nprocs, sizeof(*w->queues));
	w->seqno = calloc(nrings * w->nprocs, sizeof(*w->seqno));
	if (!w->rings || !w->procs || !w->queues || !w->seqno)
		return -ENOMEM;
	for (unsigned int g = 0; !ret && g < w->ngpus; g++)
		ret = init_rings(w, p, g);
	if (ret)
		return ret;
	init_procs(w, p, o, t0);
	init_queues(w);
	return 0;
}

void gt_sim_world_free(struct gt_sim_world *w)
{
	free(w->rings);
	free(w->procs);
	free(w->queues);
	free(w->seqno);
}

void gt_sim_world_load(struct gt_sim_world *w, uint64_t jobs_per_s)
{
	const uint64_t longest = 20000000, shortest = 200;

	for (unsigned int i = 0; i < w->ngpus * w->nrings; i++) {
		struct gt_sim_ring *r = &w->rings[i];
		uint64_t own = jobs_per_s * r->weight; /* x weights x GPUs */
		uint64_t mean = longest;

		if (own)
			mean = r->load * 10000000ull * w->weights * w->ngpus / own;
		r->mean = mean > longest ? longest : mean < shortest ? shortest : mean;
	}
}
