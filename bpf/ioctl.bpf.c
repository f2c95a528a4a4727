/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ioctls of processes on GPU devices: begin and end; and the queues that they make and end.
 *
 * The programs are at the drivers' own functions where the kernel allows that (fentry, or kprobes),
 * so that no other call costs anything; else at the tracepoints of the system call, which every
 * ioctl of the machine passes. backend/bpf/ioctl/attach.c chooses for each kind of device, and
 * gt_ioctl_config.functions says so, so that never two report one call.
 *
 * At a tracepoint nearly all calls are of no interest: the command's type shows it, before anything is
 * looked up; at the end, that nothing was remembered of this thread.
 */
#include <linux/errno.h>
#include <linux/ptrace.h>

#include "ioctl_call.h"
#include "ioctl_queue.h"
#include <bpf/bpf_tracing.h>

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
