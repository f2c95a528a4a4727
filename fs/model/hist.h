/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Log-linear histograms: 64 buckets per power of two, so that the middle of a bucket is within
 * 0.8 % of every value in it. Memory grows with use: the first few values are kept as bucket
 * numbers, then come the octaves from the lowest to the highest in use (520 bytes each).
 */
#ifndef GT_HIST_H
#define GT_HIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bucket.h"

#define GT_HIST_FEW    35 /* values kept before octaves are made: the struct is 128 bytes */
#define GT_STAGE_SLOTS 10 /* seconds kept apart, for the 10s_ keys */
#define GT_STATS_BYTES (512ULL << 20) /* that all may have, see gt_hist_set_limit() */

struct gt_hist_octave {
	uint64_t total;
	uint64_t n[GT_HIST_SUB];
};

/**
 * struct gt_hist - @min, @max, @sum are exact; min is UINT64_MAX while count is 0
 * @octave: @noct octaves from number @first on; NULL: the values are in @few
 * @from, @room: the same in u64, counted from the lowest octave that could be
 * @stale: the octaves' totals are behind their buckets
 * @uncounted: values that are in count, sum, min and max but, memory lacking, in no bucket
 * @few: buckets of the first @nfew values
 * @account: that its memory counts for, see group.c
 */
struct gt_hist {
	uint64_t count, sum, min, max;
	struct gt_hist_octave *octave;
	uint8_t first, noct, nfew, stale;
	uint16_t from, room;
	uint64_t uncounted;
	uint16_t few[GT_HIST_FEW];
	uint16_t account;
};

/**
 * struct gt_summary - of the values of one or several histograms
 * @unknown: memory was lacking to keep these apart from others: nothing is known of them
 * @unranked: likewise of their distribution: no percentile is known
 */
struct gt_summary {
	uint64_t count, sum, min, avg, p50, p90, p99, p999, max;
	bool unknown, unranked;
};

void gt_hist_init(struct gt_hist *h);
void gt_hist_add(struct gt_hist *h, uint64_t v);
void gt_hist_fold(struct gt_hist *to, const struct gt_hist *from);
void gt_hist_reset(struct gt_hist *h); /* frees the octaves */

/** gt_hist_buckets() - calls @fn for each non-empty bucket, upwards: its upper bound (inclusive)
 * and count */
void gt_hist_buckets(const struct gt_hist *h, void (*fn)(void *arg, uint64_t le, uint64_t n),
		     void *arg);

/**
 * struct gt_stage - a histogram since start or clear, and of the last 10 seconds; not to be copied
 *
 * A value goes only into the histogram of its second: that of the latest, @sec, is @cur, and its
 * slot points there; slots fold into @base when they leave the window. So adding touches one cache
 * line and the bucket.
 *
 * @gap: the latest second with values in @base too early, as there was no memory for a slot
 */
struct gt_stage {
	uint64_t sec;
	struct gt_hist cur;
	struct gt_hist base;
	struct gt_hist *slot[GT_STAGE_SLOTS];
	uint64_t slot_sec[GT_STAGE_SLOTS];
	uint64_t gap;
} __attribute__((aligned(64)));

void gt_stage_init(struct gt_stage *s);
/** gt_stage_init_for() - its memory is of @account's share */
void gt_stage_init_for(struct gt_stage *s, uint16_t account);
void gt_stage_add(struct gt_stage *s, uint64_t ts, uint64_t v);
void gt_stage_reset(struct gt_stage *s);
/** gt_stage_fold() - adds all of @from, each second to its own */
void gt_stage_fold(struct gt_stage *to, const struct gt_stage *from);
uint64_t gt_stage_count(const struct gt_stage *s);
/**
 * gt_stage_summary() - since the start, and of the 10 s (in whole seconds) before @now
 * @all, @last10: either may be NULL
 */
void gt_stage_summary(const struct gt_stage *s, uint64_t now, struct gt_summary *all,
		      struct gt_summary *last10);
/** gt_stage_total() - everything since the start, folded into @out (initialised here; reset it) */
void gt_stage_total(const struct gt_stage *s, struct gt_hist *out);

/** gt_stage_expire() - folds what is older than the 10 s before @now, and frees its memory */
void gt_stage_expire(struct gt_stage *s, uint64_t now);

/** gt_hist_memory() - bytes that histograms and processes' parts hold, of all models; any thread */
uint64_t gt_hist_memory(void);
/** gt_hist_refused() - how often there was no memory for them; any thread */
uint64_t gt_hist_refused(void);
/** gt_hist_set_limit() - no more than @bytes (GT_STATS_BYTES); beyond, values are `uncounted` */
void gt_hist_set_limit(uint64_t bytes);

#endif
