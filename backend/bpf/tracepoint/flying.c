/* SPDX-License-Identifier: GPL-2.0 */
/* Jobs in flight: what the program could not count, and those that never end. */
#include <string.h>

#include "count.h"

static struct gt_k_pair *pair_of(struct tp_count *c, const struct gt_k_job *j)
{
	return j->pair < GT_K_PAIRS ? &c->pairs[j->pair] : NULL;
}

/* What is owed of @j, with the ring's lock held */
static void settle(struct tp_count *c, struct gt_k_ring *r, struct gt_k_job *j)
{
	struct gt_k_bank *b = &r->bank[c->ctl->bank & 1];
	uint32_t owed = __atomic_exchange_n(&j->owed, 0, __ATOMIC_SEQ_CST);
	struct gt_k_pair *p = pair_of(c, j);
	struct gt_k_sum *s = p ? &p->bank[c->ctl->bank & 1] : NULL;

	if (!(j->flags & GT_K_ENTERED))
		gt_k_enter(r, b, j);
	j->flags |= GT_K_ENTERED;
	if (owed & GT_K_SUBMIT)
		gt_k_submitted(c->ctl, r, b, j);
	if (owed & GT_K_COMMIT)
		gt_k_committed(c->ctl, r, b, j);
	gt_k_more(c->ctl, b, j, owed);
	if (!s)
		return;
	s->submitted += !!(owed & GT_K_SUBMIT);
	s->committed += !!(owed & GT_K_COMMIT);
	if (!s->first)
		s->first = j->seen;
}

/* As the program's first sight of the job; false: its pair has to be made yet */
static bool enter_pair(struct tp_count *c, struct gt_k_job *j)
{
	unsigned int i = tc_pair(c, j->ring, j->pid, j->start);

	if (i >= GT_K_PAIRS)
		return false;
	j->pair = i;
	c->pairs[i].jobs++;
	c->pairs[i].inflight += !(j->flags & GT_K_REC);
	return true;
}

/* The job's next event would have what is owed counted, but none may come for long. While we have
 * the ring's lock a job that has its key keeps it. */
static void pay(struct tp_count *c, const uint64_t *key, uint64_t was, struct gt_k_job *j)
{
	uint16_t at = __atomic_load_n(&j->ring, __ATOMIC_RELAXED);
	struct gt_k_ring *r = &c->rings[at % GT_K_RINGS];

	if (!tc_lock(r))
		return;
	if (__atomic_load_n(key, __ATOMIC_SEQ_CST) == was && j->ring == at &&
	    ((j->flags & GT_K_ENTERED) || enter_pair(c, j)))
		settle(c, r, j);
	tc_unlock(r);
}

/* It ended while another held the ring: what is known of it is counted now, by itself. */
static bool bury(struct tp_state *t, struct gt_k_job *j)
{
	struct tp_count *c = t->count;
	struct gt_k_ring *r = &c->rings[j->ring % GT_K_RINGS];
	struct gt_k_pair *p = pair_of(c, j);
	struct gt_k_tale tale = { .start = j->start,
				  .pid = j->pid,
				  .uid = j->uid,
				  .ring = j->ring,
				  .told = j->told,
				  .counted = p != NULL };
	struct gt_k_ended e;

	if (!tc_lock(r))
		return false;
	settle(c, r, j);
	gt_k_pair_leaves(p, j);
	gt_k_finish(c->ctl, r, &r->bank[c->ctl->bank & 1], j, j->done, false, &e);
	if (p)
		p->bank[c->ctl->bank & 1].completed++;
	tc_unlock(r);
	memcpy(tale.v, e.v, sizeof(tale.v));
	tc_one(t, &tale, 0);
	return true;
}

