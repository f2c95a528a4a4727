/* SPDX-License-Identifier: GPL-2.0 */
#include <ctype.h>
#include <errno.h>

#include "ring_pages.h"

struct text {
	const char *p, *end;
};

/* Skips past the next @word in @t; false if there is none */
static bool after(struct text *t, const char *word)
{
	const char *at = memmem(t->p, (size_t)(t->end - t->p), word, strlen(word));

	if (!at)
		return false;
	t->p = at + strlen(word);
	return true;
}

/* Parses the number at @t, after spaces; at most @max */
static bool number(struct text *t, uint32_t max, uint32_t *out)
{
	uint64_t v = 0;

	while (t->p < t->end && isspace((unsigned char)*t->p))
		t->p++;
	if (t->p == t->end || !isdigit((unsigned char)*t->p))
		return false;
	for (; t->p < t->end && isdigit((unsigned char)*t->p); t->p++) {
		v = v * 10 + (uint64_t)(*t->p - '0');
		if (v > max)
			return false;
	}
	*out = (uint32_t)v;
	return true;
}

/* "field: u64 timestamp;	offset:0;	size:8;	signed:0;" -> 0, 8 */
static bool field(struct text t, const char *name, uint32_t *off, uint32_t *size)
{
	return after(&t, name) && after(&t, "offset:") && number(&t, UINT16_MAX, off) &&
	       after(&t, "size:") && number(&t, GT_PAGE_SIZE_MAX, size);
}

/* "padding     : type == 29": is the number @want? A missing line is fine unless @needed. */
static bool says(struct text t, const char *name, const char *before, uint32_t want, bool needed)
{
	uint32_t v;

	if (!after(&t, name))
		return !needed;
	return after(&t, before) && number(&t, UINT16_MAX, &v) && v == want;
}

static bool header_event_known(struct text t)
{
	return says(t, "type_len", ":", 32 - GT_PAGE_DELTA_BITS, true) &&
	       says(t, "time_delta", ":", GT_PAGE_DELTA_BITS, true) &&
	       says(t, "array", ":", 32, true) &&
	       says(t, "padding", "==", GT_PAGE_TYPE_PADDING, true) &&
	       says(t, "time_extend", "==", GT_PAGE_TYPE_EXTEND, true) &&
	       says(t, "time_stamp", "==", GT_PAGE_TYPE_TIMESTAMP, false) &&
	       says(t, "data max type_len", "==", GT_PAGE_TYPE_DATA_MAX, true);
}

static bool host_big_endian(void)
{
	return __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
}

int gt_page_format_parse(struct gt_page_format *f, const char *header_page, size_t page_len,
			 const char *header_event, size_t event_len, bool big_endian)
{
	struct text t = { header_page, header_page + page_len };
	uint32_t stamp, stamp_size, commit, commit_size, data, data_size;

	/* Big-endian pages pack the bits of an event's head from the other end: not supported. */
	if (big_endian || host_big_endian())
		return -EOPNOTSUPP;
	if (!field(t, " timestamp;", &stamp, &stamp_size) ||
	    !field(t, " commit;", &commit, &commit_size) || !field(t, " data;", &data, &data_size))
		return -EINVAL;
	if (stamp_size != 8 || (commit_size != 4 && commit_size != 8) || !data_size)
		return -EINVAL;
	if (stamp + stamp_size > data || commit + commit_size > data ||
	    data_size > GT_PAGE_SIZE_MAX - data)
		return -EINVAL;
	if (header_event &&
	    !header_event_known((struct text){ header_event, header_event + event_len }))
		return -EINVAL;
	*f = (struct gt_page_format){
		.size = data + data_size,
		.data = data,
		.stamp = (uint16_t)stamp,
		.commit = (uint16_t)commit,
		.long_size = (uint16_t)commit_size,
	};
	return 0;
}

int gt_page_format_default(struct gt_page_format *f, size_t size, unsigned int long_size)
{
	if ((long_size != 4 && long_size != 8) || size <= 8 + long_size || size > GT_PAGE_SIZE_MAX)
		return -EINVAL;
	*f = (struct gt_page_format){
		.size = (uint32_t)size,
		.data = 8 + long_size,
		.stamp = 0,
		.commit = 8,
		.long_size = (uint16_t)long_size,
	};
	return 0;
}

