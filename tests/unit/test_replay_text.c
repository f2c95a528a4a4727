/* SPDX-License-Identifier: GPL-2.0 */
/* ftrace text: every layout of a line, and files that are odd, out of order or damaged. */
#include <errno.h>
#include <unistd.h>

#include "../../backend/replay/replay.h"
#include "../lib/replay_host.h"
#include "../lib/tap.h"
#include "../lib/tmp.h"

static char maps[512];

static const char *kind_name(enum gt_line_kind k)
{
	static const char *const names[] = { "event", "call", "skip", "lost", "bad" };

	return names[k];
}

/* A line as "kind comm tid tgid cpu ts system event|text", "-" for what is not reported. */
static const char *reported(const char *line)
{
	static char out[512];
	struct gt_line l;
	enum gt_line_kind k = gt_line_parse(line, strlen(line), &l);
	char tgid[16] = "-", cpu[16] = "-";

	if (k == GT_LINE_CALL)
		snprintf(out, sizeof(out), "call %.*s %u %s", (int)l.event_len, l.event, l.tid,
			 l.interrupt ? "interrupt" : "thread");
	if (k == GT_LINE_CALL)
		return out;
	if (k != GT_LINE_EVENT)
		return kind_name(k);
	if (l.tgid != GT_NONE32)
		snprintf(tgid, sizeof(tgid), "%u", l.tgid);
	if (l.cpu != GT_NONE16)
		snprintf(cpu, sizeof(cpu), "%u", l.cpu);
	snprintf(out, sizeof(out), "%.*s,%u,%s,%s,%llu,%.*s,%.*s|%.*s", (int)l.comm_len, l.comm,
		 l.tid, tgid, cpu, (unsigned long long)l.ts, l.system ? (int)l.system_len : 1,
		 l.system ? l.system : "-", (int)l.event_len, l.event, (int)l.text_len, l.text);
	return out;
}

