/* SPDX-License-Identifier: GPL-2.0 */
/* Open descriptors: texts and settings; pipes are in pipe.c. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "../access/access.h"
#include "../tree/tree.h"
#include "fuse.h"

static bool gt_file_gen(struct gt_app *app, const struct gt_entry *e, const struct gt_view *v,
			uint64_t *gen);
static int gt_worker_open(struct gt_fs *fs, const struct gt_job_open *job);

/* Snapshots: the text of a file at one moment, and a small cache of those that cannot have changed. */

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

/** gt_file_gen() - number that changes with the text of @e; false if there is none to ask for */
static bool gt_file_gen(struct gt_app *app, const struct gt_entry *e, const struct gt_view *v,
			uint64_t *gen)
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
static struct gt_snap *gt_snap_render(struct gt_app *app, const struct gt_entry *e,
				      const struct gt_view *v, int *err)
{
	struct gt_show s = show_of(app, e, v);
	struct gt_snap *snap = NULL;
	struct gt_text t;
	uint64_t gen;

	gen = gt_poll_gen(app, e, v);
	/* asked before rendering: if the text changes meanwhile, it is rendered once too often */
	gt_text_init(&t, 0);
	*err = e->file->show ? gt_tree_show(&t, &s) : -EACCES;
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

#define FREE_LEN 4096 /* a text that is never refused for its length */

/**
 * gt_handle_new() - a descriptor of @n for @u, who sees @v; holds the node
 * Return: 0, -ENOMEM, or gt_quota_take()'s
 */
static int gt_handle_new(struct gt_fs *fs, struct gt_node *n, const struct gt_view *v,
			 struct gt_user *u, struct gt_handle **out)
{
	int err = gt_quota_take(&fs->app->quota, u, GT_Q_FILES);
	struct gt_handle *h;

	if (err)
		return err;
	h = calloc(1, sizeof(*h));
	if (!h) {
		gt_quota_give(&fs->app->quota, u, GT_Q_FILES, 1);
		return -ENOMEM;
	}
	h->fs = fs;
	h->node = n;
	h->view = *v;
	h->user = u;
	atomic_init(&h->unread, true);
	pthread_mutex_init(&h->lock, NULL);
	gt_node_hold(n);
	pthread_mutex_lock(&fs->lock);
	h->next = fs->handles;
	h->pprev = &fs->handles;
	if (h->next)
		h->next->pprev = &h->next;
	fs->handles = h;
	pthread_mutex_unlock(&fs->lock);
	*out = h;
	return 0;
}

/** gt_handle_text() - @s is what it shows, taken over; -ENOMEM: too much is held, and @s gone */
static int gt_handle_text(struct gt_handle *h, struct gt_snap *s)
{
	struct gt_quota *q = &h->fs->app->quota;
	struct gt_snap *old = s;
	int err = 0;

	pthread_mutex_lock(&h->lock);
	/* who holds too much may still look at what takes no more than it did, or next to nothing
	 */
	if (s->len > FREE_LEN && s->len > h->bytes && gt_quota_full(q, h->user, GT_Q_BYTES)) {
		err = gt_quota_refuse(q, h->user, GT_Q_BYTES);
	} else {
		gt_quota_add(q, h->user, GT_Q_BYTES, s->len);
		gt_quota_give(q, h->user, GT_Q_BYTES, h->bytes);
		old = h->snap;
		h->snap = s;
		h->bytes = s->len;
	}
	pthread_mutex_unlock(&h->lock);
	gt_snap_put(old);
	return err;
}

/** gt_handle_free() - ends a descriptor, and drops what it holds */
void gt_handle_free(struct gt_handle *h)
{
	struct gt_quota *q = &h->fs->app->quota;

	if (!gt_handle_closing(h))
		return;
	gt_poll_remove(h);
	pthread_mutex_lock(&h->fs->lock);
	*h->pprev = h->next;
	if (h->next)
		h->next->pprev = h->pprev;
	pthread_mutex_unlock(&h->fs->lock);
	if (gt_is_pipe(&h->node->entry))
		gt_pipe_close(h);
	gt_snap_put(h->snap);
	gt_node_release(h->node);
	pthread_mutex_destroy(&h->lock);
	gt_quota_give(q, h->user, GT_Q_BYTES, h->bytes);
	gt_quota_give(q, h->user, GT_Q_FILES, 1);
	free(h);
}

static int open_text(struct gt_handle *h, struct gt_node *n)
{
	struct gt_snap *s;
	int err = 0;

	if (!n->entry.file->show)
		return 0;
	s = gt_node_take_text(n);
	if (!s)
		s = gt_snap_get(h->fs, &n->entry, &h->view, &err);
	return s ? gt_handle_text(h, s) : err;
}

static int open_check(struct gt_fs *fs, const struct gt_entry *e, const struct fuse_file_info *fi)
{
	bool writes = (fi->flags & O_ACCMODE) != O_RDONLY;

	if (e->kind != GT_ENTRY_FILE)
		return -EISDIR;
	if (gt_tree_gone(fs->app, &e->obj))
		return -ENODEV;
	return writes && !e->file->store ? -EACCES : 0;
}

/* Of settings only: everything else that is not for everybody is narrowed by the view. */
static bool may_read(const struct gt_entry *e, const struct gt_view *v, int flags)
{
	const struct gt_perms p = { .mode = e->mode & 0666, .uid = e->uid, .gid = e->gid };

	return !e->file->store || (flags & O_ACCMODE) == O_WRONLY || gt_perms_may(&p, v, 4);
}

/*
 * What the opener sees, and whether that is something else than what the node was found with: then
 * it came by another's way, and must be able to find the file itself.
 */
static int open_view(struct gt_job_open *j)
{
	struct gt_fs *fs = fuse_req_userdata(j->req);
	const struct gt_node *n = j->node;
	const struct gt_entry *e = &n->entry;
	struct gt_entry own;

	if (gt_is_pipe(e) || n->differs || e->file->store)
		j->view = gt_req_view(fs, j->req);
	else
		j->view = gt_view_nobody();
	j->user = gt_req_user(fs, j->req, &j->view);
	j->foreign = n->differs && !gt_view_same(&j->view, &n->view);
	if (j->foreign && gt_tree_lookup(fs->app, &e->obj, e->file->name, &j->view, &own))
		return -EACCES;
	return may_read(e, &j->view, j->fi.flags) ? 0 : -EACCES;
}

static int open_now(struct gt_job_open *j)
{
	struct gt_fs *fs = fuse_req_userdata(j->req);
	const struct gt_entry *e = &j->node->entry;
	struct gt_handle *h = NULL;
	int err = gt_handle_new(fs, j->node, &j->view, j->user, &h);

	if (!err)
		err = gt_is_pipe(e) ? gt_pipe_open(h) : open_text(h, j->node);
	if (err) {
		if (h)
			gt_handle_free(h);
		return err;
	}
	/* head(1) seeks back over lines it did not print, and complains where it cannot */
	j->fi.nonseekable = (e->file->flags & GT_FILE_PIPE) != 0;
	j->fi.fh = (uint64_t)(uintptr_t)h;
	if (fuse_reply_open(j->req, &j->fi) == -ENOENT)
		gt_handle_free(h);
	return 0;
}

/* A program that fails to open for writing never comes to gt_op_write() */
static void report_refused(struct gt_fs *fs, fuse_req_t req, const struct gt_entry *e,
			   const struct fuse_file_info *fi, int err)
{
	struct gt_view v;

	if ((fi->flags & O_ACCMODE) == O_RDONLY || e->kind != GT_ENTRY_FILE)
		return;
	v = gt_req_view(fs, req);
	gt_tree_refused(fs->app, &e->obj, e->file->name, &v, err,
			e->file->store ? NULL : "it cannot be written");
}

void gt_op_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct gt_fs *fs = fuse_req_userdata(req);
	struct gt_job_open j = { .req = req, .fi = *fi, .node = gt_req_node(req, ino) };
	int err;

	if (!j.node)
		return;
	err = open_check(fs, &j.node->entry, fi);
	j.fi.direct_io = 1;
	j.fi.keep_cache = 0;
	if (!err)
		err = open_view(&j);
	if (!err)
		err = gt_is_late(j.node) || j.foreign ? gt_worker_open(fs, &j) : open_now(&j);
	if (err) {
		report_refused(fs, req, &j.node->entry, fi, err);
		fuse_reply_err(req, -err);
	}
}

