/* SPDX-License-Identifier: GPL-2.0 */
/* Names of ioctls against the headers that define them, and the queues that ioctls make. */
#include <libdrm/amdgpu_drm.h>
#include <libdrm/i915_drm.h>
#include <libdrm/msm_drm.h>
#include <libdrm/virtgpu_drm.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "../../backend/bpf/ioctl.h"
#include "../lib/tap.h"
#include "../lib/tmp.h"

/* A driver, and the name of a header's macro, which is the name to show */
#define NAMED(driver, macro)                                                                       \
	is_str(gt_ioctl_name(driver, DRM_IOCTL_##macro), #macro, "%s: " #macro,                    \
	       (driver) ? (driver) : "any")

static void test_names(void)
{
	NAMED("amdgpu", AMDGPU_CS);
	NAMED("amdgpu", AMDGPU_WAIT_FENCES);
	NAMED("amdgpu", AMDGPU_SCHED);
	NAMED("i915", I915_GEM_EXECBUFFER2);
	NAMED("i915", I915_GEM_WAIT);
	NAMED("virtio_gpu", VIRTGPU_EXECBUFFER);
	NAMED("msm_dpu", MSM_GEM_SUBMIT);
	NAMED("amdgpu", SYNCOBJ_TIMELINE_WAIT);
	NAMED(NULL, SYNCOBJ_WAIT);
	NAMED("mockgpu", PRIME_HANDLE_TO_FD);
	is_str(gt_ioctl_name("amdgpu", _IOC(_IOC_READ | _IOC_WRITE, 'K', 0x02, 88)),
	       "KFD_CREATE_QUEUE", "KFD's");
	is_str(gt_ioctl_name(NULL, _IOC(_IOC_READ | _IOC_WRITE, 'K', 0x20, 24)), "KFD_SVM",
	       "whatever the GPU");
	is_str(gt_ioctl_name("amdgpu", 0xc0486456), "AMDGPU_USERQ", "newer than the header");
	is_str(gt_ioctl_name("xe", _IOC(_IOC_WRITE, 'd', 0x49, 56)), "XE_EXEC",
	       "one number, another driver");
	is_str(gt_ioctl_name(NULL, _IOC(_IOC_READ | _IOC_WRITE, 'F', 0x2b, 48)), "NV_ESC_RM_ALLOC",
	       "NVIDIA's");
	is_str(gt_ioctl_name("nvidia", _IOC(_IOC_READ | _IOC_WRITE, 'F', 211, 16)),
	       "NV_ESC_IOCTL_XFER_CMD", "also with a number behind DRM's");
	ok(!gt_ioctl_name(NULL, _IOC(_IOC_READ | _IOC_WRITE, 'F', 0x01, 48)), "not all have one");
	ok(!gt_ioctl_name("mockgpu", DRM_IOCTL_AMDGPU_CS), "a driver that is not known has none");
	ok(!gt_ioctl_name(NULL, DRM_IOCTL_AMDGPU_CS), "nor one that is unknown");
	ok(!gt_ioctl_name("amdgpu", 0xc018649f), "nor a number without a name");
	ok(!gt_ioctl_name("amdgpu", 0x5401), "nor another kind of device");
	ok(!gt_ioctl_name("amdgpu", GT_NONE64), "nor what is not known");
}

static void test_what(void)
{
	is(gt_ioctl_what(GT_IOCTL_BY_AMDGPU, 0x44), GT_IOCTL_SUBMIT, "AMDGPU_CS submits");
	is(gt_ioctl_what(GT_IOCTL_BY_AMDGPU, 0x41), GT_IOCTL_OTHER, "GEM_MMAP does not");
	is(gt_ioctl_what(GT_IOCTL_BY_AMDGPU, 0xc3), GT_IOCTL_WAIT, "SYNCOBJ_WAIT waits");
	is(gt_ioctl_what(GT_IOCTL_BY_NOBODY, 0xc3), GT_IOCTL_WAIT, "on any device");
	is(gt_ioctl_what(GT_IOCTL_BY_NOBODY, 0x44), GT_IOCTL_UNKNOWN, "who knows");
	is(gt_ioctl_what(GT_IOCTL_BY_KFD, 0x02), GT_IOCTL_QUEUE, "KFD makes queues");
	is(gt_ioctl_what(GT_IOCTL_BY_KFD, 0x44), GT_IOCTL_OTHER, "KFD's numbers are its own");
	is(gt_ioctl_what(GT_IOCTL_BY_NVIDIA, 0x2a), GT_IOCTL_QUEUE, "RM_CONTROL schedules them");
	is(gt_ioctl_what(GT_IOCTL_BY_NVIDIA, 200), GT_IOCTL_OTHER, "CARD_INFO asks");
	is(gt_ioctl_what(GT_IOCTL_BY_AMDGPU, 256), GT_IOCTL_UNKNOWN, "no such number");
	is(gt_ioctl_what(GT_IOCTL_DRIVERS, 0x44), GT_IOCTL_UNKNOWN, "no such driver");
	is(gt_ioctl_driver("vc4-drm"), GT_IOCTL_BY_VC4, "sysfs has other names than DRM");
	is(gt_ioctl_driver(NULL), GT_IOCTL_BY_NOBODY, "no driver");
}

/* Each has a name, none twice */
static void test_table(void)
{
	static const struct {
		int driver;
		unsigned int nr;
		const char *name;
	} rows[] = {
#define GT_IOCTL(driver, nr, what, name) { GT_IOCTL_BY_##driver, nr, name },
#include "../../backend/lib/ioctl_names.def"
	};
	unsigned int n = sizeof(rows) / sizeof(rows[0]), twice = 0, outside = 0;

	for (unsigned int i = 0; i < n; i++) {
		bool own = rows[i].driver >= GT_IOCTL_FIRST_DRM;

		outside += own != (rows[i].nr >= 0x40 && rows[i].nr < 0xa0) &&
			   rows[i].driver != GT_IOCTL_BY_KFD &&
			   rows[i].driver != GT_IOCTL_BY_NVIDIA;
		for (unsigned int k = 0; k < i; k++)
			twice += rows[i].driver == rows[k].driver &&
				 (rows[i].nr == rows[k].nr || !strcmp(rows[i].name, rows[k].name));
	}
	ok(n > 300, "%u commands", n);
	is(twice, 0, "none twice");
	is(outside, 0, "a driver's are between 0x40 and 0x9f");
}

static struct gi_queues qs;

static void test_queues(void)
{
	struct gi_queue *q;
	uint32_t id;
	bool found = true;

	is(gi_queues_init(&qs), 0, "queues");
	ok(!gi_queue_find(&qs, 1, 500, 7), "there is none");
	q = gi_queue_new(&qs, 1, 500, 7, 77, 0);
	id = gi_queue_id(&qs, q);
	ok(gi_queue_find(&qs, 1, 500, 7) == q, "there is one");
	ok(!gi_queue_find(&qs, 1, 501, 7) && !gi_queue_find(&qs, 2, 500, 7) &&
		   !gi_queue_find(&qs, 1, 500, 8),
	   "of that process, device and number");
	ok(gi_queue_id(&qs, gi_queue_new(&qs, 1, 500, 8, 77, 0)) != id, "another has another id");
	ok(gi_queue_first(&qs, GI_BY_OWNER, 500) != q &&
		   gi_queue_next(&qs, GI_BY_OWNER, gi_queue_first(&qs, GI_BY_OWNER, 500)) == q &&
		   !gi_queue_next(&qs, GI_BY_OWNER, q),
	   "both are that process's");
	ok(gi_queue_next(&qs, GI_BY_PID, gi_queue_first(&qs, GI_BY_PID, 77)) == q,
	   "and were made by one");
	gi_queue_end(&qs, gi_queue_find(&qs, 1, 500, 8));
	gi_queue_end(&qs, q);
	ok(!gi_queue_find(&qs, 1, 500, 7), "it has ended");
	is(gi_queue_id(&qs, gi_queue_new(&qs, 1, 500, 9, 77, 0)), id, "its id is used again");
	gi_queue_end(&qs, gi_queue_find(&qs, 1, 500, 9));
	for (uint32_t i = 0; i < GI_QUEUES; i++)
		found &= gi_queue_new(&qs, 1, i, i & 7, 77, 0) != NULL;
	for (uint32_t i = 0; i < GI_QUEUES; i++)
		found &= gi_queue_find(&qs, 1, i, i & 7) &&
			 gi_queue_find(&qs, 1, i, i & 7)->owner == i;
	ok(found, "as many as there is room for");
	ok(!gi_queue_new(&qs, 2, 1, 1, 77, 0), "and no more");
	for (uint32_t i = 0; i < GI_QUEUES; i++)
		gi_queue_end(&qs, gi_queue_find(&qs, 1, i, i & 7));
	found = false;
	for (uint32_t i = 0; i < 4096; i++)
		found |= qs.head[i] || qs.list[GI_BY_PID][i] || qs.list[GI_BY_OWNER][i];
	ok(!found, "all can end");
	gi_queues_free(&qs);
}

/* What one user takes, others have left over */
static void test_share(void)
{
	uint32_t n = 0;

	memset(&qs, 0, sizeof(qs));
	gi_queues_init(&qs);
	while (n < GI_QUEUES && gi_queue_new(&qs, 1, 500, n, 77, 1001))
		n++;
	is(n, GI_USER_QUEUES, "a user has a share");
	ok(gi_queue_new(&qs, 1, 501, 0, 77, 1002) && gi_queue_find(&qs, 1, 500, 0),
	   "another one, too");
	gi_queue_end(&qs, gi_queue_find(&qs, 1, 500, 7));
	ok(gi_queue_new(&qs, 1, 500, n, 77, 1001) && !gi_queue_new(&qs, 1, 500, n + 1, 77, 1001),
	   "an end makes room for one");
	for (n = 0; gi_queue_new(&qs, 1, 502, n, 77, 10000 + n); n++)
		;
	is(n, GI_USERS - 2, "for so many users");
	gi_queues_free(&qs);
}

/* The numbers are read from memory that their owner writes: they are not to meet on purpose. */
static void test_salt(void)
{
	uint32_t head[2][4096];

	for (int i = 0; i < 2; i++) {
		memset(&qs, 0, sizeof(qs));
		gi_queues_init(&qs);
		for (uint32_t n = 0; n < 32; n++)
			gi_queue_new(&qs, 1, 500, n, 77, 0);
		memcpy(head[i], qs.head, sizeof(head[i]));
		gi_queues_free(&qs);
	}
	ok(memcmp(head[0], head[1], sizeof(head[0])) != 0, "nobody foresees where one is");
}

/* What programs report of queues -------------------------------------------------------------- */

static struct {
	unsigned int n, type[GT_TYPE_END];
	union gt_record last[GT_TYPE_END];
} pushed;

static void take(struct gt_plugin *p, const union gt_record *r, size_t n)
{
	for (size_t i = 0; i < n; i++, pushed.n++) {
		pushed.type[r[i].ev.type]++;
		pushed.last[r[i].ev.type] = r[i];
	}
}

static const struct gt_host host = { .push = take };
static struct gt_plugin plugin = { .host = &host };
static struct gb backend = { .p = &plugin };
static struct gi gi;
static uint32_t alive; /* the only process that is there: pid and number alike */

static uint32_t owner(struct gi *g, uint32_t pid, bool make)
{
	return pid == alive || make ? pid : 0;
}

static void begin_reported(void)
{
	static const struct gi_device devices[] = {
		{ .key.kind = GT_IOCTL_DRM, .gpu = 3, .here = true },
		{ .key.kind = GT_IOCTL_KFD, .gpu = GT_NONE16, .here = true },
		{ .key.kind = GT_IOCTL_KFD, .gpu = 5, .kfd_id = 77 },
	};

	memset(&gi, 0, sizeof(gi));
	gi.b = &backend;
	gi.owner = owner;
	memcpy(gi.devices.dev, devices, sizeof(devices));
	gi.devices.n = 3;
	gi_queues_init(&gi.queues);
	memset(&pushed, 0, sizeof(pushed));
}

/* Process @pid, with number @gen, says @what of queue @id of device @device; returns how many
 * records came of it */
static unsigned int says(enum gt_iq_what what, uint16_t device, uint32_t pid, uint32_t gen,
			 uint32_t id)
{
	static uint64_t now = 10 * GI_SWEEP_NS;
	unsigned int before = pushed.n;
	struct gt_bpf_queue r;

	memset(&r, 0xff, sizeof(r));
	r.ts = ++now;
	r.what = (uint16_t)what;
	r.device = device;
	r.owner = device ? pid : 0xffff888000001000ull;
	r.id = id;
	r.kfd_id = device && what == GT_IQ_CREATE ? 77 : GT_NONE32;
	r.pid = r.tid = pid;
	r.gen = gen;
	r.uid = 1001;
	gi_queue_reported(&gi, &r);
	take(&plugin, backend.ring.out, backend.ring.nout);
	backend.ring.nout = 0;
	return pushed.n - before;
}

static void test_reported(void)
{
	begin_reported();
	is(says(GT_IQ_CREATE, 1, 500, 1, 7), 2, "a queue is made, and what it is");
	is(pushed.last[GT_QUEUE_CREATE].ev.gpu, 5, "on the GPU that KFD numbers so");
	is(says(GT_IQ_CREATE, 0, 500, 1, 7), 2, "another, of a device");
	is(pushed.last[GT_QUEUE_CREATE].ev.gpu, 3, "on that one");
	is(pushed.last[GT_QUEUE].queue.queue, 2, "under another number");
	is(says(GT_IQ_CREATE, 1, 500, 1, 7), 3, "made again, the first has ended");
	is(pushed.last[GT_QUEUE_DESTROY].ev.queue, 1, "which is reported");
	is(pushed.last[GT_QUEUE_CREATE].ev.queue, 1, "and its number is the next one's");
	is(says(GT_IQ_UPDATE, 1, 501, 2, 7), 0, "another process has none");
	is(gi.unknown_queues, 1, "which is counted");
	is(says(GT_IQ_UPDATE, 1, 500, 1, 7), 2, "it is changed");
	is(says(GT_IQ_EXEC, 65535, 500, 1, 0), 1, "another program: KFD's end");
	ok(gi_queue_find(&gi.queues, 0, 0xffff888000001000ull, 7), "a device's stay");
	is(says(GT_IQ_EXIT, 65535, 500, 1, 0), 1, "until the process ends");
	is(says(GT_IQ_DESTROY, 1, 500, 1, 7), 0, "then there is none");
	says(GT_IQ_CREATE, 0, 500, 1, 7);
	says(GT_IQ_CREATE, 0, 500, 1, 8);
	says(GT_IQ_CREATE, 1, 500, 1, 7);
	is(says(GT_IQ_CLOSE, 0, 501, 0, 0), 2, "a file's end with it, whoever closes it");
	ok(gi_queue_find(&gi.queues, 1, 500, 7), "and no others");
	gi_queues_free(&gi.queues);
}

/* A process that ended unseen, and one that has its ID now */
static void test_reported_late(void)
{
	begin_reported();
	says(GT_IQ_CREATE, 1, 500, 1, 7);
	is(says(GT_IQ_UPDATE, 1, 500, 2, 7), 1, "a queue of an earlier process");
	is(pushed.last[pushed.n ? GT_QUEUE_DESTROY : 0].ev.queue, 1, "has ended");
	is(pushed.type[GT_QUEUE_UNMAP] + pushed.type[GT_QUEUE_SCHEDULE], 0, "and is not changed");
	says(GT_IQ_CREATE, 1, 500, 1, 7);
	gi.devices.dev[2].kfd_id = 78;
	is(says(GT_IQ_CREATE, 1, 500, 2, 7), 1, "nor is it one that is made on an unknown GPU");
	is(pushed.last[GT_QUEUE_DESTROY].ev.queue, 1, "it has ended as well");
	gi.devices.dev[2].kfd_id = 77;

	for (uint32_t i = 0; i < GI_USER_QUEUES; i++)
		says(GT_IQ_CREATE, 1, 600 + i % 2, 600 + i % 2, i);
	alive = 601;
	is(says(GT_IQ_CREATE, 1, 601, 601, GI_USER_QUEUES), GI_USER_QUEUES / 2 + 2,
	   "where there is no room ended processes make some");
	is(gi.queues.refused, 0, "so that none is refused");
	for (uint32_t i = 1; i <= GI_USER_QUEUES; i++)
		says(GT_IQ_CREATE, 1, 601, 601, GI_USER_QUEUES + i);
	is(gi.queues.refused, GI_USER_QUEUES / 2 + 1, "unless there is none");
	alive = 0;
	gi_sweep(&gi, 1);
	is(gi.queues.user[0].queues, 0, "what was not heard is found out");
	backend.ring.nout = 0;
	gi_queues_free(&gi.queues);
}

/* The compute driver's list of queues ------------------------------------------------------ */

static char tree[TMP_PATH_MAX];

static void run(const char *fmt, ...)
{
	char command[4096];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(command, sizeof(command), fmt, ap);
	va_end(ap);
	if (system(command))
		abort();
}

static void list_queue(int pid, int id, unsigned int gpu, unsigned int type, unsigned int size)
{
	run("d=%s/class/kfd/kfd/proc/%d/queues/%d; mkdir -p $d && printf %u >$d/gpuid && "
	    "printf %u >$d/type && printf %u >$d/size",
	    tree, pid, id, gpu, type, size);
}

/* How many records come of a look at it */
static unsigned int look(void)
{
	unsigned int before = pushed.n;

	gi_kfd_look(&gi, tree, 1000);
	take(&plugin, backend.ring.out, backend.ring.nout);
	backend.ring.nout = 0;
	return pushed.n - before;
}

static const struct gt_queue_desc *last_desc(void)
{
	return &pushed.last[GT_QUEUE].queue;
}

static void test_list(void)
{
	int pid = (int)getpid();

	begin_reported();
	if (!tmp_dir(tree, "gt-kfd"))
		abort();
	is(look(), 0, "there is no list");
	list_queue(pid, 0, 77, 5, 4096);
	is(look(), 2, "a queue that was made before");
	ok(last_desc()->gpu == 5 && last_desc()->pid == (uint32_t)pid &&
		   last_desc()->uid == getuid() && last_desc()->kind == GT_QUEUE_SDMA &&
		   last_desc()->engine == GT_ENGINE_COPY && last_desc()->size == 4096,
	   "its place, owner and kind");
	is(pushed.last[GT_QUEUE_CREATE].ev.flags, GT_F_INFERRED, "its creation was not seen");
	is(look(), 0, "is found once");
	is(says(GT_IQ_CREATE, 1, (uint32_t)pid, (uint32_t)pid, 0), 1,
	   "its creation is reported afterwards");
	is(last_desc()->queue, 1, "of that one");
	is(says(GT_IQ_CREATE, 1, (uint32_t)pid, (uint32_t)pid, 0), 3, "again, it is another");

	list_queue(pid, 3, 78, 0, 4096);	/* of no GPU */
	list_queue(0x7fffffff, 4, 77, 0, 4096); /* of nobody */
	run("cd %s/class/kfd/kfd/proc && mkdir -p x/queues/1 %d/queues/x %d/queues/9 && "
	    "cp -r %d/queues/0 %d/queues/-1 && echo x >%d/queues/9/gpuid && mkdir -p %d/queues/8 "
	    "&& "
	    "printf 99999999999999999999 >%d/queues/8/gpuid",
	    tree, pid, pid, pid, pid, pid, pid, pid);
	is(look(), 0, "what means nothing is none");
	list_queue(pid, 1, 77, 0, 8192);
	run("rm -r %s/class/kfd/kfd/proc/%d/queues/0", tree, pid);
	is(look(), 3, "one comes, one goes");
	is(pushed.last[GT_QUEUE_DESTROY].ev.queue, 1, "that is not in the list any more");
	ok(last_desc()->queue == 2 && last_desc()->kind == GT_QUEUE_COMPUTE, "the other is");
	says(GT_IQ_CREATE, 0, 500, 1, 7);
	run("rm -r %s/class/kfd/kfd/proc/%d", tree, pid);
	is(look(), 1, "all of a process go");
	ok(gi_queue_find(&gi.queues, 0, 0xffff888000001000ull, 7),
	   "a device's are not in the list");
	gi_kfd_look(&gi, "/nowhere", 1000);
	says(GT_IQ_CREATE, 1, (uint32_t)pid, (uint32_t)pid, 5);
	run("rm -r %s", tree);
	is(look(), 0, "where there is no list nothing ends by it");
	gi_queues_free(&gi.queues);
}

int main(void)
{
	test_names();
	test_what();
	test_table();
	test_queues();
	test_share();
	test_salt();
	test_reported();
	test_reported_late();
	test_list();
	return done_testing();
}
