/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How fast the daemon takes in what one user wrote: rows of results, records of logs. A bucket
 * holds a few seconds' worth. What costs the daemon more CPU time than a row may counts as several
 * rows. A row that has to wait stays in its file or pipe: none is lost.
 */
#ifndef GT_USERRATE_H
#define GT_USERRATE_H

#include <stdint.h>
#include <time.h>

#include "../../fs/gate/rate.h"

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
