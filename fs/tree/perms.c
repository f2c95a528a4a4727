/* SPDX-License-Identifier: GPL-2.0 */
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../access/access.h"
#include "made.h"
#include "node.h"
#include "perms.h"

#define PATH_LEN 128

void gt_tree_path(const struct gt_app *app, const struct gt_obj *dir, const char *name, char *out,
		  size_t len)
{
	struct gt_backend_info info;
	char within[PATH_LEN];
	struct gt_made made;

	if (dir->kind == GT_DIR_CONFIG)
		snprintf(out, len, "config/%s", name);
	else if (dir->kind == GT_DIR_BACKEND && gt_host_info(app->host, dir->id, &info))
		snprintf(out, len, "backends/%s/%s", info.name, name);
	else if (dir->kind == GT_DIR_MADE && gt_host_made_find(app->host, dir->id, dir->start, &made)) {
		gt_made_path(app, dir, within, sizeof(within));
		snprintf(out, len, "%s/%s/%s", within, made.name, name);
	} else {
		snprintf(out, len, "%s", name);
	}
}

/* An ordinary user's mount is that user's: what the machine's configuration gives is root's to
 * give. */
static bool rules_hold(const struct gt_app *app)
{
	return app->conf->rules && !geteuid();
}

struct gt_perms gt_perms_of(const struct gt_app *app, const struct gt_obj *dir,
			    const struct gt_file *f)
{
	struct gt_perms p = { .mode = f->mode & 0666 };
	char path[PATH_LEN];

	gt_tree_owner(&p.uid, &p.gid);
	if (dir->kind == GT_DIR_MADE)
		p.uid = dir->pid;
	if (!f->store || dir->kind == GT_DIR_MADE || !rules_hold(app))
		return p;
	gt_tree_path(app, dir, f->name, path, sizeof(path));
	for (const struct gt_conf_rule *r = app->conf->rules; r; r = r->next) {
		if (fnmatch(r->pattern, path, FNM_PATHNAME))
			continue;
		p.mode = r->has_mode ? r->mode : p.mode;
		p.uid = r->has_uid ? r->uid : p.uid;
		p.gid = r->has_gid ? r->gid : p.gid;
	}
	return p;
}

bool gt_perms_may(const struct gt_perms *p, const struct gt_view *v, unsigned int want)
{
	unsigned int bits = p->mode & 7;

	if (v->uid == 0 && v->all)
		return true;
	if (v->uid == p->uid)
		bits = p->mode >> 6 & 7;
	else if (gt_access_in_group(v, p->gid))
		bits = p->mode >> 3 & 7;
	return (bits & want) == want;
}

void gt_perms_say(const struct gt_perms *p, char *out, size_t len)
{
	snprintf(out, len, "mode 0%03o, uid %u, gid %u", (unsigned int)p->mode,
		 (unsigned int)p->uid, (unsigned int)p->gid);
}

static bool in_files(const struct gt_file *f, const char *dir, const char *pattern)
{
	char path[PATH_LEN];

	for (; f->name; f++) {
		snprintf(path, sizeof(path), "%s%s", dir, f->name);
		if (f->store && !fnmatch(pattern, path, FNM_PATHNAME))
			return true;
	}
	return false;
}

/* A plugin that could not be loaded has settings that are not known. */
static bool in_backend(const struct gt_backend_info *info, const char *pattern)
{
	char dir[64], path[PATH_LEN];

	if (info->state == GT_BS_REFUSED && !strncmp(pattern, "backends/", 9))
		return true;
	snprintf(dir, sizeof(dir), "backends/%s/", info->name);
	for (const struct gt_option *o = info->options; o && o->name; o++) {
		snprintf(path, sizeof(path), "%s%s", dir, o->name);
		if (gt_option_visible(o) && (o->flags & GT_OPT_RUNTIME) &&
		    !fnmatch(pattern, path, FNM_PATHNAME))
			return true;
	}
	return in_files(gt_tree_files[GT_DIR_BACKEND], dir, pattern);
}

static bool means_something(const struct gt_app *app, const char *pattern)
{
	struct gt_backend_info info;

	if (in_files(gt_tree_files[GT_DIR_ROOT], "", pattern) ||
	    in_files(gt_tree_files[GT_DIR_CONFIG], "config/", pattern))
		return true;
	for (unsigned int i = 0; gt_host_info(app->host, i, &info); i++)
		if (in_backend(&info, pattern))
			return true;
	return false;
}

int gt_perms_init(struct gt_app *app, char *err, size_t len)
{
	uid_t uid;
	gid_t gid;

	gt_tree_owner(&uid, &gid);
	gt_access_add_group(gid);
	for (const struct gt_conf_rule *r = app->conf->rules; r; r = r->next) {
		if (!means_something(app, r->pattern)) {
			snprintf(err, len, "%s: there is no setting '%.100s'", r->where,
				 r->pattern);
			return -EINVAL;
		}
		if (r->has_gid && !gt_access_add_group(r->gid)) {
			snprintf(err, len, "%s: more than %d groups", r->where,
				 GT_ACCESS_GROUPS - 2);
			return -EINVAL;
		}
	}
	return 0;
}
