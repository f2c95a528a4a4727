/* SPDX-License-Identifier: GPL-2.0 */
/* The rate limit: its two laws, by random arrivals, and of whole jobs at the gate. */
#include "gatebed.h"

#define SEC 1000000000ull

static uint64_t rng = 88172645463325252ull;

static uint64_t random_below(uint64_t n)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return rng % n;
}

/* Never more than rate x t + burst + one job since any time; never idle while tokens remain */
static void test_bucket(void)
{
	static const uint64_t rates[] = { 1, 10, 1000, 333333 }, bursts[] = { 0, 1, 50, 10000 };
	unsigned int over = 0, idle = 0;

	for (unsigned int k = 0; k < 16; k++) {
		uint64_t per_s = rates[k / 4], burst = bursts[k % 4], now = 1000, begun, in = 0;
		uint64_t room = burst ? burst : 1;
		struct gt_rate r = { 0 };
		double tokens = (double)room; /* another way to the same: a float, step by step */

		gt_rate_set(&r, true, per_s, burst);
		begun = now;
		for (int i = 0; i < 20000; i++) {
			unsigned int n = 1 + (unsigned int)random_below(5);
			uint64_t gap = random_below(4 * SEC / per_s);
			bool took;

			now += gap;
			tokens += (double)gap * (double)per_s / SEC;
			tokens = tokens > (double)room ? (double)room : tokens;
			took = gt_rate_take(&r, now, n);
			in += took ? n : 0;
			idle += !took && tokens > 1.001;
			over += (double)in >
				(double)per_s * (double)(now - begun) / SEC + (double)room + 5;
			tokens -= took ? n : 0;
		}
	}
	is(over, 0, "token bucket: never over rate x t + burst + one job");
	is(idle, 0, "never idle while a token remains");
}

static void test_bucket_bounds(void)
{
	struct gt_rate r = { 0 };
	unsigned int in = 0;

	gt_rate_set(&r, true, 10, 100);
	for (int i = 0; i < 1000; i++)
		in += gt_rate_take(&r, 5 * SEC, 1);
	is(in, 100, "a full bucket is the burst");
	ok(!gt_rate_take(&r, 4 * SEC, 1), "time that goes back brings nothing");
	ok(!gt_rate_take(&r, 5 * SEC + 99999999, 1), "nor a tenth of a second, all but 1 ns");
	ok(gt_rate_take(&r, 5 * SEC + 100000000, 1), "a tenth brings one");
	for (in = 0; gt_rate_take(&r, UINT64_MAX, 1);)
		in++;
	is(in, 100, "all the time there is fills it, and no more");
	gt_rate_set(&r, true, 10, 1000);
	ok(gt_rate_take(&r, 1, 1000) && !gt_rate_take(&r, 1, 1),
	   "a new limit begins with a full one");
	gt_rate_set(&r, true, 10, 1000);
	ok(!gt_rate_take(&r, 1, 1), "the same once more does not");
	gt_rate_set(&r, true, 0, 0);
	ok(gt_rate_take(&r, 0, 1000), "without a limit everything is in");
	gt_rate_set(&r, true, GT_RATE_MAX, GT_RATE_MAX);
	ok(gt_rate_take(&r, 1, GT_RATE_MAX) && !gt_rate_take(&r, 1, 1) &&
		   gt_rate_take(&r, 1 + SEC, GT_RATE_MAX),
	   "the greatest of all");
}

static void test_window(void)
{
	unsigned int over = 0, less = 0;
	struct gt_rate r = { 0 };
	uint64_t now = 7 * SEC, second = 7, in = 0;

	gt_rate_set(&r, false, 100, 0);
	for (int i = 0; i < 200000; i++) {
		unsigned int n = 1 + (unsigned int)random_below(5);

		now += random_below(1000000);
		if (now / SEC != second) {
			less += in < 100;
			second = now / SEC;
			in = 0;
		}
		in += gt_rate_take(&r, now, n) ? n : 0;
		over += in > 104;
	}
	is(over, 0, "window: never exceeded by more than one job");
	is(less, 0, "and used up");
}

/* One job's time is wrong, and a million seconds ahead: the others are limited as before */
static void test_future(bool bucket)
{
	struct gt_rate r = { 0 };
	uint64_t now = 7 * SEC, in = 0;

	gt_rate_set(&r, bucket, 100, 100);
	gt_rate_take(&r, now, 1);
	gt_rate_take(&r, 1000000 * SEC, 1);
	for (int i = 0; i < 10000; i++) { /* ten seconds of a thousand each */
		now += 1000000;
		in += gt_rate_take(&r, now, 1);
	}
	ok(in >= 900 && in <= 1200,
	   "a time in the future does not stop the clock, nor the limit: %u", (unsigned int)in);
}

