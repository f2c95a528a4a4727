/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Matching against a computation of its own: thousands of random jobs on rings of every kind, with
 * events missing, out of order and lost; the same jobs worked out from their times in plain arrays.
 */
#include <stdlib.h>

#include "../../backend/backend.h"
#include "../../fs/model/internal.h"
#include "../../fs/model/model.h"
#include "../lib/tap.h"

#define JOBS	   6000 /* of one ring */
#define PIDS	   5
#define MAX_EVENTS (JOBS * 5 + 100)

enum kind { IN_ORDER, OUT_OF_ORDER, MEASURED, END_ONLY, VALUE, NO_COMMIT, NKINDS };
static const char *const kinds[] = { "in order",	 "out of order",      "measured START, END",
				     "END but no START", "measured by value", "no COMMIT" };

struct job {
	uint64_t submit, commit, start, end, complete, value; /* 0: not reported */
	uint32_t pid;
};

struct event {
	uint64_t ts;
	int type; /* enum gt_type, or GT_LOST */
	unsigned int job;
};

struct values {
	uint64_t *v[GT_NSTAGES];
	size_t n[GT_NSTAGES];
};

static uint64_t seed = 4;
static struct job jobs[JOBS];
static struct event events[MAX_EVENTS];
static size_t nevents;
static struct values ring_values, pid_values[PIDS];
static struct span {
	uint64_t start, end;
} spans[JOBS];
static size_t nspans;
static uint64_t nunmatched;

static uint64_t rnd(uint64_t below)
{
	seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return (seed >> 33) % below;
}

static bool one_in(uint64_t n)
{
	return rnd(n) == 0;
}

static void push(uint64_t ts, int type, unsigned int job)
{
	if (ts)
		events[nevents++] = (struct event){ ts, type, job };
}

static int by_time(const void *a, const void *b)
{
	const struct event *x = a, *y = b;

	if (x->ts != y->ts)
		return x->ts > y->ts ? 1 : -1;
	return (x->job > y->job) - (x->job < y->job);
}

static void make_job(struct job *j, enum kind kind, uint64_t t)
{
	*j = (struct job){ .submit = t, .pid = 100 + (uint32_t)rnd(PIDS) };
	j->commit = j->submit + 1 + rnd(30000);
	j->start = j->commit + 1 + rnd(20000);
	j->end = j->start + 1 + rnd(50000);
	j->complete = j->end + 1 + rnd(kind == OUT_OF_ORDER ? 400000 : 5000);
	if (one_in(50)) /* clocks that disagree: the start seems to come too early */
		j->start -= rnd(j->start - t + 1000);
	if (kind == VALUE && !one_in(9))
		j->value = rnd(80000) + 1;
	if (kind != MEASURED || one_in(20))
		j->start = 0;
	if ((kind != MEASURED && kind != END_ONLY) || one_in(20))
		j->end = 0;
	if (kind == NO_COMMIT || one_in(20))
		j->commit = 0;
	if (one_in(20))
		j->submit = 0; /* begun before tracing */
}

static void make(enum kind kind)
{
	uint64_t t = 1000000000ULL;

	nevents = 0;
	for (unsigned int i = 0; i < JOBS; i++) {
		struct job *j = &jobs[i];

		t += rnd(60000);
		make_job(j, kind, t);
		push(j->submit, GT_SUBMIT, i);
		push(j->commit, GT_COMMIT, i);
		push(j->start, GT_START, i);
		push(j->end, GT_END, i);
		push(j->complete, GT_COMPLETE, i);
		if (one_in(100))
			push(t + 7, GT_LOST, i);
	}
	qsort(events, nevents, sizeof(*events), by_time);
}

/* The plain computation -------------------------------------------------------------------- */

static void note(unsigned int pid, enum gt_stage_id stage, uint64_t v)
{
	struct values *one = &pid_values[pid - 100];

	ring_values.v[stage][ring_values.n[stage]++] = v;
	one->v[stage][one->n[stage]++] = v;
}

