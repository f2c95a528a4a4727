/* SPDX-License-Identifier: GPL-2.0 */
/*
 * NVIDIA's queues (TSGs): hooks of the patched module, and calls of the resource manager (RM) on
 * /dev/nvidiactl and /dev/nvidiaN.
 *
 * What is asked is read when a call begins, handles and status when it ends: the memory is the
 * caller's, and anything can be in it at any time. So nothing here is believed of another process
 * than the caller, and backend/bpf/nvidia/ keeps what it gets by process.
 */
#include <linux/ptrace.h>

#include "fd.h"
#include "nvidia_rm.h"
#include <bpf/bpf_tracing.h>

char LICENSE[] SEC("license") = "GPL";

/* Of all commands these alone are looked into, so that the others cost little. */
static __always_inline bool is_rm(uint32_t cmd)
{
	uint32_t nr = cmd & 0xff;

	return (cmd >> 8 & 0xff) == NV_MAGIC &&
	       (nr == NV_RM_ALLOC || nr == NV_RM_CONTROL || nr == NV_RM_FREE || nr == NV_XFER_CMD);
}

/* nvidia_unlocked_ioctl(file, cmd, arg): only NVIDIA's own ioctls pass it */
SEC("kprobe")
int gt_nv_unlocked_ioctl(struct pt_regs *ctx)
{
	struct file *file = (void *)PT_REGS_PARM1(ctx);
	uint32_t cmd = (uint32_t)PT_REGS_PARM2(ctx);

	forget_last();
	return is_rm(cmd) ? called(file, cmd, PT_REGS_PARM3(ctx)) : 0;
}

SEC("kretprobe")
int gt_nv_unlocked_ioctl_end(struct pt_regs *ctx)
{
	return returned((int64_t)PT_REGS_RC(ctx));
}

/* Where that cannot be probed */
SEC("tracepoint/syscalls/sys_enter_ioctl")
int gt_nv_ioctl(struct sys_enter *e)
{
	uint32_t cmd = (uint32_t)e->args[1];
	struct file *file = is_rm(cmd) ? gt_file_of((uint32_t)e->args[0]) : NULL;

	return file ? called(file, cmd, e->args[2]) : 0;
}

SEC("tracepoint/syscalls/sys_exit_ioctl")
int gt_nv_ioctl_end(struct sys_exit *e)
{
	return returned(e->ret);
}

/* The end of objects ------------------------------------------------------------------------- */

static __always_inline void emit_end(uint16_t kind, uint32_t gen, uint64_t file)
{
	struct gt_bpf_nv *n = begin(kind);

	if (!n)
		return;
	n->rm.gen = gen;
	n->rm.file = file_of(file);
	end(n);
}

/* RM frees a client with the file that it came by. Where the file's own end cannot be probed: */
SEC("tracepoint/syscalls/sys_enter_close")
int gt_nv_close(struct sys_enter *e)
{
	uint32_t gen = gt_owner();
	struct file *file;

	if (!gen)
		return 0;
	file = gt_file_of((uint32_t)e->args[0]);
	if (file && gt_rdev_of(file) >> 20 == NV_MAJOR && gt_last_reference(file))
		emit_end(GT_NV_CLOSE, gen, (uint64_t)file);
	return 0;
}

/* nvidia_close(inode, file) */
SEC("kprobe")
int gt_nv_release(struct pt_regs *ctx)
{
	emit_end(GT_NV_CLOSE, 0, PT_REGS_PARM2(ctx));
	return 0;
}

SEC("tracepoint/sched/sched_process_exec")
int gt_nv_exec(void *ctx)
{
	uint32_t gen = gt_owner();

	if (gen)
		emit_end(GT_NV_EXEC, gen, 0);
	return 0;
}

/* For each thread that ends; the last counts */
SEC("tracepoint/sched/sched_process_exit")
int gt_nv_exit(void *ctx)
{
	uint32_t gen = gt_owner_ended();

	if (gen)
		emit_end(GT_NV_EXIT, gen, 0);
	return 0;
}

