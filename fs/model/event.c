/* SPDX-License-Identifier: GPL-2.0 */
/* One record comes in: what it is about is found or made, and everything about it counts it. */
#include <string.h>

#include "internal.h"

/* Events that make up a job */
#define JOB_TYPES                                                                                  \
	(GT_BIT(GT_SUBMIT) | GT_BIT(GT_COMMIT) | GT_BIT(GT_START) | GT_BIT(GT_END) |               \
	 GT_BIT(GT_COMPLETE))
/* The pid of these, if they have one, may be whoever ran when they came: they make no process */
#define BYSTANDER_TYPES                                                                            \
	(GT_BIT(GT_COMMIT) | GT_BIT(GT_START) | GT_BIT(GT_END) | GT_BIT(GT_COMPLETE) |             \
	 GT_BIT(GT_CTX_SWITCH) | GT_BIT(GT_IRQ) | GT_BIT(GT_COUNTER) | GT_BIT(GT_CLOCK) |          \
	 GT_BIT(GT_POWER) | GT_BIT(GT_FUNCTION))
#define QUEUE_TYPES                                                                                \
	(GT_BIT(GT_QUEUE_CREATE) | GT_BIT(GT_QUEUE_SCHEDULE) | GT_BIT(GT_QUEUE_TOKEN) |            \
	 GT_BIT(GT_QUEUE_DESTROY) | GT_BIT(GT_QUEUE_MAP) | GT_BIT(GT_QUEUE_UNMAP))
#define WORK_TYPES (GT_BIT(GT_DISPATCH) | GT_BIT(GT_COPY) | GT_BIT(GT_COMPLETE) | GT_BIT(GT_END))
#define WAIT_TYPES                                                                                 \
	(GT_BIT(GT_SYNC_WAIT_ENTER) | GT_BIT(GT_SYNC_WAIT_EXIT) | GT_BIT(GT_IOCTL_ENTER) |         \
	 GT_BIT(GT_IOCTL_EXIT))

static void lost_on_ring(struct gt_model *m, struct gt_ring *r, uint64_t ts, uint64_t until);

#define BREAK_NS (3600 * GT_SEC)

/* Of several recordings nothing happened for so long: their clocks differ, and in between nobody
 * has seen anything. What is in flight ended unseen */
static void break_session(struct gt_model *m, uint64_t ts)
{
	for (unsigned int i = 0; i < m->ngpus; i++)
		for (unsigned int k = 0; k < m->gpus[i]->nrings; k++)
			if (m->gpus[i]->rings[k]->first_ts)
				lost_on_ring(m, m->gpus[i]->rings[k], m->now, 0);
	gt_session_break(m, ts);
}

/* A new second: its number and places in the slots are worked out once for all events in it.
 * False: time does not go on with @r */
static bool turn_second(struct gt_model *m, const union gt_record *r)
{
	struct gt_model_private *p = m->priv;
	uint64_t ts = r->ev.ts;
	bool gap = m->several && m->cleared && ts > m->now && ts - m->now > BREAK_NS;

	if (r->ev.type == GT_LOST && r->lost.cause == GT_LOST_BEGIN)
		return !gap; /* no event, nor a loss so far: a session begins with an event */
	if (gap)
		break_session(m, ts);
	p->sec = ts / GT_SEC;
	p->sec_start = p->sec * GT_SEC;
	p->rate_slot = (unsigned int)(p->sec % GT_RATE_SLOTS);
	m->memory = gt_hist_memory();
	if (!m->cleared) { /* a recording begins with its first event */
		gt_set_cleared(m, ts);
		p->from_first = true;
	}
	return true;
}

static void find_place(const struct gt_model *m, uint16_t gpu, uint16_t ring, struct gt_where *w)
{
	*w = (struct gt_where){ 0 };
	if (gpu >= m->ngpus)
		return;
	w->gpu = m->gpus[gpu];
	if (ring < w->gpu->nrings)
		w->ring = w->gpu->rings[ring];
}

