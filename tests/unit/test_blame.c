/* SPDX-License-Identifier: GPL-2.0 */
/* The text of blame: finished jobs and those in flight, for those who may know and those who not.
 */
#include "shown.h"

#define HEAD                                                                                       \
	"waiter_pid gpu ring blocked_by holder_pid wait_ns share_percent jobs reason "             \
	"waiter_comm holder_comm\n"
/* The other's two rows: 971 us for a job that has ended, 300 ms for one that runs */
#define ROWS(pid, comm)                                                                            \
	pid " amdgpu0 ring0 process 1000 300971000 75.06 2 ring " comm " glxgears\n" pid           \
	    " amdgpu0 ring0 idle - 100000000 24.93 1 - " comm " -\n"
#define OTHER	 ROWS("2000", "#x\\040y\\012z")
#define HIDDEN	 ROWS("-", "-")
#define SDMA_OWN "1000 amdgpu0 ring1 idle - 8000 100.00 1 - glxgears -\n"
/* 50 us and 200 ms until its jobs were handed over, then behind its own that runs */
#define OWN_IDLE "1000 amdgpu0 ring0 idle - 200050000 50.00 2 - glxgears -\n"
#define OWN_SELF "1000 amdgpu0 ring0 self 1000 200000000 49.99 1 ring glxgears glxgears\n"

#define STATS(from, to, finished, flying) "from_s " from "\nto_s " to "\n" JOBS(finished, flying)
#define JOBS(finished, flying)                                                                     \
	"jobs_finished " finished "\njobs_in_flight " flying                                       \
	"\njobs_without_record 0\nolder_jobs_left_out 0\njobs_in_flight_left_out 0\n"

static void test_views(void)
{
	setup(1 << 20);
	SHOWS(at_root, "blame", root, HEAD);
	SHOWS(at_root, "blame_stats", root, JOBS("0", "0") "waiters_left_out 0\n");
	make_events();
	SHOWS(at_root, "blame", root, HEAD OTHER OWN_IDLE OWN_SELF SDMA_OWN);
	SHOWS(at_root, "blame_stats", root,
	      STATS("100.000000000", "101.000000000", "3", "3") "waiters_left_out 0\n");
	SHOWS(at_gfx, "blame_stats", root,
	      STATS("100.000000000", "101.000000000", "2", "3") "waiters_left_out 0\n");
	SHOWS(at_gpu, "blame", root, HEAD OTHER OWN_IDLE OWN_SELF SDMA_OWN);
	SHOWS(at_gfx, "blame", root, HEAD OTHER OWN_IDLE OWN_SELF);
	SHOWS(at_sdma, "blame", root, HEAD SDMA_OWN);
	SHOWS(at_proc, "blame", root, HEAD OWN_IDLE OWN_SELF SDMA_OWN);
	SHOWS(at_other, "blame", root, HEAD OTHER);
	SHOWS(at_gfx, "blame", user, HEAD HIDDEN OWN_IDLE OWN_SELF);
	SHOWS(at_gfx, "blame", owner, HEAD OWN_IDLE OWN_SELF);
	SHOWS(at_proc, "blame", user, HEAD OWN_IDLE OWN_SELF SDMA_OWN);
	SHOWS(at_other, "blame", user, "EACCES");
	SHOWS(at_other, "blame", owner, "EACCES");
	gt_model_clear(app.model);
	gt_log_clear(app.log);
	SHOWS(at_sdma, "blame", root, HEAD);
	gt_model_gpu_gone(app.model, app.model->gpus[0]);
	SHOWS(at_root, "blame", root, HEAD);
	SHOWS(at_gfx, "blame", root, "ENODEV");
	teardown();
}

/* @pid waits 500 ns for @holder, and runs for 100 */
static void pair(uint64_t at, uint64_t seqno, uint32_t holder, uint32_t pid)
{
	submit(at, 0, 9, seqno, holder);
	job_event(at, GT_COMMIT, 0, 9, seqno);
	submit(at + 500, 0, 9, seqno + 1, pid);
	job_event(at + 500, GT_COMMIT, 0, 9, seqno + 1);
	job_event(at + 1000, GT_COMPLETE, 0, 9, seqno);
	job_event(at + 1100, GT_COMPLETE, 0, 9, seqno + 1);
}

/* ns in the rows that have this between the ring and the numbers; 0: there are none */
static uint64_t sum_of(const struct gt_obj *o, const struct gt_view *v, const char *what)
{
	const char *t = text(o, "blame", v);
	uint64_t sum = 0;

	for (; (t = strstr(t, what)); t += strlen(what))
		sum += strtoull(t + strlen(what), NULL, 10);
	return sum;
}

