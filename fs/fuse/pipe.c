/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Pipes: `events` and `trace`. A read that finds nothing is parked, and answered by the notifier,
 * an interrupt, or the end.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fuse.h"

#define TEXT_BATCH 256
#define READ_MAX   (1U << 20)
#define LINES_MAX  (64U << 10) /* others wait while lines are made: some 0.5 ms for so many bytes */

bool gt_is_pipe(const struct gt_entry *e)
{
	return e->kind == GT_ENTRY_FILE && e->file &&
	       (e->file->flags & (GT_FILE_PIPE | GT_FILE_TPIPE));
}

static bool is_text(const struct gt_handle *h)
{
	return h->node->entry.file->flags & GT_FILE_TPIPE;
}

int gt_pipe_open(struct gt_handle *h)
{
	struct gt_app *app = h->fs->app;
	struct gt_scope scope = gt_tree_scope(app, &h->node->entry.obj, &h->view);
	int err = gt_quota_take(&app->quota, h->user, GT_Q_PIPES);

	if (err)
		return err;
	h->is_pipe = true;
	if (is_text(h))
		h->past = calloc(1, sizeof(*h->past)); /* without it some names are left out */
	err = gt_cursor_init(&h->cursor, app->log, app->model, &h->view, &scope);
	if (!err && app->replay && (!app->paced || gt_app_played(app)))
		gt_cursor_history(&h->cursor); /* a recording is read from its first event on */
	gt_text_init(&h->text, 1 << 20);
	return err;
}

void gt_pipe_close(struct gt_handle *h)
{
	if (!h->is_pipe)
		return;
	gt_quota_give(&h->fs->app->quota, h->user, GT_Q_PIPES, 1);
	gt_cursor_destroy(&h->cursor);
	gt_text_free(&h->text);
	free(h->past);
	free(h->back);
}

static size_t read_records(struct gt_handle *h, void *buf, size_t size)
{
	size_t n = gt_cursor_read(&h->cursor, buf, size / GT_RECORD_SIZE);

	if (h->view.ns != GT_PIDNS_OWN)
		for (size_t i = 0; i < n; i++)
			gt_translate((union gt_record *)buf + i, &h->view);
	return n * GT_RECORD_SIZE;
}

/* Fills the line buffer when all of it has been read. */
static void more_lines(struct gt_handle *h)
{
	union gt_record rec[TEXT_BATCH];
	size_t n;

	h->text.len = 0;
	h->text.failed = false;
	h->text_at = 0;
	do {
		n = gt_cursor_read(&h->cursor, rec, TEXT_BATCH);
		for (size_t i = 0; i < n; i++)
			gt_trace_line(&h->text, h->fs->app, &h->view, &rec[i], h->past);
	} while (n && !h->text.len);
}

static size_t read_lines(struct gt_handle *h, char *buf, size_t size)
{
	size_t done = 0, n;

	while (done < size) {
		if (h->text_at == h->text.len)
			more_lines(h);
		n = h->text.len - h->text_at;
		if (!n)
			break;
		if (n > size - done)
			n = size - done;
		memcpy(buf + done, h->text.buf + h->text_at, n);
		h->text_at += n;
		done += n;
	}
	return done;
}

static size_t read_back(struct gt_handle *h, char *buf, size_t size)
{
	size_t n = h->back_len - h->back_at;

	if (!is_text(h))
		size -= size % GT_RECORD_SIZE;
	if (n > size)
		n = size;
	memcpy(buf, h->back + h->back_at, n);
	h->back_at += n;
	if (h->back_at == h->back_len) {
		free(h->back);
		h->back = NULL;
	}
	return n;
}

/* What a read gives now: bytes, 0 if there is nothing yet. */
static size_t pipe_take(struct gt_handle *h, char *buf, size_t size)
{
	size_t n;

	pthread_mutex_lock(&h->lock);
	if (h->back)
		n = read_back(h, buf, size);
	else if (is_text(h))
		n = read_lines(h, buf, size < LINES_MAX ? size : LINES_MAX);
	else
		n = read_records(h, buf, size);
	pthread_mutex_unlock(&h->lock);
	return n;
}

/* Keeps the @n bytes in @b for the next read, behind those of another thread's. h->lock held */
static void keep(struct gt_handle *h, struct gt_readbuf *b, size_t n)
{
	char *more;

	if (!h->back) {
		h->back = b->buf;
		h->back_len = n;
		h->back_at = 0;
		*b = (struct gt_readbuf){ 0 };
		return;
	}
	more = realloc(h->back, h->back_len + n);
	if (!more)
		return;
	memcpy(more + h->back_len, b->buf, n);
	h->back = more;
	h->back_len += n;
}

/* Answers a read with the @n bytes in @b. The guard may have been faster: nothing is lost by that.
 */
