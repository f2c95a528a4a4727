/* SPDX-License-Identifier: GPL-2.0 */
/* Directories: which kinds there are, what each is called, who owns it and whether it still exists.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../access/access.h"
#include "internal.h"
#include "tree.h"

/* by-id/ of the root: links to GPUs by what else they are called. */

/* Name @kind of @g; "" if it has none */
static void name_of(const struct gt_gpu *g, unsigned int kind, char out[GT_NAME_MAX])
{
	const char *plain[] = { g->pci, g->card, g->render, g->uuid };

	out[0] = '\0';
	if (kind < sizeof(plain) / sizeof(plain[0]) && *plain[kind])
		gt_name_escape(out, plain[kind], 48);
	else if (kind == GT_GPU_IDS - 1 && g->kfd_id)
		snprintf(out, GT_NAME_MAX, "kfd-%u", g->kfd_id);
}

/* Parts of one device may share a name: then it is the first one's. */
static bool taken(const struct gt_model *m, unsigned int gpu, unsigned int kind, const char *name)
{
	char other[GT_NAME_MAX];

	for (unsigned int i = 0; i < gpu; i++) {
		if (m->gpus[i]->gone)
			continue;
		name_of(m->gpus[i], kind, other);
		if (!strcmp(name, other))
			return true;
	}
	return false;
}

bool gt_gpu_link(const struct gt_model *m, uint32_t i, char name[GT_NAME_MAX], char target[256])
{
	unsigned int gpu = i / GT_GPU_IDS, kind = i % GT_GPU_IDS;
	char dir[GT_NAME_MAX];

	if (gpu >= m->ngpus || m->gpus[gpu]->gone)
		return false;
	name_of(m->gpus[gpu], kind, name);
	if (!*name || taken(m, gpu, kind, name))
		return false;
	gt_name_escape(dir, m->gpus[gpu]->name, sizeof(m->gpus[gpu]->name));
	snprintf(target, 256, "../%.200s", dir);
	return true;
}

static bool has_gpu_links(const struct gt_show *s)
{
	const struct gt_model *m = s->app->model;
	char name[GT_NAME_MAX], target[256];
	bool any = false;
	GT_MODEL_LOCK(s->app->model);

	for (uint32_t i = 0; !any && i < m->ngpus * GT_GPU_IDS; i++)
		any = gt_gpu_link(m, i, name, target);
	return any;
}

/*
 * Objects by their address in the tree, and generations: numbers that change whenever a file's text
 * may have changed. They make a read of an idle machine's file a matter of a cached text.
 */

/* avg60 and the 10s_ keys move with the clock for so long after the last event, in seconds */
#define ACTIVE_SEC 61
#define MOVING_NS  50000000 /* busy and per second are of windows that end now: so often anew */

struct gt_gpu *gt_obj_gpu(const struct gt_show *s)
{
	const struct gt_model *m = s->app->model;
	struct gt_gpu *g = s->obj.gpu < m->ngpus ? m->gpus[s->obj.gpu] : NULL;

	return g && !g->gone && g->life == s->obj.life ? g : NULL;
}

struct gt_ring *gt_obj_ring(const struct gt_show *s)
{
	struct gt_gpu *g = gt_obj_gpu(s);

	return g && s->obj.ring < g->nrings ? g->rings[s->obj.ring] : NULL;
}

/* The reader's own process: as soon as it has GPU work, that; until then one that did nothing */
static struct gt_proc *own_proc(const struct gt_show *s)
{
	static struct gt_proc idle; /* of the look at hand: the model is locked */
	struct gt_proc *p;

	if (!s->view.pid)
		return NULL;
	p = gt_model_proc(s->app->model, s->view.pid);
	if (p && !p->dead)
		return p;
	/* it began after all that was done by others with its pid */
	idle = (struct gt_proc){ .slot = GT_NONE32,
				 .pid = s->view.pid,
				 .uid = s->view.uid,
				 .first_ts = GT_NONE64,
				 .user = GT_NONE32,
				 .group = GT_NONE32 };
	return &idle;
}

