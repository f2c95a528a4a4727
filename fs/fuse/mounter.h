/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Mounting. Root's daemon calls mount(2) itself and hands libfuse the descriptor: libfuse may run
 * mount(8) to have the mount noted in a table (Debian 13), for which the daemon has no rights left.
 *
 * A process beside the daemon takes the mount away when the daemon has gone, in whatever way it went.
 * Root's mounts, too, in a mount namespace that need not be the daemon's own.
 */
#ifndef GT_MOUNTER_H
#define GT_MOUNTER_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

/**
 * struct gt_mounter - who mounts: the daemon, or the process, as the daemon sees it
 * @sock: to the process; -1: there is none, and the daemon mounts. Nothing else keeps it alive
 * @watches: it is an ordinary user's, and only unmounts
 * @mountinfo: of the process's namespace; the session's once it has taken it. -1 without a process
 * @fuse: /dev/fuse, the session's once it is mounted; -errno: it could not be opened
 * @dir: the mount point as it is called there
 * @options: FUSE's and the kernel's, separated by commas, or NULL; the caller's
 */
struct gt_mounter {
	int sock, mountinfo, fuse;
	bool watches;
	char dir[PATH_MAX];
	const char *options;
};

/**
 * gt_mounter_start() - starts it; before rights are given up, and before the first thread
 * @ns: file of a mount namespace ("/proc/1/ns/mnt"), or NULL: the daemon's own
 * @dir: where to mount; looked at there as gt_mount_prepare() does
 * @err: the sentence; Return: 0 or -errno
 */
int gt_mounter_start(struct gt_mounter *m, const char *ns, const char *dir, char *err, size_t len);
/**
 * gt_mounter_watch() - starts one that only unmounts, by fusermount3; before the first thread
 * @dir: the whole path of the mount point; @err: the sentence; Return: 0 or -errno
 */
int gt_mounter_watch(struct gt_mounter *m, const char *dir, char *err, size_t len);
/** gt_mounter_report() - the mount that it watches is there, with this device number in mountinfo */
void gt_mounter_report(struct gt_mounter *m, const char *dev);
/** gt_mounter_open() - opens /dev/fuse, before the daemon gives up opening files for writing */
void gt_mounter_open(struct gt_mounter *m);
/**
 * gt_mounter_mount() - mounts, after gt_mounter_open()
 * @dev: out: the mount's device number in mountinfo, GT_DEV_LEN bytes
 *
 * Return: the session's descriptor, to be handed to libfuse, or -errno
 */
int gt_mounter_mount(struct gt_mounter *m, char *dev);
/**
 * gt_mounter_stop() - has it unmount, and waits for it; does nothing if there is none. The
 * session's descriptor is closed by then: nobody would answer what unmounting may ask
 */
void gt_mounter_stop(struct gt_mounter *m);
/** gt_mounter_lost() - says in the log that it has ended before the daemon */
void gt_mounter_lost(const struct gt_mounter *m);
/**
 * gt_mounter_finish() - after gt_mounter_stop(): unmounts what a process that was killed has left,
 * if that is in this mount namespace; needs CAP_SYS_ADMIN
 * @dev: of gt_mounter_mount()
 */
void gt_mounter_finish(const struct gt_mounter *m, const char *dev);

#endif
