/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Lines of a backend's doctor(), and of what became of each file of a recording: a plugin counts
 * while it reads, and doctor() writes the counts. The host keeps the text of doctor() after the
 * recording has ended (gt_be_stop()).
 */
#ifndef GT_DETAIL_H
#define GT_DETAIL_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "../event.h"

/** struct gt_details - the rest of a buffer: where the next line goes, and the bytes @left */
struct gt_details {
	char *p;
	size_t left;
};

/** gt_detail() - printf() to the end of @t; a text that does not fit whole is left out */
static inline void __attribute__((format(printf, 2, 3)))
gt_detail(struct gt_details *t, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(t->p, t->left, fmt, ap);
	va_end(ap);
	if (n < 0 || (size_t)n >= t->left) {
		*t->p = '\0';
		return;
	}
	t->p += n;
	t->left -= (size_t)n;
}

#define GT_FILE_KINDS 8

/** enum gt_place - unit of the place of a damage */
enum gt_place { GT_PLACE_NONE, GT_PLACE_LINE, GT_PLACE_BYTE, GT_PLACE_NS, GT_PLACE_ROW, GT_PLACES };

/**
 * struct gt_filecount - counters of one file; all zero at first
 * @events: events in the file, as far as it was read
 * @used: events that gave at least one record
 * @damaged: parts that could not be read
 * @first, @place: where the first damage with a known place is, and the unit of that
 * @lost: events that are missing according to the recording itself
 * @uncounted: losses of an unknown number of events
 * @early: events of jobs that had ended before
 * @behind_ns: the most by which that was: the clock of CPU @behind is behind that of CPU @ahead
 * @late: events that came too late to be put in order
 * @late_ns, @late_cpu: by how much at most, and on which CPU; UINT16_MAX: unknown
 * @skipped: parts that were left out because nothing needs them, by kind
 */
struct gt_filecount {
	uint64_t events, used, damaged, lost, uncounted, first;
	enum gt_place place;
	uint64_t early, behind_ns, late, late_ns;
	uint16_t behind, ahead, late_cpu;
	struct {
		const char *kind;
		uint64_t n;
	} skipped[GT_FILE_KINDS];
};

/**
 * gt_file_skip() - counts @n parts that were left out because nothing needs them
 * @kind: a constant, lower snake case in the plural ("comments", "other_tracepoints"); the ninth
 *	kind and later ones count as the eighth
 */
static inline void gt_file_skip(struct gt_filecount *c, const char *kind, uint64_t n)
{
	unsigned int i = 0;

	while (i < GT_FILE_KINDS - 1 && c->skipped[i].kind && strcmp(c->skipped[i].kind, kind))
		i++;
	if (!c->skipped[i].kind)
		c->skipped[i].kind = kind;
	c->skipped[i].n += n;
}

/** gt_file_damaged() - counts a part that could not be read. Return: true for the file's first, of
 * which the user needs a message */
static inline bool gt_file_damaged(struct gt_filecount *c, enum gt_place place, uint64_t at)
{
	if (c->place == GT_PLACE_NONE) {
		c->place = place;
		c->first = at;
	}
	return !c->damaged++;
}

/** gt_file_skipped() - parts left out, all kinds together */
static inline uint64_t gt_file_skipped(const struct gt_filecount *c)
{
	uint64_t n = 0;

	for (unsigned int i = 0; i < GT_FILE_KINDS; i++)
		n += c->skipped[i].n;
	return n;
}

/** gt_word() - writes @s as one word: blanks, control characters, "\" and bytes above ASCII as
 * \NNN */
static inline void gt_word(char *out, size_t len, const char *s)
{
	size_t n = 0;

	for (; *s && n + 5 <= len; s++)
		n += (size_t)snprintf(out + n, len - n,
				      *s > ' ' && *s < 0x7f && *s != '\\' ? "%c" : "\\%03o",
				      (unsigned char)*s);
	out[n < len ? n : len - 1] = '\0';
}

/** gt_file_lost() - counts a loss of @count events; GT_NONE64: unknown, as in struct gt_lost */
static inline void gt_file_lost(struct gt_filecount *c, uint64_t count)
{
	c->lost = gt_lost_sum(c->lost, count);
	c->uncounted += count == GT_NONE64;
}

/**
 * gt_file_detail() - writes the lines of file number @i: fileN, fileN_kind, fileN_events, …
 * @kind: the kind of recording, one word
 *
 * Lines about clocks and order are there only if they count something, since few files need them.
 */
static inline void gt_file_detail(struct gt_details *d, unsigned int i, const char *path,
				  const char *kind, const struct gt_filecount *c)
{
	static const char *const places[] = { "", "line", "byte", "ns", "row" };
	char word[1024];

	gt_word(word, sizeof(word), path);
	gt_detail(d, "file%u %s\nfile%u_kind %s\nfile%u_events %llu\nfile%u_used %llu\n", i, word,
		  i, kind, i, (unsigned long long)c->events, i, (unsigned long long)c->used);
	gt_detail(d, "file%u_skipped %llu\n", i, (unsigned long long)gt_file_skipped(c));
	for (unsigned int k = 0; k < GT_FILE_KINDS && c->skipped[k].kind; k++)
		gt_detail(d, "file%u_skipped_%s %llu\n", i, c->skipped[k].kind,
			  (unsigned long long)c->skipped[k].n);
	gt_detail(d, "file%u_damaged %llu\n", i, (unsigned long long)c->damaged);
	if (c->damaged && c->place)
		gt_detail(d, "file%u_damaged_first_%s %llu\n", i, places[c->place],
			  (unsigned long long)c->first);
	if (c->lost || !c->uncounted)
		gt_detail(d, "file%u_lost %llu\n", i, (unsigned long long)c->lost);
	if (c->uncounted)
		gt_detail(d, "file%u_losses_uncounted %llu\n", i, (unsigned long long)c->uncounted);
	if (c->early)
		gt_detail(d, "file%u_ended_early %llu\n", i, (unsigned long long)c->early);
	if (c->behind_ns)
		gt_detail(d, "file%u_clock_behind_ns %llu\nfile%u_clock_behind_cpu %u\n", i,
			  (unsigned long long)c->behind_ns, i, c->behind);
	if (c->late)
		gt_detail(d, "file%u_late %llu\nfile%u_late_ns %llu\n", i,
			  (unsigned long long)c->late, i, (unsigned long long)c->late_ns);
	if (c->late && c->late_cpu != UINT16_MAX)
		gt_detail(d, "file%u_late_cpu %u\n", i, c->late_cpu);
}

#endif
