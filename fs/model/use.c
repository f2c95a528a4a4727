/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What is read off of processes, by GPU: how long engines worked for them, and memory that they
 * hold. What ended keeps the busy time that was seen, and holds nothing.
 */
#include <errno.h>
#include <string.h>

#include "internal.h"

static struct gt_use *use_of(struct gt_use **list, uint16_t gpu)
{
	struct gt_use *u = gt_use_of(*list, gpu);

	if (u)
		return u;
	u = gt_mem_get(sizeof(*u), true);
	if (!u)
		return NULL;
	u->gpu = gpu;
	u->next = *list;
	*list = u;
	return u;
}

static struct gt_use_busy *engine_of(struct gt_use *u, const char *name)
{
	struct gt_use_busy *e = u->engines;

	while (e && strncmp(e->name, name, sizeof(e->name)))
		e = e->next;
	if (e || u->nengines == GT_USE_ENGINES)
		return e;
	e = gt_mem_get(sizeof(*e), true);
	if (!e)
		return NULL;
	memcpy(e->name, name, sizeof(e->name));
	e->name[sizeof(e->name) - 1] = '\0';
	e->next = u->engines;
	u->engines = e;
	u->nengines++;
	return e;
}

/* False: there is no room for all of it */
static bool add_engines(struct gt_use *u, const struct gt_usage *from)
{
	bool all = true;

	for (unsigned int i = 0; i < from->nengines; i++) {
		const struct gt_use_engine *e = &from->engine[i];
		struct gt_use_busy *b = engine_of(u, e->name);

		all &= b != NULL;
		if (!b)
			continue;
		b->capacity = e->capacity > b->capacity ? e->capacity : b->capacity;
		gt_busy_spread(&b->busy, from->since, from->at, e->ns);
	}
	return all;
}

static uint64_t busy_of(const struct gt_usage *u)
{
	uint64_t ns = 0;

	for (unsigned int i = 0; i < u->nengines; i++)
		ns = gt_sum(ns, u->engine[i].ns);
	return ns;
}

bool gt_model_usage(struct gt_model *m, const struct gt_usage *u, struct gt_folded *f)
{
	struct gt_gpu *g = u->gpu < m->ngpus ? m->gpus[u->gpu] : NULL;
	struct gt_use *of_gpu = g ? use_of(&g->use, u->gpu) : NULL, *own;
	struct gt_proc *p = NULL;
	bool all;

	if (g && (u->nengines || u->nregions || u->kfd))
		p = gt_proc_met(m, u->pid, GT_NONE32, u->at, f);
	else if (g) /* that it holds nothing any more makes no process */
		p = gt_model_proc(m, u->pid);

	own = p ? use_of(&p->uses, u->gpu) : NULL;
	if (!own || !of_gpu)
		return false;
	all = add_engines(own, u);
	all &= add_engines(of_gpu, u);
	if (u->memory && !p->dead) {
		own->nregions = u->nregions;
		memcpy(own->region, u->region, u->nregions * sizeof(*u->region));
	}
	if (u->kfd && !p->dead) {
		own->kfd = *u->kfd;
		own->kfd_at = u->at;
	}
	if (busy_of(u) && u->at > p->last_ts)
		p->last_ts = u->at;
	gt_set_now(m, u->at);
	p->gen++;
	g->gen++;
	m->gen++;
	return all;
}

void gt_uses_free(struct gt_use *u)
{
	struct gt_use *next;

	for (; u; u = next) {
		struct gt_use_busy *e, *after;

		next = u->next;
		for (e = u->engines; e; e = after) {
			after = e->next;
			gt_mem_put(e, sizeof(*e));
		}
		gt_mem_put(u, sizeof(*u));
	}
}

void gt_uses_clear(struct gt_use *u, uint64_t now)
{
	for (; u; u = u->next)
		for (struct gt_use_busy *e = u->engines; e; e = e->next)
			gt_busy_restart(&e->busy, now);
}

void gt_uses_ended(struct gt_use *u)
{
	for (; u; u = u->next) {
		u->nregions = 0;
		u->kfd_at = 0;
	}
}

static uint64_t add(uint64_t a, uint64_t b)
{
	return a == GT_NONE64 ? b : b == GT_NONE64 ? a : gt_sum(a, b);
}

static void fold_region(struct gt_use *to, const struct gt_use_region *from)
{
	struct gt_use_region *r = to->region;

	while (r < to->region + to->nregions && strncmp(r->name, from->name, sizeof(r->name)))
		r++;
	if (r == to->region + GT_USE_REGIONS)
		return;
	if (r == to->region + to->nregions) {
		*r = *from;
		to->nregions++;
		return;
	}
	r->total = add(r->total, from->total);
	r->resident = add(r->resident, from->resident);
	r->shared = add(r->shared, from->shared);
	r->active = add(r->active, from->active);
	r->purgeable = add(r->purgeable, from->purgeable);
}

int gt_uses_fold(struct gt_use **to, const struct gt_use *from, bool memory)
{
	for (; from; from = from->next) {
		struct gt_use *u = use_of(to, from->gpu);

		if (!u)
			return -ENOMEM;
		for (const struct gt_use_busy *e = from->engines; e; e = e->next) {
			struct gt_use_busy *b = engine_of(u, e->name);

			if (!b)
				return -ENOMEM;
			b->capacity = e->capacity > b->capacity ? e->capacity : b->capacity;
			gt_busy_fold(&b->busy, &e->busy);
		}
		for (unsigned int i = 0; memory && i < from->nregions; i++)
			fold_region(u, &from->region[i]);
	}
	return 0;
}

uint64_t gt_use_ns(const struct gt_use *u, uint64_t now, uint64_t window)
{
	uint64_t ns = 0;

	if (!u || !u->engines)
		return GT_NONE64;
	for (const struct gt_use_busy *e = u->engines; e; e = e->next)
		ns += gt_busy_ns(&e->busy, now, window);
	return ns;
}

uint64_t gt_use_bytes(const struct gt_use *u)
{
	uint64_t bytes = GT_NONE64;

	for (unsigned int i = 0; u && i < u->nregions; i++)
		bytes = add(bytes, u->region[i].resident != GT_NONE64 ? u->region[i].resident
								      : u->region[i].total);
	return bytes == GT_NONE64 && u && u->kfd_at ? u->kfd.vram : bytes;
}
