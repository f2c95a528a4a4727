/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Finished jobs of the last seconds, for blame: a walk along the history without the model's lock,
 * and all jobs sorted by ring.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "gather.h"

#define MAX_JOBS (2 * GT_GATHER_JOBS)
#define SLOTS	 (2 * MAX_JOBS) /* a power of two; pages that nobody touches cost nothing */
/* Late ones may lie between newer ones: so many older ones in a row, and there are no more */
#define OLDER_IN_A_ROW 256

void gt_gathered_done(struct gt_gathered *g)
{
	free(g->ring);
	free(g->job);
	free(g->party);
	free(g->held);
	free(g->slot);
	free(g->flight);
	free(g->ctx);
	free(g->ctx_slot);
}

/* Parties --------------------------------------------------------------------------------- */

/* With a salt, for whoever wrote a recording chose what is in it */
static uint32_t hash(const struct gt_gathered *g, const struct gt_gathered_party *p)
{
	uint64_t who =
		gt_mix(((uint64_t)p->uid << 32 | p->pid) ^ g->salt[0], p->met ^ g->salt[1]);

	return (uint32_t)gt_mix(who ^ p->ring, g->salt[0] | 1) & (SLOTS - 1);
}

static bool same(const struct gt_gathered_party *a, const struct gt_gathered_party *b)
{
	return a->pid == b->pid && a->met == b->met && a->uid == b->uid && a->ring == b->ring;
}

static uint32_t party_of(struct gt_gathered *g, const struct gt_gathered_party *whose)
{
	uint32_t at = hash(g, whose);

	for (; g->slot[at]; at = (at + 1) & (SLOTS - 1))
		if (same(&g->party[g->slot[at] - 1], whose))
			break;
	if (!g->slot[at]) {
		g->party[g->parties] = *whose;
		g->held[g->parties] = (struct gt_held_party){ 0 };
		g->slot[at] = ++g->parties;
	}
	return g->slot[at] - 1;
}

void gt_gather_add(struct gt_gathered *g, const struct gt_gathered_party *whose,
		   const struct gt_held_job *j)
{
	g->job[g->njobs] = *j;
	g->job[g->njobs++].who = party_of(g, whose);
}

/* The history ----------------------------------------------------------------------------- */

static struct gt_gathered_ring *ring_of(const struct gt_gathered *g, const struct gt_finished *j,
					uint64_t i)
{
	struct gt_gathered_ring *r;

	if (j->gpu >= GT_MAX_GPUS || g->base[j->gpu] == GT_NONE32 || j->ring >= g->nrings[j->gpu])
		return NULL;
	r = &g->ring[g->base[j->gpu] + j->ring];
	return i < r->head ? r : NULL;
}

/**
 * first_job() - the first one to look at: so that the window is covered, and of each ring the last
 *	job before it, which tells whether any is missing between them
 * @head: behind the last one
 */
static uint64_t first_job(struct gt_gathered *g, uint64_t head)
{
	const struct gt_log *l = g->app->log;
	unsigned int older = 0, open = 0;
	uint64_t oldest = 0, i;
	struct gt_finished j;

	for (i = head; i && head - i < GT_GATHER_JOBS && gt_log_fin_get(l, i - 1, &j); i--) {
		struct gt_gathered_ring *r = ring_of(g, &j, i - 1);
		bool inside = j.end >= g->from;

		oldest = j.end;
		older = inside ? 0 : older + 1;
		if (r && !r->closed) {
			open += inside && !r->inside;
			r->inside |= inside;
			r->closed = !inside || j.nth == 1;
			open -= r->closed && r->inside;
		}
		if (older >= OLDER_IN_A_ROW && !open)
			return i - 1;
	}
	/* at the beginning, or where a clear was, there is no more; else it is not kept */
	if (i && i != gt_log_fin_from(l) && oldest > g->from) {
		g->from = oldest;
		g->cut = true;
	}
	return i;
}

/*
 * Since when nothing else had ended on the ring when @j did: GT_NONE64 if any is missing before it,
 * as what was not recorded.
 */
static uint64_t link_to(struct gt_gathered_ring *r, const struct gt_finished *j, uint64_t ended)
{
	bool next = r->linked ? j->nth == r->nth + 1 : j->nth == 1;
	uint64_t quiet = next ? r->ended : GT_NONE64;

	if (!next) /* what is missing may have ended until then */
		ended = j->end;
	if (ended > r->ended)
		r->ended = ended;
	r->nth = j->nth;
	r->linked = true;
	return quiet;
}

static uint64_t less(uint64_t from, uint64_t what)
{
	return what == GT_NONE64 ? from : what < from ? from - what : 0;
}

static void add_finished(struct gt_gathered *g, struct gt_gathered_ring *r,
			 const struct gt_finished *j)
{
	uint64_t ended = less(j->end, j->complete);
	struct gt_held_job h = { .start = GT_NONE64, .end = ended };
	struct gt_dependency d;
	struct gt_gathered_party whose = { .ring = (uint32_t)(r - g->ring),
					   .pid = j->pid,
					   .uid = j->uid,
					   .met = j->met,
					   .ts = j->end };

	h.quiet = link_to(r, j, ended);
	gt_gather_ended(g, whose.ring, j->ctx, j->seqno);
	if (j->end < g->from)
		return;
	if (j->exec != GT_NONE64) {
		h.start = h.wait_to = less(ended, j->exec);
		h.wait_from = less(less(h.start, j->hw_wait), j->queue);
	} else if (j->total != GT_NONE64 && j->queue != GT_NONE64) {
		h.wait_from = less(j->end, j->total);
		h.wait_to = h.wait_from + j->queue;
	}
	if (gt_depend_get(g->app->model, j->dep, &d) && d.waited != GT_NONE64) {
		h.kept_from = d.since;
		h.kept_to = d.since + d.waited;
		h.kept_pid = d.pid;
		h.kept_uid = d.uid;
	}
	memcpy(whose.comm, j->comm, sizeof(whose.comm));
	g->finished++;
	gt_gather_add(g, &whose, &h);
}

