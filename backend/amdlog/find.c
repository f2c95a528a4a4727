/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which files are followed: names in the folders that the option names. inotify tells of names that
 * come and of files that grow alike. What is in a folder when it is met, or after inotify lost
 * something, is looked through a little at each drain.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "internal.h"

#define A_TIME	 64	     /* names between two looks at the clock */
#define LOOK_AT	 (1 << 20)   /* names of a folder */
#define AGAIN_NS 1000000000u /* until a folder is looked through anew */

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

static void follow(struct gt_amd *a, const struct gt_amd_folder *d, const char *name)
{
	uint64_t raised = gt_amd_raise(a);

	look_at(a, d, name);
	gt_amd_lower(raised);
}

static bool matches(const struct gt_amd_folder *d, const char *name)
{
	return name[0] != '.' && (!d->pattern || !fnmatch(d->pattern, name, FNM_PERIOD));
}

static bool begin_scan(struct gt_amd *a, struct gt_amd_folder *d)
{
	uint64_t now = a->p->host->now(a->p), raised;
	int fd;

	if (!d->again || (d->scanned && now < d->scanned + AGAIN_NS))
		return false;
	raised = gt_amd_raise(a);
	fd = openat(d->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	gt_amd_lower(raised);
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
	while (d->looked < LOOK_AT && (e = readdir(d->scan))) {
		if ((e->d_type == DT_REG || e->d_type == DT_UNKNOWN) && matches(d, e->d_name))
			follow(a, d, e->d_name);
		if (!(++d->looked % A_TIME) && gt_amd_late(a))
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
			follow(a, d, e->name);
	}
}

/* What inotify has to tell, as long as there is time */
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

bool gt_amd_find(struct gt_amd *a)
{
	bool more = false;

	if (a->names < 0)
		return false;
	hear(a);
	for (unsigned int i = 0; i < a->nfolders; i++) { /* each in turn, one at least */
		a->folder_turn = (a->folder_turn + 1) % a->nfolders;
		scan(a, &a->folder[a->folder_turn]);
		if (gt_amd_late(a))
			break;
	}
	for (unsigned int i = 0; i < a->nfolders; i++)
		more |= a->folder[i].scan || a->folder[i].again;
	return more || a->heard_at < a->heard;
}

void gt_amd_find_again(struct gt_amd *a)
{
	for (unsigned int i = 0; i < a->nfolders; i++)
		a->folder[i].again = true;
}
