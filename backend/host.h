/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The host of the backends: loads plugins, checks their ABI, starts and stops them, quarantines one
 * that fails, merges what they deliver by time (order.c) and hands it to a sink. It owns the ingest
 * thread; every plugin hook and every sink call is made from it.
 */
#ifndef GT_HOST_H
#define GT_HOST_H

#include <stdbool.h>
#include <stddef.h>

#include "backend.h"

struct gt_host_state; /* the host */
struct gt_clocks;     /* clock.h */

/**
 * struct gt_sink - who gets the events (fs/pipeline.c); called from the ingest thread only
 * @records: merged, in order of time (a late one is flagged by who appends it, not here)
 * @watermark: nothing to come is older than @ts
 * @idle: called after a round that delivered something, before the thread sleeps
 * @tally: what a backend counted itself
 * @wanted, @ring_refused: see struct gt_host; NULL: everything is wanted
 * @kernel, @counter, @kernel_text: see struct gt_host
 * @reading: what it read off a GPU; @usage: of a process; @queues_hw: of queues. Optional
 * @live_pids: of the records: pids are of this machine, now
 */
struct gt_sink {
	void *arg;
	void (*records)(void *arg, const union gt_record *r, size_t n, bool live_pids);
	void (*watermark)(void *arg, uint64_t ts);
	void (*tally)(void *arg, const struct gt_tally *t);
	void (*reading)(void *arg, const struct gt_reading *r);
	void (*usage)(void *arg, const struct gt_usage *u);
	void (*queues_hw)(void *arg, const struct gt_queue_hw *q, size_t n);
	void (*idle)(void *arg);
	uint16_t (*gpu)(void *arg, const struct gt_gpu_desc *desc, bool recording);
	uint16_t (*ring)(void *arg, uint16_t gpu, const char *name, enum gt_engine engine);
	void (*wanted)(void *arg, struct gt_wanted *out);
	uint32_t (*ring_refused)(void *arg, uint16_t gpu, uint16_t ring);
	uint32_t (*kernel)(void *arg, const struct gt_kernel_desc *d);
	void (*counter)(void *arg, uint32_t kernel, const char *name, double value);
	void (*kernel_text)(void *arg, uint32_t kernel, enum gt_kernel_text which, const char *text);
};

/**
 * struct gt_host_conf - how to run; strings stay the caller's and must outlive the host
 * @plugin_dir: *.so there are loaded, in order of name; must belong to root or the daemon's user and
 *	not be writable by others
 * @backends: "A:B", only these; NULL or "": every one that works here (not GT_BACKEND_DEMAND ones)
 * @replay: recordings to play, a colon between two: only backends that play one of them run, and
 *	@backends says nothing; NULL or "": none
 * @option: value of key @key in section [backend NAME], or NULL; may be called at any time
 * @option_each: name of the @i'th such key and its section; false after the last. NULL: unknown keys
 *	are not found
 * @option_where: "FILE:LINE" of such a key, or NULL; goes before what is wrong with it. NULL: not known
 * @strict: a section of no backend, an unknown key or a bad value fails gt_host_new(); else that
 *	backend alone is refused
 * @raise: puts capabilities in force for the calling thread; @lower: takes back what it returned. NULL:
 *	rights are left alone
 * @log: a line at a syslog priority; NULL: syslog(3)
 * @level: enum gt_level (0 off: plugins are loaded and probed, none is started)
 * @job_age: see struct gt_plugin
 */
struct gt_host_conf {
	const char *plugin_dir;
	const char *events_dir;
	const char *tracefs;
	const char *backends;
	const char *replay;
	const char *(*option)(void *arg, const char *backend, const char *key);
	bool (*option_each)(void *arg, unsigned int i, const char **backend, const char **key);
	const char *(*option_where)(void *arg, const char *backend, const char *key);
	void *option_arg;
	uint64_t (*raise)(uint64_t caps);
	void (*lower)(uint64_t caps);
	void (*log)(void *arg, int priority, const char *line);
	void *log_arg;
	int level;
	uint64_t job_age;
	bool strict;
	bool has_gpu; /* this machine has a GPU: fallback backends stay off */
};

