/* SPDX-License-Identifier: GPL-2.0 */
/* Busy time against a plain array of milliseconds: never twice, never too much. */
#include <stdlib.h>

#include "../../fs/model/internal.h"
#include "../lib/tap.h"

#define MS   1000000ULL
#define LEN  200000 /* ms */
#define SLOT 250    /* ms: windows begin and end at one's end */

static uint8_t busy[LEN];
static uint64_t in_slot[LEN / SLOT], in_all;
static uint64_t seed = 7;

static uint64_t rnd(void)
{
	seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return seed >> 33;
}

static uint64_t marked(uint64_t from, uint64_t to)
{
	uint64_t n = 0;

	for (uint64_t i = from / SLOT; i < to / SLOT; i++)
		n += in_slot[i];
	return n;
}

static void both(struct gt_busy *b, uint64_t start, uint64_t end)
{
	gt_busy_add(b, start * MS, end * MS);
	for (uint64_t i = start; i < end; i++) {
		in_slot[i / SLOT] += !busy[i];
		in_all += !busy[i];
		busy[i] = 1;
	}
}

/* Intervals by rising end; @reach: how far one may go back over those before */
static void check_random(const char *what, uint64_t reach, uint64_t gap)
{
	uint64_t end = 1000, worst = 0, now;
	struct gt_busy b;
	bool over = false;

	memset(busy, 0, sizeof(busy));
	memset(in_slot, 0, sizeof(in_slot));
	in_all = 0;
	gt_busy_reset(&b);
	while (end < LEN - 1000) {
		uint64_t start;

		end += rnd() % gap;
		start = end - rnd() % reach;
		both(&b, start, end);
		over |= b.total_ns > in_all * MS;
		now = end - end % SLOT;
		for (uint64_t window = 1000; window <= 60000 && now >= window + 1000;
		     window *= 10) {
			uint64_t got = gt_busy_ns(&b, now * MS, window * MS) / MS;
			uint64_t want = marked(now - window, now);

			worst = got > want && got - want > worst ? got - want : worst;
			worst = want > got && want - got > worst ? want - got : worst;
		}
	}
	is(b.total_ns / MS, in_all, "%s: total", what);
	ok(!over, "%s: never more than there was", what);
	is(worst, 0, "%s: windows that end at a slot's end", what);
}

static void check_partial(void)
{
	struct gt_busy b;
	bool good = true;

	gt_busy_reset(&b);
	gt_busy_add(&b, 1000 * MS, 21000 * MS);
	for (uint64_t now = 3000; now <= 21000; now += 17)
		good &= gt_busy_ns(&b, now * MS, 1000 * MS) == 1000 * MS;
	ok(good, "wholly busy is 100 %% wherever the window lies");
	is(gt_busy_ns(&b, 21500 * MS, 1000 * MS), 500 * MS, "half of it");
	is(gt_busy_ns(&b, 100000 * MS, 60000 * MS), 0, "and nothing long after");
	gt_busy_reset(&b);
	is(gt_busy_ns(&b, 21000 * MS, 60000 * MS), 0, "reset");
}

static void check_hostile(void)
{
	struct gt_busy b;

	gt_busy_reset(&b);
	gt_busy_add(&b, 0, UINT64_MAX);
	is(b.total_ns, UINT64_MAX, "the longest interval there can be");
	ok(gt_busy_ns(&b, UINT64_MAX, 60000 * MS) <= 60000 * MS,
	   "its end is no more than the window");
	gt_busy_add(&b, 5, 3);
	gt_busy_add(&b, 5, 5);
	gt_busy_add(&b, 5, 9);
	is(b.total_ns, UINT64_MAX, "what is covered, empty or backwards adds nothing");
	is(gt_busy_ns(&b, 0, 1000), 0, "nothing before time began");
}

static void check_many(void)
{
	struct gt_busy b;
	uint64_t sum = 0;

	gt_busy_reset(&b);
	for (uint64_t i = 1; i <= 1000; i++) { /* far more separate ones than are kept */
		gt_busy_add(&b, i * 10 * MS, i * 10 * MS + 3 * MS);
		sum += 3;
	}
	is(b.total_ns, sum * MS, "separate intervals");
	gt_busy_add(&b, 5 * MS, 11000 * MS);
	ok(b.total_ns <= 10995 * MS, "one over all of them never counts twice");
	ok(b.total_ns >= sum * MS, "and takes nothing away");
}

