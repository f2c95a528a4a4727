/* SPDX-License-Identifier: GPL-2.0 */
/* config/: what is recorded. A setting is applied to the gate, and told to who can do the work. */
#include <errno.h>
#include <stdio.h>

#include "set_sources.h"
#include "setting.h"

/*
 * Sources attach nothing at `off`, have more events at `verbose`, and at `stats` some count what
 * needs no record then. The host says 0 where nobody minds: then the gate alone does it.
 */
static int tell_sources(struct gt_app *app, int64_t from, int64_t to, char *err, size_t len)
{
	int ret;

	if (from == to)
		return 0;
	ret = gt_host_control(app->host, GT_CTL_LEVEL, to, err, len);
	if (!ret)
		*err = '\0';
	return ret;
}

static void set_level(const struct gt_show *s, int64_t level)
{
	GT_MODEL_LOCK(s->app->model);
	gt_setting_set(s, level);
	gt_gate_configure(s->app->gate, s->app->conf);
}

static int store_level(const struct gt_show *s, const char *value, char *err, size_t len)
{
	struct gt_app *app = s->app;
	int64_t level, from = gt_setting_now(s);
	int ret = gt_setting_parse(s, value, &level, err, len);

	if (ret)
		return ret;
	/* the gate opens before the sources do: their first events must pass it */
	set_level(s, level);
	if (app->host)
		ret = tell_sources(app, from, level, err, len);
	if (ret)
		set_level(s, from);
	return ret;
}

static void set_gated(const struct gt_show *s, struct gt_conf_value *v)
{
	GT_MODEL_LOCK(s->app->model);

	gt_conf_swap(s->app->conf, gt_setting(s->file->name), v);
	gt_gate_configure(s->app->gate, s->app->conf);
}

/* What the gate does holds when the write returns; sources that can do it too have then been told. */
static int store_gated(const struct gt_show *s, const char *value, char *err, size_t len)
{
	struct gt_conf_value v;
	int ret = gt_setting_value(s, value, &v, err, len);

	if (ret)
		return ret;
	set_gated(s, &v);
	gt_conf_drop(&v);
	if (s->app->host)
		gt_host_control(s->app->host, GT_CTL_WANTED, 0, err, len);
	*err = '\0';
	return 0;
}

static bool filters_on(const struct gt_app *app)
{
	GT_MODEL_LOCK(app->model);
	return app->conf->filter_enabled;
}

static int store_filter(const struct gt_show *s, const char *value, char *err, size_t len)
{
	int ret = store_gated(s, value, err, len);

	if (!ret && *value && !filters_on(s->app))
		snprintf(err, len, "%s is set, but does nothing while filter_enabled is 0",
			 s->file->name);
	return ret;
}

/* Windows begin anew, at once: none is of two lengths. */
static int store_aggregator(const struct gt_show *s, const char *value, char *err, size_t len)
{
	struct gt_config *c = s->app->conf;
	int64_t v, window;
	int ret = gt_setting_parse(s, value, &v, err, len);

	if (ret || v == gt_setting_now(s))
		return ret;
	{
		GT_MODEL_LOCK(s->app->model);
		gt_setting_set(s, v);
		window = c->aggregator_enable ? c->aggregator_window : 0;
	}
	gt_model_windows(s->app->model, (uint64_t)window * 1000000);
	return 0;
}

/* One whose value a key of options.def describes; @store makes it so */
#define SETTING(n, fn, h)                                                                          \
	{                                                                                          \
		.name = n, .mode = 0664, .show = gt_show_setting, .store = fn,                     \
		.gen = gt_gen_setting, .help = h                                                   \
	}

const struct gt_file gt_config_files[] = {
	SETTING("level", store_level,
		"what is attached and recorded: off, stats (no records), normal, verbose; or 0 "
		"to 3"),
	SETTING("profile", gt_store_profile,
		"production, debug, analysis: sets several of these files together; custom: "
		"none, or changed since"),
	SETTING("sampling", store_gated,
		"percent of jobs recorded, 0 to 100; statistics see every job all the same"),
	SETTING("sampling_mode", store_gated,
		"static; adaptive: as many as sampling_budget allows; threshold: only jobs slower "
		"than sampling_threshold"),
	SETTING("sampling_budget", store_gated,
		"percent of a CPU that the daemon may use; adaptive sampling keeps to it"),
	SETTING("sampling_threshold", store_gated,
		"ns from submission to end that a job has to exceed with threshold sampling"),
	SETTING("rate_limit", store_gated, "records a second, 0 any number; of whole jobs"),
	SETTING("rate_limit_mode", store_gated,
		"window: so many in each second; token_bucket: that rate, and rate_limit_burst"),
	SETTING("rate_limit_burst", store_gated,
		"records that a full token bucket lets in at once"),
	SETTING("filter_enabled", store_gated, "0 or 1: whether the filters below hold"),
	SETTING("filter_pid", store_filter, "only these processes: 1234,5678; empty: all"),
	SETTING("filter_uid", store_filter, "only what these users submitted: 1000; empty: all"),
	SETTING("filter_ring", store_filter,
		"only these rings: 0,sdma*,amdgpu0/ring2; empty: all"),
	SETTING("filter_engine", store_filter,
		"only rings of these engines: GRAPHICS,COPY or a mask; empty: all"),
	SETTING("filter_latency", store_filter,
		"only jobs that take longer than so many us; 0: all"),
	SETTING("filter_events", store_filter,
		"only these types of events: SUBMIT,COMPLETE or a mask, 0x3; empty: all"),
	SETTING("watchlist", store_gated, "only these rings: 0,1; or all but these: !2"),
	SETTING("watchlist_ctx", store_gated, "only these contexts: 7,9; or all but these: !7"),
	SETTING("aggregator_enable", store_aggregator,
		"0 or 1: windows of each ring, which aggregate and perf show"),
	SETTING("aggregator_window", store_aggregator,
		"milliseconds of such a window, 100 to 60000"),
	{ .name = "buffer_size",
	  .mode = 0664,
	  .show = gt_show_buffer_size,
	  .store = gt_store_buffer_size,
	  .help = "bytes of buffer, for each CPU, asked of the sources; reads as granted" },
	SETTING("history_size", gt_store_history_size,
		"bytes of retained records, 0 none; what is kept stays, as far as it fits"),
	SETTING("visibility", gt_store_visibility,
		"what others see of a process: all, redacted, owner; for what is opened from "
		"then on"),
	{ 0 },
};
