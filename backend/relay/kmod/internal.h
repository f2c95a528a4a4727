/* SPDX-License-Identifier: GPL-2.0 */
/* What the parts of grtrace.ko share. */
#ifndef GRT_INTERNAL_H
#define GRT_INTERNAL_H

#include <linux/cache.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/relay.h>
#include <linux/seq_file.h>
#include <linux/types.h>

#include "format.h"
#include "gate.h"
#include "jobs.h"

#ifdef __BIG_ENDIAN
#error "grtrace's records are little-endian"
#endif

#define GRT_MODULE_VERSION "1.0"

/**
 * struct grt_ring - a ring that was seen; it stays, and keeps its number, until the module goes
 * @id: its number
 * @engine: GRT_ENGINE_*, by its name
 * @name: as its driver calls it
 * @dev: its device's name, may be empty
 * @driver: its device's driver, may be empty
 * @depth: jobs submitted and not ended
 * @peak: the most there were
 * @window_peak: in this window
 * @on_hw: jobs that the hardware has
 * @busy_since: when @on_hw left 0
 * @busy: ns that it was not 0, up to then
 */
struct grt_ring {
	u16 id, engine;
	char name[32], dev[32], driver[16];
	atomic_t depth, on_hw;
	u32 peak, window_peak;
	u64 busy_since;
	atomic64_t busy;
} ____cacheline_aligned;

/* How many events of a ring, and how long its jobs took: since the start, and in the two windows of
 * which one is being filled */
struct grt_spread {
	u64 events, jobs, sum, min, max, depth;
};

/**
 * struct grt_ring_stat - a ring's numbers on one CPU
 * @seen: events that came
 * @kept: of these, that passed the gate
 * @lost: of these, that found no room
 * @all: since the start
 * @window: two, of which one is being filled
 */
struct grt_ring_stat {
	u64 seen, kept, lost;
	struct grt_spread all, window[2];
};

/**
 * struct grt_cpu - what each CPU has of its own
 * @session: of the sub-buffer that is being filled
 * @gseq: number of the event that is being written, among all
 * @cseq: the next event's number here
 * @sub: counts sub-buffers
 * @reported: of each ring, the sub-buffer in which it was named last
 * @written: records of events
 * @bytes: that were written
 * @lost: events that found no room
 * @overruns: sub-buffers that were overwritten unread
 * @twice: events that another source had reported
 * @untracked: jobs that found no row in the table
 * @nameless: events of rings beyond the table
 * @verdict: events, by what became of them
 * @seen: events, by type
 * @kept: likewise those that passed
 * @ring: by ring
 */
