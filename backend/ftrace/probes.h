/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Synthetic tracepoints, which are made where the kernel has none, and which of them serve: synth.c.
 *
 * Everything runs in the ingest thread.
 */
#ifndef GT_FTRACE_PROBES_H
#define GT_FTRACE_PROBES_H

#include "internal.h"

#define FT_GROUP_PREFIX "gputrace_" /* and our pid: the group of our events */

/* synth.c */

/** ft_dynamic_clean() - removes what a gputrace that is gone, or an earlier start of this one, left
 */
void ft_dynamic_clean(struct gt_plugin *p);

/* synth.c: between two calls of gt_eventmap_select(), and after the second */

/** ft_standins_retry() - what was refused may be possible now */
void ft_standins_retry(struct ft *ft);
/** ft_standins_update() - makes what is wanted and can be; -ENOMEM */
int ft_standins_update(struct ft *ft);
/** ft_standins_group() - the group of our event that stands for @tp; NULL: the kernel's own does */
const char *ft_standins_group(const struct ft *ft, const struct gt_tp *tp);
/** ft_standins_refuse() - our event for @tp cannot be enabled; false: there is none */
bool ft_standins_refuse(struct ft *ft, const struct gt_tp *tp, const char *why);
/** ft_standins_trim() - removes those that are not wanted any more, or @all; none that is enabled
 */
void ft_standins_trim(struct ft *ft, bool all);
/** ft_standins_free() - removes all: after the instance, where they are enabled */
void ft_standins_free(struct ft *ft);
/** ft_standins_emit() - the @i-th line for doctor, without its end; false: there is none */
bool ft_standins_emit(const struct ft *ft, unsigned int i, char *buf, size_t len);

#endif
