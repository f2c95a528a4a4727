/* SPDX-License-Identifier: GPL-2.0 */
/* A host for the ftrace backend without the daemon: it waits as the real one, and keeps records. */
#ifndef GT_TESTS_FTRACEBED_H
#define GT_TESTS_FTRACEBED_H

#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "../../backend/backend.h"
#include "../../backend/lib/file.h"
#include "../lib/mockrun.h"

#define MAX_RECORDS 200000
#define MAX_FDS	    1024
#define MAX_RINGS   16

static struct {
	union gt_record *r;
	size_t n;
	struct pollfd fds[MAX_FDS];
	nfds_t nfds;
	uint64_t timer, mark;
	uint64_t stopped;	  /* the clock stands here, if not 0 */
	unsigned long below_mark; /* records older than a watermark reported before */
	char ring[MAX_RINGS][40];
	unsigned int nrings;
	char error[1024];
} h;

static uint64_t h_now(struct gt_plugin *p)
{
	struct timespec t;

	if (h.stopped)
		return h.stopped;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

static void h_push(struct gt_plugin *p, const union gt_record *r, size_t n)
{
	for (size_t i = 0; i < n && h.n < MAX_RECORDS; i++) {
		h.below_mark += r[i].ev.ts < h.mark;
		h.r[h.n++] = r[i];
	}
}

static void h_watermark(struct gt_plugin *p, uint64_t ts)
{
	h.mark = ts > h.mark ? ts : h.mark;
}

static uint16_t h_gpu(struct gt_plugin *p, const struct gt_gpu_desc *desc)
{
	return 0;
}

static uint16_t h_ring(struct gt_plugin *p, uint16_t gpu, const char *name, enum gt_engine engine)
{
	for (unsigned int i = 0; i < h.nrings; i++)
		if (!strcmp(h.ring[i], name))
			return (uint16_t)i;
	if (h.nrings == MAX_RINGS)
		return GT_NONE16;
	snprintf(h.ring[h.nrings], sizeof(h.ring[0]), "%s", name);
	return (uint16_t)h.nrings++;
}

static int h_watch(struct gt_plugin *p, int fd, bool on)
{
	nfds_t i = 0;

	while (i < h.nfds && h.fds[i].fd != fd)
		i++;
	if (on && i == h.nfds && h.nfds < MAX_FDS)
		h.fds[h.nfds++] = (struct pollfd){ .fd = fd, .events = POLLIN };
	else if (!on && i < h.nfds)
		h.fds[i] = h.fds[--h.nfds];
	return 0;
}

static void h_timer(struct gt_plugin *p, uint64_t ns)
{
	h.timer = ns ? h_now(p) + ns : 0;
}

static int h_error(struct gt_plugin *p, int err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(h.error, sizeof(h.error), fmt, ap);
	va_end(ap);
	return -err;
}

static void h_log(struct gt_plugin *p, int priority, const char *fmt, ...)
{
}

static int h_file(struct gt_plugin *p, enum gt_file_op op, const char *path, int flags)
{
	return gt_file_here(op, path, flags);
}

static const struct gt_host host = {
	.file = h_file,
	.push = h_push,
	.watermark = h_watermark,
	.gpu = h_gpu,
	.ring = h_ring,
	.watch = h_watch,
	.timer = h_timer,
	.error = h_error,
	.log = h_log,
	.now = h_now,
};

/* Waits as the real one does, for at most @ms, and drains; returns what drain() did or -1. */
static int turn(struct gt_plugin *p, int ms)
{
	uint64_t t = h_now(p);
	int wait = ms, n;

	if (h.timer)
		wait = h.timer <= t ? 0 : (int)((h.timer - t) / 1000000) + 1;
	n = poll(h.fds, h.nfds, wait < ms ? wait : ms);
	if (n <= 0 && !(h.timer && h.timer <= h_now(p)))
		return -1;
	h.timer = 0;
	return gt_backend.drain(p);
}

/* Until nothing is left: the descriptors are watched, none is readable, and no timer runs. */
static void settle(struct gt_plugin *p)
{
	uint64_t end = h_now(p) + 60000000000ull;

	while (h_now(p) < end && (h.timer || !h.nfds || poll(h.fds, h.nfds, 0) > 0))
		turn(p, 100);
}

static void forget(void)
{
	h.n = h.below_mark = 0;
}

/* Drains while the mock runs (or only afterwards); false if it failed. */
static bool mock_wait(struct gt_plugin *p, bool drain)
{
	bool good = false;

	while (!mock_poll(!drain, &good))
		turn(p, 20);
	settle(p);
	return good;
}

#endif