/* What the hardware had is gone; what the scheduler keeps is handed over again. */
static void on_reset(struct gt_model *m, const struct gt_where *w)
{
	for (unsigned int i = 0; w->gpu && i < w->gpu->nrings; i++) {
		struct gt_ring *r = w->gpu->rings[i];

		if (w->ring && w->ring != r)
			continue;
		gt_jobs_lost(m, r, m->now, GT_UNSEEN_RESET);
		gt_ring_hw_forget(r);
		r->after_loss = true;
	}
}

/* What the hardware had of one queue is gone: other queues go on, on the same rings too */
static void on_queue_reset(struct gt_model *m, const struct gt_where *w)
{
	for (unsigned int i = 0; w->gpu && w->queue && i < w->gpu->nrings; i++)
		if (gt_jobs_of_queue_reset(m, w->gpu->rings[i], w->queue))
			w->gpu->rings[i]->after_loss = true;
}

static void on_error(struct gt_model *m, struct gt_where *w, struct gt_event *e,
		     struct gt_folded *f)
{
	struct gt_job *j = w->ring ? gt_job_find(m, e, gt_event_hash(m, e)) : NULL;
	struct gt_error_entry entry;

	f->job = j;
	if (e->value == GT_ERR_RESET && !w->ring && e->queue != GT_NONE32)
		on_queue_reset(m, w);
	else if (e->value == GT_ERR_RESET)
		on_reset(m, w);
	if (j && e->pid == GT_NONE32) {
		e->pid = j->pid;
		w->proc = j->proc == GT_NONE32 ? NULL : m->procs[j->proc];
	}
	if (e->uid == GT_NONE32 && w->proc && w->proc->pid == e->pid)
		e->uid = w->proc->uid;
	entry = (struct gt_error_entry){ .ts = e->ts,
					 .ctx = e->ctx,
					 .seqno = e->seqno,
					 .code = e->value == GT_NONE64 ? GT_ERR_UNKNOWN : e->value,
					 .ring = e->ring,
					 .pid = e->pid,
					 .uid = e->uid };
	if (w->gpu)
		gt_errlog_add(&w->gpu->errors, &entry);
	if (w->ring)
		gt_errlog_add(&w->ring->errors, &entry);
	GT_COUNT(m, w, errors, 1);
}

/* A job ended, but on which ring is not known: nobody's next job can be held against its end */
static void on_end_somewhere(struct gt_model *m, const struct gt_where *w)
{
	const struct gt_gpu *const *g = w->gpu ? (const struct gt_gpu *const *)&w->gpu
					       : (const struct gt_gpu *const *)m->gpus;
	unsigned int n = w->gpu ? 1 : m->ngpus;

	for (; n; n--, g++)
		for (unsigned int i = 0; i < (*g)->nrings; i++)
			(*g)->rings[i]->after_loss = true;
	if (!w->gpu)
		m->priv->after_loss = true;
}

/* Work that a program asked its runtime for: its owner is known, the GPU need not be */
static void on_call(struct gt_model *m, const struct gt_where *w, const struct gt_event *e)
{
	if (e->type == GT_LAUNCH) {
		GT_COUNT(m, w, launches, 1);
		return;
	}
	GT_COUNT(m, w, copies, 1);
	if (e->value != GT_NONE64)
		GT_COUNT_REPORTED(m, w, copy_bytes, e->value);
}

/* Is it work of a ring that is kept for that? A saved stream has such a ring by name only */
static bool is_work(const struct gt_where *w, const struct gt_event *e)
{
	if (w->ring->work)
		return true;
	return (e->type == GT_DISPATCH || (e->type == GT_COPY && e->ref != GT_NONE64)) &&
	       gt_ring_take_work(w->gpu, w->ring);
}

/* Everything but the events of a job */
static void on_other(struct gt_model *m, struct gt_where *w, struct gt_event *e,
		     struct gt_folded *f)
{
	uint64_t bit = GT_BIT(e->type);

