/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Folders that results appear in: inotify says that something changed, then all are looked through.
 * A table that grows is read on from where it ended; what is not a row a line is read when it has
 * been left alone. A process reads the files of one run together; each user has one at most, so
 * that nobody waits for what another's results take, see watch.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../lib/detail.h"
#include "../lib/file.h"
#include "../lib/recording.h"
#include "../lib/sandbox.h"
#include "rocprof.h"

/*
 * Shares of the users who have results in watched folders. A user has one reader at a time, and
 * who had a turn longest ago comes next. Rows come no faster than option user_rows says: those
 * that are more wait in the reader's pipe, so that none is lost. A reader begins like any process,
 * so that small files appear at once on a busy machine too, and after QUICK_NS of CPU time has what
 * nobody else wants; who reads all the time has that from the beginning. Each reading that
 * fails halves what the next may take, and doubles the time until it begins.
 */

#define SECOND	   1000000000ull
#define QUICK_EACH (25 * RP_QUICK_NS) /* a reading may begin so, as often as that */
#define QUICK_SAVE 10		      /* and so many at once */
#define STRIKES	   8
#define READINGS   50 /* in a second, if they have no rows: each counts as so many */

/** rp_user_reads() - has that user a reader now? */
static bool rp_user_reads(const struct rp *r, const struct rp_user *u)
{
	for (unsigned int i = 0; i < RP_READERS; i++)
		if (r->reader[i].on && r->reader[i].user == u)
			return true;
	return false;
}

struct rp_user *rp_user_of(struct rp *r, uint32_t uid)
{
	struct rp_user *oldest = NULL;

	for (unsigned int i = 0; i < RP_USERS; i++)
		if (r->user[i].used && r->user[i].uid == uid)
			return &r->user[i];
	for (unsigned int i = 0; i < RP_USERS && (!oldest || oldest->used); i++) {
		struct rp_user *u = &r->user[i];

		if (!rp_user_reads(r, u) && !u->left &&
		    (!oldest || !u->used || u->turn < oldest->turn))
			oldest = u;
	}
	if (oldest)
		*oldest = (struct rp_user){ .uid = uid, .used = true };
	return oldest;
}

/* Rows a second that the user may have read; 0: any number */
static uint64_t rows_of(const struct rp *r, const struct rp_user *u)
{
	const struct rp_options *o = r->p->options;

	return u->uid ? (uint64_t)o->user_rows : 0;
}

uint64_t rp_user_begins(struct rp *r, struct rp_user *u, uint64_t most, bool *idle)
{
	uint64_t now = r->p->host->now(r->p), saved = QUICK_SAVE * QUICK_EACH;

	u->turn = ++r->turns;
	u->readings++;
	gt_rate_more(&u->rate, (unsigned int)((rows_of(r, u) + READINGS - 1) / READINGS));
	if (u->quick + saved < now)
		u->quick = now - saved;
	*idle = u->quick + QUICK_EACH > now;
	if (!*idle)
		u->quick += QUICK_EACH;
	most >>= u->strikes;
	return most ? most : 1;
}

void rp_user_ended(struct rp *r, struct rp_user *u, uint64_t cpu_ns, bool failed)
{
	u->cpu_ns += cpu_ns;
	if (!failed) {
		u->strikes -= u->strikes > 0;
		return;
	}
	u->failed++;
	u->strikes += u->strikes < STRIKES;
	u->again = r->p->host->now(r->p) + (SECOND << u->strikes);
}

bool rp_user_may(struct rp *r, struct rp_user *u, uint64_t now)
{
	return gt_user_may(&u->rate, now, rows_of(r, u));
}

void rp_user_took(struct rp_user *u)
{
	u->rows++;
	gt_rate_more(&u->rate, 1);
}

uint64_t rp_over_share(struct gt_plugin *p, uint32_t uid)
{
	return p->host->over_share ? p->host->over_share(p, uid) : 0;
}

void rp_show_users(struct gt_plugin *p, char *buf, size_t len)
{
	const struct rp *r = p->priv;
	struct gt_details d = { buf, len };

	for (unsigned int i = 0; r && i < RP_USERS && d.left > 256; i++) {
		const struct rp_user *u = &r->user[i];
		unsigned int files = 0;

		if (!u->used)
			continue;
		for (unsigned int k = 0; k < r->files.n; k++)
			files += r->files.file[k].uid == u->uid;
		gt_detail(&d, "%u %u %u %llu %llu %llu %llu %llu %llu\n", u->uid, files,
			  rp_user_reads(r, u), (unsigned long long)u->readings,
			  (unsigned long long)u->failed, (unsigned long long)u->rows,
			  (unsigned long long)u->waits, (unsigned long long)u->cpu_ns,
			  (unsigned long long)rp_over_share(p, u->uid));
	}
}

