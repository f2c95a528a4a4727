/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Jobs matched and counted where they happen, for bpf/tracepoint.bpf.c; see count.h. No program of
 * a tracepoint interrupts another on its CPU, so whoever holds a ring's lock runs, on another CPU.
 */
#ifndef GT_BPF_COUNTING_H
#define GT_BPF_COUNTING_H

#include "count.h"
#include "kernel.h"

#define GT_K_ARRAY(name, of, n)                                                                    \
	struct {                                                                                   \
		__uint(type, BPF_MAP_TYPE_ARRAY);                                                  \
		__uint(map_flags, BPF_F_MMAPABLE);                                                 \
		__uint(max_entries, n);                                                            \
		__type(key, uint32_t);                                                             \
		__type(value, of);                                                                 \
	} name SEC(".maps")

GT_K_ARRAY(k_ctl, struct gt_k_ctl, 1);
GT_K_ARRAY(k_ring_keys, struct gt_k_line, GT_K_RINGS / GT_K_WAYS);
GT_K_ARRAY(k_rings, struct gt_k_ring, GT_K_RINGS);
GT_K_ARRAY(k_pair_keys, struct gt_k_line, GT_K_PAIRS / GT_K_WAYS);
GT_K_ARRAY(k_pairs, struct gt_k_pair, GT_K_PAIRS);
GT_K_ARRAY(k_job_keys, struct gt_k_line, GT_K_JOBS / GT_K_WAYS);
GT_K_ARRAY(k_jobs, struct gt_k_job, GT_K_JOBS);
GT_K_ARRAY(k_octs, struct gt_k_octave, 2 * GT_K_OCTS);

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, GT_BPF_TPS);
	__type(key, uint32_t);
	__type(value, struct gt_k_tp);
} k_tps SEC(".maps");

enum gt_k_what {
	GT_K_PASS,  /* it is not counted here: a record tells of it */
	GT_K_TELL,  /* it is, and in a record as well */
	GT_K_QUIET, /* it is, and nobody wants a record */
};

/* Twice as much as is told: any part of a record, behind any other, ends within. */
struct gt_k_record {
	uint8_t data[2 * GT_BPF_RAW_MAX];
};

/** struct gt_k_event - an event under way, on its program's stack */
struct gt_k_event {
	uint64_t ts, k1, k2, h, ctx, seqno, start;
	uint32_t pid, uid, ring, job, known, reserved;
	struct gt_k_ended end;
};

#define LOOK(map, i) bpf_map_lookup_elem(&(map), &(i))

#define GT_K_HOT                                                                                   \
	64 /* lines: what is in flight is mostly little, and there it stays in the cache           \
	    */
#define GT_K_CHOICES 3

/* Writes what others read once they see it. x86 keeps the order of stores, BPF has no weaker way to
 * ask for it. */
#ifdef __TARGET_ARCH_x86
#define k_release(p, v)                                                                            \
	do {                                                                                       \
		asm volatile("" : : : "memory");                                                   \
		*(volatile __typeof__(*(p)) *)(p) = (v);                                           \
	} while (0)
#else
#define k_release(p, v) __sync_lock_test_and_set(p, v)
#endif

/*
 * Functions that are not static are verified once, and not on each way to them; what they are given
 * may be NULL as far as the verifier knows.
 */

/* The lines in which a key may be are searched for it, or for room, which is then taken. Index,
 * or GT_NONE32. */
#define GT_K_TABLE(name, keys, nlines)                                                             \
	static __always_inline uint32_t name##_line(uint64_t h, unsigned int nth)                  \
	{                                                                                          \
		if (!nth)                                                                          \
			return (uint32_t)(h >> 8) & (GT_K_HOT - 1);                                \
		return (uint32_t)(nth == 1 ? h >> 20 : h >> 40) & ((nlines)-1);                    \
	}                                                                                          \
	__noinline uint32_t name##_claim(uint64_t h)                                               \
	{                                                                                          \
		for (unsigned int nth = 0; nth < GT_K_CHOICES; nth++) {                            \
			uint32_t i = name##_line(h, nth);                                          \
			struct gt_k_line *l = LOOK(keys, i);                                       \
                                                                                                   \
			for (unsigned int w = 0; l && w < GT_K_WAYS; w++)                          \
				if (!l->key[w] && !__sync_val_compare_and_swap(                    \
							  &l->key[w], GT_K_FREE, GT_K_BUSY))       \
					return i * GT_K_WAYS + w;                                  \
		}                                                                                  \
		return GT_NONE32;                                                                  \
	}                                                                                          \
	__noinline int name##_set(uint32_t at, uint64_t key)                                       \
	{                                                                                          \
		uint32_t i = at / GT_K_WAYS;                                                       \
		struct gt_k_line *l = LOOK(keys, i);                                               \
                                                                                                   \
		if (l)                                                                             \
			k_release(&l->key[at % GT_K_WAYS], key);                                   \
		return 0;                                                                          \
	}                                                                                          \
	__noinline uint32_t name##_find(uint64_t h, uint32_t choices)                              \
	{                                                                                          \
		uint64_t key = gt_k_key(h);                                                        \
                                                                                                   \
		for (unsigned int nth = 0; nth < GT_K_CHOICES; nth++) {                            \
			uint32_t i = name##_line(h, nth);                                          \
			struct gt_k_line *l = LOOK(keys, i);                                       \
                                                                                                   \
			if (nth >= choices)                                                        \
				break;                                                             \
			for (unsigned int w = 0; l && w < GT_K_WAYS; w++)                          \
				if (l->key[w] == key)                                              \
					return i * GT_K_WAYS + w;                                  \
		}                                                                                  \
		return GT_NONE32;                                                                  \
	}

