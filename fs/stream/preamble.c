/* SPDX-License-Identifier: GPL-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "preamble.h"

struct list {
	struct gt_cursor *c;
	uint64_t ts;
	size_t cap;
	int err;
};

static void init(union gt_record *r, uint64_t ts, enum gt_type type)
{
	memset(r, 0xff, sizeof(*r));
	r->ev.ts = ts;
	r->ev.type = (uint8_t)type;
	r->ev.flags = 0;
}

/* A name that ends, whatever @src is, and leaves no byte of the record as it was. */
static void name(char *dst, size_t dst_size, const char *src, size_t src_size)
{
	memset(dst, 0, dst_size);
	memcpy(dst, src, strnlen(src, src_size < dst_size ? src_size : dst_size - 1));
}

static void add(struct list *l, union gt_record *r)
{
	struct gt_cursor *c = l->c;

	if (l->err || !gt_scope_has(&c->scope, r) || !gt_redact(r, &c->view))
		return;
	if (c->npre == l->cap) {
		size_t cap = l->cap ? 2 * l->cap : 64;
		union gt_record *pre = reallocarray(c->pre, cap, sizeof(*pre));

		if (!pre) {
			l->err = -ENOMEM;
			return;
		}
		c->pre = pre;
		l->cap = cap;
	}
	c->pre[c->npre++] = *r;
}

static void add_header(struct list *l)
{
	const struct gt_log *log = l->c->log;
	union gt_record r;

	init(&r, l->ts, GT_HEADER);
	r.header.version = GT_RECORD_VERSION;
	r.header.record_size = GT_RECORD_SIZE;
	name(r.header.magic, sizeof(r.header.magic), GT_RECORD_MAGIC, sizeof(GT_RECORD_MAGIC));
	r.header.realtime_offset = log->realtime_offset;
	r.header.boottime_offset = log->boottime_offset;
	r.header.session = log->session;
	r.header.reserved = 0;
	add(l, &r);
}

/* Each fill_*() makes object @i into a record under the model's lock; false: there is none. */

static bool fill_gpu(struct gt_model *m, unsigned int i, union gt_record *r, uint64_t ts)
{
	const struct gt_gpu *g = m->gpus[i];

	if (!g)
		return false;
	init(r, ts, GT_GPU_NAME);
	r->gpu_name.gpu = g->id;
	name(r->gpu_name.name, sizeof(r->gpu_name.name), g->name, sizeof(g->name));
	name(r->gpu_name.dev, sizeof(r->gpu_name.dev), g->dev, sizeof(g->dev));
	return true;
}

static bool fill_ring(struct gt_model *m, unsigned int i, union gt_record *r, uint64_t ts)
{
	const struct gt_gpu *g = m->gpus[i / GT_MAX_RINGS];
	const struct gt_ring *ring;

	if (!g || i % GT_MAX_RINGS >= g->nrings)
		return false;
	ring = g->rings[i % GT_MAX_RINGS];
	if (!ring)
		return false;
	init(r, ts, GT_RING_NAME);
	r->ring_name.gpu = g->id;
	r->ring_name.ring = ring->id;
	r->ring_name.engine = ring->engine;
	r->ring_name.reserved = 0;
	name(r->ring_name.name, sizeof(r->ring_name.name), ring->name, sizeof(ring->name));
	return true;
}

static bool fill_custom(struct gt_model *m, unsigned int i, union gt_record *r, uint64_t ts)
{
	if (!m->custom[i][0])
		return false;
	init(r, ts, GT_NAME);
	r->name.id = GT_CUSTOM0 + i;
	r->name.kind = GT_NAME_CUSTOM;
	r->name.part = 0;
	/* 32 bytes need no end: that is what @part is for */
	memset(r->name.text, 0, sizeof(r->name.text));
	memcpy(r->name.text, m->custom[i], strnlen(m->custom[i], sizeof(r->name.text)));
	return true;
}

/* @i counts the pieces of all names. */
static bool fill_function(struct gt_model *m, unsigned int i, union gt_record *r, uint64_t ts)
{
	const unsigned int piece = sizeof(r->name.text), pieces = GT_FUNCTION_NAME / piece;
	unsigned int id = i / pieces, part = i % pieces;
	const char *whole = m->functions[id];
	size_t len = strnlen(whole, GT_FUNCTION_NAME);

	if (len <= part * piece)
		return false;
	init(r, ts, GT_NAME);
	r->name.id = id;
	r->name.kind = GT_NAME_FUNCTION;
	r->name.part = part;
	memset(r->name.text, 0, piece);
	memcpy(r->name.text, whole + part * piece, strnlen(whole + part * piece, piece));
	return true;
}

static bool fill_queue(struct gt_model *m, unsigned int i, union gt_record *r, uint64_t ts)
{
	const struct gt_queue *q = m->queues[i];

	if (!q || q->gpu == GT_NONE16)
		return false;
	r->queue = q->desc;
	r->queue.ts = ts;
	r->queue.type = GT_QUEUE;
	r->queue.cpu = GT_NONE16;
	r->queue.gpu = q->gpu;
	r->queue.queue = q->id;
	return true;
}

static bool fill_process(struct gt_model *m, unsigned int i, union gt_record *r, uint64_t ts)
{
	const struct gt_proc *p = i < m->proc_slots ? m->procs[i] : NULL;

	if (!p || p->dead)
		return false;
	init(r, ts, GT_PROCESS);
	r->process.start = p->start ? p->start : GT_NONE64;
	r->process.cgroup = p->cgroup_id ? p->cgroup_id : GT_NONE64;
	r->process.pid = p->pid;
	r->process.uid = p->uid;
	r->process.reserved = 0;
	name(r->process.comm, sizeof(r->process.comm), p->comm, sizeof(p->comm));
	return true;
}

static void add_all(struct list *l, unsigned int n,
		    bool (*fill)(struct gt_model *, unsigned int, union gt_record *, uint64_t))
{
	for (unsigned int i = 0; i < n && !l->err; i++) {
		union gt_record r;
		bool there;

		{
			GT_MODEL_LOCK(l->c->model);
			there = fill(l->c->model, i, &r, l->ts);
		}
		if (there)
			add(l, &r);
	}
}

int gt_preamble_make(struct gt_cursor *c, uint64_t ts)
{
	struct list l = { .c = c, .ts = ts };
	unsigned int ngpus, nqueues, nprocs, nfunctions;

	{
		/* What comes after this look is told in the log itself */
		GT_MODEL_LOCK(c->model);
		ngpus = c->model->ngpus;
		nqueues = c->model->nqueues;
		nprocs = c->model->proc_slots;
		nfunctions = c->model->nfunctions;
	}
	add_header(&l);
	add_all(&l, ngpus, fill_gpu);
	add_all(&l, ngpus * GT_MAX_RINGS, fill_ring);
	add_all(&l, sizeof(c->model->custom) / sizeof(c->model->custom[0]), fill_custom);
	add_all(&l, nfunctions * (GT_FUNCTION_NAME / sizeof(((struct gt_name *)0)->text)),
		fill_function);
	add_all(&l, nqueues, fill_queue);
	add_all(&l, nprocs, fill_process);
	return l.err;
}
