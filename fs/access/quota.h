/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How much each user may hold of what all share: descriptors, pipes, waiting reads, texts. Those
 * who see everything have no bound of their own, and a part that is left to them.
 */
#ifndef GT_QUOTA_H
#define GT_QUOTA_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

struct gt_node;

/** enum gt_quota_kind - what is counted: GT_QUOTA() of shares.def */
enum gt_quota_kind {
#define GT_QUOTA(id, ...) GT_Q_##id,
#include "../shares.def"
#undef GT_QUOTA
	GT_NQ
};

#define GT_QUOTA_BUCKETS 1024

/**
 * struct gt_user - what one user holds
 * @n: of each kind; @held: their sum. As long as there is any, the account is this user's
 * @served: a number that grows with each turn that it was given, see fs/fuse/file.c
 * @texts: its names that hold a text, the oldest first, and @texts_len their bytes:
 * fs/fuse/node.c's
 */
struct gt_user {
	uint32_t uid;
	_Atomic uint64_t n[GT_NQ], held;
	uint64_t served;
	TAILQ_HEAD(, gt_node) texts;
	size_t texts_len;
	struct gt_user *next;
};

#define GT_ANY UINT64_MAX /* no bound */

/**
 * struct gt_bounds - of one kind
 * @total: of all together; @ordinary: of all but the privileged; @user: of one of these, who gets
 * no more than the others have left, either; @least: whatever they have left
 */
struct gt_bounds {
	uint64_t total, ordinary, user, least;
};

/**
 * struct gt_quota - all users
 * @privileged: those who see everything; @others: all for whom there was no memory
 * @users: accounts that hold something
 * @total: what all hold; @ordinary: all but the privileged; @refused: how often a bound was reached
 */
struct gt_quota {
	struct gt_bounds max[GT_NQ];
	struct gt_user privileged, others, *buckets[GT_QUOTA_BUCKETS];
	_Atomic unsigned int users;
	_Atomic uint64_t total[GT_NQ], ordinary[GT_NQ], refused[GT_NQ];
	_Atomic uint64_t turns; /* given by fs/fuse/file.c, see gt_user.served */
};

/** gt_quota_init() - @max_pipes: of the configuration; the other bounds are quota.c's */
void gt_quota_init(struct gt_quota *q, unsigned int max_pipes);
void gt_quota_free(struct gt_quota *q);

/**
 * gt_quota_user() - the user of that account; the session's thread only
 * @privileged: sees everything
 *
 * The caller counts something in it before it asks for another.
 */
struct gt_user *gt_quota_user(struct gt_quota *q, uint32_t uid, bool privileged);

/** gt_quota_full() - is there nothing left for @u? Not counted as a refusal. */
bool gt_quota_full(const struct gt_quota *q, const struct gt_user *u, enum gt_quota_kind k);

/**
 * gt_quota_take() - counts one more of @k; any thread
 * Return: 0; -EMFILE, -ENFILE (others have the rest), -EAGAIN or -ENOMEM as a caller expects it of
 * @k
 */
int gt_quota_take(struct gt_quota *q, struct gt_user *u, enum gt_quota_kind k);

/** gt_quota_add() - counts @n more of @k, whatever the bound; any thread */
void gt_quota_add(struct gt_quota *q, struct gt_user *u, enum gt_quota_kind k, uint64_t n);

/** gt_quota_give() - takes @n of @k off; with the last of all, @u may become another's */
void gt_quota_give(struct gt_quota *q, struct gt_user *u, enum gt_quota_kind k, uint64_t n);

/** gt_quota_refuse() - counts a refusal, and returns its errno: that of gt_quota_take() */
int gt_quota_refuse(struct gt_quota *q, const struct gt_user *u, enum gt_quota_kind k);

#endif
