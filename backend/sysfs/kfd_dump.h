/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the compute driver dumps of queues in debugfs, kfd/mqds and kfd/hqds (kfd_debugfs.c,
 * kfd_device_queue_manager.c of amdkfd): descriptors of queues in memory (MQD), and slots of the
 * hardware that such a one is mapped to (HQD), with their registers.
 */
#ifndef GT_SYSFS_KFD_DUMP_H
#define GT_SYSFS_KFD_DUMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SF_DUMP_WORDS 56 /* of a queue that are kept: registers from CP_MQD_BASE_ADDR on */

enum sf_dump_kind {
	SF_DUMP_MQD, /* of a compute queue */
	SF_DUMP_MQD_SDMA,
	SF_DUMP_MQD_OTHER, /* of the driver's own: tells nothing but that it is there */
	SF_DUMP_HQD,
	SF_DUMP_HQD_SDMA, /* @pipe is its engine, @queue its number there */
	SF_DUMP_HIQ,	  /* the driver's own, by which it asks for others */
};

/**
 * struct sf_dumped - one queue of a dump
 * @gpu_id: of its device; @pid: of an MQD
 * @inst: of the compute part (XCC); 0 where there is one
 * @have: 1 << index of the words that the dump has
 */
struct sf_dumped {
	enum sf_dump_kind kind;
	uint32_t gpu_id, pid;
	uint32_t inst, mec, pipe, queue;
	uint64_t have;
	uint32_t word[SF_DUMP_WORDS];
};

/**
 * sf_dump_parse() - calls @fn for each queue in @text, which may hold anything, up to its NUL
 * Return: how many lines are none of a dump's
 */
unsigned int sf_dump_parse(const char *text, void (*fn)(void *arg, const struct sf_dumped *q),
			   void *arg);

/** sf_dump_begins() - is one of the first lines of @text such as a dump begins with? */
bool sf_dump_begins(const char *text, size_t len);

/** struct sf_hw - what its registers say; UINT64_MAX is not told. @doorbell: its offset, bytes */
struct sf_hw {
	bool active;
	uint64_t mqd, vmid, doorbell, base, size, rptr, wptr;
};

/** sf_dump_hw() - false: the dump has not even whether it is active */
bool sf_dump_hw(const struct sf_dumped *q, struct sf_hw *out);

#endif
