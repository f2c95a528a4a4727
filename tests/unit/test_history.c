/* SPDX-License-Identifier: GPL-2.0 */
/* What walks the history shows, word for word: report, timeline and the lines of trace. */
#include <unistd.h>

#include "../lib/tmp.h"
#include "shown.h"

#define REPORT                                                                                     \
	"end_s gpu ring engine ctx seqno pid t_ioctl_ns t_queue_ns t_hw_wait_ns t_exec_ns "        \
	"t_cpu_wait_ns t_complete_ns reason t_reason_ns for_gpu for_ring for_seqno for_pid "       \
	"submit_s start_s total_ns blocked_by_pid comm blocked_by_comm\n"
#define NONE " - - - - - - " /* no reason */
#define ROW_A                                                                                      \
	"100.001171000 amdgpu0 ring0 GRAPHICS 5 1 1000 130000 50000 0 1000000 - -" NONE            \
	"100.000121000 100.000171000 1050000 - glxgears -\n"
#define ROW_B_REST(comm)                                                                           \
	" - 100000 871000 1000000 - -" NONE "100.000200000 100.001171000 1971000 1000 " comm       \
	" glxgears\n"
#define ROW_B "100.002171000 amdgpu0 ring0 GRAPHICS "
#define ROW_C                                                                                      \
	"100.004002000 amdgpu0 ring1 COPY 7 1 1000 - 5000 3000 992000 - 2000" NONE                 \
	"100.003000000 100.003008000 1002000 - glxgears -\n"

static void test_report(void)
{
	SHOWS(at_root, "report", root,
	      REPORT ROW_A ROW_B "6 1 2000" ROW_B_REST("#x\\040y\\012z") ROW_C);
	SHOWS(at_root, "report", user, REPORT ROW_A ROW_B "- 1 -" ROW_B_REST("-") ROW_C);
	SHOWS(at_root, "report", owner, REPORT ROW_A ROW_C);
	SHOWS(at_sdma, "report", root, REPORT ROW_C);
	SHOWS(at_proc, "report", user, REPORT ROW_A ROW_C);
	SHOWS(at_any, "report", root, REPORT);
}

/* A row of job @seqno ends with @with */
static bool held_by(const struct gt_view *v, uint64_t seqno, const char *with)
{
	char key[40];
	const char *t = text(&at_sdma, "report", v), *end;

	snprintf(key, sizeof(key), "COPY %s %llu ", v->all ? "70" : "-", (unsigned long long)seqno);
	t = strstr(t, key);
	end = t ? strchr(t, '\n') : NULL;
	return end && end - t > (long)strlen(with) &&
	       !strncmp(end - strlen(with), with, strlen(with));
}

/* 1000 holds the ring for 5 us, then 2000 for 3, while 2000 waits */
static void test_holder(void)
{
	const uint64_t t = 150 * S, pids[] = { 1000, 2000, 2000, 1000 };
	const uint64_t ends[] = { 5, 8, 9, 30 };

	for (uint64_t i = 0; i < 4; i++) {
		submit(t + i * 10, 1, 70, i, (uint32_t)pids[i]);
		job_event(t + i * 10 + 5, GT_COMMIT, 1, 70, i);
	}
	for (uint64_t i = 0; i < 4; i++) {
		job_event(t + (i ? ends[i - 1] * US : 5), GT_START, 1, 70, i);
		job_event(t + ends[i] * US, GT_COMPLETE, 1, 70, i);
	}
	ok(held_by(&root, 0, " 5000 - glxgears -"), "report: the first waited for nobody");
	ok(held_by(&root, 1, " 7990 1000 #x\\040y\\012z glxgears"),
	   "report: the second for another");
	ok(held_by(&root, 2, " 8980 1000 #x\\040y\\012z glxgears"),
	   "report: the third for it longer than its own");
	ok(held_by(&root, 3, " 29970 1000 glxgears glxgears"), "report: and the last for its own");
	ok(held_by(&user, 1, " 7990 1000 - glxgears"),
	   "report: who held it sees that another waited");
	ok(begins(text(&at_other, "report", &root), REPORT), "report: a process's");
	ok(strstr(text(&at_other, "report", &root), " 7990 1000 #x\\040y\\012z glxgears\n"),
	   "… has it, too");
	submit(t + 40 * US, 1, 71, 0, 2000);
	job_event(t + 40 * US, GT_COMMIT, 1, 71, 0);
	submit(t + 41 * US, 1, 70, 9, 1000);
	job_event(t + 41 * US, GT_COMMIT, 1, 70, 9);
	job_event(t + 40 * US, GT_START, 1, 71, 0);
	job_event(t + 60 * US, GT_COMPLETE, 1, 71, 0);
	job_event(t + 60 * US, GT_START, 1, 70, 9);
	job_event(t + 61 * US, GT_COMPLETE, 1, 70, 9);
	ok(held_by(&root, 9, " 20000 2000 glxgears #x\\040y\\012z"), "report: another held it");
	ok(!strstr(text(&at_sdma, "report", &user), " 20000 2000 "),
	   "report: whom not all may see");
	ok(strstr(text(&at_sdma, "report", &user), " 20000 - glxgears -\n"),
	   "… so nobody is named");
	ok(strstr(text(&at_sdma, "report", &owner), " 20000 - glxgears -\n"), "… nor to an owner");
}

