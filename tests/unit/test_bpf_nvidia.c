/* SPDX-License-Identifier: GPL-2.0 */
/*
 * NVIDIA's queues, from what the kernel's programs tell (bpf/nvidia.h) to the tree: document 004's
 * run, RM calls, and processes that lie.
 */
#include <stdlib.h>
#include <sys/resource.h>

#include "../../backend/bpf/nvidia/nvidia.h"
#include "../lib/treebed.h"

#define SEC 1000000000ull

static struct {
	unsigned int n, type[GT_TYPE_END];
	union gt_record last[GT_TYPE_END];
} pushed;

/* To the model, as the pipeline does */
static void take(struct gt_plugin *p, const union gt_record *r, size_t n)
{
	struct gt_folded f;

	for (size_t i = 0; i < n; i++) {
		union gt_record copy = r[i];

		pushed.n++;
		pushed.type[r[i].ev.type]++;
		pushed.last[r[i].ev.type] = r[i];
		GT_MODEL_LOCK(app.model);
		gt_model_event(app.model, &copy, &f);
		gt_model_done(app.model, &f);
	}
}

static uint16_t gpu_named(struct gt_plugin *p, const struct gt_gpu_desc *d)
{
	char name[32];

	snprintf(name, sizeof(name), "nv-%s", d->dev ? d->dev + 5 : "any");
	GT_MODEL_LOCK(app.model);
	return make_gpu(name)->id;
}

static const struct gt_host host = { .push = take, .gpu = gpu_named };
static struct gt_plugin plugin = { .host = &host };
static struct gb backend = { .p = &plugin };
static struct gv *v;
static struct gt_bpf_nv n;
static uint32_t
	alive; /* the only process that is there, as the kernel knows it: pid and number alike */
static unsigned int looks;

static uint32_t gen_of(struct gv *of, uint32_t pid)
{
	looks++;
	return pid == alive ? pid : 0;
}

static void restart(uint32_t driver)
{
	if (v) {
		gv_tables_free(v);
		free(v);
	}
	v = calloc(1, sizeof(*v));
	if (!v || gv_tables_new(v))
		abort();
	v->b = &backend;
	v->driver = driver;
	v->destroys = true;
	v->gen_of = gen_of;
	n = (struct gt_bpf_nv){
		.ts = 10 * SEC, .cpu = 1, .pid = 637320, .tid = 637320, .uid = 1000
	};
	strcpy(n.comm, "python3");
	memset(&pushed, 0, sizeof(pushed));
}

static void flush(void)
{
	take(&plugin, backend.ring.out, backend.ring.nout);
	backend.ring.nout = 0;
}

static void round_at(uint64_t until)
{
	gv_round(v, until);
	flush();
}

/* Some records were lost; then there is no process but @left */
static void lost(uint32_t left)
{
	alive = left;
	v->lost = true;
	v->looked = 0;
	round_at(n.ts);
}

static void tell(uint16_t kind)
{
	n.kind = kind;
	n.ts += 1000;
	gv_record(v, &n);
	flush();
}

/* Hooks ------------------------------------------------------------------------------------- */

static void init(uint64_t us, uint32_t tsg, uint16_t engine, uint32_t runlist)
{
	n.ts = us * 1000 - 1000;
	n.hook.tsg = tsg;
	n.hook.runlist = runlist;
	n.hook.channels = GT_NONE32;
	n.hook.timeslice = 1024;
	n.hook.interleave = 0;
	n.hook.allow = 0xff;
	n.hook.engine = engine;
	tell(GT_NV_INIT);
}

static void bind(uint64_t us, uint32_t tsg, uint32_t runlist, uint32_t channels, uint8_t allow)
{
	n.ts = us * 1000 - 1000;
	n.hook.tsg = tsg;
	n.hook.runlist = runlist;
	n.hook.channels = channels;
	n.hook.timeslice = 1024;
	n.hook.interleave = 1;
	n.hook.allow = allow;
	n.hook.engine = GT_NONE16;
	tell(GT_NV_BIND);
}

static void destroy(uint64_t us, uint32_t tsg)
{
	n.ts = us * 1000 - 1000;
	memset(&n.hook, 0xff, sizeof(n.hook));
	n.hook.tsg = tsg;
	tell(GT_NV_DESTROY);
}

static void token(uint32_t tsg, uint32_t channel, uint32_t value)
{
	n.token.tsg = tsg;
	n.token.channel = channel;
	n.token.token = value;
	tell(GT_NV_TOKEN);
}

