/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Directories that users make in one of a backend's own. Each belongs to who made it, who alone
 * writes in it; those who may know of all can look at it. A user's names are that user's: nobody
 * learns from a name that is taken that another has it.
 */
#include "internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const struct gt_backend_userdirs *made_of(const struct gt_app *app, uint32_t id)
{
	struct gt_backend_info info;

	if (app->replay || !app->host || !gt_host_info(app->host, id, &info))
		return NULL;
	return info.userdirs;
}

bool gt_made_in(const struct gt_app *app, uint32_t id, char name[64])
{
	const struct gt_backend_userdirs *made = made_of(app, id);

	if (!made || !gt_backend_good_name(made->name))
		return false;
	snprintf(name, 64, "%s", made->name);
	return true;
}

bool gt_made_seen(uint32_t uid, const struct gt_view *v)
{
	return gt_view_whole(v) || (v->ns == GT_PIDNS_OWN && v->uid == uid);
}

bool gt_made_alive(const struct gt_app *app, const struct gt_obj *dir)
{
	struct gt_userdir m;

	if (dir->kind == GT_DIR_MADES)
		return made_of(app, dir->id);
	return gt_host_userdir_find(app->host, dir->id, dir->start, &m);
}

struct gt_obj gt_obj_of_made(uint32_t backend, const struct gt_userdir *m)
{
	struct gt_obj o = gt_obj(GT_DIR_MADE, GT_NONE16, GT_NONE16, backend);

	o.start = m->serial;
	o.pid = m->uid;
	return o;
}

void gt_made_name(char out[GT_NAME_MAX], const struct gt_userdir *m, const struct gt_view *v)
{
	if (m->uid == v->uid)
		snprintf(out, GT_NAME_MAX, "%s", m->name);
	else
		snprintf(out, GT_NAME_MAX, "%s~%u", m->name, m->uid);
}

bool gt_made_named(const struct gt_app *app, const char *name, const struct gt_obj *dir,
		   const struct gt_view *v, struct gt_obj *out)
{
	char own[GT_NAME_MAX];
	struct gt_userdir m;

	for (unsigned int at = 0; gt_host_userdir_at(app->host, dir->id, at, &m); at++) {
		if (!m.serial || !gt_made_seen(m.uid, v))
			continue;
		gt_made_name(own, &m, v);
		if (strcmp(name, own))
			continue;
		*out = gt_obj_of_made(dir->id, &m);
		return true;
	}
	return false;
}

/* Files ---------------------------------------------------------------------------------------- */

/* Index of the file that @s means, -1: no such file */
static int file_of(const struct gt_show *s)
{
	const struct gt_backend_userdirs *made = made_of(s->app, s->obj.id);

	for (int i = 0; made && made->files[i].name; i++)
		if (!strcmp(made->files[i].name, s->file->name))
			return i;
	return -1;
}

static int show_setting(struct gt_text *t, const struct gt_show *s)
{
	char value[4096] = "";
	int f = gt_made_seen(s->obj.pid, &s->view) ? file_of(s) : -1;
	int ret = f < 0 ? -ENODEV
			: gt_host_userdir_get(s->app->host, s->obj.id, s->obj.start,
					      (unsigned int)f, value, sizeof(value));

	if (ret)
		return ret;
	gt_text_str(t, value);
	gt_text_ch(t, '\n');
	return 0;
}

static int store_setting(const struct gt_show *s, const char *value, char *err, size_t len)
{
	int f = file_of(s);

	if (f < 0)
		return -ENODEV;
	return gt_host_userdir_set(s->app->host, s->obj.id, s->obj.start, (unsigned int)f, value,
				   s->view.all, err, len);
}

static int path_of(const struct gt_show *s, char *out, size_t len)
{
	char within[128], name[GT_NAME_MAX];
	struct gt_userdir m;

	if (!gt_host_userdir_find(s->app->host, s->obj.id, s->obj.start, &m))
		return -ENODEV;
	gt_made_path(s->app, &s->obj, within, sizeof(within));
	gt_made_name(name, &m, &s->view);
	if (snprintf(out, len, "%s/%s/%s", s->app->mountpoint ? s->app->mountpoint : "/gputrace",
		     within, name) >= (int)len)
		return -ENAMETOOLONG;
	return 0;
}

