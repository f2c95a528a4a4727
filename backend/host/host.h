/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The host of the backends: loads plugins, checks their ABI, starts and stops them, quarantines one
 * that fails, merges their records by time (order.c) and hands them to a sink. It owns the ingest
 * thread, from which every plugin hook and every sink function is called.
 */
#ifndef GT_HOST_H
#define GT_HOST_H

#include <stdbool.h>
#include <stddef.h>

#include "../backend.h"

#define GT_OBSERVES_EVENTS 0x1 /* a backend runs */
#define GT_OBSERVES_USE	   0x2 /* a backend runs or is paused: sensors can be read */

struct gt_host_state; /* the host */
struct gt_clocks;     /* clock.h */

/**
 * struct gt_sink - gets the events (fs/pipeline.c); called from the ingest thread only
 * @records: merged, in order of time (the one that appends a late record flags it). @live_pids: pids are
 *	of this machine, now; @own: users wrote them into files of theirs
 * @watermark: no record to come is older than @ts
 * @reading, @usage, @queues_hw: sensors of a GPU, use by a process, places of queues. Optional
 * @idle: called after a round that delivered something, before the thread sleeps
 * @kernel, @counter, @kernel_text: see struct gt_host
 * @observing: GT_OBSERVES_* from now on, called at each change. Optional
 * @ring_observing: while backends run: does one of those run that have reported jobs of this ring? @ring
 *	GT_NONE16: of work outside the rings. Called after @observing, at changes, for all rings. Optional
 * @reset: everything is to be as before the first record, since recordings are played again. 0 or -errno.
 *	Optional
 * @over_share: see struct gt_host. Optional
 * @level: the level is this from now on: whoever asked for it may have given up waiting. Optional
 */
struct gt_sink {
	void *arg;
	void (*records)(void *arg, const union gt_record *r, size_t n, bool live_pids, bool own);
	void (*watermark)(void *arg, uint64_t ts);
	void (*reading)(void *arg, const struct gt_reading *r);
	void (*usage)(void *arg, const struct gt_usage *u);
	void (*queues_hw)(void *arg, const struct gt_queue_hw *q, size_t n);
	void (*idle)(void *arg);
	uint16_t (*gpu)(void *arg, const struct gt_gpu_desc *desc, bool recording);
	uint16_t (*ring)(void *arg, uint16_t gpu, const char *name, enum gt_engine engine);
	uint32_t (*kernel)(void *arg, const struct gt_kernel_desc *d);
	void (*counter)(void *arg, uint32_t kernel, const char *name, double value);
	void (*kernel_text)(void *arg, uint32_t kernel, enum gt_kernel_text which,
			    const char *text);
	void (*observing)(void *arg, unsigned int what);
	void (*ring_observing)(void *arg, uint16_t gpu, uint16_t ring, bool on);
	int (*reset)(void *arg);
	uint64_t (*over_share)(void *arg, uint32_t uid);
	void (*level)(void *arg, int level);
};

/**
 * struct gt_host_conf - how to run; strings stay the caller's and must outlive the host
 * @plugin_dir: *.so there are loaded, in order of name; must belong to root or the daemon's user and
 *	not be writable by others
 * @backends: "A:B", only these; NULL or "": every one that works here (not GT_BACKEND_DEMAND ones)
 * @replay: recordings to play, a colon between two: only backends that play one of them run, and
 *	@backends is ignored; NULL or "": none
 * @option: value of key @key in section [backend NAME], or NULL; may be called at any time
 * @option_each: name of the @i'th such key and its section; false after the last. NULL: unknown keys
 *	are not found
 * @option_where: "FILE:LINE" of such a key for messages, or NULL. NULL: unknown
 * @strict: a section of no backend, an unknown key or a bad value fails gt_host_new(); else that
 *	backend alone is refused
 * @may_be_empty: the start succeeds though no backend runs
 * @file: see gt_host.file; NULL: this process writes itself
 * @raise: raises capabilities of the calling thread; @lower: lowers those that it returned. NULL:
 *	capabilities stay as they are
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
	int (*file)(void *arg, enum gt_file_op op, const char *path, int flags);
	void *file_arg;
	uint64_t (*raise)(uint64_t caps);
	void (*lower)(uint64_t caps);
	void (*log)(void *arg, int priority, const char *line);
	void *log_arg;
	int level;
	uint64_t job_age;
	bool strict;
	bool may_be_empty;
};

enum gt_backend_state {
	GT_BS_REFUSED,	   /* could not be loaded: another ABI, hooks missing, … */
	GT_BS_UNAVAILABLE, /* by its probe it cannot work here */
	GT_BS_OFF,	   /* not selected */
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
	uint64_t records;     /* delivered */
	uint64_t lost;	      /* in its LOST records */
	uint64_t uncounted;   /* LOST records without a number */
	uint64_t malformed;   /* records of no known type: dropped */
	uint64_t drains;
	uint64_t drain_ns;
	const struct gt_option *options;	    /* valid while the host lives */
	const struct gt_backend_file *files;	    /* likewise; NULL: none */
	const struct gt_backend_userdirs *userdirs; /* likewise */
};

