/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Rings, pairs of process and ring, and what is counted of them. The holder of a ring's lock runs on another
 * CPU, or is interrupted by the program that wants the lock.
 */
#ifndef GT_BPF_COUNTING_H
#define GT_BPF_COUNTING_H

#include "ring.h"
#include "table.h"

/* Rings -----------------------------------------------------------------------------------------
 */

/* With the lock for new rings held: the ring is new, or another program has just made it. */
static __always_inline uint32_t k_ring_made(struct gt_k_ctl *c, const uint8_t *data, uint32_t index,
					    uint32_t len, uint64_t h)
{
	uint32_t i = ring_key_find(h, GT_K_CHOICES);
	uint64_t id = bpf_get_current_pid_tgid();
	struct gt_k_ring *r;

	if (i != GT_NONE32)
		return i;
	i = ring_key_claim(h);
	r = i == GT_NONE32 ? NULL : LOOK(k_rings, i);
	if (!r) {
		__sync_fetch_and_add(&c->no_ring, 1);
		return GT_NONE32;
	}
	/* A ring's place is never freed, so the rest is zero. */
	r->index = index;
	r->tid = (uint32_t)id;
	r->pid = id >> 32;
	r->cpu = bpf_get_smp_processor_id();
	r->len = len < GT_K_NAME ? len : GT_K_NAME;
	r->strangers = c->strangers;
	for (unsigned int k = 0; k < GT_K_NAME; k += 8)
		*(uint64_t *)(r->data + k) = *(const uint64_t *)(data + k);
	ring_key_set(i, gt_k_key(h));
	return i;
}

static __noinline uint32_t k_ring_new(struct gt_k_ctl *c, const uint8_t *data, uint32_t index,
				      uint32_t len, uint64_t h)
{
	uint32_t i;

	if (!k_take(&c->making))
		return GT_NONE32;
	i = k_ring_made(c, data, index, len, h);
	k_release(&c->making, 0);
	return i;
}

/* Pairs: with the ring's lock held ----------------------------------------------------------------
 */

static __always_inline uint64_t k_pair_hash(const struct gt_k_ctl *c, const struct gt_k_job *j)
{
	return gt_k_mix(gt_k_mix(gt_k_mix(c->seed, j->ring), j->pid), j->start);
}

__noinline uint32_t k_pair_new(struct gt_k_ctl *c, struct gt_k_job *j)
{
	struct gt_k_pair *p;
	uint64_t h;
	uint32_t i;

	if (!c || !j)
		return GT_NONE32;
	h = k_pair_hash(c, j);
	i = pair_key_claim(h);
	p = i == GT_NONE32 ? NULL : LOOK(k_pairs, i);
	if (!p) {
		__sync_fetch_and_add(&c->no_pair, 1);
		return GT_NONE32;
	}
	p->ring = j->ring;
	p->pid = j->pid;
	p->uid = j->uid;
	p->start = j->start;
	p->jobs = p->inflight = 0;
	p->comm[0] = 0;
	if (j->pid != GT_NONE32 && j->pid == bpf_get_current_pid_tgid() >> 32)
		bpf_get_current_comm(p->comm, sizeof(p->comm));
	pair_key_set(i, gt_k_key(h));
	return i;
}

/* The pair of @j, or NULL. A job gets its pair at its first event (@first) or never, so that a pair loses only
 * jobs that it has counted. */
static __always_inline struct gt_k_pair *k_pair_of(struct gt_k_ctl *c, struct gt_k_job *j,
						   bool first)
{
	uint32_t i = j->pair;
	struct gt_k_pair *p;

	if (i == GT_NONE32 && first) {
		i = pair_key_find(k_pair_hash(c, j), GT_K_CHOICES);
		if (i == GT_NONE32)
			i = k_pair_new(c, j);
		j->pair = i;
	}
	p = i == GT_NONE32 ? NULL : LOOK(k_pairs, i);
	gt_opaque(p); /* the verifier wants the check on this pointer */
	return p;
}

static __always_inline struct gt_k_sum *k_sum(struct gt_k_pair *p, uint32_t bank)
{
	if (!p)
		return NULL;
	gt_opaque(p); /* the bank is read before anything is added to it */
	return &p->bank[bank];
}

/* Counting: likewise ------------------------------------------------------------------------------
 */

static __always_inline void k_account(struct gt_k_ctl *c, struct gt_k_ring *r, struct gt_k_bank *b,
				      struct gt_k_pair *p, struct gt_k_sum *s, struct gt_k_job *j,
				      uint32_t events)
{
	if (events & GT_K_SUBMIT)
		gt_k_submitted(c, r, b, j);
	if (events & GT_K_COMMIT)
		gt_k_committed(c, r, b, j);
	gt_k_more(c, b, j, events);
	if (!p || !s)
		return;
	s->submitted += !!(events & GT_K_SUBMIT);
	s->committed += !!(events & GT_K_COMMIT);
	if (!s->first)
		s->first = j->seen;
}

