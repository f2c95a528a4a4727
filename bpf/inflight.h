/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Jobs in flight, by context: a few lists of each ring, and jobs that leave them because their end was missed,
 * see backend/unseen.h. The ring's lock is held. Before the #include, GT_K_JOB_AT(OF, I) is defined: a pointer to
 * job number I of the array OF, or NULL.
 */
#ifndef GT_BPF_INFLIGHT_H
#define GT_BPF_INFLIGHT_H

#include "count.h"

static inline __attribute__((always_inline)) struct gt_k_bucket *gt_k_bucket_of(struct gt_k_ring *r,
										uint64_t ctx)
{
	return &r->bucket[gt_k_mix(0, ctx) & (GT_K_BUCKETS - 1)];
}

/** gt_k_link() - puts @j, which has entered @r, at the end of its bucket */
static inline __attribute__((always_inline)) void gt_k_link(void *of, struct gt_k_ring *r,
							    struct gt_k_job *j)
{
	struct gt_k_bucket *b = gt_k_bucket_of(r, j->ctx);
	uint32_t tail = b->tail;
	struct gt_k_job *t;

	if (j->listed || (j->flags & GT_K_VAGUE) || j->ctx == UINT64_MAX || j->seqno == UINT64_MAX)
		return;
	t = tail ? GT_K_JOB_AT(of, tail - 1) : 0;
	j->listed = 1;
	j->next = 0;
	j->prev = (uint16_t)tail;
	if (t)
		t->next = j->self;
	else
		b->head = j->self;
	b->tail = j->self;
}

/** gt_k_unlink() - takes @j out of its bucket */
static inline __attribute__((always_inline)) void gt_k_unlink(void *of, struct gt_k_ring *r,
							      struct gt_k_job *j)
{
	struct gt_k_bucket *b = gt_k_bucket_of(r, j->ctx);
	uint32_t prev = j->prev, next = j->next;
	struct gt_k_job *p, *n;

	if (!j->listed)
		return;
	j->listed = 0;
	p = prev ? GT_K_JOB_AT(of, prev - 1) : 0;
	n = next ? GT_K_JOB_AT(of, next - 1) : 0;
	if (p)
		p->next = (uint16_t)next;
	else
		b->head = (uint16_t)next;
	if (n)
		n->prev = (uint16_t)prev;
	else
		b->tail = (uint16_t)prev;
}

/**
 * gt_k_unseen() - the end of @j, in flight, was missed, which is known at @ts
 * @p: its pair, or NULL; @s: the pair's sums
 *
 * The job stays in the table, as its end may still come.
 */
static inline __attribute__((always_inline)) void
gt_k_unseen(void *of, struct gt_k_ring *r, struct gt_k_bank *b, struct gt_k_pair *p,
	    struct gt_k_sum *s, struct gt_k_job *j, uint64_t ts, uint8_t why)
{
	gt_k_unlink(of, r, j);
	gt_k_leave(r, j, gt_k_later(ts, j->seen));
	j->flags |= GT_K_UNSEEN;
	j->unseen = ts;
	j->unseen_why = why;
	if (j->flags & GT_K_REC)
		return;
	b->last = gt_k_later(b->last, ts);
	if (p)
		p->inflight--;
	if (s)
		s->unseen++;
	else
		b->unseen++;
}

/** gt_k_back() - an event of a job of gt_k_unseen() came at @ts: it is in flight again */
static inline __attribute__((always_inline)) void gt_k_back(void *of, struct gt_k_ring *r,
							    struct gt_k_bank *b,
							    struct gt_k_pair *p, struct gt_k_sum *s,
							    struct gt_k_job *j, uint64_t ts)
{
	j->flags &= (uint8_t)~GT_K_UNSEEN;
	gt_k_link(of, r, j);
	gt_k_flies(r, b, j);
	if (j->flags & GT_K_REC)
		return;
	r->area -= gt_k_later(ts, j->seen) - j->seen;
	if (p)
		p->inflight++;
	if (s)
		s->back++;
	else
		b->back++;
}
#endif
