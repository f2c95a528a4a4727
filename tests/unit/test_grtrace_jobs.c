// SPDX-License-Identifier: GPL-2.0
/* grtrace.ko's table of jobs, compiled as a program. */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/tap.h"

/* What jobs.c takes from the kernel */
typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;

#define READ_ONCE(x)		__atomic_load_n(&(x), __ATOMIC_RELAXED)
#define WRITE_ONCE(x, v)	__atomic_store_n(&(x), v, __ATOMIC_RELAXED)
#define smp_load_acquire(p)	__atomic_load_n(p, __ATOMIC_ACQUIRE)
#define smp_store_release(p, v) __atomic_store_n(p, v, __ATOMIC_RELEASE)

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
#define cmpxchg64(p, old, new) cmpxchg_stolen(p, old, new)

#include "../../backend/relay/kmod/jobs.c"

#define SEC 1000000000ull

static struct grt_jobs *table;

static void test_jobs(void)
{
	struct grt_job *j = grt_job_new(table, 2, 10, 1, SEC, true);

	ok(j, "a job");
	ok(grt_job_find(table, 2, 10, 1) == j, "is found");
	ok(!grt_job_find(table, 3, 10, 1) && !grt_job_find(table, 2, 10, 2), "another is not");
	ok(!grt_job_twice(j, GRT_STEP_SUBMIT, GRT_SRC_SCHED), "nobody has reported it");
	grt_job_reported(j, GRT_STEP_SUBMIT, GRT_SRC_SCHED);
	ok(grt_job_twice(j, GRT_STEP_SUBMIT, GRT_SRC_AMDGPU), "reported by two sources");
	ok(!grt_job_twice(j, GRT_STEP_SUBMIT, GRT_SRC_SCHED), "the same one is a number used anew");
	ok(!grt_job_twice(j, GRT_STEP_COMMIT, GRT_SRC_AMDGPU), "another step");
	ok(!grt_job_new(table, 2, 10, 0, SEC, true), "a job without a number is not followed");
	j = grt_job_new(table, 2, 11, 1, SEC, false);
	ok(j && !j->submit, "of a job that was not seen to begin nobody knows when it did");
	ok(!grt_job_find(table, 2, ~0ull, ~0ull), "nor what looks like a row that is being filled");
}

/* All rows in use: those that ended go first, then those that are too old; a new job gets no row if none of either is there */
static void test_room(void)
{
	unsigned int n = 0, refused = 0;
	struct grt_job *j;

	memset(table, 0, sizeof(*table));
	for (u64 seqno = 1; seqno <= 4 * GRT_JOB_SETS * GRT_JOB_WAYS; seqno++) {
		j = grt_job_new(table, 1, 5, seqno, SEC, true);
		n += !!j;
		refused += !j;
	}
	is(n, GRT_JOB_SETS * GRT_JOB_WAYS, "as many as there are rows");
	ok(refused > 0, "no more");
	grt_job_reported(grt_job_find(table, 1, 5, 1), GRT_STEP_COMPLETE, GRT_SRC_SCHED);
	n = 0;
	for (u64 seqno = 1; seqno <= 4 * GRT_JOB_SETS * GRT_JOB_WAYS && !n; seqno++)
		n += !!grt_job_new(table, 2, 6, seqno, SEC, true);
	ok(n && !grt_job_find(table, 1, 5, 1), "one that has ended makes room");
	ok(grt_job_new(table, 3, 7, 1, SEC + GRT_JOB_OLD, true), "one that is too old");
}

/* A row that another CPU takes at that moment is not the only one; nor is one free that was just taken */
static void test_race(void)
{
	struct grt_job *j, *other;
	u64 moved = 0;

	for (unsigned int n = 1; n < GRT_JOB_WAYS; n += 3) {
		memset(table, 0, sizeof(*table));
		steals = n;
		ok(grt_job_new(table, 1, 5, 1, SEC, true), "%u rows are taken meanwhile", n);
		is(steals, 0, "… all of them");
	}
	memset(table, 0, sizeof(*table));
	for (u64 seqno = 1; seqno <= 4 * GRT_JOB_SETS * GRT_JOB_WAYS; seqno++) {
		j = grt_job_new(table, 1, 5, seqno, 100 * SEC, true);
		other = j ? grt_job_new(table, 2, 6, seqno, 100 * SEC + 1, true) : NULL;
		moved += j && j == other;
	}
	is(moved, 0, "no new job makes room for another");
}

/* Steps of jobs from several threads at once: nobody sees a row of another's */
static void *work(void *arg)
{
	u64 ctx = (uintptr_t)arg, bad = 0;
	struct grt_job *j;

	for (u64 seqno = 1; seqno < 200000; seqno++) {
		j = grt_job_new(table, 1, ctx, seqno, seqno * 1000, true);
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
	struct grt_job *j;
	unsigned int none = 0;

	memset(table, 0, sizeof(*table));
	for (u64 i = 1; i <= 50000; i++) {
		none += !grt_job_new(table, i % rings, i % contexts, i, i * 1000, true);
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
	test_jobs();
	test_room();
	test_race();
	test_spread();
	test_threads();
	free(table);
	return done_testing();
}
