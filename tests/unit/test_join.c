/* SPDX-License-Identifier: GPL-2.0 */
/* One queue that the driver and the program's runtime report, each by a number of its own. */
#include <stdlib.h>
#include <string.h>

#include "../../backend/backend.h"
#include "../../fs/model/model.h"
#include "../lib/tap.h"

#define DRIVER	5
#define RUNTIME 2000000
#define AT	0x7fad66c00000ull

static struct gt_model *m;

static void begin(bool live)
{
	struct gt_limits limits = { 64, 600000000000ull, 64, 60000000000ull };

	m = gt_model_new(&limits, live);
	gt_model_gpu(m, "amdgpu0", NULL);
	gt_model_gpu(m, "amdgpu-any", NULL);
}

static union gt_record reported;

static void tell(void)
{
	struct gt_folded folded;

	gt_model_event(m, &reported, &folded);
	gt_model_recorded(m, &reported);
	gt_model_done(m, &folded);
}

/* @runtime: by the runtime, as on the GPU that it does not know */
static void event(enum gt_type type, bool runtime, uint32_t id, uint64_t at)
{
	gt_record_init(&reported, gt_model_now(m) + 1000, type);
	reported.ev.gpu = runtime;
	reported.ev.queue = id;
	reported.ev.pid = 77;
	reported.ev.uid = 1000;
	if (type >= GT_QUEUE_CREATE && type <= GT_QUEUE_UNMAP) {
		reported.ev.ctx = at;
		reported.ev.flags = runtime ? GT_F_RUNTIME : 0;
	}
}

static void emit_event(enum gt_type type, bool runtime, uint32_t id, uint64_t at)
{
	event(type, runtime, id, at);
	tell();
}

static void description(bool runtime, uint32_t id, uint64_t at, uint64_t size)
{
	gt_record_init(&reported, gt_model_now(m) + 1000, GT_QUEUE);
	reported.queue.gpu = runtime;
	reported.queue.queue = id;
	reported.queue.pid = 77;
	reported.queue.uid = 1000;
	reported.queue.ctx = at;
	reported.queue.size = size;
	reported.queue.kind = GT_QUEUE_COMPUTE;
	if (runtime)
		reported.queue.channels = 3;
	reported.queue.flags = runtime ? GT_F_RUNTIME : 0;
}

static void describe(bool runtime, uint32_t id, uint64_t at, uint64_t size)
{
	description(runtime, id, at, size);
	tell();
}

/* By a runtime of another user's process */
static void describe_other(uint32_t id, uint64_t at)
{
	description(true, id, at, 4096);
	reported.queue.pid = 78;
	reported.queue.uid = 1001;
	tell();
}

static unsigned int queues(void)
{
	return m->nqueues - m->free_queues;
}

static void make(bool runtime, uint32_t id, uint64_t at)
{
	emit_event(GT_QUEUE_CREATE, runtime, id, at);
	describe(runtime, id, at, runtime ? 16384 : 1048576);
}

static void check_driver_first(void)
{
	const struct gt_queue *q;

	begin(false);
	make(false, DRIVER, AT);
	make(true, RUNTIME, AT);
	is(queues(), 1, "one queue is there");
	ok(reported.queue.queue == DRIVER && reported.queue.gpu == 0, "and the record says so");
	q = gt_model_queue(m, 0, DRIVER);
	is(q->desc.size, 1048576, "what the driver says of it stays");
	is(q->desc.channels, 3, "and the runtime says who has it");
	event(GT_COUNTER, true, RUNTIME, 0);
	reported.ev.value = 4;
	reported.ev.ref = GT_COUNTER_DEPTH;
	tell();
	ok(reported.ev.queue == DRIVER && reported.ev.gpu == 0 && q->depth.now == 4,
	   "what it holds is the queue's");
	emit_event(GT_QUEUE_MAP, true, RUNTIME, AT);
	is(q->state, GT_QS_CREATED, "that a stream has it is no state of the driver's");
	emit_event(GT_DISPATCH, true, RUNTIME, 0);
	is(reported.ev.queue, DRIVER, "the runtime's number stays its");
	description(false, DRIVER, AT, 1048576);
	reported.queue.flags = GT_F_END_REPORTED;
	tell();
	describe(true, RUNTIME, AT, 16384);
	is(q->desc.flags, GT_F_END_REPORTED, "that the driver reports its end stays known");
	emit_event(GT_QUEUE_DESTROY, true, RUNTIME, AT);
	is(q->state, GT_QS_CREATED, "nor its end");
	emit_event(GT_QUEUE_DESTROY, false, DRIVER, GT_NONE64);
	is(q->state, GT_QS_DESTROYED, "which the driver tells");

	make(true, RUNTIME, AT + 4096);
	ok(queues() == 2 && gt_model_queue(m, 1, RUNTIME), "the runtime's number is used again");
	make(false, DRIVER, AT + 8192);
	make(true, RUNTIME + 1, AT + 8192);
	is(reported.queue.queue, DRIVER, "as is the driver's");
	make(false, DRIVER + 1, AT + 4096);
	ok(queues() == 2 && !gt_model_queue(m, 1, RUNTIME), "and each finds its own");
	gt_model_free(m);
}

