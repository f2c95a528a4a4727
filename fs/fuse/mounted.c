/* SPDX-License-Identifier: GPL-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
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

/* "36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue" */
static bool line_is(char *line, const char *dir)
{
	char *dash = strstr(line, " - "), *save = NULL, *f = NULL;

	if (!dash || strncmp(dash + 3, TYPE " ", sizeof(TYPE)))
		return false;
	*dash = 0;
	for (int i = 0; i < 5; i++)
		f = strtok_r(i ? NULL : line, " ", &save);
	if (!f)
		return false;
	unescape(f);
	return !strcmp(f, dir);
}

bool gt_mounted(int fd, const char *dir)
{
	char *line = NULL;
	size_t cap = 0;
	bool found = false;
	FILE *f;
	int own = fd < 0 ? open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC) : dup(fd);

	if (own < 0)
		return true; /* not known: nothing is ended on a guess */
	lseek(own, 0, SEEK_SET);
	f = fdopen(own, "r");
	if (!f) {
		close(own);
		return true;
	}
	while (!found && getline(&line, &cap, f) > 0)
		found = line_is(line, dir);
	free(line);
	fclose(f);
	return found;
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

int gt_mount_prepare(const char *dir, char *err, unsigned long len)
{
	bool ours = gt_mounted(-1, dir);
	struct stat st;

	if (ours && stat(dir, &st) < 0 && (errno == ENOTCONN || errno == ECONNABORTED)) {
		if (umount2(dir, MNT_DETACH) < 0 && fusermount_lazy(dir) < 0) {
			snprintf(err, len, "%s: a stale mount is there and cannot be taken away: %s", dir,
				 strerror(errno));
			return -EBUSY;
		}
		ours = gt_mounted(-1, dir);
	}
	if (ours) {
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
