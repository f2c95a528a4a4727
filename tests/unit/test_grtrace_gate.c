// SPDX-License-Identifier: GPL-2.0
/* grtrace.ko's gate and its table of jobs, compiled as a program. */
#include <pthread.h>
#include <stdlib.h>

#include "../lib/kmod.h"
#include "../lib/tap.h"

/* Another CPU takes a row between the look and the taking */
static unsigned int steals;
static u64 cmpxchg_stolen(u64 *p, u64 old, u64 new)
{
	if (steals) {
		steals--;
		*p = 99;
	}
	return __sync_val_compare_and_swap(p, old, new);
}
#undef cmpxchg64
#define cmpxchg64(p, old, new) cmpxchg_stolen(p, old, new)

#include "../../backend/relay/kmod/gate.c"
#include "../../backend/relay/kmod/jobs.c"

#define SEC 1000000000ull

static struct grt_gate g;
static struct grt_jobs *table;

static struct grt_ask ask(u16 type)
{
	return (struct grt_ask){ .type = type,
				 .engine = GRT_ENGINE_COPY,
				 .ring = 3,
				 .pid = 100,
				 .uid = 1000,
				 .ctx = 7,
				 .seqno = 42,
				 .latency = GRT_NONE64 };
}

#define asked(type)                                                                                \
	({                                                                                         \
		struct grt_ask a_ = ask(type);                                                     \
		grt_gate_ask(&g, g.percent, &a_);                                                  \
	})

static void test_levels(void)
{
	grt_gate_default(&g);
	is(asked(GRT_SUBMIT), GRT_PASS, "by default a job passes");
	is(asked(GRT_IRQ), GRT_BY_LEVEL, "an interrupt is for verbose");
	g.level = GRT_LEVEL_VERBOSE;
	is(asked(GRT_IRQ), GRT_PASS, "verbose has it");
	g.level = GRT_LEVEL_STATS;
	is(asked(GRT_SUBMIT), GRT_BY_LEVEL, "stats has no records");
}

static void test_filters(void)
{
	grt_gate_default(&g);
	g.types = 1 << GRT_COMPLETE;
	is(asked(GRT_SUBMIT), GRT_PASS, "a filter that is not enabled does nothing");
	g.filter_enabled = true;
	is(asked(GRT_SUBMIT), GRT_BY_TYPE, "by type");
	is(asked(GRT_COMPLETE), GRT_PASS, "the type that is wanted");
	g.engines = GRT_ENGINE_GRAPHICS;
	is(asked(GRT_COMPLETE), GRT_BY_ENGINE, "by engine");
	g.engines |= GRT_ENGINE_COPY;
	g.pids = (struct grt_list){ .n = 2, .id = { 99, 101 } };
	is(asked(GRT_COMPLETE), GRT_BY_PID, "by process");
	g.pids.inverted = true;
	is(asked(GRT_COMPLETE), GRT_PASS, "all but these processes");
	g.uids = (struct grt_list){ .n = 1, .id = { 0 } };
	is(asked(GRT_COMPLETE), GRT_BY_UID, "by user");
	g.uids.n = 0;
	g.rings = (struct grt_list){ .n = 1, .inverted = true, .id = { 3 } };
	is(asked(GRT_COMPLETE), GRT_BY_WATCH, "a ring that is not watched");
	g.rings.n = 0;
	g.ctxs = (struct grt_list){ .n = 1, .id = { 8 } };
	is(asked(GRT_COMPLETE), GRT_BY_WATCH, "a context that is not");
}

static void test_latency(void)
{
	struct grt_ask slow = ask(GRT_COMPLETE), fast = slow, wait = ask(GRT_SYNC_WAIT_ENTER);

	slow.latency = 2001;
	fast.latency = 2000;
	grt_gate_default(&g);
	g.sampling = GRT_THRESHOLD;
	g.threshold_ns = 2000;
	is(grt_gate_ask(&g, 100, &slow), GRT_PASS, "a job above the threshold");
	is(grt_gate_ask(&g, 100, &fast), GRT_BY_SAMPLING, "one at it");
	is(asked(GRT_COMPLETE), GRT_BY_SAMPLING, "one whose beginning was not seen");
	is(asked(GRT_COMMIT), GRT_BY_SAMPLING, "nor what comes before its end");
	is(grt_gate_ask(&g, 100, &wait), GRT_PASS, "what is no job's is not meant");
	g.sampling = GRT_STATIC;
	g.filter_enabled = true;
	g.latency_ns = 2000;
	is(grt_gate_ask(&g, 100, &fast), GRT_BY_LATENCY, "the filter by latency is one of its own");
	is(grt_gate_ask(&g, 100, &slow), GRT_PASS, "above it");
}