static __always_inline void k_pair_enters(struct gt_k_pair *p, const struct gt_k_job *j)
{
	if (!p)
		return;
	p->jobs++;
	p->inflight += !(j->flags & GT_K_REC);
}

#define GT_K_WALK  32 /* jobs of a bucket that an end looks at */
#define GT_K_FOUND 0x10000

/*
 * One step of k_superseded(), for job number @i, from 1. Returns the next job's number, 0 after the last;
 * with GT_K_FOUND if this job is superseded. It is a function so that the verifier checks it once: inside
 * the loop it is too much for the verifier of Linux 6.1.
 */
__noinline uint32_t k_supersede(struct gt_k_ctl *c, struct gt_k_ring *r, struct gt_k_event *e,
				uint64_t submit, uint32_t i)
{
	struct gt_unseen_end by;
	struct gt_k_pair *p;
	struct gt_k_job *j;
	uint32_t bank, next;

	if (!c || !r || !e)
		return 0;
	j = LOOK(k_jobs, i - 1);
	if (!j)
		return 0;
	next = j->next;
	if (j->ctx != e->ctx)
		return next;
	by.seqno = e->seqno;
	by.submit = submit;
	if (!gt_unseen_superseded(j->seqno, j->seen, &by))
		return 0;
	bank = c->bank & 1;
	p = k_pair_of(c, j, false);
	gt_k_unseen(NULL, r, &r->bank[bank], p, k_sum(p, bank), j, e->ts, GT_UNSEEN_SUPERSEDED);
	return next | GT_K_FOUND;
}

/* Takes jobs of @e's context on @r out of flight if a later job of it, submitted at @submit, has ended: see
 * gt_jobs_superseded() in fs/model/jobs.c. Were there such jobs? */
__noinline int k_superseded(struct gt_k_ctl *c, struct gt_k_ring *r, struct gt_k_event *e,
			    uint64_t submit)
{
	uint32_t i, found = 0;

	if (!c || !r || !e)
		return 0;
	i = gt_k_bucket_of(r, e->ctx)->head;
	for (unsigned int n = 0; n < GT_K_WALK && i; n++) {
		i = k_supersede(c, r, e, submit, i);
		found |= i & GT_K_FOUND;
		i &= 0xffff;
	}
	return found != 0;
}

/* Ring number @at with its lock held; NULL: the lock cannot be had */
static __always_inline struct gt_k_ring *k_locked(uint32_t at)
{
	struct gt_k_ring *r = LOOK(k_rings, at);

	if (!r || !k_lock(r))
		return NULL;
	return r;
}

/* Another job has the key and the number of @j, so the end of @j was missed. */
__noinline int k_replaced(struct gt_k_ctl *c, struct gt_k_job *j, uint64_t ts)
{
	struct gt_k_ring *r;
	struct gt_k_pair *p;
	uint32_t bank;

	if (!c || !j)
		return 0;
	r = k_locked(j->ring);
	if (!r)
		return 0;
	bank = c->bank & 1;
	if ((j->flags & (GT_K_ENTERED | GT_K_UNSEEN)) == GT_K_ENTERED) {
		p = k_pair_of(c, j, false);
		gt_k_unseen(NULL, r, &r->bank[bank], p, k_sum(p, bank), j, ts,
			    GT_UNSEEN_SUPERSEDED);
	}
	k_unlock(r);
	return 0;
}

/* Counts @events of the job @j, and those that it owes. Without the ring's lock they are owed, all of them. */
__noinline int k_settle(struct gt_k_ctl *c, struct gt_k_job *j, uint32_t events, uint64_t ts)
{
	struct gt_k_ring *r;
	struct gt_k_pair *p;
	uint32_t bank, owed = 0;

	if (!c || !j)
		return 0;
	r = k_locked(j->ring);
	if (!r) {
		__sync_fetch_and_or(&j->owed, events);
		__sync_fetch_and_add(&c->owed, 1);
		return 0;
	}
	bank = c->bank & 1;
	if (j->owed)
		owed = __sync_lock_test_and_set(&j->owed, 0);
	p = k_pair_of(c, j, !(j->flags & GT_K_ENTERED));
	if (!(j->flags & GT_K_ENTERED)) { /* its first */
		j->flags |= GT_K_ENTERED;
		gt_k_enter(r, &r->bank[bank], j);
		gt_k_link(NULL, r, j);
		k_pair_enters(p, j);
	} else if (j->flags & GT_K_UNSEEN) {
		gt_k_back(NULL, r, &r->bank[bank], p, k_sum(p, bank), j, ts);
	}
	if (owed & GT_K_COMMIT)
		j->flags |= GT_K_LATE;
	k_account(c, r, &r->bank[bank], p, k_sum(p, bank), j, events | owed);
	k_unlock(r);
	return 0;
}

