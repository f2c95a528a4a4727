/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Private to the host: host.c (start and stop, other threads), load.c (plugin files), options.c
 * (settings), recordings.c (who plays what), hooks.c (what plugins call), run.c (life of a backend),
 * ingest.c (the thread and requests to it), userdir.c (user directories), order.c (merge by time).
 *
 * Ownership: everything belongs to the ingest thread, and to the caller of gt_host_new() before it
 * runs, except what struct gt_host_state and struct gt_be say is guarded by @lock. No plugin hook and
 * no sink function is called with @lock held.
 */
#ifndef GT_HOST_INTERNAL_H
#define GT_HOST_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "../event.h"
#include "../lib/clock.h"
#include "host.h"

/*
 * Merges the records of several sources by time. Each source is a FIFO in its own order; a record goes
 * out once no other source can still deliver an older one. A source promises this by its watermark: the
 * time of its last record, or a later one that it sets.
 *
 * Live sources and recordings are merged separately, as their clocks are unrelated. A silent live source
 * holds the others back for GT_ORDER_HOLD_NS at most after a record came. A recording is waited for until
 * it delivers or ends, so that a replay never depends on the speed of the machine. No source queues more
 * than GT_ORDER_CAP records.
 *
 * One thread; times are nanoseconds of CLOCK_MONOTONIC (@now) or of the records (@ts).
 */

#define GT_ORDER_HOLD_NS 20000000ull
#define GT_ORDER_BUSY_NS 500000000ull
#define GT_ORDER_CAP	 65536u

struct gt_order;

/**
 * struct gt_order_ops - the output
 * @records: @n records of source @src, next in time; valid during the call
 * @watermark: no record to come is older than @ts, except late ones. Never decreases, except by
 *	gt_order_rewind()
 */
struct gt_order_ops {
	void *arg;
	void (*records)(void *arg, unsigned int src, const union gt_record *r, size_t n);
	void (*watermark)(void *arg, uint64_t ts);
};

/**
 * struct gt_order_stats - counters of records, never reset
 * @direct: passed on without waiting
 * @queued: copied to wait
 * @held: passed on ahead of a silent source, as they had waited long enough
 * @forced: passed on because a queue was full
 * @dropped: no memory
 */
struct gt_order_stats {
	uint64_t direct, queued, held, forced, dropped;
};

/** gt_order_new() - for sources 0 to @n - 1, all inactive; NULL: no memory */
struct gt_order *gt_order_new(unsigned int n, const struct gt_order_ops *ops);
/** gt_order_free() - drops queued records: gt_order_flush() first */
void gt_order_free(struct gt_order *o);

/** gt_order_begin() - @src is active: others wait for it; its watermark is 0 */
void gt_order_begin(struct gt_order *o, unsigned int src, bool recording);
/** gt_order_end() - @src has ended, or is stopped or paused: others do not wait; its queued records still
 * go out */
void gt_order_end(struct gt_order *o, unsigned int src);
/** gt_order_rewind() - recording @src starts again: queued records go out, and times start anew */
void gt_order_rewind(struct gt_order *o, unsigned int src);

/** gt_order_push() - @n records of @src, in its own order; those that may go out at once are not copied */
void gt_order_push(struct gt_order *o, unsigned int src, const union gt_record *r, size_t n,
		   uint64_t now);
/** gt_order_watermark() - every later record of @src has ts >= @ts */
void gt_order_watermark(struct gt_order *o, unsigned int src, uint64_t ts);
/** gt_order_mark() - no record to come of source @src is older; 0: not known */
uint64_t gt_order_mark(const struct gt_order *o, unsigned int src);
/** gt_order_busy() - @src has more and comes back by itself (@busy), or waits for an event */
void gt_order_busy(struct gt_order *o, unsigned int src, bool busy);
/**
 * gt_order_run() - passes on what may go out, and the watermark
 * @now: when the sources were drained last; newer records may be on their way
 *
 * Return: CLOCK_MONOTONIC of the next call if nothing comes before; 0: not needed.
 */
