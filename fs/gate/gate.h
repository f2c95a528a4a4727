/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The gate: what is recorded. Statistics are made before it and do not depend on it. Each stage has
 * its counter, and seen = recorded + every refusal + lost at any instant. The stages and their
 * order are those of wanted.h, and its functions decide. A job is decided at its first event, or at its end where only that can
 * show; it is then recorded whole or not at all, but for single events that the level or
 * filter_events leave out.
 */
#ifndef GT_GATE_H
#define GT_GATE_H

#include "wanted.h"
#include "../../conf/config.h"
#include "../../conf/list.h"
#include "../model/model.h"
#include <stdbool.h>
#include <stdint.h>
#include "rate.h"

/*
 * Records that are held back until their job ends, as only its end shows whether it is slow enough.
 * They wait in a pool of GT_HOLD_RECORDS, a chain a job.
 */
#define GT_HOLD_RECORDS 131072 /* 8 MiB, taken as they are needed */

/* gt_job.recorded, its low bits: the job is held; see gate.c */
#define GT_JOB_STATE 15
#define GT_JOB_HELD  14

/** struct gt_chain - what is held of one job: @n records; @why: what they count as meanwhile;
 * @counted: those that the gate counted in period @period, between two clears */
struct gt_chain {
	uint32_t first, last;
	uint32_t n, counted;
	uint32_t why, period;
};

/**
 * struct gt_hold - @jobs: the model's jobs, with a chain each
 * @njobs: how many places there are
 * @held: records in all chains
 * @out: the next of what gt_hold_next() gives; GT_NONE32 none
 * @swept: when places of jobs that are no more were looked for
 */
struct gt_hold {
	const struct gt_job *jobs;
	uint32_t njobs;
	struct gt_chain *chain;
	union gt_record *rec;
	uint32_t *next;
	uint32_t free, fresh, out;
	uint64_t held, swept;
};

void gt_hold_init(struct gt_hold *h, const struct gt_job *jobs, uint32_t njobs);
void gt_hold_destroy(struct gt_hold *h);
/** gt_hold_begin() - @job is held from now on; false: there is no memory */
bool gt_hold_begin(struct gt_hold *h, const struct gt_job *job);
/** gt_hold_put() - @r waits for the end of @job; false: there is no room for it */
bool gt_hold_put(struct gt_hold *h, const struct gt_job *job, const union gt_record *r);
/** gt_hold_next() - NULL: that was all. Good until the next call */
const union gt_record *gt_hold_next(struct gt_hold *h);
/** gt_hold_bytes() - memory that it may have touched */
uint64_t gt_hold_bytes(const struct gt_hold *h);
/** gt_hold_sweep() - drops what is held of jobs that left without an end; once a second at most */
void gt_hold_sweep(struct gt_hold *h, uint64_t now);

/*
 * sampling_mode adaptive: which share of the jobs is recorded follows what the daemon uses of a
 * CPU.
 *
 * Ten times a second the share is multiplied by (aim / use)^0.3, but by no less than a half and no
 * more than 5/4: so it changes smoothly, settles within a second after a load that changes tenfold,
 * and does not swing. It aims at nine tenths of the budget. Clocks are the caller's.
 */
#define GT_ADAPT_NS 100000000u /* between two looks */

/**
 * struct gt_adapt - @budget: percent of a CPU; 0: it is off
 * @most: the share is never greater, of GT_SHARE_ALL; nor less than a 65536th of all
 * @at, @cpu: when it was looked last, and CPU time then; 0: not yet
 * @use: share of a CPU used between the last two looks; reported
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
/** gt_sampling_adapt() - @now and CPU time @cpu, ns; true: the share has changed */
bool gt_sampling_adapt(struct gt_adapt *a, uint64_t now, uint64_t cpu);

enum gt_level { GT_LEVEL_OFF, GT_LEVEL_STATS, GT_LEVEL_NORMAL, GT_LEVEL_VERBOSE };
enum gt_sampling_mode { GT_SAMPLING_STATIC, GT_SAMPLING_ADAPTIVE, GT_SAMPLING_THRESHOLD };

/**
 * struct gt_gate_counts - guarded by the model's lock
 * @seen: events that happened, the lost ones too
 * @lost_source: from LOST records of sources; @uncounted: such records that do not know how
 * many;
 *	@lost_held: of jobs with records that found no room to
 *	wait in
 * @refused: by enum gt_refusal; what is held back counts there as what may refuse it, until it is
 *	recorded
 */
struct gt_gate_counts {
	uint64_t seen;
	uint64_t recorded;
	uint64_t lost_source, lost_held, uncounted;
	uint64_t refused[GT_NREFUSALS];
};

/**
 * struct gt_gate_ring - @reported: the steps of a job that its source reports, a bit each by type
 * @seen_before, @recorded_before: when @rules became these
 * @refused: why no job of the ring is wanted, a bit each by enum gt_refusal, as of @rules
 */
struct gt_gate_ring {
	uint64_t seen, recorded, sampled_out;
	uint64_t seen_before, recorded_before;
	uint64_t reported;
	uint32_t refused;
	uint64_t rules;
};

/**
 * struct gt_gate - @model: of the rings and jobs; NULL: rings have no names
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
	uint64_t engines;
	uint32_t period;
	uint64_t slower, latency;
	struct gt_rate rate;
	struct gt_hold hold;
	struct gt_adapt adapt;
	struct gt_gate_ring *rings[GT_MAX_GPUS];
	struct gt_gate_ring nowhere;
	bool users; /* the records at hand are of users' own files, which rate_limit does not bound */
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
/** gt_gate_no_room() - @r, which has just passed, is more than its user's share of the history: it
 * is refused for that */
void gt_gate_no_room(struct gt_gate *g, const union gt_record *r);
/** gt_gate_adapt() - adapts the share of jobs that sampling takes, where gt_adapt_due(); @now and the
 * daemon's CPU time */
void gt_gate_adapt(struct gt_gate *g, uint64_t now, uint64_t cpu);
/** gt_gate_clear() - counters start again at 0; settings, and the choice of jobs in flight, stay */
void gt_gate_clear(struct gt_gate *g);
/** gt_gate_reset() - after gt_model_reset(): nothing is held of jobs of before. Lock held */
void gt_gate_reset(struct gt_gate *g);

/** gt_gate_filtered() - events that filters and watch lists refused */
uint64_t gt_gate_filtered(const struct gt_gate_counts *n);
/** gt_gate_sampled() - events that sampling left out */
uint64_t gt_gate_sampled(const struct gt_gate_counts *n);

#endif
