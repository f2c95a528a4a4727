/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The scheduler's tracepoints by their names and with their fields up to Linux 6.16, for kernels
 * that have those of trace_names.h. The id of a job, which a ring counted there, is its fence's number.
 */
/* The macros of a trace header are no C: */
/* clang-format off */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM gpu_scheduler

#if !defined(TRACE_OLD_H) || defined(TRACE_HEADER_MULTI_READ)
#define TRACE_OLD_H

#include <linux/tracepoint.h>
#include "compat.h"

DECLARE_EVENT_CLASS(mock_old_job,
	TP_PROTO(struct drm_sched_job *job, struct drm_sched_entity *entity),
	TP_ARGS(job, entity),
	TP_STRUCT__entry(
		__field(struct drm_sched_entity *, entity)
		__field(struct dma_fence *, fence)
		__string(name, job->sched->name)
		__field(u64, id)
		__field(u32, job_count)
		__field(int, hw_job_count)
	),
	TP_fast_assign(
		__entry->entity = entity;
		__entry->fence = &job->s_fence->finished;
		mock_assign_str(name, job->sched->name);
		__entry->id = job->s_fence->finished.seqno;
		__entry->job_count = spsc_queue_count(&entity->job_queue);
		__entry->hw_job_count = mock_hw_count(job->sched);
	),
	TP_printk("entity=%p, id=%llu, fence=%p, ring=%s, job count:%u, hw job count:%d",
		  __entry->entity, __entry->id, __entry->fence, __get_str(name),
		  __entry->job_count, __entry->hw_job_count)
);

DEFINE_EVENT(mock_old_job, drm_sched_job,
	TP_PROTO(struct drm_sched_job *job, struct drm_sched_entity *entity),
	TP_ARGS(job, entity)
);

DEFINE_EVENT(mock_old_job, drm_run_job,
	TP_PROTO(struct drm_sched_job *job, struct drm_sched_entity *entity),
	TP_ARGS(job, entity)
);

TRACE_EVENT(drm_sched_process_job,
	TP_PROTO(struct drm_sched_fence *fence),
	TP_ARGS(fence),
	TP_STRUCT__entry(
		__field(struct dma_fence *, fence)
	),
	TP_fast_assign(
		__entry->fence = &fence->finished;
	),
	TP_printk("fence=%p signaled", __entry->fence)
);

TRACE_EVENT(drm_sched_job_wait_dep,
	TP_PROTO(struct drm_sched_job *job, struct dma_fence *fence),
	TP_ARGS(job, fence),
	TP_STRUCT__entry(
		__string(name, job->sched->name)
		__field(u64, id)
		__field(struct dma_fence *, fence)
		__field(u64, ctx)
		__field(unsigned int, seqno)
	),
	TP_fast_assign(
		mock_assign_str(name, job->sched->name);
		__entry->id = job->s_fence->finished.seqno;
		__entry->fence = fence;
		__entry->ctx = fence->context;
		__entry->seqno = fence->seqno;
	),
	TP_printk("job ring=%s, id=%llu, depends fence=%p, context=%llu, seq=%u", __get_str(name),
		  __entry->id, __entry->fence, __entry->ctx, __entry->seqno)
);

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace_old
#include <trace/define_trace.h>
