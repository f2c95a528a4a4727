/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a source counted itself, folded in, against the same events one by one: the same in every
 * bucket and counter. The tallies are made here from what each job's end is known to be, some at a
 * time.
 */
#include <stdlib.h>
#include <string.h>

#include "../../backend/backend.h"
#include "../../fs/model/fold.h"
#include "../lib/tap.h"

#define SEC    1000000000ULL
#define SLOT   250000000ULL
#define JOBS   4000
#define PIDS   4
#define RINGS  2
#define EVENTS (JOBS * 3)
#define MAX_B  (GT_HIST_OCTAVES * GT_HIST_SUB)

struct job {
	uint64_t submit, commit, complete;
	uint16_t ring;
	uint32_t pid;
	bool flies; /* its submission was fed, its end not yet */
};

struct event {
	uint64_t ts;
	int type;
	unsigned int job;
};

/* What one process did on one ring since the last tally */
struct sums {
	uint64_t submitted, committed, completed, first, busy;
	struct {
		uint64_t sum, min, max;
		uint32_t n[MAX_B];
	} stage[GT_NSTAGES];
};

static uint64_t seed = 7;
static struct job jobs[JOBS];
static struct event events[EVENTS];
static size_t nevents;
static struct sums sums[RINGS][PIDS];
static struct {
	uint64_t seen[GT_TALLY_TYPES], busy, area, last_end, hw_since, first, last, since,
		inflight_ts;
	uint32_t depth, peak, completed, hw;
} rings[RINGS];

static uint64_t rnd(uint64_t below)
{
	seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return (seed >> 33) % below;
}

static int by_time(const void *a, const void *b)
{
	const struct event *x = a, *y = b;

	if (x->ts != y->ts)
		return x->ts > y->ts ? 1 : -1;
	return (x->job > y->job) - (x->job < y->job);
}

static void push(uint64_t ts, int type, unsigned int job)
{
	events[nevents++] = (struct event){ ts, type, job };
}

static void make(void)
{
	uint64_t t = 10 * SEC;

	nevents = 0;
	for (unsigned int i = 0; i < JOBS; i++) {
		struct job *j = &jobs[i];

		t += rnd(3000000);
		*j = (struct job){ .submit = t, .pid = 100 + (uint32_t)rnd(PIDS) };
		j->ring = (uint16_t)rnd(RINGS);
		j->commit = j->submit + 1 + rnd(2000000);
		/* some are so long that they fill slots of the time before */
		j->complete = j->commit + 1 + (rnd(200) ? rnd(3000000) : rnd(700000000));
		push(j->submit, GT_SUBMIT, i);
		push(j->commit, GT_COMMIT, i);
		push(j->complete, GT_COMPLETE, i);
	}
	qsort(events, nevents, sizeof(*events), by_time);
}

static struct gt_model *model(void)
{
	struct gt_limits limits = { 100000, UINT64_MAX, 100, 0 };
	struct gt_model *m = gt_model_new(&limits, false);
	struct gt_gpu *g = gt_model_gpu(m, "gpu0", NULL);

	for (int i = 0; i < RINGS; i++)
		gt_model_ring(m, g, i ? "sdma0" : "gfx", GT_ENGINE_UNKNOWN, NULL)->unordered = true;
	return m;
}

static void record_of(union gt_record *r, const struct event *e)
{
	const struct job *j = &jobs[e->job];

	gt_record_init(r, e->ts, (enum gt_type)e->type);
	r->ev.gpu = 0;
	r->ev.ring = j->ring;
	r->ev.ctx = 1 + e->job; /* of one context they would end in order */
	r->ev.seqno = 1;
	if (e->type == GT_SUBMIT)
		r->ev.pid = j->pid;
}

/* A source that counts ------------------------------------------------------------------------ */

static void put(struct sums *s, unsigned int stage, uint64_t v)
{
	if (v == GT_NONE64)
		return;
	if (!s->stage[stage].n[gt_hist_bucket(v)]++ && !s->stage[stage].max)
		s->stage[stage].min = UINT64_MAX;
	s->stage[stage].sum += v;
	if (v < s->stage[stage].min)
		s->stage[stage].min = v;
	if (v > s->stage[stage].max)
		s->stage[stage].max = v;
}