static const struct {
	const char *line, *want;
} layouts[] = {
	{ "          submit-130     [000] .....     9.667833: drm_sched_job: ring=a",
	  "submit,130,-,0,9667833000,-,drm_sched_job|ring=a" },
	{ "           steam-25475 [003] d... 630659.118105: sched_switch: a=1",
	  "steam,25475,-,3,630659118105000,-,sched_switch|a=1" },
	{ "          <idle>-0       [001] d.h2.     9.730003: e: fence=00000000714e1f12 signaled",
	  "<idle>,0,-,1,9730003000,-,e|fence=00000000714e1f12 signaled" },
	{ "           <...>-10445   (-------) [006] .....  2664.817938: e: x",
	  "<...>,10445,-,6,2664817938000,-,e|x" },
	{ "           glxgears-4711    (   4710) [011] d..h2..  2664.817938123: e: x",
	  "glxgears,4711,4710,11,2664817938123,-,e|x" },
	{ "gpu-19970 (19927) [000] ...1  4394.993234: gpu_job_enqueue: ctx_id=16 type=A/B Job + C",
	  "gpu,19970,19927,0,4394993234000,-,gpu_job_enqueue|ctx_id=16 type=A/B Job + C" },
	{ "kworker/2:1-11063 (11063) [002] d..2  4395.035804: e: x",
	  "kworker/2:1,11063,11063,2,4395035804000,-,e|x" },
	{ "umr:cs0-6498           [016] .....   735.008761: e: x",
	  "umr:cs0,6498,-,16,735008761000,-,e|x" },
	{ "          submit-168   [001]     4.347618: dma_fence_init:       driver=a",
	  "submit,168,-,1,4347618000,-,dma_fence_init|driver=a" },
	{ "          submit-168   [001]     4.347617924: e:       a",
	  "submit,168,-,1,4347617924,-,e|a" },
	{ "          submit-168   [001]  4347617924: e:       a",
	  "submit,168,-,1,4347617924,-,e|a" },
	{ "          submit-168   [001]     4.349342: (+1724)  e:       a",
	  "submit,168,-,1,4349342000,-,e|a" },
	{ "          submit-168   [001]     4.347618:          e:       a",
	  "submit,168,-,1,4347618000,-,e|a" },
	{ "  submit-168     1.....     4.347618: e:       a", "submit,168,-,1,4347618000,-,e|a" },
	{ "  submit-168    12dNh1.     4.347618: e:       a", "submit,168,-,12,4347618000,-,e|a" },
	{ "    bash-1984    0d..1   12us+: e: a", "bash,1984,-,0,12000,-,e|a" },
	{ "    bash-1984    0d..1    5us : e: a", "bash,1984,-,0,5000,-,e|a" },
	{ "       mock jobs   25581   0 255 0000000f 00000000 [1a6823084] 22.348ms (+0.088ms): e: "
	  "a",
	  "mock jobs,25581,-,0,7088517252000,-,e|a" },
	{ "          <idle>       0   1 1 00000000 0000000a [00000000000003e8] 12 (+4): s:e: a: b",
	  "<idle>,0,-,1,1000,s,e|a: b" },
	{ "a.dat:           submit-168   [001]     4.347618: e: a",
	  "submit,168,-,1,4347618000,-,e|a" },
	{ "          submit-168   4.347618: e: a", "submit,168,-,-,4347618000,-,e|a" },
	{ "          submit-168   d..1.  4.347618: e: a", "submit,168,-,-,4347618000,-,e|a" },
	{ "          submit-168   [001]  4.5: gpu_scheduler:drm_run_job: a",
	  "submit,168,-,1,4500000000,gpu_scheduler,drm_run_job|a" },
	/* names that look like something else */
	{ "  a b (1) [2]: c-17      [003] d...  1.000001: e: x",
	  "a b (1) [2]: c,17,-,3,1000001000,-,e|x" },
	{ " x-1 [0] 5.0: y:-99      [003] d...  1.000001: e: x",
	  "x-1 [0] 5.0: y:,99,-,3,1000001000,-,e|x" },
	{ "   --[3]-- 1.5: -99      [003] d...  1.000001: e: x",
	  "--[3]-- 1.5: ,99,-,3,1000001000,-,e|x" },
	{ "                -99      [003] d...  1.000001: e: x", ",99,-,3,1000001000,-,e|x" },
	/* the function tracer */
	{ "          submit-120     [000] .....     2.255373: mock_open <-drm_file_alloc",
	  "call mock_open 120 thread" },
	{ "          submit-120     [000] d.h1.     2.255373: a.isra.0+0x4/0x1f [m] <-b+0x1/0x2 "
	  "[m]",
	  "call a.isra.0 120 interrupt" },
	{ "  submit-120    12dNs2.     2.255373: f <-g", "call f 120 interrupt" },
	{ "          submit-168   [001]     4.347618: function:             f <-- g",
	  "call f 168 thread" },
	{ "          submit-168   [001]     4.347618: ftrace:function:      f <-- g",
	  "call f 168 thread" },
	{ "       mock jobs   25581   0 255 0000000f 00000000 [1a6823084] 22.348ms (+0.088ms): f "
	  "<-g",
	  "call f 25581 thread" },
	{ "          submit-168   [001]     4.347618: function: f",
	  "submit,168,-,1,4347618000,-,function|f" },
	{ "          submit-120     [000] .....     2.255373: f - <-g", "skip" },
	{ "          submit-120     [000] .....     2.255373: f [m <-g", "skip" },
	{ "          submit-120     [000] .....     2.255373: 5 <-g", "skip" },
	{ "          submit-120     [000] .....     2.255373: f <", "skip" },
	{ "          submit-120     [000] .....     2.255373: f", "skip" },
	/* perf script, with fields left out */
	{ "            perf 27574 [000] 13296.475963: sched:sched_switch: a=1",
	  "perf,27574,-,0,13296475963000,sched,sched_switch|a=1" },
	{ "gpu-worker-1 18 [001] 13296.475963: sched:e: a",
	  "gpu-worker-1,18,-,1,13296475963000,sched,e|a" },
	{ "            perf 27574 13296.475963: sched:e: a",
	  "perf,27574,-,-,13296475963000,sched,e|a" },
	{ "    gpu-worker-1 21321 1.5: sched:e: a", "gpu-worker-1,21321,-,-,1500000000,sched,e|a" },
	{ " memfd:sealed-91 21321 1.5: sched:e: a",
	  "memfd:sealed-91,21321,-,-,1500000000,sched,e|a" },
	{ "     migration/0    18/19    1.5: sched:e: a",
	  "migration/0,19,18,-,1500000000,sched,e|a" },
	{ "     migration/0    18/19    [002]  1.5: sched:e: a",
	  "migration/0,19,18,2,1500000000,sched,e|a" },
	{ "27574 [000] 1.5: sched:e: a", ",27574,-,0,1500000000,sched,e|a" },
	{ "   18 1.5: sched:e: a", ",18,-,-,1500000000,sched,e|a" },
	{ "   18/19    1.5: sched:e: a", ",19,18,-,1500000000,sched,e|a" },
	{ "            perf [000] 1.5: sched:e: a", "perf,4294967295,-,0,1500000000,sched,e|a" },
	{ "            perf 1.5: sched:e: a", "perf,4294967295,-,-,1500000000,sched,e|a" },
	{ "[000] 1.5: sched:e: a", ",4294967295,-,0,1500000000,sched,e|a" },
	{ "1.5: sched:e: a", ",4294967295,-,-,1500000000,sched,e|a" },
	{ "            perf 27574 [000] K     1.5: sched:e: a",
	  "perf,27574,-,0,1500000000,sched,e|a" },
	{ "            perf 27574 [000] 1.5:          1 sched:e: a",
	  "perf,27574,-,0,1500000000,sched,e|a" },
	{ "          :27574 27574 [000] 1.5: sched:e: a", ",27574,-,0,1500000000,sched,e|a" },
	{ "   x 12 [0] 1.0:    18 [001] 1.5: sched:e: a",
	  "x 12 [0] 1.0:,18,-,1,1500000000,sched,e|a" },
	{ "            perf 27574 [000] 1.5:     250000 cycles:  ffffffff8139bb71 f", "skip" },
	{ "     process_api     0 [000]     0.000000: PERF_RECORD_COMM: process_api:1/1", "skip" },
	{ "            unxz 27490 [000] 1.5: PERF_RECORD_EXIT(27490:27490):(27261:27261)", "skip" },
	{ "PERF_RECORD_FINISHED_ROUND", "skip" },
	{ "            perf 31247 [001] 13322.241069: PERF_RECORD_LOST lost 10", "lost" },
	{ "            perf 31247 13322.241069: PERF_RECORD_LOST_SAMPLES lost 10", "lost" },
	{ "\tffffffff8139bb71 __traceiter_sched_switch+0x41 ([kernel.kallsyms])", "skip" },
	{ "\t           ee137 f@@GLIBC_2.3.4+0x7 (/usr/lib/x-1 [000] 1.5: a:b: c)", "skip" },
	{ "\t               0 [unknown] (/usr/bin/perf)", "skip" },
	{ "\tschedule+0x23", "skip" },
	{ "\tdead 27574 [000] 1.5: sched:e: a", "\tdead,27574,-,0,1500000000,sched,e|a" },
	{ "12.5: amdgpu: a line of a log", "bad" },
	{ "  prog 12 1.5: a line of a log", "bad" },
	/* not ours */
	{ "          submit-120     [000] .....     2.255373: <stack trace>", "skip" },
	{ " => do_syscall_64", "skip" },
	{ " 1) + 40.114 us   |      drm_sched_entity_init [gpu_sched]();", "skip" },
	{ " 1) # 5122.471 us |    }", "skip" },
	{ "# tracer: nop", "skip" },
	{ "", "skip" },
	{ "cpus=2", "skip" },
	{ "trace.dat: cpus=12", "skip" },
	{ "CPU 3 is empty", "skip" },
	{ "{0x1,0x2}", "skip" },
	{ "CPU:3 [LOST 27 EVENTS]", "lost" },
	{ "CPU:3 [LOST EVENTS]", "lost" },
	{ "##### CPU 3 buffer started ####", "lost" },
	{ "##### CPU 3 is fine ####", "skip" },
	{ "CPU:3 [27 EVENTS DROPPED]", "lost" },
	{ "CPU:3 [EVENTS DROPPED]", "lost" },
	/* damaged */
	{ "          submit-168   [001", "bad" },
	{ "          submit-168   [001]     4.34761", "bad" },
	{ "          submit-99999999999   [001]     4.347618: e: a", "bad" },
	{ "          submit-168   [001]     99999999999999.347618: e: a", "bad" },
	{ "          submit-168   [65535]     4.347618: e: a", "bad" },
	{ "wxyz", "bad" },
	{ "          submit-18446744073709551624   [001]     4.347618: e: a", "bad" },
	{ "          submit-168   [001]     4.347618 e: a", "bad" },
	{ "          submit-168   [001]     4.347618:e: a", "bad" },
	{ "            perf 27574 [000] 1.5 sched:e: a", "bad" },
	{ "            perf 27574 [000] 1.5:sched:e: a", "bad" },
	/* what is no number belongs to the name */
	{ "            perf 18/ [000] 1.5: sched:e: a",
	  "perf 18/,4294967295,-,0,1500000000,sched,e|a" },
	{ "            perf 18x [000] 1.5: sched:e: a",
	  "perf 18x,4294967295,-,0,1500000000,sched,e|a" },
	{ "            perf 27574 [] 1.5: sched:e: a",
	  "perf 27574 [],4294967295,-,-,1500000000,sched,e|a" },
	/* an event's name and its system's */
	{ "          submit-168   [001]     4.347618: e: a:", "submit,168,-,1,4347618000,-,e|a:" },
	{ "          submit-168   [001]     4.347618: e:a: b", "submit,168,-,1,4347618000,e,a|b" },
	{ "          submit-168   [001]     4.347618: e:a", "submit,168,-,1,4347618000,-,e|a" },
	{ "          submit-168   [001]     4.347618: e:", "submit,168,-,1,4347618000,-,e|" },
};

