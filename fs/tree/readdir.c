/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What is in a directory. A position is a class (files, fixed directories, or one kind of object)
 * and an index in it, so that it stays valid while objects come and go. Names are gathered in
 * batches, so that the model's lock is never held for a whole listing.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "internal.h"
#include "tree.h"

#define BATCH 64
#define SCAN  1024 /* slots looked at in one go, free ones too */

struct item {
	char name[GT_NAME_MAX];
	ino_t ino;
	mode_t type;
	uint32_t next; /* index to go on at */
};

/**
 * struct walk - one listing
 * @at: next index of the class that is being listed
 * @end: that class has no more
 * @pids, @npids: of a GPU's proc/: pids with a queue there, sorted
 */
struct walk {
	struct gt_app *app;
	struct gt_obj dir;
	struct gt_view view;
	uint32_t at;
	bool end;
	uint32_t *pids;
	size_t npids;
	unsigned int n;
	struct item item[BATCH];
};

static struct item *add(struct walk *w, ino_t ino, mode_t type)
{
	struct item *it = &w->item[w->n++];

	it->ino = ino;
	it->type = type;
	it->next = w->at;
	return it;
}

static void add_file(struct walk *w, const struct gt_file *f, unsigned int index)
{
	const struct gt_show s = { .app = w->app, .obj = w->dir, .view = w->view, .file = f };

	if (f->exists && !f->exists(&s))
		return;
	snprintf(add(w, gt_ino(&w->dir, index + 1), f->flags & GT_FILE_LINK ? S_IFLNK : S_IFREG)
			 ->name,
		 GT_NAME_MAX, "%s", f->name);
}

static void list_files(struct walk *w)
{
	const struct gt_file *f = gt_tree_files[w->dir.kind];
	unsigned int n = 0;

	while (f[n].name)
		n++;
	while (w->at < n && w->n < BATCH) {
		w->at++;
		add_file(w, &f[w->at - 1], w->at - 1);
	}
	w->end = w->at >= n;
}

static void list_subdirs(struct walk *w)
{
	const struct gt_show s = { .app = w->app, .obj = w->dir, .view = w->view };
	const struct gt_subdir *sub = gt_tree_subdirs[w->dir.kind];
	unsigned int n = 0;
	struct gt_obj o;

	while (sub[n].name)
		n++;
	while (w->at < n && w->n < BATCH) {
		const struct gt_subdir *d = &sub[w->at++];

		if (d->exists && !d->exists(&s))
			continue;
		o = gt_subdir_obj(&w->dir, d);
		snprintf(add(w, gt_ino(&o, 0), S_IFDIR)->name, GT_NAME_MAX, "%s", d->name);
	}
	w->end = w->at >= n;
}

static void list_gpus(struct walk *w)
{
	struct gt_model *m = w->app->model;
	const struct gt_gpu *g;
	struct gt_obj o;

	GT_MODEL_LOCK(m);
	while (w->at < m->ngpus && w->n < BATCH) {
		g = m->gpus[w->at];
		o = gt_obj(GT_DIR_GPU, (uint16_t)w->at++, GT_NONE16, 0);
		if (!g->gone)
			gt_name_escape(add(w, gt_ino(&o, 0), S_IFDIR)->name, g->name,
				       sizeof(g->name));
	}
	w->end = w->at >= m->ngpus;
}

/* The rings of a GPU: directories, or in by-name/ links to them. */
static void list_rings(struct walk *w)
{
	struct gt_model *m = w->app->model;
	bool links = w->dir.kind == GT_DIR_BY_NAME;
	const struct gt_gpu *g;
	struct gt_obj o;
	uint32_t i;

	GT_MODEL_LOCK(m);
	g = w->dir.gpu < m->ngpus ? m->gpus[w->dir.gpu] : NULL;
	while (g && w->at < g->nrings && w->n < BATCH) {
		i = w->at++;
		o = gt_obj(GT_DIR_RING, w->dir.gpu, (uint16_t)i, 0);
		if (links)
			gt_name_escape(add(w, gt_ino_queue_link(&w->dir, i), S_IFLNK)->name,
				       g->rings[i]->name, sizeof(g->rings[i]->name));
		else
			snprintf(add(w, gt_ino(&o, 0), S_IFDIR)->name, GT_NAME_MAX, "ring%u", i);
	}
	w->end = !g || w->at >= g->nrings;
}

