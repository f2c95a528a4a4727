/* SPDX-License-Identifier: GPL-2.0 */
/* What the files of GPUs, rings, queues and processes show, word for word. */
#include "shown.h"

/* What is expected ---------------------------------------------------------------------------- */

#define ALIKE(n) #n " p50_ns=" #n " p90_ns=" #n " p99_ns=" #n " p999_ns=" #n " max_ns=" #n
#define LAST(n)                                                                                    \
	" 10s_count=1 10s_min_ns=" #n " 10s_avg_ns=" #n " 10s_p50_ns=" #n " 10s_p90_ns=" #n        \
	" 10s_p99_ns=" #n " 10s_p999_ns=" #n " 10s_max_ns=" #n "\n"
#define ONE(n) " count=1 min_ns=" #n " avg_ns=" ALIKE(n) LAST(n)

static void test_tables(void)
{
	SHOWS(at_root, "gpus", root,
	      "# name driver pci card render kfd_id uuid partition utilization_source flags\n"
	      "amdgpu0 amdgpu 0000:04:00.0 card0 renderD128 7 - - scheduler -\n"
	      "v3d-any v3d - - - - - - - any\n");
	SHOWS(at_root, "rings", root,
	      "# gpu ring name engine depth busy_percent submitted completed errors lost "
	      "exec_source\n"
	      "amdgpu0 ring0 gfx_0.0.0 GRAPHICS 3 3.02 5 2 1 0 inferred\n"
	      "amdgpu0 ring1 sdma\\x200 COPY 0 0.00 1 1 0 0 measured\n");
	SHOWS(at_gpu, "aggregate", root,
	      "# gpu ring name events avg_latency_ns min_latency_ns max_latency_ns avg_depth "
	      "peak_depth start window_ns\n"
	      "amdgpu0 ring0 gfx_0.0.0 12 1510500 1050000 1971000 1.10 3 100.000121000 999879000\n"
	      "amdgpu0 ring1 sdma\\x200 5 1002000 1002000 1002000 0.00 1 100.003000000 997000000\n");
	SHOWS(at_root, "perf", root,
	      "# ring_id utilization% drop_rate% avg_latency_us\n"
	      "amdgpu0/ring0 30.20 0.00 1510.50\n"
	      "amdgpu0/ring1 0.09 0.00 1002.00\n");
	SHOWS(at_sdma, "events_by_type", root,
	      "# type seen recorded per_second\n"
	      "SUBMIT 1 1 0.10\nCOMPLETE 1 1 0.10\nCOMMIT 1 1 0.10\nSTART 1 1 0.10\n"
	      "END 1 1 0.10\n");
}

#define TOP	"# pid uid comm gpu busy_percent jobs queue_p99_ns memory_bytes\n"
#define TOP_OWN "1000 1000 glxgears amdgpu0 0.01 2 49919 -\n"

static void test_top(void)
{
	SHOWS(at_root, "top", root,
	      TOP TOP_OWN "2000 2000 \\x23x\\x20y\\x0az amdgpu0 0.01 1 100000 -\n");
	SHOWS(at_root, "top", user, TOP TOP_OWN "- - - amdgpu0 0.01 1 100000 -\n");
	SHOWS(at_root, "top", owner, TOP TOP_OWN);
}

static void test_gpu(void)
{
	SHOWS(at_gpu, "info", root,
	      "driver amdgpu\nname amdgpu0\npci 0000:04:00.0\ncard card0\nrender renderD128\n"
	      "kfd_id 7\nrings 2\nengines GRAPHICS,COPY\n");
	SHOWS(at_any, "info", root, "driver v3d\nname v3d-any\nrings 0\nflags any\n");
	SHOWS(at_gpu, "stats", root,
	      "submitted 6\ncommitted 5\ncompleted 3\nin_flight 3\nerrors 1\nlost 0\naged 0\n"
	      "evicted 0\nunmatched 0\nioctls 1\nioctl_ns 130000\n");
	SHOWS(at_gpu, "utilization", root,
	      "GRAPHICS avg1=30.20 avg10=3.02 avg60=0.50 total_ns=2000000\n"
	      "COPY avg1=0.09 avg10=0.00 avg60=0.00 total_ns=992000\nsource scheduler\n");
	SHOWS(at_any, "utilization", root, "unavailable\n");
	SHOWS(at_gpu, "memory", root, "absent");
}

