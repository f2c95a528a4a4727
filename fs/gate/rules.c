/* SPDX-License-Identifier: GPL-2.0 */
/* What the settings say, in the form that an event is held against. */
#include <string.h>

#include "gate.h"

/* What only level verbose records: it comes by the million and tells of no job. Calls of functions
 * do too, but come only where somebody chose the functions. */
#define VERBOSE_TYPES (1U << GT_IRQ | 1U << GT_CTX_SWITCH)

static uint32_t level_types(int64_t level)
{
	if (level <= GT_LEVEL_STATS)
		return 0;
	return level >= GT_LEVEL_VERBOSE ? UINT32_MAX : ~VERBOSE_TYPES;
}

/* Values were checked when they were set: here no list can be wrong. */
static void numbers(const char *s, uint64_t max, struct gt_numbers *out)
{
	char err[128];

	if (!s || gt_list_numbers(s, max, true, out, err, sizeof(err)))
		*out = (struct gt_numbers){ 0 };
}

static void rings(const char *s, struct gt_patterns *out)
{
	char err[128];

	if (!s || gt_list_rings(s, true, out, err, sizeof(err)))
		out->n = 0;
}

static void set_list32(const char *s, uint32_t list[GT_WANTED_LIST], uint32_t *n)
{
	struct gt_numbers v;

	numbers(s, GT_NONE32 - 1, &v);
	memset(list, 0xff, GT_WANTED_LIST * sizeof(*list));
	for (unsigned int i = 0; i < v.n; i++)
		list[i] = (uint32_t)v.v[i];
	*n = v.n;
}

static void set_contexts(struct gt_wanted *w, const char *s)
{
	struct gt_numbers v;

	numbers(s, GT_NONE64 - 1, &v);
	memset(w->ctx, 0xff, sizeof(w->ctx));
	memcpy(w->ctx, v.v, v.n * sizeof(*w->ctx));
	w->nctx = v.n;
	w->ctx_but = v.but;
}
static_assert(GT_WANTED_LIST == GT_LIST_MAX, "every list has room");

static void set_filters(struct gt_gate *g, const struct gt_config *c)
{
	bool on = c->filter_enabled;
	char err[128];

	set_list32(on ? c->filter_pid : NULL, g->wanted.pid, &g->wanted.npid);
	set_list32(on ? c->filter_uid : NULL, g->wanted.uid, &g->wanted.nuid);
	rings(on ? c->filter_ring : NULL, &g->filter_rings);
	gt_list_events(on ? c->filter_events : "", &g->wanted.events, err, sizeof(err));
	gt_list_engines(on ? c->filter_engine : "", &g->engines, err, sizeof(err));
	g->latency = on && c->filter_latency ? (uint64_t)c->filter_latency * 1000 : GT_NONE64;
}

static void set_sampling(struct gt_gate *g, const struct gt_config *c)
{
	uint64_t share = GT_SHARE_ALL * (uint64_t)c->sampling / 100;
	bool adapts = c->sampling_mode == GT_SAMPLING_ADAPTIVE;
	bool slow = c->sampling_mode == GT_SAMPLING_THRESHOLD;

	gt_adapt_set(&g->adapt, adapts ? (unsigned int)c->sampling_budget : 0, share);
	g->wanted.share = adapts ? g->adapt.share : slow ? GT_SHARE_ALL : share;
	g->slower = slow ? (uint64_t)c->sampling_threshold : GT_NONE64;
}

void gt_gate_configure(struct gt_gate *g, const struct gt_config *c)
{
	g->rules++;
	g->wanted.gen++;
	g->wanted.types = level_types(c->level);
	set_filters(g, c);
	rings(c->watchlist, &g->watch);
	set_contexts(&g->wanted, c->watchlist_ctx);
	set_sampling(g, c);
	gt_rate_set(&g->rate, c->rate_limit_mode, (uint64_t)c->rate_limit,
		    (uint64_t)c->rate_limit_burst);
	g->nowhere.refused = gt_gate_ring_refused(g, GT_NONE16, GT_NONE16);
}

/** struct place - a ring as lists know it */
struct place {
	const char *gpu, *name;
	unsigned int id;
	enum gt_engine engine;
};

static struct place find(const struct gt_gate *g, uint16_t gpu, uint16_t ring)
{
	struct place p = { "", "", ring, GT_ENGINE_UNKNOWN };
	const struct gt_gpu *of;

	if (!g->model || gpu >= g->model->ngpus)
		return p;
	of = g->model->gpus[gpu];
	p.gpu = of->name;
	if (ring < of->nrings) {
		p.name = of->rings[ring]->name;
		p.engine = of->rings[ring]->engine;
	}
	return p;
}

bool gt_gate_ring_known(const struct gt_gate *g, uint16_t gpu, uint16_t ring)
{
	return !g->model || (gpu < g->model->ngpus && ring < g->model->gpus[gpu]->nrings);
}

static bool listed(const struct gt_patterns *list, const struct place *p)
{
	return p->id != GT_NONE16 && gt_ring_matches(list, p->gpu, p->id, p->name);
}

static uint32_t ruled_out(const struct gt_patterns *list, const struct place *p,
			  enum gt_refusal why)
{
	return list->n && listed(list, p) == list->but ? 1U << why : 0;
}

uint32_t gt_gate_ring_refused(const struct gt_gate *g, uint16_t gpu, uint16_t ring)
{
	struct place p = find(g, gpu, ring);
	uint32_t engine = g->engines >> p.engine & 1 ? 0 : 1U << GT_R_ENGINE;

	return ruled_out(&g->filter_rings, &p, GT_R_RING) | engine |
	       ruled_out(&g->watch, &p, GT_R_WATCHLIST);
}
