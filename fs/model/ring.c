/* SPDX-License-Identifier: GPL-2.0 */
/* GPUs and rings: made once, never freed while the model lives; a ring's clock. */
#include <string.h>
#include <strings.h>

#include "internal.h"

/* Engines: their names, and which one a ring feeds, by the names that drivers give their rings. */

/* The first that fits wins: "vcn_enc" stands before "vcn". amdgpu, i915, xe, v3d, lima, etnaviv. */
static const struct {
	const char *part;
	enum gt_engine engine;
	bool anywhere; /* not only at the beginning */
} guesses[] = {
	{ "gfx", GT_ENGINE_GRAPHICS, false },	   { "comp", GT_ENGINE_COMPUTE, false },
	{ "sdma", GT_ENGINE_COPY, false },	   { "enc", GT_ENGINE_VIDEO_ENCODE, true },
	{ "vce", GT_ENGINE_VIDEO_ENCODE, false },  { "dec", GT_ENGINE_VIDEO_DECODE, true },
	{ "uvd", GT_ENGINE_VIDEO_DECODE, false },  { "vcn", GT_ENGINE_VIDEO_DECODE, false },
	{ "jpeg", GT_ENGINE_VIDEO_DECODE, true },  { "rcs", GT_ENGINE_GRAPHICS, false },
	{ "bcs", GT_ENGINE_COPY, false },	   { "vecs", GT_ENGINE_VIDEO_DECODE, false },
	{ "vcs", GT_ENGINE_VIDEO_DECODE, false },  { "ccs", GT_ENGINE_COMPUTE, false },
	{ "render", GT_ENGINE_GRAPHICS, true },	   { "graphics", GT_ENGINE_GRAPHICS, true },
	{ "compute", GT_ENGINE_COMPUTE, true },	   { "csd", GT_ENGINE_COMPUTE, true },
	{ "v3d_bin", GT_ENGINE_GRAPHICS, false },  { "v3d_tfu", GT_ENGINE_COPY, false },
	{ "copy", GT_ENGINE_COPY, true },	   { "blt", GT_ENGINE_COPY, true },
	{ "dma", GT_ENGINE_COPY, false },	   { "3d", GT_ENGINE_GRAPHICS, false },
	{ "fragment", GT_ENGINE_GRAPHICS, false }, { "vertex", GT_ENGINE_GRAPHICS, false },
};

enum gt_engine gt_engine_guess(const char *ring_name)
{
	for (size_t i = 0; i < sizeof(guesses) / sizeof(*guesses); i++) {
		const char *part = guesses[i].part;

		if (guesses[i].anywhere ? strcasestr(ring_name, part) != NULL
					: !strncasecmp(ring_name, part, strlen(part)))
			return guesses[i].engine;
	}
	/* lima's geometry and pixel processors */
	if (!strcmp(ring_name, "gp") || !strcmp(ring_name, "pp"))
		return GT_ENGINE_GRAPHICS;
	return GT_ENGINE_UNKNOWN;
}

const char *gt_engine_name(enum gt_engine e)
{
	static const char *const names[GT_NENGINES] = { "UNKNOWN", "GRAPHICS",	   "COMPUTE",
							"COPY",	   "VIDEO_DECODE", "VIDEO_ENCODE" };

	return (unsigned int)e < GT_NENGINES ? names[e] : names[GT_ENGINE_UNKNOWN];
}

#define RUNNER_LOOKS 1024 /* jobs that are looked at to find the one that runs */

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
	g->counts.uncounted = m->priv->unplaced;
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
	for (unsigned int i = 0; i < g->nrings; i++) {
		gt_jobs_lost(m, g->rings[i], UINT64_MAX, GT_UNSEEN_LOST);
		gt_ring_hw_forget(g->rings[i]);
		g->rings[i]->after_loss = true;
	}
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

/* No end of a job has been seen on the whole GPU */
static bool is_endless(const struct gt_gpu *g)
{
	for (unsigned int i = 0; i < g->nrings; i++)
		if (g->rings[i]->last_end)
			return false;
	return true;
}

static bool lacks_ends(const struct gt_gpu *g)
{
	for (unsigned int i = 0; i < g->nrings; i++)
		if (g->rings[i]->lacks_ends)
			return is_endless(g);
	return false;
}

bool gt_ring_no_end(struct gt_model *m, struct gt_gpu *g, struct gt_ring *r, uint64_t ts)
{
	bool endless;

	if (r->lacks_ends)
		return true;
	if (r->hw_jobs < GT_UNSEEN_NO_END || ts <= gt_sum(r->hw_since, GT_UNSEEN_NO_END_NS))
		return false;
	endless = is_endless(g);
	for (unsigned int i = 0; i < g->nrings; i++) {
		struct gt_ring *o = g->rings[i];

		if (o->work || !(o == r ? endless || r->commits || r->starts : endless))
			continue;
		o->lacks_ends = true;
		gt_jobs_lost(m, o, UINT64_MAX, GT_UNSEEN_LOST);
		o->gen++;
	}
	return r->lacks_ends;
}

