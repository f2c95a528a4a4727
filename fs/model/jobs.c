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

static void gt_jobs_begun(struct gt_model *m, const struct gt_job *job);

/*
 * Why a job waits before it is handed over: the fence of another that must signal first, as the
 * scheduler says. Kept beside the table of jobs, by the same index, from the first such event on.
 */

#define LOOKS_MAX 512 /* rings that are looked at for a fence's job */

static struct gt_job *job_at(const struct gt_model *m, uint16_t gpu, uint16_t ring, uint64_t ctx,
			     uint64_t seqno)
{
	const struct gt_event e = { .gpu = gpu, .ring = ring, .ctx = ctx, .seqno = seqno };

	return gt_job_find(m, &e, gt_event_hash(m, &e));
}

/* The job in flight of a fence, wherever it runs: jobs are found by their ring, so each is tried.
 */
static struct gt_job *job_of(const struct gt_model *m, uint64_t ctx, uint64_t seqno)
{
	unsigned int looks = 0;

	for (uint16_t g = 0; g < m->ngpus; g++) {
		for (uint16_t r = 0; r < m->gpus[g]->nrings && looks < LOOKS_MAX; r++, looks++) {
			struct gt_job *j = job_at(m, g, r, ctx, seqno);

			/* A job of the same scheduler need only be handed over: that is the fence
			 * of the context before its own, see drm_sched_fence_init() of Linux. */
			if (!j)
				j = job_at(m, g, r, ctx + 1, seqno);
			if (j)
				return j;
		}
	}
	return NULL;
}

static void describe(const struct gt_model *m, const struct gt_job *j, struct gt_dependency *d)
{
	const struct gt_proc *p = j->proc == GT_NONE32 ? NULL : m->procs[j->proc];

	d->ctx = j->ctx;
	d->job = true;
	d->gpu = j->gpu;
	d->ring = j->ring;
	d->pid = p ? p->pid : j->pid;
	d->uid = p ? p->uid : j->uid;
}

static void unknown(struct gt_dependency *d)
{
	*d = (struct gt_dependency){ .ctx = GT_NONE64,
				     .seqno = GT_NONE64,
				     .waited = GT_NONE64,
				     .pid = GT_NONE32,
				     .uid = GT_NONE32,
				     .gpu = GT_NONE16,
				     .ring = GT_NONE16 };
}

/* Since when @j waits; the latest fence is the one that keeps it */
static void note(struct gt_model *m, struct gt_job *j, const struct gt_dependency *d, uint64_t ts)
{
	struct gt_dependency *to;

	if (!m->priv->dep)
		m->priv->dep = gt_mem_get(m->limits.max_jobs * sizeof(*m->priv->dep), false);
	if (!m->priv->dep)
		return;
	to = &m->priv->dep[j - m->jobs];
	if (j->reported & GT_JOB_WAITS)
		ts = to->since;
	*to = *d;
	to->since = ts ? ts : 1; /* 0 is none */
	j->reported |= GT_JOB_WAITS;
}

void gt_depend_event(struct gt_model *m, struct gt_where *w, struct gt_event *e,
		     struct gt_folded *f)
{
	struct gt_job *j = w->ring ? gt_job_find(m, e, gt_event_hash(m, e)) : NULL, *other;
	struct gt_dependency d;

	unknown(&d);
	d.ctx = e->ref;
	d.seqno = e->value;
	other = e->ref == GT_NONE64 || e->value == GT_NONE64 ? NULL : job_of(m, e->ref, e->value);
	if (other)
		describe(m, other, &d);
	e->tid = d.pid;
	if (!j)
		return;
	f->job = j;
	w->proc = j->proc == GT_NONE32 ? NULL : m->procs[j->proc];
	e->pid = w->proc ? w->proc->pid : j->pid;
	e->uid = w->proc ? w->proc->uid : j->uid;
	if (e->flags & GT_F_WAITS && !(j->reported & (GT_JOB_COMMIT | GT_JOB_START | GT_JOB_END)))
		note(m, j, &d, e->ts);
}

