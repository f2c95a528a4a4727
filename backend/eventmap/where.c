/* SPDX-License-Identifier: GPL-2.0 */
/* The condition of a tracepoint, for a source that can leave out its events before they come. */
#include "internal.h"

/* Does it matter to another tracepoint when this one was heard? */
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

bool gt_tp_where(const struct gt_tp *tp, struct gt_tp_where *out)
{
	const struct gt_section *only = NULL;
	const struct gt_field *f;

	for (const struct gt_section *s = tp->sections; s; s = s->next) {
		if (!s->use || !s->bound)
			continue;
		if (only)
			return false;
		only = s;
	}
	if (!only || !only->where.op || is_heard(tp))
		return false;
	f = &only->where.ref.raw;
	if (f->kind != GT_K_INT)
		return false;
	*out = (struct gt_tp_where){
		.off = f->off,
		.size = f->size,
		.sign = f->sign,
		.bits = only->where.op == GT_OP_AND,
		.unlike = only->where.op == GT_OP_NE,
		.value = only->where.value,
	};
	return true;
}
