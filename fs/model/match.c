/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Matching: the events of a job make its stages. Where the hardware's start is not told, it is the
 * later of the hand-over and the end of the ring's previous job.
 */
#include <string.h>

#include "internal.h"

/* From here on @p owns the job */
static void set_owner(struct gt_model *m, struct gt_job *j, struct gt_proc *p)
{
	if (!p || j->proc != GT_NONE32)
		return;
	j->proc = p->slot;
	j->pid = p->pid;
	p->inflight++;
	j->pring = gt_pring(m, p, j->gpu, j->ring);
	if (j->pring)
		j->pring->inflight++;
}

static void set_queue(struct gt_model *m, struct gt_job *j, const struct gt_event *e)
{
	struct gt_queue *q;
	uint32_t i;

	if (j->queue != GT_NONE16)
		return;
	q = gt_queue_met(m, e->gpu, e->queue, e->uid, e->ts);
	i = gt_map_get(&m->priv->queues, (uint64_t)e->gpu << 32 | e->queue);
	if (!q || i >= GT_MAX_QUEUES)
		return;
	j->queue = (uint16_t)i;
	gt_depth_to(&q->depth, e->ts);
	if (++q->depth.now > q->depth.peak)
		q->depth.peak = q->depth.now;
}

/* What the job is part of, as far as the event did not say; and the event as far as the job says */
static void adopt(struct gt_model *m, struct gt_where *w, struct gt_event *e,
		  const struct gt_job *j)
{
	uint32_t pid = j->pid, uid = j->uid;

	if (likely(j->proc != GT_NONE32)) {
		w->proc = m->procs[j->proc];
		pid = w->proc->pid;
		uid = w->proc->uid;
	}
	if (j->queue != GT_NONE16) {
		w->queue = m->queues[j->queue];
		if (e->queue == GT_NONE32)
			e->queue = w->queue->id;
	}
	if (e->pid == GT_NONE32)
		e->pid = pid;
	if (e->uid == GT_NONE32 && e->pid == pid)
		e->uid = uid;
}

static struct gt_job *job_made(struct gt_model *m, struct gt_where *w, struct gt_event *e,
			       uint32_t hash, struct gt_folded *f)
{
	struct gt_proc *p = gt_proc_met(m, e->pid, e->uid, e->ts, f);
	struct gt_job *j = gt_job_new(m, w, e, hash);

	set_owner(m, j, p);
	if (e->queue != GT_NONE32)
		set_queue(m, j, e);
	return j;
}

static void count_submit(struct gt_model *m, struct gt_where *w, struct gt_job *j,
			 const struct gt_folded *f)
{
	if (f->counted)
		return;
	GT_COUNT(m, w, submitted, 1);
	if (j->pring)
		j->pring->counts.submitted++;
}

static void on_submit(struct gt_model *m, struct gt_where *w, struct gt_event *e, struct gt_job *j,
		      struct gt_folded *f)
{
	if (j->told & GT_JOB_SUBMIT) { /* told again: nothing new */
		adopt(m, w, e, j);
		return;
	}
	if (j->proc == GT_NONE32 && e->pid != GT_NONE32) { /* the hand-over was seen first */
		j->pid = e->pid;
		j->uid = e->uid;
		set_owner(m, j, gt_proc_met(m, e->pid, e->uid, e->ts, f));
	}
	if (e->queue != GT_NONE32)
		set_queue(m, j, e);
	j->told |= GT_JOB_SUBMIT;
	j->submit = e->ts;
	if (!w->ring->commits && !w->ring->starts)
		gt_ring_hw_enter(w->ring, j, e->ts);
	if (m->types.n[GT_IOCTL_ENTER].seen | m->types.n[GT_IOCTL_EXIT].seen)
		gt_wait_submit(m, j, e->tid, e->ts);
	adopt(m, w, e, j);
	count_submit(m, w, j, f);
}

static void on_commit(struct gt_model *m, struct gt_where *w, struct gt_event *e, struct gt_job *j,
		      const struct gt_folded *f)
{
	struct gt_ring *r = w->ring;

	adopt(m, w, e, j);
	if (!r->commits) {
		r->commits = true; /* so SUBMIT was not the hand-over after all */
		gt_ring_hw_forget(r);
	}
	if (j->told & GT_JOB_COMMIT)
		return;
	j->told |= GT_JOB_COMMIT;
	j->commit = e->ts;
	if (!r->starts)
		gt_ring_hw_enter(r, j, e->ts);
	if (f->counted)
		return;
	GT_COUNT(m, w, committed, 1);
	if (j->pring)
		j->pring->counts.committed++;
}

static void on_start(struct gt_model *m, struct gt_where *w, struct gt_event *e, struct gt_job *j)
{
	adopt(m, w, e, j);
	if (!w->ring->starts) {
		w->ring->starts = true;
		gt_ring_hw_forget(w->ring);
	}
	if (j->told & (GT_JOB_START | GT_JOB_END))
		return;
	j->told |= GT_JOB_START;
	j->start = e->ts;
	gt_ring_hw_enter(w->ring, j, e->ts);
}

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

