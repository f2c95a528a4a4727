/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which PID namespaces have ended. One has when its first process has: no other can come to be in
 * it any more (pid_namespaces(7)). That one is asked for by its pid there; the kernel answers since
 * Linux 6.11. Before, all processes are looked at, which cannot miss it.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/nsfs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ended.h"

#ifndef NS_GET_PID_FROM_PIDNS
#define NS_GET_PID_FROM_PIDNS _IOR(NSIO, 0x6, int)
#endif

uint64_t gt_nsfs_ino(int fd)
{
	struct stat st;

	return fstat(fd, &st) ? 0 : st.st_ino;
}

uint64_t gt_nsfs_owner(int fd, uid_t *uid)
{
	int user = ioctl(fd, NS_GET_USERNS);
	uint64_t ino = user < 0 ? 0 : gt_nsfs_ino(user);

	*uid = 0;
	if (user >= 0 && ioctl(user, NS_GET_OWNER_UID, uid))
		*uid = 0;
	if (user >= 0)
		close(user);
	return ino;
}

enum gt_ended gt_pidns_ended(int fd)
{
	if (ioctl(fd, NS_GET_PID_FROM_PIDNS, 1) > 0)
		return GT_ENDED_NO;
	return errno == ESRCH ? GT_ENDED_YES : GT_ENDED_UNKNOWN;
}

static void strike(struct gt_ended_space *s, unsigned int n, uint64_t ino)
{
	for (unsigned int i = 0; i < n; i++)
		if (s[i].ino == ino)
			s[i].ended = false;
}

bool gt_pidns_scan(struct gt_ended_space *s, unsigned int n)
{
	DIR *proc = opendir("/proc");
	const struct dirent *d;
	bool whole = proc;
	struct stat st;

	for (unsigned int i = 0; i < n; i++)
		s[i].ended = true;
	while (whole && (d = readdir(proc))) {
		char path[64];

		/* the first one of this /proc is not below us, and may tell less than others */
		if (*d->d_name < '0' || *d->d_name > '9' || !strcmp(d->d_name, "1"))
			continue;
		snprintf(path, sizeof(path), "%.20s/ns/pid", d->d_name);
		if (!fstatat(dirfd(proc), path, &st, 0))
			strike(s, n, st.st_ino);
		else
			whole = errno == ENOENT || errno == ESRCH; /* else it may be anywhere */
	}
	if (proc)
		closedir(proc);
	return whole;
}
