/* SPDX-License-Identifier: GPL-2.0 */
/* Nodes: what the kernel's node ids stand for. */
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

static void node_free(struct gt_node *n)
{
	*n->pprev = n->next;
	if (n->next)
		n->next->pprev = n->pprev;
	gt_snap_put(n->snap);
	atomic_fetch_sub(&n->fs->app->nodes, 1);
	free(n);
}

/**
 * gt_node_new() - a node for @e with one more lookup counted: found, or made
 * Return: NULL if there is no memory
 */
struct gt_node *gt_node_new(struct gt_fs *fs, const struct gt_entry *e)
{
	struct gt_node **head = is_shared(e) ? bucket_of(fs, e->ino) : &fs->texts, *n = NULL;

	pthread_mutex_lock(&fs->node_lock);
	if (is_shared(e))
		for (n = *head; n && !same(&n->entry, e); n = n->next)
			;
	/* a pipe's entry never changes, and the notifier may be looking at it */
	if (n && e->kind == GT_ENTRY_FILE) {
		n->nlookup++;
		pthread_mutex_unlock(&fs->node_lock);
		return n;
	}
	if (!n)
		n = node_add(fs, head);
	if (n) {
		n->entry = *e;
		/* a file outside the tables carries its description with it */
		if (e->file == &e->dyn) {
			n->entry.file = &n->entry.dyn;
			n->entry.dyn.name = n->entry.dyn_name;
		}
		n->nlookup++;
	}
	pthread_mutex_unlock(&fs->node_lock);
	return n;
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
	/* the kernel may remember the name for long: a long text goes with its last descriptor */
	if (!--n->holds && n->snap && (n->entry.file->flags & GT_FILE_LONG)) {
		gt_snap_put(n->snap);
		n->snap = NULL;
	}
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

void gt_node_set_snap(struct gt_node *n, struct gt_snap *s)
{
	pthread_mutex_lock(&n->fs->node_lock);
	gt_snap_put(n->snap);
	n->snap = gt_snap_ref(s);
	pthread_mutex_unlock(&n->fs->node_lock);
}

size_t gt_node_text(struct gt_node *n, struct timespec *time)
{
	size_t len = 0;

	pthread_mutex_lock(&n->fs->node_lock);
	if (n->snap) {
		len = n->snap->len;
		*time = n->snap->time;
	}
	pthread_mutex_unlock(&n->fs->node_lock);
	return len;
}

/** gt_node_free_all() - at the end: what the kernel never forgot */
void gt_node_free_all(struct gt_fs *fs)
{
	while (fs->texts)
		node_free(fs->texts);
	for (unsigned int i = 0; i < GT_NODE_BUCKETS; i++)
		while (fs->buckets[i])
			node_free(fs->buckets[i]);
}
