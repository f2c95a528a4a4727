/* SPDX-License-Identifier: GPL-2.0 */
/* What readers of text share: lines, and a window that puts them in order (text.c). */
#ifndef GT_REPLAY_LINES_H
#define GT_REPLAY_LINES_H

#include <string.h>

#include "internal.h"

#define GT_LINE_MAX    (256u << 10) /* bytes of the longest line, and of a block */
#define GT_LINES_PIECE 8192	    /* lines read before the caller is asked again, */
#define GT_LINES_BYTES (4u << 20)   /* and bytes */
#define GT_WINDOW_MAX  4096u	    /* items that wait */

/**
 * struct gt_lines - where a file is read
 * @off: of buf[0] in the file; @pos, @len: bytes in buf
 * @line: number of lines read
 * @cut: the file ends inside the last one, without a newline
 */
struct gt_lines {
	char *buf;
	uint64_t off, line;
	size_t pos, len;
	bool eof, skipping, cut;
};

/** gt_text_mark() - bytes of the mark of UTF-8 that a text begins with */
static inline size_t gt_text_mark(const char *p, size_t len)
{
	return len >= 3 && !memcmp(p, "\xef\xbb\xbf", 3) ? 3 : 0;
}

/** gt_lines_init() - at byte @begin of the file; -1: no memory */
int gt_lines_init(struct gt_lines *t, uint64_t begin);
void gt_lines_free(struct gt_lines *t);
/** gt_lines_next() - a line without its newline: 1; 0: ask again; -ENODATA at the end; another
 * -errno, reported. A line too long is the empty one; @report that, and of a last line without newline
 */
int gt_lines_next(struct gt_source *s, struct gt_lines *t, bool report, const char **line,
		  size_t *len);

/** gt_lines_at() - the byte of the file that is read next */
static inline uint64_t gt_lines_at(const struct gt_lines *t)
{
	return t->off + t->pos;
}

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

/**
 * gt_lines_item() - struct gt_reader.next of text: s->item is the first of @w, which @take fills
 * @room: items that one line, or the end, may become
 * @take: a line; NULL: there is no more, which may be said again. 0 or -ENOMEM
 */
int gt_lines_item(struct gt_source *s, struct gt_lines *t, struct gt_window *w, unsigned int room,
		  int (*take)(struct gt_source *s, const char *p, size_t len));

#endif
