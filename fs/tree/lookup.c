/* SPDX-License-Identifier: GPL-2.0 */
/* A name in a directory: what it stands for. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "made.h"
#include "node.h"
#include "perms.h"
#include "shows.h"

/* Strict: "0" or digits that begin with another; what is too large names nothing. */
static bool parse_id(const char *s, uint32_t *out)
{
	uint64_t v;

	if ((s[0] == '0' && s[1]) || gt_parse_u64(s, 0, GT_NONE32 - 1, &v))
		return false;
	*out = (uint32_t)v;
	return true;
}

static int read_target(const struct gt_show *s, struct gt_entry *out)
{
	struct gt_text t;
	int ret;

	gt_text_init(&t, sizeof(out->target) - 1);
	ret = s->file->show(&t, s);
	if (!ret && t.failed)
		ret = -ENAMETOOLONG;
	if (!ret && t.len)
		memcpy(out->target, t.buf, t.len);
	gt_text_free(&t);
	return ret;
}

/* @out holds the directory's entry: the file belongs to whom the directory belongs. */
static int found_file(struct gt_app *app, const struct gt_view *v, const struct gt_file *f,
		      unsigned int index, struct gt_entry *out)
{
	const struct gt_show s = { .app = app, .obj = out->obj, .view = *v, .file = f };
	struct gt_perms p;

	if (f->exists && !f->exists(&s))
		return -ENOENT;
	out->file = f;
	out->ino = gt_ino(&out->obj, index + 1);
	out->shared = out->shared && !(f->flags & GT_FILE_VIEW);
	if (f->flags & GT_FILE_LINK) {
		out->kind = GT_ENTRY_LINK;
		out->mode = S_IFLNK | 0777;
		return read_target(&s, out);
	}
	out->kind = GT_ENTRY_FILE;
	out->mode = S_IFREG | f->mode;
	if (f->store) {
		p = gt_perms_of(app, &out->obj, f);
		out->mode = S_IFREG | p.mode;
		out->uid = p.uid;
		out->gid = p.gid;
	}
	return 0;
}

static int in_table(struct gt_app *app, const char *name, const struct gt_view *v,
		    struct gt_entry *out, unsigned int *n)
{
	const struct gt_file *f = gt_tree_files[out->obj.kind];

	for (*n = 0; f[*n].name; (*n)++)
		if (!strcmp(name, f[*n].name))
			return found_file(app, v, &f[*n], *n, out);
	return -ENOENT;
}

static int in_subdirs(struct gt_app *app, const char *name, const struct gt_view *v,
		      struct gt_entry *out)
{
	const struct gt_subdir *sub = gt_tree_subdirs[out->obj.kind];
	const struct gt_show s = { .app = app, .obj = out->obj, .view = *v };
	struct gt_obj o;

	for (; sub->name; sub++) {
		if (!strcmp(name, sub->name) && (!sub->exists || sub->exists(&s))) {
			o = gt_subdir_obj(&out->obj, sub);
			return gt_tree_entry(app, &o, v, out);
		}
	}
	return -ENOENT;
}

static bool gpu_named(struct gt_model *m, const char *name, struct gt_obj *o)
{
	char escaped[GT_NAME_MAX];

	GT_MODEL_LOCK(m);
	for (unsigned int i = 0; i < m->ngpus; i++) {
		gt_name_escape(escaped, m->gpus[i]->name, sizeof(m->gpus[i]->name));
		if (!m->gpus[i]->gone && !strcmp(name, escaped)) {
			*o = gt_obj(GT_DIR_GPU, (uint16_t)i, GT_NONE16, 0);
			o->life = m->gpus[i]->life;
			return true;
		}
	}
	return false;
}

static bool ring_numbered(struct gt_model *m, const char *name, uint16_t gpu, struct gt_obj *o)
{
	uint32_t n;

	if (strncmp(name, "ring", 4) || !parse_id(name + 4, &n))
		return false;
	GT_MODEL_LOCK(m);
	*o = gt_obj(GT_DIR_RING, gpu, (uint16_t)n, 0);
	return gpu < m->ngpus && n < m->gpus[gpu]->nrings;
}

static bool queue_numbered(struct gt_model *m, const char *name, uint16_t gpu, struct gt_obj *o)
{
	const struct gt_queue *q;
	uint32_t id;

	if (!parse_id(name, &id))
		return false;
	GT_MODEL_LOCK(m);
	q = gt_model_queue(m, gpu, id);
	for (unsigned int i = 0; q && i < m->nqueues; i++) {
		if (m->queues[i] == q) {
			*o = gt_obj(GT_DIR_QUEUE, gpu, GT_NONE16, i);
			o->start = q->serial;
			return true;
		}
	}
	return false;
}

