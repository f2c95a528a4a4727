/* SPDX-License-Identifier: GPL-2.0 */
/* Work without a driver's ring: random kernels and copies against sorted arrays of their times. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "modelbed.h"

#define JOBS   4000
#define GPUS   2
#define PIDS   5
#define QUEUES 3

static struct span {
	uint64_t start, end;
	unsigned int gpu, pid, queue;
	bool copy;
} span[JOBS];
static uint64_t seed = 11;

static uint64_t rnd(uint64_t n)
{
	seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return (seed >> 33) % n;
}

static int by_end(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	return x->end < y->end ? -1 : x->end > y->end;
}

static int by_start(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

#define ANY 99

/* How long one of those at least was at work; *@n: how many there are */
static uint64_t expected(unsigned int g, unsigned int pid, bool copy, uint64_t *n)
{
	static struct span own[JOBS];
	uint64_t total = 0, until = 0;

	*n = 0;
	for (int i = 0; i < JOBS; i++)
		if (span[i].gpu == g && span[i].copy == copy && (pid == ANY || span[i].pid == pid))
			own[(*n)++] = span[i];
	qsort(own, *n, sizeof(*own), by_start);
	for (uint64_t i = 0; i < *n; i++) {
		uint64_t from = own[i].start > until ? own[i].start : until;

		total += own[i].end > from ? own[i].end - from : 0;
		until = own[i].end > until ? own[i].end : until;
	}
	return total;
}

static void one(const struct span *s)
{
	event(s->end, s->copy ? GT_COPY : GT_DISPATCH);
	rec.ev.gpu = (uint16_t)s->gpu;
	rec.ev.pid = 100 + s->pid;
	rec.ev.uid = 1000;
	if (s->copy) {
		rec.ev.value = 4096;
		rec.ev.ref = s->end - s->start;
	} else {
		rec.ev.queue = 7 + s->queue;
		rec.ev.value = s->end - s->start;
	}
	fold();
}

static struct gt_ring *named(unsigned int g, const char *name)
{
	for (unsigned int i = 0; i < m->gpus[g]->nrings; i++)
		if (!strcmp(m->gpus[g]->rings[i]->name, name))
			return m->gpus[g]->rings[i];
	return NULL;
}

static uint64_t execs(const struct gt_stage *s)
{
	return gt_stage_count(&s[GT_ST_EXEC]);
}

static void check_ring(unsigned int g, bool copy)
{
	struct gt_ring *r = named(g, copy ? "copies" : "compute_queues");
	uint64_t n, ns = expected(g, ANY, copy, &n);
	bool counts = true, busy = true;

	ok(r && r->work && r->measured, "GPU %u: a ring for %s", g, copy ? "copies" : "kernels");
	if (!r)
		return;
	is(r->engine, copy ? GT_ENGINE_COPY : GT_ENGINE_COMPUTE, "… its engine");
	is(r->counts.completed, n, "… all are jobs of it");
	is(execs(r->stage), n, "… with the time that they ran");
	is(r->busy.total_ns, ns, "… busy for the union of their times");
	is(m->gpus[g]->engine[r->engine].total_ns, ns, "… and its engine");
	ok(r->counts.submitted == 0 && r->depth.peak == 0, "… of no submission anything is known");
	for (unsigned int p = 0; p < PIDS; p++) {
		const struct gt_proc_ring *pr =
			m->procs[0] ? gt_model_proc(m, 100 + p)->rings : NULL;
		uint64_t want = expected(g, p, copy, &n);

		while (pr && (pr->gpu != g || pr->ring != r->id))
			pr = pr->next;
		counts &= n ? pr && pr->counts.completed == n && execs(pr->stage) == n : !pr;
		busy &= n ? pr && pr->busy.total_ns == want : true;
	}
	ok(counts, "… each process has its own");
	ok(busy, "… and was busy for their union");
}

