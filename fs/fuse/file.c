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

	/* who holds too much may still look at what takes no more than it did, or next to nothing */
	if (s->len > FREE_LEN && s->len > h->bytes && gt_quota_full(q, h->user, GT_Q_BYTES)) {
		gt_snap_put(s);
		return gt_quota_refuse(q, h->user, GT_Q_BYTES);
	}
	gt_quota_add(q, h->user, GT_Q_BYTES, s->len);
	gt_quota_give(q, h->user, GT_Q_BYTES, h->bytes);
	gt_snap_put(h->snap);
	h->snap = s;
	h->bytes = s->len;
	return 0;
}

/** gt_handle_free() - ends a descriptor, and drops what it holds */
void gt_handle_free(struct gt_handle *h)
{
	struct gt_quota *q = &h->fs->app->quota;

	if (gt_is_pipe(&h->node->entry) && !gt_pipe_closing(h))
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
	s = gt_node_snap(n);
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

void gt_op_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct gt_fs *fs = fuse_req_userdata(req);
	struct gt_node *n = gt_node_of(fs, ino);
	struct gt_entry *e = &n->entry;
	struct gt_handle *h = NULL;
	struct gt_user *u;
	struct gt_view view;
	int err = open_check(fs, e, fi);

	if (err) {
		fuse_reply_err(req, -err);
		return;
	}
	if (gt_is_pipe(e) || (e->file->flags & GT_FILE_VIEW) || e->file->store)
		view = gt_req_view(fs, req);
	else
		view = gt_view_nobody();
	if (!may_read(e, &view, fi->flags)) {
		fuse_reply_err(req, EACCES);
		return;
	}
	fi->direct_io = 1;
	fi->keep_cache = 0;
	u = gt_req_user(fs, req, &view);
	if (gt_is_late(n)) {
		err = gt_worker_open(fs, req, n, &view, u, fi);
		if (err)
			fuse_reply_err(req, -err);
		return;
	}
	err = gt_handle_new(fs, n, &view, u, &h);
	if (!err)
		err = gt_is_pipe(e) ? gt_pipe_open(h) : open_text(h, n);
	if (err) {
		if (h)
			gt_handle_free(h);
		fuse_reply_err(req, -err);
		return;
	}
	/* head(1) seeks back over lines it did not print, and complains where it cannot */
	fi->nonseekable = (e->file->flags & GT_FILE_PIPE) != 0;
	fi->fh = (uint64_t)(uintptr_t)h;
	if (fuse_reply_open(req, fi) == -ENOENT)
		gt_handle_free(h);
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

void gt_op_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *fi)
{
	struct gt_handle *h = (struct gt_handle *)(uintptr_t)fi->fh;
	size_t len;
	int err = 0;

	if (gt_is_pipe(&h->node->entry)) {
		gt_pipe_read(req, h, size, fi->flags & O_NONBLOCK);
		return;
	}
	if (gt_tree_gone(h->fs->app, &h->node->entry.obj)) {
		fuse_reply_err(req, ENODEV);
		return;
	}
	if (off == 0) {
		gt_model_tidy(h->fs->app->model);
		err = refresh(h);
	}
	if (err || !h->snap) {
		fuse_reply_err(req, err ? -err : EACCES);
		return;
	}
	if (off == 0 || atomic_load(&h->unread)) {
		atomic_store(&h->seen_gen, h->snap->gen);
		atomic_store(&h->unread, false);
	}
	len = h->snap->len;
	if ((size_t)off >= len) {
		fuse_reply_buf(req, NULL, 0);
		return;
	}
	len -= (size_t)off;
	fuse_reply_buf(req, h->snap->data + off, len < size ? len : size);
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
