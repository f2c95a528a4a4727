/* SPDX-License-Identifier: GPL-2.0 */
/* What the program could not count of a job in flight, as its ring was taken, the daemon counts. */
#include <stdlib.h>

#include "../../backend/bpf/tracepoint/count.h"
#include "../lib/tap.h"

#define RING 3
#define PAIR 5

static const struct gt_host host;
static struct gt_plugin p = { .host = &host };
static struct gb b = { .p = &p };
static struct tp_count c;
static struct tp_state t = { .b = &b, .count = &c };

static struct gt_k_job *job(unsigned int i, uint32_t owed, uint8_t flags)
{
	c.job_keys[i / GT_K_WAYS].key[i % GT_K_WAYS] = gt_k_key(i * 64 + 64);
	c.jobs[i] = (struct gt_k_job){ .ring = RING,
				       .pair = flags & GT_K_ENTERED ? PAIR : GT_NONE32,
				       .pid = 7,
				       .start = 100,
				       .seen = 50,
				       .submit = 50,
				       .commit = 60,
				       .owed = owed,
				       .self = (uint16_t)(i + 1),
				       .flags = flags };
	return &c.jobs[i];
}

/* Jobs whose end was missed: see backend/unseen.h */
static void unseen_jobs(struct gt_k_ring *r, struct gt_k_bank *bank)
{
	uint64_t seen = bank->seen[GT_COMMIT];
	uint32_t depth = r->depth, at_hw = r->at_hw, own = r->hw[1];
	struct gt_k_job *j;

	/* job 1 is the ring's only one */
	c.job_keys[0].key[0] = c.job_keys[0].key[2] = GT_K_FREE;
	c.jobs[0].flags = c.jobs[2].flags = 0;
	j = job(3, GT_K_COMMIT | GT_K_MORE(GT_COMMIT), GT_K_ENTERED | GT_K_UNSEEN);
	j->unseen = 80;
	tc_flying(&t, 1000);
	is(bank->seen[GT_COMMIT], seen + 2, "what is owed of a job that ended unseen is counted");
	is(j->flags & GT_K_UNSEEN, GT_K_UNSEEN, "... which does not bring it back");
	is(r->depth, depth, "... to the ring");
	is(r->at_hw, at_hw, "... nor to the hardware");
	is(r->hw[1], own, "... as a job in no record neither");

	j = job(3, GT_K_COMMIT, GT_K_ENTERED | GT_K_UNSEEN);
	j->unseen = 55;
	tc_flying(&t, 2 * GT_UNSEEN_SHORT_NS);
	is(j->flags & GT_K_UNSEEN, 0, "a hand-over after that brings it back");
	is(r->depth, depth + 1, "... to the ring");
	is(r->at_hw, at_hw + 1, "... and to the hardware");

	j = job(4, GT_K_SUBMIT, 0);
	tc_all_unseen(&t, 1000);
	is(j->owed, 0, "at a loss, a job that nobody has counted yet is counted");
	is(j->flags & GT_K_UNSEEN, GT_K_UNSEEN, "... and has ended unseen");
	is(r->depth, 0, "... as all others");
}

