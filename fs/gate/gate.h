/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The gate decides what is recorded. Statistics are made before it and do not depend on it. Each
 * stage has its counter, and seen = recorded + every refusal + lost at any instant.
 *
 * A job is decided at its first event, or at its end where only that can show whether it is wanted.
 * It is recorded whole or not at all, except for single events that the level or filter_events
 * leave out. Reasons are checked in the order of enum gt_refusal; the first one counts.
 */
#ifndef GT_GATE_H
#define GT_GATE_H

#include <stdbool.h>
#include <stdint.h>

#include "../../backend/lib/rate.h"
#include "../../conf/config.h"
#include "../../conf/list.h"
#include "../model/model.h"

/**
 * enum gt_refusal - why an event is in no record; names of filter_stats
 *
 * TYPE, LEVEL and EVENTS apply to single events; all others to whole jobs, and LEVEL to both. An event
 * of an unwanted job counts for TYPE, LEVEL or EVENTS if these refuse it anyway, else for its job's
 * reason.
 */
enum gt_refusal {
	GT_R_NONE,	/* it is wanted */
	GT_R_TYPE,	/* no known type */
	GT_R_LEVEL,	/* level */
	GT_R_EVENTS,	/* filter_events */
	GT_R_RING,	/* filter_ring */
	GT_R_ENGINE,	/* filter_engine */
	GT_R_PID,	/* filter_pid */
	GT_R_UID,	/* filter_uid */
	GT_R_WATCHLIST, /* watchlist */
	GT_R_CTX,	/* watchlist_ctx */
	GT_R_SAMPLING,	/* sampling, static or adaptive */
	GT_R_RATE,	/* rate_limit */
	GT_R_LATENCY,	/* filter_latency */
	GT_R_THRESHOLD, /* sampling_threshold */
	GT_R_SHARE,	/* more than its user's share of the history; never decided for a job */
	GT_NREFUSALS
};

#define GT_WANTED_LIST 64 /* a power of two */
/* A job's own: SUBMIT, COMPLETE, COMMIT, START, END, ERROR, a bit each by enum gt_type */
#define GT_WANTED_JOB_TYPES 0x23bull
#define GT_SHARE_ALL	    (1ull << 32)

/**
 * struct gt_wanted - the settings, as they decide
 * @types: events that the level wants, a bit each by enum gt_type; 0: no records at all
 * @events: likewise filter_events
 * @share: share of the jobs in records, of GT_SHARE_ALL
 * @salt: of the choice of these
 * @npid, @nuid, @nctx: lengths of the lists; 0: no such filter
 * @ctx_but: @ctx are the unwanted ones
 * @pid, @uid, @ctx: in ascending order; unused places are all ones
 *
 * Which rings are wanted is not in it: see gt_gate_ring.refused.
 */
struct gt_wanted {
	uint64_t types, events;
	uint64_t share, salt;
	uint32_t npid, nuid, nctx, ctx_but;
	uint32_t pid[GT_WANTED_LIST], uid[GT_WANTED_LIST];
	uint64_t ctx[GT_WANTED_LIST];
};

/**
 * struct gt_wanted_job - what is known of a job at its first event
 * @ctx, @seqno: of the record, gt_event.ctx and .seqno
 * @pid, @uid: of its SUBMIT; all ones: unknown, and so in no list
 * @gpu, @ring: by gt_host.gpu() and .ring()
 * @refused: gt_gate_ring.refused of its ring
 */
struct gt_wanted_job {
	uint64_t ctx, seqno;
	uint32_t pid, uid;
	uint16_t gpu, ring;
	uint32_t refused;
};

#define GT_WANTED_INLINE static inline __attribute__((always_inline))