static void holds(uint32_t id, uint64_t n)
{
	event(GT_COUNTER, true, id, 0);
	reported.ev.value = n;
	reported.ev.ref = GT_COUNTER_DEPTH;
	tell();
}

/* A kernel that took @ns, and one that has not ended */
static void work(uint32_t id, uint64_t ns)
{
	event(GT_DISPATCH, true, id, 0);
	reported.ev.value = ns;
	tell();
	emit_event(GT_DISPATCH, true, id, 0);
}

/* What came before the driver reported it is the queue's as well, and once */
static void check_counted_before(void)
{
	const struct gt_queue *q;
	struct gt_summary exec;

	begin(false);
	make(true, RUNTIME, AT);
	work(RUNTIME, 700);
	holds(RUNTIME, 6);
	holds(RUNTIME, 2);
	make(false, DRIVER, AT);
	q = gt_model_queue(m, 0, DRIVER);
	ok(q->counts.submitted == 1 && q->counts.completed == 1, "what was counted stays counted");
	ok(q->depth.now == 2 && q->depth.peak == 6 && q->depth_set && q->worked,
	   "what it holds is known, and how much it held");
	work(RUNTIME, 300);
	is(q->last_ts, m->now, "when it was last used is known");
	gt_stage_summary(&q->stage[GT_ST_EXEC], m->now, &exec, NULL);
	ok(exec.count == 2 && exec.sum == 1000 && exec.max == 700, "and how long kernels took");
	ok(q->counts.submitted == 2 && q->counts.completed == 2, "it goes on from there");
	make(true, RUNTIME, AT + 4096);
	q = gt_model_queue(m, 1, RUNTIME);
	ok(q && !q->counts.submitted && !gt_stage_count(&q->stage[GT_ST_EXEC]) && !q->depth.now,
	   "the runtime's number begins at nothing");
	work(RUNTIME, 50);
	emit_event(GT_QUEUE_CREATE, false, DRIVER + 1, GT_NONE64);
	describe(false, DRIVER + 1, GT_NONE64, 1048576);
	is(queues(), 3, "where a queue is the driver may tell later");
	describe(false, DRIVER + 1, AT + 4096, GT_NONE64);
	q = gt_model_queue(m, 0, DRIVER + 1);
	ok(queues() == 2 && q->counts.completed == 1 && q->desc.size == 1048576,
	   "then it is the runtime's, as if it had been reported at once");
	gt_model_free(m);
}

static void check_runtime_first(void)
{
	begin(false);
	emit_event(GT_QUEUE_CREATE, true, RUNTIME, AT);
	describe(true, RUNTIME, AT, 16384);
	make(false, DRIVER, AT);
	is(queues(), 1, "one queue if the runtime reported first");
	is(gt_model_queue(m, 0, DRIVER)->desc.channels, 3, "with what it reported");
	emit_event(GT_DISPATCH, true, RUNTIME, 0);
	is(reported.ev.queue, DRIVER, "and tells later");
	gt_model_free(m);
}

static void check_others(void)
{
	begin(true);
	make(false, DRIVER, AT);
	event(GT_QUEUE_CREATE, true, RUNTIME, AT);
	reported.ev.uid = 1001;
	tell();
	is(queues(), 2, "another user's log says nothing of it");
	event(GT_QUEUE_CREATE, true, RUNTIME + 1, AT);
	reported.ev.pid = 78;
	tell();
	is(queues(), 3, "nor another process's");
	make(true, RUNTIME + 2, AT + 4096);
	is(queues(), 4, "nor of another that the process has");
	make(true, RUNTIME + 3, AT);
	is(queues(), 4, "but what is at its place in its process");
	emit_event(GT_QUEUE_CREATE, true, RUNTIME + 4, GT_NONE64);
	describe(false, DRIVER + 1, GT_NONE64, 5);
	is(queues(), 6, "where nobody says where it is, it is another");
	gt_model_free(m);
}

