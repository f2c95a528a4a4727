/* SPDX-License-Identifier: GPL-2.0 */
/* Jobs whose end was missed: each way to know it, and that nothing is left of them. */
#include "../../fs/model/internal.h"
#include "modelbed.h"

#define MS 1000000ULL

static void lose_of(uint16_t where, uint64_t ts, uint64_t until)
{
	event(ts, GT_LOST)->lost.gpu = where;
	rec.lost.count = 1;
	rec.lost.cause = GT_LOST_SOURCE;
	rec.lost.until = until;
	fold();
}

static void lose(uint64_t ts, uint64_t until)
{
	lose_of(0, ts, until);
}

/* One job from its submission to its hand-over */
static void begins(uint64_t ts, uint64_t seqno)
{
	job(ts, GT_SUBMIT, seqno, 500);
	job(ts + 10, GT_COMMIT, seqno, 0);
}

static void job_of(uint64_t ts, enum gt_type type, uint64_t ctx, uint64_t seqno)
{
	event(ts, type);
	rec.ev.ring = 0;
	rec.ev.ctx = ctx;
	rec.ev.seqno = seqno;
	if (type == GT_SUBMIT)
		rec.ev.pid = 500;
	fold();
}

/* @unseen of them in all; none is in flight but @left */
static void none_left(uint64_t unseen, uint32_t left, const char *why)
{
	const struct gt_proc *p = gt_model_proc(m, 500);
	unsigned int listed = 0;

	for (uint32_t i = ring->jobs_head; i != GT_NONE32; i = m->jobs[i].ring_next)
		listed++;
	is(ring->counts.ended_unseen, unseen, "%s: counted", why);
	ok(m->counts.ended_unseen == unseen && m->gpus[0]->counts.ended_unseen == unseen &&
		   p->counts.ended_unseen == unseen && p->rings->counts.ended_unseen == unseen,
	   "%s: of the GPU, the process and all, too", why);
	ok(ring->depth.now == left && p->inflight == left && p->rings->inflight == left &&
		   listed == left && m->njobs - m->nunseen == left,
	   "%s: in flight are %u", why, left);
	ok(left || gt_ring_running(ring) == UINT64_MAX, "%s: nothing runs", why);
}

/* A CPU that had no events before looks like one with a buffer that ran over */
static void check_late_cpu(void)
{
	begin();
	begins(T0, 1);
	begins(T0 + 100, 2);
	job_of(T0 + 200, GT_SUBMIT, 8, 1);
	job_of(T0 + 210, GT_COMMIT, 8, 1);
	event(T0 + 300, GT_LOST)->lost.cause = GT_LOST_BEGIN;
	fold();
	begins(T0 + 400, 3);
	job(T0 + 500, GT_COMPLETE, 2, 0);
	is(ring->counts.ended_unseen, 2,
	   "the end of one was missed: what another CPU reported may be lost");
	job(T0 + 900, GT_COMPLETE, 3, 0);
	is(folded.fin.exec, GT_NONE64, "one that was handed over before may have run until now");
	begins(T0 + 1000, 4);
	job(T0 + 1100, GT_COMPLETE, 4, 0);
	is(folded.fin.exec, 90, "of the next it is known when it began");
	gt_model_free(m);
}

/* Ends may be missing from a recording's beginning on: averages begin when that is over */
static void check_front(void)
{
	begin();
	begins(T0, 1);
	begins(T0 + 100, 2);
	begins(T0 + 200, 3);
	job(T0 + 250, GT_COMPLETE, 1, 0);
	is(ring->busy.total_ns, 240, "busy");
	lose_of(GT_NONE16, T0, T0 + 1000);
	begins(T0 + 500, 4);
	begins(T0 + 1500, 5);
	is(ring->busy.total_ns, 0,
	   "of the time of a loss in front it is not known how busy it was");
	ok(ring->depth.t0 == T0 + 1000 && ring->depth.peak == 1, "nor who was in flight");
	job(T0 + 1600, GT_COMPLETE, 5, 0);
	is(ring->busy.total_ns, 90, "what ran since is busy time");
	is(gt_observed_of(m, gt_ring_extent(ring), T0 + 2000, GT_ALL), 1000,
	   "of the time since then");
	gt_model_clear(m);
	is(gt_ring_since(ring), 0, "a clear forgets that");
	gt_model_free(m);

	begin();
	begins(T0, 7);
	job(T0 + 300, GT_COMPLETE, 3, 0);
	job(T0 + 400, GT_COMPLETE, 4, 0);
	job(T0 + 500, GT_COMPLETE, 7, 0);
	is(gt_ring_since(ring), T0 + 400, "up to the last job that was not seen to begin");
	is(ring->busy.total_ns, 100, "what ran since is busy time");
	job(T0 + 600, GT_COMPLETE, 5, 0);
	is(gt_ring_since(ring), T0 + 400, "in the middle it is another fault");
	gt_model_free(m);

	begin();
	gt_model_windows(m, SEC);
	for (uint64_t i = 1; i < 5; i++)
		job(T0 + i * SEC / 2, GT_COMPLETE, i, 0);
	is(gt_ring_since(ring), 0, "of a ring with ends alone nothing is known anyway");
	is(ring->last.completed, 2, "... but how many ended in a window");
	gt_model_free(m);
}

static void check_aged(void)
{
	uint64_t age;

	begin();
	age = m->limits.max_job_age_ns;
	begins(T0, 1);
	begins(T0 + age, 2);
	begins(T0 + age + SEC, 3);
	is(m->counts.given_up, 1, "the first is given up");
	is(gt_ring_running(ring), T0 + age + 10, "the ring is not busy with it");
	gt_model_free(m);
}

