/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a source reads off when somebody looks: the state of a GPU, and what a process holds and has
 * used. gt_host.reading and gt_host.usage hand them over.
 */
#ifndef GT_READING_H
#define GT_READING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Which file of the GPU tells it; BUSY: its `utilization` */
enum gt_gauge_kind {
	GT_GAUGE_MEMORY,
	GT_GAUGE_CLOCK,
	GT_GAUGE_POWER,
	GT_GAUGE_TEMPERATURE,
	GT_GAUGE_BUSY,
	GT_GAUGE_KINDS
};

#define GT_GAUGES_MAX 96 /* of a GPU */

/** struct gt_gauge - one value; @key: as it is shown, with its unit, [a-z0-9_] */
struct gt_gauge {
	char key[38];
	uint16_t kind; /* enum gt_gauge_kind */
	int64_t value;
};

/**
 * struct gt_reading - of one GPU
 * @has: 1 << enum gt_gauge_kind for what it can tell: values of those that are missing are so for
 * now
 * @power: word that says whether it sleeps, "active", "suspended"; "" unknown
 */
struct gt_reading {
	uint16_t gpu;
	uint16_t has;
	uint64_t at;
	char power[16];
	unsigned int n;
	const struct gt_gauge *gauge;
};

#define GT_USE_NAME    20
#define GT_USE_ENGINES 16 /* of a process on a GPU */
#define GT_USE_REGIONS 16

/** struct gt_use_engine - @ns: it was kept busy for the process; @capacity: so many of it there are
 */
struct gt_use_engine {
	char name[GT_USE_NAME];
	uint64_t ns;
	uint32_t capacity;
};

/** struct gt_use_region - memory of a kind, in bytes; UINT64_MAX unknown */
struct gt_use_region {
	char name[GT_USE_NAME];
	uint64_t total, resident, shared, active, purgeable;
};

/** struct gt_use_who - who a process is that is not of this machine; @start: ns since boot */
struct gt_use_who {
	uint64_t start;
	uint32_t uid;
	const char *comm, *cgroup;
};

/** struct gt_use_kfd - what AMD's compute driver tells of a process; UINT64_MAX unknown */
struct gt_use_kfd {
	uint64_t vram, sdma_us, evicted_ms, cu_occupancy;
};

/**
 * struct gt_usage - of one process on one GPU
 * @since, @at: what engines did, they did between these
 * @memory: the regions are what it holds now, in place of those before; else they are not told
 * @kfd: NULL: not told
 * @who: NULL: of this machine, where it is asked for
 */
struct gt_usage {
	uint16_t gpu;
	uint32_t pid;
	uint64_t since, at;
	unsigned int nengines, nregions;
	const struct gt_use_engine *engine;
	const struct gt_use_region *region;
	bool memory;
	const struct gt_use_who *who;
	const struct gt_use_kfd *kfd;
};

#define GT_QUEUE_SLOTS 16 /* of the hardware that a queue has: one in each compute part */

/**
 * struct gt_queue_slot - @inst: of the compute part; of SDMA @pipe is the engine
 * @vmid: address space; GT_NONE16 unknown
 */
struct gt_queue_slot {
	uint16_t inst, pipe, queue, vmid;
	uint64_t rptr, wptr;
};

/**
 * struct gt_queue_hw - a queue's descriptor in memory (MQD), and its slots (HQD): what is not known
 *	is all ones
 * @queue: id below queues/; GT_NONE32: that of @pid whose packets are at @base
 * @address: of the descriptor, @base: of the ring; @rptr, @wptr: as it was saved last
 */
struct gt_queue_hw {
	uint16_t gpu;
	uint32_t queue, pid;
	bool sdma, active;
	uint64_t address, doorbell, base, size, rptr, wptr;
	unsigned int nslots;
	struct gt_queue_slot slot[GT_QUEUE_SLOTS];
};

#endif
