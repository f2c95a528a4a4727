/* SPDX-License-Identifier: GPL-2.0 */
#ifndef GT_PREAMBLE_H
#define GT_PREAMBLE_H

#include "stream.h"

/**
 * gt_preamble_make() - fills @c->pre with what a reader must know before its first record
 * @c: log, model, view and scope are set; the array is owned by the cursor
 * @ts: time that all of it carries
 *
 * HEADER, then GPUs, rings, names of CUSTOM events and of functions, queues and living processes of the scope, as
 * the view may see them. The model's lock is held for one object at a time. Return: 0 or -ENOMEM.
 */
int gt_preamble_make(struct gt_cursor *c, uint64_t ts);

#endif
