/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Is a trace.dat of version 7 whole? libtracecmd plays a file whose last options are cut off
 * without a word, and without the buffers they tell of. trace-cmd.dat.v7(5): behind the page size
 * and the two strings of the compression stands the place of the first section of options; the
 * last option of each tells where the next one is, and trace-cmd writes the last one last.
 */
#include "internal.h"

#include <stdio.h>
#include <string.h>

#define VERSION_AT	   10
#define SECTIONS_MAX	   64
#define OPTIONS_MAX	   65536
#define SECTION_COMPRESSED 1
#define SECTION_STRINGS	   15

struct section {
	uint16_t id, flags;
	uint32_t description;
	uint64_t size;
};

static bool read_at(struct gt_source *s, uint64_t off, void *buf, size_t len)
{
	return gt_source_pread(s, buf, len, off) == (ssize_t)len;
}

/* Where the first options are; false: not for us to say. */
static bool first_section(struct gt_source *s, uint64_t *at)
{
	uint8_t head[256] = { 0 };
	ssize_t n = gt_source_pread(s, head, sizeof(head), 0);
	size_t i = VERSION_AT + 2 + 2 + 4;

	if (n < (ssize_t)i || memcmp(head + VERSION_AT, "7", 2) || head[VERSION_AT + 2])
		return false;
	for (int strings = 0; strings < 2 && i < (size_t)n; strings++)
		i += strnlen((char *)head + i, (size_t)n - i) + 1;
	if (i + sizeof(*at) > (size_t)n)
		return false;
	memcpy(at, head + i, sizeof(*at));
	return true;
}

/* Behind the last options come the names of the sections, if anything. */
static bool strings_whole(struct gt_source *s, uint64_t at)
{
	struct section h;

	if (at >= s->size)
		return true;
	if (!read_at(s, at, &h, sizeof(h)))
		return false;
	return h.id != SECTION_STRINGS || h.size <= s->size - at - sizeof(h);
}

/* The section's DONE option: 1 with @next, 0 if there is none to be read, -1 cut short. */
static int follow(struct gt_source *s, uint64_t at, uint64_t *next)
{
	struct section h;
	uint64_t off = at + sizeof(h), end;

	if (at >= s->size || !read_at(s, at, &h, sizeof(h)))
		return -1;
	if (h.id || h.flags & SECTION_COMPRESSED)
		return 0;
	if (h.size > s->size || off > s->size - h.size)
		return -1;
	end = off + h.size;
	for (int i = 0; i < OPTIONS_MAX && off + 6 <= end; i++) {
		uint16_t id;
		uint32_t size;

		if (!read_at(s, off, &id, sizeof(id)) || !read_at(s, off + 2, &size, sizeof(size)))
			return -1;
		if (!id && !read_at(s, off + 6, next, sizeof(*next)))
			return -1;
		if (!id)
			return *next || strings_whole(s, end) ? 1 : -1;
		off += 6 + (uint64_t)size;
	}
	return 0;
}

bool gt_head7_whole(struct gt_source *s, char *text, size_t len)
{
	uint64_t at = 0;

	if (!first_section(s, &at))
		return true;
	for (int i = 0; i < SECTIONS_MAX && at; i++) {
		uint64_t next = 0;
		int ret = follow(s, at, &next);

		if (ret < 0) {
			snprintf(text, len,
				 "byte %llu: the file ends before or inside its options, which "
				 "begin at byte %llu",
				 (unsigned long long)s->size, (unsigned long long)at);
			return false;
		}
		at = ret ? next : 0;
	}
	return true;
}
