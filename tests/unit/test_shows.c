/* SPDX-License-Identifier: GPL-2.0 */
/* What the files of GPUs, rings, queues and processes show, word for word. */
#include "../../fs/model/internal.h"
#include "../../fs/tree/internal.h"
#include "shown.h"

/* What is expected ---------------------------------------------------------------------------- */

#define STAGES	"stage count total_ns avg_ns p50_ns p90_ns p99_ns max_ns\n"
#define ONE(n)	" 1 " #n " " #n " " #n " " #n " " #n " " #n "\n"
#define UNKNOWN " - - - - - - -\n"
#define UTIL	"avg1_percent avg10_percent avg60_percent total_ns source\n"
#define RATES	"jobs avg1_per_second avg10_per_second total\n"

static void test_tables(void)
{
	SHOWS(at_root, "gpus", root,
	      "gpu busy_percent memory_used_bytes memory_total_bytes power_watts "
	      "temperature_celsius "
	      "clock_hz driver pci flags\n"
	      "amdgpu0 15.10 - - - - - amdgpu 0000:04:00.0 -\n"
	      "v3d-any - - - - - - v3d - any\n");
	SHOWS(at_root, "rings", root,
	      "gpu ring name engine depth busy_percent submitted completed errors lost "
	      "exec_source\n"
	      "amdgpu0 ring0 gfx_0.0.0 GRAPHICS 3 15.10 5 2 1 0 inferred\n"
	      "amdgpu0 ring1 sdma\\0400 COPY 0 0.04 1 1 0 0 measured\n");
	SHOWS(at_gpu, "aggregate", root,
	      "gpu ring name events avg_latency_ns min_latency_ns max_latency_ns avg_depth "
	      "peak_depth start_s window_ns\n"
	      "amdgpu0 ring0 gfx_0.0.0 12 1510500 1050000 1971000 1.10 3 100.000121000 999879000\n"
	      "amdgpu0 ring1 sdma\\0400 5 1002000 1002000 1002000 0.00 1 100.003000000 "
	      "997000000\n");
	SHOWS(at_root, "perf", root,
	      "ring_id utilization_percent drop_rate_percent avg_latency_us\n"
	      "amdgpu0/ring0 30.20 0.00 1510.50\n"
	      "amdgpu0/ring1 0.09 0.00 1002.00\n");
	SHOWS(at_sdma, "events_by_type", root,
	      "type seen recorded per_second\n"
	      "SUBMIT 1 1 0.50\nCOMPLETE 1 1 0.50\nCOMMIT 1 1 0.50\nSTART 1 1 0.50\n"
	      "END 1 1 0.50\n");
}

#define TOP	 "pid uid gpu engine busy_percent share_percent jobs queue_p99_ns comm\n"
#define TOP_OWN	 "1000 1000 amdgpu0 GRAPHICS 15.05 99.66 1 50000 glxgears\n"
#define TOP_COPY "1000 1000 amdgpu0 COPY 0.04 100.00 1 5000 glxgears\n"
#define TOP_REST "amdgpu0 GRAPHICS 0.05 0.33 1 100000 "

static void test_top(void)
{
	SHOWS(at_root, "top", root, TOP TOP_OWN "2000 2000 " TOP_REST "#x\\040y\\012z\n" TOP_COPY);
	SHOWS(at_root, "top", user, TOP TOP_OWN "- - " TOP_REST "-\n" TOP_COPY);
	SHOWS(at_root, "top", owner, TOP TOP_OWN TOP_COPY);
}

static void test_gpu(void)
{
	SHOWS(at_gpu, "info", root,
	      "driver amdgpu\nname amdgpu0\npci 0000:04:00.0\ncard card0\nrender renderD128\n"
	      "kfd_id 7\nrings 2\nengines GRAPHICS,COPY\n");
	SHOWS(at_any, "info", root, "driver v3d\nname v3d-any\nrings 0\nflags any\n");
	SHOWS(at_gpu, "stats", root,
	      "submitted 6\ncommitted 5\ncompleted 3\nin_flight 3\nerrors 1\nlost 0\ngiven_up 0\n"
	      "dropped_table_full 0\nbegin_unseen 0\nended_unseen 0\nioctls 1\nioctl_ns 130000\n");
	SHOWS(at_gpu, "utilization", root,
	      "engine " UTIL "GRAPHICS 30.20 15.10 15.10 302000000 scheduler\n"
	      "COPY 0.09 0.04 0.04 992000 scheduler\n");
	SHOWS(at_any, "utilization", root, "engine " UTIL);
	SHOWS(at_gpu, "memory", root, "absent");
}

