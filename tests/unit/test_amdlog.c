/* SPDX-License-Identifier: GPL-2.0 */
/* Logs of AMD's runtime: every form of a line, what messages tell, and files that are written on.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../lib/amdhost.h"
#include "../lib/tap.h"

static char dir[] = "/tmp/gt-amdlog-XXXXXX";

/* Lines -------------------------------------------------------------------------------------------
 */

static void check_line(const char *text, uint64_t us, uint32_t pid, uint64_t tid, const char *msg)
{
	struct gt_amd_line l;
	bool is = gt_amd_line(text, strlen(text), &l);

	ok(is && l.us == us && l.pid == pid && l.tid == tid && l.len == strlen(msg) &&
		   !memcmp(l.msg, msg, l.len),
	   "%.60s", text);
	if (is && (l.len != strlen(msg) || memcmp(l.msg, msg, l.len) || l.us != us))
		printf("# us %llu pid %u tid %llx \"%.*s\"\n", (unsigned long long)l.us, l.pid,
		       (unsigned long long)l.tid, (int)l.len, l.msg);
}

static void check_lines(void)
{
	struct gt_amd_line l;

	check_line(":1:hip_code_object.cpp      :507 : 0123456789 us: "
		   "[7fb360ad23c0]!\thipErrorNoBinary",
		   123456789, 0, 0x7fb360ad23c0, "hipErrorNoBinary");
	check_line(":3:rocdevice.cpp            :426 : 75799966442 us: 202289: "
		   "[tid:0x7f674bedd880] Init.",
		   75799966442, 202289, 0x7f674bedd880, "Init.");
	check_line(":3:rocvirtual.cpp           :778 : 5697037838 us: 9174 : [tid:0x7f6309ffb6c0] "
		   "Arg4:  ky",
		   5697037838, 9174, 0x7f6309ffb6c0, "Arg4:  ky");
	check_line(":3:rocdevice.cpp            :468 : 14902569084 us: [pid:32899 "
		   "tid:0x71038c239180] Init",
		   14902569084, 32899, 0x71038c239180, "Init");
	check_line(":4:rocvirtual.cpp           :1076: 795020310577 us: [pid:3785  "
		   "tid:0x1546faa1c080] SWq=0x1",
		   795020310577, 3785, 0x1546faa1c080, "SWq=0x1");
	check_line(":5:commandqueue.cpp         :266 : 47462248663 us: [pid:18812 tid: 0x 3564] "
		   "Command",
		   47462248663, 18812, 0x3564, "Command");
	check_line(":3:rocdevice.cpp            :480 : 6306213494 us:  Initalizing", 6306213494, 0,
		   0, "Initalizing");
	check_line(
		":3:                         :0   : 418551158102 us: [pid:3107624 tid: 0x7f4a] x",
		418551158102, 3107624, 0x7f4a, "x");
	check_line(":3:/long_pathname/build/hipamd/src/hip_x.cpp:12  : 0000000007 us:  y", 7, 0, 0,
		   "y");
	check_line(":3:C:\\ws\\clr\\rocclr\\a.cpp:12  : 7 us: [pid:1 tid:0x2] y\r", 7, 1, 2, "y");
	check_line(":3:hip_stream.cpp           :282 : 6306214530 us:  \033[32m hipStreamCreate ( "
		   "0xb1c710 ) \033[0m",
		   6306214530, 0, 0, "hipStreamCreate ( 0xb1c710 )");
	check_line("\033[1;32m:3:hip_stream.cpp :282 : 5 us:  z\033[0m", 5, 0, 0, "z");
	check_line(":1:rocdevice.cpp:507: failed", GT_NONE64, 0, 0, "failed");
	check_line("done: 3:3:hip_stream.cpp :282 : 5 us:  z", 5, 0, 0, "z");
	check_line(":4:a.cpp :1 : 5 us: [pid:1 tid:0x2] ", 5, 1, 2, "");
	for (const char *const *p =
		     (const char *const[]){ "", ":", ":3:", ":3:x", ":3:x:", ":3:x:1",
					    "plain text: 3", "::::::::::::::::", ":x:y:1 : 2 us: z",
					    "GPU: 3: 4 us: ", ":3:a.cpp :x : 5 us:  z", NULL };
	     *p; p++)
		ok(!gt_amd_line(*p, strlen(*p), &l), "no line of a log: \"%s\"", *p);
}

