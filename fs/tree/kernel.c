/* SPDX-License-Identifier: GPL-2.0 */
/*
 * <gpu>/kernels/<name>/ and <gpu>/counters. A kernel is its user's: others neither see its
 * directory nor count its counters, unless they may know of everybody.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lines.h"
#include "node.h"

struct gt_kernel *gt_obj_kernel(const struct gt_show *s)
{
	const struct gt_model *m = s->app->model;
	struct gt_kernel *k = s->obj.id < m->nkernels ? m->kernels[s->obj.id] : NULL;

	return k && k->gpu == s->obj.gpu && gt_obj_gpu(s) ? k : NULL;
}

bool gt_kernel_seen(const struct gt_kernel *k, const struct gt_view *v)
{
	return gt_view_whole(v) || gt_view_sees(v, GT_NONE32, k->uid, GT_PIDNS_NOW);
}

bool gt_has_kernels(const struct gt_show *s)
{
	const struct gt_model *m = s->app->model;

	GT_MODEL_LOCK(s->app->model);
	for (unsigned int i = 0; i < m->nkernels; i++)
		if (m->kernels[i]->gpu == s->obj.gpu && gt_kernel_seen(m->kernels[i], &s->view))
			return true;
	return false;
}

/* name, stats ------------------------------------------------------------------------------------
 */

static int show_name(struct gt_text *t, const struct gt_show *s)
{
	const struct gt_kernel *k;

	GT_MODEL_LOCK(s->app->model);
	k = gt_obj_kernel(s);
	if (!k)
		return -ENODEV;
	for (size_t i = 0; i < k->len; i++) {
		unsigned char c = (unsigned char)k->name[i];

		if (c >= ' ' && c < 0x7f && c != '\\')
			gt_text_ch(t, (char)c);
		else
			gt_text_printf(t, "\\x%02X", c);
	}
	gt_text_ch(t, '\n');
	return 0;
}

static int show_stats(struct gt_text *t, const struct gt_show *s)
{
	struct gt_summary all;
	const struct gt_kernel *k;
	GT_MODEL_LOCK(s->app->model);

	k = gt_obj_kernel(s);
	if (!k)
		return -ENODEV;
	gt_known_kv(t, "uid", k->uid == GT_NONE32 ? GT_NONE64 : k->uid);
	if (k->cut)
		gt_text_kv(t, "name_cut_at_bytes", k->len);
	gt_stage_summary(&k->exec, 0, &all, NULL);
	if (!k->dispatches && k->calls != GT_NONE64) {
		gt_known_kv(t, "calls", k->calls);
		gt_known_kv(t, "exec_ns", k->total_ns);
		gt_known_kv(t, "min_ns", k->min_ns);
		gt_known_kv(t, "max_ns", k->max_ns);
		gt_text_kvs(t, "source", "statistics");
		return 0;
	}
	gt_text_kv(t, "calls", k->dispatches);
	if (all.count) {
		gt_text_kv(t, "exec_ns", all.sum);
		gt_text_kv(t, "min_ns", all.min);
		gt_text_kv(t, "max_ns", all.max);
	}
	gt_text_kvs(t, "source", "dispatches");
	return 0;
}

static bool has_dispatches(const struct gt_show *s)
{
	const struct gt_kernel *k;

	GT_MODEL_LOCK(s->app->model);
	k = gt_obj_kernel(s);
	return k && k->dispatches;
}

static int show_latency(struct gt_text *t, const struct gt_show *s)
{
	uint64_t now = gt_model_now(s->app->model);
	struct gt_summary all, last10;

	for (unsigned int i = 0; i < 2; i++) {
		{
			GT_MODEL_LOCK(s->app->model);
			const struct gt_kernel *k = gt_obj_kernel(s);

			if (!k)
				return -ENODEV;
			gt_stage_summary(i ? &k->exec : &k->queue, now, &all, &last10);
		}
		if (i || all.count)
			gt_stage_line(t, gt_stage_names[i ? GT_ST_EXEC : GT_ST_QUEUE], &all,
				      &last10);
	}
	return 0;
}

/* resources --------------------------------------------------------------------------------------
 */

static const char *const values[GT_KERNEL_VALUES] = {
	"vgpr",	  "agpr",   "sgpr",	   "lds_bytes",	  "scratch_bytes", "grid_x",
	"grid_y", "grid_z", "workgroup_x", "workgroup_y", "workgroup_z",
};

static bool has_resources(const struct gt_show *s)
{
	const struct gt_kernel *k;

	GT_MODEL_LOCK(s->app->model);
	k = gt_obj_kernel(s);
	for (unsigned int i = 0; k && i < GT_KERNEL_VALUES; i++)
		if (k->min[i] != GT_NONE32)
			return true;
	return false;
}