static void lines(void)
{
	for (size_t i = 0; i < sizeof(layouts) / sizeof(*layouts); i++)
		is_str(reported(layouts[i].line), layouts[i].want, "line \"%s\"", layouts[i].line);
}

/* A line "perf", @n blanks, and the rest of a header */
static const char *far(size_t n)
{
	static char line[2048];

	sprintf(line, "perf%*s27574 [000] 1.5: sched:e: a", (int)n, "");
	return reported(line);
}

static void long_headers(void)
{
	is_str(far(400), "perf,27574,-,0,1500000000,sched,e|a", "a header of 440 bytes");
	is_str(far(1000), "bad", "one that is longer than perf makes them is not looked for");
}

static struct rh *play_bytes(const char *text, size_t len, int *ret)
{
	char path[TMP_PATH_MAX];
	int fd = tmp_file(path, "gt-replay");
	struct rh *h = rh_new(path, maps, true);

	if (fd < 0 || write(fd, text, len) != (ssize_t)len)
		tap_ok(false, "temporary file");
	close(fd);
	*ret = rh_play(h);
	unlink(path);
	return h;
}

static struct rh *play(const char *text, int *ret)
{
	return play_bytes(text, strlen(text), ret);
}

#define JOB(comm, t, ev, seq)                                                                      \
	comm " [000] ..... " t ": " ev ": dev=0000:04:00.0, fence=401:" seq                        \
	     ", ring=gfx, job count:0, hw job count:0, client_id:13\n"
#define DONE(t, seq)                                                                               \
	"          <idle>-0       [005] d.h.. " t ": drm_sched_job_done: fence=401:" seq           \
	" signaled\n"

static const union gt_record *nth(const struct rh *h, unsigned int type, unsigned int n)
{
	for (size_t i = 0; i < h->n; i++)
		if (h->rec[i].ev.type == type && !n--)
			return &h->rec[i];
	return NULL;
}

static void a_job(void)
{
	static const char text[] = "# tracer: nop\r\n" JOB("          <...>-45  (     44)",
							   "1.000001", "drm_sched_job_queue", "7")
		JOB("        kworker-9   (      9)", "1.000002", "drm_sched_job_run", "7")
			DONE("1.000005", "7");
	const union gt_record *r;
	int ret;
	struct rh *h = play(text, &ret);

	is(ret, -ENODATA, "a job is played to the end");
	is(h->errors, 0, "without a complaint");
	r = nth(h, GT_SUBMIT, 0);
	ok(r && r->ev.pid == 44 && r->ev.tid == 45 && r->ev.ts == 1000001000 && r->ev.ctx == 401 &&
		   r->ev.seqno == 7 && r->ev.ref == 13 && r->ev.cpu == 0,
	   "SUBMIT: pid is the TGID column");
	r = nth(h, GT_COMPLETE, 0);
	ok(r && r->ev.tid == GT_NONE32 && r->ev.cpu == 5 && r->ev.ring == 0,
	   "COMPLETE: by no thread");
	ok(!nth(h, GT_PROCESS, 0), "a name that is not known is not reported");
	ok(h->gpus == 1 && !strcmp(h->gpu[0].dev, "0000:04:00.0"), "its GPU");
	is(h->watermark, 1000005000, "the watermark is the last time");
	rh_free(h);
}

#define CALL(comm, flags, t, f) comm " [000] " flags " " t ": " f " <-caller\n"

/* A call is what an event map makes of that function, or a FUNCTION; its name is reported once. */
static void calls(void)
{
	static const char text[] = "# tracer: function\n" CALL("   prog-45  (     44)", ".....",
							       "1.000001", "amdgpu_a")
		CALL("   prog-45  (     44)", ".....", "1.000002", "pqm_create_queue.constprop.0")
			CALL("   prog-45  (     44)", ".....", "1.000003", "amdgpu_a")
				CALL("   prog-45  (     44)", "..s1.", "1.000004", "amdgpu_b")
					CALL("kworker/0:1-9  (      9)", ".....", "1.000005",
					     "unmap_queues_cpsch");
	const union gt_record *r;
	int ret;
	struct rh *h = play(text, &ret);

	is(ret, -ENODATA, "calls are played to the end");
	is(h->errors, 0, "without a complaint");
	is(h->types[GT_FUNCTION], 3, "calls of functions");
	is(h->types[GT_NAME], 2, "two functions are named, once each");
	r = nth(h, GT_FUNCTION, 1);
	ok(r && r->ev.value == nth(h, GT_FUNCTION, 0)->ev.value && r->ev.pid == 44 &&
		   r->ev.tid == 45 && r->ev.ts == 1000003000 && r->ev.cpu == 0,
	   "a call: function, who, when, where");
	r = nth(h, GT_NAME, 1);
	ok(r && r->name.kind == GT_NAME_FUNCTION && !strcmp(r->name.text, "amdgpu_b") &&
		   nth(h, GT_FUNCTION, 2)->ev.value == r->name.id,
	   "its name");
	ok(nth(h, GT_FUNCTION, 2)->ev.pid == GT_NONE32 &&
		   nth(h, GT_FUNCTION, 2)->ev.tid == GT_NONE32,
	   "in an interrupt it is nobody's");
	r = nth(h, GT_QUEUE_CREATE, 0);
	ok(r && r->ev.pid == 44 && r->ev.ts == 1000002000,
	   "a queue is made, whatever version of the function");
	r = nth(h, GT_QUEUE_UNMAP, 0);
	ok(r && r->ev.pid == GT_NONE32 && r->ev.value == 2, "what a worker unmaps is not its own");
	rh_free(h);
	h = play("# tracer: function_graph\n 1) + 40.114 us   |      f();\n", &ret);
	ok(strstr(h->error, "function_graph"), "a graph: %s", h->error);
	rh_free(h);
}

