/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which files are followed: the option names files, folders, or patterns of glob(7). Their folders
 * are watched by inotify, which tells of names that come and of files that grow alike.
 */
#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "internal.h"

#define NAMES	(IN_CREATE | IN_MOVED_TO | IN_MODIFY | IN_CLOSE_WRITE | IN_ATTRIB | IN_ONLYDIR)
#define LOOK_AT 65536 /* names of a folder */

static void open_one(struct gt_amd *a, const char *path)
{
	struct gt_amd_file *f;

	if (a->n == GT_AMD_FILES) {
		a->refused++;
		gt_amd_fault(a, E2BIG, path, "more than 256 logs at a time");
		return;
	}
	if (!gt_amd_file_open(a, path, &f))
		a->file[a->n++] = f;
}

static void watch(const struct gt_amd *a, const char *folder)
{
	if (a->names >= 0)
		inotify_add_watch(a->names, folder, NAMES);
}

/* What lies in @folder, and is called as @pattern says */
static void open_folder(struct gt_amd *a, const char *folder, const char *pattern)
{
	char path[PATH_MAX];
	DIR *d = opendir(folder);
	struct dirent *e;

	if (!d) {
		gt_amd_fault(a, errno, folder, strerror(errno));
		return;
	}
	watch(a, folder);
	for (int i = 0; i < LOOK_AT && (e = readdir(d)); i++) {
		if (e->d_name[0] == '.' || (e->d_type != DT_REG && e->d_type != DT_UNKNOWN) ||
		    (pattern && fnmatch(pattern, e->d_name, FNM_PERIOD)))
			continue;
		if ((size_t)snprintf(path, sizeof(path), "%s/%s", folder, e->d_name) < sizeof(path))
			open_one(a, path);
	}
	closedir(d);
}

/* A pattern may have stars in its folders as well: those that there are now. */
static void open_pattern(struct gt_amd *a, char *word)
{
	char *name = strrchr(word, '/');
	struct stat st;
	glob_t g;

	if (!stat(word, &st) && S_ISDIR(st.st_mode)) {
		open_folder(a, word, NULL);
		return;
	}
	if (!name || *word != '/') {
		gt_amd_fault(a, EINVAL, word, "is no absolute path");
		return;
	}
	*name++ = '\0';
	if (!glob(*word ? word : "/", GLOB_NOSORT | GLOB_ONLYDIR, NULL, &g)) {
		for (size_t i = 0; i < g.gl_pathc && i < GT_AMD_FILES; i++)
			open_folder(a, g.gl_pathv[i], name);
		globfree(&g);
	}
}

void gt_amd_find(struct gt_amd *a)
{
	const struct gt_amd_options *o = a->p->options;
	char *list = strdup(o->files ? o->files : ""), *save = NULL;
	const char *sep = a->p->recording ? ":" : ",";

	for (char *w = list ? strtok_r(list, sep, &save) : NULL; w;
	     w = strtok_r(NULL, sep, &save)) {
		while (!a->p->recording && *w == ' ')
			w++;
		if (a->p->recording)
			open_one(a, w);
		else
			open_pattern(a, w);
	}
	free(list);
}

bool gt_amd_find_changed(struct gt_amd *a)
{
	_Alignas(struct inotify_event) char buf[16384];
	bool changed = false;
	ssize_t n;

	for (int i = 0; i < 64 && (n = read(a->names, buf, sizeof(buf))) > 0; i++)
		for (char *p = buf; p < buf + n;) {
			const struct inotify_event *e = (const struct inotify_event *)p;

			changed |= e->mask & (IN_CREATE | IN_MOVED_TO | IN_ATTRIB | IN_Q_OVERFLOW);
			p += sizeof(*e) + e->len;
		}
	return changed;
}
