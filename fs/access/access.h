/* SPDX-License-Identifier: GPL-2.0 */
/* Who sees what: from a caller's uid, groups and namespaces to a view. */
#ifndef GT_ACCESS_H
#define GT_ACCESS_H

#include "../tree/tree.h"

/**
 * gt_access_init() - finds the group that stands where root stands, and the mount's owner
 * @gid: of mount option gid=, or -1: by name from the configuration
 */
void gt_access_init(struct gt_app *app, int64_t gid);
#define GT_ACCESS_GROUPS 32 /* with that of all settings, and the daemon's */

/** gt_access_add_group() - a setting may belong to @gid too; false: there are too many groups */
bool gt_access_add_group(gid_t gid);
/** gt_access_in_group() - is @v a member of @gid, which is one of those groups? */
bool gt_access_in_group(const struct gt_view *v, gid_t gid);
/** gt_access_gid() - the group of settings; 0 if it does not exist */
gid_t gt_access_gid(void);

/**
 * gt_access_view() - what a caller may see
 * @uid, @gid, @tid: as FUSE passes them: in the mounter's namespaces; @tid is a thread's, 0 for one
 *	outside
 */
struct gt_view gt_access_view(const struct gt_app *app, uid_t uid, gid_t gid, uint32_t tid);

/** gt_access_is_owner() - is @uid root, or the mount's owner? */
bool gt_access_is_owner(uid_t uid);

/** gt_access_differs() - does it depend on who looks @name up in @dir what there is? */
bool gt_access_differs(const struct gt_obj *dir, const char *name);

#endif
