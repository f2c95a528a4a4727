/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Bounded memory between events: one hash table for jobs, pointers, waits and FIFOs. Slots come
 * from an array that the kernel fills with pages as they are used; freed ones are used again first,
 * so that what is in flight stays in the cache. A seed keeps a recording from choosing keys that
 * all meet in one chain.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

int gt_table_init(struct gt_table *t, uint32_t cap, uint64_t seed, uint64_t *forgotten)
{
	uint32_t bits = 1;

	while ((1u << bits) < cap)
		bits++;
	*t = (struct gt_table){ .seed = seed, .forgotten = forgotten, .cap = cap };
	t->seed2 = (seed << 32 | seed >> 32) * 0x9e3779b97f4a7c15ull;
	t->mask = (1u << bits) - 1;
	t->slots = calloc((size_t)cap + 1, sizeof(*t->slots));
	t->heads = calloc((size_t)1 << bits, sizeof(*t->heads));
	if (t->slots && t->heads)
		return 0;
	gt_table_free(t);
	return -ENOMEM;
}

void gt_table_free(struct gt_table *t)
{
	free(t->slots);
	free(t->heads);
	t->slots = NULL;
	t->heads = NULL;
}

static void age_unlink(struct gt_table *t, uint32_t i)
{
	struct gt_slot *s = &t->slots[i];

	if (s->older)
		t->slots[s->older].newer = s->newer;
	else
		t->oldest = s->newer;
	if (s->newer)
		t->slots[s->newer].older = s->older;
	else
		t->newest = s->older;
}

static void age_append(struct gt_table *t, uint32_t i)
{
	struct gt_slot *s = &t->slots[i];

	s->older = t->newest;
	s->newer = 0;
	if (t->newest)
		t->slots[t->newest].newer = i;
	else
		t->oldest = i;
	t->newest = i;
}

void gt_table_del(struct gt_table *t, uint32_t i)
{
	struct gt_slot *s = &t->slots[i];
	uint32_t *link = &t->heads[s->bucket];

	while (*link != i)
		link = &t->slots[*link].hnext;
	*link = s->hnext;
	age_unlink(t, i);
	s->hnext = t->free;
	t->free = i;
	t->count--;
}

void gt_table_touch(struct gt_table *t, uint32_t i)
{
	if (t->newest == i)
		return;
	age_unlink(t, i);
	age_append(t, i);
}

uint32_t gt_table_add(struct gt_table *t, uint64_t k1, uint64_t k2)
{
	struct gt_slot *s;
	uint32_t i, *head, at = gt_table_bucket(t, k1, k2);

	if (t->count == t->cap) {
		gt_table_del(t, t->oldest);
		++*t->forgotten;
	}
	i = t->free;
	if (i)
		t->free = t->slots[i].hnext;
	else
		i = ++t->fresh;
	t->count++;
	s = &t->slots[i];
	head = &t->heads[at];
	*s = (struct gt_slot){ .k1 = k1, .k2 = k2, .hnext = *head, .bucket = at };
	*head = i;
	age_append(t, i);
	return i;
}

uint64_t gt_number(struct gt_eventmap *m, uint64_t pointer)
{
	struct gt_table *t = &m->numbers;
	uint32_t i = gt_table_find(t, 0, pointer);

	if (!i) {
		i = gt_table_add(t, 0, pointer);
		t->slots[i].a = ++m->next_number;
	} else if (t->count > t->cap / 2) {
		/* only where something may soon leave: what is in use shall not */
		gt_table_touch(t, i);
	}
	return t->slots[i].a;
}
