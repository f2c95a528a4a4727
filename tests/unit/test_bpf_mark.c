/* SPDX-License-Identifier: GPL-2.0 */
/* Marks of events: none is overwritten while its event is under way, and what is left behind makes
 * room. */
#include "../../bpf/mark.h"
#include "../lib/tap.h"

#define OTHERS 64

static struct gt_bpf_marks m;

/* Other events with a place where @which has its @nth */
static void find(uint64_t which, unsigned int nth, uint64_t other[OTHERS])
{
	unsigned int n = 0;

	for (uint64_t at = 8; n < OTHERS; at += 8) {
		uint64_t w = gt_mark_which(at, 2);

		if (w != which && gt_mark_place(&m, w, 0) == gt_mark_place(&m, which, nth))
			other[n++] = w;
	}
}

int main(void)
{
	uint64_t a = gt_mark_which(0x1000, 1), other[OTHERS], ns = 5ull << 32, s = 1000000000ull;

	ok(!gt_unmark(&m, a), "who left no mark has none");
	ok(gt_mark(&m, a, ns) && gt_unmark(&m, a) && !gt_unmark(&m, a), "a mark is taken once");

	find(a, 0, other);
	ok(gt_mark(&m, other[0], ns) && gt_mark(&m, a, ns),
	   "two events with the same place have one each");
	ok(gt_unmark(&m, other[0]) && gt_unmark(&m, a), "... and find it");

	gt_mark(&m, a, ns);
	for (unsigned int i = 0; i < OTHERS; i++)
		gt_mark(&m, other[i], ns + s);
	ok(gt_unmark(&m, a), "however many come meanwhile, an event's mark stays");
	for (unsigned int i = 0; i < OTHERS; i++)
		gt_unmark(&m, other[i]);

	gt_mark(&m, other[0], ns);
	find(a, 1, other);
	gt_mark(&m, other[0], ns);
	ok(!gt_mark(&m, a, ns + 12 * s), "without a place there is no mark");
	ok(gt_mark(&m, a, ns + 20 * s), "... until those that were left behind are old");
	ok(gt_mark(&m, a, ns + 21 * s) && gt_unmark(&m, a), "an event's own is renewed");

	memset(&m, 0, sizeof(m));
	ns = (1ull << (32 + GT_MARK_TIME)) - 1;
	ok(gt_mark(&m, a, ns) && gt_unmark(&m, a), "the time that marks have begins anew");
	gt_mark(&m, a, ns);
	ok(!gt_mark_is_old(*gt_mark_place(&m, a, 0), (ns + 5 * s) >> 32),
	   "... and they are not old then");
	ok(gt_mark_is_old(*gt_mark_place(&m, a, 0), (ns + 20 * s) >> 32), "... before they are");
	return done_testing();
}