struct gt_proc *gt_obj_proc(const struct gt_show *s)
{
	const struct gt_model *m = s->app->model;
	struct gt_proc *p = s->obj.id < m->proc_slots ? m->procs[s->obj.id] : NULL;

	if (gt_obj_is_own(&s->obj))
		return own_proc(s);

	if (s->obj.gpu != GT_NONE16 && !gt_obj_gpu(s))
		return NULL;
	/* a start that was not known when the directory was looked up may have come since */
	if (!p || p->pid != s->obj.pid || (s->obj.start && p->start != s->obj.start))
		return NULL;
	return p;
}

struct gt_queue *gt_obj_queue(const struct gt_show *s)
{
	const struct gt_model *m = s->app->model;
	struct gt_queue *q = s->obj.id < m->nqueues ? m->queues[s->obj.id] : NULL;

	return q && q->gpu == s->obj.gpu && q->serial == s->obj.start && gt_obj_gpu(s) ? q : NULL;
}

uint64_t gt_gen_mix(uint64_t gen, uint64_t other)
{
	uint64_t h = gen * 0x9e3779b97f4a7c15ULL + other;

	h ^= h >> 32;
	return h * 0xd6e8feb86659fd93ULL;
}

/**
 * struct seen - what a generation is made of
 * @busy: something is in flight: texts move with the clock without any event
 */
struct seen {
	uint64_t gen;
	uint64_t last; /* second of the last event */
	bool busy;
};

/* Lock held; false: the object has gone. */
static bool see_object(const struct gt_show *s, struct seen *o)
{
	const struct gt_model *m = s->app->model;
	const struct gt_gpu *g;
	const struct gt_ring *r;
	const struct gt_queue *q;
	const struct gt_proc *p;

	switch (s->obj.kind) {
	case GT_DIR_GPU:
		g = gt_obj_gpu(s);
		if (g)
			*o = (struct seen){ g->gen, g->types.sec, m->njobs > 0 };
		return g;
	case GT_DIR_RING:
		r = gt_obj_ring(s);
		if (r)
			*o = (struct seen){ r->gen, r->types.sec, r->depth.now > 0 };
		return r;
	case GT_DIR_QUEUE:
		q = gt_obj_queue(s);
		if (q)
			*o = (struct seen){ q->gen + (m->resets << 40), q->last_ts / GT_SEC,
					    q->depth.now > 0 };
		return q;
	case GT_DIR_PROC:
		p = gt_obj_proc(s);
		if (p)
			*o = (struct seen){ p->gen + (m->resets << 40), p->last_ts / GT_SEC,
					    p->inflight > 0 };
		return p;
	default:
		*o = (struct seen){ m->gen, m->types.sec, m->njobs > 0 };
		return true;
	}
}

/* The clock in units of @step while it matters, then a constant. */
static uint64_t tick(const struct seen *o, uint64_t now, uint64_t step)
{
	if (!o->busy && (!o->last || now / GT_SEC > o->last + ACTIVE_SEC))
		return 0;
	return now / step;
}

static uint64_t object_with_clock(const struct gt_show *s, uint64_t step)
{
	uint64_t now = gt_model_now(s->app->model), changed = gt_observed_changed(s->app->model);
	struct seen o;

	GT_MODEL_LOCK(s->app->model);
	if (!see_object(s, &o))
		return 0;
	o.last = changed / GT_SEC > o.last ? changed / GT_SEC : o.last;
	return gt_gen_mix(gt_gen_mix(o.gen, changed), tick(&o, now, step));
}

uint64_t gt_gen_object(const struct gt_show *s)
{
	return object_with_clock(s, GT_SEC);
}

uint64_t gt_gen_moving(const struct gt_show *s)
{
	return object_with_clock(s, MOVING_NS);
}

uint64_t gt_gen_object_only(const struct gt_show *s)
{
	struct seen o;

	GT_MODEL_LOCK(s->app->model);
	return see_object(s, &o) ? gt_gen_mix(o.gen, 0) : 0;
}

uint64_t gt_gen_model(const struct gt_show *s)
{
	struct gt_show root = *s;

	root.obj.kind = GT_DIR_ROOT;
	return gt_gen_moving(&root);
}

