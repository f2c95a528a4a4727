/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The aggregator's windows, of lengths that are no multiple of anything, against what a list of all
 * jobs says of the same span: to the nanosecond. By records that have more or less of a job.
 */
#include <stdlib.h>

#include "../../backend/backend.h"
#include "../../fs/model/model.h"
#include "../lib/tap.h"

#define SEC  1000000000ULL
#define MS   1000000ULL
#define T0   (100 * SEC + 12345)
#define JOBS 4000

enum how { COMMITS, PARALLEL, BY_VALUE };

struct job {
	uint64_t submit, commit, start, end, complete;
};

struct event {
	uint64_t ts;
	int type;
	unsigned int job;
};

static uint64_t seed;
static struct job jobs[JOBS];
static struct event events[JOBS * 5];
static size_t nevents;
static struct gt_model *m;
static struct gt_ring *ring;

static uint64_t rnd(uint64_t below)
{
	seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return (seed >> 33) % below;
}

static int by_time(const void *a, const void *b)
{
	const struct event *x = a, *y = b;

	if (x->ts != y->ts)
		return x->ts > y->ts ? 1 : -1;
	return x->job != y->job ? (x->job > y->job) - (x->job < y->job) : x - y;
}

static void push(uint64_t ts, int type, unsigned int job)
{
	events[nevents++] = (struct event){ ts, type, job };
}

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* One after the other: begins when it is handed over and the one before has ended */
static void in_order(struct job *j, const struct job *before)
{
	j->commit = later(j->submit + 1 + rnd(MS), before ? before->commit + 1 : 0);
	j->start = later(j->commit, before ? before->complete : 0);
	/* some take several windows, and the ring rests for several, too */
	j->end = j->complete = j->start + 1 + (rnd(150) ? rnd(2 * MS) : rnd(900 * MS));
}

static void side_by_side(struct job *j)
{
	j->commit = j->submit;
	j->start = j->submit + 1 + rnd(MS);
	j->end = j->start + 1 + rnd(60 * MS);
	j->complete = j->end + rnd(100000);
}

static void make(enum how how)
{
	uint64_t t = T0;

	nevents = 0;
	seed = 7 + how;
	for (unsigned int i = 0; i < JOBS; i++) {
		struct job *j = &jobs[i], *before = i ? j - 1 : NULL;

		t += rnd(3 * MS) + (rnd(100) ? 0 : rnd(700 * MS));
		j->submit = t;
		if (how == PARALLEL)
			side_by_side(j);
		else
			in_order(j, before);
		push(j->submit, GT_SUBMIT, i);
		if (how == COMMITS)
			push(j->commit, GT_COMMIT, i);
		if (how == PARALLEL) {
			push(j->start, GT_START, i);
			push(j->end, GT_END, i);
		}
		push(j->complete, GT_COMPLETE, i);
	}
	qsort(events, nevents, sizeof(*events), by_time);
}

/* What the list of jobs says ------------------------------------------------------------------- */

static uint64_t overlap(uint64_t start, uint64_t end, uint64_t from, uint64_t to)
{
	start = later(start, from);
	end = end < to ? end : to;
	return end > start ? end - start : 0;
}

static int by_start(const void *a, const void *b)
{
	const struct job *x = *(struct job *const *)a, *y = *(struct job *const *)b;

	return (x->start > y->start) - (x->start < y->start);
}

static uint64_t busy_within(uint64_t from, uint64_t to)
{
	static struct job *sorted[JOBS];
	uint64_t ns = 0, covered = 0;

	for (unsigned int i = 0; i < JOBS; i++)
		sorted[i] = &jobs[i];
	qsort(sorted, JOBS, sizeof(*sorted), by_start);
	for (unsigned int i = 0; i < JOBS; i++) {
		ns += overlap(later(sorted[i]->start, covered), sorted[i]->end, from, to);
		covered = later(covered, sorted[i]->end);
	}
	return ns;
}

/* The most jobs at a time from @from on; @depth: how many there were just before */
static uint32_t peak_within(uint64_t from, uint64_t to)
{
	uint32_t depth = 0, peak = 0;

	for (size_t i = 0; i < nevents && events[i].ts < to; i++) {
		if (events[i].ts >= from)
			peak = depth > peak ? depth : peak;
		depth += events[i].type == GT_SUBMIT;
		depth -= events[i].type == GT_COMPLETE;
		if (events[i].ts >= from)
			peak = depth > peak ? depth : peak;
	}
	return depth > peak ? depth : peak;
}

static struct gt_window_stats reckon(uint64_t from, uint64_t to)
{
	struct gt_window_stats w = { .start = from, .end = to, .lat_min = UINT64_MAX };