void gt_ring_ends(struct gt_gpu *g, uint64_t ts)
{
	for (unsigned int i = 0; i < g->nrings; i++) {
		struct gt_ring *r = g->rings[i];

		if (r->lacks_ends && r->begun < ts)
			r->begun = ts;
		r->lacks_ends = false;
	}
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
	r->after_loss = m->priv->after_loss;
	r->loss_until = m->priv->loss_until;
	r->gap_end = m->priv->gap_end;
	r->since = m->priv->since;
	r->counts.uncounted = m->priv->unplaced;
	if (r->since)
		gt_busy_restart(&r->busy, r->since);
	r->lacks_ends = lacks_ends(g);
	r->gap = r->gap_end && r->gap_end >= m->now; /* its first job may have ended within */
	if (r->gap && r->gap_end < m->priv->gap_until)
		m->priv->gap_until = r->gap_end;
	gt_stages_init(r->stage, 0);
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

static bool has_jobs(const struct gt_ring *r)
{
	return r->jobs_head != GT_NONE32 || r->last_end || r->commits || r->starts ||
	       r->counts.submitted;
}

bool gt_ring_take_work(struct gt_gpu *g, struct gt_ring *r)
{
	int i = gt_work_ring(r->name);

	if (r->work)
		return true;
	if (i < 0 || has_jobs(r))
		return false;
	r->work = true;
	g->work[i] = r;
	return true;
}

void gt_gpu_free(struct gt_gpu *g)
{
	for (unsigned int i = 0; i < g->nrings; i++) {
		gt_stages_reset(g->rings[i]->stage);
		if (g->rings[i]->pauses)
			gt_mem_put(g->rings[i]->pauses, sizeof(*g->rings[i]->pauses));
		gt_mem_put(g->rings[i], sizeof(*g->rings[i]));
	}
	gt_mem_put(g->gauges, sizeof(*g->gauges));
	gt_uses_free(g->use);
	gt_mem_put(g, sizeof(*g));
}

void gt_ring_front_ended(struct gt_model *m, struct gt_ring *r, uint64_t ts)
{
	r->since = ts;
	r->ended_before = r->counts.completed;
	/* depth begins with the ring's first event, which may be yet to come; and where only ends are
	 * reported each would begin another window */
	if (!r->depth.t0 || !gt_ring_since(r))
		return;
	gt_depth_reset(&r->depth, ts);
	gt_ring_window_restart(r, ts, m->window_ns);
}

void gt_front_ended(struct gt_model *m, uint64_t ts)
{
	m->priv->since = ts;
	for (unsigned int i = 0; i < m->ngpus; i++) {
		struct gt_gpu *g = m->gpus[i];

		for (unsigned int k = 0; k < g->nrings; k++) {
			gt_ring_front_ended(m, g->rings[k], ts);
			gt_busy_restart(&g->rings[k]->busy, ts);
		}
		for (unsigned int k = 0; k < GT_NENGINES; k++)
			gt_busy_restart(&g->engine[k], ts);
	}
	for (unsigned int i = 0; i < m->proc_slots; i++)
		if (m->procs[i])
			gt_prings_restart(m->procs[i], ts);
	gt_prings_restart(m->nobody, ts);
}

static void ring_clear(struct gt_ring *r, uint64_t now, uint64_t window_ns)
{
	gt_stages_reset(r->stage);
	memset(&r->counts, 0, sizeof(r->counts));
	memset(&r->types, 0, sizeof(r->types));
	memset(r->jobs_before, 0, sizeof(r->jobs_before));
	memset(&r->errors, 0, sizeof(r->errors));
	gt_depth_reset(&r->depth, now);
	gt_busy_restart(&r->busy, now);
	gt_ring_window_restart(r, now, window_ns);
	r->since = r->ended_before = 0;
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
	r->hw_entered = r->hw_passed = 0;
	if (!++r->hw_epoch) /* 0 is a job's "not in the hardware" */
		r->hw_epoch = 1;
}

/*
 * Hardware that is handed one job after another ends them in that order, so those before @j have
 * ended, whether that was seen or not. If the end of one that was passed comes much later, or that
 * happens again and again, it is other hardware.
 */
__attribute__((noinline, cold)) bool gt_ring_hw_other(struct gt_ring *r, const struct gt_job *j,
						      uint64_t ts, bool passed)
{
	if (passed) {
		r->unordered =
			gt_unseen_stray(&r->strays) || ts > r->passed_at + GT_UNSEEN_ORDER_NS;
		return false;
	}
	r->hw_jobs = r->hw_entered - j->hw_no;
	r->hw_passed = j->hw_no;
	r->passed_at = ts;
	return false;
}

uint64_t gt_ring_running(const struct gt_ring *r)
{
	uint64_t since = r->hw_jobs ? r->hw_since : UINT64_MAX;

	if (since == UINT64_MAX || !gt_ring_sees_hw(r))
		return UINT64_MAX;
	since = since > r->last_end ? since : r->last_end;
	return since > r->since ? since : r->since;
}

/* The oldest job at the hardware, as the list has them */
static const struct gt_job *runner(const struct gt_model *m, const struct gt_ring *r)
{
	uint32_t i = r->jobs_head;

	for (unsigned int n = 0; n < RUNNER_LOOKS && i != GT_NONE32; n++) {
		if (gt_job_is_on_hw(r, &m->jobs[i]))
			return &m->jobs[i];
		i = m->jobs[i].ring_next;
	}
	return NULL;
}

/* When it began at the hardware, for all that was reported; GT_NONE64: not known */
static uint64_t began(const struct gt_ring *r, const struct gt_job *j)
{
	return j->reported & GT_JOB_START ? j->start : gt_job_hand_over(j, r->commits, r->gap_end);
}

void gt_ring_hw_left(const struct gt_model *m, struct gt_ring *r)
{
	uint32_t i = r->jobs_head, found = 0;
	uint64_t since = GT_NONE64;

	for (unsigned int n = 0; n < RUNNER_LOOKS && i != GT_NONE32 && found < r->hw_jobs; n++) {
		const struct gt_job *j = &m->jobs[i];

		i = j->ring_next;
		if (!gt_job_is_on_hw(r, j))
			continue;
		found++;
		since = began(r, j) < since ? began(r, j) : since;
	}
	if (found && found == r->hw_jobs && since != GT_NONE64 && since > r->hw_since)
		r->hw_since = since;
}

/* Since when @r runs what is of nobody who is known */
static uint64_t nobody_running(const struct gt_model *m, const struct gt_ring *r)
{
	const struct gt_job *j = runner(m, r);

	if (j && j->proc != GT_NONE32 && !r->after_loss && !j->after_loss)
		return UINT64_MAX;
	return gt_ring_running(r);
}

void gt_nobody_rings(struct gt_model *m)
{
	for (unsigned int i = 0; i < m->ngpus; i++) {
		const struct gt_gpu *g = m->gpus[i];

		for (unsigned int k = 0; k < g->nrings; k++)
			if (nobody_running(m, g->rings[k]) != UINT64_MAX)
				gt_pring(m, m->nobody, g->id, (uint16_t)k);
	}
}

uint64_t gt_pring_running(const struct gt_model *m, const struct gt_proc_ring *pr, uint32_t slot)
{
	const struct gt_ring *r = m->gpus[pr->gpu]->rings[pr->ring];
	uint64_t since = pr->inflight ? gt_ring_running(r) : UINT64_MAX, start;
	const struct gt_job *j;

	if (slot == GT_NONE32)
		return nobody_running(m, r);
	/* as when it ends: where it is not known when that began, the ring is busy, but with nobody
	 */
	if (since == UINT64_MAX || r->after_loss)
		return UINT64_MAX;
	j = runner(m, r);
	if (!j || j->proc != slot || j->after_loss)
		return UINT64_MAX;
	start = began(r, j);
	return start > since ? start : since;
}

uint64_t gt_busy_running_ns(const struct gt_busy *b, uint64_t since, uint64_t now, uint64_t window)
{
	uint64_t ns = gt_busy_ns(b, now, window), from = now > window ? now - window : 0, had;

	if (ns == GT_NONE64)
		return ns;
	since = since < from ? from : since;
	if (since >= now)
		return ns < window ? ns : window;
	/* on another ring of the engine others may have ended meanwhile */
	had = b->end > since ? gt_busy_between(b, since, now) : 0;
	ns += now - since > had ? now - since - had : 0;
	return ns < window ? ns : window;
}

uint64_t gt_ring_busy_ns(const struct gt_model *m, const struct gt_ring *r, uint64_t now,
			 uint64_t window)
{
	return gt_busy_running_ns(&r->busy, gt_ring_running(r), now, window);
}

uint64_t gt_engine_busy_ns(const struct gt_model *m, const struct gt_gpu *g, enum gt_engine e,
			   uint64_t now, uint64_t window)
{
	uint64_t since = UINT64_MAX;

	for (unsigned int i = 0; i < g->nrings; i++) {
		if (g->rings[i]->engine == e && gt_ring_running(g->rings[i]) < since)
			since = gt_ring_running(g->rings[i]);
	}
	return gt_busy_running_ns(&g->engine[e], since, now, window);
}