uint64_t gt_job_hand_over(const struct gt_job *j, bool commits, uint64_t gap_end)
{
	uint64_t submit = j->told & GT_JOB_SUBMIT ? j->submit : 0;

	if (j->told & GT_JOB_COMMIT)
		return later(j->commit, submit); /* told in the other order than they happened */
	return !commits && submit > gap_end ? submit : GT_NONE64;
}

/* When the job was handed over; false if that is not known */
static bool hand_over(const struct gt_ring *r, const struct gt_job *j, uint64_t *at)
{
	uint64_t hand = gt_job_hand_over(j, r->commits, r->gap_end);

	if (hand == GT_NONE64)
		return false;
	*at = hand;
	return true;
}

static uint64_t within(uint64_t v, uint64_t min, uint64_t max)
{
	return v < min ? min : v > max ? max : v;
}

/* The ring was at work until @end */
static void ring_ended(struct gt_ring *r, uint64_t end)
{
	r->last_end = later(r->last_end, end);
}

static void on_end(struct gt_model *m, struct gt_where *w, struct gt_event *e, struct gt_job *j)
{
	uint64_t hand;

	adopt(m, w, e, j);
	if (j->told & GT_JOB_END)
		return;
	/* Its start is concluded now, while last_end is still that of the job before */
	if (!(j->told & GT_JOB_START) && hand_over(w->ring, j, &hand))
		j->start = later(hand, w->ring->last_end);
	j->told |= GT_JOB_END;
	j->end = e->ts;
	gt_ring_hw_leave(w->ring, j);
	ring_ended(w->ring, e->ts);
}

/* A job's times in order: submit <= hand <= start <= end <= complete */
struct times {
	uint64_t hand, start, end, complete;
	bool has_hand, has_start, measured;
};

static void conclude(const struct gt_ring *r, const struct gt_job *j, const struct gt_event *e,
		     struct times *t)
{
	uint64_t lowest;

	t->has_hand = hand_over(r, j, &t->hand);
	lowest = t->has_hand ? t->hand : j->submit;
	t->complete = later(e->ts, lowest);
	t->end = j->told & GT_JOB_END ? within(j->end, lowest, t->complete) : t->complete;
	t->has_start = t->measured = true;
	if (j->told & GT_JOB_START) {
		t->start = j->start;
	} else if (e->value != GT_NONE64) {
		t->start = t->end - (e->value < t->end ? e->value : t->end);
	} else {
		t->measured = false;
		t->has_start = t->has_hand;
		t->start = j->told & GT_JOB_END ? j->start : later(t->hand, r->last_end);
	}
	t->start = within(t->start, lowest, t->complete);
	t->end = later(t->end, t->start);
}

static void stage_values(const struct gt_job *j, const struct times *t, struct gt_finished *fin)
{
	bool submit = j->told & GT_JOB_SUBMIT, known = t->has_start && !j->after_loss;

	fin->end = t->complete;
	fin->queue = submit && (j->told & GT_JOB_COMMIT) ? t->hand - j->submit : GT_NONE64;
	fin->hw_wait = known && t->has_hand ? t->start - t->hand : GT_NONE64;
	fin->exec = known ? t->end - t->start : GT_NONE64;
	fin->complete = j->told & GT_JOB_END ? t->complete - t->end : GT_NONE64;
	fin->total = submit ? t->complete - j->submit : GT_NONE64;
}

static void add_stages(struct gt_model *m, const struct gt_where *w, const struct gt_job *j,
		       const struct gt_finished *fin)
{
	const uint64_t v[GT_NSTAGES] = { fin->queue, fin->hw_wait, fin->exec, fin->complete,
					 fin->total };
	uint64_t sec = m->priv->sec;

	for (unsigned int i = 0; i < GT_NSTAGES; i++) {
		unsigned int b, place;

		if (v[i] == GT_NONE64)
			continue;
		b = gt_hist_bucket(v[i]);
		place = gt_hist_place(b);
		gt_stage_put(&w->ring->stage[i], sec, v[i], b, place);
		if (j->pring)
			gt_stage_put(&j->pring->stage[i], sec, v[i], b, place);
		if (w->queue)
			gt_stage_put(&w->queue->stage[i], sec, v[i], b, place);
	}
}

static void add_window(struct gt_window_stats *c, const struct gt_finished *fin)
{
	c->completed++;
	if (fin->total == GT_NONE64)
		return;
	c->lat_count++;
	c->lat_sum += fin->total;
	c->lat_min = fin->total < c->lat_min ? fin->total : c->lat_min;
	c->lat_max = later(c->lat_max, fin->total);
}

