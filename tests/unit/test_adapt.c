/* SPDX-License-Identifier: GPL-2.0 */
/* Adaptive sampling: the law that keeps the daemon within its budget, by clocks that are made up.
 */
#include <stdlib.h>

#include "../../fs/gate/gate.h"
#include "../lib/tap.h"

#define MS 1000000ull

static uint64_t rng = 88172645463325252ull;

static double noise(void)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return 0.9 + 0.2 * (double)(rng % 1000) / 1000;
}

/**
 * struct world - time goes by in steps of 20 ms
 * @jobs: a second; @base: ns that each costs, recorded or not; @each: what it costs more if it is
 */
struct world {
	struct gt_adapt a;
	uint64_t now, cpu;
	double jobs, base, each;
	double jump; /* the greatest change of the share in one look, as a factor */
};

static double run(struct world *w, double seconds)
{
	uint64_t until = w->now + (uint64_t)(seconds * 1e9), cpu = w->cpu, from = w->now;

	while (w->now < until) {
		double share = (double)w->a.share / GT_SHARE_ALL, ratio;

		w->now += 20 * MS;
		w->cpu += (uint64_t)(0.02 * w->jobs * noise() * (w->base + share * w->each));
		if (!gt_sampling_adapt(&w->a, w->now, w->cpu))
			continue;
		ratio = (double)w->a.share / GT_SHARE_ALL / share;
		ratio = ratio < 1 ? 1 / ratio : ratio;
		w->jump = ratio > w->jump ? ratio : w->jump;
	}
	return (double)(w->cpu - cpu) / (double)(w->now - from) * 100;
}

static struct world world(unsigned int budget, double jobs)
{
	struct world w = { .now = 1000 * MS, .jobs = jobs, .base = 20, .each = 1000 };

	gt_adapt_set(&w.a, budget, GT_SHARE_ALL);
	return w;
}

static bool near(double use, double budget)
{
	printf("# %.2f %% of a budget of %.0f %%\n", use, budget);
	return use >= 0.8 * budget && use <= 1.2 * budget;
}

static void test_load(void)
{
	struct world w = world(5, 100000);

	run(&w, 3);
	ok(near(run(&w, 2), 5), "a load that is too much settles at the budget");
	w.jobs *= 10;
	run(&w, 1.5);
	for (int i = 0; i < 5; i++)
		ok(near(run(&w, 1), 5), "ten times the load: within a fifth of it");
	w.jobs /= 10;
	run(&w, 1.5);
	for (int i = 0; i < 5; i++)
		ok(near(run(&w, 1), 5), "a tenth again: within a fifth");
	ok(w.jump <= 2.001, "the share is never more than halved at once: %.3f", w.jump);
}

static void test_bounds(void)
{
	struct world w = world(5, 1000);

	run(&w, 5);
	is(w.a.share, GT_SHARE_ALL, "a load that the budget has room for is recorded whole");
	gt_adapt_set(&w.a, 5, GT_SHARE_ALL / 4);
	is(w.a.share, GT_SHARE_ALL / 4, "sampling is the most there can be");
	w.base = 1e7; /* more than the budget with nothing recorded */
	run(&w, 20);
	is(w.a.share, GT_SHARE_ALL >> 16, "there is a least, from which it finds back");
	w.base = 0;
	run(&w, 10);
	is(w.a.share, GT_SHARE_ALL / 4, "when the load has gone");
	gt_adapt_set(&w.a, 5, 0);
	run(&w, 1);
	is(w.a.share, 0, "sampling 0 is none");
	gt_adapt_set(&w.a, 0, GT_SHARE_ALL / 2);
	ok(!gt_adapt_due(&w.a, w.now + 1000000 * MS), "off: nobody looks");
}

/* The factor is a continuous one, and time that stands still or is long does no harm */
static void test_odd(void)
{
	struct gt_adapt a = { 0 };

	gt_adapt_set(&a, 10, GT_SHARE_ALL);
	ok(!gt_sampling_adapt(&a, 5000 * MS, 77 * MS), "the first look only begins");
	ok(!gt_sampling_adapt(&a, 5099 * MS, 90 * MS), "before it is time nothing changes");
	ok(gt_sampling_adapt(&a, 5100 * MS, 177 * MS) && a.share < GT_SHARE_ALL, "a full CPU");
	is((int)(a.use * 100 + 0.5), 100, "is reported");
	ok(a.share >= GT_SHARE_ALL / 2, "and halves at most");
	gt_sampling_adapt(&a, 3600000 * MS, 177 * MS);
	ok(a.share <= (uint64_t)(GT_SHARE_ALL * 0.63), "an idle hour is one step");
	gt_adapt_set(&a, 0, GT_SHARE_ALL);
	is((int)(a.use * 100), 0, "off: no use is reported");
	is(a.share, GT_SHARE_ALL, "and all are recorded");
	gt_adapt_set(&a, 10, GT_SHARE_ALL);
	ok(!gt_sampling_adapt(&a, 3601000 * MS, 3600000 * MS) && a.share == GT_SHARE_ALL,
	   "on again: the first look only begins");
}

int main(void)
{
	test_load();
	test_bounds();
	test_odd();
	return done_testing();
}
