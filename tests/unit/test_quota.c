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

static void start(unsigned int max_pipes)
{
	gt_quota_free(&q);
	gt_quota_init(&q, max_pipes);
}

static void one_user(void)
{
	struct gt_user *u;
	int err;

	start(256);
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
	start(1);
	is(take_all(gt_quota_user(&q, 1000, false), GT_Q_PIPES, &err), 1, "the only pipe");
}

static void all_users(void)
{
	static const unsigned int half[] = { 16384, 16384, 16384, 8192, 4096, 2048, 1024 };
	uint64_t pipes = 0, opens = 0;
	struct gt_user *root, *u;
	int err;

	start(256);
	for (uint32_t i = 0; i < sizeof(half) / sizeof(*half); i++) {
		u = gt_quota_user(&q, i, false);
		is(take_all(u, GT_Q_FILES, &err), half[i], "descriptors of user %u", i);
		pipes += take_all(u, GT_Q_PIPES, &(int){ 0 });
	}
	is(err, -ENFILE, "… ENFILE: others have them");
	ok(pipes < 192, "pipes: the next gets one, too");
	root = gt_quota_user(&q, 0, true);
	is(take_all(root, GT_Q_PIPES, &err), 256 - pipes, "those who see everything get the rest");
	is(take_all(root, GT_Q_FILES, &err), 1000000, "who have descriptors without a bound");
	is(q.users, 8, "who hold something");
	for (uint32_t i = 0; i < 10; i++)
		opens += take_all(gt_quota_user(&q, i, false), GT_Q_OPENS, &(int){ 0 });
	is(opens, 10 * 1536, "opens that wait: each user's own bound, and no other");
}

/* Names are counted when they have been looked up again, whatever the bound */
static void names(void)
{
	struct gt_user *u, *v;

	start(256);
	u = gt_quota_user(&q, 1000, false);
	v = gt_quota_user(&q, 1000, true);
	gt_quota_add(&q, u, GT_Q_NAMES, 140000);
	is(gt_quota_refuse(&q, u, GT_Q_NAMES), -EMFILE, "who holds more names than all may");
	ok(!gt_quota_full(&q, v, GT_Q_NAMES), "… is not in the way of those who see everything");
	v = gt_quota_user(&q, 1001, false);
	gt_quota_add(&q, v, GT_Q_NAMES, 1023);
	ok(!gt_quota_full(&q, v, GT_Q_NAMES), "… nor of another, until");
	gt_quota_add(&q, v, GT_Q_NAMES, 1);
	is(gt_quota_refuse(&q, v, GT_Q_NAMES), -ENFILE, "… more than the kernel's delay is held");
}

static void bytes(void)
{
	struct gt_user *u;

	start(256);
	u = gt_quota_user(&q, 1000, false);
	gt_quota_add(&q, u, GT_Q_BYTES, 127 << 20);
	ok(!gt_quota_full(&q, u, GT_Q_BYTES), "127 MiB of texts");
	gt_quota_add(&q, u, GT_Q_BYTES, 1 << 20);
	ok(gt_quota_full(&q, u, GT_Q_BYTES), "128 MiB are all");
	ok(!gt_quota_full(&q, gt_quota_user(&q, 1001, false), GT_Q_BYTES), "but not another's");
	is(gt_quota_refuse(&q, u, GT_Q_BYTES), -ENOMEM, "ENOMEM");
	gt_quota_add(&q, gt_quota_user(&q, 0, true), GT_Q_BYTES, 384 << 20);
	ok(gt_quota_full(&q, gt_quota_user(&q, 0, true), GT_Q_BYTES), "512 MiB are everybody's");
}

#define MANY 3000

static void many_users(void)
{
	struct gt_user *u, *first;
	bool own = true;

	start(256);
	first = gt_quota_user(&q, 0, false);
	ok(first != gt_quota_user(&q, 0, true), "a container's root is not root");
	for (uint32_t uid = 0; uid < MANY; uid++) {
		u = gt_quota_user(&q, uid, false);
		own = own && u->uid == uid && !u->held;
		gt_quota_take(&q, u, GT_Q_FILES);
	}
	ok(own, "each user has an account");
	is(q.users, MANY, "… and holds something");
	gt_quota_take(&q, first, GT_Q_READS);
	gt_quota_give(&q, first, GT_Q_FILES, 1);
	ok(gt_quota_user(&q, 2000 * GT_QUOTA_BUCKETS, false) != first, "… as long as there is any");
	gt_quota_give(&q, first, GT_Q_READS, 1);
	is(q.users, MANY - 1, "who holds nothing");
	q.turns = 7;
	u = gt_quota_user(&q, 1000 * GT_QUOTA_BUCKETS, false);
	ok(u == first || !u->held, "… makes room");
	is(u->uid, 1000 * GT_QUOTA_BUCKETS, "… and is forgotten");
	is(u->served, 7, "the new one is behind those who have waited");
}

int main(void)
{
	one_user();
	all_users();
	names();
	bytes();
	many_users();
	gt_quota_free(&q);
	return done_testing();
}
