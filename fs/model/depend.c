/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Why a job waits before it is handed over: the fence of another that must signal first, as the
 * scheduler says. Kept beside the table of jobs, by the same index, from the first such event on.
 */
#include "internal.h"

#define LOOKS_MAX 512 /* rings that are looked at for a fence's job */

static struct gt_job *job_at(const struct gt_model *m, uint16_t gpu, uint16_t ring, uint64_t ctx,
			     uint64_t seqno)
{
	const struct gt_event e = { .gpu = gpu, .ring = ring, .ctx = ctx, .seqno = seqno };

	return gt_job_find(m, &e, gt_event_hash(m, &e));
}

/* The job in flight of a fence, wherever it runs: jobs are found by their ring, so each is tried.
 */
static struct gt_job *job_of(const struct gt_model *m, uint64_t ctx, uint64_t seqno)
{
	unsigned int looks = 0;

	for (uint16_t g = 0; g < m->ngpus; g++) {
		for (uint16_t r = 0; r < m->gpus[g]->nrings && looks < LOOKS_MAX; r++, looks++) {
			struct gt_job *j = job_at(m, g, r, ctx, seqno);

			/* A job of the same scheduler need only be handed over: that is the fence
			 * of the context before its own, see drm_sched_fence_init() of Linux. */
			if (!j)
				j = job_at(m, g, r, ctx + 1, seqno);
			if (j)
				return j;
		}
	}
	return NULL;
}

static void describe(const struct gt_model *m, const struct gt_job *j, struct gt_dependency *d)
{
	const struct gt_proc *p = j->proc == GT_NONE32 ? NULL : m->procs[j->proc];

	d->ctx = j->ctx;
	d->job = true;
	d->gpu = j->gpu;
	d->ring = j->ring;
	d->pid = p ? p->pid : j->pid;
	d->uid = p ? p->uid : j->uid;
}

static void unknown(struct gt_dependency *d)
{
	*d = (struct gt_dependency){ .ctx = GT_NONE64,
				     .seqno = GT_NONE64,
				     .waited = GT_NONE64,
				     .pid = GT_NONE32,
				     .uid = GT_NONE32,
				     .gpu = GT_NONE16,
				     .ring = GT_NONE16 };
}

/* Since when @j waits; the latest fence is the one that keeps it */
static void note(struct gt_model *m, struct gt_job *j, const struct gt_dependency *d, uint64_t ts)
{
	struct gt_dependency *to;

	if (!m->priv->dep)
		m->priv->dep = gt_mem_get(m->limits.max_jobs * sizeof(*m->priv->dep), false);
	if (!m->priv->dep)
		return;
	to = &m->priv->dep[j - m->jobs];
	if (j->told & GT_JOB_WAITS)
		ts = to->since;
	*to = *d;
	to->since = ts ? ts : 1; /* 0 is none */
	j->told |= GT_JOB_WAITS;
}

void gt_depend_event(struct gt_model *m, struct gt_where *w, struct gt_event *e,
		     struct gt_folded *f)
{
	struct gt_job *j = w->ring ? gt_job_find(m, e, gt_event_hash(m, e)) : NULL, *other;
	struct gt_dependency d;

	unknown(&d);
	d.ctx = e->ref;
	d.seqno = e->value;
	other = e->ref == GT_NONE64 || e->value == GT_NONE64 ? NULL : job_of(m, e->ref, e->value);
	if (other)
		describe(m, other, &d);
	e->tid = d.pid;
	if (!j || j->live == GT_JOB_OUTER)
		return;
	f->job = j;
	w->proc = j->proc == GT_NONE32 ? NULL : m->procs[j->proc];
	e->pid = w->proc ? w->proc->pid : j->pid;
	e->uid = w->proc ? w->proc->uid : j->uid;
	if (e->flags & GT_F_WAITS && !(j->told & (GT_JOB_COMMIT | GT_JOB_START | GT_JOB_END)))
		note(m, j, &d, e->ts);
}

void gt_depend_of(const struct gt_model *m, const struct gt_job *j, struct gt_dependency *d)
{
	if (!(j->told & GT_JOB_WAITS)) {
		unknown(d);
		return;
	}
	*d = m->priv->dep[j - m->jobs];
	if (j->told & GT_JOB_COMMIT && j->commit >= d->since)
		d->waited = j->commit - d->since;
}

uint64_t gt_depend_ended(struct gt_model *m, const struct gt_job *j)
{
	struct gt_model_private *p = m->priv;

	if (!(j->told & GT_JOB_WAITS))
		return 0;
	if (!p->dep_ended)
		p->dep_ended = gt_mem_get(GT_DEPS_KEPT * sizeof(*p->dep_ended), false);
	if (!p->dep_ended)
		return 0;
	gt_depend_of(m, j, &p->dep_ended[p->deps_ended % GT_DEPS_KEPT]);
	return ++p->deps_ended;
}

bool gt_depend_get(struct gt_model *m, uint64_t number, struct gt_dependency *d)
{
	unknown(d);
	if (!number)
		return false;
	GT_MODEL_LOCK(m);
	if (number > m->priv->deps_ended || m->priv->deps_ended - number >= GT_DEPS_KEPT)
		return false;
	*d = m->priv->dep_ended[(number - 1) % GT_DEPS_KEPT];
	return true;
}

void gt_depend_destroy(struct gt_model *m)
{
	gt_mem_put(m->priv->dep_ended, GT_DEPS_KEPT * sizeof(*m->priv->dep_ended));
	gt_mem_put(m->priv->dep, m->limits.max_jobs * sizeof(*m->priv->dep));
}
