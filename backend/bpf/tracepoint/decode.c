/* SPDX-License-Identifier: GPL-2.0 */
/*
 * From a tracepoint's record to ours: by the event maps, as from ftrace. Only who did it is known
 * better: the programs report thread, process and user of the moment.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/param.h>

#include "internal.h"

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

/* Says who the process of an event is, once: it may have ended before anybody can ask /proc. */
static void emit_process(struct tp_state *t, const struct gt_bpf_raw *raw)
{
	struct tp_process *known = &t->process[raw->pid % TP_PROCESSES];
	union gt_record r;

	if (known->pid == raw->pid && known->start == raw->start)
		return;
	*known = (struct tp_process){ .pid = raw->pid, .start = raw->start };
	gt_record_init(&r, raw->ts, (enum gt_type)GT_PROCESS);
	r.process.cpu = raw->cpu;
	r.process.start = raw->start - raw->start % t->tick; /* as /proc rounds it */
	r.process.pid = raw->pid;
	r.process.uid = raw->uid;
	snprintf(r.process.comm, sizeof(r.process.comm), "%.15s", raw->comm);
	gb_out(t->b, &r);
}

void tp_raw(struct gb *b, const struct gt_bpf_raw *raw)
{
	struct tp_state *t = b->priv[GT_BPF_TRACEPOINT];
	struct tp_slot *s = raw->index < t->n ? &t->slot[raw->index] : NULL;
	bool foreign = gt_tasks_foreign(t->tasks);
	union gt_record r[GT_TP_MAX_RECORDS];
	struct gt_evctx c = {
		.ts = raw->ts,
		.tid = raw->tid,
		.pid = foreign ? GT_NONE32 : raw->pid,
		.cpu = raw->cpu,
	};
	int n;

	/* else the maps may have been bound to another layout since */
	if (!s || !s->now || s->now->serial != raw->serial) {
		t->unknown++;
		return;
	}
	t->heard = true;
	if (raw->ts > t->round + GB_DRAIN_NS) {
		t->round = raw->ts;
		gt_tasks_round(t->tasks, raw->ts);
	}
	if (raw->start && raw->pid && !foreign)
		emit_process(t, raw);
	n = gt_tp_raw(s->tp, &c, raw->data, raw->len, r, GT_TP_MAX_RECORDS);
	for (int i = 0; i < n; i++)
		out(t, raw, &r[i]);
}

bool tp_skipped(const struct tp_state *t, uint64_t *n)
{
	*n = t->missed_gone;
	for (unsigned int i = 0; i < t->n; i++)
		if (t->slot[i].now && !gb_missed_by(t->slot[i].now->prog, n))
			return false;
	return true;
}

void tp_forget_skipped(struct tp_state *t)
{
	uint64_t now;

	if (tp_skipped(t, &now) && now > t->missed)
		t->missed = now;
	t->asked = t->b->p->host->now(t->b->p);
}

/* Records up to @until have been handed over; what was missed came at any time up to now, so the gap
 * ends now: a job that is still to be handed over may lack its end, too. */
static void emit_missed(struct tp_state *t, uint64_t until)
{
	uint64_t missed;
	union gt_record r;

	if (!tp_skipped(t, &missed))
		return;
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
	uint64_t missed = t->missed, again = 0;
	bool heard = t->heard;

	if (until > t->asked + MISSED_NS || (b->quiet && heard) ||
	    (t->ask_again && until >= t->ask_again)) {
		emit_missed(t, until);
		if (heard || missed != t->missed)
			again = until + MISSED_NS;
		t->ask_again = again;
		b->due = again ? again + GB_SLACK_NS : 0; /* a round reports what was so long ago */
	}
}
