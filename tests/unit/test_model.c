/* SPDX-License-Identifier: GPL-2.0 */
/* The model case by case: bounds, processes, queues, rates, losses, clear, hostile input.
 */
#include <stdlib.h>
#include <time.h>

#include "../../fs/model/internal.h"
#include "modelbed.h"

static void check_one_job(void)
{
	begin();
	job(T0, GT_SUBMIT, 1, 500);
	ok(folded.new_proc && folded.new_proc->pid == 500, "a new pid is reported");
	gt_model_process(m, 500, 77, 1000, "glxgears", "/user", 5);
	job(T0 + 10, GT_COMMIT, 1, 0);
	ok(!folded.new_proc, "once");
	is(rec.ev.pid, 500, "COMMIT is given the owner");
	is(rec.ev.uid, 1000, "and its uid");
	is(rec.ev.tid, GT_NONE32, "but no thread");
	job(T0 + 110, GT_COMPLETE, 1, 0);
	is_str(folded.fin.comm, "glxgears", "the finished job says whose it was");
	is(ring->types.n[GT_COMPLETE].seen + ring->types.n[GT_SUBMIT].recorded, 2,
	   "counted by type");
	is(m->types.n[GT_COMMIT].seen, 1, "at the root");
	ok(gpu->types.n[GT_SUBMIT].seen == 1 && gpu->types.n[GT_SUBMIT].recorded == 1 &&
		   m->types.n[GT_SUBMIT].recorded == 1 &&
		   gt_model_proc(m, 500)->counts.submitted == 1,
	   "of its GPU and its process");
	job(T0 + 200, GT_SUBMIT, 2, 500);
	job(T0 + 250, GT_SUBMIT, 2, 500);
	is(ring->counts.submitted, 2, "a repeated SUBMIT is nothing new");
	job(T0 + 210, GT_COMMIT, 2, 0);
	job(T0 + 205, GT_COMPLETE, 2, 0);
	is(folded.fin.exec, 0, "a completion before the start is clamped");
	is(folded.fin.total, 10, "and total is still the sum");
	gt_model_free(m);
}

static void end_somewhere(uint64_t ts)
{
	union gt_record r;

	gt_record_init(&r, ts, GT_COMPLETE);
	gt_model_event(m, &r, &folded);
}

static void check_end_of_no_ring(void)
{
	begin();
	job(T0 + 100, GT_COMMIT, 9, 0);
	job(T0 + 101, GT_COMMIT, 10, 0);
	end_somewhere(T0 + 105);
	job(T0 + 110, GT_COMPLETE, 9, 0);
	is(count(ring, GT_ST_EXEC), 0,
	   "where an end may have been of any ring, no exec is reported");
	job(T0 + 130, GT_COMPLETE, 10, 0);
	is(sum(ring, GT_ST_EXEC), 20, "but of the job behind it");
	gt_model_free(m);
}

static void check_bounds(void)
{
	begin();
	for (uint64_t i = 0; i < 100; i++)
		job(T0 + i, GT_SUBMIT, i, 500);
	is(m->njobs, 64, "no more jobs than the limit");
	is(ring->counts.dropped_table_full, 36, "the oldest made room");
	is(m->jobs[ring->jobs_head].seqno, 36, "oldest first");
	job(T0 + 700 * SEC, GT_SUBMIT, 1000, 500);
	is(m->njobs, 1, "jobs too old leave");
	is(m->counts.given_up, 64, "and are counted");
	gt_model_advance(m, T0 + 1400 * SEC);
	is(m->njobs, 0, "time alone does so too");
	is(gt_model_proc(m, 500)->inflight + gt_model_proc(m, 500)->rings->inflight, 0,
	   "nothing is left of them");
	gt_model_free(m);
	begin_with(5000, 16);
	for (uint64_t i = 0; i < 5000; i++)
		job(T0 + i, GT_SUBMIT, i * 7919, 500);
	for (uint64_t i = 0; i < 5000; i++)
		job(T0 + 5000 + i, GT_COMPLETE, (4999 - i) * 7919, 0);
	is(ring->counts.begin_unseen, 0, "thousands in flight are all found");
	gt_model_free(m);
}

