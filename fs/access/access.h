/* SPDX-License-Identifier: GPL-2.0 */
/* Who sees what: from a caller's uid, groups and pid to a view. */
#ifndef GT_ACCESS_H
#define GT_ACCESS_H

#include "../tree/tree.h"

/**
 * gt_access_init() - finds the group that stands where root stands, and the mount's owner
 * @gid: of mount option gid=, or -1: by name from the configuration
 */
void gt_access_init(struct gt_app *app, int64_t gid);
/** gt_access_gid() - the group of settings; 0 if it does not exist */
gid_t gt_access_gid(void);

#define GT_NEED_GROUPS 0x1
#define GT_NEED_PID 0x2
#define GT_NEED_ALL (GT_NEED_GROUPS | GT_NEED_PID)

/**
 * gt_access_view() - what a caller may see
 * @tid: as FUSE passes it: a thread id in the mounter's PID namespace, 0 for one outside
 * @need: what has to be looked up in /proc (9 us): the thread group, and for who is not known to see
 *	everything already, the supplementary groups
 */
struct gt_view gt_access_view(const struct gt_app *app, uid_t uid, gid_t gid, uint32_t tid,
			      unsigned int need);

/** gt_access_need() - what must be known of who looks @name up in @dir */
unsigned int gt_access_need(const struct gt_obj *dir, const char *name);

#endif
