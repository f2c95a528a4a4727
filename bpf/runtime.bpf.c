/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Calls of GPU runtimes, by probes on functions of their libraries; and who maps such a library, so
 * that the daemon can put probes on one that it does not know yet.
 *
 * One program serves all functions: a probe's cookie says what its function is (shared.h).
 *
 * A call made inside another is part of it, and not reported: hipMemcpy() calls
 * hsa_amd_memory_async_copy(). Each thread's outermost call that has a probe on its return is kept
 * with its stack pointer: what is called deeper in the stack is inside, and one that was left
 * without returning (longjmp) is found out by the next call that is not deeper.
 *
 * The kernel does not keep a program at a uprobe from running twice at once on a CPU, in tasks that
 * preempt each other. Since Linux 6.13 it may give such a program one stack for each CPU, which both
 * would use, but not if each of its functions has less than 64 bytes of stack (rounded up to 16).
 * So they are kept small; tests/lib/bpfstack.py and backend/bpf/runtime.c check it.
 */
#include <linux/ptrace.h>

#include "common.h"
#include <bpf/bpf_tracing.h>

/*
 * What is behind a file that a process has mapped, seen before anything is asked of its file
 * system: an iterator of the daemon's thread, on one process.
 *
 * An overlay maps the file below it: the mapping's inode is that one. What the daemon has opened
 * (O_PATH) must be the file that is mapped, by its dentry: a process can put another in its place
 * at any time.
 */

#define EBUSY	      16
#define USERNS_LEVELS 33 /* kernel/user_namespace.c: as deep as they are nested */

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

/* fs/file_table.c: since Linux 6.8 what an overlay maps keeps the path by which it was opened here
 */
struct backing_file {
	struct file file;
	struct path user_path;
};

/* include/linux/uidgid_types.h */
typedef struct {
	uint32_t val;
} kuid_t;

/* include/linux/user_namespace.h */
struct user_namespace {
	struct user_namespace *parent;
	kuid_t owner;
	int level;
};

/* include/linux/cred.h */
struct cred {
	kuid_t uid;
	struct user_namespace *user_ns;
};

/* include/linux/kernfs.h, cgroup-defs.h */
struct kernfs_node {
	uint64_t id;
};

struct cgroup {
	struct kernfs_node *kn;
};

struct css_set {
	struct cgroup *dfl_cgrp;
};

struct task_struct___check {
	const struct cred *real_cred;
	struct css_set *cgroups;
};

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

#pragma clang attribute pop

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct gt_rt_check);
} check SEC(".maps");

struct behind {
	struct dentry *asked;
	struct inode *inode;
};

/*
 * Is @file what was opened as @asked? Which files are a struct backing_file is a bit of f_mode that
 * has moved (Linux 6.14); behind others of the same memory lies no dentry.
 */
static __always_inline bool is_opened_as(struct file *file, struct dentry *asked)
{
	struct backing_file *b = (void *)file;

	return BPF_CORE_READ(file, f_path.dentry) == asked ||
	       (bpf_core_field_exists(b->user_path) && BPF_CORE_READ(b, user_path.dentry) == asked);
}

static long look_behind(struct task_struct *task, struct vm_area_struct *vma, void *out)
{
	struct file *file = BPF_CORE_READ(vma, vm_file);
	struct behind *b = out;

	if (file && b->asked && is_opened_as(file, b->asked))
		b->inode = BPF_CORE_READ(file, f_inode);
	return 0;
}

/*
 * Who answers for what a process has mapped: the user who made the user namespace that it is in, so
 * that subordinate ids are their user; for root its control group, as containers' root is root.
 */
static __always_inline uint64_t account_of(struct task_struct *t)
{
	struct task_struct___check *task = (void *)t;
	struct user_namespace *ns = BPF_CORE_READ(task, real_cred, user_ns);
	uint32_t uid = BPF_CORE_READ(task, real_cred, uid.val);

	for (int i = 0; i < USERNS_LEVELS && BPF_CORE_READ(ns, level) > 1; i++)
		ns = BPF_CORE_READ(ns, parent);
	if (BPF_CORE_READ(ns, level))
		uid = BPF_CORE_READ(ns, owner.val);
	return uid ? uid : GT_RT_BY_CGROUP | BPF_CORE_READ(task, cgroups, dfl_cgrp, kn, id);
}

