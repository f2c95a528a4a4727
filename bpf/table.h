/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Jobs matched and counted where they happen, for bpf/tracepoint.bpf.c; see count.h. Here: the
 * maps, the tables in them, and the locks. Then piece.h (what a record says), counting.h (rings,
 * pairs and their histograms), decide.h (which jobs are in records), jobs.h (an event and its job).
 */
#ifndef GT_BPF_TABLE_H
#define GT_BPF_TABLE_H

#include "count.h"
#include "level.h"

#define GT_K_ARRAY(name, of, n)                                                                    \
	struct {                                                                                   \
		__uint(type, BPF_MAP_TYPE_ARRAY);                                                  \
		__uint(map_flags, BPF_F_MMAPABLE);                                                 \
		__uint(max_entries, n);                                                            \
		__type(key, uint32_t);                                                             \
		__type(value, of);                                                                 \
	} name SEC(".maps")

GT_K_ARRAY(k_ctl, struct gt_k_ctl, 1);
GT_K_ARRAY(k_ring_keys, struct gt_k_line, GT_K_RINGS / GT_K_WAYS);
GT_K_ARRAY(k_rings, struct gt_k_ring, GT_K_RINGS);
GT_K_ARRAY(k_pair_keys, struct gt_k_line, GT_K_PAIRS / GT_K_WAYS);
GT_K_ARRAY(k_pairs, struct gt_k_pair, GT_K_PAIRS);
GT_K_ARRAY(k_job_keys, struct gt_k_line, GT_K_JOBS / GT_K_WAYS);
GT_K_ARRAY(k_jobs, struct gt_k_job, GT_K_JOBS);
GT_K_ARRAY(k_octs, struct gt_k_octave, 2 * GT_K_OCTS);
GT_K_ARRAY(k_wanted, struct gt_wanted, 2);
GT_K_ARRAY(k_places, uint64_t, GT_K_CTXS);
GT_K_ARRAY(k_gone, struct gt_k_gone, GT_K_GONE);

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, GT_BPF_TPS);
	__type(key, uint32_t);
	__type(value, struct gt_k_tp);
} k_tps SEC(".maps");

enum gt_k_what {
	GT_K_PASS,  /* it is not counted here: a record has it */
	GT_K_EMIT,  /* it is, and in a record as well */
	GT_K_QUIET, /* it is, and nobody wants a record */
};

/* Twice as much as is sent: any part of a record, behind any other, ends within. */
struct gt_k_record {
	uint8_t data[2 * GT_BPF_RAW_MAX];
};

struct gt_k_reported {
	struct gt_bpf_raw raw;
	struct gt_k_tale t;
};

/** struct gt_k_event - an event under way, in its program's scratch
 * @counts: number of the program's counters in gt_count; @vague: see struct gt_k_tp
 * @rest: of @end, what has not been counted; @reported: on its way to the daemon
 */
struct gt_k_event {
	uint64_t ts, k1, k2, h, ctx, seqno, start;
	uint32_t pid, uid, ring, job, known, counts, vague, reserved;
	struct gt_k_ended end, rest;
	struct gt_k_reported reported;
};

/* A key lies on the stack: Linux 6.1 takes none out of memory that a function was given. */
#define LOOK(map, i)                                                                               \
	({                                                                                         \
		uint32_t gt_key = (i);                                                             \
		bpf_map_lookup_elem(&(map), &gt_key);                                              \
	})

#define GT_K_JOB_AT(of, i) ((void)(of), (struct gt_k_job *)LOOK(k_jobs, i))
#include "inflight.h"

#define GT_K_CHOICES 3

/*
 * Functions that are not static are verified once, and not on each way to them; what they are given
 * may be NULL as far as the verifier knows.
 */

/* The first of a table's lines, where a key is looked for first. The others are apart: they have
 * room when these are full. */
#define GT_K_HOT_OF(nlines) ((nlines) > GT_K_HOT ? GT_K_HOT : (nlines) / 4)

/* The lines in which a key may be are searched for it, or for room, which is then taken. Index,
 * or GT_NONE32. */