static const char *q(const char *gpu, uint32_t id, const char *file)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/queues/%u/%s", gpu, id, file);
	return show(path, &root_view);
}

#define ID(runlist, tsg) ((runlist) << 16 | (tsg))

static void check_line(const char *what, const char *line)
{
	static char out[GT_BACKEND_TEXT_MAX];
	const struct gv_counted c = { .dropped = 7, .read_failed = 8 };

	setenv("TZ", "UTC", 1);
	gv_trace_text(v, &c, 22 * 3600 * (int64_t)SEC, out, sizeof(out));
	if (!ok(strstr(out, line), "%s", what))
		printf("# no \"%s\" in:\n# %s\n", line, out);
}

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
	is_str(q("nv-any", ID(13, 2), "interleave"), "(none)", "not told before the first BIND");
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

static void end(uint16_t kind, uint32_t file)
{
	memset(&n.rm, 0, sizeof(n.rm));
	n.rm.gen = n.pid;
	n.rm.file = (struct gt_nv_file){ file, 1 };
	tell(kind);
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

/* RM calls ----------------------------------------------------------------------------------- */

static void call(uint16_t kind, uint32_t client, uint32_t object, uint32_t parent, uint32_t value)
{
	n.rm.client = client;
	n.rm.object = object;
	n.rm.parent = parent;
	n.rm.value = value;
	n.rm.gen = n.pid;
	tell(kind);
}

/* A client of file 0x100000005, a device and a group with two channels */
static void rm_begin(uint32_t client, uint32_t engine)
{
	call(GT_NV_CLIENT, client, client, 5, 1);
	call(GT_NV_DEVICE, client, 0x80, client, 0);
	call(GT_NV_GROUP, client, 0xa0, 0x80, engine);
	call(GT_NV_CHANNEL, client, 0xc0, 0xa0, GT_NONE32);
	call(GT_NV_CHANNEL, client, 0xc1, 0xa0, GT_NONE32);
}

#define OWN(i) (GV_OWN_ID + (i))

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
	       "execve: where files tell of their end that counts");
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

static void as(uint32_t pid)
{
	n.pid = n.tid = pid;
}

/* A client of file 0x100000000 | @file, with a device, number @gpu */
static void client(uint32_t handle, uint32_t file, uint32_t gpu)
{
	call(GT_NV_CLIENT, handle, handle, file, 1);
	call(GT_NV_DEVICE, handle, 0x80, handle, gpu);
}

/* A group of a device, as calls and hooks tell of it, scheduled */
static void group(uint32_t of, uint32_t handle, uint32_t dev, uint32_t runlist, uint32_t tsg)
{
	call(GT_NV_ENTER, of, 0, dev, GT_NV_GROUP);
	init(n.ts / 1000 + 2, tsg, 1, runlist);
	call(GT_NV_GROUP, of, handle, dev, 1);
	call(GT_NV_ENTER, of, handle, 0, GT_NV_SCHEDULE);
	bind(n.ts / 1000 + 2, tsg, runlist, 1, 1);
	call(GT_NV_SCHEDULE, of, handle, 0, 1);
}

static void now_destroy(uint32_t tsg)
{
	destroy(n.ts / 1000 + 2, tsg);
}

static const char *state(uint32_t runlist, uint32_t tsg)
{
	return q("nv-any", ID(runlist, tsg), "state");
}

/* The driver's order: sched_process_exit, then each file is closed, and the hooks tell of its
 * queues. */
static void test_two_end(bool release)
{
	restart(575);
	v->release = release;
	as(100);
	client(1, 5, 0);
	group(1, 0xa0, 0x80, 0, 5);
	as(200);
	client(1, 6, 0);
	group(1, 0xa0, 0x80, 13, 5);
	client(2, 7, 0);
	group(2, 0xa0, 0x80, 14, 5);
	as(100);
	end(GT_NV_EXIT, 0);
	end(GT_NV_CLOSE, 5);
	now_destroy(5);
	is_str(state(0, 5), "destroyed\n", "a process ends, and its TSG 5");
	is_str(state(13, 5), "mapped\n", "not another's");
	is_str(state(14, 5), "mapped\n", "nor that one's other");
	is(v->unmatched + v->ambiguous, 0, "no doubt");
	now_destroy(5);
	as(300); /* which is not known */
	end(GT_NV_CLOSE, 9);
	now_destroy(5);
	is_str(state(13, 5), "mapped\n", "nor with one from before us");
	is(v->unmatched, 2, "whose queues are not known");
	as(200);
	end(GT_NV_CLOSE, 6);
	is_str(state(13, 5), "mapped\n", "a file is closed, and its queue left to the hook");
	n.tid = 201;
	now_destroy(5);
	is_str(state(13, 5), "destroyed\n", "it goes");
	is_str(state(14, 5), "mapped\n", "not that of the other file");
	is(pushed.last[GT_QUEUE_DESTROY].ev.flags, 0, "as it was told");
	n.tid = 200;
	now_destroy(5);
	is_str(state(14, 5), "mapped\n", "while the file is being closed no other goes");
	call(GT_NV_ENTER, 2, 0x80, 0, GT_NV_FREE);
	now_destroy(5);
	is_str(state(14, 5), "destroyed\n", "then it is freed with its device");
	is(v->leaving, 0, "none waits");
}

