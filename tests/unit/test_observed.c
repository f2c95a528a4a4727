/* SPDX-License-Identifier: GPL-2.0 */
/* What time was observed: sessions of recordings, pauses of sources, rings and engines. */
#include <stdlib.h>
#include <time.h>

#include "../../fs/model/internal.h"
#include "modelbed.h"

static struct gt_extent extent(uint64_t first, uint64_t last)
{
	return (struct gt_extent){ .first = T0 + first, .last = T0 + last };
}

/* Two recordings with clocks of their own: 2 s, and 3 s from second 100 on */
static void check_sessions(void)
{
	uint64_t now = T0 + 103 * SEC;

	begin();
	job(T0, GT_SUBMIT, 1, 500);
	gt_model_advance(m, T0 + 2 * SEC);
	is(gt_observed_between(m, T0, T0 + 60 * SEC), 60 * SEC, "of one session all is observed");
	gt_session_break(m, T0 + 100 * SEC);
	gt_model_advance(m, now);
	is(gt_observed_between(m, T0, now), 5 * SEC, "what is between two is not");
	is(gt_observed_between(m, T0 + SEC, T0 + 101 * SEC), 2 * SEC, "a part of each");
	is(gt_observed_between(m, T0 + 50 * SEC, T0 + 60 * SEC), 0, "of a gap nothing");
	is(gt_observed_between(m, now, T0), 0, "nor of no time");
	is(gt_observed(m, GT_OBSERVED_EVENTS, now, GT_ALL), 5 * SEC, "of all the time");
	is(gt_observed(m, GT_OBSERVED_EVENTS, now, 10 * SEC), 3 * SEC, "of a window");
	is(gt_observed(m, GT_OBSERVED_EVENTS, now, 2 * SEC), 2 * SEC, "within one");
	is(gt_observed_of(m, extent(0, 2 * SEC), now, GT_ALL), 2 * SEC, "a ring of the first");
	is(gt_observed_of(m, extent(101 * SEC, 102 * SEC), now, GT_ALL), 3 * SEC, "of the second");
	is(gt_observed_of(m, extent(2 * SEC, 102 * SEC), now, GT_ALL), 5 * SEC, "of both");
	is(gt_observed_of(m, extent(2 * SEC + 1, 102 * SEC), now, GT_ALL), 3 * SEC,
	   "the first had ended");
	is(gt_observed_of(m, extent(0, 100 * SEC), now, GT_ALL), 5 * SEC, "to the second's begin");
	is(gt_observed_of(m, extent(0, 100 * SEC - 1), now, GT_ALL), 2 * SEC, "it had not begun");
	is(gt_observed_between_of(m, extent(0, 2 * SEC), T0, now), 2 * SEC,
	   "likewise between times");
	gt_model_free(m);
}

/* More recordings than are kept apart: 1 s each, 10 s from one to the next */
static void check_many_sessions(void)
{
	begin();
	job(T0, GT_SUBMIT, 1, 500);
	for (uint64_t i = 1; i <= GT_SESSIONS + 1; i++) {
		gt_model_advance(m, T0 + (i * 10 - 9) * SEC);
		gt_session_break(m, T0 + i * 10 * SEC);
	}
	gt_model_advance(m, T0 + (GT_SESSIONS * 10 + 11) * SEC);
	is(gt_observed_between(m, T0, m->now), (GT_SESSIONS + 11) * SEC,
	   "those that are too many are one");
	gt_model_free(m);
}

static void check_since(void)
{
	struct gt_extent e = { .since = T0 + 6 * SEC };

	begin();
	job(T0, GT_SUBMIT, 1, 500);
	gt_model_advance(m, T0 + 10 * SEC);
	is(gt_observed_of(m, e, m->now, 10 * SEC), 4 * SEC,
	   "what begins later is observed since then");
	is(gt_observed_of(m, e, m->now, 3 * SEC), 3 * SEC, "a window after that is whole");
	is(gt_observed_between_of(m, e, T0, m->now), 4 * SEC, "likewise between times");
	e.since = T0 + 11 * SEC;
	is(gt_observed_of(m, e, m->now, 10 * SEC), 0, "what is yet to come is not");
	is(gt_observed_between_of(m, e, T0, m->now), 0, "at any time");
	gt_model_free(m);
}

static struct gt_ring *a_ring(struct gt_gpu *g, enum gt_engine engine, uint64_t first,
			      uint64_t last, struct gt_pauses *pauses)
{
	static struct gt_ring rings[4];
	struct gt_ring *r = &rings[g->nrings];

	memset(r, 0, sizeof(*r));
	r->engine = engine;
	r->submits = true;
	r->first_ts = first;
	r->last_ts = last;
	r->pauses = pauses;
	g->rings[g->nrings++] = r;
	return r;
}

