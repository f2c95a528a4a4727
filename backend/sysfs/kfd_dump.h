/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Dumps of queues by AMD's compute driver in debugfs, kfd/mqds and kfd/hqds (kfd_debugfs.c,
 * kfd_device_queue_manager.c of amdkfd): descriptors of queues in memory (MQD), and slots of the
 * hardware to which these are mapped (HQD), with their registers.
 */
#ifndef GT_SYSFS_KFD_DUMP_H
#define GT_SYSFS_KFD_DUMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../backend.h"

#define SF_DUMP_WORDS 56 /* kept of a queue: registers from CP_MQD_BASE_ADDR on */

enum sf_dump_kind {
	SF_DUMP_MQD, /* of a compute queue */
	SF_DUMP_MQD_SDMA,
	SF_DUMP_MQD_OTHER, /* a queue of the driver, without usable registers */
	SF_DUMP_HQD,
	SF_DUMP_HQD_SDMA, /* @pipe is its engine, @queue its number there */
	SF_DUMP_HIQ,	  /* the driver's queue of requests to the scheduler */
};

/**
 * struct sf_dumped - one queue of a dump
 * @gpu_id: of its device
 * @pid: of an MQD; 0: unknown
 * @inst: number of the compute part (XCC), 0 if there is one
 * @have: 1 << index for each word that the dump has
 */
struct sf_dumped {
	enum sf_dump_kind kind;
	uint32_t gpu_id, pid;
	uint32_t inst, mec, pipe, queue;
	uint64_t have;
	uint32_t word[SF_DUMP_WORDS];
};

#define SF_DUMP_GPUS 128 /* of a dump; a machine has 64 at most */

/**
 * struct sf_dump_about - what a dump has besides queues
 * @bad: lines that do not belong to a dump
 * @first_bad: number of the first of these, from 1
 * @gpu: IDs of the @ngpus devices with dumped slots, also without a queue
 */
struct sf_dump_about {
	unsigned int bad, first_bad, ngpus;
	uint32_t gpu[SF_DUMP_GPUS];
};

/**
 * sf_dump_parse() - calls @fn for each queue in @text, which may hold anything, up to its NUL
 * @about: may be NULL
 *
 * Return: number of lines that do not belong to a dump.
 */
unsigned int sf_dump_parse(const char *text, void (*fn)(void *arg, const struct sf_dumped *q),
			   void *arg, struct sf_dump_about *about);

/** sf_dump_begins() - is one of the first lines of @text the first line of a dump? */
bool sf_dump_begins(const char *text, size_t len);

/** struct sf_hw - meaning of the registers, UINT64_MAX for unknown; @doorbell: its offset, bytes */
struct sf_hw {
	bool active;
	uint64_t mqd, vmid, doorbell, base, size, rptr, wptr;
};

/** sf_dump_hw() - reads the registers; false: even the state of the queue is missing */
bool sf_dump_hw(const struct sf_dumped *q, struct sf_hw *out);

#define SF_ROWS	    1024
#define SF_DUMP_MAX (8u << 20) /* bytes of a dump */

/**
 * struct sf_row - a queue
 * @q: its pid is 0 for a slot without a known descriptor; its queue is the number below queues/
 * @vmid, @rptr, @wptr: of its slot, or in memory if it has none
 */
struct sf_row {
	uint32_t gpu_id;
	struct gt_queue_hw q;
	uint64_t vmid, rptr, wptr;
};

/**
 * struct sf_rows - a table of queues
 * @row: room for SF_ROWS
 * @most: rows of one process; 0: no limit
 * @cut: queues without room
 * @bad: lines that do not belong to a dump
 */
struct sf_rows {
	struct sf_row *row;
	unsigned int n, most;
	uint64_t cut, bad;
};

/** sf_rows_mqd(), sf_rows_hqd() - add a queue to the struct sf_rows @arg: first all descriptors, then
 * all slots */
void sf_rows_mqd(void *arg, const struct sf_dumped *q);
void sf_rows_hqd(void *arg, const struct sf_dumped *q);
/** sf_rows_print() - writes the table */
void sf_rows_print(struct sf_rows *all, char *buf, size_t len);

#endif