/* Messages ----------------------------------------------------------------------------------------
 */

static struct gt_amd_msg message(const char *text)
{
	struct gt_amd_line l = { .msg = text, .len = strlen(text) };
	struct gt_amd_msg m;

	gt_amd_message(&l, &m);
	return m;
}

static void check_queue_messages(void)
{
	struct gt_amd_msg m =
		message("Created SWq=0x7f8edc1a8000 to map on HWq=0x7f8acd200000 with size "
			"16384 with priority 2, cooperative: 0");

	ok(m.what == GT_AMD_CREATED && m.swq == 0x7f8edc1a8000 && m.hwq == 0x7f8acd200000 &&
		   m.size == 16384 && m.priority == 2,
	   "a queue is made");
	m = message("created hardware queue 0x7f0 with size 1024 with priority 1, cooperative: 0");
	ok(m.what == GT_AMD_CREATED && m.hwq == GT_NONE64 && m.size == 1024 && m.priority == 1,
	   "in the words of older releases its address comes later");
	m = message("acquireQueue refCount: 0x7fad66c00000 (1)");
	ok(m.what == GT_AMD_ACQUIRED && m.hwq == 0x7fad66c00000 && m.number == 1, "acquired");
	m = message("releaseQueue refCount:0x7f8eb5c00000 (0)");
	ok(m.what == GT_AMD_RELEASED && m.hwq == 0x7f8eb5c00000 && m.number == 0, "released");
	m = message("selected queue with least refCount: 0x10 (3)");
	ok(m.what == GT_AMD_SELECTED && m.hwq == 0x10 && m.number == 3, "selected");
	m = message("Deleting hardware queue 0x7f8acc600000 with refCount 0");
	ok(m.what == GT_AMD_DELETED && m.hwq == 0x7f8acc600000, "deleted");
	is(message("acquireQueue refCount: (nil) (1)").what, GT_AMD_BAD, "no address");
	is(message("releaseQueue refCount:0x1").what, GT_AMD_BAD, "cut");
}

static void check_packet_messages(void)
{
	struct gt_amd_msg m = message(
		"SWq=0x7faf945b8000, HWq=0x7fad66c00000, id=1, Dispatch Header = 0xb02 (type=2, "
		"barrier=1, "
		"acquire=1, release=1), setup=3, grid=[11008, 1, 1], workgroup=[256, 1, 1], "
		"private_seg_size=0, group_seg_size=0, kernel_obj=0x7f01, kernarg_address=0x7f02, "
		"completion_signal=0x7f03, correlation_id=0, rptr=2085755, wptr=2085760");

	ok(m.what == GT_AMD_DISPATCH && m.hwq == 0x7fad66c00000 && m.object == 0x7f01 &&
		   m.signal == 0x7f03 && m.rptr == 2085755 && m.wptr == 2085760,
	   "a dispatch");
	m = message("HWq=0x229000, Dispatch Header = 0xb02 (type=2, barrier=1), kernel_obj=0x1, "
		    "completion_signal=0x0");
	ok(m.what == GT_AMD_DISPATCH && m.hwq == 0x229000 && !m.signal && m.rptr == GT_NONE32 &&
		   m.wptr == GT_NONE32,
	   "of an older release, without indices");
	m = message("SWq=0x1, HWq=0x2, id=1, BarrierAND Header = 0x1503 (type=3), dep_signal=[0x9, "
		    "0x0], "
		    "completion_signal=0x5, rptr=0, wptr=1");
	ok(m.what == GT_AMD_BARRIER && m.hwq == 2 && m.signal == 5 && m.wptr == 1, "a barrier");
	m = message("SWq=0x1, HWq=0x2, id=1, BarrierValue Header = 0x0 AmdFormat = 1, "
		    "completion_signal=0x7");
	ok(m.what == GT_AMD_BARRIER && m.signal == 7, "of the other kind");
	m = message("Handler: value(0), timestamp(0x7099890), handle(0x154531dff680)");
	ok(m.what == GT_AMD_HANDLER && m.signal == 0x154531dff680, "a signal's handler");
	is(message("Handler: value(1), timestamp(0x1), handle(0x2)").what, GT_AMD_OTHER,
	   "not done yet");
	m = message("Signal = (0x7f8), Translated start/end = 1000 / 2500, Elapsed = 1500 ns, "
		    "ticks start/end "
		    "= 1 / 2, Ticks elapsed = 1, Engine = 0");
	ok(m.what == GT_AMD_SIGNAL && m.signal == 0x7f8 && m.start == 1000 && m.end == 2500,
	   "its times");
	m = message("ShaderName : void f<int, 3>(float*)");
	ok(m.what == GT_AMD_KERNEL && m.len == 22 && !memcmp(m.name, "void f<int, 3>(float*)", 22),
	   "a name");
}

