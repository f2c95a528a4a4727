/* SPDX-License-Identifier: GPL-2.0 */
/* Clocks of a made-up machine: it sleeps, its clock is set, its raw clock has another rate. */
#include "../../backend/lib/clock.h"
#include "../lib/tap.h"

#define SEC 1000000000ull

/** struct machine - @mono: CLOCK_MONOTONIC; @took: ns that a reading takes; the raw clock is @ppm
 * fast */
static struct machine {
	uint64_t mono, asleep, took;
	int64_t real, ppm;
} m;

static uint64_t read_machine(void *arg, enum gt_clock_id clock)
{
	m.mono += m.took;
	switch (clock) {
	case GT_CLOCK_ID_BOOTTIME:
		return m.mono + m.asleep;
	case GT_CLOCK_ID_REALTIME:
		return m.mono + (uint64_t)m.real;
	case GT_CLOCK_ID_MONOTONIC_RAW:
		return m.mono + (uint64_t)((int64_t)m.mono / 1000000 * m.ppm);
	default:
		return m.mono;
	}
}

static void begin(struct gt_clocks *c)
{
	m = (struct machine){ .mono = 100 * SEC, .took = 40, .real = 1700000000ll * (int64_t)SEC };
	m.asleep = 7 * SEC;
	gt_clocks_init(c, read_machine, NULL);
}

static bool near(uint64_t a, uint64_t b, uint64_t by)
{
	return (a < b ? b - a : a - b) <= by;
}

static void test_plain(void)
{
	struct gt_clocks c;
	uint64_t u;

	begin(&c);
	ok(near(gt_clocks_mono(&c, GT_CLOCK_ID_BOOTTIME, 57 * SEC, &u), 50 * SEC, u),
	   "a time before the first look is as at it");
	ok(u && u <= 100, "its uncertainty is that of the reading: %llu", (unsigned long long)u);
	is(gt_clocks_mono(&c, GT_CLOCK_ID_MONOTONIC, 5, &u), 5, "CLOCK_MONOTONIC is itself");
	is(u, 0, "for certain");
	is(gt_clocks_mono(&c, GT_CLOCK_ID_BOOTTIME, 3, NULL), 0, "nothing is before 0");
	m.mono += SEC;
	ok(!gt_clocks_measure(&c), "with no jump nothing changed");
	is(c.boottime.n, 1, "one piece");
	m.took = 2;
	gt_clocks_measure(&c);
	gt_clocks_offset(&c, GT_CLOCK_ID_BOOTTIME, &u);
	ok(u <= 4, "a better reading is kept: %llu", (unsigned long long)u);
	m.took = 400;
	gt_clocks_measure(&c);
	gt_clocks_offset(&c, GT_CLOCK_ID_BOOTTIME, &u);
	ok(u <= 4, "a worse one is not: %llu", (unsigned long long)u);
}

/* A time that CLOCK_BOOTTIME had @ago before now */
static uint64_t boot(uint64_t mono, uint64_t asleep)
{
	return mono + asleep;
}

static void test_suspend(void)
{
	uint64_t asleep[3], at[3], u;
	struct gt_clocks c;

	begin(&c);
	for (int i = 0; i < 3; i++) {
		asleep[i] = m.asleep;
		m.mono += 10 * SEC;
		at[i] = m.mono;
		m.mono += SEC;
		m.asleep += 3600 * SEC; /* an hour, noticed a ms later */
		m.mono += 1000000;
		ok(gt_clocks_measure(&c), "suspend %d is seen", i);
	}
	is(c.boottime.n, 4, "four offsets");
	for (int i = 0; i < 3; i++) {
		ok(near(gt_clocks_mono(&c, GT_CLOCK_ID_BOOTTIME, boot(at[i], asleep[i]), &u), at[i],
			100),
		   "a time before suspend %d", i);
		ok(u < 1000, "is certain");
		ok(near(gt_clocks_mono(&c, GT_CLOCK_ID_BOOTTIME,
				       boot(at[i] + SEC, asleep[i] + 3600 * SEC), &u),
			at[i] + SEC, 100),
		   "one right after it");
	}
	ok(near(gt_clocks_mono(&c, GT_CLOCK_ID_BOOTTIME, boot(m.mono, m.asleep), NULL), m.mono,
		100),
	   "now");
}

/* Shorter than nobody looked: which side of it a time is on is unknown, and the uncertainty says so. */
static void test_short(void)
{
	struct gt_clocks c;
	uint64_t u;

	begin(&c);
	m.mono += 100 * SEC;
	m.asleep += SEC;
	gt_clocks_measure(&c);
	gt_clocks_mono(&c, GT_CLOCK_ID_BOOTTIME, boot(150 * SEC, 7 * SEC), &u);
	is(u, SEC, "a time that may be of either side is as uncertain as the sleep was long");
	gt_clocks_mono(&c, GT_CLOCK_ID_BOOTTIME, boot(90 * SEC, 7 * SEC), &u);
	ok(u < 1000, "one before the last look is not");
}

