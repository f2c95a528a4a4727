/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The way to a folder that a user has named, and to what is in it. A path may lead into a file
 * system that a program of that user answers for, or into our own, which waits for this thread:
 * even to look up a name, or what kind of file system it is, would be to ask. So a mount is entered
 * only if the kernel's list of mounts says that it is of a kind that the kernel alone answers for,
 * and links are not followed at all.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "jobs.h"

/* Of this machine's disks and memory. Who mounts an overlay here is the administrator: a user's own
 * is in another namespace */
static const char *const locals[] = {
	"ext2",	 "ext3", "ext4",  "xfs",      "btrfs", "f2fs",	 "tmpfs", "ramfs", "squashfs",
	"erofs", "vfat", "exfat", "bcachefs", "jfs",   "nilfs2", "zfs",	  "ntfs3", "overlay"
};

static bool is_fine(const char *type, bool whole)
{
	if (whole) /* it is who sees everything that names it: no reason to refuse NFS */
		return strncmp(type, "fuse", 4) && strcmp(type, "autofs");
	for (size_t i = 0; i < sizeof(locals) / sizeof(locals[0]); i++)
		if (!strcmp(locals[i], type))
			return true;
	return false;
}

/* As mountinfo writes names: proc(5) */
static void escaped(char *to, const char *s)
{
	for (; *s; s++)
		if (strchr(" \t\n\\", *s))
			to += sprintf(to, "\\%03o", (unsigned char)*s);
		else
			*to++ = *s;
	*to = '\0';
}

/* Number of the mount at @path if it may be entered, 0: it may not. Of several, one upon the other,
 * the last is on top */
static uint64_t mount_at(const char *path, bool whole)
{
	FILE *f = fopen("/proc/self/mountinfo", "re");
	char want[4 * 4096 + 1], *line = NULL, *at, *type;
	size_t room = 0;
	uint64_t id = 0;
	int from, to;

	escaped(want, path);
	while (f && getline(&line, &room, f) > 0) {
		from = to = 0;
		sscanf(line, "%*u %*u %*s %*s %n%*s%n", &from, &to);
		at = strstr(line, " - ");
		if (!to || !at || strlen(want) != (size_t)(to - from) ||
		    strncmp(line + from, want, (size_t)(to - from)))
			continue;
		type = at + 3;
		type[strcspn(type, " \n")] = '\0';
		id = is_fine(type, whole) ? strtoull(line, NULL, 10) : 0;
	}
	free(line);
	if (f)
		fclose(f);
	return id;
}

/* What is known without asking */
static uint64_t mount_of(int fd)
{
	struct statx st = { 0 };

	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_MNT_ID, &st) < 0 ||
	    !(st.stx_mask & STATX_MNT_ID))
		return 0;
	return st.stx_mnt_id;
}

static int open_at(int dir, const char *name, int flags, uint64_t resolve)
{
	struct open_how how = { .flags = (uint64_t)(flags | O_CLOEXEC | O_NOFOLLOW),
				.resolve = RESOLVE_NO_SYMLINKS | resolve };

	return (int)syscall(SYS_openat2, dir, name, &how, sizeof(how));
}

int rp_at(int dir, const char *name, int flags)
{
	return open_at(dir, name, flags, RESOLVE_NO_XDEV);
}

int rp_stat_at(int dir, const char *name, struct stat *st)
{
	int fd = rp_at(dir, name, O_PATH), ret;

	if (fd < 0)
		return -1;
	ret = fstat(fd, st);
	close(fd);
	return ret;
}

/* The mount at @path, which is @name in @dir */
static int enter(int dir, const char *name, const char *path, bool whole)
{
	uint64_t id = mount_at(path, whole);
	int fd = id ? open_at(dir, name, O_PATH, 0) : -1;

	if (fd >= 0 && mount_of(fd) != id) { /* something was mounted over it meanwhile */
		close(fd);
		fd = -1;
	}
	if (fd < 0)
		errno = EXDEV;
	return fd;
}

static int way(const char *path, bool whole)
{
	char so_far[4096] = "", name[256];
	int dir = enter(AT_FDCWD, "/", "/", whole), next;
	size_t n, len = 0;

	for (const char *s = path; dir >= 0; s += n) {
		s += strspn(s, "/");
		n = strcspn(s, "/");
		if (!n)
			break;
		next = -1;
		errno = ENAMETOOLONG;
		if (n < sizeof(name) && len + n + 2 < sizeof(so_far)) {
			len += (size_t)sprintf(so_far + len, "/%.*s", (int)n, s);
			snprintf(name, sizeof(name), "%.*s", (int)n, s);
			next = rp_at(dir, name, O_PATH);
		}
		if (next < 0 && errno == EXDEV)
			next = enter(dir, name, so_far, whole);
		close(dir);
		dir = next;
	}
	return dir;
}

int rp_way_folder(const char *path, bool whole)
{
	int at = way(path, whole),
	    dir = at >= 0 ? rp_at(at, ".", O_RDONLY | O_NONBLOCK | O_DIRECTORY) : -1;

	if (at >= 0)
		close(at);
	return dir;
}

int rp_way_file(const char *path, bool whole)
{
	const char *base = strrchr(path, '/');
	char folder[4096];
	int dir, fd;

	if (!base || base - path >= (long)sizeof(folder))
		return -1;
	snprintf(folder, sizeof(folder), "%.*s", (int)(base - path), path);
	dir = rp_way_folder(folder, whole);
	fd = dir >= 0 ? rp_at(dir, base + 1, O_RDONLY | O_NONBLOCK | O_NOCTTY) : -1;
	if (dir >= 0)
		close(dir);
	return fd;
}
