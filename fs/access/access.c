/* SPDX-License-Identifier: GPL-2.0 */
#include <assert.h>
#include <grp.h>
#include <string.h>
#include <unistd.h>

#include "access.h"
#include "caller.h"

static_assert(GT_ACCESS_GROUPS <= GT_CALLER_GROUPS, "a bit each");

static struct {
	uid_t owner;		      /* of the mount: stands where root stands */
	bool has_gid;		      /* gids[0] stands there too */
	gid_t gids[GT_ACCESS_GROUPS]; /* that settings may belong to */
	unsigned int ngids;
} access_conf;

void gt_access_init(struct gt_app *app, int64_t gid)
{
	const struct group *g = NULL;

	access_conf.owner = getuid();
	if (gid < 0 && app->conf->group && *app->conf->group)
		g = getgrnam(app->conf->group);
	access_conf.has_gid = gid >= 0 || g;
	access_conf.gids[0] = gid >= 0 ? (gid_t)gid : g ? g->gr_gid : 0;
	access_conf.ngids = 1;
	gt_caller_groups(access_conf.gids, access_conf.ngids);
}

gid_t gt_access_gid(void)
{
	return access_conf.gids[0];
}

static int group_index(gid_t gid)
{
	for (unsigned int i = 0; i < access_conf.ngids; i++)
		if (access_conf.gids[i] == gid)
			return (int)i;
	return -1;
}

bool gt_access_add_group(gid_t gid)
{
	if (group_index(gid) >= 0)
		return true;
	if (access_conf.ngids == GT_ACCESS_GROUPS)
		return false;
	access_conf.gids[access_conf.ngids++] = gid;
	gt_caller_groups(access_conf.gids, access_conf.ngids);
	return true;
}

bool gt_access_in_group(const struct gt_view *v, gid_t gid)
{
	int i = group_index(gid);

	return i >= 0 && (v->groups & 1U << i);
}

bool gt_access_is_owner(uid_t uid)
{
	return uid == 0 || uid == access_conf.owner;
}

struct gt_view gt_access_view(const struct gt_app *app, uid_t uid, gid_t gid, uint32_t tid)
{
	struct gt_caller c;
	struct gt_view v;
	bool stands;

	if (!gt_caller_find(tid, uid, gid, &c) || c.ns == GT_PIDNS_NONE)
		return gt_view_nobody();
	stands = gt_access_is_owner(uid) || (access_conf.has_gid && (c.groups & 1));
	v = (struct gt_view){ .uid = uid,
			      .groups = c.groups,
			      .pid = c.tgid,
			      .own_pid = c.own_pid,
			      .ns = c.ns,
			      .there = c.there,
			      .visibility = (int)app->conf->visibility };
	v.all = stands && c.own_userns && c.ns == GT_PIDNS_OWN;
	return v;
}

bool gt_access_differs(const struct gt_obj *dir, const char *name)
{
	switch (dir->kind) {
	case GT_DIR_PROCS:
	case GT_DIR_PROC:
	case GT_DIR_PROC_QUEUES:
	case GT_DIR_QUEUES:
	case GT_DIR_QUEUE:
	case GT_DIR_USERS:
	case GT_DIR_USER:
	case GT_DIR_CGROUP:
	case GT_DIR_KERNELS:
	case GT_DIR_KERNEL:
	case GT_DIR_MADES:
	case GT_DIR_MADE:
		return true;
	case GT_DIR_GPU: /* there, if the caller may see a kernel */
		return !strcmp(name, "kernels") || !strcmp(name, "kernel_stats") ||
		       !strcmp(name, "counters");
	case GT_DIR_ROOT:
		return !strcmp(name, "self");
	default:
		return false;
	}
}
