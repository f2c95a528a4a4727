/* SPDX-License-Identifier: GPL-2.0 */
/* config/: what is recorded. A setting is applied to the gate, and told to who can do the work. */
#include <errno.h>
#include <stdio.h>

#include "shows.h"

static const char *const level_names[] = { "off", "stats", "normal", "verbose", NULL };

static int level_now(const struct gt_show *s)
{
	GT_MODEL_LOCK(s->app->model);
	return s->app->gate->level;
}

static int show_level(struct gt_text *t, const struct gt_show *s)
{
	gt_text_choice(t, level_names, (unsigned int)level_now(s));
	gt_text_ch(t, '\n');
	return 0;
}

static uint64_t gen_level(const struct gt_show *s)
{
	return (uint64_t)level_now(s);
}

/*
 * Sources attach nothing at `off`, have more events at `verbose`, and at `stats` some count what needs
 * no record then. The host says 0 where nobody minds: then the gate alone does it.
 */
static int tell_sources(struct gt_app *app, int from, int to, char *err, size_t len)
{
	int ret;

	if (from == to)
		return 0;
	ret = gt_host_control(app->host, GT_CTL_LEVEL, to, err, len);
	if (!ret)
		*err = '\0';
	return ret;
}

static void set_level(struct gt_app *app, int level)
{
	GT_MODEL_LOCK(app->model);
	app->gate->level = level;
	app->conf->level = level;
}

static int store_level(const struct gt_show *s, const char *value, char *err, size_t len)
{
	struct gt_app *app = s->app;
	unsigned int level;
	int from = level_now(s), ret = gt_parse_choice(value, level_names, &level);

	if (ret) {
		snprintf(err, len,
			 "a level is off, stats, normal or verbose, or its number, 0 to 3");
		return ret;
	}
	/* the gate opens before the sources do: their first events must pass it */
	set_level(app, (int)level);
	if (app->host)
		ret = tell_sources(app, from, (int)level, err, len);
	if (ret)
		set_level(app, from);
	return ret;
}

static unsigned int sampling_now(const struct gt_show *s)
{
	GT_MODEL_LOCK(s->app->model);
	return s->app->gate->sampling;
}

static int show_sampling(struct gt_text *t, const struct gt_show *s)
{
	gt_text_u64(t, sampling_now(s));
	gt_text_ch(t, '\n');
	return 0;
}

static uint64_t gen_sampling(const struct gt_show *s)
{
	return sampling_now(s);
}

static int store_sampling(const struct gt_show *s, const char *value, char *err, size_t len)
{
	uint64_t percent;
	int ret = gt_parse_u64(value, 0, 100, &percent);

	if (ret) {
		snprintf(err, len, "sampling is a whole number of percent, 0 to 100");
		return ret;
	}
	GT_MODEL_LOCK(s->app->model);
	s->app->gate->sampling = (unsigned int)percent;
	s->app->conf->sampling = (int64_t)percent;
	return 0;
}

const struct gt_file gt_config_files[] = {
	{ .name = "level",
	  .mode = 0664,
	  .show = show_level,
	  .store = store_level,
	  .gen = gen_level,
	  .help = "what is attached and recorded: off, stats (no records), normal, verbose; or 0 "
		  "to 3" },
	{ .name = "sampling",
	  .mode = 0664,
	  .show = show_sampling,
	  .store = store_sampling,
	  .gen = gen_sampling,
	  .help = "percent of jobs recorded, 0 to 100; statistics see every job all the same" },
	{ 0 },
};
