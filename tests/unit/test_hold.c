/* SPDX-License-Identifier: GPL-2.0 */
/* Jobs that only their end decides: threshold sampling and filter_latency. */
#include "gatebed.h"

#define US 1000ull

static void test_threshold(void)
{
	struct job j = { 0, 0, 100, 1000, 7, 0 };
	unsigned int wrong = 0, slow = 0;

	begin();
	set("sampling_mode", "threshold");
	set_n("sampling_threshold", 500 * US);
	for (j.seqno = 1; j.seqno <= 1000; j.seqno++) {
		uint64_t total = j.seqno * US;
		unsigned int n = live(&j, j.seqno * 10000 * US, total);

		slow += total > 500 * US;
		wrong += n != (total > 500 * US ? 3 : 0);
	}
	is(wrong, 0, "exactly the slow jobs, with their SUBMIT");
	is(out.n, slow * 3, "whole");
	is(out.r[0].ev.type, GT_SUBMIT, "from the first record on");
	is(out.r[2].ev.type, GT_COMPLETE, "to the last");
	ok(out.r[0].ev.ts == 501 * 10000 * US && out.r[0].ev.seqno == 501 &&
		   out.r[0].ev.pid == 100 && out.r[1].ev.type == GT_COMMIT,
	   "as they were");
	is(gate.n.refused[GT_R_THRESHOLD], 3 * (1000 - slow), "the others count as sampled out");
	is(gate.rings[0][0].sampled_out, 3 * (1000 - slow), "of their ring, too");
	is(gate.rings[0][0].recorded, slow * 3, "as do those that are recorded");
	is(gate.hold.held, 0, "nothing is held any more");
	end();
}

static void test_latency(void)
{
	struct job j = { 0, 0, 100, 1000, 7, 1 };

	begin();
	set("filter_enabled", "1");
	set("filter_latency", "500");
	is(live(&j, 1000 * US, 500 * US), 0, "filter_latency: one of just so many us");
	is(gate.n.refused[GT_R_LATENCY], 3, "counts there");
	j.seqno++;
	is(live(&j, 5000 * US, 500 * US + 1), 3, "one that takes longer");
	j.seqno++;
	set("filter_events", "COMPLETE");
	is(live(&j, 9000 * US, 1000 * US), 1, "with filter_events a part of it");
	j.seqno++;
	set("filter_events", "SUBMIT");
	is(live(&j, 13000 * US, 1000 * US), 1, "whichever part");
	is(out.r[out.n - 1].ev.type, GT_SUBMIT, "that is");
	j.seqno++;
	ok(!tell(&j, 20000 * US, GT_COMMIT) && !tell(&j, 30000 * US, GT_COMPLETE),
	   "one that was not seen to begin is not known to be slow");
	end();
}

/* What is held counts somewhere; other events pass meanwhile */
static void test_meanwhile(void)
{
	struct job j = { 0, 0, 100, 1000, 7, 1 };

	begin();
	set("sampling_mode", "threshold");
	ok(!tell(&j, 1000, GT_SUBMIT) && gate.hold.held == 1, "a job is held");
	is(gate.n.refused[GT_R_THRESHOLD], 1, "as sampled out");
	ok(tell(&j, 1100, GT_SYNC_WAIT_ENTER), "who waits for it is not");
	ok(!tell(&j, 1150, GT_ERROR) && gate.hold.held == 2, "its error is");
	gt_gate_clear(&gate);
	is(gate.n.seen, 0, "clear");
	ok(!tell(&j, 1200, GT_COMMIT), "another of its events");
	ok(tell(&j, 1300, GT_COMPLETE), "and its end");
	is(out.n, 5, "all of it is recorded");
	is(gate.n.recorded, 4, "and counted, of before the clear as well");
	is(gate.n.seen, 4, "as seen, too");
	ok(gate.rings[0][0].seen == 4 && gate.rings[0][0].recorded == 4, "of their ring as well");
	j.seqno++;
	tell(&j, 1400, GT_SUBMIT);
	gt_gate_clear(&gate);
	ok(tell(&j, 1500, GT_COMPLETE) && out.n == 7 && gate.n.recorded == 2 && gate.n.seen == 2,
	   "one whose end is the first after a clear, too");
	j.seqno++;
	tell(&j, 2000, GT_SUBMIT);
	set("sampling_mode", "static");
	tell(&j, 2100, GT_COMMIT);
	ok(tell(&j, 2200, GT_COMPLETE) && out.n == 10,
	   "one that was held when the mode was changed comes whole");
	j.seqno++;
	tell(&j, 3000, GT_SUBMIT);
	set("sampling_mode", "threshold");
	set("sampling_threshold", "86400000000000");
	tell(&j, 3100, GT_COMMIT);
	ok(tell(&j, 3200, GT_COMPLETE) && out.n == 13, "one that was recorded before, too");
	end();
}

