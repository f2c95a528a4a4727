/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Settings: a file of config/ is a key of gputrace.conf by the same name (conf/options.def), which
 * says its type, bounds and default. What it is now is in gt_app.conf, guarded by the model's lock.
 * A new one is a line in gt_config_files and, if its key does not say all, functions of its own.
 */
#ifndef GT_SETTING_H
#define GT_SETTING_H

#include "shows.h"

/** gt_setting() - what options.def says of the file; NULL: nothing */
const struct gt_conf_item *gt_setting(const char *name);

/** gt_store_report() - what came of @path (0 or -errno), in last_cmd_status and error_log of @v */
void gt_store_report(struct gt_app *app, const struct gt_view *v, const char *path,
		     const char *value, int ret, const char *sentence);

/* gt_file.show and .gen of such a setting */

/**
 * gt_setting_parse() - a number, yes-or-no or choice within its bounds
 * Return: 0, or -EINVAL or -ERANGE with the sentence: what the file takes
 */
int gt_setting_parse(const struct gt_show *s, const char *value, int64_t *out, char *err,
		     size_t len);
/** gt_setting_changed() - a file of config/ was written: profile and keep follow. @err: what there is
 * to say already; what could not be kept joins it */
void gt_setting_changed(const struct gt_show *s, char *err, size_t len);
/** gt_setting_set() - from now on it is that. Model's lock held */
void gt_setting_set(const struct gt_show *s, int64_t value);

#endif