__noinline uint32_t k_bucket(uint64_t v)
{
	return gt_hist_bucket(v);
}

/* Adds a value to a histogram; false: there is no room for it */
static __always_inline bool k_put(struct gt_k_ctl *c, struct gt_k_stage *s, uint32_t bank,
				  uint64_t v)
{
	uint32_t b = k_bucket(v), o = b >> GT_HIST_SUB_BITS, i;
	struct gt_k_octave *oct;

	if (o >= GT_K_OCT)
		return false;
	if (!s->oct[o]) {
		i = __sync_fetch_and_add(&c->next[bank], 1);
		if (i >= GT_K_OCTS)
			return false;
		s->oct[o] = i + 1;
	}
	i = bank * GT_K_OCTS + s->oct[o] - 1;
	oct = LOOK(k_octs, i);
	if (!oct)
		return false;
	oct->n[b & (GT_HIST_SUB - 1)]++;
	s->sum += v;
	s->max = v > s->max ? v : s->max;
	s->under = ~v > s->under ? ~v : s->under;
	return true;
}

/* Adds the values of @e to @s, as far as there is room; those without stay in @e. True: all had room */
__noinline int k_values(struct gt_k_ctl *c, struct gt_k_sum *s, struct gt_k_ended *e, uint32_t bank)
{
	int all = 1;

	if (!c || !s || !e)
		return 0;
	bank &= 1;
	for (unsigned int i = 0; i < GT_NSTAGES; i++) {
		if (e->v[i] == GT_K_NONE)
			continue;
		if (k_put(c, &s->stage[i], bank, e->v[i]))
			e->v[i] = GT_K_NONE;
		else
			all = 0;
	}
	return all;
}

/* The head of a record that is of no tracepoint */
static __always_inline struct gt_bpf_raw k_raw(uint64_t ts, uint16_t index, uint16_t len)
{
	return (struct gt_bpf_raw){
		.ts = ts,
		.type = GT_BPF_RAW,
		.flags = GT_BPF_TRACEPOINT << GT_BPF_PART_SHIFT,
		.cpu = bpf_get_smp_processor_id(),
		.index = index,
		.len = len,
	};
}

/* Sends the values of @j that had no room, e->rest, to the daemon. */
static __noinline void k_tale(const struct gt_k_job *j, struct gt_k_event *e, bool counted)
{
	struct gt_k_reported *out = &e->reported;

	out->raw = k_raw(e->ts, GT_BPF_TALE, sizeof(out->t));
	for (unsigned int i = 0; i < GT_NSTAGES; i++)
		out->t.v[i] = e->rest.v[i];
	out->t.busy = e->end.pair_busy;
	out->t.start = j->start;
	out->t.pid = j->pid;
	out->t.uid = j->uid;
	out->t.ring = j->ring;
	out->t.reported = j->reported;
	out->t.counted = counted;
	out->t.reserved = 0;
	gt_send(gt_counts(e->counts), GT_BPF_TRACEPOINT, e->ts, out, sizeof(*out), true);
}

/* Wakes the daemon, which comes by itself from now on. */
static __noinline void k_wake(struct gt_k_ctl *c, const struct gt_k_event *e)
{
	struct gt_bpf_raw raw = k_raw(e->ts, GT_BPF_WAKE, 0);

	c->awake = 1;
	gt_send(gt_counts(e->counts), GT_BPF_TRACEPOINT, e->ts, &raw, sizeof(raw), true);
}

/* Is the ring's last end known to be that of the job before? An interrupt may change the answer at any time. */
static __always_inline bool k_sure(struct gt_k_ctl *c, struct gt_k_ring *r)
{
	uint64_t strangers = *(volatile uint64_t *)&c->strangers;
	uint32_t unsure = *(volatile uint32_t *)&r->unsure;
	bool sure = r->strangers == strangers && r->unsure_was == unsure;

	r->strangers = strangers;
	r->unsure_was = unsure;
	return sure;
}

__noinline int k_distrust(struct gt_k_job *j, struct gt_k_event *e)
{
	if (j && e)
		gt_k_distrust(j, &e->end);
	return 0;
}

#define GT_K_ALL  1 /* all values had room */
#define GT_K_SUM  2 /* the job's pair has its counters */
#define GT_K_SURE 4 /* the ring's last end was known */

/*
 * Counts the end of @j at e->ts, with the lock of its ring @r held.
 * @sure: as far as the caller knows, the ring's last end is that of the job before
 * Return: GT_K_ALL and the like
 */
