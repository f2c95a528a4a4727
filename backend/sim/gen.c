/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The simulation: what is to come waits in a heap by time. When a job is submitted its whole course
 * is known, as each ring serves in order: handed over when the ring's hardware has room, started
 * when the job before has ended.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sim.h"

#define OUT 256 /* records pushed at a time */

/* Steps of a job come first, with the numbers of enum gt_sim_step. */
enum { WAIT_ENTER = GT_SIM_STEPS, WAIT_EXIT, FAULT, QUEUE_UNMAP, QUEUE_MAP, QUEUE_RENEW };

/**
 * struct pending - something to come
 * @seq: of two at the same time, the one planned first comes first
 * @ring: index in world.rings; @n: number of its job. Of a queue: @ring is the GPU, @n the process
 */
struct pending {
	uint64_t ts, seq, n;
	uint32_t ring;
	uint32_t what;
};

struct gt_sim {
	struct gt_plugin *p;
	struct gt_sim_world w;
	struct gt_sim_truth *truth;
	bool measured, paused;
	uint64_t rng, gap, next_submit; /* ns between jobs; 0: none */
	uint64_t limit, submitted, refused, completed;
	struct pending *heap;
	size_t nheap, cap;
	uint64_t seq;
	union gt_record out[OUT];
	unsigned int nout;
	int pushed;
};

static bool earlier(const struct pending *a, const struct pending *b)
{
	return a->ts != b->ts ? a->ts < b->ts : a->seq < b->seq;
}

/* The heap has room for all that jobs in flight and queues can have to come, see gt_sim_new(). */
static void plan(struct gt_sim *s, uint64_t ts, unsigned int what, uint32_t ring, uint64_t n)
{
	struct pending e = { .ts = ts, .seq = s->seq++, .n = n, .ring = ring, .what = what };
	size_t i = s->nheap;

	if (s->nheap == s->cap)
		return;
	s->nheap++;
	for (; i && earlier(&e, &s->heap[(i - 1) / 2]); i = (i - 1) / 2)
		s->heap[i] = s->heap[(i - 1) / 2];
	s->heap[i] = e;
}

static struct pending pop(struct gt_sim *s)
{
	struct pending top = s->heap[0], last = s->heap[--s->nheap];
	size_t i = 0, child;

	while ((child = 2 * i + 1) < s->nheap) {
		if (child + 1 < s->nheap && earlier(&s->heap[child + 1], &s->heap[child]))
			child++;
		if (!earlier(&s->heap[child], &last))
			break;
		s->heap[i] = s->heap[child];
		i = child;
	}
	s->heap[i] = last;
	return top;
}

static void flush(struct gt_sim *s)
{
	if (s->nout)
		s->p->host->push(s->p, s->out, s->nout);
	s->pushed += (int)s->nout;
	s->nout = 0;
}

static union gt_record *next_out(struct gt_sim *s)
{
	if (s->nout == OUT)
		flush(s);
	return &s->out[s->nout++];
}

static union gt_record *emit_job(struct gt_sim *s, const struct gt_sim_job *j, uint64_t ts,
				 enum gt_type type)
{
	union gt_record *r = next_out(s);

	gt_record_init(r, ts, type);
	r->ev.cpu = j->proc % 4;
	r->ev.gpu = j->gpu;
	r->ev.ring = j->ring;
	r->ev.ctx = j->ctx;
	r->ev.seqno = j->seqno;
	r->ev.pid = r->ev.tid = j->pid;
	r->ev.uid = j->uid;
	r->ev.queue = j->queue;
	return r;
}

static void emit_step(struct gt_sim *s, struct gt_sim_job *j, enum gt_sim_step step)
{
	static const uint8_t types[] = { GT_SUBMIT, GT_COMMIT, GT_START, GT_END, GT_COMPLETE };

	emit_job(s, j, j->at[step], types[step]);
	j->told |= (uint8_t)(1u << step);
}

static void emit_other(struct gt_sim *s, const struct gt_sim_job *j, uint64_t ts, enum gt_type type,
		       uint64_t value)
{
	union gt_record *r = emit_job(s, j, ts, type);

	r->ev.value = value;
	gt_sim_truth_event(s->truth, r);
}

static void emit_queue(struct gt_sim *s, unsigned int gpu, unsigned int proc, uint64_t ts,
		       enum gt_type type)
{
	union gt_record *r = next_out(s);

