/* SPDX-License-Identifier: GPL-2.0 */
/* Counters: events by type and second, depth over time, the last errors. */
#include <string.h>

#include "internal.h"

static_assert(sizeof(((struct gt_typecount *)0)->slot_sec) / sizeof(uint64_t) == GT_RATE_SLOTS,
	      "a slot per second of the rate");

void gt_types_slow(struct gt_typecount *t, const struct gt_second *s)
{
	if (s->sec < t->sec) /* late: it counts as of now */
		return;
	t->sec = s->sec;
	t->slot_sec[s->slot] = s->sec;
	for (unsigned int i = 0; i < GT_NTYPES; i++)
		t->before[s->slot][i] = t->n[i].seen;
}

/* How many had been seen when second @sec began: what the first slot from there on says */
static uint64_t seen_before(const struct gt_typecount *t, unsigned int type, uint64_t sec)
{
	uint64_t n = t->n[type].seen, first = UINT64_MAX;

	for (unsigned int i = 0; i < GT_RATE_SLOTS; i++) {
		if (t->slot_sec[i] < sec || t->slot_sec[i] >= first)
			continue;
		first = t->slot_sec[i];
		n = t->before[i][type];
	}
	return n;
}

/*
 * A window that ends at now begins within a second: of that one, the share that lies in the window
 * counts, as if its events had come evenly.
 */
uint64_t gt_types_rate(const struct gt_typecount *t, unsigned int type, uint64_t now,
		       unsigned int window)
{
	uint64_t sec = now / GT_SEC, whole, cut, first;

	if (type >= GT_NTYPES || !window || window >= GT_RATE_SLOTS)
		return 0;
	first = sec >= window ? sec - window : 0;
	whole = seen_before(t, type, first + 1);
	cut = sec >= window ? whole - seen_before(t, type, first) : whole;
	whole = t->n[type].seen - whole;
	return (whole * 1000 + cut * (GT_SEC - now % GT_SEC) / (GT_SEC / 1000)) / window;
}

void gt_depth_reset(struct gt_depth *d, uint64_t now)
{
	d->peak = d->now;
	d->integral = 0;
	d->at = d->t0 = now;
}

uint64_t gt_depth_avg(const struct gt_depth *d, uint64_t now)
{
	unsigned __int128 area = d->integral;

	if (now <= d->t0)
		return (uint64_t)d->now * 1000;
	if (now > d->at)
		area += (unsigned __int128)d->now * (now - d->at);
	return (uint64_t)(area * 1000 / (now - d->t0));
}

void gt_errlog_add(struct gt_errlog *l, const struct gt_error_entry *e)
{
	l->e[l->n++ % GT_ERRLOG] = *e;
}
