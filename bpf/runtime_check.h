/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What is behind a file that a process has mapped, seen before anything is asked of its file
 * system: an iterator of the daemon's thread, on one process.
 *
 * An overlay maps the file below it: the mapping's inode is that one. What the daemon has opened
 * (O_PATH) must be the file that is mapped, by its dentry: a process can put another in its place
 * at any time.
 */
#ifndef GT_BPF_RUNTIME_CHECK_H
#define GT_BPF_RUNTIME_CHECK_H

#include "fd.h"

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

#endif
