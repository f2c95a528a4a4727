/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the program counted goes to the model. The program is given the other bank; once each ring's
 * lock was free nobody writes into this one any more, and it is read and emptied at leisure. That
 * is done at the end of each quarter of a second, which is what times are kept by, and before
 * somebody looks.
 */
#include <string.h>

#include "count.h"

#define IDLE_FOLDS 40		 /* then a pair without jobs is given back */
#define HANGS_NS   1000000000ull /* between folds if all there is are jobs that do not end */

static bool live(uint64_t key)
{
	return key != GT_K_FREE && key != GT_K_BUSY;
}

bool tc_ring_used(const struct tp_count *c, unsigned int i)
{
	return live(c->ring_keys[i / GT_K_WAYS].key[i % GT_K_WAYS]);
}

/* The program writes into the other bank, and nobody into the one that is returned; -1: somebody
 * may still */
static int flip(struct tp_count *c)
{
	uint32_t bank = c->ctl->bank & 1;
	bool all = true;

	__atomic_store_n(&c->ctl->bank, !bank, __ATOMIC_SEQ_CST);
	for (unsigned int i = 0; i < GT_K_RINGS; i++) {
		if (tc_ring_used(c, i))
			all &= tc_free(&c->rings[i]);
	}
	return all ? (int)bank : -1;
}

bool tc_place(struct tp_state *t, unsigned int i)
{
	struct gt_k_ring *r = &t->count->rings[i];
	struct tc_ring *to = &t->count->ring[i];
	struct gt_evctx c = { .tid = r->tid, .pid = r->pid, .cpu = (uint16_t)r->cpu };

	if (to->known || r->refused)
		return to->known;
	to->known = r->index < t->n &&
		    gt_tp_place(t->slot[r->index].tp, &c, r->data, r->len, &to->gpu, &to->ring);
	r->refused = !to->known;
	tc_placed(t, i);
	return to->known;
}

static bool sum_empty(const struct gt_k_sum *s)
{
	return !(s->submitted | s->committed | s->completed);
}

/* Gives back a pair that has not been used for long */
static void rest(struct tp_count *c, unsigned int i)
{
	struct gt_k_pair *p = &c->pairs[i];
	struct gt_k_ring *r = &c->rings[p->ring % GT_K_RINGS];

	if (p->jobs || ++c->pair[i].idle < IDLE_FOLDS || !tc_lock(r))
		return;
	if (!p->jobs && sum_empty(&p->bank[0]) && sum_empty(&p->bank[1]))
		__atomic_store_n(&c->pair_keys[i / GT_K_WAYS].key[i % GT_K_WAYS], GT_K_FREE,
				 __ATOMIC_RELEASE);
	tc_unlock(r);
	c->pair[i].idle = 0;
}

/* Pairs with something to tell are put into the lists of their rings */
static void gather(struct tp_count *c, unsigned int bank)
{
	for (unsigned int i = 0; i < GT_K_RINGS; i++)
		c->ring[i].pairs = 0;
	for (unsigned int i = 0; i < GT_K_PAIRS; i++) {
		const struct gt_k_pair *p = &c->pairs[i];
		struct tc_ring *r = &c->ring[p->ring % GT_K_RINGS];

		if (!live(c->pair_keys[i / GT_K_WAYS].key[i % GT_K_WAYS]))
			continue;
		if (sum_empty(&p->bank[bank]) && !c->pair[i].aged &&
		    p->inflight == c->pair[i].told) {
			rest(c, i);
			continue;
		}
		c->pair[i].idle = 0;
		c->pair[i].next = r->pairs;
		r->pairs = (uint16_t)(i + 1);
	}
}

