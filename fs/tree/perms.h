/* SPDX-License-Identifier: GPL-2.0 */
/* Who may read and write which setting: the defaults, and section [access] of the configuration. */
#ifndef GT_PERMS_H
#define GT_PERMS_H

#include "tree.h"

/** struct gt_perms - as of a file; only bits of 0666 */
struct gt_perms {
	mode_t mode;
	uid_t uid;
	gid_t gid;
};

/**
 * gt_perms_init() - checks that each line of [access] means a setting of this tree, and has their
 *	groups that are tracked. After gt_access_init(), and when the host knows its backends
 *
 * In a mount by an ordinary user everything belongs to that user, whatever the lines say.
 *
 * Return: 0, or -EINVAL with "FILE:LINE: sentence" in @err
 */
int gt_perms_init(struct gt_app *app, char *err, size_t len);

/** gt_perms_of() - of file @f in @dir: each line that matches, in order, so that the last one wins
 */
struct gt_perms gt_perms_of(const struct gt_app *app, const struct gt_obj *dir,
			    const struct gt_file *f);

/**
 * gt_perms_may() - may @v do that? As the kernel decides it, but that capabilities count for
 * nothing with other users than root
 * @want: 4 read, 2 write
 */
bool gt_perms_may(const struct gt_perms *p, const struct gt_view *v, unsigned int want);

/** gt_perms_say() - "0660 root:perf", with numbers for what has no name */
void gt_perms_say(const struct gt_perms *p, char *out, size_t len);

/** gt_tree_path() - a file that can be written, from the root: config/level, backends/ftrace/cpu */
void gt_tree_path(const struct gt_app *app, const struct gt_obj *dir, const char *name, char *out,
		  size_t len);

#endif
