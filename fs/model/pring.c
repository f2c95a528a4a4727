/* SPDX-License-Identifier: GPL-2.0 */
/* What one process does on one ring: made at its first job there, freed with the process. */
#include <string.h>

#include "internal.h"

#define NEAR(p, ring) ((p)->near[(ring) % (sizeof((p)->near) / sizeof((p)->near[0]))])

static struct gt_proc_ring *pring_new(struct gt_model *m, struct gt_proc *p, uint16_t gpu,
				      uint16_t ring)
{
	struct gt_proc_ring *pr = NULL;

	if (p->nrings < GT_PROC_MAX_RINGS)
		pr = gt_mem_get(sizeof(*pr), true);
	if (!pr) {
		m->prings_refused++;
		return NULL;
	}
	pr->gpu = gpu;
	pr->ring = ring;
	gt_stages_init(pr->stage);
	pr->next = p->rings;
	p->rings = pr;
	p->nrings++;
	return pr;
}

struct gt_proc_ring *gt_pring(struct gt_model *m, struct gt_proc *p, uint16_t gpu, uint16_t ring)
{
	struct gt_proc_ring *pr = NEAR(p, ring);

	if (likely(pr && pr->ring == ring && pr->gpu == gpu))
		return pr;
	for (pr = p->rings; pr; pr = pr->next) {
		if (pr->ring == ring && pr->gpu == gpu)
			break;
	}
	if (!pr)
		pr = pring_new(m, p, gpu, ring);
	if (pr)
		NEAR(p, ring) = pr;
	return pr;
}

void gt_prings_free(struct gt_model *m, struct gt_proc *p)
{
	struct gt_proc_ring *next;

	for (struct gt_proc_ring *pr = p->rings; pr; pr = next) {
		next = pr->next;
		gt_stages_reset(pr->stage);
		gt_mem_put(pr, sizeof(*pr));
	}
	gt_uses_free(p->uses);
	p->uses = NULL;
}

void gt_prings_clear(struct gt_proc *p, uint64_t now)
{
	for (struct gt_proc_ring *pr = p->rings; pr; pr = pr->next) {
		memset(&pr->counts, 0, sizeof(pr->counts));
		gt_stages_reset(pr->stage);
		gt_busy_restart(&pr->busy, now);
	}
	gt_uses_clear(p->uses, now);
}

void gt_prings_expire(struct gt_proc *p, uint64_t now)
{
	for (struct gt_proc_ring *pr = p->rings; pr; pr = pr->next) {
		for (unsigned int i = 0; i < GT_NSTAGES; i++)
			gt_stage_expire(&pr->stage[i], now);
	}
}