static void list_queues(struct walk *w)
{
	struct gt_model *m = w->app->model;
	const struct gt_queue *q;
	unsigned int scanned = 0;
	struct gt_obj o;

	GT_MODEL_LOCK(m);
	while (w->at < m->nqueues && w->n < BATCH && scanned++ < SCAN) {
		o = gt_obj(GT_DIR_QUEUE, w->dir.gpu, GT_NONE16, w->at);
		q = m->queues[w->at++];
		if (q->gpu != w->dir.gpu || gt_model_queue(m, q->gpu, q->id) != q ||
		    !gt_queue_seen(m, q, &w->view))
			continue;
		snprintf(add(w, gt_ino(&o, 0), S_IFDIR)->name, GT_NAME_MAX, "%u", q->id);
	}
	w->end = w->at >= m->nqueues;
}

static void list_kernels(struct walk *w)
{
	struct gt_model *m = w->app->model;
	const struct gt_kernel *k;
	unsigned int scanned = 0;
	struct gt_obj o;

	GT_MODEL_LOCK(m);
	while (w->at < m->nkernels && w->n < BATCH && scanned++ < SCAN) {
		k = m->kernels[w->at++];
		if (k->gpu != w->dir.gpu || !gt_kernel_seen(k, &w->view))
			continue;
		o = gt_obj(GT_DIR_KERNEL, w->dir.gpu, GT_NONE16, k->id);
		snprintf(add(w, gt_ino(&o, 0), S_IFDIR)->name, GT_NAME_MAX, "%s",
			 gt_view_whole(&w->view) ? k->alias : k->dir);
	}
	w->end = w->at >= m->nkernels;
}

static void list_queue_links(struct walk *w)
{
	struct gt_model *m = w->app->model;
	char name[GT_NAME_MAX], target[256];
	unsigned int scanned = 0;
	uint32_t i;

	GT_MODEL_LOCK(m);
	while (w->at < m->nqueues && w->n < BATCH && scanned++ < SCAN) {
		i = w->at++;
		if (gt_queue_link(m, m->queues[i], w->dir.gpu, w->dir.pid, name, target))
			memcpy(add(w, gt_ino_queue_link(&w->dir, i), S_IFLNK)->name, name,
			       sizeof(name));
	}
	w->end = w->at >= m->nqueues;
}

static void list_gpu_links(struct walk *w)
{
	struct gt_model *m = w->app->model;
	char name[GT_NAME_MAX], target[256];
	uint32_t i;

	GT_MODEL_LOCK(m);
	while (w->at < m->ngpus * GT_GPU_IDS && w->n < BATCH) {
		i = w->at++;
		if (gt_gpu_link(m, i, name, target))
			memcpy(add(w, gt_ino_queue_link(&w->dir, i), S_IFLNK)->name, name,
			       sizeof(name));
	}
	w->end = w->at >= m->ngpus * GT_GPU_IDS;
}

