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

	if (!(j->flags & GT_K_ENTERED)) {
		gt_k_enter(r, b, j);
		gt_k_link(c->jobs, r, j);
	}
	j->flags |= GT_K_ENTERED;
	if (j->flags & GT_K_UNSEEN && owed & GT_K_COMMIT && j->commit > j->unseen)
		gt_k_back(c->jobs, r, b, p, s, j, j->commit);
	if (owed & GT_K_SUBMIT)
		gt_k_submitted(c->ctl, r, b, j);
	if (owed & GT_K_COMMIT)
		gt_k_committed(c->ctl, r, b, j);
	gt_k_more(c->ctl, b, j, owed);
	if (j->flags & GT_K_UNSEEN) /* handed over before that was found */
		gt_k_hw_leave(r, j);
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
	struct gt_k_bank *b;
	struct gt_k_sum *s;
	struct gt_k_ended e;

	if (!tc_lock(r))
		return false;
	b = &r->bank[c->ctl->bank & 1];
	s = p ? &p->bank[c->ctl->bank & 1] : NULL;
	settle(c, r, j);
	if (j->flags & GT_K_UNSEEN)
		gt_k_back(c->jobs, r, b, p, s, j, j->done);
	gt_k_unlink(c->jobs, r, j);
	gt_k_pair_leaves(p, j);
	gt_k_hw_end(r, j, j->done);
	gt_k_finish(c->ctl, r, b, j, j->done, false, &e);
	if (s)
		s->completed++;
	j->flags &= (uint8_t)~GT_K_ENTERED;
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
	gt_k_unlink(c->jobs, r, j);
	gt_k_pair_leaves(p, j);
	gt_k_leave(r, j, at);
	j->flags &= (uint8_t)~GT_K_ENTERED;
	tc_unlock(r);
	if (j->flags & GT_K_UNSEEN)
		return true;
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
		.hw = gt_k_at_hw(r, j),
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

/* The end of @j, which was in flight at @until, was missed. */
static void unseen(struct tp_state *t, struct gt_k_job *j, uint64_t until, enum gt_unseen why)
{
	unsigned int i = j->ring % GT_K_RINGS;
	struct tp_count *c = t->count;
	struct gt_k_ring *r = &c->rings[i];
	struct gt_k_pair *p;
	uint32_t bank;

	if (!tc_lock(r))
		return;
	/* nobody else puts it in, or takes it out, now */
	if ((j->flags & (GT_K_ENTERED | GT_K_UNSEEN)) == GT_K_ENTERED && j->ring == i &&
	    j->seen <= until) {
		p = pair_of(c, j);
		bank = c->ctl->bank & 1;
		gt_k_unseen(c->jobs, r, &r->bank[bank], p, p ? &p->bank[bank] : NULL, j, until,
			    (uint8_t)why);
	}
	tc_unlock(r);
}

void tc_all_unseen(struct tp_state *t, uint64_t at)
{
	struct tp_count *c = t->count;

	for (unsigned int i = 0; i < GT_K_JOBS; i++) {
		uint64_t *key = &c->job_keys[i / GT_K_WAYS].key[i % GT_K_WAYS];
		uint64_t was = __atomic_load_n(key, __ATOMIC_ACQUIRE);

		/* one that nobody has counted yet would be in flight afterwards */
		if (was != GT_K_FREE && was != GT_K_BUSY && was != GT_K_ENDED &&
		    __atomic_load_n(&c->jobs[i].owed, __ATOMIC_RELAXED))
			pay(c, key, was, &c->jobs[i]);
		if (c->jobs[i].flags & GT_K_ENTERED)
			unseen(t, &c->jobs[i], at, GT_UNSEEN_LOST);
	}
}

/* The hardware of its ring was reset, or its submitter has ended while the scheduler had it */
static bool found_unseen(struct tp_state *t, struct gt_k_job *j, uint64_t at)
{
	const struct tc_ring *s = &t->count->ring[j->ring % GT_K_RINGS];
	bool commits = t->count->rings[j->ring % GT_K_RINGS].commits;
	const struct gt_host *host = t->b->p->host;

	if (s->reset && (!commits || j->told & GT_K_COMMIT) &&
	    (commits ? j->commit : j->seen) <= s->reset) {
		unseen(t, j, at, GT_UNSEEN_RESET);
		return true;
	}
	if (!commits || j->told & GT_K_COMMIT || j->pid == GT_NONE32 ||
	    at < j->seen + GT_UNSEEN_DEAD_NS || !host->process_ended ||
	    !host->process_ended(t->b->p, j->pid, tc_start_of(t, j->start)))
		return false;
	unseen(t, j, at, GT_UNSEEN_DEAD);
	return true;
}