GT_K_TABLE(ring_key, k_ring_keys, GT_K_RINGS / GT_K_WAYS)
GT_K_TABLE(pair_key, k_pair_keys, GT_K_PAIRS / GT_K_WAYS)
GT_K_TABLE(job_key, k_job_keys, GT_K_JOBS / GT_K_WAYS)

static __always_inline struct gt_k_ctl *k_control(void)
{
	uint32_t zero = 0;

	return LOOK(k_ctl, zero);
}

static __always_inline bool k_lock(struct gt_k_ring *r)
{
	for (unsigned int i = 0; i < GT_K_SPIN; i++)
		if (!__sync_val_compare_and_swap(&r->lock, 0, 1))
			return true;
	return false;
}

static __always_inline void k_unlock(struct gt_k_ring *r)
{
	k_release(&r->lock, 0);
}

/* What a record says ----------------------------------------------------------------------------
 */

static __always_inline uint64_t k_load(const uint8_t *data, uint32_t at)
{
	gt_opaque(at);
	return at <= GT_BPF_RAW_MAX ? *(const uint64_t *)(data + at) : 0;
}

/* False: it may be an address, which is for user space to judge. */
static __always_inline bool k_number(const uint8_t *data, const struct gt_k_piece *p, uint64_t *out)
{
	uint64_t v = k_load(data, p->off);

	if (p->size == 4)
		v = (uint32_t)v;
	else if (p->size == 2)
		v = (uint16_t)v;
	else if (p->size == 1)
		v = (uint8_t)v;
	*out = v;
	return v < 0xff00000000000000ull;
}

/* The bytes before the first NUL */
static __always_inline uint64_t k_text_mask(uint64_t w, uint64_t *ends)
{
	uint64_t nul = (w - 0x0101010101010101ull) & ~w & 0x8080808080808080ull;

	*ends = nul;
	return nul ? ((nul & -nul) >> 7) - 1 : ~0ull;
}

#define GT_K_WORDS 6 /* so much of a name counts */

static __always_inline uint64_t k_text(const uint8_t *data, const struct gt_k_piece *p, uint64_t h)
{
	uint32_t at = p->off, len = p->size;
	uint64_t w, mask, ends;

	if (p->kind != GT_K_CHARS) {
		uint32_t loc = (uint32_t)k_load(data, p->off);

		at = (loc & 0xffff) + (p->kind == GT_K_REL ? p->off + 4u : 0);
		len = loc >> 16;
	}
	for (uint32_t i = 0; i < GT_K_WORDS; i++) {
		if (i * 8 >= len)
			break;
		w = k_load(data, at + i * 8);
		if (len - i * 8 < 8)
			w &= (1ull << ((len - i * 8) * 8)) - 1;
		mask = k_text_mask(w, &ends);
		h = gt_k_mix(h, w & mask);
		if (ends)
			break;
	}
	return gt_k_mix(h, 0x100);
}

/* What tells the ring, as one number */
static __always_inline uint64_t k_place(const struct gt_k_tp *tp, const uint8_t *data, uint64_t h)
{
	uint64_t v;

	h = gt_k_mix(h, tp->seed);
	for (unsigned int i = 0; i < GT_K_PIECES && i < tp->n; i++) {
		const struct gt_k_piece *p = &tp->piece[i];

		if (p->kind == GT_K_INT) {
			k_number(data, p, &v);
			h = gt_k_mix(h, v);
		} else {
			h = k_text(data, p, h);
		}
	}
	return h;
}

/* Rings -----------------------------------------------------------------------------------------
 */

