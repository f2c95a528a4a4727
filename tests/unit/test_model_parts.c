/* SPDX-License-Identifier: GPL-2.0 */
/* Parts of the model that few events reach: sums of several processes, what a finished job says, who an
 * event is of, resets of one ring, lists of jobs of a context. */
#include "../../fs/model/internal.h"
#include "modelbed.h"

#define NCOUNTS (sizeof(struct gt_counts) / sizeof(uint64_t))

static void check_sums(void)
{
	struct gt_use_region *r;
	struct gt_use one = { .gpu = 0, .nregions = 1 };
	struct gt_use *all = NULL;
	struct gt_counts a, b;
	unsigned int bad = 0;

	for (unsigned int i = 0; i < NCOUNTS; i++) {
		((uint64_t *)&a)[i] = i + 1;
		((uint64_t *)&b)[i] = 100 * (i + 1);
	}
	gt_counts_add(&a, &b);
	for (unsigned int i = 0; i < NCOUNTS; i++)
		bad += ((uint64_t *)&a)[i] != 101 * (i + 1);
	is(bad, 0, "every counter is added to its own");

	begin();
	r = &one.region[0];
	*r = (struct gt_use_region){ "vram", 1, 2, 3, GT_NONE64, 5 };
	gt_uses_fold(&all, 0, &one, true);
	gt_uses_fold(&all, 0, &one, false);
	r->active = 40;
	gt_uses_fold(&all, 0, &one, true);
	is(all->nregions, 1, "a region is of its name");
	r = &all->region[0];
	ok(r->total == 2 && r->resident == 4 && r->shared == 6 && r->purgeable == 10,
	   "its bytes are added, if memory is wanted");
	is(r->active, 40, "what is not known adds nothing");
	gt_uses_free(all);
	gt_model_free(m);
}

static void check_in_flight(void)
{
	struct gt_work w = { 0 };
	uint32_t user;

	begin();
	job(T0, GT_SUBMIT, 1, 500);
	gt_model_process(m, 500, 77, 1000, "glxgears", "/user", 5);
	job(T0 + 1, GT_SUBMIT, 2, 500);
	job(T0 + 2, GT_SUBMIT, 1, 501);
	rec.ev.ctx = 10;
	user = gt_model_user(m, 1000);
	is(gt_group_work(m, user, m->groups[user]->serial, GT_WORK_BUSY, &w), 0, "a user's work");
	ok(w.inflight == 2 && w.rings && w.rings->inflight == 2, "has the jobs in flight");
	gt_work_free(&w);
	gt_model_free(m);
}

static void check_finished(void)
{
	begin();
	job(T0, GT_SUBMIT, 1, 500);
	job(T0 + 5, GT_COMPLETE, 1, 0);
	ok(folded.fin.end == T0 + 5 && folded.fin.ctx == 9 && folded.fin.seqno == 1,
	   "a finished job says which it is");
	is(folded.fin.total, 5, "what it took");
	ok(folded.fin.pid == 500 && folded.fin.first_ts == T0, "and who it is of");
	ok(folded.fin.cpu_wait == GT_NONE64 && folded.fin.ioctl == GT_NONE64,
	   "what is not known is not 0");
	gt_model_free(m);
}

static void check_owner(void)
{
	begin();
	job(T0, GT_COMMIT, 1, 0);
	event(T0 + 1, GT_SUBMIT)->ev.ring = 0;
	rec.ev.ctx = 9;
	rec.ev.seqno = 1;
	rec.ev.pid = 500;
	rec.ev.uid = 1000;
	fold();
	is(m->jobs[0].uid, 1000, "a hand-over seen first: the submission says the user");
	is(m->jobs[0].pid, 500, "and the process");
	job(T0 + 2, GT_COMPLETE, 1, 777);
	is(rec.ev.pid, 777, "an end that names another process keeps that");
	is(rec.ev.uid, GT_NONE32, "and is given no user that is not its own");

	job(T0 + 10, GT_SUBMIT, 2, 500);
	event(T0 + 11, GT_ERROR)->ev.ring = 0;
	rec.ev.ctx = 9;
	rec.ev.seqno = 2;
	rec.ev.pid = 777;
	fold();
	is(rec.ev.uid, GT_NONE32, "nor is an error");
	event(T0 + 12, GT_ERROR)->ev.ring = 0;
	rec.ev.ctx = 9;
	rec.ev.seqno = 2;
	fold();
	is(rec.ev.pid, 500, "an error without one is the job's process's");
	gt_model_free(m);
}

