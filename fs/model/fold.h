/* SPDX-License-Identifier: GPL-2.0 */
/* The way of an event into the model. For who feeds it. */
#ifndef GT_FOLD_H
#define GT_FOLD_H

#include "model.h"

/**
 * struct gt_folded - what became of one event
 * @job: the job it belongs to, still valid until the next call; NULL none
 * @finished: true if a job ended with it: @fin is filled. That need not have been in the table: a
 *	DISPATCH is a whole job, and has no @job
 * @unknown_pid: a pid that the model does not have (then the caller asks /proc and calls
 *	gt_model_process(), and the event has been counted for it by a bare entry already)
 * @new_ring: a ring that the model made for it
 * @nlate: so many jobs had ended before the ioctl that submitted them, which the event ends
 * @late: their numbers, as given to gt_model_logged()
 * @ioctl: their time in it
 */
struct gt_folded {
	struct gt_job *job;
	bool finished;
	uint32_t hash; /* of @job's key, if it finished */
	struct gt_finished fin;
	struct gt_proc *new_proc;
	struct gt_ring *new_ring;
	unsigned int nlate;
	uint64_t late[GT_IOCTL_JOBS], ioctl;
};

/**
 * gt_model_event() - folds one record in, and completes it: pid, tid and uid of the job's owner are
 *	filled in where the source does not have them. Ingest thread, lock held.
 *
 * Takes every type: events, PROCESS, QUEUE, NAME (custom), LOST (with GT_LOST_SOURCE: every ring of
 * the record's GPU, or of all if GT_NONE16, does not know its next hw_wait and exec).
 */
void gt_model_event(struct gt_model *m, union gt_record *r, struct gt_folded *f);
/**
 * gt_model_fetch() - brings what a record to come will touch nearer to the CPU: call it for each
 *	record, GT_FETCH_AHEAD records before gt_model_event(). Lock held. Optional.
 */
#define GT_FETCH_AHEAD 8
void gt_model_fetch(struct gt_model *m, const union gt_record *r);
/**
 * gt_model_logged() - after an event that ended a job
 * @number: distinguishes its record in the history
 *
 * Lock held.
 */
void gt_model_logged(struct gt_model *m, const struct gt_folded *f, uint64_t number);
/** gt_model_done() - after an event: frees the job if it ended. Lock held. */
void gt_model_done(struct gt_model *m, struct gt_folded *f);
/** gt_model_recorded() - counts a record that went to the log. Lock held. */
void gt_model_recorded(struct gt_model *m, const union gt_record *r);

/**
 * gt_model_usage() - what a process has used and holds: created if it is new, which @f says. False: no
 *	such GPU, or no room. Ingest thread, lock held
 */
bool gt_model_usage(struct gt_model *m, const struct gt_usage *u, struct gt_folded *f);

/** gt_model_queues_hw() - see struct gt_host. Ingest thread, lock held */
void gt_model_queues_hw(struct gt_model *m, const struct gt_queue_hw *q, size_t n);

#endif
