/* SPDX-License-Identifier: GPL-2.0 */
/* The model as a whole: made, freed, cleared, and brought forward in time. */
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "internal.h"

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
	gt_groups_clear(m);
	gt_kernels_clear(m);
	for (unsigned int i = 0; i < m->nqueues; i++)
		if (m->queues[i]->gpu != GT_NONE16)
			gt_queue_clear(m->queues[i], now);
	memset(&m->types, 0, sizeof(m->types));
	memset(&m->counts, 0, sizeof(m->counts));
	m->cleared = now;
	m->gen++;
	m->memory = gt_hist_memory();
}
