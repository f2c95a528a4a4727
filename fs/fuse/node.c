/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Nodes: what the kernel's node ids stand for; lookup, attributes and the table of operations.
 *
 * The kernel remembers one node of a name, the latest, until it needs the room: there are as many
 * of these as the tree has names. Of a text that is looked up again it drops the node of before,
 * unless a descriptor (of O_PATH too), a working directory or a mount of the caller holds that:
 * those that stay are what counts for a user.
 *
 * Ids are random numbers. Users see them in file handles (name_to_handle_at(2)) and in fdinfo of
 * inotify: an address would help who attacks the daemon, and a counter would say how much others
 * look up.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../access/access.h"
#include "fuse.h"

#define TEXTS_LEN (4U << 20) /* that a user's names hold, so that open need not render again */

static struct gt_node **bucket_of(struct gt_fs *fs, ino_t ino)
{
	return &fs->buckets[((ino * 0x9e3779b97f4a7c15ULL) >> 40) % GT_NODE_BUCKETS];
}

/* node_lock held */
static struct gt_node *by_id(struct gt_fs *fs, uint64_t id)
{
	struct gt_node *n = fs->by_id[id % GT_NODE_BUCKETS];

	while (n && n->id != id)
		n = n->same_id;
	return n;
}

/** node_of() - the node of an id; NULL if no node has it. Session thread only */
static struct gt_node *node_of(struct gt_fs *fs, fuse_ino_t ino)
{
	struct gt_node *n;

	if (ino == FUSE_ROOT_ID)
		return &fs->root;
	pthread_mutex_lock(&fs->node_lock);
	n = by_id(fs, ino);
	pthread_mutex_unlock(&fs->node_lock);
	return n;
}

struct gt_node *gt_req_node(fuse_req_t req, fuse_ino_t ino)
{
	struct gt_node *n = node_of(fuse_req_userdata(req), ino);

	if (!n)
		fuse_reply_err(req, ESTALE);
	return n;
}

fuse_ino_t gt_node_id(const struct gt_node *n)
{
	return n->id;
}

/* One that no node has; 0: none is to be had. One call gives many. */
static uint64_t new_id(struct gt_fs *fs)
{
	uint64_t id = 0;

	while (id <= FUSE_ROOT_ID || by_id(fs, id)) {
		if (!fs->ids_left) {
			if (getrandom(fs->ids, sizeof(fs->ids), 0) != sizeof(fs->ids))
				return 0;
			fs->ids_left = GT_IDS;
		}
		id = fs->ids[--fs->ids_left];
	}
	return id;
}

static void link_id(struct gt_node *n, uint64_t id)
{
	struct gt_node **head = &n->fs->by_id[id % GT_NODE_BUCKETS];

	n->id = id;
	n->same_id = *head;
	*head = n;
}

static void unlink_id(struct gt_node *n)
{
	struct gt_node **p = &n->fs->by_id[n->id % GT_NODE_BUCKETS];

	while (*p != n)
		p = &(*p)->same_id;
	*p = n->same_id;
}

/* Texts get a node of their own each time; everything else is found again. */
static bool is_shared(const struct gt_entry *e)
{
	return e->kind != GT_ENTRY_FILE || gt_is_pipe(e);
}

/*
 * Equal inode numbers are equal things, but a slot may have been given to another process since, or
 * a GPU have gone and come back.
 */
static bool same(const struct gt_entry *a, const struct gt_entry *b)
{
	return a->ino == b->ino && a->obj.start == b->obj.start && a->obj.pid == b->obj.pid &&
	       a->obj.life == b->obj.life && a->kind == b->kind;
}

static void link_to(struct gt_node *n, struct gt_node **head)
{
	n->next = *head;
	n->pprev = head;
	if (n->next)
		n->next->pprev = &n->next;
	*head = n;
}

static void unlink_from(struct gt_node *n)
{
	*n->pprev = n->next;
	if (n->next)
		n->next->pprev = n->pprev;
}

static struct gt_node *node_add(struct gt_fs *fs, struct gt_node **head)
{
	uint64_t id = new_id(fs);
	struct gt_node *n = id ? calloc(1, sizeof(*n)) : NULL;

