// SPDX-License-Identifier: GPL-2.0
/* The scheduler's events up to Linux 6.16, for the mock's jobs, in the same place as the new ones.
 */
#include <linux/module.h>

#define CREATE_TRACE_POINTS
#include "trace_old.h"

static void queue(struct drm_sched_job *job, struct drm_sched_entity *entity)
{
	trace_drm_sched_job(job, entity);
}

static void run(struct drm_sched_job *job, struct drm_sched_entity *entity)
{
	trace_drm_run_job(job, entity);
}

static void done(struct drm_sched_fence *fence)
{
	trace_drm_sched_process_job(fence);
}

static void wait(struct drm_sched_job *job, struct dma_fence *fence)
{
	trace_drm_sched_job_wait_dep(job, fence);
}

static struct mockgpu_hooks hooks = { .queue = queue, .run = run, .done = done, .wait = wait };

static int __init old_init(void)
{
	mockgpu_add_hooks(&hooks);
	return 0;
}

static void __exit old_exit(void)
{
	mockgpu_del_hooks(&hooks);
}

module_init(old_init);
module_exit(old_exit);
MODULE_DESCRIPTION("The GPU scheduler's older tracepoints for the mock GPU");
MODULE_LICENSE("GPL");