static void check_processes(void)
{
	struct gt_proc *p, *q;
	uint32_t slot;

	begin();
	job(T0, GT_SUBMIT, 1, 500);
	p = gt_model_process(m, 500, 10, 1000, "a", NULL, 0);
	slot = p->slot;
	q = gt_model_process(m, 500, 20, 1001, "b", NULL, 0);
	ok(q != p && p->dead && !q->dead, "another start time is another process");
	ok(gt_model_proc(m, 500) == q, "the living one is found");
	gt_model_advance(m, T0 + 61 * SEC);
	gt_model_reap(m);
	ok(m->procs[slot] == p, "one with jobs in flight stays");
	job(T0 + 61 * SEC, GT_COMPLETE, 1, 0);
	is(rec.ev.uid, 1000, "they are still its jobs");
	gt_model_reap(m);
	ok(!m->procs[slot] && gt_model_proc(m, 500) == q, "then it goes, and the living stays");
	gt_model_exit(m, q->slot);
	ok(gt_model_proc(m, 500) == q && q->dead, "the last dead is found");
	job(m->now, GT_SUBMIT, 1002, 500);
	is(q->inflight, 1, "what it did before it died is its own");
	p = gt_model_process(m, 500, GT_NONE64, 1001, "", NULL, 0);
	ok(p == q && !strcmp(p->comm, "b"),
	   "so is what is reported it late, by who found it ended");
	job(m->now, GT_SUBMIT, 1004, 500);
	is(q->inflight, 2, "... and what comes behind that");
	job(m->now + 5, GT_SUBMIT, 1003, 500);
	ok(folded.new_proc && folded.new_proc != q, "what comes later is another's");
	for (uint32_t i = 0; i < 20; i++)
		job(m->now, GT_SUBMIT, 100 + i, 600 + i);
	is(m->nprocs, 16, "no more processes than the limit");
	ok(m->procs_refused > 0 && rec.ev.pid == 619, "the rest go on without");
	gt_model_exit(m, gt_model_proc(m, 600)->slot);
	job(m->now, GT_COMPLETE, 100, 0);
	job(m->now, GT_SUBMIT, 300, 700);
	ok(gt_model_proc(m, 700) && !gt_model_proc(m, 600), "a dead one makes room");
	job(m->now, GT_SUBMIT, 301, 0);
	event(m->now, GT_IRQ)->ev.pid = 701;
	fold();
	ok(!gt_model_proc(m, 701), "whom an interrupt met is no process of the GPU");
	gt_model_free(m);
}

/* Thousands come and go: each is found while it lives, and not when it is gone */
static void check_many_processes(void)
{
	enum { PIDS = 4000 };
	static bool alive[PIDS];
	uint64_t seed = 3;
	unsigned int n = 0;
	bool good = true;

	begin_with(64, PIDS);
	memset(alive, 0, sizeof(alive));
	for (int i = 0; i < 40000; i++) {
		uint32_t k;

		seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
		k = (uint32_t)(seed >> 33) % PIDS;
		if (alive[k])
			gt_model_exit(m, gt_model_proc(m, 1000 + k)->slot);
		else
			gt_model_process(m, 1000 + k, 1 + (uint64_t)i, 0, "x", NULL, 0);
		alive[k] = !alive[k];
		if (i % 100 == 99) {
			gt_model_advance(m, T0 + (uint64_t)i * 100 * SEC);
			gt_model_reap(m);
		}
	}
	gt_model_advance(m, m->now + 100 * SEC);
	gt_model_reap(m);
	for (uint32_t k = 0; k < PIDS; k++) {
		const struct gt_proc *p = gt_model_proc(m, 1000 + k);

		good &= alive[k] ? p && p->pid == 1000 + k && !p->dead : !p;
		n += alive[k];
	}
	ok(good, "of thousands, the living are found and the dead are gone");
	is(m->nprocs, n, "and no other is left");
	gt_model_free(m);
}

