/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tracepoints told by their arguments, which a program of its own sees before the kernel makes a
 * record of them. No program of a record runs within another's on the same CPU (trace_call_bpf()
 * in Linux kernel/trace/bpf_trace.c), so an interrupt's event that comes just then would be lost;
 * of those by arguments only the same program's within itself would (__bpf_trace_run() there).
 */
#include <errno.h>
#include <sys/param.h>
#include <stdio.h>
#include <string.h>

#include "internal.h"
#include "bpf/args.skel.h"
#include "bpf/tracepoint.skel.h"

/* Events that are told in interrupts, too */
#define INTERRUPTS (1u << GT_COMPLETE | 1u << GT_START | 1u << GT_END | 1u << GT_IRQ)

bool tp_may_miss(const struct tp_state *t)
{
	for (unsigned int i = 0; i < t->n; i++) {
		const struct tp_slot *s = &t->slot[i];

		if ((s->how == TP_RAW || s->how == TP_MADE) && gt_tp_types(s->tp) & INTERRUPTS)
			return true;
	}
	return false;
}

static const char *source(const struct tp_slot *s)
{
	return s->own ? gt_tp_event(s->tp) : gt_tp_probe(s->tp)->name;
}

bool tp_args_prepare(struct tp_state *t, struct tp_slot *s)
{
	const struct gt_probe *a = s->nolink ? NULL : gt_tp_args(s->tp);
	const struct gt_types *types;
	struct gt_source of;
	char format[TP_FORMAT];

	if (!a)
		return false;
	s->noargs[0] = '\0';
	types = tp_types_having(t, a->scope, source(s), s->noargs, sizeof(s->noargs));
	if (!types)
		return false;
	of = gt_source_tracepoint(types, source(s));
	return !tp_make(types, a, &of, &s->made, format, s->noargs, sizeof(s->noargs)) &&
	       !gt_tp_bind(s->tp, format, strlen(format), NULL, s->noargs, sizeof(s->noargs));
}

static uint32_t arguments(const struct gt_bpf_made *m)
{
	uint32_t n = 0;

	for (unsigned int i = 0; i < m->n; i++)
		if (m->field[i].from >= n)
			n = m->field[i].from + 1u;
	return n;
}

static int share(const struct tp_state *t, struct bpf_object *o)
{
	struct bpf_map *m, *first;
	int ret;

	bpf_object__for_each_map (m, o) {
		first = bpf_object__find_map_by_name(t->skel->obj, bpf_map__name(m));
		if (bpf_map__is_internal(m) || !first)
			continue;
		ret = bpf_map__reuse_fd(m, bpf_map__fd(first));
		if (ret)
			return ret;
	}
	return 0;
}

int tp_load_more(struct tp_state *t, struct bpf_object *o, char *err, size_t len)
{
	int ret = share(t, o);

	if (ret)
		return gb_refused(-ret, "its maps", "", err, len);
	return gb_object_load(t->b, o, "its program", err, len);
}

static int set_again(const struct args_bpf *o, uint32_t yes)
{
	uint32_t zero = 0;

	return bpf_map__update_elem(o->maps.bss, &zero, sizeof(zero), &yes, sizeof(yes), 0);
}

/* The second program of a tracepoint, behind the first, which leaves marks for it from now on.
 * Without it what the first is kept from is missed, and counted. */
static void link_again(struct tp_slot *s, struct args_bpf *o)
{
	s->asked_again = true;
	if (set_again(o, 1))
		return;
	s->again = bpf_program__attach_raw_tracepoint(o->progs.gt_hand_over_again, source(s));
	if (!s->again)
		set_again(o, 0);
}

static struct bpf_link *link_to(struct tp_state *t, struct tp_slot *s, struct args_bpf *o)
{
	struct bpf_link *link;

	o->rodata->gt_index = (uint32_t)(s - t->slot);
	o->rodata->gt_nargs = arguments(&s->made);
	if (tp_load_more(t, o->obj, s->noargs, sizeof(s->noargs)))
		return NULL;
	link = bpf_program__attach_raw_tracepoint(o->progs.gt_hand_over, source(s));
	if (!link)
		gb_refused(errno, "its arguments", "", s->noargs, sizeof(s->noargs));
	else if (t->preemptible)
		link_again(s, o);
	return link;
}

struct bpf_link *tp_args_link(struct tp_state *t, struct tp_slot *s)
{
	struct args_bpf *o = args_bpf__open();
	struct bpf_link *link;

