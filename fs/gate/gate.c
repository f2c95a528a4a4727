/* SPDX-License-Identifier: GPL-2.0 */
/* Events at the gate; gate.c: what they are held against. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "gate.h"

static void gt_hold_drop(struct gt_hold *h, struct gt_chain *c);

/* What the settings say, in the form that an event is held against. */

static uint64_t verbose_types(void)
{
	enum { NORMAL, VERBOSE };
#define IF_VERBOSE(name, number, class, level) | (level == VERBOSE ? GT_BIT(number) : 0)
	return 0 GT_TYPES(IF_VERBOSE);
#undef IF_VERBOSE
}

static uint64_t level_types(int64_t level)
{
	if (level <= GT_LEVEL_STATS)
		return 0;
	return level >= GT_LEVEL_VERBOSE ? UINT64_MAX : ~verbose_types();
}

/* Values were checked when they were set: here no list can be wrong. */
static void numbers(const char *s, uint64_t max, struct gt_numbers *out)
{
	char err[128];

	if (!s || gt_list_numbers(s, max, true, out, err, sizeof(err)))
		*out = (struct gt_numbers){ 0 };
}

static void rings(const char *s, struct gt_patterns *out)
{
	char err[128];

	if (!s || gt_list_rings(s, true, out, err, sizeof(err)))
		out->n = 0;
}

static void set_list32(const char *s, uint32_t list[GT_WANTED_LIST], uint32_t *n)
{
	struct gt_numbers v;

	numbers(s, GT_NONE32 - 1, &v);
	memset(list, 0xff, GT_WANTED_LIST * sizeof(*list));
	for (unsigned int i = 0; i < v.n; i++)
		list[i] = (uint32_t)v.v[i];
	*n = v.n;
}

static void set_contexts(struct gt_wanted *w, const char *s)
{
	struct gt_numbers v;

	numbers(s, GT_NONE64 - 1, &v);
	memset(w->ctx, 0xff, sizeof(w->ctx));
	memcpy(w->ctx, v.v, v.n * sizeof(*w->ctx));
	w->nctx = v.n;
	w->ctx_but = v.but;
}
static_assert(GT_WANTED_LIST == GT_LIST_MAX, "every list has room");

static void set_filters(struct gt_gate *g, const struct gt_config *c)
{
	bool on = c->filter_enabled;
	char err[128];

	set_list32(on ? c->filter_pid : NULL, g->wanted.pid, &g->wanted.npid);
	set_list32(on ? c->filter_uid : NULL, g->wanted.uid, &g->wanted.nuid);
	rings(on ? c->filter_ring : NULL, &g->filter_rings);
	gt_list_events(on ? c->filter_events : "", &g->wanted.events, err, sizeof(err));
	gt_list_engines(on ? c->filter_engine : "", &g->engines, err, sizeof(err));
	g->latency = on && c->filter_latency ? (uint64_t)c->filter_latency * 1000 : GT_NONE64;
}

static void set_sampling(struct gt_gate *g, const struct gt_config *c)
{
	uint64_t share = GT_SHARE_ALL * (uint64_t)c->sampling / 100;
	bool adapts = c->sampling_mode == GT_SAMPLING_ADAPTIVE;
	bool slow = c->sampling_mode == GT_SAMPLING_THRESHOLD;

	gt_adapt_set(&g->adapt, adapts ? (unsigned int)c->sampling_budget : 0, share);
	g->wanted.share = adapts ? g->adapt.share : slow ? GT_SHARE_ALL : share;
	g->slower = slow ? (uint64_t)c->sampling_threshold : GT_NONE64;
}

/** struct place - a ring as lists know it */
struct place {
	const char *gpu, *name;
	unsigned int id;
	enum gt_engine engine;
};

static struct place find(const struct gt_gate *g, uint16_t gpu, uint16_t ring)
{
	struct place p = { "", "", ring, GT_ENGINE_UNKNOWN };
	const struct gt_gpu *of;

	if (!g->model || gpu >= g->model->ngpus)
		return p;
	of = g->model->gpus[gpu];
	p.gpu = of->name;
	if (ring < of->nrings) {
		p.name = of->rings[ring]->name;
		p.engine = of->rings[ring]->engine;
	}
	return p;
}

/** gt_gate_ring_known() - has it its name and engine, which it keeps? */
static bool gt_gate_ring_known(const struct gt_gate *g, uint16_t gpu, uint16_t ring)
{
	return !g->model || (gpu < g->model->ngpus && ring < g->model->gpus[gpu]->nrings);
}