const char *gt_backend_state_name(enum gt_backend_state s);

/** gt_host_new() - loads and probes; starts nothing. NULL with a sentence in @err */
struct gt_host_state *gt_host_new(const struct gt_host_conf *conf, const struct gt_sink *sink,
				  char *err, size_t len);
/** gt_host_caps() - capabilities that the selected backends need: gt_backend.caps, or with @start
 * gt_backend.start_caps. Also of those that cannot work yet */
uint64_t gt_host_caps(const struct gt_host_state *h, bool start);
/** gt_host_detaching() - how many programs of all backends are off and not detached yet */
unsigned int gt_host_detaching(const struct gt_host_state *h);
/** gt_host_syscalls() - likewise gt_backend.syscalls of all, separated by blanks; "" if there are none */
void gt_host_syscalls(const struct gt_host_state *h, char *buf, size_t len);
/** gt_host_writes() - likewise gt_backend.writes: @add is called with @arg for each */
void gt_host_writes(struct gt_host_state *h, void (*add)(void *arg, const char *path), void *arg);
/** gt_host_start() - starts the ingest thread and in it the backends; returns when each has started
 * or failed. -errno with a sentence only if none can run: the thread runs nevertheless, and
 * GT_CTL_RESCAN tries again */
int gt_host_start(struct gt_host_state *h, char *err, size_t len);
/** gt_host_stop() - stops the backends, ends and joins the thread. False if it hangs in a plugin: then
 * nothing of the host may be freed, and the process can only exit */
bool gt_host_stop(struct gt_host_state *h);
void gt_host_free(struct gt_host_state *h);

/** gt_host_process_seen() - calls gt_backend.process_seen for a process of this machine. Ingest thread */
void gt_host_process_seen(struct gt_host_state *h, uint32_t pid);

/* From here on: any thread but the ingest thread, without the model's lock. */

unsigned int gt_host_count(struct gt_host_state *h);
/** gt_host_info() - copies the state of backend @i; false if there is none */
bool gt_host_info(struct gt_host_state *h, unsigned int i, struct gt_backend_info *out);
int gt_host_find(struct gt_host_state *h, const char *name); /* index or -ENOENT */
/** gt_host_doctor() - the plugin's doctor() text, by the ingest thread */
int gt_host_doctor(struct gt_host_state *h, unsigned int i, char *buf, size_t len);
/** gt_host_file() - text of its file @f (an index in gt_backend_info.files), likewise; @len is at most
 * GT_BACKEND_TEXT_MAX */
int gt_host_file(struct gt_host_state *h, unsigned int i, unsigned int f, char *buf, size_t len);
/** gt_host_option_get(), gt_host_option_set() - value as text; set checks its syntax and bounds and calls
 * the plugin's set() */
int gt_host_option_get(struct gt_host_state *h, unsigned int i, const char *name, char *buf,
		       size_t len);
int gt_host_option_set(struct gt_host_state *h, unsigned int i, const char *name, const char *value,
		       char *err, size_t len);

#define GT_USERDIR_MAX	64 /* user directories of a backend, of everybody */
#define GT_USERDIR_ALL	48 /* that all users without a full view may have together */
#define GT_USERDIR_USER 8  /* that one of them may have */

/**
 * gt_host_userdir_make() - makes user directory @name of @uid in backend @i; @whole: the user has a full view
 *
 * Return: 0; -EEXIST; -EINVAL, -EDQUOT, -ENOSPC, … with a sentence.
 */
