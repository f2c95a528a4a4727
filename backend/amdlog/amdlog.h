/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The amdlog backend's own interfaces: what AMD's runtime writes with AMD_LOG_LEVEL.
 *
 *	amdlog.c   the vtable and the options
 *	follow.c   start, drain, stop; records of all logs by time; doctor and the backend's files
 *	file.c     which folders and files the option's patterns name; one file as it grows and shrinks
 *	reader.c   the process that takes lines apart
 *	message.c  the text before a line's message, the messages that are of use, their fields
 *	log.c      from messages to records: kernels, copies, errors, queues, packets
 *
 * A log is whatever a user writes, so every line is bounded, every table is, and what a line claims
 * is believed of the file's owner only. message.c runs in a process without rights.
 */
#ifndef GT_AMDLOG_H
#define GT_AMDLOG_H

#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "../backend.h"
#include "../lib/detail.h"
#include "../lib/rate.h"
#include "../lib/sandbox.h"

#define GT_AMD_BLOCK	  (256u << 10) /* read at a time */
#define GT_AMD_LINE_MAX	  65536u       /* longer lines are left out */
#define GT_AMD_FILES	  256
#define GT_AMD_SHARE	  4 /* one user but root may have the fourth part of what is bounded for all */
#define GT_AMD_FOLDERS	  64
#define GT_AMD_PIDS	  8 /* of a log that are remembered */
#define GT_AMD_FAULTS	  8
#define GT_AMD_QUEUES	  1024 /* of a log that live */
#define GT_AMD_THREADS	  256
#define GT_AMD_PLACES	  8 /* of them that a thread may have */
#define GT_AMD_SIGNALS	  4096
#define GT_AMD_OPEN	  256  /* dispatches of a queue with an end that is awaited */
#define GT_AMD_RECORDS	  4096 /* of a file that wait to be merged */
#define GT_AMD_PER_LINE	  512  /* records of a line at most: a barrier ends what was before it */
#define GT_AMD_QUEUE_BASE 2000000u /* numbers below queues/ from here on */
#define GT_AMD_QUEUES_ALL 65536u
#define GT_AMD_NAMES	  512

/* message.c */

/**
 * struct gt_amd_line - a line of a log; the strings are parts of it
 * @us: GT_NONE64: the line has none
 * @pid, @tid: 0: likewise; @tid is the runtime's own number, not the kernel's
 * @msg: without the blanks and the colours around it
 */
struct gt_amd_line {
	const char *msg;
	size_t len;
	uint64_t us, tid;
	uint32_t pid;
	uint8_t level;
};

/** gt_amd_line() - is @p, @len bytes without the newline, a log's line? What a program wrote before
 * it in the same line is left out */
bool gt_amd_line(const char *p, size_t len, struct gt_amd_line *out);
/** gt_amd_line_message() - @p is the message of @out, in a line of its own */
void gt_amd_line_message(const char *p, size_t len, struct gt_amd_line *out);
/** gt_amd_line_begins() - does it begin as a log's line does? One that is none is damaged then */
bool gt_amd_line_begins(const char *p, size_t len);

/* message.c */

enum gt_amd_what {
	GT_AMD_OTHER,	 /* understood as far as there is use for it: none */
	GT_AMD_CREATED,	 /* a hardware queue: hwq, swq, size, priority */
	GT_AMD_ACQUIRED, /* hwq has number users: ACQUIRED, SELECTED, RELEASED */
	GT_AMD_SELECTED,
	GT_AMD_RELEASED,
	GT_AMD_DELETED,
	GT_AMD_ASKED,	 /* how many hardware queues there are, logged before one is made */
	GT_AMD_DISPATCH, /* a packet: hwq, signal, object, rptr and wptr if known */
	GT_AMD_BARRIER,
	GT_AMD_KERNEL, /* its name; a packet follows */
	GT_AMD_COMMAND,
	GT_AMD_SIGNAL,	/* signal; start and end, ns */
	GT_AMD_HANDLER, /* signal's handler was called: it is done */
	GT_AMD_COPY,	/* number: bytes */
	GT_AMD_CALL,	/* of the runtime's API; number: bytes of a copy if known */
	GT_AMD_RETURN,
	GT_AMD_ABORT,	/* hwq failed */
	GT_AMD_REFUSED, /* the runtime did not hand over the kernel that it named before */
	GT_AMD_BAD,	/* begins like one of these, and is none */
};

