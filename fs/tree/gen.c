/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Objects by their address in the tree, and generations: numbers that change whenever a file's text
 * may have changed. They make a read of an idle machine's file a matter of a cached text.
 */
#include "lines.h"

/* avg60 and the 10s_ keys move with the clock for so long after the last event, in seconds */
#define ACTIVE_SEC 61
#define MOVING_NS                                                                                  \
	50000000 /* busy and per second are told of windows that end at now: so often anew */

struct gt_gpu *gt_obj_gpu(const struct gt_show *s)
{
	const struct gt_model *m = s->app->model;
	struct gt_gpu *g = s->obj.gpu < m->ngpus ? m->gpus[s->obj.gpu] : NULL;

	return g && !g->gone && g->life == s->obj.life ? g : NULL;
}

struct gt_ring *gt_obj_ring(const struct gt_show *s)
{
	struct gt_gpu *g = gt_obj_gpu(s);

	return g && s->obj.ring < g->nrings ? g->rings[s->obj.ring] : NULL;
}

struct gt_proc *gt_obj_proc(const struct gt_show *s)
{
	const struct gt_model *m = s->app->model;
	struct gt_proc *p = s->obj.id < m->proc_slots ? m->procs[s->obj.id] : NULL;

	if (s->obj.gpu != GT_NONE16 && !gt_obj_gpu(s))
		return NULL;
	/* a start that was not known when the directory was looked up may have come since */
	if (!p || p->pid != s->obj.pid || (s->obj.start && p->start != s->obj.start))
		return NULL;
	return p;
}

struct gt_queue *gt_obj_queue(const struct gt_show *s)
{
	const struct gt_model *m = s->app->model;
	struct gt_queue *q = s->obj.id < m->nqueues ? m->queues[s->obj.id] : NULL;

	return q && q->gpu == s->obj.gpu && q->serial == s->obj.start && gt_obj_gpu(s) ? q : NULL;
}

uint64_t gt_gen_mix(uint64_t gen, uint64_t other)
{
	uint64_t h = gen * 0x9e3779b97f4a7c15ULL + other;

	h ^= h >> 32;
	return h * 0xd6e8feb86659fd93ULL;
}

/**
 * struct seen - what a generation is made of
 * @busy: something is in flight: texts move with the clock without any event
 */
struct seen {
	uint64_t gen;
	uint64_t last; /* second of the last event */
	bool busy;
};

/* Lock held; false: the object has gone. */
static bool see_object(const struct gt_show *s, struct seen *o)
{
	const struct gt_model *m = s->app->model;
	const struct gt_gpu *g;
	const struct gt_ring *r;
	const struct gt_queue *q;
	const struct gt_proc *p;

	switch (s->obj.kind) {
	case GT_DIR_GPU:
		g = gt_obj_gpu(s);
		if (g)
			*o = (struct seen){ g->gen, g->types.sec, m->njobs > 0 };
		return g;
	case GT_DIR_RING:
		r = gt_obj_ring(s);
		if (r)
			*o = (struct seen){ r->gen, r->types.sec, r->depth.now > 0 };
		return r;
	case GT_DIR_QUEUE:
		q = gt_obj_queue(s);
		if (q)
			*o = (struct seen){ q->gen, q->last_ts / GT_SEC, q->depth.now > 0 };
		return q;
	case GT_DIR_PROC:
		p = gt_obj_proc(s);
		if (p)
			*o = (struct seen){ p->gen, p->last_ts / GT_SEC, p->inflight > 0 };
		return p;
	default:
		*o = (struct seen){ m->gen, m->types.sec, m->njobs > 0 };
		return true;
	}
}

/* The clock in units of @step while it matters, then a constant. */
static uint64_t tick(const struct seen *o, uint64_t now, uint64_t step)
{
	if (!o->busy && (!o->last || now / GT_SEC > o->last + ACTIVE_SEC))
		return 0;
	return now / step;
}

static uint64_t object_with_clock(const struct gt_show *s, uint64_t step)
{
	uint64_t now = gt_model_now(s->app->model);
	struct seen o;

	GT_MODEL_LOCK(s->app->model);
	return see_object(s, &o) ? gt_gen_mix(o.gen, tick(&o, now, step)) : 0;
}

uint64_t gt_gen_object(const struct gt_show *s)
{
	return object_with_clock(s, GT_SEC);
}

uint64_t gt_gen_moving(const struct gt_show *s)
{
	return object_with_clock(s, MOVING_NS);
}

uint64_t gt_gen_object_only(const struct gt_show *s)
{
	struct seen o;

	GT_MODEL_LOCK(s->app->model);
	return see_object(s, &o) ? gt_gen_mix(o.gen, 0) : 0;
}

uint64_t gt_gen_model(const struct gt_show *s)
{
	struct gt_show root = *s;

	root.obj.kind = GT_DIR_ROOT;
	return gt_gen_moving(&root);
}

uint64_t gt_gen_dirs(const struct gt_show *s)
{
	GT_MODEL_LOCK(s->app->model);
	return s->app->model->dir_gen;
}

uint64_t gt_gen_history(const struct gt_show *s)
{
	const struct gt_log *l = s->app->log;
	uint64_t at = gt_gen_mix(atomic_load(&l->head), atomic_load(&l->fin_head));

	GT_MODEL_LOCK(s->app->model);
	/* a clear and a name that changes show in the model's own generation */
	return gt_gen_mix(s->app->model->gen, at);
}

/* The average falls as long as nothing happens: the file changes when its second decimal does. */
uint64_t gt_gen_depth(const struct gt_show *s)
{
	uint64_t now = gt_model_now(s->app->model);
	const struct gt_depth *d;
	const struct gt_queue *q;
	const struct gt_ring *r;

	GT_MODEL_LOCK(s->app->model);
	if (s->obj.kind == GT_DIR_QUEUE) {
		q = gt_obj_queue(s);
		d = q ? &q->depth : NULL;
		return d ? gt_gen_mix(q->gen, gt_depth_avg(d, now) / 10) : 0;
	}
	r = gt_obj_ring(s);
	d = r ? &r->depth : NULL;
	return d ? gt_gen_mix(r->gen, gt_depth_avg(d, now) / 10) : 0;
}
