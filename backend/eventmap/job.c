/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which job an event is of. A job is remembered at its submission (or what is seen of it first)
 * under the key that its map names, and gives later events what they do not tell themselves.
 *
 * Fence pointers are used again after a job's end but never by two jobs at once, so a key is a
 * job's until COMPLETE, or until a submission comes with the same key. dma_fence's events tell the
 * low 32 bits of context and seqno only: a key with a context compares no more.
 */
#include "internal.h"

#define BIT(type) (1u << (type))

/* Types at which an unknown job is remembered. */
#define REMEMBERS (BIT(GT_SUBMIT) | BIT(GT_COMMIT) | BIT(GT_START))

/** struct key - of a job; @order: it is the ring's next one */
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
 * First in, first out: the key becomes (ring, position). A submission takes the next position,
 * everything else is about the oldest that is left.
 */
static bool order_key(struct gt_eventmap *m, uint32_t types, struct key *k)
{
	struct gt_table *t = &m->fifos;
	uint32_t i = gt_table_find(t, k->k1, 0);
	struct gt_slot *f;

	if (!i) {
		i = gt_table_add(t, k->k1, 0);
		t->slots[i].a = t->slots[i].b = 1;
	}
	f = &t->slots[i];
	if (types & BIT(GT_SUBMIT)) {
		k->k2 = f->b++;
		return true;
	}
	while (f->a < f->b && !gt_table_find(&m->jobs, k->k1, f->a))
		f->a++; /* it left because the table was full */
	k->k2 = f->a;
	if (f->a == f->b)
		return false;
	if (types & BIT(GT_COMPLETE))
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
		gt_table_touch(&m->jobs, at);
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

/* Does what the event tells contradict what is remembered? Then that job's end was lost. */
static bool other_job(const struct gt_slot *s, const struct gt_job *j)
{
	if (s->renamed)
		return false;
	return (j->gpu != GT_NONE16 && s->gpu != j->gpu) ||
	       (j->ring != GT_NONE16 && s->ring != j->ring) ||
	       (j->ctx != GT_NONE64 && s->a != GT_NONE64 && (uint32_t)s->a != (uint32_t)j->ctx) ||
	       (j->seqno != GT_NONE64 && s->b != GT_NONE64 && (uint32_t)s->b != (uint32_t)j->seqno);
}

/* Its slot, 0: none. */
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

enum gt_found gt_job_resolve(struct gt_eventmap *m, const struct gt_section *s, struct gt_job *j)
{
	uint32_t types = s->bits, i;
	struct key k;
	bool anew;

	if (!make_key(s, j, &k))
		return GT_JOB_NO_KEY;
	if (k.order && !order_key(m, types, &k))
		return GT_JOB_UNKNOWN;
	if (k.order && j->seqno == GT_NONE64)
		j->seqno = k.k2;
	i = gt_table_find(&m->jobs, k.k1, k.k2);
	if (s->only == GT_ONLY_FILE && i && m->jobs.slots[i].map != s->map)
		return GT_JOB_UNKNOWN;
	anew = !i || types & BIT(GT_SUBMIT) ||
	       (!k.order && types & REMEMBERS && other_job(&m->jobs.slots[i], j));
	if (anew) {
		if (j->ring == GT_NONE16 || !(types & REMEMBERS))
			return GT_JOB_UNKNOWN;
		if (!(types & BIT(GT_COMPLETE)))
			remember(m, s->map, &k, j, i);
		return GT_JOB_FOUND;
	}
	if (s->only == GT_ONLY_RING && other_job(&m->jobs.slots[i], j))
		return GT_JOB_UNKNOWN;
	recall(&m->jobs.slots[i], j);
	if (types & BIT(GT_COMPLETE))
		gt_table_del(&m->jobs, i);
	return GT_JOB_FOUND;
}

void gt_job_forget(struct gt_eventmap *m, const struct gt_section *s, const struct gt_job *j)
{
	uint32_t i = look_up(m, s, j);

	if (i)
		gt_table_del(&m->jobs, i);
}

void gt_job_same(struct gt_eventmap *m, const struct gt_section *s, const struct gt_job *j,
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

static const struct gt_ctx_place *context_of(const struct gt_eventmap *m, uint64_t ctx)
{
	const struct gt_ctx_place *p = &m->ctx_place[(uint32_t)ctx % GT_CTX_SET];

	return ctx != GT_NONE64 && p->known && p->ctx == (uint32_t)ctx ? p : NULL;
}

bool gt_job_context_known(const struct gt_eventmap *m, const struct gt_section *s, uint64_t ctx)
{
	const struct gt_ctx_place *p = context_of(m, ctx);

	return p && (s->only != GT_ONLY_FILE || p->map == s->map);
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

	return p && p->ends && j->seqno != GT_NONE64 &&
	       (int32_t)(p->ended - (uint32_t)j->seqno) >= 0;
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
		j->ctx = s->b; /* the whole of it, as the job told */
	}
	gt_table_del(&m->waits, i);
	return ts >= s->a ? ts - s->a : GT_NONE64;
}
