/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Records on their way to the daemon, for every program. Each GT_BPF_CPUS CPUs share a ring buffer.
 * The daemon makes them (backend/bpf/ring.c), and may put others in their place.
 *
 * A wake-up costs thousands of ns, so there is none for a record: when the daemon has found nothing
 * it says so (idle), and the next record wakes it once; from then on it looks by timer, or is woken
 * at a fill level.
 */
#ifndef GT_BPF_RING_H
#define GT_BPF_RING_H

#include "kernel.h"
#include "shared.h"

/* By the number of a CPU / GT_BPF_CPUS. The daemon's own map takes the place of this one. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__array(
		values, struct {
			__uint(type, BPF_MAP_TYPE_RINGBUF);
			__uint(max_entries, 4096);
		});
} gt_rings SEC(".maps");

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
 * count is lost, and nothing is counted twice. That takes -mcpu=v3.
 */
#define gt_add(n, by) ((void)__sync_fetch_and_add(&(n), by))

/** gt_counts() - @i: a part, or GT_BPF_PARTS + a tracepoint's number; NULL: there are none */
static __always_inline struct gt_bpf_count *gt_counts(uint32_t i)
{
	return bpf_map_lookup_elem(&gt_count, &i);
}

/* The ring buffer of this CPU */
static __always_inline void *gt_ring(void)
{
	uint32_t i = bpf_get_smp_processor_id() / GT_BPF_CPUS;

	return bpf_map_lookup_elem(&gt_rings, &i);
}

/* Reports in @ring what had no room before; false: that neither. */
static __always_inline bool gt_emit_lost(void *ring, struct gt_bpf_count *c, uint32_t part)
{
	uint64_t n = __sync_lock_test_and_set(&c->unreported, 0);
	union gt_record *r;

	if (!n)
		return true; /* it was reported just now */
	r = bpf_ringbuf_reserve(ring, sizeof(*r), 0);
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

/**
 * gt_reserve_bytes() - room for a record of @size bytes, a constant
 * @c: counters of @part, or of one of its tracepoints
 *
 * The caller reads the clock after that. The daemon relies on this: once it has read all that was
 * reserved until some time, no older record comes (backend/bpf/ring.c).
 *
 * Return: NULL if there is no room, which is counted
 */
static __always_inline void *gt_reserve_bytes(struct gt_bpf_count *c, uint32_t part, uint64_t size)
{
	void *ring = gt_ring(), *r = NULL;

	if (ring && (!c->unreported || gt_emit_lost(ring, c, part)))
		r = bpf_ringbuf_reserve(ring, size, 0);
	if (r)
		gt_add(c->sent, 1);
	else
		gt_missed(c, bpf_ktime_get_ns());
	return r;
}

/**
 * gt_reserve() - room for a record of @part, which is all unknown but for time, type and CPU
 *
 * Return: as gt_reserve_bytes()
 */
static __always_inline union gt_record *gt_reserve(uint32_t part, uint8_t type)
{
	struct gt_bpf_count *c = gt_paused() ? NULL : gt_counts(part);
	union gt_record *r = c ? gt_reserve_bytes(c, part, sizeof(*r)) : NULL;

	if (!r)
		return NULL;
	__builtin_memset(r, 0xff, sizeof(*r));
	r->ev.ts = bpf_ktime_get_ns();
	r->ev.type = type;
	r->ev.flags = part << GT_BPF_PART_SHIFT;
	r->ev.cpu = bpf_get_smp_processor_id();
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
	void *ring;

	if (w && w->idle) {
		w->idle = 0;
		return BPF_RB_FORCE_WAKEUP;
	}
	if (w && c && !(c->sent % GT_BPF_LOOK) && (ring = gt_ring()) &&
	    bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA) >= w->level)
		return BPF_RB_FORCE_WAKEUP;
	return BPF_RB_NO_WAKEUP;
}

/** gt_discard() - gives the room of @r back; @c: the counters that gt_reserve_bytes() had */
static __always_inline void gt_discard(void *r, struct gt_bpf_count *c)
{
	if (c)
		gt_add(c->sent, -1);
	bpf_ringbuf_discard(r, BPF_RB_NO_WAKEUP);
}

/** gt_submit() - hands @r over; @c: likewise */
static __always_inline void gt_submit(void *r, struct gt_bpf_count *c)
{
	bpf_ringbuf_submit(r, gt_wake_flags(c));
}

#endif