static bool has_queue(const struct gt_model *m, uint32_t pid, uint16_t gpu)
{
	for (unsigned int i = 0; i < m->nqueues; i++)
		if (m->queues[i]->gpu == gpu && m->queues[i]->desc.pid == pid)
			return true;
	return false;
}

static bool kernel_named(struct gt_model *m, const char *name, uint16_t gpu,
			 const struct gt_view *v, struct gt_obj *o)
{
	const struct gt_kernel *k;

	GT_MODEL_LOCK(m);
	k = gt_view_whole(v) ? gt_model_kernel_alias(m, gpu, name)
			     : gt_model_kernel_dir(m, gpu, v->uid, name);
	if (k)
		*o = gt_obj(GT_DIR_KERNEL, gpu, GT_NONE16, k->id);
	return k;
}

static bool proc_numbered(struct gt_model *m, const char *name, uint16_t gpu,
			  const struct gt_view *v, struct gt_obj *o)
{
	const struct gt_proc *p;
	uint32_t pid;

	if (!parse_id(name, &pid))
		return false;
	pid = gt_pidns_find(v->ns, pid);
	GT_MODEL_LOCK(m);
	p = gt_model_proc(m, pid);
	if (!p || !(gt_proc_on_ring(p, gpu) || has_queue(m, pid, gpu)))
		return false;
	*o = gt_obj_of_proc(GT_DIR_PROC, gpu, p);
	return true;
}

static bool user_numbered(struct gt_model *m, const char *name, struct gt_obj *o)
{
	uint32_t uid, i;

	if (!parse_id(name, &uid))
		return false;
	GT_MODEL_LOCK(m);
	i = gt_model_user(m, uid);
	if (i != GT_NONE32)
		*o = gt_obj_of_group(m, i);
	return i != GT_NONE32;
}

static bool cgroup_named(struct gt_model *m, const char *name, uint32_t parent, struct gt_obj *o)
{
	char own[GT_NAME_MAX];

	GT_MODEL_LOCK(m);
	for (uint32_t i = 1; i < m->ngroups; i++) {
		const struct gt_group *g = m->groups[i];

		if (!g || !g->cgroup || g->parent != parent || !gt_group_name(g, own) ||
		    strcmp(name, own))
			continue;
		*o = gt_obj_of_group(m, i);
		return true;
	}
	return false;
}

static bool backend_named(struct gt_app *app, const char *name, struct gt_obj *o)
{
	unsigned int n = app->host ? gt_host_count(app->host) : 0;
	struct gt_backend_info info;
	char escaped[GT_NAME_MAX];

	for (unsigned int i = 0; i < n && gt_host_info(app->host, i, &info); i++) {
		gt_name_escape(escaped, info.name, sizeof(info.name));
		if (!strcmp(name, escaped)) {
			*o = gt_obj(GT_DIR_BACKEND, GT_NONE16, GT_NONE16, i);
			return true;
		}
	}
	return false;
}

/* The directories that come and go. */
static int in_objects(struct gt_app *app, const char *name, const struct gt_view *v,
		      struct gt_entry *out)
{
	const struct gt_obj dir = out->obj;
	struct gt_obj o;
	bool found = false;

	if (dir.kind == GT_DIR_ROOT)
		found = gpu_named(app->model, name, &o);
	else if (dir.kind == GT_DIR_GPU)
		found = ring_numbered(app->model, name, dir.gpu, &o);
	else if (dir.kind == GT_DIR_QUEUES)
		found = queue_numbered(app->model, name, dir.gpu, &o);
	else if (dir.kind == GT_DIR_KERNELS)
		found = kernel_named(app->model, name, dir.gpu, v, &o);
	else if (dir.kind == GT_DIR_PROCS)
		found = proc_numbered(app->model, name, dir.gpu, v, &o);
	else if (dir.kind == GT_DIR_USERS)
		found = user_numbered(app->model, name, &o);
	else if (dir.kind == GT_DIR_CGROUP)
		found = cgroup_named(app->model, name, dir.id, &o);
	else if (dir.kind == GT_DIR_BACKENDS)
		found = backend_named(app, name, &o);
	else if (dir.kind == GT_DIR_MADES)
		found = gt_made_named(app, name, &dir, v, &o);
	if (!found)
		return -ENOENT;
	if (dir.kind != GT_DIR_ROOT)
		o.life = dir.life;
	return gt_tree_entry(app, &o, v, out);
}