	gt_sim_queue_record(&s->w, gpu, proc, ts, type, r);
	gt_sim_truth_event(s->truth, r);
}

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* The course of the ring's job number @n, submitted at @t. */
static void fix_times(struct gt_sim *s, struct gt_sim_ring *r, uint64_t n, uint64_t t)
{
	uint64_t *at = r->jobs[n % GT_SIM_INFLIGHT].at;
	uint64_t ready = later(t + gt_sim_duration(&s->rng, 4000), r->commit);
	uint64_t launch = s->measured ? gt_sim_duration(&s->rng, 1000) : 0;
	uint64_t notice = s->measured ? gt_sim_duration(&s->rng, 3000) : 0;

	at[GT_SIM_SUBMIT] = t;
	at[GT_SIM_COMMIT] = later(ready, r->ends[n % GT_SIM_HW_DEPTH]);
	at[GT_SIM_START] = later(at[GT_SIM_COMMIT] + launch, r->end);
	at[GT_SIM_END] = at[GT_SIM_START] + gt_sim_duration(&s->rng, r->mean);
	at[GT_SIM_COMPLETE] = later(at[GT_SIM_END] + notice, r->complete);
	r->commit = at[GT_SIM_COMMIT];
	r->end = at[GT_SIM_END];
	r->complete = r->ends[n % GT_SIM_HW_DEPTH] = at[GT_SIM_COMPLETE];
}

static void plan_job(struct gt_sim *s, uint32_t ring, uint64_t n)
{
	struct gt_sim_job *j = &s->w.rings[ring].jobs[n % GT_SIM_INFLIGHT];
	uint64_t luck = gt_sim_random(&s->rng);

	plan(s, j->at[GT_SIM_COMMIT], GT_SIM_COMMIT, ring, n);
	if (s->measured) {
		plan(s, j->at[GT_SIM_START], GT_SIM_START, ring, n);
		plan(s, j->at[GT_SIM_END], GT_SIM_END, ring, n);
	}
	j->failed = luck % 4096 == 0;
	if (j->failed)
		plan(s, j->at[GT_SIM_COMPLETE], FAULT, ring, n);
	plan(s, j->at[GT_SIM_COMPLETE], GT_SIM_COMPLETE, ring, n);
	j->wait = luck >> 16 & 63 ? 0 : j->at[GT_SIM_SUBMIT] + 500;
	j->waiting = j->wait && j->wait < j->at[GT_SIM_COMPLETE];
	if (j->waiting) {
		plan(s, j->wait, WAIT_ENTER, ring, n);
		plan(s, j->at[GT_SIM_COMPLETE] + gt_sim_duration(&s->rng, 2000), WAIT_EXIT, ring,
		     n);
	}
}

static struct gt_sim_queue *queue_of(struct gt_sim *s, unsigned int gpu, unsigned int proc)
{
	return &s->w.queues[gpu * s->w.nprocs + proc];
}

/* Now and then the scheduler takes a queue off the hardware, or its owner makes a new one. */
static void disturb_queue(struct gt_sim *s, unsigned int gpu, unsigned int proc, uint64_t t)
{
	uint64_t luck = gt_sim_random(&s->rng);

	if (luck % 512 == 0)
		plan(s, t + 20000, QUEUE_UNMAP, gpu, proc);
	else if (luck % 512 == 1)
		queue_of(s, gpu, proc)->renew = true;
}

static uint32_t draw_ring(struct gt_sim *s, unsigned int gpu, uint64_t luck)
{
	unsigned int w = (unsigned int)(luck % s->w.weights), i = 0;

	for (; w >= s->w.rings[i].weight; i++)
		w -= s->w.rings[i].weight;
	return gpu * s->w.nrings + i;
}

static void fill_job(struct gt_sim *s, struct gt_sim_job *j, uint32_t ring, unsigned int proc)
{
	size_t ctx = (size_t)ring * s->w.nprocs + proc;

	memset(j, 0, sizeof(*j));
	j->ctx = ctx + 1;
	j->seqno = ++s->w.seqno[ctx];
	j->pid = s->w.procs[proc].pid;
	j->uid = s->w.procs[proc].uid;
	j->proc = (uint16_t)proc;
	j->gpu = s->w.rings[ring].gpu;
	j->ring = s->w.rings[ring].id;
	j->queue = GT_NONE32;
}

