/* SPDX-License-Identifier: GPL-2.0 */
/*
 * sampling_mode adaptive: which share of the jobs is recorded follows what the daemon uses of a
 * CPU.
 *
 * Ten times a second the share is multiplied by (aim / use)^0.3, but by no less than a half and no
 * more than 5/4: so it changes smoothly, settles within a second after a load that changes tenfold,
 * and does not swing. It aims at nine tenths of the budget. Clocks are the caller's.
 */
#ifndef GT_ADAPT_H
#define GT_ADAPT_H

#include <stdbool.h>
#include <stdint.h>

#define GT_ADAPT_NS 100000000u /* between two looks */

/**
 * struct gt_adapt - @budget: percent of a CPU; 0: it is off
 * @most: the share is never greater, of GT_SHARE_ALL; nor less than a 65536th of all
 * @at, @cpu: when it was looked last, and CPU time then; 0: not yet
 * @use: what was used of a CPU between the last two looks; told
 */
struct gt_adapt {
	unsigned int budget;
	uint64_t most, share;
	uint64_t at, cpu;
	double use;
};

/** gt_adapt_set() - the share stays what it was, within the new bounds; it begins at @most */
void gt_adapt_set(struct gt_adapt *a, unsigned int budget, uint64_t most);
/** gt_adapt_due() - is it time for a look? */
static inline bool gt_adapt_due(const struct gt_adapt *a, uint64_t now)
{
	return a->budget && now - a->at >= GT_ADAPT_NS;
}
/** gt_adapt_look() - @now and CPU time @cpu, ns; true: the share has changed */
bool gt_adapt_look(struct gt_adapt *a, uint64_t now, uint64_t cpu);

#endif
