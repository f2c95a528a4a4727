/* SPDX-License-Identifier: GPL-2.0 */
/* The GPUs this machine has, as sysfs tells: names, PCI order, card and render nodes. */
#ifndef GT_DEVICES_H
#define GT_DEVICES_H

#include <stdbool.h>
#include <stdint.h>

/** struct gt_device - one GPU; "" is unknown */
struct gt_device {
	char name[16];	 /* directory: driver and number in PCI order */
	char driver[16];
	char module[32]; /* of the driver */
	char dev[32];	 /* name on its bus */
	char pci[16];
	char card[16], render[16];
	char uuid[48];
	char partition[16]; /* how it is divided, "SPX/NPS1" */
	uint32_t kfd_id;
	int kfd_node;	 /* its number in KFD's topology, -1 none */
	int minor;	 /* of card<N>, -1 none */
	uint64_t instance; /* another each time its driver takes it; 0 unknown */
};

struct gt_devices {
	struct gt_device *dev;
	unsigned int n;
};

/** gt_devices_scan() - reads sysfs and /proc below @root ("" or "/"; else a captured tree); 0 or -errno: then what is there is not known. Display-only
 * devices without a render node that are no GPU (simpledrm, bochs, vkms) are left out unless a source
 * names them */
int gt_devices_scan(struct gt_devices *d, const char *sysfs);
void gt_devices_free(struct gt_devices *d);
/** gt_device_uses() - does its driver's module use @module? True also where that cannot be told */
bool gt_device_uses(const struct gt_device *dev, const char *module);
/** gt_device_is() - is @minor its card's or its render node's? */
bool gt_device_is(const struct gt_device *dev, unsigned int minor);
/** gt_device_name() - "<driver><n>", with a dash if the driver ends in a digit */
void gt_device_name(char *out, unsigned long len, const char *driver, unsigned int n);

#endif
