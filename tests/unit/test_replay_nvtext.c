/* SPDX-License-Identifier: GPL-2.0 */
/* Text of gpu_sched_trace: what each line becomes, its times, its groups, and odd lines. */
#include <errno.h>
#include <unistd.h>

#include "../lib/replay_host.h"
#include "../lib/tap.h"
#include "../lib/tmp.h"

static struct rh *play(const char *text)
{
	char path[TMP_PATH_MAX];
	int fd = tmp_file(path, "gt-replay");
	struct rh *h = rh_new(path, "", true);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		ok(false, "temporary file");
	close(fd);
	rh_play(h);
	unlink(path);
	return h;
}

/* " word number", nothing where the number is all ones */
static void add(char *out, const char *word, uint64_t v, uint64_t none)
{
	if (v != none)
		sprintf(out + strlen(out), " %s %llu", word, (unsigned long long)v);
}

static void event(char *out, const struct gt_event *ev)
{
	static const char *const names[GT_NTYPES] = { [GT_QUEUE_CREATE] = "create",
						      [GT_QUEUE_SCHEDULE] = "schedule",
						      [GT_QUEUE_TOKEN] = "token",
						      [GT_QUEUE_DESTROY] = "destroy" };

	strcat(out, names[ev->type] ? names[ev->type] : "what");
	add(out, "cpu", ev->cpu, GT_NONE16);
	add(out, "pid", ev->pid, GT_NONE32);
	add(out, "queue", ev->queue, GT_NONE32);
	add(out, "tsg", ev->ctx, GT_NONE64);
	add(out, "value", ev->value, GT_NONE64);
	add(out, "ref", ev->ref, GT_NONE64);
	if (ev->flags & GT_F_INFERRED)
		strcat(out, " inferred");
}

static void described(char *out, const struct gt_queue_desc *q)
{
	sprintf(out + strlen(out), "group %u", q->queue);
	add(out, "pid", q->pid, GT_NONE32);
	add(out, "tsg", q->ctx, GT_NONE64);
	add(out, "runlist", q->runlist, GT_NONE32);
	add(out, "channels", q->channels, GT_NONE32);
	add(out, "timeslice", q->timeslice_us, GT_NONE32);
	add(out, "engine", q->engine, GT_NONE16);
	add(out, "interleave", q->interleave, GT_NONE16);
}

/* All records of @h in words, ';' between them */
static const char *words(const struct rh *h)
{
	static char out[8192];

	*out = '\0';
	for (size_t i = 0; i < h->n; i++) {
		const union gt_record *r = &h->rec[i];

		strcat(out, i ? "; " : "");
		if (r->ev.type < GT_NTYPES)
			event(out, &r->ev);
		else if (r->ev.type == GT_QUEUE)
			described(out, &r->queue);
		else if (r->ev.type == GT_PROCESS)
			sprintf(out + strlen(out), "process %u '%s'", r->process.pid,
				r->process.comm);
		else if (r->ev.type == GT_LOST)
			sprintf(out + strlen(out), "lost %llu from %llu to %llu",
				(unsigned long long)r->lost.count,
				(unsigned long long)r->lost.since, (unsigned long long)r->ev.ts);
	}
	return out;
}

/* @n parts that were skipped as @kind */
static bool skipped(const struct rh *h, const char *kind, uint64_t n)
{
	const struct gt_filecount *c = &gt_replay_source(h->p.priv, 0)->count;

	for (int i = 0; i < GT_FILE_KINDS && c->skipped[i].kind; i++)
		if (!strcmp(c->skipped[i].kind, kind))
			return c->skipped[i].n == n;
	return !n;
}

#define AT   "10:00:00.000000 [CPU01] "
#define INIT "TASK_INIT PID=7 a TSG=1 "
#define INITED                                                                                     \
	"process 7 'a'; create cpu 1 pid 7 queue 131073 tsg 1; group 131073 pid 7 tsg 1 runlist 2"