void gt_depend_of(const struct gt_model *m, const struct gt_job *j, struct gt_dependency *d)
{
	if (!(j->reported & GT_JOB_WAITS)) {
		unknown(d);
		return;
	}
	*d = m->priv->dep[j - m->jobs];
	if (j->reported & GT_JOB_COMMIT && j->commit >= d->since)
		d->waited = j->commit - d->since;
}

uint64_t gt_depend_ended(struct gt_model *m, const struct gt_job *j)
{
	struct gt_model_private *p = m->priv;

	if (!(j->reported & GT_JOB_WAITS))
		return 0;
	if (!p->dep_ended)
		p->dep_ended = gt_mem_get(GT_DEPS_KEPT * sizeof(*p->dep_ended), false);
	if (!p->dep_ended)
		return 0;
	gt_depend_of(m, j, &p->dep_ended[p->deps_ended % GT_DEPS_KEPT]);
	return ++p->deps_ended;
}

bool gt_depend_get(struct gt_model *m, uint64_t number, struct gt_dependency *d)
{
	unknown(d);
	if (!number)
		return false;
	GT_MODEL_LOCK(m);
	if (number > m->priv->deps_ended || m->priv->deps_ended - number >= GT_DEPS_KEPT)
		return false;
	*d = m->priv->dep_ended[(number - 1) % GT_DEPS_KEPT];
	return true;
}

void gt_depend_destroy(struct gt_model *m)
{
	gt_mem_put(m->priv->dep_ended, GT_DEPS_KEPT * sizeof(*m->priv->dep_ended));
	gt_mem_put(m->priv->dep, m->limits.max_jobs * sizeof(*m->priv->dep));
}

static_assert(sizeof(struct gt_job) == 128, "two cache lines");
static_assert(offsetof(struct gt_job, ring) == offsetof(struct gt_job, gpu) + 2, "gt_job_place()");
static_assert(offsetof(struct gt_job, start) == 64, "what a look-up needs is in the first");
static_assert((GT_CTX_BUCKETS & (GT_CTX_BUCKETS - 1)) == 0, "a power of two");

#define STRANGERS    64	       /* jobs of other contexts in a bucket that are looked at */
#define LOOKED_AT    (1 << 17) /* jobs at a time, with the lock held: less than 5 ms */
#define LOOKS_OF_ONE 8	       /* that ended unseen: it takes so much longer */

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

	if (j->live != 1) { /* it is counted already */
		gt_job_drop(m, j, now);
		return;
	}
	if (aged)
		GT_COUNT(m, &w, given_up, 1);
	else
		GT_COUNT(m, &w, dropped_table_full, 1);
	gt_ring_window(w.ring, now, m->window_ns);
	gt_job_drop(m, j, now);
	if (aged) /* where a job is evicted, thousands are, and the ring is busy anyway */
		gt_ring_hw_left(m, w.ring);
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

/*
 * The table is full. Where a user has more than a share of it, the latest of those jobs are left out,
 * and others lose nothing. As that looks at all jobs, many go at once.
 */

#define TRIMMED_PART 16	 /* of the table, at most */
#define TRIM_AFTER   256 /* jobs that were given up in vain before it is looked again who has most */

/* The account with most jobs in flight, if these are more than its share; 0: none */
static uint16_t find_greedy(const struct gt_model *m, uint32_t *beyond)
{
	uint32_t n[GT_ACCOUNTS + 1] = { 0 }, share = m->limits.max_jobs / GT_SHARE_PART;
	uint32_t most = share;
	uint16_t greedy = 0;

	for (unsigned int i = 0; i < m->proc_slots; i++) {
		const struct gt_proc *p = m->procs[i];

		if (!p || !p->account)
			continue;
		n[p->account] += p->inflight;
		if (n[p->account] > most) {
			most = n[p->account];
			greedy = p->account;
		}
	}
	*beyond = most - share;
	return greedy;
}

