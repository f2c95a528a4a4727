/* SPDX-License-Identifier: GPL-2.0 */
/* An event and its job: finds it, begins it, counts a further event of it, ends it. */
#ifndef GT_BPF_JOBS_H
#define GT_BPF_JOBS_H

#include "counting.h"
#include "decide.h"
#include "piece.h"

/* The process that runs. A pid may be used again, a pid with its start time may not. */
static __always_inline void k_who(struct gt_k_event *e)
{
	struct task_struct *task = (void *)bpf_get_current_task();

	e->pid = bpf_get_current_pid_tgid() >> 32;
	e->uid = (uint32_t)bpf_get_current_uid_gid();
	e->start = BPF_CORE_READ(task, group_leader, start_boottime);
}

static __always_inline struct gt_k_job *k_find(const struct gt_k_ctl *c, struct gt_k_event *e)
{
	struct gt_k_job *j;

	e->job = job_key_find(e->h, c->spilled ? GT_K_CHOICES : 1);
	j = e->job == GT_NONE32 ? NULL : LOOK(k_jobs, e->job);
	return j && j->k1 == e->k1 && j->k2 == e->k2 ? j : NULL;
}

/* The job that was found has lost its key: its end was lost, or counts for another job. */
static __always_inline void k_orphan(const struct gt_k_event *e)
{
	uint32_t at = e->job, line = at / GT_K_WAYS;
	struct gt_k_line *l = LOOK(k_job_keys, line);

	if (l)
		__sync_val_compare_and_swap(&l->key[at % GT_K_WAYS], gt_k_key(e->h), GT_K_LONE);
}

/* Notes the ring of the job's context. */
static __always_inline void k_remember(const struct gt_k_event *e)
{
	uint32_t at = (uint32_t)e->ctx % GT_K_CTXS;
	uint64_t *p = LOOK(k_places, at), was, now;

	if (!p || !(e->k1 >> 59 & GT_K_BY_CTX))
		return;
	was = *(volatile uint64_t *)p;
	now = gt_k_place(was, e->ctx, e->ring);
	if (was != now)
		k_release(p, now);
}

static __always_inline int k_what(const struct gt_k_job *j)
{
	return j->flags & GT_K_REC ? GT_K_EMIT : GT_K_QUIET;
}

/* Begins a job. */
__noinline int k_begin(struct gt_k_ctl *c, struct gt_k_event *e, uint32_t roles)
{
	struct gt_k_job *j;
	uint32_t why;

	if (!c || !e)
		return GT_K_PASS;
	k_remember(e);
	e->job = job_key_claim(e->h);
	j = e->job == GT_NONE32 ? NULL : LOOK(k_jobs, e->job);
	if (!j) {
		__sync_fetch_and_add(&c->no_job, 1);
		return GT_K_PASS;
	}
	if (e->job >= GT_K_HOT * GT_K_WAYS)
		__sync_fetch_and_add(&c->spilled, 1);
	why = k_refused(c, e);
	*j = (struct gt_k_job){
		.k1 = e->k1,
		.k2 = e->k2,
		.ctx = e->ctx,
		.seqno = e->seqno,
		.seen = e->ts,
		.submit = roles & GT_K_SUBMIT ? e->ts : 0,
		.commit = roles & GT_K_COMMIT ? e->ts : 0,
		.pair = GT_NONE32,
		.ring = e->ring,
		.reported = roles & (GT_K_SUBMIT | GT_K_COMMIT),
		.flags = (why ? 0 : GT_K_REC) | (e->vague ? GT_K_VAGUE : 0),
		.self = e->job + 1,
		.why = why,
		.pid = e->pid,
		.uid = e->uid,
		.start = e->start,
	};
	k_settle(c, j, j->reported, e->ts);
	job_key_set(e->job, gt_k_key(e->h)); /* from here on its end may come */
	return k_what(j);
}

/* An event of the job is reported a second time: it is counted as seen, nothing else. */
__noinline int k_again(struct gt_k_ctl *c, struct gt_k_job *j, struct gt_k_event *e, uint32_t type)
{
	struct gt_k_ring *r;

	if (!c || !j || !e)
		return GT_K_PASS;
	r = k_locked(j->ring);
	if (r) {
		gt_k_seen(c, &r->bank[c->bank & 1], j->flags, j->why, type, e->ts);
		k_unlock(r);
	} else {
		__sync_fetch_and_add(&j->owed, GT_K_MORE(type));
		__sync_fetch_and_add(&c->owed, 1);
	}
	return k_what(j);
}

static __always_inline bool k_same(const struct gt_k_job *j, const struct gt_k_event *e)
{
	return j->ring == e->ring && j->ctx == e->ctx && j->seqno == e->seqno;
}