#define ERRORS "time_s gpu ring ctx seqno pid error\n"

static void test_errors(void)
{
	SHOWS(at_gpu, "errors", root, ERRORS "100.750000000 amdgpu0 ring0 6 2 2000 timeout\n");
	SHOWS(at_gfx, "errors", user, ERRORS "100.750000000 amdgpu0 ring0 - 2 - timeout\n");
	SHOWS(at_gfx, "errors", owner, ERRORS);
	SHOWS(at_sdma, "errors", root, ERRORS);
}

static void test_ring(void)
{
	SHOWS(at_gfx, "name", root, "gfx_0.0.0\n");
	SHOWS(at_gfx, "engine", root, "GRAPHICS\n");
	SHOWS(at_gfx, "depth", root, "now 3\navg 1.10\npeak 3\n");
	SHOWS(at_gfx, "utilization", root,
	      "engine " UTIL "GRAPHICS 30.20 15.10 15.10 302000000 scheduler\n");
	SHOWS(at_gfx, "throughput", root, RATES "submitted 5.00 2.50 5\ncompleted 2.00 1.00 2\n");
	SHOWS(at_gfx, "stats", root,
	      "submitted 5\ncommitted 4\ncompleted 2\nin_flight 3\nerrors 1\nlost 0\ngiven_up 0\n"
	      "dropped_table_full 0\nbegin_unseen 0\nended_unseen 0\nbusy_ns 2000000\n");
}

static void test_latency(void)
{
	const char *all;

	SHOWS(at_sdma, "latency", root,
	      STAGES "queue" ONE(5000) "hw_wait" ONE(3000) "exec" ONE(992000) //
	      "complete" ONE(2000) "total" ONE(1002000));
	SHOWS(at_sdma, "exec_source", root, "measured\n");
	SHOWS(at_gfx, "latency", root,
	      STAGES "queue 2 150000 75000 50000 99839 99839 100000\n"
		     "hw_wait 2 871000 435500 0 871000 871000 871000\n"
		     "exec 2 2000000 1000000 1000000 1000000 1000000 1000000\n"
		     "complete - - - - - - -\n"
		     "total 2 3021000 1510500 1056767 1971000 1971000 1971000\n");
	SHOWS(at_gfx, "exec_source", root, "inferred\n");
	all = text(&at_root, "latency", &root);
	ok(begins(all, "gpu ring " STAGES "amdgpu0 ring0 queue 2 150000 75000 "),
	   "latency of the root begins with the first ring");
	ok(strstr(all, "\namdgpu0 ring1 total" ONE(1002000)), "… and has the others");
	SHOWS(at_sdma, "latency_10s", root,
	      STAGES "queue" ONE(5000) "hw_wait" ONE(3000) "exec" ONE(992000) //
	      "complete" ONE(2000) "total" ONE(1002000));
}

static void test_histogram(void)
{
	const char *h = text(&at_gfx, "histogram", &root);
	unsigned int lines = 0;

	ok(begins(h, "stage le_ns count\nqueue 1023 0\nqueue 1535 0\nqueue 2047 0\n"),
	   "histogram begins at 1 us, in steps of half an octave");
	ok(strstr(h, "queue 49151 0\nqueue 65535 1\nqueue 98303 1\nqueue 131071 2\n"),
	   "its counts are cumulative");
	ok(strstr(h, "queue 1099511627775 2\nqueue +Inf 2\nhw_wait 1023 1\n"),
	   "each stage ends with +Inf");
	ok(!strstr(h, "complete"), "a stage that is not reported is left out");
	for (; *h; h++)
		lines += *h == '\n';
	is(lines, 1 + 4 * 62, "62 lines a stage");
}

#define JOBS  "ctx seqno pid state age_ns comm\n"
#define JOB_A "5 2 1000 running 500000000 glxgears\n"
#define JOB_C "5 3 1000 committed 200000000 glxgears\n"

