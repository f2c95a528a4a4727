/* SPDX-License-Identifier: GPL-2.0 */
/* Jobs whose end was missed: each way to know it, and that nothing is left of them. */
#include "../../fs/model/internal.h"
#include "modelbed.h"

#define MS 1000000ULL

static void lose(uint64_t ts, uint64_t until)
{
	event(ts, GT_LOST)->lost.gpu = 0;
	rec.lost.count = 1;
	rec.lost.cause = GT_LOST_SOURCE;
	rec.lost.until = until;
	fold();
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
	is(ring->counts.unmatched, 0, "it is no stranger");
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
	is(ring->counts.unmatched, 1, "that is one");
	gt_model_advance(m, T0 + 700 * SEC);
	is(m->njobs + m->nunseen, 0, "in time they are forgotten");
	is(m->counts.aged, 0, "and not counted twice");
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
	is(ring->counts.unmatched, 1, "which was a stranger");
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
	is(ring->counts.completed, 1, "one end that is told twice");
	is(ring->counts.unmatched, 0, "is none without a beginning");
	job(T0 + 5 * MS, GT_COMPLETE, 1, 0);
	is(ring->counts.completed, 2, "much later it is another");
	job(T0 + 5 * MS + 10, GT_COMPLETE, 1, 0);
	is(ring->counts.completed, 2, "... which is told twice, too");
	for (uint64_t i = 0; i < GT_RING_ENDED; i++) {
		begins(T0 + 6 * MS + 100 * i, 10 + i);
		job(T0 + 6 * MS + 100 * i + 50, GT_COMPLETE, 10 + i, 0);
	}
	for (uint64_t i = 0; i < GT_RING_ENDED; i++)
		job(T0 + 6 * MS + 10000, GT_COMPLETE, 10 + i, 0);
	is(ring->counts.completed, 2 + GT_RING_ENDED, "as many as end one after another");
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
	is(ring->counts.evicted, 0, "nobody in flight had to make room");
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
	is(ring->counts.unmatched, 0, "and known");
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

int main(void)
{
	uint64_t before = gt_hist_memory();

	check_superseded();
	check_several();
	check_others();
	check_ended();
	check_reused();
	check_duplicates();
	check_lost();
	check_lost_before();
	check_reset();
	check_dead();
	check_passed();
	check_room();
	check_many();
	is(gt_hist_memory(), before, "all memory is given back");
	return done_testing();
}
