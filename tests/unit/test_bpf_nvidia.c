/* SPDX-License-Identifier: GPL-2.0 */
/*
 * NVIDIA's queues, from what the kernel's programs tell to the tree: document 004's run, hooks, RM
 * calls, and both.
 */
#include "nvbed.h"

/* The document's run; engine numbers are the driver's, which its labels garbled. */
static void test_document(void)
{
	restart(575);
	init(3623509353, 2, 0x0b, 13);
	init(3624523615, 0, 0x0c, 14);
	init(3624561798, 1, 0x01, 0);
	bind(3624591625, 1, 0, 8, 1);
	init(3624592495, 3, 0x0b, 13);
	bind(3624599449, 3, 13, 4, 1);
	init(3624600243, 1, 0x0c, 14);
	bind(3624607274, 1, 14, 4, 1);
	is_str(list("nv-any/queues", &root_view), "851970 917504 1 851971 917505 ", "five queues");
	is_str(q("nv-any", ID(0, 1), "engine"), "GRAPHICS\n", "the document's COPY is GR0");
	is_str(q("nv-any", ID(13, 3), "engine"), "COPY\n", "its UNKNOWN is a copy engine");
	is_str(q("nv-any", ID(0, 1), "interleave"), "MEDIUM\n", "its LOW is MEDIUM");
	is_str(q("nv-any", ID(13, 2), "interleave"), "(none)",
	       "not reported before the first BIND");
	is_str(q("nv-any", ID(0, 1), "channels"), "8\n", "channels");
	is_str(q("nv-any", ID(14, 1), "channels"), "4\n", "of the other TSG 1");
	is_str(q("nv-any", ID(14, 1), "runlist"), "14\n", "runlist");
	is_str(q("nv-any", ID(14, 1), "timeslice_us"), "1024\n", "timeslice");
	is_str(q("nv-any", ID(14, 1), "state"), "mapped\n", "allowed to run");
	is_str(q("nv-any", ID(13, 2), "state"), "created\n", "not looks to run");
	is_str(q("nv-any", ID(14, 1), "pid"), "637320\n", "owner");
	is_str(q("nv-any", ID(14, 1), "type"), "tsg\n", "type");

	n.tid = 637399; /* the runtime's own thread cleans up */
	strcpy(n.comm, "cuda-EvtHandlr");
	destroy(3625697801, 0);
	is_str(q("nv-any", ID(14, 0), "state"), "destroyed\n", "from another thread");
	is_str(q("nv-any", ID(13, 2), "state"), "created\n", "and no other");
	destroy(3625701934, 2);
	destroy(3625727580, 1);
	destroy(3625731589, 3);
	destroy(3625735378, 1);
	is_str(q("nv-any", ID(13, 2), "state"), "destroyed\n", "another");
	is_str(q("nv-any", ID(0, 1), "state"), "destroyed\n", "one of two of that number");
	is_str(q("nv-any", ID(14, 1), "state"), "destroyed\n", "and the other");
	is(v->unmatched, 0, "each end has its queue");
	is(pushed.last[GT_QUEUE_DESTROY].ev.pid, 637320, "the owner's");
	is(pushed.last[GT_QUEUE_DESTROY].ev.tid, 637399, "by that thread");
}

static void test_text(void)
{
	check_line("INIT",
		   "23:00:23.509353 [CPU01] TASK_INIT    PID=637320 python3          TSG=2    "
		   "engine=COPY2    timeslice=1024 us interleave=LOW runlist=13\n");
	check_line("graphics",
		   "TSG=1    engine=GR0      timeslice=1024 us interleave=LOW runlist=0\n");
	check_line("BIND",
		   "23:00:24.591625 [CPU01] BIND         PID=637320 python3          TSG=1    "
		   "channels=8 timeslice=1024 us interleave=MEDIUM allowed=yes\n");
	check_line("DESTROY",
		   "23:00:25.697801 [CPU01] TASK_DESTROY PID=637320 cuda-EvtHandlr   TSG=0   \n");
	check_line("statistics",
		   "\n=== Statistics ===\ntask_init:    5\nbind:         3\ntoken_request: 0\n"
		   "task_destroy: 5\ndropped:      7\nread_failed:  8\n");
	memcpy(n.comm,
	       "a\nb\33[1m\xff"
	       "ccccccccc",
	       16);
	for (int i = 0; i < 1000; i++)
		token(1, 4294967294, 4294967294);
	check_line("a name makes no line", " TOKEN_REQ    PID=637320 a?b?[1m?cccccccc TSG=1    "
					   "channel=4294967294 token=4294967294\n");
	check_line("a full text has its statistics", "token_request: 1000\n");
}