/* More functions than have numbers, and one whose name is too long: counted, played without a name
 */
static void call_bounds(void)
{
	size_t at = 0, size = (GT_MAX_FUNCTIONS + 2) * 80 + 400;
	char *text = malloc(size);
	struct rh *h;
	int ret;

	at += (size_t)snprintf(text, size, " p-1 [000] ..... 1.0: f%0200d <-c\n", 0);
	for (int i = 0; i < GT_MAX_FUNCTIONS + 1; i++)
		at += (size_t)snprintf(text + at, size - at,
				       " p-1 [000] ..... 1.%06d: many_%d <-c\n", i, i);
	h = play(text, &ret);
	is(ret, -ENODATA, "many functions are played to the end");
	is(h->types[GT_FUNCTION], GT_MAX_FUNCTIONS + 2, "each call is there");
	is(h->types[GT_NAME], GT_MAX_FUNCTIONS - 2, "all numbers but those of before have a name");
	ok(strstr(h->first, "more than 8192"), "that is reported: %s", h->first);
	rh_free(h);
	at = (size_t)snprintf(text, size,
			      "# tracer: function\n p-1 [000] ..... 1.0: f%0200000d <-c\n", 0);
	h = play_bytes(text, at, &ret);
	ok(h->types[GT_FUNCTION] == 1 && strstr(h->first, "of a longer name than 127"),
	   "a name of 200000 bytes: %s", h->first);
	ok(gt_replay_source(h->p.priv, 0)->item.len <= GT_FUNCTION_NAME,
	   "… of which little is kept: %zu bytes",
	   (size_t)gt_replay_source(h->p.priv, 0)->item.len);
	rh_free(h);
	free(text);
}

/* A file of a terabyte that takes some KiB: its hole is passed, not read. */
static void hole(void)
{
	static const char tail[] =
		"\n" JOB("         second-45  (     44)", "1.000003", "drm_sched_job_queue", "2");
	char path[TMP_PATH_MAX];
	int fd = tmp_file(path, "gt-replay"), ret;
	struct rh *h = rh_new(path, maps, true);

	if (fd < 0 || write(fd, "# tracer: nop\n", 14) != 14 ||
	    pwrite(fd, tail, sizeof(tail) - 1, 1ll << 40) != sizeof(tail) - 1)
		tap_ok(false, "temporary file");
	close(fd);
	ret = rh_play(h);
	ok(ret == -ENODATA && h->types[GT_SUBMIT] == 1,
	   "what comes after a hole of 1 TiB is played");
	ok(strstr(h->first, "line 2: longer than 262144 bytes"), "… and it is reported: %s",
	   h->first);
	rh_free(h);
	unlink(path);
}

/* Who reads a line without an end comes back between its parts. */
static void endless(void)
{
	static char part[1 << 20];
	char path[TMP_PATH_MAX];
	struct gt_lines t;
	struct gt_source s = { .fd = tmp_file(path, "gt-replay") };
	const char *line;
	size_t len;
	int ret, again = 0;

	memset(part, 'x', sizeof(part));
	for (int i = 0; i < 40; i++)
		if (write(s.fd, part, sizeof(part)) != sizeof(part))
			tap_ok(false, "temporary file");
	gt_lines_init(&t, 0);
	while (!(ret = gt_lines_next(&s, &t, false, &line, &len)))
		again++;
	ok(again == 2 && ret == 1 && !len, "a line of 40 MiB is passed in three parts: %d",
	   again + 1);
	is(gt_lines_next(&s, &t, false, &line, &len), -ENODATA, "… then the file has ended");
	gt_lines_free(&t);
	close(s.fd);
	unlink(path);
}

/* Lines are sorted, GPUs numbered by name and not by who came first, the group's leader names it.
 */
static void order(void)
{
	static const char text[] = JOB("         second-45  (     44)", "1.000003",
				       "drm_sched_job_queue", "2")
		JOB("          first-45  (     44)", "1.000001", "drm_sched_job_queue",
		    "1") "            late-7    (      7) [000] ..... 0.9: drm_sched_job_queue: "
			 "dev=0000:03:00.0, fence=9:1, ring=x, job count:0, hw job count:0, "
			 "client_id:1\n"
			 "          leader-44  (     44) [000] ..... 2.0: other: x\n";
	const union gt_record *r;
	int ret;
	struct rh *h = play(text, &ret);
	uint64_t last = 0;
	bool sorted = true;

	for (size_t i = 0; i < h->n; i++) {
		if (h->rec[i].ev.type == GT_NAME)
			continue;
		sorted &= h->rec[i].ev.ts >= last;
		last = h->rec[i].ev.ts;
	}
	is(h->types[GT_SUBMIT], 3, "three jobs");
	ok(sorted, "lines out of order come in order");
	ok(h->gpus == 2 && !strcmp(h->gpu[0].dev, "0000:03:00.0"), "GPUs are numbered by name");
	is(h->types[GT_PROCESS], 2, "each process is named once");
	r = nth(h, GT_PROCESS, 1);
	is_str(r ? r->process.comm : NULL, "leader", "by the thread that leads it");
	rh_free(h);
}

