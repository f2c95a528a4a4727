/* SPDX-License-Identifier: GPL-2.0 */
/*
 * From a tracepoint's record to ours: by the event maps, as from ftrace. Only who did it is known
 * better: the programs tell thread, process and user of the moment.
 */
#include <string.h>

#include "count.h"
#include "bpf/tracepoint.skel.h"

#define MISSED_NS 1000000000ull /* between questions how many events the kernel left out */

/* What the thread's own doing is, is the process's; otherwise the trace of ftrace and this tell the
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

/* The program counts it: see GT_F_COUNTED */
static void counted(const struct gt_bpf_raw *raw, struct gt_event *e)
{
	e->flags |= GT_F_COUNTED;
	if (e->type != GT_COMPLETE)
		return;
	e->value = raw->exec;
	e->ref = raw->hw_wait;
	e->queue = raw->nth;
}

static void event(struct gb *b, struct tp_state *t, const struct gt_bpf_raw *raw, const void *data,
		  size_t len)
{
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
	tc_known(t, raw, &c);
	n = gt_tp_raw(s->tp, &c, data, len, r, GT_TP_MAX_RECORDS);
	for (int i = 0; i < n; i++) {
		if (raw->counted)
			counted(raw, &r[i].ev);
		out(t, raw, &r[i]);
	}
}

void tp_raw(struct gb *b, const struct gt_bpf_raw *raw, const void *data, size_t len)
{
	struct tp_state *t = b->priv[GT_BPF_TRACEPOINT];

	if (raw->index == GT_BPF_TALE)
		tc_tale(t, data, len);
	else if (raw->index == GT_BPF_WAKE)
		tc_wake(t);
	else
		event(b, t, raw, data, len);
}
bool tp_record(struct gb *b, union gt_record *r)
{
	struct tp_state *t = b->priv[GT_BPF_TRACEPOINT];

	if (r->ev.type != GT_PROCESS || gt_tasks_foreign(t->tasks))
		return false;
	/* as /proc tells it, so that it is the same process */
	r->process.start -= r->process.start % t->tick;
	return true;
}

/* Others lose nothing in interrupts and to preemption: where too much is missed here they tell, if
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

static void tell_missed(struct tp_state *t, uint64_t now)
{
	uint64_t missed;
	union gt_record r;

	if (!tp_missed(t, &missed))
		return;
	weigh(t, missed > t->missed ? missed - t->missed : 0);
	if (missed > t->missed) {
		tc_lost(t);
		gt_record_init(&r, now, (enum gt_type)GT_LOST);
		r.lost.count = missed - t->missed;
		r.lost.since = t->asked;
		r.lost.cause = GT_LOST_SOURCE;
		r.lost.reserved = 0;
		r.lost.until = 0;
		memset(r.lost.reserved2, 0, sizeof(r.lost.reserved2));
		gb_out(t->b, &r);
	}
	t->missed = missed > t->missed ? missed : t->missed;
	t->asked = now;
	t->heard = false;
}

void tp_due(struct tp_state *t)
{
	uint64_t fold = t->count ? t->count->due : 0;
	/* a round is told of what was so long ago */
	uint64_t ask = t->ask_again ? t->ask_again + GB_SLACK_NS : 0;

	t->b->due = !fold || (ask && ask < fold) ? ask : fold;
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
		tell_missed(t, until);
		if (heard || missed != t->missed || kept != t->kept)
			again = until + MISSED_NS;
		t->ask_again = again;
		tp_due(t);
	}
	tc_round(t);
}
