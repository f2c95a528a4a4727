/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Jobs that a source can match and count itself: where in the records is what it needs for that.
 * All the sections that share jobs go the same way, and only if each can.
 */
#include "internal.h"

#define BIT(type) (1u << (type))
#define JOB_TYPES (BIT(GT_SUBMIT) | BIT(GT_COMMIT) | BIT(GT_START) | BIT(GT_END) | BIT(GT_COMPLETE))
#define OWN_TYPES (BIT(GT_SUBMIT) | BIT(GT_COMMIT) | BIT(GT_COMPLETE))
/* given, they make more of an event than a source knows how to count */
#define MORE (BIT(GT_NUM_PID) | BIT(GT_NUM_VALUE) | BIT(GT_NUM_QUEUE))

static const struct gt_section *only_section(const struct gt_tp *tp)
{
	const struct gt_section *only = NULL;

	for (const struct gt_section *s = tp->sections; s; s = s->next) {
		if (!s->use || !s->bound)
			continue;
		if (only)
			return NULL;
		only = s;
	}
	return only;
}

static bool piece_of(const struct gt_field *f, struct gt_tp_piece *out)
{
	static const uint8_t kinds[] = {
		[GT_K_INT] = GT_PIECE_INT, [GT_K_PTR] = GT_PIECE_INT,	  [GT_K_DYN] = GT_PIECE_DYN,
		[GT_K_REL] = GT_PIECE_REL, [GT_K_CHARS] = GT_PIECE_CHARS,
	};

	if (f->kind == GT_K_NONE || f->size > UINT8_MAX)
		return false;
	*out = (struct gt_tp_piece){ .off = f->off,
				     .size = (uint8_t)f->size,
				     .kind = kinds[f->kind] };
	return true;
}

static bool number(const struct gt_section *s, enum gt_num_id id, struct gt_tp_piece *out)
{
	const struct gt_num *n = &s->num[id];

	*out = (struct gt_tp_piece){ 0 };
	return s->nums & BIT(id) && n->kind == GT_N_FIELD && n->scale == 1 && !n->more.field[0] &&
	       n->ref.raw.kind == GT_K_INT && piece_of(&n->ref.raw, out);
}

/* Does a record tell another number than the piece, or one where there is no piece? */
static bool differs(const struct gt_section *s, enum gt_num_id id, const struct gt_tp_piece *p)
{
	const struct gt_field *f = &s->num[id].ref.raw;

	if (!(s->nums & BIT(id)))
		return false;
	if (!p->size)
		return s->num[id].kind != GT_N_FIELD || f->kind != GT_K_NONE;
	return f->sign && f->size < 8;
}

/* The first alternative of `match` whose parts a record has */
static bool key_of(const struct gt_section *s, struct gt_tp_job *out)
{
	bool ctx = number(s, GT_NUM_CTX, &out->ctx), seqno = number(s, GT_NUM_SEQNO, &out->seqno);
	bool fence =
		s->nums & BIT(GT_NUM_FENCE) && piece_of(&s->num[GT_NUM_FENCE].ref.raw, &out->fence);

	out->vague = differs(s, GT_NUM_CTX, &out->ctx) || differs(s, GT_NUM_SEQNO, &out->seqno);
	for (unsigned int i = 0; i < s->nmatch; i++) {
		uint8_t alt = s->match[i];

		if ((alt & GT_M_CTX && !ctx) || (alt & GT_M_SEQNO && !seqno) ||
		    (alt & GT_M_FENCE && !fence) || (alt & GT_M_RING && !s->ring.n))
			continue;
		out->key = alt;
		return !(alt & GT_M_ORDER);
	}
	return false;
}

/* What a template takes out of a record; what stands around it goes into the seed. */
static bool pieces_of(const struct gt_tmpl *t, struct gt_tp_job *out)
{
	const struct gt_alt *a;

	if (t->raw_alt < 0)
		return false;
	a = &t->alt[t->raw_alt];
	for (unsigned int i = 0; i < a->n; i++) {
		const struct gt_part *p = &a->part[i];

		out->seed = gt_mix(out->seed, gt_hash_bytes(p->lit, strlen(p->lit)));
		out->seed = gt_mix(out->seed,
				   gt_hash_bytes(p->words, p->nwords ? sizeof(p->words) : 0));
		if (!p->has_ref)
			continue;
		if (out->npiece == GT_TP_PIECES || !piece_of(&p->ref.raw, &out->piece[out->npiece]))
			return false;
		out->npiece++;
	}
	return true;
}

