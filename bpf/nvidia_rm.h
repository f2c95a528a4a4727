/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Calls of NVIDIA's resource manager (RM): what they ask, and what came of them. For nvidia.bpf.c
 * alone.
 */
#ifndef GT_BPF_NVIDIA_RM_H
#define GT_BPF_NVIDIA_RM_H

#include "nvidia.h"
#include "ring.h"

#define NV_MAJOR   195
#define NV_MODESET 254 /* its minor; its calls are others */

/* nv_escape.h, nv-ioctl-numbers.h */
#define NV_MAGIC      'F'
#define NV_RM_FREE    0x29
#define NV_RM_CONTROL 0x2a
#define NV_RM_ALLOC   0x2b
#define NV_XFER_CMD   0xd3
#define NV_SERIALIZED 0x4 /* NVOS54_FLAGS_FINN_SERIALIZED: parameters of another layout */

struct call {
	uint64_t arg, params, file;
	uint32_t size, kind, client, object, parent, value; /* kind 0: none */
	uint16_t minor;
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

/* Processes that have RM objects, each with a number of its own */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, GT_NV_MAX_PROCS);
	__type(key, uint32_t);
	__type(value, struct gt_nv_proc);
} nv_procs SEC(".maps");

/* How many of them users have, so that one user's do not keep out everybody else's. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, GT_NV_SHARES);
	__type(key, uint32_t);
	__type(value, uint32_t);
} nv_shares SEC(".maps");

uint32_t gt_nv_driver;		      /* main version of the driver, 0: not known */
const volatile bool gt_nv_any_result; /* for tests: a call that failed counts too */
bool gt_nv_hooks;		      /* hooks are attached */
bool gt_nv_returns;		      /* … also where one ends */
uint64_t gt_nv_read_failed;
uint64_t gt_nv_procs_refused;
uint64_t gt_nv_calls_refused; /* and hooks: there was no memory, or the thread's was in use (6.1) */

/* @make: it is about to be inside */
static __always_inline struct inside *inside(bool make)
{
	struct inside *i = bpf_task_storage_get(&nv_inside, bpf_get_current_task_btf(), NULL,
						make ? BPF_LOCAL_STORAGE_GET_F_CREATE : 0);

	if (!i && make)
		__sync_fetch_and_add(&gt_nv_calls_refused, 1);
	return i;
}

static __always_inline uint32_t *share_of(uint32_t uid)
{
	uint32_t i = uid % GT_NV_SHARES;

	return bpf_map_lookup_elem(&nv_shares, &i);
}

/* The number of the process that runs now; 0: none. @make: gives it one */
static __always_inline uint32_t process(bool make)
{
	uint32_t pid = bpf_get_current_pid_tgid() >> 32, *share;
	struct gt_nv_proc *p = bpf_map_lookup_elem(&nv_procs, &pid), fresh;

	if (p)
		return p->gen;
	if (!make)
		return 0;
	fresh.gen = bpf_get_prandom_u32() | 1;
	fresh.uid = (uint32_t)bpf_get_current_uid_gid();
	share = share_of(fresh.uid);
	if (share && (!fresh.uid || *share < GT_NV_USER_PROCS) &&
	    !bpf_map_update_elem(&nv_procs, &pid, &fresh, BPF_NOEXIST)) {
		__sync_fetch_and_add(share, 1);
		return fresh.gen;
	}
	p = bpf_map_lookup_elem(&nv_procs, &pid); /* another thread was faster */
	if (p)
		return p->gen;
	__sync_fetch_and_add(&gt_nv_procs_refused, 1);
	return 0;
}

static __always_inline struct gt_bpf_nv *begin(uint16_t kind)
{
	struct gt_bpf_nv *n = (void *)gt_reserve(GT_BPF_NVIDIA, bpf_ktime_get_ns(), 0);
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
	gt_submit((void *)n, GT_BPF_NVIDIA);
}