static void describe_finished(struct gt_model *m, const struct gt_where *w, const struct gt_job *j,
			      const struct gt_event *e, struct gt_finished *fin)
{
	fin->ctx = j->ctx;
	fin->seqno = j->seqno;
	fin->gpu = j->gpu;
	fin->ring = j->ring;
	fin->pid = j->pid;
	fin->uid = j->uid != GT_NONE32 || !w->proc ? j->uid : w->proc->uid;
	fin->ioctl = gt_wait_ioctl(j->ioctl);
	fin->gpu_wait = j->waiting && e->ts >= j->waiting ? e->ts - j->waiting : GT_NONE64;
	fin->met = w->proc ? w->proc->first_ts : GT_NONE64;
	fin->dep = gt_depend_ended(m, j);
	if (w->proc)
		memcpy(fin->comm, w->proc->comm, sizeof(fin->comm));
	else
		memset(fin->comm, 0, sizeof(fin->comm));
}

/* The end of a job in the statistics */
static void count_complete(struct gt_model *m, struct gt_where *w, const struct gt_job *j,
			   const struct times *t, struct gt_folded *f)
{
	struct gt_ring *r = w->ring;

	if (t->has_start) {
		r->measured |= t->measured;
		gt_ring_busy(r, t->start, t->end);
		gt_busy_add(&w->gpu->engine[r->engine], t->start, t->end);
		if (j->pring && !j->after_loss)
			gt_busy_add(&j->pring->busy, t->start, t->end);
	}
	add_stages(m, w, j, &f->fin);
	add_window(&r->cur, &f->fin);
	GT_COUNT(m, w, completed, 1);
	f->fin.nth = (uint32_t)r->counts.completed;
	if (j->pring)
		j->pring->counts.completed++;
}

/* What the source that counted the job made of it; see GT_F_COUNTED */
struct told {
	uint64_t exec, hw_wait;
	uint32_t nth;
};

static struct told take_told(struct gt_event *e)
{
	struct told t = { e->value, e->ref, e->queue };

	e->value = e->ref = GT_NONE64;
	e->queue = GT_NONE32;
	return t;
}

/* Its number is that of the tallies so far, and those that are not told yet. */
static void keep_told(const struct gt_ring *r, const struct told *t, struct gt_finished *fin)
{
	fin->exec = t->exec;
	fin->hw_wait = t->hw_wait;
	fin->nth = (uint32_t)r->counts.completed + (t->nth - r->outer_completed);
}

static void on_complete(struct gt_model *m, struct gt_where *w, struct gt_event *e,
			struct gt_job *j, struct gt_folded *f)
{
	struct gt_ring *r = w->ring;
	struct times t = { 0 };
	struct told told;

	if (f->counted)
		told = take_told(e);
	adopt(m, w, e, j);
	conclude(r, j, e, &t);
	j->after_loss = r->after_loss;
	r->after_loss = e->ts < r->loss_until;
	stage_values(j, &t, &f->fin);
	describe_finished(m, w, j, e, &f->fin);
	f->finished = true;
	gt_ring_hw_leave(r, j);
	ring_ended(r, t.end);
	if (f->counted)
		keep_told(r, &told, &f->fin);
	else
		count_complete(m, w, j, &t, f);
}

/* The end of a job that is not in the table: the ring was busy until then, that is all it tells */
static void on_unmatched(struct gt_model *m, struct gt_where *w, struct gt_event *e,
			 const struct gt_folded *f)
{
	w->proc = e->pid == GT_NONE32 ? NULL : gt_model_proc(m, e->pid);
	if (f->counted) { /* whose beginning was not recorded, or lost */
		take_told(e);
		ring_ended(w->ring, e->ts);
		return;
	}
	GT_COUNT(m, w, completed, 1);
	GT_COUNT(m, w, unmatched, 1);
	w->ring->cur.completed++;
	w->ring->after_loss = e->ts < w->ring->loss_until;
	ring_ended(w->ring, e->ts);
}

void gt_match(struct gt_model *m, struct gt_where *w, struct gt_event *e, struct gt_folded *f)
{
	uint32_t hash = gt_event_hash(m, e);
	struct gt_job *j = gt_job_find(m, e, hash);

	if (unlikely(j && j->live == GT_JOB_OUTER)) { /* its source does not know it any more */
		gt_job_drop(m, j, e->ts);
		j = NULL;
	}
	if (!j && e->type == GT_COMPLETE) {
		on_unmatched(m, w, e, f);
		return;
	}
	if (!j && e->type == GT_END) {
		ring_ended(w->ring, e->ts);
		return;
	}
	if (!j)
		j = job_made(m, w, e, hash, f);
	f->job = j;
	switch (e->type) {
	case GT_SUBMIT:
		on_submit(m, w, e, j, f);
		break;
	case GT_COMMIT:
		on_commit(m, w, e, j, f);
		break;
	case GT_START:
		on_start(m, w, e, j);
		break;
	case GT_END:
		on_end(m, w, e, j);
		break;
	case GT_COMPLETE:
		on_complete(m, w, e, j, f);
		break;
	}
}
