/* SPDX-License-Identifier: GPL-2.0 */
/*
 * All CPUs' events in order of time. The event maps need that order, as they match what one CPU
 * began and another ended.
 *
 * A drain takes what is older than the moment before it began: by then every CPU has told what it
 * had to tell of that time, so the order is final. Of each CPU only one page is held; the rest
 * waits in the kernel's buffer.
 */
#include <errno.h>
#include <string.h>

#include "internal.h"

static void flush(struct ft *ft)
{
	if (ft->nout)
		ft->p->host->push(ft->p, ft->out, ft->nout);
	ft->stats.records += ft->nout;
	ft->nout = 0;
}

void ft_out(struct ft *ft, const union gt_record *r)
{
	if (ft->nout == FT_OUT)
		flush(ft);
	ft->out[ft->nout++] = *r;
}

static bool older(const struct ft_cpu *a, const struct ft_cpu *b)
{
	return a->ev.ts < b->ev.ts || (a->ev.ts == b->ev.ts && a->cpu < b->cpu);
}

static void sift_down(struct ft *ft, unsigned int i)
{
	struct ft_cpu **h = ft->heap, *c = h[i];
	unsigned int child;

	while ((child = 2 * i + 1) < ft->nheap) {
		if (child + 1 < ft->nheap && older(h[child + 1], h[child]))
			child++;
		if (!older(h[child], c))
			break;
		h[i] = h[child];
		i = child;
	}
	h[i] = c;
}

/* A gap that ends at @until is told of now, at its begin: what other CPUs tell of the time in
 * between lacks what this one lost. */
static void tell_lost(struct ft *ft, struct ft_cpu *c, uint64_t count, uint64_t until)
{
	uint64_t at = ft->merged > ft->mark ? ft->merged : ft->mark;
	union gt_record r;

	if (!count)
		return;
	if (!at || at > until)
		at = until;
	gt_record_init(&r, at, (enum gt_type)GT_LOST);
	r.lost.cpu = c->cpu;
	r.lost.count = count;
	r.lost.since = c->last_ts ? c->last_ts : GT_NONE64;
	r.lost.until = until;
	r.lost.cause = GT_LOST_SOURCE;
	r.lost.reserved = 0;
	memset(r.lost.reserved2, 0, sizeof(r.lost.reserved2));
	ft->stats.lost += count;
	ft_out(ft, &r);
}

void ft_emptied(struct ft *ft, struct ft_cpu *c, uint64_t count)
{
	tell_lost(ft, c, count, ft->p->host->now(ft->p));
	flush(ft);
}

/* Moves on to the CPU's next event. */
static void next_event(struct ft *ft, struct ft_cpu *c)
{
	ft_cpu_next(ft, c);
	if (c->have)
		tell_lost(ft, c, ft_cpu_lost(ft, c), c->ev.ts);
}

static void fill_heap(struct ft *ft)
{
	ft->nheap = 0;
	for (unsigned int i = 0; i < ft->ncpus; i++) {
		if (!ft->cpus[i].have)
			next_event(ft, &ft->cpus[i]);
		if (ft->cpus[i].have)
			ft->heap[ft->nheap++] = &ft->cpus[i];
	}
	for (unsigned int i = ft->nheap / 2; i-- > 0;)
		sift_down(ft, i);
}

static void decode(struct ft *ft, struct ft_cpu *c)
{
	const struct gt_page_event *ev = &c->ev;
	union gt_record r[GT_TP_MAX_RECORDS], process;
	struct gt_evctx ctx = { .ts = ev->ts, .pid = GT_NONE32, .cpu = c->cpu };
	struct gt_tp *tp;
	uint16_t id;
	int n;

	if (ev->len < sizeof(id) || ev->len < ft->pid_off + sizeof(ctx.tid)) {
		ft->stats.unknown++;
		return;
	}
	memcpy(&id, ev->data, sizeof(id));
	memcpy(&ctx.tid, ev->data + ft->pid_off, sizeof(ctx.tid));
	tp = ft->by_id[id];
	if (!tp && id == ft->functions.id) {
		ft_call(ft, &ctx, ev->data, ev->len);
		return;
	}
	if (!tp) {
		ft->stats.unknown++;
		return;
	}
	n = gt_tp_raw(tp, &ctx, ev->data, ev->len, r, GT_TP_MAX_RECORDS);
	for (int i = 0; i < n; i++) {
		if (gt_tasks_fill(ft->tasks, &r[i], &process))
			ft_out(ft, &process);
		ft_out(ft, &r[i]);
	}
}

static void handle(struct ft *ft, struct ft_cpu *c)
{
	ft->stats.events++;
	ft->stats.late += c->ev.ts < ft->mark;
	if (c->ev.ts > ft->merged)
		ft->merged = c->ev.ts;
	decode(ft, c);
	c->last_ts = c->ev.ts;
}

/* Hands over what is older than @until, at most FT_DRAIN_EVENTS; returns up to when it is done. */
static uint64_t merge(struct ft *ft, uint64_t until)
{
	uint64_t last = ft->mark;

	for (int i = 0; ft->nheap && ft->heap[0]->ev.ts < until; i++) {
		struct ft_cpu *c = ft->heap[0];

		if (i == FT_DRAIN_EVENTS) {
			ft->stats.full++;
			return last;
		}
		if (c->ev.ts > last)
			last = c->ev.ts;
		handle(ft, c);
		next_event(ft, c);
		if (!c->have)
			ft->heap[0] = ft->heap[--ft->nheap];
		if (ft->nheap)
			sift_down(ft, 0);
	}
	return until;
}

int ft_watch(struct ft *ft, bool on)
{
	int ret = 0;

	if (ft->watching == on)
		return 0;
	for (unsigned int i = 0; i < ft->ncpus && !ret; i++)
		ret = ft->p->host->watch(ft->p, ft->cpus[i].fd, on);
	/* Half watched is watched: to be undone in full. */
	ft->watching = on || ret;
	return ret;
}

/*
 * While events come the descriptors are not watched, or each event would wake us; a timer does, and
 * collects many at a time. With nothing to do there is no timer.
 */
static int wait_for_more(struct ft *ft, bool busy, bool full)
{
	const struct gt_host *host = ft->p->host;

	if (!busy)
		return ft_watch(ft, true);
	host->timer(ft->p, full ? 1 : FT_DRAIN_NS);
	return ft_watch(ft, false);
}

int ft_drain(struct gt_plugin *p)
{
	struct ft *ft = p->priv;
	uint64_t until = p->host->now(p), events = ft->stats.events, records = ft->stats.records;
	uint64_t done;
	int ret;

	ft->stats.drains++;
	gt_tasks_round(ft->tasks, until);
	fill_heap(ft);
	done = merge(ft, until);
	flush(ft);
	if (done > ft->mark)
		ft->mark = done;
	p->host->watermark(p, ft->mark);
	ret = wait_for_more(ft, ft->nheap || ft->stats.events != events, done != until);
	if (ret)
		return p->host->error(p, -ret, "trace_pipe_raw cannot be waited for");
	return (int)(ft->stats.records - records);
}

void ft_drain_all(struct ft *ft)
{
	uint64_t full;

	for (int i = 0; i < FT_DRAINS && ft->p->priv == ft; i++) {
		full = ft->stats.full;
		if (ft_drain(ft->p) < 0 || ft->stats.full == full)
			return;
	}
}
