/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Work of a queue whose jobs no ring has, as programs give it to the hardware themselves: kernels,
 * how many packets the queue holds, and their ends as far as the source tells them.
 */
#include "internal.h"

void gt_queue_told_depth(struct gt_queue *q, uint64_t n, uint64_t ts)
{
	gt_depth_to(&q->depth, ts);
	q->depth_told = true;
	q->depth.now = n < UINT32_MAX ? (uint32_t)n : UINT32_MAX;
	if (q->depth.now > q->depth.peak)
		q->depth.peak = q->depth.now;
}

static void ended(struct gt_queue *q, const struct gt_event *e, uint64_t exec, uint64_t total)
{
	q->counts.completed++;
	if (exec != GT_NONE64)
		gt_stage_add(&q->stage[GT_ST_EXEC], e->ts, exec);
	if (total != GT_NONE64)
		gt_stage_add(&q->stage[GT_ST_TOTAL], e->ts, total);
}

void gt_queue_work(struct gt_queue *q, const struct gt_event *e)
{
	switch (e->type) {
	case GT_DISPATCH:
		q->worked = true;
		/* One that has run is told after it, a job of which only the execution is told */
		if (e->value != GT_NONE64)
			ended(q, e, e->value, GT_NONE64);
		else
			q->counts.submitted++;
		break;
	case GT_COMPLETE:
		ended(q, e, e->value, e->ref);
		break;
	case GT_END:
		if (e->value != GT_NONE64)
			gt_stage_add(&q->stage[GT_ST_EXEC], e->ts, e->value);
		break;
	case GT_COUNTER:
		if (e->ref == GT_COUNTER_DEPTH && e->value != GT_NONE64)
			gt_queue_told_depth(q, e->value, e->ts);
		break;
	}
}
