/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * What a process asks of a mock GPU: the ioctls of its render node. Shared with user space
 * (tests/tools/gpujobs.c).
 */
#ifndef MOCKGPU_DRM_H
#define MOCKGPU_DRM_H

#include <linux/ioctl.h>
#include <linux/types.h>

/** The rings of each device, by the names that amdgpu gives its schedulers; a ring's number is
 *  its place here. Only the last compute ring works on several jobs at once, so that they
 *  complete in another order than they were handed over. */
#define MOCKGPU_RINGS	       5
#define MOCKGPU_RING_UNORDERED 2
#define MOCKGPU_RING_NAMES                                                                         \
	{                                                                                          \
		"gfx_0.0.0", "comp_1.0.0", "comp_1.0.1", "sdma0", "vcn_dec_0"                      \
	}

/** How many jobs of a file can be waited for: the latest; more in flight give EBUSY */
#define MOCKGPU_MAX_JOBS 4096
/** Contexts of a file */
#define MOCKGPU_MAX_CTX 64
/** The longest job */
#define MOCKGPU_MAX_NS (60 * 1000000000ULL)

enum { MOCKGPU_CTX_CREATE, MOCKGPU_CTX_DESTROY };

/**
 * struct drm_mockgpu_ctx - makes or ends a context: a queue for each ring
 * @op: MOCKGPU_CTX_CREATE, MOCKGPU_CTX_DESTROY
 * @id: of the context; set by MOCKGPU_CTX_CREATE
 */
struct drm_mockgpu_ctx {
	__u32 op;
	__u32 id;
};

#define MOCKGPU_JOB_HANG 1 /* never ends: the scheduler's timeout does it */

/**
 * struct drm_mockgpu_submit - one job
 * @ctx: a context
 * @ring: its number in MOCKGPU_RING_NAMES
 * @length_ns: how long the hardware is to work on it
 * @flags: MOCKGPU_JOB_HANG
 * @pad: 0
 * @depends: a job of the same file that must have ended before this one starts, 0: none
 * @job: set: its number, from 1 in each file
 * @fence_context: set: of the scheduler's finished fence
 * @fence_seqno: set
 */
struct drm_mockgpu_submit {
	__u32 ctx;
	__u32 ring;
	__u64 length_ns;
	__u32 flags;
	__u32 pad;
	__u64 depends;
	__u64 job;
	__u64 fence_context;
	__u64 fence_seqno;
};

/**
 * struct drm_mockgpu_wait - waits for the end of a job, as drivers do, by dma_fence_wait_timeout()
 * @job: its number; one that is no longer known (MOCKGPU_MAX_JOBS) gives ENOENT
 * @timeout_ns: below 0: for ever; ETIME when it is over
 * @result: set: 0, or the negative errno the job ended with
 * @pad: 0
 */
struct drm_mockgpu_wait {
	__u64 job;
	__s64 timeout_ns;
	__s32 result;
	__u32 pad;
};

enum { MOCKGPU_VRAM, MOCKGPU_GTT, MOCKGPU_DOMAINS };

/**
 * struct drm_mockgpu_alloc - takes memory, or gives it back: a number only, shown in fdinfo
 * @domain: MOCKGPU_VRAM, MOCKGPU_GTT
 * @pad: 0
 * @bytes: more of it, or less (negative)
 */
struct drm_mockgpu_alloc {
	__u32 domain;
	__u32 pad;
	__s64 bytes;
};

/* 0x40: where DRM's numbers of drivers begin (DRM_COMMAND_BASE) */
#define DRM_IOCTL_MOCKGPU_CTX	 _IOWR('d', 0x40, struct drm_mockgpu_ctx)
#define DRM_IOCTL_MOCKGPU_SUBMIT _IOWR('d', 0x41, struct drm_mockgpu_submit)
#define DRM_IOCTL_MOCKGPU_WAIT	 _IOWR('d', 0x42, struct drm_mockgpu_wait)
#define DRM_IOCTL_MOCKGPU_ALLOC	 _IOWR('d', 0x43, struct drm_mockgpu_alloc)

#endif
