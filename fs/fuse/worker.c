/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Long texts are rendered here, on open, so that no other request waits for them; and each user's
 * in turn, so that a user with many processes does not keep the others waiting.
 *
 * The kernel has been told size 0 by the lookup, or that of a text that was dropped. sendfile
 * (busybox cat) believes the size it knows, so before the open is answered the last byte is stored
 * into the node's page cache: that moves the kernel's idea of the size to the exact one, and leaves
 * the page to be read as any other.
 */
#include <errno.h>
#include <stdlib.h>

#include "fuse.h"

/**
 * gt_worker_open() - queues an open, or a read, for which a text is to be rendered; it is answered
 *	later
 * @job: copied; the caller fills in all but @guarded and @next
 * Return: 0, or -EAGAIN if too many wait, -ENOMEM, -ENODEV at the end
 */
int gt_worker_open(struct gt_fs *fs, const struct gt_job_open *job)
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

/* The first of the user whose last turn is longest ago. fs->lock held */
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

static void tell_size(struct gt_fs *fs, struct gt_node *n, const struct gt_snap *s)
{
	/* it may keep the size of the text that was dropped */
	fuse_lowlevel_notify_inval_inode(fs->se, gt_node_id(n), -1, 0);
	if (s->len)
		store_byte(fs, n, &s->data[s->len - 1], s->len - 1);
}

/* A size that has sendfile ask us, who refuse, and no page: what it has goes. */
static void tell_mixed(struct gt_fs *fs, struct gt_node *n)
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
			tell_mixed(fs, j->node);
		else
			tell_size(fs, j->node, s);
	}
	gt_snap_put(s);
	return err;
}

static void read_now(struct gt_fs *fs, struct gt_job_open *j)
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

static void open_now(struct gt_fs *fs, struct gt_job_open *j)
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
			read_now(fs, j);
		else
			open_now(fs, j);
		job_free(fs, j);
	}
	atomic_store(&fs->worker_left, true);
	return NULL;
}