	if (bit & BYSTANDER_TYPES)
		w->proc = e->pid == GT_NONE32 ? NULL : gt_model_proc(m, e->pid);
	else
		w->proc = gt_proc_get(m, e->pid, e->uid, e->ts, f);
	if (e->uid == GT_NONE32 && w->proc)
		e->uid = w->proc->uid;
	if (w->gpu && e->queue != GT_NONE32)
		w->queue = bit & QUEUE_TYPES ? gt_queue_get(m, e->gpu, e->queue, e->uid, e->ts)
					     : gt_model_queue(m, e->gpu, e->queue);
	if (e->type >= GT_CUSTOM0 && e->flags & GT_F_DEPENDS)
		gt_depend_event(m, w, e, f);
	else if ((bit & QUEUE_TYPES) && w->queue)
		gt_queue_event(m, w->queue, e);
	else if (bit & WAIT_TYPES)
		gt_wait_event(m, w, e, f);
	else if (e->type == GT_LAUNCH || e->type == GT_COPY)
		on_call(m, w, e);
	else if (e->type == GT_DISPATCH)
		gt_kernel_dispatched(m, e);
	else if (e->type == GT_ERROR)
		on_error(m, w, e, f);
	else if (e->type == GT_COMPLETE && !w->ring)
		on_end_somewhere(m, w);
	else if (e->type == GT_COUNTER && w->queue && e->ref == GT_COUNTER_DEPTH &&
		 e->value != GT_NONE64)
		gt_queue_set_depth(w->queue, e->value, e->ts);
	if ((bit & WORK_TYPES) && w->ring && is_work(w, e))
		gt_work_event(m, w, e, f);
}

/* One event more, of everything it is about */
static void count_seen(struct gt_model *m, const struct gt_where *w, const struct gt_event *e)
{
	const struct gt_second s = { m->priv->sec, m->priv->rate_slot, e->type };

	gt_types_seen(&m->types, &s);
	if (w->gpu)
		gt_types_seen(&w->gpu->types, &s);
	if (!w->ring)
		return;
	gt_types_seen(&w->ring->types, &s);
	w->ring->cur.events++;
}

/* What an event is about has changed */
static void touch(struct gt_model *m, const struct gt_where *w, const struct gt_event *e)
{
	m->gen++;
	if (w->gpu)
		w->gpu->gen++;
	if (w->ring) {
		w->ring->gen++;
		w->ring->last_ts = e->ts;
		if (unlikely(!w->ring->first_ts))
			w->ring->first_ts = e->ts;
	}
	if (w->proc) {
		w->proc->gen++;
		w->proc->last_ts = e->ts;
	}
	if (w->queue) {
		w->queue->gen++;
		w->queue->last_ts = e->ts;
	}
}

static void lost_on_ring(struct gt_model *m, struct gt_ring *r, uint64_t ts, uint64_t until)
{
	uint64_t end = until > ts ? until : ts;

	if (r->depth.t0) /* a ring begins with its first event, whenever it was made */
		gt_ring_window(r, m->now, m->window_ns);
	gt_jobs_lost(m, r, m->now, GT_UNSEEN_LOST);
	gt_ring_hw_forget(r);
	r->gap |= end > m->now;
	if (r->gap && end < m->priv->gap_until)
		m->priv->gap_until = end;
	r->after_loss = true;
	if (until > r->loss_until)
		r->loss_until = until;
	if (end > r->gap_end)
		r->gap_end = end;
	r->gen++;
}

/* Of which ring is not known */
static void lost_on_gpu(struct gt_model *m, struct gt_gpu *g, uint64_t ts, uint64_t until)
{
	for (unsigned int i = 0; i < g->nrings; i++) {
		lost_on_ring(m, g->rings[i], ts, until);
		g->rings[i]->cur.blind = true;
		g->rings[i]->counts.uncounted++;
	}
	g->gen++;
}

