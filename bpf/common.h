/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the BPF programs share: the kernel's structures, open files of the running process, records on
 * their way to the daemon, and which ends of processes are reported.
 *
 * Structures have only the members that are used. Their offsets are found when a program is loaded
 * (CO-RE); a member that a kernel may lack is tested with bpf_core_field_exists() first.
 */
#ifndef GT_COMMON_H
#define GT_COMMON_H

#include <linux/bpf.h>
#include <stdbool.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "../backend/event.h"
#include "shared.h"

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

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

/* include/linux/fs.h, include/linux/fdtable.h */
struct super_block {
	uint32_t s_dev;
	unsigned long s_magic;
	struct user_namespace *s_user_ns;
};

struct inode {
	uint16_t i_mode;
	uint32_t i_rdev;
	unsigned long i_ino;
	struct super_block *i_sb;
};

/* include/linux/dcache.h */
struct qstr {
	const unsigned char *name;
};

struct dentry {
	struct qstr d_name;
};

struct path {
	struct dentry *dentry;
};

struct file {
	uint32_t f_mode;
	struct inode *f_inode;
	struct path f_path;
};

/* include/linux/mm_types.h */
struct vm_area_struct {
	struct file *vm_file;
};

struct fdtable {
	unsigned int max_fds;
	struct file **fd;
};

struct files_struct {
	struct fdtable *fdt;
};

/* include/linux/sched/signal.h */
struct signal_struct {
	struct {
		int counter;
	} live; /* threads */
};

/* include/linux/sched.h */
struct task_struct {
	struct mm_struct *mm;
	struct files_struct *files;
	struct signal_struct *signal;
	struct task_struct *group_leader;
	uint64_t start_boottime;
	char comm[16];
};

#pragma clang attribute pop

/* The verifier follows one register: the compiler must not calculate in another what it checked. */
#define gt_opaque(v) asm volatile("" : "+r"(v))

/* Descriptors of the process that runs now. */

#define GT_FMODE_PATH 0x4000 /* include/linux/fs.h, FMODE_PATH */

const volatile bool gt_o_path; /* for tests: a file that was opened by name only counts, too */

/** gt_file_at() - the file that descriptor @fd is, even one that was opened by name only; NULL:
 * none
 */
static __always_inline struct file *gt_file_at(uint32_t fd)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct fdtable *fdt = BPF_CORE_READ(task, files, fdt);
	struct file **files, *file = NULL;

	if (fd >= BPF_CORE_READ(fdt, max_fds))
		return NULL;
	files = BPF_CORE_READ(fdt, fd);
	return bpf_probe_read_kernel(&file, sizeof(file), files + fd) ? NULL : file;
}

/**
 * gt_file_of() - the file that descriptor @fd calls; NULL: none
 *
 * A file that was opened by name only (O_PATH) is none: anybody can have one of anything, and no
 * call reaches the device.
 */
static __always_inline struct file *gt_file_of(uint32_t fd)
{
	struct file *file = gt_file_at(fd);

	if (!gt_o_path && file && (BPF_CORE_READ(file, f_mode) & GT_FMODE_PATH))
		return NULL;
	return file;
}

/** gt_rdev_of() - the device that @file is, major << 20 | minor; 0: it is none; GT_NONE32: no file
 */
static __always_inline uint32_t gt_rdev_of(struct file *file)
{
	return file ? BPF_CORE_READ(file, f_inode, i_rdev) : GT_NONE32;
}

/* include/linux/fs.h: a count of references, or since Linux 6.13 one less than that */
struct file___counted {
	struct {
		int64_t counter;
	} f_count;
} __attribute__((preserve_access_index));

struct file___refs {
	struct {
		struct {
			int64_t counter;
		} refcnt;
	} f_ref;
} __attribute__((preserve_access_index));

/** gt_last_reference() - does nobody else hold @file? Its close() is its end, then */
static __always_inline bool gt_last_reference(struct file *file)
{
	struct file___counted *old = (void *)file;
	struct file___refs *new = (void *)file;

	if (bpf_core_field_exists(new->f_ref))
		return BPF_CORE_READ(new, f_ref.refcnt.counter) == 0;
	return BPF_CORE_READ(old, f_count.counter) == 1;
}

/*
 * Records on their way to the daemon, for every program. Each GT_BPF_CPUS CPUs share a ring buffer.
 * The daemon makes them (backend/bpf/ring.c), and may put others in their place.
 *
 * A wake-up costs thousands of ns, so not every record wakes the daemon. When the daemon has found
 * nothing it sets idle, and the next record wakes it once; from then on it looks by timer, or is woken
 * at a fill level.
 */