uint64_t gt_gen_history(const struct gt_show *s)
{
	const struct gt_log *l = s->app->log;
	uint64_t fins = gt_gen_mix(atomic_load(&l->fin_head), atomic_load(&l->bare_head));
	uint64_t at = gt_gen_mix(atomic_load(&l->head), fins);

	GT_MODEL_LOCK(s->app->model);
	/* a clear and a name that changes show in the model's own generation */
	return gt_gen_mix(s->app->model->gen, at);
}

static uint64_t depth_avg(const struct gt_model *m, const struct gt_depth *d,
			  const struct gt_pauses *pauses, uint64_t now)
{
	uint64_t observed =
		gt_observed_between_of(m, (struct gt_extent){ .pauses = pauses }, d->t0, now);

	return observed ? gt_depth_avg(d, now, observed) / 10 : GT_NONE64;
}

/* The average falls as long as nothing happens: the file changes when its second decimal does. */
uint64_t gt_gen_depth(const struct gt_show *s)
{
	uint64_t now = gt_model_now(s->app->model);
	const struct gt_depth *d;
	const struct gt_queue *q;
	const struct gt_ring *r;

	GT_MODEL_LOCK(s->app->model);
	if (s->obj.kind == GT_DIR_QUEUE) {
		q = gt_obj_queue(s);
		d = q ? &q->depth : NULL;
		return d ? gt_gen_mix(q->gen, depth_avg(s->app->model, d, NULL, now)) : 0;
	}
	r = gt_obj_ring(s);
	d = r ? &r->depth : NULL;
	return d ? gt_gen_mix(r->gen, depth_avg(s->app->model, d, r->pauses, now)) : 0;
}

/* A name in a directory: what it stands for. */

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