int gt_host_userdir_make(struct gt_host_state *h, unsigned int i, const char *name, uint32_t uid,
			 bool whole, char *err, size_t len);
/** gt_host_userdirs_refused() - how often one was not made because of GT_USERDIR_ALL or GT_USERDIR_USER */
uint64_t gt_host_userdirs_refused(const struct gt_host_state *h);
/** gt_host_userdir_remove() - removes it; -ENODEV if it is gone */
int gt_host_userdir_remove(struct gt_host_state *h, unsigned int i, uint64_t serial);
/** gt_host_userdir_at() - copies the one at index @at without its settings; the serial is 0 for a free one.
 * False after the last index */
bool gt_host_userdir_at(struct gt_host_state *h, unsigned int i, unsigned int at,
			struct gt_userdir *out);
/** gt_host_userdir_find() - by serial; false: it is gone */
bool gt_host_userdir_find(struct gt_host_state *h, unsigned int i, uint64_t serial,
			  struct gt_userdir *out);
/** gt_host_userdir_get() - its setting @f */
int gt_host_userdir_get(struct gt_host_state *h, unsigned int i, uint64_t serial, unsigned int f,
			char *buf, size_t len);
/** gt_host_userdir_set() - changes a setting; @whole: the caller has a full view, else gt_userdir.whole becomes
 * false */
int gt_host_userdir_set(struct gt_host_state *h, unsigned int i, uint64_t serial, unsigned int f,
			const char *value, bool whole, char *err, size_t len);
/** gt_host_userdir_show() - its text @f, GT_USERDIR_TEXT_MAX bytes at most; @path: of the directory; @whole: the
 * reader has a full view */
int gt_host_userdir_show(struct gt_host_state *h, unsigned int i, uint64_t serial, unsigned int f,
			 const char *path, bool whole, char *buf, size_t len);

/** gt_host_clock_offset() - adds @ns to every time that backend @i delivers from now on */
int gt_host_clock_offset(struct gt_host_state *h, unsigned int i, int64_t ns);
/** gt_host_control() - asks every running backend; -EOPNOTSUPP if none can do it. With GT_CTL_LEVEL the
 * host itself stops (0) and starts (from 0) the backends. With GT_CTL_SEEK @arg is a time of the recordings: they are played again from their beginning, up
 * to there as fast as they can be read. After their end GT_CTL_RESUME plays them again, too */
int gt_host_control(struct gt_host_state *h, enum gt_control what, int64_t arg, char *err,
		    size_t len);
/** gt_host_rescan() - GT_CTL_RESCAN without waiting, after a module was loaded or a device bound: tries
 * backends again that could not work here, but not those in quarantine. Requests that wait together are
 * one */
void gt_host_rescan(struct gt_host_state *h);
/** gt_host_replay_failed() - true if a backend that is to play a recording does not run, with the reason
 * in @err */
bool gt_host_replay_failed(struct gt_host_state *h, char *err, size_t len);
/** gt_host_recordings() - number of recordings; the files of a folder, which have one clock, are one */
unsigned int gt_host_recordings(const struct gt_host_state *h);
/** gt_host_replaying() - does a recording play, or is it paused? False: all of it is in the sink */
bool gt_host_replaying(struct gt_host_state *h);
/** gt_host_refresh_sensors() - has backends hand over what they read on demand (GT_LOOK_*), unless that was a moment
 * ago. Waits a short time, and for places of queues (GT_REFRESH_SLOTS) as for a request; not at all if no
 * backend reads anything. Return: false if it waited too long */
bool gt_host_refresh_sensors(struct gt_host_state *h, unsigned int what);
/** gt_host_drained() - waits until drain() of every running backend found nothing more, so that a replay
 * at speed 0 has been read to its end; false after @timeout_ms */
bool gt_host_drained(struct gt_host_state *h, int timeout_ms);
/** gt_host_clocks() - the machine's clocks as of now, a copy */
void gt_host_clocks(struct gt_host_state *h, struct gt_clocks *out);
/** gt_host_cpu_ns() - CPU time the ingest thread has used */
uint64_t gt_host_cpu_ns(struct gt_host_state *h);

#endif