/* Events that are counted late say nothing of the order in which the hardware works */
static void counted_late(struct gt_k_ring *r)
{
	struct gt_k_job *first, *late, *last;
	uint64_t busy;

	gt_k_hw_forget(r);
	r->commits = 1;
	r->strays = r->unordered = r->after_loss = 0;
	first = job(10, 0, GT_K_ENTERED);
	last = job(12, 0, GT_K_ENTERED);
	gt_k_hw(r, first, 2, 4000);
	gt_k_hw(r, last, 2, 4002);
	late = job(11, GT_K_COMMIT, GT_K_ENTERED);
	tc_flying(&t, 4010);
	is(r->at_hw, 3, "a hand-over that is counted late: the hardware has the job");
	is(gt_k_hw_end(r, late, 4020), 1, "... whose end says nothing of others");
	is(r->at_hw, 2, "... which the hardware still has");
	is(gt_k_hw_end(r, first, 4030) && gt_k_hw_end(r, last, 4040), 1,
	   "... and which end in their order");

	for (unsigned int i = 0; i < GT_UNSEEN_STRAYS; i++) {
		late = job(10, 0, GT_K_ENTERED);
		last = job(12, 0, GT_K_ENTERED);
		gt_k_hw(r, late, 2, 5000);
		gt_k_hw(r, last, 2, 5001);
		late->done = 5010;
		c.job_keys[10 / GT_K_WAYS].key[10 % GT_K_WAYS] = GT_K_ENDED;
		gt_k_hw_end(r, last, 5020);
		r->after_loss = 1;
		tc_flying(&t, 5030);
		is(c.job_keys[10 / GT_K_WAYS].key[10 % GT_K_WAYS], GT_K_FREE,
		   "an end that is counted after that of a later job");
		is(r->after_loss, 1, "... is not the first one after a loss");
	}
	late = job(10, 0, GT_K_ENTERED);
	late->commit = 6000;
	late->reported = GT_K_SUBMIT | GT_K_COMMIT;
	gt_k_hw(r, late, 2, 6000);
	late->done = 6010;
	r->late = late->self;
	r->after_loss = 0;
	busy = c.pairs[PAIR].bank[0].busy;
	c.job_keys[10 / GT_K_WAYS].key[10 % GT_K_WAYS] = GT_K_ENDED;
	tc_flying(&t, 6030);
	is(r->late, 0, "an end that is counted before any later one");
	is(c.pairs[PAIR].bank[0].busy - busy, 10, "... has its exec");
	is(r->unordered, 0, "... and not a sign that the ring has no order");
	is(r->at_hw, 0, "the hardware has none of them");
}

/* The order of hand-over is a number of 32 bits */
static void handed_over_far(struct gt_k_ring *r)
{
	struct gt_k_job *before = job(5, 0, GT_K_ENTERED), *j;

	gt_k_hw_forget(r);
	r->commits = 1;
	r->entered = INT32_MAX - 2;
	for (uint64_t i = 0; i < 5; i++) {
		j = job(6 + i % 2, 0, GT_K_ENTERED);
		gt_k_hw(r, j, 2, 2000 + i);
		is(gt_k_at_hw(r, j), 1, "around 2^31 jobs, one that is handed over is at hardware");
		if (i)
			is(gt_k_hw_end(r, before, 2000 + i), 1, "... the one before has ended");
		before = j;
	}
	gt_k_hw_end(r, before, 3000);
	is(r->at_hw, 0, "after 2^31 jobs, none is at the hardware when all have ended");
	is(r->hw[1], 0, "... none of those in no record");
}

/* Two jobs, of which the second ends first; or in order. Return: when the one that ends last began is known */
static int two(struct gt_k_ring *r, uint64_t ts, bool swapped)
{
	struct gt_k_job *one = job(6, 0, GT_K_ENTERED), *other = job(7, 0, GT_K_ENTERED);

	gt_k_hw(r, one, 2, ts);
	gt_k_hw(r, other, 2, ts + 10);
	gt_k_hw_end(r, swapped ? other : one, ts + 100);
	return gt_k_hw_end(r, swapped ? one : other, ts + 150);
}

/* As check_strays() of test_unseen.c */
static void strays(struct gt_k_ring *r)
{
	int known = 0;
	uint64_t i;

	gt_k_hw_forget(r);
	r->strays = r->unordered = 0;
	for (i = 0; i < 400; i++)
		known += two(r, 5000 + 1000 * i, i % 8 == 7);
	is(known, 350, "50 ends among 800 changed places: the others are known");
	is(r->unordered, 0, "... and the ring has an order");
	for (; i < 400 + 2 * GT_UNSEEN_STRAYS; i++)
		known = two(r, 5000 + 1000 * i, true);
	is(r->unordered, 1, "one of each pair is late: the ring has no order");
	is(known, 1, "... and times are inferred");
}

/* A job that was handed over before it was submitted: as in the model neither time is to be trusted */
static void skewed(struct gt_k_ring *r)
{
	struct gt_k_job *j = job(10, 0, GT_K_ENTERED);
	struct gt_k_ended e;

	j->reported = GT_K_SUBMIT | GT_K_COMMIT;
	j->submit = 7010;
	j->commit = 7000;
	r->commits = 1;
	r->after_loss = 0;
	r->last_end = 0;
	gt_k_finish(c.ctl, r, &r->bank[0], j, 7100, 1, &e);
	gt_k_distrust(j, &e);
	ok(e.v[GT_ST_QUEUE] == GT_K_NONE && e.v[GT_ST_HW_WAIT] == GT_K_NONE &&
		   e.v[GT_ST_EXEC] == GT_K_NONE && e.v[GT_ST_TOTAL] == GT_K_NONE,
	   "handed over before it was submitted: no stage is known");
	r->last_end = 7050;
	gt_k_finish(c.ctl, r, &r->bank[0], j, 7100, 1, &e);
	gt_k_distrust(j, &e);
	ok(e.v[GT_ST_HW_WAIT] == GT_K_NONE && e.v[GT_ST_EXEC] == 50,
	   "... but exec where the job before it ended later");
}

