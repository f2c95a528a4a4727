/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Queues that calls make, change and end, and the end of who has some. For ioctl.bpf.c alone.
 *
 * What is read is the caller's memory: it can say what it likes, of queues of its own.
 */
#ifndef GT_BPF_IOCTL_QUEUE_H
#define GT_BPF_IOCTL_QUEUE_H

#include <linux/ptrace.h>

#include "ioctl_call.h"
#include "owner.h"
#include <bpf/bpf_tracing.h>

/* Opened devices that have queues: user queues are a file's, and end with it */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, GT_BPF_OWNERS);
	__type(key, uint64_t);
	__type(value, uint32_t);
} gt_files SEC(".maps");

static __always_inline uint32_t made_owner(void)
{
	uint32_t gen = gt_owner_made();

	if (!gen)
		COUNT(owners_full);
	return gen;
}

static __always_inline void emit_queue(struct gt_bpf_queue *q, uint32_t gen)
{
	struct gt_bpf_queue *r = (void *)gt_reserve(GT_BPF_IOCTL, GT_QUEUE);
	uint64_t id = bpf_get_current_pid_tgid();

	if (!r)
		return;
	q->ts = r->ts;
	q->type = r->type;
	q->flags = r->flags;
	q->cpu = r->cpu;
	q->pid = id >> 32;
	q->tid = (uint32_t)id;
	q->uid = (uint32_t)bpf_get_current_uid_gid();
	q->gen = gen;
	*r = *q;
	gt_submit(r, gt_counts(GT_BPF_IOCTL));
}

#define READ(to, c)                                                                                \
	if (bpf_probe_read_user(&(to), sizeof(to), (void *)(c)->arg)) {                            \
		COUNT(unreadable);                                                                 \
		return;                                                                            \
	}

static __always_inline uint8_t kfd_kind(uint32_t type)
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
		return UINT8_MAX;
	}
}

static __always_inline void kfd_create(const struct call *c, struct gt_bpf_queue *q)
{
	struct gt_kfd_create_queue a;

	READ(a, c);
	q->what = GT_IQ_CREATE;
	q->id = a.queue_id;
	q->kfd_id = a.gpu_id;
	q->kind = kfd_kind(a.queue_type);
	q->engine = q->kind == GT_QUEUE_COMPUTE ? GT_ENGINE_COMPUTE
		    : q->kind == GT_QUEUE_SDMA	? GT_ENGINE_COPY
						: UINT8_MAX;
	q->priority = a.queue_priority;
	q->base = a.ring_base_address;
	q->size = a.ring_size;
	emit_queue(q, made_owner());
}

static __always_inline void kfd_update(const struct call *c, struct gt_bpf_queue *q)
{
	struct gt_kfd_update_queue a;

	READ(a, c);
	q->what = GT_IQ_UPDATE;
	q->id = a.queue_id;
	q->priority = a.queue_priority;
	q->size = a.ring_size;
	/* KFD takes a queue with no share, or no ring, from the hardware */
	q->runs = (a.queue_percentage & GT_KFD_SHARE) && a.ring_base_address && a.ring_size;
	emit_queue(q, gt_owner());
}

static __always_inline void kfd_destroy(const struct call *c, struct gt_bpf_queue *q)
{
	struct gt_kfd_destroy_queue a;

	READ(a, c);
	q->what = GT_IQ_DESTROY;
	q->id = a.queue_id;
	emit_queue(q, gt_owner());
}

