/* SPDX-License-Identifier: GPL-2.0 */
/* What the events of names.c and amdgpu.c need, whatever the kernel's version. */
#ifndef MOCKGPU_COMPAT_H
#define MOCKGPU_COMPAT_H

#include "mockgpu.h"

/* Later kernels remember the string from TP_STRUCT__entry */
#ifdef HAVE_ASSIGN_STR_SRC
#define mock_assign_str(to, from) __assign_str(to, from)
#else
#define mock_assign_str(to, from) __assign_str(to)
#endif

#ifdef HAVE_JOB_ID
#define mock_job_id(job) ((job)->id)
#else
#define mock_job_id(job) 0
#endif

/** mock_hw_count() - jobs that the hardware has: a credit each */
static inline int mock_hw_count(struct drm_gpu_scheduler *sched)
{
#ifdef HAVE_CREDIT_COUNT
	return atomic_read(&sched->credit_count);
#else
	return atomic_read(&sched->hw_rq_count);
#endif
}

#endif
