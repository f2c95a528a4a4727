/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which rings a process used, noted under the lock and looked at one by one without it: a process
 * or a ring's numbers may go between two looks.
 */
#include "lines.h"

void gt_ring_set_of(struct gt_ring_set *set, const struct gt_proc *p, uint16_t gpu)
{
	for (const struct gt_proc_ring *r = p->rings; r; r = r->next)
		if (r->gpu < GT_MAX_GPUS && r->ring < GT_MAX_RINGS &&
		    (gpu == GT_NONE16 || r->gpu == gpu))
			set->bit[r->gpu][r->ring / 64] |= 1ULL << (r->ring % 64);
}

bool gt_ring_set_next(const struct gt_ring_set *set, struct gt_ring_key *k)
{
	for (; k->gpu < GT_MAX_GPUS; k->gpu++, k->ring = 0) {
		for (; k->ring < GT_MAX_RINGS; k->ring = (uint16_t)((k->ring | 63) + 1)) {
			uint64_t rest = set->bit[k->gpu][k->ring / 64] >> (k->ring % 64);

			if (!rest)
				continue;
			k->ring = (uint16_t)(k->ring + __builtin_ctzll(rest));
			return true;
		}
	}
	return false;
}

const struct gt_proc_ring *gt_proc_ring_at(const struct gt_proc *p, struct gt_ring_key k)
{
	const struct gt_proc_ring *r = p->rings;

	while (r && (r->gpu != k.gpu || r->ring != k.ring))
		r = r->next;
	return r;
}