static void check_call_messages(void)
{
	struct gt_amd_msg m =
		message("Command (CopyHostToDevice) enqueued: 0000020AB9AF38F0 to queue: 0x2");

	ok(m.what == GT_AMD_COMMAND && m.object == 0x20AB9AF38F0 && gt_amd_is_copy(m.name, m.len),
	   "a command, with a pointer as Windows prints it");
	is(message("Command (CopyHostToDevice) processing: 0x1 ,events.size(): 0").what,
	   GT_AMD_OTHER, "not its begin");
	m = message("hipMemcpyAsync ( 0000002F788C0000, 0000057E52810000, 1261568, "
		    "hipMemcpyHostToDevice, x )");
	ok(m.what == GT_AMD_CALL && m.number == 1261568, "a copy that is asked for");
	m = message("hipMemcpy2D ( 0x1, 2, 0x3, 4, 5, 6, hipMemcpyHostToDevice )");
	ok(m.what == GT_AMD_CALL && m.number == GT_NONE64, "one whose size is not that argument");
	is(message("hipMemcpyAsync: Returned hipSuccess : ").what, GT_AMD_RETURN, "its return");
	m = message("HSA Copy copy_engine=0x1, dst=0x2, src=0x3, size=27648, forceSDMA=0, "
		    "engineType=2");
	ok(m.what == GT_AMD_COPY && m.number == 27648, "what carries it out");
	is(message("HSA Copy Using Staging resource size 27648").what, GT_AMD_OTHER, "about it");
	m = message("Callback: Queue 0x7dfbe0300000 aborting with error : HSA_STATUS_ERROR");
	ok(m.what == GT_AMD_ABORT && m.hwq == 0x7dfbe0300000, "a queue fails");
}

/* Logs --------------------------------------------------------------------------------------------
 */

static char path[256];

static const char *name(const char *n)
{
	snprintf(path, sizeof(path), "%s/%s", dir, n);
	return path;
}

static void write_at(const char *n, const char *text, int flags)
{
	int fd = open(name(n), O_WRONLY | O_CREAT | flags, 0644);

	if (write(fd, text, strlen(text)) < 0)
		printf("# %s\n", strerror(errno));
	close(fd);
}

#define P(us) ":4:x.cpp                    :1   : " #us " us: [pid:77 tid: 0x9] "
#define Q     "SWq=0x1, HWq=0x2000, id=1, "

static struct ah *play(const char *text)
{
	struct ah *h;

	write_at("log_77", text, O_TRUNC);
	h = ah_new(path, true);
	is(ah_play(h), -ENODATA, "a log is played to its end");
	is(h->back, 0, "in order of time");
	return h;
}

static const union gt_record *nth(const struct ah *h, enum gt_type type, unsigned int n)
{
	static const union gt_record none;

	for (size_t i = 0; i < h->n; i++)
		if (h->rec[i].ev.type == type && !n--)
			return &h->rec[i];
	return &none;
}

