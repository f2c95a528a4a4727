/* SPDX-License-Identifier: GPL-2.0 */
/* What readers of text share: lines (lines.c), and a window that puts them in order (window.c). */
#ifndef GT_REPLAY_LINES_H
#define GT_REPLAY_LINES_H

#include "internal.h"

#define GT_LINE_MAX   (256u << 10) /* bytes of the longest line, and of a block */
#define GT_WINDOW_MAX 4096u	   /* items that wait */

/**
 * struct gt_lines - where a file is read
 * @off: of buf[0] in the file; @pos, @len: bytes in buf
 * @line: number of lines read
 */
struct gt_lines {
	char *buf;
	uint64_t off, line;
	size_t pos, len;
	bool eof, skipping;
};

/** gt_lines_init() - at byte @begin of the file; -1: no memory */
int gt_lines_init(struct gt_lines *t, uint64_t begin);
void gt_lines_free(struct gt_lines *t);
void gt_lines_rewind(struct gt_lines *t, uint64_t begin);
/** gt_lines_next() - a line without its newline: 1; 0 at the end; -errno, told. A line too long is
 * the empty one; @tell of that, and of a last line without newline */
int gt_lines_next(struct gt_source *s, struct gt_lines *t, bool tell, const char **line,
		  size_t *len);

/** struct gt_slot - an item that waits; if it has data, that is a copy of @cap bytes' room in @data
 */
struct gt_slot {
	struct gt_item item;
	char *data;
	size_t cap;
};

/**
 * struct gt_window - items that leave by time, those of one time as they came
 * @order: slots by time, from @head to @tail; @unused: the others
 */
struct gt_window {
	struct gt_slot *slot;
	uint16_t *order, *unused;
	unsigned int head, tail, nunused;
};

/** gt_window_init() - -1: no memory; gt_window_free() in either case */
int gt_window_init(struct gt_window *w);
void gt_window_free(struct gt_window *w);
/** gt_window_full() - has it room for less than @n more? */
static inline bool gt_window_full(const struct gt_window *w, unsigned int n)
{
	return w->nunused < n;
}
/** gt_window_put() - a copy of the item, its data too; there must be room. -ENOMEM */
int gt_window_put(struct gt_window *w, const struct gt_item *it);
/** gt_window_get() - the first item, whose data stays until the next is put; false: there is none
 */
bool gt_window_get(struct gt_window *w, struct gt_item *out);

#endif