#define ENGINE " timeslice=1024 us interleave=LOW runlist=2\n"

/* The first group's line and another, and what that became */
static void becomes(const char *line, const char *want)
{
	char text[512];
	const char *got;
	struct rh *h;

	snprintf(text, sizeof(text), AT INIT "engine=UNKNOWN runlist=2\n%s\n", line);
	h = play(text);
	got = words(h);
	if (!strncmp(got, INITED " engine 0", strlen(INITED " engine 0")))
		got += strlen(INITED " engine 0");
	is_str(got, want, "%s", line);
	is(h->errors, 0, "... it is fine");
	rh_free(h);
}

static void lines(void)
{
	becomes(AT "SCHEDULE PID=7 a TSG=1 channels=8 timeslice=1024 us interleave=LOW allowed=yes",
		"; schedule cpu 1 pid 7 queue 131073 tsg 1 value 1; group 131073 pid 7 tsg 1 "
		"runlist 2 "
		"channels 8 timeslice 1024 interleave 1");
	becomes(AT
		"BIND     PID=7 a   TSG=1 channels=8 timeslice=0 us interleave=MEDIUM allowed=no",
		"; schedule cpu 1 pid 7 queue 131073 tsg 1 value 0; group 131073 pid 7 tsg 1 "
		"runlist 2 "
		"channels 8 timeslice 0 interleave 2");
	becomes(AT "WORK_SUBMIT PID=7 a TSG=1 channel=2 token=1073741826 gpu=0",
		"; token cpu 1 pid 7 queue 131073 tsg 1 value 1073741826 ref 2");
	becomes(AT "TOKEN_REQ PID=7 a TSG=1 channel=- token=-",
		"; token cpu 1 pid 7 queue 131073 tsg 1");
	becomes(AT "TASK_DESTROY PID=7 a TSG=1", "; destroy cpu 1 pid 7 queue 131073 tsg 1");
	becomes(AT "TASK_DESTROY PID=7 a TSG=1\n" AT "TASK_DESTROY PID=7 a TSG=1",
		"; destroy cpu 1 pid 7 queue 131073 tsg 1; destroy cpu 1 pid 7 tsg 1");
	becomes(AT "TASK_DESTROY PID=7 a TSG=2", "; destroy cpu 1 pid 7 tsg 2");
	becomes(AT "TASK_DESTROY PID=8 b TSG=1", "; process 8 'b'; destroy cpu 1 pid 8 tsg 1");
	becomes(AT "TASK_DESTROY PID=7 a TSG=-", "; destroy cpu 1 pid 7");
	becomes(AT "TASK_DESTROY PID=- a TSG=1", "; destroy cpu 1 tsg 1");
	becomes(AT "TASK_DESTROY PID=0 a TSG=1", "; destroy cpu 1 pid 0 tsg 1");
	becomes(AT "TASK_DESTROY PID=9  TSG=1", "; destroy cpu 1 pid 9 tsg 1");
	becomes("10:00:00.000000 [CPU--] TASK_DESTROY PID=7 a TSG=1",
		"; destroy pid 7 queue 131073 tsg 1");
	becomes("10:00:00.000000 [CPU65534] TASK_DESTROY PID=7 a TSG=1",
		"; destroy cpu 65534 pid 7 queue 131073 tsg 1");
	becomes("10:00:00.000000 [CPU65536] TASK_DESTROY PID=7 a TSG=1",
		"; destroy pid 7 queue 131073 tsg 1");
	becomes(AT "TASK_DESTROY PID=8 b TSG=3 c    TSG=1 \r",
		"; process 8 'b TSG=3 c'; destroy cpu 1 pid 8 tsg 1");
	becomes(AT "TASK_DESTROY PID=8 fifteen_letters TSG=1",
		"; process 8 'fifteen_letters'; destroy cpu 1 pid 8 tsg 1");
	becomes(AT "TASK_DESTROY PID=8 b TSG=4294967294",
		"; process 8 'b'; destroy cpu 1 pid 8 tsg "
		"4294967294");
	becomes(AT "TASK_DESTROY PID=8 b TSG=4294967296", "; process 8 'b'; destroy cpu 1 pid 8");
	becomes(AT "TOKEN_REQ PID=7 a TSG=1 token channel=1 odd=5 token=3=4",
		"; token cpu 1 pid 7 queue 131073 tsg 1 value 3 ref 1");
}