static void reply(fuse_req_t req, struct gt_handle *h, struct gt_readbuf *b, size_t n)
{
	if (fuse_reply_buf(req, b->buf, n) != -ENOENT || !n)
		return;
	pthread_mutex_lock(&h->lock);
	keep(h, b, n);
	pthread_mutex_unlock(&h->lock);
}

bool gt_pipe_ready(struct gt_handle *h)
{
	const struct gt_app *app = h->fs->app;
	bool ready;

	pthread_mutex_lock(&h->lock);
	ready = atomic_load(&h->fs->ending) || h->cursor.epoch != app->log->epoch ||
		gt_app_played(app) || h->back || h->text_at < h->text.len ||
		gt_cursor_ready(&h->cursor);
	pthread_mutex_unlock(&h->lock);
	return ready;
}

/* The daemon or the recording ends, and this reader has what there was to read. */
static bool at_end(struct gt_handle *h)
{
	bool ending = atomic_load(&h->fs->ending), end;

	if (h->cursor.epoch != h->fs->app->log->epoch)
		return true; /* time went back: what follows is of no one stream with what was read
			      */
	if (!ending && !gt_app_played(h->fs->app))
		return false;
	pthread_mutex_lock(&h->lock);
	end = !h->back && h->text_at == h->text.len &&
	      ((ending && h->cursor.at >= atomic_load(&h->fs->end_head)) ||
	       !gt_cursor_ready(&h->cursor));
	pthread_mutex_unlock(&h->lock);
	return end;
}

/* fs->lock held */
static void enqueue(struct gt_fs *fs, struct gt_park *p)
{
	p->queued = true;
	p->prev = NULL;
	p->next = fs->parked;
	if (p->next)
		p->next->prev = p;
	fs->parked = p;
}

/* Takes @p out of the list; false: somebody else has it, and answers. fs->lock held. */
static bool claim(struct gt_fs *fs, struct gt_park *p)
{
	if (!p->queued)
		return false;
	p->queued = false;
	if (p->prev)
		p->prev->next = p->next;
	else
		fs->parked = p->next;
	if (p->next)
		p->next->prev = p->prev;
	return true;
}

/* Answered */
static void park_free(struct gt_fs *fs, struct gt_park *p)
{
	gt_guard_del(fs, &p->guarded);
	gt_quota_give(&fs->app->quota, p->user, GT_Q_READS, 1);
	free(p);
}

static void interrupted(fuse_req_t req, void *data)
{
	struct gt_park *p = data;
	struct gt_fs *fs = fuse_req_userdata(req);
	bool mine;

	pthread_mutex_lock(&fs->lock);
	mine = claim(fs, p);
	pthread_mutex_unlock(&fs->lock);
	/* not queued yet: gt_pipe_read() sees it by fuse_req_interrupted(); or being answered */
	if (!mine)
		return;
	fuse_reply_err(req, EINTR);
	park_free(fs, p);
}

static void answer(struct gt_park *p, struct gt_readbuf *b, size_t n)
{
	struct gt_fs *fs = p->h->fs;

	/* waits for interrupted() if it is running now: after this nobody else knows of @p */
	fuse_req_interrupt_func(p->req, NULL, NULL);
	reply(p->req, p->h, b, n);
	park_free(fs, p);
}

static void answer_error(struct gt_fs *fs, struct gt_park *p, int err)
{
	fuse_req_interrupt_func(p->req, NULL, NULL);
	fuse_reply_err(p->req, err);
	park_free(fs, p);
}

/* All parked reads, or those of @h: taken in one go, as their readers may be back at once. */
static void interrupt_all(struct gt_fs *fs, const struct gt_handle *h)
{
	struct gt_park *p, *next, *taken = NULL;

	pthread_mutex_lock(&fs->lock);
	for (p = fs->parked; p; p = next) {
		next = p->next;
		if (h && p->h != h)
			continue;
		claim(fs, p);
		p->next = taken;
		taken = p;
	}
	pthread_mutex_unlock(&fs->lock);
	for (p = taken; p; p = next) {
		next = p->next;
		answer_error(fs, p, EINTR);
	}
}

void gt_pipe_interrupt(struct gt_fs *fs)
{
	interrupt_all(fs, NULL);
}

/*
 * The kernel closes a descriptor when no read of it is under way. But the guard may have answered
 * one behind our back that is still parked here, or in the notifier's or the worker's hands.
 */
bool gt_handle_closing(struct gt_handle *h)
{
	bool used;

	if (gt_is_pipe(&h->node->entry))
		interrupt_all(h->fs, h);
	pthread_mutex_lock(&h->fs->lock);
	used = h->users;
	h->closed = used;
	pthread_mutex_unlock(&h->fs->lock);
	return !used;
}

void gt_handle_hold(struct gt_handle *h)
{
	pthread_mutex_lock(&h->fs->lock);
	h->users++;
	pthread_mutex_unlock(&h->fs->lock);
}

void gt_handle_put(struct gt_handle *h)
{
	struct gt_fs *fs = h->fs;
	bool last;

	pthread_mutex_lock(&fs->lock);
	last = !--h->users && h->closed;
	pthread_mutex_unlock(&fs->lock);
	if (last)
		gt_handle_free(h);
}

