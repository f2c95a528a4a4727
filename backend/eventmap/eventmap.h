/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Event maps: the files of conf/events.d say which tracepoint means which event, and which field is what,
 * for raw records and for printed text. Format: gputrace-events.d(5).
 *
 * A source loads the maps once, binds the tracepoints that it finds to the formats of its kernel or
 * recording, and passes each event in order of time. What is kept between events (the job of a fence
 * pointer, the last seqno of a ring) is in struct gt_eventmap, of which each source has one.
 */
#ifndef GT_EVENTMAP_H
#define GT_EVENTMAP_H

#include "../backend.h"

struct gt_eventmap;
struct gt_tp; /* one tracepoint, with all sections of all maps that name it */

/**
 * struct gt_eventmap_stats - counters, never reset
 * @decoded: records made
 * @ignored: events that a condition (`where`, `unless`, `match`) left out
 * @unmatched: completions of jobs never seen (begun before tracing, or lost); they are reported with
 *	the ring that their context had last, or without one
 * @malformed: events with fields that do not fit: too short, out of bounds, no such key in the text
 * @forgotten: remembered jobs that were dropped because the table was full
 */
struct gt_eventmap_stats {
	uint64_t decoded, ignored, unmatched, malformed, forgotten;
};

/**
 * struct gt_evctx - what a trace has for every event
 * @tid: the thread
 * @pid: its thread group, or GT_NONE32
 * @cpu: GT_NONE16 if unknown
 */
struct gt_evctx {
	uint64_t ts;
	uint32_t tid;
	uint32_t pid;
	uint16_t cpu;
};

/**
 * gt_eventmap_load() - reads every *.ini of @dir, in order of name
 * @p: its host->gpu(), ring() and push() are used (push: NAME records of custom events only)
 * @err: file, line and fault of the first bad file, "" if there is none. A bad file is left out whole,
 *	and the others are loaded
 *
 * Return: the maps, or NULL with @err if there is no memory or no usable file.
 */
struct gt_eventmap *gt_eventmap_load(struct gt_plugin *p, const char *dir, char *err, size_t len);
void gt_eventmap_free(struct gt_eventmap *m);

/** gt_tracepoint_exists_fn() - does the tracepoint exist? @system NULL: in any system */
typedef bool (*gt_tracepoint_exists_fn)(void *arg, const char *system, const char *event);

/**
 * gt_eventmap_select() - decides which sections are in use
 * @present: which tracepoints the kernel or the recording has. A section is left out if a tracepoint
 *	of its `unless` exists, so that no job is reported twice
 * @level: 2 normal, 3 verbose: sections of a higher level are left out
 *
 * Call it before the first event, and again when the level or the set of tracepoints has changed; what
 * is remembered stays.
 */
void gt_eventmap_select(struct gt_eventmap *m, gt_tracepoint_exists_fn present, void *arg,
			int level);

/**
 * gt_eventmap_refresh() - checks again which tracepoints exist
 *
 * Events that a tracepoint made superfluous are used again if it is gone. To be called before the rest
 * of a buffer is decoded, and gt_eventmap_select() after that.
 */
void gt_eventmap_refresh(struct gt_eventmap *m, gt_tracepoint_exists_fn present, void *arg);

/**
 * gt_eventmap_each() - the tracepoints with a section in use, in order of the files
 * @i: from 0; Return: NULL at the end
 */
struct gt_tp *gt_eventmap_each(struct gt_eventmap *m, unsigned int i);

#define GT_PROBE_FIELDS 16

/** struct gt_probe_field - NAME=EXPR; the syntax of the expression is checked */
struct gt_probe_field {
	char name[32];
	char expr[192];
};

/**
 * struct gt_probe - a synthetic tracepoint: how to make an event that the kernel lacks
 * @function: it is made of a function; else of the tracepoint @scope/@name
 * @family: of those with the same number all are made, or none; 0: independent
 * @scope: a function's module, or "" for the kernel itself
 * @module: module with types of a tracepoint's fields besides the kernel's own; may be ""
 */
struct gt_probe {
	bool function;
	unsigned int family;
	unsigned int n;
	char scope[64];
	char name[64];
	char module[64];
	struct gt_probe_field field[GT_PROBE_FIELDS];
};

enum gt_probe_kind {
	GT_P_BASE,  /* $NAME */
	GT_P_CAST,  /* <T.m.n> */
	GT_P_ARROW, /* ->NAME */
	GT_P_DOT,   /* .NAME */
};

struct gt_probe_step {
	enum gt_probe_kind kind;
	char name[128];
};