__noinline int k_count_end(struct gt_k_ctl *c, struct gt_k_ring *r, struct gt_k_job *j,
			   struct gt_k_event *e, uint32_t sure)
{
	uint32_t bank, known;
	struct gt_k_bank *b;
	struct gt_k_pair *p;
	struct gt_k_sum *s;
	int what = 0;

	if (!c || !r || !j || !e)
		return 0;
	e->ctx = j->ctx; /* the event may not have it */
	e->seqno = j->seqno;
	bank = c->bank & 1;
	b = &r->bank[bank];
	p = k_pair_of(c, j, !(j->flags & GT_K_ENTERED));
	s = k_sum(p, bank);
	if (!(j->flags & GT_K_ENTERED)) {
		gt_k_enter(r, b, j);
		k_pair_enters(p, j);
	}
	known = k_sure(c, r) && sure;
	what |= known ? GT_K_SURE : 0;
	if (j->flags & GT_K_UNSEEN) {
		known &= j->unseen_why == GT_UNSEEN_LOST;
		gt_k_back(NULL, r, b, p, s, j, e->ts);
	}
	if (j->owed & GT_K_COMMIT)
		j->flags |= GT_K_LATE;
	if (j->owed)
		k_account(c, r, b, p, s, j, j->owed);
	gt_k_unlink(NULL, r, j);
	gt_k_pair_leaves(p, j);
	known &= gt_k_hw_end(r, j, e->ts);
	if (!(j->flags & GT_K_VAGUE))
		known &= !k_superseded(c, r, e, j->reported & GT_K_SUBMIT ? j->submit : 0);
	gt_k_finish(c, r, b, j, e->ts, known, &e->end);
	k_distrust(j, e);
	j->flags &= (uint8_t)~GT_K_ENTERED;
	e->rest = e->end;
	if (s) {
		s->completed++;
		s->busy += e->end.pair_busy;
		if (!s->first)
			s->first = j->seen;
		what |= GT_K_SUM | (k_values(c, s, &e->rest, bank) ? GT_K_ALL : 0);
	}
	return what;
}

/* Counts a job of the ring @r that ended while the lock was held, before e->ts. Changes e->ts. Returns 0 if it
 * cannot be counted now, so that the ring's last end is not known. */
__noinline int k_count_late(struct gt_k_ctl *c, struct gt_k_ring *r, struct gt_k_event *e)
{
	uint32_t at, line;
	struct gt_k_line *l;
	struct gt_k_job *j;
	int what;

	if (!c || !r || !e)
		return 0;
	at = r->late - 1;
	line = at / GT_K_WAYS;
	l = LOOK(k_job_keys, line);
	j = LOOK(k_jobs, at);
	if (!l || !j || j->done > e->ts) /* a later program counts it */
		return 0;
	k_release(&r->late, 0);
	/* another program is noting it: the daemon counts it */
	if (__sync_val_compare_and_swap(&l->key[at % GT_K_WAYS], GT_K_ENDED, GT_K_BUSY) !=
	    GT_K_ENDED)
		return 0;
	e->ts = j->done;
	what = k_count_end(c, r, j, e, 1);
	if (!(what & GT_K_ALL))
		k_tale(j, e, what & GT_K_SUM);
	k_release(&l->key[at % GT_K_WAYS], GT_K_FREE);
	if (at >= GT_K_HOT * GT_K_WAYS)
		__sync_fetch_and_add(&c->spilled, -1);
	return what & GT_K_SURE;
}

/* The job has ended, and no other program has it. False: it is noted, and the ring's next end or the daemon counts
 * it. */
__noinline int k_end(struct gt_k_ctl *c, struct gt_k_job *j, struct gt_k_event *e)
{
	struct gt_k_ring *r;
	uint32_t at, sure = 1;
	struct gt_k_gone *gone;
	uint64_t ts;
	int what;

	if (!c || !j || !e)
		return 0;
	at = j->ring;
	r = LOOK(k_rings, at);
	if (!r)
		return 0;
	ts = e->ts;
	j->done = ts;
	if (!k_lock(r)) {
		e->job = GT_NONE32;
		__sync_fetch_and_add(&c->owed, 1);
		/* there is a place for one: a second waits for the daemon */
		if (__sync_val_compare_and_swap(&r->late, 0, j->self))
			__sync_fetch_and_add(&r->unsure, 1);
		return 0;
	}
	if (r->late) {
		sure = k_count_late(c, r, e) != 0;
		e->ts = ts;
	}
	what = k_count_end(c, r, j, e, sure);
	e->job = r->completed;
	k_unlock(r);
	at = e->h & (GT_K_GONE - 1);
	gone = LOOK(k_gone, at);
	if (gone)
		gt_k_note_gone(gone, j, e->h, ts);
	if (!(what & GT_K_ALL))
		k_tale(j, e, what & GT_K_SUM);
	return 1;
}

#endif