/* By the number of a CPU / GT_BPF_CPUS. The daemon's own map takes the place of this one. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__array(
		values, struct {
			__uint(type, BPF_MAP_TYPE_RINGBUF);
			__uint(max_entries, 4096);
		});
} gt_rings SEC(".maps");

/* The daemon has it mapped: it needs no right of its own to write there. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, uint32_t);
	__type(value, struct gt_bpf_wake);
} gt_wake SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, GT_BPF_COUNTS);
	__type(key, uint32_t);
	__type(value, struct gt_bpf_count);
} gt_count SEC(".maps");

/*
 * A program may run in the middle of another that has the same counters, on the same CPU: so no
 * count is lost, and nothing is counted twice. That takes -mcpu=v3.
 */
#define gt_add(n, by) ((void)__sync_fetch_and_add(&(n), by))

/** gt_counts() - @i: a part, or GT_BPF_PARTS + a tracepoint's number; NULL: there are none */
static __always_inline struct gt_bpf_count *gt_counts(uint32_t i)
{
	return bpf_map_lookup_elem(&gt_count, &i);
}

/* The ring buffer of this CPU */
static __always_inline void *gt_ring(void)
{
	uint32_t i = bpf_get_smp_processor_id() / GT_BPF_CPUS;

	return bpf_map_lookup_elem(&gt_rings, &i);
}

/* Reports in @ring what had no room before; false: that neither. */
static __always_inline bool gt_emit_lost(void *ring, struct gt_bpf_count *c, uint32_t part)
{
	uint64_t n = __sync_lock_test_and_set(&c->unreported, 0);
	union gt_record *r;

	if (!n)
		return true; /* it was reported just now */
	r = bpf_ringbuf_reserve(ring, sizeof(*r), 0);
	if (!r) {
		gt_add(c->unreported, n);
		return false;
	}
	__builtin_memset(r, 0xff, sizeof(*r));
	r->lost.ts = bpf_ktime_get_ns();
	r->lost.type = GT_LOST;
	r->lost.flags = part << GT_BPF_PART_SHIFT;
	r->lost.count = n;
	r->lost.since = c->since;
	r->lost.cause = GT_LOST_SOURCE;
	bpf_ringbuf_submit(r, BPF_RB_NO_WAKEUP);
	return true;
}

static __always_inline struct gt_bpf_wake *gt_waker(void)
{
	uint32_t zero = 0;

	return bpf_map_lookup_elem(&gt_wake, &zero);
}

/** gt_paused() - is nothing to be sent now? */
static __always_inline bool gt_paused(void)
{
	struct gt_bpf_wake *w = gt_waker();

	return !w || w->paused;
}

/** gt_missed() - a record of time @ts had no room */
static __always_inline void gt_missed(struct gt_bpf_count *c, uint64_t ts)
{
	struct gt_bpf_wake *w = gt_waker();

	gt_add(c->lost, 1);
	if (!c->unreported)
		c->since = ts;
	gt_add(c->unreported, 1);
	if (w)
		w->lost = 1;
}

/**
 * gt_reserve_bytes() - room for a record of @size bytes, a constant
 * @c: counters of @part, or of one of its tracepoints
 *
 * The caller reads the clock after that. The daemon relies on this: once it has read all that was
 * reserved until some time, no older record comes (backend/bpf/ring.c).
 *
 * Return: NULL if there is no room, which is counted
 */
static __always_inline void *gt_reserve_bytes(struct gt_bpf_count *c, uint32_t part, uint64_t size)
{
	void *ring = gt_ring(), *r = NULL;

	if (ring && (!c->unreported || gt_emit_lost(ring, c, part)))
		r = bpf_ringbuf_reserve(ring, size, 0);
	if (r)
		gt_add(c->sent, 1);
	else
		gt_missed(c, bpf_ktime_get_ns());
	return r;
}

/**
 * gt_reserve() - room for a record of @part, which is all unknown but for time, type and CPU
 *
 * Return: as gt_reserve_bytes()
 */
