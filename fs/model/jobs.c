/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The table of jobs in flight: an array that is allocated once, hash chains through it, and two
 * lists by first sight: of all jobs and of each ring's. Jobs leave when they end, by age, or, when
 * the table is full, because they are the oldest.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

static_assert(sizeof(struct gt_job) == 128, "two cache lines");
static_assert(offsetof(struct gt_job, ring) == offsetof(struct gt_job, gpu) + 2, "gt_job_place()");
static_assert(offsetof(struct gt_job, start) == 64, "what a look-up needs is in the first");

static int heads_alloc(struct gt_model *m, uint32_t n)
{
	uint32_t *heads = gt_mem_get(n * sizeof(*heads), false);

	if (!heads)
		return -ENOMEM;
	memset(heads, 0xff, n * sizeof(*heads));
	gt_mem_put(m->priv->heads, (m->priv->head_mask + 1ULL) * sizeof(*heads));
	m->priv->heads = heads;
	m->priv->head_mask = n - 1;
	return 0;
}

int gt_jobs_init(struct gt_model *m)
{
	struct gt_model_private *p = m->priv;

	m->jobs = gt_mem_get(m->limits.max_jobs * sizeof(*m->jobs), false);
	p->free_job = p->age_head = p->age_tail = GT_NONE32;
	return m->jobs ? heads_alloc(m, 1024) : -ENOMEM;
}

void gt_jobs_destroy(struct gt_model *m)
{
	gt_mem_put(m->jobs, m->limits.max_jobs * sizeof(*m->jobs));
	gt_mem_put(m->priv->heads, (m->priv->head_mask + 1ULL) * sizeof(*m->priv->heads));
}

static uint32_t *head_of(const struct gt_model *m, const struct gt_job *j)
{
	return &m->priv->heads[j->hash & m->priv->head_mask];
}

/* Twice the chains; without memory they stay as long as they are */
static void heads_grow(struct gt_model *m)
{
	if (heads_alloc(m, (m->priv->head_mask + 1) * 2))
		return;
	for (uint32_t i = m->priv->age_head; i != GT_NONE32; i = m->jobs[i].age_next) {
		uint32_t *head = head_of(m, &m->jobs[i]);

		m->jobs[i].hash_next = *head;
		*head = i;
	}
}

static void hash_unlink(struct gt_model *m, struct gt_job *j)
{
	uint32_t *at = head_of(m, j), i = (uint32_t)(j - m->jobs);

	while (*at != i)
		at = &m->jobs[*at].hash_next;
	*at = j->hash_next;
}

static void age_unlink(struct gt_model *m, struct gt_job *j)
{
	if (j->age_prev == GT_NONE32)
		m->priv->age_head = j->age_next;
	else
		m->jobs[j->age_prev].age_next = j->age_next;
	if (j->age_next == GT_NONE32)
		m->priv->age_tail = j->age_prev;
	else
		m->jobs[j->age_next].age_prev = j->age_prev;
}

static void ring_unlink(struct gt_model *m, struct gt_ring *r, struct gt_job *j)
{
	if (j->ring_prev == GT_NONE32)
		r->jobs_head = j->ring_next;
	else
		m->jobs[j->ring_prev].ring_next = j->ring_next;
	if (j->ring_next == GT_NONE32)
		r->jobs_tail = j->ring_prev;
	else
		m->jobs[j->ring_next].ring_prev = j->ring_prev;
}

static void link_last(struct gt_model *m, struct gt_ring *r, struct gt_job *j)
{
	uint32_t i = (uint32_t)(j - m->jobs);

	j->age_next = j->ring_next = GT_NONE32;
	j->age_prev = m->priv->age_tail;
	j->ring_prev = r->jobs_tail;
	if (j->age_prev == GT_NONE32)
		m->priv->age_head = i;
	else
		m->jobs[j->age_prev].age_next = i;
	if (j->ring_prev == GT_NONE32)
		r->jobs_head = i;
	else
		m->jobs[j->ring_prev].ring_next = i;
	m->priv->age_tail = r->jobs_tail = i;
}