/* Gives up at most @n of the latest jobs of @account on @r; how many */
static uint32_t trim_ring(struct gt_model *m, struct gt_ring *r, uint16_t account, uint32_t n)
{
	uint32_t done = 0, next;

	for (uint32_t i = r->jobs_tail; i != GT_NONE32 && done < n; i = next) {
		struct gt_job *j = &m->jobs[i];

		next = j->ring_prev;
		if (j->proc == GT_NONE32 || m->procs[j->proc]->account != account)
			continue;
		give_up(m, j, m->now, false);
		gt_share_refuse(GT_SH_JOBS);
		done++;
	}
	return done;
}

static bool trim(struct gt_model *m)
{
	struct gt_model_private *v = m->priv;
	uint32_t most = m->limits.max_jobs / TRIMMED_PART, beyond, left;
	uint16_t account;

	if (v->trim_after) {
		v->trim_after--;
		return false;
	}
	account = find_greedy(m, &beyond);
	left = beyond < most ? beyond : most;
	for (unsigned int i = 0; account && i < m->ngpus; i++)
		for (unsigned int k = 0; k < m->gpus[i]->nrings; k++)
			left -= trim_ring(m, m->gpus[i]->rings[k], account, left);
	if (m->njobs < m->limits.max_jobs)
		return true;
	v->trim_after = TRIM_AFTER;
	return false;
}

static void make_room(struct gt_model *m)
{
	if (m->nunseen)
		give_up(m, &m->jobs[m->priv->unseen.head], m->now, false);
	else if (!trim(m))
		give_up(m, oldest(m), m->now, false);
}

/* An index that no job has; a job gives its own if need be, rather one that ended unseen */
static uint32_t take_index(struct gt_model *m)
{
	struct gt_model_private *p = m->priv;
	uint32_t i;

	gt_jobs_reap(m, m->now);
	if (m->njobs == m->limits.max_jobs)
		make_room(m);
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
	j->after_loss = j->recorded = j->reported = 0;
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

/* Ended unseen ---------------------------------------------------------------------------- */

void gt_job_unseen(struct gt_model *m, struct gt_job *j, uint64_t ts, enum gt_unseen why)
{
	struct gt_where w = where_of(m, j);

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
	if (unseen < m->cleared || (unseen == m->cleared && !m->priv->from_first))
		return; /* it is not counted any more */
	GT_COUNT(m, &own, ended_unseen, -1ULL);
	if (j->pring)
		j->pring->counts.ended_unseen--;
}

unsigned int gt_jobs_superseded(struct gt_model *m, const struct gt_event *e,
				const struct gt_job *job, const struct gt_unseen_end *by,
				bool complete)
{
	unsigned int strangers = 0, n = 0;
	bool begun = false;
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
		/* behind one that may not have ended nobody is looked for: it is enough to come
		 * back when that has */
		if ((!complete && j->reported & GT_JOB_END) ||
		    !gt_unseen_superseded(j->seqno, j->seen, by))
			break;
		begun |= j->seen <= m->priv->begun;
		gt_job_unseen(m, j, e->ts, GT_UNSEEN_SUPERSEDED);
		n++;
	}
	if (unlikely(begun))
		gt_jobs_begun(m, job);
	return n;
}

/* The scheduler keeps what it has not handed over. */
static bool at_hardware(const struct gt_ring *r, const struct gt_job *j)
{
	return !(r->commits || r->starts) || j->reported & (GT_JOB_COMMIT | GT_JOB_START);
}

static uint64_t handed_at(const struct gt_ring *r, const struct gt_job *j)
{
	uint64_t hand = gt_job_hand_over(j, r->commits, r->gap_end);

	return hand == GT_NONE64 ? j->seen : hand;
}

/* See gt_jobs_lost(); but for @spared, or NULL. Return: when the last of them that the hardware had was
 * handed over; 0: the hardware had none */
static uint64_t lose(struct gt_model *m, struct gt_ring *r, uint64_t until, enum gt_unseen why,
		     const struct gt_job *spared)
{
	uint64_t handed = 0;
	uint32_t next;

	for (uint32_t i = r->jobs_head; i != GT_NONE32; i = next) {
		struct gt_job *j = &m->jobs[i];

		next = j->ring_next;
		if (j->seen > until || j == spared ||
		    (why == GT_UNSEEN_RESET && !at_hardware(r, j)))
			continue;
		if (at_hardware(r, j) && handed_at(r, j) > handed)
			handed = handed_at(r, j);
		gt_job_unseen(m, j, m->now, why);
	}
	if (handed)
		gt_ring_hw_left(m, r);
	return handed;
}

