/* SPDX-License-Identifier: GPL-2.0 */
/* Names, attributes and the table of operations. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../access/access.h"
#include "fuse.h"

#define SHARED_TIMEOUT	  1.0
#define TEXT_ATTR_TIMEOUT 86400.0 /* the node is the text: its size cannot change */

/**
 * gt_req_view() - what the caller of @req may see
 */
struct gt_view gt_req_view(struct gt_fs *fs, fuse_req_t req)
{
	const struct fuse_ctx *c = fuse_req_ctx(req);

	return gt_access_view(fs->app, c->uid, c->gid, (uint32_t)c->pid);
}

struct gt_user *gt_req_user(struct gt_fs *fs, fuse_req_t req, const struct gt_view *v)
{
	const struct fuse_ctx *c = fuse_req_ctx(req);
	bool all = v->all;

	/* uid 0 may be a container's, which is one user more */
	if (!all && gt_access_is_owner(c->uid))
		all = gt_req_view(fs, req).all;
	return gt_quota_user(&fs->app->quota, c->uid, all);
}

/** gt_attr() - attributes of @n with its current entry @e */
static void gt_attr(struct gt_node *n, const struct gt_entry *e, struct stat *st)
{
	struct timespec time = n->fs->started;
	size_t size = gt_node_text(n, &time);

	memset(st, 0, sizeof(*st));
	st->st_ino = gt_shown_ino(&n->fs->shown, e->ino);
	st->st_uid = e->uid;
	st->st_gid = e->gid;
	st->st_blksize = 4096;
	st->st_mode = e->mode & 07777;
	switch (e->kind) {
	case GT_ENTRY_DIR:
		st->st_mode |= S_IFDIR;
		st->st_nlink = gt_tree_nlink(&e->obj);
		break;
	case GT_ENTRY_LINK:
		st->st_mode |= S_IFLNK;
		st->st_nlink = 1;
		st->st_size = (off_t)strlen(e->target);
		break;
	default:
		st->st_mode |= S_IFREG;
		st->st_nlink = 1;
		st->st_size = (off_t)size;
	}
	st->st_atim = st->st_ctim = st->st_mtim = time;
}

bool gt_is_late(const struct gt_node *n)
{
	const struct gt_entry *e = &n->entry;

	return e->kind == GT_ENTRY_FILE && !gt_is_pipe(e) && e->file->show && !n->snap;
}

/** gt_attr_timeout() - how long the kernel may keep attributes of @n */
static double gt_attr_timeout(const struct gt_node *n)
{
	const struct gt_entry *e = &n->entry;

	if (e->kind != GT_ENTRY_FILE)
		return e->shared ? SHARED_TIMEOUT : 0;
	if (gt_is_pipe(e))
		return SHARED_TIMEOUT;
	return gt_is_late(n) ? 0 : TEXT_ATTR_TIMEOUT;
}

/* Only directories and pipes that are the same for everybody stay in the dentry cache. */
static double entry_timeout(const struct gt_entry *e)
{
	return e->shared && (e->kind == GT_ENTRY_DIR || gt_is_pipe(e)) ? SHARED_TIMEOUT : 0;
}

static bool depends_on_caller(const struct gt_entry *e)
{
	return e->kind == GT_ENTRY_FILE && (e->file->flags & GT_FILE_VIEW);
}

/* A text is rendered by the lookup, so that stat has its exact size. */
static int node_text(struct gt_fs *fs, struct gt_node *n, const struct gt_view *v)
{
	struct gt_snap *s;
	int err = 0;

	if (!gt_is_late(n) || (n->entry.file->flags & GT_FILE_LONG))
		return 0;
	s = gt_snap_get(fs, &n->entry, v, &err);
	if (!s)
		return err;
	gt_node_set_text(n, s);
	return 0;
}