/*
 * A read at the start of a descriptor that has been read takes a new snapshot: monitors keep files
 * open. Long texts are too costly for that; they stay as opened.
 */
static int refresh(struct gt_handle *h)
{
	const struct gt_entry *e = &h->node->entry;
	struct gt_snap *s;
	int err = 0;

	if (!h->read_once || (e->file->flags & GT_FILE_LONG)) {
		h->read_once = true;
		return 0;
	}
	s = gt_snap_get(h->fs, e, &h->view, &err);
	return s ? gt_handle_text(h, s) : err;
}

/* The same of a text that takes long is the worker's: not for a page of the kernel's, see fuse.h */
static bool refreshed_late(const struct gt_handle *h, const struct fuse_file_info *fi)
{
	return h->read_once && (h->node->entry.file->flags & GT_FILE_AGAIN) && fi->lock_owner;
}

/** gt_reply_text() - answers a read of a text at @off; any thread */
static void gt_reply_text(fuse_req_t req, struct gt_handle *h, size_t size, off_t off)
{
	struct gt_snap *s;
	size_t len;

	pthread_mutex_lock(&h->lock);
	s = h->snap ? gt_snap_ref(h->snap) : NULL;
	pthread_mutex_unlock(&h->lock);
	if (!s) {
		fuse_reply_err(req, EACCES);
		return;
	}
	if (off == 0 || atomic_load(&h->unread)) {
		atomic_store(&h->seen_gen, s->gen);
		atomic_store(&h->unread, false);
	}
	len = (size_t)off < s->len ? s->len - (size_t)off : 0;
	fuse_reply_buf(req, s->data + (s->len - len), len < size ? len : size);
	gt_snap_put(s);
}