/* Where the end of files is told, a client lives as long as the file that it came by. */
static void test_passed_on(void)
{
	restart(575);
	v->release = true;
	as(100);
	client(1, 5, 0);
	call(GT_NV_GROUP, 1, 0xa0, 0x80, 1);
	client(2, 6, 0);
	call(GT_NV_GROUP, 2, 0xa0, 0x80, 1);
	call(GT_NV_DEVICE, 3, 0x80, 3, 0);
	call(GT_NV_GROUP, 3, 0xa0, 0x80, 1);
	end(GT_NV_EXIT, 0);
	is_str(q("nv-any", OWN(0), "state"), "created\n", "another has the file");
	is_str(q("nv-any", OWN(2), "state"), "destroyed\n", "a client of no known file is gone");
	n.rm.gen = 77;
	n.rm.client = n.rm.object = 1;
	tell(GT_NV_CLIENT);
	is_str(q("nv-any", OWN(0), "state"), "created\n", "the pid is used again");
	is(v->user[1].procs, 2, "by another process");
	end(GT_NV_CLOSE, 5);
	is_str(q("nv-any", OWN(0), "state"), "destroyed\n", "the file is closed");
	is_str(q("nv-any", OWN(1), "state"), "created\n", "the other is not");
	is(v->user[1].procs, 2, "so its process is remembered");
	end(GT_NV_CLOSE, 6);
	is_str(q("nv-any", OWN(1), "state"), "destroyed\n", "until that is closed");
	is(v->user[1].procs, 1, "then it is forgotten");
	client(1, 7, 0);
	call(GT_NV_GROUP, 1, 0xa0, 0x80, 1);
	end(GT_NV_EXIT, 0);
	lost(0);
	is_str(q("nv-any", OWN(0), "state"), "destroyed\n", "that may be among what was lost");
	is(v->user[1].procs, 0, "nothing is left");
}

static void test_no_hook_comes(void)
{
	restart(575);
	client(1, 5, 0);
	group(1, 0xa0, 0x80, 0, 5);
	end(GT_NV_CLOSE, 5);
	round_at(n.ts + GV_PATIENCE_NS - 1);
	is_str(state(0, 5), "mapped\n", "the hook has a second");
	round_at(n.ts + GV_PATIENCE_NS);
	is_str(state(0, 5), "destroyed\n", "then the queue has ended");
	ok(pushed.last[GT_QUEUE_DESTROY].ev.flags & GT_F_INFERRED, "which is a conclusion");
	is(v->user[1].tsgs, 0, "and it is forgotten");
	v->destroys = false;
	client(1, 5, 0);
	group(1, 0xa0, 0x80, 0, 6);
	end(GT_NV_CLOSE, 5);
	is_str(state(0, 6), "destroyed\n", "where no hook tells of ends it goes with its file");
}

/* TSG 5 of runlist 0 is there on each of two GPUs. */
static void test_two_gpus(void)
{
	restart(575);
	strcpy(v->pci[v->npci++], "0000:01:00.0");
	strcpy(v->pci[v->npci++], "0000:02:00.0");
	call(GT_NV_GPU_ID, 0, 0, 0, 0x100);
	call(GT_NV_GPU_ID, 0, 0, 1, 0x200);
	client(1, 5, 0);
	call(GT_NV_DEVICE, 1, 0x81, 1, 1);
	group(1, 0xa0, 0x80, 0, 5);
	group(1, 0xa1, 0x81, 0, 5);
	is_str(q("nv-01:00.0", ID(0, 5), "state"), "mapped\n", "one");
	is_str(q("nv-02:00.0", ID(0, 5), "state"), "mapped\n", "and the other");
	call(GT_NV_ENTER, 1, 0x80, 0, GT_NV_FREE);
	now_destroy(5);
	is_str(q("nv-01:00.0", ID(0, 5), "state"), "destroyed\n",
	       "a device is freed, with its own");
	is_str(q("nv-02:00.0", ID(0, 5), "state"), "mapped\n", "not the other GPU's");
	call(GT_NV_FREE, 1, 0x80, 0, 0);
	as(666); /* says that it uses the second GPU */
	call(GT_NV_GPU_ID, 0, 0, 1, 0x200);
	client(1, 6, 1);
	group(1, 0xa0, 0x80, 0, 5);
	is_str(q("nv-02:00.0", ID(0, 5), "state"), "mapped\n", "and nobody ends it by a lie");
	is_str(q("nv-02:00.0", OWN(0), "state"), "mapped\n", "but gets an id of ours");
	is(v->ambiguous, 0, "no doubt");
}