/* A buffer for reads of up to *@size, which is cut to what is given; NULL if there is no memory. */
static char *read_buffer(struct gt_readbuf *b, size_t *size)
{
	if (*size > READ_MAX)
		*size = READ_MAX;
	if (b->size < *size) {
		char *bigger = realloc(b->buf, *size);

		if (!bigger)
			return NULL;
		b->buf = bigger;
		b->size = *size;
	}
	return b->buf;
}

static void park(fuse_req_t req, struct gt_handle *h, size_t size)
{
	struct gt_fs *fs = h->fs;
	int err = gt_quota_take(&fs->app->quota, h->user, GT_Q_READS);
	struct gt_park *p = err ? NULL : calloc(1, sizeof(*p));

	if (!p) {
		if (!err)
			gt_quota_give(&fs->app->quota, h->user, GT_Q_READS, 1);
		fuse_reply_err(req, ENOMEM);
		return;
	}
	*p = (struct gt_park){ .req = req, .size = size, .h = h, .user = h->user };
	/* before it is published: an interrupt that comes first finds it unqueued */
	fuse_req_interrupt_func(req, interrupted, p);
	gt_guard_add(fs, &p->guarded);
	pthread_mutex_lock(&fs->lock);
	if (fuse_req_interrupted(req)) {
		pthread_mutex_unlock(&fs->lock);
		answer_error(fs, p, EINTR);
		return;
	}
	enqueue(fs, p);
	atomic_store(&fs->waiting, true);
	pthread_mutex_unlock(&fs->lock);
	/* what came between the first look and now has woken nobody */
	if (gt_pipe_ready(h) || !gt_tree_alive(fs->app, &h->node->entry.obj))
		gt_notify_wake(fs);
}

void gt_pipe_read(fuse_req_t req, struct gt_handle *h, size_t size, bool nonblock)
{
	bool ended = at_end(h) || !gt_tree_alive(h->fs->app, &h->node->entry.obj);
	char *buf;
	size_t n;

	if (gt_tree_gone(h->fs->app, &h->node->entry.obj)) {
		fuse_reply_err(req, ENODEV);
		return;
	}
	if (!is_text(h) && size < GT_RECORD_SIZE) {
		fuse_reply_err(req, EINVAL);
		return;
	}
	buf = read_buffer(&h->fs->session_buf, &size);
	n = buf && !ended ? pipe_take(h, buf, size) : 0;
	if (!buf)
		fuse_reply_err(req, ENOMEM);
	else if (n || ended)
		reply(req, h, &h->fs->session_buf, n);
	else if (nonblock)
		fuse_reply_err(req, EAGAIN);
	else
		park(req, h, size);
}

/* The next parked read that can be answered, claimed; NULL when there is none. */
static struct gt_park *next_ready(struct gt_fs *fs, bool end, unsigned int pass)
{
	struct gt_park *p;

	pthread_mutex_lock(&fs->lock);
	for (p = fs->parked; p; p = p->next) {
		if (p->pass == pass)
			continue;
		p->pass = pass;
		if (end || gt_pipe_ready(p->h) || !gt_tree_alive(fs->app, &p->h->node->entry.obj))
			break;
	}
	if (p) {
		claim(fs, p);
		p->h->users++;
	}
	pthread_mutex_unlock(&fs->lock);
	return p;
}

/* Claimed, but what was ready was not for this reader: it waits on. */
static void unclaim(struct gt_fs *fs, struct gt_park *p)
{
	fuse_req_t req = p->req;

	pthread_mutex_lock(&fs->lock);
	if (!fuse_req_interrupted(req)) {
		enqueue(fs, p);
		p = NULL;
	}
	pthread_mutex_unlock(&fs->lock);
	if (p)
		answer_error(fs, p, EINTR);
}

void gt_pipe_wake(struct gt_fs *fs, bool end)
{
	static unsigned int pass; /* each is looked at once: none can keep the others waiting */
	struct gt_park *p;

	for (pass++; (p = next_ready(fs, end, pass));) {
		struct gt_handle *h = p->h;
		size_t size = p->size;
		char *buf = read_buffer(&fs->notifier_buf, &size);
		bool gone = gt_tree_gone(fs->app, &h->node->entry.obj);
		size_t n = buf && !gone && !at_end(h) ? pipe_take(h, buf, size) : 0;
		bool more = !n && !end && gt_pipe_ready(h);

		if (gone)
			answer_error(fs, p, ENODEV);
		else if (n || end || at_end(h) || !gt_tree_alive(fs->app, &h->node->entry.obj))
			answer(p, &fs->notifier_buf, n);
		else
			unclaim(fs, p);
		gt_handle_put(h);
		/* one call looks at so many records only: none was for this reader, there are
		 * others */
		if (more)
			gt_notify_wake(fs);
	}
}