static int in_own(struct gt_app *app, const char *name, unsigned int nfiles,
		      const struct gt_view *v, struct gt_entry *out)
{
	struct gt_backend_info info;
	struct gt_obj o;
	char made[64];

	if (!gt_host_info(app->host, out->obj.id, &info))
		return -ENOENT;
	for (unsigned int i = 0; gt_backend_own(&info, i, &out->dyn, out->dyn_name); i++)
		if (*out->dyn_name && !strcmp(name, out->dyn_name))
			return found_file(app, v, &out->dyn, nfiles + i, out);
	if (gt_made_in(app, out->obj.id, made) && !strcmp(name, made)) {
		o = gt_obj(GT_DIR_MADES, GT_NONE16, GT_NONE16, out->obj.id);
		return gt_tree_entry(app, &o, v, out);
	}
	return -ENOENT;
}

static int in_made(struct gt_app *app, const char *name, const struct gt_view *v,
		   struct gt_entry *out)
{
	for (unsigned int i = 0; gt_made_file(app, &out->obj, i, &out->dyn, out->dyn_name); i++)
		if (*out->dyn_name && !strcmp(name, out->dyn_name))
			return found_file(app, v, &out->dyn, i, out);
	return -ENOENT;
}

static void found_link(struct gt_entry *out, ino_t ino)
{
	out->kind = GT_ENTRY_LINK;
	out->mode = S_IFLNK | 0777;
	out->ino = ino;
}

static int in_by_name(struct gt_model *m, const char *name, struct gt_entry *out)
{
	const struct gt_gpu *g;
	char escaped[GT_NAME_MAX];

	GT_MODEL_LOCK(m);
	g = out->obj.gpu < m->ngpus ? m->gpus[out->obj.gpu] : NULL;
	for (unsigned int i = 0; g && i < g->nrings; i++) {
		gt_name_escape(escaped, g->rings[i]->name, sizeof(g->rings[i]->name));
		if (!strcmp(name, escaped)) {
			snprintf(out->target, sizeof(out->target), "../ring%u", i);
			found_link(out, gt_ino_queue_link(&out->obj, i));
			return 0;
		}
	}
	return -ENOENT;
}

static int in_by_id(struct gt_model *m, const char *name, struct gt_entry *out)
{
	char link[GT_NAME_MAX];

	GT_MODEL_LOCK(m);
	for (uint32_t i = 0; i < m->ngpus * GT_GPU_IDS; i++) {
		if (!gt_gpu_link(m, i, link, out->target) || strcmp(name, link))
			continue;
		found_link(out, gt_ino_queue_link(&out->obj, i));
		return 0;
	}
	out->target[0] = '\0';
	return -ENOENT;
}

static int in_proc_queues(struct gt_model *m, const char *name, struct gt_entry *out)
{
	char link[GT_NAME_MAX];

	GT_MODEL_LOCK(m);
	for (unsigned int i = 0; i < m->nqueues; i++) {
		if (!gt_queue_link(m, m->queues[i], out->obj.gpu, out->obj.pid, link,
				   out->target) ||
		    strcmp(name, link))
			continue;
		found_link(out, gt_ino_queue_link(&out->obj, i));
		return 0;
	}
	out->target[0] = '\0';
	return -ENOENT;
}

int gt_tree_lookup(struct gt_app *app, const struct gt_obj *dir, const char *name,
		   const struct gt_view *v, struct gt_entry *out)
{
	unsigned int nfiles;
	int ret;

	if (strnlen(name, NAME_MAX + 1) > NAME_MAX)
		return -ENAMETOOLONG;
	ret = gt_tree_enter(app, dir, v, out);
	if (ret)
		return ret;
	if (dir->kind == GT_DIR_BY_NAME)
		return in_by_name(app->model, name, out);
	if (dir->kind == GT_DIR_BY_ID)
		return in_by_id(app->model, name, out);
	if (dir->kind == GT_DIR_PROC_QUEUES)
		return in_proc_queues(app->model, name, out);
	ret = in_table(app, name, v, out, &nfiles);
	if (ret == -ENOENT)
		ret = in_subdirs(app, name, v, out);
	if (ret == -ENOENT && dir->kind == GT_DIR_BACKEND)
		ret = in_own(app, name, nfiles, v, out);
	else if (ret == -ENOENT && dir->kind == GT_DIR_MADE)
		ret = in_made(app, name, v, out);
	else if (ret == -ENOENT)
		ret = in_objects(app, name, v, out);
	return ret;
}
