/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which jobs are in records: the program decides that as the gate would, by two sets of settings of
 * which one holds. A change is written into the other, and then that one holds: no program sees
 * half of it. A program that still looks at the set into which the next change is written sees that
 * by its number, and leaves the job to the gate.
 */
#include <inttypes.h>
#include <string.h>

#include "count.h"

/* As gt_type_refused() has it, of the types that are counted */
static uint32_t type_reasons(const struct gt_wanted *w)
{
	uint32_t why = 0;

	for (unsigned int type = 0; type < GT_TALLY_TYPES; type++)
		why |= (uint32_t)gt_type_refused(w, type) << type * 8;
	return why;
}

static uint64_t about(const struct tp_state *t, unsigned int i)
{
	const struct tc_ring *r = &t->count->ring[i];
	const struct gt_host *host = t->b->p->host;

	if (!r->known)
		return 0;
	return GT_K_PLACED | (uint64_t)host->ring_refused(t->b->p, r->gpu, r->ring) << 32 |
	       (uint64_t)r->gpu << 16 | r->ring;
}

static void tell_about(const struct tp_state *t, unsigned int i, uint32_t which)
{
	__atomic_store_n(&t->count->rings[i].about[which & 1], about(t, i), __ATOMIC_RELAXED);
}

/* Its number is 0 while it is written. */
static void write_settings(struct tp_state *t, const struct gt_wanted *w, uint32_t which)
{
	struct tp_count *c = t->count;
	struct gt_wanted *to = &c->wanted[which];
	size_t from = sizeof(to->gen);

	__atomic_store_n(&to->gen, 0, __ATOMIC_SEQ_CST);
	memcpy((char *)to + from, (const char *)w + from, sizeof(*w) - from);
	for (unsigned int i = 0; i < GT_K_RINGS; i++)
		tell_about(t, i, which);
	__atomic_store_n(&to->gen, ++c->serial, __ATOMIC_SEQ_CST);
}

void tc_wanted(struct tp_state *t)
{
	const struct gt_host *host = t->b->p->host;
	struct tp_count *c = t->count;
	struct gt_wanted w;
	uint32_t which;

	if (!c || c->off)
		return;
	host->wanted(t->b->p, &w);
	if (t->b->level < 2)
		w.types = 0;
	which = !(c->ctl->settings & 1);
	write_settings(t, &w, which);
	__atomic_store_n(&c->ctl->types, type_reasons(&w), __ATOMIC_SEQ_CST);
	__atomic_store_n(&c->ctl->settings, which, __ATOMIC_SEQ_CST);
}

void tc_placed(struct tp_state *t, unsigned int i)
{
	tell_about(t, i, t->count->ctl->settings);
}

void tc_left_doctor(const struct tp_count *c, struct gt_details *out)
{
	static const char *const names[GT_NREFUSALS] = {
		[GT_R_LEVEL] = "level",		[GT_R_EVENTS] = "filter_events",
		[GT_R_RING] = "filter_ring",	[GT_R_ENGINE] = "filter_engine",
		[GT_R_PID] = "filter_pid",	[GT_R_UID] = "filter_uid",
		[GT_R_WATCHLIST] = "watchlist", [GT_R_CTX] = "watchlist_ctx",
		[GT_R_SAMPLING] = "sampling",	[GT_R_RATE] = "record_rate",
	};

	for (unsigned int i = 0; i < GT_NREFUSALS; i++)
		if (names[i] && c->left[i])
			gt_detail(out, "left_in_kernel_%s %" PRIu64 "\n", names[i], c->left[i]);
}
