/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What bpf/nvidia.bpf.c sends to backend/bpf/nvidia_rm.c: the same 64 bytes as a record, of a layout of
 * its own; and NVIDIA's numbers that both need. Those are from NVIDIA/open-gpu-kernel-modules, MIT:
 * nvos.h, nv_escape.h, class/, ctrl/ctrla06c.h, ctrl/ctrlc36f.h, ctrl/ctrl0000/ctrl0000gpu.h.
 */
#ifndef GT_BPF_NVIDIA_H
#define GT_BPF_NVIDIA_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

enum gt_nv_kind {
	/* hooks of the patched module; layout gt_bpf_nv.hook, or .token */
	GT_NV_INIT = 1,
	GT_NV_BIND,
	GT_NV_TOKEN,
	GT_NV_DESTROY,
	/* calls of the resource manager (RM) that succeeded; layout gt_bpf_nv.rm */
	GT_NV_CLIENT,  /* @file: that it came by */
	GT_NV_DEVICE,  /* @parent; @value: number of the GPU among this machine's, as RM counts */
	GT_NV_GROUP,   /* a TSG; @parent; @value: engine, as NV2080_ENGINE_TYPE_* */
	GT_NV_CHANNEL, /* @parent */
	GT_NV_FREE,
	GT_NV_SCHEDULE,	  /* of a TSG or a channel of it; @value: on; @status */
	GT_NV_TIMESLICE,  /* @value: us */
	GT_NV_INTERLEAVE, /* @value: level */
	GT_NV_INFO,	  /* @value: the TSG's number on its runlist */
	GT_NV_RM_TOKEN,	  /* of a channel; @value: token */
	GT_NV_GPU_ID,	  /* @number: of the GPU as in GT_NV_DEVICE; @value: GPU id */
	GT_NV_ENTER, /* a call begins in which hooks may run; @parent; @value: what it will be */
	/* the rest has @gen, and what is said */
	GT_NV_CLOSE, /* a file has gone: @file */
	GT_NV_EXIT,
	GT_NV_EXEC,
	GT_NV_KINDS,
};

/** struct gt_nv_file - which opened file, by its address in the kernel, in halves */
struct gt_nv_file {
	uint32_t low, high;
};

/**
 * struct gt_bpf_nv - one of enum gt_nv_kind
 * @type: not GT_LOST; @flags: part, see shared.h
 * @pid, @tid, @uid, @comm: who did it
 * @hook: as the hook's struct says, clamped; all ones: not known
 * @rm.object: handle in @rm.client; @rm.parent: likewise; @rm.status: RM's answer
 * @rm.gen: distinguishes processes with the same pid, 0 not known
 */
struct gt_bpf_nv {
	uint64_t ts;
	uint8_t type;
	uint8_t flags;
	uint16_t cpu;
	uint16_t kind;
	uint16_t reserved;
	uint32_t pid, tid, uid;
	union {
		struct {
			uint32_t tsg, runlist, channels, timeslice;
			uint8_t interleave, allow;
			uint16_t engine;
		} hook;
		struct {
			uint32_t tsg, channel, token;
		} token;
		struct {
			uint32_t client, object;
			union {
				struct {
					union {
						uint32_t parent, status, number;
					};
					uint32_t value;
				};
				struct gt_nv_file file;
			};
			uint32_t gen;
		} rm;
	};
	char comm[16];
};
static_assert(sizeof(struct gt_bpf_nv) == 64, "as a record");
static_assert(offsetof(struct gt_bpf_nv, comm) == 48, "no hole");

#endif