static void submit(struct gt_sim *s, uint64_t t)
{
	uint64_t luck = gt_sim_random(&s->rng);
	unsigned int gpu = (luck >> 8 & 0xffff) % s->w.ngpus;
	unsigned int proc = (luck >> 24 & 0xffff) % s->w.nprocs;
	uint32_t ring = draw_ring(s, gpu, luck >> 40);
	struct gt_sim_ring *r = &s->w.rings[ring];
	struct gt_sim_job *j = &r->jobs[r->next % GT_SIM_INFLIGHT];
	struct gt_sim_queue *q = queue_of(s, gpu, proc);

	/* A ring that is full makes its process wait. */
	if (r->next - r->first == GT_SIM_INFLIGHT || j->waiting) {
		s->refused++;
		return;
	}
	fill_job(s, j, ring, proc);
	if (r->queues && q->id) {
		j->queue = q->id;
		q->inflight++;
		disturb_queue(s, gpu, proc, t);
	}
	fix_times(s, r, r->next, t);
	emit_step(s, j, GT_SIM_SUBMIT);
	plan_job(s, ring, r->next++);
	s->submitted++;
}

static void complete(struct gt_sim *s, struct gt_sim_ring *r, struct gt_sim_job *j,
		     unsigned int gpu)
{
	struct gt_sim_queue *q = queue_of(s, gpu, j->proc);

	emit_step(s, j, GT_SIM_COMPLETE);
	gt_sim_truth_job(s->truth, j, r->name, s->w.procs[j->proc].comm, s->measured);
	if (j->queue != GT_NONE32 && !--q->inflight && q->renew)
		plan(s, j->at[GT_SIM_COMPLETE] + 1000, QUEUE_RENEW, gpu, j->proc);
	r->first++;
	s->completed++;
}

static void queue_event(struct gt_sim *s, const struct pending *e)
{
	unsigned int gpu = e->ring, proc = (unsigned int)e->n;
	struct gt_sim_queue *q = queue_of(s, gpu, proc);

	if (e->what == QUEUE_MAP) {
		q->mapped = true;
		emit_queue(s, gpu, proc, e->ts, GT_QUEUE_MAP);
		return;
	}
	if (!q->mapped || (e->what == QUEUE_RENEW && (q->inflight || !q->renew)))
		return;
	q->mapped = false;
	emit_queue(s, gpu, proc, e->ts, GT_QUEUE_UNMAP);
	if (e->what == QUEUE_UNMAP) {
		plan(s, e->ts + 50000, QUEUE_MAP, gpu, proc);
		return;
	}
	q->renew = false;
	emit_queue(s, gpu, proc, e->ts, GT_QUEUE_DESTROY);
	gt_sim_queue_new(&s->w, gpu, proc);
	gt_sim_queue_desc(&s->w, gpu, proc, e->ts, next_out(s));
	emit_queue(s, gpu, proc, e->ts, GT_QUEUE_CREATE);
	emit_queue(s, gpu, proc, e->ts, GT_QUEUE_MAP);
}

static void happen(struct gt_sim *s)
{
	struct pending e = pop(s);
	struct gt_sim_ring *r;
	struct gt_sim_job *j;

	if (e.what >= QUEUE_UNMAP) {
		queue_event(s, &e);
		return;
	}
	r = &s->w.rings[e.ring];
	j = &r->jobs[e.n % GT_SIM_INFLIGHT];
	if (e.what == WAIT_ENTER) {
		emit_other(s, j, e.ts, GT_SYNC_WAIT_ENTER, GT_NONE64);
	} else if (e.what == WAIT_EXIT) {
		emit_other(s, j, e.ts, GT_SYNC_WAIT_EXIT, e.ts - j->wait);
		j->waiting = false;
	} else if (e.what == FAULT) {
		emit_other(s, j, e.ts, GT_ERROR, GT_ERR_TIMEOUT);
	} else if (e.what == GT_SIM_COMPLETE) {
		complete(s, r, j, e.ring / s->w.nrings);
	} else {
		emit_step(s, j, e.what);
	}
}

/* Sets when the next job comes after @t: never while paused, without a rate, or at the limit. */
static void draw_next(struct gt_sim *s, uint64_t t)
{
	s->next_submit = 0;
	if (!s->paused && s->gap && (!s->limit || s->submitted < s->limit))
		s->next_submit = t + gt_sim_exponential(&s->rng, s->gap);
}

static uint64_t soonest(const struct gt_sim *s)
{
	uint64_t t = s->next_submit ? s->next_submit : UINT64_MAX;

	return s->nheap && s->heap[0].ts < t ? s->heap[0].ts : t;
}

