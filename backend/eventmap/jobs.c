/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What is remembered between events: jobs, numbers of pointers, waits, FIFOs of rings.
 *
 * A job is remembered at its submission, or at the first event that is seen of it, under the key that
 * its map names. Later events get from it what they do not have themselves. Fence pointers are used
 * again after a job's end but never by two jobs at once, so a key belongs to a job until COMPLETE or
 * until a submission with the same key. dma_fence's events have only the low 32 bits of context and
 * seqno: a key with a context compares no more.
 *
 * One event may come from two tracepoints, as where a module emits the names of Linux 6.17 beside the
 * old ones. `unless_heard` leaves the old one out once the new one is seen. But the first event, and
 * the first after a second of silence, comes by the old one before that is known. When the new one
 * then reports the same, it takes the numbers of the job that exists already, and later events find
 * it by the new key, no longer by the old one.
 *
 * Where no event with the new key ends jobs, as in a recording that lacks those events, old events
 * that are left out still link the old key to the job. The two events of one job come from one
 * thread, and those of one type always in the same order.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "internal.h"

/* two events of one job come from one call, but an interrupt or a busy host may come between */
#define SAME_NS 1000000000
#define BEGINS                                                                                     \
	(GT_BIT(GT_SUBMIT) | GT_BIT(GT_COMMIT) |                                                   \
	 GT_BIT(GT_START)) /* they remember an unknown job */

/* Bounded tables ------------------------------------------------------------------------------- */

static void table_free(struct gt_table *t)
{
	free(t->slots);
	free(t->heads);
	t->slots = NULL;
	t->heads = NULL;
}

/*
 * A hash table of bounded size. Slots come from an array; the kernel makes its pages as they are used; freed slots are used again first, so that jobs in flight stay in the cache. The seed keeps a
 * recording from choosing keys that all fall into one chain.
 */
static int table_init(struct gt_table *t, uint32_t cap, uint64_t seed, uint64_t *forgotten)
{
	uint32_t bits = 1;

	while ((1u << bits) < cap)
		bits++;
	*t = (struct gt_table){ .seed = seed, .forgotten = forgotten, .cap = cap };
	t->seed2 = (seed << 32 | seed >> 32) * 0x9e3779b97f4a7c15ull;
	t->mask = (1u << bits) - 1;
	t->slots = calloc((size_t)cap + 1, sizeof(*t->slots));
	t->heads = calloc((size_t)1 << bits, sizeof(*t->heads));
	if (t->slots && t->heads)
		return 0;
	table_free(t);
	return -ENOMEM;
}

static void age_unlink(struct gt_table *t, uint32_t i)
{
	struct gt_slot *s = &t->slots[i];

	if (s->older)
		t->slots[s->older].newer = s->newer;
	else
		t->oldest = s->newer;
	if (s->newer)
		t->slots[s->newer].older = s->older;
	else
		t->newest = s->older;
}

static void age_append(struct gt_table *t, uint32_t i)
{
	struct gt_slot *s = &t->slots[i];

	s->older = t->newest;
	s->newer = 0;
	if (t->newest)
		t->slots[t->newest].newer = i;
	else
		t->oldest = i;
	t->newest = i;
}

static void table_del(struct gt_table *t, uint32_t i)
{
	struct gt_slot *s = &t->slots[i];
	uint32_t *link = &t->heads[s->bucket];

	while (*link != i)
		link = &t->slots[*link].hnext;
	*link = s->hnext;
	age_unlink(t, i);
	s->hnext = t->free;
	t->free = i;
	t->count--;
}

static void table_touch(struct gt_table *t, uint32_t i)
{
	if (t->newest == i)
		return;
	age_unlink(t, i);
	age_append(t, i);
}

uint32_t gt_table_add(struct gt_table *t, uint64_t k1, uint64_t k2)
{
	struct gt_slot *s;
	uint32_t i, *head, at = gt_table_bucket(t, k1, k2);

	if (t->count == t->cap) {
		table_del(t, t->oldest);
		++*t->forgotten;
	}
	i = t->free;
	if (i)
		t->free = t->slots[i].hnext;
	else
		i = ++t->fresh;
	t->count++;
	s = &t->slots[i];
	head = &t->heads[at];
	*s = (struct gt_slot){ .k1 = k1, .k2 = k2, .hnext = *head, .bucket = at };
	*head = i;
	age_append(t, i);
	return i;
}

