/* SPDX-License-Identifier: GPL-2.0 */
/* GPUs and rings: made once, never freed while the model lives; a ring's clock. */
#include <string.h>

#include "internal.h"

/* Names are compared as they are kept: cut to their fields */
static bool same_name(const char *kept, size_t size, const char *name)
{
	return strnlen(kept, size) == strnlen(name, size - 1) && !strncmp(kept, name, size - 1);
}

static void keep_name(char *to, size_t size, const char *name)
{
	size_t len = strnlen(name, size - 1);

	memcpy(to, name, len);
	to[len] = '\0';
}

struct gt_gpu *gt_model_gpu(struct gt_model *m, const char *name, bool *is_new)
{
	struct gt_gpu *g;

	if (is_new)
		*is_new = false;
	for (unsigned int i = 0; i < m->ngpus; i++) {
		if (same_name(m->gpus[i]->name, sizeof(m->gpus[i]->name), name))
			return m->gpus[i];
	}
	if (m->ngpus == GT_MAX_GPUS)
		return NULL;
	g = gt_mem_get(sizeof(*g), false);
	if (!g)
		return NULL;
	g->id = (uint16_t)m->ngpus;
	keep_name(g->name, sizeof(g->name), name);
	m->gpus[m->ngpus++] = g;
	m->dir_gen++;
	m->gen++;
	if (is_new)
		*is_new = true;
	return g;
}

static void gpu_changed(struct gt_model *m, struct gt_gpu *g)
{
	g->gen++;
	m->dir_gen++;
	m->gen++;
}

void gt_model_gpu_gone(struct gt_model *m, struct gt_gpu *g)
{
	if (g->gone)
		return;
	g->gone = true;
	g->life++;
	gpu_changed(m, g);
}

void gt_model_gpu_back(struct gt_model *m, struct gt_gpu *g)
{
	if (!g->gone)
		return;
	g->gone = false;
	gpu_changed(m, g);
}

bool gt_model_reading(struct gt_model *m, const struct gt_reading *r)
{
	struct gt_gpu *g = r->gpu < m->ngpus ? m->gpus[r->gpu] : NULL;

	if (g && !g->gauges)
		g->gauges = gt_mem_get(sizeof(*g->gauges), false);
	if (!g || !g->gauges || r->n > GT_GAUGES_MAX)
		return false;
	if (g->gauges->has != r->has)
		m->dir_gen++;
	g->gauges->at = r->at;
	g->gauges->has = r->has;
	g->gauges->n = r->n;
	memcpy(g->gauges->power, r->power, sizeof(r->power));
	g->gauges->power[sizeof(r->power) - 1] = '\0';
	memcpy(g->gauges->g, r->gauge, r->n * sizeof(*r->gauge));
	g->gen++;
	m->gen++;
	return true;
}

static struct gt_ring *ring_new(struct gt_model *m, struct gt_gpu *g, const char *name)
{
	struct gt_ring *r = gt_mem_get(sizeof(*r), false);

	if (!r)
		return NULL;
	r->id = (uint16_t)g->nrings;
	r->gpu = g->id;
	keep_name(r->name, sizeof(r->name), name);
	r->jobs_head = r->jobs_tail = GT_NONE32;
	r->hw_epoch = 1;
	gt_stages_init(r->stage);
	return r;
}

struct gt_ring *gt_model_ring(struct gt_model *m, struct gt_gpu *g, const char *name,
			      enum gt_engine engine, bool *is_new)
{
	struct gt_ring *r;

	if (is_new)
		*is_new = false;
	for (unsigned int i = 0; i < g->nrings; i++) {
		if (same_name(g->rings[i]->name, sizeof(g->rings[i]->name), name))
			return g->rings[i];
	}
	r = g->nrings < GT_MAX_RINGS ? ring_new(m, g, name) : NULL;
	if (!r)
		return NULL;
	if (engine == GT_ENGINE_UNKNOWN || (unsigned int)engine >= GT_NENGINES)
		engine = gt_engine_guess(r->name);
	r->engine = engine;
	g->rings[g->nrings++] = r;
	g->gen++;
	m->dir_gen++;
	m->gen++;
	if (is_new)
		*is_new = true;
	return r;
}

void gt_gpu_free(struct gt_gpu *g)
{
	for (unsigned int i = 0; i < g->nrings; i++) {
		gt_stages_reset(g->rings[i]->stage);
		gt_mem_put(g->rings[i], sizeof(*g->rings[i]));
	}
	gt_mem_put(g->gauges, sizeof(*g->gauges));
	gt_uses_free(g->use);
	gt_mem_put(g, sizeof(*g));
}

static void ring_clear(struct gt_ring *r, uint64_t now, uint64_t window_ns)
{
	gt_stages_reset(r->stage);
	memset(&r->counts, 0, sizeof(r->counts));
	memset(&r->types, 0, sizeof(r->types));
	memset(&r->errors, 0, sizeof(r->errors));
	gt_depth_reset(&r->depth, now);
	gt_busy_restart(&r->busy, now);
	gt_ring_window_restart(r, now, window_ns);
	r->gen++;
}

void gt_gpu_clear(struct gt_gpu *g, uint64_t now, uint64_t window_ns)
{
	gt_uses_clear(g->use, now);
	for (unsigned int i = 0; i < g->nrings; i++)
		ring_clear(g->rings[i], now, window_ns);
	memset(&g->counts, 0, sizeof(g->counts));
	memset(&g->types, 0, sizeof(g->types));
	memset(&g->errors, 0, sizeof(g->errors));
	for (unsigned int i = 0; i < GT_NENGINES; i++)
		gt_busy_restart(&g->engine[i], now);
	g->gen++;
}

void gt_ring_hw_forget(struct gt_ring *r)
{
	r->hw_jobs = 0;
	if (!++r->hw_epoch) /* 0 is a job's "not in the hardware" */
		r->hw_epoch = 1;
}

uint64_t gt_ring_running(const struct gt_ring *r)
{
	uint64_t since = r->hw_jobs ? r->hw_since : UINT64_MAX;

	if (r->outer_since && r->outer_since < since)
		since = r->outer_since;
	/* Where neither hand-over nor start is told, nor any end yet, nobody knows */
	if (since == UINT64_MAX || !(r->commits || r->starts || r->last_end))
		return UINT64_MAX;
	return since > r->last_end ? since : r->last_end;
}

/* Busy time of @b with what runs since @since, which @b does not hold yet */
static uint64_t busy_with_running(const struct gt_busy *b, uint64_t since, uint64_t now,
				  uint64_t window)
{
	uint64_t ns = gt_busy_ns(b, now, window), from = now > window ? now - window : 0;

	if (b->end > since)
		since = b->end;
	if (since < from)
		since = from;
	if (since < now)
		ns += now - since;
	return ns < window ? ns : window;
}

uint64_t gt_ring_busy_ns(const struct gt_model *m, const struct gt_ring *r, uint64_t now,
			 uint64_t window)
{
	return busy_with_running(&r->busy, gt_ring_running(r), now, window);
}

uint64_t gt_engine_busy_ns(const struct gt_model *m, const struct gt_gpu *g, enum gt_engine e,
			   uint64_t now, uint64_t window)
{
	uint64_t since = UINT64_MAX;

	for (unsigned int i = 0; i < g->nrings; i++) {
		if (g->rings[i]->engine == e && gt_ring_running(g->rings[i]) < since)
			since = gt_ring_running(g->rings[i]);
	}
	return busy_with_running(&g->engine[e], since, now, window);
}
