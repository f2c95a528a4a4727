/* SPDX-License-Identifier: GPL-2.0 */
/* Random numbers: xorshift64* (S. Vigna, 2014) and two distributions made of it. */
#include "sim.h"

uint64_t gt_sim_random(uint64_t *state)
{
	uint64_t x = *state;

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	*state = x;
	return x * 0x2545f4914f6cdd1dull;
}

/*
 * -ln(u) for u = (v + 1) / 2^64, without libm: u = m * 2^-k with 1 <= m < 2, and
 * ln m = 2 * atanh(z) with z = (m - 1) / (m + 1) <= 1/3, of which five terms give six digits.
 */
static double minus_ln(uint64_t v)
{
	int k = v ? __builtin_clzll(v) + 1 : 64;
	double m = v ? (double)v / (double)(1ull << (64 - k)) : 1;
	double z = (m - 1) / (m + 1), zz = z * z;
	double ln = 2 * z * (1 + zz * (1.0 / 3 + zz * (0.2 + zz * (1.0 / 7 + zz / 9))));

	return k * 0.69314718055994531 - ln;
}

uint64_t gt_sim_exponential(uint64_t *state, uint64_t mean)
{
	return (uint64_t)(minus_ln(gt_sim_random(state)) * (double)mean) + 1;
}

/*
 * 2^x with x the sum of four uniform numbers, about normal with a deviation of 0.8, and 2^x taken
 * as straight between powers of two.
 */
uint64_t gt_sim_duration(uint64_t *state, uint64_t mean)
{
	uint64_t v = gt_sim_random(state);
	unsigned int sum = (v & 0xffff) + (v >> 16 & 0xffff) + (v >> 32 & 0xffff) + (v >> 48);
	/* x = (sum / 65536 - 2) * 1.386 + 2.772, in 1/1024: 0 to 5.54 */
	unsigned int x = (unsigned int)((uint64_t)sum * 1419 >> 16);
	uint64_t pow = (1024ull + (x & 1023)) << (x >> 10);

	/* The mean of pow is 8471, as measured. */
	return mean * pow / 8471 + 1;
}
