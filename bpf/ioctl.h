/* SPDX-License-Identifier: GPL-2.0 */
/* What bpf/ioctl.bpf.c and backend/bpf/ioctl*.c share: which devices and commands are of interest. */
#ifndef GT_BPF_IOCTL_H
#define GT_BPF_IOCTL_H

#include <assert.h>

#include "../backend/lib/ioctl_names.h"

#define GT_NVIDIA_MAJOR	 195  /* Documentation/admin-guide/devices.txt */
#define GT_IOCTL_DEVICES 1024 /* that are known at once */

/**
 * enum gt_ioctl_kind - of a device: what its commands look like
 *
 * A further kind is a number here, its type of commands in kind_of() (bpf/ioctl.bpf.c), and who
 * finds its devices (backend/bpf/ioctl_attach.c).
 */
enum gt_ioctl_kind { GT_IOCTL_DRM, GT_IOCTL_KFD, GT_IOCTL_NVIDIA, GT_IOCTL_KINDS };

/**
 * struct gt_ioctl_key - a device, as a descriptor leads to it
 * @rdev: its number as the kernel keeps it: major << 20 | minor; NVIDIA's: minor 0 for all
 */
struct gt_ioctl_key {
	uint32_t kind, rdev;
};

/**
 * struct gt_ioctl_device - what there is to know of it
 * @slot: the daemon's number of it
 * @driver: enum gt_ioctl_driver of the commands it takes
 */
struct gt_ioctl_device {
	uint16_t slot, driver;
};

/**
 * struct gt_ioctl_config - set while the programs run
 * @wanted: bits 1 << enum gt_ioctl_what: commands that are reported
 * @any: by kind: bits of the numbers of commands that are wanted on some device of it, so that most
 *	others are left after one look
 * @functions: bits 1 << enum gt_ioctl_kind: with calls seen at the driver's own function, so
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
 * @full: wanted, but there was no memory to remember them: not reported
 * @unreadable: that made a queue, or changed one, with arguments that could not be read
 * @unended: without a reported end when their thread began the next one
 * @owners_full: queues of processes with an end that will not be reported, as there are too many with some
 */
struct gt_ioctl_count {
	uint64_t strange, unwanted, full, unreadable, unended, owners_full;
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

/* Since Linux 6.6 the rest of queue_percentage is a choice of the hardware's part */
#define GT_KFD_SHARE 0xff

struct gt_kfd_update_queue {
	uint64_t ring_base_address;
	uint32_t queue_id, ring_size, queue_percentage, queue_priority;
};

/*
 * amdgpu's user queues: include/uapi/drm/amdgpu_drm.h of Linux 6.16, union drm_amdgpu_userq; its
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

enum gt_iq_what {
	GT_IQ_CREATE,
	GT_IQ_UPDATE,
	GT_IQ_DESTROY,
	GT_IQ_EXEC,  /* process @pid is another program now */
	GT_IQ_EXIT,  /* … has ended */
	GT_IQ_CLOSE, /* file @owner has */
};

/**
 * struct gt_bpf_queue - one of enum gt_iq_what: the 64 bytes of a record, in a layout of its own
 * @type: GT_QUEUE; @flags: part, see shared.h
 * @device: the daemon's number of the device that the call was made on
 * @owner: within which the driver's @id counts: a process, or an opened file
 * @base: where its ring is in the memory of its process; @size: bytes of that; @priority: as the
 * driver numbers it
 * @kfd_id: KFD's number of its GPU
 * @gen: distinguishes processes with the same @pid; 0: not known
 * @kind: enum gt_queue_kind; @engine: enum gt_engine
 * @runs: may it run, of an update
 *
 * What is not known is all ones.
 */
struct gt_bpf_queue {
	uint64_t ts;
	uint8_t type;
	uint8_t flags;
	uint16_t cpu;
	uint16_t device;
	uint8_t what, runs;
	uint64_t owner;
	uint64_t base;
	uint32_t size;
	uint32_t id;
	uint32_t kfd_id;
	uint32_t pid, tid, uid, gen;
	uint8_t kind, engine;
	uint16_t priority;
};
static_assert(sizeof(struct gt_bpf_queue) == 64, "as a record");

#endif