static void check_engine(void)
{
	static struct gt_gpu g;
	static struct gt_pauses p[3];
	struct gt_extent e;
	struct gt_ring *a, *b;

	a = a_ring(&g, GT_ENGINE_GRAPHICS, 0, 0, &p[0]);
	b = a_ring(&g, GT_ENGINE_GRAPHICS, 500, 900, &p[1]);
	a_ring(&g, GT_ENGINE_COPY, 300, 600, &p[2]);
	a_ring(&g, GT_ENGINE_COMPUTE, 800, 2000, NULL);
	e = gt_engine_extent(&g, GT_ENGINE_GRAPHICS);
	ok(e.first == 300 && e.last == 2000, "from the first event of the GPU to its last");
	ok(gt_engine_extent(&g, GT_ENGINE_COPY).pauses == &p[2] &&
		   !gt_engine_extent(&g, GT_ENGINE_COMPUTE).pauses,
	   "an engine pauses as its ring does");
	p[0].since = 5;
	ok(gt_engine_extent(&g, GT_ENGINE_GRAPHICS).pauses == &p[1],
	   "of two, as that which does not");
	p[1].since = 6;
	ok(gt_engine_extent(&g, GT_ENGINE_GRAPHICS).pauses == &p[1], "or began last");
	p[0].since = 7;
	ok(gt_engine_extent(&g, GT_ENGINE_GRAPHICS).pauses == &p[0], "whichever that is");
	p[0].since = 0;
	ok(gt_engine_extent(&g, GT_ENGINE_GRAPHICS).pauses == &p[0], "it goes on, if one does");
	a->pauses = NULL;
	ok(!gt_engine_extent(&g, GT_ENGINE_GRAPHICS).pauses, "or never paused");
	a->since = 700;
	b->since = 600;
	is(gt_engine_extent(&g, GT_ENGINE_GRAPHICS).since, 600,
	   "it is observed since one of them is");
	a->since = 500;
	is(gt_engine_extent(&g, GT_ENGINE_GRAPHICS).since, 500, "the first");
	is(gt_engine_extent(&g, GT_ENGINE_COPY).since, 0, "another by its own");
	ok(!gt_engine_extent(&g, GT_ENGINE_VIDEO_DECODE).pauses &&
		   !gt_engine_extent(&g, GT_ENGINE_VIDEO_DECODE).since,
	   "one that has none by none");
}

/* The clock goes on by itself: what is looked at are times of it */
static void check_wall(void)
{
	struct gt_limits limits = { 64, 600 * SEC, 16, 60 * SEC };
	struct gt_pauses *p;
	struct gt_extent e = { 0 };
	struct gt_gpu *g;
	struct gt_ring *r;
	uint64_t at;

	m = gt_model_new(&limits, true);
	m->cleared -= 80 * SEC;
	p = &m->priv->pauses[GT_OBSERVED_EVENTS];
	{
		GT_MODEL_LOCK(m);
		g = gt_model_gpu(m, "mock0", NULL);
		r = gt_model_ring(m, g, "gfx", GT_ENGINE_GRAPHICS, NULL);
	}
	gt_model_observe(m, GT_OBSERVED_EVENTS, true);
	at = p->time.end;
	is(gt_observed_changed(m), at, "that sources have started is a change");
	is(gt_observed_between(m, at - SEC, at + SEC), 2 * SEC,
	   "a first event may come a little before that");
	gt_model_observe_ring(m, g->id, r->id, false);
	gt_model_observe_ring(m, g->id, r->id, true);
	ok(r->pauses && !r->pauses->since, "a ring has paused");
	gt_model_observe(m, GT_OBSERVED_EVENTS, true);
	gt_model_observe(m, GT_OBSERVED_USE, false);
	is(r->pauses->since, 0, "it goes on, while events do");
	gt_model_observe_ring(m, (uint16_t)m->ngpus, 0, false);
	gt_model_observe_ring(m, g->id, (uint16_t)g->nrings, false);
	ok(true, "rings that are none do no harm");

	gt_model_clear(m);
	at = m->cleared;
	gt_model_observe(m, GT_OBSERVED_EVENTS, false);
	gt_model_observe(m, GT_OBSERVED_EVENTS, true);
	ok(p->time.total_ns, "a pause after a clear");
	is(gt_observed_changed(m), p->time.end, "its end is a change");
	is(gt_observed_between(m, at - SEC, at), SEC, "does not make one before it");
	gt_model_observe(m, GT_OBSERVED_EVENTS, false);
	m->cleared -= 80 * SEC;
	p->since -= 5 * SEC;
	at = p->since;
	is(gt_observed(m, GT_OBSERVED_EVENTS, at + 9750 * MS, 10 * SEC), 250 * MS, "just a slot");
	is(gt_observed(m, GT_OBSERVED_EVENTS, at + 9750 * MS + 1, 10 * SEC), 0, "less is nothing");
	e.since = at + 4 * SEC;
	is(gt_observed_of(m, e, at + 5 * SEC, 10 * SEC), 0,
	   "what began within a pause is not observed");
	gt_model_free(m);
}

int main(void)
{
	struct timespec t;

	check_sessions();
	check_many_sessions();
	check_since();
	check_engine();
	clock_gettime(CLOCK_MONOTONIC, &t);
	if (t.tv_sec < 120)
		ok(true, "pauses # skip this machine has run for less than two minutes");
	else
		check_wall();
	return done_testing();
}
