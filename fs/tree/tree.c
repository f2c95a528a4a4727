/* SPDX-License-Identifier: GPL-2.0 */
/* Directories: which kinds there are, what each is called, who owns it and whether it still exists.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../access/access.h"
#include "node.h"
#include "shows.h"

const struct gt_obj gt_tree_root = { .kind = GT_DIR_ROOT, .gpu = GT_NONE16, .ring = GT_NONE16 };

static const struct gt_file no_files[] = { { 0 } };

const struct gt_file *const gt_tree_files[GT_NDIRS] = {
	[GT_DIR_ROOT] = gt_root_files,	 [GT_DIR_CONFIG] = gt_config_files,
	[GT_DIR_BACKENDS] = no_files,	 [GT_DIR_BACKEND] = gt_backend_files,
	[GT_DIR_GPU] = gt_gpu_files,	 [GT_DIR_RING] = gt_ring_files,
	[GT_DIR_BY_NAME] = no_files,	 [GT_DIR_QUEUES] = no_files,
	[GT_DIR_QUEUE] = gt_queue_files, [GT_DIR_PROCS] = no_files,
	[GT_DIR_PROC] = gt_proc_files,	 [GT_DIR_PROC_QUEUES] = no_files,
	[GT_DIR_USERS] = no_files,	 [GT_DIR_USER] = gt_group_files,
	[GT_DIR_CGROUP] = gt_group_files, [GT_DIR_KERNELS] = no_files,
	[GT_DIR_KERNEL] = gt_kernel_files, [GT_DIR_MADES] = no_files,
	[GT_DIR_MADE] = no_files,	   [GT_DIR_BY_ID] = no_files,
};

static const struct gt_subdir none[] = { { 0 } };
static const struct gt_subdir of_root[] = {
	{ "config", GT_DIR_CONFIG, NULL },
	{ "backends", GT_DIR_BACKENDS, NULL },
	{ "proc", GT_DIR_PROCS, NULL },
	{ "users", GT_DIR_USERS, NULL },
	{ "cgroups", GT_DIR_CGROUP, NULL },
	{ "by-id", GT_DIR_BY_ID, gt_has_gpu_links },
	{ 0 },
};
static const struct gt_subdir of_gpu[] = {
	{ "queues", GT_DIR_QUEUES, NULL },
	{ "proc", GT_DIR_PROCS, NULL },
	{ "by-name", GT_DIR_BY_NAME, NULL },
	{ "kernels", GT_DIR_KERNELS, gt_has_kernels },
	{ 0 },
};
static const struct gt_subdir of_proc[] = { { "queues", GT_DIR_PROC_QUEUES, NULL }, { 0 } };

const struct gt_subdir *const gt_tree_subdirs[GT_NDIRS] = {
	[GT_DIR_ROOT] = of_root, [GT_DIR_CONFIG] = none,  [GT_DIR_BACKENDS] = none,
	[GT_DIR_BACKEND] = none, [GT_DIR_GPU] = of_gpu,	  [GT_DIR_RING] = none,
	[GT_DIR_BY_NAME] = none, [GT_DIR_QUEUES] = none,  [GT_DIR_QUEUE] = none,
	[GT_DIR_PROCS] = none,	 [GT_DIR_PROC] = of_proc, [GT_DIR_PROC_QUEUES] = none,
	[GT_DIR_USERS] = none,	 [GT_DIR_USER] = none,	  [GT_DIR_CGROUP] = none,
	[GT_DIR_KERNELS] = none, [GT_DIR_KERNEL] = none,  [GT_DIR_MADES] = none,
	[GT_DIR_MADE] = none,	 [GT_DIR_BY_ID] = none,
};

struct gt_obj gt_obj(enum gt_dir_kind kind, uint16_t gpu, uint16_t ring, uint32_t id)
{
	return (struct gt_obj){ .kind = (uint8_t)kind, .gpu = gpu, .ring = ring, .id = id };
}

struct gt_obj gt_obj_of_proc(enum gt_dir_kind kind, uint16_t gpu, const struct gt_proc *p)
{
	struct gt_obj o = gt_obj(kind, gpu, GT_NONE16, p->slot);

	o.pid = p->pid;
	o.start = p->start;
	return o;
}

struct gt_obj gt_subdir_obj(const struct gt_obj *dir, const struct gt_subdir *sub)
{
	struct gt_obj o = *dir;

	o.kind = (uint8_t)sub->kind;
	return o;
}

static struct gt_obj above(const struct gt_obj *dir, enum gt_dir_kind kind)
{
	struct gt_obj up = gt_obj(kind, dir->gpu, GT_NONE16, 0);

	up.life = dir->life;
	return up;
}

struct gt_obj gt_tree_parent(const struct gt_obj *dir)
{
	struct gt_obj up = *dir;

	switch (dir->kind) {
	case GT_DIR_RING:
	case GT_DIR_BY_NAME:
	case GT_DIR_QUEUES:
	case GT_DIR_KERNELS:
		return above(dir, GT_DIR_GPU);
	case GT_DIR_KERNEL:
		return above(dir, GT_DIR_KERNELS);
	case GT_DIR_QUEUE:
		return above(dir, GT_DIR_QUEUES);
	case GT_DIR_PROCS:
		return dir->gpu == GT_NONE16 ? gt_tree_root : above(dir, GT_DIR_GPU);
	case GT_DIR_PROC:
		return above(dir, GT_DIR_PROCS);
	case GT_DIR_PROC_QUEUES:
		up.kind = GT_DIR_PROC;
		return up;
	case GT_DIR_USER:
		return gt_obj(GT_DIR_USERS, GT_NONE16, GT_NONE16, 0);
	case GT_DIR_CGROUP:
		return dir->start ? gt_obj(GT_DIR_CGROUP, GT_NONE16, GT_NONE16, 0) : gt_tree_root;
	case GT_DIR_BACKEND:
		return gt_obj(GT_DIR_BACKENDS, GT_NONE16, GT_NONE16, 0);
	case GT_DIR_MADES:
		return gt_obj(GT_DIR_BACKEND, GT_NONE16, GT_NONE16, dir->id);
	case GT_DIR_MADE:
		return gt_obj(GT_DIR_MADES, GT_NONE16, GT_NONE16, dir->id);
	default:
		return gt_tree_root;
	}
}

unsigned int gt_tree_nlink(const struct gt_obj *dir)
{
	switch (dir->kind) {
	case GT_DIR_ROOT:
	case GT_DIR_BACKENDS:
	case GT_DIR_BACKEND:
	case GT_DIR_MADES:
	case GT_DIR_GPU:
	case GT_DIR_QUEUES:
	case GT_DIR_PROCS:
	case GT_DIR_USERS:
	case GT_DIR_CGROUP:
	case GT_DIR_KERNELS:
		return 1;
	case GT_DIR_PROC:
		return 3;
	default:
		return 2;
	}
}

#define INO_INDEX_BITS 8
#define INO_KIND_BITS  5
#define INO_GPU_BITS   7
#define INO_SLOT_BITS  18 /* limits.max_processes is at most 262144 */

