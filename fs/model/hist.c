/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One histogram. Values below 64 have a bucket each; above, every power of two is an octave of 64
 * buckets. The octaves in use lie in one array, so that adding touches the head and two lines of
 * it.
 */
#include <stdlib.h>
#include <string.h>

#include "internal.h"

#define OCTAVE_U64 (sizeof(struct gt_hist_octave) / sizeof(uint64_t))

static_assert(OCTAVE_U64 == GT_HIST_SUB + 1, "gt_hist_place()");
static_assert(sizeof(struct gt_hist) == 128, "two cache lines");
static_assert(GT_HIST_OCTAVES * GT_HIST_SUB <= UINT16_MAX, "a bucket fits few[]");

void gt_hist_init(struct gt_hist *h)
{
	memset(h, 0, offsetof(struct gt_hist, few));
	h->min = UINT64_MAX;
}

void gt_hist_reset(struct gt_hist *h)
{
	gt_mem_put(h->octave, h->noct * sizeof(*h->octave));
	gt_hist_init(h);
}

/* Makes the array hold octave @o too. False: no memory */
static bool hist_reach(struct gt_hist *h, unsigned int o)
{
	unsigned int first = h->noct ? h->first : o, end = h->noct ? h->first + h->noct : o + 1U;
	struct gt_hist_octave *grown;

	first = o < first ? o : first;
	end = o >= end ? o + 1 : end;
	grown = gt_mem_get((end - first) * sizeof(*grown), true);
	if (!grown)
		return false;
	if (h->noct)
		memcpy(grown + (h->first - first), h->octave, h->noct * sizeof(*grown));
	gt_mem_put(h->octave, h->noct * sizeof(*grown));
	h->octave = grown;
	h->first = (uint8_t)first;
	h->noct = (uint8_t)(end - first);
	h->from = (uint16_t)(h->first * OCTAVE_U64);
	h->room = (uint16_t)(h->noct * OCTAVE_U64);
	return true;
}

static bool hist_octave_add(struct gt_hist *h, unsigned int b, uint64_t n)
{
	unsigned int o = b >> GT_HIST_SUB_BITS;

	if ((o < h->first || o - h->first >= h->noct) && !hist_reach(h, o))
		return false;
	h->octave[o - h->first].n[b & (GT_HIST_SUB - 1)] += n;
	h->stale = 1;
	return true;
}

/* The values kept one by one move into octaves */
static void hist_spread(struct gt_hist *h)
{
	unsigned int n = h->nfew;

	h->nfew = 0;
	for (unsigned int i = 0; i < n; i++) {
		if (!hist_octave_add(h, h->few[i], 1))
			h->uncounted++;
	}
}

void gt_hist_bucket_add(struct gt_hist *h, unsigned int b, uint64_t n)
{
	if (!h->octave && n <= (uint64_t)(GT_HIST_FEW - h->nfew)) {
		while (n--)
			h->few[h->nfew++] = (uint16_t)b;
		return;
	}
	/* Octaves first, so that lacking memory loses the new values and not the old */
	if (!hist_octave_add(h, b, n)) {
		h->uncounted += n;
		return;
	}
	hist_spread(h);
}

void gt_hist_add(struct gt_hist *h, uint64_t v)
{
	unsigned int b = gt_hist_bucket(v);

	gt_hist_put(h, v, b, gt_hist_place(b));
}

uint64_t gt_hist_total(const struct gt_hist *h, unsigned int i)
{
	uint64_t total = 0;

	if (!h->stale)
		return h->octave[i].total;
	for (unsigned int k = 0; k < GT_HIST_SUB; k++)
		total += h->octave[i].n[k];
	return total;
}

static void hist_settle(struct gt_hist *h)
{
	for (unsigned int i = 0; h->stale && i < h->noct; i++)
		h->octave[i].total = gt_hist_total(h, i);
	h->stale = 0;
}

static void hist_fold_octave(struct gt_hist *to, const struct gt_hist *from, unsigned int i)
{
	unsigned int o = from->first + i;
	uint64_t total = gt_hist_total(from, i);
	struct gt_hist_octave *mine;

	if (!total)
		return;
	if ((o < to->first || o - to->first >= to->noct) && !hist_reach(to, o)) {
		to->uncounted += total;
		return;
	}
	mine = &to->octave[o - to->first];
	for (unsigned int k = 0; k < GT_HIST_SUB; k++)
		mine->n[k] += from->octave[i].n[k];
	to->stale = 1;
}

void gt_hist_fold(struct gt_hist *to, const struct gt_hist *from)
{
	to->count += from->count;
	to->sum += from->sum;
	to->uncounted += from->uncounted;
	to->min = from->min < to->min ? from->min : to->min;
	to->max = from->max > to->max ? from->max : to->max;
	for (unsigned int i = 0; i < from->nfew; i++)
		gt_hist_bucket_add(to, from->few[i], 1);
	for (unsigned int i = 0; i < from->noct; i++)
		hist_fold_octave(to, from, i);
	if (to->octave && to->nfew)
		hist_spread(to);
	hist_settle(to);
}

static int by_number(const void *a, const void *b)
{
	return (int)*(const uint16_t *)a - (int)*(const uint16_t *)b;
}

void gt_hist_buckets(const struct gt_hist *h, void (*fn)(void *arg, uint64_t le, uint64_t n),
		     void *arg)
{
	uint16_t few[GT_HIST_FEW];
	uint64_t lo, hi;
	unsigned int n = h->nfew, same;

	memcpy(few, h->few, n * sizeof(*few));
	qsort(few, n, sizeof(*few), by_number);
	for (unsigned int i = 0; i < n; i += same) {
		for (same = 1; i + same < n && few[i + same] == few[i]; same++)
			;
		gt_hist_bounds(few[i], &lo, &hi);
		fn(arg, hi, same);
	}
	for (unsigned int i = 0; i < h->noct * GT_HIST_SUB; i++) {
		uint64_t count = h->octave[i / GT_HIST_SUB].n[i % GT_HIST_SUB];

		if (!count)
			continue;
		gt_hist_bounds(h->first * GT_HIST_SUB + i, &lo, &hi);
		fn(arg, hi, count);
	}
}
