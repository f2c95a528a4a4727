/* SPDX-License-Identifier: GPL-2.0 */
/* What tree.c and readdir.c share: names, inode numbers and owners. */
#ifndef GT_NODE_H
#define GT_NODE_H

#include "tree.h"

/* A file's name with its NUL; a name of up to 40 bytes, each as %NN, fits */
#define GT_NAME_MAX 256

/**
 * gt_obj() - an object with every field it does not use at its neutral value
 * @gpu, @ring: GT_NONE16 where the kind has none
 */
struct gt_obj gt_obj(enum gt_dir_kind kind, uint16_t gpu, uint16_t ring, uint32_t id);
struct gt_obj gt_obj_of_proc(enum gt_dir_kind kind, uint16_t gpu, const struct gt_proc *p);

/**
 * gt_ino() - inode number of a directory (@index 0) or of thing number @index - 1 in it
 *
 * 63 bits: who (slot and pid of a process, ring, queue or backend), GPU, kind, index. The root
 * is 1.
 */
ino_t gt_ino(const struct gt_obj *dir, unsigned int index);
/** gt_ino_queue_link() - of the link to queue @queue (index in the model) in @dir */
ino_t gt_ino_queue_link(const struct gt_obj *dir, uint32_t queue);

/**
 * gt_name_escape() - a name from outside as a file name: `/`, `%`, control characters and bytes
 *	that are not ASCII become %NN, likewise the first dot of "." and ".."; "" becomes "%"
 */
void gt_name_escape(char out[GT_NAME_MAX], const char *name, size_t max);

/** gt_tree_owner() - who owns what no process owns: the daemon's user, and the group that may write
 */
void gt_tree_owner(uid_t *uid, gid_t *gid);

/**
 * gt_tree_enter() - gt_tree_entry() for a caller who wants to look inside. Takes the model's lock
 * Return: 0, -ENODEV if it has gone, -ENOENT if it is hidden, -EACCES if it is only closed
 */
int gt_tree_enter(struct gt_app *app, const struct gt_obj *dir, const struct gt_view *v,
		  struct gt_entry *out);

/** gt_queue_seen() - is the directory of @q there for @v? Model's lock held */
bool gt_queue_seen(struct gt_model *m, const struct gt_queue *q, const struct gt_view *v);
/** gt_proc_seen() - likewise of a process */
bool gt_proc_seen(const struct gt_proc *p, const struct gt_view *v);
/** struct gt_group_set - groups by index */
struct gt_group_set {
	uint64_t bit[GT_MAX_GROUPS / 64 + 1];
};
static inline bool gt_group_set_has(const struct gt_group_set *set, uint32_t i)
{
	return set->bit[i / 64] >> (i % 64) & 1;
}
/** gt_group_seen() - the groups with directories for @v. Model's lock held */
void gt_group_seen(const struct gt_model *m, const struct gt_view *v, struct gt_group_set *set);
/** gt_group_name() - name of a cgroup's directory; false: too long, it has none. Lock held */
bool gt_group_name(const struct gt_group *g, char out[GT_NAME_MAX]);
struct gt_obj gt_obj_of_group(const struct gt_model *m, uint32_t i);
/** gt_proc_on_ring() - has it used a ring of @gpu? GT_NONE16: of any. Model's lock held */
bool gt_proc_on_ring(const struct gt_proc *p, uint16_t gpu);

/**
 * gt_queue_link() - name and target of the link to @q in a process's queues directory
 * @gpu: of that directory; GT_NONE16: below the root, where names include the GPU
 * Return: false if @q is not of @pid, or not of @gpu. Model's lock held
 */
bool gt_queue_link(const struct gt_model *m, const struct gt_queue *q, uint16_t gpu, uint32_t pid,
		   char name[GT_NAME_MAX], char target[256]);

#define GT_GPU_IDS 5 /* names that a GPU may have in by-id/ */
/**
 * gt_gpu_link() - link number @i of by-id/: GPU number @i / GT_GPU_IDS by one of its names
 * Return: false if there is none of that number. Model's lock held
 */
bool gt_gpu_link(const struct gt_model *m, uint32_t i, char name[GT_NAME_MAX], char target[256]);

/** struct gt_subdir - a directory of a fixed name; @exists: NULL: it is always there */
struct gt_subdir {
	const char *name;
	enum gt_dir_kind kind;
	bool (*exists)(const struct gt_show *s);
};
/** gt_tree_subdirs - by kind of the directory they are in; each ends with a NULL name */
extern const struct gt_subdir *const gt_tree_subdirs[GT_NDIRS];
/** gt_subdir_obj() - the object of @sub in @dir */
struct gt_obj gt_subdir_obj(const struct gt_obj *dir, const struct gt_subdir *sub);

/** gt_backend_good_name() - may a file of a backend's have that name? */
bool gt_backend_good_name(const char *name);
/** gt_option_visible() - does option @o of a backend show as a file? */
bool gt_option_visible(const struct gt_option *o);
struct gt_backend_info;
/**
 * gt_backend_own() - the @i'th file that a backend itself brings: its options, then its texts
 * @dyn, @name: describe it; an empty name: there is one, but it does not show
 * Return: false after the last
 */
bool gt_backend_own(const struct gt_backend_info *info, unsigned int i, struct gt_file *dyn,
		    char name[64]);

#endif