enum gt_backend_state {
	GT_BS_REFUSED,	   /* could not be loaded: not an ABI we know, hooks missing, … */
	GT_BS_UNAVAILABLE, /* probe said that it cannot work here */
	GT_BS_OFF,	   /* not asked for */
	GT_BS_RUNNING,
	GT_BS_PAUSED,
	GT_BS_ENDED,	   /* a recording came to its end */
	GT_BS_QUARANTINED, /* failed while running */
};

struct gt_backend_info {
	char name[32];
	char version[32];
	char help[128];
	uint32_t flags; /* GT_BACKEND_* */
	enum gt_backend_state state;
	char last_error[512];
	int64_t clock_offset; /* added to each of its times, ns */
	uint64_t records;    /* delivered */
	uint64_t lost;	     /* told by its LOST records */
	uint64_t malformed;  /* records of no known type: dropped */
	uint64_t drains;
	uint64_t drain_ns;
	const struct gt_option *options;       /* valid while the host lives */
	const struct gt_backend_file *files;   /* likewise; NULL: it has none */
	const struct gt_backend_made *made;    /* likewise */
};

const char *gt_backend_state_name(enum gt_backend_state s);

/** gt_host_new() - loads and probes; starts nothing. NULL with a sentence in @err */
struct gt_host_state *gt_host_new(const struct gt_host_conf *conf, const struct gt_sink *sink,
				  char *err, size_t len);
/** gt_host_caps() - capabilities that the backends asked for need: gt_backend.caps, or with @start
 * gt_backend.start_caps. Also of those that cannot work yet */
uint64_t gt_host_caps(const struct gt_host_state *h, bool start);
/** gt_host_syscalls() - likewise gt_backend.syscalls of all, separated by blanks; "" if there are none */
void gt_host_syscalls(const struct gt_host_state *h, char *buf, size_t len);
/** gt_host_start() - starts the ingest thread and in it the backends; returns when each has started
 * or failed. -errno with a sentence only if nothing can run at all: the thread runs all the same,
 * and GT_CTL_RESCAN tries again */
int gt_host_start(struct gt_host_state *h, char *err, size_t len);
/** gt_host_stop() - stops the backends, ends and joins the thread. False if that hangs in a plugin:
 * then it still uses all it was given, and the process can only exit */
bool gt_host_stop(struct gt_host_state *h);
void gt_host_free(struct gt_host_state *h);

/** gt_host_met() - tells backends of a process of this machine that was met. Ingest thread */
void gt_host_met(struct gt_host_state *h, uint32_t pid);

/* From here on: any thread but the ingest thread; none may hold the model's lock. */

unsigned int gt_host_count(struct gt_host_state *h);
/** gt_host_info() - a copy of what is known of backend @i; false if there is none */
bool gt_host_info(struct gt_host_state *h, unsigned int i, struct gt_backend_info *out);
int gt_host_find(struct gt_host_state *h, const char *name); /* index or -ENOENT */
/** gt_host_doctor() - the plugin's doctor() text, asked in the ingest thread */
int gt_host_doctor(struct gt_host_state *h, unsigned int i, char *buf, size_t len);
/** gt_host_file() - what its file @f (an index in gt_backend_info.files) shows, likewise; @len is at
 * most GT_BACKEND_TEXT_MAX */
int gt_host_file(struct gt_host_state *h, unsigned int i, unsigned int f, char *buf, size_t len);
/** gt_host_option_get() - value as text; set: strict parse, bounds, the plugin's set() */
int gt_host_option_get(struct gt_host_state *h, unsigned int i, const char *name, char *buf, size_t len);
int gt_host_option_set(struct gt_host_state *h, unsigned int i, const char *name, const char *value,
		       char *err, size_t len);

#define GT_MADE_MAX  64 /* of a backend; the last of them are left to who sees everything */
#define GT_MADE_LEFT 16
#define GT_MADE_USER 8 /* of a user who does not */

/**
 * gt_host_make() - a directory @name of @uid's in backend @i; @whole: who sees everything
 * Return: 0; -EEXIST; -EINVAL, -EDQUOT, -ENOSPC, … with a sentence
 */
