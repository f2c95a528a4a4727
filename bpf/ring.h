/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Records on their way to the daemon, for every program. There is one ring buffer, which the
 * daemon makes and gives to each object (backend/bpf/ring.c).
 *
 * A wake-up costs thousands of ns, so there is none for a record: when the daemon has found nothing
 * it says so (idle), and the next record wakes it once; from then on it looks by timer, or is woken
 * at a fill level.
 */
#ifndef GT_BPF_RING_H
#define GT_BPF_RING_H

#include "kernel.h"
#include "shared.h"

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096); /* the daemon's choice replaces it */
} gt_ring SEC(".maps");

/* The daemon has it mapped: it needs no right of its own to write there. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, uint32_t);
	__type(value, struct gt_bpf_wake);
} gt_wake SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, GT_BPF_COUNTS);
	__type(key, uint32_t);
	__type(value, struct gt_bpf_count);
} gt_count SEC(".maps");

/*
 * A program may run in the middle of another that has the same counters, on the same CPU: so no
 * count is lost, and nothing is counted twice. That takes -mcpu=v3. Where each level has counters of
 * its own (GT_COUNTS_OF_LEVEL) it is not needed.
 */
#ifndef GT_COUNTS_OF_LEVEL
#define gt_add(n, by) ((void)__sync_fetch_and_add(&(n), by))
#define gt_take(n)    __sync_lock_test_and_set(&(n), 0)
#else
#define gt_add(n, by) ((void)((n) += (by)))
#define gt_take(n)                                                                                 \
	({                                                                                         \
		uint64_t gt_was = (n);                                                             \
		(n) = 0;                                                                           \
		gt_was;                                                                            \
	})
#endif

static __always_inline struct gt_bpf_count *gt_counts(uint32_t part)
{
	return bpf_map_lookup_elem(&gt_count, &part);
}

/* Reports what had no room before; false: that neither. */
static __always_inline bool gt_emit_lost(struct gt_bpf_count *c, uint32_t part)
{
	uint64_t n = gt_take(c->unreported);
	union gt_record *r;

	if (!n)
		return true; /* it was reported just now */
	r = bpf_ringbuf_reserve(&gt_ring, sizeof(*r), 0);
	if (!r) {
		gt_add(c->unreported, n);
		return false;
	}
	__builtin_memset(r, 0xff, sizeof(*r));
	r->lost.ts = bpf_ktime_get_ns();
	r->lost.type = GT_LOST;
	r->lost.flags = part << GT_BPF_PART_SHIFT;
	r->lost.count = n;
	r->lost.since = c->since;
	r->lost.cause = GT_LOST_SOURCE;
	bpf_ringbuf_submit(r, BPF_RB_NO_WAKEUP);
	return true;
}

static __always_inline struct gt_bpf_wake *gt_waker(void)
{
	uint32_t zero = 0;

	return bpf_map_lookup_elem(&gt_wake, &zero);
}

/** gt_paused() - is nothing to be sent now? */
static __always_inline bool gt_paused(void)
{
	struct gt_bpf_wake *w = gt_waker();

	return !w || w->paused;
}

/** gt_missed() - a record of time @ts had no room */
static __always_inline void gt_missed(struct gt_bpf_count *c, uint64_t ts)
{
	struct gt_bpf_wake *w = gt_waker();

	gt_add(c->lost, 1);
	if (!c->unreported)
		c->since = ts;
	gt_add(c->unreported, 1);
	if (w)
		w->lost = 1;
}

/** gt_missed_shared() - likewise, of counters that no level has */
static __always_inline void gt_missed_shared(struct gt_bpf_count *c, uint64_t ts)
{
	struct gt_bpf_wake *w = gt_waker();

	__sync_fetch_and_add(&c->lost, 1);
	if (!c->unreported)
		c->since = ts;
	__sync_fetch_and_add(&c->unreported, 1);
	if (w)
		w->lost = 1;
}

/**
 * gt_try_reserve() - as gt_reserve(), for what will be reported another time if there is no room
 * @ts: the record's time; 0: now
 */
static __always_inline union gt_record *gt_try_reserve(struct gt_bpf_count *c, uint32_t part,
						       uint64_t ts, uint8_t type)
{
	union gt_record *r = NULL;

	if (!c->unreported || gt_emit_lost(c, part))
		r = bpf_ringbuf_reserve(&gt_ring, sizeof(*r), 0);
	if (!r)
		return NULL;
	gt_add(c->sent, 1);
	__builtin_memset(r, 0xff, sizeof(*r));
	r->ev.ts = ts ? ts : bpf_ktime_get_ns();
	r->ev.type = type;
	r->ev.flags = part << GT_BPF_PART_SHIFT;
	r->ev.cpu = bpf_get_smp_processor_id();
	return r;
}

/**
 * gt_reserve() - room for a record of @part, which is all unknown but for time, type and CPU
 *
 * The clock is read after the room is reserved. The daemon relies on that: once it has read all
 * that was reserved until some time, no older record of this part comes (backend/bpf/ring.c).
 *
 * Return: NULL: there is none, and that is counted
 */
static __always_inline union gt_record *gt_reserve(uint32_t part, uint8_t type)
{
	struct gt_bpf_count *c = gt_counts(part);
	union gt_record *r;

	if (!c || gt_paused())
		return NULL;
	r = gt_try_reserve(c, part, 0, type);
	if (!r)
		gt_missed(c, bpf_ktime_get_ns());
	return r;
}

/** gt_time_of() - of a record that gt_reserve() returned, or now */
static __always_inline uint64_t gt_time_of(const union gt_record *r)
{
	return r ? r->ev.ts : bpf_ktime_get_ns();
}

/* Is the daemon to be woken for the record that is handed over now? It is if it sleeps, or must
 * hurry. */
static __always_inline uint64_t gt_wake_flags(const struct gt_bpf_count *c)
{
	struct gt_bpf_wake *w = gt_waker();

	if (w && w->idle) {
		w->idle = 0;
		return BPF_RB_FORCE_WAKEUP;
	}
	if (w && c && !(c->sent % GT_BPF_LOOK) &&
	    bpf_ringbuf_query(&gt_ring, BPF_RB_AVAIL_DATA) >= w->level)
		return BPF_RB_FORCE_WAKEUP;
	return BPF_RB_NO_WAKEUP;
}

/** gt_discard() - gives the room of @r back */
static __always_inline void gt_discard(union gt_record *r, uint32_t part)
{
	struct gt_bpf_count *c = gt_counts(part);

	if (c)
		gt_add(c->sent, -1);
	bpf_ringbuf_discard(r, BPF_RB_NO_WAKEUP);
}

/** gt_submit() - hands @r over */
static __always_inline void gt_submit(union gt_record *r, uint32_t part)
{
	bpf_ringbuf_submit(r, gt_wake_flags(gt_counts(part)));
}

/** gt_send() - hands over @len bytes at @data, a record of @part of another layout; @c: its
 * counters, or NULL */
static __always_inline void gt_send(struct gt_bpf_count *c, uint32_t part, uint64_t ts, void *data,
				    uint64_t len)
{
	if (!c)
		return;
	if ((!c->unreported || gt_emit_lost(c, part)) &&
	    !bpf_ringbuf_output(&gt_ring, data, len, gt_wake_flags(c))) {
		gt_add(c->sent, 1);
		return;
	}
	gt_missed(c, ts);
}

#endif
