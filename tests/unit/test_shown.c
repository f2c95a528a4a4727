/* SPDX-License-Identifier: GPL-2.0 */
/* The numbers that users see in place of the tree's own. */
#include "../../fs/tree/tree.h"
#include "../lib/tap.h"

#define SOME 20000

static void test_siphash(void)
{
	const uint64_t key[2] = { 0x0706050403020100ULL, 0x0f0e0d0c0b0a0908ULL };
	const uint64_t words[] = { 0x0706050403020100ULL };

	/* of its authors' table for inputs of 0 and 8 bytes */
	is(gt_siphash(key, words, 0), 0x726fdb47dd0e0e31ULL, "SipHash of nothing");
	is(gt_siphash(key, words, 1), 0x93f5f5799a932462ULL, "SipHash of eight bytes");
}

static void test_positions(const struct gt_shown *s)
{
	unsigned int wrong = 0, same = 0, large = 0, rising = 0;
	uint64_t before = 0;

	is(gt_shown_pos(s, 7, 0), 0, "the beginning is the beginning");
	is(gt_tree_pos(s, 7, 0), 0, "and back");
	for (uint64_t class = 0; class < 4; class ++)
		for (uint64_t i = 1; i < SOME; i++) {
			uint64_t pos = class << GT_POS_INDEX_BITS | i;
			uint64_t shown = gt_shown_pos(s, 7, pos);

			wrong += gt_tree_pos(s, 7, shown) != pos;
			same += shown == gt_shown_pos(s, 8, pos);
			large += shown > INT32_MAX - 3 || !shown;
			rising += shown > before;
			before = shown;
		}
	is(wrong, 0, "each position is found again");
	ok(same < 10, "in another directory it is another number");
	is(large, 0, "all fit 31 bits");
	ok(rising > SOME && rising < 3 * SOME, "their order says nothing: %u of %u rise", rising,
	   4 * SOME);
	gt_tree_pos(s, 7, UINT64_MAX);
}

int main(void)
{
	struct gt_shown a, b;

	test_siphash();
	is(gt_shown_init(&a), 0, "a secret");
	is(gt_shown_init(&b), 0, "another mount's");
	is(gt_shown_ino(&a, 1), 1, "the root is number 1");
	is(gt_shown_ino(&a, 5000), gt_shown_ino(&a, 5000), "a number stays the same");
	ok(gt_shown_ino(&a, 5000) != gt_shown_ino(&b, 5000), "which another mount does not show");
	ok(gt_shown_ino(&a, 5000) <= INT64_MAX && gt_shown_ino(&a, 5000) > 1,
	   "63 bits, not the root's");
	test_positions(&a);
	return done_testing();
}
