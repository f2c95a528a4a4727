/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a source counted itself, in place of the daemon: jobs matched and times sorted into the
 * buckets of bucket.h by the rules of fs/model/match.c. gt_host.tally hands it over, as often as
 * the source likes. All values are what came since the last tally, except those described as "now".
 */
#ifndef GT_TALLY_H
#define GT_TALLY_H

#include <stdbool.h>
#include <stddef.h>

#include "bucket.h"
#include "wanted.h"

/*
 * gt_event.flags, of a live source: the event is in a tally of that source, so it makes no
 * statistics. Of a COMPLETE value and ref are the job's exec and hw_wait by that source, and queue
 * its completion's number, of its ring. The daemon takes all of that out of the record.
 */
#define GT_F_COUNTED 0x80

/** struct gt_tally_bucket - @n values in bucket @b */
struct gt_tally_bucket {
	uint32_t b, n;
};

/** struct gt_tally_stage - values of a stage: @nbucket buckets in ascending order; sum, least and
 * greatest of exactly the values in the buckets */
struct gt_tally_stage {
	uint64_t sum, min, max;
	const struct gt_tally_bucket *bucket;
	uint32_t nbucket;
};

/**
 * struct gt_tally_proc - one process on the tally's ring
 * @pid: GT_NONE32: jobs with an unknown owner
 * @uid: GT_NONE32 if unknown
 * @start: ns since boot, 0 if unknown
 * @first: time of its first event
 * @comm: NUL-terminated, NULL if unknown
 * @busy_ns: time that its jobs kept the ring busy
 * @inflight: jobs in flight now that are in no record
 * @aged: jobs that were given up by age
 * @unseen: jobs in no record that were found to have ended unseen (unseen.h)
 * @back: jobs of these, or of earlier ones, that ended after all
 */
struct gt_tally_proc {
	uint32_t pid, uid;
	uint64_t start, first;
	const char *comm;
	uint64_t submitted, committed, completed;
	uint64_t busy_ns;
	uint32_t inflight, aged;
	uint32_t unseen, back;
	struct gt_tally_stage stage[GT_NSTAGES];
};

#define GT_TALLY_SUBMITTED 0x1 /* gt_tally_job.reported */
#define GT_TALLY_COMMITTED 0x2

/**
 * struct gt_tally_job - a job in flight now that is in no record
 * @seen: time of its first event
 * @pid, @uid: of its owner, GT_NONE32 if unknown
 * @reported: GT_TALLY_*, events seen so far
 * @hw: it occupies the hardware
 */
struct gt_tally_job {
	uint64_t ctx, seqno, seen, submit, commit;
	uint32_t pid, uid;
	uint8_t reported, hw, reserved[6];
};

#define GT_TALLY_TYPES 4 /* SUBMIT, COMPLETE and COMMIT, by their numbers */

/**
 * struct gt_tally - one ring
 * @at: the time as of which it counts
 * @since: @at of the tally before; 0: this is the first
 * @seen: events by type
 * @left: of these, those that left no record, by enum gt_refusal
 * @completed: completions since the source began
 * @busy_ns: of the ring; without a loss, the sum of that of the processes
 * @depth: jobs in flight now that are in no record
 * @peak: most jobs in flight at once, in records or not
 * @area: integral of @depth over time, jobs x ns
 * @first, @last: times of the first and the last event
 * @last_end: when the ring's last job ended, 0 none
 * @hw_since: since when the hardware has been at work now, 0 it is not
 * @commits: the source reports COMMIT
 * @unlisted: the jobs in flight are those of the tally before; else
 * @job: @njob of them, in order of @seen: not all, if there are very many
 * @gone: @ngone jobs in records that were found to have ended unseen at @seen, because a job without a
 *	record ended; one may be there several times
 */
struct gt_tally {
	uint16_t gpu, ring;
	uint64_t at, since;
	uint64_t seen[GT_TALLY_TYPES], left[GT_NREFUSALS];
	uint32_t completed;
	uint64_t busy_ns;
	uint32_t depth, peak;
	uint64_t area;
	uint64_t first, last;
	uint64_t last_end, hw_since;
	bool commits;
	const struct gt_tally_proc *proc;
	unsigned int nproc;
	bool unlisted;
	const struct gt_tally_job *job;
	unsigned int njob;
	const struct gt_tally_job *gone;
	unsigned int ngone;
};

#endif