/* A queue that calls told of, before the hooks were there */
static void test_hooks_later(void)
{
	restart(575);
	init(n.ts / 1000 + 2, 4, 1, 2);
	call(GT_NV_GROUP, 1, 0xa0, 0x80, 1);
	is(pushed.type[GT_QUEUE_CREATE], 1,
	   "a call whose begin was not told has made the hook's queue");
	restart(575);
	client(1, 5, 0);
	call(GT_NV_GROUP, 1, 0xa0, 0x80, 1);
	call(GT_NV_ENTER, 1, 0xa0, 0, GT_NV_SCHEDULE);
	bind(n.ts / 1000 + 2, 7, 3, 2, 1);
	call(GT_NV_SCHEDULE, 1, 0xa0, 0, 1);
	is(pushed.type[GT_QUEUE_SCHEDULE], 1, "hooks that come later tell of the same queue");
	is(pushed.last[GT_QUEUE].queue.queue, OWN(0), "under the id that it has");
	is(pushed.last[GT_QUEUE].queue.runlist, 3, "of a runlist");
	is(pushed.last[GT_QUEUE].queue.ctx, 7, "with its number");
	call(GT_NV_ENTER, 1, 0xa0, 0, GT_NV_FREE);
	now_destroy(7);
	is(pushed.type[GT_QUEUE_DESTROY], 1, "and its end");
	as(666); /* claims a number */
	client(1, 6, 0);
	call(GT_NV_GROUP, 1, 0xa0, 0x80, 1);
	call(GT_NV_INFO, 1, 0xa0, 0, 9);
	now_destroy(9);
	is(pushed.type[GT_QUEUE_DESTROY], 1, "a number that a program names is not the driver's");
}

/* Whatever a process says is said of itself, and there is an end to it. */
static void test_hostile(void)
{
	unsigned int before;

	restart(575);
	strcpy(v->pci[v->npci++], "0000:05:00.0");
	rm_begin(1, 1);
	n.pid = n.tid = 666;
	n.uid = 6666;
	call(GT_NV_FREE, 1, 0xa0, 0, 0);
	call(GT_NV_FREE, 1, 1, 0, 0);
	call(GT_NV_SCHEDULE, 1, 0xa0, 0, 0);
	call(GT_NV_EXIT, 0, 0, 0, 0);
	is_str(q("nv-any", OWN(0), "state"), "created\n", "another's objects cannot be freed");
	rm_begin(1, 1);
	is_str(q("nv-any", OWN(0), "pid"), "637320\n", "nor taken over");
	is_str(q("nv-any", OWN(1), "pid"), "666\n", "by one with the same handles");
	before = app.model->ngpus;
	for (uint32_t i = 0; i < 200; i++)
		call(GT_NV_GPU_ID, 0, 0, i, 0xdead00 + i);
	call(GT_NV_DEVICE, 1, 0x90, 1, 3);
	is(app.model->ngpus, before, "a GPU that the driver does not have makes none");
	for (uint32_t i = 0; i < 20000; i++)
		call(GT_NV_GROUP, 1, 0x1000 + i, 0x80, 1);
	is(v->user[2].tsgs, GV_USER_TSGS, "queues have an end");
	is(v->user[2].objs, GV_USER_OBJS, "objects too");
	ok(v->tsgs_refused && v->objs_refused, "and it is counted");
	n.pid = n.tid = 637320;
	n.uid = 1000;
	call(GT_NV_GROUP, 1, 0xa7, 0x80, 1);
	is(v->user[1].tsgs, 2, "others have room");
	for (uint32_t i = 0; i < 300; i++) {
		n.pid = n.tid = 10000 + i;
		n.uid = 20000 + i;
		call(GT_NV_CLIENT, 1, 1, i, i);
	}
	ok(v->procs_refused > 0, "there is an end to users");
	for (uint32_t i = 0; i < 100; i++) { /* every kind, with nonsense */
		memset((char *)&n + 16, (int)i * 7, 32);
		tell((uint16_t)i);
	}
	n.pid = 666;
	call(GT_NV_EXIT, 0, 0, 0, 0);
	is(v->user[2].objs + v->user[2].tsgs, 0, "with the process all goes");
	n.uid = 6666;
	for (uint32_t i = 0; i < 2 * GT_NV_USER_PROCS; i++) {
		n.pid = n.tid = 100000 + i;
		call(GT_NV_CLIENT, 1, 1, i, i);
	}
	is(v->user[2].procs, GT_NV_USER_PROCS, "there is an end to a user's processes");
}

