/* SPDX-License-Identifier: GPL-2.0 */
/* Events at the gate; rules.c: what they are held against. */
#include <stdlib.h>

#include "gate.h"

#define BIT(type) (1U << (type))

/* A wait names the job waited for, but is somebody else's doing */
#define WAIT_TYPES (BIT(GT_SYNC_WAIT_ENTER) | BIT(GT_SYNC_WAIT_EXIT))
#define STEP_TYPES                                                                                 \
	(BIT(GT_SUBMIT) | BIT(GT_COMPLETE) | BIT(GT_COMMIT) | BIT(GT_START) | BIT(GT_END))
/* Events of a job even where the job itself is not known */
#define JOB_TYPES (STEP_TYPES | BIT(GT_ERROR))

#define likely(x) __builtin_expect(!!(x), 1)

/*
 * gt_job.recorded: 0: not decided yet. Its low 4 bits: it is recorded, or held until it ends, or
 * why it is not recorded, by enum gt_refusal; the others: records that the rate limit has been
 * charged for and that have not come yet.
 */
#define JOB_RECORDED 15
#define JOB_UNHELD   GT_R_TYPE /* there was no room to hold it, which no type says of a job */
#define JOB_PAID     16
static_assert(GT_NREFUSALS <= GT_JOB_HELD && GT_JOB_HELD < JOB_RECORDED, "a reason is no decision");

void gt_gate_init(struct gt_gate *g, const struct gt_model *m)
{
	/* the salt is 0, so that two runs over one recording choose the same jobs */
	*g = (struct gt_gate){
		.wanted = { .types = UINT32_MAX, .events = UINT32_MAX, .share = GT_SHARE_ALL },
		.model = m,
		.engines = UINT32_MAX,
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
	r->seen = r->recorded = r->sampled_out = 0;
}

void gt_gate_clear(struct gt_gate *g)
{
	g->n = (struct gt_gate_counts){ 0 };
	g->period++;
	for (unsigned int i = 0; i < GT_MAX_GPUS; i++)
		for (unsigned int k = 0; g->rings[i] && k < GT_MAX_RINGS; k++)
			clear_ring(&g->rings[i][k]);
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
		if (gt_gate_ring_known(g, gpu, ring)) /* else it is asked again: it may get a name */
			r->rules = g->rules;
		r->refused = gt_gate_ring_refused(g, gpu, ring);
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

/* Of an event that is of no job, or of one that is not known */
static enum gt_refusal lone(struct gt_gate *g, const struct gt_event *e,
			    const struct gt_gate_ring *ring)
{
	const struct gt_wanted_job j = about(e, ring);
	enum gt_refusal why = gt_type_refused(&g->wanted, e->type);

	if (why)
		return why;
	if (!(BIT(e->type) & JOB_TYPES) || e->ctx == GT_NONE64)
		why = gt_filters_refused(&g->wanted, &j);
	else
		why = gt_job_refused(&g->wanted, &j) ?: too_fast(g, GT_NONE64);
	if (!why && !gt_rate_take(&g->rate, e->ts, 1))
		why = GT_R_RATE;
	return why;
}

/* How many records a job of the ring will have; all that there can be, until one has ended. */
static unsigned int job_cost(const struct gt_gate *g, const struct gt_gate_ring *ring)
{
	uint32_t told = ring->told & BIT(GT_COMPLETE) ? ring->told : STEP_TYPES;

	return (unsigned int)__builtin_popcount(told & g->wanted.types & g->wanted.events);
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
	if (!why && g->rate.per_s) {
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
	else
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

	if (!why && !gt_rate_take(&g->rate, e->ts, n + !type_why))
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

/* A source that cannot tell how many it lost says all ones: one at least. */
static void count_lost(struct gt_gate *g, const struct gt_lost *lost)
{
	uint64_t n = lost->count == GT_NONE64 ? 1 : lost->count;

	if (lost->cause != GT_LOST_SOURCE)
		return;
	g->n.seen += n;
	g->n.lost_source += n;
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
	ring->told |= BIT(r->ev.type) & STEP_TYPES;
	if (likely(job && !(BIT(r->ev.type) & WAIT_TYPES)))
		return of_job(g, r, ring, job, total);
	why = lone(g, &r->ev, ring);
	return why ? refuse(g, ring, why) : record(g, ring);
}

void gt_gate_left(struct gt_gate *g, uint16_t gpu, uint16_t ring, const uint64_t *left)
{
	struct gt_gate_ring *r = ring_of(g, gpu, ring);

	for (unsigned int i = GT_R_NONE + 1; i < GT_NREFUSALS; i++) {
		g->n.seen += left[i];
		g->n.refused[i] += left[i];
		r->seen += left[i];
	}
	r->sampled_out += left[GT_R_SAMPLING] + left[GT_R_THRESHOLD];
}

bool gt_gate_adapt(struct gt_gate *g, uint64_t now, uint64_t cpu)
{
	if (!gt_adapt_look(&g->adapt, now, cpu))
		return false;
	g->wanted.share = g->adapt.share;
	g->wanted.gen++;
	return true;
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