static __always_inline void look_at(struct task_struct *task, struct gt_rt_check *c)
{
	struct file *file = c->fd < 0 ? NULL : gt_file_at((uint32_t)c->fd);
	struct inode *top = file ? BPF_CORE_READ(file, f_inode) : NULL, *inode;
	struct behind b = { .inode = c->addr ? NULL : top };
	long ret = 0;

	if (file)
		b.asked = BPF_CORE_READ(file, f_path.dentry);
	/* waits for nobody: not for who changes the mappings, nor who is about to */
	if (!b.inode)
		ret = bpf_find_vma(task, c->addr, look_behind, &b, 0);
	inode = b.inode;
	c->state = ret == -EBUSY ? GT_RT_BUSY : inode ? GT_RT_KNOWN : GT_RT_UNKNOWN;
	c->inode = (uint64_t)inode;
	c->magic = BPF_CORE_READ(inode, i_sb, s_magic);
	c->stacked = BPF_CORE_READ(top, i_sb) != BPF_CORE_READ(inode, i_sb);
	c->account = account_of(task);
	c->by_user = BPF_CORE_READ(top, i_sb, s_user_ns, level) != 0;
}

SEC("iter/task")
int gt_rt_look(struct bpf_iter__task *it)
{
	struct task_struct *task = it->task;
	uint32_t zero = 0;
	struct gt_rt_check *c = bpf_map_lookup_elem(&check, &zero);

	if (task && c)
		look_at(task, c);
	return 0;
}

#define PROT_EXEC     4
#define MAP_ANONYMOUS 0x20

/* Where the stack pointer is when a function has returned, above what it was when it was entered.
 */
#if defined(__x86_64__)
#define RETURN_ADDRESS 8
#define REGS_ARGS      6
#else
#define RETURN_ADDRESS 0
#define REGS_ARGS      8
#endif

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

/* kernel/events/uprobes.c: where functions that have a probe on their return return to */
struct xol_area {
	unsigned long vaddr;
};

/* include/linux/uprobes.h, mm_types.h */
struct uprobes_state {
	struct xol_area *xol_area;
};

struct mm_struct {
	struct uprobes_state uprobes_state;
};

#pragma clang attribute pop

/* of a thread; @mapping: it is inside mmap(2) with a file that may be a library */
struct call {
	uint64_t cookie; /* 0: none */
	uint32_t serial; /* of its slot */
	uint64_t sp;
	uint64_t ts, ctx, bytes;
	uint64_t mapping;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct call);
} inside SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, GT_RT_SLOTS);
	__type(key, uint32_t);
	__type(value, struct gt_rt_slot);
} slots SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096); /* the daemon makes it a page */
} mapped SEC(".maps");

/* Mappings that could not be reported: the daemon then looks at all processes. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, uint64_t);
} unreported SEC(".maps");

char LICENSE[] SEC("license") = "GPL";

static __always_inline struct gt_rt_slot *slot_of(uint64_t cookie)
{
	uint32_t slot = GT_RT_SLOT(cookie);

	return bpf_map_lookup_elem(&slots, &slot);
}

/* Word @n of the arguments, from 1; GT_NONE64: there is none. */
static __noinline uint64_t word(struct pt_regs *ctx, uint32_t n)
{
	uint64_t v;

	switch (n) {
	case 0:
		return GT_NONE64;
	case 1:
		return PT_REGS_PARM1(ctx);
	case 2:
		return PT_REGS_PARM2(ctx);
	case 3:
		return PT_REGS_PARM3(ctx);
	case 4:
		return PT_REGS_PARM4(ctx);
	case 5:
		return PT_REGS_PARM5(ctx);
#if defined(__x86_64__)
	case 6:
		return ctx->r9;
#else
	case 6:
		return __PT_REGS_CAST(ctx)->regs[5];
	case 7:
		return __PT_REGS_CAST(ctx)->regs[6];
	case 8:
		return __PT_REGS_CAST(ctx)->regs[7];
#endif
	}
	if (bpf_probe_read_user(
		    &v, sizeof(v),
		    (void *)(PT_REGS_SP(ctx) + RETURN_ADDRESS + (n - REGS_ARGS - 1) * 8)))
		return GT_NONE64;
	return v;
}

