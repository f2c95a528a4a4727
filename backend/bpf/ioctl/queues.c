/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Queues that ioctls make. A driver numbers them within a process, or an opened device; below
 * queues/ they get numbers that no other has now, and which are used again, so that one who makes
 * and ends queues without end takes no more room than those that live.
 */
#include <errno.h>
#include <sys/random.h>

#include "internal.h"

#define HEADS_BITS 12

static uint32_t *head_of(struct gi_queues *qs, uint32_t slot, uint64_t owner, uint32_t number)
{
	uint64_t h = (owner ^ qs->salt[0]) * qs->salt[1];

	h = (h ^ h >> 32 ^ ((uint64_t)slot << 32 | number)) * qs->salt[1];
	return &qs->head[h >> (64 - HEADS_BITS)];
}

static uint32_t bucket(const struct gi_queues *qs, uint64_t key)
{
	uint64_t h = (key ^ qs->salt[0]) * qs->salt[1];

	return (uint32_t)((h ^ h >> 32) * qs->salt[1] >> (64 - HEADS_BITS));
}

static uint64_t key_of(const struct gi_queue *q, enum gi_list list)
{
	return list == GI_BY_PID ? q->pid : q->owner;
}

static void enlist(struct gi_queues *qs, struct gi_queue *q, enum gi_list list)
{
	uint32_t *first = &qs->list[list][bucket(qs, key_of(q, list))], i = gi_queue_id(qs, q);

	q->in[list].prev = 0;
	q->in[list].next = *first;
	if (*first)
		qs->q[*first - 1].in[list].prev = i;
	*first = i;
}

static void delist(struct gi_queues *qs, const struct gi_queue *q, enum gi_list list)
{
	uint32_t prev = q->in[list].prev, next = q->in[list].next;

	if (prev)
		qs->q[prev - 1].in[list].next = next;
	else
		qs->list[list][bucket(qs, key_of(q, list))] = next;
	if (next)
		qs->q[next - 1].in[list].prev = prev;
}

struct gi_queue *gi_queue_first(const struct gi_queues *qs, enum gi_list list, uint64_t key)
{
	uint32_t i = qs->list[list][bucket(qs, key)];

	return i ? &qs->q[i - 1] : NULL;
}

struct gi_queue *gi_queue_next(const struct gi_queues *qs, enum gi_list list,
			       const struct gi_queue *q)
{
	uint32_t i = q->in[list].next;

	return i ? &qs->q[i - 1] : NULL;
}

int gi_queues_init(struct gi_queues *qs)
{
	static_assert(sizeof(qs->head) == sizeof(uint32_t) << HEADS_BITS, "a head for each hash");

	qs->q = calloc(GI_QUEUES, sizeof(*qs->q));
	if (getrandom(qs->salt, sizeof(qs->salt), GRND_NONBLOCK) < 0)
		qs->salt[0] = qs->salt[1] = (uintptr_t)qs->q * 0x9e3779b97f4a7c15ULL;
	qs->salt[1] |= 1; /* a factor */
	return qs->q ? 0 : -ENOMEM;
}

void gi_queues_free(struct gi_queues *qs)
{
	free(qs->q);
	qs->q = NULL;
}

struct gi_queue *gi_queue_find(struct gi_queues *qs, uint32_t slot, uint64_t owner, uint32_t number)
{
	for (uint32_t i = *head_of(qs, slot, owner, number); i; i = qs->q[i - 1].next) {
		struct gi_queue *q = &qs->q[i - 1];

		if (q->owner == owner && q->slot == slot && q->number == number)
			return q;
	}
	return NULL;
}

/* The user's entry, or a free one; NULL: too many users have queues */
static struct gi_user *user_of(struct gi_queues *qs, uint32_t uid)
{
	struct gi_user *free_one = NULL;

	for (unsigned int i = 0; i < GI_USERS; i++) {
		struct gi_user *u = &qs->user[i];

		if (u->queues && u->uid == uid)
			return u;
		if (!u->queues && !free_one)
			free_one = u;
	}
	if (free_one)
		free_one->uid = uid;
	return free_one;
}

void gi_queue_end(struct gi_queues *qs, struct gi_queue *q)
{
	uint32_t *at = head_of(qs, q->slot, q->owner, q->number), i = gi_queue_id(qs, q);

	while (*at && *at != i)
		at = &qs->q[*at - 1].next;
	if (*at)
		*at = q->next;
	for (enum gi_list l = 0; l < GI_LISTS; l++)
		delist(qs, q, l);
	user_of(qs, q->uid)->queues--;
	*q = (struct gi_queue){ .next = qs->free };
	qs->free = i;
}

static struct gi_queue *take(struct gi_queues *qs)
{
	struct gi_queue *q;

	if (!qs->free)
		return qs->used < GI_QUEUES ? &qs->q[qs->used++] : NULL;
	q = &qs->q[qs->free - 1];
	qs->free = q->next;
	return q;
}

struct gi_queue *gi_queue_new(struct gi_queues *qs, uint32_t slot, uint64_t owner, uint32_t number,
			      uint32_t pid, uint32_t uid)
{
	uint32_t *head = head_of(qs, slot, owner, number);
	struct gi_user *user = user_of(qs, uid);
	struct gi_queue *q;

	if (!user || (uid && user->queues == GI_USER_QUEUES))
		return NULL;
	q = take(qs);
	if (!q)
		return NULL;
	user->queues++;
	*q = (struct gi_queue){ .owner = owner,
				.slot = slot,
				.number = number,
				.pid = pid,
				.uid = uid,
				.gpu = GT_NONE16,
				.used = true,
				.next = *head };
	*head = gi_queue_id(qs, q);
	for (enum gi_list l = 0; l < GI_LISTS; l++)
		enlist(qs, q, l);
	return q;
}