/* A thousand a second on time, and of another source, twenty that are five seconds late, in a row: they
 * bring no time back. @idle: on time there is nothing for so many seconds in between */
static void test_late(bool bucket, uint64_t idle)
{
	struct gt_rate r = { 0 };
	uint64_t now = 100 * SEC, begun = now, in = 0;
	unsigned int over = 0;

	gt_rate_set(&r, bucket, 100, 100);
	for (int i = 0; i < 20000; i++) {
		if (i == 10000)
			now += idle * SEC;
		in += gt_rate_take(&r, now, 1);
		for (int k = 0; i % 1000 == 500 && k < 20; k++)
			in += gt_rate_take(&r, now - 5 * SEC, 1);
		over += in > 100 * ((now - begun) / SEC + 1) + 101;
		now += SEC / 1000;
	}
	is(over, 0, "records of another source that are late do not fill it: %u", (unsigned int)in);
	ok(in >= 1900, "nor keep it empty");
}

/* At the gate: jobs of three records, whole, charged at their first */
static void test_jobs(void)
{
	struct job j = { 0, 0, 100, 1000, 7, 0 };
	unsigned int part = 0, whole = 0;

	begin();
	set("rate_limit", "300");
	for (j.seqno = 1; j.seqno < 2000; j.seqno++) {
		unsigned int n = live(&j, 1000 * SEC + j.seqno * 100000, 50000);

		whole += n == 3;
		part += n && n != 3;
	}
	is(part, 0, "jobs are recorded whole");
	ok(whole >= 100 && whole <= 101, "as many as the limit of that second has room for: %u",
	   whole);
	is(gate.n.refused[GT_R_RATE], 3 * (1999 - whole), "the rest counts as rate limited");
	is(live(&j, 1001 * SEC, 100), 3, "the next second has room again");
	set("rate_limit", "0");
	j.seqno++;
	is(live(&j, 1001 * SEC + 1000, 100), 3, "and without a limit there is always");
	end();
}

/* Very many in flight at once: all are charged before the first ends */
static void test_in_flight(void)
{
	struct job j = { 0, 0, 100, 1000, 7, 0 };

	begin();
	set("rate_limit_mode", "token_bucket");
	set("rate_limit", "1");
	set("rate_limit_burst", "60");
	for (j.seqno = 1; j.seqno <= 1000; j.seqno++)
		tell(&j, 1000 * SEC + j.seqno, GT_SUBMIT);
	for (j.seqno = 1; j.seqno <= 1000; j.seqno++)
		tell(&j, 1000 * SEC + 2000 + j.seqno, GT_COMMIT);
	for (j.seqno = 1; j.seqno <= 1000; j.seqno++)
		tell(&j, 1000 * SEC + 4000 + j.seqno, GT_COMPLETE);
	ok(out.n <= 63, "the burst and one job, whatever is in flight: %zu", out.n);
	is(out.n % 3, 0, "whole");
	for (j.seqno = 2000; j.seqno <= 3000; j.seqno++)
		live(&j, 1000 * SEC + 10000 + j.seqno * 100, 50);
	ok(out.n >= 60 && out.n <= 63,
	   "what a job was charged for and did not need is given back: %zu", out.n);
	end();
}

/* A recording is played again: its times go back to the first */
static void test_played_again(const char *mode)
{
	struct job j = { 0, 0, 100, 1000, 7, 0 };
	unsigned int in[2] = { 0 };

	begin();
	set("rate_limit_mode", mode);
	set("rate_limit", "30");
	set("rate_limit_burst", "30");
	for (int play = 0; play < 2; play++) {
		for (uint64_t i = 0; i < 200; i++) {
			j.seqno = i + 1;
			in[play] += live(&j, 1000 * SEC + i * SEC / 10, 1000);
		}
		if (gt_model_reset(model))
			ok(false, "the model begins again");
		gt_gate_reset(&gate);
	}
	ok(in[0] >= 590 && in[0] == in[1], "%s: the second play is limited as the first: %u and %u",
	   mode, in[0], in[1]);
	end();
}

int main(void)
{
	test_bucket();
	test_bucket_bounds();
	test_window();
	test_future(true);
	test_future(false);
	test_late(true, 0);
	test_late(false, 0);
	test_late(true, 10);
	test_late(false, 10);
	test_jobs();
	test_in_flight();
	test_played_again("window");
	test_played_again("token_bucket");
	return done_testing();
}