static __noinline uint64_t bytes_of(struct pt_regs *ctx, uint64_t cookie)
{
	uint64_t v = word(ctx, GT_RT_BYTES(cookie)), times;

	if (GT_RT_TIMES(cookie)) {
		times = word(ctx, GT_RT_TIMES(cookie));
		v = !times || v <= GT_RT_MAX_BYTES / times ? v * times : GT_NONE64;
	}
	return v <= GT_RT_MAX_BYTES ? v : GT_NONE64;
}

#if !defined(__x86_64__)
static __always_inline uint64_t back_of(struct pt_regs *ctx)
{
	return PT_REGS_RET(ctx);
}
#endif

/* Sends a record of the calling thread, about stream or queue @handle. @since: when the call that
 * ends now began; 0: it begins now. Returns the record's time. */
static __noinline uint64_t send(uint8_t type, uint64_t handle, uint64_t bytes, uint64_t since)
{
	union gt_record *r = gt_reserve(GT_BPF_RUNTIME, type);
	uint64_t id;

	if (!r)
		return bpf_ktime_get_ns();
	id = bpf_get_current_pid_tgid();
	r->ev.pid = id >> 32;
	r->ev.tid = (uint32_t)id;
	r->ev.uid = (uint32_t)bpf_get_current_uid_gid();
	r->ev.ctx = handle;
	if (type == GT_SYNC_WAIT_EXIT)
		r->ev.value = r->ev.ts - since;
	else
		r->ev.value = bytes;
	if (type == GT_COPY && since)
		r->ev.ref = r->ev.ts - since;
	id = r->ev.ts;
	gt_submit(r, gt_counts(GT_BPF_RUNTIME));
	return id;
}

/*
 * Is the call in @c still under way, as seen from one that begins now? As long as it is,
 * the address that it returns to is the kernel's: on x86 that lies in the stack where the call
 * began, until something else is written there, as after a longjmp(3). On arm64 it is in a register
 * then; there a function that ends by jumping into another leaves it to that.
 */
static __noinline bool is_under_way(struct pt_regs *ctx, const struct call *c)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	uint64_t kernels = BPF_CORE_READ(task, mm, uprobes_state.xol_area, vaddr);
	uint64_t sp = PT_REGS_SP(ctx);

	if (sp > c->sp)
		return false;
#if defined(__x86_64__)
	uint64_t back = 0;

	bpf_probe_read_user(&back, sizeof(back), (void *)c->sp);
	return back == kernels;
#else
	return sp < c->sp || back_of(ctx) == kernels;
#endif
}

static __always_inline bool is_inside(struct pt_regs *ctx, const struct call *c)
{
	struct gt_rt_slot *s;

	if (!c->cookie || !is_under_way(ctx, c))
		return false;
	/* no return was reported after the probes were gone */
	s = slot_of(c->cookie);
	return s && s->on && s->serial == c->serial;
}

/* Is something reported when the call returns? */
static __always_inline bool has_end(uint64_t cookie)
{
	return GT_RT_HOW(cookie) & GT_RT_AT_END || GT_RT_TYPE(cookie) == GT_SYNC_WAIT_ENTER;
}

static __always_inline struct call *call_of_thread(bool make)
{
	return bpf_task_storage_get(&inside, bpf_get_current_task_btf(), NULL,
				    make ? BPF_LOCAL_STORAGE_GET_F_CREATE : 0);
}

/* The call that @cookie describes begins. @c: what is kept of the thread's calls; NULL: nothing is */
static __noinline int begin(struct pt_regs *ctx, uint64_t cookie, struct call *c)
{
	uint64_t handle = word(ctx, GT_RT_CTX(cookie)), bytes = bytes_of(ctx, cookie), ts;

	if (GT_RT_HOW(cookie) & GT_RT_AT_END)
		ts = bpf_ktime_get_ns();
	else
		ts = send(GT_RT_TYPE(cookie), handle, bytes, 0);
	if (c) {
		c->cookie = 0;
		c->ts = ts;
		c->ctx = handle;
		c->bytes = bytes;
		c->mapping = 0;
	}
	return 0;
}

/* The call of @cookie is kept until it returns */
static __always_inline void keep(struct pt_regs *ctx, uint64_t cookie, struct call *c)
{
	struct gt_rt_slot *s = slot_of(cookie);

	if (!s || !(GT_RT_HOW(cookie) & GT_RT_RETURN))
		return;
	c->cookie = cookie;
	c->serial = s->serial;
	c->sp = PT_REGS_SP(ctx);
}

