/* SPDX-License-Identifier: GPL-2.0 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mounted.h"

#define TYPE "fuse.gputrace"

/* mountinfo writes blank, tab, newline and backslash as \NNN */
static void unescape(char *s)
{
	char *out = s;

	for (; *s; s++) {
		if (s[0] == '\\' && s[1] && s[2] && s[3]) {
			*out++ = (char)((s[1] - '0') * 64 + (s[2] - '0') * 8 + (s[3] - '0'));
			s += 3;
		} else {
			*out++ = *s;
		}
	}
	*out = 0;
}

/*
 * Splits "36 35 0:57 / /mnt2 rw,noatime master:1 - fuse.gputrace gputrace rw" if it is of our type.
 * Only fields 3 and 5 matter.
 */
static bool ours(char *line, char **dev, char **dir)
{
	char *dash = strstr(line, " - "), *save = NULL, *f = NULL;

	if (!dash || strncmp(dash + 3, TYPE " ", sizeof(TYPE)))
		return false;
	*dash = 0;
	*dev = NULL;
	for (int i = 0; i < 5; i++) {
		f = strtok_r(i ? NULL : line, " ", &save);
		if (i == 2)
			*dev = f;
	}
	if (!f)
		return false;
	unescape(f);
	*dir = f;
	return true;
}

/* The first mount of ours that is at @dir, or has device number @dev if there is no @dir. */
static bool find(int fd, const char *dir, const char *dev, char *found_dev)
{
	char *line = NULL, *its_dev, *its_dir;
	size_t cap = 0;
	bool found = false;
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");

	if (!f) {
		if (fd >= 0)
			close(fd);
		return !found_dev; /* not known: nothing is ended on a guess */
	}
	rewind(f);
	while (!found && getline(&line, &cap, f) > 0) {
		if (!ours(line, &its_dev, &its_dir))
			continue;
		found = dir ? !strcmp(its_dir, dir) : !strcmp(its_dev, dev);
		if (found && found_dev)
			snprintf(found_dev, GT_DEV_LEN, "%s", its_dev);
	}
	free(line);
	fclose(f);
	return found;
}

bool gt_mounted(int fd, const char *dir, char *dev)
{
	char unused[GT_DEV_LEN];

	return find(dup(fd), dir, NULL, dev ? dev : unused);
}

bool gt_mounted_dev(int fd, const char *dev)
{
	return find(dup(fd), NULL, dev, NULL);
}

static int fusermount_lazy(const char *dir)
{
	int status = -1;
	pid_t pid = fork();

	if (!pid) {
		execlp("fusermount3", "fusermount3", "-u", "-z", "-q", "--", dir, (char *)NULL);
		_exit(127);
	}
	if (pid > 0)
		waitpid(pid, &status, 0);
	return status ? -EPERM : 0;
}

/* statfs(2) asks whoever serves it; what stat(2) says may be remembered from when somebody did. */
bool gt_mount_dead(const char *dir)
{
	struct statfs st;

	return statfs(dir, &st) < 0 && (errno == ENOTCONN || errno == ECONNABORTED);
}

int gt_mount_resolve(const char *dir, char *out, char *err, unsigned long len)
{
	if (realpath(dir, out))
		return 0;
	if (errno == ENOENT) {
		snprintf(err, len, "%s: %s: a mount point has to be made first (mkdir -p %s)", dir,
			 strerror(ENOENT), dir);
		return -ENOENT;
	}
	if (errno != ENOTCONN && errno != ECONNABORTED) {
		snprintf(err, len, "%s: %s", dir, strerror(errno));
		return -errno;
	}
	snprintf(out, PATH_MAX, "%s", dir);
	return 0;
}

int gt_mount_prepare(int fd, const char *dir, char *err, unsigned long len)
{
	bool there = gt_mounted(fd, dir, NULL);
	struct stat st;

	if (there && gt_mount_dead(dir)) {
		if (umount2(dir, MNT_DETACH) < 0 && fusermount_lazy(dir) < 0) {
			snprintf(err, len,
				 "%s: a stale mount is there and cannot be taken away: %s", dir,
				 strerror(errno));
			return -EBUSY;
		}
		there = gt_mounted(fd, dir, NULL);
	}
	if (there) {
		snprintf(err, len, "%s: gputrace is already mounted there", dir);
		return -EBUSY;
	}
	if (stat(dir, &st) < 0) {
		snprintf(err, len, "%s: %s", dir, strerror(errno));
		return -errno;
	}
	if (!S_ISDIR(st.st_mode)) {
		snprintf(err, len, "%s: not a directory", dir);
		return -ENOTDIR;
	}
	return 0;
}
