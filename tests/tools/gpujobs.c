/* SPDX-License-Identifier: GPL-2.0 */
/*
 * gpujobs: gives jobs to a mock GPU (tests/vm/mockgpu), as an ordinary process does.
 *
 *	gpujobs --device N|/dev/dri/renderDN --jobs N --ring NAME[,NAME...] --length-us N[-M]
 *		--depth N --contexts N --seed N --wait --depend N --hang --alloc BYTES --hold
 *
 * Jobs go to the rings and contexts in turn; lengths are pseudo random between the two. At most
 * depth of them are in flight; each is waited for by an ioctl, in the order of submission, --wait:
 * before the next is submitted. --depend N: each job depends on the one N before it. --hang: the
 * first job never ends. --alloc takes that much VRAM. --hold: once all has ended, stays until
 * standard input ends, so that /proc/PID/fdinfo can be read.
 *
 * Prints a line for each job, "RING CONTEXT SEQNO", as it is submitted, and one for each that
 * failed, "failed JOB ERRNO", JOB counting from 1. Exit status: 0 all jobs ended (failed or not),
 * 1 a fault, 2 usage, 3 the device has gone.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <glob.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "../vm/mockgpu/mockgpu_drm.h"

static const char *const ring_name[MOCKGPU_RINGS] = MOCKGPU_RING_NAMES;

static struct {
	const char *device;
	unsigned long jobs, depth, contexts, depend, min_us, max_us;
	uint64_t seed;
	int64_t alloc;
	unsigned int ring[MOCKGPU_RINGS], rings;
	bool wait, hang, hold;
} opt = { "0", .jobs = 1, .depth = 16, .contexts = 1, .min_us = 1000, .max_us = 1000, .seed = 1 };

static __attribute__((noreturn)) void usage(const char *why)
{
	fprintf(stderr, "gpujobs: %s\n", why);
	exit(2);
}

/* What an ioctl said no to; a device that was unbound is not a fault of ours */
static __attribute__((noreturn)) void fail(const char *what)
{
	int e = errno;

	fflush(stdout);
	fprintf(stderr, "gpujobs: %s: %s\n", what, strerror(e));
	exit(e == ENODEV ? 3 : 1);
}

static unsigned long number(const char *text, unsigned long min, unsigned long max)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	if (end == text || *end || n < min || n > max)
		usage("a number is out of bounds");
	return n;
}

static void parse_rings(char *list)
{
	for (char *save, *name = strtok_r(list, ",", &save); name;
	     name = strtok_r(NULL, ",", &save)) {
		unsigned int i = 0;

		while (i < MOCKGPU_RINGS && strcmp(name, ring_name[i]) != 0)
			i++;
		if (i == MOCKGPU_RINGS || opt.rings == MOCKGPU_RINGS)
			usage("no such ring");
		opt.ring[opt.rings++] = i;
	}
}

static void parse_length(char *text)
{
	char *to = strchr(text, '-');

	if (to)
		*to++ = '\0';
	opt.min_us = number(text, 0, MOCKGPU_MAX_NS / 1000);
	opt.max_us = to ? number(to, opt.min_us, MOCKGPU_MAX_NS / 1000) : opt.min_us;
}

enum { DEVICE, JOBS, RING, LENGTH, DEPTH, CONTEXTS, SEED, WAIT, DEPEND, HANG, ALLOC, HOLD };

static const struct option options[] = {
	{ "device", 1, NULL, DEVICE }, { "jobs", 1, NULL, JOBS },
	{ "ring", 1, NULL, RING },     { "length-us", 1, NULL, LENGTH },
	{ "depth", 1, NULL, DEPTH },   { "contexts", 1, NULL, CONTEXTS },
	{ "seed", 1, NULL, SEED },     { "wait", 0, NULL, WAIT },
	{ "depend", 1, NULL, DEPEND }, { "hang", 0, NULL, HANG },
	{ "alloc", 1, NULL, ALLOC },   { "hold", 0, NULL, HOLD },
	{ NULL, 0, NULL, 0 },
};

