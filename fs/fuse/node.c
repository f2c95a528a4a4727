/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Nodes: what the kernel's node ids stand for.
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
#include <sys/random.h>

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

struct gt_node *gt_node_of(struct gt_fs *fs, fuse_ino_t ino)
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
	struct gt_node *n = gt_node_of(fuse_req_userdata(req), ino);

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

int gt_node_new(struct gt_fs *fs, const struct gt_entry *e, struct gt_user *u,
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

/** gt_node_forget() - the kernel dropped @nlookup of its references */
void gt_node_forget(struct gt_node *n, uint64_t nlookup)
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

void gt_node_set_text(struct gt_node *n, struct gt_snap *s)
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
	while (fs->old)
		node_free(fs->old);
	for (unsigned int i = 0; i < GT_NODE_BUCKETS; i++)
		while (fs->buckets[i])
			node_free(fs->buckets[i]);
}