static void to_nobody(struct gt_plugin *p, const union gt_record *r, size_t n_records)
{
}

static void test_many_queues(void)
{
	const struct gt_host deaf = { .push = to_nobody, .gpu = gpu_named };

	plugin.host = &deaf;
	call(GT_NV_CLIENT, 1, 1, 5, 1);
	call(GT_NV_DEVICE, 1, 2, 1, 0);
	for (uint32_t i = 1; i < GV_MAX_TSGS; i++)
		call(GT_NV_GROUP, 1, 10 + i, 2, 1);
	for (uint32_t i = 0; i < 3000000; i++)
		call(GT_NV_GROUP, 1, 9, 2, 1);
	is(v->user[1].tsgs, GV_MAX_TSGS, "4096 queues, of which one is made over and over");
	is(v->tsg[v->obj[gv_obj(v, v->tsg[1].proc, 1, 9)].tsg].id, OWN(GV_MAX_TSGS - 1),
	   "under the id that is free");
	call(GT_NV_FREE, 1, 1, 0, 0);
	is(v->user[1].tsgs, 0, "all go");
	plugin.host = &host;
}

/*
 * What a call costs must not grow with what its process has: to look at all of it for each client
 * of a file that is closed takes minutes here, and any program may do the like. The limit is of CPU
 * time.
 */
static void test_many(void)
{
	const struct rlimit minute = { 60, 60 };

	restart(0);
	n.uid = 0;
	setrlimit(RLIMIT_CPU, &minute);
	for (int round = 0; round < 20; round++) {
		for (uint32_t i = 1; i <= GV_MAX_OBJS; i++)
			call(GT_NV_CLIENT, i, i, 5, 1);
		call(GT_NV_CLOSE, 0, 0, 5, 1);
		for (uint32_t i = 1; i <= GV_MAX_OBJS; i++)
			call(GT_NV_CLIENT, i, i, 5, 1);
		for (uint32_t i = 1; i <= GV_MAX_OBJS; i++)
			call(GT_NV_FREE, i, i, 0, 0);
	}
	is(v->user[1].objs + v->objs_refused, 0, "65536 clients of one file come and go");
	call(GT_NV_CLIENT, 1, 1, 5, 1);
	call(GT_NV_DEVICE, 1, 2, 1, 0);
	for (uint32_t i = 0; i < 100; i++)
		call(GT_NV_DEVICE, 1, 3 + i, 2 + i, 0);
	is(v->user[1].objs, 102, "a device below a device");
	call(GT_NV_GROUP, 1, 1, 3, 1);
	is(v->user[1].objs, 1, "a client's handle is given to a group: with it all goes");
	call(GT_NV_FREE, 1, 1, 0, 0);
	is(v->user[1].objs + v->user[1].tsgs, 0, "which then goes, too");
	test_many_queues();
}

/* Keys that share a bucket in one run must not do so in the next. */
static void test_salt(void)
{
	uint32_t first, with = 0, still = 0;
	uint32_t same[64];

	restart(0);
	first = gv_bucket(v, 1, 2, 0);
	for (uint32_t i = 1; with < 64; i++)
		if (gv_bucket(v, 1, 2, i) == first)
			same[with++] = i;
	restart(0);
	first = gv_bucket(v, 1, 2, 0);
	for (uint32_t i = 0; i < 64; i++)
		still += gv_bucket(v, 1, 2, same[i]) == first;
	ok(still < 8, "nobody can choose handles that share a bucket");
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
	test_two_end(false);
	test_two_end(true);
	test_passed_on();
	test_no_hook_comes();
	test_two_gpus();
	test_hooks_later();
	test_hostile();
	test_many();
	test_salt();
	return done_testing();
}