uint64_t gt_number(struct gt_eventmap *m, uint64_t pointer)
{
	struct gt_table *t = &m->numbers;
	uint32_t i = gt_table_find(t, 0, pointer);

	if (!i) {
		i = gt_table_add(t, 0, pointer);
		t->slots[i].a = ++m->next_number;
	} else if (t->count > t->cap / 2) {
		/* the table fills up: numbers in use must not leave it */
		table_touch(t, i);
	}
	return t->slots[i].a;
}

int gt_tables_init(struct gt_eventmap *m)
{
	uint64_t seed = 0, *lost = &m->stats.forgotten;

	/* a known seed only allows longer chains */
	if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) != sizeof(seed))
		seed = (uintptr_t)m;
	if (table_init(&m->jobs, GT_MAP_JOBS, seed, lost) ||
	    table_init(&m->numbers, GT_MAP_SMALL, seed, lost) ||
	    table_init(&m->waits, GT_MAP_SMALL, seed, lost) ||
	    table_init(&m->fifos, GT_MAP_SMALL, seed, lost) ||
	    table_init(&m->submitters, GT_MAP_SMALL, seed, &m->reasked) ||
	    table_init(&m->contexts, GT_MAP_SMALL, seed, &m->reasked))
		return -ENOMEM;
	return 0;
}

void gt_tables_free(struct gt_eventmap *m)
{
	table_free(&m->jobs);
	table_free(&m->numbers);
	table_free(&m->waits);
	table_free(&m->fifos);
	table_free(&m->submitters);
	table_free(&m->contexts);
}

/* Jobs ----------------------------------------------------------------------------------------- */

/** struct key - of a job; @order: the job is the next one of its ring */
struct key {
	uint64_t k1, k2;
	bool order;
};

static bool has(const struct gt_job *j, uint8_t alt)
{
	return !((alt & GT_M_FENCE && !j->fence) || (alt & GT_M_CTX && j->ctx == GT_NONE64) ||
		 (alt & GT_M_SEQNO && j->seqno == GT_NONE64) ||
		 (alt & (GT_M_RING | GT_M_ORDER) && j->ring == GT_NONE16));
}

static uint64_t ring_bits(const struct gt_job *j)
{
	return (uint64_t)(j->gpu & 0x7ff) << 48 | (uint64_t)j->ring << 32;
}

static bool make_key(const struct gt_section *s, const struct gt_job *j, struct key *k)
{
	unsigned int i;
	uint8_t alt;

	for (i = 0; i < s->nmatch && !has(j, s->match[i]); i++)
		;
	if (i == s->nmatch)
		return false;
	alt = s->match[i];
	*k = (struct key){ .k1 = (uint64_t)alt << 59, .order = alt & GT_M_ORDER };
	if (alt & (GT_M_RING | GT_M_ORDER))
		k->k1 |= ring_bits(j);
	if (alt & GT_M_CTX)
		k->k1 |= (uint32_t)j->ctx;
	if (alt & GT_M_FENCE)
		k->k2 = j->fence;
	else if (alt & GT_M_SEQNO)
		k->k2 = alt & GT_M_CTX ? (uint32_t)j->seqno : j->seqno;
	return true;
}

/*
 * A ring with jobs first in, first out: the key becomes (ring, position). A submission takes the
 * next position, other events mean the oldest job that is left.
 */
static bool order_key(struct gt_eventmap *m, uint64_t types, struct key *k)
{
	struct gt_table *t = &m->fifos;
	uint32_t i = gt_table_find(t, k->k1, 0);
	struct gt_slot *f;

	if (!i) {
		i = gt_table_add(t, k->k1, 0);
		t->slots[i].a = t->slots[i].b = 1;
	}
	f = &t->slots[i];
	if (types & GT_BIT(GT_SUBMIT)) {
		k->k2 = f->b++;
		return true;
	}
	while (f->a < f->b && !gt_table_find(&m->jobs, k->k1, f->a))
		f->a++; /* dropped, as the table was full */
	k->k2 = f->a;
	if (f->a == f->b)
		return false;
	if (types & GT_BIT(GT_COMPLETE))
		f->a++;
	return true;
}

static void recall(const struct gt_slot *s, struct gt_job *j)
{
	j->gpu = s->gpu;
	j->ring = s->ring;
	j->ctx = s->a;
	j->seqno = s->b;
	if (s->pid != GT_NONE32)
		j->pid = s->pid;
}

static void remember_context(struct gt_eventmap *m, uint16_t map, const struct gt_job *j)
{
	struct gt_ctx_place *p = &m->ctx_place[(uint32_t)j->ctx % GT_CTX_SET];
	bool same = p->known && p->ctx == (uint32_t)j->ctx && p->gpu == j->gpu;

	p->ends &= same && p->map == map;
	p->some_done &= same;
	/* A context may have a choice of rings. */
	p->ring = same && p->ring != j->ring ? GT_NONE16 : j->ring;
	p->gpu = j->gpu;
	p->map = map;
	p->ctx = (uint32_t)j->ctx;
	p->known = true;
}

