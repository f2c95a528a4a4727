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

/* @share: of the jobs that are recorded now, in thousandths of a percent */
static void show_row(struct gt_text *t, const struct row *row, unsigned int ring, uint64_t share)
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
	gt_text_ch(t, ' ');
	gt_text_milli(t, share, 2);
	gt_text_ch(t, '\n');
}

static double share_now(struct gt_app *app)
{
	GT_MODEL_LOCK(app->model);
	return (double)app->gate->wanted.share / GT_SHARE_ALL;
}

int gt_show_sampling_stats(struct gt_text *t, const struct gt_show *s)
{
	struct row row;

	double share = share_now(s->app) * 100000 + 0.5;

	gt_text_str(t, "# gpu ring name seen recorded sampled_out recorded_percent "
		       "sampling_percent\n");
	for (unsigned int g = 0; g < GT_MAX_GPUS; g++)
		for (unsigned int r = 0; r < GT_MAX_RINGS && ring_row(s->app, g, r, &row); r++)
			show_row(t, &row, r, (uint64_t)share);
	return 0;
}

int gt_show_filter_stats(struct gt_text *t, const struct gt_show *s)
{
	/* in the order in which they are asked; those that have no name stand above by another */
	static const char *const names[GT_NREFUSALS] = {
		[GT_R_TYPE] = "unknown_type",
		[GT_R_EVENTS] = "filter_events",
		[GT_R_RING] = "filter_ring",
		[GT_R_ENGINE] = "filter_engine",
		[GT_R_PID] = "filter_pid",
		[GT_R_UID] = "filter_uid",
		[GT_R_WATCHLIST] = "watchlist",
		[GT_R_CTX] = "watchlist_ctx",
		[GT_R_SAMPLING] = "sampling_share",
		[GT_R_LATENCY] = "filter_latency",
		[GT_R_THRESHOLD] = "sampling_threshold",
	};
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
	for (unsigned int i = GT_R_TYPE; i < GT_NREFUSALS; i++)
		if (names[i])
			gt_text_kv(t, names[i], n.refused[i]);
	return 0;
}
