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
	struct ah
		*h = play(P(10) "Created SWq=0x1 to map on HWq=0x2000 with size 16384 with "
				"priority 1, x\n" P(11) "acquireQueue refCount: 0x2000 (1)\n" P(12) "Selected queue refCount: 0x2000 (2)\n" P(
					13) "releaseQueue refCount:0x2000 (1)\n" P(14) "releaseQueu"
										       "e "
										       "refCount:"
										       "0x2000 "
										       "(0)\n" P(15) "Deleting hardware queue 0x2000 with refCount 0\n");
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
	ok(ah_nth(h, GT_QUEUE_CREATE, 0)->ev.ts == 10000 && ah_nth(h, GT_QUEUE, 0)->queue.ctx == 0x2000 &&
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
	ok(h->kernels == 4 && !strcmp(h->kernel[2], "h()") && ah_nth(h, GT_DISPATCH, 2)->ev.ref == 2,
	   "with the kernel's name");
	ok(ah_nth(h, GT_DISPATCH, 1)->ev.ts == 13000 &&
		   ah_nth(h, GT_DISPATCH, 1)->ev.queue == GT_NONE32 &&
		   ah_nth(h, GT_DISPATCH, 1)->ev.pid == 77,
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
	ok(ah_nth(h, GT_COPY, 0)->ev.value == 4096 && ah_nth(h, GT_COPY, 0)->ev.ts == 11000 &&
		   ah_nth(h, GT_COPY, 1)->ev.value == 77 && ah_nth(h, GT_COPY, 2)->ev.value == GT_NONE64,
	   "its size, if it is told");
	ah_free(h);
}

int main(void)
{
	if (!ah_dir())
		return 1;
	check_queue();
	check_packets();
	check_kernels();
	unlink(ah_name("log_77"));
	rmdir(ah_folder);
	return done_testing();
}