static void check_queue(void)
{
	struct ah
		*h = play(P(10) "Created SWq=0x1 to map on HWq=0x2000 with size 16384 with "
				"priority 1, x\n" P(11) "acquireQueue refCount: 0x2000 (1)\n" P(12) "Selected queue refCount: 0x2000 (2)\n" P(
					13) "releaseQueue refCount:0x2000 (1)\n" P(14) "releaseQueu"
										       "e "
										       "refCount:"
										       "0x2000 "
										       "(0)\n" P(15) "Deleting hardware queue 0x2000 with refCount 0\n");
	const union gt_record *c = nth(h, GT_QUEUE_CREATE, 0), *d = nth(h, GT_QUEUE, 0);

	ok(c->ev.ts == 10000 && c->ev.pid == 77 && c->ev.queue == GT_AMD_QUEUE_BASE &&
		   c->ev.uid == geteuid() && c->ev.flags == GT_F_RUNTIME,
	   "a queue is made");
	ok(d > c && d->queue.size == 16384 && d->queue.priority == 1 && d->queue.ctx == 0x2000 &&
		   d->queue.kind == GT_QUEUE_COMPUTE,
	   "and described");
	is(nth(h, GT_QUEUE_MAP, 0)->ev.ts, 11000, "in use with its first stream");
	is(nth(h, GT_QUEUE, 2)->queue.channels, 2, "which may be several");
	is(nth(h, GT_QUEUE_UNMAP, 0)->ev.ts, 14000, "no longer with its last");
	is(nth(h, GT_QUEUE_DESTROY, 0)->ev.ts, 15000, "destroyed");
	is(h->types[GT_QUEUE_MAP] + h->types[GT_QUEUE_UNMAP] + h->types[GT_QUEUE_CREATE], 3,
	   "once each");
	ah_free(h);

	h = play(P(10) "created hardware queue 0x5 with size 512 with priority 2, cooperative: "
		       "0\n" P(12) "acquireQueue refCount: 0x2000 (1)\n" P(
			       13) "acquireQueue refCount: 0x3000 (1)\n");
	ok(nth(h, GT_QUEUE_CREATE, 0)->ev.ts == 10000 && nth(h, GT_QUEUE, 0)->queue.ctx == 0x2000 &&
		   nth(h, GT_QUEUE, 0)->queue.size == 512,
	   "of older releases, whose address comes with its first stream");
	is(h->types[GT_QUEUE_CREATE], 1, "another was made before the log began");
	ah_free(h);
}

static void check_packets(void)
{
	struct ah *h = play(
		P(10) Q "Dispatch Header = 0x1 (type=2), kernel_obj=0x1, completion_signal=0x0, "
			"rptr=5, wptr=6\n" P(11) Q
		"Dispatch Header = 0x1 (type=2), kernel_obj=0x1, completion_signal=0x40, rptr=5, "
		"wptr=7\n" P(12) Q "Dispatch Header = 0x1 (type=2), kernel_obj=0x1, "
				   "completion_signal=0x0, rptr=5, wptr=8\n" P(13) Q
		"BarrierAND Header = 0x1 (type=3), completion_signal=0x80, rptr=6, wptr=9\n" P(14) Q
		"Dispatch Header = 0x1 (type=2), kernel_obj=0x1, completion_signal=0x0, rptr=6, "
		"wptr=10\n" P(20) "Signal = (0x40), Translated start/end = 100 / 900, Elapsed = "
				  "800 ns\n" P(30) "Handler: value(0), timestamp(0x1), "
						   "handle(0x80)\n" P(
							   31) "Handler: value(0), timestamp(0x1), "
							       "handle(0x80)\n");

	is(h->types[GT_DISPATCH], 4, "four dispatches");
	is(nth(h, GT_DISPATCH, 1)->ev.seqno, 7, "with their index");
	is(h->types[GT_QUEUE_CREATE], 0, "of a queue that was made before");
	ok(h->types[GT_COUNTER] == 4 && nth(h, GT_COUNTER, 2)->ev.value == 3 &&
		   nth(h, GT_COUNTER, 2)->ev.ref == GT_COUNTER_DEPTH,
	   "how many the queue holds, when it changes");
	is(h->types[GT_COMPLETE], 3, "three have ended");
	ok(nth(h, GT_COMPLETE, 0)->ev.seqno == 7 && nth(h, GT_COMPLETE, 0)->ev.ref == 9000 &&
		   nth(h, GT_COMPLETE, 0)->ev.flags == 0,
	   "one by its own signal");
	ok(nth(h, GT_COMPLETE, 1)->ev.seqno == 6 && nth(h, GT_COMPLETE, 1)->ev.ref == 20000 &&
		   nth(h, GT_COMPLETE, 1)->ev.flags == GT_F_INFERRED,
	   "others with the barrier behind them");
	ok(h->types[GT_END] == 1 && nth(h, GT_END, 0)->ev.value == 800, "how long it ran");
	ah_free(h);
}