/** gt_probe_next() - takes the next step of an expression off *@p; false: no valid one */
bool gt_probe_next(const char **p, struct gt_probe_step *s);
/** gt_probe_expr_ok() - is the syntax of the expression valid? */
bool gt_probe_expr_ok(const char *expr);

/** gt_tp_probe() - how to make the events if the tracepoint does not exist; NULL: impossible */
const struct gt_probe *gt_tp_probe(const struct gt_tp *tp);

/**
 * gt_tp_args() - how to get the fields from the arguments of the tracepoint, or of the one that
 * gt_tp_probe() makes it of, for a source that sees arguments
 *
 * Return: as for a function, with the module of the types in @scope. NULL: not given for all sections
 * in use.
 */
const struct gt_probe *gt_tp_args(const struct gt_tp *tp);

/**
 * gt_tp_set_synth() - @on: the events bound to @tp and decoded by it are made by gt_tp_probe()
 *
 * From the next gt_eventmap_select() on, sections of the tracepoint that they are made of are left out
 * if they are in the same file: they would report the same events again.
 */
void gt_tp_set_synth(struct gt_tp *tp, bool on);

/** gt_eventmap_find() - a tracepoint in use by name; @system NULL: any, as text does not have it */
struct gt_tp *gt_eventmap_find(struct gt_eventmap *m, const char *system, const char *event);

const char *gt_tp_system(const struct gt_tp *tp);
const char *gt_tp_event(const struct gt_tp *tp);

/** gt_tp_types() - types of its events: a bit for each, of all sections in use */
uint64_t gt_tp_types(const struct gt_tp *tp);
/** gt_tp_of() - are all sections in use from maps of @driver? */
bool gt_tp_of(const struct gt_tp *tp, const char *driver);

/**
 * gt_tp_bind() - takes field offsets and sizes from the text of a `format` file
 * @id: gets the event's number in common_type; may be NULL
 * @err: gets a field that is missing or unusable, if there is one
 *
 * Return: 0, or -EINVAL if a field that the map needs is missing: then raw records cannot be decoded,
 * but text can. Optional fields may be missing.
 */
int gt_tp_bind(struct gt_tp *tp, const char *format, size_t len, int *id, char *err, size_t errlen);

enum gt_format_kind { GT_F_ABSENT, GT_F_SIGNED, GT_F_UNSIGNED, GT_F_POINTER, GT_F_STRING };

/** gt_format_field() - kind of field @name by the text of a `format` file; @size: bytes of a number */
enum gt_format_kind gt_format_field(const char *format, size_t len, const char *name,
				    unsigned int *size);

/**
 * struct gt_tp_condition - a condition on an integer of the raw record; others are ignored
 * @off, @size, @sign: the integer
 * @bits: any bit of @value is set in it; else it is equal to @value
 * @unlike: it differs from @value
 */
struct gt_tp_condition {
	uint16_t off, size;
	bool sign, bits, unlike;
	uint64_t value;
};
/** gt_tp_condition() - the condition of all used events of a tracepoint that is bound and selected; false:
 * there is none, or other sections need to know of the other events, too */
bool gt_tp_condition(const struct gt_tp *tp, struct gt_tp_condition *out);

/**
 * gt_tp_raw() - decodes a raw record, from common_type on, to at most @max records in @out
 *
 * Return: their number; 0: left out, and counted.
 */
int gt_tp_raw(struct gt_tp *tp, const struct gt_evctx *c, const void *rec, size_t len,
	      union gt_record *out, int max);

/**
 * gt_tp_text() - decodes printed text: the part of a line after "event: "
 * @text: need not be NUL-terminated
 */
int gt_tp_text(struct gt_tp *tp, const struct gt_evctx *c, const char *text, size_t len,
	       union gt_record *out, int max);

/** gt_tp_text_dev() - writes the device that a line names to @buf; false if it names none */
bool gt_tp_text_dev(struct gt_tp *tp, const char *text, size_t len, char *buf, size_t buflen);
/** gt_tp_raw_dev() - the same for a raw record */
bool gt_tp_raw_dev(struct gt_tp *tp, const void *rec, size_t len, char *buf, size_t buflen);
/** gt_tp_text_ring() - notes the device of a ring, before a recording is played */
void gt_tp_text_ring(struct gt_tp *tp, const char *text, size_t len);
/** gt_tp_raw_ring() - the same for a raw record */
void gt_tp_raw_ring(struct gt_tp *tp, const void *rec, size_t len);

const struct gt_eventmap_stats *gt_eventmap_stats(const struct gt_eventmap *m);

#define GT_TP_MAX_RECORDS 4 /* of one event */

#endif
