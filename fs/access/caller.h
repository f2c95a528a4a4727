/* SPDX-License-Identifier: GPL-2.0 */
/* Who calls: what /proc says of a task, kept until it ends. For the session's thread only. */
#ifndef GT_CALLER_H
#define GT_CALLER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "pidns.h"

/**
 * struct gt_caller - a task that made a request
 * @tgid: its thread group in the daemon's PID namespace; @own_pid: in its own
 * @ns: its PID namespace, see pidns.h
 * @own_userns: it is in the daemon's user namespace
 * @there: it is root in its PID namespace, which is another: the kernel's root, or the root of the
 *	user namespace that the PID namespace belongs to
 * @groups: bit i: gids[i] of gt_caller_groups() is its group or among its supplementary ones
 */
struct gt_caller {
	uint32_t tgid, own_pid;
	uint64_t ns;
	bool own_userns, there;
	uint32_t groups;
};

#define GT_CALLER_GROUPS 32

/** gt_caller_groups() - the groups to look for, at most GT_CALLER_GROUPS; forgets all callers */
void gt_caller_groups(const gid_t *gids, unsigned int n);

/**
 * gt_caller_find() - what is known of a caller
 * @tid, @uid, @gid: as FUSE passes them; @tid 0: outside the daemon's PID namespace
 *
 * Some 15 us for the first request of a task, then one poll(2) of its pidfd. What it is may change
 * without its uid or gid changing (setgroups(2), setns(2)): that is not seen while the task is
 * known. One that is in no known PID namespace is looked at again after a second.
 *
 * Return: false if nothing can be known of it.
 */
bool gt_caller_find(uint32_t tid, uid_t uid, gid_t gid, struct gt_caller *c);

/** struct gt_caller_stats - @known: callers; @dropped: how often one had to make room */
struct gt_caller_stats {
	unsigned int known;
	uint64_t dropped;
};
/** gt_caller_stats() - any thread */
struct gt_caller_stats gt_caller_stats(void);

/* The pids and the start time of a process, by /proc: parsers for pidns.c. */
/**
 * gt_pidns_pids() - pids of the line @key, from the daemon's namespace on
 * Return: how many there are; more than @max if they are more than that, or unreadable
 */
unsigned int gt_pidns_pids(const char *status, const char *key, uint32_t *pids, unsigned int max);

/** gt_pidns_began() - CLOCK_MONOTONIC, of a start in ns since boot, which counts suspended time */
uint64_t gt_pidns_began(uint64_t start);

#endif