void gt_jobs_lost(struct gt_model *m, struct gt_ring *r, uint64_t until, enum gt_unseen why)
{
	lose(m, r, until, why, NULL);
}

static void ring_begun(struct gt_model *m, struct gt_ring *r, uint64_t begun,
		       const struct gt_job *job)
{
	uint64_t handed = lose(m, r, begun, GT_UNSEEN_LOST, job);

	/* the next job may have waited for one of which nobody knows when it ended */
	r->after_loss |= handed > 0;
	r->lost_until = r->lost_until > handed ? r->lost_until : handed;
	r->begun = r->begun > begun ? r->begun : begun;
	r->gap_end = r->gap_end > begun ? r->gap_end : begun;
}

/** gt_jobs_begun() - buffers of CPUs that begin by gt_model_private.begun have lost what was
 * before: jobs that were seen by then ended unseen, but for @job, which ends now, or NULL */
static void gt_jobs_begun(struct gt_model *m, const struct gt_job *job)
{
	uint64_t begun = m->priv->begun;

	m->priv->begun = 0;
	for (unsigned int i = 0; i < m->ngpus; i++)
		for (unsigned int k = 0; k < m->gpus[i]->nrings; k++)
			ring_begun(m, m->gpus[i]->rings[k], begun, job);
	gt_front_ended(m, m->now);
}

unsigned int gt_jobs_of_queue_reset(struct gt_model *m, struct gt_ring *r, const struct gt_queue *q)
{
	unsigned int n = 0;
	uint32_t next;

	for (uint32_t i = r->jobs_head; i != GT_NONE32; i = next) {
		struct gt_job *j = &m->jobs[i];

		next = j->ring_next;
		if (j->queue != q->slot || !at_hardware(r, j))
			continue;
		gt_job_unseen(m, j, m->now, GT_UNSEEN_RESET);
		n++;
	}
	if (n)
		gt_ring_hw_left(m, r);
	return n;
}

void gt_jobs_gaps(struct gt_model *m, uint64_t now)
{
	uint64_t first = UINT64_MAX;

	for (unsigned int i = 0; i < m->ngpus; i++)
		for (unsigned int k = 0; k < m->gpus[i]->nrings; k++) {
			struct gt_ring *r = m->gpus[i]->rings[k];

			if (!r->gap)
				continue;
			if (r->gap_end >= now) {
				first = r->gap_end < first ? r->gap_end : first;
				continue;
			}
			r->gap = false;
			gt_jobs_lost(m, r, r->gap_end, GT_UNSEEN_LOST);
		}
	if (m->priv->front_until && m->priv->front_until < now) {
		gt_front_ended(m, m->priv->front_until);
		m->priv->front_until = 0;
	} else if (m->priv->front_until) {
		first = m->priv->front_until < first ? m->priv->front_until : first;
	}
	m->priv->gap_until = first;
}

/* @j is queued, of a process that ended by @died */
static bool is_buried(const struct gt_model *m, const struct gt_job *j, uint64_t died)
{
	const struct gt_proc *p = j->live == 1 && j->proc != GT_NONE32 ? m->procs[j->proc] : NULL;

	return p && p->dead && p->died <= died && !at_hardware(m->gpus[j->gpu]->rings[j->ring], j);
}

bool gt_jobs_buried(struct gt_model *m, uint64_t died)
{
	uint32_t *at = &m->priv->bury_at;
	int left = LOOKED_AT;

	for (; left > 0 && *at < m->priv->fresh_job; (*at)++, left--) {
		struct gt_job *j = &m->jobs[*at];

		if (!is_buried(m, j, died))
			continue;
		gt_job_unseen(m, j, m->now, GT_UNSEEN_DEAD);
		left -= LOOKS_OF_ONE;
	}
	if (*at < m->priv->fresh_job)
		return false;
	*at = 0;
	return true;
}
