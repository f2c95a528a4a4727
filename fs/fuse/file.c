/* SPDX-License-Identifier: GPL-2.0 */
/* Open descriptors: texts and settings; pipes are in pipe.c. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "../access/access.h"
#include "../tree/perms.h"
#include "fuse.h"

#define FREE_LEN 4096 /* a text that is never refused for its length */

int gt_handle_new(struct gt_fs *fs, struct gt_node *n, const struct gt_view *v, struct gt_user *u,
		  struct gt_handle **out)
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

int gt_handle_text(struct gt_handle *h, struct gt_snap *s)
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

void gt_op_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct gt_fs *fs = fuse_req_userdata(req);
	struct gt_job_open j = { .req = req, .fi = *fi, .node = gt_node_of(fs, ino) };
	int err = open_check(fs, &j.node->entry, fi);

	j.fi.direct_io = 1;
	j.fi.keep_cache = 0;
	if (!err)
		err = open_view(&j);
	if (!err)
		err = gt_is_late(j.node) || j.foreign ? gt_worker_open(fs, &j) : open_now(&j);
	if (err)
		fuse_reply_err(req, -err);
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

void gt_reply_text(fuse_req_t req, struct gt_handle *h, size_t size, off_t off)
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
	err = gt_tree_store(&s, e->file->name, buf, size, hash == h->last_write);
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
