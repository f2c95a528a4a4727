/* SPDX-License-Identifier: GPL-2.0 */
/* More queues than there is room for: whose go, whose stay, and which have ended. */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../backend/backend.h"
#include "../../fs/model/model.h"
#include "../lib/tap.h"

#define SEC 1000000000ULL

static struct gt_model *m;

static void begin(unsigned int max_procs, bool live)
{
	struct gt_limits limits = { 64, 600 * SEC, max_procs, 60 * SEC };

	m = gt_model_new(&limits, live);
	gt_model_gpu(m, "amdgpu0", NULL);
}

static void queue_of(enum gt_type type, uint32_t id, uint32_t uid, uint32_t pid)
{
	struct gt_folded folded;
	union gt_record rec;

	gt_record_init(&rec, gt_model_now(m) + 1, type);
	rec.ev.gpu = 0;
	rec.ev.queue = id;
	rec.ev.uid = uid;
	rec.ev.pid = pid;
	gt_model_event(m, &rec, &folded);
	gt_model_recorded(m, &rec);
	gt_model_done(m, &folded);
}

/* Queues that are made and destroyed without end, by which no other is to be kept out */
static void check_churn(void)
{
	begin(16, false);
	for (uint32_t i = 0; i < GT_MAX_QUEUES; i++) {
		queue_of(GT_QUEUE_CREATE, i, 1001, GT_NONE32);
		if (i % 2)
			queue_of(GT_QUEUE_DESTROY, i, 1001, GT_NONE32);
	}
	queue_of(GT_QUEUE_CREATE, 1, 1001, GT_NONE32); /* again: not the first to go any more */
	for (uint32_t i = 0; i < GT_MAX_QUEUES / 2 - 1; i++)
		queue_of(GT_QUEUE_CREATE, GT_MAX_QUEUES + i, 1002, GT_NONE32);
	is(m->queues_refused, 0, "queues that have ended make room");
	ok(gt_model_queue(m, 0, 1) && gt_model_queue(m, 0, 0), "those that live do not");
	ok(!gt_model_queue(m, 0, 3) && !gt_model_queue(m, 0, GT_MAX_QUEUES - 1), "all others did");
	queue_of(GT_QUEUE_CREATE, 3, 1002, GT_NONE32);
	is(m->queues_refused, 1, "until all live");
	gt_model_free(m);

	begin(16, false);
	for (uint32_t i = 0; i < GT_MAX_QUEUES; i++) {
		queue_of(GT_QUEUE_CREATE, i, 1001, GT_NONE32);
		queue_of(GT_QUEUE_DESTROY, i, 1001, GT_NONE32);
	}
	queue_of(GT_QUEUE_CREATE, GT_MAX_QUEUES, 1001, GT_NONE32);
	ok(!gt_model_queue(m, 0, 0) && gt_model_queue(m, 0, 1), "who ended first goes first");
	gt_model_free(m);
}

static void check_share(void)
{
	begin(16, true);
	for (uint32_t i = 0; i < GT_USER_QUEUES; i++)
		queue_of(GT_QUEUE_CREATE, i, 1001, GT_NONE32);
	is(m->queues_refused, 0, "a user has a share");
	queue_of(GT_QUEUE_CREATE, GT_USER_QUEUES, 1001, GT_NONE32);
	ok(m->queues_refused == 1 && !gt_model_queue(m, 0, GT_USER_QUEUES), "and no more");
	queue_of(GT_QUEUE_CREATE, GT_USER_QUEUES, 1002, GT_NONE32);
	ok(gt_model_queue(m, 0, GT_USER_QUEUES), "another has one, too");
	queue_of(GT_QUEUE_DESTROY, 7, 1001, GT_NONE32);
	queue_of(GT_QUEUE_CREATE, GT_USER_QUEUES + 1, 1001, GT_NONE32);
	ok(gt_model_queue(m, 0, GT_USER_QUEUES + 1), "what ended is not in it");
	queue_of(GT_QUEUE_CREATE, 7, 1001, GT_NONE32);
	is(gt_model_queue(m, 0, 7)->state, GT_QS_DESTROYED, "nor comes again unless there is room");
	for (uint32_t i = 0; i < GT_USER_QUEUES + 1; i++)
		queue_of(GT_QUEUE_CREATE, 2 * GT_USER_QUEUES + i, 0, GT_NONE32);
	is(m->queues_refused, 2, "root may have more");
	gt_model_free(m);
}