/* Jobs that never end, more than there is room for */
static void test_no_room(void)
{
	struct job j = { 0, 0, 100, 1000, 7, 0 };
	uint64_t more = 1000;

	begin_with(GT_HOLD_RECORDS + 4096);
	set("sampling_mode", "threshold");
	for (j.seqno = 1; j.seqno <= GT_HOLD_RECORDS + more; j.seqno++)
		tell(&j, 1000000000ull + j.seqno, GT_SUBMIT);
	is(gate.hold.held, GT_HOLD_RECORDS, "so many records are held");
	is(gate.n.lost_held, more, "the rest is counted as lost");
	j.seqno = GT_HOLD_RECORDS + 1;
	ok(!tell(&j, 2000000000ull, GT_COMPLETE) && gate.n.lost_held == more + 1, "of whole jobs");
	j.seqno = 1;
	ok(tell(&j, 2000000001ull, GT_COMPLETE) && out.n == 2, "others come whole");
	is(gate.hold.held, GT_HOLD_RECORDS - 1, "and make room");
	end();
}

/* Jobs that leave the model's table without an end give their room free */
static void test_gone(void)
{
	struct job j = { 0, 0, 100, 1000, 7, 0 };

	begin_with(64);
	set("sampling_mode", "threshold");
	for (j.seqno = 1; j.seqno <= 100000; j.seqno++)
		tell(&j, 1000000000ull + j.seqno, GT_SUBMIT);
	ok(gate.hold.held <= 64, "evicted jobs hold nothing: %llu",
	   (unsigned long long)gate.hold.held);
	is(gate.n.lost_held, 0, "so nothing is lost for lack of room");
	is(gate.n.refused[GT_R_THRESHOLD], 100000, "they were never known to be slow");
	end();
}

/* Room is looked for once a second at most, also when time goes back */
static void test_sweep(void)
{
	static struct gt_job table[4], *jobs = &table[1];
	union gt_record r = { 0 };
	struct gt_hold h;

	gt_hold_init(&h, jobs, 2);
	gt_hold_begin(&h, &jobs[1]);
	gt_hold_put(&h, &jobs[1], &r);
	gt_hold_sweep(&h, 10000000000ull);
	is(h.held, 0, "what is held of a job that is no more goes");
	gt_hold_put(&h, &jobs[1], &r);
	gt_hold_sweep(&h, 5000000000ull);
	gt_hold_sweep(&h, 5999999999ull);
	is(h.held, 1, "within a second nothing is looked for, wherever time went meanwhile");
	gt_hold_sweep(&h, 6000000000ull);
	is(h.held, 0, "then it is again");
	gt_hold_put(&h, &jobs[1], &r);
	jobs[1].live = 1;
	jobs[1].recorded = GT_JOB_HELD;
	gt_hold_sweep(&h, 8000000000ull);
	is(h.held, 1, "what is held of a job that waits stays");
	jobs[1].recorded = GT_R_PID;
	gt_hold_sweep(&h, 10000000000ull);
	is(h.held, 0, "not if its place is another's");
	jobs[1].recorded = GT_JOB_HELD;
	gt_hold_put(&h, &jobs[1], &r);
	jobs[1].live = 0;
	gt_hold_sweep(&h, 12000000000ull);
	is(h.held, 0, "nor one of no process");
	ok(!gt_hold_begin(&h, &jobs[2]) && !gt_hold_begin(&h, &table[0]),
	   "jobs of no table hold nothing");
	gt_hold_destroy(&h);
}

