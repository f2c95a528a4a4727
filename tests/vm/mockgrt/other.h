/* SPDX-License-Identifier: GPL-2.0 */
/* Structures with the names of the GPU scheduler's, as another version of it might have them. */
#ifndef OTHER_H
#define OTHER_H

struct drm_sched_fence;
struct drm_gpu_scheduler;

struct drm_sched_entity {
	unsigned long number[4];
};

struct drm_sched_job {
	unsigned long priority;
	unsigned long number[2];
	struct drm_sched_fence *s_fence;
	struct drm_gpu_scheduler *sched;
};

#endif
