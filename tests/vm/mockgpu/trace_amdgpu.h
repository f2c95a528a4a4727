/* SPDX-License-Identifier: GPL-2.0 */
/*
 * amdgpu's tracepoints of a job as Linux 6.1 and 6.12 have them, fields and text alike
 * (drivers/gpu/drm/amd/amdgpu/amdgpu_trace.h there).
 */
/* The macros of a trace header are no C: */
/* clang-format off */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM amdgpu

#if !defined(TRACE_AMDGPU_H) || defined(TRACE_HEADER_MULTI_READ)
#define TRACE_AMDGPU_H

#include <linux/tracepoint.h>
#include "compat.h"

#ifndef MOCK_AMDGPU_JOB
#define MOCK_AMDGPU_JOB
/* As amdgpu's own begins: who hooks these tracepoints compares types */
struct amdgpu_job {
	struct drm_sched_job base;
};
#endif

TRACE_EVENT(amdgpu_cs_ioctl,
	TP_PROTO(struct amdgpu_job *job),
	TP_ARGS(job),
	TP_STRUCT__entry(
		__field(uint64_t, sched_job_id)
		__string(timeline, job->base.sched->name)
		__field(unsigned int, context)
		__field(unsigned int, seqno)
		__field(struct dma_fence *, fence)
		__string(ring, job->base.sched->name)
		__field(u32, num_ibs)
	),
	TP_fast_assign(
		__entry->sched_job_id = mock_job_id(&job->base);
		mock_assign_str(timeline, job->base.sched->name);
		__entry->context = job->base.s_fence->finished.context;
		__entry->seqno = job->base.s_fence->finished.seqno;
		__entry->fence = &job->base.s_fence->finished;
		mock_assign_str(ring, job->base.sched->name);
		__entry->num_ibs = 1;
	),
	TP_printk("sched_job=%llu, timeline=%s, context=%u, seqno=%u, ring_name=%s, num_ibs=%u",
		  __entry->sched_job_id, __get_str(timeline), __entry->context, __entry->seqno,
		  __get_str(ring), __entry->num_ibs)
);

TRACE_EVENT(amdgpu_sched_run_job,
	TP_PROTO(struct amdgpu_job *job),
	TP_ARGS(job),
	TP_STRUCT__entry(
		__field(uint64_t, sched_job_id)
		__string(timeline, job->base.sched->name)
		__field(unsigned int, context)
		__field(unsigned int, seqno)
		__string(ring, job->base.sched->name)
		__field(u32, num_ibs)
	),
	TP_fast_assign(
		__entry->sched_job_id = mock_job_id(&job->base);
		mock_assign_str(timeline, job->base.sched->name);
		__entry->context = job->base.s_fence->finished.context;
		__entry->seqno = job->base.s_fence->finished.seqno;
		mock_assign_str(ring, job->base.sched->name);
		__entry->num_ibs = 1;
	),
	TP_printk("sched_job=%llu, timeline=%s, context=%u, seqno=%u, ring_name=%s, num_ibs=%u",
		  __entry->sched_job_id, __get_str(timeline), __entry->context, __entry->seqno,
		  __get_str(ring), __entry->num_ibs)
);

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace_amdgpu
#include <trace/define_trace.h>
