/* SPDX-License-Identifier: GPL-2.0 */
/* Maps from the log's pointers, whose hash nobody outside can guess, and numbers of queues. */
#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>

#include "internal.h"

int gt_amd_map_init(struct gt_amd_map *m, uint32_t cap)
{
	m->cap = cap;
	m->used = 0;
	m->slot = calloc(cap, sizeof(*m->slot));
	if (getrandom(&m->salt, sizeof(m->salt), GRND_NONBLOCK) < 0)
		m->salt = (uintptr_t)m->slot * 0x9e3779b97f4a7c15ull;
	return m->slot ? 0 : -ENOMEM;
}

void gt_amd_map_free(struct gt_amd_map *m)
{
	free(m->slot);
	m->slot = NULL;
}

static uint32_t place(const struct gt_amd_map *m, uint64_t key)
{
	uint64_t h = (key ^ m->salt) * 0x9e3779b97f4a7c15ull;

	h = (h ^ h >> 32 ^ m->salt) * 0x9e3779b97f4a7c15ull;
	return (uint32_t)(h >> 32) & (m->cap - 1);
}

/* Its slot, or the empty one where it would be */
static struct gt_amd_slot *find(const struct gt_amd_map *m, uint64_t key)
{
	uint32_t i = place(m, key);

	while (m->slot[i].key && m->slot[i].key != key)
		i = (i + 1) & (m->cap - 1);
	return &m->slot[i];
}

uint32_t gt_amd_map_get(const struct gt_amd_map *m, uint64_t key)
{
	const struct gt_amd_slot *s = key ? find(m, key) : NULL;

	return s && s->key ? s->value : GT_NONE32;
}

bool gt_amd_map_set(struct gt_amd_map *m, uint64_t key, uint32_t value)
{
	struct gt_amd_slot *s = key ? find(m, key) : NULL;

	if (!s || (!s->key && m->used >= m->cap / 4 * 3))
		return false;
	m->used += !s->key;
	*s = (struct gt_amd_slot){ key, value };
	return true;
}

/* Those behind it that would not be found any more move up. */
void gt_amd_map_del(struct gt_amd_map *m, uint64_t key)
{
	struct gt_amd_slot *s = key ? find(m, key) : NULL;
	uint32_t i, mask = m->cap - 1;

	if (!s || !s->key)
		return;
	m->used--;
	s->key = 0;
	for (i = (uint32_t)(s - m->slot + 1) & mask; m->slot[i].key; i = (i + 1) & mask) {
		struct gt_amd_slot moved = m->slot[i];

		m->slot[i].key = 0;
		*find(m, moved.key) = moved;
	}
}

uint32_t gt_amd_number(struct gt_amd_numbers *n)
{
	if (!n->free)
		n->free = calloc(GT_AMD_QUEUES_ALL, sizeof(*n->free));
	if (n->nfree)
		return n->free[--n->nfree];
	if (!n->free || n->used == GT_AMD_QUEUES_ALL)
		return GT_NONE32;
	return GT_AMD_QUEUE_BASE + n->used++;
}

void gt_amd_number_put(struct gt_amd_numbers *n, uint32_t number)
{
	if (number != GT_NONE32 && n->free && n->nfree < GT_AMD_QUEUES_ALL)
		n->free[n->nfree++] = number;
}
