/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Event maps: conf/events.d/<driver>.ini say which tracepoint is which event, and which field is
 * what, for raw records and for printed text alike. Format: gputrace-events.d(5).
 *
 * A source loads the maps once, binds the tracepoints it meets to the formats of its kernel or
 * recording, and hands over each event in order of time. What is kept between events (fence pointer
 * to job, last seqno of a ring) lives in struct gt_eventmap: one instance per source.
 */
#ifndef GT_EVENTMAP_H
#define GT_EVENTMAP_H

#include "../backend.h"

struct gt_eventmap;
struct gt_tp; /* one tracepoint, with all sections of all maps that name it */

/**
 * struct gt_eventmap_stats - counters, never reset
 * @decoded: records made
 * @ignored: events of a map that a condition (`where`, `unless`, `match`) left out
 * @unmatched: completions of jobs never seen (begun before tracing, or lost); told with the ring
 *	that their context had lately, or without any
 * @malformed: events whose fields did not fit: too short, out of bounds, no such key in the text
 * @forgotten: remembered jobs that left the table because it was full
 */
struct gt_eventmap_stats {
	uint64_t decoded, ignored, unmatched, malformed, forgotten;
};

/**
 * struct gt_evctx - what a trace says of every event
 * @tid: the thread; @pid: its thread group or GT_NONE32; @cpu: GT_NONE16 if unknown
 * @known: the source knows where the job runs that a wait is for, @gpu and @ring, and its whole @ctx
 *	if it has not ended
 */
struct gt_evctx {
	uint64_t ts;
	uint32_t tid;
	uint32_t pid;
	uint16_t cpu;
	bool known;
	uint16_t gpu, ring;
	uint64_t ctx;
};

/**
 * gt_eventmap_load() - reads every *.ini of @dir, in order of name
 * @p: whose host->gpu(), ring() and push() are used (push: NAME records of custom events only)
 * @err: the sentence that says file, line and fault of the first bad file. A bad file is left out
 *	(its other sections too) and the rest is loaded; @err is empty if all is well
 *
 * Return: the maps, or NULL with @err if there is no memory or no usable file.
 */
struct gt_eventmap *gt_eventmap_load(struct gt_plugin *p, const char *dir, char *err, size_t len);
void gt_eventmap_free(struct gt_eventmap *m);

/** gt_eventmap_present() - is @event (with @system, or any if NULL) offered here? */
typedef bool (*gt_eventmap_present)(void *arg, const char *system, const char *event);

/**
 * gt_eventmap_select() - decides which sections are in use
 * @present: says which tracepoints the kernel or the recording has. Sections whose `unless`
 *	tracepoint is present are left out, so that no job is told twice
 * @level: 2 normal, 3 verbose: sections of a higher level are left out
 *
 * Call it before the first event, and again after a change of level or of what is present; what is
 * remembered stays.
 */
void gt_eventmap_select(struct gt_eventmap *m, gt_eventmap_present present, void *arg, int level);

/**
 * gt_eventmap_look() - which tracepoints have come or gone: what one that is gone told better is no
 *	longer left out. To be called before the rest of a buffer is decoded; then select
 */
void gt_eventmap_look(struct gt_eventmap *m, gt_eventmap_present present, void *arg);

/**
 * gt_eventmap_each() - the tracepoints with a section in use, in order of the files
 * @i: from 0; Return: NULL at the end
 */
struct gt_tp *gt_eventmap_each(struct gt_eventmap *m, unsigned int i);

#define GT_PROBE_FIELDS 16

/** struct gt_probe_field - NAME=EXPR; the expression's syntax is right */
struct gt_probe_field {
	char name[32];
	char expr[192];
};

/**
 * struct gt_probe - how to make an event that the kernel lacks
 * @function: its source is a function; else the tracepoint @scope/@name
 * @scope: a function's module, or "" for the kernel itself
 * @module: where the types of a tracepoint's fields are besides the kernel's own; may be ""
 * @family: of those of one number either all are made or none; 0: stands alone
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

/** gt_probe_next() - the step of an expression at *@p, which is moved behind it; false: there is
 * none */
bool gt_probe_next(const char **p, struct gt_probe_step *s);
/** gt_probe_expr_ok() - is the expression's syntax right? */
bool gt_probe_expr_ok(const char *expr);

/** gt_tp_probe() - how to make the tracepoint's events where there are none; NULL: not at all */
const struct gt_probe *gt_tp_probe(const struct gt_tp *tp);

/**
 * gt_tp_args() - its fields from the arguments of the tracepoint, or of the one that gt_tp_probe()
 *makes it of, for a source that sees those: as of a function, whose @scope is the module of the
 *types
 *
 * Return: NULL: there are none, or not for all of its sections in use.
 */
const struct gt_probe *gt_tp_args(const struct gt_tp *tp);

/**
 * gt_tp_stand_in() - events made by gt_tp_probe() are (@on) what is bound to @tp and decoded by it
 *
 * From the next gt_eventmap_select() on, sections of the tracepoint that is its source are left
 * out, if they are in the same file: its events are told already.
 */
void gt_tp_stand_in(struct gt_tp *tp, bool on);

/** gt_eventmap_find() - a tracepoint in use by name; @system NULL: any (text does not tell it) */
struct gt_tp *gt_eventmap_find(struct gt_eventmap *m, const char *system, const char *event);

