/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a source counted itself is folded in: the same counters, buckets and times as if its events
 * had come one by one, all as of one moment.
 */
#include "internal.h"

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t values(const struct gt_tally_stage *s)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < s->nbucket; i++)
		n += s->bucket[i].n;
	return n;
}

static void tally_types(struct gt_model *m, const struct gt_where *w, const struct gt_tally *t)
{
	struct gt_typecount *counts[] = { &m->types, &w->gpu->types, &w->ring->types };
	struct gt_second s = { .sec = t->at / GT_SEC, .slot = t->at / GT_SEC % GT_RATE_SLOTS };

	for (unsigned int i = 0; i < GT_TALLY_TYPES; i++) {
		if (!t->seen[i])
			continue;
		for (unsigned int k = 0; k < 3; k++) {
			if (counts[k]->sec != s.sec)
				gt_types_slow(counts[k], &s);
			counts[k]->n[i].seen += t->seen[i];
		}
		w->ring->cur.events += t->seen[i];
	}
}

static void add_area(uint64_t *integral, int64_t more)
{
	if (more < 0 && *integral < 0 - (uint64_t)more)
		*integral = 0; /* so much was before a clear, or of the window before */
	else
		*integral += (uint64_t)more;
}

/*
 * Jobs that are in no record: how many there are now is added to those of records. Between two
 * tallies the integral took them for as many as before; what they were is known now.
 */
static void tally_depth(struct gt_ring *r, const struct gt_tally *t)
{
	uint32_t own = r->depth.now - r->outer_depth;
	uint64_t held = t->since && t->at > t->since ? r->outer_depth * (t->at - t->since) : 0;

	r->cur.depth_integral += gt_depth_to(&r->depth, t->at);
	add_area(&r->depth.integral, (int64_t)(t->area - held));
	add_area(&r->cur.depth_integral, (int64_t)(t->area - held));
	r->outer_depth = t->depth;
	r->depth.now = own + t->depth;
	r->depth.peak = (uint32_t)later(r->depth.peak, own + t->peak);
	r->cur.depth_peak = (uint32_t)later(r->cur.depth_peak, own + t->peak);
}

static bool left_out(const struct gt_tally *t)
{
	for (unsigned int i = 0; i < GT_NREFUSALS; i++)
		if (t->left[i])
			return true;
	return false;
}

/* The ring's clock, for jobs that records tell of */
static void tally_clock(struct gt_ring *r, const struct gt_tally *t)
{
	r->outer_since = t->hw_since;
	r->outer_completed = t->completed;
	if (t->commits && !r->commits) {
		r->commits = true;
		gt_ring_hw_forget(r);
	}
	r->last_end = later(r->last_end, t->last_end);
	/* of jobs without records it is told later than it happened when they ended */
	if (left_out(t) || t->depth) {
		r->after_loss = true;
		r->loss_until =
			later(r->loss_until, t->depth ? t->at + GT_BUSY_SLOT_NS : t->last_end);
	}
}

/* Rings of one engine work at the same time: what there is no room for was busy anyway. */
static void tally_busy(const struct gt_where *w, const struct gt_tally *t)
{
	struct gt_busy *engine = &w->gpu->engine[w->ring->engine];

	gt_busy_tally(&w->ring->busy, t->since, t->last_end, t->busy_ns);
	engine->total_ns -= gt_busy_tally(engine, t->since, t->last_end, t->busy_ns);
}

static bool find(const struct gt_model *m, const struct gt_tally *t, struct gt_where *w)
{
	*w = (struct gt_where){ 0 };
	if (t->gpu >= m->ngpus || t->ring >= m->gpus[t->gpu]->nrings)
		return false;
	w->gpu = m->gpus[t->gpu];
	w->ring = w->gpu->rings[t->ring];
	return true;
}

bool gt_model_tally(struct gt_model *m, const struct gt_tally *t)
{
	struct gt_where w;

	if (!find(m, t, &w))
		return false;
	gt_set_now(m, t->at);
	/* what went by before its first event was without any; the rest is of one window */
	if (t->first)
		gt_ring_window(w.ring, t->first, m->window_ns);
	if (!w.ring->first_ts && t->first)
		w.ring->first_ts = t->first;
	w.ring->last_ts = later(w.ring->last_ts, t->last);
	tally_types(m, &w, t);
	tally_depth(w.ring, t);
	tally_clock(w.ring, t);
	tally_busy(&w, t);
	w.ring->cur.busy_ns += t->busy_ns;
	w.ring->cur.counted = true;
	w.ring->told = later(w.ring->told, t->at + 1);
	gt_bump(m, &w);
	m->memory = gt_hist_memory();
	return true;
}

void gt_model_tally_end(struct gt_model *m, const struct gt_tally *t)
{
	struct gt_where w;

	if (find(m, t, &w) && w.ring->told >= w.ring->cur.end)
		gt_ring_window(w.ring, w.ring->told, m->window_ns);
}

/* It may have been met on another ring in the same tally, a little later. */
static void met(const struct gt_tally *t, const struct gt_tally_proc *p, struct gt_proc *proc)
{
	if (p->first && p->first < proc->first_ts && proc->first_ts > t->since)
		proc->first_ts = p->first;
}

