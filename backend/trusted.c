/* SPDX-License-Identifier: GPL-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trusted.h"

static int refuse(const struct stat *st, mode_t type, const char *path, char *err, size_t len)
{
	if ((st->st_mode & S_IFMT) != type) {
		snprintf(err, len, "%s is not a %s", path,
			 type == S_IFDIR ? "folder" : "regular file");
		return S_ISDIR(st->st_mode) ? -EISDIR : type == S_IFDIR ? -ENOTDIR : -EINVAL;
	}
	if (st->st_uid != 0 && st->st_uid != geteuid()) {
		snprintf(err, len, "%s belongs to uid %u: chown it to root", path,
			 (unsigned int)st->st_uid);
		return -EPERM;
	}
	if (st->st_mode & (S_IWGRP | S_IWOTH)) {
		snprintf(err, len, "%s can be written by others: chmod go-w it", path);
		return -EPERM;
	}
	return 0;
}

/*
 * A name in an open folder is one step: without following a link it leads nowhere else, which is
 * all that openat2's RESOLVE_BENEATH could add.
 */
int gt_trusted_open(int dir, const char *path, mode_t type, char *err, size_t len)
{
	int flags = dir == AT_FDCWD ? 0 : O_NOFOLLOW, fd, ret;
	struct stat st;

	if (dir != AT_FDCWD && strchr(path, '/'))
		fd = -EINVAL;
	else
		fd = openat(dir, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | flags);
	if (fd >= 0 && !fstat(fd, &st)) {
		ret = refuse(&st, type, path, err, len);
		if (!ret)
			return fd;
		close(fd);
		return ret;
	}
	ret = fd == -EINVAL ? fd : -errno;
	if (fd >= 0)
		close(fd);
	snprintf(err, len, "%s: %s", path,
		 ret == -ELOOP ? "a link, which is not followed" : strerror(-ret));
	return ret;
}