	if (!n)
		return NULL;
	n->fs = fs;
	link_id(n, id);
	link_to(n, head);
	atomic_fetch_add(&fs->app->nodes, 1);
	return n;
}

static void drop_text(struct gt_node *n)
{
	if (!n->snap)
		return;
	TAILQ_REMOVE(&n->user->texts, n, texts);
	n->user->texts_len -= n->snap->len;
	gt_quota_give(&n->fs->app->quota, n->user, GT_Q_BYTES, n->snap->len);
	gt_snap_put(n->snap);
	n->snap = NULL;
}

static void node_free(struct gt_node *n)
{
	struct gt_quota *q = &n->fs->app->quota;

	unlink_id(n);
	unlink_from(n);
	drop_text(n);
	if (n->old)
		gt_quota_give(q, n->user, GT_Q_NAMES, 1);
	if (n->user)
		gt_quota_give(q, n->user, GT_Q_NODES, 1);
	atomic_fetch_sub(&n->fs->app->nodes, 1);
	free(n);
}

static void set_entry(struct gt_node *n, const struct gt_entry *e)
{
	n->entry = *e;
	/* a file outside the tables carries its description with it */
	if (e->file == &e->dyn) {
		n->entry.file = &n->entry.dyn;
		n->entry.dyn.name = n->entry.dyn_name;
	}
}

static struct gt_node *find(struct gt_node *n, const struct gt_entry *e)
{
	while (n && !same(&n->entry, e))
		n = n->next;
	return n;
}

/* The kernel may have dropped @n already, or be about to: its FORGET comes within some requests. */
static void replaced(struct gt_node *n)
{
	unlink_from(n);
	link_to(n, &n->fs->old);
	n->old = true;
	gt_quota_add(&n->fs->app->quota, n->user, GT_Q_NAMES, 1);
}

static int new_text(struct gt_fs *fs, const struct gt_entry *e, struct gt_user *u,
		    const struct gt_view *v, struct gt_node **out)
{
	struct gt_quota *q = &fs->app->quota;
	struct gt_node **head = bucket_of(fs, e->ino), *before = find(*head, e), *n;

	if (gt_quota_full(q, u, GT_Q_NAMES))
		return gt_quota_refuse(q, u, GT_Q_NAMES);
	n = node_add(fs, head);
	if (!n)
		return -ENOMEM;
	n->user = u;
	n->differs = v;
	if (v)
		n->view = *v;
	gt_quota_add(q, u, GT_Q_NODES, 1);
	set_entry(n, e);
	if (before)
		replaced(before);
	*out = n;
	return 0;
}

static int find_shared(struct gt_fs *fs, const struct gt_entry *e, struct gt_node **out)
{
	struct gt_node **head = bucket_of(fs, e->ino), *n = find(*head, e);

	*out = n;
	/* a pipe's entry never changes, and the notifier may be looking at it */
	if (n && e->kind == GT_ENTRY_FILE)
		return 0;
	if (!n)
		n = node_add(fs, head);
	if (!n)
		return -ENOMEM;
	set_entry(n, e);
	*out = n;
	return 0;
}

/**
 * node_new() - a node for @e with one more lookup counted: found, or made
 * @u: who looks it up; @v: what that one sees, NULL: what everybody does
 * Return: 0, -ENOMEM, or gt_quota_take()'s
 */
static int node_new(struct gt_fs *fs, const struct gt_entry *e, struct gt_user *u,
		    const struct gt_view *v, struct gt_node **out)
{
	int err;

	pthread_mutex_lock(&fs->node_lock);
	err = is_shared(e) ? find_shared(fs, e, out) : new_text(fs, e, u, v, out);
	if (!err)
		(*out)->nlookup++;
	pthread_mutex_unlock(&fs->node_lock);
	return err;
}

static void free_if_unused(struct gt_node *n)
{
	if (n != &n->fs->root && !n->nlookup && !n->holds)
		node_free(n);
}

void gt_node_hold(struct gt_node *n)
{
	pthread_mutex_lock(&n->fs->node_lock);
	n->holds++;
	pthread_mutex_unlock(&n->fs->node_lock);
}

