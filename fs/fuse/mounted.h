/* SPDX-License-Identifier: GPL-2.0 */
/* What /proc/self/mountinfo says of a mount point. */
#ifndef GT_MOUNTED_H
#define GT_MOUNTED_H

#include <stdbool.h>

#define GT_DEV_LEN 32

/**
 * gt_mounted() - is there a file system of our type at @dir?
 * @dev: out: its device number as mountinfo writes it ("0:57"); may be NULL
 */
bool gt_mounted(const char *dir, char *dev);
/** gt_mounted_dev() - is the file system of this device number mounted anywhere? @fd: mountinfo */
bool gt_mounted_dev(int fd, const char *dev);
/**
 * gt_mount_prepare() - is @dir fit to be mounted on? A stale mount of ours (its daemon was killed) is
 *	taken away; a living one is refused
 * @err: the sentence; Return: 0 or -errno
 */
int gt_mount_prepare(const char *dir, char *err, unsigned long len);

#endif
