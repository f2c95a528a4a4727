/* SPDX-License-Identifier: GPL-2.0 */
/* Settings that are not the gate's: gt_file.show and .store */
#ifndef GT_SET_SOURCES_H
#define GT_SET_SOURCES_H

#include "tree.h"

int gt_show_buffer_size(struct gt_text *t, const struct gt_show *s);
int gt_store_buffer_size(const struct gt_show *s, const char *value, char *err, size_t len);
int gt_store_profile(const struct gt_show *s, const char *value, char *err,
		     size_t len); /* profile.c */
int gt_store_history_size(const struct gt_show *s, const char *value, char *err, size_t len);
int gt_store_visibility(const struct gt_show *s, const char *value, char *err, size_t len);

#endif
