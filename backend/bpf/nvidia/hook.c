/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the hooks of the patched module mean. They tell numbers, of which TSG's is one of its
 * runlist, and of neither runlist nor GPU when it ends. So which queue is meant is concluded: from
 * the RM call that the hook runs inside, which tells the object (and so the GPU), or from what the
 * process has. Queues of other processes are never meant, but for those that are leaving: their end
 * may be told by anybody, as the driver has workers for it.
 */
#include <string.h>

#include "nvidia.h"

/* The GPU that object @o is of; GT_NONE16: it is not known */
static uint16_t gpu_of(const struct gv *v, uint32_t o)
{
	while (o && v->obj[o].kind != GT_NV_DEVICE)
		o = v->obj[o].up;
	return o ? v->obj[o].gpu : GT_NONE16;
}

/* The object that call @c (NULL: none) of process @p is about; 0: it is not known */
static uint32_t object_of(const struct gv *v, uint32_t p, const struct gv_call *c)
{
	return c ? gv_obj(v, p, c->client, c->object) : 0;
}

void gv_on_init(struct gv_at *at)
{
	struct gv *v = at->v;
	const struct gt_bpf_nv *n = at->n;
	struct gv_line l = gv_line(at, GT_NV_INIT, 0);
	uint32_t p = gv_proc(at, 0, true), dev, t;
	struct gv_call *c = gv_inside(at, GT_NV_GROUP);
	union gt_record r;
	char name[16];
	uint16_t gpu;

	l.tsg = n->hook.tsg;
	l.runlist = n->hook.runlist;
	l.timeslice = n->hook.timeslice;
	l.interleave = n->hook.interleave;
	l.engine = n->hook.engine;
	gv_trace(at, l);
	if (!p || n->hook.tsg == GT_NONE32)
		return;
	dev = c ? gv_obj(v, p, c->client, c->parent) : 0;
	gpu = gpu_of(v, dev);
	t = gv_tsg_new(at, p, gpu == GT_NONE16 ? gv_gpu_of_proc(v, &v->proc[p]) : gpu,
		       n->hook.runlist, n->hook.tsg);
	if (!t)
		return;
	v->tsg[t].hooked = true;
	if (!c) /* its begin was not told: hooks were about to be there, or to go */
		c = gv_enter(at, GT_NV_GROUP);
	c->tsg = t;
	v->tsg[t].call = (uint32_t)(c - v->call);
	gv_tsg_event(at, t, GT_QUEUE_CREATE, GT_NONE64, GT_NONE64);
	gv_tsg_desc(at, t, &r);
	/* the level of that moment: RM sets another right after, which the first BIND tells */
	r.queue.engine = (uint16_t)gv_engine(v->driver ? v->driver : GV_HOOK_DRIVER, true,
					     n->hook.engine, name);
	r.queue.timeslice_us = n->hook.timeslice;
	gb_out(v->b, &r);
}

/* A queue from before we looked: it is known from now on. With one GPU its numbers are its name, so
 * if one of that name is known that is it, made by a process that has given its file to this one.
 */
static uint32_t met(struct gv_at *at)
{
	struct gv *v = at->v;
	uint32_t p = gv_proc(at, 0, true), t = 0;
	uint16_t gpu;

	if (!p || at->n->hook.tsg == GT_NONE32)
		return 0;
	gpu = gv_gpu_of_proc(v, &v->proc[p]);
	if (v->npci <= 1)
		t = gv_tsg_same(v, gpu, at->n->hook.runlist, at->n->hook.tsg);
	if (!t)
		t = gv_tsg_new(at, p, gpu, at->n->hook.runlist, at->n->hook.tsg);
	if (t)
		v->tsg[t].hooked = true;
	return t;
}

/* The queue that a hook inside a call of @kind is about, if it has these numbers, else the one of
 * this process that has. 0: none, or @several */
static uint32_t meant(struct gv_at *at, uint32_t kind, uint32_t runlist, uint32_t tsg,
		      bool *several)
{
	struct gv *v = at->v;
	uint32_t p = gv_proc(at, 0, false), o = object_of(v, p, gv_inside(at, kind)), t;
	struct gv_key key = { .gpu = gpu_of(v, o), .runlist = runlist, .tsg = tsg };
	struct gv_tsg *q;

	*several = false;
	t = gv_queue_of(v, o);
	q = &v->tsg[t];
	if (t && !q->hooked && tsg != GT_NONE32) { /* made before the hooks were there */
		q->hooked = true;
		q->tsg = tsg;
	}
	if (t && q->tsg == tsg && q->runlist == GT_NONE32)
		q->runlist = runlist;
	if (t && q->hooked && q->tsg == tsg && (runlist == GT_NONE32 || q->runlist == runlist))
		return t;
	t = gv_tsg_find(at, v->proc[p].tsgs, &key, several);
	v->ambiguous += *several;
	return *several ? 0 : t;
}