static int show_resources(struct gt_text *t, const struct gt_show *s)
{
	const struct gt_kernel *k;
	GT_MODEL_LOCK(s->app->model);

	k = gt_obj_kernel(s);
	if (!k)
		return -ENODEV;
	for (unsigned int i = 0; i < GT_KERNEL_VALUES; i++) {
		if (k->min[i] == GT_NONE32)
			continue;
		gt_text_str(t, values[i]);
		gt_text_gkv(t, "min", k->min[i]);
		gt_text_gkv(t, "max", k->max[i]);
		gt_text_ch(t, '\n');
	}
	return 0;
}

/* dispatches -------------------------------------------------------------------------------------
 */

static int show_dispatches(struct gt_text *t, const struct gt_show *s)
{
	struct gt_kernel_dispatch d[GT_KERNEL_KEPT];
	uint64_t n = 0;
	{
		GT_MODEL_LOCK(s->app->model);
		const struct gt_kernel *k = gt_obj_kernel(s);

		if (!k)
			return -ENODEV;
		if (k->kept) {
			n = k->dispatches;
			memcpy(d, k->kept, sizeof(d));
		}
	}
	gt_text_str(t, "# end exec_ns pid queue dispatch correlation\n");
	for (uint64_t i = n > GT_KERNEL_KEPT ? n - GT_KERNEL_KEPT : 0; i < n; i++) {
		const struct gt_kernel_dispatch *k = &d[i % GT_KERNEL_KEPT];

		gt_cell_time(t, k->end);
		gt_cell_u64(t, k->exec_ns);
		gt_cell_u32(t, gt_view_pid(&s->view, k->pid, k->end));
		gt_cell_u32(t, k->queue);
		gt_cell_u64(t, k->dispatch);
		gt_cell_u64(t, k->correlation);
		gt_text_ch(t, '\n');
	}
	return 0;
}

/* hotspots, occupancy ----------------------------------------------------------------------------
 */

static enum gt_kernel_text which(const struct gt_show *s)
{
	return strcmp(s->file->name, "hotspots") ? GT_KT_OCCUPANCY : GT_KT_HOTSPOTS;
}

static bool has_text(const struct gt_show *s)
{
	const struct gt_kernel *k;

	GT_MODEL_LOCK(s->app->model);
	k = gt_obj_kernel(s);
	return k && k->text[which(s)];
}

static int show_text(struct gt_text *t, const struct gt_show *s)
{
	const struct gt_kernel *k;
	GT_MODEL_LOCK(s->app->model);

	k = gt_obj_kernel(s);
	if (!k || !k->text[which(s)])
		return -ENODEV;
	gt_text_str(t, k->text[which(s)]);
	return 0;
}

uint64_t gt_gen_kernel(const struct gt_show *s)
{
	const struct gt_kernel *k;

	GT_MODEL_LOCK(s->app->model);
	k = gt_obj_kernel(s);
	return k ? k->gen + 1 : 0;
}

const struct gt_file gt_kernel_files[] = {
	{ .name = "name",
	  .mode = 0444,
	  .flags = GT_FILE_VIEW,
	  .show = show_name,
	  .gen = gt_gen_kernel,
	  .help = "its whole name; what is not printable as \\xNN" },
	{ .name = "stats",
	  .mode = 0444,
	  .flags = GT_FILE_VIEW,
	  .show = show_stats,
	  .gen = gt_gen_kernel,
	  .help = "whose it is, calls, time in all, and what they were taken from" },
	{ .name = "latency",
	  .mode = 0444,
	  .flags = GT_FILE_VIEW,
	  .show = show_latency,
	  .exists = has_dispatches,
	  .help = "exec: how long it ran; queue: from dispatch to begin, where that is told" },
	{ .name = "resources",
	  .mode = 0444,
	  .flags = GT_FILE_VIEW,
	  .show = show_resources,
	  .exists = has_resources,
	  .gen = gt_gen_kernel,
	  .help = "registers, LDS, scratch, grid and workgroup: least and most of all dispatches" },
	{ .name = "dispatches",
	  .mode = 0444,
	  .flags = GT_FILE_VIEW,
	  .show = show_dispatches,
	  .exists = has_dispatches,
	  .gen = gt_gen_kernel,
	  .help = "table: the last 32, newest last" },
	{ .name = "counters",
	  .mode = 0444,
	  .flags = GT_FILE_VIEW,
	  .show = gt_show_counters,
	  .exists = gt_has_counters,
	  .gen = gt_gen_kernel,
	  .help = "hardware counters over its dispatches, and what follows from them" },
	{ .name = "hotspots",
	  .mode = 0444,
	  .flags = GT_FILE_VIEW | GT_FILE_LONG,
	  .show = show_text,
	  .exists = has_text,
	  .gen = gt_gen_kernel,
	  .help = "table: instructions of a thread trace, those that took longest first" },
	{ .name = "occupancy",
	  .mode = 0444,
	  .flags = GT_FILE_VIEW | GT_FILE_LONG,
	  .show = show_text,
	  .exists = has_text,
	  .gen = gt_gen_kernel,
	  .help = "table: waves on each compute unit, from a thread trace" },
	{ 0 },
};
