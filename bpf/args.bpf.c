/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A tracepoint's arguments, before any record is made of them. Both programs here are entries (see
 * level.h) to gt_args_N of tracepoint.bpf.c, which are large and there once: these are loaded for
 * each tracepoint, which a variable names, as before Linux 6.10 such programs have no cookie.
 *
 * The kernel skips a raw tracepoint's program while the same one runs on that CPU: in an interrupt,
 * or where tracepoints are preemptible in another task. The second entry runs behind the first, for
 * the same event (kernel/tracepoint.c, func_add()), and reports it if the first one did not: that
 * one leaves a mark for each event that it reports, by where on the stack its arguments are, which
 * the second removes (mark.h). An event that finds no place for its mark is left to the second.
 */
#include "ring.h"
#include "level.h"
#include "mark.h"

char LICENSE[] SEC("license") = "GPL";

GT_BODIES(gt_next, GT_BPF_LEVELS);

/* More arguments than the tracepoint has must not be read. */
const volatile uint32_t gt_index = 0, gt_nargs = 0;

/* There is a second program: marks are left. Set before that is attached, and never taken back. */
uint32_t gt_again;

GT_MARKS_MAP;

static __always_inline uint64_t which(void *ctx, const struct gt_bpf_marks *m)
{
	return gt_mark_which((uint64_t)ctx - (uint64_t)m, gt_index);
}

static __always_inline void fill(struct gt_bpf_level *l, struct bpf_raw_tracepoint_args *ctx)
{
#pragma unroll
	for (unsigned int i = 0; i < GT_BPF_ARGS; i++)
		l->args.arg[i] = gt_nargs > i ? ctx->args[i] : 0;
	asm volatile("" : : : "memory");
}

static __always_inline void not_reported(void)
{
	struct gt_bpf_count *n = gt_counts(gt_bpf_counts_of(GT_BPF_TRACEPOINT, GT_BPF_LEVELS));

	if (n)
		gt_missed(n, bpf_ktime_get_ns());
}

/* The jump returns only if there is no such body. */
#define HAND_OVER(n)                                                                               \
	if (level_take(&all->level[n])) {                                                          \
		all->level[n].of = gt_index + 1;                                                   \
		if (gt_paused()) {                                                                 \
			level_release(&all->level[n]);                                             \
			return 0;                                                                  \
		}                                                                                  \
		fill(&all->level[n], ctx);                                                         \
		bpf_tail_call_static(ctx, &gt_next, n);                                            \
		level_release(&all->level[n]);                                                     \
		goto missed;                                                                       \
	}

static __always_inline int hand_over(struct bpf_raw_tracepoint_args *ctx, struct gt_bpf_levels *all)
{
	GT_EACH_LEVEL(HAND_OVER)
missed:
	if (!gt_paused())
		not_reported();
	return 0;
}

static __always_inline struct gt_bpf_marks *all_marks(void)
{
	uint32_t zero = 0;

	return bpf_map_lookup_elem(&marks, &zero);
}

/* Rule: an entry */
SEC("raw_tracepoint")
int gt_hand_over(struct bpf_raw_tracepoint_args *ctx)
{
	struct gt_bpf_levels *all = levels_here();
	struct gt_bpf_marks *m = all_marks();

	if (!all || !m)
		return 0;
	if (*(volatile uint32_t *)&gt_again && !gt_mark(m, which(ctx, m), bpf_ktime_get_ns())) {
		__sync_fetch_and_add(&all->left, 1);
		return 0;
	}
	return hand_over(ctx, all);
}

/* Rule: an entry */
SEC("raw_tracepoint")
int gt_hand_over_again(struct bpf_raw_tracepoint_args *ctx)
{
	struct gt_bpf_levels *all = levels_here();
	struct gt_bpf_marks *m = all_marks();

	if (!all || !m || gt_unmark(m, which(ctx, m)))
		return 0;
	__sync_fetch_and_add(&all->caught, 1);
	return hand_over(ctx, all);
}
