/* SPDX-License-Identifier: GPL-2.0 */
/* The way of an event behind the host: model, gate, log. Implements the host's sink. */
#ifndef GT_PIPELINE_H
#define GT_PIPELINE_H

#include "app.h"
#include "devices.h"

struct gt_pipeline;

/**
 * gt_pipeline_new() - @app's model, gate and log must be there
 * @wake: called when something new may be read and @waiting is set
 */
struct gt_pipeline *gt_pipeline_new(struct gt_app *app, struct gt_devices *devices);
void gt_pipeline_free(struct gt_pipeline *p);
void gt_pipeline_sink(struct gt_pipeline *p, struct gt_sink *out);
/** gt_pipeline_notify() - @fn(@arg) is called after each round that brought something, if *@wanted */
void gt_pipeline_notify(struct gt_pipeline *p, void (*fn)(void *arg), void *arg,
			_Atomic bool *wanted);
/** gt_pipeline_settle() - names of GPUs stay as they are from now on */
void gt_pipeline_settle(struct gt_pipeline *p);
/** gt_pipeline_processes() - descriptor for gt_procwatch_ended(), or -1 */
int gt_pipeline_processes(const struct gt_pipeline *p);

#endif
