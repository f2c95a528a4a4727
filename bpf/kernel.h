/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The kernel's structures that programs look into: only the members that are used. Where they lie
 * is found when a program is loaded (CO-RE); one that a kernel lacks is asked for with
 * bpf_core_field_exists() first.
 */
#ifndef GT_BPF_KERNEL_H
#define GT_BPF_KERNEL_H

#include <linux/bpf.h>
#include <stdbool.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "../backend/event.h"

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

#endif