static void engines(void)
{
	static const struct {
		const char *word;
		int engine, level; /* of the driver's LOW: 0, of the tool's: 1 */
	} known[] = {
		{ "GR0", GT_ENGINE_GRAPHICS, 0 },	 { "COPY9", GT_ENGINE_COPY, 0 },
		{ "NVDEC0", GT_ENGINE_VIDEO_DECODE, 0 }, { "NVJPEG1", GT_ENGINE_VIDEO_DECODE, 0 },
		{ "NVENC2", GT_ENGINE_VIDEO_ENCODE, 0 }, { "COPY", GT_ENGINE_GRAPHICS, 1 },
		{ "NVDEC", GT_ENGINE_GRAPHICS, 1 },	 { "NVENC", GT_ENGINE_GRAPHICS, 1 },
		{ "NVJPEG", GT_ENGINE_GRAPHICS, 1 },	 { "GR", GT_ENGINE_UNKNOWN, 1 },
		{ "GR/", GT_ENGINE_UNKNOWN, 1 },	 { "GRX", GT_ENGINE_UNKNOWN, 1 },
		{ "UNKNOWN", GT_ENGINE_UNKNOWN, 1 },	 { "GX0", GT_ENGINE_UNKNOWN, 1 },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		char text[256], want[256];
		struct rh *h;

		snprintf(text, sizeof(text), AT INIT "engine=%s" ENGINE, known[i].word);
		snprintf(want, sizeof(want), INITED " timeslice 1024 engine %d interleave %d",
			 known[i].engine, known[i].level);
		h = play(text);
		is_str(words(h), want, "engine %s", known[i].word);
		rh_free(h);
	}
}

/* The tool's levels are one more than the driver's; it has no word for the driver's highest */
static void levels(void)
{
	static const char *const levels[] = { "LOW", "MEDIUM", "HIGH", "UNKNOWN" };
	static const uint16_t want[2][4] = { { 1, 2, GT_NONE16, GT_NONE16 },
					     { 0, 1, 2, GT_NONE16 } };

	for (int own = 0; own < 2; own++) {
		for (int i = 0; i < 4; i++) {
			char text[256];
			struct rh *h;

			snprintf(text, sizeof(text), AT INIT "engine=%s interleave=%s runlist=2\n",
				 own ? "GR0" : "COPY", levels[i]);
			h = play(text);
			ok(h->n == 3 && h->rec[2].queue.interleave == want[own][i], "%s %s",
			   own ? "the driver's" : "the tool's", levels[i]);
			rh_free(h);
		}
	}
}

/* The us of each event, from the first one on */
static void times(const char *what, const char *a, const char *b, const char *c, uint64_t to_b,
		  uint64_t to_c)
{
	char text[512];
	struct rh *h;

	snprintf(text, sizeof(text),
		 "%s [CPU01] BIND PID=- TSG=1\n%s [CPU01] BIND PID=- TSG=1\n"
		 "%s [CPU01] BIND PID=- TSG=1\n",
		 a, b, c);
	h = play(text);
	is(h->n, 3, "%s", what);
	if (h->n == 3)
		ok(h->rec[1].ev.ts - h->rec[0].ev.ts == to_b * 1000 &&
			   h->rec[2].ev.ts - h->rec[1].ev.ts == to_c * 1000,
		   "... %llu us, %llu us",
		   (unsigned long long)(h->rec[1].ev.ts - h->rec[0].ev.ts) / 1000,
		   (unsigned long long)(h->rec[2].ev.ts - h->rec[1].ev.ts) / 1000);
	rh_free(h);
}

