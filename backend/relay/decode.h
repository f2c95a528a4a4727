/* SPDX-License-Identifier: GPL-2.0 */
/*
 * grtrace's records (kmod/format.h, grtrace(5)) from one CPU's file, live or saved, to this daemon's
 * records. decode.c finds where records begin, what is missing between them, and what they mean. The
 * bytes may be anything: nothing here trusts a size, a number or a name.
 */
#ifndef GT_RELAY_DECODE_H
#define GT_RELAY_DECODE_H

#include "../backend.h"
#include "kmod/format.h"

#define GT_GRT_CAP   (256u << 10) /* bytes that wait: more than two of the longest records */
#define GT_GRT_RINGS 4096u	  /* ring_ids that can have a name */
#define GT_GRT_TYPES 512u	  /* types that can mean something */

/* What a type is, besides an event's enum gt_type */
enum gt_grt_kind {
	GT_GRT_STREAM_INFO = 0xf0,
	GT_GRT_METADATA,
	GT_GRT_RING,
	GT_GRT_CUSTOM,
	GT_GRT_UNKNOWN = 0xff,
};

/**
 * struct gt_grt_set - what the files of one producer share
 * @p: the plugin: its host numbers GPUs and rings
 * @types: enum gt_type or gt_grt_kind by a record's type, as long as METADATA does not have it
 * @custom: names of drivers' own events, in order of their numbers
 */
struct gt_grt_set {
	struct gt_plugin *p;
	uint8_t types[GT_GRT_TYPES];
	char custom[GT_CUSTOM6 - GT_CUSTOM0 + 1][sizeof(((struct grt_custom *)0)->name) + 1];
};

/**
 * struct gt_grt_stats - counters of a file, never reset
 * @records: handed over that are events
 * @descriptions: records that describe
 * @unknown: of a type that is not known: left out by their size
 * @lost: events by gaps in cseq; @gaps: how many
 * @sessions: that began
 * @damaged: places where no record was as it must be; @skipped: bytes left out there
 * @padding: bytes of zeros between records
 * @times: records left out as their time makes no sense
 * @cut: records that the file ends inside
 * @unnamed: events of drivers' own that there was no number for
 * @ringless: events of a ring_id too high to be remembered
 * @layout: METADATA with other widths than grtrace(5)
 */
struct gt_grt_stats {
	uint64_t records, descriptions, unknown, lost, gaps, sessions;
	uint64_t damaged, skipped, padding, times, cut, unnamed, ringless, layout;
};

struct gt_grt_ring {
	uint64_t reported; /* hash of what was emitted of it; 0: nothing */
	uint16_t gpu, ring;
};

/**
 * struct gt_grt - one file
 * @fault: called for each damaged place: @at bytes from the file's beginning; may be NULL
 * @cpu: of the file; GT_NONE32: as in its records
 * @whole: the file begins where its first session does: what is missing before its first record
 *	was lost
 * @buf: @len bytes of the file from @off; @pos: where the next record is; @prev: where the last was
 * @synced: @pos is where a record begins; else @mark is where none was, and @reported if that was
 * @padded: there were zeros right before @pos
 * @now: live: no time is later; else 0
 * @next: cseq of the next event at the least, if @numbered; @last_ts: time of the last record
 * @session: id of the present one, 0: none came; @info: what came of it
 * @gseq_min, @gseq_max: of this session's events, @events of them, and @lost
 */
struct gt_grt {
	struct gt_grt_set *set;
	void (*fault)(void *arg, uint64_t at, const char *what);
	void *arg;
	uint32_t cpu;
	bool whole;
	uint8_t *buf;
	size_t pos, len, prev;
	uint64_t off;
	bool synced, padded, numbered, eof, reported;
	uint64_t now, mark, next, last_ts;
	uint64_t session;
	struct grt_stream_info info;
	uint64_t gseq_min, gseq_max, events, lost;
	uint8_t types[GT_GRT_TYPES];
	char driver[sizeof(((struct grt_metadata *)0)->driver) + 1];
	struct gt_grt_ring *ring;
	struct gt_grt_stats n;
};

/** gt_grt_set_init() - @types: "SUBMIT=0,START=4": numbers that differ from grtrace(5)'s, or "".
 * 0, or -EINVAL with a sentence in @err */
int gt_grt_set_init(struct gt_grt_set *s, struct gt_plugin *p, const char *types, char *err,
		    size_t len);
/** gt_grt_init() - 0 or -ENOMEM; gt_grt_free() in either case */
int gt_grt_init(struct gt_grt *g, struct gt_grt_set *s, uint32_t cpu, bool whole);
void gt_grt_free(struct gt_grt *g);

/** gt_grt_room() - where the file's next bytes go, and how many can */
uint8_t *gt_grt_room(struct gt_grt *g, size_t *len);
/** gt_grt_filled() - so many were put there */
void gt_grt_filled(struct gt_grt *g, size_t n);
/** gt_grt_end() - no more will come: what waits is all there is */
void gt_grt_end(struct gt_grt *g);

/**
 * gt_grt_next() - the next record: 1; 0 when more bytes are needed, or at the end
 *
 * A LOST has the time where its gap begins. In a session no time is far from the one before; a
 * little back it may be.
 */
int gt_grt_next(struct gt_grt *g, union gt_record *out);
/** gt_grt_waiting() - may gt_grt_next() have something without more bytes? */
static inline bool gt_grt_waiting(const struct gt_grt *g)
{
	return g->len > g->pos;
}

/** gt_grt_detect() - is there a record of grtrace's in the first bytes of a file? @version: of its
 * format, 0 if not known */
bool gt_grt_detect(const uint8_t *head, size_t len, unsigned int *version);

/* decode.c */

#endif
