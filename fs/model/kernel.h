/* SPDX-License-Identifier: GPL-2.0 */
/* Kernels that ran on GPUs, as a profiler's results tell of them. Part of model.h. */
#ifndef GT_MODEL_KERNEL_H
#define GT_MODEL_KERNEL_H

#include <stdbool.h>
#include <stdint.h>

#include "../../backend/kernel.h"
#include "hist.h"

#define GT_MAX_KERNELS	   8192
#define GT_USER_KERNELS	   (GT_MAX_KERNELS / 4) /* of a user of this machine, but root */
#define GT_KERNEL_DIR	   96			/* a directory's name with its NUL */
#define GT_KERNEL_ALIAS	   (GT_KERNEL_DIR + 12)	/* likewise among those of all users */
#define GT_KERNEL_COUNTERS 64			/* of one kernel */
#define GT_KERNEL_COUNTER  48			/* a counter's name with its NUL */
#define GT_KERNEL_KEPT	   32			/* its last dispatches */
#define GT_KERNEL_BYTES	   (32u << 20)		/* of all names and texts */

/** struct gt_kernel_dispatch - one of a kernel's dispatches; @end: of the execution */
struct gt_kernel_dispatch {
	uint64_t end, exec_ns, dispatch, correlation;
	uint32_t pid, queue;
};

/** struct gt_kernel_counter - readings of a hardware counter, one a dispatch */
struct gt_kernel_counter {
	char name[GT_KERNEL_COUNTER];
	uint64_t count;
	double sum, min, max;
};

/**
 * struct gt_kernel - a kernel of a user on a GPU; never freed while the model lives
 * @dir: its directory's name: safe, and no other of its user's on the GPU has it: what others have is not to
 * be told by it
 * @alias: what it is called for those who see all: no other of the GPU has it
 * @name: @len bytes, not terminated; cut where @cut
 * @min, @max: by enum gt_kernel_value; GT_NONE32 not known
 * @calls, @total_ns, @min_ns, @max_ns: as a file of statistics tells, GT_NONE64 unknown
 * @exec, @queue: times of its dispatches
 * @kept: the last dispatches: entry i of n is kept[(dispatches - 1 - i) % GT_KERNEL_KEPT]; NULL:
 * none
 * @text: NULL: none
 */
struct gt_kernel {
	uint32_t id, uid;
	uint16_t gpu;
	bool cut;
	uint64_t gen, first_ts, last_ts;
	char dir[GT_KERNEL_DIR], alias[GT_KERNEL_ALIAS];
	char *name;
	size_t len;
	uint32_t min[GT_KERNEL_VALUES], max[GT_KERNEL_VALUES];
	uint64_t calls, total_ns, min_ns, max_ns;
	uint64_t dispatches;
	struct gt_stage exec, queue;
	struct gt_kernel_dispatch *kept;
	unsigned int ncounters;
	struct gt_kernel_counter *counter;
	char *text[GT_KERNEL_TEXTS];
};

struct gt_model;

/** gt_model_kernel() - see gt_host.kernel. Lock held */
uint32_t gt_model_kernel(struct gt_model *m, const struct gt_kernel_desc *d);
/** gt_model_counter() - see gt_host.counter. Lock held */
void gt_model_counter(struct gt_model *m, uint32_t kernel, const char *name, double value);
/** gt_model_kernel_text() - see gt_host.kernel_text. Lock held */
void gt_model_kernel_text(struct gt_model *m, uint32_t kernel, enum gt_kernel_text which,
			  const char *text);
/** gt_model_kernel_dir() - the kernel of @uid's on @gpu whose directory is called so, or NULL. Lock held */
struct gt_kernel *gt_model_kernel_dir(const struct gt_model *m, uint16_t gpu, uint32_t uid,
				      const char *dir);
/** gt_model_kernel_alias() - likewise of all users' by what those call it who see all */
struct gt_kernel *gt_model_kernel_alias(const struct gt_model *m, uint16_t gpu, const char *alias);

#endif