static void count_job(struct sums *s, const struct gt_finished *fin, unsigned int ring)
{
	put(s, GT_ST_QUEUE, fin->queue);
	put(s, GT_ST_HW_WAIT, fin->hw_wait);
	put(s, GT_ST_EXEC, fin->exec);
	put(s, GT_ST_TOTAL, fin->total);
	s->busy += fin->exec;
	rings[ring].busy += fin->exec;
}

/* @fin: what is known of the job that ended with it */
static void count(const struct event *e, const struct gt_finished *fin)
{
	const struct job *j = &jobs[e->job];
	struct sums *s = &sums[j->ring][j->pid - 100];
	typeof(&rings[0]) r = &rings[j->ring];

	jobs[e->job].flies = e->type != GT_COMPLETE;
	if (!s->first)
		s->first = e->ts;
	if (!r->first)
		r->first = e->ts;
	r->last = e->ts;
	r->seen[e->type]++;
	s->submitted += e->type == GT_SUBMIT;
	s->committed += e->type == GT_COMMIT;
	s->completed += e->type == GT_COMPLETE;
	if (e->type == GT_SUBMIT && ++r->depth > r->peak)
		r->peak = r->depth;
	if (e->type == GT_COMMIT && !r->hw++)
		r->hw_since = e->ts;
	if (e->type != GT_COMPLETE)
		return;
	r->depth--;
	r->hw--;
	r->area += e->ts - j->submit;
	r->last_end = e->ts;
	r->completed++;
	count_job(s, fin, j->ring);
}

static void tally_proc(struct gt_tally_proc *p, struct sums *s, struct gt_tally_bucket *b)
{
	*p = (struct gt_tally_proc){ .uid = 1000,
				     .first = s->first,
				     .submitted = s->submitted,
				     .committed = s->committed,
				     .completed = s->completed,
				     .busy_ns = s->busy,
				     .comm = "prog" };
	for (unsigned int i = 0; i < GT_NSTAGES; i++) {
		p->stage[i].sum = s->stage[i].sum;
		p->stage[i].min = s->stage[i].min;
		p->stage[i].max = s->stage[i].max;
		p->stage[i].bucket = b;
		for (uint32_t k = 0; k < MAX_B; k++)
			if (s->stage[i].n[k])
				*b++ = (struct gt_tally_bucket){ k, s->stage[i].n[k] };
		p->stage[i].nbucket = (uint32_t)(b - p->stage[i].bucket);
	}
	memset(s, 0, sizeof(*s));
}

/* Of all rings, as of @at. @recorded: every job is in a record too */
static void tally(struct gt_model *m, uint64_t at, bool recorded)
{
	static struct gt_tally_bucket b[PIDS][EVENTS];

	for (uint16_t k = 0; k < RINGS; k++) {
		typeof(&rings[0]) r = &rings[k];
		struct gt_tally_proc p[PIDS];
		struct gt_tally t = {
			.ring = k, .at = at, .since = r->since, .completed = r->completed
		};
		uint64_t flying = 0;

		for (unsigned int i = 0; i < JOBS; i++)
			if (jobs[i].ring == k && jobs[i].flies)
				flying += at - jobs[i].submit;
		memcpy(t.seen, r->seen, sizeof(t.seen));
		t.busy_ns = r->busy;
		t.first = r->first;
		t.last = r->last;
		t.last_end = r->last_end;
		t.commits = true;
		t.proc = p;
		t.nproc = PIDS;
		if (!recorded) {
			t.left[GT_R_LEVEL] = r->seen[0] + r->seen[1] + r->seen[3];
			t.depth = r->depth;
			t.peak = r->peak;
			t.area = r->area + flying - r->inflight_ts;
			t.hw_since = r->hw ? r->hw_since : 0;
		}
		r->inflight_ts = flying;
		for (unsigned int i = 0; i < PIDS; i++) {
			tally_proc(&p[i], &sums[k][i], b[i]);
			p[i].pid = 100 + i;
			for (unsigned int n = 0; !recorded && n < JOBS; n++)
				p[i].inflight += jobs[n].ring == k && jobs[n].pid == p[i].pid &&
						 jobs[n].flies;
		}
		ok(gt_model_tally(m, &t), "ring %d takes a tally", k);
		for (unsigned int i = 0; i < PIDS; i++) {
			struct gt_folded f;

			gt_model_tally_proc(m, &t, i, &f);
		}
		gt_model_tally_end(m, &t);
		memset(r->seen, 0, sizeof(r->seen));
		r->busy = r->area = r->first = 0;
		r->peak = r->depth;
		r->since = at;
	}
}

