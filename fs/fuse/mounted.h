/* SPDX-License-Identifier: GPL-2.0 */
/* What /proc/self/mountinfo says of a mount point. */
#ifndef GT_MOUNTED_H
#define GT_MOUNTED_H

#include <stdbool.h>

/** gt_mounted() - is there a file system of our type at @dir? @fd: mountinfo, read from its start */
bool gt_mounted(int fd, const char *dir);
/**
 * gt_mount_prepare() - is @dir fit to be mounted on? A stale mount of ours (its daemon was killed) is
 *	taken away; a living one is refused
 * @err: the sentence; Return: 0 or -errno
 */
int gt_mount_prepare(const char *dir, char *err, unsigned long len);

#endif