/** struct gt_amd_msg - fields that a message does not have are all ones */
struct gt_amd_msg {
	enum gt_amd_what what;
	uint64_t swq, hwq, signal, object, size, number, start, end;
	uint32_t rptr, wptr, priority;
	const char *name;
	size_t len;
};

void gt_amd_message(const struct gt_amd_line *l, struct gt_amd_msg *m);
/** gt_amd_is_copy() - of a command's or a call's name */
bool gt_amd_is_copy(const char *name, size_t len);
/** gt_amd_is_kernel() - of a command's: it runs a kernel */
bool gt_amd_is_kernel(const char *name, size_t len);

/* reader.c */

/** struct gt_amd_head - @headed: the last line had no message, which is in the next one then; it
 * began as @line */
struct gt_amd_head {
	bool headed;
	struct gt_amd_line line;
};

enum gt_amd_kind {
	GT_AMD_EMPTY,	/* nothing is in it */
	GT_AMD_FOREIGN, /* none of a log */
	GT_AMD_DAMAGED,
	GT_AMD_MESSAGE,
	GT_AMD_KINDS
};

#define GT_AMD_EXCERPT 64

/**
 * struct gt_amd_item - what a line is
 * @headed: see struct gt_amd_head
 * @line, @msg: of a message; in the former only its time, process, thread and level are filled in
 * @text: of one that makes no record, its beginning
 */
struct gt_amd_item {
	enum gt_amd_kind kind;
	bool headed;
	struct gt_amd_line line;
	struct gt_amd_msg msg;
	char text[GT_AMD_EXCERPT];
};

/** gt_amd_item_bad() - does it make no record? No clock gets near the end of all times: taken as it is,
 * all later lines would be late */
static inline bool gt_amd_item_bad(const struct gt_amd_item *item)
{
	return item->kind == GT_AMD_DAMAGED ||
	       (item->kind == GT_AMD_MESSAGE &&
		(item->msg.what == GT_AMD_BAD ||
		 (item->line.us != GT_NONE64 && item->line.us > INT64_MAX / 1000)));
}

/** gt_amd_item() - takes a line apart, which comes after @h */
void gt_amd_item(struct gt_amd_head *h, const char *p, size_t len, struct gt_amd_item *item);

/** struct gt_amd_reader - the process; @said: what it said of a block, from @at to @len still to be
 * taken */
struct gt_amd_reader {
	struct gt_sandbox child;
	char *said;
	size_t len, at;
};

/**
 * gt_amd_read() - has the process take apart the @len bytes at @p
 * @h: the line before; @skip: the first line is left out; @last: what is behind the last newline is
 * a line, too
 *
 * Return: 0; -EPROTO: the process has failed on that, and is ended; -errno: there is no process
 */
int gt_amd_read(struct gt_amd_reader *r, const struct gt_amd_head *h, const char *p, size_t len,
		bool skip, bool last);
/** gt_amd_next() - the next line; false: it said no more */
bool gt_amd_next(struct gt_amd_reader *r, struct gt_amd_item *item);
void gt_amd_reader_end(struct gt_amd_reader *r);

/* follow.c */

/**
 * struct gt_amd_user - the owner of logs
 * @turn: number of the turn in which one of them was read last
 * @rate: of records
 * @waits: its logs are not read on for now, as @rate is used up
 */
struct gt_amd_user {
	uint32_t uid;
	bool used, waits;
	uint64_t turn;
	struct gt_rate rate;
};

/* log.c */

/** struct gt_amd_map - from a number that is not 0 to an index; @cap is a power of two */
struct gt_amd_map {
	struct gt_amd_slot {
		uint64_t key;
		uint32_t value;
	} * slot;
	uint32_t cap, used;
	uint64_t salt;
};

/** struct gt_amd_numbers - numbers below queues/: no two that live have the same */
struct gt_amd_numbers {
	uint32_t used, nfree;
	uint32_t *free;
};

/* log.c */

