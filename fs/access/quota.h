/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How much each user may hold of what all share: descriptors, pipes, waiting reads, texts. Those
 * who see everything have no bound of their own, and a part that is left to them.
 */
#ifndef GT_QUOTA_H
#define GT_QUOTA_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/**
 * enum gt_quota_kind - what is counted
 * @GT_Q_NAMES: texts looked up, until the kernel forgets them: each is a node
 * @GT_Q_FILES: open descriptors, of directories too
 * @GT_Q_PIPES: those of pipes
 * @GT_Q_READS: that wait for data
 * @GT_Q_OPENS: of long texts, that wait for their turn
 * @GT_Q_POLLS: descriptors that are polled
 * @GT_Q_BYTES: of the texts that names and descriptors hold
 */
enum gt_quota_kind {
	GT_Q_NAMES,
	GT_Q_FILES,
	GT_Q_PIPES,
	GT_Q_READS,
	GT_Q_OPENS,
	GT_Q_POLLS,
	GT_Q_BYTES,
	GT_NQ
};

#define GT_QUOTA_USERS 256

/**
 * struct gt_user - what one user holds
 * @served: a number that grows with each turn that it was given, see fs/fuse/worker.c
 *
 * A slot is its user's as long as anything is counted in it. The first is that of those who see
 * everything, the last that of all for whom there was none left.
 */
struct gt_user {
	uint32_t uid;
	_Atomic uint64_t n[GT_NQ];
	uint64_t served;
};

/** struct gt_bounds - of one kind: of all together, of all but the privileged, of one of these */
struct gt_bounds {
	uint64_t total, ordinary, user;
};

/**
 * struct gt_quota - all users
 * @total: what all hold; @ordinary: all but the privileged; @refused: how often a bound was met
 */
struct gt_quota {
	struct gt_bounds max[GT_NQ];
	struct gt_user users[GT_QUOTA_USERS];
	unsigned int top; /* no slot from here on but the last has ever been used */
	_Atomic uint64_t total[GT_NQ], ordinary[GT_NQ], refused[GT_NQ];
	_Atomic uint64_t turns; /* given by fs/fuse/worker.c, see gt_user.served */
};

/** gt_quota_init() - @max_pipes: of the configuration; the other bounds are quota.c's */
void gt_quota_init(struct gt_quota *q, unsigned int max_pipes);

/**
 * gt_quota_user() - whose account that is; the session's thread only
 * @privileged: sees everything
 *
 * The caller counts something in it before it asks for another.
 */
struct gt_user *gt_quota_user(struct gt_quota *q, uint32_t uid, bool privileged);

/** gt_quota_index() - number of @u's slot */
static inline unsigned int gt_quota_index(const struct gt_quota *q, const struct gt_user *u)
{
	return (unsigned int)(u - q->users);
}

/** gt_quota_is_privileged() - has @u no bound of its own? */
static inline bool gt_quota_is_privileged(const struct gt_quota *q, const struct gt_user *u)
{
	return u == q->users;
}

/**
 * gt_quota_full() - is there nothing left for @u? Not counted as a refusal.
 * @part: of its own bound, one in so many; 1: all of it
 */
bool gt_quota_full(const struct gt_quota *q, const struct gt_user *u, enum gt_quota_kind k,
		   unsigned int part);

/**
 * gt_quota_take() - counts one more of @k; any thread
 * Return: 0; -EMFILE, -ENFILE (others have the rest), -EAGAIN or -ENOMEM as a caller expects it of
 * @k
 */
int gt_quota_take(struct gt_quota *q, struct gt_user *u, enum gt_quota_kind k);

/** gt_quota_add() - counts @n more of @k, whatever the bound; any thread */
void gt_quota_add(struct gt_quota *q, struct gt_user *u, enum gt_quota_kind k, uint64_t n);

/** gt_quota_give() - takes @n of @k off; whoever holds several kinds gives back the bytes first */
void gt_quota_give(struct gt_quota *q, struct gt_user *u, enum gt_quota_kind k, uint64_t n);

/** gt_quota_refuse() - counts a refusal, and returns its errno: that of gt_quota_take() */
int gt_quota_refuse(struct gt_quota *q, const struct gt_user *u, enum gt_quota_kind k);

/** gt_quota_users() - how many users hold something, the privileged as one */
unsigned int gt_quota_users(const struct gt_quota *q);

#endif
