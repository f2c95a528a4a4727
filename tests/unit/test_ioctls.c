/* SPDX-License-Identifier: GPL-2.0 */
/* Names of ioctls against the headers that define them, and the queues that ioctls make. */
#include <libdrm/amdgpu_drm.h>
#include <libdrm/i915_drm.h>
#include <libdrm/msm_drm.h>
#include <libdrm/virtgpu_drm.h>
#include <stdio.h>

#include "../../backend/bpf/ioctl/internal.h"
#include "../lib/tap.h"

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
	ok(!gt_ioctl_name("mockgpu", DRM_IOCTL_AMDGPU_CS), "a driver that is not known has none");
	ok(!gt_ioctl_name(NULL, DRM_IOCTL_AMDGPU_CS), "nor one that is not told");
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
#include "../../backend/ioctls.def"
	};
	unsigned int n = sizeof(rows) / sizeof(rows[0]), twice = 0, outside = 0;

	for (unsigned int i = 0; i < n; i++) {
		bool own = rows[i].driver >= GT_IOCTL_FIRST_DRM;

		outside += own != (rows[i].nr >= 0x40 && rows[i].nr < 0xa0) &&
			   rows[i].driver != GT_IOCTL_BY_KFD;
		for (unsigned int k = 0; k < i; k++)
			twice += rows[i].driver == rows[k].driver &&
				 (rows[i].nr == rows[k].nr || !strcmp(rows[i].name, rows[k].name));
	}
	ok(n > 300, "%u commands", n);
	is(twice, 0, "none twice");
	is(outside, 0, "a driver's are between 0x40 and 0x9f");
}

static void test_queues(void)
{
	static struct gi_queues qs;
	struct gi_queue *q;
	uint32_t id;
	bool found = true;

	is(gi_queues_init(&qs), 0, "queues");
	ok(!gi_queue_find(&qs, 1, 500, 7), "there is none");
	q = gi_queue_new(&qs, 1, 500, 7);
	id = q->id;
	ok(gi_queue_find(&qs, 1, 500, 7) == q, "there is one");
	ok(!gi_queue_find(&qs, 1, 501, 7) && !gi_queue_find(&qs, 2, 500, 7) &&
		   !gi_queue_find(&qs, 1, 500, 8),
	   "of that process, device and number");
	ok(gi_queue_new(&qs, 1, 500, 7)->id != id, "made again it is another");
	gi_queue_end(&qs, gi_queue_find(&qs, 1, 500, 7));
	ok(!gi_queue_find(&qs, 1, 500, 7), "that has ended");
	for (uint32_t i = 0; i < GI_QUEUES; i++)
		gi_queue_new(&qs, 1, i, i & 7);
	for (uint32_t i = 0; i < GI_QUEUES; i++)
		found &= gi_queue_find(&qs, 1, i, i & 7) &&
			 gi_queue_find(&qs, 1, i, i & 7)->owner == i;
	ok(found, "as many as there is room for");
	is(qs.pushed_out, 0, "none had to go");
	for (uint32_t i = 0; i < 100; i++)
		gi_queue_new(&qs, 2, i, 0);
	is(qs.pushed_out, 100, "more push out others");
	found = true;
	for (uint32_t i = 0; i < 100; i++)
		found &= gi_queue_find(&qs, 2, i, 0) != NULL;
	ok(found, "and are there");
	for (uint32_t i = 0; i < GI_QUEUES; i++) {
		q = gi_queue_find(&qs, 1, i, i & 7);
		if (q)
			gi_queue_end(&qs, q);
	}
	for (uint32_t i = 0; i < 100; i++)
		gi_queue_end(&qs, gi_queue_find(&qs, 2, i, 0));
	found = false;
	for (uint32_t i = 0; i < 4096; i++)
		found |= qs.head[i];
	ok(!found, "all can end");
	gi_queues_free(&qs);
}

int main(void)
{
	test_names();
	test_what();
	test_table();
	test_queues();
	return done_testing();
}