void gt_op_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *fi)
{
	struct gt_handle *h = (struct gt_handle *)(uintptr_t)fi->fh;
	struct gt_node *n = h->node;
	int err = 0;

	if (gt_is_pipe(&n->entry)) {
		gt_pipe_read(req, h, size, fi->flags & O_NONBLOCK);
		return;
	}
	if (gt_tree_gone(h->fs->app, &n->entry.obj)) {
		fuse_reply_err(req, ENODEV);
		return;
	}
	/* a page that the kernel keeps for all who open the node; other reads have an owner */
	if (atomic_load(&n->mixed) && !fi->lock_owner) {
		fuse_reply_err(req, EACCES);
		return;
	}
	if (off == 0 && refreshed_late(h, fi)) {
		struct gt_job_open j = { .req = req, .node = n, .view = h->view, .user = h->user };

		j.again = h;
		j.size = size;
		gt_handle_hold(h);
		err = gt_worker_open(h->fs, &j);
		if (err) {
			fuse_reply_err(req, -err);
			gt_handle_put(h);
		}
		return;
	}
	if (off == 0) {
		gt_model_tidy(h->fs->app->model);
		err = refresh(h);
	}
	if (err)
		fuse_reply_err(req, -err);
	else
		gt_reply_text(req, h, size, off);
}

/* FNV-1a: recognises the same refused write, which Python makes twice */
static uint32_t hash_of(const char *p, size_t n)
{
	uint32_t h = 2166136261U;

	while (n--)
		h = (h ^ (unsigned char)*p++) * 16777619U;
	return h ? h : 1;
}

/* Of more than 4096 bytes, which no value has, @buf may have only the first 4096, see turns.c */
void gt_op_write(fuse_req_t req, fuse_ino_t ino, const char *buf, size_t size, off_t off,
		 struct fuse_file_info *fi)
{
	struct gt_handle *h = (struct gt_handle *)(uintptr_t)fi->fh;
	const struct gt_entry *e = &h->node->entry;
	struct gt_show s = { .app = h->fs->app, .obj = e->obj, .view = h->view, .file = e->file };
	uint32_t hash = hash_of(buf, size < 4096 ? size : 4096);
	struct gt_view writer;
	int err;

