/* SPDX-License-Identifier: GPL-2.0 */
/*
 * All CPUs' records in order of time. A drain takes what is older than a little before it began: a
 * record's time is taken before the record is written.
 */
#include <errno.h>
#include <string.h>

#include "../lib/heap.h"
#include "relay.h"

#define READS	     64		   /* of a file in a row, in which there is no record */
#define DRAIN_ALL_NS 2000000000ull /* at most: who writes without end is not waited for */

static void flush(struct gr *gr)
{
	if (gr->nout)
		gr->p->host->push(gr->p, gr->out, gr->nout);
	gr->records += gr->nout;
	gr->nout = 0;
}

static void out(struct gr *gr, const union gt_record *r)
{
	if (gr->nout == GR_OUT)
		flush(gr);
	gr->out[gr->nout++] = *r;
}

static bool older(struct gr_cpu *const *a, struct gr_cpu *const *b)
{
	const struct gt_event *x = &(*a)->next.ev, *y = &(*b)->next.ev;

	return x->ts < y->ts || (x->ts == y->ts && (*a)->cpu < (*b)->cpu);
}

/* Never waits: relay's read() does not, and of another kind of file O_NONBLOCK asks for that. 0:
 * nothing is there now; -errno: the file is no more */
static int read_on(struct gr *gr, struct gr_cpu *c)
{
	size_t room;
	uint8_t *to = gt_grt_room(&c->g, &room);
	ssize_t n;

	do
		n = read(c->fd, to, room);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno == EAGAIN ? 0 : -errno;
	gt_grt_filled(&c->g, (size_t)n);
	/* other CPUs' clocks may be ahead a little */
	c->g.now = gr->p->host->now(gr->p) + 1000000000u;
	return n > 0;
}

/* Moves on to the CPU's next record. A file that is no more, as its module or CPU has gone, still
 * gives what was read of it. One without end that holds no records is read on in another drain. */
static int next(struct gr *gr, struct gr_cpu *c)
{
	int ret;

	for (int i = 0; !(c->have = gt_grt_next(&c->g, &c->next)); i++) {
		gr->more |= i == READS;
		ret = i < READS ? read_on(gr, c) : 0;
		if (ret <= 0)
			return ret;
	}
	/* a gap is reported at its begin, as the others go on within it: what they reported goes before
	 */
	if (c->next.ev.type == GT_LOST && c->next.ev.ts < gr->merged)
		c->next.ev.ts = gr->merged < c->next.lost.until ? gr->merged : c->next.lost.until;
	return 0;
}

static void fill_heap(struct gr *gr)
{
	gr->nheap = 0;
	for (unsigned int i = 0; i < gr->n; i++) {
		struct gr_cpu *c = gr->cpu[i];

		if (!c->have && next(gr, c) < 0) {
			gr_close(gr, i--);
			continue;
		}
		if (c->have)
			gr->heap[gr->nheap++] = c;
	}
	GT_HEAP_MAKE(gr->heap, gr->nheap, older);
}

static void hand_over(struct gr *gr, struct gr_cpu *c)
{
	union gt_record process;

	if (c->next.ev.ts < gr->from) {
		gr->before++;
		return;
	}
	gr->late += c->next.ev.ts < gr->mark;
	if (c->next.ev.ts > gr->merged)
		gr->merged = c->next.ev.ts;
	if (gt_tasks_fill(gr->tasks, &c->next, &process))
		out(gr, &process);
	out(gr, &c->next);
}

/* Hands over what is older than @until, at most GR_EVENTS; returns up to when it is done. */
static uint64_t merge(struct gr *gr, uint64_t until)
{
	for (int i = 0; gr->nheap && gr->heap[0]->next.ev.ts < until; i++) {
		struct gr_cpu *c = gr->heap[0];

		if (i == GR_EVENTS) {
			gr->full++;
			return gr->merged < until ? gr->merged : until;
		}
		hand_over(gr, c);
		next(gr, c); /* what fails here fails again in the next round */
		if (!c->have)
			gr->heap[0] = gr->heap[--gr->nheap];
		if (gr->nheap)
			GT_HEAP_SINK(gr->heap, gr->nheap, 0, older);
	}
	return until;
}

void gr_watch(struct gr *gr, bool on)
{
	if (gr->watching == on)
		return;
	/* what cannot be waited for, as a file of a test, is read on the timer alone */
	for (unsigned int i = 0; i < gr->n; i++)
		if (gr->cpu[i]->waits)
			gr->p->host->watch(gr->p, gr->cpu[i]->fd, on);
	gr->watching = on;
}

/* The module, or a CPU, may have come or gone. While there is none it is looked for in silence. */
static void look(struct gr *gr, uint64_t now)
{
	char dir[PATH_MAX], err[400];

	if (now - gr->looked < GR_LOOK_NS)
		return;
	gr->looked = now;
	if (gr_look(gr))
		return;
	if (*gr->dir || !gr_find(gr->o->path, dir, sizeof(dir), err, sizeof(err)))
		gr_take(gr);
}

/* All that is older than @until; how many records that gave */
static int drain(struct gr *gr, uint64_t until)
{
	uint64_t records = gr->records, done;

	gr->drains++;
	gr->more = false;
	gt_tasks_round(gr->tasks, gr->p->host->now(gr->p));
	fill_heap(gr);
	done = merge(gr, until);
	flush(gr);
	if (done > gr->mark)
		gr->mark = done;
	gr->p->host->watermark(gr->p, gr->mark);
	gr->more |= done != until;
	return (int)(gr->records - records);
}

void gr_drain_all(struct gr *gr)
{
	uint64_t end = gr->p->host->now(gr->p) + DRAIN_ALL_NS;

	do
		drain(gr, gr->p->host->now(gr->p));
	while (gr->more && gr->p->host->now(gr->p) < end);
}

int gr_drain(struct gt_plugin *p)
{
	struct gr *gr = p->priv;
	uint64_t now = p->host->now(p);
	bool busy;
	int n;

	if (gr->paused || gr->reported_by[0])
		return 0;
	look(gr, now);
	if (!gr->n) {
		if (!gr->reported_by[0])
			p->host->timer(p, GR_LOOK_NS);
		return 0;
	}
	n = drain(gr, now - GR_MARGIN_NS);
	busy = gr->nheap || n;
	gr->idle = busy ? GR_DRAIN_NS : gr->idle * 2 < GR_IDLE_NS ? gr->idle * 2 : GR_IDLE_NS;
	gr_watch(gr, !busy);
	p->host->timer(p, gr->more ? 1 : gr->idle);
	return n;
}
