/* SPDX-License-Identifier: GPL-2.0 */
/* ftrace text: every layout of a line, and files that are odd, out of order or damaged. */
#include <errno.h>
#include <unistd.h>

#include "../lib/replay_host.h"
#include "../lib/tap.h"
#include "../lib/tmp.h"

static char maps[512];

static const char *kind_name(enum gt_line_kind k)
{
	static const char *const names[] = { "event", "call", "skip", "lost", "bad" };

	return names[k];
}

/* A line as "kind comm tid tgid cpu ts system event|text", "-" for what is not told. */
static const char *told(const char *line)
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
	{ "CPU:3 [27 EVENTS DROPPED]", "lost" },
	{ "CPU:3 [EVENTS DROPPED]", "lost" },
	/* damaged */
	{ "          submit-168   [001", "bad" },
	{ "          submit-168   [001]     4.34761", "bad" },
	{ "          submit-99999999999   [001]     4.347618: e: a", "bad" },
	{ "          submit-168   [001]     99999999999999.347618: e: a", "bad" },
	{ "wxyz", "bad" },
};

static void lines(void)
{
	for (size_t i = 0; i < sizeof(layouts) / sizeof(*layouts); i++)
		is_str(told(layouts[i].line), layouts[i].want, "line \"%s\"", layouts[i].line);
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
	ok(!nth(h, GT_PROCESS, 0), "a name that is not known is not told");
	ok(h->gpus == 1 && !strcmp(h->gpu[0].dev, "0000:04:00.0"), "its GPU");
	is(h->watermark, 1000005000, "the watermark is the last time");
	rh_free(h);
}

#define CALL(comm, flags, t, f) comm " [000] " flags " " t ": " f " <-caller\n"

/* A call is what an event map makes of that function, or a FUNCTION whose name is told once. */
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
	ok(strstr(h->error, "function_graph, which does not say when"), "a graph: %s", h->error);
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
	ok(strstr(h->first, "a function more than 8192, or of a longer name than 127"),
	   "that is told: %s", h->first);
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
	   "the first damaged line is told: %s", h->first);
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
	ok(h->errors, "a file that ends without a newline is told");
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

	is(h->types[GT_LOST], 2, "lost events are told");
	r = nth(h, GT_LOST, 0);
	ok(r && r->lost.count == 27 && r->lost.cpu == 0 && r->lost.since == 1000000000 &&
		   r->lost.ts == 2000000000,
	   "how many, where, from when to when");
	r = nth(h, GT_LOST, 1);
	ok(r && r->lost.count == 1 && r->lost.cpu == 3,
	   "one at least where it is not said how many");
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
	passed = rh_now(&h->p) - h->ahead - passed; /* really, which may be long on a busy machine */
	t0 = rh_now(&h->p) - t0;
	ok(t0 >= 2000000000 && t0 < 3100000000u + passed, "a second takes two (%llu ms)",
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
	is(gt_replay_control(&h->p, GT_CTL_SEEK, -1), -EOPNOTSUPP, "not back");
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
	a_job();
	calls();
	order();
	damage();
	losses();
	several();
	pace();
	call_bounds();
	return done_testing();
}
