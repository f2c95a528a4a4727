/* SPDX-License-Identifier: GPL-2.0 */
/* The object behind a directory: whether it lives, who may see it, and what its pipes show. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "made.h"
#include "node.h"
#include "shows.h"

/* struct who - what the model knows of a directory, copied under its lock */
struct who {
	bool alive, seen, open;
	uint32_t uid;	/* of a process */
	uint32_t queue; /* id of a queue */
};

static bool is_proc(const struct gt_obj *dir)
{
	return dir->kind == GT_DIR_PROC || dir->kind == GT_DIR_PROC_QUEUES;
}

/* Those that need no look at the model: always there, for everyone */
static bool is_fixed(const struct gt_obj *dir)
{
	return dir->kind == GT_DIR_ROOT || dir->kind == GT_DIR_CONFIG ||
	       dir->kind == GT_DIR_BACKENDS || dir->kind == GT_DIR_USERS ||
	       dir->kind == GT_DIR_BY_ID ||
	       (dir->kind == GT_DIR_PROCS && dir->gpu == GT_NONE16);
}

static void look_at_proc(struct who *w, const struct gt_show *s)
{
	const struct gt_proc *p = gt_obj_proc(s);

	w->alive = p;
	if (!p)
		return;
	w->uid = p->uid;
	w->seen = gt_proc_seen(p, &s->view);
	w->open = gt_view_sees(&s->view, p->pid, p->uid, p->first_ts);
}

static void look_at_queue(struct who *w, const struct gt_show *s)
{
	const struct gt_queue *q = gt_obj_queue(s);

	w->alive = q;
	if (!q)
		return;
	w->queue = q->id;
	w->seen = gt_queue_seen(s->app->model, q, &s->view);
}

static bool is_group(const struct gt_obj *dir)
{
	return dir->kind == GT_DIR_USER || dir->kind == GT_DIR_CGROUP;
}

/* The first cgroup is there for everybody, if only to be empty. */
static void look_at_group(struct who *w, const struct gt_show *s)
{
	const struct gt_group *g = gt_obj_group(s);
	struct gt_group_set set;

	w->alive = g;
	if (!g || !s->obj.start || gt_view_whole(&s->view))
		return;
	gt_group_seen(s->app->model, &s->view, &set);
	w->seen = gt_group_has(&set, s->obj.id);
}

static void look_at_kernel(struct who *w, const struct gt_show *s)
{
	const struct gt_kernel *k = gt_obj_kernel(s);

	w->alive = k;
	w->seen = k && gt_kernel_seen(k, &s->view);
}

static struct who look(struct gt_app *app, const struct gt_obj *dir, const struct gt_view *v)
{
	const struct gt_show s = { .app = app, .obj = *dir, .view = *v };
	struct who w = { .alive = true, .seen = true, .open = true };

	if (dir->kind == GT_DIR_BACKEND) {
		w.alive = app->host && dir->id < gt_host_count(app->host);
		return w;
	}
	if (is_fixed(dir))
		return w;
	if (dir->kind == GT_DIR_MADES || dir->kind == GT_DIR_MADE) {
		w.alive = gt_made_alive(app, dir);
		w.uid = dir->pid;
		w.seen = dir->kind == GT_DIR_MADES || gt_made_seen(dir->pid, v);
		return w;
	}
	GT_MODEL_LOCK(app->model);
	w.alive = dir->gpu == GT_NONE16 || gt_obj_gpu(&s);
	if (!w.alive)
		return w;
	if (is_proc(dir))
		look_at_proc(&w, &s);
	else if (dir->kind == GT_DIR_QUEUE)
		look_at_queue(&w, &s);
	else if (dir->kind == GT_DIR_KERNEL)
		look_at_kernel(&w, &s);
	else if (is_group(dir))
		look_at_group(&w, &s);
	else if (dir->kind == GT_DIR_RING)
		w.alive = gt_obj_ring(&s);
	return w;
}

static const struct gt_view everything = { .all = true, .pid = 0 };

bool gt_tree_alive(struct gt_app *app, const struct gt_obj *obj)
{
	return look(app, obj, &everything).alive;
}

bool gt_tree_gone(struct gt_app *app, const struct gt_obj *obj)
{
	const struct gt_show s = { .app = app, .obj = *obj };

	if (obj->gpu == GT_NONE16)
		return false;
	GT_MODEL_LOCK(app->model);
	return !gt_obj_gpu(&s);
}

static int entry_of(const struct gt_app *app, const struct gt_obj *dir, const struct who *w,
		    struct gt_entry *out)
{
	memset(out, 0, sizeof(*out));
	if (!w->alive)
		return -ENODEV;
	if (!w->seen)
		return -ENOENT;
	out->kind = GT_ENTRY_DIR;
	out->obj = *dir;
	out->ino = gt_ino(dir, 0);
	out->mode = S_IFDIR | 0555;
	gt_tree_owner(&out->uid, &out->gid);
	if (dir->kind == GT_DIR_MADES)
		out->mode = S_IFDIR | S_ISVTX | 0777; /* each removes only what is theirs */
	if (is_proc(dir) || dir->kind == GT_DIR_MADE) {
		/* the same for every caller: the kernel keeps one inode */
		if (app->conf->visibility != GT_VIS_ALL)
			out->mode = S_IFDIR | 0550;
		if (w->uid != GT_NONE32)
			out->uid = w->uid;
	}
	out->shared = !is_proc(dir) && dir->kind != GT_DIR_PROCS && dir->kind != GT_DIR_QUEUES &&
		      dir->kind != GT_DIR_QUEUE && dir->kind != GT_DIR_USERS && !is_group(dir) &&
		      dir->kind != GT_DIR_KERNELS && dir->kind != GT_DIR_KERNEL &&
		      dir->kind != GT_DIR_MADES && dir->kind != GT_DIR_MADE;
	return 0;
}

int gt_tree_entry(struct gt_app *app, const struct gt_obj *dir, const struct gt_view *v,
		  struct gt_entry *out)
{
	struct who w = look(app, dir, v);

	return entry_of(app, dir, &w, out);
}

int gt_tree_enter(struct gt_app *app, const struct gt_obj *dir, const struct gt_view *v,
		  struct gt_entry *out)
{
	struct who w = look(app, dir, v);
	int ret = entry_of(app, dir, &w, out);

	return ret || w.open ? ret : -EACCES;
}

struct gt_scope gt_tree_scope(const struct gt_app *app, const struct gt_obj *dir)
{
	struct gt_scope s = { GT_NONE16, GT_NONE16, GT_NONE32, GT_NONE32 };

	s.gpu = dir->gpu;
	if (dir->kind == GT_DIR_RING)
		s.ring = dir->ring;
	if (is_proc(dir))
		s.pid = dir->pid;
	if (dir->kind == GT_DIR_QUEUE)
		s.queue = look((struct gt_app *)app, dir, &everything).queue;
	return s;
}
