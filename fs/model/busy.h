/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Busy time of a ring, an engine or a process: a union of intervals (never counted twice, so never
 * over 100 %), in slots of 250 ms for the last minute.
 */
#ifndef GT_BUSY_H
#define GT_BUSY_H

#include <stdbool.h>
#include <stdint.h>

#define GT_BUSY_SLOT_NS 250000000ULL
#define GT_BUSY_SLOTS	244 /* 61 s */
/* Disjoint intervals that are kept. Older ones are merged with the gaps between them, so an interval that ends
 * after more than this many others adds too little busy time. */
#define GT_BUSY_OPEN 128

/**
 * struct gt_busy - busy time
 * @total_ns: since start or clear
 * @start, @end: the latest interval; @cov: the disjoint ones before it, by time
 * @slot_end: end of the slot being filled, of which @pending is not in slot_ns yet
 * @unclear: when the last interval ended of which it is not known how long it was; 0: none
 */
struct gt_busy {
	uint64_t total_ns;
	uint64_t start, end;
	uint64_t slot_end;
	uint64_t pending;
	uint64_t unclear;
	unsigned int ncov;
	struct {
		uint64_t start, end;
	} cov[GT_BUSY_OPEN];
	uint64_t slot_no[GT_BUSY_SLOTS];
	uint32_t slot_ns[GT_BUSY_SLOTS];
} __attribute__((aligned(64))); /* most jobs write to the first cache line alone */

/** gt_busy_add() - [@start, @end) was busy; intervals come by rising @end */
void gt_busy_add(struct gt_busy *b, uint64_t start, uint64_t end);
/** gt_busy_unclear() - it was busy until @end, since when is not known */
static inline void gt_busy_unclear(struct gt_busy *b, uint64_t end)
{
	b->unclear = end > b->unclear ? end : b->unclear;
}
#define GT_ALL UINT64_MAX /* a window: since the start or clear */
/** gt_busy_known() - is all of the @window ns before @now known? */
static inline bool gt_busy_known(const struct gt_busy *b, uint64_t now, uint64_t window)
{
	return !b->unclear || (window < now && b->unclear <= now - window);
}
/** gt_busy_ns() - busy time within the @window ns before @now (window at most 60 s, or GT_ALL);
 * GT_NONE64: not known */
uint64_t gt_busy_ns(const struct gt_busy *b, uint64_t now, uint64_t window);
/** gt_busy_fold() - adds @from to @to, which then is for reading; more than the time there was is cut */
void gt_busy_fold(struct gt_busy *to, const struct gt_busy *from);
/** gt_busy_fold_total() - likewise, of all times together alone */
void gt_busy_fold_total(struct gt_busy *to, const struct gt_busy *from);
/** gt_busy_spread() - it was busy for @ns of [@since, @end), when is not known: all the time alike */
void gt_busy_spread(struct gt_busy *b, uint64_t since, uint64_t end, uint64_t ns);
void gt_busy_reset(struct gt_busy *b);

#endif