static void take(int option)
{
	switch (option) {
	case DEVICE:
		opt.device = optarg;
		break;
	case JOBS:
		opt.jobs = number(optarg, 0, 100000000);
		break;
	case RING:
		parse_rings(optarg);
		break;
	case LENGTH:
		parse_length(optarg);
		break;
	case DEPTH:
		opt.depth = number(optarg, 1, MOCKGPU_MAX_JOBS - 1);
		break;
	case CONTEXTS:
		opt.contexts = number(optarg, 1, MOCKGPU_MAX_CTX);
		break;
	case SEED:
		opt.seed = number(optarg, 0, UINT32_MAX);
		break;
	case WAIT:
		opt.wait = true;
		break;
	case DEPEND:
		opt.depend = number(optarg, 1, MOCKGPU_MAX_JOBS - 1);
		break;
	case HANG:
		opt.hang = true;
		break;
	case ALLOC:
		opt.alloc = (int64_t)number(optarg, 0, 1UL << 40);
		break;
	case HOLD:
		opt.hold = true;
		break;
	default:
		usage("an option is not known");
	}
}

/* The render node of mockgpu.N, whatever number DRM gave it */
static int open_device(void)
{
	char path[512] = "";
	glob_t g = { 0 };
	int fd;

	if (opt.device[0] == '/') {
		snprintf(path, sizeof(path), "%s", opt.device);
	} else {
		snprintf(path, sizeof(path), "/sys/bus/platform/devices/mockgpu.%lu/drm/renderD*",
			 number(opt.device, 0, 15));
		if (glob(path, 0, NULL, &g) != 0)
			usage("no such device");
		snprintf(path, sizeof(path), "/dev/dri/%s", strrchr(g.gl_pathv[0], '/') + 1);
		globfree(&g);
	}
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		fail(path);
	return fd;
}

static int ask(int fd, unsigned long request, void *args)
{
	int r;

	do {
		r = ioctl(fd, request, args);
	} while (r < 0 && (errno == EINTR || errno == EAGAIN));
	return r;
}

static uint64_t next_random(void)
{
	/* Knuth's MMIX generator; its high bits are the good ones */
	opt.seed = opt.seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return opt.seed >> 33;
}

static void wait_for(int fd, uint64_t job)
{
	struct drm_mockgpu_wait args = { .job = job, .timeout_ns = -1 };

	if (ask(fd, DRM_IOCTL_MOCKGPU_WAIT, &args) < 0)
		fail("waiting");
	if (args.result)
		printf("failed %llu %d\n", (unsigned long long)job, -args.result);
}

static void submit(int fd, const uint32_t *ctx, unsigned long i)
{
	unsigned int ring = opt.ring[i % opt.rings];
	struct drm_mockgpu_submit args = {
		.ctx = ctx[i / opt.rings % opt.contexts],
		.ring = ring,
		.flags = opt.hang && i == 0 ? MOCKGPU_JOB_HANG : 0,
		.depends = opt.depend && i >= opt.depend ? i + 1 - opt.depend : 0,
	};

	args.length_ns = 1000 * (opt.min_us + next_random() % (opt.max_us - opt.min_us + 1));
	if (ask(fd, DRM_IOCTL_MOCKGPU_SUBMIT, &args) < 0)
		fail("submitting");
	printf("%s %llu %llu\n", ring_name[ring], (unsigned long long)args.fence_context,
	       (unsigned long long)args.fence_seqno);
}

int main(int argc, char **argv)
{
	uint32_t ctx[MOCKGPU_MAX_CTX];
	unsigned long waited = 0;
	int fd, c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1)
		take(c);
	if (optind != argc)
		usage("an argument is not an option");
	if (opt.rings == 0)
		opt.rings = 1;
	fd = open_device();
	for (unsigned long i = 0; i < opt.contexts; i++) {
		struct drm_mockgpu_ctx args = { .op = MOCKGPU_CTX_CREATE };

		if (ask(fd, DRM_IOCTL_MOCKGPU_CTX, &args) < 0)
			fail("context");
		ctx[i] = args.id;
	}
	if (opt.alloc) {
		struct drm_mockgpu_alloc args = { .domain = MOCKGPU_VRAM, .bytes = opt.alloc };

		if (ask(fd, DRM_IOCTL_MOCKGPU_ALLOC, &args) < 0)
			fail("memory");
	}
	for (unsigned long i = 0; i < opt.jobs; i++) {
		while (waited + (opt.wait ? 1 : opt.depth) <= i)
			wait_for(fd, ++waited);
		submit(fd, ctx, i);
	}
	while (waited < opt.jobs)
		wait_for(fd, ++waited);
	fflush(stdout);
	if (opt.hold)
		while (read(STDIN_FILENO, &c, 1) > 0)
			;
	return 0;
}