static int show_text(struct gt_text *t, const struct gt_show *s)
{
	char path[4096], *buf;
	int f = file_of(s), ret = f < 0 ? -ENODEV : path_of(s, path, sizeof(path));

	if (ret)
		return ret;
	if (!gt_made_seen(s->obj.pid, &s->view))
		return -EACCES;
	buf = malloc(GT_USERDIR_TEXT_MAX);
	if (!buf)
		return -ENOMEM;
	ret = gt_host_userdir_show(s->app->host, s->obj.id, s->obj.start, (unsigned int)f, path,
				   s->view.all, buf, GT_USERDIR_TEXT_MAX);
	if (!ret)
		gt_text_str(t, buf);
	free(buf);
	return ret;
}

static void describe(const struct gt_app *app, const struct gt_userdir_file *f, struct gt_file *dyn,
		     char name[64])
{
	bool all = app->conf->visibility == GT_VIS_ALL;

	snprintf(name, 64, "%s", f->name);
	*dyn = (struct gt_file){
		.name = name,
		.mode = f->check ? (all ? 0644 : 0640) : (all ? 0444 : 0440),
		.flags = GT_FILE_VIEW | (f->check ? 0 : GT_FILE_LONG),
		.show = f->check ? show_setting : show_text,
		.store = f->check ? store_setting : NULL,
		.help = f->help,
	};
}

bool gt_userdir_file(const struct gt_app *app, const struct gt_obj *dir, unsigned int i,
		     struct gt_file *dyn, char name[64])
{
	const struct gt_backend_userdirs *made = made_of(app, dir->id);
	const struct gt_userdir_file *f = made ? made->files : NULL;

	name[0] = '\0';
	for (; f && f->name; f++, i--) {
		if (i)
			continue;
		if ((f->check || f->show) && gt_backend_good_name(f->name))
			describe(app, f, dyn, name);
		return true;
	}
	return false;
}

void gt_made_path(const struct gt_app *app, const struct gt_obj *dir, char *out, size_t len)
{
	struct gt_backend_info info;

	*out = '\0';
	if (gt_host_info(app->host, dir->id, &info) && info.userdirs)
		snprintf(out, len, "backends/%s/%s", info.name, info.userdirs->name);
}

/* mkdir, rmdir ------------------------------------------------------------------------------------
 */

static int reported(struct gt_app *app, const struct gt_obj *dir, const struct gt_view *v,
		    const char *name, int ret, const char *sentence)
{
	char path[128];
	size_t n;

	gt_made_path(app, dir, path, sizeof(path));
	n = strlen(path);
	snprintf(path + n, sizeof(path) - n, "/%.60s", name);
	for (char *c = path + n; *c; c++)
		if (*c <= ' ' || *c >= 0x7f)
			*c = '?'; /* a line of a log is no place for what anybody makes up */
	gt_store_report(app, v, path, name, ret, sentence);
	return ret;
}

static int may_change(const struct gt_view *v, char *err, size_t len)
{
	if (v->ns == GT_PIDNS_OWN && v->uid != GT_NONE32)
		return 0;
	snprintf(err, len, "settings are not for processes of another PID namespace");
	return -EPERM;
}

int gt_tree_make(struct gt_app *app, const struct gt_obj *dir, const char *name,
		 const struct gt_view *v)
{
	char err[256] = "";
	int ret;

	if (dir->kind != GT_DIR_MADES)
		return -EPERM;
	ret = may_change(v, err, sizeof(err));
	if (!ret)
		ret = gt_host_userdir_make(app->host, dir->id, name, v->uid, v->all, err,
					   sizeof(err));
	return reported(app, dir, v, name, ret, *err ? err : strerror(-ret));
}

int gt_tree_unmake(struct gt_app *app, const struct gt_obj *dir, const char *name,
		   const struct gt_view *v)
{
	char err[256] = "";
	struct gt_entry e;
	int ret;

	if (dir->kind != GT_DIR_MADES)
		return -EPERM;
	ret = gt_tree_lookup(app, dir, name, v, &e);
	if (ret)
		return ret;
	ret = may_change(v, err, sizeof(err));
	if (!ret && e.obj.pid != v->uid && !v->all) {
		snprintf(err, sizeof(err), "it belongs to uid %u", e.obj.pid);
		ret = -EPERM;
	}
	if (!ret)
		ret = gt_host_userdir_remove(app->host, dir->id, e.obj.start);
	return reported(app, dir, v, name, ret, *err ? err : strerror(-ret));
}