static void clocks(void)
{
	times("one after another", "10:00:00.000000", "10:00:00.000001", "11:01:01.000002", 1,
	      3661000001);
	times("a second was still the one before when it was printed", "10:00:01.900000",
	      "10:00:01.100000", "10:00:02.100000", 200000, 1000000);
	times("by a second at most", "10:00:01.900000", "10:00:00.900000", "10:00:01.000000", 0,
	      100000);
	times("further back time stands still", "10:00:01.900000", "10:00:00.899999",
	      "10:00:01.000000", 0, 100001);
	times("and by half a day", "18:00:01.000000", "06:00:01.000000", "06:00:02.000000", 0,
	      1000000);
	times("by more it is midnight", "18:00:01.000001", "06:00:01.000000", "06:00:02.000000",
	      43199999999, 1000000);
	times("from 23 h to 0 h", "23:59:59.999999", "00:00:00.000000", "00:00:00.000000", 1, 0);
	times("a second may be leapt", "23:59:59.000000", "23:59:60.000000", "00:00:00.000000",
	      1000000, 0);
}

static void clocks_begin(void)
{
	struct rh *h = play("10:00:00.000001 [CPU01] BIND PID=- TSG=1\n");

	is(h->n ? h->rec[0].ev.ts : 0, 36000000001000, "time begins at the first line's");
	rh_free(h);
}

static void groups(void)
{
	struct rh *h;

	h = play(AT "TASK_INIT PID=7 a TSG=1 engine=UNKNOWN interleave=UNKNOWN runlist=2\n" AT
		    "TASK_INIT PID=7 a TSG=1 engine=UNKNOWN interleave=UNKNOWN runlist=3\n" AT
		    "WORK_SUBMIT PID=7 a TSG=1 token=5\n" AT "TASK_DESTROY PID=7 a TSG=1\n" AT
		    "WORK_SUBMIT PID=7 a TSG=1 token=6\n");
	is_str(words(h),
	       "process 7 'a'; create cpu 1 pid 7 queue 131073 tsg 1; "
	       "group 131073 pid 7 tsg 1 runlist 2 engine 0; "
	       "create cpu 1 pid 7 queue 196609 tsg 1; "
	       "group 196609 pid 7 tsg 1 runlist 3 engine 0; "
	       "token cpu 1 pid 7 queue 196609 tsg 1 value 5 inferred; "
	       "destroy cpu 1 pid 7 queue 196609 tsg 1 inferred; "
	       "token cpu 1 pid 7 queue 131073 tsg 1 value 6",
	       "of two groups of one number the newest is meant");
	rh_free(h);
	h = play(AT "TASK_INIT PID=7 a TSG=1 engine=UNKNOWN runlist=2\n" AT
		    "TASK_INIT PID=7 a TSG=1 engine=UNKNOWN runlist=2\n" AT
		    "TASK_INIT PID=7 a TSG=65536 engine=UNKNOWN runlist=2\n" AT
		    "TASK_INIT PID=7 a TSG=77 engine=UNKNOWN runlist=32768\n" AT
		    "TASK_INIT PID=7 a TSG=65535 engine=UNKNOWN runlist=32767\n" AT
		    "TASK_INIT PID=7 a TSG=- engine=UNKNOWN runlist=-\n" AT
		    "TASK_INIT PID=7 a TSG=0 engine=UNKNOWN runlist=0\n");
	is_str(words(h),
	       "process 7 'a'; create cpu 1 pid 7 queue 131073 tsg 1; "
	       "group 131073 pid 7 tsg 1 runlist 2 engine 0; "
	       "create cpu 1 pid 7 queue 2147483648 tsg 1; "
	       "group 2147483648 pid 7 tsg 1 runlist 2 engine 0; "
	       "create cpu 1 pid 7 queue 2147483649 tsg 65536; "
	       "group 2147483649 pid 7 tsg 65536 runlist 2 engine 0; "
	       "create cpu 1 pid 7 queue 2147483650 tsg 77; "
	       "group 2147483650 pid 7 tsg 77 runlist 32768 engine 0; "
	       "create cpu 1 pid 7 queue 2147483647 tsg 65535; "
	       "group 2147483647 pid 7 tsg 65535 runlist 32767 engine 0; "
	       "create cpu 1 pid 7 queue 2147483651; "
	       "group 2147483651 pid 7 engine 0; "
	       "create cpu 1 pid 7 queue 1 tsg 0; group 1 pid 7 tsg 0 runlist 0 engine 0",
	       "a queue for each, also where the number is taken, too great, or not known");
	ok(h->gpus == 1 && !strcmp(h->gpu[0].driver, "nvidia"), "all are of one GPU");
	for (size_t i = 1; i < h->n; i++)
		ok(h->rec[i].ev.gpu == 0 &&
			   (h->rec[i].ev.type != GT_QUEUE || h->rec[i].queue.kind == GT_QUEUE_TSG),
		   "record %zu, too", i);
	rh_free(h);
	h = play(AT "TASK_INIT PID=7 a TSG=1 engine=UNKNOWN runlist=2\n" AT
		    "TASK_INIT PID=8 a TSG=1 engine=UNKNOWN runlist=2\n" AT
		    "TASK_INIT PID=9 a TSG=1 engine=UNKNOWN runlist=2\n" AT
		    "TASK_DESTROY PID=10 a TSG=1\n");
	ok(h->n == 11 && h->rec[4].ev.queue == 2147483648 && h->rec[7].ev.queue == 2147483649,
	   "each time the number is taken");
	ok(skipped(h, "groups_without_room", 0), "there is room for all");
	rh_free(h);
}

