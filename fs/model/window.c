/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The aggregator's windows: of each ring the one being filled and the last that has finished. They
 * are filled as events come, at their own edges, so that any length is exact: what is kept by the
 * quarter of a second elsewhere plays no part.
 */
#include "internal.h"

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

/* The end of an interval that began in an earlier window is told apart from its beginning. */
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

uint64_t gt_window_busy(const struct gt_ring *r, const struct gt_window_stats *w, uint64_t now)
{
	uint64_t since = gt_ring_running(r), ns = w->busy_ns;

	if (!w->counted && since != UINT64_MAX)
		ns += within(w, later(since, r->busy.end), now);
	/* where jobs run side by side, one that began before others ended is not in that yet */
	if (!w->counted && r->hw_jobs && since != UINT64_MAX)
		ns = later(ns, within(w, r->hw_since, now));
	return earlier(ns, w->end - w->start);
}

/* A source counts what a job kept the ring busy when the job ends: what was before the window
 * leaves it, and what runs at its end, and will be counted later, comes in. Return: that */
static uint64_t settle_counted(const struct gt_ring *r, struct gt_window_stats *w)
{
	uint64_t since = gt_ring_running(r);
	uint64_t runs = since < w->end ? w->end - since : 0;

	w->busy_ns += runs;
	w->busy_ns -= earlier(w->busy_ns, w->carry);
	w->busy_ns = earlier(w->busy_ns, w->end - w->start);
	return runs;
}

static struct gt_window_stats fresh(const struct gt_ring *r, uint64_t start, uint64_t end)
{
	return (struct gt_window_stats){
		.start = start, .end = end, .lat_min = UINT64_MAX, .depth_peak = r->depth.now
	};
}

/* cur has ended; @start is where the window begins that the ring's time is in now. Return: what of
 * the job that runs is before that, and will be counted later */
static uint64_t finish(struct gt_ring *r, uint64_t start, uint64_t window_ns)
{
	bool counted = r->cur.counted || (r->told && r->cur.carry);
	uint64_t carry = 0;

	r->cur.depth_integral += gt_depth_to(&r->depth, r->cur.end);
	if (counted)
		carry = settle_counted(r, &r->cur);
	r->cur.counted = counted;
	r->last = r->cur;
	if (r->cur.end >= start)
		return carry;
	/* Whole windows went by with no event: the last of them is the last finished one */
	r->last = fresh(r, start - window_ns, start);
	r->last.depth_integral = r->depth.now * window_ns;
	r->last.counted = counted;
	return counted ? settle_counted(r, &r->last) : 0;
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
	uint64_t start, carry = 0;

	if (now < r->cur.end || !now)
		return;
	if (!window_ns) {
		gt_ring_window_restart(r, now, 0);
		return;
	}
	if (r->cur.end && r->told >= r->cur.end)
		r->cur.end = now = earlier(r->told, now);
	start = later(now - now % window_ns, r->cur.end);
	if (r->cur.end)
		carry = finish(r, start, window_ns);
	else
		start = first_start(r, now, start);
	begin(r, start, window_ns);
	r->cur.carry = carry;
}

void gt_ring_window_restart(struct gt_ring *r, uint64_t now, uint64_t window_ns)
{
	r->cur = r->last = (struct gt_window_stats){ 0 };
	if (!now)
		return;
	begin(r, now, window_ns);
	if (r->told && gt_ring_running(r) < now)
		r->cur.carry = now - gt_ring_running(r);
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
