/* SPDX-License-Identifier: GPL-2.0 */
/* Opening and reading files, and who a process belongs to. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "file.h"

ssize_t gt_pread(int fd, void *buf, size_t len, uint64_t off)
{
	size_t done = 0;

	while (done < len) {
		ssize_t n = pread(fd, (char *)buf + done, len - done, (off_t)(off + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return done ? (ssize_t)done : -errno;
		if (!n)
			break;
		done += (size_t)n;
	}
	return (ssize_t)done;
}

int gt_file_here(enum gt_file_op op, const char *path, int flags)
{
	int ret;

	switch (op) {
	case GT_FILE_OPEN:
		ret = open(path, flags | O_CLOEXEC, 0600);
		break;
	case GT_FILE_MKDIR:
		ret = mkdir(path, 0750);
		break;
	case GT_FILE_RMDIR:
		ret = rmdir(path);
		break;
	default:
		return -EINVAL;
	}
	return ret < 0 ? -errno : ret;
}

int gt_unnamed_file(const char *dir)
{
	int fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	char path[PATH_MAX];

	/* not every file system has O_TMPFILE */
	if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL))
		return fd;
	if (snprintf(path, sizeof(path), "%s/gputrace-XXXXXX", dir) >= (int)sizeof(path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	fd = mkostemp(path, O_CLOEXEC);
	if (fd >= 0)
		unlink(path);
	return fd;
}

/* Trusted files -------------------------------------------------------------------------------- */

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
 * A single name in an open folder, no link followed, cannot lead anywhere else: openat2's
 * RESOLVE_BENEATH would add nothing.
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

/* Paths, one name at a time -------------------------------------------------------------------- */

#define DEPTH 128 /* folders that ".." can go back through */
#define LINKS 40  /* the kernel's own limit */

/**
 * struct walk - a path that is being resolved
 * @at: the @n folders passed since @dir; the last one is the current folder
 * @rest: the part of the path still to resolve; a link's target is put before it
 */
struct walk {
	int dir, at[DEPTH];
	unsigned int n, how, links;
	uint64_t mount;
	char rest[2 * PATH_MAX];
};

uint64_t gt_mount_of(int fd)
{
	struct statx st = { 0 };

	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_MNT_ID, &st) < 0 ||
	    !(st.stx_mask & STATX_MNT_ID))
		return 0;
	return st.stx_mnt_id;
}

static int current(const struct walk *w)
{
	return w->n ? w->at[w->n - 1] : w->dir;
}

static void go_back(struct walk *w, unsigned int to)
{
	while (w->n > to)
		close(w->at[--w->n]);
}

/* Without ".." only the current folder has to stay open */
static int enter(struct walk *w, int fd)
{
	if (!(w->how & GT_BENEATH_ROOT))
		go_back(w, 0);
	if (w->n == DEPTH) {
		close(fd);
		return -ENAMETOOLONG;
	}
	w->at[w->n++] = fd;
	return 0;
}

/* Takes the next name off the path; false at its end, or with *@err */
static bool next_name(struct walk *w, char name[NAME_MAX + 1], int *err)
{
	char *from = w->rest + strspn(w->rest, "/");
	size_t n = strcspn(from, "/");

	*err = n > NAME_MAX ? -ENAMETOOLONG : 0;
	if (!n || *err)
		return false;
	memcpy(name, from, n);
	name[n] = '\0';
	memmove(w->rest, from + n, strlen(from + n) + 1);
	return true;
}

static bool is_last(const struct walk *w)
{
	return !w->rest[strspn(w->rest, "/")];
}

/* Goes on with the target of link @fd; closes @fd */
static int follow(struct walk *w, int fd)
{
	char target[PATH_MAX], rest[sizeof(w->rest)];
	ssize_t n = readlinkat(fd, "", target, sizeof(target) - 1);
	int err = n < 0 ? -errno : 0;

	close(fd);
	if (err)
		return err;
	target[n] = '\0';
	if (++w->links > LINKS)
		return -ELOOP;
	if (snprintf(rest, sizeof(rest), "%s/%s", target, w->rest) >= (int)sizeof(rest))
		return -ENAMETOOLONG;
	memcpy(w->rest, rest, strlen(rest) + 1);
	if (*target == '/')
		go_back(w, 0);
	return 0;
}

