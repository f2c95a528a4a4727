/* SPDX-License-Identifier: GPL-2.0 */
/* Numbers by key, in one array that is never more than half full. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

static int map_alloc(struct gt_map *map, uint32_t size)
{
	map->e = gt_mem_get(size * sizeof(*map->e), false);
	if (!map->e)
		return -ENOMEM;
	for (uint32_t i = 0; i < size; i++)
		map->e[i].value = GT_NONE32;
	map->mask = size - 1;
	return 0;
}

int gt_map_init(struct gt_map *map, uint64_t salt)
{
	map->n = 0;
	map->salt = salt;
	return map_alloc(map, 64);
}

void gt_map_destroy(struct gt_map *map)
{
	gt_mem_put(map->e, (map->mask + 1ULL) * sizeof(*map->e));
	map->e = NULL;
}

static uint32_t map_home(const struct gt_map *map, uint64_t key)
{
	return (uint32_t)gt_mix(key ^ map->salt, 0x9e3779b97f4a7c15ULL) & map->mask;
}

static uint32_t map_place(const struct gt_map *map, uint64_t key)
{
	uint32_t i = map_home(map, key);

	while (map->e[i].value != GT_NONE32 && map->e[i].key != key)
		i = (i + 1) & map->mask;
	return i;
}

static int map_grow(struct gt_map *map)
{
	struct gt_map old = *map;

	if (map_alloc(map, (old.mask + 1) * 2)) {
		*map = old;
		return -ENOMEM;
	}
	for (uint32_t i = 0; i <= old.mask; i++) {
		if (old.e[i].value != GT_NONE32)
			map->e[map_place(map, old.e[i].key)] = old.e[i];
	}
	gt_map_destroy(&old);
	return 0;
}

int gt_map_set(struct gt_map *map, uint64_t key, uint32_t value)
{
	uint32_t i = map_place(map, key);

	if (map->e[i].value != GT_NONE32) {
		map->e[i].value = value;
		return 0;
	}
	if ((map->n + 1) * 2 > map->mask) {
		if (map_grow(map))
			return -ENOMEM;
		i = map_place(map, key);
	}
	map->e[i] = (struct gt_map_entry){ .key = key, .value = value };
	map->n++;
	return 0;
}

/* Entries that follow move up where that brings them closer to home, so that no search stops early
 */
void gt_map_del(struct gt_map *map, uint64_t key)
{
	uint32_t hole = map_place(map, key), i = hole;

	if (map->e[hole].value == GT_NONE32)
		return;
	map->n--;
	for (;;) {
		i = (i + 1) & map->mask;
		if (map->e[i].value == GT_NONE32)
			break;
		if (((i - map_home(map, map->e[i].key)) & map->mask) >= ((i - hole) & map->mask)) {
			map->e[hole] = map->e[i];
			hole = i;
		}
	}
	map->e[hole].value = GT_NONE32;
}
