/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which request is next. The kernel hands requests over in the order in which they came: a user
 * with hundreds of processes would keep everybody waiting. So while several wait, all of them are
 * taken from the kernel, and each user has a turn. What nobody waits for, and what is too large to
 * be anything but a mistake, is done as it comes, a few of them for each turn. A long write waits for
 * its turn, too; its beginning is kept, which is all that gt_op_write() needs to refuse it.
 *
 * What nobody waits for may release what a kept message refers to. The kernel sends it only when that
 * message has been answered, and the guard (guard.c) answers kept messages while the machine
 * suspends. So gt_turns_check() comes first, and drops what is kept.
 *
 * Each user who waits has a queue, and root one of its own. The table has a fixed size: if more users wait than it
 * has queues, some share one.
 */
#include <errno.h>
#include <linux/fuse.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fuse.h"

#define LEN_MAX	   8192 /* of a message that is kept; a value may have 4096 bytes */
#define TAKEN_MAX  4096
#define URGENT_MAX 16	/* in a row, while somebody waits for a turn */
#define AT_ONCE	   5000 /* ns: a read of the descriptor that takes longer has waited for a message */

struct gt_message {
	STAILQ_ENTRY(gt_message) next;
	struct gt_guarded guarded;
	size_t len;
	char data[];
};

static const struct fuse_in_header *header(const struct gt_fs *fs)
{
	return fs->buf.mem;
}

static bool is_waiting(struct gt_fs *fs)
{
	struct pollfd p = { .fd = fuse_session_fd(fs->se), .events = POLLIN };

	return poll(&p, 1, 0) > 0;
}

/* No process waits for the answer, or it says something of another message. */
static bool is_urgent(const struct fuse_in_header *in)
{
	switch (in->opcode) {
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_RELEASE:
	case FUSE_RELEASEDIR:
	case FUSE_INTERRUPT:
		return true;
	default:
		return in->len > LEN_MAX && in->opcode != FUSE_WRITE;
	}
}

static struct gt_message *take(struct gt_turns *t)
{
	struct gt_turn *of = TAILQ_FIRST(&t->waiting);
	struct gt_message *m = STAILQ_FIRST(&of->messages);

	STAILQ_REMOVE_HEAD(&of->messages, next);
	TAILQ_REMOVE(&t->waiting, of, next);
	if (--of->n)
		TAILQ_INSERT_TAIL(&t->waiting, of, next);
	t->n--;
	return m;
}

static void done(struct gt_fs *fs, struct gt_message *m)
{
	gt_guard_del(fs, &m->guarded);
	free(m);
}

/* The kernel says ENOENT where the guard has said so already. */
static void say_eintr(struct gt_fs *fs, const struct gt_message *m)
{
	struct fuse_out_header out = {
		.len = sizeof(out),
		.error = -EINTR,
		.unique = ((const struct fuse_in_header *)m->data)->unique,
	};

	while (write(fuse_session_fd(fs->se), &out, sizeof(out)) < 0 && errno == EINTR)
		;
}

void gt_turns_check(struct gt_fs *fs)
{
	struct gt_message *m;

	if (!gt_guard_fired(fs))
		return;
	while (fs->turns.n) {
		m = take(&fs->turns);
		say_eintr(fs, m);
		done(fs, m);
	}
}

static void serve(struct gt_fs *fs, struct fuse_buf *buf, struct gt_guarded *kept)
{
	fs->serving = ((const struct fuse_in_header *)buf->mem)->unique;
	fs->serving_kept = kept;
	fuse_session_process_buf(fs->se, buf);
	fs->serving_kept = NULL;
	gt_guard_catch_up(fs);
}

/* The queue of @uid, which may be empty */
static struct gt_turn *queue_of(struct gt_turns *t, uint32_t uid)
{
	struct gt_turn *empty = NULL;

	if (!uid)
		return &t->user[0];
	for (struct gt_turn *of = t->user + 1; of < t->user + GT_TURNS; of++) {
		if (of->n && of->uid == uid)
			return of;
		if (!of->n && !empty)
			empty = of;
	}
	if (!empty)
		return &t->user[1 + uid % (GT_TURNS - 1)];
	empty->uid = uid;
	return empty;
}

/* What was read last waits for its user's turn, or, if it is urgent, is done. Return: 1 if it took long,
 * which a few may for each turn */
static unsigned int keep(struct gt_fs *fs)
{
	struct gt_turns *t = &fs->turns;
	struct gt_turn *of;
	size_t len = fs->buf.size < LEN_MAX ? fs->buf.size : LEN_MAX;
	struct gt_message *m = is_urgent(header(fs)) ? NULL : malloc(sizeof(*m) + len);

	if (!m) {
		gt_turns_check(fs);
		serve(fs, &fs->buf, NULL);
		return 1;
	}
	m->len = len;
	memcpy(m->data, fs->buf.mem, len);
	((struct fuse_in_header *)m->data)->len = (uint32_t)len;
	gt_guard_keep(fs, &m->guarded, header(fs)->unique);
	of = queue_of(t, header(fs)->uid);
	if (!of->n++) {
		STAILQ_INIT(&of->messages);
		TAILQ_INSERT_TAIL(&t->waiting, of, next);
	}
	STAILQ_INSERT_TAIL(&of->messages, m, next);
	t->n++;
	gt_turns_check(fs);
	return fs->buf.size > len; /* the kernel has copied all of it */
}

int gt_turns_serve(struct gt_fs *fs)
{
	struct fuse_buf buf = { 0 };
	struct gt_message *m;
	unsigned int urgent = 0;
	uint64_t since;
	int n;

	if (!fs->turns.n) {
		since = gt_fs_now();
		n = fuse_session_receive_buf(fs->se, &fs->buf);
		if (n <= 0)
			return n;
		/* one at a time: there is nobody to take turns with */
		if (gt_fs_now() - since > AT_ONCE || !is_waiting(fs)) {
			serve(fs, &fs->buf, NULL);
			return n;
		}
		keep(fs);
	}
	while (fs->turns.n < TAKEN_MAX && urgent < URGENT_MAX && is_waiting(fs)) {
		n = fuse_session_receive_buf(fs->se, &fs->buf);
		if (n <= 0)
			return n;
		urgent += keep(fs);
	}
	if (!fs->turns.n)
		return 1;
	m = take(&fs->turns);
	buf.mem = m->data;
	buf.size = m->len;
	serve(fs, &buf, &m->guarded);
	done(fs, m);
	return 1;
}

void gt_turns_free(struct gt_fs *fs)
{
	while (fs->turns.n)
		done(fs, take(&fs->turns));
}
