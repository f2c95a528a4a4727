/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A stage: one histogram since the start and one per second of the last ten. Percentiles are read
 * from all of them at once, so that nothing is copied while a reader holds the lock.
 */
#include <string.h>

#include "internal.h"

#define NO_SECOND UINT64_MAX /* of no value yet */

void gt_stage_init(struct gt_stage *s)
{
	memset(s, 0, sizeof(*s));
	s->sec = s->gap = NO_SECOND;
	gt_hist_init(&s->cur);
	gt_hist_init(&s->base);
}

static void slot_free(struct gt_stage *s, unsigned int i)
{
	struct gt_hist *h = s->slot[i];

	s->slot[i] = NULL;
	if (!h)
		return;
	gt_hist_reset(h);
	if (h != &s->cur)
		gt_mem_put(h, sizeof(*h));
}

void gt_stage_reset(struct gt_stage *s)
{
	for (unsigned int i = 0; i < GT_STAGE_SLOTS; i++)
		slot_free(s, i);
	gt_hist_reset(&s->base);
	s->sec = s->gap = NO_SECOND;
}

/* The slot of second @sec, which is not the latest: its histogram, or NULL if it has left the
 * window */
static struct gt_hist **slot_of(struct gt_stage *s, uint64_t sec)
{
	unsigned int i = (unsigned int)(sec % GT_STAGE_SLOTS);

	if (s->slot[i] && s->slot_sec[i] > sec)
		return NULL;
	if (s->slot[i] && s->slot_sec[i] < sec) {
		gt_hist_fold(&s->base, s->slot[i]);
		slot_free(s, i);
	}
	s->slot_sec[i] = sec;
	return &s->slot[i];
}

/* Values of @sec are in the base */
static void note_gap(struct gt_stage *s, uint64_t sec)
{
	if (s->gap == NO_SECOND || s->gap < sec)
		s->gap = sec;
}

/* The second in @cur is over: its values move to a histogram of their own */
static void cur_over(struct gt_stage *s)
{
	struct gt_hist **slot = &s->slot[s->sec % GT_STAGE_SLOTS], *own;

	if (*slot != &s->cur)
		return;
	own = gt_mem_get(sizeof(*own), true);
	*slot = own;
	if (own) {
		*own = s->cur; /* with its octaves */
		gt_hist_init(&s->cur);
	} else {
		note_gap(s, s->sec);
		gt_hist_fold(&s->base, &s->cur);
		gt_hist_reset(&s->cur);
	}
}

/* The histogram for second @sec, which is not the latest so far */
static struct gt_hist *hist_for(struct gt_stage *s, uint64_t sec)
{
	bool latest = sec > s->sec || !s->cur.count;
	struct gt_hist **slot;

	if (latest)
		cur_over(s);
	slot = slot_of(s, sec);
	if (!slot)
		return &s->base;
	if (latest) {
		*slot = &s->cur;
		s->sec = sec;
	} else if (!*slot) { /* late: into its own second while that is kept */
		*slot = gt_mem_get(sizeof(**slot), true);
		if (*slot)
			gt_hist_init(*slot);
		else
			note_gap(s, sec);
	}
	return *slot ? *slot : &s->base;
}

void gt_stage_slow(struct gt_stage *s, uint64_t sec, uint64_t v, unsigned int b)
{
	gt_hist_put(hist_for(s, sec), v, b, gt_hist_place(b));
}

void gt_stage_tally(struct gt_stage *s, uint64_t sec, const struct gt_tally_stage *t)
{
	struct gt_hist *h = s->sec == sec ? &s->cur : hist_for(s, sec);

	h->sum += t->sum;
	h->min = t->min < h->min ? t->min : h->min;
	h->max = t->max > h->max ? t->max : h->max;
	for (uint32_t i = 0; i < t->nbucket; i++) {
		h->count += t->bucket[i].n;
		gt_hist_bucket_add(h, t->bucket[i].b, t->bucket[i].n);
	}
}

void gt_stage_add(struct gt_stage *s, uint64_t ts, uint64_t v)
{
	unsigned int b = gt_hist_bucket(v);

	gt_stage_put(s, ts / GT_SEC, v, b, gt_hist_place(b));
}

/* Is the second @sec one of the ten up to and with the one of @now? */
static bool in_window(uint64_t sec, uint64_t now)
{
	return sec <= now / GT_SEC && now / GT_SEC - sec < GT_STAGE_SLOTS;
}

void gt_stage_expire(struct gt_stage *s, uint64_t now)
{
	for (unsigned int i = 0; i < GT_STAGE_SLOTS; i++) {
		if (!s->slot[i] || s->slot_sec[i] + GT_STAGE_SLOTS > now / GT_SEC)
			continue;
		gt_hist_fold(&s->base, s->slot[i]);
		slot_free(s, i);
	}
}

uint64_t gt_stage_count(const struct gt_stage *s)
{
	uint64_t n = s->base.count;

	for (unsigned int i = 0; i < GT_STAGE_SLOTS; i++)
		n += s->slot[i] ? s->slot[i]->count : 0;
	return n;
}

void gt_stage_total(const struct gt_stage *s, struct gt_hist *out)
{
	gt_hist_init(out);
	gt_hist_fold(out, &s->base);
	for (unsigned int i = 0; i < GT_STAGE_SLOTS; i++) {
		if (s->slot[i])
			gt_hist_fold(out, s->slot[i]);
	}
}

