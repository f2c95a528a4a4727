/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Results in folders that are watched: which are new, and which have changed. A file is known by
 * its inode, as it may be renamed while it is written; but numbers of inodes are used again.
 */
#include "files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* When it was made; 0: its file system does not tell. By the descriptor: to look a name up may be
 * to ask somebody */
static uint64_t birth(int dir, const char *name, const struct stat *st)
{
	int fd = rp_at(dir, name, O_PATH);
	struct statx x = { 0 };
	bool told;

	if (fd < 0)
		return 0;
	told = !statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_INO | STATX_BTIME, &x);
	close(fd);
	if (!told || !(x.stx_mask & STATX_BTIME) || x.stx_ino != st->st_ino)
		return 0;
	return (uint64_t)x.stx_btime.tv_sec * 1000000000 + x.stx_btime.tv_nsec;
}

/* Whose owner, or time of birth, is another is another file; where that time was not told once, it
 * is the one that was met last */
static struct rp_file *known(struct rp_files *f, const struct stat *st, uint64_t born)
{
	struct rp_file *last = NULL;

	for (unsigned int i = 0; i < f->n; i++) {
		struct rp_file *file = &f->file[i];

		if (file->ino != st->st_ino || file->dev != st->st_dev || file->uid != st->st_uid)
			continue;
		if (file->born == born)
			return file;
		if (!file->born || !born)
			last = file;
	}
	if (last && !last->born)
		last->born = born;
	return last;
}

static bool too_many(const struct rp_files *f, uid_t uid)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < f->n; i++)
		n += f->file[i].uid == uid;
	return uid && n >= RP_USER_FILES;
}

static struct rp_file *meet_new(struct gt_plugin *p, struct rp_files *f, const char *path,
				const struct stat *st, uint64_t born)
{
	struct rp_file *file;

	if (too_many(f, st->st_uid)) {
		f->left_out++;
		return NULL;
	}
	file = rp_file_add(p, f, path, st->st_uid);
	if (!file)
		return NULL;
	file->dev = st->st_dev;
	file->ino = st->st_ino;
	file->born = born;
	file->mtime = GT_NONE64;
	file->source.live = true;
	if (rp_file_is_none(st->st_mode))
		rp_file_refuse(p, f, file, EINVAL, rp_file_is_none(st->st_mode));
	return file;
}

/* In a folder that is watched: is it new, or has it changed? It is opened when it is its turn. */
static bool meet(struct gt_plugin *p, struct rp_files *f, const struct rp_job *j, int dir,
		 const char *folder, const char *path, const char *name, const struct stat *st)
{
	uint64_t mtime = (uint64_t)st->st_mtim.tv_sec * 1000000000 + (uint64_t)st->st_mtim.tv_nsec;
	uint64_t born = birth(dir, name, st);
	struct rp_file *file = known(f, st, born);

	if (!file)
		file = meet_new(p, f, path, st, born);
	if (!file)
		return false;
	file->there = true;
	file->named = j != NULL;
	file->whole = j && j->whole;
	if (rp_file_is_none(st->st_mode))
		return true;
	if (strcmp(file->path, path)) {
		free(file->path);
		file->path = strdup(path);
		if (!file->path)
			file->path = strdup("");
	}
	file->source.agent = rp_agent_of(folder);
	file->busy = rp_file_busy(dir, name);
	if (file->busy)
		file->state = "being written";
	if (file->mtime == mtime && file->source.size == (uint64_t)st->st_size)
		return true;
	if (rp_ends(name, ".csv") && (uint64_t)st->st_size < file->source.at[0])
		memset(file->source.at, 0, sizeof(file->source.at)); /* begun anew */
	file->mtime = mtime;
	file->source.size = (uint64_t)st->st_size;
	file->changed = !file->once;
	if (file->once)
		snprintf(file->error, sizeof(file->error),
			 "changed after it was read: not read again");
	return true;
}

bool rp_files_found(struct gt_plugin *p, struct rp_files *f, const struct rp_job *j, int dir,
		    const char *folder, const char *path, const char *name, const struct stat *st)
{
	return !rp_is_result(folder, name) || meet(p, f, j, dir, folder, path, name, st);
}

unsigned int rp_files_forget(struct rp_files *f)
{
	unsigned int n = 0, had = f->n;

	for (unsigned int i = 0; i < f->n; i++) {
		if (f->file[i].there)
			f->file[n++] = f->file[i];
		else
			rp_file_free(&f->file[i]);
	}
	f->n = n;
	return had - n;
}