	if (!e->file->store) {
		fuse_reply_err(req, EACCES);
		return;
	}
	/* the writer may not be the opener: messages go to who wrote, rights stay the opener's */
	writer = gt_req_view(h->fs, req);
	s.view.pid = writer.pid;
	s.view.own_pid = writer.own_pid;
	err = gt_tree_store(&s, &writer, e->file->name, buf, size, hash == h->last_write);
	h->last_write = err ? hash : 0;
	/* the text of the open is out of date: a program that reads back sees what it wrote */
	h->read_once |= !err;
	/* it may have changed what somebody polls, or which GPUs the kernel must forget */
	gt_notify_wake(h->fs);
	if (err)
		fuse_reply_err(req, -err);
	else
		fuse_reply_write(req, size);
}

void gt_op_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	gt_handle_free((struct gt_handle *)(uintptr_t)fi->fh);
	fuse_reply_err(req, 0);
}

void gt_op_poll(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi,
		struct fuse_pollhandle *ph)
{
	struct gt_handle *h = (struct gt_handle *)(uintptr_t)fi->fh;
	const struct gt_entry *e = &h->node->entry;
	unsigned int revents = 0;
	int err = ph ? gt_poll_add(h, ph) : 0;

	if (err) {
		fuse_reply_err(req, -err);
		return;
	}
	if (gt_tree_gone(h->fs->app, &e->obj)) {
		revents = POLLERR | POLLHUP | POLLPRI | POLLIN | POLLRDNORM;
	} else if (gt_is_pipe(e)) {
		if (gt_pipe_ready(h))
			revents = POLLIN | POLLRDNORM;
	} else {
		revents = POLLIN | POLLRDNORM | (e->file->store ? POLLOUT | POLLWRNORM : 0);
		if (gt_poll_text(h))
			revents |= POLLPRI;
	}
	fuse_reply_poll(req, revents);
}

/* Listing directories. A position is the tree's own, with "." and ".." before it. */

#define POS_DOT	   1
#define POS_DOTDOT 2
#define POS_TREE   3

#define READDIR_MAX (64U << 10)

struct listing {
	const struct gt_shown *shown;
	ino_t dir;
	fuse_req_t req;
	char *buf;
	size_t size, len;
};

static bool put(struct listing *l, const char *name, ino_t ino, mode_t type, off_t next)
{
	struct stat st = { .st_ino = gt_shown_ino(l->shown, ino), .st_mode = type };
	size_t n = fuse_add_direntry(l->req, l->buf + l->len, l->size - l->len, name, &st, next);

	if (n > l->size - l->len)
		return false;
	l->len += n;
	return true;
}

static bool fill(void *arg, const char *name, ino_t ino, mode_t type, uint64_t next)
{
	struct listing *l = arg;

	return put(l, name, ino, type, (off_t)(gt_shown_pos(l->shown, l->dir, next) + POS_TREE));
}

static bool put_dots(struct gt_fs *fs, struct listing *l, struct gt_node *n, off_t *off)
{
	struct gt_view all = { .all = true };
	struct gt_obj up = gt_tree_parent(&n->entry.obj);
	struct gt_entry e;

	if (*off < POS_DOT && !put(l, ".", n->entry.ino, S_IFDIR, POS_DOT))
		return false;
	if (*off < POS_DOTDOT) {
		ino_t ino = gt_tree_entry(fs->app, &up, &all, &e) ? n->entry.ino : e.ino;

		if (!put(l, "..", ino, S_IFDIR, POS_TREE))
			return false;
	}
	if (*off < POS_TREE)
		*off = POS_TREE;
	return true;
}

void gt_op_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct gt_fs *fs = fuse_req_userdata(req);
	struct gt_node *n = gt_req_node(req, ino);
	struct gt_view view;
	struct gt_handle *h;
	int err;

	if (!n)
		return;
	view = gt_req_view(fs, req);
	if (gt_tree_gone(fs->app, &n->entry.obj))
		err = -gt_gone_error(fs, &n->entry.obj, ENODEV);
	else
		err = gt_handle_new(fs, n, &view, gt_req_user(fs, req, &view), &h);
	gt_model_tidy(fs->app->model);
	if (err) {
		fuse_reply_err(req, -err);
		return;
	}
	fi->fh = (uint64_t)(uintptr_t)h;
	if (fuse_reply_open(req, fi) == -ENOENT)
		gt_handle_free(h);
}

