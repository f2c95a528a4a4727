/* SPDX-License-Identifier: GPL-2.0 */
/* What one caller may see, and of whom. Made by access.c; fixed at open. */
#ifndef GT_VIEW_H
#define GT_VIEW_H

#include "../../backend/event.h"
#include "pidns.h"

enum gt_visibility { GT_VIS_ALL, GT_VIS_REDACTED, GT_VIS_OWNER };

/**
 * struct gt_view - what one caller may see
 * @all: root, the group or the mount's owner, in the daemon's own PID and user namespaces
 * @there: stands where root stands in @ns, which is another
 * @uid: the caller's
 * @groups: of those that settings may belong to, which it is in, see gt_access_in_group()
 * @pid: its thread group in the daemon's PID namespace, 0 unknown
 * @own_pid: the same as the caller itself knows it
 * @visibility: enum gt_visibility: what it sees of others
 * @ns: the caller's PID namespace: GT_PIDNS_OWN, GT_PIDNS_NONE or an id
 */
struct gt_view {
	bool all, there;
	uint32_t uid;
	uint32_t groups;
	uint32_t pid, own_pid;
	int visibility;
	uint64_t ns;
};

/** gt_view_nobody() - of whom nothing is known: sees what anybody may know of rings and GPUs */
static inline struct gt_view gt_view_nobody(void)
{
	return (struct gt_view){ .uid = GT_NONE32,
				 .ns = GT_PIDNS_NONE,
				 .visibility = GT_VIS_OWNER };
}

/** gt_view_same() - is everything shown to both in the same way? */
static inline bool gt_view_same(const struct gt_view *a, const struct gt_view *b)
{
	return a->all == b->all && a->there == b->there && a->uid == b->uid &&
	       a->groups == b->groups && a->pid == b->pid && a->visibility == b->visibility &&
	       a->ns == b->ns;
}

/** gt_view_whole() - is nothing blanked, left out or translated for this caller? */
static inline bool gt_view_whole(const struct gt_view *v)
{
	return v->ns == GT_PIDNS_OWN && (v->all || v->visibility == GT_VIS_ALL);
}

/**
 * gt_view_pid() - a process's pid as the caller knows it; GT_NONE32: it has none there
 * @ts: when that was the process, as pids are used again
 */
static inline uint32_t gt_view_pid(const struct gt_view *v, uint32_t pid, uint64_t ts)
{
	return v->ns == GT_PIDNS_OWN ? pid : gt_pidns_pid(v->ns, pid, ts);
}

/**
 * gt_view_sees() - may this caller see the owner of the work?
 * @pid, @uid: of the owner, GT_NONE32 unknown; @ts: when
 *
 * What has no pid in the caller's PID namespace is another's, whatever its uid.
 */
static inline bool gt_view_sees(const struct gt_view *v, uint32_t pid, uint32_t uid, uint64_t ts)
{
	if (v->ns != GT_PIDNS_OWN && gt_pidns_pid(v->ns, pid, ts) == GT_NONE32)
		return false;
	return v->all || v->there || v->visibility == GT_VIS_ALL ||
	       (uid != GT_NONE32 && uid == v->uid);
}

/** gt_view_blanks() - are others' rows and events shown blanked? Else they are left out. */
static inline bool gt_view_blanks(const struct gt_view *v)
{
	return v->ns != GT_PIDNS_NONE &&
	       (v->visibility == GT_VIS_REDACTED || v->visibility == GT_VIS_ALL);
}

#endif