struct grt_cpu {
	u64 session, gseq, cseq;
	u32 sub;
	u32 reported[GRT_RINGS];
	u64 written, bytes, lost, overruns, twice, untracked, nameless;
	u64 verdict[GRT_VERDICTS];
	u64 seen[GRT_NTYPES], kept[GRT_NTYPES];
	struct grt_ring_stat ring[GRT_RINGS];
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
 * struct grt_says - an event, as a source reports it
 * @type: enum grt_type
 * @source: enum grt_source
 * @ring: of which ring, may be NULL
 * @ctx: context
 * @seqno: number in it
 * @value: by type
 * @ref: likewise
 * @name: of a CUSTOM
 */
struct grt_says {
	u16 type;
	u8 source;
	struct grt_ring *ring;
	u64 ctx, seqno, value, ref;
	const char *name;
};

/* main.c: everything that changes how the module is set is done with this held */
extern struct mutex grt_lock;
int grt_start(void);
void grt_stop(void);
bool grt_running(void);

/* emit.c */
void grt_emit_on(bool on);
void grt_emit(const struct grt_says *e);
u64 grt_gseq_now(void);
void grt_gseq_clear(void);

/* state.c */
extern struct grt_cpu *__percpu *grt_cpus;
extern struct grt_jobs *grt_jobs;
extern struct grt_gate __rcu *grt_gate;
extern struct grt_rate grt_rate;
extern u32 grt_percent;		    /* of jobs that are sampled, where that is adaptive */
extern unsigned int grt_window_now; /* the last bit says which window is being filled */
extern atomic64_t grt_nmi;
int grt_state_init(void);
void grt_state_exit(void);
int grt_gate_set(const struct grt_gate *g);
void grt_stats_clear(void);
void grt_jobs_clear(void);

/* channel.c */
extern struct grt_session grt_session;
extern u32 grt_buffer_size;
extern bool grt_overwrite;
int grt_channel_init(struct dentry *dir);
void grt_channel_exit(void);
int grt_channel_ready(void);
int grt_channel_size(u32 bytes);
void grt_channel_mark(void);
u64 grt_channel_consumed(void);
bool grt_channel_write(struct grt_cpu *c, u64 ts, const struct grt_says *e,
		       const struct grt_event *ev);

/* rings.c */
struct device;
struct grt_ring *grt_ring_of(const void *key, const char *name, const struct device *dev,
			     u16 engine);
struct grt_ring *grt_ring_at(unsigned int i);
unsigned int grt_ring_count(void);
void grt_ring_learn(u64 ctx, const struct grt_ring *r);
struct grt_ring *grt_ring_of_ctx(u64 ctx);
const char *grt_engine_name(u16 engine);

/* hooks.c, probes.c, proto.c */
struct tracepoint;
struct grt_member;

/**
 * enum grt_proto - whether a tracepoint passes what its probe takes
 * @GRT_PROTO_FITS: it does
 * @GRT_PROTO_UNKNOWN: nothing says so: it is hooked only if the parameter hook_unverified is set
 * @GRT_PROTO_OTHER: it does not: it is never hooked
 */
enum grt_proto { GRT_PROTO_FITS, GRT_PROTO_UNKNOWN, GRT_PROTO_OTHER };

/**
 * struct grt_hook - a tracepoint that some kernel has
 * @name: of the tracepoint
 * @probe: what is called there, with this as its first argument
 * @args: its other arguments, in C
 * @members: what it reads of them, up to one without a type
 * @type: of the event that it reports
 * @source: who reports it
 * @tp: where it is, NULL as long as it is not
 * @owner: the module it is in, NULL: the kernel
 * @on: whether @probe is registered there
 * @proto: whether it may be
 * @why: if not, what is in the way
 */
struct grt_hook {
	const char *name;
	void *probe;
	const char *args;
	const struct grt_member *members;
	u16 type;
	u8 source;
	struct tracepoint *tp;
	struct module *owner;
	bool on;
	enum grt_proto proto;
	char why[120];
};
extern struct grt_hook grt_hooks[];
extern const unsigned int grt_hook_count;
int grt_hooks_init(void);
void grt_hooks_exit(void);
int grt_hooks_on(void);
void grt_hooks_off(void);
void grt_hooks_show(struct seq_file *m);
void grt_hooks_list(struct seq_file *m);
void grt_proto_begin(void);
void grt_proto_end(void);
enum grt_proto grt_proto_of(const struct grt_hook *h, const struct tracepoint *tp,
			    const struct module *owner, char *why, size_t len);

/* lists.c */
int grt_list_parse(struct grt_list *l, char *text);
void grt_list_show(struct seq_file *m, const struct grt_list *l);

/* settings.c, knobs.c, stats.c, tick.c */

/**
 * struct grt_file - a file of debugfs grtrace/ that is no setting of the gate
 * @name: its name
 * @show: prints it; NULL: it is written only
 * @set: takes what was written, without the newline; NULL: it is read only
 */
struct grt_file {
	const char *name;
	void (*show)(struct seq_file *m);
	int (*set)(char *text);
};

void grt_file_add(struct dentry *dir, const struct grt_file *f);
ssize_t grt_file_text(const char __user *buf, size_t len, char **text);
void grt_files_init(struct dentry *dir);
void grt_knobs_init(struct dentry *dir);
int grt_stats_init(struct dentry *dir);
void grt_stats_exit(void);

extern bool grt_aggregate;
extern u32 grt_window_ms;
void grt_tick_start(void);
void grt_tick_stop(void);
void grt_tick_exit(void);
void grt_window_show(struct seq_file *m);

#endif
