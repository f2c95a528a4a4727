/* SPDX-License-Identifier: GPL-2.0 */
/*
 * From a tracepoint's record to ours: by the event maps, as from ftrace. Only who did it is known
 * better: the programs report thread, process and user of the moment.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/param.h>

#include "bpf/args.skel.h"
#include "bpf/tracepoint.skel.h"
#include "internal.h"

static bool tp_missed(struct tp_state *t, uint64_t *n);
static bool tp_args_again(struct tp_state *t);

#define MISSED_NS 1000000000ull /* between questions how many events the kernel left out */

/* What the thread's own doing is, is the process's; otherwise the trace of ftrace and this report the
 * same: what the tracepoint itself says, completed by /proc. */
static void out(struct tp_state *t, const struct gt_bpf_raw *raw, union gt_record *r)
{
	union gt_record process;
	/* 0: an interrupt that found nobody at work */
	bool own = raw->pid && r->ev.type < GT_NTYPES && gt_tasks_owner(r->ev.type) &&
		   (r->ev.pid == raw->pid || r->ev.pid == raw->tid || r->ev.pid == GT_NONE32);

	if (own && !gt_tasks_foreign(t->tasks)) {
		r->ev.pid = raw->pid;
		r->ev.uid = raw->uid;
	} else if (gt_tasks_fill(t->tasks, r, &process)) {
		gb_out(t->b, &process);
	}
	gb_out(t->b, r);
}

void tp_raw(struct gb *b, const struct gt_bpf_raw *raw, const void *data, size_t len)
{
	struct tp_state *t = b->priv[GT_BPF_TRACEPOINT];
	struct tp_slot *s = raw->index < t->n ? &t->slot[raw->index] : NULL;
	union gt_record r[GT_TP_MAX_RECORDS];
	struct gt_evctx c = {
		.ts = raw->ts,
		.tid = raw->tid,
		.pid = gt_tasks_foreign(t->tasks) ? GT_NONE32 : raw->pid,
		.cpu = raw->cpu,
	};
	int n;

	if (!s || s->how == TP_OFF) {
		t->unknown++;
		return;
	}
	t->heard = true;
	if (raw->ts > t->round + GB_DRAIN_NS) {
		t->round = raw->ts;
		gt_tasks_round(t->tasks, raw->ts);
	}
	n = gt_tp_raw(s->tp, &c, data, len, r, GT_TP_MAX_RECORDS);
	for (int i = 0; i < n; i++)
		out(t, raw, &r[i]);
}

bool tp_record(struct gb *b, union gt_record *r)
{
	struct tp_state *t = b->priv[GT_BPF_TRACEPOINT];

	if (r->ev.type != GT_PROCESS || gt_tasks_foreign(t->tasks))
		return false;
	/* by /proc, so that it is the same process */
	r->process.start -= r->process.start % t->tick;
	return true;
}

/* Others lose nothing in interrupts and to preemption: where too much is missed here they report, if
 * there are some. What is missed until a second program is there does not count. */
static void weigh(struct tp_state *t, uint64_t missed)
{
	struct gt_bpf_count c;
	uint64_t seen = t->seen;

	if (!gb_ring_counts(t->b, GT_BPF_TRACEPOINT, &c))
		return;
	t->seen = c.seen;
	if (tp_args_again(t)) {
		t->share = (struct tp_share){ 0 };
		return;
	}
	if (!tp_missed_often(&t->share, c.seen - seen, missed, (uint64_t)t->b->o->missed_share) ||
	    t->often)
		return;
	t->often = t->yields = true;
}

/* Records up to @until have been handed over; what was missed came at any time up to now, so the gap
 * ends now: a job that is still to be handed over may lack its end, too. */
static void emit_missed(struct tp_state *t, uint64_t until)
{
	uint64_t missed;
	union gt_record r;

	if (!tp_missed(t, &missed))
		return;
	weigh(t, missed > t->missed ? missed - t->missed : 0);
	if (missed > t->missed) {
		gt_record_init(&r, until, (enum gt_type)GT_LOST);
		r.lost.count = missed - t->missed;
		r.lost.since = t->asked;
		r.lost.cause = GT_LOST_SOURCE;
		r.lost.reserved = 0;
		r.lost.until = t->b->p->host->now(t->b->p);
		memset(r.lost.reserved2, 0, sizeof(r.lost.reserved2));
		gb_out(t->b, &r);
	}
	t->missed = missed > t->missed ? missed : t->missed;
	t->asked = until;
	t->heard = false;
}

/* Also when a burst has ended, and once more some time after it: what is missed does not wake us.
 */
void tp_round(struct gb *b, uint64_t until)
{
	struct tp_state *t = b->priv[GT_BPF_TRACEPOINT];
	uint64_t missed = t->missed, kept = t->kept, again = 0;
	bool heard = t->heard;

	if (until > t->asked + MISSED_NS || (b->quiet && heard) ||
	    (t->ask_again && until >= t->ask_again)) {
		emit_missed(t, until);
		if (heard || missed != t->missed || kept != t->kept)
			again = until + MISSED_NS;
		t->ask_again = again;
		b->due = again ? again + GB_SLACK_NS : 0; /* a round reports what was so long ago */
	}
}

/*
 * Tracepoints that are read from their arguments, which a program of its own sees before the kernel makes a
 * record of them. No program of a record runs within another's on the same CPU (trace_call_bpf()
 * in Linux kernel/trace/bpf_trace.c), so an interrupt's event that comes just then would be lost;
 * of those by arguments only the same program's within itself would (__bpf_trace_run() there).
 */

/* Events that are reported in interrupts, too */
#define INTERRUPTS (GT_BIT(GT_COMPLETE) | GT_BIT(GT_START) | GT_BIT(GT_END) | GT_BIT(GT_IRQ))

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
	if (!t->levels || bpf_map_lookup_elem(bpf_map__fd(t->skel->maps.levels), &zero, t->levels))
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
static bool tp_missed(struct tp_state *t, uint64_t *n)
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

/** tp_args_again() - where the kernel skipped events a second program takes those from now on. Are
 * there more such than before? */
static bool tp_args_again(struct tp_state *t)
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
