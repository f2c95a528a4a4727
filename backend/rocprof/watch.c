/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Folders that results appear in: inotify says that something changed, then all are looked through.
 * A table that grows is read on from where it ended; what is not a row a line is read when it has
 * been left alone. One process reads at a time, the files of one run together.
 */
#include "play.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define MS	1000000ull
#define SETTLE	(200 * MS)  /* after a change, until the folders are looked through */
#define QUIET	(1000 * MS) /* a database, or JSON, is left alone so long before it is read */
#define LATER	(5000 * MS) /* after a reader that could not begin, until the next */
#define READS	64 /* of what inotify tells, at once */
#define CHANGES (IN_CREATE | IN_MOVED_TO | IN_MODIFY | IN_CLOSE_WRITE | IN_DELETE | IN_ATTRIB)

static uint64_t realtime(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* By its descriptor: the name may mean another folder by now. One that is watched is found before
 * inotify is asked: that would make a watch where there is no room for its number. */
bool rp_watch_folder(struct rp_files *f, int dir)
{
	struct stat st;
	char path[64];
	int wd;

	if (f->inotify < 0 || fstat(dir, &st) < 0)
		return false;
	for (unsigned int i = 0; i < f->watches; i++)
		if (f->watch_ino[i] == st.st_ino && f->watch_dev[i] == st.st_dev)
			return true;
	if (f->watches >= RP_WATCHES)
		return false;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", dir);
	wd = inotify_add_watch(f->inotify, path, CHANGES | IN_ONLYDIR);
	if (wd < 0)
		return false;
	f->watch_dev[f->watches] = st.st_dev;
	f->watch_ino[f->watches] = st.st_ino;
	f->watch[f->watches++] = wd;
	return true;
}

/* Folders that are looked at no more say nothing more: @old are those of the look before */
static void unwatch(const struct rp_files *f, const int *old, unsigned int n)
{
	unsigned int k;

	for (unsigned int i = 0; i < n; i++) {
		for (k = 0; k < f->watches && f->watch[k] != old[i]; k++)
			;
		if (k == f->watches)
			inotify_rm_watch(f->inotify, old[i]);
	}
}

static void look(struct rp *r)
{
	const struct rp_options *o = r->p->options;
	char *list = strdup(o->dirs ? o->dirs : ""), *save = NULL, path[4096];
	unsigned int watches = r->files.watches;
	int old[RP_WATCHES];

	memcpy(old, r->files.watch, watches * sizeof(*old));
	r->files.watches = r->files.looked = r->files.left_out = 0;
	for (unsigned int i = 0; i < r->files.n; i++)
		r->files.file[i].there = false;
	for (char *d = list ? strtok_r(list, ",", &save) : NULL; d; d = strtok_r(NULL, ",", &save))
		if (realpath(d, path))
			rp_files_add(r->p, &r->files, path);
		else
			r->p->host->error(r->p, errno, "%s: %s", d, strerror(errno));
	free(list);
	rp_jobs_look(r->p, &r->files);
	unwatch(&r->files, old, watches);
	/* What is being read is told by its place among them: none moves until that has ended. */
	if (r->reading)
		r->dirty = r->p->host->now(r->p);
	/* There is room now for some that were left out, and nothing may change there any more. */
	else if (rp_files_forget(&r->files) && r->files.left_out)
		r->dirty = r->p->host->now(r->p) + SETTLE;
	else
		r->dirty = 0;
}

/* As it was found: a link in its way, or another file in its place, is not it */
static int reopen(struct rp_file *f)
{
	struct open_how how = { .flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
				.resolve = RESOLVE_NO_SYMLINKS };
	int fd = f->named ? rp_way_file(f->path, f->whole)
			  : (int)syscall(SYS_openat2, AT_FDCWD, f->path, &how, sizeof(how));
	struct stat st;

	if (fd >= 0 && (fstat(fd, &st) < 0 || st.st_dev != f->dev || st.st_ino != f->ino ||
			st.st_uid != f->uid || !S_ISREG(st.st_mode))) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static bool is_devices(const struct rp_file *f)
{
	return strstr(f->path, "agent_info") != NULL;
}

/* Is it to be read now? @wait: not yet, but soon */
static bool due(const struct rp_file *f, bool *wait)
{
	size_t n = strlen(f->path);
	bool rows = n > 4 && !strcmp(f->path + n - 4, ".csv");

	if (!f->changed || !f->there || f->busy)
		return false;
	if (rows || realtime() > f->mtime + QUIET)
		return true;
	*wait = true;
	return false;
}

/* The files of a run of which one is due, with its devices; how many */
static unsigned int choose(struct rp *r, struct rp_source *s, bool *wait)
{
	int group = -1;
	unsigned int n = 0;
	bool ignore;

	for (unsigned int k = 0; k < r->files.n && group < 0; k++) {
		const struct rp_file *f = &r->files.file[(r->turn + k) % r->files.n];

		if (due(f, wait))
			group = f->source.group;
	}
	for (unsigned int i = 0; i < r->files.n && group >= 0 && n < RP_FILES; i++) {
		struct rp_file *f = &r->files.file[i];

		if (f->source.group != group || !f->there || !(due(f, &ignore) || is_devices(f)))
			continue;
		f->changed = false;
		f->source.fd = reopen(f);
		if (f->source.fd < 0) {
			f->state = errno == EACCES ? "unreadable" : "gone";
			continue;
		}
		f->state = "reading";
		*f->error = '\0';
		r->turn = i + 1; /* the next run's turn */
		s[n] = f->source;
		r->index[n++] = (uint16_t)i;
	}
	return n;
}

/* Nobody reads the @n that were chosen: they are still to be read */
static void put_back(struct rp *r, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		r->files.file[r->index[i]].changed = true;
		r->files.file[r->index[i]].state = "waiting";
	}
}

/* May one begin? To open files for none costs as much as for one. */
static bool is_room(struct rp *r)
{
	bool full = rp_child_left() == RP_CHILDREN_LEFT, told = r->full;

	r->full = full;
	if (full && !told)
		rp_child_full(r->p);
	return !full;
}

static bool is_any_changed(const struct rp_files *f)
{
	for (unsigned int i = 0; i < f->n; i++)
		if (f->file[i].changed && f->file[i].there && !f->file[i].busy)
			return true;
	return false;
}

static void begin(struct rp *r, bool *wait)
{
	uint64_t now = r->p->host->now(r->p);
	struct rp_source s[RP_FILES];
	unsigned int n;

	if (now < r->again || !is_any_changed(&r->files))
		return;
	r->again = is_room(r) ? 0 : now + LATER;
	n = r->again ? 0 : choose(r, s, wait);
	if (!n)
		return;
	rp_teller_reading(r->teller, r->index, n);
	r->reading = !rp_child_start(r->p, &r->child, s, n);
	if (!r->reading) {
		rp_child_end(&r->child);
		put_back(r, n);
		r->again = now + LATER;
	}
	rp_files_close(&r->files);
}

static bool changes(struct rp *r)
{
	char buf[16384];
	bool any = false;

	for (int i = 0; i < READS && read(r->files.inotify, buf, sizeof(buf)) > 0; i++)
		any = true;
	return any;
}

int rp_watch_start(struct rp *r)
{
	r->files.live = true;
	r->files.inotify = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	if (r->files.inotify < 0)
		return r->p->host->error(r->p, errno, "inotify: %s", strerror(errno));
	r->teller = rp_teller_new(r->p, &r->files);
	if (!r->teller)
		return r->p->host->error(r->p, ENOMEM, "no memory");
	r->p->host->watch(r->p, r->files.inotify, true);
	look(r);
	r->p->host->timer(r->p, 1);
	return 0;
}

/* start() and a look that was asked for may read what others may not */
int rp_watch_look(struct rp *r)
{
	look(r);
	r->p->host->timer(r->p, 1);
	return 0;
}

int rp_watch_soon(struct rp *r)
{
	if (!r->dirty)
		r->dirty = r->p->host->now(r->p) + SETTLE;
	r->p->host->timer(r->p, SETTLE);
	return 0;
}

/* When to look again though nothing was told, 0: not. A folder that is not there tells nothing. */
static uint64_t rest(const struct rp *r, uint64_t now, bool wait)
{
	uint64_t due = rp_jobs_due(&r->files), ns;

	if (r->again > now && (!due || r->again < due))
		due = r->again;
	ns = due > now ? due - now : due ? 1 : 0;
	return wait && (!ns || ns > QUIET / 4) ? QUIET / 4 : ns;
}

int rp_watch_drain(struct rp *r)
{
	uint64_t now = r->p->host->now(r->p);
	bool wait = false;
	int n = 0;

	if (changes(r) && !r->dirty)
		r->dirty = now + SETTLE;
	if (!r->dirty && rp_jobs_came(r->p, &r->files))
		r->dirty = now;
	if (r->reading)
		n = rp_hear(r, &wait);
	if (!r->reading && r->dirty && now >= r->dirty)
		look(r);
	if (!r->reading)
		begin(r, &wait);
	rp_tell_flush(r->teller);
	r->p->host->watermark(r->p, now);
	if (r->reading)
		r->p->host->timer(r->p, wait ? MS : 1);
	else if (r->dirty)
		r->p->host->timer(r->p, r->dirty > now ? r->dirty - now : 1);
	else
		r->p->host->timer(r->p, rest(r, now, wait));
	return n;
}
