/* SPDX-License-Identifier: GPL-2.0 */
/* The model as a whole: made, freed, cleared, and brought forward in time. */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <time.h>

#include "internal.h"

/*
 * Memory of the model, counted. Readers allocate too (gt_stage_total()), so the count is atomic.
 * The limit bounds what a recording could make grow: histograms, and the statistics of a process on
 * a ring; everything else is bounded by number.
 */

#define LARGE (256U << 10)

static _Atomic uint64_t mem_used, mem_refused;
static _Atomic uint64_t mem_limit = GT_STATS_BYTES;

/*
 * Large arrays are mapped: what is never touched costs nothing. The rest begins at a cache line, as
 * the structs' hot fields expect.
 */
static void *get(size_t size)
{
	void *p;

	if (size >= LARGE) {
		p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		return p == MAP_FAILED ? NULL : p;
	}
	if (posix_memalign(&p, 64, size))
		return NULL;
	return memset(p, 0, size);
}

void *gt_mem_get(size_t size, bool bounded)
{
	uint64_t before = atomic_fetch_add_explicit(&mem_used, size, memory_order_relaxed);
	void *p = NULL;

	if (!bounded || before + size <= atomic_load_explicit(&mem_limit, memory_order_relaxed))
		p = get(size);
	if (!p) {
		atomic_fetch_sub_explicit(&mem_used, size, memory_order_relaxed);
		atomic_fetch_add_explicit(&mem_refused, 1, memory_order_relaxed);
	}
	return p;
}

void gt_mem_put(void *p, size_t size)
{
	if (!p)
		return;
	if (size >= LARGE)
		munmap(p, size);
	else
		free(p);
	atomic_fetch_sub_explicit(&mem_used, size, memory_order_relaxed);
}

void *gt_mem_get_for(uint16_t account, size_t size)
{
	uint64_t limit = atomic_load_explicit(&mem_limit, memory_order_relaxed);
	void *p;

	if (!gt_share_take(account, GT_SH_MEMORY, size, limit))
		return NULL;
	p = gt_mem_get(size, true);
	if (!p)
		gt_share_give(account, GT_SH_MEMORY, size);
	return p;
}

void gt_mem_put_for(uint16_t account, void *p, size_t size)
{
	if (p)
		gt_share_give(account, GT_SH_MEMORY, size);
	gt_mem_put(p, size);
}

uint64_t gt_hist_memory(void)
{
	return atomic_load_explicit(&mem_used, memory_order_relaxed);
}

uint64_t gt_hist_refused(void)
{
	return atomic_load_explicit(&mem_refused, memory_order_relaxed);
}

void gt_hist_set_limit(uint64_t bytes)
{
	atomic_store_explicit(&mem_limit, bytes, memory_order_relaxed);
}

/* Numbers by key, in one array that is never more than half full. */

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

static uint64_t clock_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * GT_SEC + (uint64_t)t.tv_nsec;
}

/* Keys come from recordings that anybody may have written: without a salt they could be made to
 * collide */
static void make_salt(struct gt_model_private *p)
{
	if (getrandom(p->salt, sizeof(p->salt), GRND_NONBLOCK) != (ssize_t)sizeof(p->salt)) {
		p->salt[0] = clock_now();
		p->salt[1] = (uint64_t)(uintptr_t)p;
	}
	for (unsigned int i = 0; i < 3; i++) /* odd and far from 0: they are factors too */
		p->salt[i] =
			gt_mix(p->salt[i] | 1, 0x9e3779b97f4a7c15ULL + i) | 0x8000000000000001ULL;
}

struct gt_model *gt_model_new(const struct gt_limits *limits, bool wall)
{
	struct gt_model *m = gt_mem_get(sizeof(*m), false);

	if (!m)
		return NULL;
	pthread_mutex_init(&m->lock, NULL);
	m->limits = *limits;
	if (!m->limits.max_jobs)
		m->limits.max_jobs = 1;
	if (!m->limits.max_procs)
		m->limits.max_procs = 1;
	m->wall = wall;
	m->window_ns = GT_SEC;
	m->now = m->cleared = wall ? clock_now() : 0;
	m->priv = gt_mem_get(sizeof(*m->priv), false);
	if (m->priv) {
		make_salt(m->priv);
		pthread_mutex_init(&m->priv->pauses_lock, NULL);
		m->priv->sec_start = 1ULL << 63; /* whatever comes first is another second */
	}
	if (!m->priv || gt_jobs_init(m) || gt_procs_init(m) || gt_groups_init(m) ||
	    gt_queues_init(m) || gt_kernels_init(m)) {
		gt_model_free(m);
		return NULL;
	}
	m->memory = gt_hist_memory();
	return m;
}

void gt_model_free(struct gt_model *m)
{
	if (!m)
		return;
	if (m->priv) {
		gt_depend_destroy(m);
		gt_jobs_destroy(m);
		gt_procs_destroy(m);
		gt_groups_destroy(m);
		gt_queues_destroy(m);
		gt_kernels_destroy(m);
		pthread_mutex_destroy(&m->priv->pauses_lock);
	}
	for (unsigned int i = 0; i < m->ngpus; i++)
		gt_gpu_free(m->gpus[i]);
	free(m->functions);
	gt_mem_put(m->priv, sizeof(*m->priv));
	pthread_mutex_destroy(&m->lock);
	gt_mem_put(m, sizeof(*m));
}

