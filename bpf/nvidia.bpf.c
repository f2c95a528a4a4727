/* SPDX-License-Identifier: GPL-2.0 */
/*
 * NVIDIA's queues (TSGs): hooks of the patched module, and calls of the resource manager (RM) on
 * /dev/nvidiactl and /dev/nvidiaN.
 *
 * What is asked is read when a call begins, handles and status when it ends: the memory is the
 * caller's, and anything can be in it at any time. So nothing here is believed of another process
 * than the caller, and backend/bpf/nvidia_rm.c keeps what it gets by process.
 */
#include <linux/ptrace.h>
#include <stddef.h>
#include <stdint.h>

#include "common.h"
#include "nvidia.h"
#include <bpf/bpf_tracing.h>

/*
 * What programs and NVIDIA's driver say to each other, as far as it is read. From
 * NVIDIA/open-gpu-kernel-modules, MIT: numbers and layouts, which are facts.
 */

#define NV_MAJOR   195
#define NV_MODESET 254 /* its minor; its calls are others */

/* nv_escape.h, nv-ioctl-numbers.h */
#define NV_MAGIC      'F'
#define NV_RM_FREE    0x29
#define NV_RM_CONTROL 0x2a
#define NV_RM_ALLOC   0x2b
#define NV_XFER_CMD   0xd3
#define NV_SERIALIZED 0x4 /* NVOS54_FLAGS_FINN_SERIALIZED: parameters of another layout */

/* Parameters of calls: nvos.h */
struct nvos00 { /* NV_RM_FREE */
	uint32_t root, parent, object, status;
};

struct nvos54 { /* NV_RM_CONTROL */
	uint32_t client, object, cmd, flags;
	uint64_t params;
	uint32_t size, status;
};

/* NV_RM_ALLOC: NVOS21 and NVOS64 begin alike. What follows grew with the driver's versions, and the
 * status moved. */
struct alloc {
	uint32_t root, parent, object, class;
	uint64_t params;
};

struct nvos21 { /* since 535 */
	struct alloc a;
	uint32_t size, status;
};

struct nvos21_before {
	struct alloc a;
	uint32_t status;
};

struct nvos64 {
	struct alloc a;
	uint64_t rights;
	uint32_t size, flags, status;
};

struct nvos64_530 { /* since 530 */
	struct alloc a;
	uint64_t rights;
	uint32_t flags, status;
};

struct nvos64_before {
	struct alloc a;
	uint64_t rights;
	uint32_t status;
};

struct xfer { /* nv_ioctl_xfer_t, NV_XFER_CMD */
	uint32_t cmd, size;
	uint64_t arg;
};

/* What params points to, as far as it is read */
struct device_params { /* NV0080_ALLOC_PARAMETERS */
	uint32_t device;
};

struct group_params { /* NV_CHANNEL_GROUP_ALLOCATION_PARAMETERS */
	uint32_t error, ecc_error, vaspace, engine;
};

struct id_info { /* NV0000_CTRL_GPU_GET_ID_INFO_PARAMS */
	uint32_t id, flags, device;
};

/*
 * Calls of NVIDIA's resource manager (RM): what they ask, and what came of them. For nvidia.bpf.c
 * alone.
 */

struct call {
	uint64_t arg, params, file;
	uint32_t size, kind, client, object; /* kind 0: none */
	union {
		uint32_t parent, status, number; /* as in struct gt_bpf_nv */
	};
	uint32_t value;
};

/* What a thread is inside of: a call, and a hook, by its argument */
struct inside {
	struct call call;
	uint64_t bind;
};

/* Each thread has its own, so that no other can be in its way. */
struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct inside);
} nv_inside SEC(".maps");

uint32_t gt_nv_driver;		      /* main version of the driver, 0: not known */
const volatile bool gt_nv_any_result; /* for tests: a call that failed counts too */
bool gt_nv_hooks;		      /* hooks are attached */
bool gt_nv_returns;		      /* … also where one ends */
uint64_t gt_nv_read_failed;
uint64_t gt_nv_procs_refused;
/* and hooks: there was no memory, or the thread's was in use (6.1); or no room for its return */
uint64_t gt_nv_calls_refused;

/* @make: it is about to be inside */
static __always_inline struct inside *inside(bool make)
{
	struct inside *i = bpf_task_storage_get(&nv_inside, bpf_get_current_task_btf(), NULL,
						make ? BPF_LOCAL_STORAGE_GET_F_CREATE : 0);

	if (!i && make)
		__sync_fetch_and_add(&gt_nv_calls_refused, 1);
	return i;
}

/* The running thread begins a call, whichever: this one's return is not that of its last, which a
 * kretprobe may have had no room for. */
static __always_inline void forget_last(void)
{
	struct inside *i = inside(false);

	if (!i || !i->call.kind)
		return;
	i->call.kind = 0;
	__sync_fetch_and_add(&gt_nv_calls_refused, 1);
}

