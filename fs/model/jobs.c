/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The table of jobs in flight: an array that is allocated once, hash chains through it, and two
 * lists by first sight: of each ring's, and of a few contexts'. Jobs leave when they end, by age,
 * or, when the table is full, because they are the oldest.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

static_assert(sizeof(struct gt_job) == 128, "two cache lines");
static_assert(offsetof(struct gt_job, ring) == offsetof(struct gt_job, gpu) + 2, "gt_job_place()");
static_assert(offsetof(struct gt_job, start) == 64, "what a look-up needs is in the first");
static_assert((GT_CTX_BUCKETS & (GT_CTX_BUCKETS - 1)) == 0, "a power of two");

#define STRANGERS 64 /* jobs of other contexts in a bucket that are looked at */

static uint32_t hash_of(const struct gt_model *m, const struct gt_job *j)
{
	return gt_key_hash(m, j->ctx, j->seqno, &j->gpu);
}

static void rehash(struct gt_model *m, uint32_t i)
{
	while (i != GT_NONE32) {
		struct gt_job *j = &m->jobs[i];
		uint32_t *head = &m->priv->heads[hash_of(m, j) & m->priv->head_mask];
		uint32_t next = j->hash_next;

		j->hash_next = *head;
		*head = i;
		i = next;
	}
}

static int heads_alloc(struct gt_model *m, uint32_t n)
{
	uint32_t *heads = gt_mem_get(n * sizeof(*heads), false), *were = m->priv->heads;
	uint64_t had = were ? m->priv->head_mask + 1ULL : 0;

	if (!heads)
		return -ENOMEM;
	memset(heads, 0xff, n * sizeof(*heads));
	m->priv->heads = heads;
	m->priv->head_mask = n - 1;
	for (uint64_t i = 0; i < had; i++)
		rehash(m, were[i]);
	gt_mem_put(were, had * sizeof(*were));
	return 0;
}

int gt_jobs_init(struct gt_model *m)
{
	struct gt_model_private *p = m->priv;

	m->jobs = gt_mem_get(m->limits.max_jobs * sizeof(*m->jobs), false);
	p->buckets = gt_mem_get(GT_CTX_BUCKETS * sizeof(*p->buckets), false);
	p->free_job = GT_NONE32;
	p->unseen = (struct gt_bucket){ GT_NONE32, GT_NONE32 };
	p->reap_at = UINT64_MAX;
	p->gap_until = UINT64_MAX;
	if (!m->jobs || !p->buckets)
		return -ENOMEM;
	memset(p->buckets, 0xff, GT_CTX_BUCKETS * sizeof(*p->buckets));
	return heads_alloc(m, 1024);
}

void gt_jobs_destroy(struct gt_model *m)
{
	gt_mem_put(m->jobs, m->limits.max_jobs * sizeof(*m->jobs));
	gt_mem_put(m->priv->buckets, GT_CTX_BUCKETS * sizeof(*m->priv->buckets));
	gt_mem_put(m->priv->heads, (m->priv->head_mask + 1ULL) * sizeof(*m->priv->heads));
}

