/* SPDX-License-Identifier: GPL-2.0 */
/* Plugin files: who may write them, and the checks of their vtable. */
#include <ctype.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <syslog.h>
#include <unistd.h>

#include "internal.h"
#include "../lib/file.h"

/* The size in the first release of the ABI; later ones only append. */
#define MIN_SIZE (offsetof(struct gt_backend, doctor) + sizeof(void *))

static bool good_name(const char *s)
{
	size_t n = 0;

	for (; s[n]; n++)
		if (n == sizeof(((struct gt_backend_info *)0)->name) - 1 ||
		    !(islower((unsigned char)s[n]) || isdigit((unsigned char)s[n]) || s[n] == '_'))
			return false;
	return n > 0;
}

static const char *missing_hook(const struct gt_backend *be)
{
	if (!be->probe)
		return "probe";
	if (!be->start)
		return "start";
	if (!be->drain)
		return "drain";
	if (!be->stop)
		return "stop";
	return NULL;
}

static int check_vtable(const struct gt_backend *be, char *err, size_t len)
{
	const char *hook;

	if (be->abi != GT_BACKEND_ABI) {
		snprintf(err, len, "built for backend ABI %u, this is %u: build it again", be->abi,
			 GT_BACKEND_ABI);
		return -ENOEXEC;
	}
	if (be->size < MIN_SIZE) {
		snprintf(err, len, "its vtable has %u bytes, ABI %u has %zu", be->size,
			 GT_BACKEND_ABI, MIN_SIZE);
		return -ENOEXEC;
	}
	hook = missing_hook(be);
	if (hook) {
		snprintf(err, len, "has no %s() hook", hook);
		return -ENOEXEC;
	}
	if (!be->name || !good_name(be->name)) {
		snprintf(err, len, "its name is not 1 to 31 of [a-z0-9_]");
		return -EINVAL;
	}
	return gt_options_check(be, err, len);
}

static int check_taken(const struct gt_be *b, const char *name, char *err, size_t len)
{
	for (unsigned int i = 0; i < b->h->n; i++)
		if (b->h->be[i] != b && b->h->be[i]->be && !strcmp(b->h->be[i]->be->name, name)) {
			snprintf(err, len, "another plugin is named %s already", name);
			return -EEXIST;
		}
	return 0;
}

static void take_info(struct gt_be *b, const struct gt_backend *be)
{
	b->be = be;
	snprintf(b->info.name, sizeof(b->info.name), "%s", be->name);
	snprintf(b->info.version, sizeof(b->info.version), "%s", be->version ? be->version : "");
	snprintf(b->info.help, sizeof(b->info.help), "%s", be->help ? be->help : "");
	b->info.options = be->options;
	if (GT_HAS(be, files))
		b->info.files = be->files;
	if (GT_HAS(be, userdirs))
		b->info.userdirs = be->userdirs;
	b->info.state = GT_BS_OFF;
	b->info.flags = be->flags;
}

/*
 * A plugin runs with the daemon's rights, so others must not be able to write one. Nor can they write
 * to the folder, so dlopen() finds the file that was checked.
 */
static int open_plugin(struct gt_be *b, int dir, const char *file, char *err, size_t len)
{
	const struct gt_backend *be;
	char path[4352];
	int ret = gt_trusted_open(dir, file, S_IFREG, err, len);

	if (ret < 0)
		return ret;
	close(ret);
	snprintf(path, sizeof(path), "%s/%s", b->h->conf.plugin_dir, file);
	b->dl = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!b->dl) {
		snprintf(err, len, "%s", dlerror());
		return -ENOEXEC;
	}
	be = dlsym(b->dl, GT_BACKEND_SYMBOL);
	if (!be) {
		snprintf(err, len, "exports no symbol " GT_BACKEND_SYMBOL);
		return -ENOEXEC;
	}
	ret = check_vtable(be, err, len);
	if (!ret)
		ret = check_taken(b, be->name, err, len);
	if (ret)
		return ret;
	take_info(b, be);
	return gt_options_fill(b, err, len);
}

/* A refused file gets a unique name that is fit for a folder. */
static void rename_refused(struct gt_be *b)
{
	char *s = b->info.name;

	for (; *s; s++)
		if (!islower((unsigned char)*s) && !isdigit((unsigned char)*s))
			*s = '_';
	for (unsigned int i = 0; i < b->h->n; i++)
		if (b->h->be[i] != b && !strcmp(b->h->be[i]->info.name, b->info.name)) {
			char old[24];

			snprintf(old, sizeof(old), "%.23s", b->info.name);
			snprintf(b->info.name, sizeof(b->info.name), "%s_%u", old, b->index);
		}
}

/* Adds an entry for @file, in state refused if anything is wrong with it. 0 or -ENOMEM */
static int add_file(struct gt_host_state *h, int dir, const char *file)
{
	struct gt_be *b = calloc(1, sizeof(*b));

	if (!b)
		return -ENOMEM;
	b->h = h;
	b->index = h->n;
	b->p.host = &gt_host_hooks;
	b->p.events_dir = h->conf.events_dir;
	b->p.tracefs = h->conf.tracefs;
	b->p.job_age = h->conf.job_age;
	snprintf(b->info.name, sizeof(b->info.name), "%.*s", (int)strcspn(file, "."), file);
	h->be[h->n++] = b;
	if (open_plugin(b, dir, file, b->info.last_error, sizeof(b->info.last_error))) {
		b->be = NULL;
		b->info.options = NULL;
		b->info.state = GT_BS_REFUSED;
		gt_host_log(h, b, LOG_WARNING, "%s/%s is refused: %s", h->conf.plugin_dir, file,
			    b->info.last_error);
	}
	return 0;
}

static int is_plugin(const struct dirent *d)
{
	size_t n = strlen(d->d_name);

	return d->d_name[0] != '.' && n > 3 && !strcmp(d->d_name + n - 3, ".so");
}

int gt_host_load(struct gt_host_state *h, char *err, size_t len)
{
	struct dirent **list = NULL;
	int dir = gt_trusted_open(AT_FDCWD, h->conf.plugin_dir, S_IFDIR, err, len);
	int n, ret = 0;

	if (dir < 0)
		return dir;
	n = scandirat(dir, ".", &list, is_plugin, alphasort);
	if (n < 0) {
		ret = -errno;
		snprintf(err, len, "plugin_dir %s: %s", h->conf.plugin_dir, strerror(-ret));
	}
	for (int i = 0; i < n; i++) {
		if (h->n == GT_HOST_MAX_PLUGINS)
			gt_host_log(h, NULL, LOG_WARNING, "%s is left out: more than %d plugins",
				    list[i]->d_name, GT_HOST_MAX_PLUGINS);
		else if (!ret)
			ret = add_file(h, dir, list[i]->d_name);
		free(list[i]);
	}
	free(list);
	close(dir);
	if (n < 0)
		return ret;
	for (unsigned int i = 0; i < h->n; i++)
		if (h->be[i]->info.state == GT_BS_REFUSED)
			rename_refused(h->be[i]);
	if (ret)
		snprintf(err, len, "%s", strerror(-ret));
	return ret;
}

void gt_be_free(struct gt_be *b)
{
	if (!b)
		return;
	gt_options_free(b);
	gt_userdir_free_all(b);
	free(b->fds);
	free(b->detail);
	if (b->dl)
		dlclose(b->dl);
	free(b);
}
