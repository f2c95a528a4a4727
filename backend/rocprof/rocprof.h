/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The rocprof backend's own interfaces.
 *
 *	rocprof.c  the vtable and the options
 *	play.c     start, frames from the child, the end
 *	watch.c    folders that results appear in, and each user's share of readers, rows and CPU time
 *	files.c    which files are results, by name and first bytes, which are new, and safe to open
 *	emit.c     rows as records, kernels and counters for the host; duplicates; agents as GPUs
 *	jobs.h     jobs_*.c: what to ask rocprofv3 for
 *
 * In the child, which holds nothing but the files and a pipe:
 *
 *	reader.c   starts the child; in it, merges the files by time and writes frames
 *	csv.c      CSV tables, and what their columns are
 *	json.c     JSON of rocprofv3; v1json.c that of rocprof v1
 *	rocpd.c    the SQLite database
 *	att.c      thread traces: hotspots, occupancy
 *
 * Every result is anybody's bytes: only the child looks into it, and what it says is checked.
 */
#ifndef GT_ROCPROF_H
#define GT_ROCPROF_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "../backend.h"
#include "../lib/detail.h"
#include "../lib/rate.h"

#define RP_FILES      256 /* of one reading */
#define RP_NAMES      65536
#define RP_AGENTS     256
#define RP_PLACES     5		/* in a file, one a table */
#define RP_LIVE_FILES 1024	/* in folders that are watched */
#define RP_USER_FILES 256	/* of these, of a user but root */
#define RP_WATCHES    1024	/* folders that say when something changes */
#define RP_GROUPS     GT_NONE16 /* runs: a number each */
#define RP_FRAME_MAX  (GT_KERNEL_NAME_MAX + 4096)

/** struct rp_options - the plugin's options, filled by the host */
struct rp_options {
	char *files;
	char *dirs;
	char *speed;
	int64_t user_rows;
};

/* What the child sends
 * ----------------------------------------------------------------------------- */

enum rp_kind {
	RP_ALIVE, /* nothing to report for a long time */
	RP_AGENT, /* struct rp_agent */
	RP_NAME,  /* struct rp_name and its text */
	RP_ROW,	  /* struct rp_row */
	RP_TEXT,  /* struct rp_text and the text */
	RP_FAULT, /* struct rp_where and a sentence; something of the file was left out */
	RP_FAIL,  /* likewise; the file has nothing more */
	RP_TABLE, /* a word: what the file is */
	RP_AT,	  /* RP_PLACES u64: where to go on when the file has grown */
	RP_END,	  /* all files have been read */
	RP_KINDS
};

/** struct rp_frame - what the child writes, before @len bytes of payload; @file: index */
struct rp_frame {
	uint32_t len;
	uint16_t kind;
	uint16_t file;
};

/**
 * struct rp_agent - a device of the machine that was profiled, as the file's group knows it
 * @key: what rows of the same group call it: its node's number, or a handle
 * @location, @domain: its place on the PCI bus; @gpu_id: as the kernel's KFD; GT_NONE64 unknown
 */
struct rp_agent {
	uint64_t key, node, location, domain, gpu_id;
	bool gpu;
};

/** struct rp_name - names are sent once, then meant by @id; @hash: of all of it, if it was cut,
 * else 0 */
struct rp_name {
	uint32_t id, reserved;
	uint64_t hash;
};

/** struct rp_where - where a fault is; @place: enum gt_place, what @at is counted in */
struct rp_where {
	uint64_t place, at;
};

/** struct rp_text - a text of kernel @name on device @agent; @which: enum gt_kernel_text */
struct rp_text {
	uint64_t agent;
	uint32_t name, which;
};

enum rp_row_kind {
	RP_DISPATCH,
	RP_COUNTER,
	RP_READING, /* likewise, of a row that is sent already */
	RP_API,
	RP_MARKER, /* likewise, of a range that the program named: it is no call */
	RP_COPY,
	RP_ALLOC,
	RP_SCRATCH,
	RP_STAT,  /* of all calls of a kernel */
	RP_CALLS, /* of all calls of a function */
	RP_ROW_KINDS
};