void gv_on_bind(struct gv_at *at)
{
	struct gv *v = at->v;
	const struct gt_bpf_nv *n = at->n;
	struct gv_line l;
	union gt_record r;
	bool several;
	uint32_t t = meant(at, GT_NV_SCHEDULE, n->hook.runlist, n->hook.tsg, &several);

	if (!t && !several)
		t = met(at);
	l = gv_line(at, GT_NV_BIND, t);
	l.tsg = n->hook.tsg;
	l.channels = n->hook.channels;
	l.timeslice = n->hook.timeslice;
	l.interleave = n->hook.interleave;
	l.allow = n->hook.allow;
	gv_trace(at, l);
	if (!t)
		return;
	v->tsg[t].channels = n->hook.channels;
	gv_tsg_desc(at, t, &r);
	r.queue.timeslice_us = n->hook.timeslice;
	r.queue.interleave = n->hook.interleave == 0xff ? GT_NONE16 : n->hook.interleave;
	gb_out(v->b, &r);
	gv_tsg_event(at, t, GT_QUEUE_SCHEDULE, n->hook.allow, GT_NONE64);
}

void gv_on_token(struct gv_at *at)
{
	bool several;
	uint32_t t = meant(at, GT_NV_RM_TOKEN, GT_NONE32, at->n->token.tsg, &several);
	struct gv_line l = gv_line(at, GT_NV_TOKEN, t);

	l.tsg = at->n->token.tsg;
	l.channels = at->n->token.channel;
	l.token = at->n->token.token;
	gv_trace(at, l);
	if (t)
		gv_tsg_event(at, t, GT_QUEUE_TOKEN, at->n->token.token, at->n->token.channel);
	else if (!several)
		at->v->unmatched++;
}

/* Ends ------------------------------------------------------------------------------------ */

/* Does the call that frees an object take @q along? 2: it does; 1: perhaps, as something is not
 * known: what @q hangs on, or what is freed */
static unsigned int is_freed(struct gv_at *at, const struct gv_tsg *q)
{
	const struct gv *v = at->v;
	const struct gv_call *c = gv_inside(at, GT_NV_FREE);
	uint32_t o = q->obj, freed = object_of(v, q->proc, c);

	if (!o)
		return 1;
	if (v->obj[o].client != c->client)
		return 0;
	if (!freed)
		return c->object == c->client || gpu_of(v, o) == GT_NONE16;
	while (o && o != freed)
		o = v->obj[o].up;
	return o ? 2 : 0;
}

/* Can @q go with a file? It cannot if it came by one: that has told so when it was closed. */
static unsigned int is_no_files(struct gv_at *at, const struct gv_tsg *q)
{
	uint32_t o = q->obj;

	while (o && at->v->obj[o].up)
		o = at->v->obj[o].up;
	return !o || at->v->obj[o].kind != GT_NV_CLIENT;
}

static unsigned int is_left_by_this(struct gv_at *at, const struct gv_tsg *q)
{
	return q->pid == at->n->pid;
}

/* Whatever this process left comes first. */
static unsigned int is_left(struct gv_at *at, const struct gv_tsg *q)
{
	return 1 + is_left_by_this(at, q);
}

/* Which of process @p's ends; 0: none. It is the newest where several may be meant and nothing is
 * known. */
static uint32_t ends(struct gv_at *at, uint32_t p, const struct gv_call *c)
{
	struct gv *v = at->v;
	struct gv_key key = { .gpu = GT_NONE16, .runlist = GT_NONE32, .tsg = at->n->hook.tsg };
	bool several;
	uint32_t t;

	if (c && c->kind == GT_NV_FREE) {
		key.gpu = gpu_of(v, object_of(v, p, c));
		key.fits = is_freed;
	} else if (c && c->kind == GT_NV_CLOSE) {
		key.fits = is_no_files;
	}
	t = gv_tsg_find(at, v->proc[p].tsgs, &key, &several);
	v->ambiguous += several;
	return t;
}

static uint32_t left(struct gv_at *at,
		     unsigned int (*fits)(struct gv_at *at, const struct gv_tsg *q))
{
	const struct gv_key key = {
		.gpu = GT_NONE16, .runlist = GT_NONE32, .tsg = at->n->hook.tsg, .fits = fits
	};
	bool several; /* which is the same: all of them end */

	return gv_tsg_find(at, at->v->leaving, &key, &several);
}

/* The queue that is destroyed: one that is being freed, or that goes with the file that is closed
 * now, or that this process left, or has; or that another left. 0: none that is known */
static uint32_t destroyed(struct gv_at *at)
{
	struct gv *v = at->v;
	const struct gv_call *c = gv_inside(at, 0);
	uint32_t kind = c ? c->kind : 0, p = gv_proc(at, 0, false), t = 0;

	if (kind == GT_NV_GROUP && v->tsg[c->tsg].tsg == at->n->hook.tsg)
		t = c->tsg; /* it could not be made after all */
	if (!t && kind == GT_NV_CLOSE)
		t = left(at, is_left);
	if (!t && kind != GT_NV_FREE)
		t = left(at, is_left_by_this);
	if (!t)
		t = ends(at, p, c);
	return t ? t : left(at, is_left);
}

void gv_on_destroy(struct gv_at *at)
{
	struct gv_line l = gv_line(at, GT_NV_DESTROY, 0);
	uint32_t t = destroyed(at);

	l.tsg = at->n->hook.tsg;
	gv_trace(at, l);
	if (t)
		gv_tsg_end(at, t, 0);
	else
		at->v->unmatched++;
}
