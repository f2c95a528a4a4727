/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Private to the ftrace backend: instance.c (can it work here, our folder in tracefs, its buffers,
 * doctor), select.c (which tracepoints), read.c (pages of each CPU, and all of them in order of
 * time), functions.c (the function tracer), synth.c (synthetic tracepoints).
 *
 * Everything runs in the ingest thread, except the thread of functions.c that sets filters.
 */
#ifndef GT_FTRACE_H
#define GT_FTRACE_H

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "../event.h"
#include "../eventmap/eventmap.h"
#include "../lib/ring_pages.h"
#include "../lib/threads.h"

struct ft;
struct gt_plugin;
struct gt_tp;

#define FT_WORDS	256
#define FT_WORD_NAME	GT_FUNCTION_NAME
#define FT_WORD_MODULE	64
#define FT_SYMS		(1u << 19) /* functions of which the address is kept */
#define FT_SYM_DISTANCE 16	   /* an event's ip may lie so far behind a function's begin */
/* the tracer, its event, and the maps' system for functions */
#define FT_FUNCTION_NAME "function"

/**
 * struct ft_word - NAME, NAME:mod:MODULE or :mod:MODULE, with ! before it: functions taken away
 * @others: "!" before the module: those of every other one
 * @plain: the module's name is no pattern
 * @hit: some function is meant by it, as far as ft_syms_read() saw
 */
struct ft_word {
	bool away, others, plain, hit;
	char name[FT_WORD_NAME];
	char module[FT_WORD_MODULE]; /* "": not given */
};

/** struct ft_filter - the setting `functions`; @n is never 0 */
struct ft_filter {
	unsigned int n;
	struct ft_word word[];
};

/** struct ft_sym - a function; @name: offset in ft_syms.names; @id: of gt_callname_id(), or GT_NONE32
 */
struct ft_sym {
	uint64_t addr;
	struct gt_tp *tp; /* what an event map makes of its calls, or NULL */
	uint32_t name;
	uint32_t id;
};

/** struct ft_syms - functions that a filter means, by address */
struct ft_syms {
	struct ft_sym *sym;
	size_t n, cap;
	char *names;
	size_t len, room;
	bool cut; /* there were more than FT_SYMS */
};

/* functions.c */

/**
 * ft_filter_parse() - @text in ftrace's syntax, words with blanks or commas between them
 * @out: free() it; NULL for a text without words
 *
 * Return: 0, -EINVAL with a sentence, or -ENOMEM.
 */
int ft_filter_parse(const char *text, struct ft_filter **out, char *err, size_t len);
/** ft_filter_print() - a word as the kernel wants it */
void ft_filter_print(const struct ft_word *w, char *buf, size_t len);
/** ft_glob() - does @pattern (* ? [a-z] [!a-z] \) mean all of @s? Time is bounded by their product
 */
bool ft_glob(const char *pattern, const char *s);

/* functions.c */

/**
 * ft_syms_read() - takes from a file like /proc/kallsyms what @f means
 *
 * Return: free with ft_syms_free(); NULL with errno, ENODATA: the kernel hides all addresses.
 */
struct ft_syms *ft_syms_read(const char *path, struct ft_filter *f);
void ft_syms_free(struct ft_syms *s);
/** ft_syms_find() - the function that an event's @ip is in, or NULL; @s may be NULL */
struct ft_sym *ft_syms_find(const struct ft_syms *s, uint64_t ip);
static inline const char *ft_sym_name(const struct ft_syms *s, const struct ft_sym *sym)
{
	return s->names + sym->name;
}

/* functions.c: what is written to tracefs; from a thread of its own, so only @dir is used */

/* functions.c */

/** ft_calls_bind() - finds what the event maps make of which function */
void ft_calls_bind(struct ft *ft, struct ft_syms *s);
struct gt_evctx;
/** ft_call() - an event of the function tracer becomes records */
void ft_call(struct ft *ft, const struct gt_evctx *c, const uint8_t *data, uint32_t len);

/* functions.c */

struct ft_change;

/**
 * struct ft_functions - what is traced
 * @syms: of @filter; @before: of the filter before; its calls may still be in the buffers
 * @modules: ft_modules_sign() when @filter was put to work
 * @change: under way, or only counting; NULL
 * @id: of the event, -1; @format: its layout; @ip: offset in it
 * @matched: functions traced, -1: not counted yet
 */
struct ft_functions {
	struct ft_filter *filter;
	struct ft_syms *syms, *before;
	uint64_t modules;
	struct ft_change *change;
	int id;
	char *format;
	size_t format_len;
	uint32_t ip;
	_Atomic long matched;
	uint64_t calls, unknown, unnamed, looked;
};

/** ft_functions_set() - @text as ft_filter_parse(); at work when it returns. @live: events are
 * drained meanwhile. -errno with a sentence in @err, and the old filter goes on */
