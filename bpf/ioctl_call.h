/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A call that a thread is inside of, where such calls are kept, and the queues that they make and
 * end. For ioctl.bpf.c alone.
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

/* What becomes of queue @q: an event of @type, and if @told what it is, which @d says. */
static __always_inline void queue_event(const struct call *c, uint64_t ts, uint8_t type,
					const struct gt_queue_args *q)
{
	union gt_record *r;

	if (q->told) {
		r = record(c, ts, GT_QUEUE);
		if (!r)
			return;
		/* the record's own layout: what record() wrote is elsewhere in it */
		__builtin_memset(&r->queue.ctx, 0xff,
				 sizeof(*r) - offsetof(struct gt_queue_desc, ctx));
		r->queue.ctx = q->owner;
		r->queue.queue = q->id;
		r->queue.pid = bpf_get_current_pid_tgid() >> 32;
		r->queue.uid = (uint32_t)bpf_get_current_uid_gid();
		r->queue.runlist = q->kfd_id;
		r->queue.kind = q->kind;
		r->queue.engine = q->engine;
		r->queue.priority = q->priority;
		r->queue.size = q->size;
		gt_submit(r, GT_BPF_IOCTL);
	}
	r = record(c, ts, type);
	if (!r)
		return;
	r->ev.ctx = q->owner;
	r->ev.queue = q->id;
	gt_submit(r, GT_BPF_IOCTL);
}

#define READ(to, c)                                                                                \
	if (bpf_probe_read_user(&(to), sizeof(to), (void *)(c)->arg)) {                            \
		COUNT(unreadable);                                                                 \
		return;                                                                            \
	}

static __always_inline uint16_t kfd_kind(uint32_t type)
{
	switch (type) {
	case GT_KFD_COMPUTE:
	case GT_KFD_COMPUTE_AQL:
		return GT_QUEUE_COMPUTE;
	case GT_KFD_SDMA:
	case GT_KFD_SDMA_XGMI:
	case GT_KFD_SDMA_BY_ENG_ID:
		return GT_QUEUE_SDMA;
	default:
		return GT_NONE16;
	}
}

static __always_inline void kfd_create(const struct call *c, uint64_t ts, struct gt_queue_args *q)
{
	struct gt_kfd_create_queue a;

	READ(a, c);
	q->id = a.queue_id;
	q->told = true;
	q->kfd_id = a.gpu_id;
	q->kind = kfd_kind(a.queue_type);
	q->engine = q->kind == GT_QUEUE_COMPUTE ? GT_ENGINE_COMPUTE
		    : q->kind == GT_QUEUE_SDMA	? GT_ENGINE_COPY
						: GT_NONE16;
	q->priority = a.queue_priority;
	q->size = a.ring_size;
	queue_event(c, ts, GT_QUEUE_CREATE, q);
}

static __always_inline void kfd_update(const struct call *c, uint64_t ts, struct gt_queue_args *q)
{
	struct gt_kfd_update_queue a;

	READ(a, c);
	q->id = a.queue_id;
	q->told = true;
	q->priority = a.queue_priority;
	q->size = a.ring_size;
	/* KFD takes a queue with no share, or no ring, from the hardware */
	queue_event(c, ts,
		    a.queue_percentage && a.ring_base_address && a.ring_size ? GT_QUEUE_SCHEDULE
									     : GT_QUEUE_UNMAP,
		    q);
}

static __always_inline void kfd_destroy(const struct call *c, uint64_t ts, struct gt_queue_args *q)
{
	struct gt_kfd_destroy_queue a;

	READ(a, c);
	q->id = a.queue_id;
	queue_event(c, ts, GT_QUEUE_DESTROY, q);
}

static __always_inline void userq(const struct call *c, uint64_t ts, struct gt_queue_args *q)
{
	struct gt_amdgpu_userq a;

	READ(a, c);
	q->owner = c->file; /* ids are of an opening of the device */
	if (c->op == GT_AMDGPU_USERQ_CREATE) {
		q->id = a.op; /* where the result is */
		q->told = true;
		q->kind = GT_QUEUE_USER;
		q->engine = a.ip_type == GT_AMDGPU_IP_GFX	? GT_ENGINE_GRAPHICS
			    : a.ip_type == GT_AMDGPU_IP_COMPUTE ? GT_ENGINE_COMPUTE
			    : a.ip_type == GT_AMDGPU_IP_DMA	? GT_ENGINE_COPY
								: GT_NONE16;
		q->priority = a.flags & GT_AMDGPU_USERQ_PRIORITY;
		q->size = a.queue_size;
		queue_event(c, ts, GT_QUEUE_CREATE, q);
	} else if (c->op == GT_AMDGPU_USERQ_FREE) {
		q->id = a.queue_id;
		queue_event(c, ts, GT_QUEUE_DESTROY, q);
	}
}

/* An ioctl that succeeded: does it make a queue, or end one? */
static __always_inline void queues(const struct call *c, uint64_t ts)
{
	struct gt_queue_args q;
	uint32_t nr = GT_IOCTL_NR(c->cmd);

	__builtin_memset(&q, 0xff, sizeof(q));
	q.told = false;
	q.owner = bpf_get_current_pid_tgid() >> 32; /* KFD's are of a process */
	if (c->driver == GT_IOCTL_BY_KFD && nr == GT_KFD_CREATE_QUEUE)
		kfd_create(c, ts, &q);
	else if (c->driver == GT_IOCTL_BY_KFD && nr == GT_KFD_DESTROY_QUEUE)
		kfd_destroy(c, ts, &q);
	else if (c->driver == GT_IOCTL_BY_KFD && nr == GT_KFD_UPDATE_QUEUE)
		kfd_update(c, ts, &q);
	else if (c->driver == GT_IOCTL_BY_AMDGPU && nr == GT_AMDGPU_USERQ)
		userq(c, ts, &q);
}

#endif