static void lost_anywhere(struct gt_model *m, uint64_t ts, uint64_t until)
{
	struct gt_model_private *p = m->priv;
	uint64_t end = until > ts ? until : ts;

	for (unsigned int i = 0; i < m->ngpus; i++) {
		lost_on_gpu(m, m->gpus[i], ts, until);
		m->gpus[i]->counts.uncounted++;
	}
	p->after_loss = true;
	p->unplaced++;
	/* from the recording's beginning on */
	if (ts <= m->cleared && end > m->now && end > p->front_until) {
		p->front_until = end;
		p->gap_until = end < p->gap_until ? end : p->gap_until;
	}
	if (until > p->loss_until)
		p->loss_until = until;
	if (end > p->gap_end)
		p->gap_end = end;
}

static void on_lost(struct gt_model *m, const struct gt_lost *l)
{
	uint64_t until = l->until == GT_NONE64 ? 0 : l->until;
	struct gt_where w;

	if (l->cause == GT_LOST_BEGIN && l->ts > m->priv->begun)
		m->priv->begun = l->ts;
	if (l->cause != GT_LOST_SOURCE)
		return;
	find_place(m, l->gpu, l->ring, &w);
	GT_COUNT_BY(m, &w, GT_ADD_LOST, lost, l->count);
	if (l->count == GT_NONE64)
		GT_COUNT(m, &w, uncounted, 1);
	if (w.ring) {
		lost_on_ring(m, w.ring, l->ts, until);
		GT_ADD_LOST(w.ring->cur.lost, l->count);
		w.ring->cur.blind |= l->count == GT_NONE64;
	} else if (w.gpu) {
		lost_on_gpu(m, w.gpu, l->ts, until);
	} else {
		lost_anywhere(m, l->ts, until);
	}
	gt_bump(m, &w);
}

static void on_process(struct gt_model *m, const struct gt_process *r, struct gt_folded *f)
{
	uint64_t dirs = m->dir_gen;
	char comm[sizeof(r->comm) + 1] = "";
	struct gt_proc *p;

	if ((uint8_t)r->comm[0] != 0xff) /* all ones: not known */
		memcpy(comm, r->comm, sizeof(r->comm));
	p = gt_model_process(m, r->pid, r->start, r->uid, comm, NULL, r->cgroup);
	if (p && m->dir_gen != dirs)
		f->new_proc = p;
}

static void on_name(struct gt_model *m, const struct gt_name *n)
{
	uint64_t i = n->id >= GT_CUSTOM0 ? n->id - GT_CUSTOM0 : n->id;

	if (n->kind == GT_NAME_FUNCTION)
		gt_function_name(m, n);
	if (n->kind != GT_NAME_CUSTOM || n->part != 0 || i > GT_CUSTOM6 - GT_CUSTOM0)
		return;
	memcpy(m->custom[i], n->text, sizeof(m->custom[i]));
	m->custom[i][sizeof(m->custom[i]) - 1] = '\0';
	m->gen++;
}

static void describe(struct gt_model *m, const union gt_record *r, struct gt_folded *f)
{
	switch (r->ev.type) {
	case GT_PROCESS:
		on_process(m, &r->process, f);
		break;
	case GT_QUEUE:
		gt_queue_describe(m, &r->queue, f);
		break;
	case GT_NAME:
		on_name(m, &r->name);
		break;
	case GT_LOST:
		on_lost(m, &r->lost);
		break;
	}
}