int gt_host_make(struct gt_host_state *h, unsigned int i, const char *name, uint32_t uid, bool whole,
		 char *err, size_t len);
/** gt_host_unmake() - removes it; -ENODEV if it has gone */
int gt_host_unmake(struct gt_host_state *h, unsigned int i, uint64_t serial, char *err, size_t len);
/** gt_host_made_at() - copies what is at place @at of @i's, but for values; the serial is 0 if nothing is
 * there. False after the last place */
bool gt_host_made_at(struct gt_host_state *h, unsigned int i, unsigned int at, struct gt_made *out);
/** gt_host_made_find() - by number; false: it has gone */
bool gt_host_made_find(struct gt_host_state *h, unsigned int i, uint64_t serial, struct gt_made *out);
/** gt_host_made_get() - setting @f of it */
int gt_host_made_get(struct gt_host_state *h, unsigned int i, uint64_t serial, unsigned int f, char *buf,
		     size_t len);
/** gt_host_made_set() - @whole: who sets it sees everything; if not, it is no more the whole's */
int gt_host_made_set(struct gt_host_state *h, unsigned int i, uint64_t serial, unsigned int f,
		     const char *value, bool whole, char *err, size_t len);
/** gt_host_made_show() - text @f of it, GT_MADE_TEXT_MAX bytes at most; @path: of the directory;
 * @whole: who reads it sees everything */
int gt_host_made_show(struct gt_host_state *h, unsigned int i, uint64_t serial, unsigned int f,
		      const char *path, bool whole, char *buf, size_t len);

/** gt_host_clock_offset() - @ns is added to every time that backend @i delivers from now on */
int gt_host_clock_offset(struct gt_host_state *h, unsigned int i, int64_t ns);
/** gt_host_control() - asks every running backend; -EOPNOTSUPP if none could. With GT_CTL_LEVEL the
 * host itself stops (0) and starts (from 0) the backends; of GT_CTL_WANTED no backend need know */
int gt_host_control(struct gt_host_state *h, enum gt_control what, int64_t arg, char *err, size_t len);
/** gt_host_rescan() - GT_CTL_RESCAN without waiting, since something was loaded or bound: a backend that
 * could not work here is tried again, one in quarantine is not. Requests that wait together are one */
void gt_host_rescan(struct gt_host_state *h);
/** gt_host_replay_failed() - does a backend that is to play a recording not run? Then @err says why */
bool gt_host_replay_failed(struct gt_host_state *h, char *err, size_t len);
/** gt_host_tell_wanted() - GT_CTL_WANTED without waiting; the ingest thread may call it, and with any
 * lock */
void gt_host_tell_wanted(struct gt_host_state *h);
/** gt_host_replaying() - is a recording among the running backends? */
bool gt_host_replaying(struct gt_host_state *h);
/** gt_host_fresh() - what backends counted themselves up to now, or a few ms ago, is in the sink. Waits
 * for that a little; at once where nothing is counted */
void gt_host_fresh(struct gt_host_state *h);
/** gt_host_look() - what backends read off when somebody looks (GT_LOOK_*) is in the sink, as of a moment
 * ago. Waits for that a little, and for where queues are (GT_LOOK_SLOTS) as for a request; at once
 * where no backend reads anything. Return: false if it is not */
bool gt_host_look(struct gt_host_state *h, unsigned int what);
/** gt_host_drained() - waits until every running backend's drain() found nothing more: a replay at
 * speed 0 has been read to its end; false after @timeout_ms */
bool gt_host_drained(struct gt_host_state *h, int timeout_ms);
/** struct gt_host_merge - what the merge by time did, see order.h; @pending records wait now */
struct gt_host_merge {
	uint64_t direct, queued, held, forced, dropped, pending;
};
void gt_host_merge(struct gt_host_state *h, struct gt_host_merge *out);
/** gt_host_clocks() - the machine's clocks as of now, a copy */
void gt_host_clocks(struct gt_host_state *h, struct gt_clocks *out);
/** gt_host_cpu_ns() - CPU time the ingest thread has used */
uint64_t gt_host_cpu_ns(struct gt_host_state *h);

#endif
