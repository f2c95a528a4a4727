/* SPDX-License-Identifier: GPL-2.0 */
/*
 * config/buffer_size: asked of every source that has buffers, read back as granted. Each source
 * bounds what it takes by the machine's memory; one may refuse what another grants, and then the
 * sentence says who did what. And config/visibility.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "set_sources.h"
#include "setting.h"

#define KEY "buffer_size"

/* One that runs, or will when level is no longer off */
static bool has_buffers(const struct gt_app *app, const struct gt_backend_info *info)
{
	bool off = info->state == GT_BS_OFF && app->conf->level == GT_LEVEL_OFF;
	const struct gt_option *o = info->options;

	if (info->state != GT_BS_RUNNING && info->state != GT_BS_PAUSED && !off)
		return false;
	while (o && o->name && strcmp(o->name, KEY))
		o++;
	return o && o->name;
}

static int64_t granted(struct gt_app *app, unsigned int i)
{
	char value[32] = "";

	if (gt_host_option_get(app->host, i, KEY, value, sizeof(value)))
		return -1;
	return strtoll(value, NULL, 10);
}

/* The least of all: every source has as much for each CPU */
int gt_show_buffer_size(struct gt_text *t, const struct gt_show *s)
{
	struct gt_app *app = s->app;
	struct gt_backend_info info;
	int64_t least = -1;

	for (unsigned int i = 0; app->host && gt_host_info(app->host, i, &info); i++) {
		int64_t v = has_buffers(app, &info) ? granted(app, i) : -1;

		if (v >= 0 && (least < 0 || v < least))
			least = v;
	}
	gt_text_i64(t, least >= 0 ? least : gt_setting_now(s));
	gt_text_ch(t, '\n');
	return 0;
}

/** struct answers - of the sources, and what they said: "NAME SENTENCE; NAME SENTENCE" */
struct answers {
	unsigned int took, refused;
	int err; /* of the first that refused */
	char said[512];
};

static void say(struct answers *a, const char *name, const char *what)
{
	size_t n = strlen(a->said);

	snprintf(a->said + n, sizeof(a->said) - n, "%s%s %s", n ? "; " : "", name, what);
}

static void ask(struct gt_app *app, unsigned int i, const char *name, int64_t bytes,
		struct answers *a)
{
	char value[24], why[256] = "", what[320];
	int64_t now;
	int ret;

	snprintf(value, sizeof(value), "%" PRId64, bytes);
	ret = gt_host_option_set(app->host, i, KEY, value, why, sizeof(why));
	now = granted(app, i);
	if (ret) {
		a->refused++;
		a->err = a->err ? a->err : ret;
		snprintf(what, sizeof(what), "keeps %" PRId64 ": %s", now, why);
		say(a, name, what);
		return;
	}
	a->took++;
	snprintf(what, sizeof(what), "grants %" PRId64, now);
	if (now != bytes)
		say(a, name, what);
}

int gt_store_buffer_size(const struct gt_show *s, const char *value, char *err, size_t len)
{
	struct gt_app *app = s->app;
	struct gt_backend_info info;
	struct answers a = { 0 };
	int64_t bytes;
	int ret = gt_setting_parse(s, value, &bytes, err, len);

	if (ret)
		return ret;
	for (unsigned int i = 0; app->host && gt_host_info(app->host, i, &info); i++)
		if (has_buffers(app, &info))
			ask(app, i, info.name, bytes, &a);
	if (!a.took && !a.refused)
		snprintf(a.said, sizeof(a.said), "no source here has buffers");
	snprintf(err, len, "%s", a.said);
	if (a.refused && !a.took)
		return a.err;
	GT_MODEL_LOCK(app->model);
	gt_setting_set(s, bytes);
	return 0;
}

/* Nothing is copied, and events go on meanwhile. */
int gt_store_history_size(const struct gt_show *s, const char *value, char *err, size_t len)
{
	struct gt_app *app = s->app;
	int64_t bytes;
	int ret = gt_setting_parse(s, value, &bytes, err, len);

	if (ret || bytes == gt_setting_now(s))
		return ret;
	ret = gt_log_resize(app->log, (uint64_t)bytes, &app->model->lock);
	if (ret) {
		snprintf(err, len, "%s", ret == -EBUSY ? "somebody reads the history all the time"
						       : strerror(-ret));
		return ret;
	}
	GT_MODEL_LOCK(app->model);
	gt_setting_set(s, bytes);
	app->model->gen++;
	return 0;
}

/* What a file shows is settled when it is opened, and so is who may see it. */
int gt_store_visibility(const struct gt_show *s, const char *value, char *err, size_t len)
{
	struct gt_model *m = s->app->model;
	int64_t v;
	int ret = gt_setting_parse(s, value, &v, err, len);

	if (ret)
		return ret;
	GT_MODEL_LOCK(m);
	gt_setting_set(s, v);
	m->dir_gen++; /* who may look into which process's directory */
	m->gen++;
	return 0;
}
