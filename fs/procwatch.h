/* SPDX-License-Identifier: GPL-2.0 */
/* Processes of this machine: who a pid is, and when it ends (by pidfd, without polling). */
#ifndef GT_PROCWATCH_H
#define GT_PROCWATCH_H

#include <stddef.h>

#include "model/model.h"

/** gt_procwatch_new() - an epoll descriptor that turns readable when a watched process ends */
int gt_procwatch_new(void);
/**
 * gt_procwatch_add() - asks /proc about a pid that is new, informs the model and watches it,
 *	or reports that it has ended already. Model's lock held. @epfd may be -1: not watched.
 */
void gt_procwatch_add(struct gt_model *m, int epfd, uint32_t pid);
/** gt_procwatch_ended() - informs the model of those that have ended */
void gt_procwatch_ended(struct gt_model *m, int epfd);

#endif
