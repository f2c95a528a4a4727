/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The simulation. Events to come wait in a heap by time. Each ring works on its jobs in order, so the
 * whole course of a job is known when it is submitted: it is handed over when the ring's hardware has
 * room, and starts when the job before has ended.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <syslog.h>
#include <unistd.h>

#include "../lib/heap.h"
#include "sim.h"

enum step { STEP_SUBMIT, STEP_COMMIT, STEP_START, STEP_END, STEP_COMPLETE, STEPS };

/**
 * struct job - one job; all its times are known when it is submitted
 * @at: ns, for each step; START and END without `measured` are as a reader would infer them
 * @emitted: a bit for each step that was pushed
 * @failed: an ERROR comes with its end
 * @waiting: a SYNC_WAIT_EXIT is still to come
 * @wait: when its process began to wait for it, 0 never
 */
struct job {
	uint64_t at[STEPS];
	uint64_t ctx, seqno;
	uint32_t pid, uid, queue;
	uint16_t proc, gpu, ring;
	uint8_t emitted;
	bool failed;
	bool waiting;
	uint64_t wait;
};

/** struct ring - @ends: completions of the last jobs handed over, by number modulo the depth */
struct ring {
	uint16_t gpu, id;    /* the host's numbers */
	unsigned int weight; /* share of the jobs */
	unsigned int load;   /* percent of the time that it is to be busy */
	bool queues;	     /* its jobs come from user queues */
	char name[40];
	uint64_t mean;			/* of a job's execution, ns */
	uint64_t commit, end, complete; /* of the last job */
	uint64_t ends[GT_SIM_HW_DEPTH];
	uint64_t first, next; /* jobs in flight: numbers first .. next-1 */
	struct job jobs[GT_SIM_INFLIGHT];
};

/** struct queue - a process's compute queue on a GPU */
struct queue {
	uint32_t id;
	uint32_t inflight;
	bool mapped;
	bool renew; /* its owner makes another one once no job is in it */
};

struct proc {
	uint32_t pid, uid;
	char comm[16];
};

/** struct world - rings[gpu * nrings + ring], queues[gpu * nprocs + proc], seqno[ring][proc]
 */
struct world {
	unsigned int ngpus, nrings, nprocs;
	unsigned int weights; /* of the rings of one GPU */
	struct ring *rings;
	struct proc *procs;
	struct queue *queues;
	uint64_t *seqno;
	uint32_t last_queue;
};

/* Random numbers, without libm: xorshift64* (S. Vigna, 2014) and two distributions ------------- */

/* 64 random bits; *@state must not be 0 */
static uint64_t random_bits(uint64_t *state)
{
	uint64_t x = *state;

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	*state = x;
	return x * 0x2545f4914f6cdd1dull;
}

/*
 * -ln(u) for u = (v + 1) / 2^64, without libm: u = m * 2^-k with 1 <= m < 2, and
 * ln m = 2 * atanh(z) with z = (m - 1) / (m + 1) <= 1/3, of which five terms give six digits.
 */
static double minus_ln(uint64_t v)
{
	int k = v ? __builtin_clzll(v) + 1 : 64;
	double m = v ? (double)v / (double)(1ull << (64 - k)) : 1;
	double z = (m - 1) / (m + 1), zz = z * z;
	double ln = 2 * z * (1 + zz * (1.0 / 3 + zz * (0.2 + zz * (1.0 / 7 + zz / 9))));

	return k * 0.69314718055994531 - ln;
}

/* Exponentially distributed, of mean @mean; at least 1 */
static uint64_t draw_exponential(uint64_t *state, uint64_t mean)
{
	return (uint64_t)(minus_ln(random_bits(state)) * (double)mean) + 1;
}

/*
 * Close to lognormal, of mean @mean, from about an eighth to six times it: 2^x with x the sum of four
 * uniform numbers, about normal with a deviation of 0.8. Between powers of two, 2^x is linear.
 */