static void check_number_again(void)
{
	const struct gt_queue *q, *other;

	begin(true);
	make(false, DRIVER, AT);
	make(true, RUNTIME, AT);
	q = gt_model_queue(m, 0, DRIVER);
	emit_event(GT_QUEUE_DESTROY, true, RUNTIME, AT);
	ok(reported.ev.queue == DRIVER && reported.ev.gpu == 0,
	   "the runtime's end of it is the queue's");
	describe_other(RUNTIME, AT);
	other = gt_model_queue(m, 1, RUNTIME);
	ok(q->desc.pid == 77 && q->desc.uid == 1000 && reported.queue.queue == RUNTIME,
	   "the number then is another user's: the driver's queue keeps its own");
	ok(other && other->desc.pid == 78 && other->desc.uid == 1001, "and they have theirs");
	gt_model_free(m);

	begin(true);
	make(false, DRIVER, AT);
	make(true, RUNTIME, AT);
	q = gt_model_queue(m, 0, DRIVER);
	describe_other(RUNTIME, AT + 4096);
	ok(q->desc.pid == 77 && q->desc.uid == 1000 && q->desc.ctx == AT &&
		   gt_model_queue(m, 1, RUNTIME),
	   "as without an end that was reported");
	emit_event(GT_DISPATCH, true, RUNTIME, 0);
	is(reported.ev.queue, RUNTIME, "and what it does is its own");
	make(true, RUNTIME + 1, AT + 8192);
	other = gt_model_queue(m, 1, RUNTIME + 1);
	emit_event(GT_QUEUE_DESTROY, true, RUNTIME + 1, AT + 8192);
	describe(true, RUNTIME + 1, AT + 8192, 16384);
	is(other->state, GT_QS_DESTROYED, "one that ended stays so for its own process");
	describe_other(RUNTIME + 1, AT + 8192);
	ok(other->state == GT_QS_CREATED && other->desc.pid == 78 && other->desc.uid == 1001 &&
		   other->desc.size == 4096 && other->desc.priority == GT_NONE16,
	   "for another's it is another queue");
	gt_model_free(m);
}

/* A number of the runtime means no queue that has gone, nor one that has another number since */
static void check_number_gone(void)
{
	begin(false);
	make(false, DRIVER, AT);
	make(true, RUNTIME, AT);
	make(true, RUNTIME + 1, AT);
	emit_event(GT_DISPATCH, true, RUNTIME + 1, 0);
	is(reported.ev.queue, DRIVER, "a queue's latest number means it");
	emit_event(GT_DISPATCH, true, RUNTIME, 0);
	is(reported.ev.queue, RUNTIME, "the one before does not");
	emit_event(GT_QUEUE_DESTROY, false, DRIVER, GT_NONE64);
	gt_model_advance(m, m->now + 61000000000ull);
	gt_model_reap(m);
	ok(!gt_model_queue(m, 0, DRIVER), "it is forgotten");
	emit_event(GT_QUEUE_CREATE, false, DRIVER + 1, AT + 4096);
	emit_event(GT_DISPATCH, true, RUNTIME + 1, 0);
	is(reported.ev.queue, RUNTIME + 1, "who has its place has not its number");
	gt_model_free(m);
}

static void check_no_queue(void)
{
	const uint64_t until = (uint64_t)RUNTIME << 32 | 5;

	begin(true);
	make(false, DRIVER, AT);
	make(true, RUNTIME, AT);
	gt_record_init(&reported, gt_model_now(m) + 1000, GT_LOST);
	reported.lost.gpu = 1;
	reported.lost.until = until;
	reported.lost.cause = GT_LOST_SOURCE;
	tell();
	ok(reported.lost.until == until && reported.lost.gpu == 1,
	   "where a record has no queue, what looks like its number stays");
	gt_model_free(m);
}

int main(void)
{
	check_driver_first();
	check_runtime_first();
	check_counted_before();
	check_others();
	check_number_again();
	check_number_gone();
	check_no_queue();
	return done_testing();
}
