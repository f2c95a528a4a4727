/* SPDX-License-Identifier: GPL-2.0 */
/* The simulated GPUs against a host made for the test: time stands where the test puts it. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "../../backend/lib/file.h"
#include "../../backend/sim/sim.c"
#include "../lib/tap.h"
#include "../lib/tmp.h"

#define MAX   400000
#define START 5000000000ull

static struct {
	union gt_record *r;
	size_t n, total;
	uint64_t now, timer, mark;
	unsigned int gpus, rings, logs;
	char ring_names[64][40];
	char error[256];
} host;

static void h_push(struct gt_plugin *p, const union gt_record *r, size_t n)
{
	for (size_t i = 0; i < n && host.n < MAX; i++)
		host.r[host.n++] = r[i];
	host.total += n;
}

static void h_watermark(struct gt_plugin *p, uint64_t ts)
{
	host.mark = ts;
}

static uint16_t h_gpu(struct gt_plugin *p, const struct gt_gpu_desc *d)
{
	return (uint16_t)host.gpus++;
}

static uint16_t h_ring(struct gt_plugin *p, uint16_t gpu, const char *name, enum gt_engine e)
{
	if (host.rings < 64)
		snprintf(host.ring_names[host.rings], 40, "%s", name);
	return (uint16_t)host.rings++;
}

static void h_timer(struct gt_plugin *p, uint64_t ns)
{
	host.timer = ns ? host.now + ns : 0;
}

static int h_error(struct gt_plugin *p, int err, const char *fmt, ...)
{
	snprintf(host.error, sizeof(host.error), "%s", fmt);
	return -err;
}

static void h_log(struct gt_plugin *p, int priority, const char *fmt, ...)
{
	host.logs++;
}

static uint64_t h_now(struct gt_plugin *p)
{
	return host.now;
}

static int h_file(struct gt_plugin *p, enum gt_file_op op, const char *path, int flags)
{
	return gt_file_here(op, path, flags);
}

static const struct gt_host hooks = {
	.file = h_file,
	.push = h_push,
	.watermark = h_watermark,
	.gpu = h_gpu,
	.ring = h_ring,
	.timer = h_timer,
	.error = h_error,
	.log = h_log,
	.now = h_now,
};

static struct gt_sim_options opt;
static struct gt_plugin plugin;
static char no_truth[] = "";

static void begin(void)
{
	union gt_record *r = host.r;

	memset(&host, 0, sizeof(host));
	host.r = r;
	host.now = START;
	opt = (struct gt_sim_options){ .seed = 1,
				       .rate = 20000,
				       .gpus = 1,
				       .rings = 5,
				       .users = 3,
				       .procs = 8,
				       .truth = no_truth };
	plugin = (struct gt_plugin){ .host = &hooks, .options = &opt };
}

/* Lets time pass until @end, drains when the plugin asked for it, at times late by up to @late. */
static void play(uint64_t end, uint64_t late)
{
	while (host.timer && host.timer < end) {
		host.now = host.timer + (late ? (uint64_t)rand() % late : 0);
		host.timer = 0;
		gt_backend.drain(&plugin);
	}
	host.now = end;
	gt_backend.drain(&plugin);
}

static unsigned int count(enum gt_type type)
{
	unsigned int n = 0;

	for (size_t i = 0; i < host.n; i++)
		n += host.r[i].ev.type == type;
	return n;
}