static void damage(void)
{
	char *big = malloc(600000);
	size_t n;
	int ret;
	struct rh *h;

	n = (size_t)sprintf(big, "%swhat is this\x1b?\nand this\n%s",
			    JOB("a-1", "1.0", "drm_sched_job_queue", "1"),
			    JOB("a-1", "2.0", "drm_sched_job_run", "1"));
	h = play(big, &ret);
	ok(h->types[GT_SUBMIT] == 1 && h->types[GT_COMMIT] == 1,
	   "the lines around damage are played");
	ok(strstr(h->first, "line 2 ") && strstr(h->first, "\"what is this??\""),
	   "the first damaged line is reported: %s", h->first);
	is(h->errors, 1, "once");
	rh_free(h);

	memset(big + n, 'x', 550000);
	big[n + 20] = '\0';
	n += 550000;
	n += (size_t)sprintf(big + n, "\n%s", JOB("a-1", "3.0", "drm_sched_job_queue", "2"));
	h = play_bytes(big, n, &ret);
	is(h->types[GT_SUBMIT], 2, "a line of 550000 bytes does not hide the next");
	rh_free(h);

	h = play_bytes(big, n - 5, &ret);
	ok(h->errors, "a file that ends without a newline is reported");
	rh_free(h);
	h = play_bytes("nonsense\n", 9, &ret);
	ok(ret == -EINVAL && h->errors, "what is no recording is refused: %s", h->error);
	rh_free(h);
	h = play_bytes("", 0, &ret);
	ok(ret == -ENODATA && strstr(h->error, "is empty"), "an empty file is refused: %s",
	   h->error);
	rh_free(h);
	free(big);
}

static void losses(void)
{
	static const char text[] =
		JOB("a-1", "1.0", "drm_sched_job_queue", "1") "CPU:0 [LOST 27 EVENTS]\n" JOB(
			"a-1", "2.0", "drm_sched_job_queue", "2") "CPU:3 [EVENTS DROPPED]\n";
	const union gt_record *r;
	int ret;
	struct rh *h = play(text, &ret);

	is(h->types[GT_LOST], 2, "lost events are reported");
	r = nth(h, GT_LOST, 0);
	ok(r && r->lost.count == 27 && r->lost.cpu == 0 && r->lost.since == 1000000000 &&
		   r->lost.ts == 1000000000 && r->lost.until == 2000000000,
	   "how many, where, from when to when");
	r = nth(h, GT_LOST, 1);
	ok(r && r->lost.count == GT_NONE64 && r->lost.cpu == 3,
	   "no number where it is not said how many");
	rh_free(h);
	h = play(JOB("a-1", "1.0", "drm_sched_job_queue", "1") JOB(
			 "a-1", "2.0", "drm_sched_job_queue",
			 "2") "##### CPU 1 buffer started ####\n" JOB("a-1", "3.0",
								      "drm_sched_job_queue", "3"),
		 &ret);
	r = nth(h, GT_LOST, 0);
	ok(r && r->lost.cpu == 1 && r->lost.since == 1000000000 && r->lost.ts == 1000000000 &&
		   r->lost.until == 3000000000,
	   "a buffer that ran over begins late: lost from the recording's beginning on");
	rh_free(h);
	h = play(JOB("a-1", "1.0", "drm_sched_job_queue", "1")
			 JOB("a-1", "2.0", "drm_sched_job_queue", "2") DONE("3.0", "1")
				 DONE("4.0", "2"),
		 &ret);
	r = nth(h, GT_LOST, 0);
	ok(r && h->types[GT_LOST] == 1 && r->lost.cause == GT_LOST_BEGIN && r->lost.cpu == 5 &&
		   r->lost.count == 0 && r->lost.ts == 3000000000 && r->lost.since == 1000000000,
	   "a CPU that begins later than others: perhaps nothing was lost");
	ok(r && (r + 1)->ev.type == GT_COMPLETE && (r + 1)->ev.ts == r->ev.ts,
	   "before its first event");
	is(gt_replay_source(h->p.priv, 0)->count.lost, 0, "so it is no loss");
	rh_free(h);
}

#define PERF(ids, t, text) "  prog " ids t ": " text "\n"
#define PERF_JOB(ids, t, seq)                                                                      \
	PERF(ids, t,                                                                               \
	     "gpu_scheduler:drm_sched_job_queue: dev=0000:04:00.0, fence=401:" seq                 \
	     ", ring=gfx, job count:0, hw job count:0, client_id:13")

/* Marks of perf script have a time of their own, which is when the gap ends. */
static void perf_losses(void)
{
	const union gt_record *r;
	const struct gt_filecount *c;
	struct rh *h;
	int ret;

	h = play(PERF_JOB("45 [000] ", "1.0", "1") PERF_JOB("45 [001] ", "1.5", "2")
			 PERF("45 [000] ", "2.0", "PERF_RECORD_LOST lost 27")
				 PERF_JOB("45 [001] ", "3.0", "3"),
		 &ret);
	c = &gt_replay_source(h->p.priv, 0)->count;
	r = nth(h, GT_LOST, 0);
	ok(r && r->lost.count == 27 && r->lost.cpu == 0 && r->lost.since == 1000000000 &&
		   r->lost.ts == 1000000000 && r->lost.until == 2000000000,
	   "perf: lost between its CPU's last event and the mark");
	is(c->lost, 27, "… which is counted");
	is(h->types[GT_SUBMIT], 3, "… and all jobs are there");
	rh_free(h);
	h = play(PERF_JOB("45 ", "1.0", "1") PERF_JOB("45 ", "1.5", "2")
			 PERF("45 ", "2.0", "PERF_RECORD_LOST lost 5"),
		 &ret);
	r = nth(h, GT_LOST, 0);
	ok(r && r->lost.count == 5 && r->lost.cpu == GT_NONE16 && r->lost.since == 1000000000 &&
		   r->lost.until == 2000000000,
	   "perf without CPUs: lost since the beginning");
	r = nth(h, GT_SUBMIT, 0);
	ok(r && r->ev.pid == 45 && r->ev.cpu == GT_NONE16, "… and a job's CPU is not known");
	rh_free(h);
	h = play(PERF_JOB("", "1.0", "1"), &ret);
	r = nth(h, GT_SUBMIT, 0);
	ok(r && r->ev.pid == GT_NONE32 && r->ev.tid == GT_NONE32,
	   "perf without threads: nor is the thread");
	is(h->types[GT_PROCESS], 0, "… and it names nobody");
	rh_free(h);
	h = play(PERF("45 [000] ", "2.0", "PERF_RECORD_LOST lost 4")
			 PERF_JOB("45 [000] ", "3.0", "1"),
		 &ret);
	r = nth(h, GT_LOST, 0);
	ok(r && r->lost.count == 4 && r->lost.ts == 2000000000, "a mark before all events");
	rh_free(h);
	h = play(PERF_JOB("45 [000] ", "1.0", "1") PERF(
			 "45 [000] ", "2.0", "PERF_RECORD_LOST lost 18446744073709551614")
			 PERF("45 [000] ", "2.0", "PERF_RECORD_LOST lost 18446744073709551600")
				 PERF_JOB("45 [000] ", "3.0", "2"),
		 &ret);
	is(gt_replay_source(h->p.priv, 0)->count.lost, GT_LOST_MAX,
	   "counts that cannot be do not wrap");
	rh_free(h);
}