static void test_jobs(void)
{
	SHOWS(at_gfx, "jobs", root, JOBS JOB_A "6 2 2000 queued 400000000 #x\\040y\\012z\n" JOB_C);
	SHOWS(at_gfx, "jobs", user, JOBS JOB_A "- 2 - queued 400000000 -\n" JOB_C);
	SHOWS(at_gfx, "jobs", owner, JOBS JOB_A JOB_C);
	SHOWS(at_sdma, "jobs", root, JOBS);
}

static void test_queue(void)
{
	SHOWS(at_queue, "type", user, "tsg\n");
	SHOWS(at_queue, "pid", root, "2000\n");
	SHOWS(at_queue, "pid", user, "absent");
	SHOWS(at_queue, "uid", user, "absent");
	SHOWS(at_queue, "engine", user, "COMPUTE\n");
	SHOWS(at_queue, "state", user, "created\n");
	SHOWS(at_queue, "runlist", user, "13\n");
	SHOWS(at_queue, "interleave", user, "MEDIUM\n");
	SHOWS(at_queue, "ring", root, "absent");
	SHOWS(at_queue, "priority", root, "absent");
	SHOWS(at_queue, "channels", root, "absent");
	SHOWS(at_queue, "timeslice_us", root, "absent");
	SHOWS(at_queue, "depth", root, "absent");
	SHOWS(at_queue, "latency", root, "absent");
}

static void test_proc(void)
{
	struct gt_obj on_sdma_gpu = at_proc;

	on_sdma_gpu.gpu = 0;
	SHOWS(at_proc, "comm", user, "glxgears\n");
	SHOWS(at_proc, "uid", user, "1000\n");
	SHOWS(at_proc, "cgroup", user, "/user.slice\n");
	SHOWS(at_proc, "state", user, "alive\n");
	SHOWS(at_proc, "waits", user, "kind count total_ns\nioctl 1 130000\n");
	SHOWS(at_proc, "utilization", user,
	      "gpu ring engine " UTIL
	      "amdgpu0 ring0 GRAPHICS 30.10 15.05 15.05 301000000 scheduler\n"
	      "amdgpu0 ring1 COPY 0.09 0.04 0.04 992000 scheduler\n");
	SHOWS(at_proc, "stats", user,
	      "submitted 4\ncommitted 4\ncompleted 2\nin_flight 2\nerrors 0\nlost 0\ngiven_up 0\n"
	      "dropped_table_full 0\nbegin_unseen 0\nended_unseen 0\nioctls 1\nioctl_ns "
	      "130000\nbusy_ns "
	      "1992000\n");
	SHOWS(on_sdma_gpu, "latency", user,
	      "gpu ring " STAGES "amdgpu0 ring0 queue" ONE(50000) "amdgpu0 ring0 hw_wait" ONE(0) //
	      "amdgpu0 ring0 exec" ONE(1000000) "amdgpu0 ring0 complete" UNKNOWN		 //
						"amdgpu0 ring0 total" ONE(1050000)		 //
	      "amdgpu0 ring1 queue" ONE(5000) "amdgpu0 ring1 hw_wait" ONE(3000)			 //
	      "amdgpu0 ring1 exec" ONE(992000) "amdgpu0 ring1 complete" ONE(2000)		 //
	      "amdgpu0 ring1 total" ONE(1002000));
	SHOWS(at_other, "comm", user, "absent");
	SHOWS(at_other, "stats", user, "EACCES");
	SHOWS(at_other, "stats", owner, "EACCES");
	SHOWS(at_other, "comm", root, "#x y\\012z\n");
}