#define ERRORS "# time gpu ring ctx seqno pid error\n"

static void test_errors(void)
{
	SHOWS(at_gpu, "errors", root, ERRORS "100.750000000 amdgpu0 ring0 6 2 2000 reset\n");
	SHOWS(at_gfx, "errors", user, ERRORS "100.750000000 amdgpu0 ring0 - 2 - reset\n");
	SHOWS(at_gfx, "errors", owner, ERRORS);
	SHOWS(at_sdma, "errors", root, ERRORS);
}

static void test_ring(void)
{
	SHOWS(at_gfx, "name", root, "gfx_0.0.0\n");
	SHOWS(at_gfx, "engine", root, "GRAPHICS\n");
	SHOWS(at_gfx, "depth", root, "now 3\navg 1.10\npeak 3\n");
	SHOWS(at_gfx, "utilization", root,
	      "busy avg1=30.20 avg10=3.02 avg60=0.50 total_ns=2000000\n");
	SHOWS(at_gfx, "throughput", root,
	      "submitted avg1=5.00 avg10=0.50 total=5\ncompleted avg1=2.00 avg10=0.20 total=2\n");
	SHOWS(at_gfx, "stats", root,
	      "submitted 5\ncommitted 4\ncompleted 2\nin_flight 3\nerrors 1\nlost 0\naged 0\n"
	      "evicted 0\nunmatched 0\nbusy_ns 2000000\n");
}

static void test_latency(void)
{
	SHOWS(at_sdma, "latency", root,
	      "queue" ONE(5000) "hw_wait" ONE(3000) "exec" ONE(992000) "complete" ONE(2000) //
	      "total" ONE(1002000) "exec_source measured\n");
	SHOWS(at_gfx, "latency", root,
	      "queue count=2 min_ns=50000 avg_ns=75000 p50_ns=50000 p90_ns=99839 p99_ns=99839 "
	      "p999_ns=99839 max_ns=100000 10s_count=2 10s_min_ns=50000 10s_avg_ns=75000 "
	      "10s_p50_ns=50000 10s_p90_ns=99839 10s_p99_ns=99839 10s_p999_ns=99839 "
	      "10s_max_ns=100000\n"
	      "hw_wait count=2 min_ns=0 avg_ns=435500 p50_ns=0 p90_ns=871000 p99_ns=871000 "
	      "p999_ns=871000 max_ns=871000 10s_count=2 10s_min_ns=0 10s_avg_ns=435500 "
	      "10s_p50_ns=0 10s_p90_ns=871000 10s_p99_ns=871000 10s_p999_ns=871000 "
	      "10s_max_ns=871000\n"
	      "exec count=2 min_ns=1000000 avg_ns=" ALIKE(1000000) //
	      " 10s_count=2 10s_min_ns=1000000 10s_avg_ns=1000000 10s_p50_ns=1000000 "
	      "10s_p90_ns=1000000 10s_p99_ns=1000000 10s_p999_ns=1000000 10s_max_ns=1000000\n"
	      "total count=2 min_ns=1050000 avg_ns=1510500 p50_ns=1056767 p90_ns=1971000 "
	      "p99_ns=1971000 p999_ns=1971000 max_ns=1971000 10s_count=2 10s_min_ns=1050000 "
	      "10s_avg_ns=1510500 10s_p50_ns=1056767 10s_p90_ns=1971000 10s_p99_ns=1971000 "
	      "10s_p999_ns=1971000 10s_max_ns=1971000\n"
	      "exec_source inferred\n");
}

