/* SPDX-License-Identifier: GPL-2.0 */
#include <grp.h>
#include <string.h>
#include <unistd.h>

#include "access.h"
#include "caller.h"

static struct {
	uid_t owner; /* of the mount: stands where root stands */
	gid_t gid;
	bool has_gid;
} access_conf;

void gt_access_init(struct gt_app *app, int64_t gid)
{
	const struct group *g;

	access_conf.owner = getuid();
	if (gid >= 0) {
		access_conf.gid = (gid_t)gid;
		access_conf.has_gid = true;
	} else {
		g = app->conf->group && *app->conf->group ? getgrnam(app->conf->group) : NULL;
		access_conf.has_gid = g != NULL;
		access_conf.gid = g ? g->gr_gid : 0;
	}
	gt_caller_group(access_conf.has_gid, access_conf.gid);
}

gid_t gt_access_gid(void)
{
	return access_conf.has_gid ? access_conf.gid : 0;
}

struct gt_view gt_access_view(const struct gt_app *app, uid_t uid, gid_t gid, uint32_t tid)
{
	struct gt_caller c;
	struct gt_view v;
	bool stands;

	if (!gt_caller_find(tid, uid, gid, &c) || c.ns == GT_PIDNS_NONE)
		return gt_view_nobody();
	stands = uid == 0 || uid == access_conf.owner ||
		 (access_conf.has_gid && (gid == access_conf.gid || c.in_group));
	v = (struct gt_view){ .uid = uid,
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
		return true;
	case GT_DIR_ROOT:
		return !strcmp(name, "self");
	default:
		return false;
	}
}
