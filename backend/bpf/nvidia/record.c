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

/* Calls of process @p that succeeded --------------------------------------------------- */

static void on_client(struct gv_at *at, uint32_t p)
{
	gv_obj_new(at, p, GT_NV_CLIENT, at->n->rm.object);
}

static void on_device(struct gv_at *at, uint32_t p)
{
	uint32_t o = gv_obj_new(at, p, GT_NV_DEVICE, at->n->rm.object);

	if (o)
		at->v->obj[o].gpu = gv_gpu_of(at->v, &at->v->proc[p], at->n->rm.value);
}

static void tell_group(struct gv_at *at, uint32_t t)
{
	struct gv_line l = gv_line(at, GT_NV_INIT, 0);
	uint32_t engine = at->n->rm.value;
	union gt_record r;
	char name[16];

	at->v->tsg[t].channels = 0;
	l.engine = engine < GT_NONE16 ? (uint16_t)engine : GT_NONE16;
	gv_trace(at, l);
	gv_tsg_event(at, t, GT_QUEUE_CREATE, GT_NONE64, GT_NONE64);
	gv_tsg_desc(at, t, &r);
	r.queue.engine = (uint16_t)gv_engine(at->v->driver, false, engine, name);
	gb_out(at->v->b, &r);
}

static void on_group(struct gv_at *at, uint32_t p)
{
	struct gv *v = at->v;
	const struct gt_bpf_nv *n = at->n;
	struct gv_call *c = gv_inside(at, GT_NV_GROUP);
	uint32_t o = gv_obj_new(at, p, GT_NV_GROUP, n->rm.object), dev, t;

	if (!o)
		return;
	t = c ? c->tsg : 0;
	if (!t) {
		dev = gv_obj(v, p, n->rm.client, n->rm.parent);
		t = gv_tsg_new(at, p,
			       dev && v->obj[dev].kind == GT_NV_DEVICE ? v->obj[dev].gpu
								       : gv_gpu_any(v),
			       GT_NONE32, GT_NONE32);
	}
	if (!t)
		return;
	v->obj[o].tsg = t;
	v->tsg[t].obj = o;
	if (!v->tsg[t].hooked)
		tell_group(at, t);
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

static void on_channel(struct gv_at *at, uint32_t p)
{
	struct gv *v = at->v;
	uint32_t group = gv_obj(v, p, at->n->rm.client, at->n->rm.parent);

	if (group && v->obj[group].kind == GT_NV_GROUP &&
	    gv_obj_new(at, p, GT_NV_CHANNEL, at->n->rm.object))
		count_channel(at, group, 1);
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

/* The queue that a call is about; 0: none that is known */
static uint32_t queue(struct gv_at *at, uint32_t p)
{
	return gv_queue_of(at->v, gv_obj(at->v, p, at->n->rm.client, at->n->rm.object));
}

static void on_schedule(struct gv_at *at, uint32_t p)
{
	bool on = at->n->rm.value, refused = at->n->rm.status;
	uint32_t t = queue(at, p);
	struct gv_line l = gv_line(at, GT_NV_BIND, t);

	if (t && !on && !refused)
		gv_tsg_event(at, t, GT_QUEUE_UNMAP, GT_NONE64, GT_NONE64);
	if (!t || !on || at->v->tsg[t].hooked)
		return;
	l.allow = !refused;
	gv_trace(at, l);
	gv_tsg_event(at, t, GT_QUEUE_SCHEDULE, !refused, GT_NONE64);
}

static void on_rm_token(struct gv_at *at, uint32_t p)
{
	uint32_t t = queue(at, p);
	struct gv_line l = gv_line(at, GT_NV_TOKEN, t);

	if (!t || at->v->tsg[t].hooked)
		return;
	l.channels = GT_NONE32; /* the handle is the program's, and no channel's number */
	l.token = at->n->rm.value;
	gv_trace(at, l);
	gv_tsg_event(at, t, GT_QUEUE_TOKEN, at->n->rm.value, GT_NONE64);
}

/* Timeslice, level, number */
static void on_value(struct gv_at *at, uint32_t p)
{
	uint32_t t = queue(at, p), value = at->n->rm.value;
	union gt_record r;

	if (!t)
		return;
	if (at->n->kind == GT_NV_INFO && !at->v->tsg[t].hooked)
		at->v->tsg[t].tsg = value;
	gv_tsg_desc(at, t, &r);
	if (at->n->kind == GT_NV_TIMESLICE)
		r.queue.timeslice_us = value;
	if (at->n->kind == GT_NV_INTERLEAVE)
		r.queue.interleave = value < GT_NONE16 ? (uint16_t)value : GT_NONE16;
	gb_out(at->v->b, &r);
}

static void on_gpu_id(struct gv_at *at, uint32_t p)
{
	struct gv_proc *proc = &at->v->proc[p];
	uint32_t i = 0;

	while (i < proc->nids && proc->ids[i].number != at->n->rm.number)
		i++;
	if (i == GV_MAX_IDS)
		return;
	proc->nids = i == proc->nids ? i + 1 : proc->nids;
	proc->ids[i].number = at->n->rm.number;
	proc->ids[i].id = at->n->rm.value;
}

/* Ends ------------------------------------------------------------------------------ */

static void on_close(struct gv_at *at)
{
	gv_enter(at, GT_NV_CLOSE);
	gv_file_end(at, at->n->rm.file);
}

static void on_exit_of(struct gv_at *at, uint32_t p)
{
	if (at->v->release)
		gv_proc_exit(at, p);
	else
		gv_proc_end(at, p);
}

static void on_exec(struct gv_at *at, uint32_t p)
{
	if (!at->v->release) /* else what was not kept open is told as closed */
		gv_proc_end(at, p);
}

/*
 * What a record means: it tells something, or that a process has done something. @makes: which may
 * be the first that is heard of it
 */
static const struct {
	void (*tells)(struct gv_at *at);
	void (*did)(struct gv_at *at, uint32_t p);
	bool makes;
} kinds[GT_NV_KINDS] = {
	[GT_NV_INIT] = { .tells = gv_on_init },
	[GT_NV_BIND] = { .tells = gv_on_bind },
	[GT_NV_TOKEN] = { .tells = gv_on_token },
	[GT_NV_DESTROY] = { .tells = gv_on_destroy },
	[GT_NV_CLIENT] = { .did = on_client, .makes = true },
	[GT_NV_DEVICE] = { .did = on_device, .makes = true },
	[GT_NV_GROUP] = { .did = on_group, .makes = true },
	[GT_NV_CHANNEL] = { .did = on_channel, .makes = true },
	[GT_NV_FREE] = { .did = on_free },
	[GT_NV_SCHEDULE] = { .did = on_schedule },
	[GT_NV_TIMESLICE] = { .did = on_value },
	[GT_NV_INTERLEAVE] = { .did = on_value },
	[GT_NV_INFO] = { .did = on_value },
	[GT_NV_RM_TOKEN] = { .did = on_rm_token },
	[GT_NV_GPU_ID] = { .did = on_gpu_id, .makes = true },
	[GT_NV_ENTER] = { .tells = on_enter },
	[GT_NV_CLOSE] = { .tells = on_close },
	[GT_NV_EXIT] = { .did = on_exit_of },
	[GT_NV_EXEC] = { .did = on_exec },
};

bool gv_record(struct gv *v, const struct gt_bpf_nv *n)
{
	struct gv_at at = { .v = v, .n = n };
	uint32_t p;

	if (n->kind >= GT_NV_KINDS)
		return false;
	if (kinds[n->kind].tells)
		kinds[n->kind].tells(&at);
	if (!kinds[n->kind].did)
		return false;
	p = gv_proc(&at, n->rm.gen, kinds[n->kind].makes);
	if (p)
		kinds[n->kind].did(&at, p);
	if (call_of(v, n->tid)->tid == n->tid)
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

/* Without the processes: who has ended is not to be met again. */
void gv_forsake(struct gv *v, uint64_t ts)
{
	const struct gt_bpf_nv nobody = { .ts = ts, .cpu = GT_NONE16 };
	struct gv_at at = { .v = v, .n = &nobody };
	union gt_record r;

	v->release = false;
	for (uint32_t t = 1; t <= v->ntsgs; t++) {
		if (!v->tsg[t].used)
			continue;
		gv_tsg_desc(&at, t, &r);
		r.queue.pid = r.queue.uid = GT_NONE32;
		gb_out(v->b, &r);
	}
}
