/* SPDX-License-Identifier: GPL-2.0 */
/* What /proc tells of a process's pids and of when it began (proc(5)). */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../procfile.h"
#include "told.h"

unsigned int gt_pidns_pids(const char *status, const char *key, uint32_t *pids, unsigned int max)
{
	const char *p = gt_proc_line(status, key);
	unsigned int n = 0;

	while (p && n < max && *p && *p != '\n') {
		char *end;
		unsigned long v = strtoul(p, &end, 10);

		if (end == p)
			break;
		pids[n++] = (uint32_t)v;
		p = end + strspn(end, "\t ");
	}
	return !p || *p == '\n' ? n : max + 1; /* more than can be told apart */
}

uint32_t gt_pidns_innermost(const char *status, const char *key)
{
	uint32_t pids[GT_PIDNS_DEPTH + 1];
	unsigned int n = gt_pidns_pids(status, key, pids, GT_PIDNS_DEPTH + 1);

	return n && n <= GT_PIDNS_DEPTH + 1 ? pids[n - 1] : 0;
}

#define TICK_NS 10000000 /* USER_HZ is 100 */

/* Start times count suspended time, events do not (proc(5), clock_gettime(2)). */
uint64_t gt_pidns_began(uint64_t start)
{
	struct timespec boot, mono;
	uint64_t asleep;

	clock_gettime(CLOCK_BOOTTIME, &boot);
	clock_gettime(CLOCK_MONOTONIC, &mono);
	asleep = (uint64_t)((boot.tv_sec - mono.tv_sec) * 1000000000 + boot.tv_nsec - mono.tv_nsec);
	return start > asleep ? start - asleep : 0;
}

uint64_t gt_pidns_since(uint64_t start)
{
	return gt_pidns_began(start) + TICK_NS;
}
