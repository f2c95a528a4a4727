/* SPDX-License-Identifier: GPL-2.0 */
/* config/profile, and what a change of any setting means for it and for what is kept. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../../conf/profile.h"
#include "../keep.h"
#include "setting.h"
#include "set_sources.h"

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