static void check_superseded(void)
{
	begin();
	begins(T0, 1);
	begins(T0 + 100, 2);
	begins(T0 + 200, 3);
	job(T0 + 300, GT_COMPLETE, 2, 0);
	none_left(1, 1, "superseded");
	is(folded.fin.exec, GT_NONE64, "when the next began is not known");
	is(folded.fin.hw_wait, GT_NONE64, "nor what it waited for");
	is(folded.fin.total, 200, "its total is");
	job(T0 + 350, GT_COMPLETE, 3, 0);
	is(folded.fin.exec, 50, "of the one behind it all is known");
	is(ring->depth.integral, 300 + 200 + 150, "depth counted it until then");
	is(ring->depth.peak, 3, "it was in the peak");
	job(T0 + 360, GT_COMPLETE, 1, 0);
	is(ring->counts.ended_unseen, 0, "its end came after all");
	is(ring->counts.completed, 3, "it counts as completed");
	is(folded.fin.total, 360, "its total is known");
	is(folded.fin.exec, GT_NONE64, "but no execution");
	is(ring->counts.begin_unseen, 0, "it is no stranger");
	is(m->njobs, 0, "nothing is left of it");
	gt_model_free(m);
}

static void check_several(void)
{
	begin();
	for (uint64_t i = 1; i < 50; i++)
		begins(T0 + i * 100, i);
	job(T0 + 6000, GT_COMPLETE, 60, 0); /* which was not seen to begin */
	none_left(49, 0, "by a stranger");
	is(ring->counts.begin_unseen, 1, "that is one");
	gt_model_advance(m, T0 + 700 * SEC);
	is(m->njobs + m->nunseen, 0, "in time they are forgotten");
	is(m->counts.given_up, 0, "and not counted twice");
	gt_model_free(m);
}

/* Of other contexts and rings nothing is concluded from it */
static void check_others(void)
{
	begin();
	job_of(T0, GT_SUBMIT, 1, 5);
	job_of(T0, GT_SUBMIT, 2, 5);
	job_of(T0 + 1, GT_SUBMIT, 1, 6);
	job_of(T0 + 9, GT_COMPLETE, 2, 5);
	none_left(0, 2, "another context");
	job_of(T0 + 10, GT_COMPLETE, 1, 4);
	none_left(0, 2, "one before it");
	job_of(T0 + 10, GT_COMPLETE, 1, 5);
	none_left(0, 1, "in order");
	is(ring->counts.begin_unseen, 1, "which was a stranger");
	gt_model_free(m);
}

/* A job that ended itself waits for its completion only */
static void check_ended(void)
{
	begin();
	job(T0, GT_START, 1, 500);
	job(T0 + 5, GT_START, 2, 500);
	job(T0 + 10, GT_END, 1, 0);
	job(T0 + 20, GT_END, 2, 0);
	is(ring->counts.ended_unseen, 0, "ended, and not completed yet");
	job(T0 + 30, GT_COMPLETE, 1, 0);
	is(folded.fin.exec, 10, "measured");
	job(T0 + 31, GT_COMPLETE, 2, 0);
	is(folded.fin.exec, 15, "measured as well");
	job(T0 + 40, GT_START, 3, 500);
	job(T0 + 50, GT_START, 4, 500);
	job(T0 + 60, GT_END, 4, 0);
	is(ring->counts.ended_unseen, 1, "superseded by an END");
	job(T0 + 61, GT_COMPLETE, 4, 0);
	is(folded.fin.exec, 10, "what is measured is known all the same");
	gt_model_free(m);
}

/* Another context has the number, or the same one began again */
static void check_reused(void)
{
	begin();
	begins(T0, 900);
	job(T0 + 5 * MS, GT_SUBMIT, 900, 500);
	none_left(0, 1, "the same SUBMIT");
	begins(T0 + 50 * MS, 1);
	job(T0 + 51 * MS, GT_COMPLETE, 1, 0);
	none_left(1, 0, "numbers that began again");
	begins(T0 + 60 * MS, 2);
	begins(T0 + 90 * MS, 2);
	none_left(2, 1, "a number that is used again");
	job(T0 + 91 * MS, GT_COMPLETE, 2, 0);
	is(folded.fin.total, 1 * MS, "total is of the second");
	job(T0 + 200 * MS, GT_COMMIT, 10, 0);
	job(T0 + 100 * MS, GT_SUBMIT, 12, 500);
	is(ring->depth.now, 2, "two more");
	gt_model_free(m);
}

static void check_duplicates(void)
{
	begin();
	begins(T0, 1);
	job(T0 + 100, GT_COMPLETE, 1, 0);
	job(T0 + 100, GT_COMPLETE, 1, 0);
	is(ring->counts.completed, 1, "one end that is reported twice");
	is(ring->counts.begin_unseen, 0, "is none without a beginning");
	job(T0 + 5 * MS, GT_COMPLETE, 1, 0);
	is(ring->counts.completed, 2, "much later it is another");
	job(T0 + 5 * MS + 10, GT_COMPLETE, 1, 0);
	is(ring->counts.completed, 2, "... which is reported twice, too");
	for (uint64_t i = 0; i < GT_RING_ENDED; i++) {
		begins(T0 + 6 * MS + 100 * i, 10 + i);
		job(T0 + 6 * MS + 100 * i + 50, GT_COMPLETE, 10 + i, 0);
	}
	for (uint64_t i = 0; i < GT_RING_ENDED; i++)
		job(T0 + 6 * MS + 10000, GT_COMPLETE, 10 + i, 0);
	is(ring->counts.completed, 2 + GT_RING_ENDED, "as many as end one after another");
	gt_model_free(m);
}

