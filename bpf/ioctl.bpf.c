/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ioctls of processes on GPU devices: begin and end; and the queues that they make and end.
 *
 * The programs are at the drivers' own functions where the kernel allows that (fentry, or kprobes),
 * so that no other call costs anything; else at the tracepoints of the system call, which every
 * ioctl of the machine passes. backend/bpf/ioctl_attach.c chooses for each kind of device, and
 * gt_ioctl_config.functions says so, so that never two report one call.
 *
 * At a tracepoint nearly all calls are of no interest: the command's type shows it, before anything is
 * looked up; at the end, that nothing was remembered of this thread.
 */
#include <linux/errno.h>
#include <linux/ptrace.h>

#include "common.h"
#include "ioctl.h"
#include <bpf/bpf_tracing.h>

/* The ioctl that a thread is in, and where such calls are kept */

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

/*
 * Queues that ioctls create, change and destroy, and the end of processes that have queues.
 *
 * What is read is the caller's memory: it can say what it likes, of queues of its own.
 */

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

char LICENSE[] SEC("license") = "GPL";

static __always_inline uint32_t kind_of(uint32_t type)
{
	return type == 'd'   ? GT_IOCTL_DRM
	       : type == 'K' ? GT_IOCTL_KFD
	       : type == 'F' ? GT_IOCTL_NVIDIA
			     : GT_IOCTL_KINDS;
}

/* Of DRM and NVIDIA's driver, Documentation/admin-guide/devices.txt; KFD's is not fixed. */
static __always_inline bool is_major(uint32_t kind, uint32_t rdev)
{
	return (kind == GT_IOCTL_DRM && rdev >> 20 == 226) ||
	       (kind == GT_IOCTL_NVIDIA && rdev >> 20 == GT_NVIDIA_MAJOR);
}

/* Is the device @rdev one of the daemon's? */
static __always_inline bool is_ours(uint32_t kind, uint32_t rdev, struct call *c)
{
	struct gt_ioctl_key key = { .kind = kind,
				    .rdev = kind == GT_IOCTL_NVIDIA ? rdev >> 20 << 20 : rdev };
	struct gt_ioctl_device *dev = bpf_map_lookup_elem(&gt_devices, &key);
	struct gt_bpf_count *n;

	if (dev) {
		c->slot = dev->slot;
		c->driver = dev->driver;
		return true;
	}
	n = gt_counts(GT_BPF_IOCTL);
	if (n)
		gt_add(n->seen, 1);
	if (is_major(kind, key.rdev))
		COUNT(strange);
	else if (n)
		gt_add(n->other, 1);
	return false;
}

/* May the command be wanted, as far as the kind of device shows? */
static __always_inline bool may_matter(const struct gt_ioctl_config *cfg, uint32_t kind,
				       uint32_t cmd)
{
	uint32_t nr = GT_IOCTL_NR(cmd), word = (kind << 2 | nr >> 6) & 15;

	if (word < GT_IOCTL_KINDS * 4 && (cfg->any[word] >> (nr & 63) & 1))
		return true;
	COUNT(unwanted);
	return false;
}

static __always_inline bool is_wanted(const struct gt_ioctl_config *cfg, const struct call *c)
{
	uint32_t i = ((uint32_t)c->driver << 8 | GT_IOCTL_NR(c->cmd)) % (GT_IOCTL_DRIVERS << 8);
	uint32_t *what = bpf_map_lookup_elem(&gt_what, &i);
	struct gt_bpf_count *n;

	if (!what || !(*what & cfg->wanted)) {
		COUNT(unwanted);
		return false;
	}
	n = gt_counts(GT_BPF_IOCTL);
	if (n)
		gt_add(n->seen, 1);
	return true;
}

/*
 * The running thread begins a call: the end of its last one may not have been reported, as a kretprobe
 * has room for so many calls at once, and a program that interrupts itself is left out. This one's
 * end, which may be of no interest, is not that one's.
 */
static __always_inline void forget_last(void)
{
	struct call *own = bpf_task_storage_get(&gt_calls, bpf_get_current_task_btf(), NULL, 0);

	if (!own || !own->ts)
		return;
	own->ts = 0;
	COUNT(unended);
}