static void test_order(void)
{
	unsigned int back = 0, future = 0, unknown = 0, real = 0;

	begin();
	gt_backend.start(&plugin);
	play(START + 5000000000ull, 0);
	for (size_t i = 0; i < host.n; i++) {
		back += i && host.r[i].ev.ts < host.r[i - 1].ev.ts;
		future += host.r[i].ev.ts > host.now;
		unknown += !gt_type_known(host.r[i].ev.type);
		real += host.r[i].ev.type < GT_NTYPES && host.r[i].ev.pid < GT_SIM_FIRST_PID;
	}
	is(back, 0, "records come in order of time");
	is(future, 0, "none from the future");
	is(unknown, 0, "all of known types");
	is(real, 0, "no pid could be a real one");
	is(host.mark, host.now, "the watermark is now");
	ok(host.n > 90000 && host.n < 115000, "20000 events a second for 5 s: %zu", host.n);
	is(count(GT_PROCESS), 8, "eight processes");
	ok(count(GT_QUEUE_CREATE) >= 4 && count(GT_QUEUE_MAP) >= count(GT_QUEUE_UNMAP), "queues");
	ok(count(GT_QUEUE_DESTROY) > 0 && count(GT_QUEUE) == count(GT_QUEUE_CREATE),
	   "queues come and go, each described");
	ok(count(GT_SYNC_WAIT_ENTER) > 100, "processes wait: %u", count(GT_SYNC_WAIT_ENTER));
	ok(count(GT_ERROR) > 0, "some jobs fail: %u", count(GT_ERROR));
	is(count(GT_START) + count(GT_END), 0, "hardware times are not emitted by default");
	is_str(host.ring_names[0], "gfx", "ring 0");
	is_str(host.ring_names[2], "comp_1.0.1", "ring 2");
	is_str(host.ring_names[4], "vcn_dec0", "ring 4");
	gt_backend.stop(&plugin);
}

/* Each job takes its steps once and in order, and a ring serves one after the other. */
static void test_jobs(void)
{
	static const uint8_t types[] = { GT_SUBMIT, GT_COMMIT, GT_START, GT_END, GT_COMPLETE };
	static uint8_t next[4096][1024];
	static int running[64], handed[64];
	unsigned int wrong = 0, overlap = 0, deep = 0, shuffled = 0;

	begin();
	opt.measured = true;
	opt.gpus = 2;
	opt.jobs = 20000;
	gt_backend.start(&plugin);
	play(START + 60000000000ull, 3000000);
	for (size_t i = 0; i < host.n; i++) {
		const struct gt_event *e = &host.r[i].ev;
		uint8_t *step = &next[e->ctx % 4096][e->seqno % 1024];

		if (e->type >= GT_NTYPES || !memchr(types, e->type, sizeof(types)))
			continue;
		wrong += e->type != types[*step];
		*step = (uint8_t)((*step + 1) % 5);
		running[e->ring % 64] += (e->type == GT_START) - (e->type == GT_END);
		handed[e->ring % 64] += (e->type == GT_COMMIT) - (e->type == GT_COMPLETE);
		overlap += running[e->ring % 64] > 1;
		deep += handed[e->ring % 64] > GT_SIM_HW_DEPTH;
	}
	for (size_t i = 0; i < sizeof(next); i++)
		shuffled += ((uint8_t *)next)[i] != 0;
	is(count(GT_SUBMIT), 20000, "jobs=20000 submits so many");
	is(count(GT_COMPLETE), 20000, "and all end");
	is(wrong, 0, "each takes its five steps in order");
	is(shuffled, 0, "to the last");
	is(overlap, 0, "a ring runs one at a time");
	is(deep, 0, "and has four handed over at most");
	is(count(GT_SYNC_WAIT_ENTER), count(GT_SYNC_WAIT_EXIT), "whoever waited goes on");
	is(host.timer, 0, "then no timer is armed");
	ok(host.gpus == 2 && host.rings == 10, "two GPUs with five rings each");
	gt_backend.stop(&plugin);
}

static uint64_t digest(size_t n)
{
	uint64_t h = 14695981039346656037ull;

	for (size_t i = 0; i < n * sizeof(host.r[0]); i++)
		h = (h ^ ((uint8_t *)host.r)[i]) * 1099511628211ull;
	return h;
}

static void test_seed(void)
{
	uint64_t one, two, three;

	begin();
	gt_backend.start(&plugin);
	play(START + 1000000000, 0);
	gt_backend.stop(&plugin);
	one = digest(10000);
	begin();
	gt_backend.start(&plugin);
	play(START + 1000000000, 30000000);
	gt_backend.stop(&plugin);
	two = digest(10000);
	begin();
	opt.seed = 2;
	gt_backend.start(&plugin);
	play(START + 1000000000, 0);
	gt_backend.stop(&plugin);
	three = digest(10000);
	ok(one == two, "one seed gives one run, however it is drained");
	ok(one != three, "another seed another");
}

