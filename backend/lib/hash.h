/* SPDX-License-Identifier: GPL-2.0 */
/* A hash for tables with keys that somebody else chooses. */
#ifndef GT_HASH_H
#define GT_HASH_H

#include <stdint.h>

/**
 * gt_mix() - a hash of two numbers: the halves of their product. With a salt in each, nobody who
 *	chooses numbers can make many collide
 */
static inline uint64_t gt_mix(uint64_t a, uint64_t b)
{
	unsigned __int128 p = (unsigned __int128)a * b;

	return (uint64_t)p ^ (uint64_t)(p >> 64);
}

#endif