static uint64_t max(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t min(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* A job that ends: what is known of it at that moment. @hand: 0 not known; @concluded: start, where
 * only END was reported */
static void reckon(const struct job *j, uint64_t hand, bool lost, uint64_t last_end,
		   uint64_t concluded)
{
	uint64_t low = max(hand, j->submit), done = max(j->complete, low), start = 0, end = done;

	if (hand)
		hand = low;
	if (j->start && j->start < low) /* then the hardware's own times stand */
		low = j->start;
	if (j->end)
		end = min(max(j->end, low), done);
	if (j->start)
		start = j->start;
	else if (j->value)
		start = end - j->value;
	else if (hand)
		start = j->end ? concluded : max(hand, last_end);
	if (start) {
		start = min(max(start, low), done);
		end = max(end, start);
		spans[nspans++] = (struct span){ start, end };
	}
	if (j->submit && j->commit)
		note(j->pid, GT_ST_QUEUE, hand - j->submit);
	if (start && hand && start >= hand && !lost)
		note(j->pid, GT_ST_HW_WAIT, start - hand);
	if (start && !lost)
		note(j->pid, GT_ST_EXEC, end - start);
	if (j->end)
		note(j->pid, GT_ST_COMPLETE, done - end);
	if (j->submit)
		note(j->pid, GT_ST_TOTAL, done - j->submit);
}

/* Some gaps end later than the moment they are reported */
static uint64_t gap_end(const struct event *e)
{
	return e->ts + e->job % 3 * 40000;
}

/*
 * Jobs at the hardware, in the order in which they were handed over. One that ends before another
 * that came earlier passes it: when either began is not known. If that other does end afterwards,
 * much later or often for how many end in order, the ring has no order: nothing is concluded any more.
 */
static struct {
	unsigned int job[JOBS];
	size_t n;
	bool passed[JOBS]; /* since when the hardware was last forgotten */
	unsigned int strays;
	uint64_t passed_at;
	bool on;
} hw;

static void hw_forget(void)
{
	memset(hw.passed, 0, sizeof(hw.passed));
	hw.n = 0;
}

static uint64_t first_seen(const struct job *j)
{
	return j->submit ? j->submit : j->commit ? j->commit : j->end;
}

/* Where a gap ends, jobs that were seen up to then may have ended in it */
static void hw_gap(uint64_t end)
{
	size_t n = 0;

	for (unsigned int i = 0; i < JOBS; i++)
		hw.passed[i] &= first_seen(&jobs[i]) > end;
	for (size_t i = 0; i < hw.n; i++)
		if (first_seen(&jobs[hw.job[i]]) > end)
			hw.job[n++] = hw.job[i];
	hw.n = n;
}

/* Return: it was alone when it ended, as far as that can be known */
static bool hw_end(unsigned int job, uint64_t ts)
{
	size_t at = 0;

	if (hw.passed[job]) {
		hw.passed[job] = false;
		if (!hw.on)
			return true;
		hw.strays += GT_UNSEEN_STRAY;
		hw.on = hw.strays < GT_UNSEEN_STRAY * GT_UNSEEN_STRAYS &&
			ts <= hw.passed_at + GT_UNSEEN_ORDER_NS;
		return false;
	}
	while (at < hw.n && hw.job[at] != job)
		at++;
	if (at == hw.n)
		return true;
	for (size_t i = 0; hw.on && i < at; i++)
		hw.passed[hw.job[i]] = true;
	if (hw.on) {
		if (!at && hw.strays)
			hw.strays--;
		if (at)
			hw.passed_at = ts;
		hw.n -= at + 1;
		memmove(hw.job, hw.job + at + 1, hw.n * sizeof(hw.job[0]));
		return !at;
	}
	hw.n--;
	memmove(hw.job + at, hw.job + at + 1, (hw.n - at) * sizeof(hw.job[0]));
	return true;
}

static void reckon_all(void)
{
	static uint64_t concluded[JOBS];
	uint64_t last_end = 0, loss_until = 0, gap = 0;
	static bool unknown[JOBS];
	bool commits = false, starts = false, lost = false, open = false;

	memset(unknown, 0, sizeof(unknown));
	hw_forget();
	hw.strays = 0;
	hw.on = true;
	for (size_t i = 0; i < nevents; i++) {
		const struct event *e = &events[i];
		const struct job *j = &jobs[e->job];
		/* of a ring without hand-overs, as far as is known: but one may have been lost */
		uint64_t submit = commits || j->submit <= gap ? 0 : j->submit;
		uint64_t hand = j->commit ? j->commit : submit;

		if (open && e->ts > gap)
			hw_gap(gap);
		open &= e->ts <= gap;
		if (e->type == GT_COMMIT) {
			if (!commits)
				hw_forget();
			commits = true;
			hw.job[hw.n++] = e->job;
		} else if (e->type == GT_START) {
			starts = true;
		} else if (e->type == GT_LOST) {
			hw_forget();
			lost = true;
			loss_until = max(loss_until, gap_end(e));
			gap = max(gap, gap_end(e));
			open |= gap_end(e) > e->ts;
		} else if (e->type == GT_END) {
			unknown[e->job] = !starts && !hw_end(e->job, e->ts);
			concluded[e->job] = max(max(hand, j->submit), last_end);
			last_end = max(last_end, e->ts);
		} else if (e->type == GT_COMPLETE) {
			bool seen = j->submit || j->commit || j->start;

			if (!j->end && !starts)
				unknown[e->job] = !hw_end(e->job, e->ts);
			unknown[e->job] &= !j->start && !j->value;
			if (seen)
				reckon(j, hand, lost || unknown[e->job], last_end,
				       concluded[e->job]);
			else
				nunmatched++;
			lost = e->ts < loss_until;
			last_end = max(last_end, seen && j->end ? j->end : j->complete);
		}
	}
}

/* The model over the same events ------------------------------------------------------------ */

static void record_of(union gt_record *r, const struct event *e)
{
	gt_record_init(r, e->ts, (enum gt_type)e->type);
	r->ev.gpu = 0;
	r->ev.ring = 0;
	if (e->type == GT_LOST) {
		r->lost.ring = one_in(2) ? 0 : GT_NONE16;
		r->lost.gpu = r->lost.ring == 0 || one_in(2) ? 0 : GT_NONE16;
		r->lost.count = 3;
		r->lost.cause = GT_LOST_SOURCE;
		r->lost.until = e->job % 3 ? gap_end(e) : GT_NONE64;
		return;
	}
	r->ev.ctx = 77 + e->job; /* of one context they would end in order */
	r->ev.seqno = e->job;
	/* its owner is reported once: by the first event of the job that is seen */
	if (e->type == GT_SUBMIT || !jobs[e->job].submit)
		r->ev.pid = jobs[e->job].pid;
	if (e->type == GT_COMPLETE && jobs[e->job].value)
		r->ev.value = jobs[e->job].value;
}

/* Does the whole equal its parts, where all are known? */
static bool adds_up(const struct gt_finished *f)
{
	uint64_t sum = f->queue + f->hw_wait + f->exec;

	if (f->queue == GT_NONE64 || f->hw_wait == GT_NONE64 || f->exec == GT_NONE64 ||
	    f->total == GT_NONE64)
		return true;
	return f->total == sum + (f->complete == GT_NONE64 ? 0 : f->complete);
}

static void feed(struct gt_model *m)
{
	bool sums = true, owners = true, numbers = true;
	uint32_t completions = 0;

	for (size_t i = 0; i < nevents; i++) {
		struct gt_folded f;
		union gt_record r;
		const struct job *j = &jobs[events[i].job];

		record_of(&r, &events[i]);
		gt_model_event(m, &r, &f);
		completions += r.ev.type == GT_COMPLETE;
		if (f.finished) {
			sums &= adds_up(&f.fin);
			numbers &= f.fin.nth == completions;
			numbers &= f.fin.first_ts == gt_model_proc(m, f.fin.pid)->first_ts;
			owners &= r.ev.pid == j->pid && f.fin.pid == j->pid;
		}
		gt_model_done(m, &f);
	}
	ok(sums, "total is the sum of the stages, exactly");
	ok(owners, "a COMPLETE is given its job's owner");
	ok(numbers, "… and its number on the ring, and since when its process is known");
}

static int by_size(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static bool near(uint64_t got, const uint64_t *v, size_t n, unsigned int permille)
{
	uint64_t want = v[(n * permille + 999) / 1000 - 1];

	return (double)(got > want ? got - want : want - got) <= 0.01 * (double)want;
}

static bool same_stage(const struct gt_stage *s, uint64_t now, uint64_t *v, size_t n)
{
	struct gt_summary a;
	uint64_t sum = 0;

	gt_stage_summary(s, now, &a, NULL);
	if (a.count != n)
		printf("# count %" PRIu64 ", wanted %zu\n", a.count, n);
	if (!n)
		return !a.count;
	qsort(v, n, sizeof(*v), by_size);
	for (size_t i = 0; i < n; i++)
		sum += v[i];
	return a.count == n && a.sum == sum && a.min == v[0] && a.max == v[n - 1] &&
	       near(a.p50, v, n, 500) && near(a.p90, v, n, 900) && near(a.p99, v, n, 990) &&
	       near(a.p999, v, n, 999);
}

static bool same_values(const struct gt_stage *stage, uint64_t now, struct values *want)
{
	bool good = true;

	for (int i = 0; i < GT_NSTAGES; i++)
		good &= same_stage(&stage[i], now, want->v[i], want->n[i]);
	return good;
}

static int by_start(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

static uint64_t covered(void)
{
	uint64_t sum = 0, end = 0;

	qsort(spans, nspans, sizeof(*spans), by_start);
	for (size_t i = 0; i < nspans; i++) {
		uint64_t from = max(spans[i].start, end);

		if (spans[i].end > from)
			sum += spans[i].end - from;
		end = max(end, spans[i].end);
	}
	return sum;
}

static void forget(struct values *v)
{
	for (int i = 0; i < GT_NSTAGES; i++) {
		v->n[i] = 0;
		if (!v->v[i])
			v->v[i] = calloc(JOBS, sizeof(uint64_t));
	}
}

static void check(enum kind kind)
{
	struct gt_limits limits = { 100000, UINT64_MAX, 100, 0 };
	struct gt_model *m = gt_model_new(&limits, false);
	struct gt_ring *r = gt_model_ring(m, gt_model_gpu(m, "gpu0", NULL), "gfx", 0, NULL);
	bool procs = true;

	forget(&ring_values);
	for (int i = 0; i < PIDS; i++)
		forget(&pid_values[i]);
	nspans = nunmatched = 0;
	make(kind);
	printf("# %s: %zu events\n", kinds[kind], nevents);
	reckon_all();
	feed(m);
	ok(same_values(r->stage, m->now, &ring_values), "%s: stages of the ring", kinds[kind]);
	for (uint32_t i = 0; i < PIDS; i++) {
		const struct gt_proc *p = gt_model_proc(m, 100 + i);

		procs &= p && p->rings && !p->inflight &&
			 same_values(p->rings->stage, m->now, &pid_values[i]);
	}
	ok(procs, "%s: stages of each process", kinds[kind]);
	is(r->busy.total_ns, covered(), "%s: busy time is the union of what ran", kinds[kind]);
	is(r->counts.begin_unseen, nunmatched, "%s: ends without a beginning", kinds[kind]);
	is(r->counts.completed, JOBS, "%s: completions", kinds[kind]);
	is(r->measured, kind == MEASURED || kind == VALUE, "%s: says how it knows", kinds[kind]);
	is(m->njobs + r->depth.now, 0, "%s: nothing is left in flight", kinds[kind]);
	gt_model_free(m);
}

int main(void)
{
	uint64_t before = gt_hist_memory();

	for (int kind = 0; kind < NKINDS; kind++)
		check((enum kind)kind);
	is(gt_hist_memory(), before, "all memory is given back");
	for (int i = 0; i < GT_NSTAGES; i++) {
		free(ring_values.v[i]);
		for (int k = 0; k < PIDS; k++)
			free(pid_values[k].v[i]);
	}
	return done_testing();
}