/* ms within a slot's time, by where it begins */
static uint64_t slot_at(const struct gt_busy *b, uint64_t start)
{
	return gt_busy_ns(b, (start + SLOT) * MS, SLOT * MS) / MS;
}

static void check_kept(void)
{
	struct gt_busy b;
	uint64_t before;

	gt_busy_reset(&b);
	for (uint64_t i = 1; i <= 130; i++)
		gt_busy_add(&b, i * 10 * MS, i * 10 * MS + 3 * MS);
	before = b.total_ns;
	gt_busy_add(&b, 640 * MS, 1310 * MS);
	is((b.total_ns - before) / MS, 67 * 7, "gaps between those that are kept are known");
}

static void check_bounds(void)
{
	const uint64_t most = (GT_BUSY_SLOTS - 1) * SLOT;
	struct gt_busy b;

	gt_busy_reset(&b);
	gt_busy_add(&b, 0, 100125 * MS);
	is(gt_busy_ns(&b, 100125 * MS, most * MS) / MS, most, "the longest window");
	is(gt_busy_ns(&b, 100125 * MS, (most + 1000) * MS) / MS, most,
	   "is what a longer one shows");
	is(gt_busy_ns(&b, 100125 * MS, 0), 0, "nothing is in none");
	is(gt_busy_ns(&b, 100125 * MS, GT_ALL), 100125 * MS, "or all");
	gt_busy_unclear(&b, 50000 * MS);
	gt_busy_unclear(&b, 40000 * MS);
	is(gt_busy_ns(&b, 60000 * MS, 10000 * MS), 10000 * MS,
	   "after a time of which it is not known");
	is(gt_busy_ns(&b, 60000 * MS, 10000 * MS + 1), GT_NONE64, "within it");
	is(gt_busy_ns(&b, 60000 * MS, GT_ALL), GT_NONE64, "nor of all");
	is(gt_busy_ns(&b, 5, 5), GT_NONE64, "nor before time began");
}

static void check_between(void)
{
	struct gt_busy b;

	gt_busy_reset(&b);
	for (uint64_t i = 1000; i < 1600; i += 200)
		gt_busy_add(&b, i * MS, (i + 100) * MS);
	is(gt_busy_between(&b, 1050 * MS, 1450 * MS) / MS, 200, "between two times");
	is(gt_busy_between(&b, 0, 2000 * MS) / MS, 300, "all of it");
	is(gt_busy_between(&b, 1100 * MS, 1200 * MS), 0, "a gap");
	is(gt_busy_between(&b, 1410 * MS, 1420 * MS) / MS, 10, "a part of one");
	is(gt_busy_between(&b, 1300 * MS, 1200 * MS), 0, "backwards");
	gt_busy_restart(&b, 1450 * MS);
	gt_busy_add(&b, 1400 * MS, 1500 * MS);
	is(b.total_ns / MS, 50, "what was before a restart does not count again");
}

static uint64_t running(const struct gt_busy *b, uint64_t since, uint64_t now, uint64_t window)
{
	return gt_busy_running_ns(b, since * MS, now * MS, window * MS) / MS;
}

/* With what runs, and is not counted yet */
static void check_running(void)
{
	struct gt_busy b;

	gt_busy_reset(&b);
	gt_busy_add(&b, 1000 * MS, 1100 * MS);
	is(running(&b, 1150, 1250, 250), 200, "both count");
	is(running(&b, 1050, 1250, 250), 250, "once where others ended meanwhile");
	is(running(&b, 1050, 1150, 1000), 150, "in a longer window");
	is(running(&b, 1100, 1150, 1000), 150, "one after the other");
	is(running(&b, 0, 1250, 250), 250, "no more than the window");
	is(running(&b, 0, 5000, 1000), 1000, "one that runs for long is all of it");
	is(running(&b, 1250, 1250, 1250), 100, "one that begins now is nothing yet");
	is(running(&b, 2000, 1250, 1250), 100, "nor one that is yet to come");
	is(gt_busy_running_ns(&b, 1150 * MS, 1250 * MS, GT_ALL) / MS, 200, "of all the time");
	gt_busy_unclear(&b, 1200 * MS);
	is(gt_busy_running_ns(&b, 1150 * MS, 1250 * MS, 250 * MS), GT_NONE64,
	   "not known is not known");
}

