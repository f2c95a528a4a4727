/* SPDX-License-Identifier: GPL-2.0 */
/* What a ring, a GPU or a process counts: jobs, types of events, depth, errors. Part of model.h. */
#ifndef GT_MODEL_COUNTS_H
#define GT_MODEL_COUNTS_H

#include <stdint.h>

#include "../../backend/event.h"

/**
 * struct gt_typecount - per event type: how many were seen and how many recorded
 * @n: those of a job's usual events lie in one cache line
 * @sec: second of the last event
 * @before: what had been seen when second @slot_sec began, for "per second"
 */
struct gt_typecount {
	struct {
		uint64_t seen, recorded;
	} n[GT_NTYPES];
	uint64_t sec;
	uint64_t before[11][GT_NTYPES];
	uint64_t slot_sec[11];
} __attribute__((aligned(64)));

/** struct gt_depth - jobs submitted and not complete; @integral: depth x ns since @t0, up to @at */
struct gt_depth {
	uint32_t now, peak;
	uint64_t integral, at, t0;
};

/** struct gt_counts - counters of a ring, a GPU or a process */
struct gt_counts {
	uint64_t submitted, committed, completed;
	uint64_t errors;
	uint64_t lost;	    /* records its sources lost */
	uint64_t aged;	    /* jobs that left the table by age */
	uint64_t evicted;   /* or because it was full */
	uint64_t unmatched; /* ends of jobs that were never seen to begin */
	uint64_t waits, wait_ns;
	uint64_t ioctls, ioctl_ns;
	uint64_t launches, copies, copy_bytes; /* bytes: of copies whose size is told */
};

#define GT_ERRLOG 16
struct gt_error_entry {
	uint64_t ts, ctx, seqno, code;
	uint16_t ring;
	uint32_t pid, uid;
};
/** struct gt_errlog - the last errors; entry i of n is e[(n - 1 - i) % GT_ERRLOG] */
struct gt_errlog {
	uint64_t n;
	struct gt_error_entry e[GT_ERRLOG];
};

/** gt_counts_add() - each counter of @c is added to @to's */
void gt_counts_add(struct gt_counts *to, const struct gt_counts *c);
/** gt_depth_avg() - average since clear, in thousandths */
uint64_t gt_depth_avg(const struct gt_depth *d, uint64_t now);
/** gt_types_rate() - events of @type in the last @window seconds (1 to 10), per second, in
 * thousandths
 */
uint64_t gt_types_rate(const struct gt_typecount *t, unsigned int type, uint64_t now,
		       unsigned int window);

#endif
