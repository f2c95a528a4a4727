/* SPDX-License-Identifier: GPL-2.0 */
/* Processes that have something which ends with them. Each object that includes this has its own.
 */
#ifndef GT_BPF_OWNER_H
#define GT_BPF_OWNER_H

#include "kernel.h"
#include "shared.h"

/*
 * Each with a number that a later one of its pid has not. The daemon looks here for who is still
 * there, and may enter others.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, GT_BPF_OWNERS);
	__type(key, uint32_t);
	__type(value, struct gt_bpf_owner);
} gt_owners SEC(".maps");

/* How many of them users have, so that one user's do not keep out everybody else's */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, GT_BPF_SHARES);
	__type(key, uint32_t);
	__type(value, uint32_t);
} gt_shares SEC(".maps");

static __always_inline uint32_t *gt_share_of(uint32_t uid)
{
	uint32_t i = uid % GT_BPF_SHARES;

	return uid == GT_NONE32 ? NULL : bpf_map_lookup_elem(&gt_shares, &i);
}

/** gt_owner() - the number of the process that runs now; 0: it is none */
static __always_inline uint32_t gt_owner(void)
{
	uint32_t pid = bpf_get_current_pid_tgid() >> 32;
	struct gt_bpf_owner *o = bpf_map_lookup_elem(&gt_owners, &pid);

	return o ? o->gen : 0;
}

/** gt_owner_made() - the same, and it is one from now on; 0: there is no room */
static __always_inline uint32_t gt_owner_made(void)
{
	uint32_t pid = bpf_get_current_pid_tgid() >> 32, gen = gt_owner(), *share;
	struct gt_bpf_owner fresh;

	if (gen)
		return gen;
	fresh.gen = bpf_get_prandom_u32() | 1;
	fresh.uid = (uint32_t)bpf_get_current_uid_gid();
	share = gt_share_of(fresh.uid);
	if (share && (!fresh.uid || *share < GT_BPF_USER_OWNERS) &&
	    !bpf_map_update_elem(&gt_owners, &pid, &fresh, BPF_NOEXIST)) {
		__sync_fetch_and_add(share, 1);
		return fresh.gen;
	}
	return gt_owner(); /* another thread may have been faster */
}

/** gt_owner_ended() - the number of an owner with a last thread that ends now, which is none from now on;
 * 0: else */
static __always_inline uint32_t gt_owner_ended(void)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	uint32_t pid = bpf_get_current_pid_tgid() >> 32, gen, *share;
	struct gt_bpf_owner *o = bpf_map_lookup_elem(&gt_owners, &pid);

	if (!o || BPF_CORE_READ(task, signal, live.counter))
		return 0;
	gen = o->gen;
	share = gt_share_of(o->uid);
	if (bpf_map_delete_elem(&gt_owners, &pid)) /* another thread of it was the last, too */
		return 0;
	if (share)
		__sync_fetch_and_add(share, -1);
	return gen;
}

#endif