uint64_t gt_order_run(struct gt_order *o, uint64_t now);
/** gt_order_flush() - passes everything on, by time */
void gt_order_flush(struct gt_order *o);
/** gt_order_pending() - number of queued records */
size_t gt_order_pending(const struct gt_order *o);
const struct gt_order_stats *gt_order_stats(const struct gt_order *o);

#define GT_HOST_MAX_PLUGINS 64
#define GT_HOST_MAX_OPTIONS 64
#define GT_HOST_MAX_WATCHES 4096 /* of one plugin: a descriptor per CPU, and some more */
#define GT_HOST_VALUE_LEN   4096 /* a setting as text */
#define GT_HOST_DOCTOR_LEN  8192
#define GT_HOST_STOP_MS	    10000 /* how long the thread may take to end */
#define GT_HOST_CALL_MS	    5000  /* how long another thread waits for the ingest thread */
#define GT_HOST_FRESH_MS    50	  /* how long a reader waits for newer readings of sensors */

#define GT_CLAIMS 4 /* of a plugin */

#define GT_HOST_GPUS  64
#define GT_HOST_RINGS 256 /* of a GPU */

/* Does the vtable of a plugin, perhaps an older one, reach as far as @hook? */
#define GT_HAS(be, hook) ((be)->size >= offsetof(struct gt_backend, hook) + sizeof((be)->hook))

/** struct gt_claim - see gt_host.claim; @what is "" for none */
struct gt_claim {
	char what[16];
	int rank;
};

/**
 * enum gt_userdir_news - what the plugin is notified of
 * @GT_USERDIR_NEWS: user directories changed, see GT_CTL_USERDIR
 * @GT_USERDIR_MAY_START: a setting with GT_USERDIR_STARTS was written
 */
enum gt_userdir_news {
	GT_USERDIR_NO_NEWS,
	GT_USERDIR_NEWS,
	GT_USERDIR_MAY_START,
};

/**
 * struct gt_be - one backend, or a file in the plugin folder that was refused
 * @p: what the plugin sees; first, so that its pointer is ours
 * @be: the vtable, NULL if refused
 * @info: guarded by the host's lock; the ingest thread reads @info.state without it
 * @wanted: selected by name, by a recording or by default
 * @usable: its probe succeeded
 * @started: start() succeeded and stop() is not yet called: it runs or is paused, and its hooks may
 *	be called
 * @has_error: host->error() was called since gt_be_clear_error()
 * @due: drain() is to be called in this round
 * @drained: drain() was called since start()
 * @empty: the last drain() found nothing
 * @refreshes: it runs and has gt_backend.look
 * @empties: drains that found nothing in a row, each right after the one before
 * @drained_at: when the last drain() ended
 * @rest: CLOCK_MONOTONIC before which drain() is not called; 0: it may be
 * @timer: CLOCK_MONOTONIC when drain() is to be called, 0 never
 * @fds: watched descriptors
 * @gpus: a bit for each GPU on which it has had jobs
 * @rings: a bit for each ring of each GPU, likewise
 * @work: a bit for each GPU on which it has had work outside the driver's rings
 * @claim: its exclusive claims
 * @made: user directories; a free place is NULL. Any thread changes them; guarded by the host's lock, as are
 *	@made_changed, which places the ingest thread has to copy, and @news, what to notify the plugin of
 * @known: the ingest thread's copies, which the plugin reads
 * @detail: the last text of doctor(), of when it ended or failed; NULL: it runs, or has not run
 */
struct gt_be {
	struct gt_plugin p;
	struct gt_host_state *h;
	unsigned int index;
	void *dl;
	const struct gt_backend *be;
	struct gt_backend_info info;
	bool wanted, usable, started, has_error;
	bool due, drained, empty, refreshes;
	unsigned int empties;
	uint64_t drained_at, rest;
	uint64_t timer;
	_Atomic int64_t clock_offset;
	int *fds;
	unsigned int nfds;
	uint64_t gpus;
	uint64_t rings[GT_HOST_GPUS][GT_HOST_RINGS / 64];
	uint64_t work;
	struct gt_claim claim[GT_CLAIMS];
	struct gt_userdir *made[GT_USERDIR_MAX], *known[GT_USERDIR_MAX];
	bool made_changed[GT_USERDIR_MAX];
	enum gt_userdir_news news;
	char *detail;
};

