/* SPDX-License-Identifier: GPL-2.0 */
/* Files of a GPU's directory. */
#include <errno.h>
#include <string.h>

#include "lines.h"

static void word_line(struct gt_text *t, const char *key, const char *s, size_t max)
{
	if (!s[0])
		return;
	gt_text_str(t, key);
	gt_cell_word(t, s, max);
	gt_text_ch(t, '\n');
}

/** struct gpu_info - what info tells, copied */
struct gpu_info {
	char name[16], driver[16], pci[16], card[16], render[16], uuid[48], partition[16], power[16];
	uint32_t kfd_id;
	int kfd_node;
	bool any;
	unsigned int rings, engines; /* engines: a bit each */
};

static int take_info(const struct gt_show *s, struct gpu_info *i)
{
	const struct gt_gpu *g;

	GT_MODEL_LOCK(s->app->model);
	g = gt_obj_gpu(s);
	if (!g)
		return -ENODEV;
	memcpy(i->name, g->name, sizeof(i->name));
	memcpy(i->driver, g->driver, sizeof(i->driver));
	memcpy(i->pci, g->pci, sizeof(i->pci));
	memcpy(i->card, g->card, sizeof(i->card));
	memcpy(i->render, g->render, sizeof(i->render));
	memcpy(i->uuid, g->uuid, sizeof(i->uuid));
	memcpy(i->partition, g->partition, sizeof(i->partition));
	if (g->gauges)
		memcpy(i->power, g->gauges->power, sizeof(i->power));
	i->kfd_id = g->kfd_id;
	i->kfd_node = g->kfd_node;
	i->any = g->any;
	i->rings = g->nrings;
	for (unsigned int r = 0; r < g->nrings; r++)
		i->engines |= 1U << g->rings[r]->engine;
	return 0;
}

static void engines_line(struct gt_text *t, unsigned int engines)
{
	bool first = true;

	if (!engines)
		return;
	gt_text_str(t, "engines ");
	/* UNKNOWN is number 0: last, whatever there is */
	for (unsigned int i = 1; i <= GT_NENGINES; i++) {
		unsigned int e = i % GT_NENGINES;

		if (!(engines & 1U << e))
			continue;
		if (!first)
			gt_text_ch(t, ',');
		first = false;
		gt_text_str(t, gt_engine_name((enum gt_engine)e));
	}
	gt_text_ch(t, '\n');
}

static int show_info(struct gt_text *t, const struct gt_show *s)
{
	struct gpu_info i = { 0 };
	int err;

	gt_app_look(s->app, GT_LOOK_GPUS);
	err = take_info(s, &i);
	if (err)
		return err;
	word_line(t, "driver", i.driver, sizeof(i.driver));
	word_line(t, "name", i.name, sizeof(i.name));
	word_line(t, "pci", i.pci, sizeof(i.pci));
	word_line(t, "card", i.card, sizeof(i.card));
	word_line(t, "render", i.render, sizeof(i.render));
	if (i.kfd_id)
		gt_text_kv(t, "kfd_id", i.kfd_id);
	word_line(t, "uuid", i.uuid, sizeof(i.uuid));
	gt_text_kv(t, "rings", i.rings);
	engines_line(t, i.engines);
	if (i.any)
		gt_text_kvs(t, "flags", "any");
	if (i.kfd_id && i.kfd_node > 0) /* node 0 is a CPU */
		gt_text_kv(t, "kfd_node", (uint64_t)i.kfd_node);
	word_line(t, "partition", i.partition, sizeof(i.partition));
	word_line(t, "runtime_status", i.power, sizeof(i.power));
	return 0;
}

static int show_stats(struct gt_text *t, const struct gt_show *s)
{
	uint64_t inflight = 0;
	struct gt_counts c;
	unsigned int told;
	{
		GT_MODEL_LOCK(s->app->model);
		const struct gt_gpu *g = gt_obj_gpu(s);

		if (!g)
			return -ENODEV;
		c = g->counts;
		told = gt_told(s->app->model);
		for (unsigned int i = 0; i < g->nrings; i++)
			inflight += g->rings[i]->depth.now;
	}
	gt_counts_lines(t, &c, told, inflight);
	gt_call_lines(t, &c, told & ~GT_TOLD_CALLS); /* most runtimes do not tell for which GPU */
	return 0;
}

