/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One file: it grows, is cut to nothing and written anew, loses its name. It is read in blocks and
 * never mapped, so that nobody who cuts it short meanwhile ends the daemon.
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

#include "../lib/file.h"
#include "amdlog.h"

static bool gt_amd_followed(const struct gt_amd *a, const struct stat *st);

/*
 * From the words of the option, patterns of glob(7), to the folders that are read. The
 * way to a folder is walked name by name without following a link: else whoever has one on the way
 * would have the daemon look where they cannot. Where the configuration names the folder, the
 * daemon may read what only its owner may, and links that only root can have made there lead on; a
 * word that was written to `files` later leads only through folders that are open to all.
 */

#define NAMES                                                                                      \
	(IN_CREATE | IN_MOVED_TO | IN_DELETE | IN_MODIFY | IN_CLOSE_WRITE | IN_ATTRIB | IN_ONLYDIR)
#define EXPAND	  4096	 /* folders that a word's patterns mean; */
#define NAMES_MAX 131072 /* and names that they are chosen from */
#define USERS	  1024	 /* the owner of these */
#define DEPTH	  64	 /* names on the way */
#define LINKS	  16	 /* of them */
#define RIGHTS	  (1ull << CAP_DAC_READ_SEARCH)

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
	static const unsigned int most[] = { [NAME] = NAMES_MAX, [FOLDER] = EXPAND };
	struct share *s = uid ? share_of(w, uid) : NULL;

	if (w->n[what] == most[what] || (uid && (!s || s->n[what] == most[what] / GT_AMD_SHARE)))
		return false;
	w->n[what]++;
	if (s)
		s->n[what]++;
	return true;
}

/** gt_amd_raise() - from here to gt_amd_lower(@what it returned) what only its owner may read can
 * be opened, if the configuration names it */
static uint64_t gt_amd_raise(const struct gt_amd *a)
{
	const struct gt_amd_options *o = a->p->options;

	if (!o->written)
		return gt_caps_set(RIGHTS, 0);
	gt_caps_set(0, RIGHTS); /* start() has them */
	return 0;
}

static void gt_amd_lower(uint64_t raised)
{
	gt_caps_set(0, raised);
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
static bool follow_link(struct walk *w, int dir, const char *path, const char *name,
			const char *rest)
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
	else if (fd != -ENOTDIR || !follow_link(w, dir, path, name, rest))
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

/* Those folders in @dir that exist now, with names like @pattern */
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
	if (fd == -ENOTDIR && follow_link(w, dir, path, name, ""))
		return;
	ret = fd >= 0 ? add(w, fd, path, NULL) : add(w, dir, path, *name ? name : NULL);
	if (fd >= 0)
		close(fd);
	w->why = ret ? ret : w->why;
}

/* Looks up the first name of @rest, a pattern below @dir, and goes on with what follows it. */
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
		gt_amd_fault(a, 0, -w.why, word, why_of(-w.why));
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

/*
 * Which files are followed: names in the folders that the option names. inotify reports names that
 * come and of files that grow alike. What is in a folder when it is first read, or after inotify lost
 * something, is looked through a little at each drain.
 */

#define NAMES_AT_A_TIME 64	    /* names between two looks at the clock */
#define SCAN_MAX	(1 << 20)   /* names of a folder */
#define AGAIN_NS	1000000000u /* until a folder is looked through anew */

/* A user may have a part of all the logs: else who makes many files shuts out the others. */
static bool too_many(const struct gt_amd *a, uint32_t uid)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < a->n; i++)
		n += a->file[i]->log.uid == uid;
	return a->n == GT_AMD_FILES || (uid && n >= GT_AMD_FILES / GT_AMD_SHARE);
}