/* Number of entries of @list below @v: six steps, without a branch to mispredict */
#define GT_WANTED_BELOW(list, v)                                                                   \
	({                                                                                         \
		uint32_t at_ = 0;                                                                  \
		at_ += (list)[at_ + 31] < (v) ? 32 : 0;                                            \
		at_ += (list)[at_ + 15] < (v) ? 16 : 0;                                            \
		at_ += (list)[at_ + 7] < (v) ? 8 : 0;                                              \
		at_ += (list)[at_ + 3] < (v) ? 4 : 0;                                              \
		at_ += (list)[at_ + 1] < (v) ? 2 : 0;                                              \
		at_ += (list)[at_] < (v) ? 1 : 0;                                                  \
		at_ &(GT_WANTED_LIST - 1);                                                         \
	})

GT_WANTED_INLINE int gt_wanted_has32(const uint32_t list[GT_WANTED_LIST], uint32_t v)
{
	return v != UINT32_MAX && list[GT_WANTED_BELOW(list, v)] == v;
}

GT_WANTED_INLINE int gt_wanted_has64(const uint64_t list[GT_WANTED_LIST], uint64_t v)
{
	return v != UINT64_MAX && list[GT_WANTED_BELOW(list, v)] == v;
}

GT_WANTED_INLINE uint64_t gt_wanted_mix(uint64_t h, uint64_t v)
{
	h = (h ^ v) * 0x9e3779b97f4a7c15ull; /* 2^64 / golden ratio: spreads counting numbers */
	return h ^ h >> 32;
}

/** gt_wanted_draw() - a job's number below GT_SHARE_ALL: it is in records if that is below the share, so
 * jobs of a smaller share are in a greater one, too */
GT_WANTED_INLINE uint64_t gt_wanted_draw(const struct gt_wanted *w, const struct gt_wanted_job *j)
{
	uint64_t h = gt_wanted_mix(w->salt, (uint64_t)j->gpu << 16 | j->ring);

	h = gt_wanted_mix(gt_wanted_mix(h, j->ctx), j->seqno);
	return gt_wanted_mix(h, 0) >> 32;
}

/** gt_type_refused() - by the event's type alone. An event of an unwanted job for which this is GT_R_NONE
 * counts for the job's reason. @type: below GT_NTYPES */
GT_WANTED_INLINE enum gt_refusal gt_type_refused(const struct gt_wanted *w, unsigned int type)
{
	if (!(w->types >> (type & 63) & 1))
		return GT_R_LEVEL;
	return w->events >> (type & 63) & 1 ? GT_R_NONE : GT_R_EVENTS;
}

/** gt_filters_refused() - by all filters of jobs but not by sampling; also for an event without a job */
GT_WANTED_INLINE enum gt_refusal gt_filters_refused(const struct gt_wanted *w,
						    const struct gt_wanted_job *j)
{
	if (j->refused >> GT_R_RING & 1)
		return GT_R_RING;
	if (j->refused >> GT_R_ENGINE & 1)
		return GT_R_ENGINE;
	if (w->npid && !gt_wanted_has32(w->pid, j->pid))
		return GT_R_PID;
	if (w->nuid && !gt_wanted_has32(w->uid, j->uid))
		return GT_R_UID;
	if (j->refused >> GT_R_WATCHLIST & 1)
		return GT_R_WATCHLIST;
	if (w->nctx && gt_wanted_has64(w->ctx, j->ctx) == !!w->ctx_but)
		return GT_R_CTX;
	return GT_R_NONE;
}

/** gt_job_refused() - GT_R_NONE if a job that begins now is wanted. To be called once for each, at its
 * first event. If no event of jobs is wanted, no job is */
GT_WANTED_INLINE enum gt_refusal gt_job_refused(const struct gt_wanted *w,
						const struct gt_wanted_job *j)
{
	enum gt_refusal r;

	if (!w->types)
		return GT_R_LEVEL;
	if (!(w->types & w->events & GT_WANTED_JOB_TYPES))
		return GT_R_EVENTS;
	r = gt_filters_refused(w, j);
	if (r != GT_R_NONE || w->share >= GT_SHARE_ALL)
		return r;
	return gt_wanted_draw(w, j) < w->share ? GT_R_NONE : GT_R_SAMPLING;
}

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