static void check_waited(void)
{
	const struct gt_job *j;

	begin();
	job(T0, GT_SUBMIT, 1, 500);
	j = &m->jobs[0];
	job(T0 + 5, GT_SYNC_WAIT_ENTER, 1, 600);
	is(j->waiting, T0 + 5, "somebody waits for a job");
	job(T0 + 6, GT_SYNC_WAIT_ENTER, 1, 601);
	is(j->waiting, T0 + 5, "the first says since when");
	job(T0 + 7, GT_SYNC_WAIT_EXIT, 1, 600);
	is(j->waiting, 0, "and no longer");
	gt_model_free(m);
}

static void on_ring1(uint64_t ts, enum gt_type type, uint64_t seqno)
{
	event(ts, type)->ev.ring = 1;
	rec.ev.ctx = 11;
	rec.ev.seqno = seqno;
	rec.ev.pid = 500;
	fold();
}

static void check_reset(void)
{
	unsigned int zero = 0;

	begin();
	job(T0, GT_SUBMIT, 1, 500);
	on_ring1(T0 + 1, GT_SUBMIT, 1);
	event(T0 + 2, GT_ERROR)->ev.ring = 1;
	rec.ev.value = GT_ERR_RESET;
	fold();
	ok(ring->depth.now == 1 && ring1->depth.now == 0,
	   "a reset of one ring ends its jobs alone");
	is(ring1->counts.ended_unseen, 1, "which end unseen");
	event(T0 + 3, GT_ERROR);
	rec.ev.value = GT_ERR_RESET;
	fold();
	is(ring->depth.now, 0, "one of the GPU those of all rings");
	for (unsigned int i = 0; i < UINT16_MAX + 2u; i++) {
		gt_ring_hw_forget(ring);
		zero += !ring->hw_epoch;
	}
	is(zero, 0, "their number is never 0");
	gt_model_free(m);
}

static void check_model_reset(void)
{
	uint64_t gen, dir_gen, resets;

	begin();
	job(T0, GT_SUBMIT, 1, 500);
	gen = m->gen;
	dir_gen = m->dir_gen;
	resets = m->resets;
	is(gt_model_reset(m), 0, "a model begins again");
	ok(m->gen > gen && m->dir_gen > dir_gen && m->resets == resets + 1,
	   "which changes all that is read");
	is(m->njobs, 0, "without a job");
	gt_model_free(m);
}

/* A long pause begins another session only in a recording that may have several */
static void check_pause(void)
{
	begin();
	job(T0, GT_SUBMIT, 1, 500);
	job(T0 + 5, GT_COMPLETE, 1, 0);
	job(T0 + 590 * SEC, GT_SUBMIT, 2, 500);
	job(T0 + 589 * SEC, GT_SUBMIT, 3, 500);
	is(ring->counts.lost + ring->counts.uncounted, 0,
	   "a pause and an earlier event lose nothing");
	is(ring->depth.now, 2, "and end no job");
	gt_model_free(m);
}

/* Each context's jobs in its list: links both ways, as many as are in flight */
static unsigned int listed(unsigned int *wrong)
{
	unsigned int n = 0;

	for (uint32_t b = 0; b < GT_CTX_BUCKETS; b++) {
		uint32_t prev = GT_NONE32;

		for (uint32_t i = m->priv->buckets[b].head; i != GT_NONE32;
		     i = m->jobs[i].ctx_next) {
			*wrong += m->jobs[i].ctx_prev != prev || m->jobs[i].live != 1;
			prev = i;
			n++;
		}
	}
	return n;
}

static void check_lists(void)
{
	uint64_t state = 3, seqno = 0, in[40];
	unsigned int n = 0, wrong = 0;

	begin();
	ring->unordered = true;
	for (int i = 0; i < 4000; i++) {
		unsigned int at;

		state = state * 6364136223846793005ULL + 1442695040888963407ULL;
		if (n < 40 && (n == 0 || state >> 63)) {
			in[n++] = ++seqno;
			job(T0 + (uint64_t)i, GT_SUBMIT, seqno, 500);
			continue;
		}
		at = (unsigned int)(state >> 33) % n;
		job(T0 + (uint64_t)i, GT_ERROR, in[at], 0);
		job(T0 + (uint64_t)i, GT_COMPLETE, in[at], 0);
		n = 0;
		for (uint32_t k = ring->jobs_head; k != GT_NONE32; k = m->jobs[k].ring_next)
			in[n++] = m->jobs[k].seqno;
		wrong += listed(&wrong) != m->njobs - m->nunseen || ring->depth.now != n;
	}
	is(wrong, 0, "lists of contexts have each job in flight, whatever ends first");
	gt_model_free(m);
}

int main(void)
{
	check_sums();
	check_in_flight();
	check_finished();
	check_owner();
	check_waited();
	check_reset();
	check_model_reset();
	check_pause();
	check_lists();
	return done_testing();
}