static void remember(struct gt_eventmap *m, uint16_t map, const struct key *k,
		     const struct gt_job *j, uint32_t at)
{
	struct gt_slot *s = &m->jobs.slots[at ? at : gt_table_add(&m->jobs, k->k1, k->k2)];

	if (at)
		table_touch(&m->jobs, at);
	s->renamed = false;
	s->map = map;
	s->gpu = j->gpu;
	s->ring = j->ring;
	s->a = j->ctx;
	s->b = j->seqno;
	s->pid = j->pid;
	if (k->k1 >> 59 & GT_M_CTX)
		remember_context(m, map, j);
}

/* Do the event's fields contradict the remembered job? Then that job's end was lost. */
static bool other_job(const struct gt_slot *s, const struct gt_job *j)
{
	if (s->renamed)
		return false;
	return (j->gpu != GT_NONE16 && s->gpu != j->gpu) ||
	       (j->ring != GT_NONE16 && s->ring != j->ring) ||
	       (j->ctx != GT_NONE64 && s->a != GT_NONE64 && (uint32_t)s->a != (uint32_t)j->ctx) ||
	       (j->seqno != GT_NONE64 && s->b != GT_NONE64 && (uint32_t)s->b != (uint32_t)j->seqno);
}

/* Slot of the job, 0: none */
static uint32_t look_up(const struct gt_eventmap *m, const struct gt_section *s,
			const struct gt_job *j)
{
	struct key k;

	return !make_key(s, j, &k) || k.order ? 0 : gt_table_find(&m->jobs, k.k1, k.k2);
}

bool gt_job_known(const struct gt_eventmap *m, const struct gt_section *s, const struct gt_job *j)
{
	return look_up(m, s, j) != 0;
}

uint16_t gt_job_gpu(const struct gt_eventmap *m, const struct gt_section *s, const struct gt_job *j)
{
	uint32_t i = look_up(m, s, j);

	return i ? m->jobs.slots[i].gpu : GT_NONE16;
}

static const struct gt_ctx_place *context_of(const struct gt_eventmap *m, uint64_t ctx)
{
	const struct gt_ctx_place *p = &m->ctx_place[(uint32_t)ctx % GT_CTX_SET];

	return ctx != GT_NONE64 && p->known && p->ctx == (uint32_t)ctx ? p : NULL;
}

/* Is @seqno, if it is known, no later than @last? By their low 32 bits */
static bool is_past(uint32_t last, uint64_t seqno)
{
	return seqno != GT_NONE64 && (int32_t)(last - (uint32_t)seqno) >= 0;
}

static void note_done(struct gt_eventmap *m, const struct gt_job *j)
{
	struct gt_ctx_place *p = &m->ctx_place[(uint32_t)j->ctx % GT_CTX_SET];

	if (p != context_of(m, j->ctx) || j->seqno == GT_NONE64 ||
	    (p->some_done && is_past(p->done, j->seqno)))
		return;
	p->done = (uint32_t)j->seqno;
	p->some_done = true;
}

bool gt_job_is_done(const struct gt_eventmap *m, const struct gt_job *j)
{
	const struct gt_ctx_place *p = context_of(m, j->ctx);

	return p && p->some_done && is_past(p->done, j->seqno);
}

enum gt_found gt_job_resolve(struct gt_eventmap *m, const struct gt_section *s, struct gt_job *j)
{
	uint64_t types = s->bits;
	uint32_t i;
	struct key k;
	bool anew;

	if (!make_key(s, j, &k))
		return GT_JOB_NO_KEY;
	if (k.order && !order_key(m, types, &k))
		return GT_JOB_UNKNOWN;
	if (k.order && j->seqno == GT_NONE64)
		j->seqno = k.k2;
	i = gt_table_find(&m->jobs, k.k1, k.k2);
	if (s->unknown_job == GT_UNKNOWN_SAME_FILE && i && m->jobs.slots[i].map != s->map)
		return GT_JOB_UNKNOWN;
	anew = !i || types & GT_BIT(GT_SUBMIT) ||
	       (!k.order && types & BEGINS && other_job(&m->jobs.slots[i], j));
	if (anew) {
		if (j->ring == GT_NONE16 || !(types & BEGINS))
			return GT_JOB_UNKNOWN;
		if (!(types & GT_BIT(GT_COMPLETE)))
			remember(m, s->map, &k, j, i);
		return GT_JOB_FOUND;
	}
	if (s->unknown_job == GT_UNKNOWN_RING && other_job(&m->jobs.slots[i], j))
		return GT_JOB_UNKNOWN;
	recall(&m->jobs.slots[i], j);
	if (types & GT_BIT(GT_COMPLETE)) {
		table_del(&m->jobs, i);
		note_done(m, j);
	}
	return GT_JOB_FOUND;
}