/**
 * struct rp_row - a row of a table, whatever wrote it; what is not known is all ones
 * @name: of the kernel, function, direction or operation; @counter: of the counter
 * @agent: where it was, or went to; @from: where a copy came from
 * @queued: when it was dispatched
 * @total, @min, @max: of RP_STAT and RP_CALLS, ns; @bytes: how many calls
 */
struct rp_row {
	uint64_t start, end;
	uint64_t agent, from, queue, dispatch, correlation, queued, bytes;
	uint64_t total, min, max;
	double value;
	uint32_t name, counter, pid, tid;
	uint32_t v[GT_KERNEL_VALUES];
	uint16_t kind, file;
};

/** rp_row_ts() - by what rows are merged: when it ended, of a call when it began */
static inline uint64_t rp_row_ts(const struct rp_row *r)
{
	return r->kind == RP_API || r->kind == RP_MARKER ? r->start : r->end;
}

/** rp_row_reads() - is @value a reading of a counter? */
static inline bool rp_row_reads(const struct rp_row *r)
{
	return r->kind == RP_COUNTER || r->kind == RP_READING;
}

/* The child
 * ---------------------------------------------------------------------------------------- */

/** enum rp_stats - of what statistics are */
enum rp_stats {
	RP_STATS_EITHER, /* its rows have */
	RP_STATS_KERNELS,
	RP_STATS_CALLS
};

/**
 * struct rp_source - a file as the child is given it
 * @fd: open for reading; @size: what there is to read now
 * @group: files of one run have the same: agents are its
 * @pid: of the profiled process, by the file's name; GT_NONE32
 * @live: it may grow: what is not whole is left for another time; @at: what was read before, as
 * rp_emit_at() reported
 * @agent: of a thread trace: its device's handle, by its folder's name
 * @statistics: of what a table of statistics is, by the end of the file's name
 */
struct rp_source {
	int fd;
	uint64_t size, agent;
	uint64_t at[RP_PLACES];
	bool live;
	uint16_t group;
	uint32_t pid;
	enum rp_stats statistics;
};

struct rp_reading;
struct rp_walk;

/** struct rp_input - a file being read, in the child; of a table @line is the row at hand, of JSON
 * @walk knows where it stands */
struct rp_input {
	struct rp_reading *r;
	const struct rp_source *s;
	const struct rp_format *format;
	void *priv;
	uint16_t index;
	bool ended;
	uint64_t faults, line;
	const struct rp_walk *walk;
	/* rows that wait for earlier ones: a heap by time, then as they came, of indices of @row */
	struct rp_wait {
		uint64_t ts;
		uint32_t at, seq;
	} * heap;
	struct rp_row *row;
	uint32_t *spare;
	unsigned int n, room, nspare;
	uint32_t seq;
};

/**
 * struct rp_format - one kind of file; reader.c has the table
 * @detect: do these first @len bytes begin such a file?
 * @open: reads what is needed to read on; @first: whether it has agents only, for others' sake
 * @feed: reads a piece: rows by rp_emit(). 1; 0: that was all; -errno after rp_fail()
 * @last: its rows are of kernels and devices that other files name: it is read after them
 */
struct rp_format {
	const char *name;
	bool last;
	bool (*detect)(const char *head, size_t len);
	int (*open)(struct rp_input *in);
	bool (*first)(const struct rp_input *in);
	int (*feed)(struct rp_input *in);
	void (*close)(struct rp_input *in);
};

extern const struct rp_format rp_format_csv, rp_format_json, rp_format_v1json, rp_format_db,
	rp_format_att;

