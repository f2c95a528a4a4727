/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The replay backend's own interfaces.
 *
 *	replay.c    the vtable and the options
 *	play.c      start, merge of several files, speed, pause, seek, CPUs with different clocks, the
 *		    end; what a file is, by its content
 *	stream.c    a stream saved from an `events` pipe
 *	grtrace.c   what was saved of grtrace's relay files, and the text of its annotator
 *	nvtext.c    the text of gpu_sched_trace, of NVIDIA's driver
 *	text.c      ftrace text: lines of a file, and a window that orders them; line.c reads one line
 *	tracedat.c  trace.dat through libtracecmd, in a child process
 *	tracedat6.c trace.dat of version 6 without libtracecmd; one of version 7 that is cut short
 *	events.c    tracepoints of a recording: which occur, of which devices, and what they decode to
 *
 * A recording of tracepoints is read twice: the first time to know which tracepoints occur (what an
 * event map's `unless` asks) and which devices they name (so that a GPU's number does not depend on
 * who came first), the second time to decode.
 */
#ifndef GT_REPLAY_H
#define GT_REPLAY_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

#include "../backend.h"
#include "../eventmap/eventmap.h"
#include "../lib/detail.h"
#include "../lib/ioctl_names.h"
#include "../lib/sandbox.h"

struct gt_replay;
struct gt_source;
struct gt_events;
struct gt_procs;
struct gt_clocks;

#define GT_REPLAY_COMM 16
#define GT_REPLAY_DEV  49 /* as long as the event maps take them */

/** struct gt_replay_options - the plugin's options, filled by the host */
struct gt_replay_options {
	char *files;
	char *speed;
	char *relay_types;
	int64_t relay_clock_offset;
};

enum gt_item_kind {
	GT_ITEM_RECORD, /* rec is complete */
	GT_ITEM_TEXT,	/* printed text of tracepoint ev */
	GT_ITEM_RAW,	/* raw record of tracepoint ev */
	GT_ITEM_CALL,	/* data: name of a function of the kernel that was called */
};

/**
 * struct gt_item - what a source has next
 * @ts: its time, in the recording's clock
 * @ev: which tracepoint, an index into the source's struct gt_events
 * @data: @len bytes, valid until the source is asked again
 * @where: its line in text, or 0
 * @comm: name of the thread ctx.tid, "" if unknown
 */
struct gt_item {
	uint64_t ts;
	enum gt_item_kind kind;
	int ev;
	struct gt_evctx ctx;
	const void *data;
	size_t len;
	uint64_t where;
	char comm[GT_REPLAY_COMM];
	union gt_record rec;
};

/**
 * struct gt_reader - one kind of recording; play.c has the table
 * @name: as doctor shows it
 * @detect: do these first @len bytes (up to GT_REPLAY_HEAD) begin such a file?
 * @open: reads what is needed to read on. 0, or -errno with the sentence set by gt_source_error()
 * @scan: a piece of the first reading; 0 when there is more, 1 when done. NULL: none is needed
 * @next: fills s->item: 1; 0 when nothing is there yet (ask again); -ENODATA at the end, another
 *	-errno when the rest cannot be read (reported with gt_source_error())
 * @close: frees what open() made; also called after a failed open()
 */
struct gt_reader {
	const char *name;
	bool (*detect)(const uint8_t *head, size_t len);
	int (*open)(struct gt_source *s);
	int (*scan)(struct gt_source *s);
	int (*next)(struct gt_source *s);
	void (*close)(struct gt_source *s);
};

#define GT_REPLAY_HEAD 65536 /* bytes of a file that detection looks at */

extern const struct gt_reader gt_reader_stream;
extern const struct gt_reader gt_reader_dat;
extern const struct gt_reader gt_reader_dat6;
extern const struct gt_reader gt_reader_grtrace;
extern const struct gt_reader gt_reader_annotate;
extern const struct gt_reader gt_reader_nvtext;
extern const struct gt_reader gt_reader_text;