static void test_sampling(void)
{
	struct grt_ask a = ask(GRT_SUBMIT);
	unsigned int kept = 0, halves = 0;

	grt_gate_default(&g);
	for (a.seqno = 1; a.seqno <= 100000; a.seqno++) {
		bool in = grt_gate_ask(&g, 25, &a) == GRT_PASS;

		a.type = GRT_COMPLETE;
		halves += in != (grt_gate_ask(&g, 25, &a) == GRT_PASS);
		a.type = GRT_SUBMIT;
		kept += in;
	}
	ok(kept > 24000 && kept < 26000, "a quarter of the jobs: %u of 100000", kept);
	is(halves, 0, "all events of a job, or none");
	is(grt_gate_ask(&g, 0, &a), GRT_BY_SAMPLING, "0 is none");
	a.type = GRT_ERROR;
	is(grt_gate_ask(&g, 0, &a), GRT_PASS, "an error is not sampled");
	is(grt_adapt(80, 100, true), 40, "adaptive: half, under pressure");
	is(grt_adapt(1, 100, true), 1, "never none");
	is(grt_adapt(40, 100, false), 46, "slowly up again");
	is(grt_adapt(99, 50, false), 50, "up to what was set");
}

static unsigned int taken(struct grt_rate *r, u64 from, u64 step, unsigned int n)
{
	unsigned int got = 0;

	while (n--) {
		got += grt_rate_take(r, &g, from, 1);
		from += step;
	}
	return got;
}

static void test_rate(void)
{
	struct grt_rate r = {};

	grt_gate_default(&g);
	is(taken(&r, 5 * SEC, 0, 1000), 1000, "no limit");
	g.limit = 100;
	is(taken(&r, 5 * SEC, 1000, 1000), 100, "a window has so many");
	is(taken(&r, 5 * SEC + SEC / 2, 1000, 1000), 0, "and no more");
	is(taken(&r, 6 * SEC, 1000, 1000), 100, "the next second has its own");
	ok(grt_rate_take(&r, &g, 7 * SEC, 300),
	   "what asks for more than there ever is gets it once");
	ok(!grt_rate_take(&r, &g, 7 * SEC, 1), "and the window is full then");
	g.bucket = true;
	g.burst = 20;
	r = (struct grt_rate){};
	is(taken(&r, 9 * SEC, 0, 1000), 20, "a bucket gives its burst at once");
	is(taken(&r, 9 * SEC + SEC / 10, 0, 1000), 10, "then what has come since");
	is(taken(&r, 10 * SEC, SEC / 200, 400), 20 + 199, "and the rate in the long run");
}

static void test_jobs(void)
{
	struct grt_job gone, *j = grt_job_new(table, 2, 10, 1, SEC, &gone);

	ok(j && !gone.key, "a job");
	ok(grt_job_find(table, 2, 10, 1) == j, "is found");
	ok(!grt_job_find(table, 3, 10, 1) && !grt_job_find(table, 2, 10, 2), "another is not");
	ok(!grt_job_twice(j, GRT_STEP_SUBMIT, GRT_SRC_SCHED), "nobody has reported it");
	grt_job_reported(j, GRT_STEP_SUBMIT, GRT_SRC_SCHED);
	ok(grt_job_twice(j, GRT_STEP_SUBMIT, GRT_SRC_AMDGPU), "reported by two sources");
	ok(!grt_job_twice(j, GRT_STEP_SUBMIT, GRT_SRC_SCHED), "the same one is a number used anew");
	ok(!grt_job_twice(j, GRT_STEP_COMMIT, GRT_SRC_AMDGPU), "another step");
	ok(!grt_job_new(table, 2, 10, 0, SEC, &gone), "a job without a number is not followed");
	ok(!grt_job_find(table, 2, ~0ull, ~0ull), "nor what looks like a row that is being filled");
}