static void test_gen(void)
{
	uint64_t latency = gen(&at_gfx, "latency_10s"), stats = gen(&at_gfx, "stats");
	uint64_t sdma = gen(&at_sdma, "latency_10s"), jobs = gen(&at_gfx, "jobs"), idle;

	is(gen(&at_gfx, "latency_10s"), latency, "gen: nothing happened");
	gt_model_advance(app.model, 102 * S);
	ok(gen(&at_gfx, "latency_10s") != latency, "gen: the last 10 s move with the clock");
	ok(gen(&at_gfx, "stats") == stats, "gen: counters do not");
	ok(gen(&at_gfx, "jobs") != jobs, "gen: ages do");
	job_event(102 * S + 1, GT_COMPLETE, 0, 5, 2);
	ok(gen(&at_gfx, "stats") != stats, "gen: an event changes its ring");
	ok(gen(&at_sdma, "latency_10s") != sdma, "gen: an active ring's changes each second");
	gt_model_advance(app.model, 200 * S);
	idle = gen(&at_sdma, "latency_10s");
	gt_model_advance(app.model, 250 * S);
	ok(gen(&at_sdma, "latency_10s") == idle, "gen: an idle ring's does not");
	ok(gen(&at_sdma, "depth"), "gen: depth has one");
	is_str(text(&at_gfx, "utilization", &root),
	       "engine " UTIL "GRAPHICS 100.00 100.00 100.00 149302000000 scheduler\n",
	       "a job that runs for long is seen before it ends");
}

static void test_gone(void)
{
	struct gt_obj reused = at_proc, none = at_gfx, queue = at_queue;

	reused.start = 78;
	none.ring = 2;
	queue.id = 1;
	SHOWS(reused, "stats", root, "ENODEV");
	SHOWS(none, "latency", root, "ENODEV");
	SHOWS(none, "jobs", root, "ENODEV");
	SHOWS(queue, "stats", root, "ENODEV");
	{
		GT_MODEL_LOCK(app.model);
		app.model->gpus[0]->gone = true;
	}
	SHOWS(at_gpu, "info", root, "ENODEV");
	SHOWS(at_gpu, "rings", root, "ENODEV");
	SHOWS(at_gpu, "utilization", root, "ENODEV");
	SHOWS(at_gfx, "errors", root, "ENODEV");
	is(gen(&at_gpu, "stats"), 0, "gen of what has gone is 0");
	ok(!strstr(text(&at_root, "gpus", &root), "amdgpu0"), "a GPU that has gone is in no table");
	{
		GT_MODEL_LOCK(app.model);
		gt_model_clear(app.model);
		gt_model_exit(app.model, 0);
	}
	SHOWS(at_proc, "state", user, "dead\n");
}

/* Rings of one engine that work at once, in a recording that is short, and in one that is long */
static void test_observed(void)
{
	const uint64_t t = 200 * S;
	const char *top;
	uint16_t other;

	setup(1 << 20);
	{
		GT_MODEL_LOCK(app.model);
		other = gt_model_ring(app.model, app.model->gpus[0], "sdma1", GT_ENGINE_COPY, NULL)
				->id;
	}
	for (unsigned int i = 0; i < 2; i++) {
		uint16_t ring = i ? other : 1;

		submit(t, ring, 20 + i, 1, 1000);
		job_event(t, GT_COMMIT, ring, 20 + i, 1);
	}
	job_event(t + 60 * MS, GT_COMPLETE, 1, 20, 1);
	job_event(t + 60 * MS, GT_COMPLETE, other, 21, 1);
	gt_model_advance(app.model, t + 80 * MS);
	SHOWS(at_root, "top", root, TOP "1000 1000 amdgpu0 COPY 75.00 100.00 2 0 glxgears\n");
	SHOWS(at_sdma, "utilization", root,
	      "engine " UTIL "COPY 75.00 75.00 75.00 60000000 scheduler\n");
	ok(strstr(text(&at_root, "rings", &root), " ring1 sdma\\0400 COPY 0 75.00 1 1 "),
	   "of 80 ms, 60");
	gt_model_advance(app.model, t + 6 * S);
	ok(strstr(text(&at_root, "rings", &root), " ring1 sdma\\0400 COPY 0 1.00 1 1 "),
	   "tables are of the whole recording");
	SHOWS(at_sdma, "utilization", root,
	      "engine " UTIL "COPY 0.00 1.00 1.00 60000000 scheduler\n");
	gt_model_advance(app.model, t + 600 * S);
	top = text(&at_root, "top", &root);
	ok(begins(top, TOP "1000 1000 amdgpu0 COPY 0.01 "), "however long it is: %s", top);
	teardown();
}

