/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Queues that ioctls make. A driver numbers them within a process, or an opened device; below
 * queues/ they get numbers that no other has, and that are not used again.
 *
 * That a process has ended is not told here: what it leaves behind makes room when it must.
 */
#include <errno.h>

#include "internal.h"

#define HEADS (sizeof(((struct gi_queues *)0)->head) / sizeof(uint32_t))

static uint32_t *head_of(struct gi_queues *qs, uint32_t slot, uint64_t owner, uint32_t number)
{
	uint64_t h = (owner ^ (uint64_t)slot << 40 ^ number) * 0x9e3779b97f4a7c15ULL;

	return &qs->head[h >> 32 & (HEADS - 1)];
}

int gi_queues_init(struct gi_queues *qs)
{
	qs->q = calloc(GI_QUEUES, sizeof(*qs->q));
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

void gi_queue_end(struct gi_queues *qs, struct gi_queue *q)
{
	uint32_t *at = head_of(qs, q->slot, q->owner, q->number), i = (uint32_t)(q - qs->q) + 1;

	while (*at && *at != i)
		at = &qs->q[*at - 1].next;
	if (*at)
		*at = q->next;
	*q = (struct gi_queue){ .next = qs->free };
	qs->free = i;
}

static struct gi_queue *take(struct gi_queues *qs)
{
	struct gi_queue *q;

	if (!qs->free && qs->used < GI_QUEUES)
		return &qs->q[qs->used++];
	if (!qs->free) {
		gi_queue_end(qs, &qs->q[qs->oldest++ % GI_QUEUES]);
		qs->pushed_out++;
	}
	q = &qs->q[qs->free - 1];
	qs->free = q->next;
	return q;
}

struct gi_queue *gi_queue_new(struct gi_queues *qs, uint32_t slot, uint64_t owner, uint32_t number)
{
	struct gi_queue *q = gi_queue_find(qs, slot, owner, number);
	uint32_t *head = head_of(qs, slot, owner, number);

	if (q)
		gi_queue_end(qs, q);
	q = take(qs);
	if (++qs->last_id == GT_NONE32)
		qs->last_id = 1;
	*q = (struct gi_queue){ owner, slot, number, qs->last_id, GT_NONE16, *head };
	*head = (uint32_t)(q - qs->q) + 1;
	return q;
}