/* Two models that shall be one ------------------------------------------------------------------
 */

struct list {
	uint64_t v[4000];
	size_t n;
};

static void bucket(void *arg, uint64_t le, uint64_t n)
{
	struct list *l = arg;

	l->v[l->n++] = le;
	l->v[l->n++] = n;
}

static bool same_stage(const struct gt_stage *a, const struct gt_stage *b, uint64_t now)
{
	static struct list x, y;
	struct gt_summary sa, sb, ta, tb;
	struct gt_hist h;

	x.n = y.n = 0;
	gt_stage_total(a, &h);
	gt_hist_buckets(&h, bucket, &x);
	gt_hist_reset(&h);
	gt_stage_total(b, &h);
	gt_hist_buckets(&h, bucket, &y);
	gt_hist_reset(&h);
	gt_stage_summary(a, now, &sa, &ta);
	gt_stage_summary(b, now, &sb, &tb);
	return x.n == y.n && !memcmp(x.v, y.v, x.n * sizeof(x.v[0])) &&
	       !memcmp(&sa, &sb, offsetof(struct gt_summary, unknown)) &&
	       !memcmp(&ta, &tb, offsetof(struct gt_summary, unknown));
}

static bool same_counts(const struct gt_counts *a, const struct gt_counts *b)
{
	if (memcmp(a, b, sizeof(*a)))
		printf("# submitted %" PRIu64 " %" PRIu64 " completed %" PRIu64 " %" PRIu64 "\n",
		       a->submitted, b->submitted, a->completed, b->completed);
	return !memcmp(a, b, sizeof(*a));
}

static bool same_ring(const struct gt_ring *a, const struct gt_ring *b)
{
	bool good = same_counts(&a->counts, &b->counts);

	for (int i = 0; i < GT_NTYPES; i++)
		good &= a->types.n[i].seen == b->types.n[i].seen;
	return good && a->last_end == b->last_end && a->first_ts == b->first_ts &&
	       a->last_ts == b->last_ts && a->commits && b->commits && !a->measured && !b->measured;
}

static bool same_windows(const struct gt_window_stats *a, const struct gt_window_stats *b)
{
	return a->start == b->start && a->end == b->end && a->events == b->events &&
	       a->completed == b->completed && a->lat_sum == b->lat_sum &&
	       a->lat_min == b->lat_min && a->lat_max == b->lat_max && a->lat_count == b->lat_count;
}

static bool same_prings(struct gt_model *a, struct gt_model *b, uint64_t now)
{
	bool good = true;

	for (uint32_t pid = 100; pid < 100 + PIDS; pid++) {
		const struct gt_proc *p = gt_model_proc(a, pid), *q = gt_model_proc(b, pid);

		good &= p && q && same_counts(&p->counts, &q->counts) &&
			p->first_ts == q->first_ts && p->inflight == q->inflight &&
			p->nrings == q->nrings;
		for (const struct gt_proc_ring *x = p->rings; good && x; x = x->next) {
			const struct gt_proc_ring *y = q->rings;

			while (y && y->ring != x->ring)
				y = y->next;
			good &= y && same_counts(&x->counts, &y->counts) &&
				x->inflight == y->inflight && x->busy.total_ns == y->busy.total_ns;
			for (int i = 0; good && i < GT_NSTAGES; i++)
				good &= same_stage(&x->stage[i], &y->stage[i], now);
		}
	}
	return good;
}