/* Clocks that differ, or records that changed places: the end is there first, and nothing stays */
static void check_early(void)
{
	static const enum gt_type orders[][3] = {
		{ GT_COMPLETE, GT_SUBMIT, GT_COMMIT },
		{ GT_COMPLETE, GT_COMMIT, GT_SUBMIT },
		{ GT_SUBMIT, GT_COMPLETE, GT_COMMIT },
		{ GT_COMMIT, GT_COMPLETE, GT_SUBMIT },
	};

	begin();
	begins(T0, 1);
	job(T0 + 20, GT_COMPLETE, 1, 0);
	for (uint64_t i = 0; i < 4; i++) {
		for (unsigned int k = 0; k < 3; k++)
			job(T0 + (i + 1) * 10 * MS + k * MS, orders[i][k], 2 + i,
			    orders[i][k] == GT_SUBMIT ? 500 : 0);
		job(T0 + (i + 1) * 10 * MS + 3 * MS, GT_SUBMIT, 2 + i, 500);
		none_left(0, 0, "its end came first");
	}
	is(ring->counts.submitted, 5, "each submission counts once");
	is(ring->counts.committed, 5, "and each hand-over");
	is(ring->counts.completed, 5, "and each end");
	is(ring->counts.begin_unseen, 2, "of two nothing was known when they ended");
	is(gt_model_proc(m, 500)->counts.submitted, 5, "its process has them");
	is(gt_model_proc(m, 500)->rings->counts.submitted, 5, "on its ring, too");
	job(T0 + 60 * MS, GT_COMPLETE, 9, 0);
	job(T0 + 70 * MS + 1, GT_SUBMIT, 9, 500);
	none_left(0, 1, "much later it is another job");
	gt_model_free(m);
}

/* Handed over before it was submitted, as by CPUs with clocks that differ */
static void check_skewed(void)
{
	begin();
	begins(T0, 1);
	job(T0 + 20, GT_COMPLETE, 1, 0);
	job(T0 + MS, GT_COMMIT, 2, 0);
	job(T0 + 3 * MS, GT_SUBMIT, 2, 500);
	job(T0 + 4 * MS, GT_COMPLETE, 2, 0);
	is(folded.fin.queue, GT_NONE64, "how long it was queued is not known");
	is(folded.fin.total, GT_NONE64, "nor how long it took");
	is(folded.fin.hw_wait, GT_NONE64, "nor since when the hardware had it");
	is(folded.fin.exec, GT_NONE64, "so neither when it began on an idle ring");
	begins(T0 + 5 * MS, 3);
	job(T0 + 5 * MS + 20, GT_COMMIT, 4, 0);
	job(T0 + 5 * MS + 30, GT_SUBMIT, 4, 500);
	job(T0 + 6 * MS, GT_COMPLETE, 3, 0);
	job(T0 + 8 * MS, GT_COMPLETE, 4, 0);
	is(folded.fin.exec, 2 * MS, "behind another it began with the end of that");
	is(folded.fin.hw_wait, GT_NONE64, "after a wait that is not known");
	is(gt_stage_count(&ring->stage[GT_ST_QUEUE]), 2, "what is not known is not counted");
	gt_model_free(m);
}

/* One event of job @seqno, with flags that say which clocks differ */
static void flagged(uint64_t ts, enum gt_type type, uint64_t seqno, uint32_t pid, uint8_t flags)
{
	event(ts, type)->ev.flags = flags;
	rec.ev.ring = 0;
	rec.ev.ctx = 9;
	rec.ev.seqno = seqno;
	if (pid)
		rec.ev.pid = pid;
	fold();
}

/* Is it known how busy ring, engine and process were: all of it, in the last second? */
static void is_clear(bool all, bool second, const char *when)
{
	const struct gt_busy *b[3] = { &ring->busy, &m->gpus[0]->engine[ring->engine],
				       &gt_model_proc(m, 500)->rings->busy };

	for (int i = 0; i < 3; i++)
		ok((gt_busy_ns(b[i], m->now, GT_ALL) != GT_NONE64) == all &&
			   (gt_busy_ns(b[i], m->now, SEC) != GT_NONE64) == second,
		   "%s: %s", i ? i == 1 ? "engine" : "process" : "ring", when);
}

static void check_clocks(void)
{
	struct gt_busy sum = { 0 };

	begin();
	begins(T0, 1);
	job(T0 + MS + 10, GT_COMPLETE, 1, 0);
	is_clear(true, true, "by one clock");
	job(T0 + 6 * MS, GT_COMMIT, 2, 0);
	flagged(T0 + 8 * MS, GT_SUBMIT, 2, 500, GT_F_CLOCK);
	flagged(T0 + 9 * MS, GT_COMPLETE, 2, 0, GT_F_CLOCK);
	is(folded.fin.exec, 3 * MS, "the hand-over counts, where the submission has another clock");
	ok(folded.fin.queue == GT_NONE64 && folded.fin.total == GT_NONE64, "that gives no time");
	is(ring->busy.total_ns, 4 * MS, "the ring was busy for as long");
	is_clear(true, true, "by the clock of hand-overs and ends");
	flagged(T0 + 10 * MS, GT_COMMIT, 3, 0, GT_F_CLOCK);
	job(T0 + 10 * MS + 1, GT_SUBMIT, 3, 500);
	job(T0 + 10 * MS + 2, GT_COMPLETE, 3, 0);
	is(folded.fin.total, GT_NONE64, "a submission right behind its hand-over, by one clock");
	begins(T0 + 11 * MS, 4);
	flagged(T0 + 15 * MS, GT_COMPLETE, 4, 0, GT_F_CLOCK | GT_F_CLOCK_HW);
	is(folded.fin.exec, GT_NONE64, "hand-over and end by two clocks");
	is(ring->busy.total_ns, 4 * MS + 1, "of that no time is busy");
	is_clear(false, false, "by two clocks");
	gt_busy_fold(&sum, &ring->busy);
	is(gt_busy_ns(&sum, m->now, GT_ALL), GT_NONE64, "nor is a sum with it known");
	job(T0 + 20 * MS, GT_SUBMIT, 8, 500);
	job(T0 + 21 * MS, GT_COMMIT, 8, 0);
	job(T0 + 22 * MS, GT_START, 8, 0);
	job(T0 + 23 * MS, GT_END, 8, 0);
	flagged(T0 + 26 * MS, GT_COMPLETE, 8, 0, GT_F_CLOCK_END);
	ok(folded.fin.exec == MS && folded.fin.hw_wait == MS, "start and end by one clock");
	is(folded.fin.complete, GT_NONE64, "the completion by another");
	ring->cur.end = UINT64_MAX;
	is(gt_window_busy(ring, &ring->cur, m->now), GT_NONE64, "nor the window");
	begins(T0 + 2 * SEC, 5);
	job(T0 + 2 * SEC + MS, GT_COMPLETE, 5, 0);
	is_clear(false, true, "a second later");
	gt_model_clear(m);
	begins(T0 + 3 * SEC, 6);
	job(T0 + 3 * SEC + MS, GT_COMPLETE, 6, 0);
	is_clear(true, true, "after a clear");
	job(T0 + 4 * SEC, GT_SUBMIT, 7, 500);
	job(T0 + 4 * SEC + MS, GT_COMPLETE, 7, 0);
	flagged(T0 + 4 * SEC + 2 * MS, GT_COMMIT, 7, 0, GT_F_CLOCK);
	is_clear(false, false, "handed over after its end");
	gt_model_free(m);
	begin();
	begins(T0, 1);
	job(T0 + MS, GT_COMPLETE, 1, 0);
	job(T0 + 2 * MS, GT_COMMIT, 2, 0);
	job(T0 + 3 * MS, GT_COMPLETE, 2, 0);
	flagged(T0 + 4 * MS, GT_SUBMIT, 2, 500, GT_F_CLOCK);
	ok(!ring->busy.unclear, "submitted after its end: how busy the ring was is known");
	ok(gt_model_proc(m, 500)->rings->busy.unclear, "but not for how long with the process");
	gt_model_free(m);
}

