/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A call that a thread is inside of, and where such calls are kept. For ioctl.bpf.c alone.
 */
#ifndef GT_BPF_IOCTL_CALL_H
#define GT_BPF_IOCTL_CALL_H

#include "fd.h"
#include "ioctl.h"
#include "ring.h"

/**
 * struct call - an ioctl that a thread is inside of
 * @ts: since when; 0: of none
 * @file: the opened device; @op: what an amdgpu USERQ is to do, which its result overwrites; 0: it
 *	could not be read
 */
struct call {
	uint64_t ts, file, arg;
	uint32_t cmd, op;
	uint16_t slot, driver;
};

/* Of each thread, and gone with it: no table that those who wait could fill for all others */
struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct call);
} gt_calls SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, GT_IOCTL_DEVICES);
	__type(key, struct gt_ioctl_key);
	__type(value, struct gt_ioctl_device);
} gt_devices SEC(".maps");

/* 1 << enum gt_ioctl_what, by driver << 8 | number of the command */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, GT_IOCTL_DRIVERS << 8);
	__type(key, uint32_t);
	__type(value, uint32_t);
} gt_what SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct gt_ioctl_config);
} gt_config SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct gt_ioctl_count);
} gt_ioctl_counts SEC(".maps");

#define COUNT(what)                                                                                \
	do {                                                                                       \
		uint32_t zero_ = 0;                                                                \
		struct gt_ioctl_count *n_ = bpf_map_lookup_elem(&gt_ioctl_counts, &zero_);         \
                                                                                                   \
		if (n_)                                                                            \
			gt_add(n_->what, 1);                                                       \
	} while (0)

/* A record of the calling thread, about device @slot */
static __always_inline union gt_record *record(const struct call *c, uint8_t type)
{
	union gt_record *r = gt_reserve(GT_BPF_IOCTL, type);
	uint64_t id = bpf_get_current_pid_tgid();

	if (!r)
		return NULL;
	r->ev.gpu = c->slot;
	r->ev.pid = id >> 32;
	r->ev.tid = (uint32_t)id;
	r->ev.uid = (uint32_t)bpf_get_current_uid_gid();
	return r;
}

#endif