/* Kernels and copies of two processes, and an end without a ring */
static void test_work(void)
{
	const uint64_t t = 160 * S;
	const uint32_t pids[] = { 1000, 2000, 2000, 2000 };
	union gt_record r;

	for (unsigned int i = 0; i < 4; i++) {
		r = event(t + i * MS,
			  i < 2	  ? GT_DISPATCH
			  : i < 3 ? GT_COPY
				  : GT_COMPLETE,
			  GT_NONE16, 90 + i, 7000 + i);
		r.ev.pid = r.ev.tid = r.ev.uid = pids[i];
		r.ev.queue = 9;
		r.ev.value = r.ev.ref = 33333;
		if (i < 2)
			r.ev.ref = GT_NONE64; /* no kernel is named */
		feed(&r);
	}
	ok(strstr(text(&at_gpu, "report", &user),
		  "160.000000000 amdgpu0 ring2 COMPUTE 90 7000 1000 - - - 33333 - -" NONE
		  "- 159.999966667 - - glxgears -\n"
		  "160.001000000 amdgpu0 ring2 COMPUTE - - - - - - - - -" NONE "- - - - - -\n"
		  "160.002000000 amdgpu0 ring3 COPY - - - - - - - - -" NONE "- - - - - -\n"
		  "160.003000000 amdgpu0 ring2 COMPUTE - - - - - - - - -" NONE "- - - - - -\n"),
	   "report: numbers and times of kernels are for those who see their process");
	ok(!strstr(text(&at_gpu, "report", &owner), "160.001"), "… an owner has no row of them");
	ok(strstr(text(&at_gpu, "report", &root),
		  "160.001000000 amdgpu0 ring2 COMPUTE 91 7001 2000 - - - 33333"),
	   "… root has all");
	ok(!strstr(text(&at_gpu, "timeline", &user), "seqno=7001"), "nor has timeline the number");
}

static void test_timeline(void)
{
	SHOWS(at_sdma, "timeline", root, "absent");
	ok(begins(text(&at_gpu, "timeline", &root),
		  "[100.000000000] CPU IOCTL_ENTER cpu=3 pid=1000 comm=glxgears cmd=0xc0186444 "
		  "command=AMDGPU_CS\n"
		  "[100.000121000] amdgpu0/gfx_0.0.0 SUBMIT cpu=3 pid=1000 comm=glxgears ctx=5 "
		  "seqno=1 (121 us after ioctl)\n"
		  "[100.000130000] CPU IOCTL_EXIT cpu=3 pid=1000 comm=glxgears result=0 "
		  "command=AMDGPU_CS\n"
		  "[100.000171000] amdgpu0/gfx_0.0.0 COMMIT cpu=3 pid=1000 comm=glxgears ctx=5 "
		  "seqno=1 (50 us queue wait)\n"),
	   "timeline: CPU and GPU events, notes");
	SHOWS(at_gpu, "timeline_stats", root,
	      "events 19\nduration_ns 810000000\nevents_per_second 23.45\n"
	      "older_events_left_out 0\n");
	ok(strstr(text(&at_root, "timeline", &user),
		  "[100.000200000] amdgpu0/gfx_0.0.0 SUBMIT cpu=3 seqno=1 redacted\n"),
	   "timeline: another's event is blanked");
	ok(strstr(text(&at_root, "timeline", &user),
		  "ERROR cpu=3 seqno=2 error=timeout redacted\n"),
	   "timeline: which error it was");
	ok(!strstr(text(&at_root, "timeline", &owner), "[100.000200000]"), "timeline: or left out");
	ok(strstr(text(&at_root, "timeline", &root),
		  "END cpu=3 pid=1000 comm=glxgears ctx=7 seqno=1 (992 us execution)\n"),
	   "timeline: execution where start and end are reported");
}

