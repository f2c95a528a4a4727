/* SPDX-License-Identifier: GPL-2.0 */
/* Who held a ring while others waited, against a plain look at each ns, for small random cases. */
#include <stdlib.h>

#include "../../backend/event.h"
#include "../../fs/tree/blame.h"
#include "../lib/tap.h"

#define MAX_JOBS    200
#define MAX_PARTIES 48
#define STEPS	    400 /* ns from FROM on */
#define FROM	    1000
#define UNTIL	    (FROM + STEPS)
#define NOT_ASKED   7 /* the party whose waits nobody asks for */

static uint64_t seed = 11;
static struct gt_held_job jobs[MAX_JOBS];
static struct gt_held_ring ring;
static uint32_t nparties;
static struct gt_held_party party[MAX_PARTIES];
static struct gt_held_waiter got[MAX_PARTIES], want[MAX_PARTIES];
static struct gt_held_lanes lanes;

static uint64_t rnd(uint64_t below)
{
	seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return (seed >> 33) % below;
}

/* Any order, any overlap, times outside the window, and what is not known */
static void make(uint32_t njobs, uint32_t parties, unsigned int longest)
{
	nparties = parties;
	for (uint32_t i = 0; i < njobs; i++) {
		struct gt_held_job *j = &jobs[i];

		j->wait_from = FROM - 50 + rnd(STEPS + 100);
		j->wait_to = j->wait_from + (rnd(4) ? rnd(80) : 0);
		j->start = rnd(5) ? j->wait_to : GT_NONE64;
		j->end = j->wait_to + rnd(3) * rnd(longest);
		if (!rnd(2 * njobs))
			j->wait_to = j->end = UNTIL + 30; /* still in flight */
		j->quiet = rnd(3) ? j->wait_to - rnd(20) : GT_NONE64;
		j->kept_from = rnd(2) ? 0 : j->wait_from - 5 + rnd(60);
		j->kept_to = j->kept_from ? j->kept_from + rnd(50) : 0;
		j->kept_pid = rnd(2) ? 1000 : GT_NONE32;
		j->who = (uint32_t)rnd(parties);
	}
	ring = (struct gt_held_ring){ jobs, njobs, FROM, UNTIL,
				      rnd(2) ? GT_NONE64 : FROM + rnd(STEPS) };
	memset(party, 0, sizeof(party));
	memset(got, 0, sizeof(got));
	for (uint32_t i = 0; i < parties; i++)
		party[i].waiter = i == NOT_ASKED ? 0 : (uint8_t)(i + 1);
}

static bool earlier(const struct gt_held_job *a, const struct gt_held_job *b)
{
	if (a->start != b->start)
		return a->start < b->start;
	return a->end != b->end ? a->end < b->end : a < b;
}

/* Who holds the ring at @t: a party, or UNKNOWN or IDLE behind all of them */
#define IDLE	MAX_PARTIES
#define UNKNOWN (MAX_PARTIES + 1)
static uint32_t holder(uint64_t t)
{
	const struct gt_held_job *first = NULL;
	bool quiet = ring.quiet <= t;

	for (uint32_t i = 0; i < ring.n; i++) {
		const struct gt_held_job *j = &jobs[i];

		if (j->start == GT_NONE64)
			continue;
		quiet |= j->start > t && j->quiet <= t;
		if (j->start <= t && t < j->end && (!first || earlier(j, first)))
			first = j;
	}
	return first ? first->who : quiet ? IDLE : UNKNOWN;
}

static unsigned int kind_of(uint32_t who)
{
	if (who == IDLE || who == UNKNOWN)
		return who == IDLE ? GT_HELD_IDLE : GT_HELD_UNKNOWN;
	for (unsigned int i = 0; i < lanes.n; i++)
		if (lanes.who[i] == who)
			return i;
	return GT_HELD_OTHERS;
}

static void reckon(const uint32_t held_by[STEPS])
{
	memset(want, 0, sizeof(want));
	for (uint32_t i = 0; i < ring.n; i++) {
		struct gt_held_waiter *w = &want[jobs[i].who];
		bool met[GT_HELD_KINDS] = { false };

		if (jobs[i].who == NOT_ASKED)
			continue;
		for (uint64_t t = FROM; t < UNTIL; t++) {
			bool kept = t >= jobs[i].kept_from && t < jobs[i].kept_to;
			unsigned int k = kept ? GT_HELD_KEPT : kind_of(held_by[t - FROM]);

			if (t < jobs[i].wait_from || t >= jobs[i].wait_to)
				continue;
			w->ns[k]++;
			met[k] = true;
		}
		for (unsigned int k = 0; k < GT_HELD_KINDS; k++)
			w->jobs[k] += met[k];
	}
}

/* Nobody without a lane held it longer than somebody with one */
static bool lanes_are_right(const uint32_t held_by[STEPS])
{
	uint64_t held[MAX_PARTIES + 2] = { 0 }, least = UINT64_MAX;
	unsigned int holders = 0;

	for (unsigned int i = 0; i < STEPS; i++)
		held[held_by[i]]++;
	for (uint32_t i = 0; i < nparties; i++)
		holders += held[i] > 0;
	for (unsigned int i = 0; i < lanes.n; i++)
		least = held[lanes.who[i]] < least ? held[lanes.who[i]] : least;
	for (uint32_t i = 0; i < nparties; i++)
		if (held[i] > least && kind_of(i) == GT_HELD_OTHERS)
			return false;
	return lanes.n == (holders < GT_HELD_LANES ? holders : GT_HELD_LANES) && least;
}