#define MS	1000000ull
#define SETTLE	(200 * MS)    /* after a change, until the folders are looked through */
#define QUIET	(1000 * MS)   /* a database, or JSON, is left alone so long before it is read */
#define LATER	(5000 * MS)   /* after a reader that could not begin, until the next */
#define ANYWAY	(30 * SECOND) /* the folders are looked through, whatever inotify reported */
#define BLIND	(1 * SECOND)  /* the same, while there is no room to watch some folder */
#define RESTS	4	      /* times as long as a look took none begins: users cause looks */
#define DRAIN	(5 * MS)      /* for what readers say, all together, in one call */
#define DRY	(20 * MS)     /* while rows wait for their user's share */
#define CHECK	(250 * MS)    /* is a reader still alive? */
#define PLACE	(5000 * MS)   /* has who got a place, while others want one */
#define HANGS	(10 * SECOND) /* a reader that was killed, if it has not ended then */
#define READS	64	      /* inotify events read at once */
#define CHANGES (IN_CREATE | IN_MOVED_TO | IN_MODIFY | IN_CLOSE_WRITE | IN_DELETE | IN_ATTRIB)

static uint64_t realtime(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* By its descriptor: the name may mean another folder by now. One that is watched is found before
 * inotify is asked: that would make a watch where there is no room for its number. */
static bool watch_folder(struct rp_files *f, int dir)
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

bool rp_watch_folder(struct rp_files *f, int dir)
{
	bool watched = watch_folder(f, dir);

	f->blind |= !watched;
	return watched;
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

/* Files that are being read keep their places, for their readers know them by these */
static unsigned int forget(struct rp *r)
{
	uint16_t moved[RP_LIVE_FILES];
	unsigned int n = rp_files_forget(&r->files, moved);

	for (unsigned int i = 0; n && i < RP_READERS; i++)
		for (unsigned int k = 0; r->reader[i].on && k < r->reader[i].n; k++)
			r->reader[i].index[k] = moved[r->reader[i].index[k]];
	return n;
}

static void look(struct rp *r)
{
	const struct rp_options *o = r->p->options;
	char *list = strdup(o->dirs ? o->dirs : ""), *rest = list, path[4096];
	uint64_t began = r->p->host->now(r->p), now;
	unsigned int watches = r->files.watches;
	int old[RP_WATCHES];

	memcpy(old, r->files.watch, watches * sizeof(*old));
	r->files.watches = r->files.looked = r->files.left_out = 0;
	r->files.packed = r->files.deep = 0;
	r->files.later = r->files.blind = false;
	for (unsigned int i = 0; i < r->files.n; i++)
		r->files.file[i].there = false;
	for (char *d = list ? gt_path_next(&rest, ',') : NULL; d; d = gt_path_next(&rest, ','))
		if (realpath(d, path))
			rp_files_add(r->p, &r->files, path);
		else
			r->p->host->error(r->p, errno, "%s: %s", d, strerror(errno));
	free(list);
	rp_jobs_look(r->p, &r->files);
	unwatch(&r->files, old, watches);
	/* There is room now for some that were left out, and nothing may change there any more. */
	now = r->p->host->now(r->p);
	r->dirty = forget(r) && r->files.left_out ? now + SETTLE : 0;
	r->next_look = now + (r->files.blind ? BLIND : ANYWAY);
	r->rests = now + RESTS * (now - began);
}

/* As it was found: a link in its way, or another file in its place, is not it. -errno */
static int reopen(struct rp_file *f)
{
	int fd = f->named ? rp_way_file(f->path, f->whole)
			  : gt_beneath(AT_FDCWD, f->path, O_RDONLY | O_NONBLOCK | O_NOCTTY,
				       GT_BENEATH_NO_LINKS);
	struct stat st;

	if (fd < 0)
		return f->named ? -errno : fd;
	if (!fstat(fd, &st) && st.st_dev == f->dev && st.st_ino == f->ino && st.st_uid == f->uid &&
	    S_ISREG(st.st_mode))
		return fd;
	close(fd);
	return -ENOENT;
}

static bool is_devices(const struct rp_file *f)
{
	return strstr(f->path, "agent_info") != NULL;
}

/* Is it to be read now? @wait: not yet, but soon */
static bool due(const struct rp *r, const struct rp_file *f, bool *wait)
{
	size_t n = strlen(f->path);
	bool rows = n > 4 && !strcmp(f->path + n - 4, ".csv");

	if (!f->changed || !f->there || f->busy || f->read)
		return false;
	if ((rows || realtime() > f->mtime + QUIET) && f->again <= r->p->host->now(r->p))
		return true;
	*wait = true;
	return false;
}

/* Readers that were killed. One that does not end for long hangs, and counts with those of all users */
static void reap_left(struct rp *r)
{
	uint64_t now = r->p->host->now(r->p);

	for (struct rp_user *u = r->user; u < r->user + RP_USERS; u++) {
		if (u->left && waitpid(u->left, NULL, WNOHANG)) {
			u->left = 0;
		} else if (u->left && now > u->left_at + HANGS) {
			gt_reap_leave(u->left);
			u->left = 0;
		}
	}
}

/* May a reader begin for @u? One at a time, after a failure a while later, and no more than READINGS */
static bool may_begin(struct rp *r, struct rp_user *u, bool *wait)
{
	uint64_t now = r->p->host->now(r->p);

	if (rp_user_reads(r, u))
		return false;
	if (!u->left && u->again <= now && rp_user_may(r, u, now))
		return true;
	*wait = true;
	return false;
}

/* Of files that are due: of the user who had a turn longest ago the one that had, new ones first */
static const struct rp_file *next_file(struct rp *r, struct rp_user **user, bool *wait)
{
	const struct rp_file *next = NULL;

	*user = NULL;
	for (unsigned int i = 0; i < r->files.n; i++) {
		const struct rp_file *f = &r->files.file[i];
		struct rp_user *u = due(r, f, wait) ? rp_user_of(r, f->uid) : NULL;

		if (!u || !may_begin(r, u, wait))
			continue;
		if (!next || (u == *user ? f->turn < next->turn : u->turn < (*user)->turn)) {
			next = f;
			*user = u;
		}
	}
	if (next) /* its account may have made room for another */
		*user = rp_user_of(r, next->uid);
	return *user ? next : NULL;
}

/* Opens it for a reader; false: it is not read now, which its state says. A file that cannot be
 * opened counts as new at the next look. */
static bool open_due(struct rp *r, struct rp_file *f)
{
	f->changed = false;
	f->turn = r->turns + 1;
	f->source.fd = reopen(f);
	if (f->source.fd >= 0) {
		f->state = "reading";
		f->read = true;
		*f->error = '\0';
		return true;
	}
	f->state = f->source.fd == -EACCES ? "unreadable" : "gone";
	f->mtime = GT_NONE64;
	if (f->source.fd == -EWOULDBLOCK) { /* the kernel asks who has the lease to end it */
		f->state = "leased";
		f->changed = true;
		f->again = r->p->host->now(r->p) + LATER;
		snprintf(f->error, sizeof(f->error),
			 "somebody has a lease on it (F_SETLEASE of fcntl): it is tried again");
	}
	f->source.fd = -1;
	return false;
}

/* Into @rd the files of the run of @first, with its devices, open in @s */
static void choose(struct rp *r, struct rp_reader *rd, const struct rp_file *first,
		   struct rp_source *s)
{
	uint16_t group = first->source.group;
	bool ignore;

	rd->n = 0;
	for (unsigned int i = 0; i < r->files.n && rd->n < RP_FILES; i++) {
		struct rp_file *f = &r->files.file[i];

		if (f->source.group != group || !f->there || f->read ||
		    !(due(r, f, &ignore) || is_devices(f)) || !open_due(r, f))
			continue;
		s[rd->n] = f->source;
		rd->index[rd->n++] = (uint16_t)i;
	}
}

/* Nobody reads what was chosen: it is still to be read */
static void put_back(struct rp *r, const struct rp_reader *rd)
{
	for (unsigned int i = 0; i < rd->n; i++) {
		struct rp_file *f = &r->files.file[rd->index[i]];

		f->changed = true;
		f->read = false;
		f->state = "waiting";
	}
}

/* Can another reader be started? Checked first, so that files are not opened in vain. */
static bool is_room(struct rp *r)
{
	bool full = gt_reap_left() >= RP_CHILDREN_LEFT, reported = r->full;

	r->full = full;
	if (full && !reported)
		rp_child_full(r->p);
	return !full;
}

/* A place for a reader; where all are taken, that of who had one longest, if that was long enough
 */
static struct rp_reader *place(struct rp *r, bool *wait)
{
	uint64_t now = r->p->host->now(r->p);
	struct rp_reader *first = NULL;

	for (unsigned int i = 0; i < RP_READERS; i++) {
		if (!r->reader[i].on)
			return &r->reader[i];
		if (!first || r->reader[i].begun < first->begun)
			first = &r->reader[i];
	}
	if (now - first->begun >= PLACE) {
		rp_reader_end(r, first, "took too long while others waited: the rest is left out");
		return first;
	}
	*wait = true;
	return NULL;
}

/* Another reader begins, if one may. False: none does */
static bool begin(struct rp *r, bool *wait)
{
	uint64_t now = r->p->host->now(r->p);
	struct rp_source s[RP_FILES];
	const struct rp_file *first;
	struct rp_reader *rd;
	struct rp_user *user;

	if (now < r->again)
		return false;
	first = next_file(r, &user, wait);
	if (!first)
		return false;
	r->again = is_room(r) ? 0 : now + LATER;
	rd = r->again ? NULL : place(r, wait);
	if (!rd)
		return false;
	choose(r, rd, first, s);
	if (!rd->n)
		return true; /* it is not due any more */
	rd->user = user;
	if (rp_reader_begin(r, rd, s) < 0) {
		put_back(r, rd);
		rp_reader_end(r, rd, NULL);
		r->again = now + LATER;
	}
	rp_files_close(&r->files);
	return rd->on;
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
	r->emitter = rp_emitter_new(r->p, &r->files);
	if (!r->emitter)
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
	r->p->host->timer(r->p, 1); /* drain() comes at once and works out what is due next */
	return 0;
}

/* When to look again though nothing was reported, 0: not. A folder that is not there reports nothing. */
static uint64_t rest(const struct rp *r, uint64_t now, bool wait)
{
	uint64_t due = r->dirty ? 0 : rp_jobs_due(&r->files), ns;

	if (r->again > now && (!due || r->again < due))
		due = r->again;
	ns = due > now ? due - now : due ? 1 : 0;
	return wait && (!ns || ns > QUIET / 4) ? QUIET / 4 : ns;
}

/* What one reader says, which its user pays for */
static int hear_one(struct rp *r, struct rp_reader *rd, uint64_t ns, bool *waits)
{
	struct rp_user *u = rd->user;
	uint64_t began = gt_thread_cpu_ns(), rows = u->rows;
	int n = rp_hear(r, rd, ns, waits);

	gt_user_spent(&u->rate, u->rows - rows, gt_thread_cpu_ns() - began);
	return n;
}

/* What readers say. One that has taken a while of CPU time reads on with what others leave */
static int hear(struct rp *r, bool *dry)
{
	uint64_t ns = r->reading ? DRAIN / r->reading : 0;
	int n = 0;

	for (unsigned int i = 0; i < RP_READERS; i++) {
		struct rp_reader *rd = &r->reader[i];
		bool waits = false;

		if (!rd->on)
			continue;
		if (!rd->idle && gt_child_cpu_ns(rd->child.pid) > RP_QUICK_NS) {
			rd->idle = true;
			rp_child_idle(&rd->child);
		}
		n += hear_one(r, rd, ns, &waits);
		*dry |= rd->on && rd->dry;
		r->more |= rd->on && !waits;
	}
	return n;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return !a || (b && b < a) ? b : a;
}

/* When to look, if something has changed */
static uint64_t look_at(const struct rp *r)
{
	return r->dirty > r->rests ? r->dirty : r->rests;
}

/* When to come again, 0: when a descriptor wakes us */
static uint64_t next(const struct rp *r, uint64_t now, bool wait, bool dry)
{
	uint64_t ns = rest(r, now, wait);

	if (!r->dirty)
		ns = least(ns, r->next_look > now ? r->next_look - now : 1);
	if (r->more)
		return 1;
	if (r->dirty)
		ns = least(ns, look_at(r) > now ? look_at(r) - now : 1);
	if (r->reading)
		ns = least(ns, dry ? DRY : CHECK);
	return ns;
}

int rp_watch_drain(struct rp *r)
{
	uint64_t now = r->p->host->now(r->p);
	bool wait = false, dry = false;
	int n;

	if (changes(r) && !r->dirty)
		r->dirty = now + SETTLE;
	if (!r->dirty && (now >= r->next_look || rp_jobs_came(r->p, &r->files)))
		r->dirty = now;
	r->more = false;
	n = hear(r, &dry);
	if (r->dirty && now >= look_at(r))
		look(r);
	reap_left(r);
	while (begin(r, &wait))
		;
	rp_emit_flush(r->emitter);
	r->p->host->watermark(r->p, now);
	r->p->host->timer(r->p, next(r, now, wait, dry));
	return n ? n : r->more;
}