/* Remembers the call. At the tracepoints the last one's end is missing if they were away. */
static __always_inline bool remember(const struct call *c)
{
	struct call *own = bpf_task_storage_get(&gt_calls, bpf_get_current_task_btf(), NULL,
						BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (!own) {
		COUNT(full);
		return false;
	}
	if (own->ts)
		COUNT(unended);
	*own = *c;
	return true;
}

/* The running thread calls the device @rdev, opened as c->file, with c->cmd and c->arg. */
static __always_inline void enter(const struct gt_ioctl_config *cfg, uint32_t kind, uint32_t rdev,
				  struct call *c)
{
	union gt_record *r;

	if (!is_ours(kind, rdev, c) || !is_wanted(cfg, c))
		return;
	if (c->driver == GT_IOCTL_BY_AMDGPU && GT_IOCTL_NR(c->cmd) == GT_AMDGPU_USERQ)
		bpf_probe_read_user(&c->op, sizeof(c->op), (void *)c->arg);
	r = record(c, GT_IOCTL_ENTER);
	c->ts = gt_time_of(r);
	if (!remember(c)) {
		if (r)
			gt_discard(r, gt_counts(GT_BPF_IOCTL));
		return;
	}
	if (!r)
		return;
	r->ev.value = c->cmd;
	gt_submit(r, gt_counts(GT_BPF_IOCTL));
}

/* What the running thread was inside of has come back with @ret. */
static __always_inline int leave(int64_t ret)
{
	struct call *own = bpf_task_storage_get(&gt_calls, bpf_get_current_task_btf(), NULL, 0), c;
	union gt_record *r;

	if (!own || !own->ts)
		return 0;
	c = *own;
	own->ts = 0;
	r = record(&c, GT_IOCTL_EXIT);
	if (r) {
		r->ev.value = (uint64_t)ret;
		r->ev.ref = r->ev.ts - c.ts;
		gt_submit(r, gt_counts(GT_BPF_IOCTL));
	}
	if (!ret)
		queues(&c);
	return 0;
}

static __always_inline struct gt_ioctl_config *config(void)
{
	uint32_t zero = 0;

	return bpf_map_lookup_elem(&gt_config, &zero);
}

static __always_inline void at_enter(struct sys_enter *e)
{
	struct call c = { .cmd = (uint32_t)e->args[1], .arg = e->args[2] };
	uint32_t kind = kind_of(GT_IOCTL_TYPE(c.cmd));
	struct gt_ioctl_config *cfg;
	struct file *file;

	cfg = config();
	if (!cfg || (cfg->functions & 1u << kind) || !may_matter(cfg, kind, c.cmd))
		return;
	file = gt_file_of((uint32_t)e->args[0]);
	c.file = (uint64_t)file;
	enter(cfg, kind, gt_rdev_of(file), &c);
}

static __always_inline bool is_known_kind(const struct sys_enter *e)
{
	return kind_of(GT_IOCTL_TYPE((uint32_t)e->args[1])) < GT_IOCTL_KINDS;
}

SEC("tracepoint/syscalls/sys_enter_ioctl")
int gt_ioctl_enter(struct sys_enter *e)
{
	if (is_known_kind(e))
		at_enter(e);
	return 0;
}

SEC("tracepoint/syscalls/sys_exit_ioctl")
int gt_ioctl_exit(struct sys_exit *e)
{
	return leave(e->ret);
}

/* NAME(file, cmd, arg) of a driver. What it is attached to is set when it is loaded. */
SEC("?fentry")
int gt_ioctl_fentry(uint64_t *args)
{
	struct file *file = (void *)args[0];
	struct call c = { .file = args[0], .cmd = (uint32_t)args[1], .arg = args[2] };
	uint32_t kind = kind_of(GT_IOCTL_TYPE(c.cmd));
	struct gt_ioctl_config *cfg = config();

	forget_last();
	if (kind < GT_IOCTL_KINDS && cfg && may_matter(cfg, kind, c.cmd))
		enter(cfg, kind, file->f_inode->i_rdev, &c);
	return 0;
}

SEC("?fexit")
int gt_ioctl_fexit(uint64_t *args)
{
	return leave((int64_t)args[3]);
}

SEC("kprobe")
int gt_ioctl_kprobe(struct pt_regs *ctx)
{
	struct file *file = (void *)PT_REGS_PARM1(ctx);
	struct call c = { .file = (uint64_t)file,
			  .cmd = (uint32_t)PT_REGS_PARM2(ctx),
			  .arg = PT_REGS_PARM3(ctx) };
	uint32_t kind = kind_of(GT_IOCTL_TYPE(c.cmd));
	struct gt_ioctl_config *cfg = config();

	forget_last();
	if (kind < GT_IOCTL_KINDS && cfg && may_matter(cfg, kind, c.cmd))
		enter(cfg, kind, gt_rdev_of(file), &c);
	return 0;
}

SEC("kretprobe")
int gt_ioctl_kretprobe(struct pt_regs *ctx)
{
	return leave((int64_t)PT_REGS_RC(ctx));
}
