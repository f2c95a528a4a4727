/* SPDX-License-Identifier: GPL-2.0 */
#include "../../backend/wanted.h"
#include "adapt.h"

#define LEAST (GT_SHARE_ALL >> 16)

static uint64_t within(uint64_t share, uint64_t most)
{
	if (share < LEAST)
		share = LEAST;
	return share < most ? share : most;
}

void gt_adapt_set(struct gt_adapt *a, unsigned int budget, uint64_t most)
{
	if (!a->budget || !budget) {
		a->at = a->cpu = 0;
		a->use = 0;
		a->share = most;
	}
	a->budget = budget;
	a->most = most;
	a->share = within(a->share, most);
}

/* x^0.3 for x of 0.1 to 2.1, beyond which the bounds hold: Newton's way to the root of y^10 = x^3
 */
static double root(double x)
{
	double y = 1, x3 = x * x * x;

	for (int i = 0; i < 24; i++) {
		double y3 = y * y * y, y9 = y3 * y3 * y3;

		y -= (y9 * y - x3) / (10 * y9);
	}
	return y;
}

static double factor(double aim, double use)
{
	double x = use > 0 ? aim / use : 10;

	if (x <= 0.1)
		return 0.5; /* 0.1^0.3 */
	if (x >= 2.1)
		return 1.25;
	return root(x);
}

bool gt_adapt_look(struct gt_adapt *a, uint64_t now, uint64_t cpu)
{
	uint64_t was = a->share;
	bool first = !a->at;

	if (!gt_adapt_due(a, now))
		return false;
	if (!first)
		a->use = (double)(cpu - a->cpu) / (double)(now - a->at);
	a->at = now;
	a->cpu = cpu;
	if (first)
		return false;
	a->share = within((uint64_t)((double)was * factor(0.009 * a->budget, a->use)), a->most);
	return a->share != was;
}