static struct gt_tally_bucket *stage(const struct tp_count *c, const struct gt_k_stage *from,
				     unsigned int bank, struct gt_tally_stage *to,
				     struct gt_tally_bucket *b)
{
	*to = (struct gt_tally_stage){
		.sum = from->sum, .max = from->max, .min = ~from->under, .bucket = b
	};
	for (uint32_t o = 0; o < GT_K_OCT; o++) {
		const struct gt_k_octave *oct;

		if (!from->oct[o] || from->oct[o] > GT_K_OCTS)
			continue;
		oct = &c->octs[bank * GT_K_OCTS + from->oct[o] - 1u];
		for (uint32_t k = 0; k < GT_HIST_SUB; k++)
			if (oct->n[k])
				*b++ = (struct gt_tally_bucket){ o * GT_HIST_SUB + k, oct->n[k] };
	}
	to->nbucket = (uint32_t)(b - to->bucket);
	return b;
}

static uint64_t start_of(const struct tp_state *t, uint64_t start)
{
	return start - start % t->tick; /* as /proc tells it */
}

static void tell_pair(struct tp_state *t, unsigned int i, unsigned int bank,
		      struct gt_tally_proc *to, struct gt_tally_bucket **b)
{
	struct tp_count *c = t->count;
	struct gt_k_pair *p = &c->pairs[i];
	const struct gt_k_sum *s = &p->bank[bank];

	memcpy(c->comm[i], p->comm, sizeof(c->comm[i]));
	c->comm[i][sizeof(c->comm[i]) - 1] = '\0';
	*to = (struct gt_tally_proc){ .pid = p->pid,
				      .uid = p->uid,
				      .start = start_of(t, p->start),
				      .first = s->first,
				      .comm = c->comm[i],
				      .submitted = s->submitted,
				      .committed = s->committed,
				      .completed = s->completed,
				      .busy_ns = s->busy,
				      .inflight = p->inflight,
				      .aged = c->pair[i].aged };
	for (unsigned int k = 0; k < GT_NSTAGES; k++)
		*b = stage(c, &s->stage[k], bank, &to->stage[k], *b);
	c->pair[i].told = to->inflight;
	c->pair[i].aged = 0;
	memset(&p->bank[bank], 0, sizeof(p->bank[bank]));
}

static uint64_t hw_since(const struct gt_k_ring *r)
{
	unsigned int by = r->commits ? 1 : 0;

	return r->hw[by] ? r->hw_since[by] : 0;
}

static struct gt_tally ring_now(const struct gt_k_ring *r, const struct tc_ring *s)
{
	return (struct gt_tally){ .gpu = s->gpu,
				  .ring = s->ring,
				  .at = s->since,
				  .since = s->since,
				  .completed = s->completed,
				  .depth = s->depth,
				  .peak = s->depth,
				  .hw_since = s->hw_since,
				  .last_end = s->last_end,
				  .commits = r->commits };
}

/* Of one ring; was there anything? */
static bool tell_ring(struct tp_state *t, unsigned int i, unsigned int bank, uint64_t at)
{
	struct tp_count *c = t->count;
	struct gt_k_ring *r = &c->rings[i];
	struct gt_k_bank *b = &r->bank[bank];
	struct tc_ring *s = &c->ring[i];
	struct gt_tally_bucket *next = c->bucket;
	uint64_t area = r->area, since = hw_since(r);
	unsigned int listed = tc_list(c, i);
	struct gt_tally tally;

	/* a job that was listed may have ended before the banks were changed, and nothing since */
	if (!b->last && r->depth == s->depth && since == s->hw_since && !s->pairs &&
	    listed == s->listed)
		return false;
	s->listed = listed;
	s->completed = r->completed;
	s->depth = r->depth;
	s->hw_since = since;
	s->last_end = r->last_end;
	tally = ring_now(r, s);
	tally.at = at;
	memcpy(tally.seen, b->seen, sizeof(tally.seen));
	memcpy(tally.left, b->left, sizeof(tally.left));
	for (unsigned int k = 0; k < GT_NREFUSALS; k++)
		c->left[k] += b->left[k];
	c->begun += b->wanted;
	tally.busy_ns = b->busy;
	tally.peak = b->peak > s->depth ? b->peak : s->depth;
	tally.area = area + s->now_flying - (s->area + s->flying);
	tally.first = b->first;
	tally.last = b->last;
	tally.proc = c->proc;
	for (unsigned int p = s->pairs; p; p = c->pair[p - 1].next)
		tell_pair(t, p - 1, bank, &c->proc[tally.nproc++], &next);
	s->area = area;
	s->flying = s->now_flying;
	s->since = at;
	tally.job = c->job;
	tally.njob = listed;
	memset(b, 0, sizeof(*b));
	if (tc_place(t, i)) {
		tally.gpu = s->gpu;
		tally.ring = s->ring;
		t->b->p->host->tally(t->b->p, &tally);
	} else {
		c->unplaced +=
			tally.seen[GT_SUBMIT] + tally.seen[GT_COMMIT] + tally.seen[GT_COMPLETE];
	}
	return true;
}