static void of_job(uint64_t seqno)
{
	job(T0, GT_SUBMIT, seqno, 500);
	job(T0 + 1 * MS, GT_COMMIT, seqno, 0);
	job(T0 + 2 * MS, GT_START, seqno, 0);
	job(T0 + 5 * MS, GT_END, seqno, 0);
	job(T0 + 6 * MS, GT_COMPLETE, seqno, 0);
	is(folded.fin.exec, 3 * MS, "in order it ran from its start to its end");
}

/* The hardware's events, and hand-overs, in an order in which no job can have run */
static void check_order(void)
{
	begin();
	flagged(T0, GT_SUBMIT, 1, 500, GT_F_COMMITS);
	job(T0 + MS, GT_COMPLETE, 1, 0);
	is(folded.fin.exec, GT_NONE64,
	   "a job that ends before its hand-over, which is yet to come");
	flagged(T0 + 2 * MS, GT_COMMIT, 1, 0, GT_F_CLOCK);
	is_clear(false, false, "since when it ran nobody knows");
	gt_model_free(m);
	begin();
	of_job(1);
	job(T0 + 10 * MS, GT_SUBMIT, 2, 500);
	job(T0 + 11 * MS, GT_COMMIT, 2, 0);
	job(T0 + 12 * MS, GT_END, 2, 0);
	job(T0 + 13 * MS, GT_START, 2, 0);
	job(T0 + 14 * MS, GT_COMPLETE, 2, 0);
	ok(folded.fin.exec == GT_NONE64 && folded.fin.hw_wait == GT_NONE64,
	   "it ended before it began");
	is(folded.fin.complete, 2 * MS, "its end and completion are in order");
	is(ring->busy.total_ns, 3 * MS, "of that no time is busy");
	is_clear(false, false, "it ended before it began");
	gt_model_free(m);
	begin();
	job(T0, GT_SUBMIT, 1, 500);
	job(T0 + 1 * MS, GT_COMMIT, 1, 0);
	job(T0 + 2 * MS, GT_COMPLETE, 1, 0);
	job(T0 + 10 * MS, GT_SUBMIT, 2, 500);
	job(T0 + 12 * MS, GT_END, 2, 0);
	job(T0 + 13 * MS, GT_COMMIT, 2, 0);
	job(T0 + 14 * MS, GT_COMPLETE, 2, 0);
	ok(folded.fin.exec == GT_NONE64 && folded.fin.hw_wait == GT_NONE64,
	   "it ended before it was handed over");
	ok(folded.fin.complete == 2 * MS && folded.fin.total == 4 * MS, "the rest is known");
	is_clear(false, false, "it ended before it was handed over");
	gt_model_free(m);
	begin();
	of_job(1);
	job(T0 + 10 * MS, GT_SUBMIT, 2, 500);
	job(T0 + 11 * MS, GT_START, 2, 0);
	job(T0 + 12 * MS, GT_COMMIT, 2, 0);
	job(T0 + 13 * MS, GT_END, 2, 0);
	job(T0 + 13 * MS, GT_COMPLETE, 2, 0);
	is(folded.fin.hw_wait, GT_NONE64,
	   "it began before it was handed over: how long it waited is not known");
	is(folded.fin.exec, 2 * MS, "but it ran as the hardware says");
	gt_model_free(m);
}

/* Before anything else says that the ring has hand-overs */
static void check_early_first(void)
{
	begin();
	job(T0, GT_SUBMIT, 1, 500);
	job(T0 + 100, GT_COMPLETE, 1, 0);
	job(T0 + 200, GT_COMMIT, 1, 0);
	none_left(0, 0, "the first hand-over came late");
	is(ring->counts.committed, 1, "it counts");
	gt_model_free(m);
}

/* Where nothing says which job it is, every one is another */
static void check_early_unnamed(void)
{
	begin();
	job_of(T0, GT_COMPLETE, 9, GT_NONE64);
	job_of(T0 + 1, GT_SUBMIT, 9, GT_NONE64);
	is(ring->depth.now, 1, "a job without a number begins");
	gt_model_free(m);
}

/* As many as end within a moment */
static void check_early_many(void)
{
	begin();
	for (uint64_t i = 0; i < GT_RING_EARLY; i++)
		job(T0 + i, GT_COMPLETE, 1 + i, 0);
	for (uint64_t i = 0; i < GT_RING_EARLY; i++)
		begins(T0 + 1000 + 20 * i, 1 + i);
	none_left(0, 0, "many ends came first");
	gt_model_free(m);
}