static void check_queues(void)
{
	struct gt_queue *q;
	uint64_t was;

	begin();
	event(T0, GT_QUEUE_CREATE)->ev.queue = 5;
	rec.ev.pid = 500;
	fold();
	q = gt_model_queue(m, 0, 5);
	ok(q && q->state == GT_QS_CREATED && q->created == T0 && q->desc.pid == 500, "created");
	event(T0 + 1, GT_QUEUE)->queue.queue = 5;
	rec.queue.gpu = 0;
	rec.queue.timeslice_us = 2000;
	fold();
	ok(q->desc.timeslice_us == 2000 && q->desc.pid == 500, "what a record tells is added");
	event(T0 + 2, GT_QUEUE_MAP)->ev.queue = 5;
	fold();
	is(q->state, GT_QS_MAPPED, "mapped");
	event(T0 + 2, GT_SUBMIT)->ev.queue = 5;
	rec.ev.ring = 0;
	rec.ev.seqno = 1;
	fold();
	is(q->depth.now, 1, "its job is in flight");
	job(T0 + 3, GT_SUBMIT, 2, 0);
	event(T0 + 4, GT_COMPLETE)->ev.ring = 0;
	rec.ev.seqno = 1;
	fold();
	ok(q->depth.now == 0 && q->counts.completed == 1 && rec.ev.queue == 5, "and done");
	is(gt_stage_count(&q->stage[GT_ST_TOTAL]), 1, "with its own latency");
	event(T0 + 5, GT_QUEUE_DESTROY)->ev.queue = 5;
	fold();
	event(T0 + 6, GT_QUEUE_CREATE)->ev.queue = 5;
	fold();
	ok(q->state == GT_QS_CREATED && q->desc.pid == GT_NONE32 && !q->counts.completed,
	   "an id used again is another queue");
	q->desc.pid = 500;
	event(T0 + 6, GT_QUEUE_DESTROY)->ev.queue = 5;
	fold();
	event(T0 + 6, GT_QUEUE_MAP)->ev.queue = 5;
	fold();
	ok(q->state == GT_QS_MAPPED && q->desc.pid == GT_NONE32,
	   "and so it is if it is mapped before it is said to be made");

	event(T0 + 7, GT_QUEUE_DESTROY)->ev.queue = 5;
	fold();
	gt_model_advance(m, T0 + 60 * SEC);
	gt_model_reap(m);
	ok(gt_model_queue(m, 0, 5) == q, "a destroyed queue stays for a while");
	gt_model_advance(m, T0 + 61 * SEC);
	gt_model_reap(m);
	ok(!gt_model_queue(m, 0, 5) && q->gpu == GT_NONE16, "then it is forgotten");
	is(m->nqueues - m->free_queues, 0, "and not counted");
	was = q->serial;
	event(T0 + 62 * SEC, GT_QUEUE_CREATE)->ev.queue = 6;
	fold();
	ok(gt_model_queue(m, 0, 6) == q && m->nqueues == 1 && q->serial != was,
	   "and another has its place, but not its identity");
	gt_model_free(m);
}

/* Of the GPU's rings */
static void lose(uint64_t ts, uint64_t count, uint64_t until)
{
	event(ts, GT_LOST)->lost.gpu = 0;
	rec.lost.count = count;
	rec.lost.cause = GT_LOST_SOURCE;
	rec.lost.until = until;
	fold();
}

