/* SPDX-License-Identifier: GPL-2.0 */
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "access.h"

static struct {
	uid_t owner;   /* of the mount: stands where root stands */
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
		return;
	}
	g = app->conf->group && *app->conf->group ? getgrnam(app->conf->group) : NULL;
	access_conf.has_gid = g != NULL;
	access_conf.gid = g ? g->gr_gid : 0;
}

gid_t gt_access_gid(void)
{
	return access_conf.has_gid ? access_conf.gid : 0;
}

/* The lines of /proc/<tid>/status that matter: thread group and supplementary groups. */
struct caller {
	uint32_t tgid;
	bool in_group;
};

static bool list_has(const char *list, gid_t gid)
{
	while (*list && *list != '\n') {
		char *end;
		unsigned long v = strtoul(list, &end, 10);

		if (end == list)
			return false;
		if (v == gid)
			return true;
		list = end + strspn(end, " \t");
	}
	return false;
}

static struct caller caller_of(uint32_t tid)
{
	struct caller c = { 0 };
	char path[32], buf[4096];
	const char *p;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%u/status", tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return c;
	n = read(fd, buf, sizeof(buf) - 1);
	close(fd);
	if (n <= 0)
		return c;
	buf[n] = 0;
	p = strstr(buf, "\nTgid:\t");
	if (p)
		c.tgid = (uint32_t)strtoul(p + 7, NULL, 10);
	p = strstr(buf, "\nGroups:\t");
	if (p && access_conf.has_gid)
		c.in_group = list_has(p + 9, access_conf.gid);
	return c;
}

struct gt_view gt_access_view(const struct gt_app *app, uid_t uid, gid_t gid, uint32_t tid,
			      unsigned int need)
{
	struct gt_view v = { .uid = uid, .visibility = (int)app->conf->visibility };

	v.all = uid == 0 || uid == access_conf.owner || (access_conf.has_gid && gid == access_conf.gid);
	if (v.all)
		need &= ~(unsigned int)GT_NEED_GROUPS;
	if (need && tid) {
		struct caller c = caller_of(tid);

		v.pid = c.tgid;
		v.all |= c.in_group;
	}
	return v;
}

unsigned int gt_access_need(const struct gt_obj *dir, const char *name)
{
	switch (dir->kind) {
	case GT_DIR_PROCS:
	case GT_DIR_PROC:
	case GT_DIR_PROC_QUEUES:
	case GT_DIR_QUEUES:
	case GT_DIR_QUEUE:
		return GT_NEED_GROUPS;
	case GT_DIR_ROOT:
		return strcmp(name, "self") ? 0 : GT_NEED_PID;
	default:
		return 0;
	}
}
