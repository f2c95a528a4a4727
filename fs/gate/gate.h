/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The gate: what is recorded. Statistics are made before it and do not depend on it. Each stage has
 * its counter, and seen = recorded + every refusal + lost at any instant. The stages and their
 * order are those of backend/wanted.h, whose functions decide: sources that leave out jobs
 * themselves use them, too. A job is decided at its first event and then recorded whole or not at
 * all, but for single events that the level or filter_events leave out.
 */
#ifndef GT_GATE_H
#define GT_GATE_H

#include "../../backend/wanted.h"
#include "../../conf/config.h"
#include "../model/model.h"

enum gt_level { GT_LEVEL_OFF, GT_LEVEL_STATS, GT_LEVEL_NORMAL, GT_LEVEL_VERBOSE };

/** struct gt_gate_counts - guarded by the model's lock */
struct gt_gate_counts {
	uint64_t seen; /* events that happened, the lost ones too */
	uint64_t recorded;
	uint64_t lost_source;		/* told by LOST records of sources */
	uint64_t refused[GT_NREFUSALS]; /* by enum gt_refusal */
};

struct gt_gate {
	struct gt_wanted wanted;
	struct gt_gate_counts n;
	/* per ring, for sampling_stats: index gpu * GT_MAX_RINGS + ring, made on demand */
	struct gt_gate_ring {
		uint64_t seen, recorded, sampled_out;
	} * rings[GT_MAX_GPUS];
};

void gt_gate_init(struct gt_gate *g);
void gt_gate_destroy(struct gt_gate *g);
/** gt_gate_configure() - from now on as @c says. Model's lock held, as by all that follow */
void gt_gate_configure(struct gt_gate *g, const struct gt_config *c);
/**
 * gt_gate_pass() - is this record recorded? Counts it either way
 * @job: the job it belongs to or NULL; the decision is made once per job and kept in it
 */
bool gt_gate_pass(struct gt_gate *g, const union gt_record *r, struct gt_job *job);
/** gt_gate_left() - events of a ring that left no record at their source: @left[GT_NREFUSALS] */
void gt_gate_left(struct gt_gate *g, uint16_t gpu, uint16_t ring, const uint64_t *left);
/** gt_gate_ring_refused() - see gt_host.ring_refused() */
uint32_t gt_gate_ring_refused(const struct gt_gate *g, uint16_t gpu, uint16_t ring);
void gt_gate_clear(struct gt_gate *g);

/** gt_gate_filtered() - events that filters and watch lists refused; gt_gate_sampled() - sampling
 */
uint64_t gt_gate_filtered(const struct gt_gate_counts *n);
uint64_t gt_gate_sampled(const struct gt_gate_counts *n);

#endif