/* It does not end. Those in records the model gives up itself. */
static bool give_up(struct tp_state *t, struct gt_k_job *j, uint64_t at)
{
	struct tp_count *c = t->count;
	struct gt_k_ring *r = &c->rings[j->ring % GT_K_RINGS];
	struct gt_k_pair *p = pair_of(c, j);
	struct gt_k_tale tale = {
		.start = j->start, .pid = j->pid, .uid = j->uid, .ring = j->ring, .told = j->told
	};

	if (!tc_lock(r))
		return false;
	settle(c, r, j);
	gt_k_pair_leaves(p, j);
	gt_k_leave(r, j, at);
	tc_unlock(r);
	c->aged++;
	if (j->flags & GT_K_REC)
		return true;
	memset(tale.v, 0xff, sizeof(tale.v));
	if (p)
		c->pair[j->pair].aged++;
	else
		tc_one(t, &tale, 1);
	return true;
}

static void note(struct tc_fly *to, const struct gt_k_job *j, const struct gt_k_ring *r)
{
	to->ring = j->ring;
	to->job = (struct gt_tally_job){
		.ctx = j->ctx,
		.seqno = j->seqno,
		.seen = j->seen,
		.submit = j->submit,
		.commit = j->commit,
		.pid = j->pid,
		.uid = j->uid,
		.hw = j->epoch == (uint8_t)r->epoch ? j->hw : 0,
		.told = (j->told & GT_K_SUBMIT ? GT_TALLY_SUBMITTED : 0) |
			(j->told & GT_K_COMMIT ? GT_TALLY_COMMITTED : 0),
	};
}

static void free_key(struct tp_count *c, uint64_t *key)
{
	__atomic_store_n(key, GT_K_FREE, __ATOMIC_SEQ_CST);
	if (key >= c->job_keys[GT_K_HOT].key)
		__atomic_fetch_sub(&c->ctl->spilled, 1, __ATOMIC_SEQ_CST);
}

static void look(struct tp_state *t, uint64_t *key, struct gt_k_job *j, uint64_t at)
{
	struct tp_count *c = t->count;
	uint64_t was = __atomic_load_n(key, __ATOMIC_ACQUIRE), age;

	if (was == GT_K_FREE || was == GT_K_BUSY)
		return;
	if (was == GT_K_ENDED) {
		if (bury(t, j))
			free_key(c, key);
		return;
	}
	age = at > j->seen ? at - j->seen : 0;
	if (t->b->p->job_age && age > t->b->p->job_age &&
	    __sync_bool_compare_and_swap(key, was, GT_K_BUSY)) {
		if (give_up(t, j, at))
			free_key(c, key);
		else
			__atomic_store_n(key, was, __ATOMIC_SEQ_CST);
		return;
	}
	if (__atomic_load_n(&j->owed, __ATOMIC_RELAXED))
		pay(c, key, was, j);
	if (j->flags & GT_K_REC)
		return;
	c->ring[j->ring % GT_K_RINGS].now_flying += age;
	if (was != GT_K_LONE && c->nfly < TC_FLYING)
		note(&c->fly[c->nfly++], j, &c->rings[j->ring % GT_K_RINGS]);
}

static int by_ring(const void *a, const void *b)
{
	const struct tc_fly *x = a, *y = b;

	if (x->ring != y->ring)
		return x->ring < y->ring ? -1 : 1;
	return x->job.seen < y->job.seen ? -1 : x->job.seen > y->job.seen;
}

unsigned int tc_list(struct tp_count *c, unsigned int i)
{
	unsigned int n = 0, at = 0, to = c->nfly;

	while (at < to) { /* the first of the ring's */
		unsigned int mid = at + (to - at) / 2;

		if (c->fly[mid].ring < i)
			at = mid + 1;
		else
			to = mid;
	}
	for (; at < c->nfly && c->fly[at].ring == i; at++)
		c->job[n++] = c->fly[at].job;
	return n;
}

void tc_flying(struct tp_state *t, uint64_t at)
{
	struct tp_count *c = t->count;

	for (unsigned int i = 0; i < GT_K_RINGS; i++)
		c->ring[i].now_flying = 0;
	c->nfly = 0;
	for (unsigned int i = 0; i < GT_K_JOBS; i++)
		look(t, &c->job_keys[i / GT_K_WAYS].key[i % GT_K_WAYS], &c->jobs[i], at);
	qsort(c->fly, c->nfly, sizeof(c->fly[0]), by_ring);
}
