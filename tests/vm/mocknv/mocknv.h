/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The structs that NVIDIA's driver takes from programs (nvos.h, cl0080.h, ctrla06c.h, ctrlc36f.h of
 * NVIDIA/open-gpu-kernel-modules) and those it hands to its hooks (nv-gpu-sched-hooks.h of
 * eunomia-bpf/gpu_ext-kernel-modules), as far as the mock knows them.
 */
#ifndef MOCKNV_H
#define MOCKNV_H

#include <linux/types.h>

#define NV_MAJOR      195
#define NV_RM_FREE    0x29
#define NV_RM_CONTROL 0x2a
#define NV_RM_ALLOC   0x2b
#define NV_XFER_CMD   0xd3

#define NV_OK		      0x0
#define NV_ERR_BUSY_RETRY     0x3
#define NV_ERR_INVALID_CLIENT 0x23
#define NV_ERR_INVALID_OBJECT 0x31
#define NV_ERR_NOT_SUPPORTED  0x56

#define NV01_ROOT_CLIENT       0x41
#define NV01_DEVICE_0	       0x80
#define KEPLER_CHANNEL_GROUP_A 0xa06c

struct nv_xfer {
	u32 cmd, size;
	u64 arg;
};

/* NVOS00 */
struct nv_free {
	u32 client, parent, object, status;
};

/* NVOS21 and NVOS64: what follows params depends on the size */
struct nv_alloc {
	u32 client, parent, object, class;
	u64 params;
};

/* NVOS54 */
struct nv_control {
	u32 client, object, cmd, flags;
	u64 params;
	u32 size, status;
};

struct nv_gpu_task_init_ctx {
	u64 tsg_id;
	u32 engine_type;
	u64 default_timeslice;
	u32 default_interleave;
	u32 runlist_id;
	u64 timeslice;
	u32 interleave_level;
};

struct nv_gpu_bind_ctx {
	u64 tsg_id;
	u32 runlist_id;
	u32 channel_count;
	u64 timeslice_us;
	u32 interleave_level;
	u32 allow;
};

struct nv_gpu_token_request_ctx {
	u32 channel_id;
	u64 tsg_id;
	u32 token;
};

struct nv_gpu_task_destroy_ctx {
	u64 tsg_id;
};

#endif