/* More groups than live at a time: those without room are counted, their events stay. */
static void many_groups(void)
{
	enum { GROUPS = 4100, LONG = 96 };
	char *text = malloc(GROUPS * LONG), *p = text;
	const struct gt_filecount *c;
	struct rh *h;
	int ret;

	for (int i = 0; i < GROUPS; i++)
		p += sprintf(
			p,
			"00:00:01.000000 [CPU01] TASK_INIT PID=7 a TSG=%d engine=GR0 runlist=0\n",
			i);
	h = play(text, &ret);
	c = &gt_replay_source(h->p.priv, 0)->count;
	is(h->types[GT_QUEUE], 4096, "as many groups as there is room for");
	ok(h->types[GT_QUEUE_CREATE] == GROUPS && c->skipped[0].n == 4 &&
		   !strcmp(c->skipped[0].kind, "groups_without_room"),
	   "… others are counted");
	rh_free(h);
	free(text);
}

/* What an editor of Windows saved begins with a mark. */
static void marked(void)
{
	static const char *const texts[] = {
		"\xef\xbb\xbf" JOB("a-1", "1.0", "drm_sched_job_queue", "1"),
		"\xef\xbb\xbf# tracer: nop\r\n" JOB("a-1", "1.0", "drm_sched_job_queue", "1"),
		"\xef\xbb\xbf[1.5] SUBMIT ctx=0x1 engine=GRAPHICS ring=0 seq=1\r\n",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		int ret;
		struct rh *h = play(texts[i], &ret);

		ok(h->types[GT_SUBMIT] == 1 && !h->errors, "a mark of UTF-8 before text %zu: %s", i,
		   h->error);
		rh_free(h);
	}
}

/* A text of gpu_sched_trace with a midnight in every second line */
static void midnights(void)
{
	enum { LINES = 450000, LONG = 64 };
	char *text = malloc(LINES * LONG), *p = text;
	uint64_t last = 0, back = 0;
	struct rh *h;
	int ret;

	for (int i = 0; i < LINES; i++)
		p += sprintf(p, "%s [CPU01] BIND PID=7 a TSG=1\n",
			     i % 2 ? "00:00:00.000000" : "23:59:59.000000");
	h = play(text, &ret);
	for (size_t i = 0; i < h->n; i++) {
		back += h->rec[i].ev.ts < last;
		last = h->rec[i].ev.ts;
	}
	ok(h->types[GT_QUEUE_SCHEDULE] == LINES && !back && last <= INT64_MAX,
	   "more midnights than a clock has: %llu go back", (unsigned long long)back);
	rh_free(h);
	free(text);
}

/* A header of perf's that is longer than what a file's kind is found by */
static void perf_header(void)
{
	static char text[2 * GT_REPLAY_HEAD];
	size_t n = (size_t)sprintf(text, "# ========\n# captured on    : today\n");
	struct rh *h;
	int ret;

	memset(text + n, '#', GT_REPLAY_HEAD);
	strcpy(text + n + GT_REPLAY_HEAD, "\n" PERF_JOB("45 [000] ", "1.0", "1"));
	h = play(text, &ret);
	is(h->types[GT_SUBMIT], 1, "perf script --header of many events");
	rh_free(h);
}

/* Long lines: the reader hands control back after some of them */
static void long_lines(void)
{
	enum { LINES = 60, LONG = 200000 };
	char path[TMP_PATH_MAX], *text = malloc(LONG);
	int fd = tmp_file(path, "gt-replay");
	struct rh *h = rh_new(path, maps, true);
	uint64_t damaged = 0, most = 0;

	memset(text, ' ', LONG);
	memcpy(text + LONG - 14, "1:1.000000: x\n", 14);
	ok(write(fd, "# tracer: nop\n", 14) == 14, "a file");
	for (int i = 0; i < LINES; i++)
		if (write(fd, text, LONG) != LONG)
			tap_ok(false, "of long lines");
	close(fd);
	is(gt_replay_start(&h->p), 0, "long lines");
	while (gt_replay_drain(&h->p) >= 0) {
		uint64_t now = gt_replay_source(h->p.priv, 0)->count.damaged;

		most = now - damaged > most ? now - damaged : most;
		damaged = now;
	}
	is(damaged, LINES, "each is damaged");
	ok(most <= GT_LINES_BYTES / LONG + 1, "at most %llu of them at a time",
	   (unsigned long long)most);
	rh_free(h);
	unlink(path);
	free(text);
}

#define TWO (GT_F_CLOCK | GT_F_CLOCK_HW)

/* A job that ends on CPU 5 before it is submitted on CPU 0 */
static void clocks(void)
{
	const struct gt_filecount *c;
	struct rh *h;
	int ret;

	h = play(JOB("a-1", "1.0", "drm_sched_job_queue", "1") DONE("1.1", "1") DONE("2.0", "2")
			 JOB("a-1", "2.000700", "drm_sched_job_queue", "2") DONE("3.0", "3")
				 JOB("a-1", "3.002", "drm_sched_job_queue", "3"),
		 &ret);
	c = &gt_replay_source(h->p.priv, 0)->count;
	ok(c->early == 2 && c->behind_ns == 2000000 && c->behind == 5 && c->ahead == 0,
	   "clocks that differ are found");
	ok(strstr(h->error, "CPU 5 is at least 2000 us behind that of CPU 0"),
	   "... and reported: %s", h->error);
	is(c->late, 0, "lines are in order of time all the same");
	rh_free(h);
	h = play(JOB("a-1", "1.0", "drm_sched_job_queue", "1") DONE("1.1", "1") DONE("2.0", "2")
			 JOB("a-1", "2.000700", "drm_sched_job_queue", "2")
				 JOB("a-1", "4.0", "drm_sched_job_queue", "4") DONE("4.1", "4")
					 JOB("a-1", "5.0", "drm_sched_job_queue", "5")
						 JOB("a-1", "5.1", "drm_sched_job_run", "5")
							 DONE("5.2", "5"),
		 &ret);
	is(nth(h, GT_COMPLETE, 0)->ev.flags & TWO, 0, "before that nothing is known of it");
	is(nth(h, GT_COMPLETE, 2)->ev.flags & TWO, TWO,
	   "from then on a job's begin and end are of two clocks");
	is(nth(h, GT_COMMIT, 0)->ev.flags & TWO, 0, "a hand-over is not, on its submission's CPU");
	is(nth(h, GT_COMPLETE, 3)->ev.flags & TWO, TWO, "but the end of that job");
	rh_free(h);
	h = play(JOB("a-1", "1.0", "drm_sched_job_queue", "1") DONE("1.1", "1")
			 JOB("a-1", "5.0", "drm_sched_job_queue", "1") DONE("5.1", "1"),
		 &ret);
	c = &gt_replay_source(h->p.priv, 0)->count;
	ok(!c->early && !h->errors, "a number that is used again is no such thing");
	rh_free(h);
}

