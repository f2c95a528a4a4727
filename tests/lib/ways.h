/* SPDX-License-Identifier: GPL-2.0 */
/* The ways there are to get at a file's bytes. */
#ifndef GT_TEST_WAYS_H
#define GT_TEST_WAYS_H

#include <stddef.h>
#include <stdint.h>

/**
 * struct gt_way - one of them
 * @get: reads from where @fd stands, with mmap from the beginning, to the file's end into @buf, at
 *       most @size bytes; returns how many, or a negative errno if there were none for an error
 */
struct gt_way {
	const char *name;
	int64_t (*get)(int fd, char *buf, size_t size);
};

#define GT_WAYS 3

/** gt_ways - read(2) first */
extern const struct gt_way gt_ways[GT_WAYS];

#endif
