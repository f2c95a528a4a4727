/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A binary heap in an array: what comes first is item 0, and item i comes before its children, 2i + 1
 * and 2i + 2. Macros, so that items may be structs or pointers and the compiler sees the comparison.
 */
#ifndef GT_HEAP_H
#define GT_HEAP_H

#include <stddef.h>

/**
 * GT_HEAP_SINK() - item @at goes down to its place; all below it are in theirs
 * @h: the array; @n: its items
 * @before: bool before(a, b), with pointers to two items
 */
#define GT_HEAP_SINK(h, n, at, before)                                                             \
	do {                                                                                       \
		size_t at_ = (at), child_;                                                         \
		__typeof__(*(h)) item_ = (h)[at_];                                                 \
                                                                                                   \
		while ((child_ = 2 * at_ + 1) < (n)) {                                             \
			if (child_ + 1 < (n) && before(&(h)[child_ + 1], &(h)[child_]))            \
				child_++;                                                          \
			if (!before(&(h)[child_], &item_))                                         \
				break;                                                             \
			(h)[at_] = (h)[child_];                                                    \
			at_ = child_;                                                              \
		}                                                                                  \
		(h)[at_] = item_;                                                                  \
	} while (0)

/** GT_HEAP_RISE() - item @at, the last, goes up to its place */
#define GT_HEAP_RISE(h, at, before)                                                                \
	do {                                                                                       \
		size_t at_ = (at);                                                                 \
		__typeof__(*(h)) item_ = (h)[at_];                                                 \
                                                                                                   \
		for (; at_ && before(&item_, &(h)[(at_ - 1) / 2]); at_ = (at_ - 1) / 2)            \
			(h)[at_] = (h)[(at_ - 1) / 2];                                             \
		(h)[at_] = item_;                                                                  \
	} while (0)

/** GT_HEAP_MAKE() - puts @n items that are in no order in theirs */
#define GT_HEAP_MAKE(h, n, before)                                                                 \
	do {                                                                                       \
		for (size_t from_ = (n) / 2; from_-- > 0;)                                         \
			GT_HEAP_SINK(h, n, from_, before);                                         \
	} while (0)

#endif
