/* SPDX-License-Identifier: GPL-2.0 */
/* What root's daemon may do: capabilities that are kept, and when they are in force. */
#ifndef GT_PRIVS_H
#define GT_PRIVS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * gt_privs_drop() - gives up every right but these, for good: before the first thread
 * @effective: bits 1 << CAP_*: in force all the time
 * @raised: only between gt_privs_raise() and gt_privs_lower()
 *
 * No program that is executed gets a right back, and what is made is closed to others (umask). Does
 * nothing where the daemon is not root: an ordinary user's has no rights, and needs those of
 * fusermount3 to unmount.
 *
 * Return: 0, or -errno with a sentence in @err
 */
int gt_privs_drop(uint64_t effective, uint64_t raised, char *err, size_t len);

/** gt_privs_raise() - puts @caps in force for this thread; what came of it, for gt_privs_lower() */
uint64_t gt_privs_raise(uint64_t caps);
/** gt_privs_lower() - takes back what gt_privs_raise() returned */
void gt_privs_lower(uint64_t caps);

#endif
