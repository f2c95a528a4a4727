/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Merges what several sources deliver by time. Each source is a FIFO in its own order; a record
 * goes out once no other source can still deliver an older one. What a source promises is its
 * watermark: the time of its last record, or more where it says so.
 *
 * Live sources and recordings are merged apart, as their clocks have nothing in common. A live
 * source that says nothing holds the others back GT_ORDER_HOLD_NS at most, from the moment a record
 * came; a recording is waited for until it speaks or ends, so that what a replay shows never
 * depends on how fast the machine was. No source queues more than GT_ORDER_CAP records.
 *
 * One thread; times are nanoseconds of CLOCK_MONOTONIC (@now) or of the records (@ts).
 */
#ifndef GT_ORDER_H
#define GT_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event.h"

#define GT_ORDER_HOLD_NS 20000000ull
#define GT_ORDER_BUSY_NS 500000000ull
#define GT_ORDER_CAP	 65536u

struct gt_order;

/**
 * struct gt_order_ops - where records go
 * @records: @n records of source @src, next in time; they are the order's or the pusher's, for the
 *	time of the call
 * @watermark: nothing to come is older than @ts, but for what comes late; only ever grows, but for
 *	gt_order_rewind()
 */
struct gt_order_ops {
	void *arg;
	void (*records)(void *arg, unsigned int src, const union gt_record *r, size_t n);
	void (*watermark)(void *arg, uint64_t ts);
};

/**
 * struct gt_order_stats - counters, never reset
 * @direct: records that went straight through; @queued: that were copied to wait
 * @held: that went out because they had waited long enough, ahead of a silent source
 * @forced: that went out because a queue was full
 * @dropped: for which there was no memory
 */
struct gt_order_stats {
	uint64_t direct, queued, held, forced, dropped;
};

/** gt_order_new() - for sources 0 to @n - 1, none of which is active; NULL: no memory */
struct gt_order *gt_order_new(unsigned int n, const struct gt_order_ops *ops);
/** gt_order_free() - what is queued is lost: gt_order_flush() first */
void gt_order_free(struct gt_order *o);

/** gt_order_begin() - @src is active: others wait for it. Its watermark starts at 0 */
void gt_order_begin(struct gt_order *o, unsigned int src, bool recording);
/** gt_order_end() - @src ended, stopped or paused: others do not wait. What is queued still goes
 * out */
void gt_order_end(struct gt_order *o, unsigned int src);
/** gt_order_rewind() - recording @src jumps: what is queued goes out, and its times start anew */
void gt_order_rewind(struct gt_order *o, unsigned int src);

/**
 * gt_order_push() - @n records of @src, in its own order
 *
 * What may go out at once does so, without a copy.
 */
void gt_order_push(struct gt_order *o, unsigned int src, const union gt_record *r, size_t n,
		   uint64_t now);
/** gt_order_watermark() - every later record of @src has ts >= @ts */
void gt_order_watermark(struct gt_order *o, unsigned int src, uint64_t ts);
/** gt_order_busy() - @src comes back for more by itself (@busy), or waits until something happens */
void gt_order_busy(struct gt_order *o, unsigned int src, bool busy);
/**
 * gt_order_run() - lets out what may go, and tells the watermark
 * @now: when the sources were last looked at: what came since may be older than the present
 *
 * Return: when to call it again though nothing comes (CLOCK_MONOTONIC), 0: no need.
 */
uint64_t gt_order_run(struct gt_order *o, uint64_t now);
/** gt_order_flush() - everything goes out, by time */
void gt_order_flush(struct gt_order *o);
/** gt_order_pending() - records that wait */
size_t gt_order_pending(const struct gt_order *o);
const struct gt_order_stats *gt_order_stats(const struct gt_order *o);

#endif