static void check_queue_owner(void)
{
	const struct gt_queue *q;

	begin();
	event(T0, GT_QUEUE_CREATE)->ev.queue = 5;
	rec.ev.pid = 500;
	fold();
	q = gt_model_queue(m, 0, 5);
	gt_model_reap(m);
	is(q->state, GT_QS_CREATED, "a queue lives");
	gt_model_advance(m, T0 + SEC);
	gt_model_exit(m, gt_model_proc(m, 500)->slot);
	gt_model_reap(m);
	is(q->state, GT_QS_DESTROYED, "as long as its process");
	gt_model_free(m);
}

static void check_loss(void)
{
	begin();
	lose(T0 + 2, 5, GT_NONE64);
	ok(m->counts.lost == 5 && gpu->counts.lost == 5 && ring->counts.lost == 0,
	   "counted where reported");
	ok(ring1->after_loss, "every ring of the GPU is affected");
	rec.lost.cause = GT_LOST_READER;
	fold();
	is(m->counts.lost, 5, "what a reader missed is not lost");
	for (int i = 0; i < 3; i++) {
		lose(T0 + 20, GT_NONE64 - 16, GT_NONE64);
		rec.lost.ring = ring->id;
		fold();
	}
	ok(m->counts.lost == GT_LOST_MAX && gpu->counts.lost == GT_LOST_MAX &&
		   ring->counts.lost == GT_LOST_MAX && ring->cur.lost == GT_LOST_MAX,
	   "sums of counts that cannot be do not wrap");
	gt_model_free(m);
}

/* Of a ring whose first hand-overs were lost it is not concluded that it has none */
static void check_lost_commits(void)
{
	begin();
	job(T0, GT_SUBMIT, 1, 500);
	job(T0 + 1, GT_SUBMIT, 2, 500);
	lose(T0 + 2, 2, T0 + 20);
	job(T0 + 15, GT_SUBMIT, 3, 500);
	job(T0 + 22, GT_COMPLETE, 1, 0);
	job(T0 + 30, GT_COMPLETE, 2, 0);
	is(folded.fin.hw_wait, GT_NONE64, "its hand-over may have been lost");
	is(folded.fin.exec, GT_NONE64, "so it is not known what it waited for");
	is(folded.fin.total, 29, "its total is known");
	job(T0 + 40, GT_COMPLETE, 3, 0);
	is(folded.fin.hw_wait, GT_NONE64, "nor of one submitted within the gap");
	job(T0 + 41, GT_SUBMIT, 4, 500);
	job(T0 + 44, GT_COMPLETE, 4, 0);
	is(folded.fin.exec, 3, "of a later one it would have been reported");
	gt_model_free(m);
}

static void check_rates(void)
{
	begin();
	job(T0, GT_SUBMIT, 1, 500);
	job(T0 + 100 * MS, GT_COMMIT, 1, 0);
	job(T0 + 600 * MS, GT_COMPLETE, 1, 0);
	job(T0 + 1200 * MS, GT_SUBMIT, 2, 500);
	is(gt_depth_avg(&ring->depth, T0 + 1200 * MS, 1200 * MS), 500, "depth on average");
	is(gt_types_rate(&m->types, GT_SUBMIT, T0 + 9 * SEC, 10, 60 * SEC), 200,
	   "two in ten seconds");
	is(gt_types_rate(&m->types, GT_SUBMIT, T0 + 10500 * MS, 10, 60 * SEC), 150,
	   "half a second has left");
	is(gt_types_rate(&m->types, GT_SUBMIT, T0 + 30 * SEC, 10, 60 * SEC), 0, "and then none");
	is(gt_types_rate(&m->types, GT_SUBMIT, T0 + 9 * SEC, 10, 4 * SEC), 500,
	   "two in four seconds that were observed");
	job(T0 + 6 * SEC, GT_COMMIT, 2, 0);
	is(gt_ring_busy_ns(m, ring, T0 + 8 * SEC, SEC), SEC, "a job that runs makes it busy now");
	is(gt_engine_busy_ns(m, gpu, ring->engine, T0 + 7 * SEC, 2 * SEC), SEC, "and its engine");
	is(gt_engine_busy_ns(m, gpu, ring1->engine, T0 + 7 * SEC, 2 * SEC), 0, "no other");
	gt_model_free(m);
}

