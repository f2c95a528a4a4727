/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What each record of bpf/nvidia.bpf.c means: RM calls, and the end of files and processes. Hooks
 * are in hook.c.
 */
#include <string.h>

#include "nvidia.h"

static struct gv_call *call_of(struct gv *v, uint32_t tid)
{
	return &v->call[tid % GV_MAX_CALLS];
}

struct gv_call *gv_inside(struct gv_at *at, uint32_t kind)
{
	struct gv_call *c = call_of(at->v, at->n->tid);

	if (c->tid != at->n->tid || c->pid != at->n->pid)
		return NULL;
	return !kind || c->kind == kind ? c : NULL;
}

struct gv_call *gv_enter(struct gv_at *at, uint32_t kind)
{
	struct gv_call *c = call_of(at->v, at->n->tid);

	*c = (struct gv_call){ .tid = at->n->tid, .pid = at->n->pid, .kind = kind };
	return c;
}

uint32_t gv_queue_of(const struct gv *v, uint32_t o)
{
	if (o && v->obj[o].kind == GT_NV_CHANNEL)
		o = v->obj[o].up;
	return o && v->obj[o].kind == GT_NV_GROUP ? v->obj[o].tsg : 0;
}

static void on_enter(struct gv_at *at)
{
	const struct gt_bpf_nv *n = at->n;
	struct gv_call *c = gv_enter(at, n->rm.value);

	c->client = n->rm.client;
	c->object = n->rm.object;
	c->parent = n->rm.parent;
}

static void on_group(struct gv_at *at, uint32_t p)
{
	struct gv *v = at->v;
	const struct gt_bpf_nv *n = at->n;
	struct gv_call *c = gv_inside(at, GT_NV_GROUP);
	uint32_t o = gv_obj_new(at, p, GT_NV_GROUP, n->rm.object), dev, t = c ? c->tsg : 0;
	struct gv_line l = gv_line(at, GT_NV_INIT, 0);
	union gt_record r;
	char name[16];

	if (o && !t) {
		dev = gv_obj(v, p, n->rm.client, n->rm.parent);
		t = gv_tsg_new(at, p,
			       dev && v->obj[dev].kind == GT_NV_DEVICE ? v->obj[dev].gpu
								       : gv_gpu_any(v),
			       GT_NONE32, GT_NONE32);
	}
	if (!o || !t)
		return;
	v->obj[o].tsg = t;
	v->tsg[t].obj = o;
	if (v->tsg[t].hooked)
		return;
	v->tsg[t].channels = 0;
	l.engine = n->rm.value < GT_NONE16 ? (uint16_t)n->rm.value : GT_NONE16;
	gv_trace(at, l);
	gv_tsg_event(at, t, GT_QUEUE_CREATE, GT_NONE64, GT_NONE64);
	gv_tsg_desc(at, t, &r);
	r.queue.engine = (uint16_t)gv_engine(v->driver, false, n->rm.value, name);
	gb_out(v->b, &r);
}

static void count_channel(struct gv_at *at, uint32_t group, int by)
{
	uint32_t t = at->v->obj[group].tsg;
	union gt_record r;

	if (!t || at->v->tsg[t].channels == GT_NONE32)
		return;
	at->v->tsg[t].channels += (uint32_t)by;
	gv_tsg_desc(at, t, &r);
	gb_out(at->v->b, &r);
}

static void on_alloc(struct gv_at *at)
{
	struct gv *v = at->v;
	const struct gt_bpf_nv *n = at->n;
	uint32_t p = gv_proc(at, n->rm.gen, true), o, group;

	if (!p)
		return;
	if (n->kind == GT_NV_GROUP) {
		on_group(at, p);
	} else if (n->kind == GT_NV_DEVICE) {
		o = gv_obj_new(at, p, GT_NV_DEVICE, n->rm.object);
		if (o)
			v->obj[o].gpu = gv_gpu_of(v, &v->proc[p], n->rm.value);
	} else if (n->kind == GT_NV_CLIENT) {
		gv_obj_new(at, p, GT_NV_CLIENT, n->rm.object);
	} else {
		group = gv_obj(v, p, n->rm.client, n->rm.parent);
		if (group && v->obj[group].kind == GT_NV_GROUP &&
		    gv_obj_new(at, p, GT_NV_CHANNEL, n->rm.object))
			count_channel(at, group, 1);
	}
}

static void on_free(struct gv_at *at, uint32_t p)
{
	struct gv *v = at->v;
	uint32_t o = gv_obj(v, p, at->n->rm.client, at->n->rm.object), group;

	if (!o)
		return;
	group = v->obj[o].kind == GT_NV_CHANNEL ? v->obj[o].up : 0;
	gv_obj_end(at, o);
	if (group)
		count_channel(at, group, -1);
}

static void on_schedule(struct gv_at *at, uint32_t t)
{
	bool on = at->n->rm.value, refused = at->n->rm.parent;
	struct gv_line l = gv_line(at, GT_NV_BIND, t);

	if (!on) {
		if (!refused)
			gv_tsg_event(at, t, GT_QUEUE_UNMAP, GT_NONE64, GT_NONE64);
		return;
	}
	if (at->v->tsg[t].hooked)
		return;
	l.allow = !refused;
	gv_trace(at, l);
	gv_tsg_event(at, t, GT_QUEUE_SCHEDULE, !refused, GT_NONE64);
}

