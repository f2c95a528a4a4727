/* SPDX-License-Identifier: GPL-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sysroot.h"

#define TRIES 1000 /* while anything at all is renamed, the kernel cannot tell whether it leads out */

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

static int at(const struct gt_root *root, const char *path, uint64_t flags)
{
	struct open_how how = { .flags = flags | O_CLOEXEC,
				.resolve = root->captured ? RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS : 0 };
	int fd = -1;

	for (int i = 0; i < TRIES; i++) {
		fd = (int)syscall(SYS_openat2, root->fd, path, &how, sizeof(how));
		if (fd >= 0 || errno != EAGAIN)
			break;
	}
	return fd < 0 ? -errno : fd;
}

/* A device or a pipe that somebody put there does something when it is opened, or waits. */
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
		return at(root, path, O_RDONLY | O_NOCTTY | O_NONBLOCK);
	fd = at(root, path, O_PATH);
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
	int fd = at(root, path, O_RDONLY | O_DIRECTORY);
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
	int fd = at(root, path, O_PATH);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

void gt_root_link(const struct gt_root *root, const char *path, char *out, size_t len)
{
	char target[4096];
	int fd = at(root, path, O_PATH | O_NOFOLLOW);
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
	int fd = at(root, path, O_PATH), ret = 0;
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
	int fd = at(root, path, O_PATH | (follow ? 0 : O_NOFOLLOW));
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
