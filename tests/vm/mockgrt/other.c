// SPDX-License-Identifier: GPL-2.0
/*
 * A scheduler with the tracepoints' names and other arguments, as a vendor's kernel may have it.
 * Whoever takes these for the real ones follows numbers as pointers. It is loaded in the place of
 * gpu-sched; a number written to its parameter `fire` fires each so many times.
 */
#include <linux/module.h>
#include <linux/moduleparam.h>

#define CREATE_TRACE_POINTS
#include "trace_other.h"

static int fire(const char *text, const struct kernel_param *kp)
{
	struct drm_sched_entity entity = { .number = { 1, 2, 3, 4 } };
	struct drm_sched_job job = { 1, { 2, 3 }, (void *)4, (void *)5 };
	unsigned int n;
	int r = kstrtouint(text, 0, &n);

	for (unsigned int i = 0; !r && i < n; i++) {
		trace_drm_sched_job(&entity, &job);
		trace_drm_run_job(&job);
		trace_drm_sched_process_job(i);
#ifndef OTHER_OLD
		trace_drm_sched_job_queue(&job, &entity);
		trace_drm_sched_job_run(&job, i);
		trace_drm_sched_job_done(&entity);
#endif
	}
	return r;
}

static const struct kernel_param_ops fire_ops = { .set = fire };
module_param_cb(fire, &fire_ops, NULL, 0200);
MODULE_PARM_DESC(fire, "write a number: each tracepoint is fired so many times");

static int __init other_init(void)
{
	return 0;
}

static void __exit other_exit(void)
{
}

module_init(other_init);
module_exit(other_exit);
MODULE_DESCRIPTION("Tracepoints of the GPU scheduler's names with other arguments");
MODULE_LICENSE("GPL");
