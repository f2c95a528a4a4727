/* SPDX-License-Identifier: GPL-2.0 */
/* Logs of AMD's runtime: what lines tell together, of queues, packets, kernels and copies. */
#include <errno.h>

#include "../lib/amdhost.h"
#include "../lib/tap.h"

#define P(us) ":4:x.cpp                    :1   : " #us " us: [pid:77 tid: 0x9] "
#define Q     "SWq=0x1, HWq=0x2000, id=1, "

static struct ah *play(const char *text)
{
	struct ah *h;

	ah_write("log_77", text, O_TRUNC);
	h = ah_new(ah_name("log_77"), true);
	is(ah_play(h), -ENODATA, "a log is played to its end");
	is(h->back, 0, "in order of time");
	return h;
}

static void check_queue(void)
{
	/* clang-format off */
	struct ah *h = play(
		P(10) "Created SWq=0x1 to map on HWq=0x2000 with size 16384 with priority 1, x\n"
		P(11) "acquireQueue refCount: 0x2000 (1)\n"
		P(12) "Selected queue refCount: 0x2000 (2)\n"
		P(13) "releaseQueue refCount:0x2000 (1)\n"
		P(14) "releaseQueue refCount:0x2000 (0)\n"
		P(15) "Deleting hardware queue 0x2000 with refCount 0\n");
	/* clang-format on */
	const union gt_record *c = ah_nth(h, GT_QUEUE_CREATE, 0), *d = ah_nth(h, GT_QUEUE, 0);

	ok(c->ev.ts == 10000 && c->ev.pid == 77 && c->ev.queue == GT_AMD_QUEUE_BASE &&
		   c->ev.uid == geteuid() && c->ev.flags == GT_F_RUNTIME,
	   "a queue is made");
	ok(d > c && d->queue.size == 16384 && d->queue.priority == 1 && d->queue.ctx == 0x2000 &&
		   d->queue.kind == GT_QUEUE_COMPUTE,
	   "and described");
	is(ah_nth(h, GT_QUEUE_MAP, 0)->ev.ts, 11000, "in use with its first stream");
	is(ah_nth(h, GT_QUEUE, 2)->queue.channels, 2, "which may be several");
	is(ah_nth(h, GT_QUEUE_UNMAP, 0)->ev.ts, 14000, "no longer with its last");
	is(ah_nth(h, GT_QUEUE_DESTROY, 0)->ev.ts, 15000, "destroyed");
	is(h->types[GT_QUEUE_MAP] + h->types[GT_QUEUE_UNMAP] + h->types[GT_QUEUE_CREATE], 3,
	   "once each");
	ah_free(h);

	h = play(P(10) "created hardware queue 0x5 with size 512 with priority 2, cooperative: "
		       "0\n" P(12) "acquireQueue refCount: 0x2000 (1)\n" P(
			       13) "acquireQueue refCount: 0x3000 (1)\n");
	ok(ah_nth(h, GT_QUEUE_CREATE, 0)->ev.ts == 10000 &&
		   ah_nth(h, GT_QUEUE, 0)->queue.ctx == 0x2000 &&
		   ah_nth(h, GT_QUEUE, 0)->queue.size == 512,
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
	is(ah_nth(h, GT_DISPATCH, 1)->ev.seqno, 7, "with their index");
	is(h->types[GT_QUEUE_CREATE], 0, "of a queue that was made before");
	ok(h->types[GT_COUNTER] == 4 && ah_nth(h, GT_COUNTER, 2)->ev.value == 3 &&
		   ah_nth(h, GT_COUNTER, 2)->ev.ref == GT_COUNTER_DEPTH,
	   "how many the queue holds, when it changes");
	is(h->types[GT_COMPLETE], 3, "three have ended");
	ok(ah_nth(h, GT_COMPLETE, 0)->ev.seqno == 7 && ah_nth(h, GT_COMPLETE, 0)->ev.ref == 9000 &&
		   ah_nth(h, GT_COMPLETE, 0)->ev.flags == 0,
	   "one by its own signal");
	ok(ah_nth(h, GT_COMPLETE, 1)->ev.seqno == 6 && ah_nth(h, GT_COMPLETE, 1)->ev.ref == 20000 &&
		   ah_nth(h, GT_COMPLETE, 1)->ev.flags == GT_F_INFERRED,
	   "others with the barrier behind them");
	ok(h->types[GT_END] == 1 && ah_nth(h, GT_END, 0)->ev.value == 800, "how long it ran");
	for (unsigned int i = 0; i < h->types[GT_DISPATCH]; i++)
		if (ah_nth(h, GT_DISPATCH, i)->ev.seqno == ah_nth(h, GT_END, 0)->ev.seqno)
			is(ah_nth(h, GT_END, 0)->ev.ref, ah_nth(h, GT_DISPATCH, i)->ev.ref,
			   "and which kernel it was");
	ah_free(h);
}

#define T9(us)	  ":4:x.cpp                    :1   : " #us "d us: [pid:77 tid: 9] "
#define T8(us)	  ":4:x.cpp                    :1   : " #us "d us: [pid:77 tid: 8] "
#define EXECUTION "Command (KernelExecution) enqueued: 0x10 to queue: 0x2\n"

static void check_commands(void)
{
	struct ah *h = play(T9(10) EXECUTION T9(11) "Command (InternalMarker) enqueued: 0x20\n" T8(
		12) EXECUTION T8(13) EXECUTION T9(14) "Command (KernelExecution)\n");

	is(h->types[GT_DISPATCH], 3,
	   "commands that run kernels are dispatches where nothing else is reported");
	ok(ah_nth(h, GT_DISPATCH, 2)->ev.ts == 13000 &&
		   ah_nth(h, GT_DISPATCH, 2)->ev.ref == GT_NONE64 &&
		   ah_nth(h, GT_DISPATCH, 2)->ev.pid == 77,
	   "of an unknown kernel");
	ah_free(h);

	h = play(T9(10) EXECUTION T9(11)
			 EXECUTION T8(12) "ShaderName : f()\n" T8(13) "ShaderName : g()\n");
	is(h->types[GT_DISPATCH], 2, "but not where another thread names the kernels");
	ah_free(h);

	h = play(T9(10) "ShaderName : f()\n" T9(11) "Pcie atomics not enabled\n" T9(
		12) "AQL dispatch "
		    "failed!\n" T9(13) "hipModuleLaunchKernel: Returned hipErrorIllegalState : "
				       "\n" T9(14) "ShaderName : g()\n");
	is(h->types[GT_DISPATCH], 1, "what was refused is no dispatch");
	ok(h->types[GT_ERROR] == 1 && ah_nth(h, GT_ERROR, 0)->ev.ts == 12000 &&
		   ah_nth(h, GT_ERROR, 0)->ev.pid == 77,
	   "but an error");
	is(ah_counts(h).refused_dispatches, 1, "that is counted");
	ah_free(h);
}

#define CROWD 20

static unsigned int place_of(unsigned int tid)
{
	return (tid * 0x9e3779b97f4a7c15ull >> 40) % GT_AMD_THREADS;
}

/* Threads of one place, of which each has begun something */
static void check_crowd(void)
{
	unsigned int tid[CROWD], n = 0;
	char text[8192], *p = text;
	struct ah *h;

	for (unsigned int t = 2; n < CROWD; t++)
		if (place_of(t) == (place_of(1) + 16) % GT_AMD_THREADS)
			tid[n++] = t;
	p += sprintf(p, ":4:x.cpp :1 : 10 us: [pid:77 tid: 0x1] ShaderName : f()\n"
			":4:x.cpp :1 : 11 us: [pid:77 tid: 0x1] hipMemcpyAsync ( 0x1, 0x2, 64, "
			"hipMemcpyHostToDevice )\n"
			":4:x.cpp :1 : 12 us: [pid:77 tid: 0x1] ShaderName : f()\n");
	for (unsigned int i = 0; i < CROWD; i++)
		p += sprintf(p, ":4:x.cpp :1 : %u us: [pid:77 tid: 0x%x] " EXECUTION, 20 + i,
			     tid[i]);
	p += sprintf(
		p,
		":4:x.cpp :1 : 50 us: [pid:77 tid: 0x1] " Q
		"Dispatch Header = 0x1 (type=2), kernel_obj=0x1, rptr=0, wptr=0\n"
		":4:x.cpp :1 : 51 us: [pid:77 tid: 0x1] Command (CopyHostToDevice) enqueued: 0x1\n"
		":4:x.cpp :1 : 60 us: [pid:77 tid: 0x%x] ShaderName : g()\n"
		":4:x.cpp :1 : 61 us: [pid:77 tid: 0x%x] " EXECUTION
		":4:x.cpp :1 : 62 us: [pid:77 tid: 0x%x] " Q
		"Dispatch Header = 0x1 (type=2), kernel_obj=0x1, rptr=0, wptr=1\n",
		tid[0], tid[1], tid[0]);
	h = play(text);
	is(h->types[GT_DISPATCH], 3, "threads of one place: a dispatch is reported once");
	is(h->types[GT_COPY], 1, "and a copy, which another thread called for");
	is(ah_nth(h, GT_COPY, 0)->ev.value, 64, "with its size");
	ok(ah_nth(h, GT_DISPATCH, 1)->ev.ref == 0 && ah_nth(h, GT_DISPATCH, 2)->ev.ref == 1,
	   "each with its kernel's name");
	ah_free(h);
}

/* As reports quote logs, and as they come out of broken copies */
static void check_broken(void)
{
	struct ah *h = play(
		"\xef\xbb\xbf:3:a.cpp:3045: 10 us: [pid:7] \r\n"
		"acquireQueue refCount: 0x7fad66c00000 (1)\r\n\r\n"
		":5:a.cpp:355: 20 us: [pid:7]\nCommand (KernelExecution) enqueued: 0x1\n"
		":5:a.cpp:355: 30 us: [pid:7] \n\nShaderName : none()\n"
		":5:a.cpp:355: 40 us: [pid:7] \n:4:a.cpp:1: 41 us: [pid:7] x\nShaderName : n()\n");

	ok(h->types[GT_QUEUE_MAP] == 1 && ah_nth(h, GT_QUEUE_MAP, 0)->ev.ts == 10000 &&
		   ah_nth(h, GT_QUEUE_MAP, 0)->ev.pid == 7,
	   "a message in the line behind its header's");
	is(h->types[GT_DISPATCH], 0,
	   "not behind an empty line, or another header: no kernel is named");
	ah_free(h);

	ah_write("log_77",
		 T9(10) "ShaderName : f()\n" T9(11) "ShaderName : \n:4:x.cpp :1\nmine\n" T9(
			 12) "x\n",
		 O_TRUNC);
	h = ah_new(ah_name("log_77"), true);
	is(gt_amd_start(&h->p), 0, "a damaged log is played");
	gt_amd_drain(&h->p);
	struct gt_amd *a = h->p.priv;
	struct gt_amd_counts n = ah_counts(h);

	ok(n.lines == 5 && n.used == 1 && n.damaged == 2 && n.foreign == 1 && n.other == 1,
	   "each line is of one kind");
	is(a->file[0]->log.filecount.first, 2, "the first damaged one is known");
	is(a->file[0]->log.first_foreign, 4, "and the first of others");
	ok(strstr(h->error, "log_77: line 2 is damaged: \":4:x.cpp"), "which is reported: %s",
	   h->error);
	ah_free(h);

	ah_write("log_77",
		 T9(10) "ShaderName : f()\n" T9(9300000000000000) "ShaderName : f()\n" T9(
			 12) "ShaderName : f()\n",
		 O_TRUNC);
	h = ah_new(ah_name("log_77"), true);
	is(ah_play(h), -ENODATA, "a log with a time that no clock gets near is played");
	ok(h->types[GT_DISPATCH] == 2 && h->last == 12000, "without that line");
	ok(strstr(h->error, "line 2 is damaged"), "which is named: %s", h->error);
	ah_free(h);

	ah_write("log_77", T9(10) "ShaderName : f()\n" T9(11) "hipLau", O_TRUNC);
	h = ah_new(ah_name("log_77"), true);
	is(ah_play(h), -ENODATA, "a log without its end is played");
	ok(strstr(h->error, "line 2 ends"), "and reported: %s", h->error);
	ah_free(h);

	ah_write("log_77", T9(10) "Initializing\n:4:x\n", O_TRUNC);
	h = ah_new(ah_name("log_77"), true);
	is(gt_amd_start(&h->p), -ENODATA, "a log that gives nothing is refused");
	ok(strstr(h->error, "none of its 2 lines") && strstr(h->error, "the first is line 2"),
	   "with what it is: %s", h->error);
	ah_free(h);
}

/* The first record may be behind a hole of terabytes: start() does not wait for it. */
static void check_slow(void)
{
	static const uint64_t size = 64 << 20;
	struct ah *h;
	int ret, n = 0;

	ah_write("log_77", T9(10) "Initializing\n", O_TRUNC);
	if (truncate(ah_name("log_77"), (off_t)size))
		printf("# %s\n", strerror(errno));
	h = ah_new(ah_name("log_77"), true);
	h->tick = 100000000;
	is(gt_amd_start(&h->p), 0, "start() reads for a while only");
	ok(((struct gt_amd *)h->p.priv)->file[0]->off < size, "… and not to the end");
	while ((ret = gt_amd_drain(&h->p)) >= 0)
		n++;
	is(ret, -ENODATA, "drain() goes on to the end");
	ok(n > 10, "… in parts: %d", n);
	ok(strstr(h->error, "none of its 2 lines"), "and tells it: %s", h->error);
	ah_free(h);
}

/* A crash leaves a run of NULs where lines were to be */
static void check_long_end(void)
{
	static const size_t sizes[] = { GT_AMD_LINE_MAX + 1, GT_AMD_BLOCK, 3 * GT_AMD_BLOCK + 7 };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		char *text = malloc(sizes[i] + 1);
		struct gt_amd_counts n;
		struct ah *h;

		memset(text, 'x', sizes[i]);
		text[sizes[i]] = '\0';
		ah_write("log_77", T9(10) "ShaderName : f()\n", O_TRUNC);
		ah_write("log_77", text, O_APPEND);
		h = ah_new(ah_name("log_77"), true);
		is(ah_play(h), -ENODATA, "a log that ends in %zu bytes without a newline",
		   sizes[i]);
		n = ah_counts(h);
		ok(n.lines == 2 && n.used == 1 && n.too_long == 1 && n.cut == 1,
		   "the last line is counted as too long, and cut: %llu %llu %llu",
		   (unsigned long long)n.lines, (unsigned long long)n.too_long,
		   (unsigned long long)n.cut);
		ok(strstr(h->error, "line 2 is too long"), "which it says: %s", h->error);
		ah_free(h);
		free(text);
	}
}