void gt_op_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
		   struct fuse_file_info *fi)
{
	struct gt_handle *h = (struct gt_handle *)(uintptr_t)fi->fh;
	struct gt_fs *fs = h->fs;
	struct listing l = { .shown = &fs->shown,
			     .dir = h->node->entry.ino,
			     .req = req,
			     .size = size < READDIR_MAX ? size : READDIR_MAX };
	int err = 0;

	l.buf = malloc(l.size);
	if (!l.buf) {
		fuse_reply_err(req, ENOMEM);
		return;
	}
	if (put_dots(fs, &l, h->node, &off))
		err = gt_tree_readdir(fs->app, &h->node->entry.obj, &h->view,
				      gt_tree_pos(l.shown, l.dir, (uint64_t)(off - POS_TREE)), fill,
				      &l);
	if (err && !l.len)
		fuse_reply_err(req, -err);
	else
		fuse_reply_buf(req, l.buf, l.len);
	free(l.buf);
}

void gt_op_releasedir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	gt_handle_free((struct gt_handle *)(uintptr_t)fi->fh);
	fuse_reply_err(req, 0);
}

/*
 * Long texts are rendered here, on open, so that no other request waits for them; and each user's
 * in turn, so that a user with many processes does not keep the others waiting.
 *
 * The kernel got size 0 from the lookup, or that of a text that was dropped. sendfile
 * (busybox cat) believes the size it knows, so before the open is answered the last byte is stored
 * into the node's page cache: that moves the kernel's idea of the size to the exact one, and leaves
 * the page to be read as any other.
 */

/**
 * gt_worker_open() - queues an open, or a read, for which a text is to be rendered; it is answered
 *	later
 * @job: copied; the caller fills in all but @guarded and @next
 * Return: 0, or -EAGAIN if too many wait, -ENOMEM, -ENODEV at the end
 */
static int gt_worker_open(struct gt_fs *fs, const struct gt_job_open *job)
{
	struct gt_user *u = job->user;
	int err = fs->worker_stop ? -ENODEV : gt_quota_take(&fs->app->quota, u, GT_Q_OPENS);
	struct gt_job_open *j;

	if (err)
		return err;
	j = calloc(1, sizeof(*j));
	if (!j) {
		gt_quota_give(&fs->app->quota, u, GT_Q_OPENS, 1);
		return -ENOMEM;
	}
	*j = *job;
	gt_node_hold(j->node);
	gt_guard_add(fs, &j->guarded);
	pthread_mutex_lock(&fs->lock);
	*fs->jobs_tail = j;
	fs->jobs_tail = &j->next;
	pthread_cond_signal(&fs->work);
	pthread_mutex_unlock(&fs->lock);
	return 0;
}

static void job_free(struct gt_fs *fs, struct gt_job_open *j)
{
	gt_guard_del(fs, &j->guarded);
	if (j->again)
		gt_handle_put(j->again);
	gt_node_release(j->node);
	gt_quota_give(&fs->app->quota, j->user, GT_Q_OPENS, 1);
	free(j);
}

/* The first of the user who waited longest for a turn. fs->lock held */
static struct gt_job_open *take_turn(struct gt_fs *fs)
{
	struct gt_job_open **best = &fs->jobs, *j;

	for (struct gt_job_open **p = &fs->jobs; *p; p = &(*p)->next)
		if ((*p)->user->served < (*best)->user->served)
			best = p;
	j = *best;
	if (!j)
		return NULL;
	*best = j->next;
	if (!j->next)
		fs->jobs_tail = best;
	j->user->served = atomic_fetch_add(&fs->app->quota.turns, 1) + 1;
	return j;
}

static struct gt_job_open *next_job(struct gt_fs *fs)
{
	struct gt_job_open *j;

