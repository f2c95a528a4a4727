/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Description of a kernel that ran on a GPU, besides its DISPATCH events: owner, whole name, resources,
 * counters, and texts. See gt_host.kernel.
 */
#ifndef GT_KERNEL_H
#define GT_KERNEL_H

#include <stddef.h>
#include <stdint.h>

/* Registers are those of a work-item (SGPR: of a wave), LDS and scratch are bytes. */
enum gt_kernel_value {
	GT_KV_VGPR,
	GT_KV_AGPR,
	GT_KV_SGPR,
	GT_KV_LDS,
	GT_KV_SCRATCH,
	GT_KV_GRID_X,
	GT_KV_GRID_Y,
	GT_KV_GRID_Z,
	GT_KV_WORKGROUP_X,
	GT_KV_WORKGROUP_Y,
	GT_KV_WORKGROUP_Z,
	GT_KERNEL_VALUES
};

#define GT_KERNEL_NAME_MAX 65536 /* bytes of a name that are kept */
#define GT_KERNEL_TEXT_MAX 65536 /* bytes of a text, with its NUL */

/**
 * enum gt_kernel_text - texts of a kernel, from a thread trace
 * @GT_KT_HOTSPOTS: rows of a table: latency, stall and idle cycles, hits, issued and stalled samples,
 *	source, instruction; a word each, "-" unknown
 * @GT_KT_HOTSPOTS_STATS: keyed lines
 * @GT_KT_OCCUPANCY: rows of a table: se, cu, waves, peak, avg_waves, cycles
 */
enum gt_kernel_text { GT_KT_HOTSPOTS, GT_KT_HOTSPOTS_STATS, GT_KT_OCCUPANCY, GT_KERNEL_TEXTS };

/**
 * struct gt_kernel_desc - a kernel of a GPU; unknown values are all ones
 * @id: as returned by gt_host.kernel, then @name and @hash are ignored; GT_NONE32: by its name
 * @uid: owner of the file that the kernel is from. Kernels of two users are different
 * @name: @len bytes, anything, of which at most GT_KERNEL_NAME_MAX are kept
 * @hash: of the whole name if @name is only its beginning; 0: @name is complete
 * @value: by enum gt_kernel_value; one that differs from an earlier value widens the range
 * @ts, @queue_ns: a dispatch that ended at @ts had waited so long
 * @calls, @total_ns, @min_ns, @max_ns: of all dispatches, from a file of statistics; used if no single
 *	dispatch is reported
 */
struct gt_kernel_desc {
	uint32_t id;
	uint32_t uid;
	uint16_t gpu;
	const char *name;
	size_t len;
	uint64_t hash;
	uint32_t value[GT_KERNEL_VALUES];
	uint64_t ts, queue_ns;
	uint64_t calls, total_ns, min_ns, max_ns;
};

/** gt_kernel_init() - everything unknown */
static inline void gt_kernel_init(struct gt_kernel_desc *d)
{
	__builtin_memset(d, 0xff, sizeof(*d));
	d->name = NULL;
	d->len = 0;
	d->hash = 0;
}

#endif
