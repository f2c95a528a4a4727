/* SPDX-License-Identifier: GPL-2.0 */
/* What mountinfo says of a mount point; @fd is an open /proc/self/mountinfo. */
#ifndef GT_MOUNTED_H
#define GT_MOUNTED_H

#include <stdbool.h>

#define GT_DEV_LEN 32

/**
 * gt_mounted() - is there a file system of our type at @dir?
 * @dev: out: its device number as mountinfo writes it ("0:57"); may be NULL
 */
bool gt_mounted(int fd, const char *dir, char *dev);
/** gt_mounted_dev() - is the file system of this device number mounted anywhere? */
bool gt_mounted_dev(int fd, const char *dev);
/** gt_mount_dead() - does nobody serve what is mounted at @dir? Asks them */
bool gt_mount_dead(const char *dir);
/**
 * gt_mount_resolve() - the mount point's whole path, where a mount is stale the one that was given
 * @out: PATH_MAX bytes; @err: the sentence; Return: 0 or -errno
 */
int gt_mount_resolve(const char *dir, char *out, char *err, unsigned long len);
/**
 * gt_mount_prepare() - is @dir fit to be mounted on? A stale mount of ours (its daemon was killed) is
 *	taken away; a living one is refused
 * @err: the sentence; Return: 0 or -errno
 */
int gt_mount_prepare(int fd, const char *dir, char *err, unsigned long len);

#endif