/* 100 jobs a second, until a pause begins: no rate of a part of a second */
static void test_rate_paused(void)
{
	static const struct gt_limits limits = { 64, 600 * S, 64, 60 * S };
	struct gt_model *m = gt_model_new(&limits, true);
	struct gt_pauses *p = &m->priv->pauses[GT_OBSERVED_EVENTS];
	struct gt_typecount c = { 0 };
	uint64_t off = gt_model_now(m) + 100 * S, rate = 0;

	m->cleared = off - 80 * S;
	p->since = p->changed = off;
	c.sec = off / S;
	for (unsigned int i = 0; i < 10; i++) {
		c.slot_sec[i] = c.sec - 9 + i;
		c.before[i][GT_COMPLETE] = 100ULL * i;
	}
	c.n[GT_COMPLETE].seen = 900 + off % S / (10 * MS);
	ok(gt_rate_observed(m, &c, NULL, GT_COMPLETE, off, 1, &rate) && rate > 98000 &&
		   rate < 102000,
	   "a second before a pause has a rate");
	ok(gt_rate_observed(m, &c, NULL, GT_COMPLETE, off + 8 * S, 10, &rate) && rate > 98000 &&
		   rate < 102000,
	   "so have two of ten");
	ok(!gt_rate_observed(m, &c, NULL, GT_COMPLETE, off + 500 * MS, 1, &rate),
	   "half of one has none");
	ok(!gt_rate_observed(m, &c, NULL, GT_COMPLETE, off + 9500 * MS, 10, &rate),
	   "nor half of one in ten");
	gt_model_free(m);
}

static void kernel_on(uint16_t gpu, uint64_t start, uint64_t ns)
{
	union gt_record r = event(start + ns, GT_DISPATCH, GT_NONE16, GT_NONE64, 1);

	r.ev.gpu = gpu;
	r.ev.pid = r.ev.tid = r.ev.uid = 1000;
	r.ev.queue = 9;
	r.ev.value = ns;
	r.ev.ref = GT_NONE64;
	feed(&r);
}

/* One that was given to its queue, of which nothing else is known */
static void kernel_given(uint64_t ts)
{
	kernel_on(0, ts + 1, GT_NONE64);
}

static void kernel(uint64_t start, uint64_t ns)
{
	kernel_on(0, start, ns);
}

/* A recording of kernels begins where the first of them does, though it reports ends only */
static void test_first_kernel(void)
{
	setup(0);
	SHOWS(at_gfx, "utilization", root, "engine " UTIL "GRAPHICS - - - 0 scheduler\n");
	kernel(100 * S, 10 * S);
	ok(strstr(text(&at_root, "top", &root), " amdgpu0 COMPUTE 100.00 100.00 1 - "),
	   "one kernel is at work all the time");
	ok(strstr(text(&at_gpu, "utilization", &root),
		  "COMPUTE 100.00 100.00 100.00 10000000000 dispatches\n"),
	   "… as utilization says");
	kernel(120 * S, 1 * S);
	ok(strstr(text(&at_root, "top", &root), " amdgpu0 COMPUTE 52.38 100.00 2 - "),
	   "10 s and 1 s of 21 s");
	{
		GT_MODEL_LOCK(app.model);
		gt_model_clear(app.model);
	}
	kernel(120 * S, 2 * S);
	ok(strstr(text(&at_root, "top", &root), " amdgpu0 COMPUTE 100.00 100.00 1 - "),
	   "after a clear it is 1 s, whatever began before");
	teardown();
	setup(0);
	kernel(0, 1 * S);
	kernel(3 * S, 1 * S);
	ok(strstr(text(&at_root, "top", &root), " amdgpu0 COMPUTE 50.00 100.00 2 - "),
	   "one that began at 0");
	teardown();
}

