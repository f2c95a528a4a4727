/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Marks of events that a tracepoint's first program reports, for its second one, see args.bpf.c.
 * Nobody overwrites another event's mark while that is under way; marks that no second program took
 * away are old after some seconds, and make room.
 */
#ifndef GT_BPF_MARK_H
#define GT_BPF_MARK_H

#include <stdbool.h>

#include "shared.h"

#define GT_MARK_PLACES 2  /* where an event's may be */
#define GT_MARK_TIME   13 /* bits of a mark; the rest says which event's it is */
#define GT_MARK_OLD    4  /* age, in times of 2^32 ns */

#define GT_MARK_TIME_OF(m) ((m) & ((1ull << GT_MARK_TIME) - 1))
#define GT_MARK_EVENT(m)   ((m) >> GT_MARK_TIME)

/** gt_mark_which() - the event of tracepoint @index with its arguments at @at; never 0 */
static inline __attribute__((always_inline)) uint64_t gt_mark_which(uint64_t at, uint32_t index)
{
	return (at << 9 | index) * 0x9e3779b97f4a7c15ull | 1ull << GT_MARK_TIME;
}

static inline __attribute__((always_inline)) uint64_t *
gt_mark_place(struct gt_bpf_marks *m, uint64_t which, unsigned int nth)
{
	return &m->of[which >> (nth ? 40 : 52) & (GT_BPF_MARKS - 1)];
}

static inline __attribute__((always_inline)) bool gt_mark_is_old(uint64_t mark, uint64_t now)
{
	return GT_MARK_TIME_OF(now - mark) >= GT_MARK_OLD;
}

/**
 * gt_mark() - leaves the mark of event @which
 * @ns: the time
 * Return: false: others' are in its places
 */
static inline __attribute__((always_inline)) bool gt_mark(struct gt_bpf_marks *m, uint64_t which,
							  uint64_t ns)
{
	uint64_t now = ns >> 32;
	uint64_t mine = GT_MARK_EVENT(which) << GT_MARK_TIME | GT_MARK_TIME_OF(now);

#pragma GCC unroll 2
	for (unsigned int i = 0; i < GT_MARK_PLACES; i++) {
		uint64_t *at = gt_mark_place(m, which, i), was = *(volatile uint64_t *)at;

		if ((!was || GT_MARK_EVENT(was) == GT_MARK_EVENT(mine) ||
		     gt_mark_is_old(was, now)) &&
		    __sync_val_compare_and_swap(at, was, mine) == was)
			return true;
	}
	return false;
}

/** gt_unmark() - takes the event's mark away. Return: false: it has none */
static inline __attribute__((always_inline)) bool gt_unmark(struct gt_bpf_marks *m, uint64_t which)
{
	bool found = false;

#pragma GCC unroll 2
	for (unsigned int i = 0; i < GT_MARK_PLACES; i++) {
		uint64_t *at = gt_mark_place(m, which, i), was = *(volatile uint64_t *)at;

		if (GT_MARK_EVENT(was) == GT_MARK_EVENT(which) &&
		    __sync_val_compare_and_swap(at, was, 0) == was)
			found = true;
	}
	return found;
}

#endif
