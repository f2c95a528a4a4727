/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The rate limit. Time is that of events, so a recording is limited as it would have been live. A
 * job is charged in full when it is let in, and never stopped later: so a second's window takes at
 * most one job more than the limit, and a bucket goes at most one job below empty.
 */
#ifndef GT_RATE_H
#define GT_RATE_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#define GT_RATE_MAX 1000000000 /* records a second, or of a burst */

/**
 * struct gt_rate - @per_s: records; 0: no limit
 * @bucket: tokens that come all the time, up to @burst of them; else windows of a second
 * @at: the latest time that is known; of a window: its begin
 * @votes: since that last went on by more than a second: records that were about then, less those
 *	that were more than a second before it
 * @left: of a bucket: tokens in 10^-9; of a window: records. Below 0 after a job that took more
 */
struct gt_rate {
	uint64_t per_s, burst;
	bool bucket;
	int votes;
	uint64_t at;
	int64_t left;
};

/** gt_rate_set() - if that is another limit, it begins with a window of its own or a full bucket */
void gt_rate_set(struct gt_rate *r, bool bucket, uint64_t per_s, uint64_t burst);
/** gt_rate_restart() - the same limit, for records that may be of an earlier time */
void gt_rate_restart(struct gt_rate *r);
/** gt_rate_take() - @n records want in at @now, all or none; true: they are in */
bool gt_rate_take(struct gt_rate *r, uint64_t now, unsigned int n);
/** gt_rate_more() - a job that gt_rate_take() let in needs @n more records */
void gt_rate_more(struct gt_rate *r, unsigned int n);
/** gt_rate_back() - a job that was let in at @since did not need @n records */
void gt_rate_back(struct gt_rate *r, uint64_t since, unsigned int n);

/*
 * How fast the daemon takes in what one user wrote: rows of results, records of logs. A bucket
 * holds a few seconds' worth. What costs the daemon more CPU time than a row may counts as several
 * rows. A row that has to wait stays in its file or pipe: none is lost.
 */

#define GT_USER_BURST  4    /* seconds of rows that come at once */
#define GT_USER_ROW_NS 4000 /* of CPU time */

/** gt_user_may() - is there room for a row at @now? @per_s: rows a second, 0: no bound */
static inline bool gt_user_may(struct gt_rate *r, uint64_t now, uint64_t per_s)
{
	gt_rate_set(r, true, per_s, GT_USER_BURST * per_s);
	return gt_rate_take(r, now, 0);
}

/** gt_user_spent() - charges the CPU time @ns that @rows took, as far as it is above their price: they
 * themselves are charged by gt_rate_more() */
static inline void gt_user_spent(struct gt_rate *r, uint64_t rows, uint64_t ns)
{
	uint64_t n = ns / GT_USER_ROW_NS;

	if (n > rows)
		gt_rate_more(r, (unsigned int)(n - rows < UINT32_MAX ? n - rows : UINT32_MAX));
}

/** gt_thread_cpu_ns() - CPU time of the calling thread */
static inline uint64_t gt_thread_cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

#endif
