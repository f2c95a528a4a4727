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
 * @start: the thread's start: a later thread with its id is not inside
 * @file: the opened device; @op: what an amdgpu USERQ is to do, which its result overwrites
 */
struct call {
	uint64_t ts, start, file, arg;
	uint32_t cmd, op;
	uint16_t slot, driver;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); /* the daemon's choice replaces it */
	__type(key, uint32_t);	/* thread */
	__type(value, struct call);
} gt_calls SEC(".maps");

/* How many threads with this remainder of their id are in gt_calls: an array is looked up at once.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, GT_IOCTL_HINTS);
	__type(key, uint32_t);
	__type(value, uint32_t);
} gt_hints SEC(".maps");

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
			n_->what++;                                                                \
	} while (0)

static __always_inline uint32_t *hint_of(uint32_t tid)
{
	uint32_t i = tid % GT_IOCTL_HINTS;

	return bpf_map_lookup_elem(&gt_hints, &i);
}

static __always_inline uint64_t task_start(void)
{
	struct task_struct *task = (void *)bpf_get_current_task();

	return BPF_CORE_READ(task, start_boottime);
}

/* A record of the calling thread, about device @slot */
static __always_inline union gt_record *record(const struct call *c, uint64_t ts, uint8_t type)
{
	union gt_record *r = gt_reserve(GT_BPF_IOCTL, ts, type);
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