#define ON(cpu, t, event, job)                                                                     \
	"prog-9 [00" cpu "] ..... " t ": " event ": sched_job=" job ", timeline=gfx, context=5, "  \
	"seqno=" job ", ring_name=gfx, num_ibs=1\n"
#define SUBMITTED(cpu, t, job) ON(cpu, t, "amdgpu_cs_ioctl", job)
#define RUN(cpu, t, job)       ON(cpu, t, "amdgpu_sched_run_job", job)
#define ENDED(cpu, t, job)                                                                         \
	"prog-9 [00" cpu "] ..... " t ": dma_fence_signaled: driver=amd_sched timeline=gfx "       \
	"context=5 seqno=" job "\n"
/* a job of CPUs 0 and 1 */
#define CLEAN(t, job) SUBMITTED("0", t "0001", job) RUN("1", t "0002", job) ENDED("1", t "1", job)
/* one that is handed over on CPU 1, and only later submitted on CPU 0 */
#define RACED(t, job) RUN("1", t "001", job) SUBMITTED("0", t "003", job) ENDED("0", t "1", job)

static unsigned int flags_of(const struct rh *h, unsigned int type, unsigned int n)
{
	const union gt_record *r = nth(h, type, n);

	return !r ? ~0u : type == GT_COMPLETE ? r->ev.flags & TWO : r->ev.flags & GT_F_CLOCK;
}

/* The recording has hand-overs, which the first job's may come too late to say */
static void hands(void)
{
	struct rh *h;
	int ret;

	h = play(SUBMITTED("0", "1.1", "1") ENDED("0", "1.2", "1") RUN("0", "1.3", "1"), &ret);
	ok(nth(h, GT_SUBMIT, 0)->ev.flags & GT_F_COMMITS, "the first submission is no hand-over");
	ok(nth(h, GT_COMMIT, 0)->ev.flags & GT_F_CLOCK,
	   "one behind the end says so, by one clock too");
	rh_free(h);
	h = play(SUBMITTED("0", "1.1", "1") ENDED("0", "1.2", "1"), &ret);
	is(nth(h, GT_SUBMIT, 0)->ev.flags, 0, "without hand-overs nothing says so");
	rh_free(h);
}

/* A thread may be preempted between a job's hand-over and the note of its submission */
static void races(void)
{
	struct rh *h;
	int ret;

	h = play(RACED("1.1", "1") RACED("1.2", "2") CLEAN("1.3", "3"), &ret);
	is(flags_of(h, GT_COMPLETE, 2), 0, "two late submissions do not show that clocks differ");
	is_str(h->error, "", "... nor does anybody say so");
	rh_free(h);
	h = play(RACED("1.1", "1") RACED("1.2", "2") RACED("1.3", "3") CLEAN("1.4", "4"), &ret);
	is(flags_of(h, GT_COMPLETE, 3), TWO, "three do");
	ok(strstr(h->error, "CPU 1 is at least 200 us behind that of CPU 0"),
	   "... which is reported: %s", h->error);
	rh_free(h);
}

/* CPU 3 is behind CPU 0; jobs of CPUs 0 and 1 follow one another closely, so CPU 3 is the odd one */
static void odd(void)
{
	static const char shows[] = ENDED("3", "2.0", "5") SUBMITTED("0", "2.001", "5");
	static const char both[] = SUBMITTED("0", "1.00001", "1") RUN("1", "1.00002", "1")
		ENDED("0", "1.1", "1") SUBMITTED("1", "1.20001", "2") RUN("0", "1.20002", "2")
			ENDED("0", "1.3", "2");
	static const char then[] = CLEAN("3.1", "6") SUBMITTED("1", "3.2", "7")
		RUN("1", "3.21", "7") ENDED("3", "3.3", "7") CLEAN("3.4", "8") CLEAN("3.5", "9")
			CLEAN("3.6", "10") CLEAN("3.7", "11") CLEAN("4.1", "12") CLEAN("4.2", "13")
				CLEAN("4.3", "14") CLEAN("4.4", "15") CLEAN("4.5", "16");
	char text[8192];
	struct rh *h;
	int ret;

	snprintf(text, sizeof(text), "%s%s%s", CLEAN("1.1", "1"), shows, then);
	h = play(text, &ret);
	is(flags_of(h, GT_COMPLETE, 2), TWO, "of two that differ, either may be odd");
	rh_free(h);
	snprintf(text, sizeof(text), "%s%s%s", both, shows, then);
	h = play(text, &ret);
	is(flags_of(h, GT_SUBMIT, 3), 0, "one that agrees with a third is not");
	is(flags_of(h, GT_COMPLETE, 3) & GT_F_CLOCK, 0, "... at its end either");
	is(flags_of(h, GT_COMPLETE, 4), TWO, "but the other one is odd, for all");
	is(flags_of(h, GT_COMPLETE, 5), GT_F_CLOCK_HW, "an end there may hide when the next began");
	is(flags_of(h, GT_COMPLETE, 13), 0, "that is over after eight more");
	rh_free(h);
}

/* i915's start and end on CPUs of which that of the end is behind that of the start */
#define I915(cpu, t, event, job)                                                                   \
	"prog-9 [00" cpu "] ..... " t ": i915_request_" event                                      \
	": dev=0, engine=0:0, ctx=5, seqno=" job ", completed?=1\n"
#define I915_JOB(t, job, out_cpu, out)                                                             \
	I915("0", t "1", "queue", job)                                                             \
	I915("0", t "2", "add", job)                                                               \
	I915("0", t "3", "in", job) I915(out_cpu, out, "out", job) I915("0", t "9", "retire", job)

