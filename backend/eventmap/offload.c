/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a source may do itself before records exist: leave out events by the condition of a
 * tracepoint, and match and count jobs, with what it needs of the raw records for that. All sections
 * that share jobs are counted by the source, or none of them.
 */
#include "internal.h"

#define JOB_TYPES                                                                                  \
	(GT_BIT(GT_SUBMIT) | GT_BIT(GT_COMMIT) | GT_BIT(GT_START) | GT_BIT(GT_END) |               \
	 GT_BIT(GT_COMPLETE))
#define OWN_TYPES (GT_BIT(GT_SUBMIT) | GT_BIT(GT_COMMIT) | GT_BIT(GT_COMPLETE))
/* a source cannot count events with these */
#define MORE (GT_BIT(GT_NUM_PID) | GT_BIT(GT_NUM_VALUE) | GT_BIT(GT_NUM_QUEUE))

const struct gt_section *gt_only_section(const struct gt_tp *tp)
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
	return s->nums & GT_BIT(id) && n->kind == GT_N_FIELD && n->scale == 1 &&
	       !n->more.field[0] && n->ref.raw.kind == GT_K_INT && piece_of(&n->ref.raw, out);
}

/* May records have another number than the piece, or one where there is no piece? */
static bool differs(const struct gt_section *s, enum gt_num_id id, const struct gt_tp_piece *p)
{
	const struct gt_field *f = &s->num[id].ref.raw;

	if (!(s->nums & GT_BIT(id)))
		return false;
	if (!p->size)
		return s->num[id].kind != GT_N_FIELD || f->kind != GT_K_NONE;
	return f->sign && f->size < 8;
}

/* Takes the first alternative of `match` of which a record has all parts */
static bool key_of(const struct gt_section *s, struct gt_tp_job *out)
{
	bool ctx = number(s, GT_NUM_CTX, &out->ctx), seqno = number(s, GT_NUM_SEQNO, &out->seqno);
	bool fence = s->nums & GT_BIT(GT_NUM_FENCE) &&
		     piece_of(&s->num[GT_NUM_FENCE].ref.raw, &out->fence);

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

/* Takes the fields of a template as pieces; the text around them goes into the seed. */
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
		return s->bits == GT_BIT(GT_COMPLETE);
	if (s->dev.n) {
		if (!pieces_of(&s->dev, out))
			return false;
	} else if (minor->kind != GT_N_FIELD ||
		   !piece_of(&minor->ref.raw, &out->piece[out->npiece++])) {
		return false;
	}
	return pieces_of(&s->ring, out);
}

/* Can a source count the jobs of the section, as far as that depends on it alone? */
static bool can_offload(const struct gt_section *s, struct gt_tp_job *out)
{
	struct gt_tp_condition w;

	*out = (struct gt_tp_job){ .types = s->bits,
				   .map = s->map,
				   .known = s->only == GT_ONLY_KNOWN };
	if (gt_only_section(s->tp) != s || s->bits & ~OWN_TYPES || !(s->bits & OWN_TYPES) ||
	    s->nums & MORE || s->nheard || s->only == GT_ONLY_FILE)
		return false;
	if (s->bits & GT_BIT(GT_COMPLETE) && s->bits != GT_BIT(GT_COMPLETE))
		return false;
	if (s->where.op && !gt_tp_condition(s->tp, &w))
		return false;
	return key_of(s, out) && place_of(s, out);
}

/* Do both name their ring in the same way, so that equal pieces mean the same ring? */
static bool same_place(const struct gt_tp_job *a, const struct gt_tp_job *b)
{
	bool same = a->seed == b->seed && a->npiece == b->npiece;

	for (unsigned int i = 0; same && i < a->npiece; i++)
		same = a->piece[i].kind == b->piece[i].kind;
	return same;
}

/* Does section @o, which a source cannot count, share the jobs of @s, which are @mine? */
static bool prevents(const struct gt_section *o, const struct gt_section *s,
		     const struct gt_tp_job *mine)
{
	struct gt_tp_job job;
	bool shares = false;

	if (!o->use || !o->bound || !o->nmatch || !(o->bits & JOB_TYPES))
		return false;
	if (o->map == s->map)
		return !can_offload(o, &job) || job.key != mine->key ||
		       (o->ring.n && s->ring.n && !same_place(&job, mine));
	if (o->only == GT_ONLY_FILE)
		return false;
	/* a section of another file shares the jobs if it takes their place from them */
	for (unsigned int i = 0; i < o->nmatch; i++)
		shares |= o->match[i] == mine->key;
	return shares && !o->ring.n;
}

bool gt_tp_job(const struct gt_tp *tp, struct gt_tp_job *out)
{
	const struct gt_section *s = gt_only_section(tp);
	const struct gt_eventmap *m = tp->m;
	bool submits = false;

	if (!s || !can_offload(s, out))
		return false;
	for (unsigned int i = 0; i < m->ntps; i++)
		for (const struct gt_section *o = m->tps[i]->sections; o; o = o->next) {
			if (prevents(o, s, out))
				return false;
			submits |= o->use && o->bound && o->map == s->map &&
				   o->bits & GT_BIT(GT_SUBMIT);
		}
	out->begins = s->bits & GT_BIT(GT_SUBMIT) || (s->bits & GT_BIT(GT_COMMIT) && !submits);
	return true;
}

bool gt_tp_wait(const struct gt_tp *tp, struct gt_tp_job *out)
{
	const struct gt_section *s = gt_only_section(tp);
	struct gt_tp_condition w;

	*out = (struct gt_tp_job){ 0 };
	return s && s->only == GT_ONLY_ANY && (!s->where.op || gt_tp_condition(tp, &w)) &&
	       !s->ring.n &&
	       (s->flags ||
		!(s->bits & ~(GT_BIT(GT_SYNC_WAIT_ENTER) | GT_BIT(GT_SYNC_WAIT_EXIT)))) &&
	       key_of(s, out) && out->key == (GT_KEY_CTX | GT_KEY_SEQNO);
}

/* Does a section in use name the tracepoint in `unless_heard`? */
static bool is_heard(const struct gt_tp *tp)
{
	const struct gt_eventmap *m = tp->m;

	for (unsigned int i = 0; i < m->ntps; i++)
		for (const struct gt_section *s = m->tps[i]->sections; s; s = s->next)
			for (unsigned int k = 0; s->use && k < s->nheard; k++)
				if (s->heard_tp[k] == tp)
					return true;
	return false;
}

bool gt_tp_condition(const struct gt_tp *tp, struct gt_tp_condition *out)
{
	const struct gt_section *only = gt_only_section(tp);
	const struct gt_field *f;

	if (!only || !only->where.op || is_heard(tp))
		return false;
	f = &only->where.ref.raw;
	if (f->kind != GT_K_INT)
		return false;
	*out = (struct gt_tp_condition){
		.off = f->off,
		.size = f->size,
		.sign = f->sign,
		.bits = only->where.op == GT_OP_AND,
		.unlike = only->where.op == GT_OP_NE,
		.value = only->where.value,
	};
	return true;
}
