/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What programs and NVIDIA's driver say to each other, as far as it is read. From
 * NVIDIA/open-gpu-kernel-modules, MIT: numbers and layouts, which are facts. For nvidia_rm.h alone.
 */
#ifndef GT_BPF_NVIDIA_ABI_H
#define GT_BPF_NVIDIA_ABI_H

#include <stddef.h>
#include <stdint.h>

#define NV_MAJOR   195
#define NV_MODESET 254 /* its minor; its calls are others */

/* nv_escape.h, nv-ioctl-numbers.h */
#define NV_MAGIC      'F'
#define NV_RM_FREE    0x29
#define NV_RM_CONTROL 0x2a
#define NV_RM_ALLOC   0x2b
#define NV_XFER_CMD   0xd3
#define NV_SERIALIZED 0x4 /* NVOS54_FLAGS_FINN_SERIALIZED: parameters of another layout */

/* Parameters of calls: nvos.h */
struct nvos00 { /* NV_RM_FREE */
	uint32_t root, parent, object, status;
};

struct nvos54 { /* NV_RM_CONTROL */
	uint32_t client, object, cmd, flags;
	uint64_t params;
	uint32_t size, status;
};

/* NV_RM_ALLOC: NVOS21 and NVOS64 begin alike. What follows grew with the driver's versions, and the
 * status moved. */
struct alloc {
	uint32_t root, parent, object, class;
	uint64_t params;
};

struct nvos21 { /* since 535 */
	struct alloc a;
	uint32_t size, status;
};

struct nvos21_before {
	struct alloc a;
	uint32_t status;
};

struct nvos64 {
	struct alloc a;
	uint64_t rights;
	uint32_t size, flags, status;
};

struct nvos64_530 { /* since 530 */
	struct alloc a;
	uint64_t rights;
	uint32_t flags, status;
};

struct nvos64_before {
	struct alloc a;
	uint64_t rights;
	uint32_t status;
};

struct xfer { /* nv_ioctl_xfer_t, NV_XFER_CMD */
	uint32_t cmd, size;
	uint64_t arg;
};

/* What params points to, as far as it is read */
struct device_params { /* NV0080_ALLOC_PARAMETERS */
	uint32_t device;
};

struct group_params { /* NV_CHANNEL_GROUP_ALLOCATION_PARAMETERS */
	uint32_t error, ecc_error, vaspace, engine;
};

struct id_info { /* NV0000_CTRL_GPU_GET_ID_INFO_PARAMS */
	uint32_t id, flags, device;
};

#endif