static void test_many(void)
{
	struct gt_clocks c;
	uint64_t u;

	begin(&c);
	for (int i = 0; i < 100; i++) {
		m.mono += SEC;
		m.asleep += 60 * SEC;
		gt_clocks_measure(&c);
	}
	is(c.boottime.n, GT_CLOCK_PIECES, "the oldest offsets are forgotten");
	is(c.boottime.changes, 100, "and counted");
	ok(near(gt_clocks_mono(&c, GT_CLOCK_ID_BOOTTIME, boot(m.mono, m.asleep), &u), m.mono, 100),
	   "the last holds");
}

static void test_set(void)
{
	struct gt_clocks c;
	uint64_t before, real;

	begin(&c);
	m.mono += 10 * SEC;
	before = m.mono;
	real = m.mono + (uint64_t)m.real;
	m.mono += SEC;
	m.real += 3600 * (int64_t)SEC;
	ok(gt_clocks_measure(&c), "CLOCK_REALTIME is set forward");
	ok(near(gt_clocks_mono(&c, GT_CLOCK_ID_REALTIME, real, NULL), before, 100),
	   "a time before");
	ok(near(gt_clocks_mono(&c, GT_CLOCK_ID_REALTIME, m.mono + (uint64_t)m.real, NULL), m.mono,
		100),
	   "and now");
	m.real -= 7200 * (int64_t)SEC;
	m.mono += SEC;
	ok(gt_clocks_measure(&c), "and back");
	ok(near(gt_clocks_mono(&c, GT_CLOCK_ID_REALTIME, m.mono + (uint64_t)m.real, NULL), m.mono,
		100),
	   "now is right again");
	is(c.boottime.n, 1, "CLOCK_BOOTTIME has not jumped");
}

static void test_raw(void)
{
	struct gt_clocks c;
	uint64_t u, raw, mono;

	begin(&c);
	m.ppm = 100;
	gt_clocks_init(&c, read_machine, NULL);
	for (int i = 0; i < 1000; i++) {
		m.mono += SEC;
		gt_clocks_measure(&c);
	}
	ok(c.raw.n > 1 && c.raw.n <= GT_CLOCK_POINTS, "so many points: %u", c.raw.n);
	raw = read_machine(NULL, GT_CLOCK_ID_MONOTONIC_RAW);
	mono = gt_clocks_mono(&c, GT_CLOCK_ID_MONOTONIC_RAW, raw, &u);
	ok(near(mono, m.mono, 1000 + u),
	   "100 ppm of 18 minutes are within the uncertainty: %lld ns beside it",
	   (long long)(mono - m.mono));
	ok(near(mono, m.mono, 2000), "closely");
	mono = m.mono - 500 * SEC;
	raw = mono + mono / 1000000 * 100;
	ok(near(gt_clocks_mono(&c, GT_CLOCK_ID_MONOTONIC_RAW, raw, &u), mono, 2000),
	   "half way back, too");
}

/* A GPU's counter of 100 MHz that began at some time */
static void test_counter(void)
{
	struct gt_clock_line l = { 0 };
	uint64_t u;

	is(gt_clock_line_mono(&l, 5, &u), 5, "with no point nothing is known");
	ok(u == GT_NONE64, "and the uncertainty is unknown");
	for (uint64_t s = 1; s <= 10; s++)
		gt_clock_line_add(&l, s * 100000000, 50 * SEC + s * SEC, 500);
	is(gt_clock_line_mono(&l, 250000000, &u), 52 * SEC + SEC / 2, "between two points");
	is(u, 500, "as certain as they are");
	is(gt_clock_line_mono(&l, 2000000000, &u), 70 * SEC, "after the last");
	ok(u > 500 && u < SEC, "and less certain: %llu", (unsigned long long)u);
	is(gt_clock_line_mono(&l, 0, NULL), 50 * SEC, "before the first");
	is(gt_clock_line_mono(&l, UINT64_MAX, NULL), UINT64_MAX, "no end is passed");
	gt_clock_line_add(&l, 100, 80 * SEC, 500);
	is(l.n, 1, "a counter that was reset begins anew");
}

static void test_lines(void)
{
	struct gt_clocks c;
	char buf[256], small[10];

	begin(&c);
	gt_clocks_lines(&c, GT_CLOCK_ID_BOOTTIME, buf, sizeof(buf));
	ok(!strncmp(buf, "clock CLOCK_BOOTTIME\nclock_offset_ns -", 38), "lines of doctor");
	is(gt_clocks_lines(&c, GT_CLOCK_ID_BOOTTIME, small, sizeof(small)), 9, "no more than fit");
	gt_clocks_init(&c, NULL, NULL);
	ok(c.boottime.n == 1 && c.realtime.n == 1 && c.raw.n == 1, "this machine's clocks");
}

int main(void)
{
	test_plain();
	test_suspend();
	test_short();
	test_many();
	test_set();
	test_raw();
	test_counter();
	test_lines();
	return done_testing();
}
