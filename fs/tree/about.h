/* SPDX-License-Identifier: GPL-2.0 */
/* Files of the root about the daemon itself, not of GPUs. */
#ifndef GT_ABOUT_H
#define GT_ABOUT_H

#include "tree.h"

#ifndef GT_VERSION
#define GT_VERSION "unknown"
#endif

int gt_show_status(struct gt_text *t, const struct gt_show *s); /* status.c */
int gt_show_doctor(struct gt_text *t, const struct gt_show *s); /* status.c */
/**
 * gt_show_devices() - of doctor: devices that are no GPU of the tree, and why no GPU was found; root.c
 * @faults: those that should be one; where no GPU was found, all. Else those with which nothing is wrong
 */
void gt_show_devices(struct gt_text *t, struct gt_app *app, bool faults);
int gt_show_clocks(struct gt_text *t, const struct gt_show *s);		/* stats.c */
int gt_show_sampling_stats(struct gt_text *t, const struct gt_show *s); /* status.c */
int gt_show_filter_stats(struct gt_text *t, const struct gt_show *s);

/** gt_lost_lines() - so many events are lost, and so many losses are of a number that nobody knows
 */
void gt_lost_lines(struct gt_text *t, const char *indent, const char *key, uint64_t lost,
		   uint64_t uncounted);

#endif
