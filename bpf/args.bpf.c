/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A tracepoint's arguments, before any record is made of them. Such a program is not kept from
 * running while another one does, only while the same one does: so this one is loaded once for each
 * tracepoint, which a variable tells, as before Linux 6.10 such programs have no cookie. It hands
 * over to gt_args of tracepoint.bpf.c, which is large and there once.
 */
#include "ring.h"
#include "handed.h"

char LICENSE[] SEC("license") = "GPL";

/* More arguments than the tracepoint has must not be read. */
const volatile uint32_t gt_index = 0, gt_nargs = 0;

/* One that nobody uses */
static __always_inline struct gt_bpf_handed *take(void)
{
#pragma unroll /* Linux 6.12 takes it for a loop without end else: the number is in memory */
	for (uint32_t level = 0; level < GT_BPF_LEVELS; level++) {
		uint32_t key = level;
		struct gt_bpf_handed *h = bpf_map_lookup_elem(&handed, &key);

		if (h && !__sync_lock_test_and_set(&h->busy, 1))
			return h;
	}
	return NULL;
}

SEC("raw_tracepoint")
int gt_hand_over(struct bpf_raw_tracepoint_args *ctx)
{
	struct gt_bpf_handed *h = gt_paused() ? NULL : take();
	struct gt_bpf_count *n;

	if (h) {
		h->index = gt_index;
#pragma unroll
		for (unsigned int i = 0; i < GT_BPF_ARGS; i++)
			h->args.arg[i] = gt_nargs > i ? ctx->args[i] : 0;
		h->task = bpf_get_current_task();
		asm volatile("" : : : "memory");
		bpf_tail_call_static(ctx, &gt_next, 0);
		h->task = 0; /* it is not there */
		__sync_lock_test_and_set(&h->busy, 0);
	}
	n = gt_paused() ? NULL : gt_counts(GT_BPF_TRACEPOINT);
	if (n)
		gt_missed(n, bpf_ktime_get_ns());
	return 0;
}
