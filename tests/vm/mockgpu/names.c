// SPDX-License-Identifier: GPL-2.0
/* Linux 6.17's events of the scheduler, for the mock's jobs, in the same place as the old ones. */
#include <linux/module.h>

#define CREATE_TRACE_POINTS
#include "trace_names.h"

static void queue(struct drm_sched_job *job, struct drm_sched_entity *entity)
{
	struct dma_fence *fence;
	unsigned long i;

	trace_drm_sched_job_queue(job, entity);
	if (trace_drm_sched_job_add_dep_enabled())
		xa_for_each(&job->dependencies, i, fence)
			trace_drm_sched_job_add_dep(job, fence);
}

static void run(struct drm_sched_job *job, struct drm_sched_entity *entity)
{
	trace_drm_sched_job_run(job, entity);
}

static void done(struct drm_sched_fence *fence)
{
	trace_drm_sched_job_done(fence);
}

static void wait(struct drm_sched_job *job, struct dma_fence *fence)
{
	trace_drm_sched_job_unschedulable(job, fence);
}

static struct mockgpu_hooks hooks = { .queue = queue, .run = run, .done = done, .wait = wait };

static int __init names_init(void)
{
	mockgpu_add_hooks(&hooks);
	return 0;
}

static void __exit names_exit(void)
{
	mockgpu_del_hooks(&hooks);
}

module_init(names_init);
module_exit(names_exit);
MODULE_DESCRIPTION("The GPU scheduler's newer tracepoints for the mock GPU");
MODULE_LICENSE("GPL");
