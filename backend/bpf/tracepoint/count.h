/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Jobs that the BPF program matches and counts: count.c (which, and the maps), fold.c (what it
 * counted goes to the model), decide.c (which jobs are in records), flying.c (jobs that are in
 * flight, or hang).
 */
#ifndef GB_TRACEPOINT_COUNT_H
#define GB_TRACEPOINT_COUNT_H

#include "../../../bpf/count.h"
#include "internal.h"

#define TC_SLOT_NS 250000000ull /* between folds while something is counted */

/**
 * struct tc_ring - what is known of a ring besides what the program knows
 * @known: its @gpu and @ring; it has been told of at @since, with @area, @flying, @depth and so on
 * @flying: ns that the jobs in flight have been so; @listed: how many of them were listed
 */
struct tc_ring {
	bool known;
	uint16_t gpu, ring;
	uint64_t since, area, flying, hw_since, last_end;
	uint32_t depth, completed, listed;
	uint64_t now_flying;
	uint16_t pairs; /* the first with something to tell, + 1 */
};

#define TC_FLYING 4096 /* jobs that are listed */

/** struct tc_fly - a job in flight that is in no record */
struct tc_fly {
	uint32_t ring;
	struct gt_tally_job job;
};

/** struct tc_pair - likewise of a pair; @next: of the same ring, + 1; @idle: folds without anything
 */
struct tc_pair {
	uint16_t next, idle;
	uint32_t aged, told; /* given up since the last fold; in flight, as was told */
};

/**
 * struct tp_count - the maps, and what is told
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
	uint64_t serial;	     /* of the settings that the program was told */
	uint64_t begun;		     /* jobs since tc_thin() that are wanted in records */
	uint64_t left[GT_NREFUSALS]; /* events that are in none, ever */
	unsigned int nfly;	     /* of fly[]: all rings', in order of ring and first sight */
	struct tc_ring ring[GT_K_RINGS];
	struct tc_pair pair[GT_K_PAIRS];
	struct gt_tally_proc proc[GT_K_PAIRS];
	char comm[GT_K_PAIRS][16];
	struct gt_tally_bucket *bucket;
	struct tc_fly fly[TC_FLYING];
	struct gt_tally_job job[TC_FLYING];
};

/* count.c */

/** tc_start() - maps what the program counts into; -errno: all goes as records */
int tc_start(struct tp_state *t);
void tc_stop(struct tp_state *t);
/** tc_select() - which tracepoints are counted, after a selection */
void tc_select(struct tp_state *t);
/** tc_look() - another level, or a pause has ended: what ended meanwhile is unknown */
void tc_look(struct tp_state *t);
/** tc_lock() - a ring's; false: not to be had now */
bool tc_lock(struct gt_k_ring *r);
void tc_unlock(struct gt_k_ring *r);
/** tc_free() - waits until nobody has a ring's lock; false: somebody has it for long */
bool tc_free(const struct gt_k_ring *r);
/** tc_thin() - how many jobs may be in records until the next fold in time */
void tc_thin(struct tp_state *t);
/** tc_lost() - events were not told to the program: no job's exec can be held against the one
 * before */
void tc_lost(struct tp_state *t);
/** tc_doctor() - lines of doctor */
void tc_doctor(const struct tp_state *t, struct gt_details *out);

/* decide.c */

/** tc_wanted() - the settings, for jobs that begin from now on */
void tc_wanted(struct tp_state *t);
/** tc_placed() - likewise of ring @i alone: it is known since just now, or is not any more */
void tc_placed(struct tp_state *t, unsigned int i);
/** tc_left_doctor() - lines of doctor: what did not leave the kernel */
void tc_left_doctor(const struct tp_count *c, struct gt_details *out);

/* fold.c */

/** tc_ring_used() - is there a ring of number @i? */
bool tc_ring_used(const struct tp_count *c, unsigned int i);

/** tc_place() - finds out who ring @i is; false: nobody knows */
bool tc_place(struct tp_state *t, unsigned int i);

/** tc_round() - folds if it is time; the next time is in gb.due */
void tc_round(struct tp_state *t);
/** tc_fold() - folds what there is up to @now. Was there anything? */
bool tc_fold(struct tp_state *t, uint64_t now, bool in_time);
/** tc_known() - completes @c by what the program knows of the job that a wait is for */
void tc_known(struct tp_state *t, const struct gt_bpf_raw *raw, struct gt_evctx *c);
/** tc_tale() - a job's end that had no room in the histograms, by record */
void tc_tale(struct tp_state *t, const void *data, size_t len);
/** tc_one() - a tally of one job alone: values @v (GT_NONE64: none) */
void tc_one(struct tp_state *t, const struct gt_k_tale *tale, uint32_t aged);
/** tc_pair() - number of the pair, GT_K_PAIRS: there is none */
unsigned int tc_pair(const struct tp_count *c, uint32_t ring, uint32_t pid, uint64_t start);
/** tc_wake() - the program counts */
void tc_wake(struct tp_state *t);

/* flying.c */

/** tc_list() - the jobs in flight on ring @i, into tp_count.job. How many */
unsigned int tc_list(struct tp_count *c, unsigned int i);
/** tc_flying() - looks at all jobs in flight: counts those that have ended, gives up those that are
 * too old; how long the others have been is put into tc_ring.now_flying */
void tc_flying(struct tp_state *t, uint64_t at);

#endif
