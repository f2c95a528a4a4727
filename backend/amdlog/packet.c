/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Packets of queues. A line tells of each as it is written into its queue, newer ones with the
 * queue's indices: wptr - rptr packets are in it. Its end is told by the signal that it carries.
 * Mostly a barrier carries one, for the kernels before it: they have ended when it has.
 */
#include <stdlib.h>

#include "internal.h"

static struct gt_amd_packet *slot(struct gt_amd_log *l, uint64_t signal)
{
	return &l->packet[signal * 0x9e3779b97f4a7c15ull >> 52 & (GT_AMD_SIGNALS - 1)];
}

static void remember(struct gt_amd_queue *q, uint64_t ts, uint32_t pid, uint32_t wptr)
{
	if (!q->open)
		q->open = calloc(GT_AMD_OPEN, sizeof(*q->open));
	if (!q->open)
		return;
	if (q->nopen == GT_AMD_OPEN) { /* nobody waits for the oldest */
		q->first++;
		q->nopen--;
	}
	q->open[(q->first + q->nopen++) % GT_AMD_OPEN] =
		(struct gt_amd_open){ q->packets, ts, pid, wptr };
}

static void depth(struct gt_amd_log *l, struct gt_amd_queue *q, uint32_t n, uint64_t ts,
		  uint32_t pid)
{
	union gt_record r;

	if (n == q->depth)
		return;
	q->depth = n;
	gt_amd_log_event(l, GT_COUNTER, ts, pid, q, &r);
	r.ev.value = n;
	r.ev.ref = GT_COUNTER_DEPTH;
	gt_amd_log_put(l, &r);
}

static uint64_t wide(uint32_t v)
{
	return v == GT_NONE32 ? GT_NONE64 : v;
}

void gt_amd_packet(struct gt_amd_log *l, const struct gt_amd_msg *m, uint64_t ts, uint32_t pid,
		   uint64_t kernel)
{
	struct gt_amd_queue *q = gt_amd_queue(l, m->hwq, pid);
	bool told = m->rptr != GT_NONE32 && m->wptr != GT_NONE32;
	union gt_record r;

	if (!q)
		return;
	if (m->what == GT_AMD_DISPATCH) {
		gt_amd_log_event(l, GT_DISPATCH, ts, pid, q, &r);
		r.ev.seqno = wide(m->wptr);
		r.ev.ref = kernel;
		gt_amd_log_put(l, &r);
		l->n.dispatches++;
		remember(q, ts, pid, m->wptr);
	} else {
		l->n.barriers++;
	}
	/* Both count packets for ever, in 32 bits; one that is ahead is of another time. */
	if (told && m->wptr - m->rptr <= INT32_MAX)
		depth(l, q, m->wptr - m->rptr, ts, pid);
	if (m->signal && m->signal != GT_NONE64)
		*slot(l, m->signal) =
			(struct gt_amd_packet){ .signal = m->signal,
						.hwq = q->hwq,
						.nth = q->packets,
						.queue = (uint32_t)(q - l->queue),
						.pid = pid,
						.wptr = m->wptr,
						.barrier = m->what == GT_AMD_BARRIER };
	q->packets++;
}

static void complete(struct gt_amd_log *l, struct gt_amd_queue *q, const struct gt_amd_open *o,
		     uint64_t ts, bool inferred)
{
	union gt_record r;

	gt_amd_log_event(l, GT_COMPLETE, ts, o->pid, q, &r);
	r.ev.seqno = wide(o->wptr);
	r.ev.ref = ts > o->ts ? ts - o->ts : 0;
	r.ev.flags = inferred ? GT_F_INFERRED : 0;
	gt_amd_log_put(l, &r);
	l->n.completions++;
}

/* Its dispatch has ended, or with a barrier all before it have */
static void end(struct gt_amd_log *l, struct gt_amd_queue *q, const struct gt_amd_packet *p,
		uint64_t ts)
{
	uint32_t keep = 0;

	for (uint32_t i = 0; i < q->nopen; i++) {
		struct gt_amd_open o = q->open[(q->first + i) % GT_AMD_OPEN];

		if (p->barrier ? o.nth < p->nth : o.nth == p->nth)
			complete(l, q, &o, ts, p->barrier);
		else
			q->open[(q->first + keep++) % GT_AMD_OPEN] = o;
	}
	q->nopen = keep;
}

void gt_amd_packet_signal(struct gt_amd_log *l, const struct gt_amd_msg *m, uint64_t ts)
{
	struct gt_amd_packet *p = slot(l, m->signal);
	struct gt_amd_queue *q;
	union gt_record r;

	if (p->signal != m->signal || !m->signal)
		return;
	q = &l->queue[p->queue];
	if (q->hwq != p->hwq) { /* deleted meanwhile */
		p->signal = 0;
		return;
	}
	if (!p->done)
		end(l, q, p, ts);
	p->done = true;
	if (m->what != GT_AMD_SIGNAL)
		return;
	if (!p->barrier && m->end >= m->start) {
		gt_amd_log_event(l, GT_END, ts, p->pid, q, &r);
		r.ev.seqno = wide(p->wptr);
		r.ev.value = m->end - m->start;
		gt_amd_log_put(l, &r);
	}
	p->signal = 0;
}