static const char *line(const union gt_record *r)
{
	static struct gt_trace_past past;
	static struct gt_text t;

	gt_text_free(&t);
	gt_text_init(&t, 0);
	gt_trace_line(&t, &app, &(struct gt_view){ .all = true }, r, &past);
	gt_text_ch(&t, '\0');
	return t.buf;
}

/* The command is known where an ioctl begins: it names the end, too */
static void test_trace_ioctl(void)
{
	union gt_record r;

	for (unsigned int i = 0; i < 2; i++) {
		gt_record_init(&r, 13 * S, GT_IOCTL_ENTER);
		r.ev.gpu = 0;
		r.ev.tid = 1001 + i;
		r.ev.value = i ? 0xc0184b02 : 0xc0186444;
		ok(strstr(line(&r), i ? "command=KFD_CREATE_QUEUE" : "command=AMDGPU_CS"),
		   "trace: an ioctl by name");
	}
	gt_record_init(&r, 13 * S, GT_IOCTL_EXIT);
	r.ev.gpu = 0;
	r.ev.tid = 1001;
	r.ev.value = 0;
	ok(strstr(line(&r), " result=0 command=AMDGPU_CS tid=1001\n"), "trace: its end as well");
	ok(!strstr(line(&r), "command="), "trace: once");
	r.ev.tid = 1002;
	ok(strstr(line(&r), "command=KFD_CREATE_QUEUE"), "trace: another thread's is another");
	r.ev.tid = 1003;
	ok(!strstr(line(&r), "command="), "trace: one whose begin was not seen has none");
}

static void test_trace_line(void)
{
	union gt_record r = event(112 * S + 345, GT_COMPLETE, 1, 7, 9);

	r.ev.pid = r.ev.tid = 1000;
	r.ev.value = 992000;
	is_str(line(&r),
	       "[112.000000345]    3   amdgpu0/ring1(sdma\\0400) COMPLETE       1000    glxgears  "
	       "       7:9 exec_ns=992000\n",
	       "trace: an event");
	gt_record_init(&r, 13 * S, GT_IOCTL_EXIT);
	r.ev.value = (uint64_t)-22;
	r.ev.flags = GT_F_LATE | GT_F_REDACTED;
	r.ev.ref = 12 * S;
	is_str(line(&r),
	       "[13.000000000]     -   -                       IOCTL_EXIT      -       -           "
	       " "
	       "    -:- result=-22 late_from=12.000000000 late redacted\n",
	       "trace: nothing but what is known");
	test_trace_ioctl();
	r.lost = (struct gt_lost){
		.ts = 14 * S, .type = GT_LOST, .count = 27, .cause = GT_LOST_READER
	};
	is_str(line(&r), "[14.000000000] LOST 27 records (reader too slow)\n", "trace: a loss");
	r.lost.cause = GT_LOST_SOURCE;
	r.lost.count = 0;
	is_str(line(&r), "[14.000000000] GAP in what a source reports\n", "trace: a gap");
	gt_record_init(&r, 1, GT_HEADER);
	is_str(line(&r), "", "trace: a header gives no line");
	memset(&r, 0xff, sizeof(r));
	is_str(line(&r), "", "trace: nor does an unknown type");
}

static void name_function(uint64_t id, uint32_t part, const char *piece)
{
	union gt_record r;
	struct gt_folded f;

	gt_record_init(&r, 15 * S, GT_NAME);
	r.name.id = id;
	r.name.kind = GT_NAME_FUNCTION;
	r.name.part = part;
	memset(r.name.text, 0, sizeof(r.name.text));
	memcpy(r.name.text, piece, strnlen(piece, sizeof(r.name.text)));
	GT_MODEL_LOCK(app.model);
	gt_model_event(app.model, &r, &f);
}

static void test_functions(void)
{
	union gt_record r;

	name_function(70, 0, "amdgpu_a_name_of_more_letters_th");
	name_function(70, 1, "an_fit_one_piece");
	name_function(71, 1, "without_its_begin");
	name_function(3, 0, "a b");
	name_function(GT_MAX_FUNCTIONS, 0, "too_many");
	name_function(GT_NONE64, 0, "none");
	name_function(4, 9, "too_long");
	gt_record_init(&r, 16 * S, GT_FUNCTION);
	r.ev.value = 70;
	ok(strstr(line(&r), " function=amdgpu_a_name_of_more_letters_than_fit_one_piece\n"),
	   "functions: a name of two pieces");
	r.ev.value = 3;
	ok(strstr(line(&r), " function=a\\040b\n"), "functions: escaped");
	r.ev.value = 71;
	ok(strstr(line(&r), " function=71\n"), "functions: no name, the number");
	r.ev.value = GT_MAX_FUNCTIONS;
	ok(strstr(line(&r), " function=8192\n"), "functions: a number beyond all");
	r.ev.value = GT_NONE64;
	ok(!strstr(line(&r), "function"), "functions: unknown");
}

