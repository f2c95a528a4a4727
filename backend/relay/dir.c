/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where grtrace's files are. Its documents call them events0, trace0 and buffer0, in debugfs, which
 * is usually at /sys/kernel/debug. They come and go with the module, and with CPUs.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <mntent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "internal.h"

#define LOCKDOWN "/sys/kernel/security/lockdown"

static void close_dir(DIR **d)
{
	if (*d)
		closedir(*d);
}
#define AUTO_DIR __attribute__((cleanup(close_dir))) DIR *

/* "none [integrity] confidentiality": what is in brackets; "" where there is no such thing */
static void lockdown(char *out, size_t len)
{
	char text[128] = "", *from, *to;

	*out = '\0';
	gr_read("/sys/kernel/security", "lockdown", text, sizeof(text));
	from = strchr(text, '[');
	to = from ? strchr(from, ']') : NULL;
	if (to && strncmp(from, "[none]", 6))
		snprintf(out, len, "%.*s", (int)(to - from - 1), from + 1);
}

static bool locked(char *err, size_t len)
{
	char mode[32];

	lockdown(mode, sizeof(mode));
	if (!*mode)
		return false;
	snprintf(err, len,
		 "this kernel is locked down (%s, see " LOCKDOWN "): it forbids relay files, so "
		 "grtrace cannot be read. %s tells of the same tracepoints instead; secure boot, "
		 "or lockdown= on the kernel's command line, is what locks it",
		 mode,
		 strcmp(mode, "integrity") ? "ftrace, where that is allowed," : "bpf or ftrace");
	return true;
}

static int find_debugfs(char *dir, size_t len)
{
	FILE *f = setmntent("/proc/self/mounts", "re");
	struct mntent *e;
	int ret = -ENOENT;

	while (f && ret && (e = getmntent(f)))
		if (!strcmp(e->mnt_type, "debugfs"))
			ret = snprintf(dir, len, "%s/grtrace", e->mnt_dir) < (int)len
				      ? 0
				      : -ENAMETOOLONG;
	if (f)
		endmntent(f);
	return ret;
}

int gr_find(const char *path, char *dir, size_t len, char *err, size_t errlen)
{
	struct stat st;

	if (path && *path) {
		snprintf(dir, len, "%s", path);
	} else if (locked(err, errlen)) {
		return -EPERM;
	} else if (find_debugfs(dir, len)) {
		snprintf(err, errlen,
			 "debugfs is not mounted, where grtrace has its files: mount -t debugfs "
			 "none /sys/kernel/debug, then write rescan to control");
		return -ENOENT;
	}
	if (!stat(dir, &st) && S_ISDIR(st.st_mode))
		return 0;
	if (errno == EACCES)
		snprintf(err, errlen, "%s may not be entered by this user: mount as root", dir);
	else
		snprintf(err, errlen,
			 "there is no %s: grtrace is not loaded; modprobe grtrace, then write "
			 "rescan to control",
			 dir);
	return errno == EACCES ? -EACCES : -ENOENT;
}

/* "events12" of any of the spellings; -1: none */
static int number_of(const char *name, int *kind)
{
	static const char *const spellings[] = { "events", "trace", "buffer" };
	char *end;
	long v;

	for (int i = 0; i < 3; i++) {
		size_t n = strlen(spellings[i]);

		if (strncmp(name, spellings[i], n) || name[n] < '0' || name[n] > '9')
			continue;
		v = strtol(name + n, &end, 10);
		*kind = i;
		return *end || v >= GR_CPUS ? -1 : (int)v;
	}
	return -1;
}

/* The first spelling of which there is a file: the others' are the same records. */
static int spelling(const char *dir)
{
	AUTO_DIR d = opendir(dir);
	struct dirent *e;
	int best = 3, kind;

	while (d && (e = readdir(d)))
		if (number_of(e->d_name, &kind) >= 0 && kind < best)
			best = kind;
	return best;
}

/* Files as relay has them, and FIFOs, which tests may use. In a folder that is somebody's own, a
 * link leads anywhere, and to open a device may do something: nothing is opened before it is known.
 */
static int open_file(int dir, const char *name, struct stat *st)
{
	gt_live_auto_close int at = openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	char path[32];
	int fd;

	if (at < 0 || fstat(at, st))
		return -errno;
	if (!S_ISREG(st->st_mode) && !S_ISFIFO(st->st_mode))
		return -EINVAL;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", at);
	fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	return fd < 0 ? -errno : fd;
}

