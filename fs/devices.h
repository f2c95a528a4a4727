/* SPDX-License-Identifier: GPL-2.0 */
/* The GPUs of this machine, by sysfs; who has them open and may open them; the kernel's uevents. */
#ifndef GT_DEVICES_H
#define GT_DEVICES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** struct gt_device - one GPU; "" is unknown */
struct gt_device {
	char name[16]; /* directory: driver and number in PCI order */
	char driver[16];
	char module[32]; /* of the driver */
	char dev[32];	 /* name on its bus */
	char pci[16];
	char card[16], render[16];
	char uuid[48];
	char partition[16]; /* how it is divided, "SPX/NPS1" */
	uint32_t kfd_id;
	int kfd_node;	   /* its number in KFD's topology, -1 none */
	int minor;	   /* of card<N>, -1 none */
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
/** gt_device_uses() - does its driver's module use @module? True also where that is not known */
bool gt_device_uses(const struct gt_device *dev, const char *module);
/** gt_device_is() - is @minor its card's or its render node's? */
bool gt_device_is(const struct gt_device *dev, unsigned int minor);
/** gt_device_name() - "<driver><n>", with a dash if the driver ends in a digit */
void gt_device_name(char *out, unsigned long len, const char *driver, unsigned int n);

/* Which DRM devices a process has open. */
/**
 * gt_drmfds() - the distinct minors of DRM devices (cards and render nodes) that @pid has open
 * @pid: a process or a thread, in the namespace of this /proc
 * @look: so many descriptors may be looked at; those that were are taken off
 *
 * Asks nobody but the kernel: a descriptor may be of a file system that never answers.
 *
 * Return: how many are in @minors, which is all; -E2BIG if there may be more: than @max, or behind
 * @look; -errno if the process is gone or cannot be asked.
 */
int gt_drmfds(uint32_t pid, unsigned int *minors, int max, unsigned int *look);

/* May a user open a GPU's device? As the kernel would answer, but nobody asks it. */
/**
 * gt_device_access() - may @uid read and write @node, by its owner, group, mode and ACL?
 *
 * The user's groups are those of passwd(5) and group(5), and of processes that the user has now:
 * what only a directory service knows is known of these.
 */
bool gt_device_access(const char *node, uint32_t uid);

/* The kernel's word of devices and modules that come and go (netlink, KOBJECT_UEVENT). */

#define GT_UEVENT_DEVICE 1 /* a DRM device, or a driver that took or left a PCI device */
#define GT_UEVENT_MODULE 2

/**
 * gt_uevent_open() - a descriptor that turns readable when the kernel has something to say
 * Return: -1 where that is refused (containers): then only `rescan` looks again
 */
int gt_uevent_open(void);
/**
 * gt_uevent_drain() - takes the messages that wait, a bounded number
 * Return: GT_UEVENT_* of all of them; all, if some were lost; -errno if @fd is of no use any more
 */
int gt_uevent_drain(int fd);
/** gt_uevent_about() - GT_UEVENT_* of one message of @len bytes ("add@/devices/..." and NUL-ended
 * KEY=value), 0: of no interest, or none at all */
int gt_uevent_about(const char *msg, size_t len);

#endif
