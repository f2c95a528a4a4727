/* SPDX-License-Identifier: GPL-2.0 */
#ifndef GT_CONFIGURE_H
#define GT_CONFIGURE_H

#include "../conf/config.h"
#include "keep.h"
#include "mountargs.h"

/**
 * gt_configure() - all settings: the configuration, mount options over it, between them what an
 *	earlier mount kept, and what the profile sets of what none of these named
 * @keep: is made if settings are to be kept, which those of a recording are not; the caller's to
 *	free, also if this fails
 */
int gt_configure(const struct gt_mountargs *args, struct gt_config *c, struct gt_keep **keep,
		 char *err, size_t len);
/** gt_absolute_files() - names of files, separated by colons, as whole paths: relative ones are the
 * caller's, and the daemon stands in "/". @out: to be freed. 0, or -errno with a sentence */
int gt_absolute_files(const char *list, char **out, char *err, size_t len);

#endif
