/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a source counted itself, in place of the daemon: jobs matched and times sorted into the
 * buckets of bucket.h by the rules of fs/model/match.c. gt_host.tally hands it over, as often as
 * the source likes; everything in it is what came since the last one, but for what says "now".
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

/** struct gt_tally_stage - values of a stage: @nbucket buckets, upwards; their sum, and which were
 * the least and the greatest. As many as the buckets hold: none may be in the sum alone */
struct gt_tally_stage {
	uint64_t sum, min, max;
	const struct gt_tally_bucket *bucket;
	uint32_t nbucket;
};

/**
 * struct gt_tally_proc - of one process on the tally's ring
 * @pid: GT_NONE32: of jobs whose owner is not known
 * @uid: theirs; @start: ns since boot; @comm: NUL-terminated; all of that may be unknown:
 *GT_NONE32, 0, NULL
 * @first: time of the first of its events
 * @busy_ns: what its jobs kept the ring busy
 * @inflight: jobs now that are in no record; @aged: those that were given up, by age
 */
struct gt_tally_proc {
	uint32_t pid, uid;
	uint64_t start, first;
	const char *comm;
	uint64_t submitted, committed, completed;
	uint64_t busy_ns;
	uint32_t inflight, aged;
	struct gt_tally_stage stage[GT_NSTAGES];
};

#define GT_TALLY_SUBMITTED 0x1 /* gt_tally_job.told */
#define GT_TALLY_COMMITTED 0x2

/** struct gt_tally_job - in flight now, and in no record; @seen: its first event; @hw: it occupies
 * the hardware; @pid, @uid: whose, GT_NONE32 unknown */
struct gt_tally_job {
	uint64_t ctx, seqno, seen, submit, commit;
	uint32_t pid, uid;
	uint8_t told, hw, reserved[6];
};

#define GT_TALLY_TYPES 4 /* SUBMIT, COMPLETE and COMMIT, by their numbers */

/**
 * struct gt_tally - of one ring
 * @at: the time as of which it counts
 * @since: of the tally before; 0: this is the first
 * @seen: events by type; @left: of these, those that left no record, by enum gt_refusal
 * @completed: completions since the source began
 * @busy_ns: the ring's, which is of the procs' together where nothing was lost
 * @depth: jobs now that are in no record; @peak: the most there were of these
 * @area: depth x ns of these jobs
 * @first, @last: times of the first and the last event
 * @last_end: when the ring's last job ended, 0 none; @hw_since: since when it has been at work now,
 *0 it is not
 * @commits: its source tells COMMIT
 * @unlisted: those in flight are as they were in the tally before; else
 * @job: @njob of those in flight, in order of @seen: not all, if there are very many
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
};

#endif
