/* SPDX-License-Identifier: GPL-2.0 */
#include <stdlib.h>

#include "gate.h"

#define BIT(type) (1U << (type))

/* What only level verbose records: it comes by the million and tells of no job. Calls of functions
 * do too, but come only where somebody chose the functions. */
#define VERBOSE_TYPES (BIT(GT_IRQ) | BIT(GT_CTX_SWITCH))
/* A wait names the job waited for, but is somebody else's doing */
#define WAIT_TYPES (BIT(GT_SYNC_WAIT_ENTER) | BIT(GT_SYNC_WAIT_EXIT))
/* Events of a job even where the job itself is not known */
#define JOB_TYPES                                                                                  \
	(BIT(GT_SUBMIT) | BIT(GT_COMPLETE) | BIT(GT_COMMIT) | BIT(GT_START) | BIT(GT_END) |        \
	 BIT(GT_ERROR))

enum { UNDECIDED, YES, NO }; /* gt_job.recorded */

/**
 * gt_gate_init() - level normal, every job recorded, nothing counted
 *
 * The salt is 0, so that two runs over one recording choose the same jobs.
 */
void gt_gate_init(struct gt_gate *g)
{
	*g = (struct gt_gate){ .level = GT_LEVEL_NORMAL, .sampling = 100 };
}

/** gt_gate_destroy() - frees what was made on demand; @g may be initialised again */
void gt_gate_destroy(struct gt_gate *g)
{
	for (unsigned int i = 0; i < GT_MAX_GPUS; i++) {
		free(g->rings[i]);
		g->rings[i] = NULL;
	}
}

/** gt_gate_clear() - counters start again at 0; settings and the choice of jobs in flight stay */
void gt_gate_clear(struct gt_gate *g)
{
	g->n = (struct gt_gate_counts){ 0 };
	for (unsigned int i = 0; i < GT_MAX_GPUS; i++) {
		for (unsigned int k = 0; g->rings[i] && k < GT_MAX_RINGS; k++)
			g->rings[i][k] = (struct gt_gate_ring){ 0 };
	}
}

/* The counters of a record's ring; @none takes them where the ring is unknown or memory lacking. */
static struct gt_gate_ring *ring_counts(struct gt_gate *g, uint16_t gpu, uint16_t ring,
					struct gt_gate_ring *none)
{
	if (gpu >= GT_MAX_GPUS || ring >= GT_MAX_RINGS)
		return none;
	if (!g->rings[gpu])
		g->rings[gpu] = calloc(GT_MAX_RINGS, sizeof(*g->rings[gpu]));
	return g->rings[gpu] ? &g->rings[gpu][ring] : none;
}

static uint64_t mix(uint64_t h, uint64_t v)
{
	h = (h ^ v) * 0x9e3779b97f4a7c15ULL; /* 2^64 / golden ratio: spreads counting numbers */
	return h ^ h >> 32;
}

static bool chosen(const struct gt_gate *g, uint16_t gpu, uint16_t ring, uint64_t ctx,
		   uint64_t seqno)
{
	uint64_t h;

	if (g->sampling >= 100)
		return true;
	h = mix(g->salt, (uint64_t)gpu << 16 | ring);
	h = mix(mix(mix(h, ctx), seqno), 0);
	return h % 100 < g->sampling;
}

static bool sampled_in(const struct gt_gate *g, const struct gt_event *e, struct gt_job *job)
{
	if (BIT(e->type) & WAIT_TYPES)
		return true;
	if (job) {
		if (job->recorded == UNDECIDED)
			job->recorded =
				chosen(g, job->gpu, job->ring, job->ctx, job->seqno) ? YES : NO;
		return job->recorded == YES;
	}
	if (!(BIT(e->type) & JOB_TYPES) || e->ctx == GT_NONE64)
		return true;
	return chosen(g, e->gpu, e->ring, e->ctx, e->seqno);
}

static bool level_passes(const struct gt_gate *g, unsigned int type)
{
	if (g->level <= GT_LEVEL_STATS)
		return false;
	return g->level >= GT_LEVEL_VERBOSE || !(BIT(type) & VERBOSE_TYPES);
}

/* A source that cannot tell how many it lost says all ones: one at least. */
static void count_lost(struct gt_gate *g, const struct gt_lost *lost)
{
	uint64_t n = lost->count == GT_NONE64 ? 1 : lost->count;

	if (lost->cause != GT_LOST_SOURCE)
		return;
	g->n.seen += n;
	g->n.lost_source += n;
}

void gt_gate_refused(struct gt_gate *g, uint16_t gpu, uint16_t ring, uint64_t level, uint64_t rate)
{
	struct gt_gate_ring none = { 0 };

	g->n.seen += level + rate;
	g->n.filtered_level += level;
	g->n.rate_limited += rate;
	ring_counts(g, gpu, ring, &none)->seen += level + rate;
}

bool gt_gate_pass(struct gt_gate *g, const union gt_record *r, struct gt_job *job)
{
	struct gt_gate_ring none = { 0 }, *ring;

	if (r->ev.type == GT_LOST)
		count_lost(g, &r->lost);
	if (r->ev.type >= GT_HEADER && gt_type_known(r->ev.type))
		return true;
	g->n.seen++;
	if (!gt_type_known(r->ev.type)) { /* it would stop every babeltrace2 that meets it */
		g->n.filtered++;
		return false;
	}
	ring = ring_counts(g, r->ev.gpu, r->ev.ring, &none);
	ring->seen++;
	if (!level_passes(g, r->ev.type)) {
		g->n.filtered_level++;
		return false;
	}
	if (!sampled_in(g, &r->ev, job)) {
		g->n.sampled_out++;
		ring->sampled_out++;
		return false;
	}
	g->n.recorded++;
	ring->recorded++;
	return true;
}
