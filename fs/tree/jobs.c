/* SPDX-License-Identifier: GPL-2.0 */
/* jobs: what is in flight on a ring now. */
#include <errno.h>
#include <string.h>

#include "lines.h"

#define LOOKS_AT_ONCE 256 /* looked at under one lock */

/* Where to go on: behind the last one taken; if that has ended, from the oldest still there. */
static uint32_t resume(const struct gt_model *m, const struct gt_ring *r, struct gt_flight *w)
{
	const struct gt_job *j;

	if (w->idx == GT_NONE32)
		return r->jobs_head;
	j = &m->jobs[w->idx];
	if (j->live && j->ring == r->id && j->gpu == r->gpu && j->seen == w->seen &&
	    j->ctx == w->ctx && j->seqno == w->seqno)
		return j->ring_next;
	if (w->seen > w->after)
		w->after = w->seen;
	return r->jobs_head;
}

/* Told by START, or else the oldest of those that occupy the hardware. */
static bool runs(const struct gt_ring *r, const struct gt_job *j, struct gt_flight *w)
{
	if (j->told & GT_JOB_END)
		return false;
	if (r->starts)
		return j->told & GT_JOB_START;
	if (w->running || j->hw_epoch != r->hw_epoch)
		return false;
	w->running = true;
	return true;
}

static void take(const struct gt_model *m, const struct gt_ring *r, const struct gt_job *j,
		 struct gt_flight *w, struct gt_flying *to)
{
	const struct gt_proc *p = j->proc < m->proc_slots ? m->procs[j->proc] : NULL;

	to->job = *j;
	gt_depend_of(m, j, &to->dep);
	to->running = runs(r, j, w);
	to->uid = j->uid;
	to->met = GT_NONE64;
	to->comm[0] = 0;
	if (!p || p->pid != j->pid)
		return;
	if (to->uid == GT_NONE32)
		to->uid = p->uid;
	to->met = p->first_ts;
	memcpy(to->comm, p->comm, sizeof(to->comm));
}

int gt_flight_take(const struct gt_model *m, const struct gt_ring *r, struct gt_flight *w,
		   struct gt_flying out[GT_FLIGHT_ROWS], bool *more)
{
	uint32_t at = resume(m, r, w);
	int n = 0;

	for (int looks = 0; at != GT_NONE32 && looks < LOOKS_AT_ONCE && n < GT_FLIGHT_ROWS;
	     looks++) {
		const struct gt_job *j = &m->jobs[at];

		w->idx = at;
		w->seen = j->seen;
		w->ctx = j->ctx;
		w->seqno = j->seqno;
		if (!w->after || j->seen > w->after)
			take(m, r, j, w, &out[n++]);
		at = j->ring_next;
	}
	*more = at != GT_NONE32;
	return n;
}

/* Return: jobs copied, or -ENODEV; @more: there may be others. */
static int take_some(const struct gt_show *s, struct gt_flight *w, struct gt_flying *rows,
		     bool *more)
{
	const struct gt_ring *r;

	GT_MODEL_LOCK(s->app->model);
	r = gt_obj_ring(s);
	return r ? gt_flight_take(s->app->model, r, w, rows, more) : -ENODEV;
}

static const char *state(const struct gt_flying *row)
{
	if (row->running)
		return "running";
	if (row->job.told & GT_JOB_END)
		return "ended";
	return row->job.told & (GT_JOB_COMMIT | GT_JOB_START) ? "committed" : "queued";
}

static void job_row(struct gt_text *t, const struct gt_flying *row, const struct gt_view *v,
		    uint64_t now)
{
	const struct gt_job *j = &row->job;
	enum gt_see see = gt_see(v, j->pid, j->uid, j->seen);
	uint64_t since = j->told & GT_JOB_SUBMIT ? j->submit : j->seen;
	bool whole = see == GT_SEE_WHOLE;

	if (see == GT_SEE_NOT)
		return;
	gt_cell_u64(t, whole ? j->ctx : GT_NONE64);
	gt_cell_u64(t, j->seqno);
	gt_cell_u32(t, whole ? gt_view_pid(v, j->pid, j->seen) : GT_NONE32);
	gt_cell_word(t, whole && row->comm[0] ? row->comm : NULL, sizeof(row->comm));
	gt_cell(t, state(row));
	gt_cell_u64(t, now > since ? now - since : 0);
	gt_text_ch(t, '\n');
}

int gt_show_jobs(struct gt_text *t, const struct gt_show *s)
{
	uint64_t now = gt_model_now(s->app->model);
	struct gt_flight w = GT_FLIGHT_BEGIN;
	struct gt_flying rows[GT_FLIGHT_ROWS];
	bool more = true;
	/* jobs that come while we walk must not keep us for ever */
	unsigned int left = s->app->model->limits.max_jobs;

	gt_text_str(t, "# ctx seqno pid comm state age_ns\n");
	while (more && left && !t->failed) {
		int n = take_some(s, &w, rows, &more);

		if (n < 0)
			return n;
		left -= (unsigned int)n < left ? (unsigned int)n : left;
		for (int i = 0; i < n; i++)
			job_row(t, &rows[i], &s->view, now);
	}
	return 0;
}

/* Ages move with every nanosecond while anything is in flight. */
uint64_t gt_gen_jobs(const struct gt_show *s)
{
	uint64_t now = gt_model_now(s->app->model);
	const struct gt_ring *r;

	GT_MODEL_LOCK(s->app->model);
	r = gt_obj_ring(s);
	if (!r)
		return 0;
	return gt_gen_mix(r->gen, r->jobs_head == GT_NONE32 ? 0 : now);
}