/* Several who may not be known are one row */
static void test_hidden(void)
{
	setup(1 << 20);
	pair(200 * S, 1, 2000, 1000);
	pair(201 * S, 3, 3000, 1000);
	is(sum_of(&at_proc, &root, "process 2000 "), 500, "root sees the one");
	is(sum_of(&at_proc, &root, "process 3000 "), 500, "… and the other");
	ok(strstr(text(&at_proc, "blame", &user),
		  "1000 amdgpu0 ring0 process - 1000 100.00 - ring glxgears -\n"),
	   "redacted: one row for both");
	SHOWS(at_proc, "blame", owner, HEAD);
	teardown();
}

/* The one that matters most: nothing ends any more */
static void test_hung(void)
{
	const uint64_t t = 100 * S;

	setup(1 << 20);
	for (uint64_t i = 0; i < 3; i++) {
		submit(t + i, 0, 5, i, i ? 1000 : 2000);
		job_event(t + 10 + i, GT_COMMIT, 0, 5, i);
	}
	gt_model_advance(app.model, t + 7 * S);
	is(sum_of(&at_proc, &root, "process 2000 "), 2 * (7 * S - 10),
	   "waits for one that hangs count up to now");
	gt_model_advance(app.model, t + 60 * S);
	is(sum_of(&at_proc, &root, "process 2000 "), 2 * (60 * S - 10), "… of the whole recording");
	SHOWS(at_root, "blame_stats", root,
	      STATS("100.000000000", "160.000000000", "0", "3") "waiters_left_out 0\n");
	job_event(t + 60 * S, GT_COMPLETE, 0, 5, 0);
	gt_model_advance(app.model, t + 61 * S);
	is(sum_of(&at_root, &root, "self 1000 "), 1 * S, "one runs now, the other waits");
	submit(t + 62 * S, 0, 5, 10, 2000);
	job_event(t + 62 * S, GT_COMMIT, 0, 5, 10);
	gt_model_advance(app.model, t + 63 * S);
	is(sum_of(&at_other, &root, "process 1000 "), 1 * S, "one more");
	submit(t + 63 * S, 0, 5, 11, 1000);
	job_event(t + 63 * S, GT_COMMIT, 0, 5, 11);
	job_event(t + 64 * S, GT_COMPLETE, 0, 5, 11);
	is(sum_of(&at_other, &root, "process 1000 "), 0,
	   "but not when a later one of its context has ended");
	SHOWS(at_gfx, "jobs", root, "ctx seqno pid state age_ns comm\n");
	ok(strstr(text(&at_gfx, "stats", &root), "\nended_unseen 3\n"), "which is reported");
	teardown();
}

/* Live it is of the last 10 s */
static void test_hung_live(void)
{
	struct timespec now;
	uint64_t t, sum = 0;

	setup(1 << 20);
	clock_gettime(CLOCK_MONOTONIC, &now);
	t = (uint64_t)now.tv_sec * S;
	t = t > 60 * S ? t - 60 * S : S; /* this machine may have come up just now */
	for (uint64_t i = 0; i < 2; i++) {
		submit(t + i, 0, 5, i, i ? 1000 : 2000);
		job_event(t + 10 + i, GT_COMMIT, 0, 5, i);
	}
	app.model->wall = true;
	for (int i = 0; i < 100 && !sum; i++) { /* the process may stand still before it reads */
		gt_model_advance(app.model, gt_model_now(app.model));
		sum = sum_of(&at_proc, &root, "process 2000 ");
	}
	ok(sum <= 10 * S && sum > 0, "live: waits of the last 10 s: %llu ns",
	   (unsigned long long)sum);
	teardown();
}

/* What cannot be known is not made up */
static void test_unknown(void)
{
	const uint64_t t = 100 * S;
	union gt_record r;

	setup(1 << 20);
	pair(t, 1, 2000, 1000);
	{ /* neither recorded nor kept beside */
		struct gt_log *log = app.log;

		app.log = gt_log_new(1, false);
		pair(t + 2000, 3, 2000, 2000);
		gt_log_free(app.log);
		app.log = log;
	}
	submit(t + 1000, 0, 9, 100, 1000);
	job_event(t + 4000, GT_COMMIT, 0, 9, 100);
	job_event(t + 5000, GT_COMPLETE, 0, 9, 100);
	is(sum_of(&at_proc, &root, "unknown - "), 2900, "jobs that are not in the history");
	ok(strstr(text(&at_gfx, "blame_stats", &root),
		  "\njobs_finished 5\njobs_in_flight 0\njobs_without_record 2\n"),
	   "… are counted, and said to be without a record");
	is(sum_of(&at_proc, &root, "self 1000 "), 100, "before those it is known");
	is(sum_of(&at_proc, &root, "idle - "), 0, "nothing is idle");
	submit(t + 5500, 0, 9, 101, 1000);
	job_event(t + 6000, GT_COMMIT, 0, 9, 101);
	job_event(t + 7000, GT_COMPLETE, 0, 9, 101);
	is(sum_of(&at_proc, &root, "idle - "), 500, "after them again");
	gt_record_init(&r, t + 7000, GT_LOST);
	r.lost.count = 1;
	r.lost.cause = GT_LOST_SOURCE;
	feed(&r);
	submit(t + 8000, 0, 9, 102, 1000);
	job_event(t + 8700, GT_COMMIT, 0, 9, 102);
	submit(t + 8750, 0, 9, 103, 1000);
	job_event(t + 8800, GT_COMMIT, 0, 9, 103);
	gt_model_advance(app.model, t + 8900);
	is(sum_of(&at_proc, &root, "unknown - "), 2900 + 700 + 50,
	   "after a loss, until they were handed over");
	is(sum_of(&at_proc, &root, "self 1000 "), 100, "and not for whom may not run");
	job_event(t + 9000, GT_COMPLETE, 0, 9, 102);
	is(sum_of(&at_proc, &root, "unknown - "), 2900 + 700 + 250,
	   "once one has ended, of the next");
	teardown();
}

