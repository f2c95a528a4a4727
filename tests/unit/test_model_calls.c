/* SPDX-License-Identifier: GPL-2.0 */
/* The model case by case: waits, ioctls and the jobs submitted in them, calls of runtimes. */
#include "modelbed.h"

static void wait_event(uint64_t ts, enum gt_type type, uint64_t value, uint64_t ref)
{
	event(ts, type)->ev.pid = 500;
	rec.ev.tid = 501;
	rec.ev.value = value;
	rec.ev.ref = ref;
	fold();
}

static void check_waits(void)
{
	const struct gt_counts *c;

	begin();
	wait_event(T0, GT_SYNC_WAIT_ENTER, GT_NONE64, GT_NONE64);
	wait_event(T0 + 30, GT_SYNC_WAIT_EXIT, GT_NONE64, GT_NONE64);
	c = &gt_model_proc(m, 500)->counts;
	ok(c->waits == 1 && c->wait_ns == 30, "a wait is matched by thread");
	wait_event(T0 + 40, GT_SYNC_WAIT_EXIT, GT_NONE64, GT_NONE64);
	ok(c->waits == 2 && c->wait_ns == 30, "its time is not made up");
	wait_event(T0 + 50, GT_SYNC_WAIT_EXIT, 7, GT_NONE64);
	ok(c->waits == 3 && c->wait_ns == 37, "and taken where it is reported");
	wait_event(T0 + 60, GT_IOCTL_ENTER, 1, GT_NONE64);
	event(T0 + 61, GT_SUBMIT)->ev.ring = 0;
	rec.ev.seqno = 1;
	rec.ev.pid = 500;
	rec.ev.tid = 501;
	fold();
	wait_event(T0 + 64, GT_IOCTL_EXIT, 0, GT_NONE64);
	ok(c->ioctls == 1 && c->ioctl_ns == 4, "an ioctl likewise");
	event(T0 + 80, GT_COMPLETE)->ev.ring = 0;
	rec.ev.seqno = 1;
	fold();
	is(folded.fin.ioctl, 4, "the job knows its ioctl");
	is(folded.fin.cpu_wait, GT_NONE64, "and nothing of waits");
	gt_model_free(m);
}

static void submit_inside(uint64_t ts, uint64_t seqno)
{
	event(ts, GT_SUBMIT)->ev.ring = 0;
	rec.ev.ctx = 9;
	rec.ev.seqno = seqno;
	rec.ev.pid = 500;
	rec.ev.tid = 501;
	fold();
}

/* What job @seqno knew of its ioctl when it ended, as record @number of the history */
static uint64_t ended(uint64_t ts, uint64_t seqno, uint64_t number)
{
	event(ts, GT_COMPLETE)->ev.ring = 0;
	rec.ev.ctx = 9;
	rec.ev.seqno = seqno;
	gt_model_event(m, &rec, &folded);
	gt_model_logged(m, &folded, number);
	gt_model_done(m, &folded);
	return folded.fin.ioctl;
}

static void check_ioctl_jobs(void)
{
	begin();
	wait_event(T0, GT_IOCTL_ENTER, 1, GT_NONE64);
	for (uint64_t i = 1; i <= GT_IOCTL_JOBS + 1; i++)
		submit_inside(T0 + i, i);
	is(ended(T0 + 20, 2, 77), GT_NONE64, "a job that ends within the ioctl does not know yet");
	submit_inside(T0 + 30, 2);
	wait_event(T0 + 100, GT_IOCTL_EXIT, 0, 100);
	is(folded.nlate, 1, "but is reported it at its end");
	ok(folded.late[0] == 77 && folded.ioctl == 100, "under its number");
	is(ended(T0 + 110, 1, 1), 100, "the others know at once");
	is(ended(T0 + 111, GT_IOCTL_JOBS, 2), 100, "all of them");
	is(ended(T0 + 112, GT_IOCTL_JOBS + 1, 3), GT_NONE64, "as far as there is room");
	is(folded.nlate, 0, "nothing is reported twice");

	submit_inside(T0 + 200, 20); /* in an ioctl that is not reported */
	submit_inside(T0 + 300, 21);
	wait_event(T0 + 310, GT_IOCTL_EXIT, 0, 50);
	is(ended(T0 + 320, 20, 4), GT_NONE64, "one from before the ioctl is not of it");
	is(ended(T0 + 321, 21, 5), 50, "one within is, though its begin was not reported");

	submit_inside(T0 + 400, 30);
	wait_event(T0 + 410, GT_IOCTL_ENTER, 1, GT_NONE64);
	is(ended(T0 + 411, 30, 6), GT_NONE64, "a job of an ioctl whose end was lost");
	wait_event(T0 + 420, GT_IOCTL_EXIT, 0, 10);
	is(folded.nlate, 0, "is not reported the next one's time");
	gt_model_free(m);
}

static uint32_t some_tid(uint32_t i)
{
	return (uint32_t)(i * 0x9e3779b97f4a7c15ULL >> 42) ^ i;
}

/* A few threads inside an ioctl at a time: none pushes out another, wherever their places are */
static void check_ioctl_threads(void)
{
	unsigned int known = 0;

	begin();
	for (uint32_t round = 0; round < 1000; round++) {
		for (uint32_t k = 0; k < 8; k++) {
			uint64_t ts = T0 + round * MS + k;
			uint32_t tid = some_tid(round * 4 + k % 4);

			event(ts, k < 4 ? GT_IOCTL_ENTER : GT_SUBMIT)->ev.tid = tid;
			rec.ev.ring = k < 4 ? GT_NONE16 : 0;
			rec.ev.ctx = 9;
			rec.ev.seqno = k % 4;
			fold();
		}
		for (uint32_t k = 0; k < 4; k++) {
			event(T0 + round * MS + 10 + k, GT_IOCTL_EXIT);
			rec.ev.tid = some_tid(round * 4 + k);
			rec.ev.ref = 10;
			fold();
			known += ended(T0 + round * MS + 20 + k, k, 1) == 10;
		}
	}
	is(known, 4000, "every job knows its ioctl");
	gt_model_free(m);
}

static void check_calls(void)
{
	const struct gt_counts *c;

	begin();
	wait_event(T0, GT_LAUNCH, GT_NONE64, GT_NONE64);
	c = &gt_model_proc(m, 500)->counts;
	is(c->launches, 1, "a launch is its process's, whatever GPU it is for");
	wait_event(T0 + 1, GT_COPY, 4096, GT_NONE64);
	wait_event(T0 + 2, GT_COPY, GT_NONE64, GT_NONE64);
	ok(c->copies == 2 && c->copy_bytes == 4096, "copies, and the bytes that are reported");
	ok(m->counts.launches == 1 && m->counts.copies == 2, "the root counts them too");
	wait_event(T0 + 3, GT_COPY, GT_NONE64 - 1, GT_NONE64);
	wait_event(T0 + 4, GT_COPY, 1ull << 47, GT_NONE64);
	ok(c->copy_bytes == UINT64_MAX && m->counts.copy_bytes == UINT64_MAX,
	   "a program that lies does not make them less");
	gt_model_clear(m);
	ok(!c->launches && !c->copies && !c->copy_bytes, "clear");
	gt_model_free(m);
}

int main(void)
{
	uint64_t before = gt_hist_memory();

	check_waits();
	check_ioctl_jobs();
	check_ioctl_threads();
	check_calls();
	is(gt_hist_memory(), before, "all memory is given back");
	return done_testing();
}
