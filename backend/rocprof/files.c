/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which files are results. Whoever may write to a folder may put anything there: no link is
 * followed, nothing but regular files is opened, and a file's owner, not the folder's, is whose
 * results they are.
 */
#include "../pread.h"
#include "files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEPTH	4     /* folders below the one that is named */
#define ENTRIES 4096  /* of a folder */
#define LOOK_AT 65536 /* of all folders, in one look */

/* The next number that no file has: there are more of them than files */
static uint16_t free_group(struct rp_files *f)
{
	unsigned int i;

	do {
		f->groups = f->groups < GT_NONE16 - 1 ? f->groups + 1 : 1;
		for (i = 0; i < f->n && f->file[i].source.group != f->groups - 1; i++)
			;
	} while (i < f->n);
	return f->groups - 1;
}

/* In watched folders a run is one user's: nobody's devices are those of another's rows, and what
 * one wrote is not read in the process that reads another's. */
static uint16_t group_of(struct rp_files *f, const char *path, uint32_t uid)
{
	size_t n = rp_run_of(path);

	for (unsigned int i = 0; i < f->n; i++)
		if ((!f->live || f->file[i].uid == uid) && !strncmp(f->file[i].path, path, n) &&
		    rp_run_of(f->file[i].path) == n) /* last: it takes longest */
			return f->file[i].source.group;
	return free_group(f);
}

struct rp_file *rp_file_add(struct gt_plugin *p, struct rp_files *f, const char *path, uint32_t uid)
{
	struct rp_file *more;
	uint16_t group;
	int most = f->live ? RP_LIVE_FILES : RP_FILES;

	if ((int)f->n == most) {
		f->left_out++;
		if (!f->told)
			p->host->error(p, E2BIG, "more than %d files: the rest is left out", most);
		f->told = true;
		return NULL;
	}
	group = group_of(f, path, uid);
	more = reallocarray(f->file, f->n + 1, sizeof(*more));
	if (!more)
		return NULL;
	f->file = more;
	more = &f->file[f->n];
	memset(more, 0, sizeof(*more));
	more->path = strdup(path);
	if (!more->path)
		return NULL;
	f->n++;
	more->state = "waiting";
	more->uid = uid;
	more->source.fd = -1;
	more->source.group = group;
	more->source.agent = GT_NONE64;
	more->source.pid = rp_pid_of(rp_base_of(path));
	more->source.statistics = rp_of_kernels(rp_base_of(path));
	return more;
}

int rp_files_error(struct gt_plugin *p, const struct rp_files *f, int err, const char *path,
		   const char *why)
{
	if (f->live)
		return p->host->error(p, err, "a result was left out, or a part of it: see files");
	return p->host->error(p, err, "%s: %s", path, why);
}

int rp_file_refuse(struct gt_plugin *p, const struct rp_files *f, struct rp_file *file, int err,
		   const char *why)
{
	file->state = "refused";
	snprintf(file->error, sizeof(file->error), "%s", why);
	return rp_files_error(p, f, err, file->path, why);
}

const char *rp_file_is_none(mode_t mode)
{
	if (S_ISLNK(mode))
		return "is a symbolic link: it is not followed";
	return S_ISREG(mode) ? NULL : "is not a regular file";
}

/*
 * SQLite writes into the database itself once a transaction is large, and keeps what was there in a
 * journal: until that has gone, or a log that is still to be merged in, the database is not whole.
 *
 * A file of a watched folder has a plain name, and its journal is on the same mount. A path that
 * was given for a file may lead through links and over mounts, and leads to the journal the same
 * way.
 */
bool rp_file_busy(int dir, const char *name)
{
	static const char *const more[] = { "-journal", "-wal" };
	char path[4096];
	struct stat st;
	int ret;

	for (size_t i = 0; i < 2 && rp_ends(name, ".db"); i++) {
		if (snprintf(path, sizeof(path), "%s%s", name, more[i]) >= (int)sizeof(path))
			continue;
		ret = dir == AT_FDCWD ? fstatat(dir, path, &st, AT_SYMLINK_NOFOLLOW)
				      : rp_stat_at(dir, path, &st);
		if (!ret && st.st_size > 0)
			return true;
	}
	return false;
}

