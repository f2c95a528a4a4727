/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One event that two tracepoints tell, as where a module emits Linux 6.17's names beside the old
 * ones. `unless_heard` leaves the old out once the new are heard; but the very first event, or the
 * first after a second of silence, is told by the old before anybody knows. When the new one then
 * tells the same, its job is the one that is there already: it takes that job's numbers, and later
 * events find it by their own key, no longer by the old one's.
 */
#include "internal.h"

/* The two come from one call of one thread, but an interrupt or a busy host may stand between. */
#define SAME_NS 1000000000

#define BEGINS (1u << GT_SUBMIT | 1u << GT_COMMIT | 1u << GT_START)

void gt_twice_note(struct gt_eventmap *m, const struct gt_section *s, const struct gt_evctx *c,
		   const struct gt_job *j)
{
	if (s->nheard && s->bits & BEGINS)
		m->noted[c->tid % GT_NOTED] =
			(struct gt_noted){ .s = s, .ts = c->ts, .tid = c->tid, .job = *j };
}

static bool is_better(const struct gt_noted *n, const struct gt_tp *tp)
{
	for (unsigned int i = 0; i < n->s->nheard; i++)
		if (n->s->heard_tp[i] == tp)
			return true;
	return false;
}

bool gt_twice_told(struct gt_eventmap *m, const struct gt_tp *tp, const struct gt_section *s,
		   const struct gt_evctx *c, const struct gt_job *j)
{
	struct gt_noted *at = &m->noted[c->tid % GT_NOTED], n = *at;

	if (!n.s || !(s->bits & BEGINS) || c->tid != n.tid || !is_better(&n, tp))
		return false;
	at->s = NULL;
	if (s->bits != n.s->bits || c->ts - n.ts > SAME_NS)
		return false;
	gt_job_forget(m, n.s, &n.job);
	gt_job_same(m, s, j, &n.job);
	return true;
}
