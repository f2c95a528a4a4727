/* SPDX-License-Identifier: GPL-2.0 */
/* Which DRM devices a process has open. */
#ifndef GT_DRMFDS_H
#define GT_DRMFDS_H

#include <stdint.h>

#define GT_DRMFDS_LOOK 4096 /* descriptors of one process that are looked at */

/**
 * gt_drmfds() - the distinct minors of DRM devices (cards and render nodes) that @pid has open
 * @pid: a process or a thread, in the namespace of this /proc
 *
 * Return: how many are in @minors, at most @max; -errno if the process is gone or cannot be asked.
 */
int gt_drmfds(uint32_t pid, unsigned int *minors, int max);

#endif