int ft_functions_set(struct ft *ft, const char *text, bool live, char *err, size_t len);
/** ft_functions_rescan() - modules may have come or gone: puts the filter to work on what there is
 */
void ft_functions_rescan(struct ft *ft);
/** ft_functions_pending() - does @w wait for a module that is not loaded? */
bool ft_functions_pending(const struct ft_word *w);
/** ft_functions_stop() - the tracer is off and all is freed */
void ft_functions_stop(struct ft *ft);

#define FT_INSTANCE_PREFIX "gputrace-"
#define FT_DRAIN_NS	   20000000ull	 /* between drains while events come */
#define FT_ASK_NS	   1000000000ull /* between looks at what the kernel dropped */
#define FT_DRAIN_EVENTS	   65536	 /* at most in one drain */
#define FT_DRAINS	   64		 /* at most in a row, if events come as fast */
#define FT_MAX_ID	   65536	 /* common_type has 16 bits */
#define FT_BUFFER_MIN	   8192
#define FT_OUT		   256 /* records handed over at a time */

#define ft_auto_free  gt_live_auto_free
#define ft_auto_close gt_live_auto_close

#define FT_BUFFER_MAX (1ll << 40) /* that may be asked */

/** struct ft_options - section [backend ftrace]; @buffer_size reads back what was granted */
struct ft_options {
	char *functions;
	int64_t buffer_size;
	int64_t level;
	bool probes;
};

/**
 * struct ft_cpu - one CPU's buffer
 * @page: the sub-buffer being walked, of struct ft.format.size bytes
 * @ev: the next event, if @have
 * @pending: events lost before @ev, not yet reported; @unknown: and some more, of unknown number
 * @reported: lost events reported so far; @guessed: a part of that came from the CPU's stats file
 * @dropped: events that the kernel did not put into the buffer, at the last look
 * @last_ts: of the last event; @page_end: up to where the pages read so far go
 */
struct ft_cpu {
	int fd;
	uint16_t cpu;
	bool have;
	bool unknown;
	bool guessed;
	uint64_t pending;
	uint64_t reported;
	uint64_t dropped;
	uint64_t last_ts;
	uint64_t page_end;
	struct gt_page_iter it;
	struct gt_page_event ev;
	uint8_t *page;
};

/** struct ft_buffer - bytes: @asked per CPU, @cap per CPU, @granted to a CPU, @total to all */
struct ft_buffer {
	int64_t asked, cap, granted, total;
};

/** struct ft_stats - counters, never reset */
struct ft_stats {
	uint64_t events;    /* walked */
	uint64_t records;   /* handed over */
	uint64_t lost;	    /* reported by LOST records */
	uint64_t dropped;   /* of these, what the kernel did not put into a buffer */
	uint64_t guessed;   /* of LOST records with a count from the stats file */
	uint64_t malformed; /* pages that made no sense from some point on */
	uint64_t restamped; /* that the kernel had begin before the one before ended */
	uint64_t unknown;   /* events of no tracepoint in use */
	uint64_t late;	    /* events older than an earlier watermark */
	uint64_t full;	    /* drains that ended at FT_DRAIN_EVENTS */
	uint64_t drains;
};

struct ft;
struct ft_standins;

/** struct ft_shadow - the plugin the event maps see: what they push gets its place in our order */
struct ft_shadow {
	struct gt_plugin p;
	struct gt_host host;
	struct ft *ft;
};

/** struct ft - a running backend */
struct ft {
	struct gt_plugin *p;
	struct ft_options *o;
	struct ft_shadow shadow;
	char dir[PATH_MAX];		   /* of the instance */
	struct tracefs_instance *instance; /* NULL: it is not there */
	struct ft_buffer buffer;
	struct gt_page_format format;

	struct gt_eventmap *map;
	char map_error[256];
	struct gt_tp **by_id; /* FT_MAX_ID */
	char **enabled;	      /* "system/event" */
	unsigned int nenabled;
	char reported_by[32]; /* the backend that reports the tracepoints; "": this one */
	char queues_by[32];   /* likewise of GT_CLAIM_KFD_QUEUES */
	char bind_error[256];
	uint32_t pid_off; /* of common_pid */
	struct ft_standins *standins;

	struct ft_cpu *cpus;
	struct ft_cpu **heap; /* those that have an event, the oldest first */
	unsigned int ncpus, nheap;
	bool watching;
	uint64_t mark;	 /* the last watermark */
	uint64_t merged; /* the newest event handed over */
	uint64_t asked;	 /* when the CPUs' dropped events were looked at */
	union gt_record out[FT_OUT];
	unsigned int nout;

	struct gt_tasks *tasks;
	struct ft_functions functions;
	struct ft_stats stats;
};

/* instance.c */

