/* SPDX-License-Identifier: GPL-2.0 */
/* Results among files, for files.c and meet.c. */
#ifndef GT_ROCPROF_FILES_H
#define GT_ROCPROF_FILES_H

#include "internal.h"

/** rp_file_is_none() - why what has this mode is not read, NULL: it may be */
const char *rp_file_is_none(mode_t mode);
/** rp_file_busy() - does somebody write to it? @dir is its folder, or AT_FDCWD if @name is a path */
bool rp_file_busy(int dir, const char *name);
/** rp_file_add() - one more of those that are known; NULL: there are too many */
struct rp_file *rp_file_add(struct gt_plugin *p, struct rp_files *f, const char *path,
			    uint32_t uid);
/** rp_file_refuse() - it is not read, and says why. Returns -@err */
int rp_file_refuse(struct gt_plugin *p, const struct rp_files *f, struct rp_file *file, int err,
		   const char *why);
/** rp_file_free() - what it holds, but no descriptor */
void rp_file_free(struct rp_file *f);

#endif