static void test_hooks(void)
{
	restart(0);
	bind(5, 9, 2, 3, 0);
	is_str(q("nv-any", ID(2, 9), "state"), "denied\n", "a queue from before, refused");
	is_str(q("nv-any", ID(2, 9), "created"), "(none)", "when it was made is not known");
	bind(6, 9, 2, 3, 1);
	is_str(q("nv-any", ID(2, 9), "state"), "mapped\n", "and then allowed");
	token(9, 5, 77);
	is(pushed.last[GT_QUEUE_TOKEN].ev.value, 77, "a token");
	is(pushed.last[GT_QUEUE_TOKEN].ev.ref, 5, "of a channel");
	is(pushed.last[GT_QUEUE_TOKEN].ev.queue, ID(2, 9), "of the queue");
	is(pushed.type[GT_SUBMIT], 0, "is no submit");
	n.pid = 2;
	destroy(7, 9);
	is_str(q("nv-any", ID(2, 9), "state"), "mapped\n",
	       "another process ends another queue of that number");
	is(v->unmatched, 1, "which is not known");
	token(9, 6, 78);
	is(pushed.last[GT_QUEUE_TOKEN].ev.value, 77, "its token is not this queue's either");
	n.pid = 637320;
	end(GT_NV_EXIT, 0);
	is_str(q("nv-any", ID(2, 9), "state"), "mapped\n",
	       "when its process has ended a hook will tell");
	n.pid = 2; /* a worker of the kernel */
	destroy(8, 9);
	is_str(q("nv-any", ID(2, 9), "state"), "destroyed\n", "which anybody may do then");
	is(pushed.last[GT_QUEUE_DESTROY].ev.tid, GT_NONE32, "whose thread is not its");

	init(8, GT_NONE32, 1, 0);
	is(pushed.type[GT_QUEUE_CREATE], 0,
	   "a hook whose argument could not be read makes no queue");
	init(9, 4, 1, 0);
	init(10, 4, 1, 0);
	is(pushed.type[GT_QUEUE_DESTROY], 2,
	   "one whose end was lost ends when its number is used again");
	ok(pushed.last[GT_QUEUE_DESTROY].ev.flags & GT_F_INFERRED, "which is a conclusion");
	n.pid = n.tid = 3;
	init(11, 4, 1, 1);
	n.pid = n.tid = 4;
	destroy(12, 4);
	is(pushed.type[GT_QUEUE_DESTROY], 2, "by another process: neither ends");
	init(13, 70000, 1, 1);
	is(pushed.last[GT_QUEUE].queue.queue, GV_OWN_ID, "a number that fits no id");
	init(14, 1, 1, 40000);
	is(pushed.last[GT_QUEUE].queue.queue, GV_OWN_ID + 1, "likewise a runlist");
}

