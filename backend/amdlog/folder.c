/* SPDX-License-Identifier: GPL-2.0 */
/*
 * From the words of the option, patterns of glob(7), to the folders whose names are looked at. The
 * way to a folder is walked name by name without following a link: else whoever has one on the way
 * would have the daemon look where they cannot. Where the configuration names the folder, the
 * daemon may read what only its owner may, and links that only root can have made there lead on; a
 * word that was written to `files` later leads only through folders that are open to all.
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
#define EXPAND	4096   /* folders that a word's patterns mean; */
#define LOOK_AT 131072 /* and names that they are chosen from */
#define USERS	1024   /* whose these are */
#define DEPTH	64     /* names on the way */
#define LINKS	16     /* of them */
#define RIGHTS (1ull << CAP_DAC_READ_SEARCH)

enum what { NAME, FOLDER, WHATS };

/** struct share - of a user but root, of a word: @n names in folders of theirs, and folders */
struct share {
	uint32_t uid;
	unsigned int n[WHATS];
};

/** struct walk - a word on its way; @why: what is in the way; @n: of all users */
struct walk {
	struct gt_amd *a;
	unsigned int n[WHATS], depth, links, nshares;
	struct share share[USERS];
	int why;
};

/* NULL: there are too many */
static struct share *share_of(struct walk *w, uint32_t uid)
{
	for (unsigned int i = 0; i < w->nshares; i++)
		if (w->share[i].uid == uid)
			return &w->share[i];
	if (w->nshares == USERS)
		return NULL;
	w->share[w->nshares] = (struct share){ .uid = uid };
	return &w->share[w->nshares++];
}

/* One more of @what in a folder of @uid's? Where all may make some, as in /tmp, who makes many is
 * not all there is */
static bool may(struct walk *w, enum what what, uint32_t uid)
{
	static const unsigned int most[] = { [NAME] = LOOK_AT, [FOLDER] = EXPAND };
	struct share *s = uid ? share_of(w, uid) : NULL;

	if (w->n[what] == most[what] || (uid && (!s || s->n[what] == most[what] / GT_AMD_SHARE)))
		return false;
	w->n[what]++;
	if (s)
		s->n[what]++;
	return true;
}

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

/* Takes @fd */
static void walk_from(struct walk *w, int fd, const char *path, const char *name, const char *rest)
{
	char whole[PATH_MAX];

	if (snprintf(whole, sizeof(whole), "%s/%s", path, name) < (int)sizeof(whole))
		walk(w, fd, whole, rest);
	close(fd);
}

/* Where link @name in @dir leads, if nobody but root can have put it there; false: somewhere else
 */
static bool roots_link(int dir, const char *name, char target[PATH_MAX])
{
	int fd = openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct stat in, st;
	ssize_t n = -1;

	if (fd < 0)
		return false;
	if (!fstat(fd, &st) && S_ISLNK(st.st_mode) && !st.st_uid && !fstat(dir, &in) &&
	    !in.st_uid && (!(in.st_mode & (S_IWGRP | S_IWOTH)) || in.st_mode & S_ISVTX))
		n = readlinkat(fd, "", target, PATH_MAX - 1);
	close(fd);
	target[n > 0 ? n : 0] = '\0';
	return n > 0 && n < PATH_MAX - 1 && !strpbrk(target, "*?[");
}

/* Goes on to where @name leads, if it is such a link; false: it is not followed */
static bool follow(struct walk *w, int dir, const char *path, const char *name, const char *rest)
{
	const struct gt_amd_options *o = w->a->p->options;
	char target[PATH_MAX], on[PATH_MAX];
	int from;

	if (o->written || w->links == LINKS || !roots_link(dir, name, target) ||
	    snprintf(on, sizeof(on), "%s/%s", target, rest) >= (int)sizeof(on))
		return false;
	from = openat(dir, *on == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (from < 0)
		return false;
	w->links++;
	walk(w, from, *on == '/' ? "" : path, on + strspn(on, "/"));
	close(from);
	return true;
}

static void walk_into(struct walk *w, int dir, const char *path, const char *name, const char *rest)
{
	int fd = enter(w->a, dir, name);

	if (fd >= 0)
		walk_from(w, fd, path, name, rest);
	else if (fd != -ENOTDIR || !follow(w, dir, path, name, rest))
		w->why = fd;
}

/* One of those that a pattern means: whether it is entered is for its owner's share */
static void walk_share(struct walk *w, int dir, const char *path, const char *name,
		       const char *rest)
{
	int fd = enter(w->a, dir, name);
	struct stat st;

	if (fd < 0) {
		w->why = fd;
	} else if (fstat(fd, &st) < 0 || !may(w, FOLDER, st.st_uid)) {
		w->why = -E2BIG;
		close(fd);
	} else {
		walk_from(w, fd, path, name, rest);
	}
}

/* Those folders in @dir that there are now, and whose names are like @pattern */
static void walk_all(struct walk *w, int dir, const char *path, const char *pattern,
		     const char *rest)
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct stat st;
	DIR *d = fd < 0 || fstat(fd, &st) < 0 ? NULL : fdopendir(fd);
	struct dirent *e;

	if (!d) {
		w->why = -errno;
		if (fd >= 0)
			close(fd);
		return;
	}
	while ((e = readdir(d))) {
		if (!may(w, NAME, st.st_uid)) {
			w->why = -E2BIG;
			break;
		}
		if (e->d_name[0] == '.' || (e->d_type != DT_DIR && e->d_type != DT_UNKNOWN) ||
		    fnmatch(pattern, e->d_name, FNM_PERIOD))
			continue;
		walk_share(w, dir, path, e->d_name, rest);
	}
	closedir(d);
}

/* The last name of the word: names like it, or all in a folder of that name */
static void walk_last(struct walk *w, int dir, const char *path, const char *name)
{
	int fd = -1, ret;

	if (*name && !strpbrk(name, "*?["))
		fd = enter(w->a, dir, name);
	if (fd == -ENOTDIR && follow(w, dir, path, name, ""))
		return;
	ret = fd >= 0 ? add(w, fd, path, NULL) : add(w, dir, path, *name ? name : NULL);
	if (fd >= 0)
		close(fd);
	w->why = ret ? ret : w->why;
}

/* @rest of the word, below @dir: its first name, and what is behind it */
static void walk(struct walk *w, int dir, const char *path, const char *rest)
{
	size_t n = strcspn(rest, "/");
	char name[NAME_MAX + 1];

	if (n > NAME_MAX || w->depth == DEPTH) {
		w->why = -ENAMETOOLONG;
		return;
	}
	memcpy(name, rest, n);
	name[n] = '\0';
	rest += n;
	while (*rest == '/')
		rest++;
	w->depth++;
	if (*rest && strpbrk(name, "*?["))
		walk_all(w, dir, path, name, rest);
	else if (*rest)
		walk_into(w, dir, path, name, rest);
	else
		walk_last(w, dir, path, name);
	w->depth--;
}

/* A whole path, which does not go up: only root's links do */
static bool is_way(const char *word)
{
	const char *up = word;

	while ((up = strstr(up, "/..")) && up[3] && up[3] != '/')
		up += 3;
	return *word == '/' && !up;
}

static const char *why_of(int err)
{
	switch (err) {
	case EINVAL:
		return "is no absolute path, or goes up";
	case ENOTDIR:
		return "a folder on the way is none, or a link that is not followed";
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
	if (is_way(word) && root >= 0) {
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