enum gt_call_kind {
	GT_CALL_DOCTOR,
	GT_CALL_FILE,
	GT_CALL_SET,
	GT_CALL_CONTROL,
	GT_CALL_START,
	GT_CALL_REFRESH,
	GT_CALL_USERDIR_SHOW,
};

/**
 * struct gt_call - a request to the ingest thread
 *
 * It holds copies of everything, because a caller that has waited too long goes away; the last one to
 * call gt_call_put() frees it.
 * @begun: the ingest thread has taken it, so it can no longer be cancelled
 * @index: backend
 * @file: number of a file, of GT_CALL_FILE and GT_CALL_USERDIR_SHOW
 * @big: of GT_CALL_DOCTOR, GT_CALL_FILE and GT_CALL_USERDIR_SHOW: a buffer for the answer, of
 *	GT_BACKEND_DOCTOR_MAX, GT_BACKEND_TEXT_MAX or GT_USERDIR_TEXT_MAX bytes
 * @what, @arg: of GT_CALL_CONTROL; @arg of GT_CALL_REFRESH: GT_LOOK_*
 * @whole, @serial: of GT_CALL_USERDIR_SHOW: of the caller, and of the user directory
 * @ret: 0 or -errno
 * @name, @value: of GT_CALL_SET; @value of GT_CALL_USERDIR_SHOW: the directory's path
 * @text: the sentence of an error
 */
struct gt_call {
	struct gt_call *next;
	int refs; /* guarded by the host's lock, like @begun and @done */
	bool begun, done;
	enum gt_call_kind kind;
	unsigned int index, file;
	char *big;
	enum gt_control what;
	int64_t arg;
	bool whole;
	uint64_t serial;
	int ret;
	char name[64];
	char value[GT_HOST_VALUE_LEN];
	char text[GT_HOST_DOCTOR_LEN];
};

/**
 * struct gt_host_unpacked - an unpacked recording; set before any backend starts
 * @path: its name
 * @damage: why part of it is missing, or NULL
 * @fd: its data, -1: it could not be unpacked
 */
struct gt_host_unpacked {
	char *path, *damage;
	int fd;
};

/**
 * struct gt_host_state - the host
 * @bad_conf: the first fault of the configuration, if it is strict
 * @delivered: this round handed something to the sink
 * @playing: a recording has not ended, or its records wait in @order
 * @nrecordings: number of recordings that are played; a folder is one
 * @paused: a backend that starts is asked to pause
 * @observing: GT_OBSERVES_*, as last reported to the sink; valid if @observing_known
 * @running: a bit for each backend that ran then
 * @rings_new: a backend has had jobs of another ring since
 * @clockfd: readable when a clock was set or the machine slept
 * @armed: what @timerfd is set to, 0 off
 * @clocks: of this machine, guarded by @lock
 * @lock: guards gt_be.info, option values, the queue of @calls and @quiet_seq
 * @refreshers: number of running backends that refresh sensors on demand
 * @rescan: gt_host_rescan() was called
 * @userdirs_changed: gt_userdirs_take() has something to do
 * @userdirs_refused: see gt_host_userdirs_refused()
 * @stuck: a request was not answered in time, and none since; guarded by @lock
 * @threaded: the ingest thread runs, so requests go through @calls
 * @cpu_ns: CPU time of a thread that has ended
 * @waiters: number of gt_host_drained() calls that wait
 * @quiet_seq: counts the times that everything was drained
 */
struct gt_host_state {
	struct gt_host_conf conf;
	struct gt_sink sink;
	unsigned int n;
	struct gt_be *be[GT_HOST_MAX_PLUGINS];
	struct gt_order *order;
	int level;
	char bad_conf[512];
	bool delivered;
	_Atomic bool playing;
	unsigned int nrecordings;
	_Atomic bool quit;
	bool paused;
	unsigned int observing;
	bool observing_known;
	uint64_t running;
	bool rings_new;

	int epfd, timerfd, eventfd, clockfd;
	uint64_t armed;
	struct gt_clocks clocks;

