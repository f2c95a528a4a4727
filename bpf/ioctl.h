/* SPDX-License-Identifier: GPL-2.0 */
/* What bpf/ioctl.bpf.c and backend/bpf/ioctl/ share: which devices and commands are of interest. */
#ifndef GT_BPF_IOCTL_H
#define GT_BPF_IOCTL_H

#include <stdbool.h>

#include "../backend/ioctls.h"

#define GT_IOCTL_DEVICES 1024 /* that are known at once */
#define GT_IOCTL_HINTS	 8192 /* a power of two */

/**
 * enum gt_ioctl_kind - of a device: what its commands look like
 *
 * A further kind is a number here, its type of commands in kind_of() (bpf/ioctl.bpf.c), and who
 * finds its devices (backend/bpf/ioctl/devices.c).
 */
enum gt_ioctl_kind { GT_IOCTL_DRM, GT_IOCTL_KFD, GT_IOCTL_NVIDIA, GT_IOCTL_KINDS };

/**
 * struct gt_ioctl_key - a device, as a descriptor leads to it
 * @rdev: its number as the kernel keeps it: major << 20 | minor
 */
struct gt_ioctl_key {
	uint32_t kind, rdev;
};

/**
 * struct gt_ioctl_device - what there is to know of it
 * @slot: the daemon's number of it
 * @driver: enum gt_ioctl_driver, whose commands it takes
 */
struct gt_ioctl_device {
	uint16_t slot, driver;
};

/**
 * struct gt_ioctl_config - set while the programs run
 * @wanted: bits 1 << enum gt_ioctl_what: commands that are told
 * @any: by kind: bits of the numbers of commands that are wanted on some device of it, so that most
 *	others are left after one look
 * @functions: bits 1 << enum gt_ioctl_kind: whose calls are told at the driver's own function, so
 *	that the tracepoints do not
 */
struct gt_ioctl_config {
	uint32_t wanted, functions;
	uint64_t any[GT_IOCTL_KINDS * 256 / 64];
};

/**
 * struct gt_ioctl_count - on one CPU, beside struct gt_bpf_count
 * @strange: on devices of a kind that are no GPU of the daemon's
 * @unwanted: of commands that are not wanted at this level; not among struct gt_bpf_count.seen
 * @full: wanted, but too many threads were inside an ioctl: not told
 * @unreadable: that made a queue, or changed one, whose arguments could not be read any more
 * @unended: whose end was not told when their thread was in the next one
 */
struct gt_ioctl_count {
	uint64_t strange, unwanted, full, unreadable, unended;
};

/*
 * What is read of arguments. AMD's compute driver: include/uapi/linux/kfd_ioctl.h of Linux 6.12,
 * struct kfd_ioctl_create_queue_args and the like. Names and layouts are facts; the rest of each is
 * left out.
 */
enum { GT_KFD_CREATE_QUEUE = 0x02, GT_KFD_DESTROY_QUEUE = 0x03, GT_KFD_UPDATE_QUEUE = 0x07 };
enum {
	GT_KFD_COMPUTE,
	GT_KFD_SDMA,
	GT_KFD_COMPUTE_AQL,
	GT_KFD_SDMA_XGMI,
	GT_KFD_SDMA_BY_ENG_ID,
};

struct gt_kfd_create_queue {
	uint64_t ring_base_address, write_pointer_address, read_pointer_address, doorbell_offset;
	uint32_t ring_size, gpu_id, queue_type, queue_percentage, queue_priority, queue_id;
};

struct gt_kfd_destroy_queue {
	uint32_t queue_id;
};

struct gt_kfd_update_queue {
	uint64_t ring_base_address;
	uint32_t queue_id, ring_size, queue_percentage, queue_priority;
};

/*
 * amdgpu's user queues: include/uapi/drm/amdgpu_drm.h of Linux 6.16, union drm_amdgpu_userq, whose
 * result, the queue's id, overwrites op. AMDGPU_HW_IP_* for the engine.
 */
enum {
	GT_AMDGPU_USERQ = 0x56,
	GT_AMDGPU_USERQ_CREATE = 1,
	GT_AMDGPU_USERQ_FREE = 2,
	GT_AMDGPU_USERQ_PRIORITY = 0x3,
};
enum { GT_AMDGPU_IP_GFX, GT_AMDGPU_IP_COMPUTE, GT_AMDGPU_IP_DMA };

struct gt_amdgpu_userq {
	uint32_t op, queue_id, ip_type, doorbell_handle, doorbell_offset, flags;
	uint64_t queue_va, queue_size;
};

/**
 * struct gt_queue_args - a queue, from the arguments of an ioctl; what is not told is all ones
 * @owner: within which @id counts: a process or an opened device
 * @kfd_id: KFD's number of its GPU
 * @told: what follows is
 */
struct gt_queue_args {
	uint64_t owner, size;
	uint32_t id, kfd_id;
	uint16_t kind, engine, priority;
	bool told;
};

#endif
