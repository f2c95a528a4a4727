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
	for (const struct gt_conf_item *i = gt_conf_items; i->key; i++)
		if (!strcmp(i->key, name))
			return i;
	return NULL;
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
	const struct gt_conf_item *it = gt_setting(s->file->name);

	if (it->type == GT_CONF_BOOL)
		*(bool *)place(s, it) = value;
	else
		*(int64_t *)place(s, it) = value;
}

uint64_t gt_gen_setting(const struct gt_show *s)
{
	return (uint64_t)gt_setting_now(s);
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
	int64_t now = gt_setting_now(s);
	const char *names[NAMES_MAX + 1];
	char words[256];

	if (it->type == GT_CONF_CHOICE) {
		split(it->names, words, sizeof(words), names);
		gt_text_choice(t, names, (unsigned int)now);
	} else {
		gt_text_i64(t, now);
	}
	gt_text_ch(t, '\n');
	return 0;
}

static int parse_choice(const struct gt_conf_item *it, const char *value, int64_t *out)
{
	const char *names[NAMES_MAX + 1];
	unsigned int choice = 0;
	char words[256];
	int ret;

	split(it->names, words, sizeof(words), names);
	ret = gt_parse_choice(value, names, &choice);
	*out = choice;
	return ret;
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
	const struct gt_conf_item *it = gt_setting(s->file->name);
	uint64_t v = 0;
	int ret;

	if (it->type == GT_CONF_CHOICE) {
		ret = parse_choice(it, value, out);
	} else {
		ret = gt_parse_u64(value, (uint64_t)it->min, (uint64_t)it->max, &v);
		*out = (int64_t)v;
	}
	if (ret)
		say(it, err, len);
	return ret;
}