static void check_lost(void)
{
	begin();
	begins(T0, 1);
	begins(T0 + 100, 2);
	lose(T0 + 200, 0);
	none_left(2, 0, "a loss");
	job(T0 + 300, GT_COMPLETE, 1, 0);
	is(folded.fin.total, 300, "one that ends all the same has its total");
	is(folded.fin.exec, GT_NONE64, "what it waited for is not known");
	is(ring->counts.ended_unseen, 1, "and is not missed any more");
	job(T0 + 350, GT_COMPLETE, 2, 0);
	is(folded.fin.exec, 50, "of the next all is known again");
	none_left(0, 0, "both");
	lose(T0 + 400, T0 + 900);
	begins(T0 + 500, 3);
	none_left(0, 1, "within a gap");
	gt_model_advance(m, T0 + 900);
	none_left(0, 1, "up to its end");
	gt_model_advance(m, T0 + 901);
	none_left(1, 0, "behind the gap");
	begins(T0 + 950, 4);
	none_left(1, 1, "one that comes later");
	lose(T0 + 1000, T0 + 1100);
	lose(T0 + 1050, T0 + 1200);
	job(T0 + 1200, GT_SUBMIT, 5, 500);
	gt_model_advance(m, T0 + 1201);
	none_left(3, 0, "one that comes as the second of two gaps ends");
	gt_model_free(m);
}

/* In a recording a clear, and what comes next, may have one time */
static void check_cleared(void)
{
	begin();
	begins(T0, 1);
	lose(T0 + 200, 0);
	gt_model_clear(m);
	job(T0 + 200, GT_COMPLETE, 1, 0);
	is(ring->counts.ended_unseen, 0, "cleared, so its end takes nothing away");
	is(m->counts.ended_unseen, 0, "of all neither");
	gt_model_free(m);
}

static void reset(uint64_t ts)
{
	event(ts, GT_ERROR)->ev.value = GT_ERR_RESET;
	fold();
}

static void check_reset(void)
{
	begin();
	begins(T0, 1);
	begins(T0 + 100, 2);
	job(T0 + 150, GT_SUBMIT, 3, 500);
	reset(T0 + 200);
	none_left(2, 1, "a reset");
	job(T0 + 300, GT_COMMIT, 3, 0);
	job(T0 + 400, GT_COMPLETE, 3, 0);
	is(folded.fin.total, 250, "what was queued runs after it");
	gt_model_free(m);
}

/* Many processes are killed, beside a queue as deep as there is room: not all at once */
static void check_many_dead(void)
{
	enum { N = 200000, DEAD = 1000 };

	begin_with(N, DEAD + 1);
	for (uint64_t i = 0; i < N; i++) {
		job(T0 + i, GT_SUBMIT, i, 500 + (i < N / 2 ? 0 : (uint32_t)i % (DEAD + 1)));
		if (i < DEAD)
			job(T0 + i, GT_COMMIT, i, 0);
	}
	for (uint32_t pid = 501; pid <= 500 + DEAD; pid++)
		gt_model_exit(m, gt_model_proc(m, pid)->slot);
	gt_model_advance(m, m->now + GT_UNSEEN_DEAD_NS);
	gt_model_reap(m);
	ok(m->nunseen && m->nunseen < N / 4, "the lock is given back before all are found: %u",
	   m->nunseen);
	for (unsigned int i = 0; i < 20 && m->priv->bury != GT_NONE32; i++)
		gt_model_reap(m);
	is(m->nunseen, N - gt_model_proc(m, 500)->inflight, "soon all are");
	is(ring->depth.now, gt_model_proc(m, 500)->inflight, "those of the living stay");
	is(m->priv->bury, GT_NONE32, "nobody is left to look for");
	gt_model_free(m);
}

static void begins_in_queue(uint64_t ts, const struct gt_ring *r, uint32_t queue)
{
	for (int commit = 0; commit < 2; commit++) {
		event(ts + (unsigned int)commit, commit ? GT_COMMIT : GT_SUBMIT);
		rec.ev.ring = r->id;
		rec.ev.ctx = queue;
		rec.ev.seqno = 1;
		rec.ev.queue = queue;
		rec.ev.pid = commit ? GT_NONE32 : 500 + queue;
		fold();
	}
}

static void reset_queue(uint64_t ts, uint32_t queue)
{
	event(ts, GT_ERROR)->ev.value = GT_ERR_RESET;
	rec.ev.queue = queue;
	fold();
}

/* A queue that hangs is its owner's: it takes nobody else's jobs with it */
static void check_reset_queue(void)
{
	begin();
	begins_in_queue(T0, ring, 7);
	begins_in_queue(T0 + 100, ring, 8);
	begins_in_queue(T0 + 200, ring1, 9);
	reset_queue(T0 + 300, 7);
	is(gt_model_proc(m, 507)->counts.ended_unseen, 1, "a queue's reset takes its jobs");
	is(m->counts.ended_unseen, 1, "a queue's reset takes no others");
	is(gt_ring_running(ring), T0 + 101, "the ring runs what others have there");
	is(gt_ring_running(ring1), T0 + 201, "so do other rings");
	event(T0 + 400, GT_COMPLETE);
	rec.ev.ring = 0;
	rec.ev.ctx = 8;
	rec.ev.seqno = 1;
	fold();
	is(folded.fin.exec, GT_NONE64, "when the one behind it began is not known");
	is(folded.fin.total, 300, "how long it took is known");
	reset_queue(T0 + 500, 1234);
	is(m->counts.ended_unseen, 1, "of a queue that nobody knows nothing follows");
	gt_model_free(m);
}

/* The scheduler frees what was not handed over */
static void check_dead(void)
{
	uint64_t now;

	begin();
	begins(T0, 1);
	for (uint64_t i = 2; i < 50; i++)
		job(T0 + i, GT_SUBMIT, i, 500);
	gt_model_exit(m, gt_model_proc(m, 500)->slot);
	gt_model_reap(m);
	none_left(0, 49, "killed just now");
	now = m->now + GT_UNSEEN_DEAD_NS;
	gt_model_advance(m, now);
	gt_model_reap(m);
	none_left(48, 1, "killed a while ago");
	job(now + 10, GT_COMPLETE, 1, 0);
	none_left(48, 0, "what the hardware had ends");
	gt_model_advance(m, now + 100 * SEC);
	gt_model_reap(m);
	ok(!gt_model_proc(m, 500), "nothing keeps the process");
	gt_model_free(m);
}