	pthread_mutex_lock(&fs->lock);
	while (!fs->jobs && !fs->worker_stop)
		pthread_cond_wait(&fs->work, &fs->lock);
	j = take_turn(fs);
	pthread_mutex_unlock(&fs->lock);
	return j;
}

static void store_byte(struct gt_fs *fs, struct gt_node *n, const char *c, size_t at)
{
	struct fuse_bufvec b = FUSE_BUFVEC_INIT(1);

	b.buf[0].size = 1;
	b.buf[0].mem = (void *)(uintptr_t)c;
	/* a kernel that cannot leaves sendfile with an empty text: nothing better is to be had */
	fuse_lowlevel_notify_store(fs->se, gt_node_id(n), (off_t)at, &b, 0);
}

static void report_size(struct gt_fs *fs, struct gt_node *n, const struct gt_snap *s)
{
	/* it may keep the size of the text that was dropped */
	fuse_lowlevel_notify_inval_inode(fs->se, gt_node_id(n), -1, 0);
	if (s->len)
		store_byte(fs, n, &s->data[s->len - 1], s->len - 1);
}

/* A size that has sendfile ask us, who refuse, and no page: what it has goes. */
static void report_mixed(struct gt_fs *fs, struct gt_node *n)
{
	store_byte(fs, n, "\n", GT_MIXED_LEN - 1);
	fuse_lowlevel_notify_inval_inode(fs->se, gt_node_id(n), 0, 0);
}

/* Too much is held already: then a long text is not rendered at all; one that only takes long may
 * be short. */
static int check_room(struct gt_fs *fs, const struct gt_job_open *j)
{
	const unsigned int kind = GT_FILE_LONG | GT_FILE_AGAIN;
	struct gt_quota *q = &fs->app->quota;

	if ((j->node->entry.file->flags & kind) != GT_FILE_LONG ||
	    !gt_quota_full(q, j->user, GT_Q_BYTES))
		return 0;
	return gt_quota_refuse(q, j->user, GT_Q_BYTES);
}

static int render(struct gt_fs *fs, struct gt_job_open *j, struct gt_handle *h)
{
	struct gt_snap *s;
	int err = 0;

	s = gt_snap_render(fs->app, &j->node->entry, &j->view, &err);
	if (!s)
		return err;
	gt_snap_ref(s);
	err = gt_handle_text(h, s);
	if (!err) {
		if (j->foreign)
			gt_node_mix(j->node);
		gt_node_measure(j->node, s);
		if (atomic_load(&j->node->mixed))
			report_mixed(fs, j->node);
		else
			report_size(fs, j->node, s);
	}
	gt_snap_put(s);
	return err;
}

static void read_later(struct gt_fs *fs, struct gt_job_open *j)
{
	struct gt_snap *s = NULL;
	int err = fuse_req_interrupted(j->req) ? -EINTR : 0;

	if (!err)
		s = gt_snap_render(fs->app, &j->node->entry, &j->view, &err);
	if (s)
		err = gt_handle_text(j->again, s);
	if (err)
		fuse_reply_err(j->req, -err);
	else
		gt_reply_text(j->req, j->again, j->size, 0);
}

static void open_later(struct gt_fs *fs, struct gt_job_open *j)
{
	struct gt_handle *h = NULL;
	int err = fuse_req_interrupted(j->req) ? -EINTR : check_room(fs, j);

	if (!err)
		err = gt_handle_new(fs, j->node, &j->view, j->user, &h);
	if (!err)
		err = render(fs, j, h);
	if (err) {
		if (h)
			gt_handle_free(h);
		fuse_reply_err(j->req, -err);
		return;
	}
	j->fi.fh = (uint64_t)(uintptr_t)h;
	if (fuse_reply_open(j->req, &j->fi) == -ENOENT)
		gt_handle_free(h);
}

void *gt_worker_main(void *arg)
{
	struct gt_fs *fs = arg;
	struct gt_job_open *j;

	while ((j = next_job(fs))) {
		if (fs->worker_stop)
			fuse_reply_err(j->req, ENODEV);
		else if (j->again)
			read_later(fs, j);
		else
			open_later(fs, j);
		job_free(fs, j);
	}
	atomic_store(&fs->worker_left, true);
	return NULL;
}
