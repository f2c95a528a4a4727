/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Private to the relay backend: control.c (where grtrace's files are, its settings, who else reads
 * them), merge.c (all CPUs in order of time), stats.c (doctor). decode.c is part of the replay
 * backend, too: decode.h.
 */
#ifndef GT_RELAY_H
#define GT_RELAY_H

#include <limits.h>
#include <stdlib.h>
#include <sys/types.h>

#include "../lib/threads.h"
#include "decode.h"

#define GR_CPUS	       1024
#define GR_DRAIN_NS    20000000ull  /* between drains while something flows */
#define GR_IDLE_NS     500000000ull /* at most: poll() reports whole sub-buffers only */
#define GR_LOOK_NS     1000000000ull
#define GR_MARGIN_NS   5000000ull /* until what happened on a CPU is in its file */
#define GR_EVENTS      65536	  /* at most in one drain */
#define GR_SIZE_MIN    65536	  /* bytes of a CPU's buffers: grtrace has none smaller */
#define GR_OUT	       256	  /* records handed over at a time */
#define GR_TRACEPOINTS 8192	  /* bytes of grtrace's list of tracepoints */

/** struct gr_options - section [backend relay]; @buffer_size reads back what was granted */
struct gr_options {
	char *path;
	char *types;
	int64_t buffer_size;
};

/**
 * struct gr_cpu - one CPU's file
 * @dev, @ino: which file it is: another of that name is a new one
 * @waits: it can be waited for; a FIFO that nobody writes to would always be ready
 * @have: @next is its next record
 */
struct gr_cpu {
	int fd;
	uint32_t cpu;
	dev_t dev;
	ino_t ino;
	bool have, waits;
	struct gt_grt g;
	union gt_record next;
};

/**
 * struct gr - a running backend
 * @dir: of grtrace's files; "" while there is none
 * @started: tracing was begun by this one; @level: grtrace's own before, "" if it was not changed
 * @reported_by: the backend that reports the tracepoints; "": this one
 * @refused: tracepoints that grtrace does not hook, as they are not what it takes them for
 * @gone: counters of files that are closed
 * @mark: the last watermark; @late: records older than it
 * @from: what is older was before this daemon, or while it paused: @before
 * @more: the last drain did not come to its end
 * @readers: other processes that have a file open, @readers_found: so far in this round, which goes
 * on in /proc at @readers_at, 0: from its beginning
 * @began: files found by the first look were there before this daemon
 */
struct gr {
	struct gt_plugin *p;
	struct gr_options *o;
	struct gt_grt_set set;
	char dir[PATH_MAX];
	struct gr_cpu *cpu[GR_CPUS], *heap[GR_CPUS];
	unsigned int n, nheap;
	struct gt_tasks *tasks;
	bool started, began, paused, watching, more;
	int verbose;
	char level[32];
	char reported_by[32];
	unsigned int readers, readers_found, refused;
	long readers_at;
	uint64_t asked_readers, looked, idle, mark, merged, from;
	struct gt_grt_stats gone;
	uint64_t records, before, late, full, drains, opened, closed, faults;
	char fault[160];
	union gt_record out[GR_OUT];
	unsigned int nout;
};

/* relay.c */

/** gr_take() - looks for the files, and claims the tracepoints; without
 * files it looks again later, and leaves that to others. -errno with the sentence reported */
int gr_take(struct gr *gr);

/* control.c */

/** gr_find() - grtrace's folder into @dir: @path, or in debugfs. 0, or -errno with why not in @err
 */
int gr_find(const char *path, char *dir, size_t len, char *err, size_t errlen);
/** gr_writes() - gt_backend.writes: grtrace's folder */
void gr_writes(struct gt_plugin *p, void (*add)(void *arg, const char *path), void *arg);
/** gr_check() - can its files be read? 0, or -errno with the sentence in @err */
int gr_check(const char *dir, char *err, size_t len);
/** gr_look() - opens files that have come, and the folder itself: how many are open */
unsigned int gr_look(struct gr *gr);
/** gr_close() - closes a file, and keeps its counters */
void gr_close(struct gr *gr, unsigned int i);
void gr_close_all(struct gr *gr);

/* control.c */

/** gr_read() - what DIR/@file says, its first line; "" if it cannot be read */
void gr_read(const char *dir, const char *file, char *buf, size_t len);

/** struct gr_refused - a tracepoint that grtrace does not hook by itself: @module has it, and @why
 * not; @unverified: that is not known */
struct gr_refused {
	char tracepoint[64], module[64], why[160];
	bool unverified;
};

/** gr_refuses() - is there a tracepoint that grtrace does not hook? Logs it when that changes */
bool gr_refuses(struct gr *gr);
/** gr_traces() - does grtrace trace? One that does not say so is traced by somebody else */
bool gr_traces(const struct gr *gr);
/** gr_tracing() - starts (@on) grtrace if it does not trace, and opens the files that it has then,
 * or stops it if this one started it */
void gr_tracing(struct gr *gr, bool on);
/** gr_level() - grtrace records also what is verbose, or leaves that out again */
void gr_level(struct gr *gr);
/** gr_restore() - its settings are what they were */
void gr_restore(struct gr *gr);

/* control.c */

/** gr_readers() - counts other processes that have one of the files open. It takes some ms at most:
 * where there are too many processes for that, the next call goes on with the next process. Once
 * all have been looked at, the next round begins some seconds later; @now: it begins now */
void gr_readers(struct gr *gr, bool now);

/* merge.c */

int gr_drain(struct gt_plugin *p);
/** gr_drain_all() - what is there now, as nothing more is written: for 2 s at most */
void gr_drain_all(struct gr *gr);
/** gr_watch() - is drain() to be called when a sub-buffer is full? */
void gr_watch(struct gr *gr, bool on);

/* control.c */
void gr_doctor(struct gt_plugin *p, char *buf, size_t len);

#endif