/* The process of a queue is not in the table, which was full: what this machine has is asked */
static void check_orphans(void)
{
	pid_t child = fork();

	if (!child)
		_exit(0);
	waitpid(child, NULL, 0);
	begin(1, true);
	queue_of(GT_QUEUE_CREATE, 1, 1001, (uint32_t)getpid());
	queue_of(GT_QUEUE_CREATE, 2, 1001, (uint32_t)getppid());
	queue_of(GT_QUEUE_CREATE, 3, 1001, (uint32_t)child);
	ok(!gt_model_proc(m, (uint32_t)child), "there is no room for a process");
	gt_model_reap(m);
	is(gt_model_queue(m, 0, 3)->state, GT_QS_DESTROYED, "its queues end with it all the same");
	is(gt_model_queue(m, 0, 2)->state, GT_QS_CREATED, "another's live on");
	queue_of(GT_QUEUE_CREATE, 3, 1001, (uint32_t)child);
	gt_model_not_here(m, gt_model_proc(m, (uint32_t)getpid()));
	gt_model_reap(m);
	is(gt_model_queue(m, 0, 3)->state, GT_QS_CREATED,
	   "where not all are of this machine nobody can tell");
	gt_model_free(m);
}

static void work(enum gt_type type, uint64_t value, uint64_t ref)
{
	struct gt_folded folded;
	union gt_record rec;

	gt_record_init(&rec, gt_model_now(m) + 1000, type);
	rec.ev.gpu = 0;
	rec.ev.queue = 5;
	rec.ev.value = value;
	rec.ev.ref = ref;
	gt_model_event(m, &rec, &folded);
	gt_model_done(m, &folded);
}

/* What a program gives to the hardware itself is no ring's job */
static void check_work(void)
{
	struct gt_summary all, last;
	struct gt_queue *q;

	begin(16, false);
	queue_of(GT_QUEUE_CREATE, 5, 1001, GT_NONE32);
	q = gt_model_queue(m, 0, 5);
	work(GT_DISPATCH, GT_NONE64, GT_NONE64);
	ok(q->counts.submitted == 1 && q->worked && !q->depth_set, "a dispatch");
	work(GT_COUNTER, 7, GT_COUNTER_DEPTH);
	work(GT_COUNTER, 3, GT_COUNTER_DEPTH);
	work(GT_COUNTER, 99, 12);
	ok(q->depth_set && q->depth.now == 3 && q->depth.peak == 7,
	   "its depth is what is reported");
	work(GT_COMPLETE, GT_NONE64, 5000);
	work(GT_END, 800, GT_NONE64);
	work(GT_DISPATCH, 900, GT_NONE64);
	is(q->counts.completed, 2, "two have ended");
	gt_stage_summary(&q->stage[GT_ST_TOTAL], gt_model_now(m), &all, &last);
	ok(all.count == 1 && all.max == 5000, "one with the time since it was enqueued");
	gt_stage_summary(&q->stage[GT_ST_EXEC], gt_model_now(m), &all, &last);
	ok(all.count == 2 && all.min == 800 && all.max == 900, "both with the time that they ran");
	queue_of(GT_QUEUE_DESTROY, 5, 1001, GT_NONE32);
	is(q->depth.now, 0, "it holds nothing when it has ended");
	queue_of(GT_QUEUE_CREATE, 5, 1001, GT_NONE32);
	work(GT_COUNTER, 2, GT_COUNTER_DEPTH);
	is(gt_model_queue(m, 0, 5)->depth.peak, 2, "another of its number has a depth of its own");
	gt_model_free(m);
}

int main(void)
{
	check_work();
	check_churn();
	check_share();
	check_orphans();
	return done_testing();
}