static bool near(uint64_t a, uint64_t b, uint64_t by)
{
	if ((a > b ? a - b : b - a) > by)
		printf("# %" PRIu64 " and %" PRIu64 "\n", a, b);
	return (a > b ? a - b : b - a) <= by;
}

static void compare(struct gt_model *a, struct gt_model *b, uint64_t at, const char *what)
{
	for (int k = 0; k < RINGS; k++) {
		struct gt_ring *x = a->gpus[0]->rings[k], *y = b->gpus[0]->rings[k];
		bool stages = true;

		for (int i = 0; i < GT_NSTAGES; i++)
			stages &= same_stage(&x->stage[i], &y->stage[i], at);
		ok(stages, "%s: ring %d: every bucket, and of the last ten seconds", what, k);
		ok(same_ring(x, y), "%s: ring %d: counters and clock", what, k);
		is(x->busy.total_ns, y->busy.total_ns, "%s: ring %d: busy time", what, k);
		ok(near(gt_ring_busy_ns(a, x, at, 10 * SEC), gt_ring_busy_ns(b, y, at, 10 * SEC),
			SLOT),
		   "%s: ring %d: … of the last ten seconds, to a slot", what, k);
		is(x->depth.now, y->depth.now, "%s: ring %d: jobs in flight", what, k);
		is(x->depth.peak, y->depth.peak, "%s: ring %d: … and the most there were", what, k);
		is(gt_depth_avg(&x->depth, at, at - x->depth.t0) / 10,
		   gt_depth_avg(&y->depth, at, at - y->depth.t0) / 10,
		   "%s: ring %d: … and on average", what, k);
		gt_ring_window(x, at + 1, SEC);
		gt_ring_window(y, at + 1, SEC);
		ok(same_windows(&x->last, &y->last), "%s: ring %d: the last window", what, k);
	}
	ok(same_counts(&a->counts, &b->counts), "%s: counters of all", what);
	ok(same_prings(a, b, at), "%s: what each process did", what);
}

/* Feeds @a one by one, and @b by tallies; @recorded: and by records that are not counted again. */
static void run(bool recorded)
{
	struct gt_model *a = model(), *b = model();
	const char *what = recorded ? "recorded" : "not recorded";
	uint64_t next = events[0].ts - events[0].ts % SLOT + SLOT, end = 0;
	bool fins = true;

	memset(rings, 0, sizeof(rings));
	memset(sums, 0, sizeof(sums));
	for (unsigned int i = 0; i < JOBS; i++)
		jobs[i].flies = false;
	for (size_t i = 0; i < nevents && end < 10 * SEC + JOBS * 1400000ull; i++) {
		struct gt_folded f, g;
		union gt_record r, s;

		for (; events[i].ts >= next; next += SLOT)
			tally(b, next - 1, recorded);
		record_of(&r, &events[i]);
		s = r;
		gt_model_event(a, &r, &f);
		count(&events[i], &f.fin);
		if (recorded) {
			s.ev.flags = GT_F_COUNTED;
			if (f.finished) {
				s.ev.value = f.fin.exec;
				s.ev.ref = f.fin.hw_wait;
				s.ev.queue = rings[r.ev.ring].completed;
			}
			gt_model_event(b, &s, &g);
			fins &= f.finished == g.finished && !memcmp(&r, &s, sizeof(r));
			if (f.finished)
				fins &= !memcmp(&f.fin, &g.fin,
						offsetof(struct gt_finished, comm)) &&
					f.fin.nth == g.fin.nth;
			gt_model_done(b, &g);
		}
		gt_model_done(a, &f);
		end = events[i].ts;
	}
	end = end - end % SEC + SEC - 1; /* the last window is whole */
	for (; next <= end + 1; next += SLOT)
		tally(b, next - 1, recorded);
	ok(fins, "%s: each job's end and record", what);
	ok(a->njobs > 0, "%s: some are still in flight", what);
	gt_model_advance(a, end);
	compare(a, b, end, what);
	gt_model_free(a);
	gt_model_free(b);
}

int main(void)
{
	uint64_t before = gt_hist_memory();

	make();
	run(false);
	run(true);
	is(gt_hist_memory(), before, "all memory is given back");
	return done_testing();
}
