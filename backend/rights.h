/* SPDX-License-Identifier: GPL-2.0 */
/* Rights of one thread, for plugins: the daemon has more at hand than are in force. */
#ifndef GT_RIGHTS_H
#define GT_RIGHTS_H

#include <stdint.h>

/**
 * gt_rights() - puts capabilities of this thread in force (@on, as far as it has them), and others
 *	out of it (@off)
 *
 * Return: those that are in force now and were not.
 */
uint64_t gt_rights(uint64_t on, uint64_t off);

#endif