static bool listed(const struct gt_patterns *list, const struct place *p)
{
	return p->id != GT_NONE16 && gt_ring_matches(list, p->gpu, p->id, p->name);
}

static uint32_t ruled_out(const struct gt_patterns *list, const struct place *p,
			  enum gt_refusal why)
{
	return list->n && listed(list, p) == list->but ? 1U << why : 0;
}

static uint32_t ring_refused(const struct gt_gate *g, uint16_t gpu, uint16_t ring)
{
	struct place p = find(g, gpu, ring);
	uint32_t engine = g->engines >> p.engine & 1 ? 0 : 1U << GT_R_ENGINE;

	return ruled_out(&g->filter_rings, &p, GT_R_RING) | engine |
	       ruled_out(&g->watch, &p, GT_R_WATCHLIST);
}

void gt_gate_configure(struct gt_gate *g, const struct gt_config *c)
{
	g->rules++;
	g->wanted.types = level_types(c->level);
	set_filters(g, c);
	rings(c->watchlist, &g->watch);
	set_contexts(&g->wanted, c->watchlist_ctx);
	set_sampling(g, c);
	gt_rate_set(&g->rate, c->rate_limit_mode, (uint64_t)c->rate_limit,
		    (uint64_t)c->rate_limit_burst);
	g->nowhere.refused = ring_refused(g, GT_NONE16, GT_NONE16);
}

#define SWEEP_NS 1000000000u