/* Hardware that runs one job after another, of whatever context, is not at work on what it passed
 */
static void check_passed(void)
{
	begin();
	job_of(T0, GT_COMMIT, 1, 1);
	job_of(T0 + 10, GT_COMMIT, 2, 1);
	job_of(T0 + 100, GT_COMPLETE, 2, 1);
	is(folded.fin.exec, GT_NONE64, "it may have run for less");
	is(ring->depth.now, 1, "the other may end yet");
	is(gt_ring_running(ring), UINT64_MAX, "but not run");
	job_of(T0 + 200, GT_COMMIT, 2, 2);
	job_of(T0 + 230, GT_COMPLETE, 2, 2);
	is(folded.fin.exec, 30, "the next is known");
	job_of(T0 + 50 * MS, GT_COMPLETE, 1, 1);
	is(folded.fin.exec, GT_NONE64, "it ended, when it began is not known");
	job_of(T0 + 60 * MS, GT_COMMIT, 1, 2);
	job_of(T0 + 60 * MS + 10, GT_COMMIT, 2, 3);
	job_of(T0 + 60 * MS + 100, GT_COMPLETE, 2, 3);
	is(folded.fin.exec, 90, "so the ring has no order, and times are inferred");
	gt_model_free(m);
}

/* Two jobs, of which the second ends first if @swapped; then one alone. Return: its exec */
static uint64_t two_and_one(uint64_t t, uint64_t i, bool swapped)
{
	job_of(t, GT_COMMIT, 1, 2 * i);
	job_of(t + 10, GT_COMMIT, 2, i);
	job_of(t + 100, GT_COMPLETE, swapped ? 2 : 1, swapped ? i : 2 * i);
	job_of(t + 150, GT_COMPLETE, swapped ? 1 : 2, swapped ? 2 * i : i);
	is(folded.fin.exec, swapped ? GT_NONE64 : 50, "round %d: the second end", (int)i);
	job_of(t + 200, GT_COMMIT, 1, 2 * i + 1);
	job_of(t + 240, GT_COMPLETE, 1, 2 * i + 1);
	return folded.fin.exec;
}

/* Ends that change places now and then make no ring without an order; always, they do */
static void check_strays(void)
{
	uint64_t i = 0;
	bool known = true;

	begin();
	for (; i < 200; i++)
		known &= two_and_one(T0 + i * MS, i, i % 4 == 3) == 40;
	ok(known, "50 ends among 600 changed places: what ran alone is known");
	ok(!ring->unordered, "... and the ring has an order");
	for (; i < 200 + 2 * GT_UNSEEN_STRAYS && !ring->unordered; i++)
		two_and_one(T0 + i * MS, i, true);
	ok(ring->unordered, "one of each pair is late: the ring has no order");
	i++;
	job_of(T0 + i * MS, GT_COMMIT, 1, 2 * i);
	job_of(T0 + i * MS + 10, GT_COMMIT, 2, i);
	job_of(T0 + i * MS + 100, GT_COMPLETE, 2, i);
	is(folded.fin.exec, 90, "... and times are inferred");
	gt_model_free(m);
}

/* The order of hand-over is a number of 32 bits, and a ring may live for years */
static void check_passed_far(void)
{
	begin();
	begins(T0, 1);
	ring->hw_entered = INT32_MAX - 3;
	for (uint64_t i = 2; i < 10; i++) {
		begins(T0 + 100 * i, i);
		job(T0 + 100 * i + 50, GT_COMPLETE, i - 1, 0);
	}
	is(folded.fin.exec, 100, "after 2^31 jobs, what it ran is known");
	is(gt_ring_running(ring), T0 + 950, "after 2^31 jobs, one runs since the last has ended");
	job(T0 + 1000, GT_COMPLETE, 9, 0);
	is(folded.fin.exec, 50, "after 2^31 jobs, the last is known");
	is(gt_ring_running(ring), UINT64_MAX, "after 2^31 jobs, none runs when all have ended");
	gt_model_free(m);
}

/* They make room first */
static void check_room(void)
{
	begin(); /* for 64 */
	begins(T0, 1000);
	for (uint64_t i = 0; i < 300; i += 2) {
		job_of(T0 + 100 + i, GT_SUBMIT, 3, i);
		job_of(T0 + 100 + i, GT_SUBMIT, 3, i + 1);
		job_of(T0 + 101 + i, GT_COMPLETE, 3, i + 1);
	}
	none_left(150, 1, "more than there is room for");
	is(ring->counts.dropped_table_full, 0, "nobody in flight had to make room");
	gt_model_free(m);
}

/* Thousands of jobs, some ends missing: what is in flight in the end is what has no later one */
static void check_many(void)
{
	enum { CTXS = 37, N = 20000 };
	uint64_t seed = 5, next[CTXS] = { 0 }, last = 0;
	uint32_t left = 0, ended = 0;
	bool ends[CTXS][N / CTXS + 2];

	begin_with(50000, 16);
	for (uint64_t i = 0; i < N; i++)
		job_of(T0 + i, GT_SUBMIT, i % CTXS, i / CTXS);
	for (uint64_t i = 0; i < N; i++) {
		seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
		ends[i % CTXS][i / CTXS] = (seed >> 33) % 2;
		if (!ends[i % CTXS][i / CTXS])
			continue;
		job_of(T0 + N + i, GT_COMPLETE, i % CTXS, i / CTXS);
		next[i % CTXS] = i / CTXS + 1;
		last = i;
		ended++;
	}
	for (uint64_t i = 0; i < N; i++)
		left += i / CTXS >= next[i % CTXS];
	none_left(N - ended - left, left, "half the ends missing");
	is(ring->counts.completed, ended, "the others are counted");
	is(ring->counts.begin_unseen, 0, "and known");
	is(ring->last_end, T0 + N + last, "the ring's clock");
	gt_model_free(m);
}

