/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Jobs that the BPF program matches and counts: which, the maps, which jobs are in records, jobs in
 * flight, and the way of the counters to the model (count.c).
 */
#ifndef GB_TRACEPOINT_COUNT_H
#define GB_TRACEPOINT_COUNT_H

#include "../../../bpf/count.h"

#define GT_K_JOB_AT(of, i) ((struct gt_k_job *)(of) + (i) % GT_K_JOBS)
#include "../../../bpf/inflight.h"
#include "internal.h"

#define TC_SLOT_NS 250000000ull /* between folds while something is counted */

/**
 * struct tc_ring - what is known of a ring besides what the program knows
 * @known: its @gpu and @ring; it was reported at @since, with @area, @flying, @depth and so on
 * @inflight: jobs in flight then, in records or not
 * @flying: ns that the jobs in flight have been so; @listed: how many of them were listed
 * @reset: when its hardware was reset last
 */
struct tc_ring {
	bool known;
	uint16_t gpu, ring;
	uint64_t since, area, flying, hw_since, last_end;
	uint32_t depth, inflight, completed, listed;
	uint64_t now_flying, reset;
	uint16_t pairs; /* the first with something to report, + 1 */
};

#define TC_FLYING 4096 /* jobs that are listed */
#define TC_GONE	  256  /* jobs in records that ended unseen, likewise, between two folds */
/* If more jobs than this ended unseen they are kept for a short time */
#define TC_UNSEEN (GT_K_JOBS / 8)

/** struct tc_fly - a job in flight that is in no record */
struct tc_fly {
	uint32_t ring;
	struct gt_tally_job job;
};

/** struct tc_pair - likewise of a pair; @next: of the same ring, + 1; @idle: folds without anything
 */
struct tc_pair {
	uint16_t next, idle;
	uint32_t aged, reported; /* given up since the last fold; in flight, as reported */
};

/**
 * struct tp_count - the maps, and what is reported
 * @map: how to unmap them
 * @used: rings in use are below it
 * @at: as of when it was folded last, 0 never; @due: when it is next, 0: nothing is counted
 */
struct tp_count {
	bool on;
	const char *off; /* why not */
	struct gt_k_ctl *ctl;
	struct gt_k_line *ring_keys, *pair_keys, *job_keys;
	struct gt_k_ring *rings;
	struct gt_k_pair *pairs;
	struct gt_k_job *jobs;
	struct gt_k_octave *octs;
	struct gt_wanted *wanted; /* two, see gt_k_ctl.settings */
	struct {
		void *p;
		size_t len;
	} map[9];
	unsigned int sections;
	uint64_t at, due;
	uint64_t folds, fold_ns, tales, unplaced, aged;
	uint64_t serial; /* of the settings that the program has */
	uint64_t begun;	 /* jobs since the last fold in time that are wanted in records */
	uint64_t left[GT_NREFUSALS]; /* events that are in none, ever */
	unsigned int nfly;	     /* of fly[]: all rings', in order of ring and first sight */
	unsigned int ngone;	     /* of gone[]: not in order */
	unsigned int unseen, unseen_now; /* of those in the table, at the last look; at this one */
	struct tc_ring ring[GT_K_RINGS];
	struct tc_pair pair[GT_K_PAIRS];
	struct gt_tally_proc proc[GT_K_PAIRS + 1]; /* and jobs without a pair */
	char comm[GT_K_PAIRS][16];
	struct gt_tally_bucket *bucket;
	struct tc_fly fly[TC_FLYING], gone[TC_GONE];
	struct gt_tally_job job[TC_FLYING], left_unseen[TC_GONE];
};

/* count.c */

/** tc_start() - maps what the program counts into; -errno: all goes as records */
int tc_start(struct tp_state *t);
void tc_stop(struct tp_state *t);
/** tc_select() - which tracepoints are counted, after a selection */
void tc_select(struct tp_state *t);
/** tc_look() - another level, or a pause has ended: what ended meanwhile is unknown */
void tc_look(struct tp_state *t);
/** tc_lost() - events did not reach the program: no job's exec can be held against the one
 * before, and those in flight may have ended */
void tc_lost(struct tp_state *t);
/** tc_doctor() - lines of doctor */
void tc_doctor(const struct tp_state *t, struct gt_details *out);

/* count.c */

/** tc_wanted() - the settings, for jobs that begin from now on */
void tc_wanted(struct tp_state *t);

/* count.c */

/** tc_round() - folds if it is time; the next time is in gb.due */
void tc_round(struct tp_state *t);
/** tc_fold() - folds what there is up to @now. Was there anything? */
bool tc_fold(struct tp_state *t, uint64_t now, bool in_time);
/** tc_known() - completes @c by what the program knows of the job that a wait is for */
void tc_known(struct tp_state *t, const struct gt_bpf_raw *raw, struct gt_evctx *c);
/** tc_tale() - a job's end that had no room in the histograms, by record */
void tc_tale(struct tp_state *t, const void *data, size_t len);
/** tc_wake() - the program counts */
void tc_wake(struct tp_state *t);

/* count.c */

/** tc_all_unseen() - all jobs in flight are taken for ended unseen at @at */
void tc_all_unseen(struct tp_state *t, uint64_t at);
/** tc_flying() - looks at all jobs in flight: counts those that have ended, gives up those that are
 * too old; how long the others have been is put into tc_ring.now_flying */
void tc_flying(struct tp_state *t, uint64_t at);

#endif
