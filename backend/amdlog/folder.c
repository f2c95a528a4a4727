/* SPDX-License-Identifier: GPL-2.0 */
/*
 * From the words of the option, patterns of glob(7), to the folders whose names are looked at. The
 * way to a folder is walked name by name without following a link: else whoever has one on the way
 * would have the daemon look where they cannot. Where the configuration names the folder, the
 * daemon may read what only its owner may; a word that was written to `files` later leads only
 * through folders that are open to all.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../rights.h"
#include "internal.h"

#define NAMES  (IN_CREATE | IN_MOVED_TO | IN_MODIFY | IN_CLOSE_WRITE | IN_ATTRIB | IN_ONLYDIR)
#define EXPAND 4096 /* names that a pattern's folders are chosen from, of a word */
#define RIGHTS (1ull << CAP_DAC_READ_SEARCH)

/** struct walk - a word on its way; @why: what is in the way */
struct walk {
	struct gt_amd *a;
	unsigned int looked;
	int why;
};

uint64_t gt_amd_raise(const struct gt_amd *a)
{
	const struct gt_amd_options *o = a->p->options;

	if (!o->written)
		return gt_rights(RIGHTS, 0);
	gt_rights(0, RIGHTS); /* start() has them */
	return 0;
}

void gt_amd_lower(uint64_t raised)
{
	gt_rights(0, raised);
}

/* Folder @name in @dir, to go on from; -errno */
static int enter(const struct gt_amd *a, int dir, const char *name)
{
	const struct gt_amd_options *o = a->p->options;
	int fd = openat(dir, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return errno == ENOTDIR || errno == ELOOP ? -ENOTDIR : -errno;
	if (!fstat(fd, &st) && (!o->written || st.st_mode & S_IXOTH))
		return fd;
	close(fd);
	return -EACCES;
}

static unsigned int folders_of(const struct gt_amd *a, uint32_t uid)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < a->nfolders; i++)
		n += a->folder[i].uid == uid;
	return n;
}

static bool known(const struct gt_amd *a, const struct stat *st, const char *pattern)
{
	for (unsigned int i = 0; i < a->nfolders; i++) {
		const struct gt_amd_folder *f = &a->folder[i];

		if (f->dev == st->st_dev && f->ino == st->st_ino &&
		    !strcmp(f->pattern ? f->pattern : "", pattern ? pattern : ""))
			return true;
	}
	return false;
}

/* Names in @dir that are like @pattern (NULL: all) are followed from now on */
static int add(struct walk *w, int dir, const char *path, const char *pattern)
{
	const struct gt_amd_options *o = w->a->p->options;
	struct gt_amd_folder f = { .scan = NULL };
	struct gt_amd *a = w->a;
	char self[32];
	struct stat st;

	if (fstat(dir, &st) < 0)
		return -errno;
	if (known(a, &st, pattern))
		return 0;
	if (a->nfolders == GT_AMD_FOLDERS ||
	    (st.st_uid && folders_of(a, st.st_uid) >= GT_AMD_FOLDERS / GT_AMD_SHARE))
		return -E2BIG;
	if (o->written && !(st.st_mode & S_IROTH))
		return -EACCES;
	f.dir = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (f.dir < 0)
		return -errno;
	snprintf(self, sizeof(self), "/proc/self/fd/%d", f.dir);
	f.wd = a->names < 0 ? -1 : inotify_add_watch(a->names, self, NAMES);
	f.path = strdup(path);
	f.pattern = pattern ? strdup(pattern) : NULL;
	f.uid = st.st_uid;
	f.dev = st.st_dev;
	f.ino = st.st_ino;
	f.again = true;
	if (!f.path || (pattern && !f.pattern)) {
		gt_amd_folder_free(&f);
		return -ENOMEM;
	}
	a->folder[a->nfolders++] = f;
	return 0;
}

static void walk(struct walk *w, int dir, const char *path, const char *rest);

