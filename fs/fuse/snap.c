/* SPDX-License-Identifier: GPL-2.0 */
/* Snapshots: the text of a file at one moment, and a small cache of those that cannot have changed. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fuse.h"

static struct gt_show show_of(struct gt_app *app, const struct gt_entry *e, const struct gt_view *v)
{
	return (struct gt_show){ .app = app, .obj = e->obj, .view = *v, .file = e->file };
}

uint64_t gt_poll_gen(struct gt_app *app, const struct gt_entry *e, const struct gt_view *v)
{
	uint64_t gen;

	if (gt_file_gen(app, e, v, &gen))
		return gen;
	GT_MODEL_LOCK(app->model);
	return app->model->gen;
}

bool gt_file_gen(struct gt_app *app, const struct gt_entry *e, const struct gt_view *v, uint64_t *gen)
{
	struct gt_show s = show_of(app, e, v);

	if (e->file->flags & GT_FILE_STATIC) {
		*gen = 1;
		return true;
	}
	if (!e->file->gen)
		return false;
	*gen = e->file->gen(&s);
	return true;
}

struct gt_snap *gt_snap_ref(struct gt_snap *s)
{
	atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
	return s;
}

void gt_snap_put(struct gt_snap *s)
{
	if (!s || atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) != 1)
		return;
	atomic_fetch_sub(&s->app->snapshots, 1);
	atomic_fetch_sub(&s->app->snapshot_bytes, s->len);
	free(s);
}

static struct gt_snap *snap_from(struct gt_app *app, const struct gt_text *t)
{
	struct gt_snap *s = malloc(sizeof(*s) + t->len);

	if (!s)
		return NULL;
	atomic_init(&s->refs, 1);
	s->app = app;
	s->gen = 0;
	clock_gettime(CLOCK_REALTIME_COARSE, &s->time);
	s->len = t->len;
	if (t->len)
		memcpy(s->data, t->buf, t->len);
	atomic_fetch_add(&app->snapshots, 1);
	atomic_fetch_add(&app->snapshot_bytes, s->len);
	return s;
}

/**
 * gt_snap_render() - the text of a file as @v sees it now
 * @err: -errno if there is none: -ENODEV (the object has gone), -ENOMEM, or what show() said
 */
struct gt_snap *gt_snap_render(struct gt_app *app, const struct gt_entry *e, const struct gt_view *v,
			       int *err)
{
	struct gt_show s = show_of(app, e, v);
	struct gt_snap *snap = NULL;
	struct gt_text t;
	uint64_t gen;

	gt_app_fresh(app);
	gen = gt_poll_gen(app, e, v);
	/* asked before rendering: if the text changes meanwhile, it is rendered once too often */
	gt_text_init(&t, 0);
	*err = e->file->show ? e->file->show(&t, &s) : -EACCES;
	if (!*err) {
		snap = t.failed ? NULL : snap_from(app, &t);
		if (snap)
			snap->gen = gen;
		else
			*err = -ENOMEM;
	}
	gt_text_free(&t);
	return snap;
}

struct gt_snap *gt_snap_get(struct gt_fs *fs, const struct gt_entry *e, const struct gt_view *v,
			    int *err)
{
	unsigned int slot = (unsigned int)((e->ino * 0x9e3779b97f4a7c15ULL) >> 32) % GT_CACHE_SLOTS;
	struct gt_snap *snap;
	uint64_t gen;

	gt_app_fresh(fs->app);
	if ((e->file->flags & GT_FILE_VIEW) || !gt_file_gen(fs->app, e, v, &gen))
		return gt_snap_render(fs->app, e, v, err);
	snap = fs->cache[slot].snap;
	if (snap && fs->cache[slot].ino == e->ino && snap->gen == gen)
		return gt_snap_ref(snap);
	snap = gt_snap_render(fs->app, e, v, err);
	if (!snap)
		return NULL;
	gt_snap_put(fs->cache[slot].snap);
	fs->cache[slot].ino = e->ino;
	fs->cache[slot].snap = gt_snap_ref(snap);
	return snap;
}

/** gt_snap_flush() - empties the cache */
void gt_snap_flush(struct gt_fs *fs)
{
	for (unsigned int i = 0; i < GT_CACHE_SLOTS; i++) {
		gt_snap_put(fs->cache[i].snap);
		fs->cache[i].snap = NULL;
	}
}
