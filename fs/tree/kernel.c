/* SPDX-License-Identifier: GPL-2.0 */
/*
 * <gpu>/kernels/<name>/ and <gpu>/counters. A kernel is its user's: others neither see its
 * directory nor count its counters, unless they may know of everybody.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../conf/profile.h"
#include "../state_file.h"
#include "internal.h"
#include "tree.h"

/* config/profile, and what a change of any setting means for it and for what is kept. */

static const struct gt_file *file_of(const char *key)
{
	for (const struct gt_file *f = gt_config_files; f->name; f++)
		if (!strcmp(f->name, key))
			return f;
	return NULL;
}

static void text_now(const struct gt_app *app, const char *key, char *buf, size_t len)
{
	GT_MODEL_LOCK(app->model);
	gt_conf_text(app->conf, gt_setting(key), buf, len);
}

static int store_one(const struct gt_show *s, const char *key, const char *value, char *err,
		     size_t len)
{
	struct gt_show one = *s;

	one.file = file_of(key);
	return one.file ? one.file->store(&one, value, err, len) : 0;
}

/* The first @n settings are again what they were */
static void undo(const struct gt_show *s, int profile, unsigned int n, char old[][64])
{
	char err[256];

	while (n--)
		if (gt_profile_value(profile, gt_profile_key(n)))
			store_one(s, gt_profile_key(n), old[n], err, sizeof(err));
}

static int set_all(const struct gt_show *s, int profile, char *err, size_t len)
{
	char old[16][64], why[200] = "";

	for (unsigned int i = 0; gt_profile_key(i) && i < 16; i++) {
		const char *key = gt_profile_key(i), *value = gt_profile_value(profile, key);
		int ret;

		if (!value)
			continue;
		text_now(s->app, key, old[i], sizeof(old[i]));
		ret = store_one(s, key, value, why, sizeof(why));
		if (!ret)
			continue;
		undo(s, profile, i, old);
		snprintf(err, len, "%s = %s: %s; nothing has changed", key, value, why);
		return ret;
	}
	return 0;
}

int gt_store_profile(const struct gt_show *s, const char *value, char *err, size_t len)
{
	int64_t profile;
	int ret = gt_setting_parse(s, value, &profile, err, len);

	if (!ret)
		ret = set_all(s, (int)profile, err, len);
	if (ret)
		return ret;
	GT_MODEL_LOCK(s->app->model);
	gt_setting_set(s, profile);
	return 0;
}

/* Who changes by hand what a profile set has one of their own. */
static bool leaves_profile(struct gt_app *app, const char *key)
{
	GT_MODEL_LOCK(app->model);

	if (gt_profile_holds(app->conf, key))
		return false;
	app->conf->profile = GT_PROFILE_CUSTOM;
	return true;
}

/* What a profile set stays when it is left, also at the next mount, when the configuration may name it */
static void mark_profile(struct gt_keep *k)
{
	gt_keep_mark(k, "profile");
	for (unsigned int i = 0; gt_profile_key(i); i++)
		gt_keep_mark(k, gt_profile_key(i));
}

void gt_setting_changed(const struct gt_show *s, char *err, size_t len)
{
	struct gt_app *app = s->app;
	size_t n = strlen(err);
	char why[256];

	gt_keep_mark(app->keep, s->file->name);
	if (leaves_profile(app, s->file->name) || !strcmp(s->file->name, "profile"))
		mark_profile(app->keep);
	if (app->keep && gt_keep_save(app->keep, app->conf, s->file->name, why, sizeof(why)))
		snprintf(err + n, len - n, "%sset, but not kept: %s", n ? "; " : "", why);
}

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
	gt_text_line(t, k->name, k->len);
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

static int latency(struct gt_text *t, const struct gt_show *s, bool last10)
{
	uint64_t now = gt_model_now(s->app->model);
	struct gt_summary sum[2];

	for (enum gt_stage_id st = 0; st < GT_NSTAGES; st++) {
		bool reported = st == GT_ST_EXEC;

		if (st == GT_ST_EXEC || st == GT_ST_QUEUE) {
			GT_MODEL_LOCK(s->app->model);
			const struct gt_kernel *k = gt_obj_kernel(s);

			if (!k)
				return -ENODEV;
			gt_stage_summary(st == GT_ST_EXEC ? &k->exec : &k->queue, now, &sum[0],
					 &sum[1]);
			reported = reported || sum[0].count;
		}
		gt_stage_row(t, st, reported ? &sum[last10] : NULL);
	}
	return 0;
}