/* It is kept in case that its end comes after all. */
static bool is_over(struct tp_state *t, const struct gt_k_job *j, uint64_t was, uint64_t at)
{
	const struct gt_plugin *p = t->b->p;
	uint64_t age, most = p->job_age;

	if (!(j->flags & GT_K_UNSEEN)) {
		age = at > j->seen ? at - j->seen : 0;
		return most && age > most;
	}
	if (t->count->unseen > TC_UNSEEN || !most)
		most = GT_UNSEEN_SHORT_NS;
	age = at > j->unseen ? at - j->unseen : 0;
	return was == GT_K_LONE || age > most;
}

/* The model hears that until it certainly has the job's records. */
static void note_gone(struct tp_count *c, const struct gt_k_job *j, uint64_t at)
{
	if (j->flags & GT_K_VAGUE || j->unseen_why != GT_UNSEEN_SUPERSEDED || c->ngone == TC_GONE ||
	    at > j->unseen + GT_UNSEEN_SHORT_NS)
		return;
	c->gone[c->ngone++] = (struct tc_fly){
		.ring = j->ring,
		.job = { .ctx = j->ctx, .seqno = j->seqno, .seen = j->unseen },
	};
}

static void look(struct tp_state *t, uint64_t *key, struct gt_k_job *j, uint64_t at)
{
	struct tp_count *c = t->count;
	uint64_t was = __atomic_load_n(key, __ATOMIC_ACQUIRE);

	if (was == GT_K_FREE || was == GT_K_BUSY)
		return;
	if (was == GT_K_ENDED) {
		if (bury(t, j))
			free_key(c, key);
		return;
	}
	if (__atomic_load_n(&j->owed, __ATOMIC_RELAXED))
		pay(c, key, was, j);
	if (is_over(t, j, was, at) && __sync_bool_compare_and_swap(key, was, GT_K_BUSY)) {
		if (give_up(t, j, at))
			free_key(c, key);
		else
			__atomic_store_n(key, was, __ATOMIC_SEQ_CST);
		return;
	}
	if (j->flags & GT_K_UNSEEN || found_unseen(t, j, at)) {
		c->unseen_now++;
		if (j->flags & GT_K_REC)
			note_gone(c, j, at);
		return;
	}
	if (j->flags & GT_K_REC)
		return;
	c->ring[j->ring % GT_K_RINGS].now_flying += at > j->seen ? at - j->seen : 0;
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

unsigned int tc_gone(struct tp_count *c, unsigned int i)
{
	unsigned int n = 0;

	for (unsigned int k = 0; k < c->ngone; k++)
		if (c->gone[k].ring == i)
			c->left_unseen[n++] = c->gone[k].job;
	return n;
}

/* Resets that the model knows of since the last look: what the hardware had is gone */
static void look_at_resets(struct tp_state *t)
{
	const struct gt_host *host = t->b->p->host;

	for (unsigned int i = 0; host->ring_reset && i < GT_K_RINGS; i++) {
		struct tc_ring *s = &t->count->ring[i];
		uint64_t reset;

		if (!s->known || !tc_ring_used(t->count, i))
			continue;
		reset = host->ring_reset(t->b->p, s->gpu, s->ring);
		if (reset == s->reset)
			continue;
		s->reset = reset;
		tc_lose(&t->count->rings[i]);
	}
}

void tc_flying(struct tp_state *t, uint64_t at)
{
	struct tp_count *c = t->count;

	look_at_resets(t);
	for (unsigned int i = 0; i < GT_K_RINGS; i++)
		c->ring[i].now_flying = 0;
	c->nfly = c->ngone = c->unseen_now = 0;
	for (unsigned int i = 0; i < GT_K_JOBS; i++)
		look(t, &c->job_keys[i / GT_K_WAYS].key[i % GT_K_WAYS], &c->jobs[i], at);
	c->unseen = c->unseen_now;
	qsort(c->fly, c->nfly, sizeof(c->fly[0]), by_ring);
}
