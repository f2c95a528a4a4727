// SPDX-License-Identifier: GPL-2.0
/* amdgpu's events of a job, for the mock's jobs. Not to be loaded beside amdgpu itself. */
#include <linux/module.h>

#define CREATE_TRACE_POINTS
#include "trace_amdgpu.h"

static void queue(struct drm_sched_job *job, struct drm_sched_entity *entity)
{
	trace_amdgpu_cs_ioctl((struct amdgpu_job *)job);
}

static void run(struct drm_sched_job *job, struct drm_sched_entity *entity)
{
	trace_amdgpu_sched_run_job((struct amdgpu_job *)job);
}

static struct mockgpu_hooks hooks = { .queue = queue, .run = run };

static int __init amdgpu_init(void)
{
	mockgpu_add_hooks(&hooks);
	return 0;
}

static void __exit amdgpu_exit(void)
{
	mockgpu_del_hooks(&hooks);
}

module_init(amdgpu_init);
module_exit(amdgpu_exit);
MODULE_DESCRIPTION("amdgpu's tracepoints for the mock GPU");
MODULE_LICENSE("GPL");