static int show_latency(struct gt_text *t, const struct gt_show *s)
{
	return latency(t, s, false);
}

static int show_latency_10s(struct gt_text *t, const struct gt_show *s)
{
	return latency(t, s, true);
}

/* kernel_stats -----------------------------------------------------------------------------------
 */

#define AT_ONCE 32 /* kernels looked at with the model locked */

/** struct kernel_row - a kernel's times, GT_NONE64 unknown; @timed: calls of which they are known
 */
struct kernel_row {
	char name[GT_KERNEL_ALIAS];
	uint64_t calls, timed, total, min, max;
};

/* As its `stats` say it: by its dispatches, or if it has none by a file of statistics */
static void measure(const struct gt_kernel *k, struct kernel_row *r)
{
	struct gt_summary all;

	if (!k->dispatches) {
		r->calls = r->timed = k->calls;
		r->total = k->total_ns;
		r->min = k->min_ns;
		r->max = k->max_ns;
		return;
	}
	gt_stage_summary(&k->exec, 0, &all, NULL);
	r->calls = k->dispatches;
	r->timed = all.count;
	r->total = all.count ? all.sum : GT_NONE64;
	r->min = all.count ? all.min : GT_NONE64;
	r->max = all.count ? all.max : GT_NONE64;
}

static uint64_t known(uint64_t v)
{
	return v == GT_NONE64 ? 0 : v;
}

static int by_total(const void *a, const void *b)
{
	const struct kernel_row *x = a, *y = b;

	if (known(x->total) != known(y->total))
		return known(x->total) > known(y->total) ? -1 : 1;
	if (known(x->calls) != known(y->calls))
		return known(x->calls) > known(y->calls) ? -1 : 1;
	return strcmp(x->name, y->name);
}

/* Kernel @i if it is one of the GPU's that the caller sees. Lock held */
static bool take_kernel(const struct gt_show *s, unsigned int i, struct kernel_row *r)
{
	const struct gt_kernel *k = s->app->model->kernels[i];

	if (k->gpu != s->obj.gpu || !gt_kernel_seen(k, &s->view))
		return false;
	snprintf(r->name, sizeof(r->name), "%s", gt_view_whole(&s->view) ? k->alias : k->dir);
	measure(k, r);
	return true;
}

/* Return: the rows, @n of them; NULL: no memory */
static struct kernel_row *take_kernels(const struct gt_show *s, unsigned int *n)
{
	struct gt_model *m = s->app->model;
	unsigned int all, at = 0;
	struct kernel_row *row;

	{
		GT_MODEL_LOCK(m);
		all = m->nkernels;
	}
	row = calloc(all ? all : 1, sizeof(*row));
	for (*n = 0; row && at < all;) {
		unsigned int end = all - at > AT_ONCE ? at + AT_ONCE : all;
		GT_MODEL_LOCK(m);

		/* a recording that is played again begins without any */
		if (all > m->nkernels)
			all = m->nkernels;
		for (; at < end && at < all; at++)
			*n += take_kernel(s, at, &row[*n]);
	}
	return row;
}

