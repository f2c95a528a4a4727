/* SPDX-License-Identifier: GPL-2.0 */
/* What settings have in common: as options.def says they are read, checked and shown. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "setting.h"

#define NAMES_MAX 16

const struct gt_conf_item *gt_setting(const char *name)
{
	return gt_conf_item(name);
}

static void *place(const struct gt_show *s, const struct gt_conf_item *it)
{
	return (char *)s->app->conf + it->off;
}

int64_t gt_setting_now(const struct gt_show *s)
{
	const struct gt_conf_item *it = gt_setting(s->file->name);
	GT_MODEL_LOCK(s->app->model);

	return it->type == GT_CONF_BOOL ? *(bool *)place(s, it) : *(int64_t *)place(s, it);
}

void gt_setting_set(const struct gt_show *s, int64_t value)
{
	struct gt_conf_value v = { .n = value };

	gt_conf_swap(s->app->conf, gt_setting(s->file->name), &v);
}

/* A list as it is */
static void list_now(const struct gt_show *s, const struct gt_conf_item *it,
		     char out[GT_CONF_PATHLEN])
{
	GT_MODEL_LOCK(s->app->model);

	snprintf(out, GT_CONF_PATHLEN, "%s", *(char **)place(s, it));
}

uint64_t gt_gen_setting(const struct gt_show *s)
{
	const struct gt_conf_item *it = gt_setting(s->file->name);
	char list[GT_CONF_PATHLEN];
	uint64_t h = 0xcbf29ce484222325;

	if (it->type != GT_CONF_LIST)
		return (uint64_t)gt_setting_now(s);
	list_now(s, it, list);
	for (const char *p = list; *p; p++)
		h = (h ^ (unsigned char)*p) * 0x100000001b3;
	return h;
}

/* @words with a NUL in place of each blank, and where each begins; ends with NULL */
static void split(const char *names, char *words, size_t len, const char *out[NAMES_MAX + 1])
{
	char *save = NULL, *w;
	int n = 0;

	snprintf(words, len, "%s", names);
	for (w = strtok_r(words, " ", &save); w && n < NAMES_MAX; w = strtok_r(NULL, " ", &save))
		out[n++] = w;
	out[n] = NULL;
}

int gt_show_setting(struct gt_text *t, const struct gt_show *s)
{
	const struct gt_conf_item *it = gt_setting(s->file->name);
	const char *names[NAMES_MAX + 1];
	char words[GT_CONF_PATHLEN];
	int64_t now;

	if (it->type == GT_CONF_LIST) {
		list_now(s, it, words);
		gt_text_str(t, words);
		gt_text_ch(t, '\n');
		return 0;
	}
	now = gt_setting_now(s);
	if (it->type == GT_CONF_CHOICE) {
		split(it->names, words, sizeof(words), names);
		gt_text_choice(t, names, (unsigned int)now);
	} else {
		gt_text_i64(t, now);
	}
	gt_text_ch(t, '\n');
	return 0;
}

static void say(const struct gt_conf_item *it, char *err, size_t len)
{
	if (it->type == GT_CONF_CHOICE)
		snprintf(err, len, "%s takes one of: %s; or its number, from 0", it->key,
			 it->names);
	else if (it->type == GT_CONF_BOOL)
		snprintf(err, len, "%s is 0 or 1: %s", it->key, it->help);
	else
		snprintf(err, len, "%s is a whole number, %" PRId64 " to %" PRId64 ": %s", it->key,
			 it->min, it->max, it->help);
}

int gt_setting_parse(const struct gt_show *s, const char *value, int64_t *out, char *err,
		     size_t len)
{
	struct gt_conf_value v;
	int ret = gt_setting_value(s, value, &v, err, len);

	*out = v.n;
	return ret;
}

int gt_setting_value(const struct gt_show *s, const char *value, struct gt_conf_value *v, char *err,
		     size_t len)
{
	const struct gt_conf_item *it = gt_setting(s->file->name);
	int ret = gt_conf_parse(it, value, v, err, len);

	if (ret && ret != -ENOMEM && it->type != GT_CONF_LIST)
		say(it, err, len);
	return ret;
}