static void statistics(void)
{
	struct rh *h;

	h = play(AT "BIND PID=- TSG=1\n11:00:00.000000 [CPU01] BIND PID=- TSG=1\n"
		    "=== Statistics ===\ntask_init:    3\ndropped:      7\ndrop\nread_failed: 1\n\n"
		    "dropped 9\n===\n");
	is_str(words(h),
	       "schedule cpu 1 tsg 1 value 0; schedule cpu 1 tsg 1 value 0; "
	       "lost 7 from 36000000000000 to 39600000000000",
	       "what was dropped is lost, from the first line to the last");
	is(gt_replay_source(h->p.priv, 0)->count.lost, 7, "and counted");
	is(h->n == 3 ? h->rec[2].lost.until : 1, 0, "up to then");
	ok(skipped(h, "statistics", 6) && skipped(h, "other_lines", 1), "as are these lines");
	rh_free(h);
	h = play(AT "BIND PID=- TSG=1\ndropped: 4294967294\ndropped: 1\ndropped: 5\n");
	is_str(words(h),
	       "schedule cpu 1 tsg 1 value 0; lost 18446744073709551615 from "
	       "36000000000000 to 36000000000000",
	       "more than can be counted is an unknown number");
	rh_free(h);
	h = play(AT "BIND PID=- TSG=1\ndropped: 4294967290\ndropped:4\n");
	is_str(words(h),
	       "schedule cpu 1 tsg 1 value 0; lost 4294967294 from 36000000000000 to "
	       "36000000000000",
	       "the numbers of several runs are added");
	rh_free(h);
}