/* Who it is: not another who had the number before */
static struct gt_proc *owner(struct gt_model *m, const struct gt_tally *t,
			     const struct gt_tally_proc *p, struct gt_folded *f)
{
	struct gt_proc *proc;

	if (p->pid == GT_NONE32 || !p->pid)
		return NULL;
	proc = gt_model_proc(m, p->pid);
	if (proc && (!p->start || proc->start == p->start || (!proc->start && !proc->dead))) {
		met(t, p, proc);
		return proc;
	}
	proc = gt_model_process(m, p->pid, p->start, p->uid, p->comm, NULL, GT_NONE64);
	f->new_proc = proc;
	if (proc)
		met(t, p, proc);
	return proc;
}

static void tally_stages(const struct gt_where *w, struct gt_proc_ring *pr, uint64_t sec,
			 const struct gt_tally_proc *p)
{
	for (unsigned int i = 0; i < GT_NSTAGES; i++) {
		if (!p->stage[i].nbucket)
			continue;
		gt_stage_tally(&w->ring->stage[i], sec, &p->stage[i]);
		if (pr)
			gt_stage_tally(&pr->stage[i], sec, &p->stage[i]);
	}
}

static void tally_window(struct gt_window_stats *c, const struct gt_tally_proc *p)
{
	const struct gt_tally_stage *total = &p->stage[GT_ST_TOTAL];
	uint64_t n = values(total);

	c->completed += p->completed;
	if (!n)
		return;
	c->lat_count += n;
	c->lat_sum += total->sum;
	c->lat_min = total->min < c->lat_min ? total->min : c->lat_min;
	c->lat_max = later(c->lat_max, total->max);
}

static void tally_pring(struct gt_proc *proc, struct gt_proc_ring *pr, const struct gt_tally *t,
			const struct gt_tally_proc *p)
{
	uint32_t more = p->inflight - pr->outer;

	pr->counts.submitted += p->submitted;
	pr->counts.committed += p->committed;
	pr->counts.completed += p->completed;
	pr->inflight += more;
	proc->inflight += more;
	pr->outer = p->inflight;
	gt_busy_tally(&pr->busy, t->since, t->last_end, p->busy_ns);
}

static void list(struct gt_model *m, const struct gt_where *w, const struct gt_tally *t,
		 const struct gt_tally_job *from)
{
	const struct gt_event e = { .ts = from->seen,
				    .ctx = from->ctx,
				    .seqno = from->seqno,
				    .gpu = t->gpu,
				    .ring = t->ring,
				    .pid = from->pid,
				    .uid = from->uid };
	const struct gt_proc *p = from->pid == GT_NONE32 ? NULL : gt_model_proc(m, from->pid);
	uint32_t hash = gt_event_hash(m, &e);
	struct gt_job *j = gt_job_find(m, &e, hash) ? NULL : gt_job_outer(m, w, &e, hash);

	if (!j)
		return;
	j->submit = from->submit;
	j->commit = from->commit;
	j->told = (from->told & GT_TALLY_SUBMITTED ? GT_JOB_SUBMIT : 0) |
		  (from->told & GT_TALLY_COMMITTED ? GT_JOB_COMMIT : 0);
	j->hw_epoch = from->hw ? w->ring->hw_epoch : 0;
	/* nothing counts it there but the tally, which also keeps the process */
	if (p && p->inflight)
		j->proc = p->slot;
}

void gt_model_tally_jobs(struct gt_model *m, const struct gt_tally *t)
{
	struct gt_where w;
	uint32_t next;

	if (!find(m, t, &w))
		return;
	for (uint32_t i = w.ring->jobs_head; i != GT_NONE32; i = next) {
		next = m->jobs[i].ring_next;
		if (m->jobs[i].live == GT_JOB_OUTER)
			gt_job_drop(m, &m->jobs[i], t->at);
	}
	for (unsigned int i = 0; i < t->njob; i++)
		list(m, &w, t, &t->job[i]);
}

void gt_model_tally_proc(struct gt_model *m, const struct gt_tally *t, unsigned int i,
			 struct gt_folded *f)
{
	const struct gt_tally_proc *p = &t->proc[i];
	struct gt_proc_ring *pr = NULL;
	struct gt_where w;

	f->new_proc = NULL;
	if (!find(m, t, &w))
		return;
	w.proc = owner(m, t, p, f);
	if (w.proc)
		pr = gt_pring(m, w.proc, t->gpu, t->ring);
	if (w.proc)
		w.proc->last_ts = later(w.proc->last_ts, t->last);
	GT_COUNT(m, &w, submitted, p->submitted);
	GT_COUNT(m, &w, committed, p->committed);
	GT_COUNT(m, &w, completed, p->completed);
	GT_COUNT(m, &w, aged, p->aged);
	if (pr)
		tally_pring(w.proc, pr, t, p);
	tally_stages(&w, pr, t->at / GT_SEC, p);
	tally_window(&w.ring->cur, p);
	gt_bump(m, &w);
}
