/* SPDX-License-Identifier: GPL-2.0 */
/* What /proc tells of a process's pids and of when it began: parsers for pidns.c. */
#ifndef GT_TOLD_H
#define GT_TOLD_H

#include "pidns.h"

/**
 * gt_pidns_pids() - pids of the line @key, from the daemon's namespace on
 * Return: how many there are; more than @max if they are more than that, or unreadable
 */
unsigned int gt_pidns_pids(const char *status, const char *key, uint32_t *pids, unsigned int max);

/** gt_pidns_began() - CLOCK_MONOTONIC, of a start in ns since boot, which counts suspended time */
uint64_t gt_pidns_began(uint64_t start);

#endif