void gt_model_event(struct gt_model *m, union gt_record *r, struct gt_folded *f)
{
	struct gt_event *e = &r->ev;
	struct gt_where *w = &m->priv->where;

	f->job = NULL;
	f->finished = false;
	f->new_proc = NULL;
	f->new_ring = NULL;
	f->nlate = 0;
	m->priv->last = r;
	if (likely(e->ts - m->priv->sec_start < GT_SEC) || turn_second(m, r))
		gt_set_now(m, e->ts);
	if (unlikely(m->now > m->priv->gap_until))
		gt_jobs_gaps(m, m->now);
	/* other records have something else there */
	if (e->type < GT_NTYPES ? e->queue != GT_NONE32 : e->type == GT_QUEUE)
		gt_join_record(m, r);
	if (unlikely(e->type >= GT_NTYPES)) {
		describe(m, r, f);
		return;
	}
	find_place(m, e->gpu, e->ring, w);
	if (w->ring && unlikely(e->ts >= w->ring->cur.end))
		gt_ring_window(w->ring, e->ts, m->window_ns);
	if (unlikely(!w->ring) && (GT_BIT(e->type) & WORK_TYPES))
		gt_work_place(m, w, e, f);
	if (w->ring && unlikely(w->ring->types.sec != m->priv->sec))
		gt_ring_second(w->ring,
			       &(struct gt_second){ m->priv->sec, m->priv->rate_slot, e->type });
	if ((GT_BIT(e->type) & JOB_TYPES) && w->ring && likely(!w->ring->work))
		gt_match(m, w, e, f);
	else
		on_other(m, w, e, f);
	count_seen(m, w, e);
	touch(m, w, e);
}

void gt_model_done(struct gt_model *m, struct gt_folded *f)
{
	if (!f->finished)
		return;
	if (likely(f->job))
		gt_job_drop_hashed(m, f->job, f->fin.end, f->hash);
	f->job = NULL;
	f->finished = false;
}

/* What @e is about, as far as there is such a thing: makes nothing */
static void find_where(struct gt_model *m, const struct gt_event *e, struct gt_where *w)
{
	find_place(m, e->gpu, e->ring, w);
	w->proc = e->pid == GT_NONE32 ? NULL : gt_model_proc(m, e->pid);
	if (w->gpu && e->queue != GT_NONE32)
		w->queue = gt_model_queue(m, e->gpu, e->queue);
}

void gt_model_recorded(struct gt_model *m, const union gt_record *r)
{
	const struct gt_where *w = &m->priv->where;
	unsigned int type = r->ev.type;
	struct gt_where found;

	if (type >= GT_NTYPES)
		return;
	if (m->priv->last != r) {
		find_where(m, &r->ev, &found);
		w = &found;
		gt_bump(m, w);
	}
	m->types.n[type].recorded++;
	if (w->gpu)
		w->gpu->types.n[type].recorded++;
	if (w->ring)
		w->ring->types.n[type].recorded++;
}

/* The job that a look-up of @hash meets first: nearly always the one that is looked for */
static const struct gt_job *first_of(const struct gt_model *m, uint32_t hash)
{
	uint32_t i = m->priv->heads[hash & m->priv->head_mask];

	return i == GT_NONE32 ? NULL : &m->jobs[i];
}

/*
 * Three steps, each needing what the one before has fetched, so that none waits: the head of the
 * hash chain; some records later the job; later still what its end will write to.
 */
void gt_model_fetch(struct gt_model *m, const union gt_record *r)
{
	struct gt_model_private *p = m->priv;
	unsigned int k = p->nahead++;
	struct gt_ahead *a = &p->ahead[k % GT_AHEAD], *b = &p->ahead[(k - 3) % GT_AHEAD],
			*c = &p->ahead[(k - 6) % GT_AHEAD];
	const struct gt_job *j;

	a->type = r->ev.type;
	if (a->type < GT_NTYPES && (GT_BIT(a->type) & JOB_TYPES)) {
		a->hash = gt_event_hash(m, &r->ev);
		__builtin_prefetch(&p->heads[a->hash & p->head_mask], 1);
	} else {
		a->type = GT_NTYPES;
	}
	j = b->type < GT_NTYPES ? first_of(m, b->hash) : NULL;
	if (j) {
		__builtin_prefetch(j, 1);
		__builtin_prefetch(&j->start, 1); /* its second line */
	}
	j = c->type == GT_COMPLETE ? first_of(m, c->hash) : NULL;
	for (unsigned int i = 0; j && j->pring && i < GT_NSTAGES; i++)
		__builtin_prefetch(&j->pring->stage[i], 1);
}