static void drain(struct ah *h)
{
	for (int i = 0; i < 4; i++)
		gt_amd_drain(&h->p);
}

static void check_pause(void)
{
	struct ah *h;

	ah_write("log_77",
		 T9(10) "ShaderName : f()\n" T9(20) "ShaderName : g()\n" T9(
			 30) "ShaderName : h()\n" T9(40) "ShaderName : i()\n",
		 O_TRUNC);
	h = ah_new(ah_name("log_77"), true);
	is(gt_amd_start(&h->p), 0, "a log is played");
	is(gt_amd_control(&h->p, GT_CTL_PAUSE, 0), 0, "it is paused");
	is(h->timer, 0, "and asks for no time");
	is(gt_amd_control(&h->p, GT_CTL_RESCAN, 0), -EOPNOTSUPP, "a rescan is not for it");
	is(h->timer, 0, "and lets it not go on");
	drain(h);
	is(h->types[GT_DISPATCH], 0, "nothing comes");
	is(gt_amd_control(&h->p, GT_CTL_SEEK, 30000), 0, "a seek");
	is(h->timer, 1, "goes on");
	drain(h);
	is(h->types[GT_DISPATCH], 2, "up to its time");
	is(h->mark, 30000, "where it stands then");
	is(gt_amd_control(&h->p, GT_CTL_RESUME, 0), 0, "it plays on");
	for (int i = 0; i < 4 && h->types[GT_DISPATCH] < 4; i++)
		gt_amd_drain(&h->p);
	is(h->types[GT_DISPATCH], 4, "to its end");
	is(gt_amd_drain(&h->p), -ENODATA, "which it says");
	ah_free(h);

	h = ah_new(ah_name("log_77"), true);
	h->opt.speed = "1";
	is(gt_amd_probe(&h->p), -EINVAL, "a speed is refused");
	ok(strstr(h->error, "speed="), "with a sentence: %s", h->error);
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
	is(ah_nth(h, GT_DISPATCH, 0)->ev.ts, 11000, "of the packet's time");
	ok(h->kernels == 4 && !strcmp(h->kernel[2], "h()") &&
		   ah_nth(h, GT_DISPATCH, 2)->ev.ref == 2,
	   "with the kernel's name");
	ok(ah_nth(h, GT_DISPATCH, 1)->ev.ts == 13000 &&
		   ah_nth(h, GT_DISPATCH, 1)->ev.queue == GT_NONE32 &&
		   ah_nth(h, GT_DISPATCH, 1)->ev.pid == 77,
	   "or of the name's; the file's name tells the process");
	ah_free(h);

	/* clang-format off */
	h = play(
		P(10) "hipMemcpyAsync ( 0x1, 0x2, 4096, hipMemcpyHostToDevice, stream:<null> )\n"
		P(11) "Command (CopyHostToDevice) enqueued: 0x10 to queue: 0x2\n"
		P(12) "HSA Copy copy_engine=0x1, dst=0x1, src=0x2, size=4096\n"
		P(13) "hipMemcpyAsync: Returned hipSuccess : \n"
		P(14) "hipMemcpy ( 0x1, 0x2, 77, hipMemcpyHostToDevice )\n"
		P(15) "hipMemcpy: Returned hipSuccess : \n"
		P(16) "Command (CopyDeviceToHost) enqueued: 0x10\n"
		P(17) "Command (InternalMarker) enqueued: 0x10\n");
	/* clang-format on */
	is(h->types[GT_COPY], 3, "call, command and what carries it out are one copy");
	ok(ah_nth(h, GT_COPY, 0)->ev.value == 4096 && ah_nth(h, GT_COPY, 0)->ev.ts == 11000 &&
		   ah_nth(h, GT_COPY, 1)->ev.value == 77 &&
		   ah_nth(h, GT_COPY, 2)->ev.value == GT_NONE64,
	   "its size, if it is reported");
	ah_free(h);
}

int main(void)
{
	if (!ah_dir())
		return 1;
	check_queue();
	check_packets();
	check_kernels();
	check_commands();
	check_crowd();
	check_broken();
	check_slow();
	check_long_end();
	check_pause();
	unlink(ah_name("log_77"));
	rmdir(ah_folder);
	return done_testing();
}