	if (!o) {
		gb_sentence(s->noargs, sizeof(s->noargs), ENOMEM, "no memory");
		s->nolink = true;
		return NULL;
	}
	link = link_to(t, s, o);
	s->nolink = !link;
	if (link)
		s->args = o;
	else
		args_bpf__destroy(o);
	return link;
}

/* What first programs left to second ones, and what these took */
static bool given(const struct tp_state *t, uint64_t *left, uint64_t *caught)
{
	int cpus = libbpf_num_possible_cpus(), fd = bpf_map__fd(t->skel->maps.levels);
	gb_auto_free struct gt_bpf_levels *l = cpus > 0 ? calloc((size_t)cpus, sizeof(*l)) : NULL;
	uint32_t zero = 0;

	*left = *caught = 0;
	if (!l || bpf_map_lookup_elem(fd, &zero, l))
		return false;
	for (int cpu = 0; cpu < cpus; cpu++) {
		*left += l[cpu].left;
		*caught += l[cpu].caught;
	}
	return true;
}

uint64_t tp_on_its_way(struct gb *b)
{
	struct tp_state *t = b->priv[GT_BPF_TRACEPOINT];
	int cpus = libbpf_num_possible_cpus();
	uint64_t oldest = UINT64_MAX;
	uint32_t zero = 0;

	if (!t->levels)
		t->levels = cpus > 0 ? calloc((size_t)cpus, sizeof(*t->levels)) : NULL;
	if (!t->levels ||
	    bpf_map_lookup_elem(bpf_map__fd(t->skel->maps.levels), &zero, t->levels))
		return 0;
	for (int cpu = 0; cpu < cpus; cpu++)
		for (unsigned int i = 0; i < GT_BPF_LEVELS; i++) {
			const struct gt_bpf_level *l = &t->levels[cpu].level[i];

			if (l->busy && l->since)
				oldest = MIN(oldest, l->since == GT_BPF_READING ? 0 : l->since);
		}
	return oldest;
}

bool tp_caught(const struct tp_state *t, uint64_t *n)
{
	uint64_t left;

	return given(t, &left, n);
}

static bool kept(const struct tp_state *t, uint64_t *n)
{
	*n = t->missed_gone;
	for (unsigned int i = 0; i < t->n; i++)
		if (t->slot[i].args && !gb_missed_by(t->slot[i].args->progs.gt_hand_over, n))
			return false;
	for (unsigned int i = 0; i < TP_MORE; i++)
		if (t->more[i] && !gb_missed_by(tp_more_program(t->more[i], i), n))
			return false;
	return gb_missed_by(t->skel->progs.gt_record, n);
}

bool tp_skipped(const struct tp_state *t, uint64_t *n)
{
	uint64_t left, caught, skipped;

	if (!kept(t, &skipped) || !given(t, &left, &caught))
		return false;
	*n = skipped + left;
	return true;
}

/* An event that is under way may have been kept from the first program, and not have come to the
 * second one yet: so what was kept is compared with what is caught by the next time. */
bool tp_missed(struct tp_state *t, uint64_t *n)
{
	uint64_t left, caught, now;

	if (!kept(t, &now) || !given(t, &left, &caught))
		return false;
	*n = t->kept > caught ? t->kept - caught : 0;
	t->kept = now + left;
	return true;
}

bool tp_missed_often(struct tp_share *s, uint64_t seen, uint64_t missed, uint64_t most)
{
	s->seen += seen;
	s->missed += missed;
	if (s->seen + s->missed < TP_WHILE)
		return false;
	*s = (struct tp_share){ .last = s->missed * 1000000 / (s->seen + s->missed) };
	return s->last > most;
}

bool tp_args_again(struct tp_state *t)
{
	bool some = false;

	for (unsigned int i = 0; i < t->n; i++) {
		struct tp_slot *s = &t->slot[i];
		uint64_t n = 0;

		if (!s->args || s->asked_again || !gb_missed_by(s->args->progs.gt_hand_over, &n) ||
		    !n)
			continue;
		link_again(s, s->args);
		some = true;
	}
	return some;
}

void tp_args_unlink(struct tp_state *t, struct tp_slot *s)
{
	bpf_link__destroy(s->again); /* the second first: it takes what the first does not */
	s->again = NULL;
	s->asked_again = false;
	bpf_link__destroy(s->link);
	s->link = NULL;
	gb_missed_by(s->args->progs.gt_hand_over, &t->missed_gone);
	args_bpf__destroy(s->args);
	s->args = NULL;
}