static void put(struct gt_hold *h, const struct gt_job *j, uint64_t n)
{
	union gt_record r = { 0 };

	gt_hold_begin(h, j);
	for (r.ev.seqno = 0; r.ev.seqno < n; r.ev.seqno++)
		gt_hold_put(h, j, &r);
}

/* What was held takes no more memory when it is used again */
static void test_used_again(void)
{
	static struct gt_job jobs[3];
	struct gt_hold h;
	uint64_t bytes;

	gt_hold_init(&h, jobs, 3);
	is(gt_hold_bytes(&h), 0, "before the first it takes none");
	put(&h, &jobs[0], 3);
	put(&h, &jobs[1], 2);
	bytes = gt_hold_bytes(&h);
	ok(bytes, "then it does");
	for (int i = 0; i < 5; i++) {
		for (int k = 0; k < 3; k++)
			gt_hold_begin(&h, &jobs[k]);
		is(h.held, 0, "all go");
		put(&h, &jobs[2], 4);
		put(&h, &jobs[0], 1);
		is(h.held, 5, "others come");
		is(gt_hold_bytes(&h), bytes, "in their room");
	}
	gt_hold_destroy(&h);
	is(gt_hold_bytes(&h), 0, "and it is given back");
}

/* Likewise where jobs are recorded after all */
static void test_room_of_recorded(void)
{
	struct job j = { 0, 0, 100, 1000, 7, 0 };
	uint64_t bytes = 0;

	begin();
	set("sampling_mode", "threshold");
	set_n("sampling_threshold", 500 * US);
	for (j.seqno = 1; j.seqno <= 100; j.seqno++) {
		live(&j, j.seqno * 10000 * US, 1000 * US);
		bytes = bytes ? bytes : gt_hold_bytes(&gate.hold);
	}
	ok(out.n == 300 && gt_hold_bytes(&gate.hold) == bytes, "one job after another in its room");
	end();
}

/* A job that is slow enough still needs room in the rate limit, for all of it */
static void test_rate(void)
{
	struct job j = { 0, 0, 100, 1000, 7, 0 };
	unsigned int part = 0;

	begin();
	set("sampling_mode", "threshold");
	set("rate_limit", "30");
	for (j.seqno = 1; j.seqno <= 100; j.seqno++) {
		unsigned int n = live(&j, 5000000000ull + j.seqno * 1000, 500);

		part += n && n != 3;
	}
	is(part, 0, "with a rate limit they are whole, too");
	is(out.n, 30, "and no more than it lets in");
	is(gate.n.refused[GT_R_RATE], 270, "the rest counts there");
	end();
}

/* A job that begins has room in the rate limit for all that its ring reports of one */
static void test_reserved(void)
{
	struct job j = { 0, 0, 100, 1000, 7, 1 };
	unsigned int n = 0;

	begin();
	set("filter_enabled", "1");
	set("rate_limit", "30");
	is(live(&j, 5000000000ull, 500), 3, "a job of three records");
	set("filter_pid", "100");
	j.pid = 200;
	for (j.seqno = 2; j.seqno <= 20; j.seqno++)
		tell(&j, 7000000000ull, GT_SUBMIT);
	j.pid = 100;
	for (; j.seqno <= 40; j.seqno++)
		n += tell(&j, 7000000000ull, GT_SUBMIT);
	is(n, 10, "ten more have room for theirs, whatever is filtered out");
	end();
}

int main(void)
{
	test_threshold();
	test_latency();
	test_meanwhile();
	test_no_room();
	test_gone();
	test_sweep();
	test_used_again();
	test_room_of_recorded();
	test_rate();
	test_reserved();
	return done_testing();
}
