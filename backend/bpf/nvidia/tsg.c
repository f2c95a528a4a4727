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
static uint32_t own_id(struct gv *v)
{
	uint32_t i = 0;

	while (!~v->own[i])
		i++;
	i = i * 64 + (uint32_t)__builtin_ctzll(~v->own[i]);
	v->own[i / 64] |= 1ull << i % 64;
	return GV_OWN_ID + i;
}

static uint32_t *bucket_of(struct gv *v, uint16_t gpu, uint32_t id)
{
	return &v->tsg_bucket[gv_bucket(v, gpu, id, 0)];
}

static uint32_t same_id(struct gv *v, uint16_t gpu, uint32_t id)
{
	uint32_t t = *bucket_of(v, gpu, id);

	while (t && (v->tsg[t].gpu != gpu || v->tsg[t].id != id))
		t = v->tsg[t].chain;
	return t;
}

static uint32_t take(struct gv *v)
{
	uint32_t t = v->free_tsgs;

	if (t)
		v->free_tsgs = v->tsg[t].chain;
	else if (v->ntsgs < GV_MAX_TSGS)
		t = ++v->ntsgs;
	return t;
}

static uint32_t *list_of(struct gv *v, const struct gv_tsg *q)
{
	return q->proc ? &v->proc[q->proc].tsgs : &v->leaving;
}

static void enlist(struct gv *v, uint32_t t)
{
	struct gv_tsg *q = &v->tsg[t];
	uint32_t *list = list_of(v, q);

	q->prev = 0;
	q->next = *list;
	v->tsg[*list].prev = t;
	*list = t;
}

/* From its list, and from what it was made as and in */
static void detach(struct gv *v, uint32_t t)
{
	struct gv_tsg *q = &v->tsg[t];

	*(q->prev ? &v->tsg[q->prev].next : list_of(v, q)) = q->next;
	v->tsg[q->next].prev = q->prev;
	if (q->obj)
		v->obj[q->obj].tsg = 0;
	q->obj = 0;
	if (v->call[q->call].tsg == t)
		v->call[q->call].tsg = 0;
}

static void enter(struct gv *v, uint32_t t)
{
	uint32_t *bucket = bucket_of(v, v->tsg[t].gpu, v->tsg[t].id);

	v->tsg[t].chain = *bucket;
	*bucket = t;
	enlist(v, t);
}

static void forget(struct gv *v, uint32_t t)
{
	struct gv_tsg *q = &v->tsg[t];
	uint32_t *i = bucket_of(v, q->gpu, q->id);

	while (*i != t)
		i = &v->tsg[*i].chain;
	*i = q->chain;
	detach(v, t);
	if (q->id >= GV_OWN_ID)
		v->own[(q->id - GV_OWN_ID) / 64] &= ~(1ull << (q->id - GV_OWN_ID) % 64);
	v->user[q->user].tsgs--;
	*q = (struct gv_tsg){ .chain = v->free_tsgs };
	v->free_tsgs = t;
}

/*
 * Has the driver given @q's numbers to another queue, which @p has made? It has if there is one
 * GPU. Where there are several, it is by what a process was told that it is known which one it
 * uses, and it may say that it was told another.
 */
static bool is_over(const struct gv *v, const struct gv_tsg *q, uint32_t p)
{
	return v->npci <= 1 || !q->proc || q->proc == p;
}

uint32_t gv_tsg_new(struct gv_at *at, uint32_t p, uint16_t gpu, uint32_t runlist, uint32_t tsg)
{
	struct gv *v = at->v;
	const struct gv_proc *proc = &v->proc[p];
	struct gv_user *user = &v->user[proc->user];
	uint32_t id = id_of(runlist, tsg), old, t;

	old = id == GT_NONE32 ? 0 : same_id(v, gpu, id);
	if (old && is_over(v, &v->tsg[old], p)) /* its end was not heard */
		gv_tsg_end(at, old, GT_F_INFERRED);
	else if (old)
		id = GT_NONE32;
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
	enter(v, t);
	return t;
}

static void init(struct gv_at *at, const struct gv_tsg *q, union gt_record *r, enum gt_type type)
{
	gt_record_init(r, at->n->ts, type);
	r->ev.cpu = at->n->cpu;
	r->ev.gpu = q->gpu;
}

/* One that has ended is not to be met again. */
static uint32_t pid_of(const struct gv *v, const struct gv_tsg *q)
{
	return v->proc[q->proc].gone ? GT_NONE32 : q->pid;
}

void gv_tsg_event(struct gv_at *at, uint32_t t, enum gt_type type, uint64_t value, uint64_t ref)
{
	const struct gv_tsg *q = &at->v->tsg[t];
	union gt_record r;

	init(at, q, &r, type);
	r.ev.queue = q->id;
	r.ev.pid = pid_of(at->v, q);
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
	r->queue.flags = at->v->release ? GT_F_END_TOLD : 0;
	r->queue.queue = q->id;
	r->queue.pid = pid_of(at->v, q);
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
	r.ev.flags = flags | at->flags;
	r.ev.queue = q->id;
	r.ev.pid = pid_of(at->v, q);
	r.ev.uid = q->uid;
	r.ev.tid = at->n->pid == q->pid ? at->n->tid : GT_NONE32;
	gb_out(at->v->b, &r);
	if (!q->hooked)
		gv_trace(at, gv_line(at, GT_NV_DESTROY, t));
	forget(at->v, t);
}

void gv_tsg_leave(struct gv_at *at, uint32_t t)
{
	struct gv *v = at->v;
	struct gv_tsg *q = &v->tsg[t];

	if (!q->hooked || !v->destroys) {
		gv_tsg_end(at, t, 0);
		return;
	}
	detach(v, t);
	q->proc = 0;
	q->left = at->n->ts;
	enlist(v, t);
}

uint32_t gv_tsg_same(struct gv *v, uint16_t gpu, uint32_t runlist, uint32_t tsg)
{
	uint32_t id = id_of(runlist, tsg);

	return id == GT_NONE32 ? 0 : same_id(v, gpu, id);
}

static bool is_meant(const struct gv_tsg *q, const struct gv_key *key, uint16_t any)
{
	return q->hooked && q->tsg == key->tsg &&
	       (key->runlist == GT_NONE32 || q->runlist == key->runlist) &&
	       (key->gpu == GT_NONE16 || key->gpu == q->gpu || key->gpu == any || q->gpu == any);
}

uint32_t gv_tsg_find(struct gv_at *at, uint32_t list, const struct gv_key *key, bool *several)
{
	struct gv *v = at->v;
	uint16_t any = key->gpu == GT_NONE16 ? GT_NONE16 : gv_gpu_any(v);
	unsigned int best = 0, by;
	uint32_t found = 0;

	*several = false;
	for (uint32_t t = list; t; t = v->tsg[t].next) {
		if (!is_meant(&v->tsg[t], key, any))
			continue;
		by = key->fits ? key->fits(at, &v->tsg[t]) : 1;
		if (by && by == best)
			*several = true;
		if (by <= best)
			continue;
		best = by;
		found = t;
		*several = false;
	}
	return found;
}
