/* SPDX-License-Identifier: GPL-2.0 */
/* Files of the root that tell of the daemon itself, not of GPUs. */
#ifndef GT_ABOUT_H
#define GT_ABOUT_H

#include "tree.h"

#ifndef GT_VERSION
#define GT_VERSION "unknown"
#endif

int gt_show_status(struct gt_text *t, const struct gt_show *s);		/* status.c */
int gt_show_doctor(struct gt_text *t, const struct gt_show *s);		/* doctor.c */
int gt_show_clocks(struct gt_text *t, const struct gt_show *s);		/* clocks.c */
int gt_show_readme(struct gt_text *t, const struct gt_show *s);		/* readme.c */
int gt_show_sampling_stats(struct gt_text *t, const struct gt_show *s); /* narrowed.c */
int gt_show_filter_stats(struct gt_text *t, const struct gt_show *s);

#endif