__noinline int k_submit(struct gt_k_ctl *c, struct gt_k_event *e, uint32_t roles)
{
	struct gt_k_job *j;

	if (!c || !e)
		return GT_K_PASS;
	j = k_find(c, e);
	if (j && k_same(j, e) && (j->reported & GT_K_SUBMIT) && !gt_unseen_again(j->submit, e->ts))
		return k_again(c, j, e, 0);
	if (j)
		k_orphan(e);
	if (j && k_same(j, e))
		k_replaced(c, j, e->ts);
	k_who(e);
	return k_begin(c, e, roles);
}

__noinline int k_commit(struct gt_k_ctl *c, struct gt_k_event *e, uint32_t begins, uint32_t placed)
{
	struct gt_k_job *j;

	if (!c || !e)
		return GT_K_PASS;
	j = k_find(c, e);
	if (j && placed && j->ring != e->ring) { /* another ring took it, and has it as a new job */
		k_orphan(e);
		j = NULL;
		begins = 1;
	}
	if (!j) {
		if (!begins || !placed)
			return GT_K_PASS;
		e->pid = e->uid = GT_NONE32;
		e->start = 0;
		return k_begin(c, e, GT_K_COMMIT);
	}
	if (j->reported & GT_K_COMMIT)
		return k_again(c, j, e, 3);
	j->commit = e->ts;
	j->reported |= GT_K_COMMIT;
	k_settle(c, j, GT_K_COMMIT, e->ts);
	return k_what(j);
}

/* Is this a second report of the end of a job that has just ended? Then it is counted as seen. Returns what is
 * done with it. */
__noinline int k_ended_again(struct gt_k_ctl *c, struct gt_k_event *e)
{
	const struct gt_k_gone *g;
	struct gt_k_ring *r;
	uint32_t at;

	if (!c || !e)
		return GT_K_PASS;
	at = e->h & (GT_K_GONE - 1);
	g = LOOK(k_gone, at);
	if (!g || !gt_k_just_gone(g, e->h, e->ts))
		return GT_K_PASS;
	r = k_locked(g->ring);
	if (!r)
		return GT_K_PASS;
	gt_k_seen(c, &r->bank[c->bank & 1], g->flags, g->why, 1, e->ts);
	e->job = r->completed;
	k_unlock(r);
	return g->flags & GT_K_REC ? GT_K_EMIT : GT_K_QUIET;
}

/* The end of a job that is not in the table: it began before the programs were there, or was lost.
 * @placed: its ring is known; else the next job of any ring cannot be sure of the end before it. */
__noinline int k_stranger(struct gt_k_ctl *c, struct gt_k_event *e, uint32_t known, uint32_t placed)
{
	struct gt_k_ring *r;
	uint32_t at;
	int what;

	if (!c || !e || known)
		return GT_K_PASS;
	what = k_ended_again(c, e);
	if (what != GT_K_PASS)
		return what;
	at = e->ring;
	r = placed ? LOOK(k_rings, at) : NULL;
	if (!r) {
		__sync_fetch_and_add(&c->strangers, 1);
	} else if (k_lock(r)) {
		if (!e->vague && e->ctx != GT_NONE64)
			k_superseded(c, r, e, 0);
		r->last_end = gt_k_later(r->last_end, e->ts);
		if (r->late) /* the end before is not counted yet */
			__sync_fetch_and_add(&r->unsure, 1);
		k_unlock(r);
	} else {
		__sync_fetch_and_add(&r->unsure, 1);
	}
	return GT_K_PASS;
}

__noinline int k_complete(struct gt_k_ctl *c, struct gt_k_event *e, uint32_t known, uint32_t placed)
{
	struct gt_k_line *l;
	struct gt_k_job *j;
	uint32_t at, line;
	uint64_t key;
	int what;

	if (!c || !e)
		return GT_K_PASS;
	j = k_find(c, e);
	at = e->job;
	line = at / GT_K_WAYS;
	l = j ? LOOK(k_job_keys, line) : NULL;
	key = gt_k_key(e->h);
	if (!l || __sync_val_compare_and_swap(&l->key[at % GT_K_WAYS], key, GT_K_BUSY) != key)
		return k_stranger(c, e, known, placed);
	what = k_what(j);
	if (k_end(c, j, e)) {
		key = GT_K_FREE;
	} else {
		e->end.v[GT_ST_HW_WAIT] = e->end.v[GT_ST_EXEC] = GT_K_NONE;
		key = GT_K_ENDED;
	}
	k_release(&l->key[at % GT_K_WAYS], key);
	if (key == GT_K_FREE && at >= GT_K_HOT * GT_K_WAYS)
		__sync_fetch_and_add(&c->spilled, -1);
	return what;
}

