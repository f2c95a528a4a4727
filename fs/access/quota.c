/* SPDX-License-Identifier: GPL-2.0 */
#include <errno.h>
#include <string.h>

#include "quota.h"

#define NONE UINT64_MAX
#define MIB  (1ULL << 20)

/*
 * A name costs some 600 bytes and a descriptor 400, without the text; a long text may have 30 MB.
 * Each waiting read or open is a thread of its caller. mount.gputrace(8) tells these numbers.
 */
static const struct gt_bounds bounds[GT_NQ] = {
	[GT_Q_NAMES] = { NONE, 131072, 32768 }, [GT_Q_FILES] = { NONE, 65536, 16384 },
	[GT_Q_READS] = { 4096, 3072, 1536 },	[GT_Q_OPENS] = { 4096, 3072, 1536 },
	[GT_Q_POLLS] = { NONE, 4096, 2048 },	[GT_Q_BYTES] = { 512 * MIB, 256 * MIB, 128 * MIB },
};

void gt_quota_init(struct gt_quota *q, unsigned int max_pipes)
{
	uint64_t ordinary = max_pipes - max_pipes / 4;

	memset(q, 0, sizeof(*q));
	memcpy(q->max, bounds, sizeof(q->max));
	q->max[GT_Q_PIPES] = (struct gt_bounds){ max_pipes, ordinary, ordinary - ordinary / 2 };
	q->top = 1;
}

static bool used(const struct gt_user *u)
{
	for (int k = 0; k < GT_NQ; k++)
		if (atomic_load_explicit(&u->n[k], memory_order_acquire))
			return true;
	return false;
}

struct gt_user *gt_quota_user(struct gt_quota *q, uint32_t uid, bool privileged)
{
	struct gt_user *u, *others = &q->users[GT_QUOTA_USERS - 1], *is_free = NULL;

	if (privileged)
		return q->users;
	for (u = q->users + 1; u < q->users + q->top; u++)
		if (u->uid == uid)
			return u;
	for (u = q->users + 1; u < others && !is_free; u++)
		if (u >= q->users + q->top || !used(u))
			is_free = u;
	if (!is_free)
		return others;
	/* behind those who wait already: else new uids without end would keep them waiting */
	is_free->uid = uid;
	is_free->served = atomic_load(&q->turns);
	if (is_free == q->users + q->top)
		q->top++;
	return is_free;
}

/* How far from the whole of it: 0 there is room, 1 of its own, 2 of all */
static int full(const struct gt_quota *q, const struct gt_user *u, enum gt_quota_kind k,
		unsigned int part)
{
	const struct gt_bounds *max = &q->max[k];

	if (atomic_load(&q->total[k]) >= max->total)
		return 2;
	if (gt_quota_is_privileged(q, u))
		return 0;
	if (atomic_load(&u->n[k]) >= max->user / part)
		return 1;
	return atomic_load(&q->ordinary[k]) >= max->ordinary ? 2 : 0;
}

bool gt_quota_full(const struct gt_quota *q, const struct gt_user *u, enum gt_quota_kind k,
		   unsigned int part)
{
	return full(q, u, k, part) != 0;
}

int gt_quota_refuse(struct gt_quota *q, const struct gt_user *u, enum gt_quota_kind k)
{
	atomic_fetch_add(&q->refused[k], 1);
	switch (k) {
	case GT_Q_NAMES:
	case GT_Q_FILES:
		return full(q, u, k, 1) == 2 ? -ENFILE : -EMFILE;
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
	if (full(q, u, k, 1))
		return gt_quota_refuse(q, u, k);
	gt_quota_add(q, u, k, 1);
	return 0;
}

void gt_quota_add(struct gt_quota *q, struct gt_user *u, enum gt_quota_kind k, uint64_t n)
{
	atomic_fetch_add(&u->n[k], n);
	atomic_fetch_add(&q->total[k], n);
	if (!gt_quota_is_privileged(q, u))
		atomic_fetch_add(&q->ordinary[k], n);
}

void gt_quota_give(struct gt_quota *q, struct gt_user *u, enum gt_quota_kind k, uint64_t n)
{
	atomic_fetch_sub(&q->total[k], n);
	if (!gt_quota_is_privileged(q, u))
		atomic_fetch_sub(&q->ordinary[k], n);
	/* last: with this the slot may become another's */
	atomic_fetch_sub(&u->n[k], n);
}

unsigned int gt_quota_users(const struct gt_quota *q)
{
	unsigned int n = used(&q->users[GT_QUOTA_USERS - 1]);

	for (unsigned int i = 0; i < GT_QUOTA_USERS - 1; i++)
		n += used(&q->users[i]);
	return n;
}
