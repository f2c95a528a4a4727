/* SPDX-License-Identifier: GPL-2.0 */
/* Counters: events by type and second, depth over time, the last errors. */
#include <string.h>

#include "internal.h"

static_assert(sizeof(((struct gt_typecount *)0)->slot_sec) / sizeof(uint64_t) == GT_RATE_SLOTS,
	      "a slot per second of the rate");

void gt_types_slow(struct gt_typecount *t, const struct gt_second *s)
{
	if (s->sec > t->sec || !t->slot_sec[s->slot]) {
		t->sec = s->sec;
		t->slot_sec[s->slot] = s->sec;
		memset(t->slot_seen[s->slot], 0, sizeof(t->slot_seen[s->slot]));
	}
	if (t->slot_sec[s->slot] == s->sec) /* else late by more than the window: in seen[] only */
		t->slot_seen[s->slot][s->type]++;
}

/*
 * Ten seconds that end at now begin within a second: of that one, the share that lies in the window
 * counts, as if its events had come evenly.
 */
uint64_t gt_types_rate(const struct gt_typecount *t, unsigned int type, uint64_t now)
{
	uint64_t sec = now / GT_SEC, milli = 0;

	if (type >= GT_NTYPES)
		return 0;
	for (unsigned int i = 0; i < GT_RATE_SLOTS; i++) {
		uint64_t n = t->slot_seen[i][type];

		if (t->slot_sec[i] > sec || sec - t->slot_sec[i] >= GT_RATE_SLOTS)
			continue;
		if (sec - t->slot_sec[i] == GT_RATE_SLOTS - 1)
			milli += n * (GT_SEC - now % GT_SEC) / (GT_SEC / 1000);
		else
			milli += n * 1000;
	}
	return milli / (GT_RATE_SLOTS - 1);
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
