/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The scheduler's tracepoints as Linux 6.17 has them, fields and text alike (torvalds/linux
 * @45215c589e7f, drivers/gpu/drm/scheduler/gpu_scheduler_trace.h), for kernels that do not.
 */
/* The macros of a trace header are no C: */
/* clang-format off */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM gpu_scheduler

#if !defined(TRACE_NAMES_H) || defined(TRACE_HEADER_MULTI_READ)
#define TRACE_NAMES_H

#include <linux/tracepoint.h>
#include "compat.h"

DECLARE_EVENT_CLASS(mock_names_job,
	TP_PROTO(struct drm_sched_job *job, struct drm_sched_entity *entity),
	TP_ARGS(job, entity),
	TP_STRUCT__entry(
		__string(name, job->sched->name)
		__field(u32, job_count)
		__field(int, hw_job_count)
		__string(dev, dev_name(job->sched->dev))
		__field(u64, fence_context)
		__field(u64, fence_seqno)
		__field(u64, client_id)
	),
	TP_fast_assign(
		mock_assign_str(name, job->sched->name);
		__entry->job_count = spsc_queue_count(&entity->job_queue);
		__entry->hw_job_count = mock_hw_count(job->sched);
		mock_assign_str(dev, dev_name(job->sched->dev));
		__entry->fence_context = job->s_fence->finished.context;
		__entry->fence_seqno = job->s_fence->finished.seqno;
		__entry->client_id = mockgpu_client_id(job);
	),
	TP_printk("dev=%s, fence=%llu:%llu, ring=%s, job count:%u, hw job count:%d, client_id:%llu",
		  __get_str(dev), __entry->fence_context, __entry->fence_seqno, __get_str(name),
		  __entry->job_count, __entry->hw_job_count, __entry->client_id)
);

DEFINE_EVENT(mock_names_job, drm_sched_job_queue,
	TP_PROTO(struct drm_sched_job *job, struct drm_sched_entity *entity),
	TP_ARGS(job, entity)
);

DEFINE_EVENT(mock_names_job, drm_sched_job_run,
	TP_PROTO(struct drm_sched_job *job, struct drm_sched_entity *entity),
	TP_ARGS(job, entity)
);

TRACE_EVENT(drm_sched_job_done,
	TP_PROTO(struct drm_sched_fence *fence),
	TP_ARGS(fence),
	TP_STRUCT__entry(
		__field(u64, fence_context)
		__field(u64, fence_seqno)
	),
	TP_fast_assign(
		__entry->fence_context = fence->finished.context;
		__entry->fence_seqno = fence->finished.seqno;
	),
	TP_printk("fence=%llu:%llu signaled", __entry->fence_context, __entry->fence_seqno)
);

TRACE_EVENT(drm_sched_job_add_dep,
	TP_PROTO(struct drm_sched_job *job, struct dma_fence *fence),
	TP_ARGS(job, fence),
	TP_STRUCT__entry(
		__field(u64, fence_context)
		__field(u64, fence_seqno)
		__field(u64, ctx)
		__field(u64, seqno)
	),
	TP_fast_assign(
		__entry->fence_context = job->s_fence->finished.context;
		__entry->fence_seqno = job->s_fence->finished.seqno;
		__entry->ctx = fence->context;
		__entry->seqno = fence->seqno;
	),
	TP_printk("fence=%llu:%llu depends on fence=%llu:%llu", __entry->fence_context,
		  __entry->fence_seqno, __entry->ctx, __entry->seqno)
);

TRACE_EVENT(drm_sched_job_unschedulable,
	TP_PROTO(struct drm_sched_job *job, struct dma_fence *fence),
	TP_ARGS(job, fence),
	TP_STRUCT__entry(
		__field(u64, fence_context)
		__field(u64, fence_seqno)
		__field(u64, ctx)
		__field(u64, seqno)
	),
	TP_fast_assign(
		__entry->fence_context = job->s_fence->finished.context;
		__entry->fence_seqno = job->s_fence->finished.seqno;
		__entry->ctx = fence->context;
		__entry->seqno = fence->seqno;
	),
	TP_printk("fence=%llu:%llu depends on unsignalled fence=%llu:%llu", __entry->fence_context,
		  __entry->fence_seqno, __entry->ctx, __entry->seqno)
);

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace_names
#include <trace/define_trace.h>