static void check_clear(void)
{
	begin();
	job(T0, GT_SUBMIT, 1, 500);
	job(T0 + 1, GT_COMMIT, 1, 0);
	job(T0 + SEC, GT_COMPLETE, 1, 0);
	job(T0 + SEC, GT_SUBMIT, 2, 500);
	job(T0 + SEC, GT_COMMIT, 2, 0);
	gt_model_advance(m, T0 + 2 * SEC);
	gt_model_clear(m);
	ok(!m->counts.submitted && !m->types.n[GT_SUBMIT].seen && !ring->counts.completed,
	   "counters");
	ok(!count(ring, GT_ST_TOTAL) && !ring->busy.total_ns && !ring->last.end, "statistics");
	ok(ring->depth.now == 1 && ring->depth.peak == 1 && m->njobs == 1, "jobs stay");
	ok(ring->last_end == T0 + SEC && gt_model_proc(m, 500), "clocks and objects stay");
	job(T0 + 3 * SEC, GT_COMPLETE, 2, 0);
	is(sum(ring, GT_ST_TOTAL), 2 * SEC, "a job across it counts whole");
	is(ring->busy.total_ns, SEC, "its busy time only from there");
	is(m->cleared, T0 + 2 * SEC, "and when");
	gt_model_free(m);
}

static void check_errors(void)
{
	begin();
	job(T0, GT_SUBMIT, 1, 500);
	for (uint64_t i = 0; i < 20; i++) {
		event(T0 + i, GT_ERROR)->ev.ring = 0;
		rec.ev.ctx = 9;
		rec.ev.seqno = 1;
		rec.ev.value = GT_ERR_TIMEOUT;
		fold();
	}
	ok(ring->counts.errors == 20 && gpu->errors.n == 20 && m->counts.errors == 20, "errors");
	ok(gpu->errors.e[19 % GT_ERRLOG].ts == T0 + 19, "the last are kept");
	is(gpu->errors.e[3].pid, 500, "with the job's owner");
	is(gt_engine_guess("vcn_enc0"), GT_ENGINE_VIDEO_ENCODE, "an encoder by its name");
	is(gt_engine_guess("comp_1.0.0"), GT_ENGINE_COMPUTE, "a compute ring");
	is(gt_engine_guess("mes_kiq"), GT_ENGINE_UNKNOWN, "or not");
	gt_model_free(m);
}

static void check_hostile(void)
{
	uint64_t seed = 99;

	begin();
	gt_model_gpu(m, "a name that is far too long for its field", NULL);
	ok(gt_model_gpu(m, "a name that is far too long for its field", NULL) == m->gpus[1],
	   "a name that was cut is found again");
	for (int i = 0; i < 300000; i++) {
		for (unsigned int k = 0; k < sizeof(rec); k++) {
			seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
			rec.bytes[k] = (uint8_t)(seed >> 56);
		}
		rec.ev.type &= i % 2 ? 0x7f : 0x07;
		if (i % 3)
			rec.ev.gpu = rec.ev.ring = rec.ev.ring & 1;
		if (i % 5)
			rec.ev.ctx = rec.ev.seqno = rec.ev.seqno & 63;
		if (i % 7)
			rec.ev.ts >>= 20;
		fold();
		if (i % 1000 == 0)
			gt_model_reap(m);
	}
	ok(m->njobs <= 64 && m->nprocs <= 16, "any bytes: nothing breaks, all bounds hold");
	gt_model_clear(m);
	gt_model_free(m);
}

static struct gt_pauses *wall_model(void)
{
	struct gt_limits limits = { 64, 600 * SEC, 16, 60 * SEC };

	m = gt_model_new(&limits, true);
	m->cleared -= 80 * SEC;
	return &m->priv->pauses[GT_OBSERVED_EVENTS];
}