/* The name is looked at before it is opened: opening a device may do something already. */
static int open_file(struct gt_plugin *p, const struct rp_files *f, struct rp_file *file, int dir,
		     const char *name)
{
	struct stat st;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return rp_file_refuse(p, f, file, errno, strerror(errno));
	if (rp_file_is_none(st.st_mode))
		return rp_file_refuse(p, f, file, EINVAL, rp_file_is_none(st.st_mode));
	file->source.fd =
		openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	if (file->source.fd < 0)
		return rp_file_refuse(p, f, file, errno, strerror(errno));
	if (fstat(file->source.fd, &st) < 0 || rp_file_is_none(st.st_mode))
		return rp_file_refuse(p, f, file, EINVAL, "is not a regular file");
	if (rp_file_busy(dir, name)) {
		close(file->source.fd);
		file->source.fd = -1;
		return rp_file_refuse(p, f, file, EBUSY,
				      "is being written: there is a journal beside it");
	}
	file->uid = st.st_uid;
	file->source.size = (uint64_t)st.st_size;
	return 0;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static _Thread_local unsigned int taken; /* of the folder that is listed */

/* A folder may have millions: they are not kept */
static int to_keep(const struct dirent *d)
{
	return d->d_name[0] != '.' && taken < ENTRIES && ++taken;
}

static int list_folder(int dir, struct dirent ***list)
{
	taken = 0;
	*list = NULL;
	return scandirat(dir, ".", list, to_keep, by_name);
}

static void add_folder(struct gt_plugin *p, struct rp_files *f, int dir, const char *path,
		       int depth);

static void add_entry(struct gt_plugin *p, struct rp_files *f, int dir, const char *path,
		      const char *name, int depth)
{
	char whole[4096];
	struct rp_file *file;
	struct stat st;
	int fd;

	if (snprintf(whole, sizeof(whole), "%s/%s", path, name) >= (int)sizeof(whole) ||
	    fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return;
	if (S_ISDIR(st.st_mode) && depth < DEPTH) {
		fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_DIRECTORY);
		if (fd >= 0)
			add_folder(p, f, fd, whole, depth + 1);
		return;
	}
	if (S_ISDIR(st.st_mode) || !rp_is_result(path, name))
		return;
	if (f->live) {
		rp_files_found(p, f, NULL, dir, path, whole, name, &st);
		return;
	}
	file = rp_file_add(p, f, whole, GT_NONE32);
	if (!file)
		return;
	file->source.agent = rp_agent_of(path);
	open_file(p, f, file, dir, name);
}

static void add_folder(struct gt_plugin *p, struct rp_files *f, int dir, const char *path,
		       int depth)
{
	struct dirent **list = NULL;
	int n;

	if (f->live) /* first, so that what comes meanwhile is told */
		rp_watch_folder(f, dir);
	n = f->looked < LOOK_AT ? list_folder(dir, &list) : 0;
	for (int i = 0; i < n; i++) {
		if (f->looked++ < LOOK_AT)
			add_entry(p, f, dir, path, list[i]->d_name, depth);
		else
			f->left_out++;
		free(list[i]);
	}
	free(list);
	close(dir);
}

/* A file that was named by itself, whatever its name is */
static int add_named(struct gt_plugin *p, struct rp_files *f, const char *path)
{
	struct rp_file *file = rp_file_add(p, f, path, GT_NONE32);
	char folder[4096], head[4096];
	const char *why;
	ssize_t n;
	int ret;

	if (!file)
		return -ENOMEM;
	ret = open_file(p, f, file, AT_FDCWD, path);
	if (ret)
		return ret;
	snprintf(folder, sizeof(folder), "%.*s", (int)(rp_base_of(path) - path), path);
	file->source.agent = rp_agent_of(folder);
	n = gt_pread(file->source.fd, head, sizeof(head), 0);
	why = n > 0 ? rp_part_only(head, (size_t)n) : NULL;
	if (!why)
		return 0;
	close(file->source.fd);
	file->source.fd = -1;
	return rp_file_refuse(p, f, file, EINVAL, why);
}

int rp_files_add(struct gt_plugin *p, struct rp_files *f, const char *path)
{
	int dir = open(path, O_RDONLY | O_CLOEXEC | O_DIRECTORY | O_NOFOLLOW);

	if (dir >= 0) {
		add_folder(p, f, dir, path, 0);
		return 0;
	}
	if (f->live)
		return p->host->error(p, errno, "%s: %s", path, strerror(errno));
	return add_named(p, f, path);
}

static int rank(const char *path)
{
	return rp_ends(path, ".db") ? 2 : rp_ends(path, ".json");
}

void rp_files_once(struct rp_files *f)
{
	for (unsigned int i = 0; i < f->n; i++) {
		struct rp_file *a = &f->file[i];

		for (unsigned int k = 0; k < f->n && a->source.fd >= 0; k++) {
			const struct rp_file *b = &f->file[k];

			if (b->source.fd < 0 || b->source.group != a->source.group ||
			    rank(b->path) <= rank(a->path))
				continue;
			close(a->source.fd);
			a->source.fd = -1;
			a->state = "skipped";
			snprintf(a->error, sizeof(a->error), "%.200s tells of the same run",
				 rp_base_of(b->path));
		}
	}
}

void rp_file_free(struct rp_file *f)
{
	free(f->path);
	free(f->means);
}

void rp_files_close(struct rp_files *f)
{
	for (unsigned int i = 0; i < f->n; i++) {
		if (f->file[i].source.fd >= 0)
			close(f->file[i].source.fd);
		f->file[i].source.fd = -1;
	}
}

void rp_files_free(struct rp_files *f)
{
	rp_files_close(f);
	rp_jobs_forget(f);
	for (unsigned int i = 0; i < f->n; i++)
		rp_file_free(&f->file[i]);
	free(f->file);
	*f = (struct rp_files){ 0 };
}

/* A folder with a result in it or below: looked at no further than it takes */
static bool folder_has(int dir, const char *path, int depth)
{
	struct dirent **list = NULL;
	int n = list_folder(dir, &list);
	bool found = false;

	for (int i = 0; i < n; i++) {
		const char *name = list[i]->d_name;
		int fd = -1;

		if (!found && rp_is_result(path, name))
			found = true;
		else if (!found && depth < DEPTH)
			fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_DIRECTORY);
		if (fd >= 0)
			found = folder_has(fd, name, depth + 1);
		free(list[i]);
	}
	free(list);
	close(dir);
	return found;
}

bool rp_knows(const char *path, const uint8_t *head, size_t len)
{
	int dir;

	if (head && rp_is_packed(head, len))
		return rp_ends(path, ".csv.gz") || rp_ends(path, "results.json.gz");
	if (head)
		return rp_head_known((const char *)head, len);
	dir = open(path, O_RDONLY | O_CLOEXEC | O_DIRECTORY);
	return dir >= 0 && folder_has(dir, path, 0);
}