static int step(struct walk *w, const char *name, int flags)
{
	bool itself = (flags & O_NOFOLLOW) && (flags & O_PATH) && is_last(w);
	struct stat st;
	int fd;

	if (!strcmp(name, "."))
		return 0;
	if (!strcmp(name, "..")) {
		if (!(w->how & GT_BENEATH_ROOT))
			return -EXDEV;
		go_back(w, w->n ? w->n - 1 : 0);
		return 0;
	}
	fd = openat(current(w), name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if ((w->how & GT_BENEATH_MOUNT) && gt_mount_of(fd) != w->mount) {
		close(fd);
		return -EXDEV;
	}
	if (fstat(fd, &st)) {
		close(fd);
		return -EIO;
	}
	if (!S_ISLNK(st.st_mode) || itself)
		return enter(w, fd);
	if ((w->how & GT_BENEATH_NO_LINKS) || ((flags & O_NOFOLLOW) && is_last(w))) {
		close(fd);
		return -ELOOP;
	}
	return follow(w, fd);
}

/* Opens the end of the path with @flags, by its descriptor, which leads nowhere else */
static int finish(struct walk *w, int flags)
{
	char path[32];
	int fd;

	if (!w->n) {
		fd = openat(w->dir, ".", flags | O_CLOEXEC);
	} else if (flags & O_PATH) {
		fd = fcntl(current(w), F_DUPFD_CLOEXEC, 0);
	} else {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", current(w));
		fd = open(path, (flags & ~O_NOFOLLOW) | O_CLOEXEC);
	}
	return fd < 0 ? -errno : fd;
}

int gt_beneath(int dir, const char *path, int flags, unsigned int how)
{
	struct walk w = { .dir = dir, .how = how };
	char name[NAME_MAX + 1];
	int err = 0;

	if (!*path)
		return -ENOENT;
	if (snprintf(w.rest, sizeof(w.rest), "%s", path) >= PATH_MAX)
		return -ENAMETOOLONG;
	if (*path == '/' && !(how & GT_BENEATH_ROOT)) {
		w.at[0] = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (w.at[0] < 0)
			return -errno;
		w.n = 1;
	}
	if (how & GT_BENEATH_MOUNT)
		w.mount = gt_mount_of(current(&w));
	if ((how & GT_BENEATH_MOUNT) && !w.mount)
		err = -EXDEV;
	while (!err && next_name(&w, name, &err))
		err = step(&w, name, flags);
	if (!err)
		err = finish(&w, flags);
	go_back(&w, 0);
	return err;
}

/* A folder that stands for "/" ----------------------------------------------------------------- */

int gt_root_open(struct gt_root *root, const char *path)
{
	root->captured = *path && strcmp(path, "/");
	root->fd = open(*path ? path : "/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return root->fd < 0 ? -errno : 0;
}

void gt_root_close(struct gt_root *root)
{
	if (root->fd >= 0)
		close(root->fd);
	root->fd = -1;
}

static int open_at(const struct gt_root *root, const char *path, int flags)
{
	int fd;

	if (root->captured)
		return gt_beneath(root->fd, path, flags, GT_BENEATH_ROOT);
	fd = openat(root->fd, path, flags | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* Opening a device or a pipe that somebody put there has effects, or blocks. */
static int reopen_plain(int fd)
{
	char path[32];
	struct stat st;
	int plain;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		plain = -EINVAL;
	else
		plain = open(path, O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
	if (plain == -1)
		plain = -errno;
	close(fd);
	return plain;
}

int gt_root_fd(const struct gt_root *root, const char *path)
{
	int fd;

	if (!root->captured)
		return open_at(root, path, O_RDONLY | O_NOCTTY | O_NONBLOCK);
	fd = open_at(root, path, O_PATH);
	return fd < 0 ? fd : reopen_plain(fd);
}

ssize_t gt_root_read(const struct gt_root *root, const char *path, char *buf, size_t len)
{
	int fd = gt_root_fd(root, path);
	ssize_t n = fd < 0 ? fd : read(fd, buf, len - 1);

	if (fd >= 0 && n < 0)
		n = -errno;
	if (fd >= 0)
		close(fd);
	buf[n > 0 ? n : 0] = '\0';
	return n;
}

void gt_root_word(const struct gt_root *root, const char *path, char *out, size_t len)
{
	gt_root_read(root, path, out, len);
	out[strcspn(out, " \t\r\n")] = '\0';
}

DIR *gt_root_dir(const struct gt_root *root, const char *path)
{
	int fd = open_at(root, path, O_RDONLY | O_DIRECTORY);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);

	if (fd < 0)
		errno = -fd;
	else if (!d)
		close(fd);
	return d;
}

void gt_root_closedir(DIR **d)
{
	if (*d)
		closedir(*d);
}

bool gt_root_is(const struct gt_root *root, const char *path)
{
	int fd = open_at(root, path, O_PATH);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

void gt_root_link(const struct gt_root *root, const char *path, char *out, size_t len)
{
	char target[4096];
	int fd = open_at(root, path, O_PATH | O_NOFOLLOW);
	ssize_t n = fd < 0 ? -1 : readlinkat(fd, "", target, sizeof(target) - 1);
	const char *slash;

	if (fd >= 0)
		close(fd);
	target[n > 0 ? n : 0] = '\0';
	slash = strrchr(target, '/');
	snprintf(out, len, "%s", slash ? slash + 1 : target);
}

int gt_root_real(const struct gt_root *root, const char *path, char *out, size_t len)
{
	int fd = open_at(root, path, O_PATH), ret = 0;
	char link[32];
	ssize_t n;

	if (fd < 0)
		return fd;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, out, len - 1);
	if (n < 0)
		ret = -errno;
	out[n > 0 ? n : 0] = '\0';
	close(fd);
	return ret;
}

uint64_t gt_root_inode(const struct gt_root *root, const char *path, bool follow)
{
	int fd = open_at(root, path, O_PATH | (follow ? 0 : O_NOFOLLOW));
	struct stat st;
	bool ok = fd >= 0 && !fstat(fd, &st);

	if (fd >= 0)
		close(fd);
	return ok ? st.st_ino : 0;
}

int gt_root_number(const char *s, int64_t *out, const char **end)
{
	bool minus = *s == '-';
	int64_t v = 0;

	s += minus;
	if (*s < '0' || *s > '9')
		return -EINVAL;
	for (; *s >= '0' && *s <= '9'; s++)
		if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, *s - '0', &v))
			return -ERANGE;
	if (end)
		*end = s;
	*out = minus ? -v : v;
	return *s && !strchr(" \t\r\n", *s) ? -EINVAL : 0;
}

uint64_t gt_caps_set(uint64_t on, uint64_t off)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct d[_LINUX_CAPABILITY_U32S_3];
	uint64_t was, now;

	if (syscall(SYS_capget, &head, d))
		return 0;
	was = d[0].effective | (uint64_t)d[1].effective << 32;
	on &= d[0].permitted | (uint64_t)d[1].permitted << 32;
	now = (was & ~off) | on;
	d[0].effective = (uint32_t)now;
	d[1].effective = (uint32_t)(now >> 32);
	return now == was || syscall(SYS_capset, &head, d) ? 0 : now & ~was;
}

enum gt_process_owner gt_process_owner(uint32_t pid, uint32_t uid, uint64_t ts)
{
	unsigned long long ticks = 0;
	char path[64], text[1024];
	struct stat st;
	ssize_t n;
	char *at;
	int fd;

	snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return GT_OWNER_GONE;
	if (fstat(fd, &st) < 0)
		st.st_uid = ~uid;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return GT_OWNER_GONE;
	if (st.st_uid != uid)
		return GT_OWNER_OTHER;
	text[n] = '\0';
	at = strrchr(text, ')');
	for (int i = 0; at && i < 20; i++) /* field 22; the name was the second */
		at = strchr(at + 1, ' ');
	if (!at || sscanf(at, "%llu", &ticks) != 1)
		return GT_OWNER_OTHER;
	return ticks * (1000000000ull / (uint64_t)sysconf(_SC_CLK_TCK)) <= ts ? GT_OWNER_SAME
									      : GT_OWNER_OTHER;
}