	for (size_t i = 0; i < nevents; i++)
		w.events += events[i].ts >= from && events[i].ts < to;
	for (unsigned int i = 0; i < JOBS; i++) {
		const struct job *j = &jobs[i];
		uint64_t total = j->complete - j->submit;

		w.depth_integral += overlap(j->submit, j->complete, from, to);
		if (j->complete < from || j->complete >= to)
			continue;
		w.completed++;
		w.lat_sum += total;
		w.lat_min = total < w.lat_min ? total : w.lat_min;
		w.lat_max = later(w.lat_max, total);
	}
	w.busy_ns = busy_within(from, to);
	w.depth_peak = peak_within(from, to);
	return w;
}

static int differ(const char *what, uint64_t got, uint64_t want, const struct gt_window_stats *w)
{
	if (got == want)
		return false;
	printf("# %s: %" PRIu64 ", wanted %" PRIu64 ", from %" PRIu64 " to %" PRIu64 "\n", what,
	       got, want, w->start, w->end);
	return true;
}

/*
 * @now: if not 0, nobody tells when a job began before it ends: one that is under way then may be
 * taken for one that began when it could have
 */
static bool guessed(const struct gt_window_stats *w, uint64_t now)
{
	for (unsigned int i = 0; i < JOBS; i++)
		if (jobs[i].submit < w->end && jobs[i].submit <= now && jobs[i].complete > now)
			return true;
	return false;
}

static bool same(const struct gt_window_stats *w, uint64_t busy, uint64_t now)
{
	struct gt_window_stats r = reckon(w->start, w->end);

	if (now && guessed(w, now) && busy > r.busy_ns && busy <= w->end - w->start)
		busy = r.busy_ns;
	return !(differ("events", w->events, r.events, w) |
		 differ("completed", w->completed, r.completed, w) |
		 differ("sum", w->lat_sum, r.lat_sum, w) |
		 differ("least", w->lat_min, r.lat_min, w) |
		 differ("most", w->lat_max, r.lat_max, w) |
		 differ("depth", w->depth_integral, r.depth_integral, w) |
		 differ("peak", w->depth_peak, r.depth_peak, w) |
		 differ("busy", busy, r.busy_ns, w));
}

/* What the model says ---------------------------------------------------------------------------
 */

static void begin(uint64_t window)
{
	struct gt_limits limits = { 100000, UINT64_MAX, 100, 0 };

	m = gt_model_new(&limits, false);
	m->window_ns = window;
	ring = gt_model_ring(m, gt_model_gpu(m, "gpu0", NULL), "gfx", GT_ENGINE_UNKNOWN, NULL);
}

static void feed(const struct event *e, enum how how)
{
	const struct job *j = &jobs[e->job];
	struct gt_folded f;
	union gt_record r;

	gt_record_init(&r, e->ts, (enum gt_type)e->type);
	r.ev.gpu = r.ev.ring = 0;
	r.ev.ctx = 1 + e->job; /* of one context they would end in order */
	r.ev.seqno = 1;
	if (how == BY_VALUE && e->type == GT_COMPLETE)
		r.ev.value = j->end - j->start;
	gt_model_event(m, &r, &f);
	gt_model_done(m, &f);
}

/* By records: as soon as a window has ended where that can be, and when the next one does */
static void run(enum how how, uint64_t window, const char *what)
{
	struct gt_window_stats last = { 0 };
	uint64_t busy = 0, seen = 0, n = 0, odd = 0;
	bool now = true, then = true;

	begin(window);
	for (size_t i = 0; i < nevents; i++) {
		feed(&events[i], how);
		if (i % 7 == 0) /* somebody looks */
			gt_ring_window(ring, events[i].ts, window);
		if (ring->last.start != last.start) {
			then &= !last.end || same(&last, busy, how == BY_VALUE ? seen : 0);
			if (how == COMMITS)
				now &= same(&ring->last,
					    gt_window_busy(ring, &ring->last, events[i].ts), 0);
			odd += ring->last.end % window != 0 ||
			       (n && ring->last.end - ring->last.start != window);
			n++;
		}
		last = ring->last;
		seen = events[i].ts;
		busy = gt_window_busy(ring, &last, seen);
	}
	ok(now, "%s, %" PRIu64 " ms: every window when it has ended", what,
	   (uint64_t)(window / MS));
	ok(then, "%s, %" PRIu64 " ms: and when the next one has", what, (uint64_t)(window / MS));
	ok(n > 3 && !odd, "%s, %" PRIu64 " ms: they are whole, %" PRIu64 " of them", what,
	   (uint64_t)(window / MS), n);
	gt_model_free(m);
}

int main(void)
{
	static const uint64_t lengths[] = { 100, 130, 250, 333, 1000, 1777 };
	static const char *const names[] = { "hand-overs", "side by side", "by value" };
	uint64_t before = gt_hist_memory();

	for (int how = COMMITS; how <= BY_VALUE; how++) {
		make((enum how)how);
		for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++)
			run((enum how)how, lengths[i] * MS, names[how]);
	}
	is(gt_hist_memory(), before, "all memory is given back");
	return done_testing();
}