static uint64_t draw_duration(uint64_t *state, uint64_t mean)
{
	uint64_t v = random_bits(state);
	unsigned int sum = (v & 0xffff) + (v >> 16 & 0xffff) + (v >> 32 & 0xffff) + (v >> 48);
	/* x = (sum / 65536 - 2) * 1.386 + 2.772, in 1/1024: 0 to 5.54 */
	unsigned int x = (unsigned int)((uint64_t)sum * 1419 >> 16);
	uint64_t pow = (1024ull + (x & 1023)) << (x >> 10);

	/* The mean of pow is 8471, as measured. */
	return mean * pow / 8471 + 1;
}

/* The ground truth --------------------------------------------------------------------------- */

/*
 * One CSV row per job, once it is complete or the simulation ends, and a row
 * "#TYPE,ts,gpu,ring,ctx,seqno,pid,queue,value" for every other event. What has not been pushed, or is
 * not known, is empty.
 */
struct gt_sim_truth {
	FILE *f;
};

static const char header[] = "gpu,ring,ring_name,ctx,seqno,pid,uid,comm,submit,commit,start,end,"
			     "complete,queue,hw_wait,exec,complete_ns,total\n";

struct gt_sim_truth *gt_sim_truth_open(struct gt_plugin *p, const char *path)
{
	struct gt_sim_truth *t = calloc(1, sizeof(*t));
	int fd = p->host->file(p, GT_FILE_OPEN, path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK);
	struct stat st;

	errno = fd < 0 ? -fd : 0;
	if (fd >= 0 && (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || ftruncate(fd, 0) < 0)) {
		close(fd);
		fd = -1;
		errno = EINVAL;
	}
	if (t && fd >= 0)
		t->f = fdopen(fd, "w");
	if (t && t->f) {
		fputs(header, t->f);
		return t;
	}
	p->host->log(p, LOG_WARNING, "ground truth %s: %s", path, strerror(errno));
	if (fd >= 0)
		close(fd);
	free(t);
	return NULL;
}

static void put(FILE *f, bool known, uint64_t v)
{
	if (known)
		fprintf(f, ",%" PRIu64, v);
	else
		putc(',', f);
}

static bool emitted(const struct job *j, enum step s)
{
	return j->emitted & 1u << s;
}

static void truth_job(struct gt_sim_truth *t, const struct job *j, const char *ring_name,
		      const char *comm, bool measured)
{
	const uint64_t *at = j->at;
	bool done = emitted(j, STEP_COMPLETE);
	bool commit = emitted(j, STEP_COMMIT);

	if (!t)
		return;
	fprintf(t->f, "%u,%u,%s,%" PRIu64 ",%" PRIu64 ",%u,%u,%s", j->gpu, j->ring, ring_name,
		j->ctx, j->seqno, j->pid, j->uid, comm);
	for (unsigned int s = 0; s < STEPS; s++)
		put(t->f, emitted(j, s), at[s]);
	put(t->f, commit, at[STEP_COMMIT] - at[STEP_SUBMIT]);
	put(t->f, measured ? emitted(j, STEP_START) : done, at[STEP_START] - at[STEP_COMMIT]);
	put(t->f, measured ? emitted(j, STEP_END) : done, at[STEP_END] - at[STEP_START]);
	put(t->f, measured && done, at[STEP_COMPLETE] - at[STEP_END]);
	put(t->f, done, at[STEP_COMPLETE] - at[STEP_SUBMIT]);
	putc('\n', t->f);
}

static void truth_event(struct gt_sim_truth *t, const union gt_record *r)
{
	static const char *const names[] = GT_TYPE_NAMES;
	const struct gt_event *e = &r->ev;

	if (!t || e->type >= GT_NTYPES)
		return;
	fprintf(t->f, "#%s", names[e->type]);
	put(t->f, true, e->ts);
	put(t->f, e->gpu != GT_NONE16, e->gpu);
	put(t->f, e->ring != GT_NONE16, e->ring);
	put(t->f, e->ctx != GT_NONE64, e->ctx);
	put(t->f, e->seqno != GT_NONE64, e->seqno);
	put(t->f, e->pid != GT_NONE32, e->pid);
	put(t->f, e->queue != GT_NONE32, e->queue);
	put(t->f, e->value != GT_NONE64, e->value);
	putc('\n', t->f);
}