/* More than a report and a timeline hold, and more jobs in flight than one look takes. */
static void test_many(void)
{
	const uint64_t n = 200003;
	const char *t;

	for (uint64_t i = 0; i < n; i++) {
		submit(1000 + i * 10, 0, 5, i, 1000);
		job_event(1005 + i * 10, GT_COMPLETE, 0, 5, i);
	}
	t = text(&at_gfx, "report", &root);
	ok(begins(strchr(t, '\n'), "\n0.000001035 "), "report: the newest 200,000 rows");
	SHOWS(at_gfx, "report_stats", root, "rows 200000\nolder_rows_left_out 3\n");
	t = text(&at_root, "timeline", &root);
	ok(begins(t, "[0.001001030] "), "timeline: shows the newest 200,000");
	t = text(&at_root, "timeline_stats", &root);
	ok(begins(t, "events 400006\n"), "timeline_stats: counts all");
	ok(strstr(t, "\nolder_events_left_out 200006\n"), "… and how many are older");
	for (uint64_t i = 0; i < 1000; i++)
		submit(n * 10 + 2000, 1, 8, i, 1000);
	t = text(&at_sdma, "jobs", &root);
	ok(strstr(t, "\n8 0 1000 ") && strstr(t, "\n8 63 1000 ") && strstr(t, "\n8 64 1000 ") &&
		   strstr(t, "\n8 999 1000 "),
	   "jobs: all of a long list");
}

static void finish(uint64_t nr, uint16_t ring, uint32_t pid, uint32_t *nth)
{
	struct gt_finished f = { .end = 1000 + nr * 10,
				 .ctx = pid,
				 .seqno = nr,
				 .queue = 5,
				 .hw_wait = 3,
				 .exec = 9,
				 .complete = 1,
				 .ioctl = GT_NONE64,
				 .cpu_wait = 0,
				 .total = 18,
				 .first_ts = pid,
				 .pid = pid,
				 .uid = pid,
				 .ring = ring,
				 .nth = ++nth[ring] };

	gt_log_finished(app.log, &f);
}

/* Few jobs of a ring and a process among many of others; far apart, near each other, at both ends */
static void finish_many(void)
{
	uint32_t nth[2] = { 0 };

	for (uint64_t i = 0; i < 60000; i++)
		finish(i, i == 0 || i / 10 == 2000 || i % 9000 == 4095 || i == 59999,
		       i / 100 == 300 || i % 8000 == 4096 ? 2000 : 1000, nth);
	gt_model_advance(app.model, 700000);
}

/* A history in a file, where a walk passes over what it is not for, reads as one in memory */
static void test_same_in_file(void)
{
	static const struct gt_obj *const objs[] = { &at_root, &at_gpu,	 &at_gfx,
						     &at_sdma, &at_proc, &at_other };
	static const char *const names[] = { "report", "blame_stats" };
	char *want[6][2], dir[TMP_PATH_MAX];
	bool same = true, any = true;

	for (int file = 0; file < 2; file++) {
		setup(64 << 20);
		if (file && (!tmp_dir(dir, "gt-history") || gt_log_to_file(app.log, dir)))
			printf("# no room for a file\n");
		finish_many();
		for (int i = 0; i < 12; i++) {
			const char *t = text(objs[i / 2], names[i % 2], &root);

			if (!file) {
				want[i / 2][i % 2] = strdup(t);
				any &= strchr(t, '\n')[1] != '\0';
				continue;
			}
			same &= !strcmp(t, want[i / 2][i % 2]);
			free(want[i / 2][i % 2]);
		}
		if (file)
			rmdir(dir);
		teardown();
	}
	ok(any, "each has jobs");
	ok(same, "reports and blame of a file are those of memory");
}

/* Jobs that were overwritten before a history grew are not among those that it leaves out */
static void test_grown(void)
{
	uint32_t nth[2] = { 0 };
	unsigned int rows = 0;
	const char *t;

	setup(65536);
	for (uint64_t i = 0; i < 300000; i++)
		finish(i, 0, 1000, nth);
	is(gt_log_resize(app.log, 64 << 20, &app.model->lock), 0, "report: a history grows");
	t = text(&at_root, "report", &root);
	ok(!strstr(t, "left out"), "report: it leaves none out");
	for (; *t; t++)
		rows += *t == '\n';
	is(rows, 257, "report: a head, and what was there before");
	teardown();
}