/* A process of which a recording has queues only, and a live one that has not used a GPU yet */
static void test_no_ring(void)
{
	static const struct gt_limits limits = { 1024, 600 * S, 64, 60 * S };

	for (int wall = 0; wall < 3; wall++) {
		app = (struct gt_app){ .model = gt_model_new(&limits, wall),
				       .log = gt_log_new(1, false) };
		{
			struct gt_gpu *g;

			GT_MODEL_LOCK(app.model);
			g = gt_model_gpu(app.model, wall == 2 ? "nvidia0" : "amdgpu0", NULL);
			snprintf(g->driver, sizeof(g->driver), wall == 2 ? "nvidia" : "amdgpu");
			gt_model_process(app.model, 1000, 77, 1000, "x", NULL, 0);
		}
		if (wall == 1)
			ok(begins(text(&at_proc, "stats", &root), "submitted 0\ncompleted 0\n"),
			   "live: no job yet");
		else /* a recording; and a driver of which nobody sees jobs */
			SHOWS(at_proc, "stats", root, "");
		teardown();
	}
}

static void copied(uint64_t ts, uint64_t bytes)
{
	union gt_record r = event(ts, GT_COPY, GT_NONE16, GT_NONE64, GT_NONE64);

	r.ev.pid = r.ev.tid = r.ev.uid = 1000;
	r.ev.value = bytes;
	feed(&r);
}

static void test_copy_bytes(void)
{
	setup(0);
	copied(100 * S, GT_NONE64);
	ok(strstr(text(&at_proc, "stats", &root), "\nlaunches 0\ncopies 1\n") &&
		   !strstr(text(&at_proc, "stats", &root), "copy_bytes"),
	   "a copy of unknown size");
	copied(101 * S, 4096);
	ok(strstr(text(&at_proc, "stats", &root), "\ncopies 2\ncopy_bytes 4096\n"),
	   "and one of which it is known");
	teardown();
}

/* Counters of / while no process is known to be in a cgroup, and then one is */
static void test_cgroups(void)
{
	setup(0);
	submit(100 * S, 0, 5, 1, 3000);
	job_event(101 * S, GT_COMPLETE, 0, 5, 1);
	ok(begins(text(&at_cgroups, "stats", &root), "submitted 0\ncompleted 0\nin_flight 0\n"),
	   "a process that is in a cgroup did nothing");
	teardown();
	setup(0);
	{
		GT_MODEL_LOCK(app.model);
		gt_model_reset(app.model);
	}
	submit(100 * S, 0, 5, 1, 3000);
	job_event(101 * S, GT_COMPLETE, 0, 5, 1);
	SHOWS(at_cgroups, "stats", root, "");
	teardown();
}

/* Work of nobody who is known is a row: all rows are all of the engine */
static void test_top_nobody(void)
{
	const uint64_t t = 100 * S;
	union gt_record r;

	setup(1 << 20);
	for (uint64_t i = 0; i < 4; i++) {
		submit(t + i * MS, 0, 9, i, i == 3 ? 1000 : GT_NONE32);
		job_event(t + i * MS, GT_COMMIT, 0, 9, i);
		job_event(t + i * MS + 500 * US, GT_COMPLETE, 0, 9, i);
	}
	submit(t + 4 * MS, 1, 8, 1, GT_NONE32); /* runs still */
	job_event(t + 4 * MS, GT_COMMIT, 1, 8, 1);
	job_event(t + 5 * MS, GT_COMPLETE, 1, 8, 1);
	submit(t + 6 * MS, 1, 8, 2, GT_NONE32);
	job_event(t + 6 * MS, GT_COMMIT, 1, 8, 2);
	r = event(t + 5 * MS, GT_DISPATCH, GT_NONE16, GT_NONE64, GT_NONE64);
	r.ev.value = 2 * MS;
	feed(&r);
	gt_model_advance(app.model, t + 8 * MS);
	SHOWS(at_root, "top", root,
	      TOP "- - amdgpu0 COPY 37.50 100.00 1 0 -\n"
		  "- - amdgpu0 COMPUTE 25.00 100.00 1 - -\n"
		  "- - amdgpu0 GRAPHICS 18.75 75.00 3 0 -\n"
		  "1000 1000 amdgpu0 GRAPHICS 6.25 25.00 1 0 glxgears\n");
	SHOWS(at_root, "top", user,
	      TOP "- - amdgpu0 COPY 37.50 100.00 1 0 -\n"
		  "- - amdgpu0 COMPUTE 25.00 100.00 1 - -\n"
		  "- - amdgpu0 GRAPHICS 18.75 75.00 3 0 -\n"
		  "1000 1000 amdgpu0 GRAPHICS 6.25 25.00 1 0 glxgears\n");
	SHOWS(at_root, "top", owner, TOP "1000 1000 amdgpu0 GRAPHICS 6.25 25.00 1 0 glxgears\n");
	{
		GT_MODEL_LOCK(app.model);
		gt_model_clear(app.model);
	}
	SHOWS(at_root, "top", owner, TOP);
	gt_model_advance(app.model, t + 9 * MS);
	SHOWS(at_root, "top", root, TOP "- - amdgpu0 COPY 100.00 100.00 0 - -\n");
	teardown();
}

