/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory of the model, counted. Readers allocate too (gt_stage_total()), so the count is atomic.
 * The limit bounds what a recording could make grow: histograms, and the statistics of a process on
 * a ring; everything else is bounded by number.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "internal.h"

#define LARGE (256U << 10)

static _Atomic uint64_t mem_used, mem_refused;
static _Atomic uint64_t mem_limit = 512ULL << 20;

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
