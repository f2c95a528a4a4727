/* SPDX-License-Identifier: GPL-2.0 */
/* Profiles: settings that go together. What is not in the table a profile leaves as it is. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "profile.h"

/* In this order they are set: what narrows comes before what opens */
static const struct {
	const char *key;
	const char *value[GT_PROFILE_CUSTOM]; /* production, debug, analysis */
} profiles[] = {
	{ "sampling_threshold", { NULL, NULL, "1000000" } },
	{ "sampling_mode", { "static", "static", "threshold" } },
	{ "sampling", { "10", "100", "100" } },
	{ "rate_limit", { "1000", "0", "0" } },
	{ "aggregator_enable", { "1", "1", "1" } },
	{ "level", { "normal", "verbose", "normal" } },
};

const char *gt_profile_value(int profile, const char *key)
{
	if (profile < 0 || profile >= GT_PROFILE_CUSTOM)
		return NULL;
	for (size_t i = 0; i < sizeof(profiles) / sizeof(profiles[0]); i++)
		if (!strcmp(profiles[i].key, key) && gt_conf_item(key))
			return profiles[i].value[profile];
	return NULL;
}

const char *gt_profile_key(unsigned int i)
{
	return i < sizeof(profiles) / sizeof(profiles[0]) ? profiles[i].key : NULL;
}

static void choice_text(const char *names, int64_t n, char *buf, size_t len)
{
	size_t l;

	for (; n > 0 && *names; n--) {
		names += strcspn(names, " ");
		names += strspn(names, " ");
	}
	l = strcspn(names, " ");
	snprintf(buf, len, "%.*s", (int)l, names);
}

void gt_conf_text(const struct gt_config *c, const struct gt_conf_item *it, char *buf, size_t len)
{
	const void *at = (const char *)c + it->off;

	if (it->type == GT_CONF_INT)
		snprintf(buf, len, "%" PRId64, *(const int64_t *)at);
	else if (it->type == GT_CONF_BOOL)
		snprintf(buf, len, "%d", *(const bool *)at);
	else if (it->type == GT_CONF_CHOICE)
		choice_text(it->names, *(const int64_t *)at, buf, len);
	else
		snprintf(buf, len, "%s", *(char *const *)at ? *(char *const *)at : "");
}

bool gt_profile_holds(const struct gt_config *c, const char *key)
{
	const char *value = gt_profile_value((int)c->profile, key);
	char now[64];

	if (!value)
		return true;
	gt_conf_text(c, gt_conf_item(key), now, sizeof(now));
	return !strcmp(now, value);
}

void gt_profile_apply(struct gt_config *c, const bool *given)
{
	char err[256];

	for (unsigned int i = 0; gt_profile_key(i); i++) {
		const char *key = gt_profile_key(i),
			   *value = gt_profile_value((int)c->profile, key);

		if (value && !given[gt_conf_item(key) - gt_conf_items])
			gt_config_set(c, key, value, err, sizeof(err));
	}
	for (unsigned int i = 0; gt_profile_key(i); i++)
		if (!gt_profile_holds(c, gt_profile_key(i)))
			c->profile = GT_PROFILE_CUSTOM;
}
