/* SPDX-License-Identifier: GPL-2.0 */
/* Where queues are on the hardware: what a source reads off of all of them at once. */
#include "internal.h"

static struct gt_queue *queue_of(const struct gt_model *m, const struct gt_queue_hw *hw)
{
	struct gt_queue *q = hw->queue != GT_NONE32
				     ? gt_model_queue((struct gt_model *)m, hw->gpu, hw->queue)
			     : hw->base == GT_NONE64 ? NULL
						     : gt_join_of_driver(m, hw->pid, hw->base);

	return q && q->gpu == hw->gpu && q->state != GT_QS_DESTROYED ? q : NULL;
}

void gt_model_queues_hw(struct gt_model *m, const struct gt_queue_hw *hw, size_t n)
{
	m->hw_round++;
	m->gen++;
	if (m->hw_round == 1)
		m->dir_gen++;
	for (size_t i = 0; i < n; i++) {
		struct gt_queue *q = queue_of(m, &hw[i]);

		if (q && !q->hw)
			q->hw = gt_mem_get(sizeof(*q->hw), true);
		if (!q || !q->hw)
			continue;
		*q->hw = hw[i];
		q->hw_round = m->hw_round;
	}
}

void gt_queue_hw_drop(struct gt_queue *q)
{
	gt_mem_put(q->hw, sizeof(*q->hw));
	q->hw = NULL;
}
