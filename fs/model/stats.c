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
	h->account = 0;
}

/** gt_hist_init_for() - its memory is of @account's share */
static void gt_hist_init_for(struct gt_hist *h, uint16_t account)
{
	gt_hist_init(h);
	h->account = account;
}

void gt_hist_reset(struct gt_hist *h)
{
	gt_mem_put_for(h->account, h->octave, h->noct * sizeof(*h->octave));
	gt_hist_init_for(h, h->account);
}

/* Makes the array hold octave @o too. False: no memory */
static bool hist_reach(struct gt_hist *h, unsigned int o)
{
	unsigned int first = h->noct ? h->first : o, end = h->noct ? h->first + h->noct : o + 1U;
	struct gt_hist_octave *grown;

	first = o < first ? o : first;
	end = o >= end ? o + 1 : end;
	grown = gt_mem_get_for(h->account, (end - first) * sizeof(*grown));
	if (!grown)
		return false;
	if (h->noct)
		memcpy(grown + (h->first - first), h->octave, h->noct * sizeof(*grown));
	gt_mem_put_for(h->account, h->octave, h->noct * sizeof(*grown));
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

/* Moves the values that are kept one by one into octaves. */
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

/** gt_hist_total() - values in octave @i of the array */
static uint64_t gt_hist_total(const struct gt_hist *h, unsigned int i)
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

/*
 * A stage: one histogram since the start and one per second of the last ten. Percentiles are read
 * from all of them at once, so that nothing is copied while a reader holds the lock.
 */

#define NO_SECOND UINT64_MAX /* of no value yet */

void gt_stage_init_for(struct gt_stage *s, uint16_t account)
{
	memset(s, 0, sizeof(*s));
	s->sec = s->gap = NO_SECOND;
	gt_hist_init_for(&s->cur, account);
	gt_hist_init_for(&s->base, account);
}

void gt_stage_init(struct gt_stage *s)
{
	gt_stage_init_for(s, 0);
}

static void slot_free(struct gt_stage *s, unsigned int i)
{
	struct gt_hist *h = s->slot[i];

	s->slot[i] = NULL;
	if (!h)
		return;
	gt_hist_reset(h);
	if (h != &s->cur)
		gt_mem_put_for(h->account, h, sizeof(*h));
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
	own = gt_mem_get_for(s->base.account, sizeof(*own));
	*slot = own;
	if (own) {
		*own = s->cur; /* with its octaves */
		gt_hist_init_for(&s->cur, s->base.account);
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
		*slot = gt_mem_get_for(s->base.account, sizeof(**slot));
		if (*slot)
			gt_hist_init_for(*slot, s->base.account);
		else
			note_gap(s, sec);
	}
	return *slot ? *slot : &s->base;
}

void gt_stage_slow(struct gt_stage *s, uint64_t sec, uint64_t v, unsigned int b)
{
	gt_hist_put(hist_for(s, sec), v, b, gt_hist_place(b));
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
	unsigned int octave; /* with buckets in bucket[]; GT_HIST_OCTAVES: none yet */
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

void gt_stages_init(struct gt_stage *s, uint16_t account)
{
	for (unsigned int i = 0; i < GT_NSTAGES; i++)
		gt_stage_init_for(&s[i], account);
}

void gt_stages_reset(struct gt_stage *s)
{
	for (unsigned int i = 0; i < GT_NSTAGES; i++)
		gt_stage_reset(&s[i]);
}

/* Counters: events by type and second, depth over time, the last errors. */

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

void gt_ring_second(struct gt_ring *r, const struct gt_second *s)
{
	gt_types_slow(&r->types, s);
	if (r->types.sec == s->sec)
		r->jobs_before[s->slot] =
			(struct gt_jobs_before){ r->counts.submitted, r->counts.completed };
}

void gt_ring_jobs(const struct gt_ring *r, struct gt_typecount *c)
{
	*c = r->types;
	c->n[GT_SUBMIT].seen = r->counts.submitted;
	c->n[GT_COMPLETE].seen = r->counts.completed;
	for (unsigned int i = 0; i < GT_RATE_SLOTS; i++) {
		c->before[i][GT_SUBMIT] = r->jobs_before[i].submitted;
		c->before[i][GT_COMPLETE] = r->jobs_before[i].completed;
	}
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
		       unsigned int window, uint64_t observed)
{
	uint64_t sec = now / GT_SEC, whole, cut, first;

	if (type >= GT_NTYPES || !window || window >= GT_RATE_SLOTS || !observed)
		return 0;
	if (observed < window * GT_SEC) /* all there are */
		return (uint64_t)((unsigned __int128)t->n[type].seen * 1000 * GT_SEC / observed);
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

uint64_t gt_depth_avg(const struct gt_depth *d, uint64_t now, uint64_t observed)
{
	unsigned __int128 area = d->integral;

	if (now <= d->t0 || !observed)
		return (uint64_t)d->now * 1000;
	if (now > d->at)
		area += (unsigned __int128)d->now * (now - d->at);
	return (uint64_t)(area * 1000 / observed);
}

void gt_errlog_add(struct gt_errlog *l, const struct gt_error_entry *e)
{
	l->e[l->n++ % GT_ERRLOG] = *e;
}

/*
 * The aggregator's windows: of each ring the one being filled and the last that has finished. They
 * are filled as events come, at their own edges, so that any length is exact: what is kept by the
 * quarter of a second elsewhere plays no part.
 */

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* How much of [@start, @end) is within @w */
static uint64_t within(const struct gt_window_stats *w, uint64_t start, uint64_t end)
{
	start = later(start, w->start);
	end = earlier(end, w->end);
	return end > start ? end - start : 0;
}

/* The end of an interval that began in an earlier window is counted apart from its beginning. */
void gt_ring_busy_slow(struct gt_ring *r, uint64_t start, uint64_t end)
{
	const uint64_t edge[3] = { r->last.end ? r->last.start : r->cur.start, r->cur.start,
				   UINT64_MAX };
	uint64_t *const to[3] = { NULL, &r->last.busy_ns, &r->cur.busy_ns };

	for (int i = 0; i < 3 && start < end; i++) {
		uint64_t had = r->busy.total_ns, upto = earlier(end, edge[i]);

		if (upto <= start)
			continue;
		gt_busy_add(&r->busy, start, upto);
		if (to[i])
			*to[i] += r->busy.total_ns - had;
		start = upto;
	}
}

void gt_ring_unclear(struct gt_ring *r, uint64_t start, uint64_t end)
{
	gt_busy_unclear(&r->busy, end);
	r->cur.unclear |= end > r->cur.start;
	r->last.unclear |= start < r->last.end && end > r->last.start;
}

uint64_t gt_window_busy(const struct gt_ring *r, const struct gt_window_stats *w, uint64_t now)
{
	uint64_t since = gt_ring_running(r), ns = w->busy_ns;

	if (w->unclear)
		return GT_NONE64;
	if (since != UINT64_MAX)
		ns += within(w, later(since, r->busy.end), now);
	/* where jobs run side by side, one that began before others ended is not in that yet */
	if (r->hw_jobs && since != UINT64_MAX)
		ns = later(ns, within(w, r->hw_since, now));
	return earlier(ns, w->end - w->start);
}

static struct gt_window_stats fresh(const struct gt_ring *r, uint64_t start, uint64_t end)
{
	return (struct gt_window_stats){
		.start = start, .end = end, .lat_min = UINT64_MAX, .depth_peak = r->depth.now
	};
}

/* cur has ended; @start is where the window begins that the ring's time is in now */
static void finish(struct gt_ring *r, uint64_t start, uint64_t window_ns)
{
	r->cur.depth_integral += gt_depth_to(&r->depth, r->cur.end);
	r->last = r->cur;
	if (r->cur.end >= start)
		return;
	/* Whole windows went by with no event: the last of them is the last finished one */
	r->last = fresh(r, start - window_ns, start);
	r->last.depth_integral = r->depth.now * window_ns;
}

/* The first one, which may begin within a window's time */
static uint64_t first_start(struct gt_ring *r, uint64_t now, uint64_t start)
{
	if (!r->depth.t0) /* its first event */
		gt_depth_reset(&r->depth, now);
	return later(start, r->depth.t0);
}

/* A window ends at a multiple of its length; one that began late has at least half of it. */
static void begin(struct gt_ring *r, uint64_t start, uint64_t window_ns)
{
	uint64_t end = UINT64_MAX;

	if (window_ns) {
		end = start - start % window_ns + window_ns;
		if (end - start < window_ns / 2)
			end += window_ns;
	}
	gt_depth_to(&r->depth, start);
	r->cur = fresh(r, start, end);
	r->gen++;
}

void gt_ring_window(struct gt_ring *r, uint64_t now, uint64_t window_ns)
{
	uint64_t start;

	if (now < r->cur.end || !now)
		return;
	if (!window_ns) {
		gt_ring_window_restart(r, now, 0);
		return;
	}
	start = later(now - now % window_ns, r->cur.end);
	if (r->cur.end)
		finish(r, start, window_ns);
	else
		start = first_start(r, now, start);
	begin(r, start, window_ns);
}

void gt_ring_window_restart(struct gt_ring *r, uint64_t now, uint64_t window_ns)
{
	r->cur = r->last = (struct gt_window_stats){ 0 };
	if (!now)
		return;
	begin(r, now, window_ns);
}

void gt_model_windows(struct gt_model *m, uint64_t window_ns)
{
	uint64_t now = gt_model_now(m);

	for (unsigned int i = 0; i < GT_MAX_GPUS; i++) {
		GT_MODEL_LOCK(m);
		m->window_ns = window_ns;
		m->gen++;
		for (unsigned int k = 0; i < m->ngpus && k < m->gpus[i]->nrings; k++)
			gt_ring_window_restart(m->gpus[i]->rings[k], now, window_ns);
	}
}
