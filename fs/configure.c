/* SPDX-License-Identifier: GPL-2.0 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../backend/lib/recording.h"
#include "../conf/profile.h"
#include "configure.h"
#include "keep.h"

static void mark_given(const char *key, bool *given)
{
	for (int i = 0; gt_conf_items[i].key; i++)
		given[i] |= !strcmp(gt_conf_items[i].key, key);
}

int gt_configure(const struct gt_mountargs *args, struct gt_config *c, struct gt_keep **keep,
		 char *err, size_t len)
{
	const char *path = args->conf ? args->conf : GT_SYSCONFDIR "/gputrace.conf";
	bool given[GT_KEEP_ITEMS] = { 0 }, options[GT_KEEP_ITEMS] = { 0 };
	int ret = gt_config_init(c);

	if (!ret && (args->conf || !access(path, F_OK)))
		ret = gt_config_read_seen(c, path, given, err, len);
	for (struct gt_setting *s = args->settings; s && !ret; s = s->next) {
		ret = gt_config_set(c, s->key, s->value, err, len);
		mark_given(s->key, options);
	}
	if (!ret && *c->keep && !args->replay) {
		*keep = gt_keep_new(c->keep);
		ret = *keep ? 0 : -ENOMEM;
	}
	if (*keep)
		gt_keep_read(*keep, c, options);
	for (int i = 0; gt_conf_items[i].key; i++)
		given[i] |= options[i];
	if (!ret)
		gt_profile_apply(c, given);
	return ret;
}

int gt_absolute_files(const char *list, char **out, char *err, size_t len)
{
	char *copy = strdup(list), *rest = copy, *all = NULL;
	int ret = copy ? 0 : -ENOMEM;

	for (char *f = copy ? gt_path_next(&rest, ':') : NULL; f && !ret;
	     f = gt_path_next(&rest, ':')) {
		char path[PATH_MAX], *escaped = NULL, *more;

		if (!realpath(f, path)) {
			ret = -errno;
			snprintf(err, len, "%s: %s", f, strerror(errno));
		} else if (!(escaped = gt_path_escape(path, ':')) ||
			   asprintf(&more, "%s%s%s", all ? all : "", all ? ":" : "", escaped) < 0) {
			ret = -ENOMEM;
		} else {
			free(all);
			all = more;
		}
		free(escaped);
	}
	free(copy);
	if (!ret && !all) {
		snprintf(err, len, "replay= needs a file");
		ret = -EINVAL;
	}
	if (ret)
		free(all);
	else
		*out = all;
	return ret;
}
