/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Queues: TSGs. The driver numbers them for each runlist of a GPU, so that number alone is no name;
 * programs name them by a handle, which is no name for others.
 */
#include <string.h>

#include "nvidia.h"

/* The key is the id, so that it can be told where the hooks say no more than a number. */
static uint32_t id_of(uint32_t runlist, uint32_t tsg)
{
	if (runlist >= GV_OWN_ID >> 16 || tsg > 0xffff)
		return GT_NONE32;
	return runlist << 16 | tsg;
}

/* The lowest id of ours that is free: an id is used again, as the model keeps each for a while. */
static uint32_t own_id(const struct gv *v)
{
	uint64_t taken[GV_MAX_TSGS / 64 + 1] = { 0 };
	uint32_t n = 0;

	for (uint32_t t = 1; t <= v->ntsgs; t++)
		if (v->tsg[t].used && v->tsg[t].id >= GV_OWN_ID)
			taken[(v->tsg[t].id - GV_OWN_ID) / 64] |= 1ull << (v->tsg[t].id % 64);
	while (taken[n / 64] >> (n % 64) & 1)
		n++;
	return GV_OWN_ID + n;
}

static uint32_t same_id(const struct gv *v, uint16_t gpu, uint32_t id)
{
	for (uint32_t t = 1; t <= v->ntsgs; t++)
		if (v->tsg[t].used && v->tsg[t].gpu == gpu && v->tsg[t].id == id)
			return t;
	return 0;
}

static uint32_t take(struct gv *v)
{
	for (uint32_t t = 1; t <= v->ntsgs; t++)
		if (!v->tsg[t].used)
			return t;
	return v->ntsgs < GV_MAX_TSGS ? ++v->ntsgs : 0;
}

uint32_t gv_tsg_new(struct gv_at *at, uint32_t p, uint16_t gpu, uint32_t runlist, uint32_t tsg)
{
	struct gv *v = at->v;
	const struct gv_proc *proc = &v->proc[p];
	struct gv_user *user = &v->user[proc->user];
	uint32_t id = id_of(runlist, tsg), old, t;

	old = id == GT_NONE32 ? 0 : same_id(v, gpu, id);
	if (old) /* its end was not heard */
		gv_tsg_end(at, old, GT_F_INFERRED);
	t = proc->uid && user->tsgs >= GV_USER_TSGS ? 0 : take(v);
	if (!t) {
		v->tsgs_refused++;
		return 0;
	}
	user->tsgs++;
	v->tsg[t] = (struct gv_tsg){
		.used = true,
		.gpu = gpu,
		.id = id == GT_NONE32 ? own_id(v) : id,
		.proc = p,
		.pid = proc->pid,
		.uid = proc->uid,
		.user = proc->user,
		.runlist = runlist,
		.tsg = tsg,
		.channels = GT_NONE32,
	};
	return t;
}

static void init(struct gv_at *at, const struct gv_tsg *q, union gt_record *r, enum gt_type type)
{
	gt_record_init(r, at->n->ts, type);
	r->ev.cpu = at->n->cpu;
	r->ev.gpu = q->gpu;
}

void gv_tsg_event(struct gv_at *at, uint32_t t, enum gt_type type, uint64_t value, uint64_t ref)
{
	const struct gv_tsg *q = &at->v->tsg[t];
	union gt_record r;

	init(at, q, &r, type);
	r.ev.queue = q->id;
	r.ev.pid = q->pid;
	r.ev.uid = q->uid;
	r.ev.tid = at->n->pid == q->pid ? at->n->tid : GT_NONE32;
	r.ev.ctx = q->tsg == GT_NONE32 ? GT_NONE64 : q->tsg;
	r.ev.value = value;
	r.ev.ref = ref;
	gb_out(at->v->b, &r);
}

void gv_tsg_desc(struct gv_at *at, uint32_t t, union gt_record *r)
{
	const struct gv_tsg *q = &at->v->tsg[t];

	init(at, q, r, GT_QUEUE);
	r->queue.queue = q->id;
	r->queue.pid = q->pid;
	r->queue.uid = q->uid;
	r->queue.ctx = q->tsg == GT_NONE32 ? GT_NONE64 : q->tsg;
	r->queue.runlist = q->runlist;
	r->queue.channels = q->channels;
	r->queue.kind = GT_QUEUE_TSG;
}

void gv_tsg_end(struct gv_at *at, uint32_t t, uint8_t flags)
{
	struct gv_tsg *q = &at->v->tsg[t];
	union gt_record r;

	init(at, q, &r, GT_QUEUE_DESTROY);
	r.ev.flags = flags;
	r.ev.queue = q->id;
	r.ev.pid = q->pid;
	r.ev.uid = q->uid;
	r.ev.tid = at->n->pid == q->pid ? at->n->tid : GT_NONE32;
	gb_out(at->v->b, &r);
	if (!q->hooked)
		gv_trace(at, gv_line(at, GT_NV_DESTROY, t));
	if (q->obj)
		at->v->obj[q->obj].tsg = 0;
	for (unsigned int i = 0; i < GV_MAX_CALLS; i++)
		if (at->v->call[i].tsg == t)
			at->v->call[i].tsg = 0;
	at->v->user[q->user].tsgs--;
	*q = (struct gv_tsg){ 0 };
}

uint32_t gv_tsg_find(struct gv_at *at, uint32_t runlist, uint32_t tsg)
{
	struct gv *v = at->v;
	uint32_t own = 0, other = 0;
	unsigned int owns = 0, others = 0;

	for (uint32_t t = 1; t <= v->ntsgs; t++) {
		const struct gv_tsg *q = &v->tsg[t];

		if (!q->used || q->tsg != tsg || (runlist != GT_NONE32 && q->runlist != runlist))
			continue;
		if (q->pid == at->n->pid) {
			own = own ? own : t;
			owns++;
		} else {
			other = t;
			others++;
		}
	}
	if (owns > 1 || (!owns && others > 1))
		v->ambiguous++;
	if (!owns && !others && gv_proc(at, 0, false)) /* one that has ended took its own along */
		v->unmatched++;
	return own ? own : others == 1 ? other : 0;
}