struct gt_amd;

/** struct gt_amd_open - a dispatch that has not ended: the packet's number in its queue, @wptr as
 * logged */
struct gt_amd_open {
	uint64_t nth, ts;
	uint32_t pid, wptr;
};

/**
 * struct gt_amd_queue - a hardware queue
 * @hwq: as the log names it, 0: the slot is free
 * @id: below queues/; @users: streams that have it; @depth: as logged last; GT_NONE32: not known
 * @reported: its current description was emitted; @mapped: it has users, and that was emitted
 * @packets: so many were seen; @open: the last GT_AMD_OPEN that have not ended, a ring from @first
 */
struct gt_amd_queue {
	uint64_t hwq, size, packets;
	uint32_t id, pid, users, depth, priority;
	bool reported, mapped;
	struct gt_amd_open *open;
	uint32_t first, nopen;
};

/** struct gt_amd_packet - one with an end that a signal marks; @queue: its slot, of hardware queue
 * @hwq;
 * @kernel: of a dispatch, GT_NONE64 unknown; @done: its end was emitted */
struct gt_amd_packet {
	uint64_t signal, hwq, nth, kernel;
	uint32_t queue, pid, wptr;
	bool barrier, done;
};

/**
 * struct gt_amd_thread - what a line begins and a later one of the same thread ends
 * @kernel_ts: 0: no kernel waits for its packet; @copy_ts: 0: no copy for its command
 * @command_ts: 0: no command that runs a kernel waits for that kernel's name or packet
 */
struct gt_amd_thread {
	uint64_t tid, kernel_ts, kernel, copy_ts, copy_bytes, command_ts;
	uint32_t kernel_pid, copy_pid, command_pid;
};

/** struct gt_amd_made - a hardware queue that was made; its address is logged when it is acquired
 */
struct gt_amd_made {
	uint64_t ts, size;
	uint32_t priority;
};

/** struct gt_amd_pid - a process that a log named; @round: when it was looked at last; @good: it is
 * of the log's owner */
struct gt_amd_pid {
	uint32_t pid;
	bool good;
	uint64_t round;
};

/**
 * struct gt_amd_counts - of a log
 * @lines: all; each is one of @used, @other (of the runtime, of no use here), @foreign (not the
 *	runtime's), @untimed (neither it nor one before it has a time), @damaged and @too_long
 * @cut: the last one had no end
 */
struct gt_amd_counts {
	uint64_t lines, used, other, foreign, untimed, damaged, too_long, cut;
	uint64_t queues, dispatches, refused_dispatches, barriers, copies, commands, completions;
	uint64_t refused, older, records;
};

/**
 * struct gt_amd_log - what is known of one log
 * @pid: of its name, or of its last line that named one, 0 none; @uid: the file's owner, GT_NONE32
 * unknown
 * @since: ns; what is older is read, but not emitted
 * @now: time of the last line, ns
 * @has_calls, @has_commands: it has them, so that a copy is not emitted twice; @has_packets: so
 *	that a kernel's is waited for; @has_kernels: it has kernels' names or packets, so that the
 *	commands that run them are not dispatches of their own
 * @filecount: what became of the lines, for a recording's doctor()
 * @first_foreign: number of the first line that is none of a log, from 1; 0: there is none
 * @line: the last one
 * @name: the last kernels' names, by hash, and their numbers
 * @out: records that wait, by time but for @unsorted, from @head
 */
struct gt_amd_log {
	struct gt_amd *a;
	uint32_t pid, uid;
	uint16_t gpu;
	uint64_t since, now;
	bool has_calls, has_commands, has_packets, has_kernels;
	struct gt_amd_counts n;
	struct gt_filecount filecount;
	uint64_t first_foreign;
	struct gt_amd_head line;
	struct gt_amd_queue *queue;
	struct gt_amd_packet *packet;
	struct gt_amd_thread thread[GT_AMD_THREADS];
	struct gt_amd_name {
		uint64_t hash;
		uint32_t id;
	} name[GT_AMD_NAMES];
	struct gt_amd_map queues;
	struct gt_amd_made made;
	union gt_record *out;
	uint32_t head, count;
	bool unsorted;
	unsigned int next_pid;
	uint32_t blamed; /* the last pid that was not believed */
	struct gt_amd_pid pids[GT_AMD_PIDS];
};