static void empty_octaves(struct tp_count *c, unsigned int bank)
{
	uint32_t n = c->ctl->next[bank];

	n = n < GT_K_OCTS ? n : GT_K_OCTS;
	memset(&c->octs[bank * GT_K_OCTS], 0, n * sizeof(*c->octs));
	c->ctl->next[bank] = 0;
}

bool tc_fold(struct tp_state *t, uint64_t now, bool in_time)
{
	uint64_t began = t->b->p->host->now(t->b->p), slot = now - now % TC_SLOT_NS;
	struct tp_count *c = t->count;
	uint64_t at = in_time && slot > c->at ? slot - 1 : now;
	bool some = false;
	int bank;

	if (at < c->at)
		at = c->at;
	tc_flying(t, at);
	bank = flip(c);
	if (bank < 0)
		return true;
	gather(c, (unsigned int)bank);
	for (unsigned int i = 0; i < GT_K_RINGS; i++)
		if (tc_ring_used(c, i))
			some |= tell_ring(t, i, (unsigned int)bank, at);
	empty_octaves(c, (unsigned int)bank);
	c->at = at;
	c->folds++;
	c->fold_ns += t->b->p->host->now(t->b->p) - began;
	return some;
}

#define PER_JOB 3 /* records */
#define PER_SEC (1000000000ull / TC_SLOT_NS)

/* How many jobs may be in records until the next fold in time, and which share of them that is, as
 * far as the last quarter of a second tells */
void tc_thin(struct tp_state *t)
{
	uint64_t rate = (uint64_t)t->b->o->record_rate, limit = rate / PER_JOB / PER_SEC;
	struct gt_k_ctl *ctl = t->count->ctl;
	uint64_t begun = t->count->begun;

	limit = rate && !limit ? 1 : limit;
	ctl->share = begun > limit ? (uint32_t)(limit * 1024 / begun) + 1 : 1024;
	ctl->limit = (uint32_t)limit;
	__atomic_store_n(&ctl->taken, 0, __ATOMIC_RELAXED);
	t->count->begun = 0;
}

static void due(struct tp_state *t, uint64_t at)
{
	t->count->due = at;
	tp_due(t);
}

void tc_wake(struct tp_state *t)
{
	uint64_t now = t->b->p->host->now(t->b->p);

	if (!t->count || t->count->off || t->count->due)
		return;
	t->b->p->host->counting(t->b->p, true);
	t->count->begun = 0;
	tc_thin(t);
	due(t, now - now % TC_SLOT_NS + TC_SLOT_NS);
}

static bool hangs(const struct tp_count *c)
{
	for (unsigned int i = 0; i < GT_K_RINGS; i++)
		if (c->ring[i].depth)
			return true;
	return false;
}

/* Nothing came: the next event says so, and what comes just before it is believed is found now. */
static bool sleep_now(struct tp_state *t, uint64_t now)
{
	struct tp_count *c = t->count;

	if (hangs(c))
		return false;
	__atomic_store_n(&c->ctl->awake, 0, __ATOMIC_SEQ_CST);
	if (!tc_fold(t, now, false))
		return true;
	__atomic_store_n(&c->ctl->awake, 1, __ATOMIC_SEQ_CST);
	return false;
}