static_assert(GT_NDIRS <= 1 << INO_KIND_BITS, "a kind fits its bits");
static_assert(GT_MAX_GPUS < 1 << INO_GPU_BITS, "a GPU and none fit their bits");

static ino_t compose(const struct gt_obj *dir, uint64_t who, unsigned int index)
{
	uint64_t gpu = dir->gpu & ((1U << INO_GPU_BITS) - 1);

	who = who << INO_GPU_BITS | gpu;
	who = who << INO_KIND_BITS | dir->kind;
	return (ino_t)((who << INO_INDEX_BITS | (index & 0xff)) & INT64_MAX);
}

ino_t gt_ino(const struct gt_obj *dir, unsigned int index)
{
	uint64_t who = dir->id;

	if (dir->kind == GT_DIR_ROOT && !index)
		return 1;
	if (dir->kind == GT_DIR_RING)
		who = dir->ring;
	else if (dir->kind == GT_DIR_PROC || dir->kind == GT_DIR_PROC_QUEUES)
		who |= (uint64_t)dir->pid << INO_SLOT_BITS;
	else if (dir->kind == GT_DIR_USER || dir->kind == GT_DIR_CGROUP || dir->kind == GT_DIR_MADE)
		who |= dir->start << INO_SLOT_BITS;
	return compose(dir, who, index);
}

