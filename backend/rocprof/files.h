/* SPDX-License-Identifier: GPL-2.0 */
/* Files that are results, for files.c and its test. */
#ifndef GT_ROCPROF_FILES_H
#define GT_ROCPROF_FILES_H

#include "internal.h"

/** rp_file_add() - one more of those that are known; NULL: there are too many */
struct rp_file *rp_file_add(struct gt_plugin *p, struct rp_files *f, const char *path,
			    uint32_t uid);

#endif