static void test_calls(void)
{
	restart(575);
	strcpy(v->pci[v->npci++], "0000:01:00.0");
	strcpy(v->pci[v->npci++], "0002:c1:00.0");
	call(GT_NV_GPU_ID, 0, 0, 0, 0x2c100);
	call(GT_NV_GPU_ID, 0, 0, 1, 0x100);
	rm_begin(0xc1d0, 0x34);
	call(GT_NV_DEVICE, 0xc1d0, 0x81, 0xc1d0, 1);
	call(GT_NV_GROUP, 0xc1d0, 0xa1, 0x81, 1);
	is_str(list("nv-c1:00.0/queues", &root_view), "2147483648 ",
	       "a queue of the GPU that RM means");
	is_str(list("nv-01:00.0/queues", &root_view), "2147483649 ", "and one of the other");
	is_str(q("nv-c1:00.0", OWN(0), "engine"), "COPY\n", "engine by the programs' numbers");
	is_str(q("nv-01:00.0", OWN(1), "engine"), "GRAPHICS\n", "of the other");
	is_str(q("nv-c1:00.0", OWN(0), "channels"), "2\n", "channels");
	is_str(q("nv-c1:00.0", OWN(0), "runlist"), "(none)", "RM calls tell no runlist");
	is_str(q("nv-c1:00.0", OWN(0), "interleave"), "(none)", "nor a level that nobody set");
	call(GT_NV_INTERLEAVE, 0xc1d0, 0xa0, 0, 2);
	call(GT_NV_TIMESLICE, 0xc1d0, 0xa0, 0, 500);
	is_str(q("nv-c1:00.0", OWN(0), "interleave"), "HIGH\n", "a level that was set");
	is_str(q("nv-c1:00.0", OWN(0), "timeslice_us"), "500\n", "a timeslice");
	call(GT_NV_SCHEDULE, 0xc1d0, 0xc0, 0, 1);
	is_str(q("nv-c1:00.0", OWN(0), "state"), "mapped\n", "scheduled by a channel");
	call(GT_NV_SCHEDULE, 0xc1d0, 0xa0, 0, 0);
	is_str(q("nv-c1:00.0", OWN(0), "state"), "unmapped\n", "taken off");
	call(GT_NV_SCHEDULE, 0xc1d0, 0xa0, 3, 1);
	is_str(q("nv-c1:00.0", OWN(0), "state"), "denied\n", "refused");
	call(GT_NV_RM_TOKEN, 0xc1d0, 0xc1, 0, 99);
	is(pushed.last[GT_QUEUE_TOKEN].ev.value, 99, "a token");
	call(GT_NV_FREE, 0xc1d0, 0xc1, 0, 0);
	is_str(q("nv-c1:00.0", OWN(0), "channels"), "1\n", "a channel less");
	n.tid++;
	call(GT_NV_FREE, 0xc1d0, 0x80, 0, 0);
	is_str(q("nv-c1:00.0", OWN(0), "state"), "destroyed\n", "a device takes its queues along");
	is_str(q("nv-01:00.0", OWN(1), "state"), "created\n", "and no other's");
	is(v->user[1].objs, 3, "and channels: a client, a device and a group are left");
	check_line("INIT by RM",
		   "TASK_INIT    PID=637320 python3          TSG=-    engine=COPY10  \n");
	check_line("DESTROY by RM", "TASK_DESTROY PID=637320 python3          TSG=-   \n");
	call(GT_NV_INFO, 0xc1d0, 0xa1, 0, 12);
	is(pushed.last[GT_QUEUE].queue.ctx, 12, "a number that was looks for");
}

