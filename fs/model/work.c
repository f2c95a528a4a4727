/* SPDX-License-Identifier: GPL-2.0 */
/* What several processes did together, or one that is no more: ring by ring, folded. */
#include <errno.h>
#include <string.h>

#include "internal.h"

#define WORK_MAX_RINGS 1024 /* of several processes; of one see GT_PROC_MAX_RINGS */

void gt_counts_add(struct gt_counts *to, const struct gt_counts *c)
{
	to->submitted += c->submitted;
	to->committed += c->committed;
	to->completed += c->completed;
	to->errors += c->errors;
	to->lost += c->lost;
	to->aged += c->aged;
	to->evicted += c->evicted;
	to->unmatched += c->unmatched;
	to->waits += c->waits;
	to->wait_ns += c->wait_ns;
	to->ioctls += c->ioctls;
	to->ioctl_ns += c->ioctl_ns;
	to->launches += c->launches;
	to->copies += c->copies;
	to->copy_bytes = gt_sum(to->copy_bytes, c->copy_bytes);
}

static struct gt_proc_ring *ring_of(struct gt_work *w, uint16_t gpu, uint16_t ring)
{
	struct gt_proc_ring *r = w->rings;

	while (r && (r->gpu != gpu || r->ring != ring))
		r = r->next;
	if (r || w->nrings == WORK_MAX_RINGS)
		return r;
	r = gt_mem_get(sizeof(*r), false);
	if (!r)
		return NULL;
	r->gpu = gpu;
	r->ring = ring;
	gt_stages_init(r->stage);
	r->next = w->rings;
	w->rings = r;
	w->nrings++;
	return r;
}

int gt_work_fold(struct gt_work *w, const struct gt_proc_ring *from, unsigned int what)
{
	struct gt_proc_ring *to = ring_of(w, from->gpu, from->ring);

	if (!to)
		return -ENOMEM;
	to->inflight += from->inflight;
	gt_counts_add(&to->counts, &from->counts);
	if (what & GT_WORK_BUSY)
		gt_busy_fold(&to->busy, &from->busy);
	else
		to->busy.total_ns += from->busy.total_ns;
	for (unsigned int i = 0; (what & GT_WORK_STAGES) && i < GT_NSTAGES; i++)
		gt_stage_fold(&to->stage[i], &from->stage[i]);
	return 0;
}

void gt_work_free(struct gt_work *w)
{
	struct gt_proc_ring *next;

	for (struct gt_proc_ring *r = w->rings; r; r = next) {
		next = r->next;
		gt_stages_reset(r->stage);
		gt_mem_put(r, sizeof(*r));
	}
	gt_uses_free(w->uses);
	memset(w, 0, sizeof(*w));
}

void gt_work_expire(struct gt_work *w, uint64_t now)
{
	for (struct gt_proc_ring *r = w->rings; r; r = r->next)
		for (unsigned int i = 0; i < GT_NSTAGES; i++)
			gt_stage_expire(&r->stage[i], now);
}
