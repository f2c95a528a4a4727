/* SPDX-License-Identifier: GPL-2.0 */
/* Which DRM devices a process has open. */
#ifndef GT_DRMFDS_H
#define GT_DRMFDS_H

#include <stdint.h>

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

#endif