static void check_random(void)
{
	uint64_t t = T0, n = 0, sum = 0;
	bool same = true;

	begin();
	gt_model_gpu(m, "amdgpu1", NULL);
	for (int i = 0; i < JOBS; i++) {
		uint64_t ns = rnd(20) ? rnd(40000) : rnd(4000000);

		t += rnd(20000);
		span[i] = (struct span){ t,
					 t + ns,
					 (unsigned int)rnd(GPUS),
					 (unsigned int)rnd(PIDS),
					 (unsigned int)rnd(QUEUES),
					 rnd(10) == 0 };
	}
	qsort(span, JOBS, sizeof(*span), by_end);
	for (unsigned int i = 0; i < GPUS * QUEUES; i++) {
		gt_record_init(&rec, T0, GT_QUEUE);
		rec.queue.gpu = (uint16_t)(i / QUEUES);
		rec.queue.queue = 7 + i % QUEUES;
		fold();
	}
	for (int i = 0; i < JOBS; i++)
		one(&span[i]);
	is(m->njobs, 0, "no job of theirs is left in the table");
	for (unsigned int g = 0; g < GPUS; g++) {
		check_ring(g, false);
		check_ring(g, true);
	}
	is(m->counts.completed, JOBS, "all of them together");
	for (unsigned int i = 0; i < m->nqueues; i++) {
		const struct gt_queue *q = m->queues[i];

		for (int k = 0; k < JOBS; k++)
			n += !span[k].copy && span[k].gpu == q->gpu && 7 + span[k].queue == q->id;
		sum += q->counts.completed;
		same &= q->counts.completed == execs(q->stage);
	}
	ok(n == sum && same, "kernels are jobs of their queues, too");
	ok(ring->counts.completed == 0 && ring1->counts.completed == 0,
	   "nor are they of other rings");
	gt_model_clear(m);
	is(named(0, "copies")->busy.total_ns, 0, "clear");
	gt_model_free(m);
}

/* What the event becomes on its way: whole jobs, with a ring that readers are reported once */
static void check_record(void)
{
	const struct span first = { T0, T0 + MS, 0, 1, 0, false };
	struct gt_ring *r;

	begin();
	event(T0 + MS, GT_DISPATCH);
	rec.ev.queue = 7;
	rec.ev.pid = 101;
	rec.ev.seqno = 5;
	rec.ev.value = MS;
	gt_model_event(m, &rec, &folded);
	r = named(0, "compute_queues");
	ok(r && folded.new_ring == r, "the first makes the ring");
	is(rec.ev.ring, r->id, "… and is reported to be of it");
	ok(folded.finished && !folded.job, "it is a whole job");
	ok(folded.fin.exec == MS && folded.fin.end == T0 + MS && folded.fin.pid == 101 &&
		   folded.fin.seqno == 5 && folded.fin.ring == r->id && folded.fin.nth == 1,
	   "… with what is known of it");
	ok(folded.fin.queue == GT_NONE64 && folded.fin.total == GT_NONE64 &&
		   folded.fin.hw_wait == GT_NONE64,
	   "… and what is not");
	gt_model_done(m, &folded);
	one(&first);
	ok(!folded.new_ring && r->counts.completed == 2, "the next one finds it");
	is(r->busy.total_ns, MS, "what overlaps counts once");
	one(&first);
	rec.ev.ring = r->id; /* as a saved stream has it */
	fold();
	is(r->counts.completed, 4, "one with a reported ring counts the same");
	gt_model_free(m);
}

/* A source may call its own ring that way: its jobs are matched as any ring's */
static void check_name(void)
{
	const struct span copy = { T0, T0 + MS, 0, 1, 0, true };
	struct gt_ring *r;

	begin();
	r = gt_model_ring(m, gpu, "copies", GT_ENGINE_UNKNOWN, NULL);
	for (int i = 0; i < 3; i++) {
		event(T0 + (uint64_t)i, i == 0 ? GT_SUBMIT : i == 1 ? GT_COMMIT : GT_COMPLETE);
		rec.ev.ring = r->id;
		rec.ev.ctx = rec.ev.seqno = 9;
		fold();
	}
	is(r->counts.submitted, 1, "a driver's ring called copies: a submission");
	is(execs(r->stage), 1, "… its job ran");
	one(&copy);
	ok(m->counts.copies == 1 && !r->work && r->counts.completed == 1,
	   "… and a copy of no ring is not there");
	r = gt_model_ring(m, gpu, "compute_queues", GT_ENGINE_UNKNOWN, NULL);
	event(T0 + MS, GT_DISPATCH);
	rec.ev.ring = r->id;
	rec.ev.value = 7;
	fold();
	ok(r->work && r->busy.total_ns == 7, "a ring of a saved stream is for kernels");
	is(gt_model_reset(m), 0, "played again");
	ok(named(0, "compute_queues")->work && !named(0, "copies")->work,
	   "… it is that still, the driver's is not");
	ok(m->gpus[0]->work[0] == named(0, "compute_queues") && !m->gpus[0]->work[1],
	   "… and found");
	gt_model_free(m);
}