/* The number of the process that runs now, which has RM objects from now on; 0: there is no room */
static __always_inline uint32_t made_owner(void)
{
	uint32_t gen = gt_owner_made();

	if (!gen)
		__sync_fetch_and_add(&gt_nv_procs_refused, 1);
	return gen;
}

static __always_inline struct gt_bpf_nv *begin(uint16_t kind)
{
	struct gt_bpf_nv *n = (void *)gt_reserve(GT_BPF_NVIDIA, 0);
	uint64_t id = bpf_get_current_pid_tgid();

	if (!n)
		return NULL;
	n->kind = kind;
	n->pid = id >> 32;
	n->tid = (uint32_t)id;
	n->uid = (uint32_t)bpf_get_current_uid_gid();
	bpf_get_current_comm(n->comm, sizeof(n->comm));
	return n;
}

static __always_inline void end(struct gt_bpf_nv *n)
{
	gt_submit(n, gt_counts(GT_BPF_NVIDIA));
}

static __always_inline void saw(void)
{
	struct gt_bpf_count *n = gt_counts(GT_BPF_NVIDIA);

	if (n)
		gt_add(n->seen, 1);
}

static __always_inline bool user(void *to, uint32_t size, uint64_t from)
{
	if (!bpf_probe_read_user(to, size, (void *)from))
		return true;
	__sync_fetch_and_add(&gt_nv_read_failed, 1);
	return false;
}

static __always_inline uint32_t clamp32(uint64_t v)
{
	return v < GT_NONE32 ? (uint32_t)v : GT_NONE32;
}

/* Calls of the RM -------------------------------------------------------------------------- */

static __always_inline struct gt_nv_file file_of(uint64_t file)
{
	return (struct gt_nv_file){ .low = (uint32_t)file, .high = file >> 32 };
}

static __always_inline void emit_call(const struct call *c, uint16_t kind, uint32_t gen)
{
	struct gt_bpf_nv *n = begin(kind);

	if (!n)
		return;
	n->rm.client = c->client;
	n->rm.object = c->object;
	n->rm.gen = gen;
	if (kind == GT_NV_CLIENT) {
		n->rm.file = file_of(c->file);
	} else {
		n->rm.parent = c->parent;
		n->rm.value = kind == GT_NV_ENTER ? c->kind : c->value;
	}
	end(n);
}

static __always_inline uint32_t kind_of_class(uint32_t class)
{
	switch (class) {
	case 0x0:  /* NV01_ROOT */
	case 0x1:  /* NV01_ROOT_NON_PRIV */
	case 0x41: /* NV01_ROOT_CLIENT */
		return GT_NV_CLIENT;
	case 0x80: /* NV01_DEVICE_0 */
		return GT_NV_DEVICE;
	case 0xa06c: /* KEPLER_CHANNEL_GROUP_A */
		return GT_NV_GROUP;
	}
	/* KEPLER_CHANNEL_GPFIFO_A 0xa06f to BLACKWELL_CHANNEL_GPFIFO_B 0xca6f, and what comes */
	return class >= 0xa06f && class <= 0xff6f && (class & 0xff) == 0x6f ? GT_NV_CHANNEL : 0;
}

static __always_inline uint32_t kind_of_command(uint32_t cmd)
{
	switch (cmd) {
	case 0xa06c0101: /* NVA06C_CTRL_CMD_GPFIFO_SCHEDULE */
	case 0xa06f0103: /* NVA06F_CTRL_CMD_GPFIFO_SCHEDULE: of a channel, with its TSG */
		return GT_NV_SCHEDULE;
	case 0xa06c0103: /* NVA06C_CTRL_CMD_SET_TIMESLICE */
	case 0xa06c0104: /* … GET_TIMESLICE */
		return GT_NV_TIMESLICE;
	case 0xa06c0107: /* … SET_INTERLEAVE_LEVEL */
	case 0xa06c0108: /* … GET_INTERLEAVE_LEVEL */
		return GT_NV_INTERLEAVE;
	case 0xa06c0106: /* … GET_INFO */
		return GT_NV_INFO;
	case 0xc36f0108: /* NVC36F_CTRL_CMD_GPFIFO_GET_WORK_SUBMIT_TOKEN */
		return GT_NV_RM_TOKEN;
	case 0x202: /* NV0000_CTRL_CMD_GPU_GET_ID_INFO */
	case 0x205: /* … _V2 */
		return GT_NV_GPU_ID;
	}
	return 0;
}

static __always_inline bool ask_alloc(struct call *c)
{
	struct alloc a;

	if (c->size < sizeof(struct nvos21) || !user(&a, sizeof(a), c->arg))
		return false;
	c->kind = kind_of_class(a.class);
	c->client = a.root;
	c->parent = a.parent;
	c->value = GT_NONE32;
	if (c->kind == GT_NV_DEVICE && a.params)
		user(&c->value, 4, a.params + offsetof(struct device_params, device));
	if (c->kind == GT_NV_GROUP && a.params)
		user(&c->value, 4, a.params + offsetof(struct group_params, engine));
	return c->kind;
}