int gr_check(const char *dir, char *err, size_t len)
{
	AUTO_DIR d = opendir(dir);
	int best = spelling(dir), kind, fd = -ENOENT;
	struct dirent *e;
	struct stat st;

	while (d && fd == -ENOENT && (e = readdir(d)))
		if (number_of(e->d_name, &kind) >= 0 && kind == best)
			fd = open_file(dirfd(d), e->d_name, &st);
	if (fd >= 0) {
		close(fd);
		return 0;
	}
	if (fd == -EPERM && locked(err, len))
		return fd;
	if (fd == -EPERM)
		snprintf(err, len,
			 "the files in %s may not be opened, by root neither, as where a kernel is "
			 "locked down (mount securityfs at /sys/kernel/security to see): bpf or "
			 "ftrace tells of the same tracepoints instead",
			 dir);
	else if (fd == -EINVAL)
		snprintf(err, len,
			 "what has the name of a CPU's file in %s is a link, a folder or a device: "
			 "it is left alone",
			 dir);
	else if (fd == -ENOENT)
		snprintf(err, len, "%s has no file events0, trace0 or buffer0 of any CPU", dir);
	else
		snprintf(err, len, "the files in %s cannot be opened: %s", dir, strerror(-fd));
	return fd;
}

static void on_fault(void *arg, uint64_t at, const char *what)
{
	struct gr *gr = arg;

	if (!gr->faults++)
		snprintf(gr->fault, sizeof(gr->fault), "byte %llu: %s", (unsigned long long)at,
			 what);
}

static bool known(const struct gr *gr, const struct stat *st)
{
	for (unsigned int i = 0; i < gr->n; i++)
		if (gr->cpu[i]->ino == st->st_ino && gr->cpu[i]->dev == st->st_dev)
			return true;
	return false;
}

static void add(struct gr *gr, int fd, unsigned int number, const struct stat *st)
{
	struct gr_cpu *c = calloc(1, sizeof(*c));

	if (!c || gt_grt_init(&c->g, &gr->set, number, gr->began)) {
		if (c)
			gt_grt_free(&c->g);
		free(c);
		close(fd);
		return;
	}
	c->g.fault = on_fault;
	c->g.arg = gr;
	c->fd = fd;
	c->cpu = number;
	c->dev = st->st_dev;
	c->ino = st->st_ino;
	c->waits = S_ISREG(st->st_mode);
	gr->cpu[gr->n++] = c;
	gr->opened++;
	if (gr->watching && c->waits)
		gr->p->host->watch(gr->p, fd, true);
}

static void open_new(struct gr *gr, int dir, const char *name, unsigned int number)
{
	struct stat st;
	int fd;

	if (gr->n == GR_CPUS || fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) || known(gr, &st))
		return;
	fd = open_file(dir, name, &st);
	if (fd < 0)
		return;
	if (known(gr, &st))
		close(fd);
	else
		add(gr, fd, number, &st);
}

unsigned int gr_look(struct gr *gr)
{
	int best = spelling(gr->dir), kind, number;
	AUTO_DIR d = opendir(gr->dir);
	struct dirent *e;

	while (d && (e = readdir(d))) {
		number = number_of(e->d_name, &kind);
		if (number >= 0 && kind == best)
			open_new(gr, dirfd(d), e->d_name, (unsigned int)number);
	}
	gr->began = true;
	return gr->n;
}

void gr_sum(struct gt_grt_stats *to, const struct gt_grt_stats *from)
{
	const uint64_t *f = (const uint64_t *)from;
	uint64_t *t = (uint64_t *)to;

	for (size_t i = 0; i < sizeof(*to) / sizeof(*t); i++)
		t[i] += f[i];
}

void gr_close(struct gr *gr, unsigned int i)
{
	struct gr_cpu *c = gr->cpu[i];

	if (gr->watching && c->waits)
		gr->p->host->watch(gr->p, c->fd, false);
	gr_sum(&gr->gone, &c->g.n);
	gt_grt_free(&c->g);
	close(c->fd);
	free(c);
	gr->cpu[i] = gr->cpu[--gr->n];
	gr->closed++;
}

void gr_close_all(struct gr *gr)
{
	while (gr->n)
		gr_close(gr, gr->n - 1);
}