static bool sums_are_right(void)
{
	uint64_t sum[MAX_PARTIES] = { 0 };
	bool good = true;

	for (uint32_t i = 0; i < ring.n; i++)
		sum[jobs[i].who] += gt_held_waited(&ring, &jobs[i]);
	for (uint32_t i = 0; i < nparties; i++) {
		uint64_t ns = 0;

		for (unsigned int k = 0; k < GT_HELD_KINDS; k++)
			ns += got[i].ns[k];
		good &= ns == (i == NOT_ASKED ? 0 : sum[i]);
	}
	return good;
}

/* The process that each job waited for longest; of several alike any */
static bool longest_are_right(const uint32_t held_by[STEPS])
{
	uint32_t longest[MAX_JOBS];

	for (uint32_t i = 0; i < nparties; i++)
		party[i].held = 0;
	if (gt_held_longest(&ring, party, longest))
		return false;
	for (uint32_t i = 0; i < ring.n; i++) {
		const struct gt_held_job *j = &jobs[i];
		uint64_t ns[MAX_PARTIES + 3] = { 0 }, most = 0, ns_of;

		for (uint64_t t = j->wait_from; t < j->wait_to; t++) {
			bool kept = t >= j->kept_from && t < j->kept_to;

			ns[t < FROM || t >= UNTIL ? UNKNOWN
			   : kept ? (j->kept_pid == GT_NONE32 ? UNKNOWN : UNKNOWN + 1)
				  : held_by[t - FROM]]++;
		}
		for (uint32_t k = 0; k < MAX_PARTIES + 3; k++)
			if (k != IDLE && k != UNKNOWN && ns[k] > most)
				most = ns[k];
		if (j->who == NOT_ASKED || most <= ns[UNKNOWN])
			most = 0;
		ns_of = longest[i] == GT_NONE32
				? 0
				: ns[longest[i] == GT_HELD_OWNER ? UNKNOWN + 1 : longest[i]];
		if (ns_of != most || (!most && longest[i] != GT_NONE32))
			return false;
	}
	for (uint32_t i = 0; i < nparties; i++)
		if (party[i].held)
			return false;
	return true;
}

static void check(const char *what, uint32_t max_jobs, uint32_t max_parties, unsigned int longest)
{
	bool same = true, right = true, sums = true, longest_right = true;
	uint64_t seen[GT_HELD_KINDS] = { 0 };
	unsigned int others = 0, many = 0;

	for (int round = 0; round < 400; round++) {
		uint32_t held_by[STEPS];

		make((uint32_t)rnd(max_jobs + 1), 1 + (uint32_t)rnd(max_parties), longest);
		for (unsigned int i = 0; i < STEPS; i++)
			held_by[i] = holder(FROM + i);
		if (gt_held_by(&ring, party, got, &lanes))
			same = false;
		reckon(held_by);
		same &= !memcmp(got, want, sizeof(got));
		right &= lanes_are_right(held_by);
		sums &= sums_are_right();
		longest_right &= longest_are_right(held_by);
		many += lanes.n == GT_HELD_LANES;
		for (uint32_t i = 0; i < nparties; i++)
			for (unsigned int k = 0; k < GT_HELD_KINDS; k++)
				seen[k] += got[i].ns[k];
		others += seen[GT_HELD_OTHERS] > 0;
	}
	ok(same, "%s: each wait is shared out as a look at each ns does", what);
	ok(right, "%s: those that held it longest are reported apart", what);
	ok(sums, "%s: and nothing of a wait is missing", what);
	ok(longest_right, "%s: whom each job waited for longest", what);
	ok(seen[0] && seen[GT_HELD_IDLE] && seen[GT_HELD_UNKNOWN] && seen[GT_HELD_KEPT],
	   "%s: there was some of each", what);
	if (max_parties > GT_HELD_LANES)
		ok(others && many, "%s: others too", what);
}

/* What is plain to see */
static void test_plain(void)
{
	const struct gt_held_job two[] = {
		/* 0 runs from 10 to 60; 1 waits from 5 on, and runs from 60 */
		{ .wait_from = 10, .wait_to = 10, .start = 10, .end = 60 },
		{ .wait_from = 5, .wait_to = 60, .start = 60, .end = 90, .quiet = 10, .who = 1 },
	};

	memset(party, 0, sizeof(party));
	memset(got, 0, sizeof(got));
	party[1].waiter = 1;
	ring = (struct gt_held_ring){ two, 2, 0, 100, GT_NONE64 };
	ok(!gt_held_by(&ring, party, got, &lanes), "two jobs");
	is(lanes.n, 2, "two holders");
	is(lanes.who[0], 0, "the longer one first");
	is(got[0].ns[0], 50, "1 waited for 0");
	is(got[0].jobs[0], 1, "with one job");
	is(got[0].ns[GT_HELD_IDLE], 5, "before that the ring was idle");
	is(got[0].ns[GT_HELD_UNKNOWN], 0, "all is known");
	ring.n = 0;
	ok(!gt_held_by(&ring, party, got, &lanes) && !lanes.n, "no jobs, no holders");
	ring = (struct gt_held_ring){ two, 2, 100, 100, 0 };
	memset(party, 0, sizeof(party));
	party[1].waiter = 1;
	memset(got, 0, sizeof(got));
	gt_held_by(&ring, party, got, &lanes);
	ok(!got[0].ns[0] && !lanes.n, "a window without time");
}

int main(void)
{
	test_plain();
	check("few", 6, 3, 60);
	check("several", 30, 12, 30);
	check("many holders", MAX_JOBS, MAX_PARTIES, 6);
	return done_testing();
}
