/* SPDX-License-Identifier: GPL-2.0 */
/* config/: what is recorded. A setting is applied to the gate, and told to who can do the work. */
#include <errno.h>
#include <stdio.h>

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
	s->app->gate->level = (int)level;
	gt_setting_set(s, level);
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

static int store_sampling(const struct gt_show *s, const char *value, char *err, size_t len)
{
	int64_t percent;
	int ret = gt_setting_parse(s, value, &percent, err, len);

	if (ret)
		return ret;
	GT_MODEL_LOCK(s->app->model);
	s->app->gate->sampling = (unsigned int)percent;
	gt_setting_set(s, percent);
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
	SETTING("sampling", store_sampling,
		"percent of jobs recorded, 0 to 100; statistics see every job all the same"),
	{ 0 },
};