static void gt_op_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct gt_fs *fs = fuse_req_userdata(req);
	struct gt_node *dir = gt_req_node(req, parent), *n = NULL;
	struct fuse_entry_param p = { 0 };
	struct gt_view view;
	struct gt_entry e;
	bool differs;
	int err;

	if (!dir)
		return;
	gt_model_tidy(fs->app->model);
	gt_log_tidy(fs->app->log, &fs->app->model->lock);
	differs = gt_access_differs(&dir->entry.obj, name);
	view = differs ? gt_req_view(fs, req) : gt_view_nobody();
	err = gt_tree_lookup(fs->app, &dir->entry.obj, name, &view, &e);
	if (err) {
		/* nothing is to be found in the directory of a GPU that has gone */
		if (err == -ENODEV && gt_tree_gone(fs->app, &dir->entry.obj))
			err = -gt_gone_error(fs, &dir->entry.obj, ENOENT);
		fuse_reply_err(req, -err);
		return;
	}
	if (!differs && depends_on_caller(&e))
		view = gt_req_view(fs, req);
	err = gt_node_new(fs, &e, gt_req_user(fs, req, &view),
			  differs || depends_on_caller(&e) ? &view : NULL, &n);
	if (!err)
		err = node_text(fs, n, &view);
	if (err) {
		if (n)
			gt_node_forget(n, 1);
		fuse_reply_err(req, -err);
		return;
	}
	p.ino = gt_node_id(n);
	p.attr_timeout = gt_attr_timeout(n);
	p.entry_timeout = entry_timeout(&e);
	gt_attr(n, &e, &p.attr);
	if (fuse_reply_entry(req, &p))
		gt_node_forget(n, 1);
}

static void forget(fuse_req_t req, fuse_ino_t ino, uint64_t nlookup)
{
	struct gt_node *n = gt_node_of(fuse_req_userdata(req), ino);

	if (n)
		gt_node_forget(n, nlookup);
}

static void op_forget(fuse_req_t req, fuse_ino_t ino, uint64_t nlookup)
{
	forget(req, ino, nlookup);
	fuse_reply_none(req);
}

static void op_forget_multi(fuse_req_t req, size_t count, struct fuse_forget_data *f)
{
	for (size_t i = 0; i < count; i++)
		forget(req, f[i].ino, f[i].nlookup);
	fuse_reply_none(req);
}

static void reply_attr(fuse_req_t req, struct gt_node *n, const struct gt_entry *e)
{
	struct stat st;

	gt_attr(n, e, &st);
	fuse_reply_attr(req, &st, gt_attr_timeout(n));
}

static void op_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct gt_fs *fs = fuse_req_userdata(req);
	struct gt_node *n = gt_req_node(req, ino);
	struct gt_view view = { .all = true };
	struct gt_entry e;
	int err = 0;

	if (!n)
		return;
	e = n->entry;
	/* a directory's owner and mode may have changed, or it may be gone */
	if (n->entry.kind == GT_ENTRY_DIR)
		err = gt_tree_entry(fs->app, &n->entry.obj, &view, &e);
	if (err)
		fuse_reply_err(req, err == -ENOENT ? ENODEV : -err);
	else
		reply_attr(req, n, &e);
}

static void no_truncate(fuse_req_t req, const struct gt_node *n)
{
	struct gt_fs *fs = fuse_req_userdata(req);
	struct gt_view v = gt_req_view(fs, req);

	if (n->entry.kind == GT_ENTRY_FILE)
		gt_tree_refused(fs->app, &n->entry.obj, n->entry.file->name, &v, -EACCES,
				"it cannot be written");
	fuse_reply_err(req, EACCES);
}

/* Truncation to any size succeeds and changes nothing; owner, mode and times are the tree's. */
static void op_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *attr, int to_set,
		       struct fuse_file_info *fi)
{
	struct gt_node *n = gt_req_node(req, ino);

	if (!n)
		return;
	if (to_set & (FUSE_SET_ATTR_MODE | FUSE_SET_ATTR_UID | FUSE_SET_ATTR_GID))
		fuse_reply_err(req, EPERM);
	else if ((to_set & FUSE_SET_ATTR_SIZE) &&
		 (n->entry.kind != GT_ENTRY_FILE || !n->entry.file->store))
		no_truncate(req, n);
	else
		reply_attr(req, n, &n->entry);
}

static void op_readlink(fuse_req_t req, fuse_ino_t ino)
{
	struct gt_fs *fs = fuse_req_userdata(req);
	struct gt_node *n = gt_req_node(req, ino);
	struct gt_entry e;

	if (!n)
		return;
	e = n->entry;
	/* `self` is another for each caller, though the link is one */
	if (!e.shared && e.file) {
		struct gt_view view = gt_req_view(fs, req);

		if (gt_tree_lookup(fs->app, &n->entry.obj, e.file->name, &view, &e)) {
			fuse_reply_err(req, ENODEV);
			return;
		}
	}
	fuse_reply_readlink(req, e.target);
}

