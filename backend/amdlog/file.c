/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One file: it grows, is cut to nothing and written anew, loses its name. It is read in blocks and
 * never mapped, so that nobody who cuts it short meanwhile ends the daemon.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "internal.h"

#define A_TIME 64 /* lines between two looks at the clock */

static_assert(GT_AMD_BLOCK > GT_AMD_LINE_MAX, "a line fits");

uint32_t gt_amd_name_pid(const char *path)
{
	const char *name = strrchr(path, '/'), *s = strrchr(name ? name : path, '_');
	uint64_t pid = 0;
	int n = 0;

	for (s = s ? s + 1 : ""; *s >= '0' && *s <= '9' && n < 11; s++, n++)
		pid = pid * 10 + (uint64_t)(*s - '0');
	return n && (!*s || *s == '.') && pid <= INT32_MAX ? (uint32_t)pid : 0;
}

/* A link would have the daemon read for its maker what the maker cannot; a device may do something
 * when it is opened, so the name is looked at first. */
static int open_log(struct gt_amd *a, const struct gt_amd_folder *d, const char *path,
		    struct stat *st)
{
	int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, dir = d ? d->dir : AT_FDCWD, fd;

	if (fstatat(dir, path, st, d ? AT_SYMLINK_NOFOLLOW : 0) < 0)
		return -errno;
	if (!S_ISREG(st->st_mode))
		return S_ISLNK(st->st_mode) ? -ELOOP : -EINVAL;
	fd = openat(dir, path, d ? flags | O_NOFOLLOW : flags);
	if (fd < 0)
		return -errno;
	if (!fstat(fd, st) && S_ISREG(st->st_mode))
		return fd;
	close(fd);
	return -EINVAL;
}

bool gt_amd_followed(const struct gt_amd *a, const struct stat *st)
{
	for (unsigned int i = 0; i < a->n; i++)
		if (a->file[i]->dev == st->st_dev && a->file[i]->ino == st->st_ino)
			return true;
	return false;
}

static const char *what(int err)
{
	return err == ELOOP    ? "is a symbolic link"
	       : err == EINVAL ? "is not a regular file"
			       : strerror(err);
}

static char *whole(const struct gt_amd_folder *d, const char *name)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s%s%s", d ? d->path : "", d ? "/" : "", name);
	return strdup(path);
}

int gt_amd_file_open(struct gt_amd *a, const struct gt_amd_folder *d, const char *name,
		     struct gt_amd_file **out)
{
	char *path = whole(d, name);
	struct gt_amd_file *f;
	struct stat st;
	int fd = path ? open_log(a, d, name, &st) : -ENOMEM;

	if (fd < 0) {
		gt_amd_fault(a, -fd, path, what(-fd));
		free(path);
		return fd;
	}
	f = gt_amd_followed(a, &st) ? NULL : calloc(1, sizeof(*f));
	if (!f) {
		close(fd);
		free(path);
		return gt_amd_followed(a, &st) ? -EEXIST : -ENOMEM;
	}
	f->fd = fd;
	f->path = path;
	f->dev = st.st_dev;
	f->ino = st.st_ino;
	if (gt_amd_log_init(&f->log, a)) {
		gt_amd_file_close(f);
		return -ENOMEM;
	}
	f->log.uid = st.st_uid;
	f->log.pid = gt_amd_name_pid(path);
	gt_amd_log_pid(&f->log, f->log.pid,
		       a->p->host->now(a->p)); /* it may end before it is read */
	*out = f;
	return 0;
}

void gt_amd_file_close(struct gt_amd_file *f)
{
	close(f->fd);
	gt_amd_log_free(&f->log);
	free(f->path);
	free(f);
}

/* All whole lines of the block; bytes that are done with. At the end of a recording what is left of
 * a line is one. */
static size_t lines(struct gt_amd_file *f, const char *p, size_t len, bool last)
{
	const char *end = p + len, *at = p, *nl;

	while ((nl = memchr(at, '\n', (size_t)(end - at)))) {
		if (f->skipping)
			f->log.n.too_long++;
		else
			gt_amd_log_line(&f->log, at, (size_t)(nl - at));
		f->skipping = false;
		at = nl + 1;
		if (f->log.count > GT_AMD_RECORDS - GT_AMD_PER_LINE ||
		    (!(f->log.n.lines % A_TIME) && gt_amd_late(f->log.a)))
			return (size_t)(at - p);
	}
	if ((size_t)(end - at) > GT_AMD_LINE_MAX || f->skipping) {
		f->skipping = true;
		return len;
	}
	if (!last || at == end)
		return (size_t)(at - p);
	f->log.n.cut++;
	gt_amd_log_line(&f->log, at, (size_t)(end - at));
	return len;
}

/* What was handed over makes room. */
static void make_room(struct gt_amd_log *l)
{
	l->count -= l->head;
	memmove(l->out, l->out + l->head, l->count * sizeof(*l->out));
	l->head = 0;
}

/* Has it become shorter? Then it is written anew; its name may be gone, and its owner another. */
static int look(struct gt_amd_file *f)
{
	struct stat st;

	if (fstat(f->fd, &st) < 0)
		return -errno;
	f->size = (uint64_t)st.st_size;
	f->gone = !st.st_nlink;
	if (st.st_uid != f->log.uid)
		return -ESTALE;
	if (f->size < f->off) {
		f->off = 0;
		f->skipping = false;
		f->truncated++;
	}
	return 0;
}

ssize_t gt_amd_file_read(struct gt_amd_file *f)
{
	struct gt_amd *a = f->log.a;
	size_t done;
	ssize_t n;
	int ret;

	if (f->log.head)
		make_room(&f->log);
	if (f->log.count > GT_AMD_RECORDS - GT_AMD_PER_LINE)
		return 0;
	ret = look(f);
	if (ret)
		return ret;
	do {
		n = pread(f->fd, a->block, GT_AMD_BLOCK, (off_t)f->off);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	done = lines(f, a->block, (size_t)n, a->p->recording && f->off + (uint64_t)n >= f->size);
	f->off += done;
	f->eof = !done || f->off >= f->size;
	return (ssize_t)done;
}
