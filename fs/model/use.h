/* SPDX-License-Identifier: GPL-2.0 */
/* What a process uses of a GPU, as it was read off: engines and memory. Part of model.h. */
#ifndef GT_MODEL_USE_H
#define GT_MODEL_USE_H

#include <stddef.h>
#include <stdint.h>

#include "../../backend/reading.h"
#include "busy.h"

/** struct gt_use_busy - an engine as a driver names it; @capacity: so many of it there are */
struct gt_use_busy {
	char name[GT_USE_NAME];
	uint32_t capacity;
	struct gt_busy busy;
	struct gt_use_busy *next;
};

/**
 * struct gt_use - what was read off of a process on a GPU, or of all processes there
 * @regions: memory that it holds now; @kfd: what the compute driver told at @kfd_at
 */
struct gt_use {
	uint16_t gpu;
	unsigned int nengines, nregions;
	struct gt_use_busy *engines; /* those first that were met last */
	struct gt_use_region region[GT_USE_REGIONS];
	struct gt_use_kfd kfd;
	uint64_t kfd_at; /* 0: never */
	struct gt_use *next;
};

/** gt_use_of() - of the list @u, that of @gpu; NULL: none */
static inline struct gt_use *gt_use_of(struct gt_use *u, uint16_t gpu)
{
	while (u && u->gpu != gpu)
		u = u->next;
	return u;
}
/** gt_use_ns() - busy time of all its engines within @window before @now; GT_NONE64: no engine is told */
uint64_t gt_use_ns(const struct gt_use *u, uint64_t now, uint64_t window);
/** gt_use_bytes() - memory that it holds, as far as that is told; GT_NONE64: it is not */
uint64_t gt_use_bytes(const struct gt_use *u);

#endif