/* Several that are added up may have more than the time there was */
static void check_fold(void)
{
	struct gt_busy a, b, to;

	gt_busy_reset(&a);
	gt_busy_reset(&b);
	gt_busy_reset(&to);
	gt_busy_add(&a, 1000 * MS, 1100 * MS);
	gt_busy_add(&b, 1050 * MS, 1100 * MS);
	gt_busy_add(&b, 1300 * MS, 1400 * MS);
	gt_busy_fold(&to, &a);
	gt_busy_fold(&to, &b);
	ok(slot_at(&to, 1000) == 150 && slot_at(&to, 1250) == 100 && to.total_ns == 250 * MS,
	   "two together");
	gt_busy_fold(&to, &b);
	ok(slot_at(&to, 1000) == 200 && slot_at(&to, 1250) == 200, "and a third");
	gt_busy_fold(&to, &a);
	is(slot_at(&to, 1000), 250, "more than there was is cut");
	gt_busy_add(&a, 62000 * MS, 62100 * MS);
	gt_busy_fold(&to, &a);
	ok(slot_at(&to, 62000) == 100 && !slot_at(&to, 1000),
	   "what is new takes the place of the old");
	gt_busy_fold(&to, &b);
	ok(slot_at(&to, 62000) == 100 && slot_at(&to, 1250) == 250, "not the other way");
	is(to.total_ns, 850 * MS, "all times count");
	gt_busy_reset(&b);
	gt_busy_add(&b, 62300 * MS, 62310 * MS);
	gt_busy_add(&b, 62320 * MS, 62350 * MS);
	gt_busy_fold(&to, &b);
	is(slot_at(&to, 62250), 40, "of a slot that is not over all counts");
	to.total_ns -= 40 * MS;
	gt_busy_unclear(&a, 62150 * MS);
	gt_busy_fold_total(&to, &a);
	is(to.total_ns, 1050 * MS, "alone as well");
	is(gt_busy_ns(&to, 62250 * MS, 250 * MS), GT_NONE64,
	   "what is not known of one is not of all");
	is(gt_busy_ns(&to, 62500 * MS, 250 * MS), 40 * MS, "but later");
}

/* Of a time of which it is known how long it was busy, and not when */
static void check_spread(void)
{
	struct gt_busy b;

	gt_busy_reset(&b);
	gt_busy_spread(&b, 1000 * MS, 2000 * MS, 500 * MS);
	ok(slot_at(&b, 1000) == 125 && slot_at(&b, 1250) == 125 && slot_at(&b, 1750) == 125 &&
		   !slot_at(&b, 750) && !slot_at(&b, 2000),
	   "all the time alike");
	gt_busy_spread(&b, 2100 * MS, 2350 * MS, 100 * MS);
	ok(slot_at(&b, 2000) == 60 && slot_at(&b, 2250) == 40, "by its part of a slot");
	gt_busy_spread(&b, 2400 * MS, 2400 * MS, 7 * MS);
	gt_busy_spread(&b, 2450 * MS, 2400 * MS, 7 * MS);
	gt_busy_spread(&b, 2400 * MS, 2450 * MS, 0);
	ok(slot_at(&b, 2250) == 40 && b.total_ns == 614 * MS, "no time has no part");
	gt_busy_spread(&b, 3000 * MS, 3250 * MS, UINT32_MAX + 2ULL);
	is(slot_at(&b, 3000), SLOT, "more than there was is all");
	gt_busy_spread(&b, 3250 * MS, 3500 * MS, UINT32_MAX / 2);
	gt_busy_spread(&b, 3250 * MS, 3500 * MS, UINT32_MAX / 2);
	gt_busy_spread(&b, 3250 * MS, 3500 * MS, 10);
	is(slot_at(&b, 3250), SLOT, "however often");
	gt_busy_spread(&b, 62000 * MS, 62250 * MS, 100 * MS);
	gt_busy_spread(&b, 1000 * MS, 1250 * MS, 100 * MS);
	is(slot_at(&b, 62000), 100, "what is older than all windows does not count");
	b.total_ns = UINT64_MAX - 1;
	gt_busy_spread(&b, 62250 * MS, 62500 * MS, 2);
	is(b.total_ns, UINT64_MAX, "the sum stops at the greatest value");
	gt_busy_reset(&b);
	gt_busy_spread(&b, 0, 100000 * MS, 50000 * MS);
	is(gt_busy_ns(&b, 100000 * MS, 60000 * MS) / MS, 30000, "a long time by its end");
}

int main(void)
{
	check_random("one after another", 20, 40);
	check_random("overlapping", 300, 40);
	check_random("inside each other", 20, 3);
	check_partial();
	check_hostile();
	check_many();
	check_kept();
	check_bounds();
	check_between();
	check_fold();
	check_running();
	check_spread();
	return done_testing();
}