/* All rows in use: those that ended go first, then those that are too old, else there is none */
static void test_room(void)
{
	struct grt_job gone, *j;
	unsigned int n = 0, refused = 0;

	memset(table, 0, sizeof(*table));
	for (u64 seqno = 1; seqno <= 4 * GRT_JOB_SETS * GRT_JOB_WAYS; seqno++) {
		j = grt_job_new(table, 1, 5, seqno, SEC, &gone);
		if (j)
			j->submit = SEC;
		n += !!j;
		refused += !j;
		if (gone.key)
			break;
	}
	is(n, GRT_JOB_SETS * GRT_JOB_WAYS, "as many as there are rows");
	ok(refused > 0, "no more");
	grt_job_reported(grt_job_find(table, 1, 5, 1), GRT_STEP_COMPLETE, GRT_SRC_SCHED);
	n = 0;
	for (u64 seqno = 1; seqno <= 4 * GRT_JOB_SETS * GRT_JOB_WAYS && !n; seqno++)
		n += !!grt_job_new(table, 2, 6, seqno, SEC, &gone);
	is(gone.key, 5ull << 32 | 1, "one that has ended makes room");
	j = grt_job_new(table, 3, 7, 1, SEC + GRT_JOB_OLD, &gone);
	ok(j && gone.key && !gone.reported[GRT_STEP_COMPLETE], "one that is too old");
}

/* A row that another CPU takes at that moment is not the only one; nor is one free that was just taken */
static void test_race(void)
{
	struct grt_job gone, *j, *other;

	for (unsigned int n = 1; n < GRT_JOB_WAYS; n += 3) {
		memset(table, 0, sizeof(*table));
		steals = n;
		ok(grt_job_new(table, 1, 5, 1, SEC, &gone), "%u rows are taken meanwhile", n);
		is(steals, 0, "… all of them");
	}
	memset(table, 0, sizeof(*table));
	for (u64 seqno = 1; seqno <= 4 * GRT_JOB_SETS * GRT_JOB_WAYS; seqno++) {
		j = grt_job_new(table, 1, 5, seqno, 100 * SEC, &gone);
		other = j ? grt_job_new(table, 2, 6, seqno, 100 * SEC + 1, &gone) : NULL;
		if (gone.key)
			break;
	}
	(void)other;
	is(gone.key, 0, "no new job makes room for another");
}

/* Steps of jobs from several threads at once: nobody sees a row of another's */
static void *work(void *arg)
{
	u64 ctx = (uintptr_t)arg, bad = 0;
	struct grt_job gone, *j;

	for (u64 seqno = 1; seqno < 200000; seqno++) {
		j = grt_job_new(table, 1, ctx, seqno, seqno * 1000, &gone);
		if (!j)
			continue;
		WRITE_ONCE(j->submit, ctx << 32 | seqno);
		j = grt_job_find(table, 1, ctx, seqno);
		bad += !j || READ_ONCE(j->submit) != (ctx << 32 | seqno);
		if (j)
			grt_job_reported(j, GRT_STEP_COMPLETE, GRT_SRC_SCHED);
	}
	return (void *)(uintptr_t)bad;
}

/* Jobs of @contexts take turns on @rings, 1000 under way at a time. Return: how many got no row */
static unsigned int crowd(unsigned int contexts, unsigned int rings)
{
	const unsigned int flight = 1000;
	struct grt_job gone, *j;
	unsigned int none = 0;

	memset(table, 0, sizeof(*table));
	for (u64 i = 1; i <= 50000; i++) {
		none += !grt_job_new(table, i % rings, i % contexts, i, i * 1000, &gone);
		if (i <= flight)
			continue;
		j = grt_job_find(table, (i - flight) % rings, (i - flight) % contexts, i - flight);
		if (j)
			grt_job_reported(j, GRT_STEP_COMPLETE, GRT_SRC_SCHED);
	}
	return none;
}

static void test_spread(void)
{
	static const unsigned int contexts[] = { 1, 2, 3, 16, 64, 1000 };
	unsigned int none = 0;

	for (int i = 0; i < 6; i++)
		none += crowd(contexts[i], 1) + crowd(contexts[i], 5);
	is(none, 0, "a table that is an eighth full has room for each job");
}

static void test_threads(void)
{
	pthread_t t[3];
	void *bad[3];

	memset(table, 0, sizeof(*table));
	for (uintptr_t i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, work, (void *)(i + 1));
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], &bad[i]);
	ok(!bad[0] && !bad[1] && !bad[2], "each thread finds its own jobs");
}

int main(void)
{
	table = aligned_alloc(64, sizeof(*table));
	memset(table, 0, sizeof(*table));
	test_levels();
	test_filters();
	test_latency();
	test_sampling();
	test_rate();
	test_jobs();
	test_room();
	test_race();
	test_spread();
	test_threads();
	free(table);
	return done_testing();
}