/** ft_open() - opens @dir/@file for writing; a descriptor or -errno */
int ft_open(struct gt_plugin *p, const char *dir, const char *file, int flags);
/** ft_write() - writes @text to @dir/@file; 0 or -errno */
int ft_write(struct gt_plugin *p, const char *dir, const char *file, const char *text);
/** ft_writes() - gt_backend.writes */
void ft_writes(struct gt_plugin *p, void (*add)(void *arg, const char *path), void *arg);
/** ft_is_stale() - is @name, which is @prefix and a pid, of a gputrace that is gone, or of an
 * earlier start of this one? */
bool ft_is_stale(const char *name, const char *prefix);
/** ft_instance_create() - removes stale ones, makes ours and sets it up, not tracing yet; -errno
 * with the sentence reported */
int ft_instance_create(struct ft *ft);
/** ft_instance_destroy() - NULL-safe; after the CPUs' files are closed */
void ft_instance_destroy(struct ft *ft);
int ft_tracing_on(struct ft *ft, bool on);

/* instance.c */

/** ft_buffer_ask() - sets the size of the buffers as near to @bytes per CPU as may be; never fails:
 * ft->buffer says what came of it */
void ft_buffer_ask(struct ft *ft, int64_t bytes);
/** ft_buffer_cap() - bytes per CPU allowed for @ncpus on a machine of @memory bytes */
int64_t ft_buffer_cap(int64_t memory, int64_t ncpus);

/* instance.c */
int ft_probe(struct gt_plugin *p);

/* select.c */

/** ft_select() - enables the tracepoints that the maps want and the kernel has, disables others.
 * Return: how many are enabled, or -ENOMEM */
int ft_select(struct ft *ft);
void ft_select_free(struct ft *ft);

/* read.c */
int ft_cpus_open(struct ft *ft);
void ft_cpus_close(struct ft *ft);
/**
 * ft_cpus_tracer() - sets current_tracer
 *
 * The kernel refuses that while the CPUs' files are open, and empties the buffers (tracer_init()).
 * They are drained before, and what is left is counted as lost: what comes between the count and
 * the kernel's act is not reported.
 *
 * Return: 0 or -errno.
 */
int ft_cpus_tracer(struct ft *ft, const char *tracer);
/** ft_cpus_anew() - the kernel may have emptied the buffers: then it counts losses from 0 */
void ft_cpus_anew(struct ft *ft);
/**
 * ft_cpu_dropped() - how many events the kernel did not put into the CPU's buffer since the last
 * call
 *
 * While one event is being written, interrupts may fill the whole buffer; what comes then is
 * dropped and counted as "commit overrun" (rb_move_tail()). No page says so.
 */
uint64_t ft_cpu_dropped(struct ft *ft, struct ft_cpu *c);
/** ft_cpu_lost() - how many events were lost before the present one, and forgets it */
uint64_t ft_cpu_lost(struct ft *ft, struct ft_cpu *c);

/* read.c */
int ft_drain(struct gt_plugin *p);
/** ft_drain_all() - as long as there is something to drain; nothing before start() or in stop() is
 * over */
void ft_drain_all(struct ft *ft);
/** ft_out() - a record takes its place in the order of what is handed over */
void ft_out(struct ft *ft, const union gt_record *r);
/** ft_watch() - is drain() to be called when a buffer is readable? */
int ft_watch(struct ft *ft, bool on);

/* instance.c */
void ft_doctor(struct gt_plugin *p, char *buf, size_t len);

/*
 * Synthetic tracepoints, which are made where the kernel has none, and which of them serve: synth.c.
 *
 * Everything runs in the ingest thread.
 */

#define FT_GROUP_PREFIX "gputrace_" /* and our pid: the group of our events */

/* synth.c */

/** ft_dynamic_clean() - removes what a gputrace that is gone, or an earlier start of this one, left
 */
void ft_dynamic_clean(struct gt_plugin *p);

/* synth.c: between two calls of gt_eventmap_select(), and after the second */

/** ft_standins_retry() - what was refused may be possible now */
void ft_standins_retry(struct ft *ft);
/** ft_standins_update() - makes what is wanted and can be; -ENOMEM */
int ft_standins_update(struct ft *ft);
/** ft_standins_group() - the group of our event that stands for @tp; NULL: the kernel's own does */
const char *ft_standins_group(const struct ft *ft, const struct gt_tp *tp);
/** ft_standins_refuse() - our event for @tp cannot be enabled; false if no event was made for @tp */
bool ft_standins_refuse(struct ft *ft, const struct gt_tp *tp, const char *why);
/** ft_standins_trim() - removes those that are not wanted any more, or @all; none that is enabled
 */
void ft_standins_trim(struct ft *ft, bool all);
/** ft_standins_free() - removes all: after the instance, where they are enabled */
void ft_standins_free(struct ft *ft);
/** ft_standins_emit() - line @i for doctor, without its newline; false if there are fewer lines */
bool ft_standins_emit(const struct ft *ft, unsigned int i, char *buf, size_t len);

#endif