/* As if it had been cleared 80 s ago */
static void cleared_long_ago(void)
{
	gt_model_clear(m);
	m->cleared -= 80 * SEC;
	m->priv->pauses_cleared = m->cleared;
	for (int i = 0; i < GT_NOBSERVED; i++)
		m->priv->pauses[i].time.end = m->cleared;
}

static uint64_t events_observed(uint64_t now, uint64_t window)
{
	return gt_observed(m, GT_OBSERVED_EVENTS, now, window);
}

/* The clock goes on by itself: what is looked at are times of it */
static void check_observed(void)
{
	struct gt_pauses *p = wall_model();
	uint64_t end, total, changed;

	is(events_observed(m->now, 10 * SEC), 10 * SEC, "a window is observed unless it is paused");
	gt_model_observe(m, GT_OBSERVED_EVENTS, true);
	ok(p->time.total_ns >= 80 * SEC, "before sources have started nothing is observed");
	cleared_long_ago();
	changed = gt_observed_changed(m);
	gt_model_observe(m, GT_OBSERVED_EVENTS, true);
	is(p->since, 0, "on while it is on: no pause");
	is(gt_observed_changed(m), changed, "and no change");
	gt_model_observe(m, GT_OBSERVED_EVENTS, false);
	ok(p->since && gt_observed_changed(m) == p->since, "off: a pause begins");
	p->since -= 5 * SEC;
	is(events_observed(p->since + 5 * SEC, 10 * SEC), 5 * SEC, "half a window was observed");
	is(events_observed(p->since + 5 * SEC, SEC), 0, "nothing of the last second");
	is(events_observed(p->since + 9700 * MS, 10 * SEC), 300 * MS, "a little more than a slot");
	is(events_observed(p->since + 9800 * MS, 10 * SEC), 0, "of less there is no share");
	is(gt_observed_between(m, p->since - SEC, p->since + 3 * SEC), SEC,
	   "the part before the pause");
	is(gt_observed_between(m, p->since + SEC, p->since + 2 * SEC), 0,
	   "a part within the pause");
	gt_model_observe(m, GT_OBSERVED_EVENTS, false);
	gt_model_observe(m, GT_OBSERVED_EVENTS, true);
	end = p->time.end;
	total = p->time.total_ns;
	is(events_observed(end + 3 * SEC, 60 * SEC), 60 * SEC - total, "on: the pause has ended");
	is(events_observed(end + 11 * SEC, 10 * SEC), 10 * SEC, "a window after it is whole again");
	is(events_observed(end, GT_ALL), end - m->cleared - total, "of all the time");
	is(gt_observed_between(m, end - SEC, end + SEC), SEC, "the part after the pause");
	is(gt_observed_between(m, m->cleared, end), end - m->cleared - total, "all up to its end");
	gt_model_clear(m);
	is(events_observed(m->cleared + SEC, GT_ALL), SEC, "a clear forgets pauses");
	is(gt_observed_between(m, m->cleared - SEC, m->cleared + SEC), 2 * SEC, "likewise");
	gt_model_free(m);
	begin();
	gt_model_observe(m, GT_OBSERVED_EVENTS, false);
	is(gt_observed_changed(m), 0, "a recording's time stands still");
	gt_model_free(m);
}

static uint64_t ring_observed(const struct gt_ring *r, uint64_t now, uint64_t window)
{
	return gt_observed_of(m, gt_ring_extent(r), now, window);
}

