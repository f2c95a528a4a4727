/* SPDX-License-Identifier: GPL-2.0 */
/* How GPUs and rings get their names and numbers: from what sources tell and from sysfs. */
#ifndef GT_NAMING_H
#define GT_NAMING_H

#include "app.h"
#include "devices.h"

struct gt_naming;

/** gt_naming_new() - the GPUs of @devices get their numbers at once, but in a replay */
struct gt_naming *gt_naming_new(struct gt_app *app, const struct gt_devices *devices);
void gt_naming_free(struct gt_naming *nm);

/**
 * gt_naming_gpu() - number of the GPU that a source describes; readers are told its name first
 * @recording: the source plays a recording, so that this machine's devices say nothing
 *
 * The same description gives the same number. Return: GT_NONE16 if there are too many.
 */
uint16_t gt_naming_gpu(struct gt_naming *nm, const struct gt_gpu_desc *d, bool recording);
/** gt_naming_ring() - likewise for a ring of @gpu; an unknown engine is guessed from the name */
uint16_t gt_naming_ring(struct gt_naming *nm, uint16_t gpu, const char *name,
			enum gt_engine engine);

#endif
