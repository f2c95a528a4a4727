/* SPDX-License-Identifier: GPL-2.0 */
/* Jobs in flight, for blame: who waits now, and who holds the ring now. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "gather.h"

#define SLOTS (2 * GT_GATHER_JOBS)

/** struct clock - of a ring's state what says when its jobs began to run, copied */
struct clock {
	uint64_t now, last_end, loss_until, gap_end;
	uint16_t epoch;
	bool commits, starts, after_loss;
};

static void take_clock(const struct gt_model *m, const struct gt_ring *r, struct clock *c)
{
	*c = (struct clock){ .now = m->now,
			     .last_end = r->last_end,
			     .loss_until = r->loss_until,
			     .gap_end = r->gap_end,
			     .epoch = r->hw_epoch,
			     .commits = r->commits,
			     .starts = r->starts,
			     .after_loss = r->after_loss };
}

/* Before a ring's first end nobody knows whether what was submitted has been handed over */
static bool tells_hand_over(const struct clock *c)
{
	return c->commits || c->starts || c->last_end;
}

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t hand_over(const struct clock *c, const struct gt_job *j)
{
	return tells_hand_over(c) ? gt_job_hand_over(j, c->commits, c->gap_end) : GT_NONE64;
}

/* It has begun, as its source says */
static void begun(const struct clock *c, const struct gt_job *j, struct gt_held_job *h)
{
	bool ended = j->told & GT_JOB_END;

	h->wait_to = later(j->start, h->wait_from);
	/* after a loss, what ran before it may have ended long ago */
	if (!ended && j->hw_epoch != c->epoch)
		return;
	h->start = h->wait_to;
	h->end = ended ? later(j->end, h->start) : c->now;
}

/* It was handed over at @hand; the oldest of those runs since the one before has ended */
static void handed_over(const struct clock *c, const struct gt_flying *f, uint64_t hand,
			struct gt_held_job *h)
{
	if (c->after_loss || f->job.hw_epoch != c->epoch) {
		h->wait_to = hand;
		return;
	}
	h->wait_to = c->now;
	if (!f->running)
		return;
	h->wait_to = h->start = later(hand, c->last_end);
	h->end = c->now;
}

/* What would be known of it if time ended now. False: nothing */
static bool describe(const struct clock *c, const struct gt_flying *f, struct gt_held_job *h)
{
	const struct gt_job *j = &f->job;
	uint64_t hand = hand_over(c, j);
	bool concluded = (j->told & GT_JOB_END) && j->start && hand != GT_NONE64 && !c->after_loss;

	*h = (struct gt_held_job){ .start = GT_NONE64,
				   .quiet = c->after_loss ? GT_NONE64 : c->last_end };
	h->wait_from = j->told & GT_JOB_SUBMIT ? j->submit : hand;
	if (h->wait_from == GT_NONE64)
		h->wait_from = j->told & GT_JOB_START ? j->start : c->now;
	h->wait_to = h->wait_from;
	if ((j->told & GT_JOB_START) || concluded)
		begun(c, j, h);
	else if (j->told & GT_JOB_END)
		h->wait_to = hand == GT_NONE64 ? h->wait_from : hand;
	else if (!c->starts && hand != GT_NONE64)
		handed_over(c, f, hand, h);
	else if (tells_hand_over(c) && h->wait_from >= c->loss_until)
		h->wait_to = c->now;
	else if (hand != GT_NONE64) /* it may have begun in a loss */
		h->wait_to = hand;
	if (f->dep.since) {
		h->kept_from = f->dep.since;
		h->kept_to = f->dep.waited == GT_NONE64 ? h->wait_to : f->dep.since + f->dep.waited;
		h->kept_pid = f->dep.pid;
		h->kept_uid = f->dep.uid;
	}
	return h->wait_to > h->wait_from || h->start != GT_NONE64;
}

/* Overtaken ------------------------------------------------------------------------------- */

int gt_gather_flights_room(struct gt_gathered *g)
{
	g->flight = malloc(GT_GATHER_JOBS * sizeof(*g->flight));
	g->ctx = malloc(GT_GATHER_JOBS * sizeof(*g->ctx));
	g->ctx_slot = calloc(SLOTS, sizeof(*g->ctx_slot));
	return g->flight && g->ctx && g->ctx_slot ? 0 : -ENOMEM;
}