static void on_rm_token(struct gv_at *at, uint32_t t)
{
	struct gv_line l = gv_line(at, GT_NV_TOKEN, t);

	if (at->v->tsg[t].hooked)
		return;
	l.channels = GT_NONE32; /* the handle is the program's, and no channel's number */
	l.token = at->n->rm.value;
	gv_trace(at, l);
	gv_tsg_event(at, t, GT_QUEUE_TOKEN, at->n->rm.value, GT_NONE64);
}

static void on_control(struct gv_at *at, uint32_t p)
{
	struct gv *v = at->v;
	const struct gt_bpf_nv *n = at->n;
	uint32_t t = gv_queue_of(v, gv_obj(v, p, n->rm.client, n->rm.object));
	union gt_record r;

	if (!t)
		return;
	if (n->kind == GT_NV_SCHEDULE) {
		on_schedule(at, t);
		return;
	}
	if (n->kind == GT_NV_RM_TOKEN) {
		on_rm_token(at, t);
		return;
	}
	if (n->kind == GT_NV_INFO && !v->tsg[t].hooked)
		v->tsg[t].tsg = n->rm.value;
	gv_tsg_desc(at, t, &r);
	if (n->kind == GT_NV_TIMESLICE)
		r.queue.timeslice_us = n->rm.value;
	if (n->kind == GT_NV_INTERLEAVE)
		r.queue.interleave = n->rm.value < GT_NONE16 ? (uint16_t)n->rm.value : GT_NONE16;
	gb_out(v->b, &r);
}

static void on_gpu_id(struct gv_at *at)
{
	uint32_t p = gv_proc(at, at->n->rm.gen, true), i = 0;
	struct gv_proc *proc = &at->v->proc[p];

	if (!p)
		return;
	while (i < proc->nids && proc->ids[i].number != at->n->rm.parent)
		i++;
	if (i == GV_MAX_IDS)
		return;
	proc->nids = i == proc->nids ? i + 1 : proc->nids;
	proc->ids[i].number = at->n->rm.parent;
	proc->ids[i].id = at->n->rm.value;
}

static void on_call(struct gv_at *at)
{
	uint32_t p = gv_proc(at, at->n->rm.gen, false);

	if (p && at->n->kind == GT_NV_FREE)
		on_free(at, p);
	else if (p)
		on_control(at, p);
}

static void on_end(struct gv_at *at)
{
	const struct gt_bpf_nv *n = at->n;
	uint32_t p;

	if (n->kind == GT_NV_CLOSE) {
		gv_enter(at, GT_NV_CLOSE);
		gv_file_end(at, (uint64_t)n->rm.value << 32 | n->rm.parent);
		return;
	}
	if (n->kind == GT_NV_EXEC && at->v->release)
		return; /* what was not kept open is told as closed */
	p = gv_proc(at, n->rm.gen, false);
	if (p && at->v->release)
		gv_proc_exit(at, p);
	else if (p)
		gv_proc_end(at, p);
}

bool gv_record(struct gv *v, const struct gt_bpf_nv *n)
{
	static void (*const hooks[])(struct gv_at *) = {
		[GT_NV_INIT] = gv_on_init,
		[GT_NV_BIND] = gv_on_bind,
		[GT_NV_TOKEN] = gv_on_token,
		[GT_NV_DESTROY] = gv_on_destroy,
	};
	struct gv_at at = { .v = v, .n = n };

	if (n->kind >= GT_NV_INIT && n->kind <= GT_NV_DESTROY)
		hooks[n->kind](&at);
	else if (n->kind >= GT_NV_CLIENT && n->kind <= GT_NV_CHANNEL)
		on_alloc(&at);
	else if (n->kind == GT_NV_GPU_ID)
		on_gpu_id(&at);
	else if (n->kind == GT_NV_ENTER)
		on_enter(&at);
	else if (n->kind >= GT_NV_CLOSE && n->kind <= GT_NV_EXEC)
		on_end(&at);
	else if (n->kind >= GT_NV_FREE && n->kind < GT_NV_ENTER)
		on_call(&at);
	if (n->kind > GT_NV_DESTROY && n->kind < GT_NV_ENTER && call_of(v, n->tid)->tid == n->tid)
		*call_of(v, n->tid) = (struct gv_call){ 0 };
	return false;
}

/* A process whose end was not heard has ended; and what ended ones had, as the closing of their
 * files may not have been heard either. */
static void look_for_ends(struct gv_at *at)
{
	struct gv *v = at->v;

	for (uint32_t p = 1; p <= v->nprocs; p++) {
		const struct gv_proc *proc = &v->proc[p];
		uint32_t gen = proc->pid && !proc->gone ? v->gen_of(v, proc->pid) : 0;

		if (proc->pid && (!gen || (proc->gen && proc->gen != gen)))
			gv_proc_end(at, p);
	}
}

void gv_round(struct gv *v, uint64_t until)
{
	const struct gt_bpf_nv nobody = {
		.ts = until, .cpu = GT_NONE16, .pid = GT_NONE32, .tid = GT_NONE32
	};
	struct gv_at at = { .v = v, .n = &nobody, .flags = GT_F_INFERRED };

	if (v->lost && until >= v->looked + GV_PATIENCE_NS) {
		v->lost = false;
		v->looked = until;
		look_for_ends(&at);
	}
	for (uint32_t t = v->leaving, next; t; t = next) {
		next = v->tsg[t].next;
		if (v->tsg[t].left + GV_PATIENCE_NS <= until)
			gv_tsg_end(&at, t, 0);
	}
}
