/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Who held a ring while jobs waited for it: worked out from a list of jobs, whoever made it. No
 * model, no view and no text here.
 *
 * The job that began first holds the ring until it ends; of others that run beside it counts what
 * is left then. So at any time one holds it, or nobody, or nobody knows.
 */
#ifndef GT_HELD_H
#define GT_HELD_H

#include <stdint.h>

#define GT_HELD_LANES 32 /* holders of a ring that are told apart */
/* What a wait is shared out among: lanes 0 to 31, and behind them: */
enum {
	GT_HELD_OTHERS = GT_HELD_LANES, /* holders beyond those */
	GT_HELD_IDLE,			/* nobody held it */
	GT_HELD_UNKNOWN,		/* nobody knows who */
	GT_HELD_KEPT,			/* it could not have run, whoever held it */
	GT_HELD_KINDS
};

/**
 * struct gt_held_job - one job; times in ns
 * @wait_from, @wait_to: it waited so long; the same: it did not, or it is not known
 * @start, @end: the hardware worked on it; @start GT_NONE64: not known since when
 * @quiet: nothing else ended on the ring since: when nobody is seen to hold it from then to @start,
 *	nobody did. GT_NONE64: not known
 * @kept_from, @kept_to: part of the wait in which another job, or a fence, had to come first; the
 *same: none was
 * @who: whose it is: index of a struct gt_held_party
 * @kept_pid, @kept_uid: the owner of that job; GT_NONE32 not known
 */
struct gt_held_job {
	uint64_t wait_from, wait_to;
	uint64_t start, end;
	uint64_t quiet;
	uint64_t kept_from, kept_to;
	uint32_t who, kept_pid, kept_uid;
};

/**
 * struct gt_held_party - one process on one ring: each ring has its own
 * @waiter: index in the waiters + 1; 0: its waits are not asked for
 * @lane, @held: gt_held_by()'s; zeroed before
 */
struct gt_held_party {
	uint64_t held;
	uint8_t waiter, lane;
};

/**
 * struct gt_held_waiter - its waits, shared out
 * @ns: within the window; @jobs: so many of its jobs waited for that one at all
 */
struct gt_held_waiter {
	uint64_t ns[GT_HELD_KINDS], jobs[GT_HELD_KINDS];
};

/** struct gt_held_lanes - parties by lane, those that held the ring longest */
struct gt_held_lanes {
	unsigned int n;
	uint32_t who[GT_HELD_LANES];
};

/**
 * struct gt_held_ring - what is known of a ring in a window of time
 * @job: @n of them, in any order; those in order of @start are dealt with fastest
 * @from, @until: the window; what is outside counts for nothing
 * @quiet: nothing has ended since, and nobody is at work at @until but jobs of the list; GT_NONE64:
 *	not known
 */
struct gt_held_ring {
	const struct gt_held_job *job;
	uint32_t n;
	uint64_t from, until, quiet;
};

/** gt_held_waited() - ns that @j waited within the window of @r */
uint64_t gt_held_waited(const struct gt_held_ring *r, const struct gt_held_job *j);
/** gt_held_kept() - ns of these in which another had to come first */
uint64_t gt_held_kept(const struct gt_held_ring *r, const struct gt_held_job *j);

/**
 * gt_held_by() - shares out the waits of those who ask
 * @party: that jobs name
 * @waiter: added to
 * @lanes: filled
 *
 * Costs n log n, and GT_HELD_KINDS additions a wait. Return: 0 or -ENOMEM.
 */
int gt_held_by(const struct gt_held_ring *r, struct gt_held_party *party,
	       struct gt_held_waiter *waiter, struct gt_held_lanes *lanes);

#endif
