/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Merges the records of several sources by time. Each source is a FIFO in its own order; a record goes
 * out once no other source can still deliver an older one. A source promises this by its watermark: the
 * time of its last record, or a later one that it sets.
 *
 * Live sources and recordings are merged separately, as their clocks are unrelated. A silent live source
 * holds the others back for GT_ORDER_HOLD_NS at most after a record came. A recording is waited for until
 * it delivers or ends, so that a replay never depends on the speed of the machine. No source queues more
 * than GT_ORDER_CAP records.
 *
 * One thread; times are nanoseconds of CLOCK_MONOTONIC (@now) or of the records (@ts).
 */
#ifndef GT_ORDER_H
#define GT_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../event.h"

#define GT_ORDER_HOLD_NS 20000000ull
#define GT_ORDER_BUSY_NS 500000000ull
#define GT_ORDER_CAP	 65536u

struct gt_order;

/**
 * struct gt_order_ops - the output
 * @records: @n records of source @src, next in time; valid during the call
 * @watermark: no record to come is older than @ts, except late ones. Never decreases, except by
 *	gt_order_rewind()
 */
struct gt_order_ops {
	void *arg;
	void (*records)(void *arg, unsigned int src, const union gt_record *r, size_t n);
	void (*watermark)(void *arg, uint64_t ts);
};

/**
 * struct gt_order_stats - counters of records, never reset
 * @direct: passed on without waiting
 * @queued: copied to wait
 * @held: passed on ahead of a silent source, as they had waited long enough
 * @forced: passed on because a queue was full
 * @dropped: no memory
 */
struct gt_order_stats {
	uint64_t direct, queued, held, forced, dropped;
};

/** gt_order_new() - for sources 0 to @n - 1, all inactive; NULL: no memory */
struct gt_order *gt_order_new(unsigned int n, const struct gt_order_ops *ops);
/** gt_order_free() - drops queued records: gt_order_flush() first */
void gt_order_free(struct gt_order *o);

/** gt_order_begin() - @src is active: others wait for it; its watermark is 0 */
void gt_order_begin(struct gt_order *o, unsigned int src, bool recording);
/** gt_order_end() - @src has ended, or is stopped or paused: others do not wait; its queued records still
 * go out */
void gt_order_end(struct gt_order *o, unsigned int src);
/** gt_order_rewind() - recording @src starts again: queued records go out, and times start anew */
void gt_order_rewind(struct gt_order *o, unsigned int src);

/** gt_order_push() - @n records of @src, in its own order; those that may go out at once are not copied */
void gt_order_push(struct gt_order *o, unsigned int src, const union gt_record *r, size_t n,
		   uint64_t now);
/** gt_order_watermark() - every later record of @src has ts >= @ts */
void gt_order_watermark(struct gt_order *o, unsigned int src, uint64_t ts);
/** gt_order_mark() - no record to come of source @src is older; 0: not known */
uint64_t gt_order_mark(const struct gt_order *o, unsigned int src);
/** gt_order_busy() - @src has more and comes back by itself (@busy), or waits for an event */
void gt_order_busy(struct gt_order *o, unsigned int src, bool busy);
/**
 * gt_order_run() - passes on what may go out, and the watermark
 * @now: when the sources were drained last; newer records may be on their way
 *
 * Return: CLOCK_MONOTONIC of the next call if nothing comes before; 0: not needed.
 */
uint64_t gt_order_run(struct gt_order *o, uint64_t now);
/** gt_order_flush() - passes everything on, by time */
void gt_order_flush(struct gt_order *o);
/** gt_order_pending() - number of queued records */
size_t gt_order_pending(const struct gt_order *o);
const struct gt_order_stats *gt_order_stats(const struct gt_order *o);

#endif