void tc_round(struct tp_state *t)
{
	uint64_t now = t->b->p->host->now(t->b->p);
	struct tp_count *c = t->count;

	if (!c || c->off)
		return;
	if (!c->due && __atomic_load_n(&c->ctl->awake, __ATOMIC_RELAXED))
		tc_wake(t);
	if (!c->due || now < c->due)
		return;
	if (tc_fold(t, now, true)) {
		tc_thin(t);
		due(t, now - now % TC_SLOT_NS + TC_SLOT_NS);
	} else if (sleep_now(t, now)) {
		due(t, 0);
		t->b->p->host->counting(t->b->p, false);
	} else {
		due(t, now - now % HANGS_NS + HANGS_NS);
	}
}

unsigned int tc_pair(const struct tp_count *c, uint32_t ring, uint32_t pid, uint64_t start)
{
	for (unsigned int i = 0; i < GT_K_PAIRS; i++)
		if (live(c->pair_keys[i / GT_K_WAYS].key[i % GT_K_WAYS]) &&
		    c->pairs[i].ring == ring && c->pairs[i].pid == pid &&
		    c->pairs[i].start == start)
			return i;
	return GT_K_PAIRS;
}

static uint32_t inflight_of(const struct tp_count *c, const struct gt_k_tale *tale)
{
	unsigned int i = tc_pair(c, tale->ring, tale->pid, tale->start);

	return i < GT_K_PAIRS ? c->pair[i].told : 0;
}

void tc_one(struct tp_state *t, const struct gt_k_tale *tale, uint32_t aged)
{
	struct tp_count *c = t->count;
	struct gt_tally_bucket b[GT_NSTAGES];
	struct gt_tally_proc p = {
		.pid = tale->pid, .uid = tale->uid, .start = start_of(t, tale->start), .aged = aged
	};
	struct gt_tally tally;

	if (tale->ring >= GT_K_RINGS || !tc_ring_used(c, tale->ring) || !tc_place(t, tale->ring))
		return;
	/* as of the last fold, so that nothing else is told twice */
	tally = ring_now(&c->rings[tale->ring], &c->ring[tale->ring]);
	if (!tally.at)
		tally.at = t->b->p->host->now(t->b->p);
	p.first = tally.at;
	tally.proc = &p;
	tally.nproc = 1;
	tally.unlisted = true;
	p.inflight = inflight_of(c, tale);
	if (!tale->counted) {
		p.submitted = !!(tale->told & GT_K_SUBMIT);
		p.committed = !!(tale->told & GT_K_COMMIT);
		p.completed = !aged;
		p.busy_ns = tale->busy;
	}
	for (unsigned int i = 0; i < GT_NSTAGES; i++) {
		if (tale->v[i] == GT_NONE64)
			continue;
		b[i] = (struct gt_tally_bucket){ gt_hist_bucket(tale->v[i]), 1 };
		p.stage[i] =
			(struct gt_tally_stage){ tale->v[i], tale->v[i], tale->v[i], &b[i], 1 };
	}
	t->b->p->host->tally(t->b->p, &tally);
}

void tc_known(struct tp_state *t, const struct gt_bpf_raw *raw, struct gt_evctx *c)
{
	if (!raw->known || !t->count || t->count->off || raw->nth >= GT_K_RINGS ||
	    !tc_ring_used(t->count, raw->nth) || !tc_place(t, raw->nth))
		return;
	c->known = true;
	c->gpu = t->count->ring[raw->nth].gpu;
	c->ring = raw->known == GT_BPF_GPU ? GT_NONE16 : t->count->ring[raw->nth].ring;
	c->ctx = raw->known == GT_BPF_JOB ? raw->exec : GT_NONE64;
}

void tc_tale(struct tp_state *t, const void *data, size_t len)
{
	struct gt_k_tale tale;

	if (!t->count || t->count->off || len < sizeof(tale))
		return;
	memcpy(&tale, data, sizeof(tale));
	t->count->tales++;
	tc_one(t, &tale, 0);
}