/* Of both rings of the first GPU, by `depth` */
static uint64_t depths(void)
{
	uint64_t n = strtoull(text(&at_gfx, "depth", &root) + strlen("now "), NULL, 10);

	return n + strtoull(text(&at_sdma, "depth", &root) + strlen("now "), NULL, 10);
}

/* It counts what `depth` and `rings` count: jobs of which no wait is known are in flight, too */
static void test_in_flight(void)
{
	const uint64_t t = 100 * S;

	setup(1 << 20);
	for (uint64_t i = 0; i < 3; i++)
		submit(t + i, 0, 9, i, 1000); /* none has ended: no hand-over is known */
	gt_model_advance(app.model, t + 1 * S);
	ok(strstr(text(&at_root, "blame_stats", &root), "\njobs_finished 0\njobs_in_flight 3\n"),
	   "jobs of which no wait is known are in flight");
	is(depths(), 3, "… as in depth");
	teardown();
}

/* Filters and sampling narrow what is recorded, and not what blame says */
static void test_filtered(void)
{
	const uint64_t t = 100 * S;
	char all[2000], some[2000];

	for (int filtered = 0; filtered < 2; filtered++) {
		setup(1 << 20);
		for (uint32_t i = 0; i < 20; i++) {
			recorded = !filtered || i % 5 == 3;
			pair(t + i * 2000, 2 * i + 1, 2000, i % 2 ? 1000 : 3000);
		}
		recorded = true;
		snprintf(filtered ? some : all, sizeof(all), "%s", text(&at_root, "blame", &root));
		ok(strstr(text(&at_root, "blame_stats", &root),
			  "\njobs_finished 40\njobs_in_flight 0\njobs_without_record 0\n"),
		   "all jobs count");
		if (filtered)
			is(atomic_load(&app.log->fin_head), 8, "8 of 40 jobs have a record");
		teardown();
	}
	ok(!strcmp(all, some), "a filter leaves blame as it is: %s", some);
}

/* A pid that is used again is another's */
static void test_pid_again(void)
{
	setup(1 << 20);
	pair(200 * S, 1, 2000, 1000);
	gt_model_exit(app.model, 0);
	gt_model_process(app.model, 1000, 99, 3000, "other", NULL, 0);
	pair(201 * S, 3, 2000, 1000);
	ok(strstr(text(&at_root, "blame", &root), " ring glxgears #x\\040y\\012z\n"), "the first");
	ok(strstr(text(&at_root, "blame", &root), " ring other #x\\040y\\012z\n"), "the second");
	is(sum_of(&at_proc, &root, "process 2000 "), 500, "each for itself");
	teardown();
}

static void test_too_many(void)
{
	const char *t;
	unsigned int rows = 0;

	setup(1 << 20);
	for (uint32_t i = 0; i < 120; i++)
		pair(200 * S + i * US * 2, 1 + 2 * i, 5000, 3000 + i);
	for (t = text(&at_root, "blame", &root); (t = strchr(t, '\n')); t++)
		rows++;
	is(rows, 1 + 100, "those 100 that waited longest");
	ok(strstr(text(&at_root, "blame_stats", &root), "\nwaiters_left_out 20\n"),
	   "blame_stats counts the others");
	teardown();
	setup(0); /* room for few jobs */
	for (uint32_t i = 0; i < 1000; i++)
		pair(200 * S + i * US * 2, 1 + 2 * i, 2000, 1000);
	ok(strstr(text(&at_root, "blame_stats", &root), "\nolder_jobs_left_out 1\n"),
	   "older jobs are left out");
	ok(begins(text(&at_root, "blame_stats", &root), "from_s 200.0017"),
	   "since when it is known");
	ok(!strstr(text(&at_root, "blame", &root), "unknown"), "within that all is known");
	teardown();
}

int main(void)
{
	test_views();
	test_hidden();
	test_hung();
	test_hung_live();
	test_unknown();
	test_in_flight();
	test_filtered();
	test_pid_again();
	test_too_many();
	text(NULL, NULL, NULL);
	return done_testing();
}