/* What a loss means for a ring does not depend on when it was made */
static void check_lost_before(void)
{
	static const enum gt_type types[] = { GT_SUBMIT, GT_COMMIT, GT_COMPLETE };
	struct gt_ring *late;

	begin();
	event(T0, GT_LOST)->lost.gpu = GT_NONE16;
	rec.lost.count = 1;
	rec.lost.cause = GT_LOST_SOURCE;
	fold();
	is(ring->depth.t0, 0, "a loss is not the first event of a ring");
	begins(T0 + 100, 1);
	is(ring->depth.t0, T0 + 100, "its first job is");
	job(T0 + 200, GT_COMPLETE, 1, 0);
	is(folded.fin.exec, GT_NONE64, "when that began is not known");
	late = gt_model_ring(m, m->gpus[0], "late", GT_ENGINE_UNKNOWN, NULL);
	for (uint64_t i = 1; i <= 2; i++) {
		for (unsigned int k = 0; k < 3; k++) {
			event(T0 + 300 * i + k, types[k]);
			rec.ev.ring = late->id;
			rec.ev.ctx = 9;
			rec.ev.seqno = i;
			fold();
		}
		is(folded.fin.exec, i == 1 ? GT_NONE64 : 1,
		   i == 1 ? "nor of the first on a ring that is made after it"
			  : "of the next it is");
	}
	gt_model_free(m);
}

/* A loss that is not over when a ring is made: nobody else waits for its end */
static void check_gap_before(void)
{
	struct gt_limits limits = { 64, 600 * SEC, 16, 60 * SEC };

	m = gt_model_new(&limits, false);
	gpu = gt_model_gpu(m, "amdgpu0", NULL);
	event(T0, GT_LOST)->lost.gpu = GT_NONE16;
	rec.lost.count = 1;
	rec.lost.cause = GT_LOST_SOURCE;
	rec.lost.until = T0 + 900;
	fold();
	ring = gt_model_ring(m, gpu, "late", GT_ENGINE_UNKNOWN, NULL);
	begins(T0 + 500, 1);
	gt_model_advance(m, T0 + 900);
	none_left(0, 1, "a ring made within a gap, up to its end");
	gt_model_advance(m, T0 + 901);
	none_left(1, 0, "a ring made within a gap, behind it");
	lose_of(GT_NONE16, T0 + 1000, T0 + 1900);
	ok(m->counts.lost == 2 && !m->counts.uncounted && gpu->counts.uncounted == 2 &&
		   ring->counts.uncounted == 2 && !ring->counts.lost,
	   "a loss that may have been of any ring: how many a ring lost is not known");
	gt_model_advance(m, T0 + 1900);
	ring = gt_model_ring(m, gpu, "last", GT_ENGINE_UNKNOWN, NULL);
	event(T0 + 1900, GT_SUBMIT)->ev.ring = ring->id;
	fold();
	is(ring->depth.now, 1, "a ring made as a gap ends");
	gt_model_advance(m, T0 + 1901);
	is(ring->depth.now, 0, "a ring made as a gap ends, behind it");
	is(ring->counts.uncounted, 2, "it may have lost what was lost before");
	gt_model_clear(m);
	ring = gt_model_ring(m, gpu, "new", GT_ENGINE_UNKNOWN, NULL);
	is(ring->counts.uncounted, 0, "but not behind a clear");
	gt_model_free(m);
}

/* The first record of a CPU, where others have earlier ones */
static void cpu_begins(uint64_t ts)
{
	event(ts, GT_LOST)->lost.gpu = GT_NONE16;
	rec.lost.count = 0;
	rec.lost.cause = GT_LOST_BEGIN;
	fold();
}

/* Many CPUs with little to do: nothing was lost, and nothing changes */
static void check_begin(void)
{
	begin();
	begins(T0, 1);
	cpu_begins(T0 + 50);
	job(T0 + 100, GT_COMPLETE, 1, 0);
	is(folded.fin.exec, 90, "a CPU that begins late takes nothing from a job");
	is(folded.fin.hw_wait, 0, "nor from its wait");
	is(ring->depth.integral, 100, "nor from depth");
	begins(T0 + 200, 2);
	job_of(T0 + 210, GT_SUBMIT, 8, 1);
	cpu_begins(T0 + 250);
	none_left(0, 2, "a CPU that begins late");
	is(m->counts.lost, 0, "nor is that a loss");
	job(T0 + 300, GT_COMPLETE, 2, 0);
	begins(T0 + 400, 3);
	begins(T0 + 410, 4);
	job(T0 + 500, GT_COMPLETE, 4, 0);
	none_left(1, 1, "an end that was missed after all CPUs had begun");
	gt_model_free(m);
}

/* Buffers that ran over: the end that is missing shows it, for all jobs and rings */
static void check_begun(void)
{
	struct gt_ring *other, *idle;

	begin();
	idle = gt_model_ring(m, m->gpus[0], "idle", GT_ENGINE_UNKNOWN, NULL);
	other = gt_model_ring(m, m->gpus[0], "other", GT_ENGINE_UNKNOWN, NULL);
	event(T0, GT_COMMIT);
	rec.ev.ring = other->id;
	rec.ev.ctx = 9;
	rec.ev.seqno = 1;
	fold();
	begins(T0 + 100, 1);
	job_of(T0 + 110, GT_SUBMIT, 8, 1);
	job_of(T0 + 120, GT_COMMIT, 8, 1);
	begins(T0 + 130, 2);
	cpu_begins(T0 + 500);
	cpu_begins(T0 + 600);
	job_of(T0 + 610, GT_SUBMIT, 8, 2);
	job_of(T0 + 620, GT_COMMIT, 8, 2);
	ok(ring->depth.now == 4 && other->depth.now == 1, "no end is missing yet");
	job(T0 + 700, GT_COMPLETE, 2, 0);
	is(ring->counts.ended_unseen, 2, "CPUs that began late had lost what was before");
	is(ring->depth.now, 1, "but not what came after");
	ok(other->counts.ended_unseen == 1 && !other->depth.now && other->counts.lost == 0,
	   "on other rings, too");
	ok(other->after_loss && !idle->after_loss, "where there were jobs");
	job_of(T0 + 710, GT_COMPLETE, 8, 1);
	is(folded.fin.exec, 10, "one that ends after all is as if nothing had been");
	is(ring->counts.ended_unseen, 1, "nor counted any more");
	event(T0 + 720, GT_COMPLETE);
	rec.ev.ring = other->id;
	rec.ev.ctx = 9;
	rec.ev.seqno = 1;
	fold();
	is(folded.fin.exec, GT_NONE64,
	   "where the end before it may be missing, when it began is not known");
	job_of(T0 + 730, GT_COMPLETE, 8, 2);
	is(folded.fin.exec, 20, "of those behind it is");
	begins(T0 + 800, 3);
	begins(T0 + 810, 4);
	begins(T0 + 820, 5);
	job_of(T0 + 830, GT_SUBMIT, 8, 3);
	job(T0 + 900, GT_COMPLETE, 4, 0);
	is(ring->depth.now, 2, "what is missed later says nothing of others");
	gt_model_free(m);
}

