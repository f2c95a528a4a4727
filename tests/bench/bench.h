/* SPDX-License-Identifier: GPL-2.0 */
/* What benchmarks of code in memory share. Include it once, with NAME, the program's, defined. */
#ifndef GT_BENCH_H
#define GT_BENCH_H

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define MAX_ROUNDS 101

/* One side effect that the compiler cannot drop */
static volatile uint64_t sink;

/* CPU time: what others take of the CPU is not its cost */
static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000ULL + (uint64_t)t.tv_nsec;
}

static void pin(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((unsigned int)sched_getcpu(), &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		perror(NAME ": not pinned");
}

static void expect(bool good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, NAME ": %s: the figures mean nothing\n", what);
	exit(1);
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *v, int n)
{
	qsort(v, (size_t)n, sizeof(*v), by_size);
	return v[n / 2];
}

#endif
