/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Rings, pairs of process and ring, and what is counted of them. Whoever holds a ring's lock runs,
 * on another CPU, or is interrupted by who wants it.
 */
#ifndef GT_BPF_COUNTING_H
#define GT_BPF_COUNTING_H

#include "ring.h"
#include "table.h"

/* Rings -----------------------------------------------------------------------------------------
 */

/* Nobody else makes rings now, so it is new indeed, or another has just made it. */
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
	/* It is never free again, so all else is as it was at the beginning: zero. */
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

/* The job's pair, or NULL. It has one from its beginning (@first) or never: who has not come in
 * does not leave. */
static __always_inline struct gt_k_pair *k_pair_of(struct gt_k_ctl *c, struct gt_k_job *j,
						   bool first)
{
	uint32_t i = j->pair;

	if (i == GT_NONE32 && first) {
		i = pair_key_find(k_pair_hash(c, j), GT_K_CHOICES);
		if (i == GT_NONE32)
			i = k_pair_new(c, j);
		j->pair = i;
	}
	return i == GT_NONE32 ? NULL : LOOK(k_pairs, i);
}

static __always_inline struct gt_k_sum *k_sum(struct gt_k_pair *p, uint32_t bank)
{
	if (!p)
		return NULL;
	gt_opaque(p); /* nothing is added to it before that is known */
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

/* The first sight of the job @j, or another of its events, and what is owed of it; without the lock
 * that is owed, too */
__noinline int k_settle(struct gt_k_ctl *c, struct gt_k_job *j, uint32_t events)
{
	struct gt_k_ring *r;
	struct gt_k_pair *p;
	uint32_t at, bank;

	if (!c || !j)
		return 0;
	at = j->ring;
	r = LOOK(k_rings, at);
	if (!r)
		return 0;
	if (!k_lock(r)) {
		__sync_fetch_and_or(&j->owed, events);
		__sync_fetch_and_add(&c->owed, 1);
		return 0;
	}
	bank = c->bank & 1;
	if (j->owed)
		events |= __sync_lock_test_and_set(&j->owed, 0);
	p = k_pair_of(c, j, !(j->flags & GT_K_ENTERED));
	if (!(j->flags & GT_K_ENTERED)) { /* its first */
		j->flags |= GT_K_ENTERED;
		gt_k_enter(r, &r->bank[bank], j);
		k_pair_enters(p, j);
	}
	k_account(c, r, &r->bank[bank], p, k_sum(p, bank), j, events);
	k_unlock(r);
	return 0;
}

__noinline uint32_t k_bucket(uint64_t v)
{
	return gt_hist_bucket(v);
}

/* One value into a histogram; false: there is no room for it */
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

/* All of @e that has room goes into @s; the rest stays. True: all has */
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

/* A record that is no tracepoint's */
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

/* @j's values that had no room: e->rest */
static __noinline void k_tale(const struct gt_k_job *j, struct gt_k_event *e, bool counted)
{
	struct gt_k_told *out = &e->told;

	out->raw = k_raw(e->ts, GT_BPF_TALE, sizeof(out->t));
	for (unsigned int i = 0; i < GT_NSTAGES; i++)
		out->t.v[i] = e->rest.v[i];
	out->t.busy = e->end.pair_busy;
	out->t.start = j->start;
	out->t.pid = j->pid;
	out->t.uid = j->uid;
	out->t.ring = j->ring;
	out->t.told = j->told;
	out->t.counted = counted;
	out->t.reserved = 0;
	gt_send(gt_counts(e->counts), GT_BPF_TRACEPOINT, e->ts, out, sizeof(*out), true);
}

/* The daemon is to come from now on. */
static __noinline void k_wake(struct gt_k_ctl *c, const struct gt_k_event *e)
{
	struct gt_bpf_raw raw = k_raw(e->ts, GT_BPF_WAKE, 0);

	c->awake = 1;
	gt_send(gt_counts(e->counts), GT_BPF_TRACEPOINT, e->ts, &raw, sizeof(raw), true);
}

/* Is the ring's last end that of the job before? An interrupt may have more to say on that at any
 * time. */
static __always_inline bool k_sure(struct gt_k_ctl *c, struct gt_k_ring *r)
{
	uint64_t strangers = *(volatile uint64_t *)&c->strangers;
	uint32_t unsure = *(volatile uint32_t *)&r->unsure;
	bool sure = r->strangers == strangers && r->unsure_was == unsure;

	r->strangers = strangers;
	r->unsure_was = unsure;
	return sure;
}

/* The job, which is this program's alone, has ended. False: it waits for the daemon to count that
 */
__noinline int k_end(struct gt_k_ctl *c, struct gt_k_job *j, struct gt_k_event *e)
{
	struct gt_k_bank *b;
	struct gt_k_ring *r;
	struct gt_k_pair *p;
	struct gt_k_sum *s;
	uint32_t at, bank;
	int all = 0;

	if (!c || !j || !e)
		return 0;
	at = j->ring;
	r = LOOK(k_rings, at);
	if (!r)
		return 0;
	if (!k_lock(r)) {
		e->job = GT_NONE32;
		__sync_fetch_and_add(&c->owed, 1);
		__sync_fetch_and_add(&r->unsure, 1); /* the next does not know of its end */
		return 0;
	}
	bank = c->bank & 1;
	b = &r->bank[bank];
	p = k_pair_of(c, j, !(j->flags & GT_K_ENTERED));
	s = k_sum(p, bank);
	if (!(j->flags & GT_K_ENTERED)) {
		gt_k_enter(r, b, j);
		k_pair_enters(p, j);
	}
	gt_k_pair_leaves(p, j);
	if (j->owed)
		k_account(c, r, b, p, s, j, j->owed);
	gt_k_finish(c, r, b, j, e->ts, k_sure(c, r), &e->end);
	e->rest = e->end;
	e->job = r->completed;
	if (s) {
		s->completed++;
		s->busy += e->end.pair_busy;
		if (!s->first)
			s->first = j->seen;
		all = k_values(c, s, &e->rest, bank);
	}
	k_unlock(r);
	if (!all)
		k_tale(j, e, s != NULL);
	return 1;
}

#endif
