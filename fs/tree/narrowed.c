/* SPDX-License-Identifier: GPL-2.0 */
/* What settings kept out of the records: sampling_stats and filter_stats. */
#include "about.h"

struct row {
	char gpu[16], name[40];
	struct gt_gate_ring n;
};

/* One row under the lock; false: no such ring */
static bool ring_row(struct gt_app *app, unsigned int gpu, unsigned int ring, struct row *row)
{
	struct gt_model *m = app->model;
	const struct gt_gate_ring *n;

	GT_MODEL_LOCK(m);
	if (gpu >= m->ngpus || m->gpus[gpu]->gone || ring >= m->gpus[gpu]->nrings)
		return false;
	__builtin_memcpy(row->gpu, m->gpus[gpu]->name, sizeof(row->gpu));
	__builtin_memcpy(row->name, m->gpus[gpu]->rings[ring]->name, sizeof(row->name));
	n = app->gate->rings[gpu];
	row->n = n ? n[ring] : (struct gt_gate_ring){ 0 };
	return true;
}

static void show_row(struct gt_text *t, const struct row *row, unsigned int ring)
{
	gt_text_word(t, row->gpu, sizeof(row->gpu));
	gt_text_str(t, " ring");
	gt_text_u64(t, ring);
	gt_text_ch(t, ' ');
	gt_text_word(t, row->name, sizeof(row->name));
	gt_text_ch(t, ' ');
	gt_text_u64(t, row->n.seen);
	gt_text_ch(t, ' ');
	gt_text_u64(t, row->n.recorded);
	gt_text_ch(t, ' ');
	gt_text_u64(t, row->n.sampled_out);
	gt_text_ch(t, ' ');
	if (row->n.seen)
		gt_text_milli(t, (uint64_t)((double)row->n.recorded * 100000 / (double)row->n.seen),
			      1);
	else
		gt_text_dash(t);
	gt_text_ch(t, '\n');
}

int gt_show_sampling_stats(struct gt_text *t, const struct gt_show *s)
{
	struct row row;

	gt_text_str(t, "# gpu ring name seen recorded sampled_out recorded_percent\n");
	for (unsigned int g = 0; g < GT_MAX_GPUS; g++)
		for (unsigned int r = 0; r < GT_MAX_RINGS && ring_row(s->app, g, r, &row); r++)
			show_row(t, &row, r);
	return 0;
}

int gt_show_filter_stats(struct gt_text *t, const struct gt_show *s)
{
	struct gt_gate_counts n;

	{
		GT_MODEL_LOCK(s->app->model);
		n = s->app->gate->n;
	}
	gt_text_str(t, "# filter refused\n");
	gt_text_kv(t, "level", n.refused[GT_R_LEVEL]);
	gt_text_kv(t, "filters", gt_gate_filtered(&n));
	gt_text_kv(t, "sampling", gt_gate_sampled(&n));
	gt_text_kv(t, "rate_limit", n.refused[GT_R_RATE]);
	return 0;
}
