/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Is a new job to be in records? By the settings, as the daemon's gate has them, and by the same
 * functions (backend/wanted.h). What is let through the gate looks at again, so where anything is
 * not known here the job is.
 */
#ifndef GT_BPF_DECIDE_H
#define GT_BPF_DECIDE_H

#include "table.h"

/* What others write is not read before this, nor after it. x86 keeps the order of loads. */
#ifdef __TARGET_ARCH_x86
#define k_gen(w)                                                                                   \
	({                                                                                         \
		uint64_t gen_;                                                                     \
		asm volatile("" : : : "memory");                                                   \
		gen_ = *(volatile uint64_t *)&(w)->gen;                                            \
		asm volatile("" : : : "memory");                                                   \
		gen_;                                                                              \
	})
#else
#define k_gen(w) __sync_fetch_and_add(&(w)->gen, 0)
#endif

/* Where too many jobs would be in records, a share of them is, chosen by key, each with all its events. */
static __always_inline bool k_thin(struct gt_k_ctl *c, const struct gt_k_event *e)
{
	return c->limit &&
	       (e->h >> 54 >= c->share || __sync_fetch_and_add(&c->taken, 1) >= c->limit);
}

/* By settings that nobody changes now. @about: of the ring */
static __always_inline uint32_t k_by(const struct gt_wanted *w, const struct gt_k_event *e,
				     uint64_t about)
{
	struct gt_wanted_job j = {
		.ctx = e->ctx,
		.seqno = e->seqno,
		.pid = e->pid,
		.uid = e->pid ? e->uid : GT_NONE32, /* an interrupt that found nobody at work */
		.gpu = GT_K_ABOUT_GPU(about),
		.ring = GT_K_ABOUT_RING(about),
		.refused = GT_K_ABOUT_REFUSED(about),
	};

	if (!w->types)
		return GT_R_LEVEL;
	return !about || e->vague ? GT_R_NONE : gt_job_refused(w, &j);
}

/* Why the job that begins with @e is in no record: enum gt_refusal */
__noinline uint32_t k_refused(struct gt_k_ctl *c, struct gt_k_event *e)
{
	struct gt_wanted *w;
	struct gt_k_ring *r;
	uint32_t at, ring, why;
	uint64_t gen;

	if (!c || !e)
		return GT_R_NONE;
	at = *(volatile uint32_t *)&c->settings & 1;
	ring = e->ring;
	w = LOOK(k_wanted, at);
	r = LOOK(k_rings, ring);
	if (!w || !r)
		return GT_R_NONE;
	gen = k_gen(w);
	why = k_by(w, e, r->about[at]);
	if (!gen || k_gen(w) != gen) /* two changes meanwhile: it may be half of the second */
		why = GT_R_NONE;
	return why == GT_R_NONE && k_thin(c, e) ? GT_R_RATE : why;
}

#endif
