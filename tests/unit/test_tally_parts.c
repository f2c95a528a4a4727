/* SPDX-License-Identifier: GPL-2.0 */
/* Tallies one by one: whose they are, what they say of jobs in flight and of busy time. */
#include <string.h>

#include "../../backend/backend.h"
#include "../../fs/model/fold.h"
#include "../lib/tap.h"

#define SEC   1000000000ULL
#define SLOT  250000000ULL
#define RINGS 2

static struct gt_model *model(void)
{
	struct gt_limits limits = { 100000, UINT64_MAX, 100, 0 };
	struct gt_model *m = gt_model_new(&limits, false);
	struct gt_gpu *g = gt_model_gpu(m, "gpu0", NULL);

	for (int i = 0; i < RINGS; i++)
		gt_model_ring(m, g, i ? "sdma0" : "gfx", GT_ENGINE_UNKNOWN, NULL);
	return m;
}

/* A record whose job nobody recorded makes no statistics either */
static void check_unknown(void)
{
	struct gt_model *m = model();
	struct gt_folded f;
	union gt_record r;

	for (int known = 0; known < 2; known++) {
		gt_record_init(&r, 10 * SEC, GT_COMPLETE);
		if (known)
			r.ev.gpu = r.ev.ring = 0;
		r.ev.ctx = r.ev.seqno = 5;
		r.ev.flags = GT_F_COUNTED | GT_F_INFERRED;
		r.ev.value = r.ev.ref = 77;
		r.ev.queue = 3;
		gt_model_event(m, &r, &f);
		ok(!f.finished && r.ev.value == GT_NONE64 && r.ev.ref == GT_NONE64 &&
			   r.ev.queue == GT_NONE32 && r.ev.flags == GT_F_INFERRED,
		   "an end of a job that was not recorded tells nothing more");
	}
	ok(!m->counts.completed && !m->counts.unmatched && !m->types.n[GT_COMPLETE].seen &&
		   !m->gpus[0]->rings[0]->after_loss,
	   "… and is not counted");
	is(gt_model_tally(m, &(struct gt_tally){ .ring = RINGS }), false,
	   "a ring that there is not");
	gt_model_free(m);
}

/* A process that had the number before is another */
static void check_reused(void)
{
	struct gt_tally_proc p = {
		.pid = 300, .uid = 5, .start = 1000, .comm = "one", .submitted = 1
	};
	struct gt_tally t = { .at = 10 * SEC, .proc = &p, .nproc = 1 };
	struct gt_model *m = model();
	struct gt_folded f;
	const struct gt_proc *first;

	gt_model_tally(m, &t);
	gt_model_tally_proc(m, &t, 0, &f);
	first = f.new_proc;
	ok(first && !strcmp(first->comm, "one") && first->uid == 5, "a process is met by a tally");
	gt_model_tally_proc(m, &t, 0, &f);
	ok(!f.new_proc && first->counts.submitted == 2, "… once");
	p.start = 2000;
	p.comm = "two";
	gt_model_tally_proc(m, &t, 0, &f);
	ok(f.new_proc && f.new_proc != first && first->dead && f.new_proc->counts.submitted == 1,
	   "another that began later is another");
	gt_model_free(m);
}

static unsigned int listed(const struct gt_model *m, const struct gt_ring *r)
{
	unsigned int n = 0;

	for (uint32_t i = r->jobs_head; i != GT_NONE32; i = m->jobs[i].ring_next)
		n++;
	return n;
}

/* Jobs in flight are listed, and counted by the tally alone */
static void check_jobs(void)
{
	struct gt_tally_proc p = { .pid = 300, .uid = 5, .first = 9 * SEC, .inflight = 2 };
	struct gt_tally_job job[] = {
		{ .ctx = 1,
		  .seqno = 1,
		  .seen = 9 * SEC,
		  .submit = 9 * SEC,
		  .commit = 9 * SEC + 5,
		  .pid = 300,
		  .reported = GT_TALLY_SUBMITTED | GT_TALLY_COMMITTED,
		  .hw = 2 },
		{ .ctx = 1,
		  .seqno = 2,
		  .seen = 9 * SEC + 1,
		  .submit = 9 * SEC + 1,
		  .pid = 300,
		  .reported = GT_TALLY_SUBMITTED },
	};
	struct gt_tally t = { .at = 10 * SEC,
			      .proc = &p,
			      .nproc = 1,
			      .job = job,
			      .njob = 2,
			      .depth = 2,
			      .peak = 2,
			      .commits = true,
			      .hw_since = 9 * SEC + 5 };
	struct gt_model *m = model();
	struct gt_ring *r = m->gpus[0]->rings[0];
	const struct gt_job *first;
	struct gt_folded f;
	union gt_record rec;

	gt_model_tally(m, &t);
	gt_model_tally_proc(m, &t, 0, &f);
	gt_model_tally_jobs(m, &t);
	first = &m->jobs[r->jobs_head];
	ok(listed(m, r) == 2 && first->seqno == 1 && first->hw_epoch == r->hw_epoch &&
		   first->reported == (GT_JOB_SUBMIT | GT_JOB_COMMIT) &&
		   m->procs[first->proc]->pid == 300,
	   "jobs in flight are listed");
	is(r->depth.now, 2, "… and not counted by that");
	t.job++;
	t.njob = t.depth = p.inflight = 1;
	gt_model_tally(m, &t);
	gt_model_tally_proc(m, &t, 0, &f);
	gt_model_tally_jobs(m, &t);
	ok(listed(m, r) == 1 && m->jobs[r->jobs_head].seqno == 2 && m->procs[0]->inflight == 1,
	   "those of the next tally take their place");
	gt_record_init(&rec, 11 * SEC, GT_COMPLETE);
	rec.ev.gpu = rec.ev.ring = 0;
	rec.ev.ctx = 1;
	rec.ev.seqno = 2;
	gt_model_event(m, &rec, &f);
	ok(!f.finished && !listed(m, r) && r->counts.unmatched == 1 && r->depth.now == 1 &&
		   !r->hw_jobs && m->procs[0]->inflight == 1,
	   "the end of one that its source does not know any more is nobody's");
	gt_model_free(m);
}

/* Work that began in the slot before, and two rings of one engine */
static void check_busy(void)
{
	struct gt_tally t = { .at = 10 * SEC + SLOT - 1,
			      .since = 10 * SEC,
			      .last_end = 10 * SEC + 10000000,
			      .busy_ns = 210000000,
			      .seen = { [GT_COMPLETE] = 1 } };
	struct gt_model *m = model();
	struct gt_gpu *g = m->gpus[0];
	struct gt_ring *other = gt_model_ring(m, g, "gfx2", GT_ENGINE_GRAPHICS, NULL);

	gt_model_tally(m, &t);
	is(g->rings[0]->busy.total_ns, 210000000,
	   "all of a job that began in the slot before is busy time");
	is(gt_ring_busy_ns(m, g->rings[0], 10 * SEC, SEC), 200000000, "… most of it in that slot");
	t.ring = other->id;
	t.busy_ns = 100000000;
	gt_model_tally(m, &t);
	is(gt_engine_busy_ns(m, g, GT_ENGINE_GRAPHICS, 10 * SEC + SLOT, 10 * SEC), 260000000,
	   "an engine is not busier than there was time");
	gt_model_free(m);
}

int main(void)
{
	uint64_t before = gt_hist_memory();

	check_unknown();
	check_reused();
	check_busy();
	check_jobs();
	is(gt_hist_memory(), before, "all memory is given back");
	return done_testing();
}
