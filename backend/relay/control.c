/* SPDX-License-Identifier: GPL-2.0 */
/*
 * grtrace's own settings. They are the machine's, not this daemon's: it is started if nobody has,
 * with buffers of the size that is asked, and stopped again; at level verbose its own level is,
 * too.
 *
 * Sampling, filters, watch lists and the rate limit are not handed on: statistics have all events
 * here, whatever is recorded of them, and what grtrace left out they would not have, as it does not
 * say how slow that was. Nor is overwrite mode: who reads all the time needs the oldest no less
 * than the newest. What grtrace does leave out is told (stats.c).
 *
 * debugfs has no links. In another folder, which may be somebody's own, one could lead anywhere,
 * and this is root.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/param.h>
#include <syslog.h>

#include "internal.h"

void gr_read_lines(const char *dir, const char *file, char *buf, size_t len)
{
	char path[PATH_MAX];
	gt_live_auto_close int fd = -1;
	ssize_t n;

	*buf = '\0';
	if (snprintf(path, sizeof(path), "%s/%s", dir, file) >= (int)sizeof(path))
		return;
	fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	n = fd < 0 ? -1 : read(fd, buf, len - 1);
	buf[n > 0 ? n : 0] = '\0';
}

void gr_read(const char *dir, const char *file, char *buf, size_t len)
{
	gr_read_lines(dir, file, buf, len);
	buf[strcspn(buf, "\n")] = '\0';
}

bool gr_refused_next(const char **at, struct gr_refused *r)
{
	while (**at) {
		const char *line = *at;
		char arguments[16] = "";
		int n = 0;

		*at += strcspn(line, "\n");
		*at += **at == '\n';
		if (sscanf(line, "%63s %63s %*s %15s %n", r->tracepoint, r->module, arguments,
			   &n) != 3 ||
		    *line == '#' || !strcmp(arguments, "fits"))
			continue;
		r->unverified = !strcmp(arguments, "unverified");
		snprintf(r->why, sizeof(r->why), "%.*s", n ? (int)strcspn(line + n, "\n") : 0,
			 line + n);
		return true;
	}
	return false;
}

/* Its driver passes them something else than grtrace was built for, or it cannot find out */
static unsigned int refused(const struct gr *gr)
{
	char text[GR_TRACEPOINTS];
	const char *at = text;
	struct gr_refused r;
	unsigned int n = 0;

	gr_read_lines(gr->dir, "tracepoints", text, sizeof(text));
	while (gr_refused_next(&at, &r))
		n++;
	return n;
}

bool gr_refuses(struct gr *gr)
{
	unsigned int n = refused(gr);

	if (n && n != gr->refused)
		gr->p->host->log(gr->p, LOG_WARNING,
				 "grtrace does not hook %u tracepoint%s, see %s/tracepoints: "
				 "another backend takes them all if there is one",
				 n, n == 1 ? "" : "s", gr->dir);
	gr->refused = n;
	return n;
}

static int put(struct gr *gr, const char *file, const char *text)
{
	char path[PATH_MAX];
	gt_live_auto_close int fd = -1;
	ssize_t n = (ssize_t)strlen(text), done = -1;
	int ret = 0;

	if (snprintf(path, sizeof(path), "%s/%s", gr->dir, file) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	fd = open(path, O_WRONLY | O_TRUNC | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	if (fd >= 0)
		done = write(fd, text, (size_t)n);
	if (done != n)
		ret = done < 0 ? -errno : -EIO;
	if (ret && ret != -ENOENT)
		gr->p->host->log(gr->p, LOG_WARNING, "%s: \"%s\" cannot be written: %s", path, text,
				 strerror(-ret));
	return ret;
}

/* It says so in one of two files. */
bool gr_traces(const struct gr *gr)
{
	char text[64];

	gr_read(gr->dir, "enabled", text, sizeof(text));
	if (*text)
		return *text == '1';
	gr_read(gr->dir, "stats", text, sizeof(text));
	return strncmp(text, "enabled=0", 9) && strncmp(text, "enabled 0", 9);
}

/* The kernel may end processes to find memory: what is too much is not even tried. */
static void ask_size(struct gr *gr)
{
	int64_t memory = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
	int64_t want =
		MIN(gr->o->buffer_size, gt_live_buffer_cap(memory, sysconf(_SC_NPROCESSORS_ONLN)));
	char text[32];
	int ret = gr->o->buffer_size ? -ENOMEM : 0;

	for (want = MAX(want, GR_SIZE_MIN); ret == -ENOMEM && want >= GR_SIZE_MIN; want /= 2) {
		snprintf(text, sizeof(text), "%lld", (long long)want);
		ret = put(gr, "buffer_size", text);
	}
}

/* What the option reads as from now on */
static void granted(struct gr *gr)
{
	char text[32];
	long long n;

	gr_read(gr->dir, "buffer_size", text, sizeof(text));
	n = strtoll(text, NULL, 10);
	if (n > 0)
		gr->o->buffer_size = n;
}

void gr_tracing(struct gr *gr, bool on)
{
	if (!*gr->dir || on == gr->started)
		return;
	if (!on) {
		put(gr, "control", "stop");
		gr->started = false;
		return;
	}
	if (!gr_traces(gr)) {
		ask_size(gr);
		gr->started = !put(gr, "control", "start");
	}
	granted(gr);
}

void gr_level(struct gr *gr)
{
	char text[sizeof(gr->level)];

	if (!*gr->dir)
		return;
	gr_read(gr->dir, "level", text, sizeof(text));
	if (gr->verbose && !strcmp(text, "normal") && !put(gr, "level", "verbose"))
		snprintf(gr->level, sizeof(gr->level), "%s", text);
	else if (!gr->verbose && *gr->level)
		gr_restore(gr);
}

void gr_restore(struct gr *gr)
{
	if (*gr->dir && *gr->level)
		put(gr, "level", gr->level);
	gr->level[0] = '\0';
}
