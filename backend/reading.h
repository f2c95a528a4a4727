/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a source reads on demand: sensors of a GPU (gt_host.reading), what a process holds and has used
 * (gt_host.usage), and places of queues on the hardware (gt_host.queues_hw).
 */
#ifndef GT_READING_H
#define GT_READING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The file of the GPU that shows it; BUSY: `utilization` */
enum gt_gauge_kind {
	GT_GAUGE_MEMORY,
	GT_GAUGE_CLOCK,
	GT_GAUGE_POWER,
	GT_GAUGE_TEMPERATURE,
	GT_GAUGE_BUSY,
	GT_GAUGE_KINDS
};

#define GT_GAUGES_MAX 96 /* of a GPU */

/** struct gt_gauge - one value; @key: name as shown, with the unit, [a-z0-9_] */
struct gt_gauge {
	char key[38];
	uint16_t kind; /* enum gt_gauge_kind */
	int64_t value;
};

/**
 * struct gt_reading - sensors of one GPU
 * @has: 1 << enum gt_gauge_kind for each kind that the GPU has; a missing value is not known yet
 * @power: word for whether it sleeps, "active", "suspended"; "" unknown
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

/** struct gt_use_engine - @ns: time it was busy for the process; @capacity: number of such engines */
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

/** struct gt_use_who - identity of a process of another machine; @start: ns since boot */
struct gt_use_who {
	uint64_t start;
	uint32_t uid;
	const char *comm, *cgroup;
};

/** struct gt_use_kfd - a process by AMD's compute driver; UINT64_MAX unknown */
struct gt_use_kfd {
	uint64_t vram, sdma_us, evicted_ms, cu_occupancy;
};

/**
 * struct gt_usage - use of one GPU by one process
 * @since, @at: interval of the engines' times
 * @memory: the regions are all that it holds now; else they are not reported
 * @who: NULL: a process of this machine
 * @kfd: NULL: not reported
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
 * struct gt_queue_hw - a queue's descriptor in memory (MQD), and its slots (HQD); unknown values are all
 * ones
 * @queue: ID below queues/; GT_NONE32: the queue of @pid with packets at @base
 * @address: of the descriptor
 * @base: of the ring
 * @rptr, @wptr: as last saved
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
