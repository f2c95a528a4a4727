/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Events of our own, made where the kernel has none: dynamic.c (making and removing events), standin.c (which of them serve).
 *
 * Everything runs in the ingest thread.
 */
#ifndef GT_FTRACE_PROBES_H
#define GT_FTRACE_PROBES_H

#include "internal.h"

#define FT_GROUP_PREFIX "gputrace_" /* and our pid: the group of our events */

/* dynamic.c */

/** ft_dynamic_make() - the event @group/@name; 0 or -errno, with the sentence in @err.
 * @probe: its source; @args: " NAME=FETCHARG…" */
int ft_dynamic_make(const char *tracefs, const char *group, const char *name,
		    const struct gt_probe *probe, const char *args, char *err, size_t len);
int ft_dynamic_remove(const char *tracefs, const char *group, const char *name);
/** ft_dynamic_clean() - removes what a gputrace that is gone, or an earlier start of this one, left
 */
void ft_dynamic_clean(struct gt_plugin *p);

/* standin.c: between two calls of gt_eventmap_select(), and after the second */

/** ft_standins_retry() - what was refused may be possible now */
void ft_standins_retry(struct ft *ft);
/** ft_standins_update() - makes what is wanted and can be; -ENOMEM */
int ft_standins_update(struct ft *ft);
/** ft_standins_group() - the group of our event that tells @tp; NULL: the kernel's own does */
const char *ft_standins_group(const struct ft *ft, const struct gt_tp *tp);
/** ft_standins_refuse() - our event for @tp cannot be enabled; false: there is none */
bool ft_standins_refuse(struct ft *ft, const struct gt_tp *tp, const char *why);
/** ft_standins_trim() - removes those that are not wanted any more, or @all; none that is enabled
 */
void ft_standins_trim(struct ft *ft, bool all);
/** ft_standins_free() - removes all: after the instance, where they are enabled */
void ft_standins_free(struct ft *ft);
/** ft_standins_tell() - the @i-th line for doctor, without its end; false: there is none */
bool ft_standins_tell(const struct ft *ft, unsigned int i, char *buf, size_t len);

#endif
