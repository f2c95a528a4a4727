/* SPDX-License-Identifier: GPL-2.0 */
/* What each user may hold: bounds of one and of all, the part that is kept, and a full table. */
#include <errno.h>

#include "../../fs/access/quota.h"
#include "../lib/tap.h"

static struct gt_quota q;

/* How many @u gets of @k until it is refused, and with what */
static uint64_t take_all(struct gt_user *u, enum gt_quota_kind k, int *err)
{
	uint64_t n = 0;

	while (n < 1000000 && !(*err = gt_quota_take(&q, u, k)))
		n++;
	return n;
}

static void one_user(void)
{
	struct gt_user *u;
	int err;

	gt_quota_init(&q, 256);
	u = gt_quota_user(&q, 1000, false);
	is(take_all(u, GT_Q_FILES, &err), 16384, "a user's descriptors");
	is(err, -EMFILE, "… then EMFILE");
	is(take_all(u, GT_Q_PIPES, &err), 96, "half of three quarters of the pipes");
	is(err, -EMFILE, "… then EMFILE");
	is(take_all(u, GT_Q_READS, &err), 1536, "reads that wait");
	is(err, -ENOMEM, "… then ENOMEM");
	is(take_all(u, GT_Q_OPENS, &err), 1536, "opens that wait");
	is(err, -EAGAIN, "… then EAGAIN");
	is(q.refused[GT_Q_FILES], 1, "a refusal is counted");
	ok(gt_quota_user(&q, 1000, false) == u, "the user is found again");
	gt_quota_give(&q, u, GT_Q_FILES, 1);
	is(gt_quota_take(&q, u, GT_Q_FILES), 0, "what was given back is to be had");
	gt_quota_init(&q, 1);
	is(take_all(gt_quota_user(&q, 1000, false), GT_Q_PIPES, &err), 1, "the only pipe");
}

static void all_users(void)
{
	uint64_t files = 0, pipes = 0, n;
	struct gt_user *root;
	int err;

	gt_quota_init(&q, 256);
	for (uint32_t uid = 1; uid <= 5; uid++) {
		struct gt_user *u = gt_quota_user(&q, uid, false);

		n = take_all(u, GT_Q_FILES, &err);
		files += n;
		pipes += take_all(u, GT_Q_PIPES, &(int){ 0 });
	}
	is(files, 65536, "descriptors of all users");
	is(n, 0, "the last user found none");
	is(err, -ENFILE, "… ENFILE: others have them");
	is(pipes, 192, "pipes of all users");
	root = gt_quota_user(&q, 0, true);
	is(take_all(root, GT_Q_PIPES, &err), 64, "the rest is of those who see everything");
	is(take_all(root, GT_Q_FILES, &err), 1000000, "who have descriptors without a bound");
	is(gt_quota_users(&q), 5, "who hold something");
}

static void bytes(void)
{
	struct gt_user *u;

	gt_quota_init(&q, 256);
	u = gt_quota_user(&q, 1000, false);
	gt_quota_add(&q, u, GT_Q_BYTES, 64 << 20);
	ok(!gt_quota_full(&q, u, GT_Q_BYTES, 1), "64 MiB of texts");
	ok(gt_quota_full(&q, u, GT_Q_BYTES, 2), "… are half");
	gt_quota_add(&q, u, GT_Q_BYTES, 64 << 20);
	ok(gt_quota_full(&q, u, GT_Q_BYTES, 1), "128 MiB are all");
	ok(!gt_quota_full(&q, gt_quota_user(&q, 1001, false), GT_Q_BYTES, 1), "but not another's");
	is(gt_quota_refuse(&q, u, GT_Q_BYTES), -ENOMEM, "ENOMEM");
	gt_quota_add(&q, gt_quota_user(&q, 0, true), GT_Q_BYTES, 384 << 20);
	ok(gt_quota_full(&q, gt_quota_user(&q, 0, true), GT_Q_BYTES, 1), "512 MiB are everybody's");
}

static void many_users(void)
{
	struct gt_user *u, *others = &q.users[GT_QUOTA_USERS - 1];
	bool own = true;

	gt_quota_init(&q, 256);
	for (uint32_t uid = 1; uid <= GT_QUOTA_USERS - 2; uid++) {
		u = gt_quota_user(&q, uid, false);
		own = own && u != others && u->uid == uid;
		gt_quota_take(&q, u, GT_Q_FILES);
	}
	ok(own, "254 users have an account each");
	ok(gt_quota_user(&q, 7000, false) == others, "the next shares one");
	ok(gt_quota_user(&q, 7001, false) == others, "… with all others");
	ok(gt_quota_user(&q, 0, true) == q.users, "root has its own");
	u = gt_quota_user(&q, 17, false);
	gt_quota_give(&q, u, GT_Q_FILES, 1);
	ok(gt_quota_user(&q, 7000, false) == u, "who holds nothing makes room");
	is(u->uid, 7000, "… and is forgotten");
	is(gt_quota_users(&q), GT_QUOTA_USERS - 3, "who hold something");
}

int main(void)
{
	one_user();
	all_users();
	bytes();
	many_users();
	return done_testing();
}
