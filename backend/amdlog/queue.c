/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Hardware queues. The runtime makes a few and lends them to streams: `users` is how many have one.
 * Its address names it, until it is deleted.
 */
#include <stdlib.h>

#include "internal.h"

/* A user may have a part of all queues, as of all logs */
static bool has_enough(const struct gt_amd_log *l)
{
	const struct gt_amd *a = l->a;
	uint32_t n = 0;

	for (unsigned int i = 0; i < a->n && l->uid && !a->p->recording; i++)
		n += a->file[i]->log.uid == l->uid ? a->file[i]->log.queues.used : 0;
	return n >= GT_AMD_QUEUES_ALL / GT_AMD_SHARE;
}

/* A log that began before it was followed, or has lost lines, tells of queues that it never made.
 */
static struct gt_amd_queue *queue_new(struct gt_amd_log *l, uint64_t hwq, uint32_t pid)
{
	struct gt_amd_queue *q = NULL;

	if (has_enough(l))
		return NULL;
	for (uint32_t i = 0; i < GT_AMD_QUEUES && !q; i++)
		if (!l->queue[i].hwq)
			q = &l->queue[i];
	if (!q || !gt_amd_map_set(&l->queues, hwq, (uint32_t)(q - l->queue)))
		return NULL;
	*q = (struct gt_amd_queue){ .hwq = hwq,
				    .id = gt_amd_number(&l->a->numbers),
				    .pid = pid,
				    .users = GT_NONE32,
				    .depth = GT_NONE32,
				    .priority = GT_NONE32 };
	if (q->id == GT_NONE32) {
		gt_amd_map_del(&l->queues, hwq);
		q->hwq = 0;
		return NULL;
	}
	l->n.queues++;
	return q;
}

static struct gt_amd_queue *find(struct gt_amd_log *l, uint64_t hwq)
{
	uint32_t i = hwq == GT_NONE64 ? GT_NONE32 : gt_amd_map_get(&l->queues, hwq);

	return i == GT_NONE32 ? NULL : &l->queue[i];
}

struct gt_amd_queue *gt_amd_queue(struct gt_amd_log *l, uint64_t hwq, uint32_t pid)
{
	struct gt_amd_queue *q = find(l, hwq);

	if (!q && hwq && hwq != GT_NONE64)
		q = queue_new(l, hwq, pid);
	if (!q)
		l->n.refused++;
	return q;
}

void gt_amd_queue_tell(struct gt_amd_log *l, struct gt_amd_queue *q, uint64_t ts)
{
	union gt_record r;

	if (q->told || l->gpu == GT_NONE16 || ts < l->since)
		return;
	gt_record_init(&r, ts, GT_QUEUE);
	r.queue.gpu = l->gpu;
	r.queue.queue = q->id;
	r.queue.pid = q->pid;
	r.queue.uid = l->uid;
	r.queue.ctx = q->hwq;
	r.queue.flags = GT_F_RUNTIME;
	r.queue.kind = GT_QUEUE_COMPUTE;
	r.queue.engine = GT_ENGINE_COMPUTE;
	r.queue.channels = q->users;
	if (q->priority < GT_NONE16)
		r.queue.priority = (uint16_t)q->priority;
	r.queue.size = q->size;
	gt_amd_log_put(l, &r);
	q->told = true;
}

static void tell(struct gt_amd_log *l, struct gt_amd_queue *q, enum gt_type type, uint64_t ts,
		 uint32_t pid)
{
	union gt_record r;

	gt_amd_log_event(l, type, ts, pid, q, &r);
	r.ev.ctx = q->hwq; /* by which its driver knows it */
	r.ev.flags = GT_F_RUNTIME;
	gt_amd_log_put(l, &r);
}

void gt_amd_queue_delete(struct gt_amd_log *l, struct gt_amd_queue *q, uint64_t ts, uint32_t pid)
{
	tell(l, q, GT_QUEUE_DESTROY, ts, pid);
	gt_amd_map_del(&l->queues, q->hwq);
	gt_amd_number_put(&l->a->numbers, q->id);
	free(q->open);
	*q = (struct gt_amd_queue){ 0 };
}

/* At an address that is in use already the end of the former one was not told. */
static void created(struct gt_amd_log *l, const struct gt_amd_msg *m, uint64_t ts, uint32_t pid)
{
	struct gt_amd_queue *q = find(l, m->hwq);

	if (q)
		gt_amd_queue_delete(l, q, ts, pid);
	q = gt_amd_queue(l, m->hwq, pid);
	if (!q)
		return;
	q->size = m->size == GT_NONE64 ? 0 : m->size;
	q->priority = m->priority;
	/* It may have the number of one that ended: what is told before its begin would be that
	 * one's. */
	q->told = true;
	tell(l, q, GT_QUEUE_CREATE, ts, pid);
	q->told = false;
	gt_amd_queue_tell(l, q, ts);
}

static void users(struct gt_amd_log *l, const struct gt_amd_msg *m, uint64_t ts, uint32_t pid)
{
	struct gt_amd_msg made = { .hwq = m->hwq,
				   .size = l->made.size,
				   .priority = l->made.priority };
	struct gt_amd_queue *q = find(l, m->hwq);
	uint32_t n = m->number < GT_NONE32 ? (uint32_t)m->number : GT_NONE32;

	if (!q && m->what == GT_AMD_ACQUIRED && l->made.ts)
		created(l, &made, l->made.ts, pid);
	if (m->what == GT_AMD_ACQUIRED)
		l->made.ts = 0;
	q = gt_amd_queue(l, m->hwq, pid);
	if (!q)
		return;
	q->told &= q->users == n;
	q->users = n;
	gt_amd_queue_tell(l, q, ts);
	if (!!n == q->mapped)
		return;
	q->mapped = n;
	tell(l, q, n ? GT_QUEUE_MAP : GT_QUEUE_UNMAP, ts, pid);
}

void gt_amd_queue_message(struct gt_amd_log *l, const struct gt_amd_msg *m, uint64_t ts,
			  uint32_t pid)
{
	struct gt_amd_queue *q;

	switch (m->what) {
	case GT_AMD_CREATED:
		if (m->hwq != GT_NONE64)
			created(l, m, ts, pid);
		else
			l->made = (struct gt_amd_made){ ts, m->size, m->priority };
		break;
	case GT_AMD_DELETED:
		q = find(l, m->hwq);
		if (q)
			gt_amd_queue_delete(l, q, ts, pid);
		break;
	default:
		users(l, m, ts, pid);
	}
}
