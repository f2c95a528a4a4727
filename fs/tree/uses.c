/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What is read off of processes: `memory`, and the engines in `utilization` that are known without
 * any event. Of a process, a user, a control group, or all processes of a GPU.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lines.h"

#define KFD_STALE_NS (5 * GT_SEC)

static void gpu_name(struct gt_text *t, const struct gt_show *s, uint16_t gpu)
{
	char name[16];

	{
		GT_MODEL_LOCK(s->app->model);
		memcpy(name, s->app->model->gpus[gpu]->name, sizeof(name));
	}
	gt_text_word(t, name, sizeof(name));
}

/* "amdgpu0/", but below a GPU nothing */
static void gpu_label(struct gt_text *t, const struct gt_show *s, uint16_t gpu)
{
	if (s->obj.gpu != GT_NONE16)
		return;
	gpu_name(t, s, gpu);
	gt_text_ch(t, '/');
}

static void region_line(struct gt_text *t, const struct gt_show *s, uint16_t gpu,
			const struct gt_use_region *r)
{
	gpu_label(t, s, gpu);
	gt_text_word(t, r->name, sizeof(r->name));
	gt_known_gkv(t, "total_bytes", r->total);
	gt_known_gkv(t, "resident_bytes", r->resident);
	gt_known_gkv(t, "shared_bytes", r->shared);
	gt_known_gkv(t, "active_bytes", r->active);
	gt_known_gkv(t, "purgeable_bytes", r->purgeable);
	gt_text_ch(t, '\n');
}

/** struct engine_look - one engine, copied */
struct engine_look {
	char name[GT_USE_NAME];
	uint32_t capacity;
	struct gt_util util;
};

/* Of an engine of which there are several all together are all of the time. */
static void engine_line(struct gt_text *t, const struct gt_show *s, uint16_t gpu,
			const struct engine_look *e)
{
	struct gt_util u = e->util;

	for (int i = 0; i < 3; i++)
		u.ns[i] /= e->capacity ? e->capacity : 1;
	gpu_label(t, s, gpu);
	gt_text_str(t, "drm-engine-");
	gt_text_word(t, e->name, sizeof(e->name));
	gt_util_avgs(t, &u);
}

static int by_name(const void *a, const void *b)
{
	return strncmp(a, b, GT_USE_NAME); /* begins either struct */
}

static_assert(offsetof(struct engine_look, name) == 0 && offsetof(struct gt_use_region, name) == 0,
	      "by_name()");

/* Of one GPU, by name: the order in which they were met tells nothing */
static unsigned int copy_engines(const struct gt_use *u, uint64_t now, struct engine_look *out)
{
	unsigned int n = 0;

	for (const struct gt_use_busy *e = u ? u->engines : NULL; e; e = e->next, n++) {
		memcpy(out[n].name, e->name, sizeof(out[n].name));
		out[n].capacity = e->capacity;
		out[n].util = gt_util_of(&e->busy, now);
	}
	qsort(out, n, sizeof(*out), by_name);
	return n;
}

static void engine_lines(struct gt_text *t, const struct gt_show *s, uint16_t gpu,
			 const struct engine_look *e, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		engine_line(t, s, gpu, &e[i]);
}

static bool here(const struct gt_show *s, uint16_t gpu)
{
	return (s->obj.gpu == GT_NONE16 || gpu == s->obj.gpu) && !s->app->model->gpus[gpu]->gone;
}

/* A process ---------------------------------------------------------------------------------------
 */

static bool has_regions(const struct gt_use *u)
{
	return u->nregions;
}

static bool has_kfd(const struct gt_use *u)
{
	return u->kfd_at;
}

/* Is there a GPU where @has is true of the process? */
static bool any_use(const struct gt_show *s, bool (*has)(const struct gt_use *u))
{
	const struct gt_proc *p;
	bool any = false;
	int err;

	GT_MODEL_LOCK(s->app->model);
	p = gt_obj_known_proc(s, &err);
	for (const struct gt_use *u = p ? p->uses : NULL; u; u = u->next)
		any |= here(s, u->gpu) && has(u);
	return any;
}

bool gt_has_proc_memory(const struct gt_show *s)
{
	return any_use(s, has_regions);
}

bool gt_has_proc_kfd(const struct gt_show *s)
{
	return any_use(s, has_kfd);
}

/* 1: @out is what was read off of the process on @gpu, but for engines; 0: nothing was; -errno */
static int take_use(const struct gt_show *s, uint16_t gpu, struct gt_use *out)
{
	const struct gt_proc *p;
	const struct gt_use *u;
	int err;

	GT_MODEL_LOCK(s->app->model);
	p = gt_obj_known_proc(s, &err);
	u = p ? gt_use_of(p->uses, gpu) : NULL;
	if (!u || !here(s, gpu))
		return err;
	*out = *u;
	out->engines = NULL; /* the model's, unlocked from here on */
	return 1;
}