/* Hooks of the patched module, kernel-open/nvidia/nv-gpu-sched-hooks.h of
 * eunomia-bpf/gpu_ext-kernel-modules
 */

struct task_init_ctx {
	uint64_t tsg_id;
	uint32_t engine_type;
	uint64_t default_timeslice;
	uint32_t default_interleave, runlist_id;
	uint64_t timeslice;
	uint32_t interleave_level;
};

struct bind_ctx {
	uint64_t tsg_id;
	uint32_t runlist_id, channel_count;
	uint64_t timeslice_us;
	uint32_t interleave_level, allow;
};

struct token_ctx {
	uint32_t channel_id;
	uint64_t tsg_id;
	uint32_t token;
};

static __always_inline bool hook(void *to, uint32_t size, uint64_t from)
{
	saw();
	if (!bpf_probe_read_kernel(to, size, (void *)from))
		return true;
	__sync_fetch_and_add(&gt_nv_read_failed, 1);
	return false;
}

SEC("kprobe")
int gt_nv_task_init(struct pt_regs *ctx)
{
	struct task_init_ctx c;
	struct gt_bpf_nv *n;

	if (!hook(&c, sizeof(c), PT_REGS_PARM1(ctx)))
		return 0;
	if (!made_owner()) /* its end would not be seen */
		return 0;
	n = begin(GT_NV_INIT);
	if (!n)
		return 0;
	n->hook.tsg = clamp32(c.tsg_id);
	n->hook.runlist = c.runlist_id;
	n->hook.timeslice = clamp32(c.default_timeslice);
	n->hook.interleave = c.default_interleave < 0xff ? c.default_interleave : 0xff;
	n->hook.engine = c.engine_type < GT_NONE16 ? c.engine_type : GT_NONE16;
	end(n);
	return 0;
}

static __always_inline int emit_bind(uint64_t from)
{
	struct bind_ctx c;
	struct gt_bpf_nv *n;

	if (!hook(&c, sizeof(c), from))
		return 0;
	if (!made_owner()) /* likewise */
		return 0;
	n = begin(GT_NV_BIND);
	if (!n)
		return 0;
	n->hook.tsg = clamp32(c.tsg_id);
	n->hook.runlist = c.runlist_id;
	n->hook.channels = c.channel_count;
	n->hook.timeslice = clamp32(c.timeslice_us);
	n->hook.interleave = c.interleave_level < 0xff ? c.interleave_level : 0xff;
	n->hook.allow = !!c.allow;
	end(n);
	return 0;
}

/* Who decides does so inside: what was allowed is known at the end. */
SEC("kprobe")
int gt_nv_bind(struct pt_regs *ctx)
{
	uint64_t from = PT_REGS_PARM1(ctx);
	struct inside *i;

	if (!gt_nv_returns)
		return emit_bind(from);
	i = inside(true);
	if (i)
		i->bind = from;
	return 0;
}

SEC("kretprobe")
int gt_nv_bind_end(struct pt_regs *ctx)
{
	struct inside *i = inside(false);

	if (!i || !i->bind)
		return 0;
	emit_bind(i->bind);
	i->bind = 0;
	return 0;
}

SEC("kprobe")
int gt_nv_token_request(struct pt_regs *ctx)
{
	struct token_ctx c;
	struct gt_bpf_nv *n;

	if (!hook(&c, sizeof(c), PT_REGS_PARM1(ctx)))
		return 0;
	n = begin(GT_NV_TOKEN);
	if (!n)
		return 0;
	n->token.tsg = clamp32(c.tsg_id);
	n->token.channel = c.channel_id;
	n->token.token = c.token;
	end(n);
	return 0;
}

SEC("kprobe")
int gt_nv_task_destroy(struct pt_regs *ctx)
{
	struct gt_bpf_nv *n;
	uint64_t tsg;

	if (!hook(&tsg, sizeof(tsg), PT_REGS_PARM1(ctx)))
		return 0;
	n = begin(GT_NV_DESTROY);
	if (!n)
		return 0;
	n->hook.tsg = clamp32(tsg);
	end(n);
	return 0;
}