static void check_kernels(void)
{
	struct ah *h =
		play(P(10) "ShaderName : f()\n" P(11) Q
		     "Dispatch Header = 0x1 (type=2), kernel_obj=0x1, rptr=0, wptr=0\n" P(
			     12) "hipLaunchKernel: Returned hipSuccess : \n"
				 ":3:x.cpp :1 : 13 us:  ShaderName : g()\n"
				 ":3:x.cpp :1 : 14 us:  ShaderName : h()\n"
				 ":3:x.cpp :1 : 15 us:  hipLaunchKernel: Returned hipSuccess : \n"
				 ":3:x.cpp :1 : 16 us:  ShaderName : i()\n");

	is(h->types[GT_DISPATCH], 4, "a name and its packet are one dispatch, a name alone is one");
	is(nth(h, GT_DISPATCH, 0)->ev.ts, 11000, "of the packet's time");
	ok(h->kernels == 4 && !strcmp(h->kernel[2], "h()") && nth(h, GT_DISPATCH, 2)->ev.ref == 2,
	   "with the kernel's name");
	ok(nth(h, GT_DISPATCH, 1)->ev.ts == 13000 &&
		   nth(h, GT_DISPATCH, 1)->ev.queue == GT_NONE32 &&
		   nth(h, GT_DISPATCH, 1)->ev.pid == 77,
	   "or of the name's; the file's name tells the process");
	ah_free(h);

	h =
		play(P(10) "hipMemcpyAsync ( 0x1, 0x2, 4096, hipMemcpyHostToDevice, stream:<null> "
			   ")\n" P(11) "Command (CopyHostToDevice) enqueued: 0x10 to queue: "
				       "0x2\n" P(12) "HSA Copy copy_engine=0x1, dst=0x1, src=0x2, "
						     "size=4096\n" P(13) "hipMemcpyAsync: Returned "
									 "hipSuccess : \n" P(
										 14) "hipMemcpy ( "
										     "0x1, 0x2, "
										     "77, "
										     "hipMemcpyHost"
										     "ToDevice "
										     ")\n" P(15) "h"
												 "i"
												 "p"
												 "M"
												 "e"
												 "m"
												 "c"
												 "p"
												 "y"
												 ":"
												 " "
												 "R"
												 "e"
												 "t"
												 "u"
												 "r"
												 "n"
												 "e"
												 "d"
												 " "
												 "h"
												 "i"
												 "p"
												 "S"
												 "u"
												 "c"
												 "c"
												 "e"
												 "s"
												 "s"
												 " "
												 ":"
												 " "
												 "\n" P(16) "Command (CopyDeviceToHost) enqueued: 0x10\n" P(17) "Command (InternalMarker) enqueued: 0x10\n");
	is(h->types[GT_COPY], 3, "call, command and what carries it out are one copy");
	ok(nth(h, GT_COPY, 0)->ev.value == 4096 && nth(h, GT_COPY, 0)->ev.ts == 11000 &&
		   nth(h, GT_COPY, 1)->ev.value == 77 && nth(h, GT_COPY, 2)->ev.value == GT_NONE64,
	   "its size, if it is told");
	ah_free(h);
}

/* Files -------------------------------------------------------------------------------------------
 */