void gt_job_forget(struct gt_eventmap *m, const struct gt_section *s, const struct gt_job *j)
{
	uint32_t i = look_up(m, s, j);

	if (i)
		table_del(&m->jobs, i);
}

/* Has the key of @j lead to job @known */
static void set_same_job(struct gt_eventmap *m, const struct gt_section *s, const struct gt_job *j,
			 const struct gt_job *known)
{
	struct gt_slot *slot;
	struct key k;

	if (!make_key(s, j, &k) || k.order)
		return;
	remember(m, s->map, &k, j, gt_table_find(&m->jobs, k.k1, k.k2));
	slot = &m->jobs.slots[gt_table_find(&m->jobs, k.k1, k.k2)];
	slot->renamed = true;
	slot->gpu = known->gpu;
	slot->ring = known->ring;
	slot->a = known->ctx;
	slot->b = known->seqno;
	slot->pid = known->pid;
}

bool gt_job_context_known(const struct gt_eventmap *m, const struct gt_section *s, uint64_t ctx)
{
	const struct gt_ctx_place *p = context_of(m, ctx);

	return p && (s->unknown_job != GT_UNKNOWN_SAME_FILE || p->map == s->map);
}

void gt_job_context_ended(struct gt_eventmap *m, const struct gt_job *j)
{
	struct gt_ctx_place *p = &m->ctx_place[(uint32_t)j->ctx % GT_CTX_SET];

	if (p != context_of(m, j->ctx) || j->seqno == GT_NONE64)
		return;
	p->ended = (uint32_t)j->seqno;
	p->ends = true;
}

bool gt_job_ended_before(const struct gt_eventmap *m, const struct gt_job *j)
{
	const struct gt_ctx_place *p = context_of(m, j->ctx);

	return p && p->ends && is_past(p->ended, j->seqno);
}

void gt_job_context_place(const struct gt_eventmap *m, struct gt_job *j)
{
	const struct gt_ctx_place *p = context_of(m, j->ctx);

	if (!p)
		return;
	j->gpu = p->gpu;
	j->ring = p->ring;
}

static uint64_t wait_key(const struct gt_job *j)
{
	return (uint64_t)(uint32_t)j->ctx << 32 | (uint32_t)j->seqno;
}

void gt_wait_enter(struct gt_eventmap *m, uint32_t tid, uint64_t ts, const struct gt_job *j)
{
	uint32_t i = gt_table_find(&m->waits, tid, wait_key(j));

	if (!i)
		i = gt_table_add(&m->waits, tid, wait_key(j));
	m->waits.slots[i].a = ts;
	m->waits.slots[i].b = j->ctx;
	m->waits.slots[i].gpu = j->gpu;
	m->waits.slots[i].ring = j->ring;
}

uint64_t gt_wait_exit(struct gt_eventmap *m, uint32_t tid, uint64_t ts, struct gt_job *j)
{
	uint32_t i = gt_table_find(&m->waits, tid, wait_key(j));
	const struct gt_slot *s = &m->waits.slots[i];

	if (!i)
		return GT_NONE64;
	if (s->gpu != GT_NONE16) {
		j->gpu = s->gpu;
		j->ring = s->ring;
		j->ctx = s->b; /* all 64 bits, from the job */
	}
	table_del(&m->waits, i);
	return ts >= s->a ? ts - s->a : GT_NONE64;
}

/* Duplicates ----------------------------------------------------------------------------------- */

void gt_dedup_note(struct gt_eventmap *m, const struct gt_section *s, const struct gt_evctx *c,
		   const struct gt_job *j)
{
	if (s->nheard && s->bits & BEGINS)
		m->noted[c->tid % GT_NOTED] =
			(struct gt_noted){ .s = s, .ts = c->ts, .tid = c->tid, .job = *j };
}

/* Does section @n->s name the tracepoint in `unless_heard`? */
static bool is_newer(const struct gt_noted *n, const struct gt_tp *tp)
{
	for (unsigned int i = 0; i < n->s->nheard; i++)
		if (n->s->heard_tp[i] == tp)
			return true;
	return false;
}