/* Of two rings the source of one fails */
static void check_ring_observed(void)
{
	struct gt_pauses *p = wall_model();
	struct gt_gpu *g;
	struct gt_ring *r[2];
	uint64_t now;
	bool is_new;

	{
		GT_MODEL_LOCK(m);
		g = gt_model_gpu(m, "mock0", &is_new);
		r[0] = gt_model_ring(m, g, "gfx", GT_ENGINE_GRAPHICS, &is_new);
		r[1] = gt_model_ring(m, g, "sdma0", GT_ENGINE_GRAPHICS, &is_new);
	}
	gt_model_observe(m, GT_OBSERVED_EVENTS, true);
	cleared_long_ago();
	gt_model_observe_ring(m, g->id, r[0]->id, true);
	ok(!r[0]->pauses, "a ring that is observed all the time has no pauses of its own");
	gt_model_observe_ring(m, g->id, r[0]->id, false);
	gt_model_observe_ring(m, g->id, r[1]->id, true);
	if (!ok(r[0]->pauses && !r[1]->pauses && r[0]->pauses->since, "one has them"))
		return;
	is(gt_observed_changed(m), r[0]->pauses->since, "which is a change");
	now = r[0]->pauses->since + 5 * SEC;
	is(ring_observed(r[0], now, SEC), 0, "its last second is not known");
	is(ring_observed(r[0], now, 10 * SEC), 5 * SEC, "of the last 10 s the half");
	is(ring_observed(r[1], now, 10 * SEC), 10 * SEC, "the other's are known");
	is(gt_observed_of(m, gt_engine_extent(g, GT_ENGINE_GRAPHICS), now, SEC), SEC,
	   "an engine is observed while one of its rings is");
	gt_model_observe(m, GT_OBSERVED_EVENTS, false);
	gt_model_observe(m, GT_OBSERVED_EVENTS, true);
	gt_model_observe_ring(m, g->id, r[1]->id, true);
	ok(!p->since && r[0]->pauses->since, "what all pause does not end with theirs");
	gt_model_observe_ring(m, g->id, r[0]->id, true);
	is(r[0]->pauses->since, 0, "when its source is back, it does");
	gt_model_observe(m, GT_OBSERVED_EVENTS, false);
	ok(r[0]->pauses->since && p->since, "it pauses with all");
	gt_model_clear(m);
	is(r[0]->pauses->time.total_ns, 0, "a clear forgets its pauses");
	gt_model_observe_ring(m, 9, 0, false);
	gt_model_observe_ring(m, g->id, GT_NONE16, false);
	gt_model_free(m);
}

/* What is read off of processes goes on while events pause, and the depth leaves the pause out */
static void check_observed_use(void)
{
	struct gt_depth d = { .now = 2, .t0 = 10 * SEC, .at = 12 * SEC, .integral = 4 * SEC };

	wall_model();
	gt_model_observe(m, GT_OBSERVED_USE, true);
	cleared_long_ago();
	gt_model_observe(m, GT_OBSERVED_EVENTS, true);
	gt_model_observe(m, GT_OBSERVED_EVENTS, false);
	m->priv->pauses[GT_OBSERVED_EVENTS].since -= 20 * SEC;
	is(gt_observed(m, GT_OBSERVED_USE, gt_model_now(m), 10 * SEC), 10 * SEC,
	   "use is observed while events are not");
	is(events_observed(gt_model_now(m), 10 * SEC), 0, "which pause");
	gt_model_free(m);
	is(gt_depth_avg(&d, 12 * SEC, 2 * SEC), 2000, "two jobs all the time");
	d.now = 0;
	is(gt_depth_avg(&d, 20 * SEC, 4 * SEC), 1000, "two for half of what was observed");
}

/* The clock began when the machine did: is that too late for the times that these checks need? */
static bool is_young(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec < 120;
}

int main(void)
{
	uint64_t before = gt_hist_memory();

	check_one_job();
	check_end_of_no_ring();
	check_bounds();
	check_processes();
	check_many_processes();
	check_queues();
	check_queue_owner();
	check_loss();
	check_lost_commits();
	check_rates();
	check_clear();
	check_errors();
	check_hostile();
	if (is_young()) {
		ok(true, "pauses # skip this machine has run for less than two minutes");
	} else {
		check_observed();
		check_ring_observed();
		check_observed_use();
	}
	is(gt_hist_memory(), before, "all memory is given back");
	return done_testing();
}