static __always_inline void userq(const struct call *c, struct gt_bpf_queue *q)
{
	struct gt_amdgpu_userq a;
	uint32_t one = 1;

	if (!c->op) /* no call with this one succeeds: it could not be read */
		COUNT(unreadable);
	if (c->op != GT_AMDGPU_USERQ_CREATE && c->op != GT_AMDGPU_USERQ_FREE)
		return;
	READ(a, c);
	q->owner = c->file; /* ids are of an opening of the device */
	if (c->op == GT_AMDGPU_USERQ_FREE) {
		q->what = GT_IQ_DESTROY;
		q->id = a.queue_id;
		emit_queue(q, gt_owner());
		return;
	}
	bpf_map_update_elem(&gt_files, &c->file, &one, BPF_ANY);
	q->what = GT_IQ_CREATE;
	q->id = a.op; /* where the result is */
	q->kind = GT_QUEUE_USER;
	q->engine = a.ip_type == GT_AMDGPU_IP_GFX	? GT_ENGINE_GRAPHICS
		    : a.ip_type == GT_AMDGPU_IP_COMPUTE ? GT_ENGINE_COMPUTE
		    : a.ip_type == GT_AMDGPU_IP_DMA	? GT_ENGINE_COPY
							: UINT8_MAX;
	q->priority = a.flags & GT_AMDGPU_USERQ_PRIORITY;
	q->size = a.queue_size < GT_NONE32 ? (uint32_t)a.queue_size : GT_NONE32;
	emit_queue(q, made_owner());
}

/* An ioctl that succeeded: does it make a queue, or end one? */
static __always_inline void queues(const struct call *c)
{
	uint32_t nr = GT_IOCTL_NR(c->cmd);
	struct gt_bpf_queue q;

	__builtin_memset(&q, 0xff, sizeof(q));
	q.device = c->slot;
	q.owner = bpf_get_current_pid_tgid() >> 32; /* KFD's are of a process */
	if (c->driver == GT_IOCTL_BY_KFD && nr == GT_KFD_CREATE_QUEUE)
		kfd_create(c, &q);
	else if (c->driver == GT_IOCTL_BY_KFD && nr == GT_KFD_DESTROY_QUEUE)
		kfd_destroy(c, &q);
	else if (c->driver == GT_IOCTL_BY_KFD && nr == GT_KFD_UPDATE_QUEUE)
		kfd_update(c, &q);
	else if (c->driver == GT_IOCTL_BY_AMDGPU && nr == GT_AMDGPU_USERQ)
		userq(c, &q);
}

static __always_inline void emit_end(uint16_t what, uint64_t of, uint32_t gen)
{
	struct gt_bpf_queue q;

	__builtin_memset(&q, 0xff, sizeof(q));
	q.what = what;
	q.owner = of;
	emit_queue(&q, gen);
}

static __always_inline int file_ends(struct file *file)
{
	uint64_t key = (uint64_t)file;

	if (bpf_map_lookup_elem(&gt_files, &key) && !bpf_map_delete_elem(&gt_files, &key))
		emit_end(GT_IQ_CLOSE, key, 0);
	return 0;
}

/* drm_release(inode, file) */
SEC("kprobe")
int gt_ioctl_release(struct pt_regs *ctx)
{
	return file_ends((void *)PT_REGS_PARM2(ctx));
}

/* Where that cannot be probed */
SEC("tracepoint/syscalls/sys_enter_close")
int gt_ioctl_close(struct sys_enter *e)
{
	struct file *file = gt_file_of((uint32_t)e->args[0]);

	return file && gt_last_reference(file) ? file_ends(file) : 0;
}

/* KFD ends a process's queues with its memory (an mmu notifier), which execve() puts aside. */
SEC("tracepoint/sched/sched_process_exec")
int gt_ioctl_exec(void *ctx)
{
	uint32_t gen = gt_owner();

	if (gen)
		emit_end(GT_IQ_EXEC, GT_NONE64, gen);
	return 0;
}

/* For each thread that ends; the last counts */
SEC("tracepoint/sched/sched_process_exit")
int gt_ioctl_exit_process(void *ctx)
{
	uint32_t gen = gt_owner_ended();

	if (gen)
		emit_end(GT_IQ_EXIT, GT_NONE64, gen);
	return 0;
}

#endif