/* Events lost, by the flags of @commit; the count, if there is one, follows the @used bytes of data. */
static uint64_t missed(const struct gt_page_format *f, const uint8_t *data, size_t room,
		       uint32_t commit, size_t used)
{
	uint64_t count = 0;

	if (!(commit & GT_PAGE_MISSED_EVENTS))
		return 0;
	if ((commit & GT_PAGE_MISSED_STORED) && room - used >= f->long_size)
		memcpy(&count, data + used, f->long_size);
	return count ? count : GT_PAGE_MISSED_UNKNOWN;
}

int gt_page_begin(struct gt_page_iter *it, const struct gt_page_format *f, const void *page,
		  size_t bytes)
{
	const uint8_t *p = page;
	uint32_t commit;
	size_t room, used;

	memset(it, 0, sizeof(*it));
	if (bytes > f->size)
		bytes = f->size;
	if (bytes < f->data) {
		it->malformed = true;
		return -EINVAL;
	}
	memcpy(&it->ts, p + f->stamp, sizeof(it->ts));
	/* Little-endian: the low half of a long is the part that has the size and the marks. */
	memcpy(&commit, p + f->commit, sizeof(commit));
	room = bytes - f->data;
	used = commit & GT_PAGE_COMMIT_MASK;
	if (used > room) {
		it->malformed = true;
		used = room;
	}
	it->p = p + f->data;
	it->end = it->p + used;
	it->missed = missed(f, it->p, room, commit, used);
	return it->malformed ? -EINVAL : 0;
}

static bool stop(struct gt_page_iter *it, bool malformed)
{
	it->p = it->end;
	it->malformed |= malformed;
	return false;
}

/* An absolute time has 59 bits; the upper ones are those of the time before, see rb_fix_abs_ts(). */
static uint64_t absolute(uint64_t before, uint64_t stamp)
{
	uint64_t high = before >> GT_PAGE_STAMP_BITS << GT_PAGE_STAMP_BITS;

	if (!high)
		return stamp;
	stamp |= high;
	return stamp < before ? stamp + (1ull << GT_PAGE_STAMP_BITS) : stamp;
}

/* Data with the length in array[0], which counts itself; @left bytes from the head on. */
static bool long_data(struct gt_page_iter *it, struct gt_page_event *ev, uint32_t head,
		      uint32_t array, size_t left)
{
	uint64_t total = 4 + (((uint64_t)array + 3) & ~3ull);

	if (array < 4 || total > left)
		return stop(it, true);
	it->ts += head >> 5;
	ev->ts = it->ts;
	ev->data = it->p + 8;
	ev->len = (uint32_t)total - 8;
	it->p += total;
	return true;
}

/* A discarded event with its length in array[0]; false if it does not fit into @left */
static bool skip_padding(struct gt_page_iter *it, uint32_t head, uint32_t array, size_t left)
{
	uint64_t total = 4 + (uint64_t)array;

	if (array < 4 || array % 4 || total > left)
		return stop(it, true);
	it->ts += head >> 5;
	it->p += total;
	return true;
}

/* Skips what is no data event; false at the end of the page */
static bool skip(struct gt_page_iter *it, uint32_t head, uint32_t array, size_t left)
{
	uint64_t time = ((uint64_t)array << GT_PAGE_DELTA_BITS) + (head >> 5);

	switch (head & 31) {
	case GT_PAGE_TYPE_PADDING:
		return skip_padding(it, head, array, left);
	case GT_PAGE_TYPE_EXTEND:
		it->ts += time;
		break;
	case GT_PAGE_TYPE_TIMESTAMP:
		it->ts = absolute(it->ts, time);
		break;
	default: /* data beyond the end */
		return stop(it, true);
	}
	it->p += 8;
	return true;
}

bool gt_page_next_odd(struct gt_page_iter *it, struct gt_page_event *ev)
{
	uint32_t head, array, type;
	size_t left;

	while ((left = (size_t)(it->end - it->p)) >= sizeof(head)) {
		memcpy(&head, it->p, sizeof(head));
		type = head & 31;
		if (type == GT_PAGE_TYPE_PADDING && !(head >> 5))
			return stop(it, false); /* without a time: the rest is unused */
		if (type - 1 < GT_PAGE_TYPE_DATA_MAX && 4 * type <= left - sizeof(head))
			return gt_page_next(it, ev);
		if (left < 8)
			return stop(it, true);
		memcpy(&array, it->p + 4, sizeof(array));
		if (type == 0)
			return long_data(it, ev, head, array, left);
		if (!skip(it, head, array, left))
			return false;
	}
	return left ? stop(it, true) : false;
}
