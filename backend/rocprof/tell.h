/* SPDX-License-Identifier: GPL-2.0 */
/* What tell.c and totals.c share. */
#ifndef GT_ROCPROF_TELL_H
#define GT_ROCPROF_TELL_H

#include "internal.h"

#define RP_BATCH      512
#define RP_NAME_BYTES (32u << 20) /* of all names */
#define RP_CALLS_MAX  1024	  /* functions that are counted */
#define RP_MEMORY_MAX 256	  /* operations, by GPU */

/** struct rp_slot - a kernel of that name, as the host numbers it; @v: as told last */
struct rp_slot {
	uint32_t uid, kernel;
	uint32_t v[GT_KERNEL_VALUES];
	uint16_t gpu;
	bool asked;
};

/** struct rp_told_name - @text: NULL: there was no room; @call: index in rp_teller.call */
struct rp_told_name {
	char *text;
	size_t len;
	uint64_t hash;
	struct rp_slot *slot;
	unsigned int nslots;
	uint16_t call;
	bool launches, meant; /* by a job */
};

/** struct rp_call - calls of one function; times that no table tells are GT_NONE64 */
struct rp_call {
	char *name;
	uint64_t count, total, min, max;
};

/** struct rp_memory - operations on memory, of one kind */
struct rp_memory {
	char *name;
	uint16_t gpu, kind;
	uint64_t count, bytes, ns;
};

struct rp_teller {
	struct gt_plugin *p;
	struct rp_files *files;
	struct rp_places places;
	struct rp_told_name *name;
	uint32_t names;
	const uint16_t *index; /* of the child's files: ours; NULL: they are alike */
	unsigned int nindex;
	struct {
		uint32_t pid, uid;
		bool there;
	} pid; /* asked last */
	uint64_t bytes, refused, pos;
	bool *devices; /* by group: its devices were told */
	unsigned int ncalls, nmemory;
	struct rp_call call[RP_CALLS_MAX];
	struct rp_memory memory[RP_MEMORY_MAX];
	unsigned int batched;
	union gt_record batch[RP_BATCH];
};

/** rp_count_call() - @calls of function @n, which took @total in all */
void rp_count_call(struct rp_teller *t, struct rp_told_name *n, uint64_t calls, uint64_t total,
		   uint64_t min, uint64_t max);
/** rp_count_memory() - an allocation, or the like */
void rp_count_memory(struct rp_teller *t, const struct rp_row *r, uint16_t gpu);

#endif
