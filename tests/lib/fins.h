/* SPDX-License-Identifier: GPL-2.0 */
/* One finished job of the history. */
#ifndef GT_TESTS_FINS_H
#define GT_TESTS_FINS_H

#include "../../fs/stream/stream.h"

static inline bool fin_get(const struct gt_log *l, uint64_t i, struct gt_finished *out)
{
	const struct gt_finished *f;
	struct gt_fins w;

	gt_fins_init(&w, l);
	f = gt_fins_get(&w, i, i & 1); /* either way it is the same */
	if (f)
		*out = *f;
	return f;
}

#endif
