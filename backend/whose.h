/* SPDX-License-Identifier: GPL-2.0 */
/* Anybody can write any pid into a file of theirs: is it of who wrote it? */
#ifndef GT_WHOSE_H
#define GT_WHOSE_H

#include <stdint.h>

enum gt_whose {
	GT_WHOSE_GONE,	 /* there is no such process */
	GT_WHOSE_THEIRS, /* it is that user's, and was there then */
	GT_WHOSE_OTHERS, /* it is another's, or began later */
};

/**
 * gt_whose() - of this machine's process @pid: is it one of @uid's, and was it there at @ts?
 * @ts: CLOCK_BOOTTIME, ns
 */
enum gt_whose gt_whose(uint32_t pid, uint32_t uid, uint64_t ts);

#endif
