/* SPDX-License-Identifier: GPL-2.0 */
/* Logs of AMD's runtime: every form of a line, and what messages tell. */
#include "../lib/amdhost.h"
#include "../lib/tap.h"

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
	/* ROCm/ROCm#4394 */
	check_line(
		":4:command.cpp              :352 : 7270505876d us: [pid:21983 tid: 7f316f4006c0] "
		"Command (KernelExecution)",
		7270505876, 21983, 0x7f316f4006c0, "Command (KernelExecution)");
	/* ROCm/rocm-systems#5315 */
	check_line(
		":3:hip_memory.cpp           :205 : 185087797883 us: [pid:73084 tid: 0xece25 ] hip",
		185087797883, 73084, 0xece25, "hip");
	check_line(":3:rocdevice.cpp            :1562: 1885937163 us: HMM support: 0", 1885937163,
		   0, 0, "HMM support: 0");
	check_line(":3:rocdevice.cpp:3045: 175037104827 us: [pid:157801] ", 175037104827, 157801, 0,
		   "");
	check_line(":3:rocdevice.cpp:3045: 175037104827 us: [pid:157801]\r", 175037104827, 157801,
		   0, "");
	check_line(":3:rocdevice.cpp:3045: 7d us:", 7, 0, 0, "");
	check_line("\xef\xbb\xbf:3:rocdevice.cpp:3045: 7 us: x\r", 7, 0, 0, "x");
	check_line(":amd_gpu_agent.cpp        :123 : 77 us: [pid:7     tid:0x9] [***rocr***] x", 77,
		   7, 9, "[***rocr***] x");
	for (const char *const *p =
		     (const char *const[]){ "", ":", ":3:", ":3:x", ":3:x:", ":3:x:1",
					    "plain text: 3", "::::::::::::::::", ":x:y:1 : 2 us: z",
					    "GPU: 3: 4 us: ", ":3:a.cpp :x : 5 us:  z",
					    ":a.cpp :1 : 5 us:  z", NULL };
	     *p; p++)
		ok(!gt_amd_line(*p, strlen(*p), &l), "no line of a log: \"%s\"", *p);
}

static void check_damaged(void)
{
	for (const char *const *p =
		     (const char *const[]){ ":3:rocdevice.cpp  :30", ":4:", "\033[32m:1:x",
					    ":3:rocdevice.cpp :3x45: 7 us: x", NULL };
	     *p; p++)
		ok(gt_amd_line_begins(*p, strlen(*p)), "begins as a log's: \"%s\"", *p);
	for (const char *const *p =
		     (const char *const[]){ "", ":", "12:3:", ":ab:", "Queue :3:", NULL };
	     *p; p++)
		ok(!gt_amd_line_begins(*p, strlen(*p)), "does not: \"%s\"", *p);
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
	m = message("Signal = (0x5), Translated start/end = 1 / 9223372036854775807, x");
	is(m.what, GT_AMD_BAD, "an end that no clock gets near");
	m = message("acquireQueue refCount: 0x7fad66c00000 (1)");
	ok(m.what == GT_AMD_ACQUIRED && m.hwq == 0x7fad66c00000 && m.number == 1, "acquired");
	m = message("releaseQueue refCount:0x7f8eb5c00000 (0)");
	ok(m.what == GT_AMD_RELEASED && m.hwq == 0x7f8eb5c00000 && m.number == 0, "released");
	m = message("selected queue with least refCount: 0x10 (3)");
	ok(m.what == GT_AMD_SELECTED && m.hwq == 0x10 && m.number == 3, "selected");
	m = message("Deleting hardware queue 0x7f8acc600000 with refCount 0");
	ok(m.what == GT_AMD_DELETED && m.hwq == 0x7f8acc600000, "deleted");
	is(message("AQL dispatch failed!").what, GT_AMD_REFUSED,
	   "a kernel that is not handed over");
	is(message("[pid:17x tid:0x2] ShaderName : f()").what, GT_AMD_BAD, "a damaged thread");
	is(message("[***rocr***] x").what, GT_AMD_OTHER, "of ROCr");
	is(message("acquireQueue refCount: (nil) (1)").what, GT_AMD_BAD, "no address");
	is(message("releaseQueue refCount:0x1").what, GT_AMD_BAD, "cut");
}

/* Of a line without a time */
static enum gt_amd_what untimed(const char *text)
{
	struct gt_amd_line l = { .us = GT_NONE64, .msg = text, .len = strlen(text) };
	struct gt_amd_msg m;

	gt_amd_message(&l, &m);
	return m.what;
}

static void check_half_times(void)
{
	is(untimed("20159570897"), GT_AMD_BAD, "a line that is cut in its time");
	is(untimed("20159570897 XX  [pid:4] Created SWq=0x1"), GT_AMD_BAD,
	   "a time with no unit behind it");
	is(untimed("64 KiB of scratch"), GT_AMD_OTHER, "a message may begin with a number");
	is(message("20159570897").what, GT_AMD_OTHER, "and where there is a time it may be one");
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

int main(void)
{
	is(gt_amd_name_pid("/x_9/log_1234"), 1234, "AMD_LOG_LEVEL_FILE gets the pid at its end");
	is(gt_amd_name_pid("/x/log_1234.txt"), 1234, "or before what comes behind a dot");
	is(gt_amd_name_pid("/x_1234/log"), 0, "a folder's name does not count");
	is(gt_amd_name_pid("/x/log_12a"), 0, "nor a word");
	is(gt_amd_name_pid("/x/log_99999999999"), 0, "nor what no pid can be");
	check_lines();
	check_damaged();
	check_half_times();
	check_queue_messages();
	check_packet_messages();
	check_call_messages();
	return done_testing();
}