static void on_ring(const struct gt_ring *r, uint64_t ts, enum gt_type type, uint64_t seqno)
{
	event(ts, type);
	rec.ev.ring = r->id;
	rec.ev.ctx = 9;
	rec.ev.seqno = seqno;
	fold();
}

/* What runs for a process that is not known is nobody's, on that ring alone */
static void check_nobody(void)
{
	begin();
	on_ring(ring, T0, GT_COMMIT, 1);
	gt_nobody_rings(m);
	ok(m->nobody->nrings == 1 && m->nobody->rings->ring == ring->id,
	   "nobody has the ring that works for an unknown process, and no other");
	gt_model_free(m);
}

/* A source that says when jobs begin, but not when they end */
static void check_no_ends(void)
{
	const struct gt_ring *other, *late;

	begin_with(512, 16);
	other = gt_model_ring(m, m->gpus[0], "other", GT_ENGINE_UNKNOWN, NULL);
	on_ring(other, T0, GT_COMMIT, 1);
	for (uint64_t i = 1; i < GT_UNSEEN_NO_END; i++)
		begins(T0 + i * 100, i);
	gt_model_advance(m, T0 + 2 * SEC);
	ok(!gt_ring_lacks_ends(ring) && other->depth.now == 1, "few jobs for long may hang");
	begins(T0 + 2 * SEC, 100);
	ok(gt_ring_lacks_ends(ring) && ring->depth.now == 0, "many for long, and none has ended");
	is(ring->counts.ended_unseen, GT_UNSEEN_NO_END, "all of them ended unseen");
	ok(gt_ring_lacks_ends(other) && !other->depth.now,
	   "on a GPU without ends those of other rings, too");
	late = gt_model_ring(m, m->gpus[0], "late", GT_ENGINE_UNKNOWN, NULL);
	on_ring(late, T0 + 2 * SEC + 50, GT_COMMIT, 1);
	ok(gt_ring_lacks_ends(late) && !late->depth.now, "and of one that comes later");
	begins(T0 + 2 * SEC + 100, 101);
	is(ring->counts.ended_unseen, GT_UNSEEN_NO_END + 1, "nor is the next job in flight");
	is(gt_ring_running(ring), UINT64_MAX, "nothing runs");
	is(m->njobs - m->nunseen, 0, "nothing at all is in flight");
	job(T0 + 2 * SEC + 300, GT_COMPLETE, 100, 0);
	ok(!gt_ring_lacks_ends(ring) && !gt_ring_lacks_ends(other), "up to the first end");
	is(folded.fin.exec, GT_NONE64, "what ended before that is not known");
	is(folded.fin.total, 300, "when the job was submitted is");
	job(T0 + 2 * SEC + 350, GT_COMPLETE, 101, 0);
	is(folded.fin.exec, 50, "from then on all is known");
	on_ring(late, T0 + 2 * SEC + 360, GT_COMPLETE, 1);
	is(folded.fin.exec, GT_NONE64, "but not what began on other rings before");
	begins(T0 + 2 * SEC + 400, 102);
	is(ring->depth.now, 1, "and jobs are in flight");
	gt_model_free(m);
}

/* Of a GPU with ends one ring may hang: then it was handed few jobs */
static void check_no_ends_of_one(void)
{
	const struct gt_ring *other;

	begin_with(512, 16);
	other = gt_model_ring(m, m->gpus[0], "other", GT_ENGINE_UNKNOWN, NULL);
	on_ring(other, T0, GT_SUBMIT, 1);
	on_ring(other, T0 + 10, GT_COMPLETE, 1);
	on_ring(other, T0 + 20, GT_SUBMIT, 2);
	for (uint64_t i = 1; i <= 2 * GT_UNSEEN_NO_END; i++)
		job(T0 + i * SEC / 10, GT_SUBMIT, i, 500);
	is(ring->depth.now, 2 * GT_UNSEEN_NO_END, "what is submitted may wait for one that hangs");
	for (uint64_t i = 1; i <= GT_UNSEEN_NO_END; i++)
		job(T0 + 30 * SEC + i * SEC / 10, GT_COMMIT, i, 0);
	ok(gt_ring_lacks_ends(ring) && !ring->depth.now, "the hardware does not take so many");
	ok(!gt_ring_lacks_ends(other) && other->depth.now == 1, "a ring with ends has its jobs");
	gt_model_free(m);
}

int main(void)
{
	uint64_t before = gt_hist_memory();

	check_superseded();
	check_late_cpu();
	check_aged();
	check_front();
	check_several();
	check_others();
	check_ended();
	check_reused();
	check_duplicates();
	check_early();
	check_skewed();
	check_nobody();
	check_clocks();
	check_order();
	check_early_first();
	check_early_unnamed();
	check_early_many();
	check_lost();
	check_lost_before();
	check_gap_before();
	check_begin();
	check_begun();
	check_no_ends();
	check_no_ends_of_one();
	check_cleared();
	check_reset();
	check_reset_queue();
	check_dead();
	check_many_dead();
	check_passed();
	check_passed_far();
	check_strays();
	check_room();
	check_many();
	is(gt_hist_memory(), before, "all memory is given back");
	return done_testing();
}