/* Jobs of which it is not known how long they ran are work all the same */
static void test_top_untimed(void)
{
	setup(1 << 20);
	submit(100 * S, 0, 5, 1, 1000);
	job_event(100 * S, GT_COMMIT, 0, 5, 1);
	{
		GT_MODEL_LOCK(app.model);
		app.model->gpus[0]->rings[0]->after_loss = true;
	}
	job_event(101 * S, GT_COMPLETE, 0, 5, 1);
	SHOWS(at_root, "top", root,
	      TOP "- - amdgpu0 GRAPHICS 100.00 100.00 0 - -\n"
		  "1000 1000 amdgpu0 GRAPHICS - - 1 0 glxgears\n");
	teardown();
}

/* Throughput counts jobs, as stats does, and not events */
static void test_throughput(void)
{
	struct gt_obj at_work = at_gfx;

	at_work.ring = 2;
	setup(0);
	for (unsigned int i = 0; i < 20; i++)
		kernel(100 * S + i * 500 * MS, 100 * MS);
	gt_model_advance(app.model, 110 * S);
	SHOWS(at_work, "throughput", root, RATES "completed 2.00 2.00 20\n");
	{
		GT_MODEL_LOCK(app.model);
		gt_model_clear(app.model);
	}
	kernel(112 * S, 100 * MS);
	gt_model_advance(app.model, 115 * S);
	SHOWS(at_work, "throughput", root, RATES "completed 0.00 0.20 1\n");
	teardown();
	setup(0);
	kernel_given(100 * S);
	kernel_given(101 * S);
	gt_model_advance(app.model, 102 * S);
	SHOWS(at_work, "throughput", root, RATES "submitted 1.00 1.00 2\n");
	SHOWS(at_work, "stats", root, "submitted 2\n");
	teardown();
	setup(0);
	for (unsigned int i = 1; i <= 4; i++) {
		submit((100 + i) * S, 0, 5, i, 1000);
		job_event((100 + i) * S + 1 * MS, GT_COMPLETE, 0, 5, i);
		job_event((100 + i) * S + 2 * MS, GT_COMPLETE, 0, 5, i);
	}
	gt_model_advance(app.model, 105 * S);
	SHOWS(at_gfx, "throughput", root, RATES "submitted 1.00 1.00 4\ncompleted 1.00 1.00 4\n");
	teardown();
}

/* Jobs of a driver's ring on one GPU, kernels on the other */
static void test_two_gpus(void)
{
	struct gt_obj there = at_proc;

	setup(0);
	submit(100 * S, 0, 5, 1, 1000);
	job_event(101 * S, GT_COMPLETE, 0, 5, 1);
	kernel_on(1, 102 * S, 1 * S);
	there.gpu = 1;
	SHOWS(there, "stats", root, "completed 1\nlost 0\nbusy_ns 1000000000\n");
	there.gpu = 0;
	ok(strstr(text(&there, "stats", &root), "submitted 1\n") &&
		   strstr(text(&there, "stats", &root), "in_flight 0\n"),
	   "what is known of one GPU is not of the other");
	teardown();
}

int main(void)
{
	setup(0);
	make_queue();
	make_events();
	test_tables();
	test_top();
	test_gpu();
	test_errors();
	test_ring();
	test_latency();
	test_histogram();
	test_jobs();
	test_queue();
	test_proc();
	test_gen();
	test_gone();
	teardown();
	text(NULL, NULL, NULL);
	test_observed();
	test_rate_paused();
	test_first_kernel();
	test_two_gpus();
	test_throughput();
	test_top_nobody();
	test_top_untimed();
	test_cgroups();
	test_copy_bytes();
	test_no_ring();
	return done_testing();
}
