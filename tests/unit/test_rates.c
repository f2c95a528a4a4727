/* SPDX-License-Identifier: GPL-2.0 */
/* Rates of events and windows of a ring, at their edges. */
#include <stdlib.h>

#include "../../backend/backend.h"
#include "../../fs/model/internal.h"
#include "../lib/tap.h"

#define SEC GT_SEC
#define MS  1000000ULL

static struct gt_typecount t;

/* @n submissions in second @sec */
static void seen(uint64_t sec, unsigned int n)
{
	const struct gt_second s = { sec, (unsigned int)(sec % GT_RATE_SLOTS), GT_SUBMIT };

	while (n--)
		gt_types_seen(&t, &s);
}

static uint64_t rate(uint64_t ms, unsigned int window)
{
	return gt_types_rate(&t, GT_SUBMIT, ms * MS, window, 60 * SEC);
}

static void check_rates(void)
{
	seen(100, 5);
	seen(101, 3);
	seen(103, 2);
	is(rate(104000, 1), 2000, "a second that is over");
	is(rate(104250, 1), 1500, "of one that is cut its share");
	is(rate(103500, 1), 2000, "one that is not over");
	is(rate(103000, 3), 3333, "three seconds, to the first's begin");
	is(rate(103500, 3), 2500, "from its middle on");
	is(rate(110000, 10), 1000, "the longest window");
	is(rate(110000, GT_RATE_SLOTS), 0, "a longer one is not known");
	is(rate(110000, 0), 0, "nor none");
	is(gt_types_rate(&t, GT_NTYPES, 104 * SEC, 1, 60 * SEC), 0, "nor of no type");
	is(gt_types_rate(&t, GT_SUBMIT, 104 * SEC, 5, 0), 0, "nothing was observed");
	is(gt_types_rate(&t, GT_SUBMIT, 104 * SEC, 5, 2 * SEC), 5000,
	   "all there are in two seconds");
	is(gt_types_rate(&t, GT_SUBMIT, 104 * SEC, 2, 2 * SEC), 1000, "a window that was observed");
	seen(102, 1);
	is(rate(103500, 1), 3000, "a late one counts as of now");
	seen(111, 7);
	is(rate(111500, 10), 1000 + 150, "a second takes the place of one before the window");
	is(rate(112000, 1), 7000, "and counts as any");
	memset(&t, 0, sizeof(t));
	seen(1, 4);
	is(rate(2000, 5), 800, "before time is as old as the window");
	is(rate(5000, 5), 800, "and when it is");
	is(rate(6500, 5), 400, "and is older");
}

static struct gt_ring r;

static bool window_is(const struct gt_window_stats *w, uint64_t start, uint64_t end)
{
	return w->start == start && w->end == end;
}

/* Of a ring jobs are counted, where its types count events */
static void check_ring_jobs(void)
{
	const struct gt_second early = { 99, 99 % GT_RATE_SLOTS, GT_SUBMIT };
	const struct gt_second s = { 100, 100 % GT_RATE_SLOTS, GT_SUBMIT };

	memset(&r, 0, sizeof(r));
	r.counts.submitted = 2;
	r.counts.completed = 1;
	gt_ring_second(&r, &s);
	for (int i = 0; i < 9; i++)
		gt_types_seen(&r.types, &s);
	r.counts.submitted = 5;
	r.counts.completed = 3;
	gt_ring_second(&r, &early);
	gt_ring_jobs(&r, &t);
	ok(t.n[GT_SUBMIT].seen == 5 && t.n[GT_COMPLETE].seen == 3, "jobs, not events");
	is(rate(101000, 1), 3000, "of a second, too");
	is(gt_types_rate(&t, GT_COMPLETE, 101 * SEC, 1, 60 * SEC), 2000, "and their ends");
	is(rate(101000, 2), 1500, "those of before it are not of the second before");
}

static void check_depth(void)
{
	struct gt_depth d = { .now = 2, .peak = 7, .integral = 9, .at = 30, .t0 = 20 };

	gt_depth_reset(&d, 50);
	ok(d.peak == 2 && gt_depth_avg(&d, 50, 10) == 2000, "a depth that begins is what it is");
	is(gt_depth_avg(&d, 60, 10), 2000, "and stays it");
	is(gt_depth_avg(&d, 60, 0), 2000, "also if nothing was observed");
	is(gt_depth_avg(&d, 60, 20), 1000, "of what was observed");
	is(gt_depth_to(&d, 60), 20, "it is added up");
	is(gt_depth_to(&d, 60) + gt_depth_to(&d, 55), 0, "once");
	d.now = 1;
	is(gt_depth_avg(&d, 55, 5), 4000, "what is later than now has been");
}

