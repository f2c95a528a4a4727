/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the parts of grtrace.ko share: main.c (module, sessions, drivers' calls), hooks.c (probes at
 * tracepoints), rings.c (numbers for rings), emit.c (an event is numbered, and written unless another
 * source has reported it), jobs.c (jobs in flight), channel.c (relay buffers), files.c (debugfs).
 */
#ifndef GRT_INTERNAL_H
#define GRT_INTERNAL_H

#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/relay.h>
#include <linux/seq_file.h>
#include <linux/types.h>

#include "format.h"
#include "jobs.h"

#ifdef __BIG_ENDIAN
#error "grtrace's records are little-endian"
#endif

#define GRT_MODULE_VERSION "1.1"
#define GRT_RINGS	   256

/* Which events are written */
enum grt_level {
	GRT_LEVEL_OFF,	   /* none */
	GRT_LEVEL_STATS,   /* none, they are counted */
	GRT_LEVEL_NORMAL,  /* all but IRQ and CTX_SWITCH */
	GRT_LEVEL_VERBOSE, /* all */
};

/**
 * struct grt_ring - a ring that was seen; it stays, and keeps its number, until the module goes
 * @id: its number
 * @engine: GRT_ENGINE_*, by its name
 * @name: as its driver calls it
 * @dev: its device's name, may be empty
 * @driver: its device's driver, may be empty
 */
struct grt_ring {
	u16 id, engine;
	char name[32], dev[32], driver[16];
};

/**
 * struct grt_counts - of a CPU, since the session began
 * @written: records of events
 * @bytes: that were written
 * @lost: events that found no room
 * @overruns: sub-buffers that were overwritten unread
 * @twice: events that another source had reported
 * @untracked: jobs that found no row in the table
 * @nameless: events of rings beyond the table
 * @by_level: events that the level leaves out
 * @seen: events, by type
 * @kept: likewise those that the level has
 */
struct grt_counts {
	u64 written, bytes, lost, overruns, twice, untracked, nameless, by_level;
	u64 seen[GRT_NTYPES], kept[GRT_NTYPES];
};

/**
 * struct grt_cpu - what each CPU has of its own
 * @session: of the sub-buffer that is being filled
 * @gseq: number of the event that is being written, among all
 * @cseq: the next event's number here
 * @sub: counts sub-buffers
 * @named: of each ring, the sub-buffer in which it was named last
 */
struct grt_cpu {
	u64 session, gseq, cseq;
	u32 sub;
	u32 named[GRT_RINGS];
	struct grt_counts n;
};

/**
 * struct grt_session - from one start to the next
 * @id: never 0 once there was a start
 * @started: when
 * @realtime: CLOCK_REALTIME minus the records' clock then
 * @boottime: likewise
 * @features: GRT_F_*
 */
struct grt_session {
	u64 id, started, features;
	s64 realtime, boottime;
};

/**
 * struct grt_report - an event, as a source reports it
 * @type: enum grt_type
 * @source: enum grt_source
 * @ring: of which ring, may be NULL
 * @ctx: context
 * @seqno: number in it
 * @value: by type
 * @ref: likewise
 * @name: of a CUSTOM
 */
struct grt_report {
	u16 type;
	u8 source;
	struct grt_ring *ring;
	u64 ctx, seqno, value, ref;
	const char *name;
};

/* main.c: everything that changes how the module is set is done with this held */
extern struct mutex grt_lock;
extern struct grt_cpu *__percpu *grt_cpus;
extern struct grt_session grt_session;
int grt_start(void);
void grt_stop(void);

/* emit.c */
extern u32 grt_level;
int grt_emit_init(void);
void grt_emit_exit(void);
void grt_emit_on(bool on);
bool grt_running(void);
void grt_emit_begin(void);
void grt_emit(const struct grt_report *r);
u64 grt_gseq_now(void);

/* channel.c */
extern u32 grt_buffer_size;
extern bool grt_overwrite;
int grt_channel_init(struct dentry *dir);
void grt_channel_exit(void);
int grt_channel_ready(void);
int grt_channel_size(u32 bytes);
void grt_channel_mark(void);
u64 grt_channel_consumed(void);
bool grt_channel_write(struct grt_cpu *c, u64 ts, const struct grt_report *r,
		       const struct grt_event *ev);

/* rings.c */
struct device;
struct grt_ring *grt_ring_of(const void *key, const char *name, const struct device *dev);
struct grt_ring *grt_ring_at(unsigned int i);
unsigned int grt_ring_count(void);
void grt_ring_learn(u64 ctx, const struct grt_ring *r);
struct grt_ring *grt_ring_of_ctx(u64 ctx);
const char *grt_engine_name(u16 engine);

/* hooks.c */
int grt_hooks_init(void);
void grt_hooks_exit(void);
void grt_hooks_on(void);
void grt_hooks_off(void);
void grt_hooks_stats(struct seq_file *m);
void grt_hooks_list(struct seq_file *m);

/* files.c */
void grt_files_init(struct dentry *dir);

#endif
