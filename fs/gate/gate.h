/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The gate: what is recorded. Statistics are made before it and do not depend on it. Each stage has
 * its counter, and seen = recorded + every refusal + lost at any instant. The stages and their
 * order are those of backend/wanted.h, whose functions decide: sources that leave out jobs
 * themselves use them, too. A job is decided at its first event, or at its end where only that can
 * tell; it is then recorded whole or not at all, but for single events that the level or
 * filter_events leave out.
 */
#ifndef GT_GATE_H
#define GT_GATE_H

#include "../../backend/wanted.h"
#include "../../conf/config.h"
#include "../../conf/list.h"
#include "../model/model.h"
#include "adapt.h"
#include "hold.h"
#include "rate.h"

enum gt_level { GT_LEVEL_OFF, GT_LEVEL_STATS, GT_LEVEL_NORMAL, GT_LEVEL_VERBOSE };
enum gt_sampling_mode { GT_SAMPLING_STATIC, GT_SAMPLING_ADAPTIVE, GT_SAMPLING_THRESHOLD };

/**
 * struct gt_gate_counts - guarded by the model's lock
 * @seen: events that happened, the lost ones too
 * @lost_source: told by LOST records of sources; @lost_held: of jobs whose records found no room to
 *	wait in
 * @refused: by enum gt_refusal; what is held back counts there as what may refuse it, until it is
 *	recorded
 */
struct gt_gate_counts {
	uint64_t seen;
	uint64_t recorded;
	uint64_t lost_source, lost_held;
	uint64_t refused[GT_NREFUSALS];
};

/**
 * struct gt_gate_ring - @told: the steps of a job that its source tells, a bit each by type
 * @refused: gt_gate_ring_refused(), as of @rules
 */
struct gt_gate_ring {
	uint64_t seen, recorded, sampled_out;
	uint32_t told, refused;
	uint64_t rules;
};

/**
 * struct gt_gate - @model: whose rings and jobs; NULL: rings have no names
 * @rules: another with each change of the settings
 * @filter_rings, @watch, @engines: which rings are wanted
 * @slower, @latency: ns of total, which a job has to exceed; GT_NONE64: off
 * @period: another with each clear
 * @rings: made on demand; @nowhere: stands for those that are unknown
 */
struct gt_gate {
	struct gt_wanted wanted;
	struct gt_gate_counts n;
	const struct gt_model *model;
	uint64_t rules;
	struct gt_patterns filter_rings, watch;
	uint32_t engines, period;
	uint64_t slower, latency;
	struct gt_rate rate;
	struct gt_hold hold;
	struct gt_adapt adapt;
	struct gt_gate_ring *rings[GT_MAX_GPUS];
	struct gt_gate_ring nowhere;
};

/** gt_gate_init() - as without a configuration; @m may be NULL, else it must outlive the gate */
void gt_gate_init(struct gt_gate *g, const struct gt_model *m);
void gt_gate_destroy(struct gt_gate *g);
/** gt_gate_configure() - from now on as @c says. Model's lock held, as by all that follow */
void gt_gate_configure(struct gt_gate *g, const struct gt_config *c);
/**
 * gt_gate_pass() - is this record recorded? Counts it either way
 * @job: the job it belongs to or NULL; the decision is made once per job and kept in it
 * @total: of the job, if it ends with this record and that is known; else GT_NONE64
 *
 * If the job has been held back until now and is recorded, gt_gate_held() has its records: they are
 * to be taken before anything else is asked, whatever this one returns.
 */
bool gt_gate_pass(struct gt_gate *g, const union gt_record *r, struct gt_job *job, uint64_t total);
/** gt_gate_held() - the next one; NULL: there is none */
static inline const union gt_record *gt_gate_held(struct gt_gate *g)
{
	return g->hold.out == GT_NONE32 ? NULL : gt_hold_next(&g->hold);
}
/** gt_gate_left() - events of a ring that left no record at their source: @left[GT_NREFUSALS] */
void gt_gate_left(struct gt_gate *g, uint16_t gpu, uint16_t ring, const uint64_t *left);
/** gt_gate_adapt() - @now and the daemon's CPU time; true: sources are to be told. Where
 * gt_adapt_due() */
bool gt_gate_adapt(struct gt_gate *g, uint64_t now, uint64_t cpu);
/** gt_gate_clear() - counters start again at 0; settings, and the choice of jobs in flight, stay */
void gt_gate_clear(struct gt_gate *g);

/** gt_gate_filtered() - events that filters and watch lists refused */
uint64_t gt_gate_filtered(const struct gt_gate_counts *n);
/** gt_gate_sampled() - events that sampling left out */
uint64_t gt_gate_sampled(const struct gt_gate_counts *n);

/* rules.c */

/** gt_gate_ring_known() - has it its name and engine, which it keeps? */
bool gt_gate_ring_known(const struct gt_gate *g, uint16_t gpu, uint16_t ring);
/** gt_gate_ring_refused() - see gt_host.ring_refused() */
uint32_t gt_gate_ring_refused(const struct gt_gate *g, uint16_t gpu, uint16_t ring);

#endif
