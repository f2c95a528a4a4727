/* SPDX-License-Identifier: GPL-2.0 */
/* Memory of the event log: what log.c and slots.c share. */
#ifndef GT_SLOTS_H
#define GT_SLOTS_H

#include "stream.h"

struct gt_slots {
	union gt_record *rec;
	struct gt_finished *fin;
	uint64_t mask, fin_mask;
};

/** gt_slots_make() - @bytes of records and a quarter of that for finished jobs; 0: as much as open
 * readers need. 0 or -ENOMEM */
int gt_slots_make(struct gt_slots *s, uint64_t bytes);
void gt_slots_free(struct gt_slots *s);
/** gt_log_old_fin() - finished job @i, if it is in an era; NULL. With what the ingest thread holds,
 * or the log's lock */
struct gt_finished *gt_log_old_fin(const struct gt_log *l, uint64_t i);
/** gt_log_drop_eras() - all of them; nobody may read */
void gt_log_drop_eras(struct gt_log *l);

#endif
