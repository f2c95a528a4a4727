/* SPDX-License-Identifier: GPL-2.0 */
/* Tracepoints with the names of the GPU scheduler's, and with nothing else of them. */
/* The macros of a trace header are no C: */
/* clang-format off */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM gpu_scheduler

#if !defined(TRACE_OTHER_H) || defined(TRACE_HEADER_MULTI_READ)
#define TRACE_OTHER_H

#include <linux/tracepoint.h>
#include "other.h"

/* Up to Linux 6.16: the arguments in another order, too few, and numbers */
TRACE_EVENT(drm_sched_job,
	TP_PROTO(struct drm_sched_entity *entity, struct drm_sched_job *job),
	TP_ARGS(entity, job),
	TP_STRUCT__entry(
		__array(char, name, 8)
		__field(void *, entity)
		__field(unsigned long, fence)
	),
	TP_fast_assign(
		memcpy(__entry->name, "another", 8);
		__entry->entity = entity;
		__entry->fence = entity->number[0];
	),
	TP_printk("entity=%p, name=%s, fence=%lu", __entry->entity, __entry->name, __entry->fence)
);

TRACE_EVENT(drm_run_job,
	TP_PROTO(struct drm_sched_job *job),
	TP_ARGS(job),
	TP_STRUCT__entry(__field(void *, fence)),
	TP_fast_assign(__entry->fence = job;),
	TP_printk("fence=%p", __entry->fence)
);

TRACE_EVENT(drm_sched_process_job,
	TP_PROTO(unsigned long fence),
	TP_ARGS(fence),
	TP_STRUCT__entry(__field(unsigned long, fence)),
	TP_fast_assign(__entry->fence = fence;),
	TP_printk("fence=%lu", __entry->fence)
);

#ifndef OTHER_OLD
/* From Linux 6.17 on: members elsewhere, a number of another size, and another struct */
TRACE_EVENT(drm_sched_job_queue,
	TP_PROTO(struct drm_sched_job *job, struct drm_sched_entity *entity),
	TP_ARGS(job, entity),
	TP_STRUCT__entry(__field(u64, fence_seqno)),
	TP_fast_assign(__entry->fence_seqno = job->priority;),
	TP_printk("seqno=%llu", __entry->fence_seqno)
);

TRACE_EVENT(drm_sched_job_run,
	TP_PROTO(struct drm_sched_job *job, unsigned long entity),
	TP_ARGS(job, entity),
	TP_STRUCT__entry(__field(u64, fence_seqno)),
	TP_fast_assign(__entry->fence_seqno = entity;),
	TP_printk("seqno=%llu", __entry->fence_seqno)
);

TRACE_EVENT(drm_sched_job_done,
	TP_PROTO(struct drm_sched_entity *fence),
	TP_ARGS(fence),
	TP_STRUCT__entry(__field(void *, fence_seqno)),
	TP_fast_assign(__entry->fence_seqno = fence;),
	TP_printk("seqno=%p", __entry->fence_seqno)
);
#endif

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace_other
#include <trace/define_trace.h>
