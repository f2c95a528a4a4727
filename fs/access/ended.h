/* SPDX-License-Identifier: GPL-2.0 */
/* What nsfs tells of a namespace, and which PID namespaces have ended; see pidns.c. */
#ifndef GT_ENDED_H
#define GT_ENDED_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/** gt_nsfs_ino() - of the namespace that @fd of nsfs is; 0 unknown */
uint64_t gt_nsfs_ino(int fd);
/** gt_nsfs_owner() - of the user namespace it belongs to; 0 unknown. @uid: who made that; 0: root, or
 * unknown */
uint64_t gt_nsfs_owner(int fd, uid_t *uid);

enum gt_ended { GT_ENDED_NO, GT_ENDED_YES, GT_ENDED_UNKNOWN };

/** gt_pidns_ended() - has the namespace below ours ended that @fd of nsfs is? Before Linux 6.11
 * nobody can tell */
enum gt_ended gt_pidns_ended(int fd);

/** struct gt_ended_space - a namespace that is held open: @ino of nsfs; @id is the caller's */
struct gt_ended_space {
	uint64_t ino, id;
	bool ended;
};

/**
 * gt_pidns_scan() - finds which of @n namespaces have ended by a look at every process
 * Return: false if some process does not tell where it is; nothing is known then
 */
bool gt_pidns_scan(struct gt_ended_space *s, unsigned int n);

#endif