/* A reader without GPU work finds its own directory all the same, unless another's work is played */
static bool proc_numbered(struct gt_model *m, const char *name, uint16_t gpu,
			  const struct gt_view *v, struct gt_obj *o)
{
	const struct gt_proc *p;
	uint32_t pid;
	bool own;

	if (!parse_id(name, &pid))
		return false;
	own = v->pid && pid == v->own_pid && gpu == GT_NONE16 && m->wall;
	pid = gt_pidns_find(v->ns, pid);
	GT_MODEL_LOCK(m);
	p = gt_model_proc(m, pid);
	if (own && (!p || p->dead || p->pid != v->pid)) {
		*o = gt_obj(GT_DIR_PROC, GT_NONE16, GT_NONE16, GT_NONE32);
		return true;
	}
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
	for (unsigned int i = 0; gt_userdir_file(app, &out->obj, i, &out->dyn, out->dyn_name); i++)
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

bool gt_lookup_depends_on_caller(const struct gt_obj *dir, const char *name)
{
	switch (dir->kind) {
	case GT_DIR_PROCS:
	case GT_DIR_PROC:
	case GT_DIR_PROC_QUEUES:
	case GT_DIR_QUEUES:
	case GT_DIR_QUEUE:
	case GT_DIR_USERS:
	case GT_DIR_USER:
	case GT_DIR_CGROUP:
	case GT_DIR_KERNELS:
	case GT_DIR_KERNEL:
	case GT_DIR_MADES:
	case GT_DIR_MADE:
		return true;
	case GT_DIR_GPU: /* exists if the caller may see a kernel */
		return !strcmp(name, "kernels") || !strcmp(name, "kernel_stats") ||
		       !strcmp(name, "counters");
	case GT_DIR_ROOT:
		return !strcmp(name, "self");
	default:
		return false;
	}
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

const struct gt_obj gt_tree_root = { .kind = GT_DIR_ROOT, .gpu = GT_NONE16, .ring = GT_NONE16 };

static const struct gt_file no_files[] = { { 0 } };

const struct gt_file *const gt_tree_files[GT_NDIRS] = {
	[GT_DIR_ROOT] = gt_root_files,	   [GT_DIR_CONFIG] = gt_config_files,
	[GT_DIR_BACKENDS] = no_files,	   [GT_DIR_BACKEND] = gt_backend_files,
	[GT_DIR_GPU] = gt_gpu_files,	   [GT_DIR_RING] = gt_ring_files,
	[GT_DIR_BY_NAME] = no_files,	   [GT_DIR_QUEUES] = no_files,
	[GT_DIR_QUEUE] = gt_queue_files,   [GT_DIR_PROCS] = no_files,
	[GT_DIR_PROC] = gt_proc_files,	   [GT_DIR_PROC_QUEUES] = no_files,
	[GT_DIR_USERS] = no_files,	   [GT_DIR_USER] = gt_group_files,
	[GT_DIR_CGROUP] = gt_group_files,  [GT_DIR_KERNELS] = no_files,
	[GT_DIR_KERNEL] = gt_kernel_files, [GT_DIR_MADES] = no_files,
	[GT_DIR_MADE] = no_files,	   [GT_DIR_BY_ID] = no_files,
};

const char *gt_file_format(const struct gt_file *f)
{
	if (f->flags & GT_FILE_LINK)
		return "link";
	if (f->flags & GT_FILE_PIPE)
		return "binary pipe";
	if (f->flags & GT_FILE_TPIPE)
		return "text pipe";
	if (f->flags & GT_FILE_PROSE)
		return "text";
	if (f->flags & GT_FILE_KEYED)
		return "keyed";
	return f->fields ? "table" : "value";
}

int gt_tree_show(struct gt_text *t, const struct gt_show *s)
{
	const char *columns = s->file->flags & GT_FILE_KEYED ? NULL : s->file->fields;
	size_t begin = columns ? gt_table_begin(t, columns) : t->len;
	int err = s->file->show(t, s);

	if (err == -ENODATA) {
		t->len = begin;
		gt_text_str(t, "unavailable\n");
		return 0;
	}
	if (columns)
		gt_table_end(t, begin);
	return err;
}

static const struct gt_subdir none[] = { { 0 } };
static const struct gt_subdir of_root[] = {
	{ "config", GT_DIR_CONFIG, NULL },
	{ "backends", GT_DIR_BACKENDS, NULL },
	{ "proc", GT_DIR_PROCS, NULL },
	{ "users", GT_DIR_USERS, NULL },
	{ "cgroups", GT_DIR_CGROUP, NULL },
	{ "by-id", GT_DIR_BY_ID, has_gpu_links },
	{ 0 },
};
static const struct gt_subdir of_gpu[] = {
	{ "queues", GT_DIR_QUEUES, NULL },
	{ "proc", GT_DIR_PROCS, NULL },
	{ "by-name", GT_DIR_BY_NAME, NULL },
	{ "kernels", GT_DIR_KERNELS, gt_has_kernels },
	{ 0 },
};
static bool has_queues(const struct gt_show *s)
{
	return !gt_obj_is_own(&s->obj);
}

static const struct gt_subdir of_proc[] = { { "queues", GT_DIR_PROC_QUEUES, has_queues }, { 0 } };

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
		return gt_obj_is_own(dir) ? 2 : 3;
	default:
		return 2;
	}
}

#define INO_INDEX_BITS 8
#define INO_KIND_BITS  5
#define INO_GPU_BITS   7
#define INO_SLOT_BITS  18 /* limits.max_processes is at most 262144 */

static_assert(GT_NDIRS < 1 << INO_KIND_BITS, "a kind, and gt_obj_is_own(), fit their bits");
static_assert(GT_MAX_GPUS < 1 << INO_GPU_BITS, "a GPU and none fit their bits");

static ino_t compose(const struct gt_obj *dir, uint64_t who, unsigned int index)
{
	uint64_t gpu = dir->gpu & ((1U << INO_GPU_BITS) - 1);

	who = who << INO_GPU_BITS | gpu;
	who = who << INO_KIND_BITS | (gt_obj_is_own(dir) ? GT_NDIRS : dir->kind);
	return (ino_t)((who << INO_INDEX_BITS | (index & 0xff)) & INT64_MAX);
}

ino_t gt_ino(const struct gt_obj *dir, unsigned int index)
{
	uint64_t who = dir->id;

	if (dir->kind == GT_DIR_ROOT && !index)
		return 1;
	if (dir->kind == GT_DIR_RING)
		who = dir->ring;
	else if (gt_obj_is_own(dir))
		who = 0;
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