#define GT_K_TABLE(name, keys, nlines)                                                             \
	static __always_inline uint32_t name##_line(uint64_t h, unsigned int nth)                  \
	{                                                                                          \
		uint64_t other = (nlines)-GT_K_HOT_OF(nlines);                                     \
                                                                                                   \
		if (!nth)                                                                          \
			return (uint32_t)(h >> 8) & (GT_K_HOT_OF(nlines) - 1);                     \
		return GT_K_HOT_OF(nlines) + ((nth == 1 ? h >> 32 : (uint32_t)h) * other >> 32);   \
	}                                                                                          \
	__noinline uint32_t name##_claim(uint64_t h)                                               \
	{                                                                                          \
		for (unsigned int nth = 0; nth < GT_K_CHOICES; nth++) {                            \
			uint32_t i = name##_line(h, nth);                                          \
			struct gt_k_line *l = LOOK(keys, i);                                       \
                                                                                                   \
			for (unsigned int w = 0; l && w < GT_K_WAYS; w++)                          \
				if (!l->key[w] && !__sync_val_compare_and_swap(                    \
							  &l->key[w], GT_K_FREE, GT_K_BUSY))       \
					return i * GT_K_WAYS + w;                                  \
		}                                                                                  \
		return GT_NONE32;                                                                  \
	}                                                                                          \
	__noinline int name##_set(uint32_t at, uint64_t key)                                       \
	{                                                                                          \
		uint32_t i = at / GT_K_WAYS;                                                       \
		struct gt_k_line *l = LOOK(keys, i);                                               \
                                                                                                   \
		if (l)                                                                             \
			k_release(&l->key[at % GT_K_WAYS], key);                                   \
		return 0;                                                                          \
	}                                                                                          \
	__noinline uint32_t name##_find(uint64_t h, uint32_t choices)                              \
	{                                                                                          \
		uint64_t key = gt_k_key(h);                                                        \
                                                                                                   \
		for (unsigned int nth = 0; nth < GT_K_CHOICES; nth++) {                            \
			uint32_t i = name##_line(h, nth);                                          \
			struct gt_k_line *l = LOOK(keys, i);                                       \
                                                                                                   \
			if (nth >= choices)                                                        \
				break;                                                             \
			for (unsigned int w = 0; l && w < GT_K_WAYS; w++)                          \
				if (l->key[w] == key)                                              \
					return i * GT_K_WAYS + w;                                  \
		}                                                                                  \
		return GT_NONE32;                                                                  \
	}

GT_K_TABLE(ring_key, k_ring_keys, GT_K_RINGS / GT_K_WAYS)
GT_K_TABLE(pair_key, k_pair_keys, GT_K_PAIRS / GT_K_WAYS)
GT_K_TABLE(job_key, k_job_keys, GT_K_JOBS / GT_K_WAYS)

static __always_inline struct gt_k_ctl *k_control(void)
{
	uint32_t zero = 0;

	return LOOK(k_ctl, zero);
}

#define GT_K_TRIES 16 /* at a time: a function is verified once, not as often as it is called */
_Static_assert(!(GT_K_SPIN % GT_K_TRIES), "whole rounds");

/* 1: it is @me's, 0: not yet, -1: nor will it be. Whoever this program has interrupted, or
 * preempted on this CPU, does not give its lock back before it goes on. */
__noinline int k_try(uint32_t *lock, uint32_t me)
{
	for (unsigned int i = 0; lock && i < GT_K_TRIES; i++) {
		uint32_t has = __sync_val_compare_and_swap(lock, 0, me);

		if (!has)
			return 1;
		if (has == me)
			return -1;
	}
	return 0;
}

__noinline int k_spin(uint32_t *lock, uint32_t me)
{
	int got = 0;

	for (unsigned int i = 0; lock && !got && i < GT_K_SPIN / GT_K_TRIES; i++)
		got = k_try(lock, me);
	return got > 0;
}

static __always_inline bool k_take(uint32_t *lock)
{
	uint32_t me = bpf_get_smp_processor_id() + 1, has;

	has = __sync_val_compare_and_swap(lock, 0, me);
	return !has || (has != me && k_spin(lock, me));
}

static __always_inline bool k_lock(struct gt_k_ring *r)
{
	return k_take(&r->lock);
}

static __always_inline void k_unlock(struct gt_k_ring *r)
{
	k_release(&r->lock, 0);
}

#endif