/* Within a ring's window, with a job that runs */
static void check_window_busy(void)
{
	memset(&r, 0, sizeof(r));
	gt_ring_window(&r, 100, 100);
	gt_ring_window(&r, 200, 100);
	gt_ring_busy_slow(&r, 50, 230);
	ok(r.last.busy_ns == 100 && r.cur.busy_ns == 30, "a time over two windows is in both");
	is(r.busy.total_ns, 180, "and what is before them counts as well");
	gt_ring_busy_slow(&r, 210, 240);
	is(r.cur.busy_ns, 40, "what overlaps counts once");
	is(gt_window_busy(&r, &r.cur, 250), 40, "no job runs");
	r.commits = true;
	r.hw_jobs = 1;
	r.hw_since = 245;
	if (gt_ring_running(&r) == 245) {
		is(gt_window_busy(&r, &r.cur, 250), 45, "one that runs counts");
		is(gt_window_busy(&r, &r.last, 250), 100, "in its own window");
		r.hw_since = 150;
		is(gt_window_busy(&r, &r.cur, 250), 50, "from the window's begin");
		is(gt_window_busy(&r, &r.cur, 400), 100, "to its end");
	}
}

static void first(uint64_t now)
{
	memset(&r, 0, sizeof(r));
	gt_ring_window(&r, now, 100);
}

static void check_windows(void)
{
	uint64_t gen;

	first(0);
	ok(!r.cur.end && !r.depth.t0, "no window begins before time");
	first(150);
	ok(window_is(&r.cur, 150, 200) && r.depth.t0 == 150,
	   "one that has half of its length is one");
	first(151);
	ok(window_is(&r.cur, 151, 300), "one that has less goes on to the next end");
	first(200);
	ok(window_is(&r.cur, 200, 300) && !r.last.end, "a whole one");
	gen = r.gen;
	gt_ring_window(&r, 299, 100);
	ok(window_is(&r.cur, 200, 300) && r.gen == gen, "lasts to its end");
	r.depth.now = 3;
	r.cur.events = 9;
	gt_ring_window(&r, 300, 100);
	ok(window_is(&r.last, 200, 300) && r.last.events == 9 && r.last.depth_integral == 300,
	   "then it is the last");
	ok(window_is(&r.cur, 300, 400) && !r.cur.events && r.cur.depth_peak == 3 && r.gen != gen,
	   "and another begins");
	gt_ring_window(&r, 450, 100);
	ok(window_is(&r.last, 300, 400) && window_is(&r.cur, 400, 500), "within the next");
	gt_ring_window(&r, 730, 100);
	ok(window_is(&r.last, 600, 700) && r.last.depth_integral == 300 &&
		   window_is(&r.cur, 700, 800),
	   "where nothing happens the last is one of these");
	gt_ring_window(&r, 810, 0);
	ok(window_is(&r.cur, 810, UINT64_MAX) && !r.last.end, "without a length there is one");
	gt_ring_window_restart(&r, 0, 100);
	ok(!r.cur.end && !r.last.end, "or none");
}

static void unclear(uint64_t start, uint64_t end, bool last, bool cur, const char *what)
{
	first(100);
	gt_ring_window(&r, 200, 100);
	gt_ring_unclear(&r, start, end);
	ok(r.last.unclear == last && r.cur.unclear == cur, "%s", what);
	is(gt_window_busy(&r, &r.last, 300) == GT_NONE64, last, "... of the last");
	is(gt_window_busy(&r, &r.cur, 300) == GT_NONE64, cur, "... of this");
}

static void check_unclear(void)
{
	unclear(50, 100, false, false, "what is not known of before is no window's");
	unclear(50, 101, true, false, "nor of a window's begin");
	unclear(199, 200, true, false, "of its end");
	unclear(200, 201, false, true, "of the next");
	unclear(199, 201, true, true, "of both");
}

/* Windows of another length begin at once, in all rings */
static void check_length(void)
{
	const struct gt_limits limits = { 64, 600 * SEC, 16, 60 * SEC };
	struct gt_model *m = gt_model_new(&limits, false);
	struct gt_gpu *g = gt_model_gpu(m, "amdgpu0", NULL);
	struct gt_ring *ring = gt_model_ring(m, g, "gfx", GT_ENGINE_UNKNOWN, NULL);
	uint64_t gen;

	gt_model_advance(m, 10 * SEC);
	gen = m->gen;
	gt_model_windows(m, 300 * MS);
	ok(m->window_ns == 300 * MS && m->gen != gen, "a new length is a change");
	ok(window_is(&ring->cur, 10 * SEC, 10200 * MS), "a window of it begins");
	gt_model_free(m);
}

int main(void)
{
	check_rates();
	check_ring_jobs();
	check_depth();
	check_window_busy();
	check_windows();
	check_unclear();
	check_length();
	return done_testing();
}
