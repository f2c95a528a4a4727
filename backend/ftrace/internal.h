/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Private to the ftrace backend: instance.c (can it work here, our folder in tracefs, how large its
 * buffers are), select.c (which tracepoints), merge.c (the pages of each CPU, and all of them in
 * order of time), stats.c (doctor); functions/: the function tracer; probes.h: synthetic
 * tracepoints.
 *
 * Everything runs in the ingest thread, but for the thread of functions/functions.c that sets
 * filters.
 */
#ifndef GT_FTRACE_INTERNAL_H
#define GT_FTRACE_INTERNAL_H

#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "../eventmap/eventmap.h"
#include "../eventmap/pages.h"
#include "../live/live.h"
#include "functions/functions.h"

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

/* merge.c */
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

/* merge.c */
int ft_drain(struct gt_plugin *p);
/** ft_drain_all() - as long as there is something to drain; nothing before start() or in stop() is
 * over */
void ft_drain_all(struct ft *ft);
/** ft_out() - a record takes its place in the order of what is handed over */
void ft_out(struct ft *ft, const union gt_record *r);
/** ft_watch() - is drain() to be called when a buffer is readable? */
int ft_watch(struct ft *ft, bool on);

/* stats.c */
void ft_doctor(struct gt_plugin *p, char *buf, size_t len);

#endif