static void start_end(void)
{
	struct rh *h;
	int ret;

	h = play(I915_JOB("1.1", "1", "0", "1.15") I915_JOB("1.2", "2", "1", "1.225")
			 I915_JOB("1.3", "3", "1", "1.36") I915_JOB("1.4", "4", "0", "1.45"),
		 &ret);
	is(nth(h, GT_COMPLETE, 0)->ev.flags & (TWO | GT_F_CLOCK_END), 0, "one clock");
	ok(strstr(h->error, "CPU 1 is at least"), "an end before its start shows it: %s", h->error);
	ok(nth(h, GT_START, 1)->ev.flags & GT_F_CLOCK, "that start says so");
	is(nth(h, GT_COMPLETE, 2)->ev.flags & (TWO | GT_F_CLOCK_END),
	   GT_F_CLOCK_HW | GT_F_CLOCK_END,
	   "from then on no time from start to end, or to completion");
	is(nth(h, GT_COMPLETE, 3)->ev.flags & (TWO | GT_F_CLOCK_END), 0,
	   "but of jobs that ran by one clock");
	rh_free(h);
}

/* More lines than are sorted, and then those of another CPU, which were to be among them */
static void late(void)
{
	enum { LINES = GT_WINDOW_MAX + 100 };
	static char text[LINES * 160];
	const struct gt_filecount *c;
	size_t n = 0;
	struct rh *h;
	int ret;

	for (int i = 0; i < LINES; i++)
		n += (size_t)sprintf(
			text + n,
			"a-1 [000] ..... 1.%06d: drm_sched_job_queue: dev=0000:04:00.0, "
			"fence=401:%d, ring=gfx, job count:0, hw job count:0, client_id:1\n",
			i, i);
	strcpy(text + n, DONE("1.000001", "1"));
	h = play(text, &ret);
	c = &gt_replay_source(h->p.priv, 0)->count;
	ok(c->late == 1 && c->late_cpu == 5 && c->late_ns > 50000 && c->late_ns < LINES * 1000,
	   "a line that comes too late to be put in order is counted");
	ok(strstr(h->error, "too late to be put in order of time: 1"), "... and reported: %s",
	   h->error);
	rh_free(h);
}

static void several(void)
{
	char a[TMP_PATH_MAX], b[TMP_PATH_MAX], both[2 * TMP_PATH_MAX];
	static const char one[] = JOB("a-1", "1.0", "drm_sched_job_queue", "1")
		JOB("a-1", "3.0", "drm_sched_job_queue", "3");
	static const char two[] = JOB("b-2", "2.0", "drm_sched_job_queue", "2");
	int fa = tmp_file(a, "gt-replay"), fb = tmp_file(b, "gt-replay"), ret;
	struct rh *h;

	ok(write(fa, one, sizeof(one) - 1) > 0 && write(fb, two, sizeof(two) - 1) > 0, "two files");
	close(fa);
	close(fb);
	snprintf(both, sizeof(both), "%s:%s", a, b);
	h = rh_new(both, maps, true);
	ret = rh_play(h);
	is(ret, -ENODATA, "two files are played");
	ok(nth(h, GT_SUBMIT, 1) && nth(h, GT_SUBMIT, 1)->ev.seqno == 2, "merged by time");
	is(h->gpus, 1, "the same device is the same GPU");
	rh_free(h);
	unlink(b);
	h = rh_new(both, maps, false);
	ret = rh_play(h);
	ok(ret == -ENOENT && strstr(h->error, b), "a missing file fails the start: %s", h->error);
	rh_free(h);
	unlink(a);
}

/* Plays at speed until something was pushed, or @times drains; the clock is moved by the timers. */
static void step(struct rh *h, int times)
{
	while (times-- > 0 && gt_replay_drain(&h->p) >= 0)
		if (h->timer > 1000)
			h->ahead += h->timer;
}

static void pace(void)
{
	char path[TMP_PATH_MAX];
	static const char text[] = JOB("a-1", "1.0", "drm_sched_job_queue", "1")
		JOB("a-1", "2.0", "drm_sched_job_queue", "2")
			JOB("a-1", "900.0", "drm_sched_job_queue", "3")
				JOB("a-1", "2000.0", "drm_sched_job_queue", "4");
	int fd = tmp_file(path, "gt-replay");
	struct rh *h = rh_new(path, maps, true);
	uint64_t t0, passed;

	ok(write(fd, text, sizeof(text) - 1) > 0, "a file");
	close(fd);
	h->opt.speed = (char *)"0.5";
	is(gt_replay_start(&h->p), 0, "speed 0.5");
	t0 = rh_now(&h->p);
	passed = t0 - h->ahead;
	while (h->types[GT_SUBMIT] < 2)
		step(h, 1);
	passed =
		rh_now(&h->p) - h->ahead - passed; /* really, which may be long on a busy machine */
	t0 = rh_now(&h->p) - t0;
	ok(t0 >= 3000000000 && t0 < 4100000000u + passed,
	   "a second takes two, after one before the first event (%llu ms)",
	   (unsigned long long)t0 / 1000000);
	step(h, 3);
	ok(h->watermark > 2000000000 && h->watermark <= 10000000000u,
	   "time goes on between records");
	is(gt_replay_control(&h->p, GT_CTL_PAUSE, 0), 0, "pause");
	step(h, 1);
	t0 = h->watermark;
	h->ahead += 100000000000u;
	step(h, 1);
	is(h->watermark, t0, "a pause stops time");
	is(gt_replay_control(&h->p, GT_CTL_SEEK, 1000000000000), 0, "seek 1000 s");
	step(h, 3);
	is(h->types[GT_SUBMIT], 3, "what lies between is played");
	is(gt_replay_control(&h->p, GT_CTL_RESUME, 0), 0, "resume");
	h->opt.speed = (char *)"1e9";
	ok(gt_replay_set(&h->p, &(struct gt_option){ .name = "speed" }) == -EINVAL, "a bad speed");
	h->opt.speed = (char *)"0";
	is(gt_replay_set(&h->p, &(struct gt_option){ .name = "speed" }), 0, "speed 0");
	step(h, 3);
	is(h->types[GT_SUBMIT], 4, "plays to the end");
	rh_free(h);
	unlink(path);
}

int main(void)
{
	const char *src = getenv("GT_SRC");

	snprintf(maps, sizeof(maps), "%s/conf/events.d", src ? src : ".");
	lines();
	long_headers();
	a_job();
	calls();
	order();
	damage();
	losses();
	perf_losses();
	perf_header();
	long_lines();
	midnights();
	many_groups();
	marked();
	clocks();
	hands();
	races();
	odd();
	start_end();
	late();
	several();
	pace();
	call_bounds();
	hole();
	endless();
	return done_testing();
}