void gt_stage_fold(struct gt_stage *to, const struct gt_stage *from)
{
	if (from->gap != NO_SECOND)
		note_gap(to, from->gap);
	if (from->base.count)
		gt_hist_fold(&to->base, &from->base);
	for (unsigned int i = 0; i < GT_STAGE_SLOTS; i++)
		if (from->slot[i] && from->slot[i]->count)
			gt_hist_fold(hist_for(to, from->slot_sec[i]), from->slot[i]);
}

/* Several histograms looked at as one: values per octave, and the buckets of one octave */
struct several {
	const struct gt_hist *h[GT_STAGE_SLOTS + 1];
	unsigned int n;
	uint64_t counted;
	uint64_t total[GT_HIST_OCTAVES];
	unsigned int octave; /* whose buckets are in bucket[]; GT_HIST_OCTAVES: none yet */
	uint64_t bucket[GT_HIST_SUB];
};

static void several_totals(struct several *a)
{
	memset(a->total, 0, sizeof(a->total));
	a->counted = 0;
	a->octave = GT_HIST_OCTAVES;
	for (unsigned int i = 0; i < a->n; i++) {
		const struct gt_hist *h = a->h[i];

		a->counted += h->count - h->uncounted;
		for (unsigned int k = 0; k < h->nfew; k++)
			a->total[h->few[k] >> GT_HIST_SUB_BITS]++;
		for (unsigned int o = 0; o < h->noct; o++)
			a->total[h->first + o] += gt_hist_total(h, o);
	}
}

static void several_open(struct several *a, unsigned int octave)
{
	if (a->octave == octave)
		return;
	a->octave = octave;
	memset(a->bucket, 0, sizeof(a->bucket));
	for (unsigned int i = 0; i < a->n; i++) {
		const struct gt_hist *h = a->h[i];

		for (unsigned int k = 0; k < h->nfew; k++) {
			if (h->few[k] >> GT_HIST_SUB_BITS == octave)
				a->bucket[h->few[k] & (GT_HIST_SUB - 1)]++;
		}
		if (octave < h->first || octave - h->first >= h->noct)
			continue;
		for (unsigned int k = 0; k < GT_HIST_SUB; k++)
			a->bucket[k] += h->octave[octave - h->first].n[k];
	}
}

/* The middle of the bucket that holds the value of rank ceil(@permille of all) */
static uint64_t several_rank(struct several *a, unsigned int permille)
{
	uint64_t c = a->counted, lo, hi;
	uint64_t rank = c / 1000 * permille + (c % 1000 * permille + 999) / 1000;
	unsigned int o = 0, b = 0;

	if (!c)
		return 0;
	for (; o < GT_HIST_OCTAVES - 1 && rank > a->total[o]; o++)
		rank -= a->total[o];
	several_open(a, o);
	for (; b < GT_HIST_SUB - 1 && rank > a->bucket[b]; b++)
		rank -= a->bucket[b];
	gt_hist_bounds(o * GT_HIST_SUB + b, &lo, &hi);
	return lo + (hi - lo) / 2;
}

static uint64_t clamp(uint64_t v, uint64_t min, uint64_t max)
{
	return v < min ? min : v > max ? max : v;
}

static void several_summary(struct several *a, struct gt_summary *out)
{
	*out = (struct gt_summary){ .min = UINT64_MAX };
	for (unsigned int i = 0; i < a->n; i++) {
		out->count += a->h[i]->count;
		out->sum += a->h[i]->sum;
		out->min = a->h[i]->min < out->min ? a->h[i]->min : out->min;
		out->max = a->h[i]->max > out->max ? a->h[i]->max : out->max;
	}
	if (!out->count) {
		out->min = 0;
		return;
	}
	several_totals(a);
	out->unranked = a->counted < out->count;
	out->avg = out->sum / out->count;
	out->p50 = clamp(several_rank(a, 500), out->min, out->max);
	out->p90 = clamp(several_rank(a, 900), out->min, out->max);
	out->p99 = clamp(several_rank(a, 990), out->min, out->max);
	out->p999 = clamp(several_rank(a, 999), out->min, out->max);
}

void gt_stage_summary(const struct gt_stage *s, uint64_t now, struct gt_summary *all,
		      struct gt_summary *last10)
{
	struct several a;

	a.n = 0;
	for (unsigned int i = 0; i < GT_STAGE_SLOTS; i++) {
		if (s->slot[i] && in_window(s->slot_sec[i], now))
			a.h[a.n++] = s->slot[i];
	}
	if (last10) {
		several_summary(&a, last10);
		last10->unknown = s->gap != NO_SECOND && in_window(s->gap, now);
	}
	if (!all)
		return;
	for (unsigned int i = 0; i < GT_STAGE_SLOTS; i++) {
		if (s->slot[i] && !in_window(s->slot_sec[i], now))
			a.h[a.n++] = s->slot[i];
	}
	a.h[a.n++] = &s->base;
	several_summary(&a, all);
}

void gt_stages_init(struct gt_stage *s)
{
	for (unsigned int i = 0; i < GT_NSTAGES; i++)
		gt_stage_init(&s[i]);
}

void gt_stages_reset(struct gt_stage *s)
{
	for (unsigned int i = 0; i < GT_NSTAGES; i++)
		gt_stage_reset(&s[i]);
}
