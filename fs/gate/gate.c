/* SPDX-License-Identifier: GPL-2.0 */
#include <stdlib.h>

#include "gate.h"

#define BIT(type) (1U << (type))

/* What only level verbose records: it comes by the million and tells of no job. Calls of functions
 * do too, but come only where somebody chose the functions. */
#define VERBOSE_TYPES (BIT(GT_IRQ) | BIT(GT_CTX_SWITCH))
/* A wait names the job waited for, but is somebody else's doing */
#define WAIT_TYPES (BIT(GT_SYNC_WAIT_ENTER) | BIT(GT_SYNC_WAIT_EXIT))
/* Events of a job even where the job itself is not known */
#define JOB_TYPES                                                                                  \
	(BIT(GT_SUBMIT) | BIT(GT_COMPLETE) | BIT(GT_COMMIT) | BIT(GT_START) | BIT(GT_END) |        \
	 BIT(GT_ERROR))

/* gt_job.recorded: this, why it is not, or 0: not decided yet */
#define JOB_RECORDED 15
static_assert(GT_NREFUSALS <= JOB_RECORDED, "a reason is no decision to record");

static uint32_t level_types(int64_t level)
{
	if (level <= GT_LEVEL_STATS)
		return 0;
	return level >= GT_LEVEL_VERBOSE ? UINT32_MAX : ~VERBOSE_TYPES;
}

/** gt_gate_init() - level normal, every job recorded, nothing counted
 *
 * The salt is 0, so that two runs over one recording choose the same jobs.
 */
void gt_gate_init(struct gt_gate *g)
{
	*g = (struct gt_gate){ .wanted = { .types = level_types(GT_LEVEL_NORMAL),
					   .events = UINT32_MAX,
					   .share = GT_SHARE_ALL } };
}

void gt_gate_configure(struct gt_gate *g, const struct gt_config *c)
{
	g->wanted.gen++;
	g->wanted.types = level_types(c->level);
	g->wanted.share = GT_SHARE_ALL * (uint64_t)c->sampling / 100;
}

/** gt_gate_destroy() - frees what was made on demand; @g may be initialised again */
void gt_gate_destroy(struct gt_gate *g)
{
	for (unsigned int i = 0; i < GT_MAX_GPUS; i++) {
		free(g->rings[i]);
		g->rings[i] = NULL;
	}
}

/** gt_gate_clear() - counters start again at 0; settings and the choice of jobs in flight stay */
void gt_gate_clear(struct gt_gate *g)
{
	g->n = (struct gt_gate_counts){ 0 };
	for (unsigned int i = 0; i < GT_MAX_GPUS; i++) {
		for (unsigned int k = 0; g->rings[i] && k < GT_MAX_RINGS; k++)
			g->rings[i][k] = (struct gt_gate_ring){ 0 };
	}
}

/* The counters of a record's ring; @none takes them where the ring is unknown or memory lacking. */
static struct gt_gate_ring *ring_counts(struct gt_gate *g, uint16_t gpu, uint16_t ring,
					struct gt_gate_ring *none)
{
	if (gpu >= GT_MAX_GPUS || ring >= GT_MAX_RINGS)
		return none;
	if (!g->rings[gpu])
		g->rings[gpu] = calloc(GT_MAX_RINGS, sizeof(*g->rings[gpu]));
	return g->rings[gpu] ? &g->rings[gpu][ring] : none;
}

uint32_t gt_gate_ring_refused(const struct gt_gate *g, uint16_t gpu, uint16_t ring)
{
	return 0;
}

static struct gt_wanted_job about(const struct gt_gate *g, const struct gt_event *e)
{
	return (struct gt_wanted_job){ .ctx = e->ctx,
				       .seqno = e->seqno,
				       .pid = e->pid,
				       .uid = e->uid,
				       .gpu = e->gpu,
				       .ring = e->ring,
				       .refused = gt_gate_ring_refused(g, e->gpu, e->ring) };
}

/* Of an event that is of no job, or of one that is not known */
static enum gt_refusal lone(const struct gt_gate *g, const struct gt_event *e)
{
	const struct gt_wanted_job j = about(g, e);

	if (!(BIT(e->type) & JOB_TYPES) || e->ctx == GT_NONE64)
		return gt_filters_refused(&g->wanted, &j);
	return gt_job_refused(&g->wanted, &j);
}

static void decide(const struct gt_gate *g, const struct gt_event *e, struct gt_job *job)
{
	struct gt_wanted_job j = about(g, e);
	enum gt_refusal why = gt_job_refused(&g->wanted, &j);

	job->recorded = why ? (uint8_t)why : JOB_RECORDED;
}

/* A job is decided at its first event, also where the event itself is refused by its type */
static enum gt_refusal refused(const struct gt_gate *g, const struct gt_event *e,
			       struct gt_job *job)
{
	enum gt_refusal why = gt_type_refused(&g->wanted, e->type);
	bool of_job = job && !(BIT(e->type) & WAIT_TYPES);

	if (of_job && !job->recorded)
		decide(g, e, job);
	if (why)
		return why;
	if (!of_job)
		return lone(g, e);
	return job->recorded == JOB_RECORDED ? GT_R_NONE : (enum gt_refusal)job->recorded;
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

void gt_gate_left(struct gt_gate *g, uint16_t gpu, uint16_t ring, const uint64_t *left)
{
	struct gt_gate_ring none = { 0 }, *r = ring_counts(g, gpu, ring, &none);

	for (unsigned int i = GT_R_NONE + 1; i < GT_NREFUSALS; i++) {
		g->n.seen += left[i];
		g->n.refused[i] += left[i];
		r->seen += left[i];
	}
	r->sampled_out += left[GT_R_SAMPLING] + left[GT_R_THRESHOLD];
}

bool gt_gate_pass(struct gt_gate *g, const union gt_record *r, struct gt_job *job)
{
	struct gt_gate_ring none = { 0 }, *ring;
	enum gt_refusal why;

	if (r->ev.type == GT_LOST)
		count_lost(g, &r->lost);
	if (r->ev.type >= GT_HEADER && gt_type_known(r->ev.type))
		return true;
	g->n.seen++;
	if (!gt_type_known(r->ev.type)) { /* it would stop every babeltrace2 that meets it */
		g->n.refused[GT_R_TYPE]++;
		return false;
	}
	ring = ring_counts(g, r->ev.gpu, r->ev.ring, &none);
	ring->seen++;
	why = refused(g, &r->ev, job);
	if (why) {
		g->n.refused[why]++;
		ring->sampled_out += why == GT_R_SAMPLING;
		return false;
	}
	g->n.recorded++;
	ring->recorded++;
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