static void walk_into(struct walk *w, int dir, const char *path, const char *name, const char *rest)
{
	char whole[PATH_MAX];
	int fd = enter(w->a, dir, name);

	if (fd < 0) {
		w->why = fd;
		return;
	}
	if (snprintf(whole, sizeof(whole), "%s/%s", path, name) < (int)sizeof(whole))
		walk(w, fd, whole, rest);
	close(fd);
}

/* Those folders in @dir that there are now, and whose names are like @pattern */
static void walk_all(struct walk *w, int dir, const char *path, const char *pattern,
		     const char *rest)
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;

	if (!d) {
		w->why = -errno;
		if (fd >= 0)
			close(fd);
		return;
	}
	while (w->looked < EXPAND && (e = readdir(d))) {
		w->looked++;
		if (e->d_name[0] == '.' || (e->d_type != DT_DIR && e->d_type != DT_UNKNOWN) ||
		    fnmatch(pattern, e->d_name, FNM_PERIOD))
			continue;
		walk_into(w, dir, path, e->d_name, rest);
	}
	if (w->looked == EXPAND)
		w->why = -E2BIG;
	closedir(d);
}

/* @rest of the word, below @dir: its first name, and what is behind it */
static void walk(struct walk *w, int dir, const char *path, const char *rest)
{
	size_t n = strcspn(rest, "/");
	char name[NAME_MAX + 1];
	bool stars;
	int fd, ret;

	if (n > NAME_MAX) {
		w->why = -ENAMETOOLONG;
		return;
	}
	memcpy(name, rest, n);
	name[n] = '\0';
	stars = strpbrk(name, "*?[");
	rest += n;
	while (*rest == '/')
		rest++;
	if (!strcmp(name, "..")) {
		w->why = -EINVAL;
	} else if (*rest && stars) {
		walk_all(w, dir, path, name, rest);
	} else if (*rest) {
		walk_into(w, dir, path, name, rest);
	} else {
		fd = stars || !n ? -1 : enter(w->a, dir, name);
		ret = fd >= 0 ? add(w, fd, path, NULL) : add(w, dir, path, n ? name : NULL);
		if (fd >= 0)
			close(fd);
		w->why = ret ? ret : w->why;
	}
}

static const char *why_of(int err)
{
	switch (err) {
	case EINVAL:
		return "is no absolute path";
	case ENOTDIR:
		return "a folder on the way is a link, or none";
	case E2BIG:
		return "there are too many folders";
	default:
		return strerror(err);
	}
}

static void walk_word(struct gt_amd *a, const char *word)
{
	struct walk w = { .a = a };
	int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	while (*word == ' ')
		word++;
	if (*word == '/' && root >= 0) {
		word += strspn(word, "/");
		walk(&w, root, "", word);
	} else if (*word) {
		w.why = -EINVAL;
	}
	if (root >= 0)
		close(root);
	if (w.why)
		gt_amd_fault(a, -w.why, word, why_of(-w.why));
}

/* Those that were deleted */
static void prune(struct gt_amd *a)
{
	struct stat st;

	for (unsigned int i = a->nfolders; i-- > 0;)
		if (fstat(a->folder[i].dir, &st) < 0 || !st.st_nlink) {
			gt_amd_folder_free(&a->folder[i]);
			a->folder[i] = a->folder[--a->nfolders];
		}
}

void gt_amd_folders(struct gt_amd *a)
{
	const struct gt_amd_options *o = a->p->options;
	char *list = strdup(o->files ? o->files : ""), *save = NULL;
	uint64_t raised = gt_amd_raise(a);

	prune(a);
	for (char *w = list ? strtok_r(list, ",", &save) : NULL; w; w = strtok_r(NULL, ",", &save))
		walk_word(a, w);
	gt_amd_lower(raised);
	free(list);
}

void gt_amd_folder_free(struct gt_amd_folder *f)
{
	if (f->scan)
		closedir(f->scan);
	close(f->dir);
	free(f->path);
	free(f->pattern);
}