ino_t gt_ino_queue_link(const struct gt_obj *dir, uint32_t queue)
{
	return compose(dir, queue, 1);
}

/* Percent: injective, so two rings never share a name. */
void gt_name_escape(char out[GT_NAME_MAX], const char *name, size_t max)
{
	bool dots = !strncmp(name, ".", max) || !strncmp(name, "..", max);
	const char *hex = "0123456789ABCDEF";
	size_t n = 0;

	for (size_t i = 0; i < max && name[i] && n + 4 < GT_NAME_MAX; i++) {
		unsigned char c = (unsigned char)name[i];

		if (c > 0x1f && c < 0x7f && c != '/' && c != '%' && !(dots && !i)) {
			out[n++] = (char)c;
			continue;
		}
		out[n++] = '%';
		out[n++] = hex[c >> 4];
		out[n++] = hex[c & 15];
	}
	if (!n)
		out[n++] = '%';
	out[n] = '\0';
}

void gt_tree_owner(uid_t *uid, gid_t *gid)
{
	*uid = getuid();
	*gid = gt_access_gid();
	if (*uid && !*gid)
		*gid = getgid();
}

bool gt_proc_seen(const struct gt_proc *p, const struct gt_view *v)
{
	if (v->ns != GT_PIDNS_OWN && gt_view_pid(v, p->pid, p->first_ts) == GT_NONE32)
		return false;
	return v->visibility != GT_VIS_OWNER || gt_view_sees(v, p->pid, p->uid, p->first_ts);
}

bool gt_queue_seen(struct gt_model *m, const struct gt_queue *q, const struct gt_view *v)
{
	uint32_t uid = q->desc.uid;
	struct gt_proc *p;

	if (gt_view_whole(v) || gt_view_blanks(v))
		return true;
	if (uid == GT_NONE32 && q->desc.pid != GT_NONE32) {
		p = gt_model_proc(m, q->desc.pid);
		uid = p ? p->uid : GT_NONE32;
	}
	return gt_view_sees(v, q->desc.pid, uid, GT_PIDNS_NOW);
}

bool gt_proc_on_ring(const struct gt_proc *p, uint16_t gpu)
{
	if (gpu == GT_NONE16)
		return true;
	for (const struct gt_proc_ring *r = p->rings; r; r = r->next)
		if (r->gpu == gpu)
			return true;
	return gt_use_of(p->uses, gpu);
}

bool gt_queue_link(const struct gt_model *m, const struct gt_queue *q, uint16_t gpu, uint32_t pid,
		   char name[GT_NAME_MAX], char target[256])
{
	char dir[GT_NAME_MAX];

	if (!q || q->desc.pid != pid || pid == GT_NONE32 || (gpu != GT_NONE16 && q->gpu != gpu) ||
	    q->gpu >= m->ngpus || m->gpus[q->gpu]->gone)
		return false;
	if (gpu != GT_NONE16) {
		snprintf(name, GT_NAME_MAX, "%u", q->id);
		snprintf(target, 256, "../../../queues/%u", q->id);
		return true;
	}
	gt_name_escape(dir, m->gpus[q->gpu]->name, sizeof(m->gpus[q->gpu]->name));
	snprintf(name, GT_NAME_MAX, "%.100s-%u", dir, q->id);
	snprintf(target, 256, "../../../%.100s/queues/%u", dir, q->id);
	return true;
}
