/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Records that are held back until their job ends, as only its end tells whether it is slow enough.
 * They wait in a pool of GT_HOLD_RECORDS, a chain a job.
 */
#ifndef GT_HOLD_H
#define GT_HOLD_H

#include "../model/model.h"

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
 * struct gt_hold - @jobs: the model's, whose places chains have
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
/** gt_hold_chain() - of a job that gt_hold_begin() was told of */
struct gt_chain *gt_hold_chain(const struct gt_hold *h, const struct gt_job *job);
/** gt_hold_put() - @r waits for the end of @job; false: there is no room for it */
bool gt_hold_put(struct gt_hold *h, const struct gt_job *job, const union gt_record *r);
/** gt_hold_drop() - what is held of a job goes */
void gt_hold_drop(struct gt_hold *h, struct gt_chain *c);
/** gt_hold_release() - what is held of a job comes by gt_hold_next(), which is to be asked at once
 */
void gt_hold_release(struct gt_hold *h, struct gt_chain *c);
/** gt_hold_next() - NULL: that was all. Good until the next call */
const union gt_record *gt_hold_next(struct gt_hold *h);
/** gt_hold_bytes() - memory that it may have touched */
uint64_t gt_hold_bytes(const struct gt_hold *h);
/** gt_hold_sweep() - drops what is held of jobs that left without an end; once a second at most */
void gt_hold_sweep(struct gt_hold *h, uint64_t now);

#endif