/* Where @ctx of @ring is in the hash table, or would be */
static uint32_t *slot_of(const struct gt_gathered *g, uint32_t ring, uint64_t ctx)
{
	uint64_t h = gt_mix(ctx ^ g->salt[0], ring ^ g->salt[1]);
	uint32_t at = (uint32_t)(h & (SLOTS - 1));

	while (g->ctx_slot[at] &&
	       (g->ctx[g->ctx_slot[at] - 1].ctx != ctx || g->ctx[g->ctx_slot[at] - 1].ring != ring))
		at = (at + 1) & (SLOTS - 1);
	return &g->ctx_slot[at];
}

static void note_waiting(struct gt_gathered *g, uint32_t ring, const struct gt_flying *f)
{
	bool waits = !f->running && !(f->job.told & (GT_JOB_START | GT_JOB_END)) &&
		     f->job.ctx != GT_NONE64;
	struct gt_gathered_flight *to = &g->flight[g->flying];
	uint32_t *slot;

	*to = (struct gt_gathered_flight){ f->job.seqno, GT_NONE32 };
	if (!waits)
		return;
	slot = slot_of(g, ring, f->job.ctx);
	if (!*slot) {
		g->ctx[g->ctxs] = (struct gt_gathered_ctx){ .ctx = f->job.ctx, .ring = ring };
		*slot = ++g->ctxs;
	}
	to->ctx = *slot - 1;
}

void gt_gather_ended(struct gt_gathered *g, uint32_t ring, uint64_t ctx, uint64_t seqno)
{
	uint32_t slot = g->ctxs ? *slot_of(g, ring, ctx) : 0;
	struct gt_gathered_ctx *c = slot ? &g->ctx[slot - 1] : NULL;

	if (!c || seqno == GT_NONE64)
		return;
	if (!c->any || seqno > c->done)
		c->done = seqno;
	c->any = true;
}

void gt_gather_overtaken(struct gt_gathered *g)
{
	uint32_t flying = g->flying;

	for (uint32_t i = 0; i < flying; i++) {
		const struct gt_gathered_flight *f = &g->flight[i];

		if (f->ctx == GT_NONE32 || !g->ctx[f->ctx].any || g->ctx[f->ctx].done < f->seqno)
			continue;
		g->job[i].wait_to = g->job[i].wait_from;
		g->overtaken++;
		g->flying--;
	}
}

/* The walk -------------------------------------------------------------------------------- */

static void add(struct gt_gathered *g, const struct gt_gathered_ring *r, const struct clock *c,
		const struct gt_flying *f)
{
	struct gt_gathered_party whose = { .ring = (uint32_t)(r - g->ring),
					   .pid = f->job.pid,
					   .uid = f->uid,
					   .met = f->met,
					   .ts = f->job.seen };
	struct gt_held_job h;

	if (!describe(c, f, &h))
		return;
	note_waiting(g, whose.ring, f);
	g->flying++;
	memcpy(whose.comm, f->comm, sizeof(whose.comm));
	gt_gather_add(g, &whose, &h);
}

/* Return: jobs copied, -1 if the ring has gone. The first look says what time it is on the ring. */
static int take_some(struct gt_gathered *g, struct gt_gathered_ring *r, struct gt_flight *w,
		     struct clock *c, struct gt_flying *rows, bool *more)
{
	const struct gt_show s = {
		.app = g->app,
		.obj = { .kind = GT_DIR_RING, .gpu = r->gpu, .ring = r->ring, .life = r->life }
	};
	struct gt_model *m = g->app->model;
	const struct gt_ring *ring;
	bool first = w->idx == GT_NONE32;

	GT_MODEL_LOCK(m);
	ring = gt_obj_ring(&s);
	if (!ring)
		return -1;
	take_clock(m, ring, c);
	if (first) {
		/* jobs go from flight to history under the lock */
		r->head = atomic_load(&g->app->log->fin_head);
		r->held.until = c->now;
		r->held.quiet = c->after_loss || (ring->hw_jobs && !tells_hand_over(c))
					? GT_NONE64
					: c->last_end;
	}
	return gt_flight_take(m, ring, w, rows, more);
}

void gt_gather_flights(struct gt_gathered *g, struct gt_gathered_ring *r)
{
	struct gt_flight w = GT_FLIGHT_BEGIN;
	struct gt_flying rows[GT_FLIGHT_ROWS];
	/* jobs that come while we walk must not keep us for ever */
	unsigned int left = g->app->model->limits.max_jobs;
	bool more = true;
	struct clock c;

	while (more && left) {
		int n = take_some(g, r, &w, &c, rows, &more);

		if (n < 0)
			return;
		left -= (unsigned int)n < left ? (unsigned int)n : left;
		for (int i = 0; i < n; i++) {
			if (g->flying < GT_GATHER_JOBS)
				add(g, r, &c, &rows[i]);
			else
				g->left++;
		}
	}
}