static void op_statfs(fuse_req_t req, fuse_ino_t ino)
{
	struct statvfs st = { .f_bsize = 4096, .f_frsize = 4096, .f_namemax = 255 };

	fuse_reply_statfs(req, &st);
}

static void op_init(void *userdata, struct fuse_conn_info *conn)
{
	struct gt_fs *fs = userdata;

	conn->want &= ~(unsigned int)(FUSE_CAP_READDIRPLUS | FUSE_CAP_READDIRPLUS_AUTO);
	conn->want &= ~(unsigned int)FUSE_CAP_AUTO_INVAL_DATA;
	if (conn->capable & FUSE_CAP_ATOMIC_O_TRUNC)
		conn->want |= FUSE_CAP_ATOMIC_O_TRUNC;
	conn->max_readahead = 0;
	conn->max_read = fs->max_read; /* libfuse ends the session if the two differ */
	conn->time_gran = 1;
	fs->app->unguarded = -gt_guard_start(fs);
}

static void no_create(fuse_req_t req)
{
	fuse_reply_err(req, EPERM);
}

/* Who writes to a file that is not there */
static void op_mknod(fuse_req_t req, fuse_ino_t p, const char *name, mode_t mode, dev_t dev)
{
	struct gt_fs *fs = fuse_req_userdata(req);
	struct gt_node *dir = gt_req_node(req, p);
	struct gt_view v;

	if (!dir)
		return;
	v = gt_req_view(fs, req);
	gt_tree_refused(fs->app, &dir->entry.obj, name, &v, -EPERM,
			"there is no such file, and none can be made");
	no_create(req);
}

/* Only in directories that are there for it; what is made is then found like anything else. */
static void op_mkdir(fuse_req_t req, fuse_ino_t p, const char *name, mode_t mode)
{
	struct gt_fs *fs = fuse_req_userdata(req);
	struct gt_node *dir = gt_req_node(req, p);
	struct gt_view view;
	int err;

	if (!dir)
		return;
	view = gt_req_view(fs, req);
	err = gt_tree_make(fs->app, &dir->entry.obj, name, &view);
	if (err)
		fuse_reply_err(req, -err);
	else
		gt_op_lookup(req, p, name);
}

static void op_rmdir(fuse_req_t req, fuse_ino_t p, const char *name)
{
	struct gt_fs *fs = fuse_req_userdata(req);
	struct gt_node *dir = gt_req_node(req, p);
	struct gt_view view;
	int err;

	if (!dir)
		return;
	view = gt_req_view(fs, req);
	err = gt_tree_unmake(fs->app, &dir->entry.obj, name, &view);
	gt_notify_wake(fs);
	fuse_reply_err(req, -err);
}

static void op_unlink(fuse_req_t req, fuse_ino_t p, const char *name)
{
	no_create(req);
}

static void op_rename(fuse_req_t req, fuse_ino_t p, const char *name, fuse_ino_t np,
		      const char *newname, unsigned int flags)
{
	no_create(req);
}

static void op_link(fuse_req_t req, fuse_ino_t ino, fuse_ino_t p, const char *name)
{
	no_create(req);
}

static void op_symlink(fuse_req_t req, const char *link, fuse_ino_t p, const char *name)
{
	no_create(req);
}

const struct fuse_lowlevel_ops gt_fuse_ops = {
	.init = op_init,
	.lookup = gt_op_lookup,
	.forget = op_forget,
	.forget_multi = op_forget_multi,
	.getattr = op_getattr,
	.setattr = op_setattr,
	.readlink = op_readlink,
	.mknod = op_mknod,
	.mkdir = op_mkdir,
	.unlink = op_unlink,
	.rmdir = op_rmdir,
	.rename = op_rename,
	.link = op_link,
	.symlink = op_symlink,
	.open = gt_op_open,
	.read = gt_op_read,
	.write = gt_op_write,
	.release = gt_op_release,
	.opendir = gt_op_opendir,
	.readdir = gt_op_readdir,
	.releasedir = gt_op_releasedir,
	.statfs = op_statfs,
	.poll = gt_op_poll,
};
