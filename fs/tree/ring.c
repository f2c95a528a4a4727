/* SPDX-License-Identifier: GPL-2.0 */
/* Files of a ring's directory. */
#include <errno.h>
#include <string.h>

#include "lines.h"

static int show_name(struct gt_text *t, const struct gt_show *s)
{
	char name[40];
	{
		GT_MODEL_LOCK(s->app->model);
		const struct gt_ring *r = gt_obj_ring(s);

		if (!r)
			return -ENODEV;
		memcpy(name, r->name, sizeof(name));
	}
	gt_cell_word(t, name, sizeof(name));
	gt_text_ch(t, '\n');
	return 0;
}

static int show_engine(struct gt_text *t, const struct gt_show *s)
{
	enum gt_engine e;
	{
		GT_MODEL_LOCK(s->app->model);
		const struct gt_ring *r = gt_obj_ring(s);

		if (!r)
			return -ENODEV;
		e = r->engine;
	}
	gt_text_str(t, gt_engine_name(e));
	gt_text_ch(t, '\n');
	return 0;
}

static int show_depth(struct gt_text *t, const struct gt_show *s)
{
	uint64_t now = gt_model_now(s->app->model);
	struct gt_depth d;
	{
		GT_MODEL_LOCK(s->app->model);
		const struct gt_ring *r = gt_obj_ring(s);

		if (!r)
			return -ENODEV;
		d = r->depth;
	}
	gt_depth_lines(t, &d, now);
	return 0;
}

static int show_utilization(struct gt_text *t, const struct gt_show *s)
{
	uint64_t now = gt_model_now(s->app->model);
	struct gt_util u;
	{
		GT_MODEL_LOCK(s->app->model);
		const struct gt_ring *r = gt_obj_ring(s);

		if (!r)
			return -ENODEV;
		u = gt_util_ring(s->app->model, r, now);
	}
	gt_text_str(t, "busy");
	gt_util_avgs(t, &u);
	return 0;
}

static int show_stats(struct gt_text *t, const struct gt_show *s)
{
	uint64_t inflight, busy;
	struct gt_counts c;
	bool commits;
	{
		GT_MODEL_LOCK(s->app->model);
		const struct gt_ring *r = gt_obj_ring(s);

		if (!r)
			return -ENODEV;
		c = r->counts;
		commits = r->commits;
		inflight = r->depth.now;
		busy = r->busy.total_ns;
	}
	gt_counts_lines(t, &c, commits ? GT_TOLD_COMMITS : 0, inflight);
	gt_text_kv(t, "busy_ns", busy);
	return 0;
}

const struct gt_file gt_ring_files[] = {
	{ .name = "name",
	  .mode = 0444,
	  .flags = GT_FILE_STATIC,
	  .show = show_name,
	  .help = "the ring's name as its driver calls it" },
	{ .name = "engine",
	  .mode = 0444,
	  .show = show_engine,
	  .gen = gt_gen_object_only,
	  .help = "GRAPHICS COMPUTE COPY VIDEO_DECODE VIDEO_ENCODE UNKNOWN" },
	{ .name = "latency",
	  .mode = 0444,
	  .show = gt_show_ring_latency,
	  .gen = gt_gen_object,
	  .help = "count, min, avg, percentiles, max of each stage; the same of the last 10 s" },
	{ .name = "histogram",
	  .mode = 0444,
	  .show = gt_show_ring_histogram,
	  .gen = gt_gen_object_only,
	  .help = "cumulative buckets per stage at fixed bounds (2^k-1 and 1.5*2^k-1 ns, 1 us to "
		  "18 min), so that two reads subtract" },
	{ .name = "depth",
	  .mode = 0444,
	  .show = show_depth,
	  .gen = gt_gen_depth,
	  .help = "jobs submitted and not complete: now, average since clear, peak" },
	{ .name = "utilization",
	  .mode = 0444,
	  .show = show_utilization,
	  .gen = gt_gen_moving,
	  .help = "busy percent over 1, 10 and 60 s" },
	{ .name = "throughput",
	  .mode = 0444,
	  .show = gt_show_throughput,
	  .gen = gt_gen_moving,
	  .help = "jobs per second over the last whole second and over 10 s" },
	{ .name = "stats",
	  .mode = 0444,
	  .show = show_stats,
	  .gen = gt_gen_object_only,
	  .help = "counters since the start or the last clear" },
	{ .name = "events_by_type",
	  .mode = 0444,
	  .show = gt_show_events_by_type,
	  .gen = gt_gen_moving,
	  .help = "table: type, seen, recorded, per second over 10 s" },
	{ .name = "jobs",
	  .mode = 0444,
	  .flags = GT_FILE_VIEW,
	  .show = gt_show_jobs,
	  .gen = gt_gen_jobs,
	  .help = "table: jobs in flight now, oldest first" },
	{ .name = "errors",
	  .mode = 0444,
	  .flags = GT_FILE_VIEW,
	  .show = gt_show_errors,
	  .gen = gt_gen_object_only,
	  .help = "table: the last 16 errors, newest last" },
	GT_FILE_BLAME(" of this ring"),
	GT_FILE_REPORT,
	GT_FILE_EVENTS("ring"),
	GT_FILE_TRACE("ring"),
	{ 0 },
};
