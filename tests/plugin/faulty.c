/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The plugins of tests/unit/test_host.c: one source, and what is wrong with each is said by -D.
 * NAME is always given. Without TIMER it waits for a byte in a pipe, which control(SEEK) writes.
 */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include <gputrace/backend.h>
#include <string.h>

#ifndef ABI /* another: refused */
#define ABI GT_BACKEND_ABI
#endif
#ifndef FLAGS
#define FLAGS 0
#endif
#ifndef SYMBOL /* another: refused */
#define SYMBOL gt_backend
#endif
#ifndef MAXIMUM /* below 0: refused */
#define MAXIMUM 100
#endif

struct options {
	int64_t n;
	bool b;
	char *s;
};

static const struct gt_option options[] = {
	{ "n", GT_OPT_INT, GT_OPT_RUNTIME, offsetof(struct options, n), "10", 0, MAXIMUM,
	  "a number" },
	{ "b", GT_OPT_BOOL, 0, offsetof(struct options, b), NULL, 0, 0, "a switch" },
	{ "s", GT_OPT_STR, GT_OPT_RUNTIME, offsetof(struct options, s), "x", 0, 0, "a text" },
	{ .name = "gone", .flags = GT_OPT_GONE, .help = "there is nothing to set" },
	{ .name = NULL },
};

static int fds[2], drains;
static uint16_t gpu, ring;

static int probe(struct gt_plugin *p)
{
#ifdef ABSENT /* a file that must be there */
	if (access(ABSENT, F_OK))
		return p->host->error(p, ENOENT, "no device: make %s", ABSENT);
#endif
	return 0;
}

static int start(struct gt_plugin *p)
{
	struct gt_gpu_desc desc = { .driver = "t", .dev = NAME, .minor = -1 };

#ifdef FAIL_START
	return -EBUSY;
#endif
	drains = 0;
	gpu = p->host->gpu(p, &desc);
	ring = p->host->ring(p, gpu, "gfx", GT_ENGINE_UNKNOWN);
	if (pipe(fds) < 0)
		return -errno;
	p->host->watch(p, fds[0], true);
#ifdef TIMER
	p->host->timer(p, 1);
#endif
#ifdef SPINS
	return write(fds[1], "x", 1) == 1 ? 0 : -errno;
#else
	return 0;
#endif
}

/* Two records, 50 times by timer or once for each byte. */
static int push(struct gt_plugin *p)
{
	uint64_t ts = p->host->now(p);
	union gt_record r[2];

	gt_record_init(&r[0], ts, GT_SUBMIT);
	gt_record_init(&r[1], ts, GT_COMPLETE);
	r[0].ev.ring = r[1].ev.ring = ring;
#ifdef ON_GPU
	r[0].ev.gpu = r[1].ev.gpu = ON_GPU;
#endif
#ifdef FUTURE
	ts = FUTURE;
	r[1].ev.ts = ts;
#endif
#ifdef BAD_TYPE
	r[1].ev.type = 200;
#endif
	p->host->push(p, r, 2);
	p->host->watermark(p, ts);
	return 2;
}

static int drain(struct gt_plugin *p)
{
	drains++;
#ifdef FAIL_DRAIN
	if (drains > 3)
		return p->host->error(p, EIO, "the\ndevice is gone");
#endif
#ifdef ENDS
	if (drains > 5)
		return -ENODATA;
#endif
#ifdef SPINS /* the byte stays where it is */
	p->host->timer(p, SPINS);
	return 0;
#endif
#ifdef TIMER
	if (drains > 50)
		return 0;
	p->host->timer(p, 100000);
#else
	char byte;

	if (read(fds[0], &byte, 1) != 1)
		return -EIO;
#endif
	return push(p);
}

static void stop(struct gt_plugin *p)
{
	p->host->error(p, EIO, "stop has its say");
	close(fds[0]);
	close(fds[1]);
}

static int set(struct gt_plugin *p, const struct gt_option *o)
{
	const struct options *v = p->options;

	return v->n == 66 ? p->host->error(p, EINVAL, "66 is unlucky") : 0;
}

static int control(struct gt_plugin *p, enum gt_control what, int64_t arg)
{
	if (what == GT_CTL_SEEK)
		return write(fds[1], "x", 1) == 1 ? 0 : -errno;
#ifdef ON_GPU
	if (what == GT_CTL_RESCAN)
		return 0;
#endif
	return what == GT_CTL_PAUSE || what == GT_CTL_RESUME ? 0 : -EOPNOTSUPP;
}

static void doctor(struct gt_plugin *p, char *buf, size_t len)
{
	snprintf(buf, len, "drains %d\n", drains);
}

static void show_all(struct gt_plugin *p, char *buf, size_t len)
{
	memset(buf, 'x', len); /* and no end */
}

#ifdef LOOKS /* takes longer than who reads a small file waits */
static void refresh_sensors(struct gt_plugin *p, unsigned int what)
{
	usleep(100000);
}
#endif

static const struct gt_backend_file files[] = {
	{ .name = "drains", .help = "as doctor", .show = doctor },
	{ .name = "endless", .help = "has no end", .show = show_all },
	{ 0 },
};

GT_EXPORT const struct gt_backend SYMBOL = {
	.abi = ABI,
	.size = sizeof(struct gt_backend),
	.name = NAME,
	.version = "3",
	.help = "for tests",
	.flags = FLAGS,
	.options = options,
	.options_size = sizeof(struct options),
	.probe = probe,
	.start = start,
#ifndef NO_DRAIN
	.drain = drain,
#endif
	.stop = stop,
	.set = set,
	.control = control,
#ifdef LOOKS
	.refresh_sensors = refresh_sensors,
#endif
	.doctor = doctor,
	.files = files,
};