/** rp_squeeze() - the first bytes of a file but blanks and newlines, to know JSON by */
static inline void rp_squeeze(char out[128], const char *head, size_t len)
{
	size_t n = 0;

	for (size_t i = 0; i < len && n < 127; i++)
		if (head[i] != ' ' && head[i] != '\n' && head[i] != '\r' && head[i] != '\t')
			out[n++] = head[i];
	out[n] = '\0';
}

/** rp_row_init() - a row of which nothing is known */
void rp_row_init(struct rp_row *r, enum rp_row_kind kind);
/** rp_emit() - hands a row over */
void rp_emit(struct rp_input *in, const struct rp_row *r);
/** rp_emit_agent() - likewise a device */
void rp_emit_agent(struct rp_input *in, const struct rp_agent *a);
/** rp_intern() - number of a name; GT_NONE32: there are too many */
uint32_t rp_intern(struct rp_input *in, const char *text, size_t len);
/** rp_emit_text() - a text of a kernel, by its name */
void rp_emit_text(struct rp_input *in, const char *kernel, size_t klen, enum gt_kernel_text which,
		  const char *text, size_t len);
/** rp_emit_at() - where to go on if the file grows */
void rp_emit_at(struct rp_input *in, const uint64_t at[RP_PLACES]);
/** rp_table() - says what the file is */
void rp_table(struct rp_input *in, const char *what);
/** rp_fault() - something was left out; only the first few sentences of a file are reported */
void rp_fault(struct rp_input *in, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/** rp_fail() - nothing more can be read of the file. Returns -EBADMSG */
int rp_fail(struct rp_input *in, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/** rp_pread() - up to @len bytes at @off of what there was when it was opened; -errno */
ssize_t rp_pread(const struct rp_input *in, void *buf, size_t len, uint64_t off);

/** rp_stored() - the file's size, or what its blocks may hold if that is less: a file with holes may have any size */
uint64_t rp_stored(const struct rp_source *s);

/* reader.c
 * ------------------------------------------------------------------------------------------ */

#define RP_CHILDREN_LEFT 8 /* that hang, until no other begins */

/** struct rp_child - the process that reads; @since: of its last word; @cpu_ns: that it took, once
 * it has ended; @idle: see rp_child_idle() */
struct rp_child {
	pid_t pid;
	int fd;
	uint8_t *buf;
	size_t pos, len;
	uint64_t since, cpu_ns;
	bool idle;
};

/** rp_child_cpu() - seconds of CPU time that reading these may take */
uint64_t rp_child_cpu(const struct rp_source *s, unsigned int n);
/** rp_child_start() - has @n files read, in @cpu_s seconds of CPU time; 0 or -errno with the
 * sentence reported */
int rp_child_start(struct gt_plugin *p, struct rp_child *c, const struct rp_source *s,
		   unsigned int n, uint64_t cpu_s);
/** rp_child_idle() - from now on it has the CPU and the disk when nobody else wants them */
void rp_child_idle(struct rp_child *c);
/** rp_child_next() - the next frame and its payload: 1; 0: none yet; -EIO with a sentence */
int rp_child_next(struct gt_plugin *p, struct rp_child *c, struct rp_frame *f, const uint8_t **data,
		  char *err, size_t len);
/** rp_child_end() - it is ended if it has not; @cpu_ns: what it took, may be NULL. Return: a process that was killed
 * and is to be waited for once it has ended; 0: none */
pid_t rp_child_end(struct rp_child *c, uint64_t *cpu_ns);
/** rp_child_full() - reports that there are so many that no other begins. Returns -EBUSY */
int rp_child_full(struct gt_plugin *p);

/* files.c
 * ------------------------------------------------------------------------------------------ */

/** rp_base_of() - a path's last part; rp_ends() - whether @s ends so */
const char *rp_base_of(const char *path);
bool rp_ends(const char *s, const char *with);
/** rp_stats_of() - of what is a table of statistics? By the end of the file's name, which the tools
 * set */
enum rp_stats rp_stats_of(const char *name);
/** rp_is_call() - is it the name of a function, or of a kind of them, and no kernel's? */
bool rp_is_call(const char *s, size_t len);

/* files.c
 * ------------------------------------------------------------------------------------------ */

/**
 * struct rp_file - a result
 * @path: where it is; @uid: of its owner
 * @state: what became of it; @table: what it is; @count: for doctor() of a recording
 * @dev, @ino, @born, @mtime: of a folder that is watched: which file it is, when it was made (0:
 *	not known) and when it changed
 * @there: it was there when the folders were looked through; @changed: since it was read; @busy:
 * somebody writes to it; @once: it is read once only
 * @read: a reader has it; @turn: number of the turn in which it had last, 0: not yet; @again: it
 *	could not be opened, and is not tried again before
 * @means: which kernels its job asked for when its reading began: part of their names, "" for all;
 *	NULL: no job's, or an expression
 * @matched: dispatches of these, while the hash of what was asked for was @asked; @instructions of
 * a thread trace, and how many have a source (@mapped)
 */
struct rp_file {
	char *path, *means;
	struct rp_source source;
	uint32_t uid;
	const char *state;
	char table[32], error[256];
	uint64_t rows, faults;
	struct gt_filecount count;
	uint64_t dev, ino, born, mtime;
	bool there, changed, busy, once, named, whole, read;
	uint64_t turn, again;
	uint64_t matched, asked, instructions;
	double mapped;
};

/* jobs_results.c: the way to what a user has named: links are not followed, and no mount is entered
 * that somebody else than the kernel may answer for; @whole: who named it sees everything */

int rp_way_file(const char *path, bool whole);
/** rp_way_forget() - drops the list of mounts that is kept; the next way makes it anew */
void rp_way_forget(void);
/** rp_at() - opens what is in @dir, on the same mount; rp_stat_at() looks at it */
int rp_at(int dir, const char *name, int flags);
int rp_stat_at(int dir, const char *name, struct stat *st);

#define RP_JOBS 64

/**
 * struct rp_job - what was seen of a job's folder in the last look
 * @path: without links; @there: it is a folder that is looked at
 * @looked: names; @others: of other users, so not looked at
 * @cut: there are more names than these, which are looked at, 0: not; @deep: folders too far below;
 * @over: results for which there is no room; @unwatched: folders that do not report when something
 * changes
 * @tries: looks for a folder that was not there, @again: when the next is due
 * @traces, @decoded: ui_output_agent_*, those with code; @raw: *.att, the largest of @raw_size
 * bytes
 */
struct rp_job {
	uint64_t serial, raw_size;
	char *path;
	uint32_t uid;
	bool whole, there;
	unsigned int looked, cut, others, deep, over, unwatched, traces, decoded, raw, tries;
	uint64_t again;
};

#define RP_OTHERS 8

/** struct rp_files - what is read together; @looked: names that were looked at in folders,
 * @others: files of a recording's folder that are no results, of which the first are named in
 * @other
 * @left_out: for which there was no room, @packed: results that are compressed, @deep: folders too
 * far below, all in the last look; @later: what was being read then has to be looked at again;
 * @blind: there was no room to watch some folder;
 * @reported: that there are more than are kept; @found: is handed what is compressed, with @arg, and
 * nothing is read */
struct rp_files {
	struct rp_file *file;
	unsigned int n, left_out, looked, packed, deep, others;
	char other[RP_OTHERS][256];
	uint16_t groups;
	bool live, reported, later, blind;
	void (*found)(void *arg, int fd, const char *path);
	void *arg;
	int inotify;
	unsigned int watches;
	int watch[RP_WATCHES];
	uint64_t watch_dev[RP_WATCHES], watch_ino[RP_WATCHES];
	struct rp_job job[RP_JOBS];
	unsigned int jobs;
};
/** rp_files_error() - last_error, which everybody reads: of results in watched folders, which are
 * their owners', it names neither the file nor what is in it. Returns -@err */
int rp_files_error(struct gt_plugin *p, const struct rp_files *f, int err, const char *path,
		   const char *why);
/** rp_files_forget() - those that are there no more, and are not being read; how many
 * @moved: by index: where those are now that stay */
unsigned int rp_files_forget(struct rp_files *f, uint16_t moved[RP_LIVE_FILES]);
/** rp_watch_folder() - says when something changes in it; false: it does not */
bool rp_watch_folder(struct rp_files *f, int dir);

/** rp_files_found() - a file of a watched folder: @name in @dir, which is @folder; @st: what it is;
 * @j: the job that named it, NULL: none did. False: it is a result, and there is no room for it */
bool rp_files_found(struct gt_plugin *p, struct rp_files *f, const struct rp_job *j, int dir,
		    const char *folder, const char *path, const char *name, const struct stat *st);
/** rp_files_add() - a file, or all results in a folder and below it; -errno with the sentence reported
 */
int rp_files_add(struct gt_plugin *p, struct rp_files *f, const char *path);
/** rp_files_once() - of a run that was written in several formats only one is read: the fullest */
void rp_files_once(struct rp_files *f);
void rp_files_close(struct rp_files *f);
void rp_files_free(struct rp_files *f);
/** rp_knows() - see gt_backend.knows, rp_packed() - gt_backend.packed */
bool rp_knows(const char *path, const uint8_t *head, size_t len);
void rp_packed(const char *path, void (*found)(void *arg, int fd, const char *path), void *arg);

/* emit.c
 * ------------------------------------------------------------------------------------- */

struct rp_emitter;
struct rp_said;

/** rp_emitter_new() - keeps what is known of queues, calls and duplicates; NULL: no memory */
struct rp_emitter *rp_emitter_new(struct gt_plugin *p, struct rp_files *files);
void rp_emitter_free(struct rp_emitter *t);
/** rp_said_new() - for a reader that begins: of its @n files file i is ours @index[i], which the
 * caller keeps. NULL: no memory */
struct rp_said *rp_said_new(struct rp_emitter *t, const uint16_t *index, unsigned int n);
void rp_said_free(struct rp_said *s);
/** rp_emit_frame() - takes one frame of the reader of @said; how many records it pushed or will push,
 * -EBADMSG if it is not sound */
int rp_emit_frame(struct rp_emitter *t, struct rp_said *said, const struct rp_frame *f,
		  const uint8_t *data);
/** rp_emit_flush() - what was gathered goes to the host */
void rp_emit_flush(struct rp_emitter *t);
/** rp_emitter_position() - time of the last record */
uint64_t rp_emitter_position(const struct rp_emitter *t);
/** rp_emitter_detail() - lines of `stats`: what was left out, and why */
void rp_emitter_detail(const struct rp_emitter *t, struct gt_details *d);
/** rp_show_calls(), rp_show_allocations() - tables of the runtime's calls, and of its allocations */
void rp_show_calls(const struct rp_emitter *t, char *buf, size_t len);
void rp_show_allocations(const struct rp_emitter *t, char *buf, size_t len);

/** struct rp_place - a device as the host numbers it; @gpu: GT_NONE16: none */
struct rp_place {
	uint16_t group, gpu;
	uint64_t key;
};
/** struct rp_places - devices that one reader has named; @uid: owner of its files: a GPU of this
 * machine that this user may not use is not meant; GT_NONE32: of a recording; @refused: counts those that there
 * was no room for */
struct rp_places {
	struct gt_plugin *p;
	uint32_t uid;
	struct rp_place place[RP_AGENTS];
	unsigned int n, last;
	uint64_t *refused;
};
/** struct rp_queues - queues of all results, the oldest first, of which a user but root has a part; @ids: so many
 * were given */
struct rp_queues {
	struct rp_queue {
		uint64_t handle;
		uint32_t pid, uid, id;
		uint16_t gpu, group;
	} * queue;
	unsigned int n, last, ids;
	uint64_t refused;
};

/* see jobs.h
 * ------------------------------------------------ */

/** rp_jobs_look() - looks through the folders of jobs; rp_jobs_forget() - what was seen there */
void rp_jobs_look(struct gt_plugin *p, struct rp_files *f);
void rp_jobs_forget(struct rp_files *f);
/** rp_jobs_came() - has a job's folder come that was not there? It looks for some that are due,
 * the less often the longer they are missing */
bool rp_jobs_came(struct gt_plugin *p, struct rp_files *f);
/** rp_jobs_due() - when to call that next, CLOCK_MONOTONIC; 0: no folder is missing */
uint64_t rp_jobs_due(const struct rp_files *f);
/** rp_jobs_wait() - is there a job that names a folder? */
bool rp_jobs_wait(struct gt_plugin *p);
/** rp_job_asks() - @file is about to be read: its job's settings of this moment say what of it
 * is counted, until the next reading */
void rp_job_asks(struct gt_plugin *p, const struct rp_files *f, struct rp_file *file);
/** rp_job_hotspots() - a text of hotspots_stats came from @file */
void rp_job_hotspots(struct rp_file *file, const char *text);

/* play.c: the plugin's hooks, as in backend.h
 * ------------------------------------------------ */

int rp_probe(struct gt_plugin *p);
int rp_start(struct gt_plugin *p);
int rp_drain(struct gt_plugin *p);
void rp_stop(struct gt_plugin *p);
int rp_set(struct gt_plugin *p, const struct gt_option *o);
int rp_control(struct gt_plugin *p, enum gt_control what, int64_t arg);
void rp_doctor(struct gt_plugin *p, char *buf, size_t len);
void rp_show_files(struct gt_plugin *p, char *buf, size_t len);
void rp_show_problems(struct gt_plugin *p, char *buf, size_t len);
void rp_file_calls(struct gt_plugin *p, char *buf, size_t len);
void rp_file_allocations(struct gt_plugin *p, char *buf, size_t len);

/* Columns of CSV tables: found by name, whatever their order, case and version. */

#define RP_COLUMNS 8192 /* of a table: rocprof-compute writes up to 2718 */

/**
 * struct rp_columns - a header
 * @what: by place: enum rp_column; @n: how many
 * @counter: of a column that is a counter: number of its name, GT_NONE32 of others
 * @kind: of its rows; @agents: they describe devices instead; @timed: each is a dispatch and its
 * times
 * @counters: how many columns are counters
 * @either: rows are statistics of kernels or of functions: their names say which
 * @first: what the first column is called, as a header is known by
 * @missing: the column that a header lacks which is not known but for that, or NULL
 */
struct rp_columns {
	uint8_t what[RP_COLUMNS];
	uint32_t counter[RP_COLUMNS];
	unsigned int n, counters;
	enum rp_row_kind kind;
	bool agents, timed, either;
	const char *name, *missing;
	char first[32];
};

/** rp_columns_mark() - bytes of the mark of UTF-8 that may come before the first name */
static inline size_t rp_columns_mark(const char *text, size_t len)
{
	return len >= 3 && !memcmp(text, "\xef\xbb\xbf", 3) ? 3 : 0;
}

/** rp_columns_bind() - false: it is no header of a table that is known */
bool rp_columns_bind(struct rp_columns *c, const char *const *names, unsigned int n,
		     const struct rp_source *s);
/** rp_columns_known() - does the line that @text begins with, cut or not, name a table's columns?
 */
bool rp_columns_known(const char *text, size_t len);
/** rp_columns_counter() - is column @i a counter? */
static inline bool rp_columns_counter(const struct rp_columns *c, unsigned int i)
{
	return c->counter[i] != GT_NONE32;
}
/** rp_column_take() - cell @i into the row or device; false: it is not what it should be */
bool rp_column_take(struct rp_input *in, const struct rp_columns *c, unsigned int i, const char *s,
		    size_t len, struct rp_row *row, struct rp_agent *agent);

/* Private to emit.c. */

#define RP_BATCH      512
#define RP_PIDS	      64
#define RP_QUEUES     1024
#define RP_NAME_BYTES (32u << 20) /* of all names of a recording, */
#define RP_USER_BYTES (4u << 20)  /* and of what a user's reader says */
#define RP_CALLS_MAX  4096	  /* functions that are counted */
#define RP_MEMORY_MAX 1024	  /* operations, by GPU */
#define RP_SHARE      4		  /* a user but root has so much of each, in watched folders */

/** struct rp_slot - a kernel of that name, as the host numbers it; @v: as emitted last */
struct rp_slot {
	uint32_t uid, kernel;
	uint32_t v[GT_KERNEL_VALUES];
	uint16_t gpu;
	bool asked;
};

/** struct rp_emitted_name - @text: NULL: there was no room; @call: index in rp_emitter.call */
struct rp_emitted_name {
	char *text;
	size_t len;
	uint64_t hash;
	struct rp_slot *slot;
	unsigned int nslots;
	uint16_t call;
	bool launches, meant; /* by a job */
};

/** struct rp_call - calls of one function; times that no table has are GT_NONE64 */
struct rp_call {
	char *name;
	uint32_t uid; /* user that its share is of */
	uint64_t count, total, min, max;
};

/** struct rp_memory - operations on memory, of one kind */
struct rp_memory {
	char *name;
	uint32_t uid; /* likewise */
	uint16_t gpu, kind;
	uint64_t count, bytes, ns;
};

/**
 * struct rp_said - what one reader has said of names and devices: good until its end
 * @name: by id; @bytes: of their texts
 * @index: of its @nindex files: ours
 * @devices: by group, of which there are RP_GROUPS: its devices are known
 */
struct rp_said {
	struct rp_emitted_name *name;
	uint32_t names;
	uint64_t bytes;
	const uint16_t *index;
	unsigned int nindex;
	bool *devices;
	struct rp_places places;
};

/** struct rp_pid - is there a process @pid of @uid's? @pid GT_NONE32: nothing was asked */
struct rp_pid {
	uint32_t pid, uid;
	bool there;
};

/** struct rp_emitter - @said: of the reader at hand */
struct rp_emitter {
	struct gt_plugin *p;
	struct rp_files *files;
	struct rp_said *said;
	struct rp_queues queues;
	struct rp_pid pid[RP_PIDS]; /* that were asked for, by the remainder of the pid */
	uint64_t refused, agents_refused, pos;
	const char *lacks; /* what the row at hand is without, so that it shows nothing; NULL: it
			      does */
	struct rp_dedup *dedup; /* NULL: no row of these kinds yet */
	uint64_t duplicates;
	unsigned int ncalls, nmemory;
	struct rp_call call[RP_CALLS_MAX];
	struct rp_memory memory[RP_MEMORY_MAX];
	unsigned int batched;
	union gt_record batch[RP_BATCH];
};

/* Files that are results, for files.c and its test. */

/** rp_file_add() - one more of those that are known; NULL: there are too many */
struct rp_file *rp_file_add(struct gt_plugin *p, struct rp_files *f, const char *path,
			    uint32_t uid);

/* The plugin's state, for play.c and watch.c. */

#define RP_READERS  8		 /* processes that read at a time, each for another user */
#define RP_USERS    128		 /* with files in watched folders */
#define RP_QUICK_NS 200000000ull /* of CPU time: a reader's first moments, see watch.c */

/**
 * struct rp_user - an owner of files in watched folders
 * @turn: number of the last turn, 0: none yet
 * @rate: of rows; root has no bound
 * @quick: when the CPU time of first moments begins to be whole again, see watch.c
 * @left: a reader that was killed @left_at, and none begins before it has ended; 0: none
 * @strikes: readings that failed, less those since that did not; until @again none begins
 * @readings, @failed, @rows, @cpu_ns: so far; @waits: how often rows had to wait
 */
struct rp_user {
	uint32_t uid;
	bool used;
	uint64_t turn;
	struct gt_rate rate;
	uint64_t quick, again;
	pid_t left;
	uint64_t left_at;
	unsigned int strikes;
	uint64_t readings, failed, rows, cpu_ns, waits;
};

/**
 * struct rp_reader - a process that reads the files of one run, one at most for each user
 * @index: of its @n files: ours
 * @user: owner of these; NULL: of a recording
 * @begun: when it began
 * @on: there is such a process; @idle: it gets the CPU time that nobody else wants; @watched: its
 * pipe wakes us; @dry: its user may read no more rows before the next refill
 */
struct rp_reader {
	struct rp_child child;
	struct rp_said *said;
	uint16_t index[RP_FILES];
	unsigned int n;
	struct rp_user *user;
	uint64_t begun;
	bool on, idle, watched, dry;
};

/**
 * struct rp - the plugin
 * @reading: how many of @reader are on; a recording has one
 * @ended: of a recording: it has been read
 * @dirty: when to look through the folders, 0: nothing has changed; @next_look: when to do so though
 *	nothing was reported; @rests: not before
 * @more: readers have said more than was taken
 * @turns: so many were given
 * @paused: of a recording: rows wait, but up to @seek, where it @stood last; @held: the first is
 * @row, of @frame
 * @again: no reader could begin, and none is tried before; @full: it was reported that too many hang
 */
struct rp {
	struct gt_plugin *p;
	struct rp_files files;
	struct rp_emitter *emitter;
	struct rp_reader reader[RP_READERS];
	struct rp_user user[RP_USERS];
	unsigned int reading;
	bool ended, full, paused, held, more;
	uint64_t dirty, next_look, rests, again, seek, stood, turns;
	struct rp_frame frame;
	struct rp_row row;
};

/** rp_reader_begin() - has the files of @rd read, which are open in @s; 0 or -errno */
int rp_reader_begin(struct rp *r, struct rp_reader *rd, const struct rp_source *s);
/** rp_reader_end() - that process is no more; @failed: why, or NULL: it has read all */
void rp_reader_end(struct rp *r, struct rp_reader *rd, const char *failed);
/** rp_hear() - what has come of a reader, for @ns at most: records; @waits: nothing more yet */
int rp_hear(struct rp *r, struct rp_reader *rd, uint64_t ns, bool *waits);

/* watch.c */

/** rp_user_of() - the account of @uid; NULL: there are too many that read now */
struct rp_user *rp_user_of(struct rp *r, uint32_t uid);
/** rp_user_begins() - a reading of that user's begins: the seconds of CPU time that it may take,
 * of @most; @idle: none of them before others */
uint64_t rp_user_begins(struct rp *r, struct rp_user *u, uint64_t most, bool *idle);
/** rp_user_ended() - likewise it has ended, and took @cpu_ns */
void rp_user_ended(struct rp *r, struct rp_user *u, uint64_t cpu_ns, bool failed);
/** rp_user_may() - may another of the user's frames be taken @now, or a reading begin? rp_user_took(): one was */
bool rp_user_may(struct rp *r, struct rp_user *u, uint64_t now);
void rp_user_took(struct rp_user *u);
/** rp_over_share() - records of the user's for which the history had no room */
uint64_t rp_over_share(struct gt_plugin *p, uint32_t uid);
void rp_show_users(struct gt_plugin *p, char *buf, size_t len);

/* watch.c */
int rp_watch_start(struct rp *r);
int rp_watch_drain(struct rp *r);
/** rp_watch_soon() - looks through them after a moment: more may be to come */
int rp_watch_soon(struct rp *r);
/** rp_watch_look() - looks through the folders at once */
int rp_watch_look(struct rp *r);

#endif