/** gt_amd_log_pid() - @pid, if it is of the log's owner and was there at @ts, else GT_NONE32; 0:
 * none
 */
uint32_t gt_amd_log_pid(struct gt_amd_log *l, uint32_t pid, uint64_t ts);

/* follow.c */

/** gt_amd_log_put() - it waits to be merged */
void gt_amd_log_put(struct gt_amd_log *l, const union gt_record *r);

/* log.c */

int gt_amd_log_init(struct gt_amd_log *l, struct gt_amd *a);
/** gt_amd_log_free() - its numbers are free again */
void gt_amd_log_free(struct gt_amd_log *l);
/** gt_amd_log_damaged() - the last line counted could not be read; of a recording the host
 * gets the first, with @what; NULL: it is damaged, and begins as @text */
void gt_amd_log_damaged(struct gt_amd_log *l, const char *what, const char *text);
/** gt_amd_log_line() - one line */
void gt_amd_log_line(struct gt_amd_log *l, const struct gt_amd_item *item);
/** gt_amd_log_settle() - nothing more came: what a later line could have completed is emitted as it
 * is. A kernel with a packet that must follow waits on, but not with @all */
void gt_amd_log_settle(struct gt_amd_log *l, bool all);
/** gt_amd_log_end() - nothing more will be read of it: its objects are not followed any more */
void gt_amd_log_end(struct gt_amd_log *l);

/* file.c */

/**
 * struct gt_amd_file - a log's file
 * @off: of the first byte that is not read; @size: when it was looked at last; @end: of a deleted
 *	one, what is behind it is not read
 * @skipping: within a line that is too long; @eof: all that was there is read; @gone: no name is
 * left
 * @user: its owner's account; @turn: see struct gt_amd_user; @pass: the last pass that came to it
 */
struct gt_amd_file {
	struct gt_amd_log log;
	char *path;
	int fd;
	dev_t dev;
	ino_t ino;
	uint64_t off, size, end, truncated, turn, pass;
	bool skipping, eof, gone;
	struct gt_amd_user *user;
};

/** gt_amd_file_of() - the file of a log */
static inline struct gt_amd_file *gt_amd_file_of(struct gt_amd_log *l)
{
	return (struct gt_amd_file *)l;
}
static_assert(offsetof(struct gt_amd_file, log) == 0, "gt_amd_file_of()");

struct gt_amd_folder;

/** gt_amd_file_open() - @name in folder @d, NULL: of a recording. -errno with the sentence reported;
 * -EEXIST: it is followed already */
int gt_amd_file_open(struct gt_amd *a, const struct gt_amd_folder *d, const char *name,
		     struct gt_amd_file **out);
void gt_amd_file_close(struct gt_amd_file *f);
/** gt_amd_file_look() - how long it is now, and whether it has a name; -ESTALE: it has another owner */
int gt_amd_file_look(struct gt_amd_file *f);
/** gt_amd_file_read() - reads on, as long as there is room for the records of its lines: bytes, 0:
 * nothing more now, or -errno */
ssize_t gt_amd_file_read(struct gt_amd_file *f);
/** gt_amd_name_pid() - the process in a file's name, "log_1234"; 0: none */
uint32_t gt_amd_name_pid(const char *path);

/* file.c */

/**
 * struct gt_amd_folder - one that is read
 * @pattern: of names that are logs, NULL: all; @uid: its owner; @dir: open for its names; @wd:
 * inotify's number of it, -1 none
 * @scan: it is being looked through, @looked names of it; @scanned: when that began; @again: it is
 * to be
 */
struct gt_amd_folder {
	char *path, *pattern;
	dev_t dev;
	ino_t ino;
	uint32_t uid;
	int dir, wd;
	void *scan;
	unsigned int looked;
	bool again;
	uint64_t scanned;
};

/** gt_amd_folders() - adds those that the option names and that there are now */
void gt_amd_folders(struct gt_amd *a);
void gt_amd_folder_free(struct gt_amd_folder *f);

/* file.c */

