/* SPDX-License-Identifier: GPL-2.0 */
#ifndef GT_CONTROL_H
#define GT_CONTROL_H

#include "tree.h"

/** gt_show_control() - "[start] stop", and in a replay "[play] pause" */
int gt_show_control(struct gt_text *t, const struct gt_show *s);
/**
 * gt_store_control() - start, stop, clear, rescan; in a replay also play, pause and
 *	seek [+-]N[s|ms|us|ns]
 * Return: -EINVAL for another word, -EOPNOTSUPP where no backend can, -ERANGE
 */
int gt_store_control(const struct gt_show *s, const char *value, char *err, size_t len);
uint64_t gt_gen_control(const struct gt_show *s);

#endif
