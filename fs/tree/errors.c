/* SPDX-License-Identifier: GPL-2.0 */
/* errors: the last of the machine, a GPU or a ring; newest last. */
#include <errno.h>
#include <string.h>

#include "lines.h"

const char *gt_error_name(uint64_t code)
{
	static const char *const names[] = {
		[GT_ERR_UNKNOWN] = NULL,  [GT_ERR_TIMEOUT] = "timeout", [GT_ERR_RESET] = "reset",
		[GT_ERR_FAULT] = "fault", [GT_ERR_GUILTY] = "guilty",
	};

	return code < sizeof(names) / sizeof(names[0]) ? names[code] : NULL;
}

static void error_row(struct gt_text *t, const struct gt_show *s, const char *gpu,
		      const struct gt_error_entry *e)
{
	enum gt_see see = gt_see(&s->view, e->pid, e->uid, e->ts);
	bool whole = see == GT_SEE_WHOLE;

	if (see == GT_SEE_NOT)
		return;
	gt_cell_time(t, e->ts);
	gt_cell(t, gpu);
	gt_cell_ring(t, e->ring);
	gt_cell_u64(t, whole ? e->ctx : GT_NONE64);
	gt_cell_u64(t, whole || e->ring != GT_NONE16 ? e->seqno : GT_NONE64);
	gt_cell_u32(t, whole ? gt_view_pid(&s->view, e->pid, e->ts) : GT_NONE32);
	if (gt_error_name(e->code) || e->code == GT_ERR_UNKNOWN)
		gt_cell(t, gt_error_name(e->code));
	else
		gt_cell_u64(t, e->code);
	gt_text_ch(t, '\n');
}

static void error_rows(struct gt_text *t, const struct gt_show *s, const char *gpu,
		       const struct gt_errlog *log)
{
	uint64_t n = log->n < GT_ERRLOG ? log->n : GT_ERRLOG;

	for (uint64_t i = n; i > 0; i--)
		error_row(t, s, gpu, &log->e[(log->n - i) % GT_ERRLOG]);
	if (log->n > n)
		gt_text_printf(t, "# %llu older errors of %s left out\n",
			       (unsigned long long)(log->n - n), gpu);
}

/* Copies the log of GPU @gpu, or of the ring in it that s->obj names. Lock taken. */
static bool take_log(const struct gt_show *s, unsigned int gpu, char *name, struct gt_errlog *log)
{
	struct gt_show at = *s;
	const struct gt_ring *r;
	const struct gt_gpu *g;

	at.obj.gpu = (uint16_t)gpu;
	GT_MODEL_LOCK(s->app->model);
	if (s->obj.kind == GT_DIR_ROOT && gpu < s->app->model->ngpus)
		at.obj.life = s->app->model->gpus[gpu]->life;
	g = gt_obj_gpu(&at);
	r = s->obj.kind == GT_DIR_RING ? gt_obj_ring(&at) : NULL;
	if (!g || (s->obj.kind == GT_DIR_RING && !r))
		return false;
	memcpy(name, g->name, sizeof(g->name));
	*log = r ? r->errors : g->errors;
	return true;
}

int gt_show_errors(struct gt_text *t, const struct gt_show *s)
{
	bool all = s->obj.kind == GT_DIR_ROOT;
	unsigned int end = GT_MAX_GPUS;
	struct gt_errlog log;
	char name[16];

	if (!all && !take_log(s, s->obj.gpu, name, &log))
		return -ENODEV;
	gt_text_str(t, "# time gpu ring ctx seqno pid error\n");
	if (!all)
		error_rows(t, s, name, &log);
	for (unsigned int i = 0; all && i < end; i++)
		if (take_log(s, i, name, &log))
			error_rows(t, s, name, &log);
	return 0;
}