	pthread_mutex_t lock;
	pthread_cond_t cond;
	struct gt_call *calls;
	_Atomic unsigned int refreshers;
	_Atomic bool rescan, userdirs_changed;
	_Atomic uint64_t userdirs_refused;
	bool stuck;
	pthread_t thread;
	_Atomic bool threaded;
	uint64_t cpu_ns;
	unsigned int waiters;
	uint64_t quiet_seq;
	struct gt_host_unpacked *unpacked;
	unsigned int nunpacked;
};

#define GT_HOST_LOCK(h)                                                                            \
	__attribute__((cleanup(gt_host_unlockp), unused)) pthread_mutex_t *gt_host_locked_ =       \
		gt_host_lock(h)
static inline pthread_mutex_t *gt_host_lock(struct gt_host_state *h)
{
	pthread_mutex_lock(&h->lock);
	return &h->lock;
}
static inline void gt_host_unlockp(pthread_mutex_t **m)
{
	pthread_mutex_unlock(*m);
}

/* host.c */

/** gt_host_now() - CLOCK_MONOTONIC, ns */
uint64_t gt_host_now(void);
/** gt_host_deadline() - CLOCK_MONOTONIC in @ms from now */
static inline struct timespec gt_host_deadline(int ms)
{
	uint64_t t = gt_host_now() + (uint64_t)ms * 1000000;

	return (struct timespec){ .tv_sec = (time_t)(t / 1000000000),
				  .tv_nsec = (long)(t % 1000000000) };
}
/** gt_host_log() - a line to the log, after the name of backend @b unless that is NULL */
void gt_host_log(struct gt_host_state *h, const struct gt_be *b, int priority, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/** gt_be_set_state() - changes info.state under the lock */
void gt_be_set_state(struct gt_be *b, enum gt_backend_state s);

/* load.c */

/** gt_host_load() - adds an entry for every *.so of the plugin folder, refused ones as well. -errno
 * with a sentence if the folder itself cannot be used */
int gt_host_load(struct gt_host_state *h, char *err, size_t len);
void gt_be_free(struct gt_be *b);

/* recordings.c */

/** gt_host_assign() - gives each recording of conf.replay to a backend, and unpacks it if that is
 * needed. -errno with a sentence */
int gt_host_assign(struct gt_host_state *h, char *err, size_t len);
/** gt_host_unpacked_free() - drops what gt_host_assign() unpacked */
void gt_host_unpacked_free(struct gt_host_state *h);

/* options.c */

/** gt_options_check() - checks a plugin's table. -EINVAL with a sentence */
int gt_options_check(const struct gt_backend *be, char *err, size_t len);
/** gt_options_fill() - allocates p.options and sets defaults and what the configuration says; -errno
 * with a sentence for an unknown key or a bad value */
int gt_options_fill(struct gt_be *b, char *err, size_t len);
void gt_options_free(struct gt_be *b);
/** gt_options_append() - appends @path to option `files`, after a colon unless it is the first; only
 * before the backend starts. -errno */
int gt_options_append(struct gt_be *b, const char *path);
const struct gt_option *gt_options_find(const struct gt_be *b, const char *name);
/** gt_options_print() - the value as text: a number, 0 or 1, or the string; lock held */
void gt_options_print(const struct gt_be *b, const struct gt_option *o, char *buf, size_t len);
/** gt_options_set() - parses a value and sets it; restores the old one if a running plugin refuses */
int gt_options_set(struct gt_be *b, const char *name, const char *value, char *err, size_t len);

/* hooks.c */

extern const struct gt_host gt_host_hooks;
/** gt_be_blind() - @b delivers nothing from now on, for some time or for good: jobs in flight on its
 * GPUs count as lost */
void gt_be_blind(struct gt_be *b);
/** gt_be_mute() - its descriptors wake nobody (@on), or do again */
void gt_be_mute(struct gt_be *b, bool on);
/** gt_be_unwatch_all() - forgets every descriptor of a plugin */
void gt_be_unwatch_all(struct gt_be *b);
/** gt_be_clear_error() - to be called before a hook that may fail */
void gt_be_clear_error(struct gt_be *b);
/** gt_be_fail() - after a hook that failed with @err: sets state @s, and a sentence if the hook gave
 * none */
void gt_be_fail(struct gt_be *b, enum gt_backend_state s, const char *doing, int err);
/** gt_claim_ask() - gt_host.claim */
const char *gt_claim_ask(struct gt_be *b, const char *what, int rank);
/** gt_claim_drop() - releases all exclusive claims: the next best backends get them */
void gt_claim_drop(struct gt_be *b);

/* run.c */

/** gt_be_want() - selects a backend. If it @plays a file of conf.replay, or can do nothing else, it
 * delivers a recording (p.recording) */
void gt_be_want(struct gt_be *b, bool plays);
/** gt_host_select() - selects backends and probes them. -errno: conf.backends names one that does not
 * exist */
int gt_host_select(struct gt_host_state *h, char *err, size_t len);
/** gt_host_start_all() - starts every usable backend that does not run. -ENODEV with a sentence if
 * none runs then */
int gt_host_start_all(struct gt_host_state *h, char *err, size_t len);
/** gt_be_ask() - calls the plugin's control(), and updates state and merge accordingly */
int gt_be_ask(struct gt_be *b, enum gt_control what, int64_t arg);
/** gt_be_stop() - calls stop() and drops what the host keeps for it; the state becomes @s */
void gt_be_stop(struct gt_be *b, enum gt_backend_state s);
/** gt_be_retry() - probes and starts a backend that could not work here */
void gt_be_retry(struct gt_be *b);
/** gt_be_end() - its source has ended for good */
void gt_be_end(struct gt_be *b);
/** gt_host_do_control() - gt_host_control() in the ingest thread */
int gt_host_do_control(struct gt_host_state *h, enum gt_control what, int64_t arg, char *err,
		       size_t len);
/** gt_host_do_rescan() - does what gt_host_rescan() asked for; ingest
 * thread */
void gt_host_do_rescan(struct gt_host_state *h);
/** gt_host_observing() - reports to the sink what is observed, if that has changed; ingest thread */
void gt_host_observing(struct gt_host_state *h);

/* userdir.c */

/** gt_userdirs_take() - has plugins know what users changed; ingest thread */
void gt_userdirs_take(struct gt_host_state *h);
/** gt_userdir_show() - does a GT_CALL_USERDIR_SHOW; ingest thread */
void gt_userdir_show(struct gt_host_state *h, struct gt_call *c);
void gt_userdir_free_all(struct gt_be *b);

/* ingest.c */

/** gt_host_ingest() - the thread; @h is a struct gt_host_state */
void *gt_host_ingest(void *h);
/** gt_host_order_ops() - connects the merge to the sink */
struct gt_order_ops gt_host_order_ops(struct gt_host_state *h);
struct gt_call *gt_call_new(enum gt_call_kind kind);
/**
 * gt_call_run() - has the ingest thread do it, or does it if there is none
 * @ms: how long to wait, -1 for as long as it takes
 *
 * Return: the request's result; -ETIMEDOUT: it was not done, and will not be; -EINPROGRESS: a change
 * has begun, and may be done yet.
 */
int gt_call_run(struct gt_host_state *h, struct gt_call *c, int ms);
/** gt_call_finish() - gt_call_run(), with the answer or the sentence of an error in @out, and
 * gt_call_put() */
int gt_call_finish(struct gt_host_state *h, struct gt_call *c, char *out, size_t len);
/** gt_call_late() - the sentence for either */
void gt_call_late(struct gt_host_state *h, const struct gt_call *c, char *out, size_t len);
/** gt_call_put() - drops a reference */
void gt_call_put(struct gt_host_state *h, struct gt_call *c);
/** gt_call_serve() - does what is asked for; ingest thread, nothing locked */
void gt_call_serve(struct gt_host_state *h);
/** gt_host_in_ingest() - is this the ingest thread, or does none run? */
static inline bool gt_host_in_ingest(const struct gt_host_state *h)
{
	return !h->threaded || pthread_equal(pthread_self(), h->thread);
}
/** gt_host_wake() - wakes the ingest thread; any thread */
void gt_host_wake(struct gt_host_state *h);

#endif