int gt_show_kernel_stats(struct gt_text *t, const struct gt_show *s)
{
	struct kernel_row *row;
	uint64_t sum = 0;
	unsigned int n;

	row = take_kernels(s, &n);
	if (!row)
		return -ENOMEM;
	qsort(row, n, sizeof(*row), by_total);
	for (unsigned int i = 0; i < n; i++)
		sum = gt_sum(sum, known(row[i].total));
	for (const struct kernel_row *r = row; r < row + n && !t->failed; r++) {
		bool timed = r->total != GT_NONE64;

		gt_cell_u64(t, r->calls);
		gt_cell_u64(t, r->total);
		gt_cell_ratio(t, gt_percent(known(r->total), sum), timed && sum ? 1000 : 0);
		gt_cell_u64(t, timed && known(r->timed) ? r->total / r->timed : GT_NONE64);
		gt_cell_u64(t, r->min);
		gt_cell_u64(t, r->max);
		gt_cell_word(t, r->name, sizeof(r->name));
		gt_text_ch(t, '\n');
	}
	free(row);
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
		gt_cell(t, values[i]);
		gt_cell_u64(t, k->min[i]);
		gt_cell_u64(t, k->max[i]);
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
	if (!strcmp(s->file->name, "hotspots"))
		return GT_KT_HOTSPOTS;
	return strcmp(s->file->name, "occupancy") ? GT_KT_HOTSPOTS_STATS : GT_KT_OCCUPANCY;
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

static uint64_t gt_gen_kernel(const struct gt_show *s)
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
	  .help = "its whole name" },
	{ .name = "stats",
	  .mode = 0444,
	  .flags = GT_FILE_VIEW | GT_FILE_KEYED,
	  .show = show_stats,
	  .gen = gt_gen_kernel,
	  .fields = "uid name_cut_at_bytes calls exec_ns min_ns max_ns source",
	  .help = "user, calls, total time, and the source of these" },
	{ .name = "latency",
	  .mode = 0444,
	  .flags = GT_FILE_VIEW,
	  .show = show_latency,
	  .exists = has_dispatches,
	  .fields = GT_STAGE_COLUMNS,
	  .help = "exec: how long it ran; queue: from dispatch to begin, where known" },
	{ .name = "latency_10s",
	  .mode = 0444,
	  .flags = GT_FILE_VIEW,
	  .show = show_latency_10s,
	  .exists = has_dispatches,
	  .fields = GT_STAGE_COLUMNS,
	  .help = "the same of the last 10 s" },
	{ .name = "resources",
	  .mode = 0444,
	  .flags = GT_FILE_VIEW,
	  .show = show_resources,
	  .exists = has_resources,
	  .gen = gt_gen_kernel,
	  .fields = "resource min max",
	  .help = "registers, LDS, scratch, grid and workgroup: least and most of all dispatches" },
	{ .name = "dispatches",
	  .mode = 0444,
	  .flags = GT_FILE_VIEW,
	  .show = show_dispatches,
	  .exists = has_dispatches,
	  .gen = gt_gen_kernel,
	  .fields = "end_s exec_ns pid queue dispatch correlation",
	  .help = "the last 32, newest last" },
	{ .name = "counters",
	  .mode = 0444,
	  .flags = GT_FILE_VIEW,
	  .show = gt_show_counters,
	  .exists = gt_has_counters,
	  .gen = gt_gen_kernel,
	  .fields = GT_COUNTERS_COLUMNS,
	  .help = "hardware counters over its dispatches, and what follows from them" },
	{ .name = "hotspots",
	  .mode = 0444,
	  .flags = GT_FILE_VIEW | GT_FILE_LONG,
	  .show = show_text,
	  .exists = has_text,
	  .gen = gt_gen_kernel,
	  .fields = "latency_cycles stall_cycles idle_cycles hits issued_samples stalled_samples "
		    "source instruction",
	  .help = "instructions of a thread trace, those that took longest first" },
	{ .name = "hotspots_stats",
	  .mode = 0444,
	  .flags = GT_FILE_VIEW | GT_FILE_LONG | GT_FILE_KEYED,
	  .show = show_text,
	  .exists = has_text,
	  .gen = gt_gen_kernel,
	  .fields = "instructions with_source_percent rows_left_out latency_cycles stall_cycles "
		    "idle_cycles",
	  .help = "all instructions of that trace together" },
	{ .name = "occupancy",
	  .mode = 0444,
	  .flags = GT_FILE_VIEW | GT_FILE_LONG,
	  .show = show_text,
	  .exists = has_text,
	  .gen = gt_gen_kernel,
	  .fields = "se cu waves peak avg_waves cycles",
	  .help = "waves on each compute unit, from a thread trace" },
	{ 0 },
};