static __always_inline bool ask_control(struct call *c)
{
	struct nvos54 a;
	uint8_t on = 1;

	if (c->size < sizeof(a) || !user(&a, sizeof(a), c->arg) || (a.flags & NV_SERIALIZED))
		return false;
	c->kind = kind_of_command(a.cmd);
	c->client = a.client;
	c->object = a.object;
	c->params = a.params;
	c->value = GT_NONE32;
	if (c->kind == GT_NV_SCHEDULE) { /* bEnable */
		user(&on, 1, a.params);
		c->value = on;
	}
	return c->kind;
}

static __always_inline bool ask_free(struct call *c)
{
	struct nvos00 a;

	if (c->size < sizeof(a) || !user(&a, sizeof(a), c->arg))
		return false;
	c->kind = GT_NV_FREE;
	c->client = a.root;
	c->object = a.object;
	return true;
}

static __always_inline int called(struct file *file, uint32_t cmd, uint64_t arg)
{
	uint32_t rdev = BPF_CORE_READ(file, f_inode, i_rdev), nr = cmd & 0xff;
	struct call c = { .arg = arg, .size = cmd >> 16 & 0x3fff, .file = (uint64_t)file };
	struct inside *i;
	bool mine = false;
	struct xfer x;

	if (rdev >> 20 != NV_MAJOR || (rdev & 0xfffff) == NV_MODESET)
		return 0;
	saw();
	if (nr == NV_XFER_CMD) {
		if (!user(&x, sizeof(x), arg))
			return 0;
		nr = x.cmd;
		c.size = x.size;
		c.arg = x.arg;
	}
	if (nr == NV_RM_ALLOC)
		mine = ask_alloc(&c);
	else if (nr == NV_RM_CONTROL)
		mine = ask_control(&c);
	else if (nr == NV_RM_FREE)
		mine = ask_free(&c);
	if (!mine)
		return 0;
	i = inside(true);
	if (!i)
		return 0;
	i->call = c;
	if (gt_nv_hooks && (c.kind == GT_NV_GROUP || c.kind == GT_NV_FREE ||
			    c.kind == GT_NV_SCHEDULE || c.kind == GT_NV_RM_TOKEN))
		emit_call(&c, GT_NV_ENTER, gt_owner());
	return 0;
}

/* Where an allocation's status is */
static __always_inline uint64_t alloc_status(uint32_t size)
{
	if (size >= sizeof(struct nvos64))
		return offsetof(struct nvos64, status);
	if (size >= sizeof(struct nvos64_530))
		return !gt_nv_driver || gt_nv_driver >= 530
			       ? offsetof(struct nvos64_530, status)
			       : offsetof(struct nvos64_before, status);
	return !gt_nv_driver || gt_nv_driver >= 535 ? offsetof(struct nvos21, status)
						    : offsetof(struct nvos21_before, status);
}

static __always_inline bool answered_alloc(struct call *c)
{
	uint32_t status = 1;

	if (!user(&status, 4, c->arg + alloc_status(c->size)) || status ||
	    !user(&c->object, 4, c->arg + offsetof(struct alloc, object)))
		return false;
	if (c->kind == GT_NV_CLIENT)
		c->client = c->object;
	return true;
}

static __always_inline bool answered_control(struct call *c)
{
	uint32_t status = 1;
	struct id_info id;
	uint64_t us;

	if (!user(&status, 4, c->arg + offsetof(struct nvos54, status)))
		return false;
	if (c->kind == GT_NV_SCHEDULE) {
		c->status = status; /* a refusal is reported too */
		return true;
	}
	if (status)
		return false;
	if (c->kind == GT_NV_GPU_ID) {
		if (!user(&id, sizeof(id), c->params))
			return false;
		c->value = id.id;
		c->number = id.device;
		return true;
	}
	if (c->kind != GT_NV_TIMESLICE)
		return user(&c->value, 4, c->params);
	if (!user(&us, sizeof(us), c->params))
		return false;
	c->value = clamp32(us);
	return true;
}

static __always_inline int returned(int64_t ret)
{
	struct inside *i = inside(false);
	uint32_t status = 1, gen;
	bool makes, good;
	struct call c;

	if (!i || !i->call.kind)
		return 0;
	c = i->call;
	i->call.kind = 0;
	if (ret < 0 && !gt_nv_any_result)
		return 0;
	makes = c.kind >= GT_NV_CLIENT && c.kind <= GT_NV_CHANNEL;
	if (makes)
		good = answered_alloc(&c);
	else if (c.kind == GT_NV_FREE)
		good = user(&status, 4, c.arg + offsetof(struct nvos00, status)) && !status;
	else
		good = answered_control(&c);
	if (!good)
		return 0;
	gen = makes || c.kind == GT_NV_GPU_ID ? made_owner() : gt_owner();
	if (gen)
		emit_call(&c, c.kind, gen);
	return 0;
}

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