uint64_t gt_model_now(const struct gt_model *m)
{
	return m->wall ? clock_now() : __atomic_load_n(&m->now, __ATOMIC_RELAXED);
}

void gt_model_advance(struct gt_model *m, uint64_t ts)
{
	GT_MODEL_LOCK(m);
	gt_set_now(m, ts);
	if (m->now > m->priv->gap_until)
		gt_jobs_gaps(m, m->now);
	gt_jobs_reap(m, m->now);
	m->memory = gt_hist_memory();
}

void gt_model_reap(struct gt_model *m)
{
	gt_jobs_reap(m, gt_model_now(m));
	gt_procs_reap(m);
	gt_queues_reap(m);
	m->memory = gt_hist_memory();
}

void gt_model_tidy(struct gt_model *m)
{
	_Atomic uint64_t *tidied = &m->priv->tidied;
	uint64_t now = gt_model_now(m);

	if (now - atomic_load_explicit(tidied, memory_order_relaxed) < GT_SEC)
		return;
	atomic_store_explicit(tidied, now, memory_order_relaxed);
	GT_MODEL_LOCK(m);
	gt_model_reap(m);
}

void gt_model_clear(struct gt_model *m)
{
	uint64_t now = gt_model_now(m);

	for (unsigned int i = 0; i < m->ngpus; i++)
		gt_gpu_clear(m->gpus[i], now, m->window_ns);
	for (unsigned int i = 0; i < m->proc_slots; i++) {
		struct gt_proc *p = m->procs[i];

		if (!p)
			continue;
		memset(&p->counts, 0, sizeof(p->counts));
		gt_prings_clear(p, now);
		p->gen++;
	}
	gt_prings_clear(m->nobody, now);
	gt_groups_clear(m);
	gt_kernels_clear(m);
	for (unsigned int i = 0; i < m->nqueues; i++)
		if (m->queues[i]->gpu != GT_NONE16)
			gt_queue_clear(m->queues[i], now);
	memset(&m->types, 0, sizeof(m->types));
	memset(&m->counts, 0, sizeof(m->counts));
	m->priv->since = m->priv->unplaced = 0;
	gt_set_cleared(m, now);
	gt_pauses_clear(m, now);
	m->priv->from_first = false;
	m->gen++;
	m->memory = gt_hist_memory();
}

/* What a GPU is, and its rings: not what they did */
static bool copy_gpu(struct gt_model *to, const struct gt_gpu *g)
{
	struct gt_gpu *n = gt_model_gpu(to, g->name, NULL), made;

	if (!n)
		return false;
	made = *n;
	*n = *g;
	n->gen = g->gen + 1;
	n->nrings = 0;
	n->counts = made.counts;
	n->types = made.types;
	memcpy(n->engine, made.engine, sizeof(n->engine));
	n->errors = made.errors;
	n->gauges = made.gauges;
	n->use = made.use;
	memset(n->work, 0, sizeof(n->work));
	for (unsigned int i = 0; i < g->nrings; i++) {
		struct gt_ring *r =
			gt_model_ring(to, n, g->rings[i]->name, g->rings[i]->engine, NULL);

		if (!r)
			return false;
		r->gen = g->rings[i]->gen + 1;
		if (g->rings[i]->work)
			gt_ring_take_work(n, r);
	}
	return true;
}

static void swap_bytes(void *a, void *b, size_t n)
{
	unsigned char *x = a, *y = b, c;

	for (size_t i = 0; i < n; i++) {
		c = x[i];
		x[i] = y[i];
		y[i] = c;
	}
}

/* All but the lock, the place of what is private, and what other threads look at without the lock:
 * they may be doing so now. */
static void swap_content(struct gt_model *a, struct gt_model *b)
{
	const size_t from = offsetof(struct gt_model, limits);
	const size_t own = offsetof(struct gt_model_private, sec_start);
	struct gt_model_private *p;

	swap_bytes((char *)a->priv + own, (char *)b->priv + own, sizeof(*a->priv) - own);
	swap_bytes((char *)a + from, (char *)b + from, sizeof(*a) - from);
	p = a->priv;
	a->priv = b->priv;
	b->priv = p;
}

int gt_model_reset(struct gt_model *m)
{
	struct gt_model *fresh = gt_model_new(&m->limits, m->wall);
	bool whole = fresh;

	for (unsigned int i = 0; whole && i < m->ngpus; i++)
		whole = copy_gpu(fresh, m->gpus[i]);
	if (!whole) {
		gt_model_free(fresh);
		return -ENOMEM;
	}
	fresh->window_ns = m->window_ns;
	fresh->several = m->several;
	fresh->gen = m->gen + 1;
	fresh->dir_gen = m->dir_gen + 1;
	fresh->hw_round = m->hw_round + 1;
	fresh->resets = m->resets + 1;
	fresh->priv->group_serial = m->priv->group_serial;
	fresh->priv->queue_serial = m->priv->queue_serial;
	memcpy(fresh->custom, m->custom, sizeof(m->custom));
	fresh->functions = m->functions;
	fresh->nfunctions = m->nfunctions;
	m->functions = NULL;
	m->nfunctions = 0;
	swap_content(m, fresh);
	__atomic_store_n(&m->now, fresh->now, __ATOMIC_RELAXED);
	gt_set_cleared(m, fresh->cleared);
	atomic_store_explicit(&m->priv->tidied, 0, memory_order_relaxed);
	gt_model_free(fresh);
	m->memory = gt_hist_memory();
	return 0;
}
