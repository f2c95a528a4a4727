/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The rocprof backend's own interfaces.
 *
 *	rocprof.c  the vtable and the options
 *	play.c     start, frames from the child, the end; watch.c folders that results appear in
 *	files.c    which files are results, and safe to open; names.c by their names and first bytes
 *	meet.c     which are new, or have changed, in folders that are watched
 *	child.c    starts, hears and ends the process that reads them
 *	tell.c     rows as records, kernels and counters for the host
 *	gpu.c      agents as GPUs, queues
 *	jobs/      what to ask rocprofv3 for
 *
 * In the child, which holds nothing but the files and a pipe:
 *
 *	read.c     merges the files by time, writes frames
 *	table.c    CSV tables, columns.c what their columns are
 *	json.c     JSON, record.c what its values mean; v1json.c that of rocprof v1
 *	rocpd.c    the SQLite database
 *	att.c      thread traces: hotspots.c, occupancy.c
 *	walk.c     what these three read JSON by
 *
 * Every result is anybody's bytes: only the child looks into it, and what it says is checked.
 */
#ifndef GT_ROCPROF_INTERNAL_H
#define GT_ROCPROF_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "../backend.h"

#define RP_FILES      256 /* of one reading */
#define RP_NAMES      65536
#define RP_AGENTS     256
#define RP_PLACES     5	   /* in a file, one a table */
#define RP_LIVE_FILES 1024 /* in folders that are watched */
#define RP_USER_FILES 256  /* of these, of a user but root */
#define RP_WATCHES    1024 /* folders that say when something changes */
#define RP_FRAME_MAX  (GT_KERNEL_NAME_MAX + 4096)

/** struct rp_options - the plugin's options, filled by the host */
struct rp_options {
	char *files;
	char *dirs;
	char *speed;
};

/* What the child tells
 * ----------------------------------------------------------------------------- */

