/* SPDX-License-Identifier: GPL-2.0 */
/* The aggregator's windows: what happened on a ring between two moments. Part of model.h. */
#ifndef GT_MODEL_WINDOW_H
#define GT_MODEL_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

struct gt_model;
struct gt_ring;

/**
 * struct gt_window_stats - the aggregator's: one being filled and the last finished one
 * @end: 0: there is none
 * @lat_count: totals in lat_*; lat_min is UINT64_MAX while it is 0
 * @depth_integral: depth x ns
 * @busy_ns: of jobs that ended; see gt_window_busy()
 * @carry: of what a source that counts will say it was busy, so much was before @start
 * @lost: records of this ring; @blind: a loss that may have been of this ring or of others
 * @counted: a source counted in it: @busy_ns is all there is
 */
struct gt_window_stats {
	uint64_t start, end, events, completed, lat_sum, lat_min, lat_max;
	uint64_t lat_count;
	uint64_t depth_integral;
	uint32_t depth_peak;
	bool blind, counted;
	uint64_t lost, busy_ns, carry;
};

/**
 * gt_ring_window() - ends @r's window if @now has passed its end: cur becomes last, or, if whole
 *	windows went by with no event, last becomes an empty one. Events do so too. Lock held.
 * @window_ns: length of the next one; windows are aligned to it. 0: there is none
 *
 * A window of what a source counts ends with the first tally that is not before its end, and may be
 * longer than @window_ns by what is between two tallies: gt_window_stats.start and .end say it.
 */
void gt_ring_window(struct gt_ring *r, uint64_t now, uint64_t window_ns);
/** gt_ring_window_restart() - a window begins at @now, and nothing is known of one before. Likewise */
void gt_ring_window_restart(struct gt_ring *r, uint64_t now, uint64_t window_ns);
/** gt_model_windows() - windows are of @window_ns from now on, 0: there are none. Takes the lock, for
 * a GPU at a time */
void gt_model_windows(struct gt_model *m, uint64_t window_ns);
/**
 * gt_window_busy() - busy time in @r's window @w, which has ended, with the job that ran at its end
 *	and runs still: as @now. Exact but for jobs of which it is not known yet when they began.
 */
uint64_t gt_window_busy(const struct gt_ring *r, const struct gt_window_stats *w, uint64_t now);

#endif