static void walk_history(struct gt_gathered *g)
{
	const struct gt_log *l = g->app->log;
	uint64_t head = 0, i;
	struct gt_finished j;
	bool gap = false;

	for (uint32_t k = 0; k < g->rings; k++)
		if (g->ring[k].head > head)
			head = g->ring[k].head;
	for (i = first_job(g, head); i < head; i++) {
		struct gt_gathered_ring *r;

		if (!gt_log_fin_get(l, i, &j)) { /* overwritten, or cleared, since */
			gap = true;
			continue;
		}
		if (gap && j.end > g->from) {
			g->from = j.end;
			g->cut = true;
		}
		gap = false;
		r = ring_of(g, &j, i);
		if (r)
			add_finished(g, r, &j);
	}
}

/* All together ---------------------------------------------------------------------------- */

static bool asked_for(const struct gt_show *s, unsigned int gpu, unsigned int ring)
{
	return (s->obj.gpu == GT_NONE16 || s->obj.gpu == gpu) &&
	       (s->obj.kind != GT_DIR_RING || s->obj.ring == ring);
}

static int list_rings(struct gt_gathered *g, const struct gt_show *s)
{
	const struct gt_model *m = s->app->model;
	uint32_t life[GT_MAX_GPUS];

	{
		GT_MODEL_LOCK(s->app->model);
		if (s->obj.kind != GT_DIR_ROOT && s->obj.gpu != GT_NONE16 && !gt_obj_gpu(s))
			return -ENODEV;
		for (unsigned int i = 0; i < GT_MAX_GPUS; i++) {
			g->base[i] = GT_NONE32;
			if (i >= m->ngpus || m->gpus[i]->gone || !asked_for(s, i, s->obj.ring))
				continue;
			life[i] = m->gpus[i]->life;
			g->nrings[i] = m->gpus[i]->nrings;
			g->base[i] = g->rings;
			g->rings += g->nrings[i];
		}
		g->from = m->cleared;
		g->until = m->now;
	}
	g->ring = calloc(g->rings + 1ULL, sizeof(*g->ring));
	if (!g->ring)
		return -ENOMEM;
	for (uint16_t i = 0; i < GT_MAX_GPUS; i++)
		for (uint16_t k = 0; g->base[i] != GT_NONE32 && k < g->nrings[i]; k++)
			g->ring[g->base[i] + k] =
				(struct gt_gathered_ring){ .gpu = i, .ring = k, .life = life[i] };
	return 0;
}

static int make_room(struct gt_gathered *g)
{
	/* what is not used of these is never touched */
	g->job = malloc(MAX_JOBS * sizeof(*g->job));
	g->party = malloc(MAX_JOBS * sizeof(*g->party));
	g->held = malloc(MAX_JOBS * sizeof(*g->held));
	g->slot = calloc(SLOTS, sizeof(*g->slot));
	if (!g->job || !g->party || !g->held || !g->slot || gt_gather_flights_room(g))
		return -ENOMEM;
	if (getrandom(g->salt, sizeof(g->salt), GRND_NONBLOCK) != (ssize_t)sizeof(g->salt))
		g->salt[0] = g->salt[1] = gt_mix((uintptr_t)g->job, 0x9e3779b97f4a7c15ULL);
	return 0;
}

/* Each ring's jobs together, those of the history first: for most rings they are in order then */
static int sort_by_ring(struct gt_gathered *g, uint32_t flying)
{
	struct gt_held_job *to = malloc((g->njobs + 1ULL) * sizeof(*to));
	struct gt_held_job *at = to;

	if (!to)
		return -ENOMEM;
	for (uint32_t i = 0; i < g->njobs; i++)
		g->ring[g->party[g->job[i].who].ring].held.n++;
	for (uint32_t k = 0; k < g->rings; at += g->ring[k++].held.n)
		g->ring[k].held.job = at;
	for (uint32_t k = 0; k < g->rings; k++)
		g->ring[k].held.n = 0;
	for (uint32_t n = 0, i = flying; n < g->njobs; n++, i++) {
		const struct gt_held_job *j = &g->job[i < g->njobs ? i : i - g->njobs];
		struct gt_held_ring *r = &g->ring[g->party[j->who].ring].held;

		to[(r->job - to) + r->n++] = *j;
		g->party[j->who].waited += gt_held_waited(r, j);
	}
	free(g->job);
	g->job = to;
	return 0;
}

int gt_gather(struct gt_gathered *g, const struct gt_show *s)
{
	uint64_t now = gt_model_now(s->app->model);
	uint32_t flying;
	int err;

	*g = (struct gt_gathered){ .app = s->app };
	err = list_rings(g, s);
	if (!err)
		err = make_room(g);
	if (err)
		return err;
	if (now > GT_GATHER_NS && now - GT_GATHER_NS > g->from)
		g->from = now - GT_GATHER_NS;
	for (uint32_t k = 0; k < g->rings; k++) {
		struct gt_gathered_ring *r = &g->ring[k];

		if (!asked_for(s, r->gpu, r->ring))
			continue;
		gt_gather_flights(g, r);
		if (r->held.until > g->until)
			g->until = r->held.until;
	}
	flying = g->njobs;
	walk_history(g);
	gt_gather_overtaken(g);
	for (uint32_t k = 0; k < g->rings; k++)
		g->ring[k].held.from = g->from;
	return sort_by_ring(g, flying);
}
