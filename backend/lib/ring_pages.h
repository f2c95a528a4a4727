/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Decodes the kernel's ring-buffer sub-buffers ("pages"), as in trace_pipe_raw and trace.dat.
 *
 * Layout: Linux kernel/trace/ring_buffer.c (struct buffer_data_page, struct ring_buffer_event) and
 * include/linux/ring_buffer.h, described to user space by events/header_page and header_event.
 * A page is u64 time stamp, commit (a long: bytes used, and the lost marks), then events: 5 bits
 * type_len, 27 bits time delta, and 32 bits of array[0] where the type has it.
 *
 *	struct gt_page_iter it;
 *	struct gt_page_event ev;
 *
 *	if (gt_page_begin(&it, &format, page, bytes))
 *		... malformed
 *	if (it.missed)
 *		... that many were lost before this page
 *	while (gt_page_next(&it, &ev))
 *		... ev.ts, ev.data, ev.len
 *	if (it.malformed)
 *		... the rest of the page made no sense
 *
 * Nothing outside of the @bytes given is read, whatever the page holds.
 */
#ifndef GT_RING_PAGES_H
#define GT_RING_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define GT_PAGE_MISSED_EVENTS  (1u << 31) /* in commit: events were lost before this page */
#define GT_PAGE_MISSED_STORED  (1u << 30) /* their number follows the data, as a long */
#define GT_PAGE_COMMIT_MASK    ((1u << 27) - 1)
#define GT_PAGE_TYPE_DATA_MAX  28u /* lengths 4 to 112 in type_len itself; 0: in array[0] */
#define GT_PAGE_TYPE_PADDING   29u
#define GT_PAGE_TYPE_EXTEND    30u
#define GT_PAGE_TYPE_TIMESTAMP 31u
#define GT_PAGE_DELTA_BITS     27
#define GT_PAGE_STAMP_BITS     59 /* of an absolute time stamp: 27 and 32 */
#define GT_PAGE_SIZE_MAX       (64u << 20)

/**
 * struct gt_page_format - offsets of the parts of a page, in bytes
 * @size: a whole sub-buffer, header included
 * @long_size: 4 or 8, of commit and of the count of lost events
 */
struct gt_page_format {
	uint32_t size;
	uint32_t data;
	uint16_t stamp;
	uint16_t commit;
	uint16_t long_size;
};

/**
 * gt_page_format_parse() - takes the layout from the kernel's or a recording's own description
 * @header_page: text of events/header_page, @page_len bytes, need not be NUL-terminated
 * @header_event: text of events/header_event; NULL: the numbers of every kernel since 2.6.30
 * @big_endian: byte order of the pages
 *
 * Return: 0; -EINVAL if the text cannot be parsed or describes events of other widths or types than
 * this decoder knows; -EOPNOTSUPP for big-endian pages.
 */
int gt_page_format_parse(struct gt_page_format *f, const char *header_page, size_t page_len,
			 const char *header_event, size_t event_len, bool big_endian);

/**
 * gt_page_format_default() - the layout without a description
 * @size: bytes of a sub-buffer; @long_size: 4 or 8
 *
 * Return: 0 or -EINVAL.
 */
int gt_page_format_default(struct gt_page_format *f, size_t size, unsigned int long_size);

/**
 * struct gt_page_event - one event
 * @data: points into the page, 4-byte aligned there, and starts with common_type
 * @len: rounded up by the kernel, so up to 3 bytes more than were written
 */
struct gt_page_event {
	uint64_t ts;
	const uint8_t *data;
	uint32_t len;
};

/**
 * struct gt_page_iter - a walk through a page
 * @ts: time of the last event; at first, the page's
 * @missed: events lost before this page: 0 none, GT_PAGE_MISSED_UNKNOWN an unknown number
 * @malformed: the walk ended because the page is not valid
 *
 * Other members are private.
 */
struct gt_page_iter {
	const uint8_t *p, *end;
	uint64_t ts;
	uint64_t missed;
	bool malformed;
};
#define GT_PAGE_MISSED_UNKNOWN UINT64_MAX

/**
 * gt_page_begin() - starts to walk through @page
 * @bytes: its length; bytes beyond the size of a sub-buffer are ignored
 *
 * Return: 0; -EINVAL if it is too short for a header, or shorter than its header says: then
 * @it->malformed is set as well, and the part that exists can be walked.
 */
int gt_page_begin(struct gt_page_iter *it, const struct gt_page_format *f, const void *page,
		  size_t bytes);

/** gt_page_next_odd() - gt_page_next() for types that are not plain data */
bool gt_page_next_odd(struct gt_page_iter *it, struct gt_page_event *ev);

/**
 * gt_page_next() - the next data event; skips padding and time stamps
 *
 * Return: false at the end, or with @it->malformed set.
 */
static inline bool gt_page_next(struct gt_page_iter *it, struct gt_page_event *ev)
{
	size_t left = (size_t)(it->end - it->p);
	uint32_t head, type;

	if (left >= sizeof(head)) {
		memcpy(&head, it->p, sizeof(head));
		type = head & 31;
		if (type - 1 < GT_PAGE_TYPE_DATA_MAX && 4 * type <= left - sizeof(head)) {
			it->ts += head >> 5;
			ev->ts = it->ts;
			ev->data = it->p + sizeof(head);
			ev->len = 4 * type;
			it->p += sizeof(head) + 4 * type;
			return true;
		}
	}
	return gt_page_next_odd(it, ev);
}

#endif
