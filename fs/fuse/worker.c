/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Long texts are rendered here, on open, so that no other request waits for them.
 *
 * The kernel has been told size 0 by the lookup. sendfile (busybox cat) believes the size it knows, so
 * before the open is answered the last byte is stored into the node's page cache: that moves the
 * kernel's idea of the size to the exact one, and leaves the page to be read as any other.
 */
#include <errno.h>
#include <stdlib.h>

#include "fuse.h"

/* Each waiting open is a thread of its caller: only a runaway reaches this. */
#define JOBS_MAX 4096
/*
 * A long text is kept for each descriptor and may have 30 MB: with so much in all texts no other is
 * rendered. Those who do not see everything have half of it, so that they leave some to root.
 */
#define TEXTS_MAX (512ULL << 20)

/**
 * gt_worker_open() - queues the open of a long text; it is answered later
 * Return: 0, or -EAGAIN if too many wait, -ENOMEM
 */
int gt_worker_open(struct gt_fs *fs, fuse_req_t req, struct gt_node *n, const struct gt_view *v,
		   const struct fuse_file_info *fi)
{
	struct gt_job_open *j = calloc(1, sizeof(*j));
	int err = 0;

	if (!j)
		return -ENOMEM;
	*j = (struct gt_job_open){ .req = req, .fi = *fi, .node = n, .view = *v };
	gt_node_hold(n);
	gt_guard_add(fs, &j->guarded);
	pthread_mutex_lock(&fs->lock);
	if (fs->njobs >= JOBS_MAX) {
		err = -EAGAIN;
	} else {
		*fs->jobs_tail = j;
		fs->jobs_tail = &j->next;
		fs->njobs++;
		pthread_cond_signal(&fs->work);
	}
	pthread_mutex_unlock(&fs->lock);
	if (err) {
		gt_guard_del(fs, &j->guarded);
		gt_node_release(n);
		free(j);
	}
	return err;
}

static struct gt_job_open *next_job(struct gt_fs *fs)
{
	struct gt_job_open *j;

	pthread_mutex_lock(&fs->lock);
	while (!fs->jobs && !fs->worker_stop)
		pthread_cond_wait(&fs->work, &fs->lock);
	j = fs->jobs;
	if (j) {
		fs->jobs = j->next;
		if (!fs->jobs)
			fs->jobs_tail = &fs->jobs;
		fs->njobs--;
	}
	pthread_mutex_unlock(&fs->lock);
	return j;
}

static void tell_size(struct gt_fs *fs, struct gt_node *n, const struct gt_snap *s)
{
	struct fuse_bufvec b = FUSE_BUFVEC_INIT(1);

	if (!s->len)
		return;
	b.buf[0].mem = (void *)(uintptr_t)&s->data[s->len - 1];
	/* a kernel that cannot leaves sendfile with an empty text: nothing better is to be had */
	fuse_lowlevel_notify_store(fs->se, gt_node_id(n), (off_t)s->len - 1, &b, 0);
}

static bool too_much(const struct gt_fs *fs, const struct gt_view *v)
{
	return atomic_load(&fs->app->snapshot_bytes) >= (v->all ? TEXTS_MAX : TEXTS_MAX / 2);
}

static void open_now(struct gt_fs *fs, struct gt_job_open *j)
{
	struct gt_snap *s = NULL;
	struct gt_handle *h = NULL;
	int err = too_much(fs, &j->view) ? -ENOMEM : -EINTR;

	if (err == -EINTR && !fuse_req_interrupted(j->req))
		s = gt_snap_render(fs->app, &j->node->entry, &j->view, &err);
	if (s)
		h = gt_handle_new(fs, j->node, &j->view);
	if (!h) {
		gt_snap_put(s);
		fuse_reply_err(j->req, s ? ENOMEM : -err);
		return;
	}
	h->snap = s;
	gt_node_set_snap(j->node, s);
	tell_size(fs, j->node, s);
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
		else
			open_now(fs, j);
		gt_guard_del(fs, &j->guarded);
		gt_node_release(j->node);
		free(j);
	}
	return NULL;
}
