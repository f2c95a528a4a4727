/* SPDX-License-Identifier: GPL-2.0 */
/* What naming.c and naming_scan.c share. All of it with the model's lock held. */
#ifndef GT_NAMING_INTERNAL_H
#define GT_NAMING_INTERNAL_H

#include <pthread.h>

#include "naming.h"

/**
 * struct known - how a source named the GPU of one number
 * @listed: sysfs had it: only then can it go
 * @forgotten: gt_gpu.life up to which the kernel has been made to forget its directory
 */
struct known {
	char driver[16], dev[32];
	int minor;
	bool recording, listed;
	uint32_t forgotten;
	uint64_t instance;
};

struct gt_naming {
	struct gt_app *app;
	struct gt_devices *devices; /* guarded by the model's lock, as all here */
	struct known known[GT_MAX_GPUS];
	pthread_mutex_t scanning; /* an older scan never replaces a newer one */
	bool full;
	uint64_t second;	 /* the one that these are of */
	unsigned int looks, fds; /* which may still be made in it, into processes and descriptors */
};

/** gt_naming_free_name() - the name of the driver's lowest number that no GPU ever had */
void gt_naming_free_name(struct gt_naming *nm, const char *driver, char *out, size_t len);
/** gt_naming_fill() - what sysfs tells of @g */
void gt_naming_fill(struct gt_gpu *g, const struct gt_device *dev);
/** gt_naming_log() - readers are told the name of @g */
void gt_naming_log(struct gt_app *app, const struct gt_gpu *g);
/** gt_naming_adopt() - @fresh is what there is now: takes it over. Return: how many came or went */
int gt_naming_adopt(struct gt_naming *nm, struct gt_devices *fresh);

#endif