static void test_ends(void)
{
	restart(0);
	rm_begin(1, 1);
	call(GT_NV_CLOSE, 0, 0, 6, 1);
	is_str(q("nv-any", OWN(0), "state"), "created\n", "another file is closed");
	call(GT_NV_CLOSE, 0, 0, 5, 1);
	is_str(q("nv-any", OWN(0), "state"), "destroyed\n",
	       "with its file a client goes, with all");
	is(v->user[1].objs, 0, "nothing is left");
	rm_begin(1, 1);
	is(pushed.last[GT_QUEUE].queue.queue, OWN(0), "an id is used again");
	call(GT_NV_EXIT, 0, 0, 0, 0);
	is_str(q("nv-any", OWN(0), "state"), "destroyed\n", "with its process");
	is(v->user[1].procs, 0, "which is forgotten");
	rm_begin(1, 1);
	v->release = true;
	call(GT_NV_EXEC, 0, 0, 0, 0);
	is_str(q("nv-any", OWN(0), "state"), "created\n",
	       "execve: where files report their end that counts");
	v->release = false;
	call(GT_NV_EXEC, 0, 0, 0, 0);
	is_str(q("nv-any", OWN(0), "state"), "destroyed\n", "else its objects are gone");
	rm_begin(1, 1);
	call(GT_NV_FREE, 1, 1, 0, 0);
	is_str(q("nv-any", OWN(0), "state"), "destroyed\n", "a client is freed");

	rm_begin(1, 1);
	lost(n.pid);
	is_str(q("nv-any", OWN(0), "state"), "created\n",
	       "records were lost, but the process is there");
	lost(0);
	is_str(q("nv-any", OWN(0), "state"), "destroyed\n", "its end was among them");
	ok(pushed.last[GT_QUEUE_DESTROY].ev.flags & GT_F_INFERRED, "which is a conclusion");
	check_line("by nobody known",
		   " [CPU--] TASK_DESTROY PID=-      -                TSG=-   \n");
	rm_begin(1, 1);
	lost(n.pid);
	looks = 0;
	for (int i = 0; i < 100; i++) {
		v->lost = true;
		round_at(n.ts + (uint64_t)i * 1000000);
	}
	is(looks, 0, "in a flood of losses it is looked");
	round_at(n.ts + SEC);
	round_at(n.ts + 2 * SEC);
	is(looks, 1, "once in a second");
	n.rm.gen = 99;
	n.rm.client = n.rm.object = 7;
	tell(GT_NV_CLIENT);
	is_str(q("nv-any", OWN(0), "state"), "destroyed\n", "its pid is another's now");
}

/* A hook inside a call: the call knows the GPU, the hook the numbers. */
static void test_both(void)
{
	restart(575);
	strcpy(v->pci[v->npci++], "0000:01:00.0");
	call(GT_NV_GPU_ID, 0, 0, 0, 0x100);
	call(GT_NV_CLIENT, 1, 1, 5, 1);
	call(GT_NV_DEVICE, 1, 0x80, 1, 0);
	call(GT_NV_DEVICE, 1, 0x81, 1, 1);
	call(GT_NV_ENTER, 1, 0, 0x80, GT_NV_GROUP);
	init(100, 6, 9, 3);
	call(GT_NV_GROUP, 1, 0xa0, 0x80, 9);
	is(pushed.type[GT_QUEUE_CREATE], 1, "one queue");
	is_str(q("nv-01:00.0", ID(3, 6), "engine"), "COPY\n",
	       "of the call's GPU, with the hook's numbers");
	call(GT_NV_ENTER, 1, 0xa0, 0, GT_NV_SCHEDULE);
	bind(200, 6, 3, 2, 0);
	call(GT_NV_SCHEDULE, 1, 0xa0, 3, 1);
	is(pushed.type[GT_QUEUE_SCHEDULE], 1, "scheduled once");
	is_str(q("nv-01:00.0", ID(3, 6), "state"), "denied\n", "which was refused");
	call(GT_NV_TIMESLICE, 1, 0xa0, 0, 77);
	is_str(q("nv-01:00.0", ID(3, 6), "timeslice_us"), "77\n", "a call that has no hook");
	call(GT_NV_ENTER, 1, 0x81, 0, GT_NV_GROUP);
	init(300, 6, 0x1d, 5); /* the same number on another runlist */
	call(GT_NV_GROUP, 1, 0xa1, 0x81, 0x13);
	call(GT_NV_ENTER, 1, 0xa1, 0, GT_NV_FREE);
	destroy(400, 6);
	call(GT_NV_FREE, 1, 0xa1, 0, 0);
	is_str(q("nv-01:00.0", ID(3, 6), "state"), "denied\n", "the call tells whose end it is");
	is(pushed.type[GT_QUEUE_DESTROY], 1, "one ends");
	is(v->ambiguous, 0, "no doubt");
}

int main(void)
{
	make_machine();
	test_document();
	test_text();
	test_hooks();
	test_calls();
	test_ends();
	test_both();
	return done_testing();
}
