/* SPDX-License-Identifier: GPL-2.0 */
/* Queues of dumps: descriptors in memory, and the slots of the hardware that these are mapped to.
 */
#ifndef GT_SYSFS_KFD_ROWS_H
#define GT_SYSFS_KFD_ROWS_H

#include "../backend.h"
#include "kfd_dump.h"

#define SF_ROWS	    1024
#define SF_DUMP_MAX (8u << 20) /* bytes of a dump */

/**
 * struct sf_row - a queue: @q.pid 0: of a slot that no descriptor is known of; @q.queue: below
 * queues/
 * @vmid, @rptr, @wptr: as its slot says, or in memory
 */
struct sf_row {
	uint32_t gpu_id;
	struct gt_queue_hw q;
	uint64_t vmid, rptr, wptr;
};

/** struct sf_rows - @row: room for SF_ROWS, @most of them of one process, 0: as many as there is
 * room; @cut: what there was no room for; @bad: lines */
struct sf_rows {
	struct sf_row *row;
	unsigned int n, most;
	uint64_t cut, bad;
};

/** sf_rows_mqd(), sf_rows_hqd() - takes a queue, @arg: all rows: descriptors first, then slots */
void sf_rows_mqd(void *arg, const struct sf_dumped *q);
void sf_rows_hqd(void *arg, const struct sf_dumped *q);
/** sf_rows_print() - a table of them */
void sf_rows_print(struct sf_rows *all, char *buf, size_t len);

#endif