/* Engine @e, if the GPU has a ring of it. Return: 1, 0 if it has none, or -ENODEV */
static int take_engine(const struct gt_show *s, enum gt_engine e, uint64_t now, struct gt_util *u)
{
	struct gt_model *m = s->app->model;
	unsigned int r = 0;
	const struct gt_gpu *g;

	GT_MODEL_LOCK(m);
	g = gt_obj_gpu(s);
	if (!g)
		return -ENODEV;
	while (r < g->nrings && g->rings[r]->engine != e)
		r++;
	if (r == g->nrings)
		return 0;
	u->total = g->engine[e].total_ns;
	for (int i = 0; i < 3; i++)
		u->ns[i] = gt_engine_busy_ns(m, g, e, now, gt_util_windows[i]);
	return 1;
}

static int show_utilization(struct gt_text *t, const struct gt_show *s)
{
	uint64_t now = gt_model_now(s->app->model);
	bool any = false;
	struct gt_util u;
	size_t before;

	gt_app_look(s->app, GT_LOOK_GPUS | GT_LOOK_PROCS);
	for (unsigned int i = 1; i <= GT_NENGINES; i++) {
		enum gt_engine e = (enum gt_engine)(i % GT_NENGINES);
		int has = take_engine(s, e, now, &u);

		if (has < 0)
			return has;
		if (!has)
			continue;
		any = true;
		gt_text_str(t, gt_engine_name(e));
		gt_util_avgs(t, &u);
	}
	if (any)
		gt_text_kvs(t, "source", "scheduler");
	before = t->len;
	if (!any && gt_gpu_engine_lines(t, s))
		gt_text_kvs(t, "source", "fdinfo");
	if (gt_gauge_lines(t, s, GT_GAUGE_BUSY) == -ENODEV)
		return -ENODEV;
	if (!any && t->len == before)
		gt_text_str(t, "unavailable\n"); /* no ring to be seen: that is not 0 */
	return 0;
}

#define GAUGES(file, what)                                                                         \
	{                                                                                          \
		.name = file, .mode = 0444, .show = gt_show_gauges, .exists = gt_has_gauges,       \
		.gen = gt_gen_gauges, .help = what                                                                       \
	}

const struct gt_file gt_gpu_files[] = {
	{ .name = "info",
	  .mode = 0444,
	  .show = show_info,
	  .gen = gt_gen_gauges,
	  .help = "driver, name, PCI address, device nodes, engines, partition, whether it sleeps" },
	{ .name = "stats",
	  .mode = 0444,
	  .show = show_stats,
	  .gen = gt_gen_object_only,
	  .help = "counters of all rings since the start or the last clear" },
	{ .name = "utilization",
	  .mode = 0444,
	  .show = show_utilization,
	  .gen = gt_gen_gauges,
	  .help = "busy percent per engine over 1, 10 and 60 s, and what it was taken from" },
	GAUGES("memory", "its memory, by kind: total and used, as the driver tells"),
	GAUGES("clock", "its clocks now, and between what they may be"),
	GAUGES("power", "power it draws, its limits, and energy since the driver came"),
	GAUGES("temperature", "temperatures, and at which it would stop"),
	{ .name = "events_by_type",
	  .mode = 0444,
	  .show = gt_show_events_by_type,
	  .gen = gt_gen_moving,
	  .help = "table: type, seen, recorded, per second over 10 s" },
	{ .name = "errors",
	  .mode = 0444,
	  .flags = GT_FILE_VIEW,
	  .show = gt_show_errors,
	  .gen = gt_gen_object_only,
	  .help = "table: the last 16 errors, newest last" },
	{ .name = "rings",
	  .mode = 0444,
	  .show = gt_show_rings,
	  .gen = gt_gen_moving,
	  .help = "table: all rings; busy_percent is of the last 10 s" },
	{ .name = "aggregate",
	  .mode = 0444,
	  .show = gt_show_aggregate,
	  .gen = gt_gen_moving,
	  .help = "table: the last finished window per ring: events, latency, depth" },
	{ .name = "counters",
	  .mode = 0444,
	  .flags = GT_FILE_VIEW | GT_FILE_LONG,
	  .show = gt_show_counters,
	  .exists = gt_has_counters,
	  .gen = gt_gen_object_only,
	  .help = "hardware counters over the caller's kernels, and what follows from them" },
	GT_FILE_BLAME(""),
	GT_FILE_REPORT,
	{ .name = "timeline",
	  .mode = 0444,
	  .flags = GT_FILE_VIEW | GT_FILE_LONG,
	  .show = gt_show_timeline,
	  .gen = gt_gen_history,
	  .help = "CPU and GPU events of the history merged by time, with notes" },
	GT_FILE_EVENTS("GPU"),
	GT_FILE_TRACE("GPU"),
	{ 0 },
};
