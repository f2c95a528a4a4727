/* SPDX-License-Identifier: GPL-2.0 */
/* ioctls of processes on GPU devices: begin and end. */
#include "ring.h"

#define DRM_MAJOR 226 /* Documentation/admin-guide/devices.txt */

/* Arguments of a system call's tracepoint, events/syscalls/sys_enter_ioctl/format */
struct sys_enter {
	uint64_t common;
	int64_t nr;
	uint64_t args[6];
};

struct sys_exit {
	uint64_t common;
	int64_t nr;
	int64_t ret;
};

struct call {
	uint64_t ts;
	uint64_t cmd;
	uint32_t rdev;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 8192);
	__type(key, uint32_t); /* thread */
	__type(value, struct call);
} calls SEC(".maps");

char LICENSE[] SEC("license") = "GPL";

/* The number of the device that descriptor @fd of this process is; 0: it is none. */
static __always_inline uint32_t device_of(uint32_t fd)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct fdtable *fdt = BPF_CORE_READ(task, files, fdt);
	struct file **files, *file;

	if (fd >= BPF_CORE_READ(fdt, max_fds))
		return 0;
	files = BPF_CORE_READ(fdt, fd);
	if (bpf_probe_read_kernel(&file, sizeof(file), files + fd) || !file)
		return 0;
	return BPF_CORE_READ(file, f_inode, i_rdev);
}

static __always_inline void tell(uint8_t type, const struct call *c, uint64_t ts, uint64_t value,
				 uint64_t ref)
{
	union gt_record *r = gt_reserve(GT_BPF_IOCTL, ts, type);
	uint64_t id = bpf_get_current_pid_tgid();

	if (!r)
		return;
	r->ev.gpu = c->rdev & 0xffff; /* the device's minor number */
	r->ev.pid = id >> 32;
	r->ev.tid = (uint32_t)id;
	r->ev.uid = (uint32_t)bpf_get_current_uid_gid();
	r->ev.value = value;
	r->ev.ref = ref;
	gt_submit(r, GT_BPF_IOCTL);
}

SEC("tracepoint/syscalls/sys_enter_ioctl")
int gt_ioctl_enter(struct sys_enter *e)
{
	struct gt_bpf_count *n = gt_counts(GT_BPF_IOCTL);
	uint32_t tid = (uint32_t)bpf_get_current_pid_tgid();
	struct call c;

	if (((e->args[1] >> 8) & 0xff) != 'd')
		return 0;
	c = (struct call){ .cmd = (uint32_t)e->args[1], .rdev = device_of((uint32_t)e->args[0]) };
	if (n)
		n->seen++;
	if (c.rdev >> 20 != DRM_MAJOR) {
		if (n)
			n->other++;
		return 0;
	}
	c.ts = bpf_ktime_get_ns();
	bpf_map_update_elem(&calls, &tid, &c, BPF_ANY);
	tell(GT_IOCTL_ENTER, &c, c.ts, c.cmd, GT_NONE64);
	return 0;
}

SEC("tracepoint/syscalls/sys_exit_ioctl")
int gt_ioctl_exit(struct sys_exit *e)
{
	uint32_t tid = (uint32_t)bpf_get_current_pid_tgid();
	struct call *c = bpf_map_lookup_elem(&calls, &tid), copy;
	uint64_t ts;

	if (!c)
		return 0;
	copy = *c;
	bpf_map_delete_elem(&calls, &tid);
	ts = bpf_ktime_get_ns();
	tell(GT_IOCTL_EXIT, &copy, ts, (uint64_t)e->ret, ts - copy.ts);
	return 0;
}
