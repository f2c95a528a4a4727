/* SPDX-License-Identifier: GPL-2.0 */
/* Which events are written: level, filters, watch lists, sampling, rate limit. No kernel in it but
 * atomics, so that a test compiles it as a program. */
#ifndef GRT_GATE_H
#define GRT_GATE_H

#ifdef __KERNEL__
#include <linux/atomic.h>
#include <linux/math64.h>
#include <linux/types.h>
#endif
#include "format.h"

#define GRT_RINGS    256
#define GRT_LIST_MAX 64

enum grt_level { GRT_LEVEL_OFF, GRT_LEVEL_STATS, GRT_LEVEL_NORMAL, GRT_LEVEL_VERBOSE };
enum grt_sampling { GRT_STATIC, GRT_ADAPTIVE, GRT_THRESHOLD };

/* What becomes of an event; every refusal has its counter */
enum grt_verdict {
	GRT_PASS,
	GRT_BY_LEVEL,
	GRT_BY_TYPE,
	GRT_BY_ENGINE,
	GRT_BY_PID,
	GRT_BY_UID,
	GRT_BY_LATENCY,
	GRT_BY_WATCH,
	GRT_BY_SAMPLING,
	GRT_BY_RATE,
	GRT_VERDICTS,
};

/**
 * struct grt_list - numbers that are let through, or all but these
 * @n: how many; 0 is no list
 * @inverted: all but these
 * @id: the numbers
 */
struct grt_list {
	u32 n;
	bool inverted;
	u32 id[GRT_LIST_MAX];
};

/**
 * struct grt_gate - the settings; one that is in use is never changed
 * @level: enum grt_level
 * @filter_enabled: whether @types to @uids say anything
 * @types: mask of types, bit by enum grt_type
 * @engines: mask of GRT_ENGINE_*; what has no known engine passes
 * @latency_ns: only ends of jobs that took more; 0 is off
 * @pids: thread groups
 * @uids: users
 * @rings: the watch list
 * @ctxs: likewise of contexts
 * @sampling: enum grt_sampling
 * @percent: of jobs, where @sampling is static; the most where it is adaptive
 * @threshold_ns: where it is threshold: only ends of jobs that took more
 * @limit: events a second; 0 is off
 * @burst: for the token bucket: events at once
 * @bucket: whether the limit is a token bucket, not a window of a second
 */
struct grt_gate {
	u32 level;
	bool filter_enabled;
	u32 types;
	u16 engines;
	u64 latency_ns;
	struct grt_list pids, uids, rings, ctxs;
	u32 sampling, percent;
	u64 threshold_ns;
	u32 limit, burst;
	bool bucket;
};

/**
 * struct grt_ask - an event that asks to be written; what is not known is all ones
 * @type: enum grt_type
 * @engine: GRT_ENGINE_*, 0: not known
 * @ring: its number
 * @pid: its submitter
 * @uid: its submitter's user
 * @ctx: context
 * @seqno: number in it
 * @latency: ns since its SUBMIT; of a COMPLETE
 */
struct grt_ask {
	u16 type, engine;
	u32 ring, pid, uid;
	u64 ctx, seqno, latency;
};

/**
 * struct grt_rate - what the rate limit remembers
 * @window: second and count of events in it, or the time at which the bucket is full
 */
struct grt_rate {
	atomic64_t window;
};

void grt_gate_default(struct grt_gate *g);
enum grt_verdict grt_gate_ask(const struct grt_gate *g, u32 percent, const struct grt_ask *a);
bool grt_rate_take(struct grt_rate *r, const struct grt_gate *g, u64 ts, u32 n);
bool grt_is_job_event(u16 type);
u32 grt_adapt(u32 percent, u32 most, bool pressed);

#endif
