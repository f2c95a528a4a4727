/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Private to the host: host.c (start and stop, and what other threads may look at), load.c (plugin
 * files), options.c (settings), hooks.c (what plugins call), run.c (life of a backend), ingest.c
 * (the thread's loop), call.c (requests from other threads).
 *
 * Who owns what: everything is the ingest thread's, and the caller's of gt_host_new() before there
 * is one, but for what struct gt_host_state and struct gt_be say is guarded by @lock. No plugin
 * hook and no sink call is made with @lock held.
 */
#ifndef GT_HOST_INTERNAL_H
#define GT_HOST_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "clock.h"
#include "host.h"
#include "order.h"

#define GT_HOST_MAX_PLUGINS 64
#define GT_HOST_MAX_OPTIONS 64
#define GT_HOST_MAX_WATCHES 4096 /* of one plugin: a descriptor per CPU, and some */
#define GT_HOST_VALUE_LEN   4096 /* a setting as text */
#define GT_HOST_DOCTOR_LEN  8192
#define GT_HOST_STOP_MS	    10000 /* how long the thread may take to end */
#define GT_HOST_CALL_MS	    5000  /* how long another thread waits for the ingest thread */

#define GT_CLAIMS 4 /* of a plugin */

/** struct gt_claim - see gt_host.claim; @what: empty: nothing */
struct gt_claim {
	char what[16];
	int rank;
};

/**
 * struct gt_be - one backend, or a file in the plugin folder that is not one
 * @p: what the plugin sees; first, so that a plugin's pointer is ours
 * @be: its vtable, NULL if refused
 * @info: guarded by the host's lock; @info.state is read by the ingest thread without it
 * @wanted: asked for by name, or by default
 * @usable: its probe succeeded
 * @started: start() succeeded and stop() is not yet called
 * @told: host->error() was called since gt_be_clear_error()
 * @timer: CLOCK_MONOTONIC when drain() is to be called, 0 never
 * @due: drain() is to be called in this round
 * @drained: drain() was called since start(); @empty: the last one found nothing
 * @drained_at: when that was; @empties: drains in a row, each on the heels of the one before, that
 *	found nothing
 * @rest: CLOCK_MONOTONIC up to which drain() is not called, 0: it does not rest
 * @counting: see gt_host.counting; @looks: it runs and has gt_backend.look
 * @fds: watched descriptors
 * @claim: what it wants to be the only one to tell of
 * @made: directories that users made, NULL where there is none; guarded by the host's lock, written by
 *	the ingest thread only
 */
struct gt_be {
	struct gt_plugin p;
	struct gt_host_state *h;
	unsigned int index;
	void *dl;
	const struct gt_backend *be;
	struct gt_backend_info info;
	bool wanted, usable, started, told;
	bool due, drained, empty, counting, looks;
	unsigned int empties;
	uint64_t drained_at, rest;
	uint64_t timer;
	_Atomic int64_t clock_offset;
	int *fds;
	unsigned int nfds;
	struct gt_claim claim[GT_CLAIMS];
	struct gt_made *made[GT_MADE_MAX];
};

enum gt_call_kind {
	GT_CALL_DOCTOR,
	GT_CALL_FILE,
	GT_CALL_SET,
	GT_CALL_CONTROL,
	GT_CALL_START,
	GT_CALL_FOLD,
	GT_CALL_LOOK,
	GT_CALL_MAKE,
	GT_CALL_UNMAKE,
	GT_CALL_MADE_SET,
	GT_CALL_MADE_SHOW,
};

/**
 * struct gt_call - a request to the ingest thread
 *
 * Holds copies, as a caller that has waited long enough goes away: the last to let go frees it.
 * @index, @name, @value: of GT_CALL_DOCTOR and GT_CALL_SET; @what, @arg: of GT_CALL_CONTROL
 * @index, @file, @big: of GT_CALL_FILE: its own file @file, into GT_BACKEND_TEXT_MAX bytes
 * @arg: of GT_CALL_LOOK: GT_LOOK_*
 * @index, @uid, @whole, @serial, @file: of what a user made; @value: its setting, or its path
 * @begun: it is being done, or was: who has waited too long takes back what is not
 * @text: the answer, or the sentence of an error; @ret: 0 or -errno
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
	uint32_t uid;
	bool whole;
	uint64_t serial;
	int ret;
	char name[64];
	char value[GT_HOST_VALUE_LEN];
	char text[GT_HOST_DOCTOR_LEN];
};

/**
 * struct gt_host_state - the host
 * @lock: guards gt_be.info, option values, the queue of calls and @quiet_seq
 * @threaded: the ingest thread runs, so requests go through @calls
 * @delivered: this round handed something to the sink
 * @armed: what @timerfd is set to, 0 off
 * @stuck: a call was not answered in time and none was since; guarded by @lock
 * @counting: so many backends count themselves; @folded: CLOCK_MONOTONIC of the last time that they were
 *	asked
 * @clocks: of this machine, guarded by @lock; @clockfd: readable when one was set or the machine slept
 * @waiters: gt_host_drained() calls that wait; @quiet_seq: counts the times all was drained
 */
struct gt_host_state {
	struct gt_host_conf conf;
	struct gt_sink sink;
	unsigned int n;
	struct gt_be *be[GT_HOST_MAX_PLUGINS];
	struct gt_order *order;
	struct gt_host_merge merge; /* a copy for other threads, guarded by @lock */
	int level;
	char bad_conf[512]; /* the first fault of the configuration, if it is strict */
	bool delivered;
	_Atomic bool quit;
	bool paused; /* what starts while this holds is asked to pause */

	int epfd, timerfd, eventfd, clockfd;
	uint64_t armed;
	struct gt_clocks clocks;

	pthread_mutex_t lock;
	pthread_cond_t cond;
	struct gt_call *calls;
	_Atomic unsigned int counting;
	_Atomic uint64_t folded;
	_Atomic unsigned int lookers; /* running backends that read off */
	_Atomic bool rescan; /* gt_host_rescan() waits to be done */
	_Atomic bool wanted; /* gt_host_tell_wanted() likewise */
	bool stuck;
	pthread_t thread;
	_Atomic bool threaded;
	uint64_t cpu_ns; /* of a thread that has ended */
	unsigned int waiters;
	uint64_t quiet_seq;
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
/** gt_host_log() - a line to the log, with the backend's name before it if there is one */
void gt_host_log(struct gt_host_state *h, const struct gt_be *b, int priority, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/** gt_be_set_state() - changes info.state under the lock */
void gt_be_set_state(struct gt_be *b, enum gt_backend_state s);
/** gt_be_live() - is it running or paused, so that its hooks may be called? */
bool gt_be_live(const struct gt_be *b);

/* load.c */

/** gt_host_load() - every *.so of the plugin folder becomes an entry, refused ones too. -errno with
 * a sentence if the folder itself cannot be used */
int gt_host_load(struct gt_host_state *h, char *err, size_t len);
void gt_be_free(struct gt_be *b);

/* assign.c */

/** gt_host_assign() - gives each recording of conf.replay to the backend that knows it. -errno with a
 * sentence */
int gt_host_assign(struct gt_host_state *h, char *err, size_t len);

/* options.c */

/** gt_options_check() - is a plugin's table sound? -EINVAL with a sentence */
int gt_options_check(const struct gt_backend *be, char *err, size_t len);
/** gt_options_fill() - allocates p.options, sets defaults, then what the configuration says; -errno
 * with a sentence for an unknown key or a bad value */
int gt_options_fill(struct gt_be *b, char *err, size_t len);
void gt_options_free(struct gt_be *b);
/** gt_options_append() - adds @path to option `files`, a colon before it if it is not the first; not
 * while the backend runs. -errno */
int gt_options_append(struct gt_be *b, const char *path);
const struct gt_option *gt_options_find(const struct gt_be *b, const char *name);
/** gt_options_print() - the value as text: a number, 0 or 1, or the string; lock held */
void gt_options_print(const struct gt_be *b, const struct gt_option *o, char *buf, size_t len);
/** gt_options_set() - parses, tells a running plugin, and takes the value back if it refuses */
int gt_options_set(struct gt_be *b, const char *name, const char *value, char *err, size_t len);

/* hooks.c */
extern const struct gt_host gt_host_hooks;
/** gt_be_counting() - the hook, but for its types */
void gt_be_counting(struct gt_be *b, bool on);
/** gt_be_mute() - its descriptors wake nobody, or do again */
void gt_be_mute(struct gt_be *b, bool on);
/** gt_be_unwatch_all() - forgets every descriptor of a plugin */
void gt_be_unwatch_all(struct gt_be *b);
/** gt_be_clear_error() - before a hook that may fail */
void gt_be_clear_error(struct gt_be *b);
/** gt_be_fail() - after a hook that failed with @err: makes sure that there is a sentence */
void gt_be_fail(struct gt_be *b, enum gt_backend_state s, const char *doing, int err);

/* run.c */

/** gt_host_select() - decides who is wanted, and probes those. -errno: conf.backends names one that
 * does not exist */
int gt_host_select(struct gt_host_state *h, char *err, size_t len);
/** gt_host_start_all() - starts every usable backend that does not run. -ENODEV with a sentence if
 * none runs then */
int gt_host_start_all(struct gt_host_state *h, char *err, size_t len);
/** gt_be_ask() - the plugin's control(), and keeps state and merge in step with it */
int gt_be_ask(struct gt_be *b, enum gt_control what, int64_t arg);
/** gt_be_stop() - stop(), and what the host keeps for it; the state becomes @s */
void gt_be_stop(struct gt_be *b, enum gt_backend_state s);
/** gt_be_retry() - it could not work here, and may be able to now */
void gt_be_retry(struct gt_be *b);
/** gt_be_end() - its source has ended for good */
void gt_be_end(struct gt_be *b);
/** gt_host_do_control() - gt_host_control() in the ingest thread */
int gt_host_do_control(struct gt_host_state *h, enum gt_control what, int64_t arg, char *err,
		       size_t len);
/** gt_host_do_rescan() - what gt_host_rescan() and gt_host_tell_wanted() asked for, if they did; ingest
 * thread */
void gt_host_do_rescan(struct gt_host_state *h);

/** gt_be_looks() - it runs, and may read off what somebody looks at; or not any more */
void gt_be_looks(struct gt_be *b, bool on);
/** gt_host_do_look() - those that read off do so; ingest thread */
void gt_host_do_look(struct gt_host_state *h, unsigned int what);
/** gt_host_do_fold() - those that count themselves hand over what they have; ingest thread */
void gt_host_do_fold(struct gt_host_state *h);

/* made.c: what users made; ingest thread */

/** gt_made_perform() - does what @c asks */
void gt_made_perform(struct gt_host_state *h, struct gt_call *c);
/** gt_made_nth() - the hook, but for its types */
const struct gt_made *gt_made_nth(const struct gt_be *b, unsigned int i);
void gt_made_free_all(struct gt_be *b);

/* claim.c */

/** gt_claim_ask() - the hook, but for its types */
const char *gt_claim_ask(struct gt_be *b, const char *what, int rank);
/** gt_claim_drop() - it tells of nothing any more: the next best may */
void gt_claim_drop(struct gt_be *b);

/* ingest.c */

/** gt_host_ingest() - the thread: @h is a struct gt_host_state */
void *gt_host_ingest(void *h);
/** gt_host_order_ops() - the merge's way to the sink */
struct gt_order_ops gt_host_order_ops(struct gt_host_state *h);

/* call.c */

struct gt_call *gt_call_new(enum gt_call_kind kind);
/** gt_call_run() - has the ingest thread do it, or does it where there is none. @ms: how long to
 * wait, -1 for as long as it takes. Return: the request's own result, or -ETIMEDOUT */
int gt_call_run(struct gt_host_state *h, struct gt_call *c, int ms);
/** gt_call_late() - the sentence for -ETIMEDOUT */
void gt_call_late(struct gt_host_state *h, const struct gt_call *c, char *out, size_t len);
/** gt_host_wake() - the ingest thread looks around; any thread */
void gt_host_wake(struct gt_host_state *h);
/** gt_call_put() - lets go of it */
void gt_call_put(struct gt_host_state *h, struct gt_call *c);
/** gt_call_serve() - ingest thread: does what is asked; call with nothing locked */
void gt_call_serve(struct gt_host_state *h);

#endif