static __always_inline void saw(void)
{
	struct gt_bpf_count *n = gt_counts(GT_BPF_NVIDIA);

	if (n)
		n->seen++;
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

static __always_inline void tell_call(const struct call *c, uint16_t kind, uint32_t gen)
{
	struct gt_bpf_nv *n = begin(kind);

	if (!n)
		return;
	n->minor = c->minor;
	n->rm.client = c->client;
	n->rm.object = c->object;
	n->rm.parent = c->parent;
	n->rm.value = kind == GT_NV_ENTER ? c->kind : c->value;
	n->rm.gen = gen;
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

/* NVOS21_PARAMETERS and NVOS64_PARAMETERS begin alike */
static __always_inline bool ask_alloc(struct call *c)
{
	struct {
		uint32_t root, parent, object, class;
		uint64_t params;
	} a;

	if (c->size < 32 || !user(&a, sizeof(a), c->arg))
		return false;
	c->kind = kind_of_class(a.class);
	c->client = a.root;
	c->parent = a.parent;
	c->value = GT_NONE32;
	if (c->kind == GT_NV_DEVICE && a.params) /* NV0080_ALLOC_PARAMETERS.deviceId */
		user(&c->value, 4, a.params);
	if (c->kind == GT_NV_GROUP &&
	    a.params) /* NV_CHANNEL_GROUP_ALLOCATION_PARAMETERS.engineType */
		user(&c->value, 4, a.params + 12);
	return c->kind;
}

/* NVOS54_PARAMETERS */
static __always_inline bool ask_control(struct call *c)
{
	struct {
		uint32_t client, object, cmd, flags;
		uint64_t params;
	} a;
	uint8_t on = 1;

	if (c->size < 32 || !user(&a, sizeof(a), c->arg) || (a.flags & NV_SERIALIZED))
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

/* NVOS00_PARAMETERS */
static __always_inline bool ask_free(struct call *c)
{
	uint32_t a[3];

	if (c->size < 16 || !user(a, sizeof(a), c->arg))
		return false;
	c->kind = GT_NV_FREE;
	c->client = a[0];
	c->object = a[2];
	return true;
}

static __always_inline int called(struct file *file, uint32_t cmd, uint64_t arg)
{
	uint32_t rdev = BPF_CORE_READ(file, f_inode, i_rdev), nr = cmd & 0xff;
	struct call c = { .arg = arg, .size = cmd >> 16 & 0x3fff, .minor = rdev & 0xfffff };
	struct {
		uint32_t cmd, size;
		uint64_t arg;
	} x; /* nv_ioctl_xfer_t */
	struct inside *i;
	bool mine = false;

	if (rdev >> 20 != NV_MAJOR || c.minor == NV_MODESET)
		return 0;
	saw();
	if (nr == NV_XFER_CMD) {
		if (!user(&x, sizeof(x), arg))
			return 0;
		nr = x.cmd;
		c.size = x.size;
		c.arg = x.arg;
	}
	c.file = (uint64_t)file;
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
		tell_call(&c, GT_NV_ENTER, process(false));
	return 0;
}

/* The status of an allocation moved with the driver's versions: what is behind the pointers grew.
 */
static __always_inline uint64_t alloc_status(uint32_t size)
{
	if (size >= 48)
		return 40;
	if (size >= 40)
		return !gt_nv_driver || gt_nv_driver >= 530 ? 36 : 32;
	return !gt_nv_driver || gt_nv_driver >= 535 ? 28 : 24;
}

static __always_inline bool answered_alloc(struct call *c)
{
	uint32_t status = 1;

	if (!user(&status, 4, c->arg + alloc_status(c->size)) || status ||
	    !user(&c->object, 4, c->arg + 8))
		return false;
	if (c->kind == GT_NV_CLIENT) {
		c->client = c->object;
		c->parent = (uint32_t)c->file;
		c->value = c->file >> 32;
	}
	return true;
}

static __always_inline bool answered_control(struct call *c)
{
	uint32_t status = 1, id[3];
	uint64_t us;

	if (!user(&status, 4, c->arg + 28))
		return false;
	if (c->kind == GT_NV_SCHEDULE) {
		c->parent = status; /* a refusal is told too */
		return true;
	}
	if (status)
		return false;
	if (c->kind == GT_NV_GPU_ID) { /* gpuId, gpuFlags, deviceInstance */
		if (!user(id, sizeof(id), c->params))
			return false;
		c->value = id[0];
		c->parent = id[2];
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
		good = user(&status, 4, c.arg + 12) && !status;
	else
		good = answered_control(&c);
	if (!good)
		return 0;
	gen = process(makes || c.kind == GT_NV_GPU_ID);
	if (gen)
		tell_call(&c, c.kind, gen);
	return 0;
}

#endif