static int by_value(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* A process may be known to a GPU by its queues alone: KFD's work passes no ring. */
static void find_queue_pids(struct walk *w)
{
	struct gt_model *m = w->app->model;
	unsigned int i = 0, end;
	bool more = true;

	if (w->dir.gpu == GT_NONE16)
		return;
	w->pids = malloc(GT_MAX_QUEUES * sizeof(*w->pids));
	while (w->pids && more) {
		GT_MODEL_LOCK(m);
		end = m->nqueues < i + SCAN ? m->nqueues : i + SCAN;
		for (; i < end; i++)
			if (m->queues[i]->gpu == w->dir.gpu && m->queues[i]->desc.pid != GT_NONE32)
				w->pids[w->npids++] = m->queues[i]->desc.pid;
		more = i < m->nqueues;
	}
	if (w->npids)
		qsort(w->pids, w->npids, sizeof(*w->pids), by_value);
}

static bool used(const struct walk *w, const struct gt_proc *p)
{
	return gt_proc_on_ring(p, w->dir.gpu) ||
	       (w->npids && bsearch(&p->pid, w->pids, w->npids, sizeof(p->pid), by_value));
}

static void list_procs(struct walk *w)
{
	struct gt_model *m = w->app->model;
	const struct gt_proc *p;
	unsigned int scanned = 0;
	struct gt_obj o;

	GT_MODEL_LOCK(m);
	while (w->at < m->proc_slots && w->n < BATCH && scanned++ < SCAN) {
		p = m->procs[w->at++];
		/* a dead process with a pid that another one has got is not reachable by name */
		if (!p || !gt_proc_seen(p, &w->view) || !used(w, p) ||
		    gt_model_proc(m, p->pid) != p)
			continue;
		o = gt_obj_of_proc(GT_DIR_PROC, w->dir.gpu, p);
		snprintf(add(w, gt_ino(&o, 0), S_IFDIR)->name, GT_NAME_MAX, "%u",
			 gt_view_pid(&w->view, p->pid, p->first_ts));
	}
	w->end = w->at >= m->proc_slots;
}

static void list_backends(struct walk *w)
{
	unsigned int n = w->app->host ? gt_host_count(w->app->host) : 0;
	struct gt_backend_info info;
	struct gt_obj o;

	while (w->at < n && w->n < BATCH) {
		o = gt_obj(GT_DIR_BACKEND, GT_NONE16, GT_NONE16, w->at++);
		if (gt_host_info(w->app->host, o.id, &info))
			gt_name_escape(add(w, gt_ino(&o, 0), S_IFDIR)->name, info.name,
				       sizeof(info.name));
	}
	w->end = w->at >= n;
}

static void list_own(struct walk *w)
{
	const struct gt_file *f = gt_tree_files[GT_DIR_BACKEND];
	struct gt_backend_info info;
	unsigned int nfiles = 0;
	struct gt_file dyn;
	char name[64];

	while (f[nfiles].name)
		nfiles++;
	w->end = !gt_host_info(w->app->host, w->dir.id, &info);
	while (!w->end && w->n < BATCH) {
		w->end = !gt_backend_own(&info, w->at++, &dyn, name);
		if (!w->end && *name)
			add_file(w, &dyn, nfiles + w->at - 1);
	}
}

/* The directory of a backend in which users make others */
static void list_makes(struct walk *w)
{
	struct gt_obj o = gt_obj(GT_DIR_MADES, GT_NONE16, GT_NONE16, w->dir.id);
	char name[64];

	w->end = true;
	if (!w->at++ && gt_made_in(w->app, w->dir.id, name))
		snprintf(add(w, gt_ino(&o, 0), S_IFDIR)->name, GT_NAME_MAX, "%s", name);
}

static void list_made(struct walk *w)
{
	struct gt_userdir m;
	struct gt_obj o;

	while (!w->end && w->n < BATCH) {
		w->end = !gt_host_userdir_at(w->app->host, w->dir.id, w->at++, &m);
		if (w->end || !m.serial || !gt_made_seen(m.uid, &w->view))
			continue;
		o = gt_obj_of_made(w->dir.id, &m);
		gt_made_name(add(w, gt_ino(&o, 0), S_IFDIR)->name, &m, &w->view);
	}
}

static void list_made_files(struct walk *w)
{
	struct gt_file dyn;
	char name[64];

	while (!w->end && w->n < BATCH) {
		w->end = !gt_userdir_file(w->app, &w->dir, w->at++, &dyn, name);
		if (!w->end && *name)
			add_file(w, &dyn, w->at - 1);
	}
}

/* Users, or the cgroups directly below the one that is listed */
static void list_groups(struct walk *w)
{
	struct gt_model *m = w->app->model;
	bool cgroups = w->dir.kind == GT_DIR_CGROUP;
	struct gt_group_set seen;
	char name[GT_NAME_MAX];
	struct gt_obj o;

	GT_MODEL_LOCK(m);
	gt_group_seen(m, &w->view, &seen);
	while (w->at < m->ngroups && w->n < BATCH) {
		const struct gt_group *g = m->groups[w->at++];

		if (!g || g->cgroup != cgroups || !gt_group_set_has(&seen, w->at - 1) ||
		    g->parent != (cgroups ? w->dir.id : GT_NONE32))
			continue;
		if (!cgroups)
			snprintf(name, sizeof(name), "%u", g->uid);
		else if (!gt_group_name(g, name))
			continue;
		o = gt_obj_of_group(m, w->at - 1);
		memcpy(add(w, gt_ino(&o, 0), S_IFDIR)->name, name, sizeof(name));
	}
	w->end = w->at >= m->ngroups;
}

typedef void (*lister)(struct walk *w);

#define CLASSES 4
static const lister classes[GT_NDIRS][CLASSES] = {
	[GT_DIR_ROOT] = { list_files, list_subdirs, list_gpus },
	[GT_DIR_CONFIG] = { list_files },
	[GT_DIR_BACKENDS] = { list_backends },
	[GT_DIR_BACKEND] = { list_files, list_own, list_makes },
	[GT_DIR_MADES] = { list_made },
	[GT_DIR_MADE] = { list_made_files },
	[GT_DIR_GPU] = { list_files, list_subdirs, list_rings },
	[GT_DIR_RING] = { list_files },
	[GT_DIR_BY_NAME] = { list_rings },
	[GT_DIR_QUEUES] = { list_queues },
	[GT_DIR_QUEUE] = { list_files },
	[GT_DIR_PROCS] = { list_procs },
	[GT_DIR_PROC] = { list_files, list_subdirs },
	[GT_DIR_PROC_QUEUES] = { list_queue_links },
	[GT_DIR_USERS] = { list_groups },
	[GT_DIR_USER] = { list_files },
	[GT_DIR_CGROUP] = { list_files, list_groups },
	[GT_DIR_KERNELS] = { list_kernels },
	[GT_DIR_KERNEL] = { list_files },
	[GT_DIR_BY_ID] = { list_gpu_links },
};

static void walk_class(struct walk *w, uint64_t class, gt_tree_fill fn, void *arg, bool *more)
{
	const struct item *it;

	for (w->end = false; *more && !w->end;) {
		w->n = 0;
		classes[w->dir.kind][class](w);
		for (it = w->item; *more && it < w->item + w->n; it++)
			*more = fn(arg, it->name, it->ino, it->type,
				   class << GT_POS_INDEX_BITS | it->next);
	}
}

int gt_tree_readdir(struct gt_app *app, const struct gt_obj *dir, const struct gt_view *v,
		    uint64_t pos, gt_tree_fill fn, void *arg)
{
	uint64_t class = pos >> GT_POS_INDEX_BITS;
	struct gt_entry self;
	struct walk w;
	bool more = true;
	int ret;

	ret = gt_tree_enter(app, dir, v, &self);
	if (ret)
		return ret;
	w.app = app;
	w.dir = *dir;
	w.view = *v;
	w.pids = NULL;
	w.npids = 0;
	w.at = pos & ((1U << GT_POS_INDEX_BITS) - 1);
	if (dir->kind == GT_DIR_PROCS)
		find_queue_pids(&w);
	for (; more && class < CLASSES && classes[dir->kind][class]; class ++) {
		walk_class(&w, class, fn, arg, &more);
		w.at = 0;
	}
	free(w.pids);
	return 0;
}

/*
 * Numbers that users see in place of the tree's own. Those hold places in tables and pids of the
 * daemon's namespace: they would say how many processes others have, and when these came. The
 * function of the key is SipHash-2-4 (Aumasson and Bernstein, 2012).
 */

#define HALF_BITS (GT_POS_INDEX_BITS / 2)
#define HALF_MASK ((1U << HALF_BITS) - 1)
#define ROUNDS	  4

static uint64_t rotated(uint64_t x, unsigned int by)
{
	return x << by | x >> (64 - by);
}

static void rounds(uint64_t v[4], unsigned int n)
{
	while (n--) {
		v[0] += v[1];
		v[2] += v[3];
		v[1] = rotated(v[1], 13) ^ v[0];
		v[3] = rotated(v[3], 16) ^ v[2];
		v[0] = rotated(v[0], 32) + v[3];
		v[2] += v[1];
		v[3] = rotated(v[3], 21) ^ v[0];
		v[1] = rotated(v[1], 17) ^ v[2];
		v[2] = rotated(v[2], 32);
	}
}

uint64_t gt_siphash(const uint64_t key[2], const uint64_t *word, unsigned int n)
{
	uint64_t v[4] = { key[0] ^ 0x736f6d6570736575ULL, key[1] ^ 0x646f72616e646f6dULL,
			  key[0] ^ 0x6c7967656e657261ULL, key[1] ^ 0x7465646279746573ULL };
	uint64_t last = (uint64_t)n * sizeof(*word) << 56;

	for (unsigned int i = 0; i <= n; i++) {
		uint64_t m = i < n ? word[i] : last;

		v[3] ^= m;
		rounds(v, 2);
		v[0] ^= m;
	}
	v[2] ^= 0xff;
	rounds(v, 4);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

int gt_shown_init(struct gt_shown *s)
{
	return getrandom(s->key, sizeof(s->key), 0) == sizeof(s->key) ? 0 : -EIO;
}

ino_t gt_shown_ino(const struct gt_shown *s, ino_t ino)
{
	uint64_t word = ino;

	/* two of a million names get the same once in ten million mounts */
	return ino == 1 ? 1 : (ino_t)(gt_siphash(s->key, &word, 1) & INT64_MAX) | 2;
}

/* A half of an index, by the other half, the directory and the round */
static uint32_t mixed(const struct gt_shown *s, ino_t dir, unsigned int round, uint32_t half)
{
	const uint64_t words[2] = { dir, (uint64_t)round << 32 | half };

	return (uint32_t)gt_siphash(s->key, words, 2) & HALF_MASK;
}

uint64_t gt_shown_pos(const struct gt_shown *s, ino_t dir, uint64_t pos)
{
	uint32_t a = pos >> HALF_BITS & HALF_MASK, b = pos & HALF_MASK, next;

	if (!pos)
		return 0;
	for (unsigned int i = 0; i < ROUNDS; i++) {
		next = a ^ mixed(s, dir, i, b);
		a = b;
		b = next;
	}
	return ((pos >> GT_POS_INDEX_BITS) + 1) << GT_POS_INDEX_BITS | a << HALF_BITS | b;
}

uint64_t gt_tree_pos(const struct gt_shown *s, ino_t dir, uint64_t shown)
{
	uint32_t a = shown >> HALF_BITS & HALF_MASK, b = shown & HALF_MASK, before;

	if (!(shown >> GT_POS_INDEX_BITS)) /* the beginning, and what was never shown */
		return 0;
	for (unsigned int i = ROUNDS; i-- > 0;) {
		before = b ^ mixed(s, dir, i, a);
		b = a;
		a = before;
	}
	return ((shown >> GT_POS_INDEX_BITS) - 1) << GT_POS_INDEX_BITS | a << HALF_BITS | b;
}
