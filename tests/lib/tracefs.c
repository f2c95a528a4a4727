/* SPDX-License-Identifier: GPL-2.0 */
#include "tracefs.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char instance[PATH_MAX];
static void (*before)(void);
static pid_t owner;

const char *tfs_dir(const char **why)
{
	static const char *const dirs[] = { "/sys/kernel/tracing", "/sys/kernel/debug/tracing" };
	char path[PATH_MAX];

	for (size_t i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "%s/instances", dirs[i]);
		if (access(path, F_OK))
			continue;
		*why = "not root: tracefs may not be written";
		return access(path, W_OK) || geteuid() ? NULL : dirs[i];
	}
	*why = geteuid() ? "not root, or no tracefs" : "tracefs is not mounted";
	return NULL;
}

static void clean(void)
{
	/* A child that ends must not take its parent's instance along. */
	if (!owner || getpid() != owner)
		return;
	owner = 0;
	if (before)
		before();
	for (int i = 0; i < 500 && instance[0] && rmdir(instance) && errno == EBUSY; i++)
		usleep(2000);
}

static void killed(int sig)
{
	clean();
	signal(sig, SIG_DFL);
	raise(sig);
}

void tfs_at_exit(void (*fn)(void))
{
	static const int signals[] = { SIGINT, SIGTERM, SIGALRM, SIGHUP, SIGSEGV, SIGABRT };

	before = fn;
	if (owner)
		return;
	owner = getpid();
	atexit(clean);
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		signal(signals[i], killed);
}

const char *tfs_instance(const char *name)
{
	const char *why, *dir = tfs_dir(&why);

	if (!dir)
		return NULL;
	snprintf(instance, sizeof(instance), "%s/instances/%s", dir, name);
	rmdir(instance);
	if (mkdir(instance, 0750)) {
		instance[0] = '\0';
		return NULL;
	}
	tfs_at_exit(before);
	return instance;
}

static bool put(const char *path, const char *text, int flags)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC | flags);
	ssize_t n;

	if (fd < 0)
		return false;
	n = write(fd, text, strlen(text));
	return !close(fd) && n == (ssize_t)strlen(text);
}

#define PATH_OF(path, dir, fmt)                                                                    \
	do {                                                                                       \
		va_list ap_;                                                                       \
		int n_ = snprintf(path, sizeof(path), "%s/", dir);                                 \
		va_start(ap_, fmt);                                                                \
		vsnprintf(path + n_, sizeof(path) - (size_t)n_, fmt, ap_);                         \
		va_end(ap_);                                                                       \
	} while (0)

bool tfs_write(const char *dir, const char *text, const char *fmt, ...)
{
	char path[PATH_MAX];

	PATH_OF(path, dir, fmt);
	return put(path, text, O_TRUNC);
}

bool tfs_append(const char *dir, const char *text, const char *fmt, ...)
{
	char path[PATH_MAX];

	PATH_OF(path, dir, fmt);
	return put(path, text, O_APPEND);
}

char *tfs_read(const char *dir, size_t *len, const char *fmt, ...)
{
	char path[PATH_MAX], *buf = NULL, *more;
	size_t n = 0;
	ssize_t got = -1;
	int fd;

	PATH_OF(path, dir, fmt);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	do {
		more = realloc(buf, n + 65537);
		if (!more)
			break;
		buf = more;
		got = read(fd, buf + n, 65536);
		if (got > 0)
			n += (size_t)got;
	} while (got > 0);
	close(fd);
	if (buf)
		buf[n] = '\0';
	if (len)
		*len = n;
	return buf;
}