/** gt_amd_find() - opens what came, for @ns at most */
void gt_amd_find(struct gt_amd *a, uint64_t ns);
/** gt_amd_finding() - is there more to be looked at? */
bool gt_amd_finding(const struct gt_amd *a);
/** gt_amd_find_again() - all folders are to be looked through */
void gt_amd_find_again(struct gt_amd *a);

/* follow.c */

/** struct gt_amd_options - @files: patterns and folders, separated by commas; of a recording paths,
 * separated by colons. @written: it is not what the configuration says any more. @user_records: a
 * second, of a user but root; 0: no bound */
struct gt_amd_options {
	char *files, *speed;
	int64_t user_records;
	bool written;
};

/**
 * struct gt_amd - the plugin
 * @names: inotify for the folders; -1: a recording
 * @paused: of a recording: nothing is handed over, but up to @seek; @pos: time of the last record
 * @awake: files are read at intervals, and inotify is not listened to
 * @since: CLOCK_MONOTONIC of the start: what is older in a log is not emitted
 * @deadline: of the hook that is being called; @folder_turn: what is looked through next; @turns,
 * @passes, @round: count turns, passes over all logs, and drains
 * @waits: how often a user's logs had to wait for their owner's share of records
 * @ending: a log is to be closed when its records are handed over
 * @waiting: a log may be found when one has gone, as its owner had enough of them, which @over
 *	counts, or as the file has another owner
 * @left_out: folders with more names than are looked at
 * @forged: pids that logs claimed and that were not seen to be of their owner
 * @fault: the last things that were left out and why, by number; 0: the place is free
 * @events: of inotify; those from @heard_at to @heard are still to be looked at
 * @gone: counters of files that are closed; @block: what is read at a time; @sorting: room for that
 * @reader: takes that apart; @readers_failed: so many have failed on a log
 */
struct gt_amd {
	struct gt_plugin *p;
	struct gt_amd_file *file[GT_AMD_FILES];
	struct gt_amd_user user[GT_AMD_FILES];
	struct gt_amd_folder folder[GT_AMD_FOLDERS];
	unsigned int n, nfolders, folder_turn;
	uint64_t turns, passes, waits;
	int names;
	bool awake, reported, waiting, ending, paused;
	uint64_t seek, pos;
	uint64_t since, deadline, round, closed, refused, forged, over, left_out;
	struct gt_amd_numbers numbers;
	struct gt_amd_counts gone;
	struct gt_amd_problem {
		uint64_t nr;
		uint32_t uid;
		char text[768];
	} fault[GT_AMD_FAULTS];
	char *block;
	struct gt_amd_reader reader;
	uint64_t readers_failed;
	union gt_record *sorting;
	size_t heard, heard_at;
	_Alignas(8) char events[16384];
};

/** gt_amd_user_of() - the account of @uid */
struct gt_amd_user *gt_amd_user_of(struct gt_amd *a, uint32_t uid);

/** gt_amd_late() - has the hook that is being called taken its time? */
static inline bool gt_amd_late(const struct gt_amd *a)
{
	return a->p->host->now(a->p) >= a->deadline;
}

/** gt_amd_knows() - one line of a log is enough: a program's own may be before it */
bool gt_amd_knows(const char *path, const uint8_t *head, size_t len);
int gt_amd_probe(struct gt_plugin *p);
int gt_amd_start(struct gt_plugin *p);
int gt_amd_drain(struct gt_plugin *p);
void gt_amd_stop(struct gt_plugin *p);
int gt_amd_set(struct gt_plugin *p, const struct gt_option *o);
int gt_amd_control(struct gt_plugin *p, enum gt_control what, int64_t arg);
/** gt_amd_fault() - reports why a file of @uid, or a folder, is left out; the first sentence stays.
 * Everybody reads it: it names only what is played. Returns -@err */
int gt_amd_fault(struct gt_amd *a, uint32_t uid, int err, const char *path, const char *why);

/* follow.c */
void gt_amd_doctor(struct gt_plugin *p, char *buf, size_t len);
void gt_amd_show_logs(struct gt_plugin *p, char *buf, size_t len);
void gt_amd_show_problems(struct gt_plugin *p, char *buf, size_t len);

#endif
