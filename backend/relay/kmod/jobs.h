/* SPDX-License-Identifier: GPL-2.0 */
/* Jobs in flight: who submitted them and when, and which source has reported which step. */
#ifndef GRT_JOBS_H
#define GRT_JOBS_H

#ifdef __KERNEL__
#include <linux/types.h>
#endif
#include "format.h"

#define GRT_JOB_WAYS 8
#define GRT_JOB_BITS 10
#define GRT_JOB_SETS (1 << GRT_JOB_BITS)
#define GRT_JOB_OLD  60000000000ull /* a job of this age makes room for another */

/* Who reported an event; it distinguishes two that report the same step of a job */
enum grt_source {
	GRT_SRC_NONE,
	GRT_SRC_SCHED,	   /* drm_sched_job, drm_run_job, drm_sched_process_job */
	GRT_SRC_SCHED_NEW, /* Linux 6.17's names */
	GRT_SRC_AMDGPU,
	GRT_SRC_I915,
	GRT_SRC_VIRTIO,
	GRT_SRC_FENCE,
	GRT_SRC_DRIVER, /* a driver's call */
};

enum grt_step { GRT_STEP_SUBMIT, GRT_STEP_COMMIT, GRT_STEP_COMPLETE, GRT_STEPS };

/**
 * struct grt_job - one, in flight or just ended
 * @key: context and number; 0 is free, GRT_JOB_BUSY is being filled
 * @ring: of which ring; the same context and number on two rings are two jobs
 * @submit: when, ns; 0: its submission was not seen
 * @commit: likewise; of a job of which the SUBMIT was not seen, when it was seen first
 * @pid: who submitted it
 * @tid: which thread
 * @uid: of the owner
 * @reported: by which source, of each step; 0: it has not come
 */
struct grt_job {
	u64 key;
	u64 submit, commit;
	u32 pid, tid, uid;
	u16 ring;
	u8 reported[GRT_STEPS];
} __attribute__((aligned(64)));

#define GRT_JOB_BUSY (~0ull)

/**
 * struct grt_jobs - the table, without locks: a job's steps come one after the other
 * @job: sets of ways
 */
struct grt_jobs {
	struct grt_job job[GRT_JOB_SETS][GRT_JOB_WAYS];
};

struct grt_job *grt_job_find(struct grt_jobs *t, u32 ring, u64 ctx, u64 seqno);
struct grt_job *grt_job_new(struct grt_jobs *t, u32 ring, u64 ctx, u64 seqno, u64 now, bool begins);
bool grt_job_twice(const struct grt_job *j, enum grt_step step, u8 source);
void grt_job_reported(struct grt_job *j, enum grt_step step, u8 source);

#endif
