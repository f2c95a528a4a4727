/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The gate: what is recorded. Statistics are made before it and do not depend on it. Each stage has
 * its counter, and seen = recorded + every refusal + lost at any instant. Order: level, sampling.
 */
#ifndef GT_GATE_H
#define GT_GATE_H

#include "../model/model.h"

enum gt_level { GT_LEVEL_OFF, GT_LEVEL_STATS, GT_LEVEL_NORMAL, GT_LEVEL_VERBOSE };

/** struct gt_gate_counts - guarded by the model's lock */
struct gt_gate_counts {
	uint64_t seen;		/* events that happened, the lost ones too */
	uint64_t recorded;
	uint64_t filtered_level;
	uint64_t filtered;	/* by filters and watch lists */
	uint64_t sampled_out;
	uint64_t rate_limited;
	uint64_t lost_source;	/* told by LOST records of sources */
};

struct gt_gate {
	int level;
	unsigned int sampling; /* percent of jobs */
	uint64_t salt;
	struct gt_gate_counts n;
	/* per ring, for sampling_stats: index gpu * GT_MAX_RINGS + ring, made on demand */
	struct gt_gate_ring {
		uint64_t seen, recorded, sampled_out;
	} *rings[GT_MAX_GPUS];
};

void gt_gate_init(struct gt_gate *g);
void gt_gate_destroy(struct gt_gate *g);
/**
 * gt_gate_pass() - is this record recorded? Counts it either way; model's lock held
 * @job: the job it belongs to or NULL; the decision is made once per job and kept in it
 */
bool gt_gate_pass(struct gt_gate *g, const union gt_record *r, struct gt_job *job);
/** gt_gate_refused() - events of a ring left no record: @level as the level wants none, @rate as there
 * were too many; likewise */
void gt_gate_refused(struct gt_gate *g, uint16_t gpu, uint16_t ring, uint64_t level, uint64_t rate);
void gt_gate_clear(struct gt_gate *g);

#endif
