/* SPDX-License-Identifier: GPL-2.0 */
/* Nodes: what the kernel's node ids stand for. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "fuse.h"

static struct gt_node **bucket_of(struct gt_fs *fs, ino_t ino)
{
	return &fs->buckets[((ino * 0x9e3779b97f4a7c15ULL) >> 40) % GT_NODE_BUCKETS];
}

struct gt_node *gt_node_of(struct gt_fs *fs, fuse_ino_t ino)
{
	return ino == FUSE_ROOT_ID ? &fs->root : (struct gt_node *)(uintptr_t)ino;
}

fuse_ino_t gt_node_id(struct gt_node *n)
{
	return n == &n->fs->root ? FUSE_ROOT_ID : (fuse_ino_t)(uintptr_t)n;
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

static struct gt_node *node_add(struct gt_fs *fs, struct gt_node **head)
{
	struct gt_node *n = calloc(1, sizeof(*n));

	if (!n)
		return NULL;
	n->fs = fs;
	n->next = *head;
	n->pprev = head;
	if (n->next)
		n->next->pprev = &n->next;
	*head = n;
	atomic_fetch_add(&fs->app->nodes, 1);
	return n;
}

static struct gt_names *names_of(struct gt_fs *fs, const struct gt_user *u)
{
	return &fs->names[gt_quota_index(&fs->app->quota, u)];
}

/* Takes @n out of its list. */
static void node_unlink(struct gt_node *n)
{
	*n->pprev = n->next;
	if (n->next)
		n->next->pprev = n->pprev;
	if (n->recent) {
		struct gt_names *names = names_of(n->fs, n->user);

		if (!n->next)
			names->tail = n->pprev;
		names->nrecent--;
		n->recent = false;
	}
}

/* What its text counts for its user, before it gets another or goes. */
static void drop_text(struct gt_node *n)
{
	if (n->snap)
		gt_quota_give(&n->fs->app->quota, n->user, GT_Q_BYTES, n->snap->len);
	gt_snap_put(n->snap);
	n->snap = NULL;
	n->len = 0;
}

static void node_free(struct gt_node *n)
{
	node_unlink(n);
	drop_text(n);
	if (n->user)
		gt_quota_give(&n->fs->app->quota, n->user, GT_Q_NAMES, 1);
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

static int new_text(struct gt_fs *fs, const struct gt_entry *e, struct gt_user *u,
		    fuse_ino_t parent, struct gt_node **out)
{
	struct gt_names *names = names_of(fs, u);
	int err = gt_quota_take(&fs->app->quota, u, GT_Q_NAMES);
	struct gt_node *n;

	if (gt_trim_wanted(fs, u))
		pthread_cond_signal(&fs->trim);
	if (err)
		return err;
	n = node_add(fs, names->tail ? names->tail : &names->recent);
	if (!n) {
		gt_quota_give(&fs->app->quota, u, GT_Q_NAMES, 1);
		return -ENOMEM;
	}
	n->user = u;
	n->parent = parent;
	n->recent = true;
	names->tail = &n->next;
	names->nrecent++;
	set_entry(n, e);
	*out = n;
	return 0;
}

static int find_shared(struct gt_fs *fs, const struct gt_entry *e, struct gt_node **out)
{
	struct gt_node **head = bucket_of(fs, e->ino), *n;

	for (n = *head; n && !same(&n->entry, e); n = n->next)
		;
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

int gt_node_new(struct gt_fs *fs, const struct gt_entry *e, struct gt_user *u, fuse_ino_t parent,
		struct gt_node **out)
{
	int err;

	pthread_mutex_lock(&fs->node_lock);
	err = is_shared(e) ? find_shared(fs, e, out) : new_text(fs, e, u, parent, out);
	if (!err)
		(*out)->nlookup++;
	pthread_mutex_unlock(&fs->node_lock);
	return err;
}

unsigned int gt_node_old(struct gt_fs *fs, unsigned int user, struct gt_old_name *out,
			 unsigned int max)
{
	struct gt_names *names = &fs->names[user];
	unsigned int i;

	pthread_mutex_lock(&fs->node_lock);
	for (i = 0; i < max && names->nrecent > GT_NODE_LATEST; i++) {
		struct gt_node *n = names->recent;

		out[i].parent = n->parent;
		snprintf(out[i].name, sizeof(out[i].name), "%s", n->entry.file->name);
		node_unlink(n);
		n->next = names->old;
		n->pprev = &names->old;
		if (n->next)
			n->next->pprev = &n->next;
		names->old = n;
	}
	pthread_mutex_unlock(&fs->node_lock);
	return i;
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
	/* the kernel may remember the name for long: a long text went with its last descriptor */
	if (!--n->holds && !n->snap)
		n->len = 0;
	free_if_unused(n);
	pthread_mutex_unlock(&fs->node_lock);
}

/** gt_node_forget() - the kernel dropped @nlookup of its references */
void gt_node_forget(struct gt_node *n, uint64_t nlookup)
{
	struct gt_fs *fs = n->fs;

	pthread_mutex_lock(&fs->node_lock);
	n->nlookup -= nlookup < n->nlookup ? nlookup : n->nlookup;
	free_if_unused(n);
	pthread_mutex_unlock(&fs->node_lock);
}

struct gt_snap *gt_node_snap(struct gt_node *n)
{
	struct gt_snap *s;

	pthread_mutex_lock(&n->fs->node_lock);
	s = n->snap ? gt_snap_ref(n->snap) : NULL;
	pthread_mutex_unlock(&n->fs->node_lock);
	return s;
}

void gt_node_set_snap(struct gt_node *n, struct gt_snap *s, bool keep)
{
	pthread_mutex_lock(&n->fs->node_lock);
	drop_text(n);
	if (keep) {
		n->snap = gt_snap_ref(s);
		gt_quota_add(&n->fs->app->quota, n->user, GT_Q_BYTES, s->len);
	}
	n->len = s->len;
	n->time = s->time;
	pthread_mutex_unlock(&n->fs->node_lock);
}

size_t gt_node_text(struct gt_node *n, struct timespec *time)
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
	for (unsigned int i = 0; i < GT_QUOTA_USERS; i++) {
		while (fs->names[i].recent)
			node_free(fs->names[i].recent);
		while (fs->names[i].old)
			node_free(fs->names[i].old);
	}
	for (unsigned int i = 0; i < GT_NODE_BUCKETS; i++)
		while (fs->buckets[i])
			node_free(fs->buckets[i]);
}