static void look_at(struct gt_amd *a, const struct gt_amd_folder *d, const char *name)
{
	struct gt_amd_file *f;
	struct stat st;

	if (fstatat(d->dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || S_ISDIR(st.st_mode) ||
	    gt_amd_followed(a, &st))
		return;
	if (too_many(a, st.st_uid)) {
		a->over++;
		a->waiting = true;
		return;
	}
	if (!gt_amd_file_open(a, d, name, &f))
		a->file[a->n++] = f;
}

static bool matches(const struct gt_amd_folder *d, const char *name)
{
	return name[0] != '.' && (!d->pattern || !fnmatch(d->pattern, name, FNM_PERIOD));
}

static bool begin_scan(struct gt_amd *a, struct gt_amd_folder *d)
{
	uint64_t now = a->p->host->now(a->p);
	int fd;

	if (!d->again || (d->scanned && now < d->scanned + AGAIN_NS))
		return false;
	fd = openat(d->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	d->scan = fd < 0 ? NULL : fdopendir(fd);
	if (!d->scan && fd >= 0)
		close(fd);
	d->again = false;
	d->scanned = now;
	d->looked = 0;
	return d->scan;
}

/* Goes through the names of @d as long as there is time. */
static void scan(struct gt_amd *a, struct gt_amd_folder *d)
{
	struct dirent *e = NULL;

	if (!d->scan && !begin_scan(a, d))
		return;
	while (d->looked < SCAN_MAX && (e = readdir(d->scan))) {
		if ((e->d_type == DT_REG || e->d_type == DT_UNKNOWN) && matches(d, e->d_name))
			look_at(a, d, e->d_name);
		if (!(++d->looked % NAMES_AT_A_TIME) && gt_amd_late(a))
			return;
	}
	a->left_out += e != NULL;
	closedir(d->scan);
	d->scan = NULL;
}

static void on_event(struct gt_amd *a, const struct inotify_event *e)
{
	for (unsigned int i = 0; i < a->nfolders; i++) {
		struct gt_amd_folder *d = &a->folder[i];

		if (e->mask & IN_Q_OVERFLOW)
			d->again = true;
		else if (e->len && e->wd == d->wd && matches(d, e->name))
			look_at(a, d, e->name);
	}
}

/* Events of inotify, as long as there is time */
static void hear(struct gt_amd *a)
{
	do {
		const struct inotify_event *e;

		if (a->heard_at == a->heard) {
			ssize_t n = read(a->names, a->events, sizeof(a->events));

			a->heard_at = 0;
			a->heard = n > 0 ? (size_t)n : 0;
			if (n <= 0)
				return;
		}
		e = (const struct inotify_event *)(a->events + a->heard_at);
		a->heard_at += sizeof(*e) + e->len;
		if (e->mask & (IN_CREATE | IN_MOVED_TO | IN_ATTRIB | IN_Q_OVERFLOW))
			on_event(a, e);
	} while (!gt_amd_late(a));
}

/* Folders have as much time as inotify: with its queue full all the time, they alone find a new log */
void gt_amd_find(struct gt_amd *a, uint64_t ns)
{
	uint64_t raised;

	if (a->names < 0)
		return;
	raised = gt_amd_raise(a);
	a->deadline = a->p->host->now(a->p) + ns / 2;
	hear(a);
	a->deadline = a->p->host->now(a->p) + ns / 2;
	for (unsigned int i = 0; i < a->nfolders; i++) { /* each in turn, one at least */
		a->folder_turn = (a->folder_turn + 1) % a->nfolders;
		scan(a, &a->folder[a->folder_turn]);
		if (gt_amd_late(a))
			break;
	}
	gt_amd_lower(raised);
}

bool gt_amd_finding(const struct gt_amd *a)
{
	for (unsigned int i = 0; i < a->nfolders; i++)
		if (a->folder[i].scan || a->folder[i].again)
			return true;
	return a->heard_at < a->heard;
}

void gt_amd_find_again(struct gt_amd *a)
{
	for (unsigned int i = 0; i < a->nfolders; i++)
		a->folder[i].again = true;
}

#define LINES_AT_A_TIME 64	   /* lines between two looks at the clock */
#define DELETED_MAX	(4u << 20) /* bytes of a deleted log that are still read */

static_assert(GT_AMD_BLOCK > GT_AMD_LINE_MAX, "a line fits");

uint32_t gt_amd_name_pid(const char *path)
{
	const char *name = strrchr(path, '/'), *s = strrchr(name ? name : path, '_');
	uint64_t pid = 0;
	int n = 0;

	for (s = s ? s + 1 : ""; *s >= '0' && *s <= '9' && n < 11; s++, n++)
		pid = pid * 10 + (uint64_t)(*s - '0');
	return n && (!*s || *s == '.') && pid <= INT32_MAX ? (uint32_t)pid : 0;
}

/* A link would have the daemon read for its maker what the maker cannot; a device may do something
 * when it is opened, so the name is looked at first. */
static int open_log(struct gt_amd *a, const struct gt_amd_folder *d, const char *path,
		    struct stat *st, const char **damage)
{
	int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, dir = d ? d->dir : AT_FDCWD, fd;

	fd = a->p->recording && a->p->host->unpacked ? a->p->host->unpacked(a->p, path, damage)
						     : -ENOENT;
	if (fd >= 0 && *damage)
		gt_amd_fault(a, 0, EBADMSG, path, *damage);
	if (fd >= 0)
		return fstat(fd, st) ? -errno : fd;
	if (fstatat(dir, path, st, d ? AT_SYMLINK_NOFOLLOW : 0) < 0)
		return -errno;
	if (!S_ISREG(st->st_mode))
		return S_ISLNK(st->st_mode) ? -ELOOP : -EINVAL;
	fd = openat(dir, path, d ? flags | O_NOFOLLOW : flags);
	if (fd < 0)
		return -errno;
	if (!fstat(fd, st) && S_ISREG(st->st_mode))
		return fd;
	close(fd);
	return -EINVAL;
}

/** gt_amd_followed() - is this file one of those that are open? */
static bool gt_amd_followed(const struct gt_amd *a, const struct stat *st)
{
	for (unsigned int i = 0; i < a->n; i++)
		if (a->file[i]->dev == st->st_dev && a->file[i]->ino == st->st_ino)
			return true;
	return false;
}

static const char *sentence(int err)
{
	return err == ELOOP    ? "is a symbolic link"
	       : err == EINVAL ? "is not a regular file"
			       : strerror(err);
}

static char *whole(const struct gt_amd_folder *d, const char *name)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s%s%s", d ? d->path : "", d ? "/" : "", name);
	return strdup(path);
}

int gt_amd_file_open(struct gt_amd *a, const struct gt_amd_folder *d, const char *name,
		     struct gt_amd_file **out)
{
	char *path = whole(d, name);
	const char *damage = NULL;
	struct stat st = { 0 };
	struct gt_amd_file *f;
	int fd = path ? open_log(a, d, name, &st, &damage) : -ENOMEM;

	if (fd == -ENOENT && d) { /* its name has gone meanwhile */
		free(path);
		return fd;
	}
	if (fd < 0) {
		gt_amd_fault(a, st.st_uid, -fd, path, sentence(-fd));
		free(path);
		return fd;
	}
	f = gt_amd_followed(a, &st) ? NULL : calloc(1, sizeof(*f));
	if (!f) {
		close(fd);
		free(path);
		return gt_amd_followed(a, &st) ? -EEXIST : -ENOMEM;
	}
	f->fd = fd;
	f->path = path;
	f->dev = st.st_dev;
	f->ino = st.st_ino;
	if (gt_amd_log_init(&f->log, a)) {
		gt_amd_file_close(f);
		return -ENOMEM;
	}
	if (damage)
		gt_file_damaged(&f->log.filecount, GT_PLACE_NONE, 0);
	f->log.uid = st.st_uid;
	f->user = gt_amd_user_of(a, st.st_uid);
	f->log.pid = gt_amd_name_pid(path);
	gt_amd_log_pid(&f->log, f->log.pid,
		       a->p->host->now(a->p)); /* it may end before it is read */
	*out = f;
	return 0;
}

void gt_amd_file_close(struct gt_amd_file *f)
{
	close(f->fd);
	gt_amd_log_free(&f->log);
	free(f->path);
	free(f);
}

static void too_long(struct gt_amd_log *l)
{
	l->n.lines++;
	l->n.too_long++;
	l->line.headed = false;
	gt_amd_log_damaged(l, "is too long", NULL);
}

/* All whole lines of the block, which the reader has taken apart; bytes that are done with. At the
 * end of a recording what is left of a line is one. */
static size_t lines(struct gt_amd_file *f, const char *p, size_t len, bool last)
{
	struct gt_amd_reader *r = &f->log.a->reader;
	const char *end = p + len, *at = p, *nl;
	struct gt_amd_item item;
	uint64_t damaged;

	while ((nl = memchr(at, '\n', (size_t)(end - at)))) {
		if (f->skipping)
			too_long(&f->log);
		else if (gt_amd_next(r, &item))
			gt_amd_log_line(&f->log, &item);
		else
			return (size_t)(at - p);
		f->skipping = false;
		at = nl + 1;
		if (f->log.count > GT_AMD_RECORDS - GT_AMD_PER_LINE ||
		    (!(f->log.n.lines % LINES_AT_A_TIME) && gt_amd_late(f->log.a)))
			return (size_t)(at - p);
	}
	f->skipping |= (size_t)(end - at) > GT_AMD_LINE_MAX;
	if (f->skipping) {
		if (last) {
			f->log.n.cut++;
			too_long(&f->log);
			f->skipping = false;
		}
		return len;
	}
	if (!last || at == end || !gt_amd_next(r, &item))
		return (size_t)(at - p);
	f->log.n.cut++;
	damaged = f->log.filecount.damaged;
	gt_amd_log_line(&f->log, &item);
	if (f->log.filecount.damaged == damaged) /* what there is of it can be read */
		gt_amd_log_damaged(&f->log, "ends the file without a newline: it may be cut short",
				   NULL);
	return len;
}

/* What was handed over makes room. */
static void make_room(struct gt_amd_log *l)
{
	l->count -= l->head;
	memmove(l->out, l->out + l->head, l->count * sizeof(*l->out));
	l->head = 0;
}

/* Of one that was deleted, little is still read: nobody else can end it, and it takes room on the disk */
static void deleted(struct gt_amd_file *f)
{
	f->gone = true;
	f->end = f->off + DELETED_MAX;
}

/* Has it become shorter? Then it is written anew; its name may be gone, and its owner another. What was
 * unpacked of a recording never had a name. */
int gt_amd_file_look(struct gt_amd_file *f)
{
	struct stat st;

	if (fstat(f->fd, &st) < 0)
		return -errno;
	if (!f->log.a->p->recording && !st.st_nlink && !f->gone)
		deleted(f);
	f->size = (uint64_t)st.st_size;
	if (f->gone && f->size > f->end)
		f->size = f->end;
	if (st.st_uid != f->log.uid)
		return -ESTALE;
	if (f->size < f->off && f->gone) {
		f->size = f->off; /* what is written after that is not read */
	} else if (f->size < f->off) {
		f->off = 0;
		f->skipping = f->log.line.headed = false;
		f->truncated++;
	}
	return 0;
}

/* The @len bytes of the block, by the reader; -EPROTO: it has failed on them */
static int take_apart(struct gt_amd_file *f, size_t len, bool last)
{
	struct gt_amd *a = f->log.a;
	int ret = gt_amd_read(&a->reader, &f->log.line, a->block, len, f->skipping, last);

	a->readers_failed += ret == -EPROTO;
	return ret;
}

static size_t least(uint64_t a, uint64_t b)
{
	return (size_t)(a < b ? a : b);
}

ssize_t gt_amd_file_read(struct gt_amd_file *f)
{
	struct gt_amd *a = f->log.a;
	size_t done;
	ssize_t n;
	bool last;
	int ret;

	if (f->log.head)
		make_room(&f->log);
	if (f->log.count > GT_AMD_RECORDS - GT_AMD_PER_LINE)
		return 0;
	ret = gt_amd_file_look(f);
	if (ret)
		return ret;
	do {
		n = pread(f->fd, a->block, least(GT_AMD_BLOCK, f->size - f->off), (off_t)f->off);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	if (!f->off) /* commands come before them */
		f->log.has_kernels = memmem(a->block, (size_t)n, "ShaderName : ", 13) ||
				     memmem(a->block, (size_t)n, " Dispatch Header = ", 19);
	last = a->p->recording && f->off + (uint64_t)n >= f->size;
	ret = take_apart(f, (size_t)n, last);
	if (ret == -EPROTO) /* it may have been killed: another has a try */
		ret = take_apart(f, (size_t)n, last);
	if (ret)
		return ret;
	done = lines(f, a->block, (size_t)n, last);
	if (!done && a->reader.len) { /* what it says is none of it */
		gt_sandbox_end(&a->reader.child);
		a->readers_failed++;
		return -EPROTO;
	}
	f->off += done;
	f->eof = !done || f->off >= f->size;
	return (ssize_t)done;
}