static void odd(void)
{
	static const char *const bad[] = {
		"24:00:00.000000 [CPU01] BIND PID=7 a TSG=1",
		"10:60:00.000000 [CPU01] BIND PID=7 a TSG=1",
		"10:00:61.000000 [CPU01] BIND PID=7 a TSG=1",
		"10:00:00.00000 [CPU01] BIND PID=7 a TSG=1",
		"10:00:00.0000000 [CPU01] BIND PID=7 a TSG=1",
		"10:00:00. [CPU01] BIND PID=7 a TSG=1",
		"10:00:00 [CPU01] BIND PID=7 a TSG=1",
		"10:00:x0.000000 [CPU01] BIND PID=7 a TSG=1",
		"1:00:00,000000 [CPU01] BIND PID=7 a TSG=1",
		"10:00:00.000000 [GPU01] BIND PID=7 a TSG=1",
		"10:00:00.000000 [CPU] BIND PID=7 a TSG=1",
		"10:00:00.000000 [CPU01 BIND PID=7 a TSG=1",
		"10:00:00.000000 [CPU01] BINDS PID=7 a TSG=1",
		"10:00:00.000000 [CPU01] BIND TID=7 a TSG=1",
		"10:00:00.000000 [CPU01] BIND PID=x a TSG=1",
		"10:00:00.000000 [CPU01] BIND PID=7 a",
		"10:00:00.000000 [CPU01] BIND PID=7 a TSG=",
		"10:00:00.000000 [CPU01] BIND PID=7 a TSG=1x",
		"10:00:00.000000 [CPU01] BIND PID=7 eighteen_letters__ TSG=1",
		"10:0",
		"0:00",
		"9:00",
	};
	char text[256];
	struct rh *h;

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		snprintf(text, sizeof(text), AT "BIND PID=- TSG=1\n%s\n", bad[i]);
		h = play(text);
		ok(h->n == 1 && strstr(h->error, "line 2 is none of gpu_sched_trace's"), "\"%s\"",
		   bad[i]);
		rh_free(h);
	}
	h = play(AT "BIND PID=- TSG=1\nabc: x\n1234: x\n \r\n5\n");
	ok(h->n == 1 && !h->errors && skipped(h, "other_lines", 3), "others are left out");
	rh_free(h);
	ok(!gt_reader_nvtext.detect((const uint8_t *)bad[0], strlen(bad[0])),
	   "none is known by them");
}

static bool detected(const char *head)
{
	return gt_reader_nvtext.detect((const uint8_t *)head, strlen(head));
}

/* Of a group's line and @last, the file's last line, come @n records */
static void last_line(const char *last, size_t n, const char *what)
{
	char text[512];
	struct rh *h;

	snprintf(text, sizeof(text), AT "BIND PID=- TSG=1\n" AT "%s", last);
	h = play(text);
	is(h->n, n, "%s", what);
	rh_free(h);
}

/* A file's last line may lack its end: it counts only with the last field of its kind */
static void cut(void)
{
	last_line("TASK_INIT PID=7 a TSG=1 engine=GR0 timeslice=1", 1,
		  "a line that is cut is left out");
	last_line("TASK_INIT PID=7 a TSG=1 engine=GR0 interleave=LOW", 4,
		  "a group's line is whole");
	last_line("WORK_SUBMIT PID=- TSG=1 token=3", 2, "a submission is whole");
	last_line("BIND PID=- TSG=1 channels=3 allowed=yes", 2, "a BIND is whole");
	last_line("BIND PID=- TSG=1 interleave=LOW token=3", 1,
		  "the last field of another kind does not do");
	last_line("TASK_DESTROY PID=- TSG=1", 2, "a TASK_DESTROY needs no field");
	ok(detected("\xef\xbb\xbf" AT "BIND PID=- TSG=1") &&
		   detected("x\n" AT "BIND PID=- TSG=1\r\n"),
	   "a text is known by one of its lines");
	ok(!detected("") && !detected("x\n"), "by no other");
}

int main(void)
{
	lines();
	engines();
	levels();
	clocks();
	clocks_begin();
	groups();
	statistics();
	odd();
	cut();
	return done_testing();
}