static void uncount(struct gt_model *m, struct gt_ring *r, struct gt_job *j, uint64_t ts)
{
	gt_ring_hw_leave(r, j);
	gt_ring_depth(r, -1, ts);
	if (j->queue != GT_NONE16) {
		gt_depth_to(&m->queues[j->queue]->depth, ts);
		m->queues[j->queue]->depth.now--;
	}
	if (j->proc != GT_NONE32)
		m->procs[j->proc]->inflight--;
	if (j->pring)
		j->pring->inflight--;
}

void gt_job_drop(struct gt_model *m, struct gt_job *j, uint64_t ts)
{
	struct gt_ring *r = m->gpus[j->gpu]->rings[j->ring];

	hash_unlink(m, j);
	age_unlink(m, j);
	ring_unlink(m, r, j);
	if (j->live != GT_JOB_OUTER)
		uncount(m, r, j, ts);
	j->live = 0;
	j->hash_next = m->priv->free_job;
	m->priv->free_job = (uint32_t)(j - m->jobs);
	m->njobs--;
}
static void give_up(struct gt_model *m, struct gt_job *j, uint64_t now, bool aged)
{
	struct gt_where w = { .gpu = m->gpus[j->gpu] };

	if (j->live == GT_JOB_OUTER) { /* its source gives it up */
		gt_job_drop(m, j, now);
		return;
	}
	w.ring = w.gpu->rings[j->ring];
	w.proc = j->proc == GT_NONE32 ? NULL : m->procs[j->proc];
	w.queue = j->queue == GT_NONE16 ? NULL : m->queues[j->queue];
	if (aged)
		GT_COUNT(m, &w, aged, 1);
	else
		GT_COUNT(m, &w, evicted, 1);
	gt_ring_window(w.ring, now, m->window_ns);
	gt_job_drop(m, j, now);
	gt_bump(m, &w);
}

void gt_jobs_reap(struct gt_model *m, uint64_t now)
{
	while (m->priv->age_head != GT_NONE32) {
		struct gt_job *j = &m->jobs[m->priv->age_head];

		if (now < j->seen || now - j->seen <= m->limits.max_job_age_ns)
			break;
		give_up(m, j, now, true);
	}
}

/* An index that no job has; the oldest job gives its own if need be */
static uint32_t take_index(struct gt_model *m)
{
	struct gt_model_private *p = m->priv;
	uint32_t i;

	gt_jobs_reap(m, m->now);
	if (m->njobs == m->limits.max_jobs)
		give_up(m, &m->jobs[p->age_head], m->now, false);
	i = p->free_job;
	if (i == GT_NONE32)
		return p->fresh_job++;
	p->free_job = m->jobs[i].hash_next;
	return i;
}

static struct gt_job *add(struct gt_model *m, const struct gt_where *w, const struct gt_event *e,
			  uint32_t hash)
{
	uint32_t i = take_index(m), *head;
	struct gt_job *j = &m->jobs[i];

	if (++m->njobs > m->priv->head_mask / 2)
		heads_grow(m);
	head = &m->priv->heads[hash & m->priv->head_mask];
	j->ctx = e->ctx;
	j->seqno = e->seqno;
	j->gpu = e->gpu;
	j->ring = e->ring;
	j->hash = hash;
	j->hash_next = *head;
	j->seen = e->ts;
	j->pid = e->pid;
	j->uid = e->uid;
	j->submit = j->commit = j->start = j->end = j->waiting = 0;
	j->ioctl = GT_NONE64;
	j->pring = NULL;
	j->proc = GT_NONE32;
	j->queue = GT_NONE16;
	j->hw_epoch = 0;
	j->after_loss = j->recorded = j->told = 0;
	j->live = 1;
	*head = i;
	link_last(m, w->ring, j);
	return j;
}

struct gt_job *gt_job_new(struct gt_model *m, const struct gt_where *w, const struct gt_event *e,
			  uint32_t hash)
{
	struct gt_job *j = add(m, w, e, hash);

	gt_ring_depth(w->ring, 1, e->ts);
	return j;
}

struct gt_job *gt_job_outer(struct gt_model *m, const struct gt_where *w, const struct gt_event *e,
			    uint32_t hash)
{
	struct gt_job *j;

	if (m->njobs == m->limits.max_jobs)
		return NULL;
	j = add(m, w, e, hash);
	j->live = GT_JOB_OUTER;
	return j;
}
