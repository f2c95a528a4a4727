/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Jobs with a missed end. Such a job leaves as soon as this is known: it is counted as ended_unseen,
 * and is in no depth, no busy time, no list of jobs and no blame.
 *
 * It is known when
 *
 * - a later job of the same context on the same ring has ended: jobs of a context end in order;
 * - a job with the same context and number is submitted: it is another one by then;
 * - the source was paused, or lost events, while the job was in flight;
 * - the records of a CPU begin later than those of others, the job was seen before that, and so was a
 * superseded one: then the CPU's buffer had run over. Otherwise the CPU had no events;
 * - no end of a job has been seen of its ring so far, though GT_UNSEEN_NO_END jobs occupy the
 * hardware, some for GT_UNSEEN_NO_END_NS: the ring lacks ends, and with it all rings of a GPU
 * without any end, up to the first one. Of a GPU with ends on other rings only a ring that says
 * what it hands over, as else a job that hangs may keep those behind it;
 * - the GPU, or the job's queue alone, was reset while the hardware had the job;
 * - its submitter has ended while the job was queued: the scheduler frees such jobs without an
 * event.
 *
 * If its end comes after all, the job is matched with it, and is not counted as ended_unseen any
 * more; but for a loss, its hw_wait and exec stay unknown, and where ends are missing up to some
 * time (the last CPU's begin, the first end) if it began before that. A CPU that begins late may have
 * had no events after all: what ends behind a job that was handed over before another that seems
 * lost may have waited for that one, so its hw_wait and exec are unknown. Where an end comes before
 * other events of its job, as in a recording of CPUs with different clocks, those count, and the job
 * is not in flight.
 *
 * Where it turns out that ends may be missing from a recording's beginning on, busy times and depths
 * begin again when that time is over. Jobs that ended unseen had been in them.
 */
#ifndef GT_UNSEEN_H
#define GT_UNSEEN_H

#include <stdint.h>

/* Records of one moment may come in another order: by so much they do not contradict each other */
#define GT_UNSEEN_ORDER_NS 10000000ull
/* A second end of a job within this time is the first one, reported again */
#define GT_UNSEEN_AGAIN_NS 1000000ull
/* So long after its end, everything that a process did has been delivered */
#define GT_UNSEEN_DEAD_NS 200000000ull

/* Before its first end, a ring has fewer jobs than this at its hardware, for a shorter time */
#define GT_UNSEEN_NO_END    64
#define GT_UNSEEN_NO_END_NS 1000000000ull

/* A stray, which ends after a job that was handed over later, cancels so many ends in order */
#define GT_UNSEEN_STRAY 4
/* With so many strays more than that, the ring has no order */
#define GT_UNSEEN_STRAYS 16

/* Why a job is known to have ended; the start of one that comes back from a loss may still be known */
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
 * has ended?
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
 * gt_unseen_stray() - a stray ended, within GT_UNSEEN_ORDER_NS: has the ring no order?
 * @strays: the ring's; each end in order takes 1 from it, down to 0
 *
 * Records change places, and clocks of CPUs differ: such strays are few among the ends in order,
 * however many there are in time. When a stray began is not known. A ring without an order works on
 * jobs side by side: there it is inferred.
 */
static inline __attribute__((always_inline)) int gt_unseen_stray(uint32_t *strays)
{
	*strays += GT_UNSEEN_STRAY;
	return *strays >= GT_UNSEEN_STRAY * GT_UNSEEN_STRAYS;
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