static struct gt_amd_counts counts(const struct ah *h)
{
	const struct gt_amd *a = h->p.priv;
	struct gt_amd_counts n = a->gone;

	for (unsigned int f = 0; f < a->n; f++)
		for (size_t i = 0; i < sizeof(n) / sizeof(uint64_t); i++)
			((uint64_t *)&n)[i] += ((const uint64_t *)&a->file[f]->log.n)[i];
	return n;
}

static struct ah *follow(const char *pattern)
{
	struct ah *h = ah_new(name(pattern), false);
	struct gt_amd *a;

	is(gt_amd_start(&h->p), 0, "followed: %s", pattern);
	a = h->p.priv;
	a->since = 0; /* the lines of the test are old */
	for (unsigned int i = 0; i < a->n; i++)
		a->file[i]->log.since = 0;
	ah_settle(h);
	return h;
}

#define NAME(us) ":3:x.cpp :1 : " #us " us:  ShaderName : f()\n"

static void check_growing(void)
{
	struct ah *h;

	write_at("live_1.log", "", O_TRUNC);
	h = follow("live_*.log");
	write_at("live_1.log", NAME(5) ":3:x.cpp :1 : 6", O_APPEND);
	ah_settle(h);
	is(h->types[GT_DISPATCH], 1, "what comes is read, up to its last whole line");
	write_at("live_1.log", " us:  ShaderName : g()\n", O_APPEND);
	ah_settle(h);
	is(h->types[GT_DISPATCH], 2, "and its rest when it comes");
	write_at("live_2.log", NAME(7) NAME(8), O_TRUNC);
	ah_settle(h);
	is(h->types[GT_DISPATCH], 4, "a new file is found");
	write_at("live_1.log", NAME(9), O_TRUNC);
	ah_settle(h);
	is(h->types[GT_DISPATCH], 5, "one that is cut and written anew is read anew");
	rename(name("live_1.log"), "/tmp/gt-amdlog-moved");
	write_at("live_1.log", NAME(10), O_TRUNC);
	ah_settle(h);
	is(h->types[GT_DISPATCH], 6, "one that takes the name of another is read, too");
	is(((struct gt_amd *)h->p.priv)->n, 3, "and the other followed on");
	unlink("/tmp/gt-amdlog-moved");
	unlink(name("live_1.log"));
	unlink(name("live_2.log"));
	ah_settle(h);
	is(((struct gt_amd *)h->p.priv)->n, 0, "until it is deleted");
	ah_free(h);
}

static void check_refused(void)
{
	struct ah *h;

	if (symlink("/etc/shadow", name("bad_link.log")) || mkfifo(name("bad_fifo.log"), 0644))
		printf("# %s\n", strerror(errno));
	h = follow("bad_*.log");
	is(((struct gt_amd *)h->p.priv)->n, 0, "no link is followed, and nobody waits for a pipe");
	ah_free(h);
	h = ah_new(name("bad_link.log"), false);
	gt_amd_start(&h->p);
	is(((struct gt_amd *)h->p.priv)->n, 0, "nor by its own name");
	ah_free(h);
	h = ah_new(name("bad_fifo.log"), true);
	ok(gt_amd_start(&h->p) < 0 && strstr(h->error, "is not a regular file"), "played: %s",
	   h->error);
	ah_free(h);
	unlink(name("bad_link.log"));
	unlink(name("bad_fifo.log"));
}

/* A process that is there, and another user's than the log */
static void check_forged(void)
{
	char text[200];
	struct ah *h;

	if (geteuid())
		return;
	snprintf(text, sizeof(text), ":3:x.cpp :1 : 5 us: [pid:%d tid: 0x1] hipX ( 1 )\n" NAME(6),
		 getpid());
	write_at("forged.log", "", O_TRUNC);
	if (chown(name("forged.log"), 65534, 65534))
		printf("# %s\n", strerror(errno));
	h = follow("forged.log");
	write_at("forged.log", text, O_APPEND);
	ah_settle(h);
	ok(nth(h, GT_DISPATCH, 0)->ev.pid == GT_NONE32 && nth(h, GT_DISPATCH, 0)->ev.uid == 65534,
	   "another user's process is not believed");
	is(((struct gt_amd *)h->p.priv)->forged, 1, "and counted");
	if (chown(name("forged.log"), 65533, 65533))
		printf("# %s\n", strerror(errno));
	write_at("forged.log", NAME(7), O_APPEND);
	ah_settle(h);
	ok(!((struct gt_amd *)h->p.priv)->n && strstr(h->error, "another owner"),
	   "a new owner ends it: %s", h->error);
	ah_free(h);
	unlink(name("forged.log"));
}

