/* SPDX-License-Identifier: GPL-2.0 */
/* What the BPF programs and backend/bpf share: the layouts of maps. */
#ifndef GT_BPF_SHARED_H
#define GT_BPF_SHARED_H

#include <stdint.h>

/*
 * In the ring a record's flags hold the part that wrote it: backend/bpf takes that out, and has the
 * part complete the record (numbers of GPUs and rings are the daemon's).
 */
#define GT_BPF_PART_SHIFT 4

enum gt_bpf_part_id { GT_BPF_IOCTL, GT_BPF_PARTS };

#define GT_BPF_LOOK 64 /* records of a CPU between looks at how full the ring is */

/**
 * struct gt_bpf_wake - when the daemon is to be woken
 * @idle: it has found the ring empty, and waits: the next record wakes it
 * @level: bytes in the ring at which it is to hurry
 */
struct gt_bpf_wake {
	uint32_t idle;
	uint32_t level;
};

/**
 * struct gt_bpf_count - of one part, on one CPU
 * @seen: events that it was called for; @other: those that were none of its business
 * @sent: records in the ring; @lost: those that had no room
 * @untold, @since: of @lost, those that no record told of yet, and the first one's time
 */
struct gt_bpf_count {
	uint64_t seen, other, sent, lost, untold, since;
};

#endif