static void *map(size_t n, size_t size)
{
	void *p = mmap(NULL, n * size, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

static void unmap(void *p, size_t n, size_t size)
{
	if (p)
		munmap(p, n * size);
}

void gt_hold_init(struct gt_hold *h, const struct gt_job *jobs, uint32_t njobs)
{
	*h = (struct gt_hold){ .jobs = jobs, .njobs = njobs, .free = GT_NONE32, .out = GT_NONE32 };
}

void gt_hold_destroy(struct gt_hold *h)
{
	unmap(h->chain, h->njobs, sizeof(*h->chain));
	unmap(h->rec, GT_HOLD_RECORDS, sizeof(*h->rec));
	unmap(h->next, GT_HOLD_RECORDS, sizeof(*h->next));
	gt_hold_init(h, h->jobs, h->njobs);
}

/* Memory is mapped when something is held for the first time, and touched as it is needed. */
static bool ready(struct gt_hold *h)
{
	if (h->chain)
		return true;
	h->chain = map(h->njobs, sizeof(*h->chain));
	h->rec = map(GT_HOLD_RECORDS, sizeof(*h->rec));
	h->next = map(GT_HOLD_RECORDS, sizeof(*h->next));
	if (h->chain && h->rec && h->next)
		return true;
	gt_hold_destroy(h);
	return false;
}

/** gt_hold_chain() - of a job that gt_hold_begin() began */
static struct gt_chain *gt_hold_chain(const struct gt_hold *h, const struct gt_job *job)
{
	return &h->chain[job - h->jobs];
}

bool gt_hold_begin(struct gt_hold *h, const struct gt_job *job)
{
	if (job < h->jobs || job >= h->jobs + h->njobs || !ready(h))
		return false;
	gt_hold_drop(h, gt_hold_chain(h, job)); /* of who had its place before, and never ended */
	return true;
}

static uint32_t take(struct gt_hold *h)
{
	uint32_t i = h->free;

	if (i == GT_NONE32)
		return h->fresh < GT_HOLD_RECORDS ? h->fresh++ : GT_NONE32;
	h->free = h->next[i];
	return i;
}

bool gt_hold_put(struct gt_hold *h, const struct gt_job *job, const union gt_record *r)
{
	struct gt_chain *c = gt_hold_chain(h, job);
	uint32_t i = take(h);

	if (i == GT_NONE32)
		return false;
	h->rec[i] = *r;
	h->next[i] = GT_NONE32;
	if (c->n)
		h->next[c->last] = i;
	else
		c->first = i;
	c->last = i;
	c->n++;
	h->held++;
	return true;
}

/** gt_hold_drop() - what is held of a job goes */
static void gt_hold_drop(struct gt_hold *h, struct gt_chain *c)
{
	if (c->n) {
		h->next[c->last] = h->free;
		h->free = c->first;
		h->held -= c->n;
	}
	c->n = c->counted = 0;
}

/** gt_hold_release() - what is held of a job comes by gt_hold_next(), which is to be asked at once
 */
static void gt_hold_release(struct gt_hold *h, struct gt_chain *c)
{
	if (!c->n)
		return;
	h->out = c->first;
	h->held -= c->n;
	c->n = c->counted = 0;
}

const union gt_record *gt_hold_next(struct gt_hold *h)
{
	uint32_t i = h->out;

	if (i == GT_NONE32)
		return NULL;
	h->out = h->next[i];
	h->next[i] = h->free; /* nothing is held before the next call */
	h->free = i;
	return &h->rec[i];
}

uint64_t gt_hold_bytes(const struct gt_hold *h)
{
	if (!h->chain)
		return 0;
	return h->njobs * sizeof(*h->chain) +
	       h->fresh * (sizeof(*h->rec) + (uint64_t)sizeof(*h->next));
}

void gt_hold_sweep(struct gt_hold *h, uint64_t now)
{
	bool back = now < h->swept; /* a time in the future came before */

	if (!back && now - h->swept < SWEEP_NS)
		return;
	h->swept = now;
	if (back)
		return;
	for (uint32_t i = 0; i < h->njobs; i++)
		if (h->chain[i].n &&
		    (!h->jobs[i].live || (h->jobs[i].recorded & GT_JOB_STATE) != GT_JOB_HELD))
			gt_hold_drop(h, &h->chain[i]);
}

#define LEAST (GT_SHARE_ALL >> 16)

static uint64_t within(uint64_t share, uint64_t most)
{
	if (share < LEAST)
		share = LEAST;
	return share < most ? share : most;
}

void gt_adapt_set(struct gt_adapt *a, unsigned int budget, uint64_t most)
{
	if (!a->budget || !budget) {
		a->at = a->cpu = 0;
		a->use = 0;
		a->share = most;
	}
	a->budget = budget;
	a->most = most;
	a->share = within(a->share, most);
}

/* x^0.3 for x of 0.1 to 2.1, beyond which the bounds hold: Newton's way to the root of y^10 = x^3
 */
static double root(double x)
{
	double y = 1, x3 = x * x * x;

	for (int i = 0; i < 24; i++) {
		double y3 = y * y * y, y9 = y3 * y3 * y3;

		y -= (y9 * y - x3) / (10 * y9);
	}
	return y;
}

static double factor(double aim, double use)
{
	double x = use > 0 ? aim / use : 10;

	if (x <= 0.1)
		return 0.5; /* 0.1^0.3 */
	if (x >= 2.1)
		return 1.25;
	return root(x);
}

bool gt_sampling_adapt(struct gt_adapt *a, uint64_t now, uint64_t cpu)
{
	uint64_t was = a->share;
	bool first = !a->at;

	if (!gt_adapt_due(a, now))
		return false;
	if (!first)
		a->use = (double)(cpu - a->cpu) / (double)(now - a->at);
	a->at = now;
	a->cpu = cpu;
	if (first)
		return false;
	a->share = within((uint64_t)((double)was * factor(0.009 * a->budget, a->use)), a->most);
	return a->share != was;
}

/* A wait names the job waited for, but is somebody else's doing */
#define WAIT_TYPES (GT_BIT(GT_SYNC_WAIT_ENTER) | GT_BIT(GT_SYNC_WAIT_EXIT))
#define STEP_TYPES                                                                                 \
	(GT_BIT(GT_SUBMIT) | GT_BIT(GT_COMPLETE) | GT_BIT(GT_COMMIT) | GT_BIT(GT_START) |          \
	 GT_BIT(GT_END))
/* Events of a job even where the job itself is not known */
#define JOB_TYPES (STEP_TYPES | GT_BIT(GT_ERROR))

#define likely(x) __builtin_expect(!!(x), 1)

/*
 * gt_job.recorded: 0: not decided yet. Its low 4 bits: it is recorded, or held until it ends, or
 * why it is not recorded, by enum gt_refusal; the others: records that the rate limit has been
 * charged for and that have not come yet.
 */
#define JOB_RECORDED 15
#define JOB_UNHELD   GT_R_TYPE /* there was no room to hold it, which no type says of a job */
#define JOB_PAID     16
static_assert(GT_R_SHARE <= GT_JOB_HELD && GT_JOB_HELD < JOB_RECORDED, "a reason is no decision");

void gt_gate_init(struct gt_gate *g, const struct gt_model *m)
{
	/* the salt is 0, so that two runs over one recording choose the same jobs */
	*g = (struct gt_gate){
		.wanted = { .types = UINT64_MAX, .events = UINT64_MAX, .share = GT_SHARE_ALL },
		.model = m,
		.engines = UINT64_MAX,
		.slower = GT_NONE64,
		.latency = GT_NONE64
	};
	gt_hold_init(&g->hold, m ? m->jobs : NULL, m ? m->limits.max_jobs : 0);
}

/** gt_gate_destroy() - frees what was made on demand; @g may be initialised again */
void gt_gate_destroy(struct gt_gate *g)
{
	gt_hold_destroy(&g->hold);
	for (unsigned int i = 0; i < GT_MAX_GPUS; i++) {
		free(g->rings[i]);
		g->rings[i] = NULL;
	}
}

static void clear_ring(struct gt_gate_ring *r)
{
	r->seen = r->recorded = r->sampled_out = r->seen_before = r->recorded_before = 0;
}

void gt_gate_clear(struct gt_gate *g)
{
	g->n = (struct gt_gate_counts){ 0 };
	g->period++;
	for (unsigned int i = 0; i < GT_MAX_GPUS; i++)
		for (unsigned int k = 0; g->rings[i] && k < GT_MAX_RINGS; k++)
			clear_ring(&g->rings[i][k]);
}

void gt_gate_reset(struct gt_gate *g)
{
	gt_hold_destroy(&g->hold);
	gt_hold_init(&g->hold, g->model->jobs, g->model->limits.max_jobs);
	gt_rate_restart(&g->rate);
	gt_gate_clear(g);
}

/* A record's ring, as of these rules; where it is unknown, or memory is lacking, the one for these
 */
static struct gt_gate_ring *ring_of(struct gt_gate *g, uint16_t gpu, uint16_t ring)
{
	struct gt_gate_ring *r;

	if (gpu >= GT_MAX_GPUS || ring >= GT_MAX_RINGS)
		return &g->nowhere;
	if (!g->rings[gpu])
		g->rings[gpu] = calloc(GT_MAX_RINGS, sizeof(*g->rings[gpu]));
	if (!g->rings[gpu])
		return &g->nowhere;
	r = &g->rings[gpu][ring];
	if (r->rules != g->rules) {
		if (gt_gate_ring_known(g, gpu,
				       ring)) { /* else it is asked again: it may get a name */
			r->rules = g->rules;
			r->seen_before = r->seen;
			r->recorded_before = r->recorded;
		}
		r->refused = ring_refused(g, gpu, ring);
	}
	return r;
}

static struct gt_wanted_job about(const struct gt_event *e, const struct gt_gate_ring *ring)
{
	return (struct gt_wanted_job){ .ctx = e->ctx,
				       .seqno = e->seqno,
				       .pid = e->pid,
				       .uid = e->uid,
				       .gpu = e->gpu,
				       .ring = e->ring,
				       .refused = ring->refused };
}

/* Is it a job's end that decides, and what do its events count as until then? */
static enum gt_refusal held_as(const struct gt_gate *g)
{
	if (g->latency != GT_NONE64)
		return GT_R_LATENCY;
	return g->slower != GT_NONE64 ? GT_R_THRESHOLD : GT_R_NONE;
}

static enum gt_refusal too_fast(const struct gt_gate *g, uint64_t total)
{
	bool known = total != GT_NONE64;

	if (g->latency != GT_NONE64 && !(known && total > g->latency))
		return GT_R_LATENCY;
	return g->slower != GT_NONE64 && !(known && total > g->slower) ? GT_R_THRESHOLD : GT_R_NONE;
}

/* May @n more records come in? Users' own files have bounds of their own */
static bool within_rate(struct gt_gate *g, uint64_t now, unsigned int n)
{
	return g->users || gt_rate_take(&g->rate, now, n);
}

/* Of an event that is of no job, or of one that is not known */
static enum gt_refusal lone(struct gt_gate *g, const struct gt_event *e,
			    const struct gt_gate_ring *ring)
{
	const struct gt_wanted_job j = about(e, ring);
	enum gt_refusal why = gt_type_refused(&g->wanted, e->type);

	if (why)
		return why;
	if (!(GT_BIT(e->type) & JOB_TYPES) || e->ctx == GT_NONE64)
		why = gt_filters_refused(&g->wanted, &j);
	else
		why = gt_job_refused(&g->wanted, &j) ?: too_fast(g, GT_NONE64);
	if (!why && !within_rate(g, e->ts, 1))
		why = GT_R_RATE;
	return why;
}

/* How many records a job of the ring will have; all that there can be, until one has ended. */
static unsigned int job_cost(const struct gt_gate *g, const struct gt_gate_ring *ring)
{
	uint64_t reported = ring->reported & GT_BIT(GT_COMPLETE) ? ring->reported : STEP_TYPES;

	return (unsigned int)__builtin_popcountll(reported & g->wanted.types & g->wanted.events);
}

static void decide(struct gt_gate *g, const struct gt_event *e, const struct gt_gate_ring *ring,
		   struct gt_job *job)
{
	const struct gt_wanted_job j = about(e, ring);
	enum gt_refusal why = gt_job_refused(&g->wanted, &j);
	unsigned int cost;

	if (!why && held_as(g)) {
		job->recorded = gt_hold_begin(&g->hold, job) ? GT_JOB_HELD : JOB_UNHELD;
		return;
	}
	if (!why && g->rate.per_s && !g->users) {
		cost = job_cost(g, ring);
		if (gt_rate_take(&g->rate, e->ts, cost))
			job->recorded = (uint8_t)(cost * JOB_PAID);
		else
			why = GT_R_RATE;
	}
	job->recorded |= why ? why : JOB_RECORDED;
}

/* A record of a job that is in: one of those that were charged for, or one more */
static void pay(struct gt_gate *g, struct gt_job *job)
{
	if (job->recorded >= JOB_PAID)
		job->recorded -= JOB_PAID;
	else if (!g->users)
		gt_rate_more(&g->rate, 1);
}

static bool refuse(struct gt_gate *g, struct gt_gate_ring *ring, enum gt_refusal why)
{
	g->n.refused[why]++;
	ring->sampled_out += why == GT_R_SAMPLING || why == GT_R_THRESHOLD;
	return false;
}

static bool record(struct gt_gate *g, struct gt_gate_ring *ring)
{
	g->n.recorded++;
	ring->recorded++;
	return true;
}

/* What was held of a job counts no longer as what it counted as; returns how many that were */
static uint32_t take_back(struct gt_gate *g, struct gt_gate_ring *ring, struct gt_chain *c)
{
	uint32_t n = c->period == g->period ? c->counted : 0;

	g->n.refused[c->why] -= n;
	if (c->why == GT_R_THRESHOLD)
		ring->sampled_out -= n;
	c->counted = 0;
	return n;
}

static bool no_room(struct gt_gate *g, struct gt_gate_ring *ring, struct gt_job *job)
{
	struct gt_chain *c = gt_hold_chain(&g->hold, job);

	job->recorded = JOB_UNHELD;
	g->n.lost_held += take_back(g, ring, c) + 1;
	gt_hold_drop(&g->hold, c);
	return false;
}

static bool hold(struct gt_gate *g, const union gt_record *r, struct gt_gate_ring *ring,
		 struct gt_job *job)
{
	struct gt_chain *c = gt_hold_chain(&g->hold, job);

	if (!gt_hold_put(&g->hold, job, r)) {
		gt_hold_sweep(&g->hold, r->ev.ts);
		if (!gt_hold_put(&g->hold, job, r))
			return no_room(g, ring, job);
	}
	if (c->n == 1) /* GT_R_NONE: the settings that held it are no more, but it has begun */
		c->why = held_as(g) ?: GT_R_THRESHOLD;
	if (c->period != g->period || c->n == 1) {
		c->period = g->period;
		c->counted = 0;
	}
	c->counted++;
	return refuse(g, ring, c->why);
}

/* The end of a job that was held. @type_why: its own record is refused for its type */
static bool end_held(struct gt_gate *g, const struct gt_event *e, struct gt_gate_ring *ring,
		     struct gt_job *job, uint64_t total, enum gt_refusal type_why)
{
	struct gt_chain *c = gt_hold_chain(&g->hold, job);
	enum gt_refusal why = too_fast(g, total);
	uint32_t n = c->n, counted = take_back(g, ring, c);

	if (!why && !within_rate(g, e->ts, n + !type_why))
		why = GT_R_RATE;
	if (why) {
		g->n.refused[why] += counted;
		if (why == GT_R_THRESHOLD)
			ring->sampled_out += counted;
		gt_hold_drop(&g->hold, c);
		return refuse(g, ring, type_why ? type_why : why);
	}
	/* those that were seen before a clear are recorded after it: they count there as both */
	g->n.seen += n - counted;
	ring->seen += n - counted;
	g->n.recorded += n;
	ring->recorded += n;
	gt_hold_release(&g->hold, c);
	return type_why ? refuse(g, ring, type_why) : record(g, ring);
}

static bool job_held(struct gt_gate *g, const union gt_record *r, struct gt_gate_ring *ring,
		     struct gt_job *job, uint64_t total)
{
	enum gt_refusal why = gt_type_refused(&g->wanted, r->ev.type);

	if (r->ev.type == GT_COMPLETE)
		return end_held(g, &r->ev, ring, job, total, why);
	return why ? refuse(g, ring, why) : hold(g, r, ring, job);
}

static bool of_job(struct gt_gate *g, const union gt_record *r, struct gt_gate_ring *ring,
		   struct gt_job *job, uint64_t total)
{
	unsigned int state;
	enum gt_refusal why;

	if (!job->recorded)
		decide(g, &r->ev, ring, job);
	state = job->recorded & GT_JOB_STATE;
	if (state == GT_JOB_HELD)
		return job_held(g, r, ring, job, total);
	if (state == JOB_UNHELD) {
		g->n.lost_held++;
		return false;
	}
	why = gt_type_refused(&g->wanted, r->ev.type);
	if (!why && state != JOB_RECORDED)
		why = (enum gt_refusal)state;
	if (g->rate.per_s && state == JOB_RECORDED) {
		if (!why)
			pay(g, job);
		if (r->ev.type == GT_COMPLETE)
			gt_rate_back(&g->rate, job->seen, job->recorded / JOB_PAID);
	}
	return why ? refuse(g, ring, why) : record(g, ring);
}

static void count_lost(struct gt_gate *g, const struct gt_lost *lost)
{
	uint64_t before = g->n.lost_source;

	if (lost->cause != GT_LOST_SOURCE)
		return;
	g->n.lost_source = gt_lost_sum(before, lost->count);
	g->n.uncounted += lost->count == GT_NONE64;
	g->n.seen += g->n.lost_source - before;
}

/* No event: descriptions always pass, unknown types never: they would stop every babeltrace2 */
static bool other(struct gt_gate *g, const union gt_record *r)
{
	if (r->ev.type == GT_LOST)
		count_lost(g, &r->lost);
	if (gt_type_known(r->ev.type))
		return true;
	g->n.seen++;
	g->n.refused[GT_R_TYPE]++;
	return false;
}

bool gt_gate_pass(struct gt_gate *g, const union gt_record *r, struct gt_job *job, uint64_t total)
{
	struct gt_gate_ring *ring;
	enum gt_refusal why;

	if (!likely(r->ev.type < GT_NTYPES))
		return other(g, r);
	ring = ring_of(g, r->ev.gpu, r->ev.ring);
	g->n.seen++;
	ring->seen++;
	ring->reported |= GT_BIT(r->ev.type) & STEP_TYPES;
	if (likely(job && !(GT_BIT(r->ev.type) & WAIT_TYPES)))
		return of_job(g, r, ring, job, total);
	why = lone(g, &r->ev, ring);
	return why ? refuse(g, ring, why) : record(g, ring);
}

void gt_gate_no_room(struct gt_gate *g, const union gt_record *r)
{
	if (r->ev.type >= GT_NTYPES)
		return;
	g->n.recorded--;
	g->n.refused[GT_R_SHARE]++;
	ring_of(g, r->ev.gpu, r->ev.ring)->recorded--;
}

void gt_gate_adapt(struct gt_gate *g, uint64_t now, uint64_t cpu)
{
	if (gt_sampling_adapt(&g->adapt, now, cpu))
		g->wanted.share = g->adapt.share;
}

uint64_t gt_gate_filtered(const struct gt_gate_counts *n)
{
	uint64_t sum = n->refused[GT_R_TYPE] + n->refused[GT_R_LATENCY];

	for (unsigned int i = GT_R_EVENTS; i <= GT_R_CTX; i++)
		sum += n->refused[i];
	return sum;
}

uint64_t gt_gate_sampled(const struct gt_gate_counts *n)
{
	return n->refused[GT_R_SAMPLING] + n->refused[GT_R_THRESHOLD];
}
