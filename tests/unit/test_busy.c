/* SPDX-License-Identifier: GPL-2.0 */
/* Busy time against a plain array of milliseconds: never twice, never too much. */
#include <stdlib.h>

#include "../../fs/model/busy.h"
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

int main(void)
{
	check_random("one after another", 20, 40);
	check_random("overlapping", 300, 40);
	check_random("inside each other", 20, 3);
	check_partial();
	check_hostile();
	check_many();
	return done_testing();
}