/**
 * struct gt_source - one file
 * @fd: open for reading; its offset is nobody's: pread() only
 * @stored: @size without its holes, for limits of time
 * @begin: where a reader begins (text inside a trace.dat)
 * @events: of a recording of tracepoints, else NULL
 * @clocks: the last jobs, to find CPUs with different clocks
 * @said: names of a saved stream's functions, by its numbers
 * @empty: why it has no event, if there is more to say of that than that there is none
 * @count: what became of what is in it
 */
struct gt_source {
	struct gt_replay *r;
	const struct gt_reader *reader;
	char *path;
	int fd;
	uint64_t size, stored;
	uint64_t begin;
	void *priv;
	struct gt_events *events;
	struct gt_item item;
	struct gt_clocks *clocks;
	char (*said)[GT_FUNCTION_NAME];
	bool have, scanned, ended;
	const char *empty;
	struct gt_filecount count;
};

/* play.c */

/** gt_source_reopen() - lets another reader have the file instead; frees the first one's */
int gt_source_reopen(struct gt_source *s, const struct gt_reader *reader);
/** gt_source_fault() - counts a damaged part of the file, @at in @place; the host gets the first
 * sentence */
void gt_source_fault(struct gt_source *s, enum gt_place place, uint64_t at, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/** gt_source_skip() - @n events of tracepoints that no map has use for */
void gt_source_skip(struct gt_source *s, uint64_t n);
/** gt_source_error() - reports to the host why the file cannot be read (on); returns -@err */
int gt_source_error(struct gt_source *s, int err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/** gt_source_pread() - reads all of @len at @off, or up to the end of the file; bytes or -errno */
ssize_t gt_source_pread(const struct gt_source *s, void *buf, size_t len, uint64_t off);
/**
 * gt_item_lost() - makes @it a LOST record
 * @ts: its time: when the gap begins, as other CPUs go on within it
 * @since, @until: the gap
 * @count: events; where the recording only says that some were lost, GT_NONE64, it is one: that many
 *	at least, and sums stay sums
 */
void gt_item_lost(struct gt_item *it, uint64_t ts, uint64_t since, uint64_t until, uint64_t count,
		  uint16_t cpu);
/** gt_item_begin() - makes @it a GT_LOST_BEGIN: the records of @cpu begin at @ts, others' at @since
 */
void gt_item_begin(struct gt_item *it, uint64_t ts, uint64_t since, uint16_t cpu);

/* play.c: the plugin's hooks, as in backend.h */

bool gt_replay_knows(const char *path, const uint8_t *head, size_t len);
int gt_replay_probe(struct gt_plugin *p);
int gt_replay_start(struct gt_plugin *p);
int gt_replay_drain(struct gt_plugin *p);
void gt_replay_stop(struct gt_plugin *p);
int gt_replay_set(struct gt_plugin *p, const struct gt_option *o);
int gt_replay_control(struct gt_plugin *p, enum gt_control what, int64_t arg);
void gt_replay_doctor(struct gt_plugin *p, char *buf, size_t len);

/** gt_replay_plugin() - the plugin of this replay */
struct gt_plugin *gt_replay_plugin(const struct gt_replay *r);
/** gt_replay_source() - its file @i, or NULL */
struct gt_source *gt_replay_source(struct gt_replay *r, unsigned int i);
/** gt_replay_reported() - may a first sentence be reported? True once */
bool gt_replay_reported(struct gt_replay *r);

/* events.c */

/** gt_events_new() - loads the event maps, every section in use; NULL with the sentence reported */
struct gt_events *gt_events_new(struct gt_source *s);
void gt_events_free(struct gt_events *e);
/**
 * gt_events_add() - a tracepoint the recording may hold
 * @system: NULL if not known
 * @id: its common_type, or -1 in text
 * @format: text of its `format` file, @len bytes; NULL in text
 *
 * Return: its index; -EEXIST if the id is taken, -ENOSPC if there are too many, -ENOMEM.
 */
int gt_events_add(struct gt_events *e, const char *system, const char *name, int id,
		  const char *format, size_t len);
/** gt_events_by_id() - index of a raw record's tracepoint, or -1 */
int gt_events_by_id(const struct gt_events *e, unsigned int id);
/** gt_events_by_name() - index of a line's tracepoint; adds it if new; -1 if that fails */
int gt_events_by_name(struct gt_events *e, const char *system, size_t system_len, const char *name,
		      size_t name_len);
/** gt_events_known() - is there a map for a tracepoint? */
bool gt_events_known(const struct gt_events *e, const char *system, const char *name);
/** gt_events_wanted() - does a map have use for @ev? */
bool gt_events_wanted(const struct gt_events *e, int ev);
/** gt_events_seen() - first reading: @ev occurs; takes the device that it names */
void gt_events_seen(struct gt_events *e, int ev, const void *data, size_t len, bool raw);
/** gt_events_select() - the first reading is done, or @level changed */
void gt_events_select(struct gt_events *e, int level);
/** gt_events_decode() - @it to at most GT_TP_MAX_RECORDS in @out; how many */
int gt_events_decode(struct gt_events *e, const struct gt_item *it, union gt_record *out);
/** gt_events_devs() - names of devices, sorted; @n: how many */
const char (*gt_events_devs(const struct gt_events *e, unsigned int *n))[GT_REPLAY_DEV];
/** gt_events_driver() - the driver that named device @i, or NULL */
const char *gt_events_driver(const struct gt_events *e, unsigned int i);
struct gt_procs *gt_events_procs(struct gt_events *e);

/* text.c: the function tracer's */

struct gt_calls;
/** gt_call_records() - @it to at most GT_CALL_RECORDS in @out: the call, and its name before the
 * first
 */
int gt_call_records(struct gt_calls *c, struct gt_source *s, const struct gt_item *it,
		    union gt_record *out);
/** gt_call_learn() - a NAME record of a saved stream, of a function */
void gt_call_learn(struct gt_source *s, const struct gt_name *n);
/** gt_call_again() - likewise its FUNCTION record @r as gt_call_records() emits one */
int gt_call_again(struct gt_calls *c, struct gt_source *s, const union gt_record *r,
		  union gt_record *out);

/* play.c */

struct gt_procs *gt_procs_new(void);
void gt_procs_free(struct gt_procs *p);
/** gt_procs_learn() - thread @tid, which leads its group, is called @comm */
void gt_procs_learn(struct gt_procs *p, uint32_t tid, const char *comm);
/**
 * gt_procs_emit() - is there something new to report of @pid, which thread @tid called @comm acts
 * for?
 *
 * Return: the name to emit, or NULL. Of a group without a seen leader it is the thread's.
 */
const char *gt_procs_emit(struct gt_procs *p, uint32_t pid, uint32_t tid, const char *comm);
/** gt_procs_record() - the record that says so */
void gt_procs_record(union gt_record *r, uint64_t ts, uint32_t pid, const char *comm);
/** gt_comm_set() - takes a name from a trace; "<...>" is none */
void gt_comm_set(char out[GT_REPLAY_COMM], const char *comm, size_t len);

/* line.c */

enum gt_line_kind {
	GT_LINE_EVENT,
	GT_LINE_CALL, /* of a function of the kernel, which is @event */
	GT_LINE_SKIP, /* a comment, a header: not ours */
	GT_LINE_LOST,
	GT_LINE_BAD,
};

/**
 * struct gt_line - a line of ftrace text; the strings are parts of it
 * @system: NULL if the line has none
 * @tid, @tgid: GT_NONE32 if the line has none
 * @cpu: GT_NONE16 likewise
 * @interrupt: in one, whatever thread that came to
 * @lost: of a GT_LINE_LOST: how many; @ts: when its gap ends; both GT_NONE64 if the line does not
 *	say so
 */
struct gt_line {
	const char *comm, *system, *event, *text;
	size_t comm_len, system_len, event_len, text_len;
	uint64_t ts, lost;
	uint32_t tid, tgid;
	uint16_t cpu;
	bool interrupt;
};

/** gt_line_parse() - what line @p of @len bytes, without its newline, is */
enum gt_line_kind gt_line_parse(const char *p, size_t len, struct gt_line *out);
/** gt_line_seconds() - "12.345678" at the beginning of @p, as ns; how long it is, 0: there is none
 */
size_t gt_line_seconds(const char *p, size_t len, uint64_t *ns);

/* tracedat.c */

enum gt_frame_kind {
	GT_FRAME_OPEN,	 /* the file is open */
	GT_FRAME_FORMAT, /* payload: system, NUL, name, NUL, text of a `format` file */
	GT_FRAME_SEEN,	 /* first reading: a record */
	GT_FRAME_SCANNED,
	GT_FRAME_EVENT, /* second reading: a record, in order of time */
	GT_FRAME_LOST,	/* missed: how many, GT_NONE64 if not known; payload: u64 since, until */
	GT_FRAME_BEGIN, /* second reading: a CPU's first record; missed: the time of the file's */
	GT_FRAME_FAULT, /* payload: a sentence; something was left out */
	GT_FRAME_FAIL,	/* payload: a sentence; nothing can be read */
	GT_FRAME_ALIVE, /* nothing to report for a long time */
	GT_FRAME_END,	/* missed: how many records no map has use for */
	GT_FRAME_KINDS
};

/** struct gt_frame - what the child writes, before @len bytes of payload */
struct gt_frame {
	uint32_t len;
	uint32_t kind;
	uint64_t ts;
	uint64_t missed;
	int32_t id;
	uint32_t tid;
	uint32_t cpu;
	uint32_t reserved;
	char comm[GT_REPLAY_COMM];
};

#define GT_FRAME_MAX (1u << 20)

/* tracedat6.c */

/** struct gt_cpu6 - a CPU's pages in the file, bytes */
struct gt_cpu6 {
	uint64_t off, size;
};

/**
 * struct gt_head6 - the header of a trace.dat of version 6
 * @header_page: text, @page_len bytes; @header_event likewise; @cmdlines: lines "TID NAME"
 * @offset: added to every time
 * @text: where the text of a latency trace begins, 0: there are pages
 */
struct gt_head6 {
	uint8_t long_size;
	uint32_t page_size;
	char *header_page, *header_event, *cmdlines;
	size_t page_len, event_len, cmdlines_len;
	int64_t offset;
	uint64_t text;
	struct gt_cpu6 *cpu;
	uint32_t cpus;
};

/* tracedat6.c */

/** gt_head7_whole() - false with a sentence if a trace.dat of version 7 is cut short */
bool gt_head7_whole(struct gt_source *s, char *text, size_t len);

/* What readers of text share: lines, and a window that puts them in order (text.c). */

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

/** struct gt_waiting - an item that waits; if it has data, that is a copy of @cap bytes' room in @data
 */
struct gt_waiting {
	struct gt_item item;
	char *data;
	size_t cap;
};

/**
 * struct gt_window - items that leave by time, those of one time as they came
 * @order: slots by time, from @head to @tail; @unused: the others
 */
struct gt_window {
	struct gt_waiting *slot;
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

/* The state of a replay. */

#define GT_REPLAY_BATCH 512
#define GT_REPLAY_SLEEP 1000000000u /* ns at most until drain() is called again: time goes on */

#define GT_CALL_RECORDS (GT_CALLNAME_RECORDS + 1)

/** struct gt_calls - calls of functions; @named: by number, those with emitted names */
struct gt_calls {
	bool named[GT_MAX_FUNCTIONS];
};

enum gt_replay_phase { GT_REPLAY_SCANS, GT_REPLAY_PLAYS, GT_REPLAY_ENDED };

/**
 * struct gt_replay - a replay
 * @speed: times real time, 0: as fast as it reads
 * @pos: time of the last record handed over; the greatest, and what the watermark says
 * @base_ts, @base_now: recording's time @base_ts was played at @base_now; @based: they are set
 * @seek: play up to there as fast as it reads; 0: no
 */
struct gt_replay {
	struct gt_plugin *p;
	struct gt_source *src;
	unsigned int n;
	enum gt_replay_phase phase;
	int level;
	double speed;
	uint64_t pos, base_ts, base_now, seek;
	bool based, paused, reported;
	struct gt_calls calls;
	unsigned int batched;
	union gt_record batch[GT_REPLAY_BATCH];
};

/* Recordings of CPUs with different clocks */

#endif
