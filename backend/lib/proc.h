/* SPDX-License-Identifier: GPL-2.0 */
/* Capabilities of a thread, and the owner of a process. */
#ifndef GT_PROC_H
#define GT_PROC_H

#include <stdint.h>

/**
 * gt_caps_set() - raises the capabilities @on of this thread, of those it has, and lowers @off
 *
 * Return: the capabilities that are effective now and were not before.
 */
uint64_t gt_caps_set(uint64_t on, uint64_t off);

enum gt_process_owner {
	GT_OWNER_GONE,	/* there is no such process */
	GT_OWNER_SAME,	/* it is that user's, and ran at that time */
	GT_OWNER_OTHER, /* it is another user's, or began later */
};

/**
 * gt_process_owner() - is process @pid of this machine one of user @uid's, and did it run at @ts?
 * @ts: CLOCK_BOOTTIME, ns
 *
 * A user can write any pid into a file of theirs: this checks it.
 */
enum gt_process_owner gt_process_owner(uint32_t pid, uint32_t uid, uint64_t ts);

#endif