static void test_histogram(void)
{
	const char *h = text(&at_gfx, "histogram", &root);
	unsigned int lines = 0;

	ok(begins(h, "# stage le_ns count\nqueue 1023 0\nqueue 1535 0\nqueue 2047 0\n"),
	   "histogram begins at 1 us, in steps of half an octave");
	ok(strstr(h, "queue 49151 0\nqueue 65535 1\nqueue 98303 1\nqueue 131071 2\n"),
	   "its counts are cumulative");
	ok(strstr(h, "queue 1099511627775 2\nqueue +Inf 2\nhw_wait 1023 1\n"),
	   "each stage ends with +Inf");
	ok(!strstr(h, "complete"), "a stage that is not told is left out");
	for (; *h; h++)
		lines += *h == '\n';
	is(lines, 1 + 4 * 62, "62 lines a stage");
}

#define JOBS  "# ctx seqno pid comm state age_ns\n"
#define JOB_A "5 2 1000 glxgears running 500000000\n"
#define JOB_C "5 3 1000 glxgears committed 200000000\n"

static void test_jobs(void)
{
	SHOWS(at_gfx, "jobs", root,
	      JOBS JOB_A "6 2 2000 \\x23x\\x20y\\x0az queued 400000000\n" JOB_C);
	SHOWS(at_gfx, "jobs", user, JOBS JOB_A "- 2 - - queued 400000000\n" JOB_C);
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
	SHOWS(at_proc, "waits", user, "ioctl count=1 total_ns=130000\n");
	SHOWS(at_proc, "utilization", user,
	      "amdgpu0/ring0 avg1=0.10 avg10=0.01 avg60=0.00 total_ns=1000000\n"
	      "amdgpu0/ring1 avg1=0.09 avg10=0.00 avg60=0.00 total_ns=992000\n");
	SHOWS(at_proc, "stats", user,
	      "submitted 4\ncommitted 4\ncompleted 2\nin_flight 2\nerrors 0\nlost 0\naged 0\n"
	      "evicted 0\nunmatched 0\nioctls 1\nioctl_ns 130000\nbusy_ns 1992000\n");
	SHOWS(on_sdma_gpu, "latency", user,
	      "ring0 queue" ONE(50000) "ring0 hw_wait" ONE(0) "ring0 exec" ONE(1000000)	   //
	      "ring0 total" ONE(1050000) "ring1 queue" ONE(5000) "ring1 hw_wait" ONE(3000) //
	      "ring1 exec" ONE(992000) "ring1 complete" ONE(2000) "ring1 total" ONE(1002000));
	ok(begins(text(&at_proc, "latency", &user), "amdgpu0/ring0 queue count=1 "),
	   "below the root a ring is named with its GPU");
	SHOWS(at_other, "comm", user, "absent");
	SHOWS(at_other, "stats", user, "EACCES");
	SHOWS(at_other, "stats", owner, "EACCES");
	SHOWS(at_other, "comm", root, "\\x23x\\x20y\\x0az\n");
}

static void test_gen(void)
{
	uint64_t latency = gen(&at_gfx, "latency"), stats = gen(&at_gfx, "stats");
	uint64_t sdma = gen(&at_sdma, "latency"), jobs = gen(&at_gfx, "jobs"), idle;

	is(gen(&at_gfx, "latency"), latency, "gen: nothing happened");
	gt_model_advance(app.model, 102 * S);
	ok(gen(&at_gfx, "latency") != latency, "gen: the last 10 s move with the clock");
	ok(gen(&at_gfx, "stats") == stats, "gen: counters do not");
	ok(gen(&at_gfx, "jobs") != jobs, "gen: ages do");
	job_event(102 * S + 1, GT_COMPLETE, 0, 5, 2);
	ok(gen(&at_gfx, "stats") != stats, "gen: an event changes its ring");
	ok(gen(&at_sdma, "latency") != sdma, "gen: an active ring's changes each second");
	gt_model_advance(app.model, 200 * S);
	idle = gen(&at_sdma, "latency");
	gt_model_advance(app.model, 250 * S);
	ok(gen(&at_sdma, "latency") == idle, "gen: an idle ring's does not");
	ok(gen(&at_sdma, "depth"), "gen: depth has one");
	is_str(text(&at_gfx, "utilization", &root),
	       "busy avg1=100.00 avg10=100.00 avg60=100.00 total_ns=1302000001\n",
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
	return done_testing();
}