/* What nobody would write but to harm */
static void check_hostile(void)
{
	size_t len = 3u << 20;
	char *big = malloc(len + 1);
	struct gt_amd_counts n;
	struct ah *h;
	int fd = open(name("big.log"), O_RDWR | O_CREAT | O_TRUNC, 0644);
	unsigned int seed = 1;

	write_at("big.log", ":3:x.cpp :1 : 5 us:  ShaderName : ", 0);
	memset(big, 'x', len);
	big[1u << 20] = '\n';
	memcpy(big + (1u << 20) + 1, NAME(6), strlen(NAME(6)));
	lseek(fd, 0, SEEK_END);
	is(write(fd, big, len), len, "a name of 1 MB, and a line without an end");
	h = follow("big.log");
	n = counts(h);
	ok(n.too_long == 1 && n.dispatches == 1,
	   "are left out and counted, what is between is not");
	ah_free(h);

	/* bytes of all kinds with bits of lines between them */
	for (size_t i = 0; i < len; i++) {
		static const char *const bits[] = { P(7),
						    Q,
						    NAME(9),
						    "\n",
						    "HWq=0x",
						    "Header = ",
						    "(",
						    ": ",
						    "acquireQueue refCount: 0x",
						    "hipMemcpy ( 0x1, 0x2, " };
		const char *bit = bits[rand_r(&seed) % 10];
		size_t k = strlen(bit);

		if (rand_r(&seed) % 3 || i + k > len) {
			big[i] = (char)rand_r(&seed);
			continue;
		}
		memcpy(big + i, bit, k);
		i += k - 1;
	}
	if (ftruncate(fd, 0) || pwrite(fd, big, len, 0) != (ssize_t)len)
		printf("# %s\n", strerror(errno));
	h = ah_new(name("big.log"), true);
	is(ah_play(h), -ENODATA, "noise is read to its end");
	ok(h->pushed, "and gives %llu records", (unsigned long long)h->pushed);
	ah_free(h);
	close(fd);
	free(big);
	unlink(name("big.log"));
}

static void check_many_queues(void)
{
	struct ah *h;
	FILE *f = fopen(name("many.log"), "w");

	for (int i = 1; i < 3000; i++)
		fprintf(f, P(5) "acquireQueue refCount: 0x%x (1)\n", i * 4096);
	fclose(f);
	h = follow("many.log");
	is(counts(h).queues, GT_AMD_QUEUES, "so many queues of a log are known");
	is(counts(h).refused, 2999 - GT_AMD_QUEUES, "others are counted");
	ah_free(h);
	unlink(name("many.log"));
}

int main(void)
{
	is(gt_amd_name_pid("/x_9/log_1234"), 1234, "AMD_LOG_LEVEL_FILE gets the pid at its end");
	is(gt_amd_name_pid("/x/log_1234.txt"), 1234, "or before what comes behind a dot");
	is(gt_amd_name_pid("/x_1234/log"), 0, "a folder's name does not count");
	is(gt_amd_name_pid("/x/log_12a"), 0, "nor a word");
	is(gt_amd_name_pid("/x/log_99999999999"), 0, "nor what no pid can be");
	if (!mkdtemp(dir))
		return 1;
	check_lines();
	check_queue_messages();
	check_packet_messages();
	check_call_messages();
	check_queue();
	check_packets();
	check_kernels();
	check_growing();
	check_refused();
	check_forged();
	check_hostile();
	check_many_queues();
	unlink(name("log_77"));
	rmdir(dir);
	return done_testing();
}
