/* SPDX-License-Identifier: GPL-2.0 */
/* Private to emit.c. */
#ifndef GT_ROCPROF_EMIT_H
#define GT_ROCPROF_EMIT_H

#include "internal.h"

#define RP_BATCH      512
#define RP_PIDS	      64
#define RP_QUEUES     1024
#define RP_NAME_BYTES (32u << 20) /* of all names of a recording, */
#define RP_USER_BYTES (4u << 20)  /* and of what a user's reader says */
#define RP_CALLS_MAX  4096	  /* functions that are counted */
#define RP_MEMORY_MAX 1024	  /* operations, by GPU */
#define RP_SHARE      4		  /* a user but root has so much of each, in watched folders */

/** struct rp_slot - a kernel of that name, as the host numbers it; @v: as emitted last */
struct rp_slot {
	uint32_t uid, kernel;
	uint32_t v[GT_KERNEL_VALUES];
	uint16_t gpu;
	bool asked;
};

/** struct rp_emitted_name - @text: NULL: there was no room; @call: index in rp_emitter.call */
struct rp_emitted_name {
	char *text;
	size_t len;
	uint64_t hash;
	struct rp_slot *slot;
	unsigned int nslots;
	uint16_t call;
	bool launches, meant; /* by a job */
};

/** struct rp_call - calls of one function; times that no table has are GT_NONE64 */
struct rp_call {
	char *name;
	uint32_t uid; /* user that its share is of */
	uint64_t count, total, min, max;
};

/** struct rp_memory - operations on memory, of one kind */
struct rp_memory {
	char *name;
	uint32_t uid; /* likewise */
	uint16_t gpu, kind;
	uint64_t count, bytes, ns;
};

/**
 * struct rp_said - what one reader has said of names and devices: good until its end
 * @name: by id; @bytes: of their texts
 * @index: of its @nindex files: ours
 * @devices: by group, of which there are RP_GROUPS: its devices are known
 */
struct rp_said {
	struct rp_emitted_name *name;
	uint32_t names;
	uint64_t bytes;
	const uint16_t *index;
	unsigned int nindex;
	bool *devices;
	struct rp_places places;
};

/** struct rp_pid - is there a process @pid of @uid's? @pid GT_NONE32: nothing was asked */
struct rp_pid {
	uint32_t pid, uid;
	bool there;
};

/** struct rp_emitter - @said: of the reader at hand */
struct rp_emitter {
	struct gt_plugin *p;
	struct rp_files *files;
	struct rp_said *said;
	struct rp_queues queues;
	struct rp_pid pid[RP_PIDS]; /* that were asked for, by the remainder of the pid */
	uint64_t refused, agents_refused, pos;
	const char *lacks; /* what the row at hand is without, so that it shows nothing; NULL: it
			      does */
	struct rp_dedup *dedup; /* NULL: no row of these kinds yet */
	uint64_t duplicates;
	unsigned int ncalls, nmemory;
	struct rp_call call[RP_CALLS_MAX];
	struct rp_memory memory[RP_MEMORY_MAX];
	unsigned int batched;
	union gt_record batch[RP_BATCH];
};

#endif