static void truth_flush(struct gt_sim_truth *t)
{
	if (t)
		fflush(t->f);
}

static void truth_close(struct gt_sim_truth *t)
{
	if (!t)
		return;
	fclose(t->f);
	free(t);
}

/* The simulated machine ---------------------------------------------------------------------- */

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

/* The kinds of a GPU's rings in order; more rings start again from COMP0. */
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

static int init_rings(struct world *w, struct gt_plugin *p, unsigned int g)
{
	char dev[32];
	struct gt_gpu_desc desc = { .driver = "sim", .dev = dev, .minor = -1 };
	uint16_t gpu;

	snprintf(dev, sizeof(dev), "sim:%u", g);
	gpu = p->host->gpu(p, &desc);
	if (gpu == GT_NONE16)
		return -ENOSPC;
	for (unsigned int i = 0; i < w->nrings; i++) {
		struct ring *r = &w->rings[g * w->nrings + i];
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

#define STARTED 1000000000ULL /* ns since boot: after a pause the processes are the same */

static void init_procs(struct world *w, struct gt_plugin *p, const struct gt_sim_options *o,
		       uint64_t t0)
{
	static const char *const comms[] = { "game",	"render", "train",   "infer",
					     "decoder", "encode", "browser", "compositor" };
	const unsigned int n = sizeof(comms) / sizeof(comms[0]);

	for (unsigned int i = 0; i < w->nprocs; i++) {
		struct proc *q = &w->procs[i];
		union gt_record r;

		q->pid = GT_SIM_FIRST_PID + i;
		q->uid = (uint32_t)o->first_uid + i % (unsigned int)o->users;
		snprintf(q->comm, sizeof(q->comm), i < n ? "%s" : "%s-%u", comms[i % n], i / n);
		gt_record_init(&r, t0, GT_PROCESS);
		r.process.start = STARTED;
		r.process.pid = q->pid;
		r.process.uid = q->uid;
		memcpy(r.process.comm, q->comm, sizeof(r.process.comm));
		r.process.reserved = 0;
		p->host->push(p, &r, 1);
	}
}

static void new_queue(struct world *w, unsigned int gpu, unsigned int proc)
{
	struct queue *q = &w->queues[gpu * w->nprocs + proc];

	q->id = ++w->last_queue;
	q->mapped = true;
}

static void queue_record(const struct world *w, unsigned int gpu, unsigned int proc, uint64_t ts,
			 enum gt_type type, union gt_record *r)
{
	gt_record_init(r, ts, type);
	r->ev.gpu = w->rings[gpu * w->nrings].gpu;
	r->ev.pid = r->ev.tid = w->procs[proc].pid;
	r->ev.uid = w->procs[proc].uid;
	r->ev.queue = w->queues[gpu * w->nprocs + proc].id;
}

static void queue_desc(const struct world *w, unsigned int gpu, unsigned int proc, uint64_t ts,
		       union gt_record *r)
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

/* Every second process has a queue on each GPU with compute rings, of either kind in turn. */
static void init_queues(struct world *w)
{
	bool any = false;

	for (unsigned int i = 0; i < w->nrings; i++)
		any |= w->rings[i].queues;
	for (unsigned int i = 0; any && i < w->ngpus * w->nprocs; i++)
		if (i % w->nprocs % 2 == 0)
			new_queue(w, i / w->nprocs, i % w->nprocs);
}

static int world_init(struct world *w, struct gt_plugin *p, const struct gt_sim_options *o,
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

static void world_free(struct world *w)
{
	free(w->rings);
	free(w->procs);
	free(w->queues);
	free(w->seqno);
}

static void world_set_load(struct world *w, uint64_t jobs_per_s)
{
	const uint64_t longest = 20000000, shortest = 200;

	for (unsigned int i = 0; i < w->ngpus * w->nrings; i++) {
		struct ring *r = &w->rings[i];
		uint64_t own = jobs_per_s * r->weight; /* x weights x GPUs */
		uint64_t mean = longest;

		if (own)
			mean = r->load * 10000000ull * w->weights * w->ngpus / own;
		r->mean = mean > longest ? longest : mean < shortest ? shortest : mean;
	}
}

/* The simulation ----------------------------------------------------------------------------- */

#define OUT 256 /* records pushed at a time */

/* After the steps of a job, see enum step */
enum { WAIT_ENTER = STEPS, WAIT_EXIT, FAULT, QUEUE_UNMAP, QUEUE_MAP, QUEUE_RENEW };

/**
 * struct pending - an event to come
 * @seq: of two events at the same time the one planned first comes first
 * @n: number of the job; of a queue: its process
 * @ring: index in world.rings; of a queue: its GPU
 * @what: enum step, or one of those above
 */
struct pending {
	uint64_t ts, seq, n;
	uint32_t ring;
	uint32_t what;
};

struct gt_sim {
	struct gt_plugin *p;
	struct world w;
	struct gt_sim_truth *truth;
	bool measured, paused;
	uint64_t rng, gap, next_submit; /* ns between jobs; 0: none */
	uint64_t limit, submitted, refused, completed;
	struct pending *heap;
	size_t nheap, cap;
	uint64_t seq;
	union gt_record out[OUT];
	unsigned int nout;
	int pushed;
};

static bool earlier(const struct pending *a, const struct pending *b)
{
	return a->ts != b->ts ? a->ts < b->ts : a->seq < b->seq;
}

/* The heap has room for all events of jobs in flight and queues, see gt_sim_new(). */
static void plan(struct gt_sim *s, uint64_t ts, unsigned int what, uint32_t ring, uint64_t n)
{
	if (s->nheap == s->cap)
		return;
	s->heap[s->nheap] =
		(struct pending){ .ts = ts, .seq = s->seq++, .n = n, .ring = ring, .what = what };
	GT_HEAP_RISE(s->heap, s->nheap, earlier);
	s->nheap++;
}

static struct pending pop(struct gt_sim *s)
{
	struct pending top = s->heap[0];

	s->heap[0] = s->heap[--s->nheap];
	if (s->nheap)
		GT_HEAP_SINK(s->heap, s->nheap, 0, earlier);
	return top;
}

static void flush(struct gt_sim *s)
{
	if (s->nout)
		s->p->host->push(s->p, s->out, s->nout);
	s->pushed += (int)s->nout;
	s->nout = 0;
}

static union gt_record *next_out(struct gt_sim *s)
{
	if (s->nout == OUT)
		flush(s);
	return &s->out[s->nout++];
}

static union gt_record *emit_job(struct gt_sim *s, const struct job *j, uint64_t ts,
				 enum gt_type type)
{
	union gt_record *r = next_out(s);

	gt_record_init(r, ts, type);
	r->ev.cpu = j->proc % 4;
	r->ev.gpu = j->gpu;
	r->ev.ring = j->ring;
	r->ev.ctx = j->ctx;
	r->ev.seqno = j->seqno;
	r->ev.pid = r->ev.tid = j->pid;
	r->ev.uid = j->uid;
	r->ev.queue = j->queue;
	return r;
}

static void emit_step(struct gt_sim *s, struct job *j, enum step step)
{
	static const uint8_t types[] = { GT_SUBMIT, GT_COMMIT, GT_START, GT_END, GT_COMPLETE };

	emit_job(s, j, j->at[step], types[step]);
	j->emitted |= (uint8_t)(1u << step);
}

static void emit_other(struct gt_sim *s, const struct job *j, uint64_t ts, enum gt_type type,
		       uint64_t value)
{
	union gt_record *r = emit_job(s, j, ts, type);

	r->ev.value = value;
	truth_event(s->truth, r);
}

static void emit_queue(struct gt_sim *s, unsigned int gpu, unsigned int proc, uint64_t ts,
		       enum gt_type type)
{
	union gt_record *r = next_out(s);

	queue_record(&s->w, gpu, proc, ts, type, r);
	truth_event(s->truth, r);
}

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* Sets all times of job number @n of the ring, submitted at @t. */
static void fix_times(struct gt_sim *s, struct ring *r, uint64_t n, uint64_t t)
{
	uint64_t *at = r->jobs[n % GT_SIM_INFLIGHT].at;
	uint64_t ready = later(t + draw_duration(&s->rng, 4000), r->commit);
	uint64_t launch = s->measured ? draw_duration(&s->rng, 1000) : 0;
	uint64_t notice = s->measured ? draw_duration(&s->rng, 3000) : 0;

	at[STEP_SUBMIT] = t;
	at[STEP_COMMIT] = later(ready, r->ends[n % GT_SIM_HW_DEPTH]);
	at[STEP_START] = later(at[STEP_COMMIT] + launch, r->end);
	at[STEP_END] = at[STEP_START] + draw_duration(&s->rng, r->mean);
	at[STEP_COMPLETE] = later(at[STEP_END] + notice, r->complete);
	r->commit = at[STEP_COMMIT];
	r->end = at[STEP_END];
	r->complete = r->ends[n % GT_SIM_HW_DEPTH] = at[STEP_COMPLETE];
}

static void plan_job(struct gt_sim *s, uint32_t ring, uint64_t n)
{
	struct job *j = &s->w.rings[ring].jobs[n % GT_SIM_INFLIGHT];
	uint64_t luck = random_bits(&s->rng);

	plan(s, j->at[STEP_COMMIT], STEP_COMMIT, ring, n);
	if (s->measured) {
		plan(s, j->at[STEP_START], STEP_START, ring, n);
		plan(s, j->at[STEP_END], STEP_END, ring, n);
	}
	j->failed = luck % 4096 == 0;
	if (j->failed)
		plan(s, j->at[STEP_COMPLETE], FAULT, ring, n);
	plan(s, j->at[STEP_COMPLETE], STEP_COMPLETE, ring, n);
	j->wait = luck >> 16 & 63 ? 0 : j->at[STEP_SUBMIT] + 500;
	j->waiting = j->wait && j->wait < j->at[STEP_COMPLETE];
	if (j->waiting) {
		plan(s, j->wait, WAIT_ENTER, ring, n);
		plan(s, j->at[STEP_COMPLETE] + draw_duration(&s->rng, 2000), WAIT_EXIT, ring, n);
	}
}

static struct queue *queue_of(struct gt_sim *s, unsigned int gpu, unsigned int proc)
{
	return &s->w.queues[gpu * s->w.nprocs + proc];
}

/* Sometimes the scheduler takes a queue off the hardware, or its owner makes a new one. */
static void disturb_queue(struct gt_sim *s, unsigned int gpu, unsigned int proc, uint64_t t)
{
	uint64_t luck = random_bits(&s->rng);

	if (luck % 512 == 0)
		plan(s, t + 20000, QUEUE_UNMAP, gpu, proc);
	else if (luck % 512 == 1)
		queue_of(s, gpu, proc)->renew = true;
}

static uint32_t draw_ring(struct gt_sim *s, unsigned int gpu, uint64_t luck)
{
	unsigned int w = (unsigned int)(luck % s->w.weights), i = 0;

	for (; w >= s->w.rings[i].weight; i++)
		w -= s->w.rings[i].weight;
	return gpu * s->w.nrings + i;
}

static void fill_job(struct gt_sim *s, struct job *j, uint32_t ring, unsigned int proc)
{
	size_t ctx = (size_t)ring * s->w.nprocs + proc;

	memset(j, 0, sizeof(*j));
	j->ctx = ctx + 1;
	j->seqno = ++s->w.seqno[ctx];
	j->pid = s->w.procs[proc].pid;
	j->uid = s->w.procs[proc].uid;
	j->proc = (uint16_t)proc;
	j->gpu = s->w.rings[ring].gpu;
	j->ring = s->w.rings[ring].id;
	j->queue = GT_NONE32;
}

static void submit(struct gt_sim *s, uint64_t t)
{
	uint64_t luck = random_bits(&s->rng);
	unsigned int gpu = (luck >> 8 & 0xffff) % s->w.ngpus;
	unsigned int proc = (luck >> 24 & 0xffff) % s->w.nprocs;
	uint32_t ring = draw_ring(s, gpu, luck >> 40);
	struct ring *r = &s->w.rings[ring];
	struct job *j = &r->jobs[r->next % GT_SIM_INFLIGHT];
	struct queue *q = queue_of(s, gpu, proc);

	/* a full ring accepts no job */
	if (r->next - r->first == GT_SIM_INFLIGHT || j->waiting) {
		s->refused++;
		return;
	}
	fill_job(s, j, ring, proc);
	if (r->queues && q->id) {
		j->queue = q->id;
		q->inflight++;
		disturb_queue(s, gpu, proc, t);
	}
	fix_times(s, r, r->next, t);
	emit_step(s, j, STEP_SUBMIT);
	plan_job(s, ring, r->next++);
	s->submitted++;
}

static void complete(struct gt_sim *s, struct ring *r, struct job *j, unsigned int gpu)
{
	struct queue *q = queue_of(s, gpu, j->proc);

	emit_step(s, j, STEP_COMPLETE);
	truth_job(s->truth, j, r->name, s->w.procs[j->proc].comm, s->measured);
	if (j->queue != GT_NONE32 && !--q->inflight && q->renew)
		plan(s, j->at[STEP_COMPLETE] + 1000, QUEUE_RENEW, gpu, j->proc);
	r->first++;
	s->completed++;
}

static void queue_event(struct gt_sim *s, const struct pending *e)
{
	unsigned int gpu = e->ring, proc = (unsigned int)e->n;
	struct queue *q = queue_of(s, gpu, proc);

	if (e->what == QUEUE_MAP) {
		q->mapped = true;
		emit_queue(s, gpu, proc, e->ts, GT_QUEUE_MAP);
		return;
	}
	if (!q->mapped || (e->what == QUEUE_RENEW && (q->inflight || !q->renew)))
		return;
	q->mapped = false;
	emit_queue(s, gpu, proc, e->ts, GT_QUEUE_UNMAP);
	if (e->what == QUEUE_UNMAP) {
		plan(s, e->ts + 50000, QUEUE_MAP, gpu, proc);
		return;
	}
	q->renew = false;
	emit_queue(s, gpu, proc, e->ts, GT_QUEUE_DESTROY);
	new_queue(&s->w, gpu, proc);
	queue_desc(&s->w, gpu, proc, e->ts, next_out(s));
	emit_queue(s, gpu, proc, e->ts, GT_QUEUE_CREATE);
	emit_queue(s, gpu, proc, e->ts, GT_QUEUE_MAP);
}

/* Emits the next event of the heap. */
static void emit_next(struct gt_sim *s)
{
	struct pending e = pop(s);
	struct ring *r;
	struct job *j;

	if (e.what >= QUEUE_UNMAP) {
		queue_event(s, &e);
		return;
	}
	r = &s->w.rings[e.ring];
	j = &r->jobs[e.n % GT_SIM_INFLIGHT];
	if (e.what == WAIT_ENTER) {
		emit_other(s, j, e.ts, GT_SYNC_WAIT_ENTER, GT_NONE64);
	} else if (e.what == WAIT_EXIT) {
		emit_other(s, j, e.ts, GT_SYNC_WAIT_EXIT, e.ts - j->wait);
		j->waiting = false;
	} else if (e.what == FAULT) {
		emit_other(s, j, e.ts, GT_ERROR, GT_ERR_TIMEOUT);
	} else if (e.what == STEP_COMPLETE) {
		complete(s, r, j, e.ring / s->w.nrings);
	} else {
		emit_step(s, j, e.what);
	}
}

/* Draws the time of the next job after @t: none while paused, without a rate, or at the limit. */
static void draw_next(struct gt_sim *s, uint64_t t)
{
	s->next_submit = 0;
	if (!s->paused && s->gap && (!s->limit || s->submitted < s->limit))
		s->next_submit = t + draw_exponential(&s->rng, s->gap);
}

static uint64_t soonest(const struct gt_sim *s)
{
	uint64_t t = s->next_submit ? s->next_submit : UINT64_MAX;

	return s->nheap && s->heap[0].ts < t ? s->heap[0].ts : t;
}

int gt_sim_advance(struct gt_sim *s, uint64_t now, uint64_t *next)
{
	uint64_t t, last = now;

	s->pushed = 0;
	while ((t = soonest(s)) <= now && s->pushed < GT_SIM_BATCH) {
		last = t;
		if (t != s->next_submit || (s->nheap && s->heap[0].ts == t)) {
			emit_next(s);
		} else {
			submit(s, t);
			draw_next(s, t);
		}
	}
	flush(s);
	s->p->host->watermark(s->p, t <= now ? last : now);
	truth_flush(s->truth);
	if (t == UINT64_MAX)
		*next = 0;
	else
		*next = t <= now ? now + 1 : later(t, now + GT_SIM_PERIOD_NS);
	return s->pushed;
}

void gt_sim_rate(struct gt_sim *s, uint64_t rate, uint64_t now)
{
	unsigned int per_job = s->measured ? 5 : 3;

	s->gap = rate ? 1000000000ull * per_job / rate : 0;
	world_set_load(&s->w, rate / per_job);
	draw_next(s, now);
}

void gt_sim_pause(struct gt_sim *s, bool pause, uint64_t now)
{
	s->paused = pause;
	draw_next(s, now);
}

static void announce_queues(struct gt_sim *s, uint64_t t0)
{
	for (unsigned int i = 0; i < s->w.ngpus * s->w.nprocs; i++) {
		unsigned int gpu = i / s->w.nprocs, proc = i % s->w.nprocs;

		if (!s->w.queues[i].id)
			continue;
		queue_desc(&s->w, gpu, proc, t0, next_out(s));
		emit_queue(s, gpu, proc, t0, GT_QUEUE_CREATE);
		emit_queue(s, gpu, proc, t0, GT_QUEUE_MAP);
	}
	flush(s);
}

struct gt_sim *gt_sim_new(struct gt_plugin *p, const struct gt_sim_options *o,
			  struct gt_sim_truth *truth, uint64_t t0)
{
	struct gt_sim *s = calloc(1, sizeof(*s));
	unsigned int queues = (unsigned int)(o->gpus * o->procs);

	if (!s) {
		truth_close(truth);
		return NULL;
	}
	s->p = p;
	s->truth = truth;
	s->measured = o->measured;
	s->limit = (uint64_t)o->jobs;
	s->rng = (uint64_t)o->seed * 0x9e3779b97f4a7c15ull + 0x632be59bd9b4e019ull;
	if (!s->rng)
		s->rng = 1;
	/* at most eight events to come of a job, and of a job's queue */
	s->cap = (size_t)(o->gpus * o->rings) * GT_SIM_INFLIGHT * 8 + queues * 8u;
	s->heap = calloc(s->cap, sizeof(*s->heap));
	if (!s->heap || world_init(&s->w, p, o, t0)) {
		gt_sim_free(s);
		return NULL;
	}
	announce_queues(s, t0);
	p->host->watermark(p, t0);
	gt_sim_rate(s, (uint64_t)o->rate, t0);
	return s;
}

/* Jobs in flight get a row with the steps emitted so far. */
void gt_sim_free(struct gt_sim *s)
{
	if (!s)
		return;
	for (unsigned int i = 0; s->truth && i < s->w.ngpus * s->w.nrings; i++) {
		const struct ring *r = &s->w.rings[i];

		for (uint64_t n = r->first; n < r->next; n++) {
			const struct job *j = &r->jobs[n % GT_SIM_INFLIGHT];

			truth_job(s->truth, j, r->name, s->w.procs[j->proc].comm, s->measured);
		}
	}
	truth_close(s->truth);
	world_free(&s->w);
	free(s->heap);
	free(s);
}

void gt_sim_doctor(const struct gt_sim *s, char *buf, size_t len)
{
	snprintf(buf, len,
		 "simulated 1\njobs_submitted %" PRIu64 "\njobs_completed %" PRIu64
		 "\njobs_refused %" PRIu64
		 "\nclock CLOCK_MONOTONIC\nclock_offset_ns 0\nclock_uncertainty_ns 0\n"
		 "clock_measured by_definition\n",
		 s->submitted, s->completed, s->refused);
}