int main(void)
{
	struct gt_k_bank *bank;
	struct gt_k_pair *pair;
	struct gt_k_job *j;

	t.tick = 1;
	c.ctl = calloc(1, sizeof(*c.ctl));
	c.job_keys = calloc(GT_K_JOBS / GT_K_WAYS, sizeof(*c.job_keys));
	c.jobs = calloc(GT_K_JOBS, sizeof(*c.jobs));
	c.rings = calloc(GT_K_RINGS, sizeof(*c.rings));
	c.ring_keys = calloc(GT_K_RINGS / GT_K_WAYS, sizeof(*c.ring_keys));
	c.pair_keys = calloc(GT_K_PAIRS / GT_K_WAYS, sizeof(*c.pair_keys));
	c.pairs = calloc(GT_K_PAIRS, sizeof(*c.pairs));
	if (!c.ctl || !c.job_keys || !c.jobs || !c.rings || !c.ring_keys || !c.pair_keys ||
	    !c.pairs)
		return 1;
	bank = &c.rings[RING].bank[0];
	pair = &c.pairs[PAIR];

	j = job(0, 0, GT_K_ENTERED);
	tc_flying(&t, 1000);
	is(bank->seen[GT_SUBMIT] + bank->seen[GT_COMMIT], 0, "nothing is owed, nothing is counted");
	j = job(0, GT_K_COMMIT, GT_K_ENTERED);
	tc_flying(&t, 1000);
	is(bank->seen[GT_COMMIT], 1, "a hand-over that is owed is counted");
	is(pair->bank[0].committed, 1, "... for its process, too");
	is(j->owed, 0, "... and owed no more");
	tc_flying(&t, 1000);
	is(bank->seen[GT_COMMIT], 1, "... nor counted again");

	j = job(0, 3 * GT_K_MORE(GT_SUBMIT) + 2 * GT_K_MORE(GT_COMMIT), GT_K_ENTERED);
	tc_flying(&t, 1000);
	is(bank->seen[GT_SUBMIT], 3, "submissions that were seen again");
	is(bank->seen[GT_COMMIT], 3, "... and hand-overs");
	is(pair->bank[0].committed, 1, "... which are not the process's");

	j = job(1, GT_K_SUBMIT, 0);
	tc_flying(&t, 1000);
	is(j->owed, GT_K_SUBMIT, "a first event whose pair nobody has made waits");
	c.pair_keys[PAIR / GT_K_WAYS].key[PAIR % GT_K_WAYS] = gt_k_key(2);
	pair->ring = RING;
	pair->pid = 7;
	pair->start = 100;
	tc_flying(&t, 1000);
	is(j->owed, 0, "... until there is one");
	is(bank->seen[GT_SUBMIT], 4, "... and is counted then");
	is(pair->jobs, 1, "... as a job of the pair");
	is(j->pair, PAIR, "... which the job remembers");
	is(c.rings[RING].depth, 1, "... and of the ring");

	j = job(2, GT_K_COMMIT, GT_K_ENTERED);
	c.rings[RING].lock = 1;
	tc_flying(&t, 1000);
	is(j->owed, GT_K_COMMIT, "while the ring is taken it is owed");
	c.rings[RING].lock = 0;
	c.job_keys[0].key[2] = GT_K_BUSY;
	tc_flying(&t, 1000);
	is(j->owed, GT_K_COMMIT, "... and while the job ends");
	is(c.rings[RING].lock, 0, "the ring is left free");

	unseen_jobs(&c.rings[RING], bank);
	handed_over_far(&c.rings[RING]);
	strays(&c.rings[RING]);
	counted_late(&c.rings[RING]);
	skewed(&c.rings[RING]);
	free(c.ctl);
	free(c.job_keys);
	free(c.jobs);
	free(c.rings);
	free(c.ring_keys);
	free(c.pair_keys);
	free(c.pairs);
	return done_testing();
}
