/* SPDX-License-Identifier: GPL-2.0 */
/* How GPUs and rings get their names and numbers: from what sources report and from sysfs. */
#ifndef GT_GPU_NAMES_H
#define GT_GPU_NAMES_H

#include "app.h"
#include "devices.h"

struct gt_naming;

/** gt_naming_new() - the GPUs of @devices get their numbers at once; there are none in a replay */
struct gt_naming *gt_naming_new(struct gt_app *app, struct gt_devices *devices);
void gt_naming_free(struct gt_naming *nm);

/**
 * gt_naming_gpu() - number of the GPU that a source describes; readers get its name first
 * @recording: the source plays a recording, so that this machine's devices say nothing
 *
 * The same description gives the same number. Return: GT_NONE16 if there are too many.
 */
uint16_t gt_naming_gpu(struct gt_naming *nm, const struct gt_gpu_desc *d, bool recording);
/**
 * gt_naming_settle() - before anybody sees the names of a recording's GPUs: of each driver they are
 *	numbered by PCI address, and what no event names is no longer the only one if there are others
 */
void gt_naming_settle(struct gt_naming *nm);
/** gt_naming_ring() - likewise for a ring of @gpu; an unknown engine is guessed from the name */
uint16_t gt_naming_ring(struct gt_naming *nm, uint16_t gpu, const char *name,
			enum gt_engine engine);
/** gt_naming_log_ring() - gives readers the name of a new ring; model's lock held */
void gt_naming_log_ring(struct gt_app *app, const struct gt_ring *ring);

/**
 * gt_naming_scan() - looks at sysfs again: a GPU that is no longer there is gone, one that is
 *	there again (by bus name and driver) goes on under its number, a new one gets the next of its
 *	driver
 *
 * Return: how many came or went, or -errno: then nothing has changed. Any thread; takes the lock.
 */
int gt_naming_scan(struct gt_naming *nm);

/** struct gt_stale - a GPU that went, maybe to come back, with an old directory that the kernel may still
 * hold */
struct gt_stale {
	uint16_t gpu;
	uint32_t life;
	char name[16];
};
/** gt_naming_stale() - the next such GPU; false: none. Takes the lock, as the one below */
bool gt_naming_stale(struct gt_naming *nm, struct gt_stale *s);
/** gt_naming_forgotten() - the kernel holds it no more; if it went again meanwhile it is stale
 * again */
void gt_naming_forgotten(struct gt_naming *nm, const struct gt_stale *s);

#endif
