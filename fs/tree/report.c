/* SPDX-License-Identifier: GPL-2.0 */
/* report: a row for each finished job of the history. Walks the log without the model's lock. */
#include <errno.h>

#include "lines.h"

/**
 * struct filter - whose rows
 * @from, @until: a process's own time: its pid may have been another's before and after
 */
struct filter {
	const struct gt_show *s;
	uint16_t gpu, ring;
	uint32_t pid;
	uint64_t from, until;
};

static bool wanted(const struct filter *f, const struct gt_finished *j)
{
	enum gt_see see = gt_see(&f->s->view, j->pid, j->uid, j->end);

	if (see == GT_SEE_NOT || (f->gpu != GT_NONE16 && j->gpu != f->gpu) ||
	    (f->ring != GT_NONE16 && j->ring != f->ring))
		return false;
	if (f->pid == GT_NONE32)
		return true;
	return see == GT_SEE_WHOLE && j->pid == f->pid && j->end >= f->from && j->end < f->until;
}

static int make_filter(struct filter *f, const struct gt_show *s)
{
	const struct gt_proc *p, *later;

	*f = (struct filter){ s, GT_NONE16, GT_NONE16, GT_NONE32, 0, GT_NONE64 };
	if (s->obj.kind == GT_DIR_ROOT)
		return 0;
	f->gpu = s->obj.gpu;
	if (s->obj.kind == GT_DIR_RING)
		f->ring = s->obj.ring;
	if (s->obj.kind != GT_DIR_PROC)
		return 0;
	GT_MODEL_LOCK(s->app->model);
	p = gt_obj_proc(s);
	if (!p)
		return -ENODEV;
	f->pid = p->pid;
	f->from = p->first_ts;
	later = gt_model_proc(s->app->model, p->pid);
	if (later && later != p && later->first_ts > p->first_ts)
		f->until = later->first_ts;
	return 0;
}

/* Why it was not handed over at once. @v NULL: whoever asks may not know of this job either */
static void reason_cells(struct gt_text *t, const struct gt_names *n, const struct gt_finished *j,
			 struct gt_model *m, const struct gt_view *v)
{
	struct gt_dependency d;
	bool kept = gt_depend_get(m, v ? j->dep : 0, &d), whole;

	whole = kept && d.job && gt_see(v, d.pid, d.uid, j->end) == GT_SEE_WHOLE;
	gt_cell(t, !kept ? NULL : d.job ? "job" : "fence");
	gt_cell_u64(t, d.waited);
	gt_cell(t, whole ? gt_names_gpu(n, d.gpu) : NULL);
	gt_cell_ring(t, whole ? d.ring : GT_NONE16);
	gt_cell_u64(t, whole ? d.seqno : GT_NONE64);
	gt_cell_u32(t, whole ? gt_view_pid(v, d.pid, j->end) : GT_NONE32);
}

static void report_row(struct gt_text *t, const struct gt_names *n, const struct gt_finished *j,
		       const struct gt_show *s)
{
	const struct gt_view *v = &s->view;
	bool whole = gt_see(v, j->pid, j->uid, j->end) == GT_SEE_WHOLE;
	const struct gt_name_ring *r = gt_names_ring(n, j->gpu, j->ring);

	gt_cell_time(t, j->end);
	gt_cell(t, gt_names_gpu(n, j->gpu));
	gt_cell_ring(t, j->ring);
	gt_cell(t, r ? gt_engine_name(r->engine) : NULL);
	gt_cell_u64(t, whole ? j->ctx : GT_NONE64);
	gt_cell_u64(t, j->seqno);
	gt_cell_u32(t, whole ? gt_view_pid(v, j->pid, j->end) : GT_NONE32);
	gt_cell_word(t, whole && j->comm[0] ? j->comm : NULL, sizeof(j->comm));
	gt_cell_u64(t, j->ioctl);
	gt_cell_u64(t, j->queue);
	gt_cell_u64(t, j->hw_wait);
	gt_cell_u64(t, j->exec);
	gt_cell_u64(t, j->gpu_wait);
	gt_cell_u64(t, j->complete);
	reason_cells(t, n, j, s->app->model, whole ? v : NULL);
	gt_text_ch(t, '\n');
}

/**
 * older() - how many of jobs @from to @head - 1 are more than a report holds
 * @first: the first one that it does hold
 */
static uint64_t older(const struct filter *f, uint64_t from, uint64_t head, uint64_t *first)
{
	const struct gt_log *l = f->s->app->log;
	uint64_t rows = 0;
	struct gt_finished j;

	*first = from;
	for (uint64_t i = head; i > from; i--) {
		if (!gt_log_fin_get(l, i - 1, &j))
			break;
		if (wanted(f, &j) && ++rows == GT_ROWS_MAX)
			*first = i - 1;
	}
	return rows > GT_ROWS_MAX ? rows - GT_ROWS_MAX : 0;
}

int gt_show_report(struct gt_text *t, const struct gt_show *s)
{
	__attribute__((cleanup(gt_names_freep))) struct gt_names *n = NULL;
	struct gt_log *l = s->app->log;
	uint64_t head = atomic_load(&l->fin_head), from = gt_log_fin_from(l), first, left;
	struct gt_finished j;
	struct filter f;
	int err = make_filter(&f, s);

	if (err)
		return err;
	n = gt_names_take(s->app->model);
	if (!n)
		return -ENOMEM;
	if (head > l->fin_mask + 1 && from < head - l->fin_mask - 1)
		from = head - l->fin_mask - 1;
	left = older(&f, from, head, &first);
	gt_text_str(t,
		    "# end gpu ring engine ctx seqno pid comm t_ioctl_ns t_queue_ns t_hw_wait_ns "
		    "t_exec_ns t_gpu_wait_ns t_complete_ns reason t_reason_ns for_gpu for_ring "
		    "for_seqno for_pid\n");
	for (uint64_t i = first; i < head && !t->failed; i++)
		/* one that was overwritten meanwhile was among the oldest */
		if (gt_log_fin_get(l, i, &j) && wanted(&f, &j))
			report_row(t, n, &j, s);
	if (left)
		gt_text_printf(t, "# %llu older rows left out\n", (unsigned long long)left);
	return 0;
}