static void emit_queue(uint32_t id)
{
	gt_record_init(&rec, T0, GT_QUEUE);
	rec.queue.gpu = 0;
	rec.queue.queue = id;
	rec.queue.pid = 101;
	fold();
}

/* A log reports a kernel when it is enqueued, when it ended, and how long it ran */
static void check_log(void)
{
	struct gt_queue *q;
	struct gt_ring *r;

	begin();
	emit_queue(7);
	event(T0, GT_DISPATCH);
	rec.ev.queue = 7;
	rec.ev.pid = 101;
	fold();
	r = named(0, "compute_queues");
	q = gt_model_queue(m, 0, 7);
	ok(r && r->counts.submitted == 1 && q->counts.submitted == 1, "it is submitted");
	ok(!r->counts.completed, "… and has not ended");
	event(T0 + 5 * MS, GT_COMPLETE);
	rec.ev.queue = 7;
	rec.ev.pid = 101;
	rec.ev.ref = 5 * MS;
	fold();
	ok(r->counts.completed == 1 && q->counts.completed == 1 && !r->counts.begin_unseen,
	   "its end is a job's");
	is(rec.ev.ring, GT_NONE16, "… but its record has no ring, so others get no numbers of it");
	is(r->busy.total_ns, 0, "… but how long it ran is not known");
	event(T0 + 5 * MS, GT_END);
	rec.ev.queue = 7;
	rec.ev.pid = 101;
	rec.ev.value = 2 * MS;
	fold();
	ok(r->busy.total_ns == 2 * MS && r->counts.completed == 1, "until that comes");
	is(gt_model_proc(m, 101)->rings->busy.total_ns, 2 * MS, "… of its process as well");
	gt_model_free(m);
}

/* Nothing that a source may say does harm */
static void check_hostile(void)
{
	char name[16];

	begin();
	event(5, GT_DISPATCH);
	rec.ev.queue = 7;
	rec.ev.value = GT_NONE64 - 1; /* longer than time itself */
	fold();
	is(named(0, "compute_queues")->busy.total_ns, 5, "one that began before time");
	event(T0, GT_DISPATCH);
	rec.ev.gpu = 77;
	rec.ev.value = 1;
	fold();
	event(T0, GT_DISPATCH);
	rec.ev.gpu = GT_NONE16;
	rec.ev.value = 1;
	fold();
	is(m->counts.completed, 1, "one of no GPU is of no ring");
	event(T0, GT_COPY);
	rec.ev.value = 4096;
	fold();
	ok(!named(0, "copies") && m->counts.copies == 1,
	   "a copy that took no known time is no job");
	event(T0, GT_COMPLETE);
	fold();
	is(m->counts.completed, 1, "nor is an end of nobody knows what");
	for (unsigned int i = 0; gpu->nrings < GT_MAX_RINGS; i++) {
		snprintf(name, sizeof(name), "r%u", i);
		gt_model_ring(m, gpu, name, GT_ENGINE_UNKNOWN, NULL);
	}
	event(T0, GT_COPY);
	rec.ev.ref = 9;
	fold();
	is(m->counts.copies, 2, "with no room for a ring it is counted as before");
	gt_model_free(m);
}

int main(void)
{
	check_random();
	check_record();
	check_name();
	check_log();
	check_hostile();
	return done_testing();
}
