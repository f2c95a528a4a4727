/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Jobs whose end was missed: one rule, for the model and for a source that counts itself. Such a
 * job leaves as soon as this is known: it is counted as ended_unseen, and is in no depth, no busy
 * time, no list of jobs and no blame.
 *
 * It is known when
 *
 * - a later job of the same context on the same ring has ended: jobs of a context end in order;
 * - a job with the same context and number is submitted: it is another one by then;
 * - the source was paused, or lost events, while the job was in flight;
 * - the GPU was reset while the hardware had the job;
 * - its submitter has ended while the job was queued: the scheduler frees such jobs without an
 * event.
 *
 * If its end comes after all, the job is matched with it, and is not counted as ended_unseen any
 * more; but for a loss, its hw_wait and exec stay unknown. No header but this is needed: BPF
 * programs include it.
 */
#ifndef GT_UNSEEN_H
#define GT_UNSEEN_H

#include <stdint.h>

/* Records of one moment may come in another order: by so much they do not contradict each other */
#define GT_UNSEEN_ORDER_NS 10000000ull
/* A second end of one job is the first one, told again */
#define GT_UNSEEN_AGAIN_NS 1000000ull
/* What a process did before it ended has been delivered by then */
#define GT_UNSEEN_DEAD_NS 200000000ull
/* So long a source keeps jobs that ended unseen, where there are very many */
#define GT_UNSEEN_SHORT_NS 1000000000ull

/* So many jobs that end after one that was handed over later, and the ring has no order */
#define GT_UNSEEN_STRAYS 4

/* Why it is known; of a job that comes back from a loss its start may be known still */
enum gt_unseen { GT_UNSEEN_SUPERSEDED, GT_UNSEEN_LOST, GT_UNSEEN_RESET, GT_UNSEEN_DEAD };

/**
 * struct gt_unseen_end - a job that ended
 * @seqno: its number in its context
 * @submit: when it was submitted; 0: not known
 */
struct gt_unseen_end {
	uint64_t seqno, submit;
};

/**
 * gt_unseen_superseded() - was the end of a job missed, since @by, of the same context and ring,
 *has ended?
 * @seqno, @seen: of that job: its number, and when it was seen first
 *
 * A number that is higher, though the job was seen much earlier than the other was submitted, means
 * that the context is another by now, or that its numbers began again.
 */
static inline __attribute__((always_inline)) int
gt_unseen_superseded(uint64_t seqno, uint64_t seen, const struct gt_unseen_end *by)
{
	if (seqno == UINT64_MAX || by->seqno == UINT64_MAX || seqno == by->seqno)
		return 0;
	if (seqno < by->seqno)
		return 1;
	return by->submit > seen && by->submit - seen > GT_UNSEEN_ORDER_NS;
}

/**
 * gt_unseen_again() - is a submission at @ts, of a job that was submitted at @submit already,
 *	another job with the same number?
 */
static inline __attribute__((always_inline)) int gt_unseen_again(uint64_t submit, uint64_t ts)
{
	return ts > submit && ts - submit > GT_UNSEEN_ORDER_NS;
}

#endif