static bool place_of(const struct gt_section *s, struct gt_tp_job *out)
{
	const struct gt_num *minor = &s->num[GT_NUM_MINOR];

	out->seed = gt_mix(s->map + 1, 0);
	if (!s->ring.n)
		return s->bits == BIT(GT_COMPLETE);
	if (s->dev.n) {
		if (!pieces_of(&s->dev, out))
			return false;
	} else if (minor->kind != GT_N_FIELD ||
		   !piece_of(&minor->ref.raw, &out->piece[out->npiece++])) {
		return false;
	}
	return pieces_of(&s->ring, out);
}

static bool own(const struct gt_section *s, struct gt_tp_job *out)
{
	struct gt_tp_where w;

	*out = (struct gt_tp_job){ .types = s->bits,
				    .map = s->map,
				    .known = s->only == GT_ONLY_KNOWN };
	if (only_section(s->tp) != s || s->bits & ~OWN_TYPES || !(s->bits & OWN_TYPES) ||
	    s->nums & MORE || s->nheard || s->only == GT_ONLY_FILE)
		return false;
	if (s->bits & BIT(GT_COMPLETE) && s->bits != BIT(GT_COMPLETE))
		return false;
	if (s->where.op && !gt_tp_where(s->tp, &w))
		return false;
	return key_of(s, out) && place_of(s, out);
}

/* Do both tell their ring in the same words, so that what is the same in both is the same ring? */
static bool same_place(const struct gt_tp_job *a, const struct gt_tp_job *b)
{
	bool same = a->seed == b->seed && a->npiece == b->npiece;

	for (unsigned int i = 0; same && i < a->npiece; i++)
		same = a->piece[i].kind == b->piece[i].kind;
	return same;
}

/* Is @o, in use, a part of the jobs of @s, @mine, that is not counted, so that these cannot be
 * either? */
static bool spoils(const struct gt_section *o, const struct gt_section *s,
		   const struct gt_tp_job *mine)
{
	struct gt_tp_job job;
	bool shares = false;

	if (!o->use || !o->bound || !o->nmatch || !(o->bits & JOB_TYPES))
		return false;
	if (o->map == s->map)
		return !own(o, &job) || job.key != mine->key ||
		       (o->ring.n && s->ring.n && !same_place(&job, mine));
	if (o->only == GT_ONLY_FILE)
		return false;
	/* another file's tells of these jobs if it leaves to them where they run */
	for (unsigned int i = 0; i < o->nmatch; i++)
		shares |= o->match[i] == mine->key;
	return shares && !o->ring.n;
}

bool gt_tp_job(const struct gt_tp *tp, struct gt_tp_job *out)
{
	const struct gt_section *s = only_section(tp);
	const struct gt_eventmap *m = tp->m;
	bool submits = false;

	if (!s || !own(s, out))
		return false;
	for (unsigned int i = 0; i < m->ntps; i++)
		for (const struct gt_section *o = m->tps[i]->sections; o; o = o->next) {
			if (spoils(o, s, out))
				return false;
			submits |=
				o->use && o->bound && o->map == s->map && o->bits & BIT(GT_SUBMIT);
		}
	out->begins = s->bits & BIT(GT_SUBMIT) || (s->bits & BIT(GT_COMMIT) && !submits);
	return true;
}

bool gt_tp_wait(const struct gt_tp *tp, struct gt_tp_job *out)
{
	const struct gt_section *s = only_section(tp);
	struct gt_tp_where w;

	*out = (struct gt_tp_job){ 0 };
	return s && s->only == GT_ONLY_ANY && (!s->where.op || gt_tp_where(tp, &w)) && !s->ring.n &&
	       (s->flags || !(s->bits & ~(BIT(GT_SYNC_WAIT_ENTER) | BIT(GT_SYNC_WAIT_EXIT)))) &&
	       key_of(s, out) && out->key == (GT_KEY_CTX | GT_KEY_SEQNO);
}

bool gt_tp_place(struct gt_tp *tp, const struct gt_evctx *c, const void *rec, size_t len,
		 uint16_t *gpu, uint16_t *ring)
{
	struct gt_src src = { .raw = true, .data = rec, .len = len };
	struct gt_section *s = (struct gt_section *)only_section(tp);

	*gpu = *ring = GT_NONE16;
	if (!s || !gt_gpu_told(tp->m, s, &src, gpu) || *gpu == GT_NONE16)
		return false;
	*ring = gt_ring_of(tp->m, s, &src, *gpu);
	return *ring != GT_NONE16;
}