/* Makes the key of the event's job; false: the event has not all of it */
static __always_inline bool k_key(const struct gt_k_tp *tp, const uint8_t *data,
				  const struct gt_k_ctl *c, struct gt_k_event *e)
{
	uint64_t fence = 0;

	e->vague = tp->vague;
	if (tp->ctx.size && !k_number(data, &tp->ctx, &e->ctx)) {
		if (tp->key & GT_K_BY_CTX)
			return false;
		e->vague = 1;
	}
	if (tp->seqno.size && !k_number(data, &tp->seqno, &e->seqno)) {
		if (tp->key & GT_K_BY_SEQNO)
			return false;
		e->vague = 1;
	}
	if (tp->key & GT_K_BY_FENCE) {
		k_number(data, &tp->fence, &fence);
		if (!fence)
			return false;
	}
	/* dma_fence's events have the low halves, see backend/eventmap/job.c */
	e->k1 = (uint64_t)tp->key << 59;
	if (tp->key & GT_K_BY_RING)
		e->k1 |= (uint64_t)e->ring << 32;
	if (tp->key & GT_K_BY_CTX)
		e->k1 |= (uint32_t)e->ctx;
	e->k2 = fence;
	if (!fence && (tp->key & GT_K_BY_SEQNO))
		e->k2 = tp->key & GT_K_BY_CTX ? (uint32_t)e->seqno : e->seqno;
	e->h = gt_k_mix(gt_k_mix(c->seed, e->k1), e->k2);
	return true;
}

/* Finds the ring; false: it is none that is counted in the kernel */
static __always_inline bool k_ring_of(const struct gt_k_tp *tp, struct gt_k_ctl *c, uint32_t index,
				      const uint8_t *data, uint32_t len, struct gt_k_event *e)
{
	uint64_t h = k_place(tp, data, c->seed);
	struct gt_k_ring *r;

	e->ring = ring_key_find(h, GT_K_CHOICES);
	if (e->ring == GT_NONE32 && tp->begins)
		e->ring = k_ring_new(c, data, index, len, h);
	r = e->ring == GT_NONE32 ? NULL : LOOK(k_rings, e->ring);
	return r && !r->refused;
}

/* Finds the job of a wait; if it has ended, the ring that it ran on. */
static __always_inline void k_wait(struct gt_k_ctl *c, struct gt_k_event *e)
{
	struct gt_k_job *j = k_find(c, e);
	uint32_t at = (uint32_t)e->ctx % GT_K_CTXS;
	uint64_t *p = LOOK(k_places, at), place;

	e->known = GT_BPF_JOB;
	if (j) {
		e->ring = j->ring;
		e->ctx = j->ctx;
		return;
	}
	place = p ? *(volatile uint64_t *)p : 0;
	if (!place || place >> 32 != (uint32_t)e->ctx)
		return;
	e->known = place & GT_K_SEVERAL ? GT_BPF_GPU : GT_BPF_PLACE;
	e->ring = (uint32_t)(place & ~GT_K_SEVERAL) - 1;
}

/** gt_k_count() - counts the event in @rec, of @len bytes and time @e->ts, if the kernel counts such events */
__noinline int gt_k_count(uint32_t index, struct gt_k_ctl *c, struct gt_k_record *rec, uint32_t len,
			  struct gt_k_event *e)
{
	struct gt_k_tp *tp = LOOK(k_tps, index);
	bool placed = false;
	const uint8_t *data;

	if (!rec || !e)
		return GT_K_PASS;
	data = rec->data;
	e->end.v[GT_ST_HW_WAIT] = e->end.v[GT_ST_EXEC] = GT_K_NONE;
	e->ctx = e->seqno = GT_NONE64;
	e->ring = GT_NONE32;
	e->known = GT_BPF_NOTHING;
	if (!tp || !tp->roles || !c || !c->on)
		return GT_K_PASS;
	if (tp->ring && (tp->begins || (tp->roles & GT_K_COMMIT) || (tp->key & GT_K_BY_RING))) {
		placed = k_ring_of(tp, c, index, data, len, e);
		/* a job in the table is handed over nevertheless: nobody else counts that */
		if (!placed &&
		    ((tp->begins && tp->roles != GT_K_COMMIT) || (tp->key & GT_K_BY_RING)))
			return GT_K_PASS;
	}
	if (!k_key(tp, data, c, e))
		return GT_K_PASS;
	if (tp->roles & GT_K_WAIT) {
		k_wait(c, e);
		return GT_K_PASS;
	}
	if (tp->roles & GT_K_SUBMIT)
		return k_submit(c, e, tp->roles);
	if (tp->roles & GT_K_COMMIT)
		return k_commit(c, e, tp->begins && !tp->submits, placed);
	return k_complete(c, e, tp->known, placed);
}

#endif
