/* SPDX-License-Identifier: GPL-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "quota.h"

static const struct gt_bounds bounds[GT_NQ] = {
#define GT_QUOTA(id, what, held, refused, ...) [GT_Q_##id] = { __VA_ARGS__ },
#include "../shares.def"
#undef GT_QUOTA
};

void gt_quota_init(struct gt_quota *q, unsigned int max_pipes)
{
	uint64_t ordinary = max_pipes - max_pipes / 4;

	memset(q, 0, sizeof(*q));
	memcpy(q->max, bounds, sizeof(q->max));
	q->max[GT_Q_PIPES] = (struct gt_bounds){ max_pipes, ordinary, ordinary - ordinary / 2, 0 };
	TAILQ_INIT(&q->privileged.texts);
	TAILQ_INIT(&q->others.texts);
}

void gt_quota_free(struct gt_quota *q)
{
	struct gt_user *u;

	for (int i = 0; i < GT_QUOTA_BUCKETS; i++)
		while ((u = q->buckets[i])) {
			q->buckets[i] = u->next;
			free(u);
		}
}

struct gt_user *gt_quota_user(struct gt_quota *q, uint32_t uid, bool privileged)
{
	struct gt_user **head = &q->buckets[uid % GT_QUOTA_BUCKETS], *u, *is_free = NULL;

	if (privileged)
		return &q->privileged;
	for (u = *head; u; u = u->next) {
		if (u->uid == uid)
			return u;
		if (!atomic_load_explicit(&u->held, memory_order_acquire))
			is_free = u;
	}
	u = is_free ? is_free : calloc(1, sizeof(*u));
	if (!u)
		return &q->others;
	u->uid = uid;
	/* behind those who wait already: else new uids without end would keep them waiting */
	u->served = atomic_load(&q->turns);
	if (!is_free) {
		TAILQ_INIT(&u->texts);
		u->next = *head;
		*head = u;
	}
	return u;
}

/*
 * How far from the whole of it: 0 there is room, 1 of its own, 2 of all. A user gets at most half
 * of what was free without it, so that a few cannot take everything.
 */
static int full(const struct gt_quota *q, const struct gt_user *u, enum gt_quota_kind k)
{
	const struct gt_bounds *max = &q->max[k];
	uint64_t n = atomic_load(&u->n[k]), all = atomic_load(&q->ordinary[k]);

	if (atomic_load(&q->total[k]) >= max->total)
		return 2;
	if (u == &q->privileged || n < max->least)
		return 0;
	if (n >= max->user)
		return 1;
	return all >= max->ordinary || n >= max->ordinary - all ? 2 : 0;
}

bool gt_quota_full(const struct gt_quota *q, const struct gt_user *u, enum gt_quota_kind k)
{
	return full(q, u, k) != 0;
}

int gt_quota_refuse(struct gt_quota *q, const struct gt_user *u, enum gt_quota_kind k)
{
	atomic_fetch_add(&q->refused[k], 1);
	switch (k) {
	case GT_Q_NAMES:
	case GT_Q_FILES:
		return full(q, u, k) == 2 ? -ENFILE : -EMFILE;
	case GT_Q_PIPES:
		return -EMFILE;
	case GT_Q_OPENS:
		return -EAGAIN;
	default:
		return -ENOMEM;
	}
}

int gt_quota_take(struct gt_quota *q, struct gt_user *u, enum gt_quota_kind k)
{
	if (full(q, u, k))
		return gt_quota_refuse(q, u, k);
	gt_quota_add(q, u, k, 1);
	return 0;
}

void gt_quota_add(struct gt_quota *q, struct gt_user *u, enum gt_quota_kind k, uint64_t n)
{
	if (!atomic_fetch_add(&u->held, n) && n)
		atomic_fetch_add(&q->users, 1);
	atomic_fetch_add(&u->n[k], n);
	atomic_fetch_add(&q->total[k], n);
	if (u != &q->privileged)
		atomic_fetch_add(&q->ordinary[k], n);
}

void gt_quota_give(struct gt_quota *q, struct gt_user *u, enum gt_quota_kind k, uint64_t n)
{
	atomic_fetch_sub(&q->total[k], n);
	if (u != &q->privileged)
		atomic_fetch_sub(&q->ordinary[k], n);
	atomic_fetch_sub(&u->n[k], n);
	/* last: with this the account may become another's */
	if (atomic_fetch_sub(&u->held, n) == n && n)
		atomic_fetch_sub(&q->users, 1);
}