enum rp_kind {
	RP_ALIVE, /* nothing to tell for a long time */
	RP_AGENT, /* struct rp_agent */
	RP_NAME,  /* struct rp_name and its text */
	RP_ROW,	  /* struct rp_row */
	RP_TEXT,  /* struct rp_text and the text */
	RP_FAULT, /* a sentence; something of the file was left out */
	RP_FAIL,  /* a sentence; the file tells nothing more */
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

/** struct rp_name - names are told once, then meant by @id; @hash: of all of it, if it was cut,
 * else 0 */
struct rp_name {
	uint32_t id, reserved;
	uint64_t hash;
};

/** struct rp_text - a text of kernel @name on device @agent; @which: enum gt_kernel_text */
struct rp_text {
	uint64_t agent;
	uint32_t name, which;
};

enum rp_row_kind {
	RP_DISPATCH,
	RP_COUNTER,
	RP_API,
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
	return r->kind == RP_API ? r->start : r->end;
}

/* The child
 * ---------------------------------------------------------------------------------------- */

/**
 * struct rp_source - a file as the child is given it
 * @fd: open for reading; @size: what there is to read now
 * @group: files of one run have the same: agents are its
 * @pid: of the profiled process, as the file's name tells; GT_NONE32
 * @live: it may grow: what is not whole is left for another time; @at: what was read before, as
 *rp_tell_at() told
 * @agent: of a thread trace: its device's handle, as its folder's name tells
 * @statistics: of kernels, as the file's name tells
 */
struct rp_source {
	int fd;
	uint64_t size, agent;
	uint64_t at[RP_PLACES];
	bool live;
	uint16_t group;
	uint32_t pid;
	bool statistics;
};

struct rp_reading;

/** struct rp_input - a file being read, in the child; @packed: if gzip has packed it */
struct rp_input {
	struct rp_reading *r;
	const struct rp_source *s;
	const struct rp_format *format;
	struct rp_packed *packed;
	void *priv;
	uint16_t index;
	bool ended;
	uint64_t faults;
	/* rows that wait for earlier ones: a heap by time of indices of @row */
	struct rp_wait {
		uint64_t ts;
		uint32_t at;
	} * heap;
	struct rp_row *row;
	uint32_t *spare;
	unsigned int n, room, nspare;
};

/**
 * struct rp_format - one kind of file; read.c has the table
 * @detect: do these first @len bytes begin such a file?
 * @open: reads what is needed to read on; @first: whether it tells of agents only, for others' sake
 * @feed: reads a piece: rows by rp_emit(). 1; 0: that was all; -errno after rp_fail()
 */
struct rp_format {
	const char *name;
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

/** rp_is_packed() - do these first bytes begin what gzip has packed? */
bool rp_is_packed(const void *head, size_t len);
/** rp_packed_open() - from then on rp_pread() unpacks */
int rp_packed_open(struct rp_input *in);
ssize_t rp_packed_pread(struct rp_packed *p, void *buf, size_t len, uint64_t off);
void rp_packed_close(struct rp_input *in);
/** rp_row_init() - a row of which nothing is known */
void rp_row_init(struct rp_row *r, enum rp_row_kind kind);
/** rp_emit() - hands a row over */
void rp_emit(struct rp_input *in, const struct rp_row *r);
/** rp_tell_agent() - likewise a device */
void rp_tell_agent(struct rp_input *in, const struct rp_agent *a);
/** rp_intern() - number of a name; GT_NONE32: there are too many */
uint32_t rp_intern(struct rp_input *in, const char *text, size_t len);
/** rp_tell_text() - a text of a kernel, by its name */
void rp_tell_text(struct rp_input *in, const char *kernel, size_t klen, enum gt_kernel_text which,
		  const char *text, size_t len);
/** rp_tell_at() - where to go on if the file grows */
void rp_tell_at(struct rp_input *in, const uint64_t at[RP_PLACES]);
/** rp_table() - says what the file is */
void rp_table(struct rp_input *in, const char *what);
/** rp_fault() - something was left out; only the first few sentences of a file are told */
void rp_fault(struct rp_input *in, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/** rp_fail() - nothing more can be read of the file. Returns -EBADMSG */
int rp_fail(struct rp_input *in, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/** rp_pread() - up to @len bytes at @off of what there was when it was opened; -errno */
ssize_t rp_pread(const struct rp_input *in, void *buf, size_t len, uint64_t off);

/** rp_read_all() - the whole of the child's work: frames of all of @s to @out; does not return
 * @key: a secret */
void rp_read_all(const struct rp_source *s, unsigned int n, const uint64_t key[2], int out) __attribute__((noreturn));

/* child.c
 * ------------------------------------------------------------------------------------------ */

#define RP_CHILDREN_LEFT 8

/** struct rp_child - the process that reads */
struct rp_child {
	pid_t pid;
	int fd;
	uint8_t *buf;
	size_t pos, len;
	uint64_t since;
};

/** rp_child_start() - has @n files read; 0 or -errno with the sentence told */
int rp_child_start(struct gt_plugin *p, struct rp_child *c, const struct rp_source *s,
		   unsigned int n);
/** rp_child_next() - the next frame and its payload: 1; 0: none yet; -EIO with a sentence */
int rp_child_next(struct gt_plugin *p, struct rp_child *c, struct rp_frame *f, const uint8_t **data,
		  char *err, size_t len);
void rp_child_end(struct rp_child *c);
/** rp_child_leave() - one that was killed is still there, as a file system that does not answer
 * holds it; rp_child_left() - waits for none: how many are, whichever start of the backend they are
 * of */
void rp_child_leave(pid_t pid);
unsigned int rp_child_left(void);
/** rp_child_full() - tells that there are so many that no other begins. Returns -EBUSY */
int rp_child_full(struct gt_plugin *p);

/* names.c
 * ------------------------------------------------------------------------------------------ */

/** rp_base_of() - a path's last part; rp_ends() - whether @s ends so */
const char *rp_base_of(const char *path);
bool rp_ends(const char *s, const char *with);
/** rp_agent_of() - the device whose thread traces are in @folder, by its name; GT_NONE64: none are */
uint64_t rp_agent_of(const char *folder);
/** rp_is_result() - is @name in @folder one that is read? */
bool rp_is_result(const char *folder, const char *name);
/** rp_run_of() - bytes of @path that files of a run have alike */
size_t rp_run_of(const char *path);
/** rp_pid_of() - the process that a file's name tells, or GT_NONE32 */
uint32_t rp_pid_of(const char *base);
/** rp_of_kernels() - is it a table of statistics of kernels? */
bool rp_of_kernels(const char *base);
/** rp_part_only() - why what begins so shows nothing by itself, what else to play; NULL: it may */
const char *rp_part_only(const char *head, size_t len);
/** rp_head_known() - does something of rocprof begin so, be it a part only? */
bool rp_head_known(const char *head, size_t len);

/* files.c
 * ------------------------------------------------------------------------------------------ */

/**
 * struct rp_file - a result
 * @path: where it is; @uid: whose
 * @state: what became of it; @table: what it is
 * @dev, @ino, @born, @mtime: of a folder that is watched: which file it is, when it was made (0:
 *	not known) and when it changed
 * @there: it was there when the folders were looked through; @changed: since it was read; @busy:
 *somebody writes to it; @once: it is read once only
 * @means: which kernels its job asked for when its reading began: part of their names, "" for all;
 *	NULL: no job's, or an expression
 * @matched: dispatches of these, while the hash of what was asked for was @asked; @instructions of
 *a thread trace, and how many have a source (@mapped)
 */
struct rp_file {
	char *path, *means;
	struct rp_source source;
	uint32_t uid;
	const char *state;
	char table[32], error[256];
	uint64_t rows, faults;
	uint64_t dev, ino, born, mtime;
	bool there, changed, busy, once, named, whole;
	uint64_t matched, asked, instructions;
	double mapped;
};

/* jobs/way.c: the way to what a user has named: links are not followed, and no mount is entered that
 * somebody else than the kernel may answer for; @whole: who named it sees everything */

/** rp_way_folder() - opens a folder, rp_way_file() a file; -1 */
int rp_way_folder(const char *path, bool whole);
int rp_way_file(const char *path, bool whole);
/** rp_at() - opens what is in @dir, on the same mount; rp_stat_at() looks at it */
int rp_at(int dir, const char *name, int flags);
int rp_stat_at(int dir, const char *name, struct stat *st);

#define RP_JOBS 64

/**
 * struct rp_job - what was seen of a job's folder in the last look
 * @path: without links; @there: it is a folder that is looked at
 * @looked: names; @others: of other users, so not looked at
 * @cut: there are more names than these, which are looked at, 0: not; @deep: folders too far below;
 * @over: results for which there is no room; @unwatched: folders that do not tell when something
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

/** struct rp_files - what is read together; @looked: names that were looked at in folders,
 * @left_out: for which there was no room, both in the last look; @told: that there are more than
 * are kept */
struct rp_files {
	struct rp_file *file;
	unsigned int n, left_out, looked;
	uint16_t groups;
	bool live, told;
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
/** rp_files_forget() - those that are there no more; how many */
unsigned int rp_files_forget(struct rp_files *f);
/** rp_watch_folder() - says when something changes in it; false: it does not */
bool rp_watch_folder(struct rp_files *f, int dir);

/** rp_files_found() - a file of a watched folder: @name in @dir, which is @folder; @st: what it is;
 * @j: the job that named it, NULL: none did. False: it is a result, and there is no room for it */
bool rp_files_found(struct gt_plugin *p, struct rp_files *f, const struct rp_job *j, int dir,
		    const char *folder, const char *path, const char *name, const struct stat *st);
/** rp_files_add() - a file, or all results in a folder and below it; -errno with the sentence told
 */
int rp_files_add(struct gt_plugin *p, struct rp_files *f, const char *path);
/** rp_files_once() - of a run that was written in several formats only one is read: the fullest */
void rp_files_once(struct rp_files *f);
void rp_files_close(struct rp_files *f);
void rp_files_free(struct rp_files *f);
/** rp_knows() - see gt_backend.knows */
bool rp_knows(const char *path, const uint8_t *head, size_t len);

/* tell.c, gpu.c
 * ------------------------------------------------------------------------------------- */

struct rp_teller;

/** rp_teller_new() - keeps what is known of names, agents, queues and kernels; NULL: no memory */
struct rp_teller *rp_teller_new(struct gt_plugin *p, struct rp_files *files);
void rp_teller_free(struct rp_teller *t);
/** rp_teller_reading() - another child tells: of its @n files file i is ours @index[i] */
void rp_teller_reading(struct rp_teller *t, const uint16_t *index, unsigned int n);
/** rp_tell() - takes one frame; how many records it pushed or will push, -EBADMSG if it is not
 * sound */
int rp_tell(struct rp_teller *t, const struct rp_frame *f, const uint8_t *data);
/** rp_tell_flush() - what was gathered goes to the host */
void rp_tell_flush(struct rp_teller *t);
/** rp_teller_position() - time of the last record */
uint64_t rp_teller_position(const struct rp_teller *t);
/** rp_show_calls(), rp_show_memory() - tables of the runtime's calls, and of its allocations */
void rp_show_calls(const struct rp_teller *t, char *buf, size_t len);
void rp_show_memory(const struct rp_teller *t, char *buf, size_t len);

/** struct rp_place - a device as the host numbers it; @gpu: GT_NONE16: none */
struct rp_place {
	uint16_t group, gpu;
	uint64_t key;
};
/** struct rp_places - devices and queues that were met */
struct rp_places {
	struct gt_plugin *p;
	struct rp_place place[RP_AGENTS];
	unsigned int n, last;
	struct rp_queue {
		uint64_t handle;
		uint32_t pid, uid;
		uint16_t gpu, group;
	} * queue;
	unsigned int nqueues, last_queue, queue_base;
	uint64_t refused;
};
/** rp_place_agent() - a device was told of */
void rp_place_agent(struct rp_places *pl, uint16_t group, const struct rp_agent *a);
/** rp_place_gpu() - the GPU that rows of @group call @key */
uint16_t rp_place_gpu(struct rp_places *pl, uint16_t group, uint64_t key);
/** rp_place_any() - likewise of whatever group: handles are not the same on two devices */
uint16_t rp_place_any(struct rp_places *pl, uint16_t group, uint64_t key);
/** rp_place_queue() - id of a queue; @is_new: it was not met before. GT_NONE32: there are too many
 */
uint32_t rp_place_queue(struct rp_places *pl, uint16_t group, uint16_t gpu, uint64_t handle,
			uint32_t pid, uint32_t uid, bool *is_new);

/* jobs/: see jobs.h there
 * ------------------------------------------------ */

/** rp_jobs_look() - looks through the folders of jobs; rp_jobs_forget() - what was seen there */
void rp_jobs_look(struct gt_plugin *p, struct rp_files *f);
void rp_jobs_forget(struct rp_files *f);
/** rp_jobs_came() - has a job's folder come that was not there? It looks for some whose time it is,
 * the less often the longer they are missing */
bool rp_jobs_came(struct gt_plugin *p, struct rp_files *f);
/** rp_jobs_due() - when to call that next, CLOCK_MONOTONIC; 0: no folder is missing */
uint64_t rp_jobs_due(const struct rp_files *f);
/** rp_jobs_wait() - is there a job that names a folder? */
bool rp_jobs_wait(struct gt_plugin *p);
/** rp_job_has() - is it a result of that job? */
bool rp_job_has(const struct rp_job *j, const struct rp_file *f);
/** rp_job_asks() - @file is about to be read: its job's settings of this moment say what of it
 * is counted, until the next reading */
void rp_job_asks(struct gt_plugin *p, const struct rp_files *f, struct rp_file *file);
/** rp_job_hotspots() - a text of hotspots came from @file */
void rp_job_hotspots(struct rp_file *file, const char *text);
/** rp_path_word() - a path as one word */
void rp_path_word(char *out, size_t len, const char *s);

/* play.c: the plugin's hooks, as backend.h tells them
 * ------------------------------------------------ */

int rp_probe(struct gt_plugin *p);
int rp_start(struct gt_plugin *p);
int rp_drain(struct gt_plugin *p);
void rp_stop(struct gt_plugin *p);
int rp_set(struct gt_plugin *p, const struct gt_option *o);
int rp_control(struct gt_plugin *p, enum gt_control what, int64_t arg);
void rp_doctor(struct gt_plugin *p, char *buf, size_t len);
void rp_show_files(struct gt_plugin *p, char *buf, size_t len);
void rp_file_calls(struct gt_plugin *p, char *buf, size_t len);
void rp_file_memory(struct gt_plugin *p, char *buf, size_t len);

#endif