static __always_inline union gt_record *gt_reserve(uint32_t part, uint8_t type)
{
	struct gt_bpf_count *c = gt_paused() ? NULL : gt_counts(part);
	union gt_record *r = c ? gt_reserve_bytes(c, part, sizeof(*r)) : NULL;

	if (!r)
		return NULL;
	__builtin_memset(r, 0xff, sizeof(*r));
	r->ev.ts = bpf_ktime_get_ns();
	r->ev.type = type;
	r->ev.flags = part << GT_BPF_PART_SHIFT;
	r->ev.cpu = bpf_get_smp_processor_id();
	return r;
}

/** gt_time_of() - of a record that gt_reserve() returned, or now */
static __always_inline uint64_t gt_time_of(const union gt_record *r)
{
	return r ? r->ev.ts : bpf_ktime_get_ns();
}

/* Is the daemon to be woken for the record that is handed over now? It is if it sleeps, or must
 * hurry. */
static __always_inline uint64_t gt_wake_flags(const struct gt_bpf_count *c)
{
	struct gt_bpf_wake *w = gt_waker();
	void *ring;

	if (w && w->idle) {
		w->idle = 0;
		return BPF_RB_FORCE_WAKEUP;
	}
	if (w && c && !(c->sent % GT_BPF_LOOK) && (ring = gt_ring()) &&
	    bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA) >= w->level)
		return BPF_RB_FORCE_WAKEUP;
	return BPF_RB_NO_WAKEUP;
}

/** gt_discard() - gives the room of @r back; @c: the counters that gt_reserve_bytes() had */
static __always_inline void gt_discard(void *r, struct gt_bpf_count *c)
{
	if (c)
		gt_add(c->sent, -1);
	bpf_ringbuf_discard(r, BPF_RB_NO_WAKEUP);
}

/** gt_submit() - hands @r over; @c: likewise */
static __always_inline void gt_submit(void *r, struct gt_bpf_count *c)
{
	bpf_ringbuf_submit(r, gt_wake_flags(c));
}

/* Processes that have something which ends with them. Each object that includes this has its own.
 */

/*
 * Each with a number that a later one of its pid has not. The daemon looks here for who is still
 * there, and may enter others.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, GT_BPF_OWNERS);
	__type(key, uint32_t);
	__type(value, struct gt_bpf_owner);
} gt_owners SEC(".maps");

/* How many of them users have, so that one user's do not keep out everybody else's */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, GT_BPF_SHARES);
	__type(key, uint32_t);
	__type(value, uint32_t);
} gt_shares SEC(".maps");

static __always_inline uint32_t *gt_share_of(uint32_t uid)
{
	uint32_t i = uid % GT_BPF_SHARES;

	return uid == GT_NONE32 ? NULL : bpf_map_lookup_elem(&gt_shares, &i);
}

/** gt_owner() - the number of the process that runs now; 0: it is none */
static __always_inline uint32_t gt_owner(void)
{
	uint32_t pid = bpf_get_current_pid_tgid() >> 32;
	struct gt_bpf_owner *o = bpf_map_lookup_elem(&gt_owners, &pid);

	return o ? o->gen : 0;
}

/** gt_owner_made() - the same, and it is one from now on; 0: there is no room */
static __always_inline uint32_t gt_owner_made(void)
{
	uint32_t pid = bpf_get_current_pid_tgid() >> 32, gen = gt_owner(), *share;
	struct gt_bpf_owner fresh;

	if (gen)
		return gen;
	fresh.gen = bpf_get_prandom_u32() | 1;
	fresh.uid = (uint32_t)bpf_get_current_uid_gid();
	share = gt_share_of(fresh.uid);
	if (share && (!fresh.uid || *share < GT_BPF_USER_OWNERS) &&
	    !bpf_map_update_elem(&gt_owners, &pid, &fresh, BPF_NOEXIST)) {
		__sync_fetch_and_add(share, 1);
		return fresh.gen;
	}
	return gt_owner(); /* another thread may have been faster */
}

/** gt_owner_ended() - the number of an owner with a last thread that ends now, which is none from now on;
 * 0: else */
static __always_inline uint32_t gt_owner_ended(void)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	uint32_t pid = bpf_get_current_pid_tgid() >> 32, gen, *share;
	struct gt_bpf_owner *o = bpf_map_lookup_elem(&gt_owners, &pid);

	if (!o || BPF_CORE_READ(task, signal, live.counter))
		return 0;
	gen = o->gen;
	share = gt_share_of(o->uid);
	if (bpf_map_delete_elem(&gt_owners, &pid)) /* another thread of it was the last, too */
		return 0;
	if (share)
		__sync_fetch_and_add(share, -1);
	return gen;
}

#endif