static __noinline uint32_t k_ring_new(struct gt_k_ctl *c, const uint8_t *data, uint32_t index,
				      uint32_t len, uint64_t h)
{
	uint64_t id = bpf_get_current_pid_tgid();
	uint32_t i = ring_key_claim(h);
	struct gt_k_ring *r = i == GT_NONE32 ? NULL : LOOK(k_rings, i);

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

/* The job's part of the bank, or NULL */
static __always_inline struct gt_k_pair *k_pair_of(struct gt_k_ctl *c, struct gt_k_job *j,
						   bool make)
{
	uint32_t i = j->pair;

	if (i == GT_NONE32 && make) {
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

static __always_inline void k_account(struct gt_k_ring *r, struct gt_k_bank *b, struct gt_k_pair *p,
				      struct gt_k_sum *s, struct gt_k_job *j, uint32_t events)
{
	if (events & GT_K_SUBMIT)
		gt_k_submitted(r, b, j);
	if (events & GT_K_COMMIT)
		gt_k_committed(r, b, j);
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
	p = k_pair_of(c, j, true);
	if (!(j->flags & GT_K_ENTERED)) { /* its first */
		j->flags |= GT_K_ENTERED;
		gt_k_enter(r, &r->bank[bank], j);
		k_pair_enters(p, j);
	}
	k_account(r, &r->bank[bank], p, k_sum(p, bank), j, events);
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

static __noinline void k_tale(const struct gt_k_job *j, const struct gt_k_ended *e, uint64_t ts,
			      bool counted)
{
	struct {
		struct gt_bpf_raw raw;
		struct gt_k_tale t;
	} out = { .raw = k_raw(ts, GT_BPF_TALE, sizeof(out.t)) };

	for (unsigned int i = 0; i < GT_NSTAGES; i++)
		out.t.v[i] = e->v[i];
	out.t.busy = e->pair_busy;
	out.t.start = j->start;
	out.t.pid = j->pid;
	out.t.uid = j->uid;
	out.t.ring = j->ring;
	out.t.told = j->told;
	out.t.counted = counted;
	gt_send(GT_BPF_TRACEPOINT, ts, &out, sizeof(out));
}

/* The daemon is to come from now on. */
static __noinline void k_wake(struct gt_k_ctl *c, uint64_t ts)
{
	struct gt_bpf_raw raw = k_raw(ts, GT_BPF_WAKE, 0);

	c->awake = 1;
	gt_send(GT_BPF_TRACEPOINT, ts, &raw, sizeof(raw));
}

/* The job, which is this program's alone, has ended. False: it waits for the daemon to count that
 */
__noinline int k_end(struct gt_k_ctl *c, struct gt_k_job *j, struct gt_k_event *e)
{
	struct gt_k_ended rest;
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
		e->job = r->completed + 1;
		__sync_fetch_and_add(&c->owed, 1);
		__sync_fetch_and_add(&c->strangers, 1); /* the next does not know of its end */
		return 0;
	}
	bank = c->bank & 1;
	b = &r->bank[bank];
	p = k_pair_of(c, j, true);
	s = k_sum(p, bank);
	if (!(j->flags & GT_K_ENTERED)) {
		gt_k_enter(r, b, j);
		k_pair_enters(p, j);
	}
	gt_k_pair_leaves(p, j);
	if (j->owed)
		k_account(r, b, p, s, j, j->owed);
	gt_k_finish(r, b, j, e->ts, r->strangers == c->strangers, &e->end);
	r->strangers = c->strangers;
	rest = e->end;
	e->job = r->completed;
	if (s) {
		s->completed++;
		s->busy += e->end.pair_busy;
		if (!s->first)
			s->first = j->seen;
		all = k_values(c, s, &rest, bank);
	}
	k_unlock(r);
	if (!all)
		k_tale(j, &rest, e->ts, s != NULL);
	return 1;
}

/* Events ------------------------------------------------------------------------------------------
 */

/* Who runs: the number of a process may be used again, its begin is not */
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

/* The job that was found has its key no longer: its end was lost, or is another's. */
static __always_inline void k_orphan(const struct gt_k_event *e)
{
	uint32_t at = e->job, line = at / GT_K_WAYS;
	struct gt_k_line *l = LOOK(k_job_keys, line);

	if (l)
		__sync_val_compare_and_swap(&l->key[at % GT_K_WAYS], gt_k_key(e->h), GT_K_LONE);
}

static __always_inline int k_what(const struct gt_k_job *j)
{
	return j->flags & GT_K_REC ? GT_K_TELL : GT_K_QUIET;
}

/* Is a new job to be in records? Of too many some are, whole, whichever: by their keys. */
static __always_inline uint8_t k_recorded(struct gt_k_ctl *c, const struct gt_k_event *e)
{
	if (!c->records)
		return 0;
	if (c->limit && (e->h >> 54 >= c->share || __sync_fetch_and_add(&c->taken, 1) >= c->limit))
		return GT_K_THIN;
	return GT_K_REC;
}

/* A job begins. */
__noinline int k_begin(struct gt_k_ctl *c, struct gt_k_event *e, uint32_t roles)
{
	struct gt_k_job *j;

	if (!c || !e)
		return GT_K_PASS;
	e->job = job_key_claim(e->h);
	j = e->job == GT_NONE32 ? NULL : LOOK(k_jobs, e->job);
	if (!j) {
		__sync_fetch_and_add(&c->no_job, 1);
		return GT_K_PASS;
	}
	if (e->job >= GT_K_HOT * GT_K_WAYS && !c->spilled)
		c->spilled = 1;
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
		.told = roles & (GT_K_SUBMIT | GT_K_COMMIT),
		.flags = k_recorded(c, e),
		.pid = e->pid,
		.uid = e->uid,
		.start = e->start,
	};
	job_key_set(e->job, gt_k_key(e->h));
	k_settle(c, j, j->told);
	return k_what(j);
}

/* It is told again: nothing new but that an event was seen */
__noinline int k_again(struct gt_k_ctl *c, struct gt_k_job *j, struct gt_k_event *e, uint32_t type)
{
	struct gt_k_ring *r;
	uint32_t at;

	if (!c || !j || !e)
		return GT_K_PASS;
	at = j->ring;
	r = LOOK(k_rings, at);
	if (r && k_lock(r)) {
		gt_k_seen(&r->bank[c->bank & 1], j, type, e->ts);
		k_unlock(r);
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
	if (j && k_same(j, e) && (j->told & GT_K_SUBMIT))
		return k_again(c, j, e, 0);
	if (j)
		k_orphan(e);
	k_who(e);
	return k_begin(c, e, roles);
}

__noinline int k_commit(struct gt_k_ctl *c, struct gt_k_event *e, uint32_t begins, uint32_t placed)
{
	struct gt_k_job *j;

	if (!c || !e)
		return GT_K_PASS;
	j = k_find(c, e);
	if (j && placed && j->ring != e->ring) { /* another ring took it: there it is a new one */
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
	if (j->told & GT_K_COMMIT)
		return k_again(c, j, e, 3);
	j->commit = e->ts;
	j->told |= GT_K_COMMIT;
	k_settle(c, j, GT_K_COMMIT);
	return k_what(j);
}

__noinline int k_complete(struct gt_k_ctl *c, struct gt_k_event *e)
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
	if (!l || __sync_val_compare_and_swap(&l->key[at % GT_K_WAYS], key, GT_K_BUSY) != key) {
		__sync_fetch_and_add(&c->strangers, 1);
		return GT_K_PASS;
	}
	what = k_what(j);
	if (k_end(c, j, e)) {
		key = GT_K_FREE;
	} else {
		e->end.v[GT_ST_HW_WAIT] = e->end.v[GT_ST_EXEC] = GT_K_NONE;
		j->done = e->ts;
		key = GT_K_ENDED;
	}
	k_release(&l->key[at % GT_K_WAYS], key);
	return what;
}

/* The key of its job; false: the event does not tell it */
static __always_inline bool k_key(const struct gt_k_tp *tp, const uint8_t *data,
				  const struct gt_k_ctl *c, struct gt_k_event *e)
{
	uint64_t fence = 0;

	if (tp->ctx.size && !k_number(data, &tp->ctx, &e->ctx) && (tp->key & GT_K_BY_CTX))
		return false;
	if (tp->seqno.size && !k_number(data, &tp->seqno, &e->seqno) && (tp->key & GT_K_BY_SEQNO))
		return false;
	if (tp->key & GT_K_BY_FENCE) {
		k_number(data, &tp->fence, &fence);
		if (!fence)
			return false;
	}
	/* as backend/eventmap/job.c: dma_fence's events tell the low halves */
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

/* Which ring; false: it is none that is counted here */
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

/* The job that somebody waits for, if it is known */
static __always_inline void k_wait(struct gt_k_ctl *c, struct gt_k_event *e)
{
	struct gt_k_job *j = k_find(c, e);

	e->ring = j ? j->ring : GT_NONE32;
	e->ctx = j ? j->ctx : GT_NONE64;
}

/** gt_k_count() - counts the event of time @e->ts, @len bytes of @rec, if that is for the kernel */
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
	e->known = tp && tp->roles == GT_K_WAIT;
	if (!tp || !tp->roles || !c || !c->on)
		return GT_K_PASS;
	if (tp->ring && (tp->begins || (tp->roles & GT_K_COMMIT) || (tp->key & GT_K_BY_RING))) {
		placed = k_ring_of(tp, c, index, data, len, e);
		if (!placed && (tp->begins || (tp->key & GT_K_BY_RING)))
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
		return k_commit(c, e, tp->begins, placed);
	return k_complete(c, e);
}

#endif
