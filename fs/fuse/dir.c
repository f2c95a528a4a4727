/* SPDX-License-Identifier: GPL-2.0 */
/* Listing directories. A position is the tree's own, with "." and ".." before it. */
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "../access/access.h"
#include "fuse.h"

#define POS_DOT	   1
#define POS_DOTDOT 2
#define POS_TREE   3

#define READDIR_MAX (64U << 10)

struct listing {
	fuse_req_t req;
	char *buf;
	size_t size, len;
};

static bool put(struct listing *l, const char *name, ino_t ino, mode_t type, off_t next)
{
	struct stat st = { .st_ino = ino, .st_mode = type };
	size_t n = fuse_add_direntry(l->req, l->buf + l->len, l->size - l->len, name, &st, next);

	if (n > l->size - l->len)
		return false;
	l->len += n;
	return true;
}

static bool fill(void *arg, const char *name, ino_t ino, mode_t type, uint64_t next)
{
	return put(arg, name, ino, type, (off_t)(next + POS_TREE));
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
	struct gt_node *n = gt_node_of(fs, ino);
	struct gt_view view = gt_req_view(fs, req);
	bool gone = gt_tree_gone(fs->app, &n->entry.obj);
	struct gt_handle *h;
	int err = gone ? -gt_gone_error(fs, &n->entry.obj, ENODEV)
		       : gt_handle_new(fs, n, &view, gt_req_user(fs, req, &view), &h);

	gt_app_fresh(fs->app);
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
	struct listing l = { .req = req, .size = size < READDIR_MAX ? size : READDIR_MAX };
	int err = 0;

	l.buf = malloc(l.size);
	if (!l.buf) {
		fuse_reply_err(req, ENOMEM);
		return;
	}
	if (put_dots(fs, &l, h->node, &off))
		err = gt_tree_readdir(fs->app, &h->node->entry.obj, &h->view,
				      (uint64_t)(off - POS_TREE), fill, &l);
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