static void test_idle(void)
{
	struct gt_option rate = { .name = "rate" };
	unsigned int submitted;

	begin();
	opt.rate = 0;
	gt_backend.start(&plugin);
	is(host.timer, 0, "rate 0 arms no timer");
	opt.rate = 1000;
	is(gt_backend.set(&plugin, &rate), 0, "the rate may change");
	ok(host.timer > host.now, "then there is one");
	play(START + 1000000000, 0);
	submitted = count(GT_SUBMIT);
	ok(submitted > 200, "and jobs come");
	is(gt_backend.control(&plugin, GT_CTL_PAUSE, 0), 1, "pause: what has begun goes on");
	play(START + 3000000000ull, 0);
	is(host.timer, 0, "arms no timer once all jobs ended");
	is(count(GT_SUBMIT), count(GT_COMPLETE), "as they did");
	gt_backend.control(&plugin, GT_CTL_RESUME, 0);
	play(START + 4000000000ull, 0);
	ok(count(GT_SUBMIT) > submitted + 200, "and it goes on");
	is(gt_backend.control(&plugin, GT_CTL_SEEK, 1), -EOPNOTSUPP, "there is no seek");
	gt_backend.stop(&plugin);
}

/* A daemon that was stopped for a minute catches up in pieces. */
static void test_stall(void)
{
	begin();
	opt.rate = 100000;
	gt_backend.start(&plugin);
	host.now += 60000000000ull;
	ok(gt_backend.drain(&plugin) < 2 * GT_SIM_BATCH, "one drain is bounded");
	is(host.timer, host.now + 1, "and asks for the next at once");
	ok(host.mark < host.now, "it does not promise what it has not emitted");
	gt_backend.stop(&plugin);
}

/* The truth's rows and the records are the same: counts, and the sum of all stages. */
static void test_truth(void)
{
	char path[TMP_PATH_MAX], line[512], link[TMP_PATH_MAX + 8];
	unsigned int rows = 0, others = 0, records = 0;
	int fd = tmp_file(path, "gt-truth");
	FILE *f;

	close(fd);
	begin();
	opt.truth = path;
	opt.jobs = 3000;
	setenv("GPUTRACE_TEST", "1", 1);
	gt_backend.start(&plugin);
	play(START + 60000000000ull, 0);
	gt_backend.stop(&plugin);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f)) {
		others += line[0] == '#';
		rows += line[0] >= '0' && line[0] <= '9';
	}
	if (f)
		fclose(f);
	for (size_t i = 0; i < host.n; i++)
		records += host.r[i].ev.type < GT_NTYPES;
	is(rows, 3000, "the truth has a row per job");
	is(others + 3 * rows, records, "and one per other event");

	snprintf(link, sizeof(link), "%s.link", path);
	ok(symlink(path, link) == 0, "a symbolic link");
	begin();
	opt.truth = link;
	gt_backend.start(&plugin);
	is(host.logs, 1, "is not followed");
	gt_backend.stop(&plugin);
	unlink(link);
	unlink(path);
	unsetenv("GPUTRACE_TEST");
	begin();
	opt.truth = path;
	gt_backend.start(&plugin);
	gt_backend.stop(&plugin);
	ok(access(path, F_OK) < 0, "no truth is written but for a test");
}

static void test_limits(void)
{
	begin();
	opt.gpus = GT_SIM_MAX_GPUS;
	opt.rings = GT_SIM_MAX_RINGS;
	opt.procs = GT_SIM_MAX_PROCS;
	opt.rate = 1000000;
	is(gt_backend.start(&plugin), 0, "the largest there may be starts");
	play(START + 100000000, 0);
	ok(host.total > 80000, "and runs: %zu records in 0.1 s", host.total);
	gt_backend.stop(&plugin);
	begin();
	opt.rings = 1;
	opt.procs = 1;
	opt.rate = 1;
	is(gt_backend.start(&plugin), 0, "and so does the smallest");
	play(START + 100000000000ull, 0);
	ok(host.n > 30, "a job now and then");
	gt_backend.stop(&plugin);
}

int main(void)
{
	host.r = calloc(MAX, sizeof(*host.r));
	if (!host.r)
		return 1;
	test_order();
	test_jobs();
	test_seed();
	test_idle();
	test_stall();
	test_truth();
	test_limits();
	free(host.r);
	return done_testing();
}
