/* SPDX-License-Identifier: GPL-2.0 */
/* The kernel's word of devices and modules that come and go (netlink, KOBJECT_UEVENT). */
#ifndef GT_UEVENT_H
#define GT_UEVENT_H

#include <stddef.h>

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
