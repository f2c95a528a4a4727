/* SPDX-License-Identifier: GPL-2.0 */
/*
 * From what the programs tell of queues to records: which queue it is, and which GPU's. Who makes
 * one says what it is, in memory that can say anything: it concerns nobody else.
 */
#include <errno.h>
#include <signal.h>

#include "internal.h"

static void init(const struct gi *gi, const struct gi_queue *q, union gt_record *r, uint64_t ts,
		 enum gt_type type)
{
	gt_record_init(r, ts, type);
	r->ev.gpu = q->gpu;
	if (type != GT_QUEUE)
		r->ev.queue = gi_queue_id(&gi->queues, q);
}

static void event(struct gi *gi, const struct gi_queue *q, const struct gt_bpf_queue *r,
		  enum gt_type type)
{
	union gt_record out;

	init(gi, q, &out, r->ts, type);
	out.ev.cpu = r->cpu;
	out.ev.pid = r->pid;
	out.ev.tid = r->tid;
	out.ev.uid = r->uid;
	if (type == GT_QUEUE_CREATE) {
		out.ev.ctx = r->base; /* by which its runtime knows it */
		out.ev.flags = q->found ? GT_F_INFERRED : 0;
	}
	gb_out(gi->b, &out);
}

void gi_made(struct gi *gi, const struct gi_queue *q, const struct gt_bpf_queue *r, bool is_new)
{
	union gt_record out;

	/* the event first: by it the model knows that the number is another queue's now */
	if (is_new)
		event(gi, q, r, GT_QUEUE_CREATE);
	init(gi, q, &out, r->ts, GT_QUEUE);
	out.queue.cpu = r->cpu;
	out.queue.queue = gi_queue_id(&gi->queues, q);
	out.queue.pid = q->pid;
	out.queue.uid = q->uid;
	out.queue.ctx = r->base;
	out.queue.kind = r->kind == UINT8_MAX ? GT_NONE16 : r->kind;
	out.queue.engine = r->engine == UINT8_MAX ? GT_NONE16 : r->engine;
	out.queue.priority = r->priority;
	out.queue.size = r->size == GT_NONE32 ? GT_NONE64 : r->size;
	gb_out(gi->b, &out);
}

/* Without the process: it may be no more, and is not to be met again. */
void gi_ended(struct gi *gi, struct gi_queue *q, uint64_t ts)
{
	union gt_record out;

	init(gi, q, &out, ts, GT_QUEUE_DESTROY);
	out.ev.flags = GT_F_INFERRED;
	gb_out(gi->b, &out);
	gi_queue_end(&gi->queues, q);
}

static bool alive(struct gi *gi, const struct gi_queue *q)
{
	if (q->gen)
		return gi->owner(gi, q->pid, false) == q->gen;
	return !kill((pid_t)q->pid, 0) || errno != ESRCH;
}

void gi_sweep(struct gi *gi, uint64_t ts)
{
	gi->swept = ts;
	for (uint32_t i = 0; i < gi->queues.used; i++) {
		struct gi_queue *q = &gi->queues.q[i];

		if (q->used && !alive(gi, q))
			gi_ended(gi, q, ts);
	}
}

/* A process's of KFD are its own; those of a file are the file's, and of who made them. */
static bool ends(const struct gi_queue *q, const struct gt_bpf_queue *r)
{
	if (r->what == GT_IQ_CLOSE)
		return q->owner == r->owner;
	return q->pid == r->pid && (r->what == GT_IQ_EXIT || q->owner == r->pid);
}

static void end_all(struct gi *gi, const struct gt_bpf_queue *r)
{
	enum gi_list list = r->what == GT_IQ_CLOSE ? GI_BY_OWNER : GI_BY_PID;
	struct gi_queue *q, *next;

	q = gi_queue_first(&gi->queues, list, r->what == GT_IQ_CLOSE ? r->owner : r->pid);
	for (; q; q = next) {
		next = gi_queue_next(&gi->queues, list, q);
		if (ends(q, r))
			gi_ended(gi, q, r->ts);
	}
}

/* NULL also if it is that of an earlier process with this id, whose end was not heard */
static struct gi_queue *find(struct gi *gi, const struct gt_bpf_queue *r)
{
	struct gi_queue *q = gi_queue_find(&gi->queues, r->device, r->owner, r->id);

	if (!q || !q->gen || !r->gen || q->gen == r->gen || q->pid != r->pid)
		return q;
	gi_ended(gi, q, r->ts);
	return NULL;
}

static uint32_t gen_of(const struct gt_bpf_queue *r)
{
	return r->gen == GT_NONE32 ? 0 : r->gen;
}

static struct gi_queue *make(struct gi *gi, const struct gt_bpf_queue *r, uint16_t gpu)
{
	struct gi_queue *q = gi_queue_new(&gi->queues, r->device, r->owner, r->id, r->pid, r->uid);

	if (!q && r->ts - gi->swept >= GI_SWEEP_NS) {
		gi_sweep(gi, r->ts);
		q = gi_queue_new(&gi->queues, r->device, r->owner, r->id, r->pid, r->uid);
	}
	if (!q) {
		gi->queues.refused++;
		return NULL;
	}
	q->gen = gen_of(r);
	q->gpu = gpu;
	return q;
}

/* A new one; NULL: nobody knows its GPU, or there is no room */
static struct gi_queue *enter(struct gi *gi, const struct gt_bpf_queue *r)
{
	uint16_t gpu;

	if (!gi_devices_gpu(&gi->devices, r->device, &gpu) || gpu == GT_NONE16)
		gpu = gi_devices_kfd(&gi->devices, r->kfd_id);
	if (gpu != GT_NONE16)
		return make(gi, r, gpu);
	gi->unknown_queues++;
	return NULL;
}

static void created(struct gi *gi, const struct gt_bpf_queue *r)
{
	struct gi_queue *q = find(gi, r);

	if (q && q->found) { /* the kernel's list had it before this came */
		q->found = false;
		q->gen = gen_of(r);
		gi_made(gi, q, r, false);
		return;
	}
	if (q) /* its end was not heard */
		gi_ended(gi, q, r->ts);
	q = enter(gi, r);
	if (q)
		gi_made(gi, q, r, true);
}

void gi_found(struct gi *gi, const struct gt_bpf_queue *r)
{
	struct gi_queue *q = enter(gi, r);

	if (!q)
		return;
	q->found = q->listed = true;
	gi_made(gi, q, r, true);
}

static void changed(struct gi *gi, const struct gt_bpf_queue *r)
{
	struct gi_queue *q = find(gi, r);

	if (!q) {
		gi->unknown_queues++;
		return;
	}
	if (r->what == GT_IQ_UPDATE) {
		gi_made(gi, q, r, false);
		event(gi, q, r, r->runs ? GT_QUEUE_SCHEDULE : GT_QUEUE_UNMAP);
		return;
	}
	event(gi, q, r, GT_QUEUE_DESTROY);
	gi_queue_end(&gi->queues, q);
}

void gi_told(struct gi *gi, const struct gt_bpf_queue *r)
{
	switch (r->what) {
	case GT_IQ_CREATE:
		created(gi, r);
		break;
	case GT_IQ_UPDATE:
	case GT_IQ_DESTROY:
		changed(gi, r);
		break;
	case GT_IQ_EXEC:
	case GT_IQ_EXIT:
	case GT_IQ_CLOSE:
		end_all(gi, r);
		break;
	}
}