/* A job that ended before the ioctl that gave it: the row knows afterwards. */
static void test_late_ioctl(void)
{
	const uint64_t t = 200 * S;

	ioctl_event(t, GT_IOCTL_ENTER, 1000, 0xc0186444);
	submit(t + 10 * US, 1, 7, 50, 1000);
	job_event(t + 20 * US, GT_COMMIT, 1, 7, 50);
	job_event(t + 30 * US, GT_COMPLETE, 1, 7, 50);
	ok(strstr(text(&at_sdma, "report", &root), " 7 50 1000 - 10000 "), "report: not known yet");
	ioctl_event(t + 40 * US, GT_IOCTL_EXIT, 1000, 0);
	ok(strstr(text(&at_sdma, "report", &root), " 7 50 1000 40000 10000 "),
	   "report: t_ioctl_ns of a job that ended within the ioctl");
}

static void queue_event_at(uint64_t ts, uint32_t pid, enum gt_type type, uint8_t flags,
			   uint64_t address)
{
	union gt_record r = event(ts, type, GT_NONE16, address, GT_NONE64);

	r.ev.pid = r.ev.uid = pid;
	r.ev.queue = flags ? 2000000 : 1;
	r.ev.flags = flags;
	feed(&r);
}

static void queue_event(uint64_t ts, uint32_t pid, enum gt_type type, uint8_t flags)
{
	queue_event_at(ts, pid, type, flags, GT_NONE64);
}

/* The driver and the runtime report what is one queue */
static void test_queue_notes(void)
{
	const char *t;

	queue_event_at(299 * S, 1000, GT_QUEUE_CREATE, 0, 4096);
	queue_event_at(299 * S + 3 * US, 1000, GT_QUEUE_MAP, GT_F_RUNTIME, 8192);
	queue_event_at(299 * S + 4 * US, 1000, GT_QUEUE_MAP, GT_F_RUNTIME, 4096);
	queue_event(300 * S, 1000, GT_QUEUE_CREATE, 0);
	queue_event(300 * S + 9 * MS, 1000, GT_QUEUE_CREATE, GT_F_RUNTIME);
	queue_event(301 * S, 1000, GT_QUEUE_MAP, GT_F_RUNTIME);
	queue_event(301 * S + 3 * US, 1000, GT_QUEUE_CREATE, 0);
	queue_event(301 * S + 4 * US, 2000, GT_QUEUE_CREATE, GT_F_RUNTIME);
	queue_event(302 * S, 1000, GT_QUEUE_CREATE, 0);
	queue_event(302 * S + 21 * MS, 1000, GT_QUEUE_CREATE, GT_F_RUNTIME);
	t = text(&at_root, "timeline", &root);
	ok(strstr(t, "[299.000003000] amdgpu0 QUEUE_MAP cpu=3 pid=1000 comm=glxgears ctx=8192 "
		     "queue=2000000\n"),
	   "nor another queue of it, which is elsewhere");
	ok(strstr(t, "[299.000004000] amdgpu0 QUEUE_MAP cpu=3 pid=1000 comm=glxgears ctx=4096 "
		     "queue=2000000 (4.0 us after the driver made a queue)\n"),
	   "but the same");
	ok(strstr(t,
		  "[300.009000000] amdgpu0 QUEUE_CREATE cpu=3 pid=1000 comm=glxgears queue=2000000 "
		  "(9000 us after the driver made a queue)\n"),
	   "a runtime reports the queue that the driver made");
	ok(strstr(t, "[301.000003000] amdgpu0 QUEUE_CREATE cpu=3 pid=1000 comm=glxgears queue=1 "
		     "(3.0 us after the runtime reported a queue)\n"),
	   "or before it");
	ok(strstr(t, "[301.000004000] amdgpu0 QUEUE_CREATE cpu=3 pid=2000 ") &&
		   !strstr(strstr(t, "[301.000004000]"), "us after the driver"),
	   "but not another process's, nor after more than 20 ms");
	ok(!strstr(text(&at_root, "timeline", &user), "pid=2000"), "nor is it reported to others");
}

int main(void)
{
	setup(0);
	make_events();
	test_report();
	test_timeline();
	test_trace_line();
	test_work();
	test_functions();
	test_late_ioctl();
	test_holder();
	test_queue_notes();
	teardown();
	setup(1 << 27);
	test_many();
	teardown();
	test_same_in_file();
	test_grown();
	text(NULL, NULL, NULL);
	return done_testing();
}
