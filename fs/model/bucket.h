/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The stages of a job, and the rule by which a time falls into a bucket of their histograms.
 *
 * Values below 64 have a bucket each; above, every power of two is an octave of 64 buckets. So the
 * middle of a bucket is within 0.8 % of every value in it.
 */
#ifndef GT_BUCKET_H
#define GT_BUCKET_H

#include <stdint.h>

enum gt_stage_id {
	GT_ST_QUEUE,
	GT_ST_HW_WAIT,
	GT_ST_EXEC,
	GT_ST_COMPLETE,
	GT_ST_TOTAL,
	GT_NSTAGES
};

#define GT_HIST_SUB_BITS 6
#define GT_HIST_SUB	 (1U << GT_HIST_SUB_BITS)
#define GT_HIST_OCTAVES	 (64 - GT_HIST_SUB_BITS + 1)

/* Number of the highest bit of @v, which is not 0 */
static inline __attribute__((always_inline)) unsigned int gt_log2(uint64_t v)
{
	return 63 - (unsigned int)__builtin_clzll(v);
}

/** gt_hist_bucket() - number of the bucket that holds @v: octave * 64 + place in it */
static inline __attribute__((always_inline)) unsigned int gt_hist_bucket(uint64_t v)
{
	unsigned int shift;

	if (v < GT_HIST_SUB)
		return (unsigned int)v;
	shift = gt_log2(v) - GT_HIST_SUB_BITS;
	return ((shift + 1) << GT_HIST_SUB_BITS) + ((unsigned int)(v >> shift) & (GT_HIST_SUB - 1));
}

/** gt_hist_bounds() - the lowest and highest value of bucket @b */
static inline void gt_hist_bounds(unsigned int b, uint64_t *lo, uint64_t *hi)
{
	unsigned int oct = b >> GT_HIST_SUB_BITS, sub = b & (GT_HIST_SUB - 1);
	uint64_t width = oct ? 1ULL << (oct - 1) : 1;

	*lo = oct ? (uint64_t)(GT_HIST_SUB + sub) << (oct - 1) : sub;
	*hi = *lo + (width - 1);
}

#endif