SEC("uprobe")
int gt_rt_enter(struct pt_regs *ctx)
{
	uint64_t cookie = bpf_get_attach_cookie(ctx);
	struct gt_bpf_count *n = gt_counts(GT_BPF_RUNTIME);
	struct gt_rt_slot *s = slot_of(cookie);
	struct call *c;

	if (!n || !s || !s->on)
		return 0;
	gt_add(n->seen, 1);
	c = call_of_thread(GT_RT_HOW(cookie) & GT_RT_RETURN);
	if (c && is_inside(ctx, c)) {
		gt_add(n->other, 1);
		return 0;
	}
	begin(ctx, cookie, c);
	if (c)
		keep(ctx, cookie, c);
	else if (has_end(cookie)) /* no memory, or another program has it locked (before 6.4) */
		gt_missed(n, bpf_ktime_get_ns());
	return 0;
}

/* The handle of a new queue, as it was written at @where; GT_NONE64: none was made. */
static __noinline uint64_t made(struct pt_regs *ctx, uint64_t where)
{
	uint64_t handle;

	if ((uint32_t)PT_REGS_RC(ctx) ||
	    bpf_probe_read_user(&handle, sizeof(handle), (void *)where))
		return GT_NONE64;
	return handle;
}

SEC("uretprobe")
int gt_rt_leave(struct pt_regs *ctx)
{
	struct call *c = call_of_thread(false);
	uint64_t cookie, handle;
	uint8_t type;

	if (!c || !c->cookie || PT_REGS_SP(ctx) != c->sp + RETURN_ADDRESS)
		return 0;
	cookie = c->cookie;
	handle = c->ctx;
	c->cookie = 0;
	if (GT_RT_HOW(cookie) & GT_RT_OUT) {
		handle = made(ctx, handle);
		if (handle == GT_NONE64)
			return 0;
	}
	if (!has_end(cookie))
		return 0;
	type = GT_RT_TYPE(cookie);
	if (type == GT_SYNC_WAIT_ENTER)
		type = GT_SYNC_WAIT_EXIT;
	send(type, handle, c->bytes, c->ts);
	return 0;
}

/* "libhsa-runtime64", "libamdhip64", "libcuda", "libcudart": the daemon looks closer. */
static __always_inline bool is_library(struct file *file)
{
	const unsigned char *name = BPF_CORE_READ(file, f_path.dentry, d_name.name);
	char s[8];

	if (bpf_probe_read_kernel(s, sizeof(s), name) || s[0] != 'l' || s[1] != 'i' || s[2] != 'b')
		return false;
	if (s[3] == 'h')
		return s[4] == 's' && s[5] == 'a' && s[6] == '-' && s[7] == 'r';
	if (s[3] == 'a')
		return s[4] == 'm' && s[5] == 'd' && s[6] == 'h' && s[7] == 'i';
	return s[3] == 'c' && s[4] == 'u' && s[5] == 'd' && s[6] == 'a';
}

static __always_inline void count_unreported(void)
{
	uint32_t zero = 0;
	uint64_t *n = bpf_map_lookup_elem(&unreported, &zero);

	if (n)
		__sync_fetch_and_add(n, 1);
}

SEC("tracepoint/syscalls/sys_enter_mmap")
int gt_rt_mmap(struct sys_enter *e)
{
	struct file *file;
	struct call *c;

	if (!(e->args[2] & PROT_EXEC) || e->args[3] & MAP_ANONYMOUS)
		return 0;
	file = gt_file_of((uint32_t)e->args[4]);
	if (!file || !is_library(file))
		return 0;
	c = bpf_task_storage_get(&inside, bpf_get_current_task_btf(), NULL,
				 BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (c)
		c->mapping = 1;
	else
		count_unreported();
	return 0;
}

SEC("tracepoint/syscalls/sys_exit_mmap")
int gt_rt_mmapped(struct sys_exit *e)
{
	struct call *c = bpf_task_storage_get(&inside, bpf_get_current_task_btf(), NULL, 0);
	struct gt_rt_mapped m = { .pid = bpf_get_current_pid_tgid() >> 32 };

	if (!c || !c->mapping)
		return 0;
	c->mapping = 0;
	if (e->ret < 0 && e->ret > -4096)
		return 0;
	if (bpf_ringbuf_output(&mapped, &m, sizeof(m), BPF_RB_FORCE_WAKEUP))
		count_unreported();
	return 0;
}
