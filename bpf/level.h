/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Programs that are entered again on their CPU before they have ended.
 *
 * Where the kernel itself keeps a program from being entered twice on a CPU, nothing is needed: it
 * counts a run that it skips (recursion_misses). It does so for programs at tracepoints' records
 * and kprobes (bpf_prog_active), at system calls' tracepoints since Linux 7.0 and at raw
 * tracepoints since 6.1 (of each program), and at fentry and fexit. It does not for a program that
 * is reached by a tail call, nor for one at a uprobe; on such a program's CPU an interrupt, an NMI
 * or a task that preempts may run the same program. Since Linux 6.13 that is fatal where the
 * program has a private stack: one for each CPU, not for each run.
 *
 * So each such program is two. What the kernel runs is an *entry*: it calls no function, has less
 * than 64 bytes of stack and contains a tail call, either of which keeps the kernel from giving it
 * a private stack. It takes a level of its CPU, by one atomic exchange, and jumps to the *body* of
 * that level, a program of its own with a stack of its own, which gives the level back as its last
 * act. Whoever comes meanwhile takes another level, and so runs another body. A body is therefore
 * never entered twice on a CPU, whatever interrupts or preempts whom: programs do not migrate.
 * Without a free level the event is not reported, and that is counted.
 *
 * Each program names its rule in a comment; backend/bpf/rules.c has all of them, and checks them
 * when programs are loaded.
 */
#ifndef GT_BPF_LEVEL_H
#define GT_BPF_LEVEL_H

#include "kernel.h"
#include "shared.h"

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct gt_bpf_levels);
} levels SEC(".maps");

/* Where entries find the bodies */
#define GT_BODIES(name, n)                                                                         \
	struct {                                                                                   \
		__uint(type, BPF_MAP_TYPE_PROG_ARRAY);                                             \
		__uint(max_entries, n);                                                            \
		__type(key, uint32_t);                                                             \
		__type(value, uint32_t);                                                           \
	} name SEC(".maps")

/* One of all tracepoints that are reported by their arguments, see args.bpf.c */
#define GT_MARKS_MAP                                                                               \
	struct {                                                                                   \
		__uint(type, BPF_MAP_TYPE_ARRAY);                                                  \
		__uint(max_entries, 1);                                                            \
		__type(key, uint32_t);                                                             \
		__type(value, struct gt_bpf_marks);                                                \
	} marks SEC(".maps")

/* Writes what others read once they see it. x86 keeps the order of stores, BPF has no weaker way to
 * ask for it. */
#ifdef __TARGET_ARCH_x86
#define k_release(p, v)                                                                            \
	do {                                                                                       \
		asm volatile("" : : : "memory");                                                   \
		*(volatile __typeof__(*(p)) *)(p) = (v);                                           \
	} while (0)
#else
#define k_release(p, v) __sync_lock_test_and_set(p, v)
#endif

static __always_inline struct gt_bpf_levels *levels_here(void)
{
	uint32_t zero = 0;

	return bpf_map_lookup_elem(&levels, &zero);
}

static __always_inline bool level_take(struct gt_bpf_level *l)
{
	return !__sync_lock_test_and_set(&l->busy, 1);
}

/* The time of the event that is reported. Who has a level may stand still before its record is in
 * the ring; the daemon sees here that an event of this time is still to come. */
static __always_inline uint64_t level_time(struct gt_bpf_level *l)
{
	uint64_t ts;

	*(volatile uint64_t *)&l->since = GT_BPF_READING;
	ts = bpf_ktime_get_ns();
	*(volatile uint64_t *)&l->since = ts;
	return ts;
}

/* The last act of who has taken it: from now on its body may run again, on the same stack. */
static __always_inline void level_release(struct gt_bpf_level *l)
{
	l->of = 0;
	*(volatile uint64_t *)&l->since = 0;
	k_release(&l->busy, 0);
}

#endif