int gt_sim_advance(struct gt_sim *s, uint64_t now, uint64_t *next)
{
	uint64_t t, last = now;

	s->pushed = 0;
	while ((t = soonest(s)) <= now && s->pushed < GT_SIM_BATCH) {
		last = t;
		if (t != s->next_submit || (s->nheap && s->heap[0].ts == t)) {
			happen(s);
		} else {
			submit(s, t);
			draw_next(s, t);
		}
	}
	flush(s);
	s->p->host->watermark(s->p, t <= now ? last : now);
	gt_sim_truth_flush(s->truth);
	if (t == UINT64_MAX)
		*next = 0;
	else
		*next = t <= now ? now + 1 : later(t, now + GT_SIM_PERIOD_NS);
	return s->pushed;
}

void gt_sim_rate(struct gt_sim *s, uint64_t rate, uint64_t now)
{
	unsigned int per_job = s->measured ? 5 : 3;

	s->gap = rate ? 1000000000ull * per_job / rate : 0;
	gt_sim_world_load(&s->w, rate / per_job);
	draw_next(s, now);
}

void gt_sim_pause(struct gt_sim *s, bool pause, uint64_t now)
{
	s->paused = pause;
	draw_next(s, now);
}

static void announce_queues(struct gt_sim *s, uint64_t t0)
{
	for (unsigned int i = 0; i < s->w.ngpus * s->w.nprocs; i++) {
		unsigned int gpu = i / s->w.nprocs, proc = i % s->w.nprocs;

		if (!s->w.queues[i].id)
			continue;
		gt_sim_queue_desc(&s->w, gpu, proc, t0, next_out(s));
		emit_queue(s, gpu, proc, t0, GT_QUEUE_CREATE);
		emit_queue(s, gpu, proc, t0, GT_QUEUE_MAP);
	}
	flush(s);
}

struct gt_sim *gt_sim_new(struct gt_plugin *p, const struct gt_sim_options *o,
			  struct gt_sim_truth *truth, uint64_t t0)
{
	struct gt_sim *s = calloc(1, sizeof(*s));
	unsigned int queues = (unsigned int)(o->gpus * o->procs);

	if (!s) {
		gt_sim_truth_close(truth);
		return NULL;
	}
	s->p = p;
	s->truth = truth;
	s->measured = o->measured;
	s->limit = (uint64_t)o->jobs;
	s->rng = (uint64_t)o->seed * 0x9e3779b97f4a7c15ull + 0x632be59bd9b4e019ull;
	if (!s->rng)
		s->rng = 1;
	/* At most eight things to come of a job, and of a job's queue. */
	s->cap = (size_t)(o->gpus * o->rings) * GT_SIM_INFLIGHT * 8 + queues * 8u;
	s->heap = calloc(s->cap, sizeof(*s->heap));
	if (!s->heap || gt_sim_world_init(&s->w, p, o, t0)) {
		gt_sim_free(s);
		return NULL;
	}
	announce_queues(s, t0);
	p->host->watermark(p, t0);
	gt_sim_rate(s, (uint64_t)o->rate, t0);
	return s;
}

/* Jobs that are still in flight get a row of what has been told of them. */
void gt_sim_free(struct gt_sim *s)
{
	if (!s)
		return;
	for (unsigned int i = 0; s->truth && i < s->w.ngpus * s->w.nrings; i++) {
		const struct gt_sim_ring *r = &s->w.rings[i];

		for (uint64_t n = r->first; n < r->next; n++) {
			const struct gt_sim_job *j = &r->jobs[n % GT_SIM_INFLIGHT];

			gt_sim_truth_job(s->truth, j, r->name, s->w.procs[j->proc].comm,
					 s->measured);
		}
	}
	gt_sim_truth_close(s->truth);
	gt_sim_world_free(&s->w);
	free(s->heap);
	free(s);
}

void gt_sim_doctor(const struct gt_sim *s, char *buf, size_t len)
{
	snprintf(buf, len,
		 "simulated 1\njobs_submitted %" PRIu64 "\njobs_completed %" PRIu64
		 "\njobs_refused %" PRIu64
		 "\nclock CLOCK_MONOTONIC\nclock_offset_ns 0\nclock_uncertainty_ns 0\n"
		 "clock_measured times are made with it\n",
		 s->submitted, s->completed, s->refused);
}