bool gt_dedup_is_duplicate(struct gt_eventmap *m, const struct gt_tp *tp,
			   const struct gt_section *s, const struct gt_evctx *c,
			   const struct gt_job *j)
{
	struct gt_noted *at = &m->noted[c->tid % GT_NOTED], n = *at;

	if (!n.s || !(s->bits & BEGINS) || c->tid != n.tid || !is_newer(&n, tp))
		return false;
	at->s = NULL;
	if (s->bits != n.s->bits || c->ts - n.ts > SAME_NS)
		return false;
	if (n.s->links)
		m->link_order[s->types[0]] = GT_LINK_NEWER_LAST;
	else
		gt_job_forget(m, n.s, &n.job);
	set_same_job(m, s, j, &n.job);
	return true;
}

/* Does a tracepoint that replaces @end exist and report ends? */
static bool has_newer_end(const struct gt_section *end, gt_tracepoint_exists_fn present, void *arg)
{
	for (unsigned int i = 0; i < end->nheard; i++) {
		const struct gt_tp *tp = end->heard_tp[i];

		if (tp && gt_tp_types(tp) & GT_BIT(GT_COMPLETE) &&
		    present(arg, tp->system, tp->event))
			return true;
	}
	return false;
}

static void link_file(struct gt_eventmap *m, uint16_t map)
{
	for (unsigned int i = 0; i < m->ntps; i++) {
		for (struct gt_section *s = m->tps[i]->sections; s; s = s->next) {
			if (!s->use || s->map != map || !s->nheard || !(s->bits & BEGINS))
				continue;
			s->links = true;
			for (unsigned int k = 0; k < s->nheard; k++)
				if (s->heard_tp[k])
					s->heard_tp[k]->linked = true;
		}
	}
}

void gt_dedup_select(struct gt_eventmap *m, gt_tracepoint_exists_fn present, void *arg)
{
	for (unsigned int i = 0; i < m->ntps; i++) {
		m->tps[i]->linked = false;
		for (struct gt_section *s = m->tps[i]->sections; s; s = s->next)
			s->links = false;
	}
	for (unsigned int i = 0; present && i < m->ntps; i++)
		for (struct gt_section *s = m->tps[i]->sections; s; s = s->next)
			if (s->use && s->nheard && s->bits == GT_BIT(GT_COMPLETE) &&
			    s->nums & 1u << GT_NUM_FENCE &&
			    present(arg, m->tps[i]->system, m->tps[i]->event) &&
			    !has_newer_end(s, present, arg))
				link_file(m, s->map);
}

/* The other tracepoint's event of the same job; NULL: it has not come, or is of another job */
static struct gt_noted *partner(struct gt_eventmap *m, const struct gt_section *s,
				const struct gt_evctx *c, enum gt_link_order order)
{
	struct gt_noted *n = &m->begun[c->tid % GT_NOTED];
	uint8_t *known = &m->link_order[s->types[0]];

	if (*known != GT_LINK_ANY && *known != order)
		return NULL;
	if (!n->s || n->tid != c->tid || n->s->links == s->links || n->s->bits != s->bits ||
	    c->ts - n->ts > SAME_NS)
		return NULL;
	*known = (uint8_t)order;
	return n;
}

void gt_dedup_begun(struct gt_eventmap *m, const struct gt_section *s, const struct gt_evctx *c,
		    const struct gt_job *j)
{
	struct gt_noted *n;

	if (!(s->bits & BEGINS))
		return;
	n = partner(m, s, c, GT_LINK_NEWER_LAST);
	if (n)
		set_same_job(m, n->s, &n->job, j);
	m->begun[c->tid % GT_NOTED] =
		(struct gt_noted){ .s = n ? NULL : s, .ts = c->ts, .tid = c->tid, .job = *j };
}

void gt_dedup_skipped(struct gt_eventmap *m, const struct gt_section *s, const struct gt_src *src,
		      const struct gt_evctx *c)
{
	struct gt_job j = { .gpu = GT_NONE16,
			    .ring = GT_NONE16,
			    .ctx = GT_NONE64,
			    .seqno = GT_NONE64,
			    .pid = GT_NONE32 };
	struct gt_noted *n;

	if (!(s->bits & BEGINS) || !(s->nums & 1u << GT_NUM_FENCE) ||
	    !gt_src_key(src, &s->num[GT_NUM_FENCE].ref, &j.fence))
		return;
	n = partner(m, s, c, GT_LINK_NEWER_FIRST);
	if (n)
		set_same_job(m, s, &j, &n->job);
	m->begun[c->tid % GT_NOTED] =
		(struct gt_noted){ .s = n ? NULL : s, .ts = c->ts, .tid = c->tid, .job = j };
}
