/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Numbers that users see in place of the tree's own. Those hold places in tables and pids of the
 * daemon's namespace: they would say how many processes others have, and when these came. The
 * function of the key is SipHash-2-4 (Aumasson and Bernstein, 2012).
 */
#include <errno.h>
#include <sys/random.h>

#include "shown.h"
#include "tree.h"

#define HALF_BITS (GT_POS_INDEX_BITS / 2)
#define HALF_MASK ((1U << HALF_BITS) - 1)
#define ROUNDS	  4

static uint64_t rotated(uint64_t x, unsigned int by)
{
	return x << by | x >> (64 - by);
}

static void rounds(uint64_t v[4], unsigned int n)
{
	while (n--) {
		v[0] += v[1];
		v[2] += v[3];
		v[1] = rotated(v[1], 13) ^ v[0];
		v[3] = rotated(v[3], 16) ^ v[2];
		v[0] = rotated(v[0], 32) + v[3];
		v[2] += v[1];
		v[3] = rotated(v[3], 21) ^ v[0];
		v[1] = rotated(v[1], 17) ^ v[2];
		v[2] = rotated(v[2], 32);
	}
}

uint64_t gt_siphash(const uint64_t key[2], const uint64_t *word, unsigned int n)
{
	uint64_t v[4] = { key[0] ^ 0x736f6d6570736575ULL, key[1] ^ 0x646f72616e646f6dULL,
			  key[0] ^ 0x6c7967656e657261ULL, key[1] ^ 0x7465646279746573ULL };
	uint64_t last = (uint64_t)n * sizeof(*word) << 56;

	for (unsigned int i = 0; i <= n; i++) {
		uint64_t m = i < n ? word[i] : last;

		v[3] ^= m;
		rounds(v, 2);
		v[0] ^= m;
	}
	v[2] ^= 0xff;
	rounds(v, 4);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

int gt_shown_init(struct gt_shown *s)
{
	return getrandom(s->key, sizeof(s->key), 0) == sizeof(s->key) ? 0 : -EIO;
}

ino_t gt_shown_ino(const struct gt_shown *s, ino_t ino)
{
	uint64_t word = ino;

	/* two of a million names get the same once in ten million mounts */
	return ino == 1 ? 1 : (ino_t)(gt_siphash(s->key, &word, 1) & INT64_MAX) | 2;
}

/* A half of an index, by the other half, the directory and the round */
static uint32_t mixed(const struct gt_shown *s, ino_t dir, unsigned int round, uint32_t half)
{
	const uint64_t words[2] = { dir, (uint64_t)round << 32 | half };

	return (uint32_t)gt_siphash(s->key, words, 2) & HALF_MASK;
}

uint64_t gt_shown_pos(const struct gt_shown *s, ino_t dir, uint64_t pos)
{
	uint32_t a = pos >> HALF_BITS & HALF_MASK, b = pos & HALF_MASK, next;

	if (!pos)
		return 0;
	for (unsigned int i = 0; i < ROUNDS; i++) {
		next = a ^ mixed(s, dir, i, b);
		a = b;
		b = next;
	}
	return ((pos >> GT_POS_INDEX_BITS) + 1) << GT_POS_INDEX_BITS | a << HALF_BITS | b;
}

uint64_t gt_tree_pos(const struct gt_shown *s, ino_t dir, uint64_t shown)
{
	uint32_t a = shown >> HALF_BITS & HALF_MASK, b = shown & HALF_MASK, before;

	if (!(shown >> GT_POS_INDEX_BITS)) /* the beginning, and what was never shown */
		return 0;
	for (unsigned int i = ROUNDS; i-- > 0;) {
		before = b ^ mixed(s, dir, i, a);
		b = a;
		a = before;
	}
	return ((shown >> GT_POS_INDEX_BITS) - 1) << GT_POS_INDEX_BITS | a << HALF_BITS | b;
}