static void hash_unlink(struct gt_model *m, const struct gt_job *j, uint32_t hash)
{
	uint32_t *at = &m->priv->heads[hash & m->priv->head_mask];
	uint32_t i = (uint32_t)(j - m->jobs);

	while (*at != i)
		at = &m->jobs[*at].hash_next;
	*at = j->hash_next;
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

static void ring_link(struct gt_model *m, struct gt_ring *r, struct gt_job *j)
{
	uint32_t i = (uint32_t)(j - m->jobs);

	j->ring_next = GT_NONE32;
	j->ring_prev = r->jobs_tail;
	if (j->ring_prev == GT_NONE32)
		r->jobs_head = i;
	else
		m->jobs[j->ring_prev].ring_next = i;
	r->jobs_tail = i;
}

/* Contexts share buckets, as few as there are of them and as many as the others are. */
static uint32_t bucket_of(const struct gt_model *m, uint64_t ctx, const uint16_t *gpu)
{
	uint64_t h = (ctx + gt_job_place(gpu) * 0x9e3779b97f4a7c15ULL) ^ m->priv->salt[2];

	return (uint32_t)((h * 0xff51afd7ed558ccdULL) >> 40) & (GT_CTX_BUCKETS - 1);
}

static bool in_context(const struct gt_job *j)
{
	return j->ctx != GT_NONE64 && j->seqno != GT_NONE64;
}

static void ctx_link(struct gt_model *m, struct gt_job *j)
{
	struct gt_bucket *b;
	uint32_t i = (uint32_t)(j - m->jobs);

	if (!in_context(j))
		return;
	b = &m->priv->buckets[bucket_of(m, j->ctx, &j->gpu)];
	j->ctx_next = GT_NONE32;
	j->ctx_prev = b->tail;
	if (b->tail == GT_NONE32)
		b->head = i;
	else
		m->jobs[b->tail].ctx_next = i;
	b->tail = i;
}

static void ctx_unlink(struct gt_model *m, struct gt_job *j)
{
	struct gt_bucket *b;

	if (!in_context(j))
		return;
	if (j->ctx_prev != GT_NONE32 && j->ctx_next != GT_NONE32) {
		m->jobs[j->ctx_prev].ctx_next = j->ctx_next;
		m->jobs[j->ctx_next].ctx_prev = j->ctx_prev;
		return;
	}
	b = &m->priv->buckets[bucket_of(m, j->ctx, &j->gpu)];
	if (j->ctx_prev == GT_NONE32)
		b->head = j->ctx_next;
	else
		m->jobs[j->ctx_prev].ctx_next = j->ctx_next;
	if (j->ctx_next == GT_NONE32)
		b->tail = j->ctx_prev;
	else
		m->jobs[j->ctx_next].ctx_prev = j->ctx_prev;
}

/* Jobs that ended unseen are in no list of a ring. */
static void unseen_link(struct gt_model *m, struct gt_job *j)
{
	struct gt_bucket *u = &m->priv->unseen;
	uint32_t i = (uint32_t)(j - m->jobs);

	j->ring_next = GT_NONE32;
	j->ring_prev = u->tail;
	if (u->tail == GT_NONE32)
		u->head = i;
	else
		m->jobs[u->tail].ring_next = i;
	u->tail = i;
	m->nunseen++;
}

static void unseen_unlink(struct gt_model *m, const struct gt_job *j)
{
	struct gt_bucket *u = &m->priv->unseen;

	if (j->ring_prev == GT_NONE32)
		u->head = j->ring_next;
	else
		m->jobs[j->ring_prev].ring_next = j->ring_next;
	if (j->ring_next == GT_NONE32)
		u->tail = j->ring_prev;
	else
		m->jobs[j->ring_next].ring_prev = j->ring_prev;
	m->nunseen--;
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
	gt_job_drop_hashed(m, j, ts, hash_of(m, j));
}

void gt_job_drop_hashed(struct gt_model *m, struct gt_job *j, uint64_t ts, uint32_t hash)
{
	struct gt_ring *r = m->gpus[j->gpu]->rings[j->ring];

	hash_unlink(m, j, hash);
	if (j->live == GT_JOB_UNSEEN) {
		unseen_unlink(m, j);
	} else {
		ring_unlink(m, r, j);
		ctx_unlink(m, j);
	}
	if (j->live == 1)
		uncount(m, r, j, ts);
	j->live = 0;
	j->hash_next = m->priv->free_job;
	m->priv->free_job = (uint32_t)(j - m->jobs);
	m->njobs--;
}

static struct gt_where where_of(const struct gt_model *m, const struct gt_job *j)
{
	return (struct gt_where){
		.gpu = m->gpus[j->gpu],
		.ring = m->gpus[j->gpu]->rings[j->ring],
		.proc = j->proc == GT_NONE32 ? NULL : m->procs[j->proc],
		.queue = j->queue == GT_NONE16 ? NULL : m->queues[j->queue],
	};
}

static void give_up(struct gt_model *m, struct gt_job *j, uint64_t now, bool aged)
{
	struct gt_where w = where_of(m, j);

	if (j->live != 1) { /* its source gives it up, or it is counted already */
		gt_job_drop(m, j, now);
		return;
	}
	if (aged)
		GT_COUNT(m, &w, aged, 1);
	else
		GT_COUNT(m, &w, evicted, 1);
	gt_ring_window(w.ring, now, m->window_ns);
	gt_job_drop(m, j, now);
	gt_bump(m, &w);
}

/* The first of the first of each ring: the lists of rings are by first sight */
static struct gt_job *oldest(const struct gt_model *m)
{
	struct gt_job *found = NULL;

	for (unsigned int i = 0; i < m->ngpus; i++)
		for (unsigned int k = 0; k < m->gpus[i]->nrings; k++) {
			uint32_t head = m->gpus[i]->rings[k]->jobs_head;

			if (head != GT_NONE32 && (!found || m->jobs[head].seen < found->seen))
				found = &m->jobs[head];
		}
	return found;
}

static void reap_old(struct gt_model *m, uint64_t now)
{
	struct gt_job *j;

	while ((j = oldest(m)) && now > j->seen && now - j->seen > m->limits.max_job_age_ns)
		give_up(m, j, now, true);
	m->priv->reap_at = j ? gt_sum(j->seen, m->limits.max_job_age_ns) : UINT64_MAX;
}

void gt_jobs_reap(struct gt_model *m, uint64_t now)
{
	if (unlikely(now > m->priv->reap_at))
		reap_old(m, now);
	while (unlikely(m->priv->unseen.head != GT_NONE32)) {
		struct gt_job *j = &m->jobs[m->priv->unseen.head];

		if (now < j->unseen || now - j->unseen <= m->limits.max_job_age_ns)
			break;
		gt_job_drop(m, j, now);
	}
}

/* An index that no job has; the oldest job gives its own if need be, rather one that ended unseen
 */
static uint32_t take_index(struct gt_model *m)
{
	struct gt_model_private *p = m->priv;
	uint32_t i;

	gt_jobs_reap(m, m->now);
	if (m->njobs == m->limits.max_jobs)
		give_up(m, m->nunseen ? &m->jobs[p->unseen.head] : oldest(m), m->now, false);
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
		heads_alloc(m, (m->priv->head_mask + 1) * 2); /* else chains stay as they are */
	if (e->ts < m->priv->reap_at && m->priv->reap_at - e->ts > m->limits.max_job_age_ns)
		m->priv->reap_at = gt_sum(e->ts, m->limits.max_job_age_ns);
	head = &m->priv->heads[hash & m->priv->head_mask];
	j->ctx = e->ctx;
	j->seqno = e->seqno;
	j->gpu = e->gpu;
	j->ring = e->ring;
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
	ring_link(m, w->ring, j);
	ctx_link(m, j);
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

/* Ended unseen ---------------------------------------------------------------------------- */

void gt_job_unseen(struct gt_model *m, struct gt_job *j, uint64_t ts, enum gt_unseen why)
{
	struct gt_where w = where_of(m, j);

	if (j->live == GT_JOB_OUTER)
		return; /* its source says so itself */
	GT_COUNT(m, &w, ended_unseen, 1);
	if (j->pring)
		j->pring->counts.ended_unseen++;
	gt_ring_window(w.ring, ts, m->window_ns);
	uncount(m, w.ring, j, ts);
	ring_unlink(m, w.ring, j);
	ctx_unlink(m, j);
	j->live = GT_JOB_UNSEEN;
	unseen_link(m, j);
	j->unseen = ts;
	j->unseen_why = (uint16_t)why;
	j->pring = NULL; /* nothing keeps the process */
	j->proc = GT_NONE32;
	gt_bump(m, &w);
}

void gt_job_seen_again(struct gt_model *m, const struct gt_where *w, struct gt_job *j, uint64_t ts)
{
	struct gt_proc *p = j->pid == GT_NONE32 ? NULL : gt_model_proc(m, j->pid);
	struct gt_where own = { .gpu = w->gpu, .ring = w->ring };
	uint64_t unseen = j->unseen;
	uint16_t why = j->unseen_why;

	if (p && (p->first_ts > j->seen || (p->dead && p->died < j->seen)))
		p = NULL;
	own.proc = p;
	unseen_unlink(m, j);
	j->live = 1;
	j->hw_epoch = 0;
	j->after_loss |= why != GT_UNSEEN_LOST;
	if (m->priv->reap_at > gt_sum(j->seen, m->limits.max_job_age_ns))
		m->priv->reap_at = gt_sum(j->seen, m->limits.max_job_age_ns);
	ring_link(m, w->ring, j);
	ctx_link(m, j);
	gt_ring_depth(w->ring, 1, ts);
	gt_job_owner(m, j, p);
	own.queue = gt_job_queue(m, j, ts);
	if (unseen < m->cleared) /* it is not counted any more */
		return;
	GT_COUNT(m, &own, ended_unseen, -1ULL);
	if (j->pring)
		j->pring->counts.ended_unseen--;
}

unsigned int gt_jobs_superseded(struct gt_model *m, const struct gt_event *e,
				const struct gt_job *job, const struct gt_unseen_end *by,
				bool complete)
{
	unsigned int strangers = 0, n = 0;
	uint32_t i, next;

	if (e->ctx == GT_NONE64 || e->seqno == GT_NONE64 || (job && gt_job_is_first(job)))
		return 0;
	i = m->priv->buckets[bucket_of(m, e->ctx, &e->gpu)].head;
	for (; i != GT_NONE32 && strangers < STRANGERS; i = next) {
		struct gt_job *j = &m->jobs[i];

		next = j->ctx_next;
		if (j->ctx != e->ctx || gt_job_place(&j->gpu) != gt_job_place(&e->gpu)) {
			strangers++;
			continue;
		}
		if (j == job)
			break;
		if (j->live == GT_JOB_OUTER) { /* its source lists it again if it knows better */
			if (gt_unseen_superseded(j->seqno, j->seen, by))
				gt_job_drop(m, j, e->ts);
			else
				strangers++;
			continue;
		}
		/* behind one that may not have ended nobody is looked for: it is enough to come
		 * back when that has */
		if ((!complete && j->told & GT_JOB_END) ||
		    !gt_unseen_superseded(j->seqno, j->seen, by))
			break;
		gt_job_unseen(m, j, e->ts, GT_UNSEEN_SUPERSEDED);
		n++;
	}
	return n;
}

/* The scheduler keeps what it has not handed over. */
static bool at_hardware(const struct gt_ring *r, const struct gt_job *j)
{
	return !(r->commits || r->starts) || j->told & (GT_JOB_COMMIT | GT_JOB_START);
}

void gt_jobs_lost(struct gt_model *m, struct gt_ring *r, uint64_t until, enum gt_unseen why)
{
	uint32_t next;

	for (uint32_t i = r->jobs_head; i != GT_NONE32; i = next) {
		struct gt_job *j = &m->jobs[i];

		next = j->ring_next;
		if (j->seen <= until && (why != GT_UNSEEN_RESET || at_hardware(r, j)))
			gt_job_unseen(m, j, m->now, why);
	}
}

void gt_jobs_gaps(struct gt_model *m, uint64_t now)
{
	uint64_t first = UINT64_MAX;

	for (unsigned int i = 0; i < m->ngpus; i++)
		for (unsigned int k = 0; k < m->gpus[i]->nrings; k++) {
			struct gt_ring *r = m->gpus[i]->rings[k];

			if (!r->gap)
				continue;
			if (r->gap_end > now) {
				first = r->gap_end < first ? r->gap_end : first;
				continue;
			}
			r->gap = false;
			gt_jobs_lost(m, r, r->gap_end, GT_UNSEEN_LOST);
		}
	m->priv->gap_until = first;
}

void gt_jobs_buried(struct gt_model *m, const struct gt_proc *p)
{
	for (const struct gt_proc_ring *pr = p->rings; pr && p->inflight; pr = pr->next) {
		struct gt_ring *r = m->gpus[pr->gpu]->rings[pr->ring];
		uint32_t next;

		for (uint32_t i = r->jobs_head; i != GT_NONE32 && pr->inflight; i = next) {
			struct gt_job *j = &m->jobs[i];

			next = j->ring_next;
			if (j->live == 1 && j->proc == p->slot && !at_hardware(r, j))
				gt_job_unseen(m, j, m->now, GT_UNSEEN_DEAD);
		}
	}
}