static unsigned int gpus(const struct gt_show *s)
{
	GT_MODEL_LOCK(s->app->model);
	return s->app->model->ngpus;
}

int gt_show_proc_memory(struct gt_text *t, const struct gt_show *s)
{
	struct gt_use u = { 0 };
	int n = 0;

	gt_app_look(s->app, GT_LOOK_PROCS);
	for (unsigned int g = 0; n >= 0 && g < gpus(s); g++) {
		n = take_use(s, (uint16_t)g, &u);
		if (n <= 0)
			continue;
		qsort(u.region, u.nregions, sizeof(u.region[0]), by_name);
		for (unsigned int i = 0; i < u.nregions; i++)
			region_line(t, s, (uint16_t)g, &u.region[i]);
	}
	return n < 0 ? n : 0;
}

int gt_show_proc_kfd(struct gt_text *t, const struct gt_show *s)
{
	uint64_t now;
	struct gt_use u = { 0 };
	int n = 0;

	gt_app_look(s->app, GT_LOOK_PROCS);
	now = gt_model_now(s->app->model);
	for (unsigned int g = 0; n >= 0 && g < gpus(s); g++) {
		n = take_use(s, (uint16_t)g, &u);
		if (n <= 0 || !u.kfd_at || now > u.kfd_at + KFD_STALE_NS)
			continue;
		gpu_name(t, s, (uint16_t)g);
		gt_known_gkv(t, "vram_bytes", u.kfd.vram);
		gt_known_gkv(t, "sdma_us", u.kfd.sdma_us);
		gt_known_gkv(t, "evicted_ms", u.kfd.evicted_ms);
		gt_known_gkv(t, "cu_occupancy", u.kfd.cu_occupancy);
		gt_text_ch(t, '\n');
	}
	if (n >= 0 && !t->len)
		gt_text_str(t, "unavailable\n"); /* its GPU sleeps, or it let go of it */
	return n < 0 ? n : 0;
}

static int take_engines(const struct gt_show *s, uint16_t gpu, uint64_t now,
			struct engine_look *out)
{
	const struct gt_proc *p;
	int err;

	GT_MODEL_LOCK(s->app->model);
	p = gt_obj_known_proc(s, &err);
	if (!p || !here(s, gpu))
		return err;
	return (int)copy_engines(gt_use_of(p->uses, gpu), now, out);
}

int gt_proc_engine_lines(struct gt_text *t, const struct gt_show *s)
{
	uint64_t now = gt_model_now(s->app->model);
	struct engine_look e[GT_USE_ENGINES];
	int n = 0;

	for (unsigned int g = 0; n >= 0 && g < gpus(s); g++) {
		n = take_engines(s, (uint16_t)g, now, e);
		if (n > 0)
			engine_lines(t, s, (uint16_t)g, e, (unsigned int)n);
	}
	return n < 0 ? n : 0;
}

/* All processes of a GPU --------------------------------------------------------------------------
 */

bool gt_gpu_engine_lines(struct gt_text *t, const struct gt_show *s)
{
	uint64_t now = gt_model_now(s->app->model);
	struct engine_look e[GT_USE_ENGINES];
	unsigned int n = 0;

	{
		GT_MODEL_LOCK(s->app->model);
		const struct gt_gpu *g = gt_obj_gpu(s);

		if (g)
			n = copy_engines(g->use, now, e);
	}
	engine_lines(t, s, s->obj.gpu, e, n);
	return n;
}

/* A user or a control group -----------------------------------------------------------------------
 */

static bool told(const struct gt_show *s, uint16_t gpu)
{
	GT_MODEL_LOCK(s->app->model);
	return here(s, gpu);
}

void gt_work_engine_lines(struct gt_text *t, const struct gt_show *s, const struct gt_work *w)
{
	uint64_t now = gt_model_now(s->app->model);
	struct engine_look e[GT_USE_ENGINES];

	for (uint16_t g = 0; g < GT_MAX_GPUS; g++) {
		const struct gt_use *u = gt_use_of(w->uses, g);

		if (u && told(s, g))
			engine_lines(t, s, g, e, copy_engines(u, now, e));
	}
}

void gt_work_memory_lines(struct gt_text *t, const struct gt_show *s, struct gt_work *w)
{
	for (uint16_t g = 0; g < GT_MAX_GPUS; g++) {
		struct gt_use *u = gt_use_of(w->uses, g);

		if (!u || !told(s, g))
			continue;
		qsort(u->region, u->nregions, sizeof(u->region[0]), by_name);
		for (unsigned int i = 0; i < u->nregions; i++)
			region_line(t, s, g, &u->region[i]);
	}
}
