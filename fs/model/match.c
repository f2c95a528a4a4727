/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Matching: the events of a job make its stages. Where no source reports the hardware's start, it is the
 * later of the hand-over and the end of the ring's previous job.
 */
#include <string.h>

#include "internal.h"

void gt_job_owner(struct gt_model *m, struct gt_job *j, struct gt_proc *p)
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

static void into_queue(struct gt_model *m, struct gt_job *j, uint32_t i, uint64_t ts)
{
	struct gt_queue *q = m->queues[i];

	j->queue = (uint16_t)i;
	gt_depth_to(&q->depth, ts);
	if (++q->depth.now > q->depth.peak)
		q->depth.peak = q->depth.now;
}

struct gt_queue *gt_job_queue(struct gt_model *m, struct gt_job *j, uint64_t ts)
{
	struct gt_queue *q;

	uint32_t was = j->queue;

	j->queue = GT_NONE16;
	if (was == GT_NONE16 || was >= m->nqueues)
		return NULL;
	q = m->queues[was];
	if (q->gpu != j->gpu || q->created > j->seen)
		return NULL;
	into_queue(m, j, was, ts);
	return q;
}

static void set_queue(struct gt_model *m, struct gt_job *j, const struct gt_event *e)
{
	struct gt_queue *q;
	uint32_t i;

	if (j->queue != GT_NONE16)
		return;
	q = gt_queue_get(m, e->gpu, e->queue, e->uid, e->ts);
	i = gt_map_get(&m->priv->queues, (uint64_t)e->gpu << 32 | e->queue);
	if (!q || i >= GT_MAX_QUEUES)
		return;
	into_queue(m, j, i, e->ts);
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
	if (j->queue != GT_NONE16 && j->live != GT_JOB_UNSEEN) {
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
	struct gt_proc *p = gt_proc_get(m, e->pid, e->uid, e->ts, f);
	struct gt_job *j = gt_job_new(m, w, e, hash);

	gt_job_owner(m, j, p);
	if (e->queue != GT_NONE32)
		set_queue(m, j, e);
	return j;
}

static void count_submit(struct gt_model *m, struct gt_where *w, struct gt_job *j,
			 const struct gt_folded *f)
{
	GT_COUNT(m, w, submitted, 1);
	if (j->pring)
		j->pring->counts.submitted++;
}

/* So SUBMIT is not the hand-over */
static __attribute__((noinline, cold)) void has_commits(struct gt_ring *r)
{
	r->commits = true;
	gt_ring_hw_forget(r);
}

static void on_submit(struct gt_model *m, struct gt_where *w, struct gt_event *e, struct gt_job *j,
		      struct gt_folded *f)
{
	if (j->reported & GT_JOB_SUBMIT) { /* reported again: nothing new */
		adopt(m, w, e, j);
		return;
	}
	if (j->proc == GT_NONE32 && e->pid != GT_NONE32) { /* the hand-over was seen first */
		j->pid = e->pid;
		j->uid = e->uid;
		gt_job_owner(m, j, gt_proc_get(m, e->pid, e->uid, e->ts, f));
	}
	if (e->queue != GT_NONE32)
		set_queue(m, j, e);
	j->reported &= ~GT_JOB_CLOCKS; /* a hand-over before it did not know */
	j->reported |= GT_JOB_SUBMIT | (e->flags & GT_F_CLOCK ? GT_JOB_CLOCKS : 0);
	j->submit = e->ts;
	if (unlikely(e->flags & GT_F_COMMITS && !w->ring->commits))
		has_commits(w->ring);
	if (!w->ring->commits && !w->ring->starts)
		gt_ring_hw_enter(w->ring, j, e->ts);
	if (m->types.n[GT_IOCTL_ENTER].seen | m->types.n[GT_IOCTL_EXIT].seen)
		gt_wait_submit(m, j, e->tid, e->ts);
	w->ring->submits = true;
	adopt(m, w, e, j);
	count_submit(m, w, j, f);
}

static void on_commit(struct gt_model *m, struct gt_where *w, struct gt_event *e, struct gt_job *j,
		      const struct gt_folded *f)
{
	struct gt_ring *r = w->ring;

	adopt(m, w, e, j);
	if (unlikely(!r->commits))
		has_commits(r);
	r->handed = true;
	if (j->reported & GT_JOB_COMMIT)
		return;
	if (unlikely(j->reported & GT_JOB_END && !(j->reported & GT_JOB_START)))
		j->reported |= GT_JOB_UNCLEAR;
	j->reported |= GT_JOB_COMMIT | (e->flags & GT_F_CLOCK ? GT_JOB_CLOCKS : 0);
	j->commit = e->ts;
	if (!r->starts)
		gt_ring_hw_enter(r, j, e->ts);
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
	if (j->reported & GT_JOB_START)
		return;
	if (unlikely(j->reported & GT_JOB_END)) {
		j->reported |= GT_JOB_UNCLEAR;
		return;
	}
	j->reported |= GT_JOB_START;
	j->start = e->ts;
	gt_ring_hw_enter(w->ring, j, e->ts);
}

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

uint64_t gt_job_hand_over(const struct gt_job *j, bool commits, uint64_t gap_end)
{
	uint64_t submit = j->reported & GT_JOB_SUBMIT ? j->submit : 0;

	if (j->reported & GT_JOB_COMMIT && j->reported & GT_JOB_CLOCKS)
		return j->commit;
	if (j->reported & GT_JOB_COMMIT)
		return later(j->commit,
			     submit); /* reported in the other order than they happened */
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

/*
 * The job has ended, and with it those before it. Where one of those was missed, or was at the
 * hardware still, it is not known when this one began, unless its source says so.
 */
static void end_others(struct gt_model *m, struct gt_ring *r, const struct gt_event *e,
		       struct gt_job *j)
{
	const struct gt_unseen_end by = { j->seqno, j->reported & GT_JOB_SUBMIT ? j->submit : 0 };
	bool alone = gt_ring_hw_end(r, j, e->ts);

	if (unlikely(!gt_job_is_first(j)))
		alone &= !gt_jobs_superseded(m, e, j, &by, e->type == GT_COMPLETE);
	if (!alone && !(j->reported & GT_JOB_START) && e->value == GT_NONE64)
		j->after_loss = 1;
}

static void on_end(struct gt_model *m, struct gt_where *w, struct gt_event *e, struct gt_job *j)
{
	uint64_t hand;

	adopt(m, w, e, j);
	if (j->reported & GT_JOB_END)
		return;
	end_others(m, w->ring, e, j);
	/* Its start is concluded now, while last_end is still that of the job before */
	if (!(j->reported & GT_JOB_START) && hand_over(w->ring, j, &hand))
		j->start = later(hand, w->ring->last_end);
	j->reported |= GT_JOB_END;
	j->end = e->ts;
	ring_ended(w->ring, e->ts);
}

/** struct times - a job's, in order: submit <= hand <= start <= end <= complete
 * @unclear: see is_unclear() */
struct times {
	uint64_t hand, start, end, complete;
	bool has_hand, has_start, measured, unclear;
};

static void conclude(const struct gt_ring *r, const struct gt_job *j, const struct gt_event *e,
		     struct times *t)
{
	uint64_t lowest;

	t->has_hand = hand_over(r, j, &t->hand);
	lowest = t->has_hand ? t->hand : e->flags & GT_F_CLOCK ? 0 : j->submit;
	if (j->reported & GT_JOB_START &&
	    j->start < lowest) /* whatever came before it is not to be trusted */
		lowest = j->start;
	if (unlikely(j->reported & GT_JOB_UNCLEAR))
		lowest = 0;
	t->complete = later(e->ts, lowest);
	t->end = j->reported & GT_JOB_END ? within(j->end, lowest, t->complete) : t->complete;
	t->has_start = t->measured = true;
	if (j->reported & GT_JOB_START) {
		t->start = j->start;
	} else if (e->value != GT_NONE64) {
		t->start = t->end - (e->value < t->end ? e->value : t->end);
	} else {
		t->measured = false;
		t->has_start = t->has_hand;
		t->start = j->reported & GT_JOB_END ? j->start : later(t->hand, r->last_end);
	}
	t->start = within(t->start, lowest, t->complete);
	t->end = later(t->end, t->start);
}

/* Handed over before it was submitted: records changed places, or clocks may differ. Neither time
 * is to be trusted then. */
static bool is_skewed(const struct gt_job *j)
{
	return (j->reported & GT_JOB_SUBMIT) && (j->reported & GT_JOB_COMMIT) &&
	       j->commit < j->submit && !(j->reported & GT_JOB_CLOCKS);
}

/* How long it ran would be made of two clocks, or of events that changed places */
static bool is_unclear(const struct gt_job *j, const struct gt_event *e)
{
	return (e->flags & GT_F_CLOCK_HW || j->reported & GT_JOB_UNCLEAR) && e->value == GT_NONE64;
}

static void stage_values(const struct gt_job *j, const struct gt_event *e, const struct times *t,
			 struct gt_finished *fin)
{
	bool known = t->has_start && !j->after_loss, skewed = is_skewed(j);
	bool submit = (j->reported & GT_JOB_SUBMIT) && !skewed;
	bool queue = submit && (j->reported & GT_JOB_COMMIT) && !(j->reported & GT_JOB_CLOCKS);

	fin->end = t->complete;
	fin->queue = queue ? t->hand - j->submit : GT_NONE64;
	fin->hw_wait = known && t->has_hand && !skewed && t->start >= t->hand ? t->start - t->hand
									      : GT_NONE64;
	fin->exec = known ? t->end - t->start : GT_NONE64;
	fin->complete = j->reported & GT_JOB_END && !(e->flags & GT_F_CLOCK_END)
				? t->complete - t->end
				: GT_NONE64;
	fin->total = submit && !(e->flags & GT_F_CLOCK) ? t->complete - j->submit : GT_NONE64;
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
	fin->cpu_wait = j->waiting && e->ts >= j->waiting ? e->ts - j->waiting : GT_NONE64;
	fin->first_ts = w->proc ? w->proc->first_ts : GT_NONE64;
	fin->dep = gt_depend_ended(m, j);
	if (w->proc)
		memcpy(fin->comm, w->proc->comm, sizeof(fin->comm));
	else
		memset(fin->comm, 0, sizeof(fin->comm));
}

/* The ring worked within [@start, @end), for how long is not known */
static __attribute__((noinline, cold)) void unclear_ring(const struct gt_where *w, uint64_t start,
							 uint64_t end)
{
	gt_ring_unclear(w->ring, start, end);
	gt_busy_unclear(&w->gpu->engine[w->ring->engine], end);
}

static __attribute__((noinline, cold)) void unclear_pring(struct gt_proc_ring *pr, uint64_t end)
{
	if (!pr)
		return;
	gt_busy_unclear(&pr->busy, end);
	if (pr->engine)
		gt_busy_unclear(pr->engine, end);
}

/* A job of nobody who is known, or time of the ring of an unknown owner */
static __attribute__((noinline, cold)) void count_nobody(struct gt_model *m, const struct gt_job *j,
							 const struct times *t,
							 const struct gt_finished *fin)
{
	const uint64_t v[GT_NSTAGES] = { fin->queue, fin->hw_wait, fin->exec, fin->complete,
					 fin->total };
	struct gt_proc_ring *pr = gt_pring(m, m->nobody, j->gpu, j->ring);

	if (!pr)
		return;
	if (t->has_start && !t->unclear) {
		gt_busy_add(&pr->busy, t->start, t->end);
		if (pr->engine)
			gt_busy_add(pr->engine, t->start, t->end);
	}
	if (j->pring)
		return;
	if (t->has_start && t->unclear)
		unclear_pring(pr, t->end);
	pr->counts.completed++;
	for (unsigned int i = 0; i < GT_NSTAGES; i++)
		if (v[i] != GT_NONE64)
			gt_stage_add(&pr->stage[i], fin->end, v[i]);
}

/* The end of a job in the statistics */
static void count_complete(struct gt_model *m, struct gt_where *w, const struct gt_job *j,
			   const struct times *t, struct gt_folded *f)
{
	struct gt_ring *r = w->ring;

	if (t->has_start && unlikely(t->unclear)) {
		r->measured |= t->measured;
		unclear_ring(w, t->start, t->end);
		unclear_pring(j->pring, t->end);
	} else if (t->has_start) {
		r->measured |= t->measured;
		gt_ring_busy(r, t->start, t->end);
		gt_busy_add(&w->gpu->engine[r->engine], t->start, t->end);
		if (j->pring && !j->after_loss)
			gt_busy_add(&j->pring->busy, t->start, t->end);
		if (j->pring && j->pring->engine && !j->after_loss)
			gt_busy_add(j->pring->engine, t->start, t->end);
	}
	add_stages(m, w, j, &f->fin);
	add_window(&r->cur, &f->fin);
	GT_COUNT(m, w, completed, 1);
	f->fin.nth = (uint32_t)r->counts.completed;
	if (likely(j->pring))
		j->pring->counts.completed++;
	if (unlikely(!j->pring || j->after_loss))
		count_nobody(m, j, t, &f->fin);
}

/* In a circle: of ends that follow one another, several share a cache line */
static void note_ended(struct gt_ring *r, uint32_t hash, uint64_t ts)
{
	r->ended[r->ended_at++ % GT_RING_ENDED] = (struct gt_ended_job){ .ts = ts, .hash = hash };
}

/* What the ring's events say of a job before it ends; of a new ring that is not known yet */
static uint8_t beginning(const struct gt_ring *r)
{
	bool commits = r->commits || r->counts.completed < GT_RING_EARLY;

	return GT_JOB_SUBMIT | (commits ? GT_JOB_COMMIT : 0) | (r->starts ? GT_JOB_START : 0);
}

/* Where CPUs' clocks differ, or records change places, an end comes before events of its job. */
static void note_early(struct gt_ring *r, const struct gt_event *e, uint32_t hash, uint8_t reported,
		       uint32_t pid)
{
	if (likely(!(beginning(r) & ~reported)) || e->ctx == GT_NONE64 || e->seqno == GT_NONE64)
		return;
	r->early[r->early_at++ % GT_RING_EARLY] =
		(struct gt_early_job){ e->ts, hash, pid, reported };
	r->early_until = later(r->early_until, gt_sum(e->ts, GT_UNSEEN_ORDER_NS));
}

/* The end that was there before @e, which is of the same job; NULL: a job begins */
static __attribute__((noinline, cold)) struct gt_early_job *
came_early(struct gt_ring *r, const struct gt_event *e, uint32_t hash)
{
	for (unsigned int i = 0; i < GT_RING_EARLY; i++) {
		struct gt_early_job *was = &r->early[i];

		if (was->ts && was->hash == hash && e->ts <= was->ts + GT_UNSEEN_ORDER_NS)
			return was;
	}
	return NULL;
}

/* The end of a job that has just ended: two sources, or two events of one, say the same */
static __attribute__((noinline, cold)) bool reported_again(const struct gt_ring *r,
							   const struct gt_event *e, uint32_t hash)
{
	if (e->ctx == GT_NONE64 || e->seqno == GT_NONE64)
		return false;
	for (unsigned int i = 0; i < GT_RING_ENDED; i++) {
		const struct gt_ended_job *was = &r->ended[i];

		if (was->ts && was->hash == hash && e->ts <= was->ts + GT_UNSEEN_AGAIN_NS)
			return true;
	}
	return false;
}

static void on_complete(struct gt_model *m, struct gt_where *w, struct gt_event *e,
			struct gt_job *j, uint32_t hash, struct gt_folded *f)
{
	struct gt_ring *r = w->ring;
	struct times t = { 0 };

	adopt(m, w, e, j);
	end_others(m, r, e, j);
	conclude(r, j, e, &t);
	t.unclear = is_unclear(j, e);
	/* what began, for all that is known, by then may have waited for an end that is missing */
	j->after_loss |= r->after_loss || (!t.measured && t.start < r->begun) || t.unclear ||
			 (is_skewed(j) && !t.measured && t.start == t.hand);
	r->after_loss = e->ts < r->loss_until || (t.has_hand ? t.hand : j->seen) < r->lost_until;
	stage_values(j, e, &t, &f->fin);
	describe_finished(m, w, j, e, &f->fin);
	f->finished = true;
	f->hash = hash;
	note_ended(r, hash, e->ts);
	note_early(r, e, hash, j->reported, j->pid);
	ring_ended(r, t.end);
	count_complete(m, w, j, &t, f);
}

/* The end of a job that is not in the table: the ring was busy until then, and jobs of its context
 * before it have ended */
static void on_unmatched(struct gt_model *m, struct gt_where *w, struct gt_event *e, uint32_t hash,
			 const struct gt_folded *f)
{
	const struct gt_unseen_end by = { .seqno = e->seqno };

	w->proc = e->pid == GT_NONE32 ? NULL : gt_model_proc(m, e->pid);
	if (reported_again(w->ring, e, hash))
		return;
	note_ended(w->ring, hash, e->ts);
	note_early(w->ring, e, hash, 0, GT_NONE32);
	gt_jobs_superseded(m, e, NULL, &by, true);
	if (w->ring->counts.completed == w->ring->counts.begin_unseen)
		gt_ring_front_ended(m, w->ring, e->ts);
	GT_COUNT(m, w, completed, 1);
	GT_COUNT(m, w, begin_unseen, 1);
	w->ring->cur.completed++;
	w->ring->after_loss = e->ts < w->ring->loss_until;
	ring_ended(w->ring, e->ts);
}

static const uint8_t step_bit[] = { [GT_SUBMIT] = GT_JOB_SUBMIT,
				    [GT_COMMIT] = GT_JOB_COMMIT,
				    [GT_START] = GT_JOB_START,
				    [GT_END] = GT_JOB_END };

/* An event of a job that came after the job's end: it counts, and the job is not in flight. How long
 * that ran, or for whom, was not known when it ended. */
static __attribute__((noinline, cold)) void on_late(struct gt_model *m, struct gt_where *w,
						    struct gt_event *e, struct gt_early_job *was,
						    struct gt_folded *f)
{
	struct gt_proc_ring *pr = NULL;
	struct gt_ring *r = w->ring;
	struct gt_proc *p;

	if (was->reported & step_bit[e->type])
		return;
	was->reported |= step_bit[e->type];
	if (e->type == GT_SUBMIT) {
		w->proc = gt_proc_get(m, e->pid, e->uid, e->ts, f);
		pr = w->proc ? gt_pring(m, w->proc, e->gpu, e->ring) : NULL;
		was->pid = e->pid;
	}
	if (e->flags & GT_F_CLOCK) {
		p = was->pid == GT_NONE32 ? NULL : gt_model_proc(m, was->pid);
		unclear_pring(p ? gt_pring(m, p, e->gpu, e->ring) : NULL, e->ts);
		if (e->type != GT_SUBMIT || !r->commits)
			unclear_ring(w, was->ts, e->ts);
	}
	if ((e->type == GT_COMMIT && !r->commits) || (e->type == GT_START && !r->starts))
		gt_ring_hw_forget(r);
	r->commits |= e->type == GT_COMMIT;
	r->starts |= e->type == GT_START;
	if (e->type == GT_SUBMIT)
		GT_COUNT(m, w, submitted, 1);
	if (e->type == GT_COMMIT)
		GT_COUNT(m, w, committed, 1);
	if (pr)
		pr->counts.submitted++;
}

/*
 * A job that is there by its key, but is another than the event's, or had left: it goes, or comes
 * back. Return: what the event is about; NULL: a job that is not known
 */
static __attribute__((noinline, cold)) struct gt_job *
take_other(struct gt_model *m, const struct gt_where *w, const struct gt_event *e, struct gt_job *j)
{
	if (e->type == GT_SUBMIT && j->reported & GT_JOB_SUBMIT &&
	    gt_unseen_again(j->submit, e->ts)) {
		if (j->live == 1)
			gt_job_unseen(m, j, e->ts, GT_UNSEEN_SUPERSEDED);
		gt_job_drop(m, j, e->ts);
		return NULL;
	}
	/* what was known of it is no news */
	if (j->live == GT_JOB_UNSEEN &&
	    (e->type == GT_COMPLETE || !(j->reported & step_bit[e->type])))
		gt_job_seen_again(m, w, j, e->ts);
	return j;
}

static struct gt_job *take_known(struct gt_model *m, const struct gt_where *w,
				 const struct gt_event *e, struct gt_job *j)
{
	if (likely(j->live == 1 && (e->type != GT_SUBMIT || !(j->reported & GT_JOB_SUBMIT))))
		return j;
	return take_other(m, w, e, j);
}

void gt_match(struct gt_model *m, struct gt_where *w, struct gt_event *e, struct gt_folded *f)
{
	uint32_t hash = gt_event_hash(m, e);
	struct gt_job *j = gt_job_find(m, e, hash);
	struct gt_early_job *was = NULL;

	if (j)
		j = take_known(m, w, e, j);
	if (unlikely(w->ring->lacks_ends) && (e->type == GT_COMPLETE || e->type == GT_END))
		gt_ring_ends(w->gpu, e->ts);
	if (!j && e->type == GT_COMPLETE) {
		on_unmatched(m, w, e, hash, f);
		return;
	}
	if (!j && e->type == GT_END) {
		ring_ended(w->ring, e->ts);
		return;
	}
	if (!j && unlikely(e->ts <= w->ring->early_until))
		was = came_early(w->ring, e, hash);
	if (was) {
		on_late(m, w, e, was, f);
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
		on_complete(m, w, e, j, hash, f);
		break;
	}
	if (unlikely(!w->ring->last_end) && gt_ring_no_end(m, w->gpu, w->ring, e->ts) &&
	    j->live == 1)
		gt_job_unseen(m, j, e->ts, GT_UNSEEN_LOST);
}

/*
 * Work of a queue that no driver's ring has, as programs give it to the hardware themselves. A
 * kernel or a copy that ran is a job of which the end and the execution are known. All of a GPU's
 * are jobs of one ring, which the model makes: busy time there is their union, so several queues at
 * work at once are never over 100 %.
 */

enum { KERNELS, COPIES };

static const struct {
	const char *name;
	enum gt_engine engine;
} rings[GT_WORK_RINGS] = {
	[KERNELS] = { "compute_queues", GT_ENGINE_COMPUTE },
	[COPIES] = { "copies", GT_ENGINE_COPY },
};

int gt_work_ring(const char *name)
{
	for (int i = 0; i < GT_WORK_RINGS; i++)
		if (!strcmp(rings[i].name, name))
			return i;
	return -1;
}

/* A copy that took no known time, and an end without a queue, are no work of a ring */
static bool is_work(const struct gt_event *e)
{
	if (e->type == GT_COPY)
		return e->ref != GT_NONE64;
	return e->type == GT_DISPATCH || e->queue != GT_NONE32;
}

void gt_work_place(struct gt_model *m, struct gt_where *w, struct gt_event *e, struct gt_folded *f)
{
	unsigned int i = e->type == GT_COPY ? COPIES : KERNELS;
	struct gt_ring *r;
	bool is_new = false;

	if (!w->gpu || !is_work(e))
		return;
	r = w->gpu->work[i];
	if (!r)
		r = gt_model_ring(m, w->gpu, rings[i].name, rings[i].engine, &is_new);
	if (!r)
		return;
	if (is_new)
		f->new_ring = r;
	if (!gt_ring_take_work(w->gpu, r))
		return;
	w->ring = r;
	/* an end stays without one in its record: with a ring its numbers would be for everybody */
	if (e->type == GT_DISPATCH || e->type == GT_COPY)
		e->ring = r->id;
	if (e->ts >= r->cur.end)
		gt_ring_window(r, e->ts, m->window_ns);
}

void gt_queue_set_depth(struct gt_queue *q, uint64_t n, uint64_t ts)
{
	gt_depth_to(&q->depth, ts);
	q->depth_set = true;
	q->depth.now = n < UINT32_MAX ? (uint32_t)n : UINT32_MAX;
	if (q->depth.now > q->depth.peak)
		q->depth.peak = q->depth.now;
}

static void add_stage(const struct gt_where *w, struct gt_proc_ring *pr, enum gt_stage_id st,
		      uint64_t ts, uint64_t v)
{
	if (v == GT_NONE64)
		return;
	gt_stage_add(&w->ring->stage[st], ts, v);
	if (pr)
		gt_stage_add(&pr->stage[st], ts, v);
	if (w->queue)
		gt_stage_add(&w->queue->stage[st], ts, v);
}

/* A recording with an end as its first event begins with the start of what ended; 0 is no time */
static void begin_at(struct gt_model *m, uint64_t start)
{
	if (m->priv->from_first)
		gt_set_cleared(m, start ? start : 1);
}

/* It was at work for @exec ns until @end */
static void busy(struct gt_model *m, const struct gt_where *w, struct gt_proc_ring *pr,
		 uint64_t end, uint64_t exec)
{
	uint64_t start = exec < end ? end - exec : 0;

	if (exec == GT_NONE64)
		return;
	if (unlikely(start < m->cleared))
		begin_at(m, start);
	w->ring->measured = true;
	gt_ring_busy(w->ring, start, end);
	gt_busy_add(&w->gpu->engine[w->ring->engine], start, end);
	if (pr)
		gt_busy_add(&pr->busy, start, end);
	if (pr && pr->engine)
		gt_busy_add(pr->engine, start, end);
}

static void finish(const struct gt_where *w, const struct gt_event *e, uint64_t exec,
		   uint64_t total, struct gt_finished *fin)
{
	memset(fin, 0, sizeof(*fin));
	fin->end = e->ts;
	fin->ctx = e->ctx;
	fin->seqno = e->seqno;
	fin->queue = fin->hw_wait = fin->complete = fin->cpu_wait = fin->ioctl = GT_NONE64;
	fin->exec = exec;
	fin->total = total;
	fin->first_ts = w->proc ? w->proc->first_ts : GT_NONE64;
	fin->pid = e->pid;
	fin->uid = e->uid;
	fin->gpu = w->gpu->id;
	fin->ring = w->ring->id;
	if (w->proc)
		memcpy(fin->comm, w->proc->comm, sizeof(fin->comm));
	fin->nth = (uint32_t)w->ring->counts.completed;
}

static void ended(struct gt_model *m, const struct gt_where *w, const struct gt_event *e,
		  struct gt_proc_ring *pr, uint64_t exec, uint64_t total, struct gt_folded *f)
{
	struct gt_window_stats *c = &w->ring->cur;

	busy(m, w, pr, e->ts, exec);
	add_stage(w, pr, GT_ST_EXEC, e->ts, exec);
	add_stage(w, pr, GT_ST_TOTAL, e->ts, total);
	GT_COUNT(m, w, completed, 1);
	if (pr)
		pr->counts.completed++;
	c->completed++;
	if (total != GT_NONE64) {
		c->lat_count++;
		c->lat_sum += total;
		c->lat_min = total < c->lat_min ? total : c->lat_min;
		c->lat_max = total > c->lat_max ? total : c->lat_max;
	}
	if (e->ts > w->ring->last_end)
		w->ring->last_end = e->ts;
	finish(w, e, exec, total, &f->fin);
	f->finished = true;
}

void gt_work_event(struct gt_model *m, const struct gt_where *w, const struct gt_event *e,
		   struct gt_folded *f)
{
	struct gt_proc *owner = w->proc ? w->proc : m->nobody;
	struct gt_proc_ring *pr = gt_pring(m, owner, w->ring->gpu, w->ring->id);

	if (w->queue && e->type == GT_DISPATCH)
		w->queue->worked = true;
	switch (e->type) {
	case GT_DISPATCH:
		if (e->value != GT_NONE64) { /* it is reported when it has run */
			ended(m, w, e, pr, e->value, GT_NONE64, f);
			break;
		}
		GT_COUNT(m, w, submitted, 1);
		if (pr)
			pr->counts.submitted++;
		break;
	case GT_COPY:
		ended(m, w, e, pr, e->ref, GT_NONE64, f);
		break;
	case GT_COMPLETE:
		ended(m, w, e, pr, e->value, e->ref, f);
		break;
	case GT_END: /* how long one ran that has ended */
		gt_kernel_ran(m, e);
		busy(m, w, pr, e->ts, e->value);
		add_stage(w, pr, GT_ST_EXEC, e->ts, e->value);
		break;
	}
}