const char *gt_tp_system(const struct gt_tp *tp);
const char *gt_tp_event(const struct gt_tp *tp);

/** gt_tp_types() - which types of events it tells: a bit for each, of all sections in use */
uint32_t gt_tp_types(const struct gt_tp *tp);
/** gt_tp_of() - are all sections in use of @driver's maps? */
bool gt_tp_of(const struct gt_tp *tp, const char *driver);

/**
 * gt_tp_bind() - takes field offsets and sizes from a `format` file's text
 * @id: out: the event's number in common_type, may be NULL
 * @err: which field is missing or odd, if any
 *
 * Return: 0, or -EINVAL if a field that the map needs is missing (the tracepoint is then not
 * usable raw; text still is). Optional fields may be missing.
 */
int gt_tp_bind(struct gt_tp *tp, const char *format, size_t len, int *id, char *err, size_t errlen);

enum gt_format_kind { GT_F_ABSENT, GT_F_SIGNED, GT_F_UNSIGNED, GT_F_POINTER, GT_F_STRING };

/** gt_format_field() - what field @name is by a `format` file's text; @size: bytes of a number */
enum gt_format_kind gt_format_field(const char *format, size_t len, const char *name,
				    unsigned int *size);

/**
 * struct gt_tp_where - a condition on an integer of the record: what does not meet it is ignored
 * @off, @size, @sign: where it is; @bits: any of @value's bits; else equal, or @unlike it
 */
struct gt_tp_where {
	uint16_t off, size;
	bool sign, bits, unlike;
	uint64_t value;
};
/** gt_tp_where() - since gt_tp_bind() and a selection: the condition that all of the tracepoint's
 * events must meet; false: there is none, or it matters also that others come */
bool gt_tp_where(const struct gt_tp *tp, struct gt_tp_where *out);

enum gt_piece_kind { GT_PIECE_INT, GT_PIECE_DYN, GT_PIECE_REL, GT_PIECE_CHARS };

/** struct gt_tp_piece - @size bytes at @off of a record: an integer, or characters, or a word that
 * says where they are (`__data_loc`, `__rel_loc`); @size 0: there is none */
struct gt_tp_piece {
	uint16_t off;
	uint8_t size, kind;
};

#define GT_TP_PIECES 4

#define GT_KEY_FENCE 0x1
#define GT_KEY_CTX   0x2
#define GT_KEY_SEQNO 0x4
#define GT_KEY_RING  0x8

/**
 * struct gt_tp_job - how the jobs of a tracepoint can be matched and counted by whoever has its
 *records
 * @types: bits of SUBMIT, COMMIT or both, or COMPLETE
 * @map: number of its file: what is of one file goes one way
 * @begins: a job that is not known yet begins with it; @known: of one that is not known it is left out
 * @vague: what records tell as ctx and seqno is something else than @ctx and @seqno, or may be
 * @key: which of @fence, @ctx, @seqno and the ring make the key: GT_KEY_*; a key with a context
 *compares the low 32 bits of both
 * @piece: @npiece, which with @seed tell GPU and ring: what is the same in all is the same ring.
 *None, and a seed of the file only: the ring is its job's
 */
struct gt_tp_job {
	uint32_t types;
	uint16_t map;
	bool begins, known, vague;
	uint8_t key, npiece;
	uint64_t seed;
	struct gt_tp_piece ctx, seqno, fence;
	struct gt_tp_piece piece[GT_TP_PIECES];
};
/** gt_tp_job() - since gt_tp_bind() of all and a selection. False: they are for gt_tp_raw() alone;
 * a condition (gt_tp_where()) must hold before */
bool gt_tp_job(const struct gt_tp *tp, struct gt_tp_job *out);
/** gt_tp_wait() - likewise the key of the job that a tracepoint's waits are for, or that waits for
 * another; false: it tells none, or more than that. @out: only @key, @ctx and @seqno */
bool gt_tp_wait(const struct gt_tp *tp, struct gt_tp_job *out);
/** gt_tp_place() - GPU and ring that such a record names; false: it names none, or there are too
 * many */
bool gt_tp_place(struct gt_tp *tp, const struct gt_evctx *c, const void *rec, size_t len,
		 uint16_t *gpu, uint16_t *ring);

/**
 * gt_tp_raw() - one raw record (from common_type on) to at most @max records in @out
 *
 * Return: how many (0: left out, and counted).
 */
int gt_tp_raw(struct gt_tp *tp, const struct gt_evctx *c, const void *rec, size_t len,
	      union gt_record *out, int max);

/**
 * gt_tp_text() - the same from printed text: what stands behind "event: " on a line
 * @text: need not be NUL-terminated
 */
int gt_tp_text(struct gt_tp *tp, const struct gt_evctx *c, const char *text, size_t len,
	       union gt_record *out, int max);

/** gt_tp_text_dev() - the device a line names, into @buf; false if it names none */
bool gt_tp_text_dev(struct gt_tp *tp, const char *text, size_t len, char *buf, size_t buflen);
/** gt_tp_raw_dev() - the same for a raw record */
bool gt_tp_raw_dev(struct gt_tp *tp, const void *rec, size_t len, char *buf, size_t buflen);

const struct gt_eventmap_stats *gt_eventmap_stats(const struct gt_eventmap *m);

#define GT_TP_MAX_RECORDS 4 /* what one event may become */

#endif
