/* SPDX-License-Identifier: GPL-2.0 */
/* The object behind a directory: whether it lives, who may see it, and what its pipes show. */
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../access/access.h"
#include "internal.h"
#include "tree.h"

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
	       dir->kind == GT_DIR_BY_ID || (dir->kind == GT_DIR_PROCS && dir->gpu == GT_NONE16);
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
	w->seen = gt_group_set_has(&set, s->obj.id);
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
	if (gt_obj_is_own(dir))
		w.open = v->pid;
	else if (is_proc(dir))
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
	if ((is_proc(dir) && !gt_obj_is_own(dir)) || dir->kind == GT_DIR_MADE) {
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

struct gt_scope gt_tree_scope(const struct gt_app *app, const struct gt_obj *dir,
			      const struct gt_view *v)
{
	struct gt_scope s = { GT_NONE16, GT_NONE16, GT_NONE32, GT_NONE32 };

	s.gpu = dir->gpu;
	if (dir->kind == GT_DIR_RING)
		s.ring = dir->ring;
	if (is_proc(dir))
		s.pid = gt_obj_is_own(dir) ? v->pid : dir->pid;
	if (dir->kind == GT_DIR_QUEUE)
		s.queue = look((struct gt_app *)app, dir, &everything).queue;
	return s;
}

#define PATH_LEN 128

void gt_tree_path(const struct gt_app *app, const struct gt_obj *dir, const char *name, char *out,
		  size_t len)
{
	struct gt_backend_info info;
	char within[PATH_LEN];
	struct gt_userdir made;

	if (dir->kind == GT_DIR_CONFIG)
		snprintf(out, len, "config/%s", name);
	else if (dir->kind == GT_DIR_BACKEND && gt_host_info(app->host, dir->id, &info))
		snprintf(out, len, "backends/%s/%s", info.name, name);
	else if (dir->kind == GT_DIR_MADE &&
		 gt_host_userdir_find(app->host, dir->id, dir->start, &made)) {
		gt_made_path(app, dir, within, sizeof(within));
		snprintf(out, len, "%s/%s/%s", within, made.name, name);
	} else {
		snprintf(out, len, "%s", name);
	}
}

/* An ordinary user's mount is that user's: what the machine's configuration gives is root's to
 * give. */
static bool rules_hold(const struct gt_app *app)
{
	return app->conf->rules && !geteuid();
}

struct gt_perms gt_perms_of(const struct gt_app *app, const struct gt_obj *dir,
			    const struct gt_file *f)
{
	struct gt_perms p = { .mode = f->mode & 0666 };
	char path[PATH_LEN];

	gt_tree_owner(&p.uid, &p.gid);
	if (dir->kind == GT_DIR_MADE)
		p.uid = dir->pid;
	if (!f->store || dir->kind == GT_DIR_MADE || !rules_hold(app))
		return p;
	gt_tree_path(app, dir, f->name, path, sizeof(path));
	for (const struct gt_conf_rule *r = app->conf->rules; r; r = r->next) {
		if (fnmatch(r->pattern, path, FNM_PATHNAME))
			continue;
		p.mode = r->has_mode ? r->mode : p.mode;
		p.uid = r->has_uid ? r->uid : p.uid;
		p.gid = r->has_gid ? r->gid : p.gid;
	}
	return p;
}

bool gt_perms_may(const struct gt_perms *p, const struct gt_view *v, unsigned int want)
{
	unsigned int bits = p->mode & 7;

	if (v->uid == 0 && v->all)
		return true;
	if (v->uid == p->uid)
		bits = p->mode >> 6 & 7;
	else if (gt_access_in_group(v, p->gid))
		bits = p->mode >> 3 & 7;
	return (bits & want) == want;
}

void gt_perms_say(const struct gt_perms *p, char *out, size_t len)
{
	snprintf(out, len, "mode 0%03o, uid %u, gid %u", (unsigned int)p->mode,
		 (unsigned int)p->uid, (unsigned int)p->gid);
}

static bool in_files(const struct gt_file *f, const char *dir, const char *pattern)
{
	char path[PATH_LEN];

	for (; f->name; f++) {
		snprintf(path, sizeof(path), "%s%s", dir, f->name);
		if (f->store && !fnmatch(pattern, path, FNM_PATHNAME))
			return true;
	}
	return false;
}

/* A plugin that could not be loaded has settings that are not known. */
static bool in_backend(const struct gt_backend_info *info, const char *pattern)
{
	char dir[64], path[PATH_LEN];

	if (info->state == GT_BS_REFUSED && !strncmp(pattern, "backends/", 9))
		return true;
	snprintf(dir, sizeof(dir), "backends/%s/", info->name);
	for (const struct gt_option *o = info->options; o && o->name; o++) {
		snprintf(path, sizeof(path), "%s%s", dir, o->name);
		if (gt_option_visible(o) && (o->flags & GT_OPT_RUNTIME) &&
		    !fnmatch(pattern, path, FNM_PATHNAME))
			return true;
	}
	return in_files(gt_tree_files[GT_DIR_BACKEND], dir, pattern);
}

static bool means_something(const struct gt_app *app, const char *pattern)
{
	struct gt_backend_info info;

	if (in_files(gt_tree_files[GT_DIR_ROOT], "", pattern) ||
	    in_files(gt_tree_files[GT_DIR_CONFIG], "config/", pattern))
		return true;
	for (unsigned int i = 0; gt_host_info(app->host, i, &info); i++)
		if (in_backend(&info, pattern))
			return true;
	return false;
}

int gt_perms_init(struct gt_app *app, char *err, size_t len)
{
	uid_t uid;
	gid_t gid;

	gt_tree_owner(&uid, &gid);
	gt_access_add_group(gid);
	for (const struct gt_conf_rule *r = app->conf->rules; r; r = r->next) {
		if (!means_something(app, r->pattern)) {
			snprintf(err, len, "%s: there is no setting '%.100s'", r->where,
				 r->pattern);
			return -EINVAL;
		}
		if (r->has_gid && !gt_access_add_group(r->gid)) {
			snprintf(err, len, "%s: more than %d groups", r->where,
				 GT_ACCESS_GROUPS - 2);
			return -EINVAL;
		}
	}
	return 0;
}