/** gt_node_release() - the counterpart of gt_node_hold(); any thread */
void gt_node_release(struct gt_node *n)
{
	struct gt_fs *fs = n->fs;

	pthread_mutex_lock(&fs->node_lock);
	/* the kernel may remember the name for long: the text went with its last descriptor */
	if (!--n->holds && !n->snap && !atomic_load(&n->mixed))
		n->len = 0;
	free_if_unused(n);
	pthread_mutex_unlock(&fs->node_lock);
}

/** node_forget() - the kernel dropped @nlookup of its references */
static void node_forget(struct gt_node *n, uint64_t nlookup)
{
	struct gt_fs *fs = n->fs;

	pthread_mutex_lock(&fs->node_lock);
	n->nlookup -= nlookup < n->nlookup ? nlookup : n->nlookup;
	free_if_unused(n);
	pthread_mutex_unlock(&fs->node_lock);
}

struct gt_snap *gt_node_take_text(struct gt_node *n)
{
	struct gt_snap *s = NULL;

	pthread_mutex_lock(&n->fs->node_lock);
	if (n->snap) {
		s = gt_snap_ref(n->snap);
		drop_text(n);
	}
	pthread_mutex_unlock(&n->fs->node_lock);
	return s;
}

void gt_node_measure(struct gt_node *n, const struct gt_snap *s)
{
	pthread_mutex_lock(&n->fs->node_lock);
	n->len = atomic_load(&n->mixed) ? GT_MIXED_LEN : s->len;
	n->time = s->time;
	pthread_mutex_unlock(&n->fs->node_lock);
}

void gt_node_mix(struct gt_node *n)
{
	pthread_mutex_lock(&n->fs->node_lock);
	atomic_store(&n->mixed, true);
	n->len = GT_MIXED_LEN;
	pthread_mutex_unlock(&n->fs->node_lock);
}

/** node_set_text() - the text that the next open gets, which the node then owns. New nodes, session thread only */
static void node_set_text(struct gt_node *n, struct gt_snap *s)
{
	struct gt_quota *q = &n->fs->app->quota;
	struct gt_user *u = n->user;
	struct gt_node *first;

	gt_node_measure(n, s);
	pthread_mutex_lock(&n->fs->node_lock);
	n->snap = s;
	TAILQ_INSERT_TAIL(&u->texts, n, texts);
	u->texts_len += s->len;
	gt_quota_add(q, u, GT_Q_BYTES, s->len);
	while ((first = TAILQ_FIRST(&u->texts)) != n &&
	       (u->texts_len > TEXTS_LEN || gt_quota_full(q, u, GT_Q_BYTES)))
		drop_text(first);
	pthread_mutex_unlock(&n->fs->node_lock);
}

/** node_size() - size of its text, and when it was rendered (@time untouched without a text) */
static size_t node_size(struct gt_node *n, struct timespec *time)
{
	size_t len;

	pthread_mutex_lock(&n->fs->node_lock);
	len = n->len;
	if (n->snap || len)
		*time = n->time;
	pthread_mutex_unlock(&n->fs->node_lock);
	return len;
}

/** gt_node_free_all() - at the end: what the kernel never forgot */
void gt_node_free_all(struct gt_fs *fs)
{
	while (fs->old)
		node_free(fs->old);
	for (unsigned int i = 0; i < GT_NODE_BUCKETS; i++)
		while (fs->buckets[i])
			node_free(fs->buckets[i]);
}

/* Names, attributes and the table of FUSE operations */

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
	size_t size = node_size(n, &time);

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
	node_set_text(n, s);
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
	differs = gt_lookup_depends_on_caller(&dir->entry.obj, name);
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
	err = node_new(fs, &e, gt_req_user(fs, req, &view),
		       differs || depends_on_caller(&e) ? &view : NULL, &n);
	if (!err)
		err = node_text(fs, n, &view);
	if (err) {
		if (n)
			node_forget(n, 1);
		fuse_reply_err(req, -err);
		return;
	}
	p.ino = gt_node_id(n);
	p.attr_timeout = gt_attr_timeout(n);
	p.entry_timeout = entry_timeout(&e);
	gt_attr(n, &e, &p.attr);
	if (fuse_reply_entry(req, &p))
		node_forget(n, 1);
}

static void forget(fuse_req_t req, fuse_ino_t ino, uint64_t nlookup)
{
	struct gt_node *n = node_of(fuse_req_userdata(req), ino);

	if (n)
		node_forget(n, nlookup);
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
