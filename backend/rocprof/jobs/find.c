/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Results of a job, in the folder that it names. Anybody may name any folder: of a user's job only
 * folders and files that are that user's are looked at, so that nothing is learnt of others', and
 * so many names that it costs nobody else anything.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../rights.h"
#include "jobs.h"

#define DEPTH	  4
#define NAMES	  512 /* in a user's folder and below, in one look */
#define ALL_NAMES 16384
#define WATCHES	  32 /* of its folders that tell when something changes */
#define SECOND	  1000000000ull
#define PATIENCE  4 /* looks for a folder that is not there before they become half as many, */
#define RARELY	  5 /* and how often they do */
#define AT_ONCE	  4 /* folders that are looked for in one call */

/* struct look - one look at a job's folder */
struct look {
	struct gt_plugin *p;
	struct rp_files *f;
	struct rp_job *j;
	unsigned int watches;
};

static bool begins(const char *s, const char *with)
{
	return !strncmp(s, with, strlen(with));
}

static bool ends(const char *s, const char *with)
{
	size_t n = strlen(s), m = strlen(with);

	return n >= m && !strcmp(s + n - m, with);
}

static bool is_ours(struct rp_job *j, const struct stat *st)
{
	if (j->whole || st->st_uid == j->uid)
		return true;
	j->others++;
	return false;
}

static void saw_file(struct look *l, int dir, const char *folder, const char *name)
{
	struct rp_job *j = l->j;
	char path[4096];
	struct stat st;

	if (rp_stat_at(dir, name, &st) < 0 || !is_ours(j, &st) ||
	    snprintf(path, sizeof(path), "%s/%s", folder, name) >= (int)sizeof(path))
		return;
	if (S_ISREG(st.st_mode) && ends(name, ".att")) {
		j->raw++;
		if ((uint64_t)st.st_size > j->raw_size)
			j->raw_size = (uint64_t)st.st_size;
	}
	if (S_ISREG(st.st_mode) && !strcmp(name, "code.json") && st.st_size)
		j->decoded++;
	j->over += !rp_files_found(l->p, l->f, j, dir, folder, path, name, &st);
}

static void watch(struct look *l, int dir)
{
	l->j->unwatched += l->watches++ >= WATCHES || !rp_watch_folder(l->f, dir);
}

static void walk(struct look *l, int dir, const char *folder, int depth);

/* A thread trace has a file for each wave: only those that are read are looked for */
static void saw_trace(struct look *l, int dir, const char *folder)
{
	l->j->traces++;
	watch(l, dir);
	saw_file(l, dir, folder, "code.json");
	saw_file(l, dir, folder, "occupancy.json");
	close(dir);
}

static void saw_folder(struct look *l, int in, const char *folder, const char *name, int depth)
{
	char path[4096];
	struct stat st;
	int dir;

	if (depth >= DEPTH ||
	    snprintf(path, sizeof(path), "%s/%s", folder, name) >= (int)sizeof(path)) {
		l->j->deep++;
		return;
	}
	dir = rp_at(in, name, O_RDONLY | O_DIRECTORY);
	if (dir < 0)
		return;
	if (fstat(dir, &st) < 0 || !is_ours(l->j, &st))
		close(dir);
	else if (begins(name, "ui_output_agent_"))
		saw_trace(l, dir, path);
	else
		walk(l, dir, path, depth + 1);
}

static void saw(struct look *l, int dir, const char *folder, const char *name, int depth)
{
	struct stat st;

	if (rp_stat_at(dir, name, &st) < 0)
		return;
	if (S_ISDIR(st.st_mode))
		saw_folder(l, dir, folder, name, depth);
	else
		saw_file(l, dir, folder, name);
}

/* Takes @dir */
static void walk(struct look *l, int dir, const char *folder, int depth)
{
	const struct dirent *e;
	DIR *d;

	watch(l, dir); /* first, so that what comes meanwhile is told */
	d = fdopendir(dir);
	if (!d) {
		close(dir);
		return;
	}
	while ((e = readdir(d))) {
		if (++l->j->looked > (l->j->whole ? ALL_NAMES : NAMES)) {
			l->j->cut = l->j->whole ? ALL_NAMES : NAMES;
			break;
		}
		if (e->d_name[0] != '.')
			saw(l, dirfd(d), folder, e->d_name, depth);
	}
	closedir(d);
}

/* The folder itself; whatever is wrong with it, it is just not there for a user whose it is not */
static int open_folder(struct rp_job *j)
{
	struct stat st;
	int dir = rp_way_folder(j->path, j->whole);

	if (dir >= 0 && (fstat(dir, &st) < 0 || !(j->whole || st.st_uid == j->uid))) {
		close(dir);
		dir = -1;
	}
	return dir;
}

/* The first looks are a second apart, the last half a minute: a run may take long to begin */
static void look_later(struct gt_plugin *p, struct rp_job *j)
{
	unsigned int n = j->tries++ / PATIENCE;

	j->again = p->host->now(p) + (SECOND << (n < RARELY ? n : RARELY));
}

/* What was seen before of the same job, with the same folder: how long it has been missing stays */
static void still_missing(struct gt_plugin *p, struct rp_job *j, const struct rp_job *old,
			  unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		if (old[i].serial == j->serial && !old[i].there && !strcmp(old[i].path, j->path)) {
			j->tries = old[i].tries;
			j->again = old[i].again;
		}
	if (!j->tries)
		look_later(p, j);
}

static void look(struct gt_plugin *p, struct rp_files *f, const struct gt_made *m,
		 const struct rp_job *old, unsigned int n)
{
	struct rp_job *j = &f->job[f->jobs];
	struct look l = { p, f, j, 0 };
	int dir;

	*j = (struct rp_job){ .serial = m->serial, .uid = m->uid, .whole = m->whole };
	if (!*m->value[RP_JOB_FOLDER])
		return;
	j->path = strdup(m->value[RP_JOB_FOLDER]);
	if (!j->path)
		return;
	f->jobs++;
	dir = open_folder(j);
	j->there = dir >= 0;
	if (j->there)
		walk(&l, dir, j->path, 0);
	else
		still_missing(p, j, old, n);
}

static void forget(struct rp_job *j, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		free(j[i].path);
}

void rp_jobs_forget(struct rp_files *f)
{
	forget(f->job, f->jobs);
	f->jobs = 0;
}

/* start() has the right to read anything, and a user chose the folder */
static void as_anybody(void)
{
	gt_rights(0, 1ull << CAP_DAC_READ_SEARCH);
}

void rp_jobs_look(struct gt_plugin *p, struct rp_files *f)
{
	struct rp_job old[RP_JOBS];
	const struct gt_made *m;
	unsigned int n = f->jobs;

	as_anybody();
	memcpy(old, f->job, n * sizeof(*old));
	f->jobs = 0;
	for (unsigned int i = 0; p->host->made && (m = p->host->made(p, i)) && f->jobs < RP_JOBS;
	     i++)
		look(p, f, m, old, n);
	forget(old, n);
}

bool rp_jobs_came(struct gt_plugin *p, struct rp_files *f)
{
	uint64_t now = p->host->now(p);
	unsigned int n = 0;
	int dir;

	for (unsigned int i = 0; i < f->jobs && n < AT_ONCE; i++) {
		struct rp_job *j = &f->job[i];

		if (j->there || j->again > now)
			continue;
		if (!n++)
			as_anybody();
		look_later(p, j);
		dir = open_folder(j);
		if (dir < 0)
			continue;
		close(dir);
		return true;
	}
	return false;
}

uint64_t rp_jobs_due(const struct rp_files *f)
{
	uint64_t due = 0;

	for (unsigned int i = 0; i < f->jobs; i++)
		if (!f->job[i].there && (!due || f->job[i].again < due))
			due = f->job[i].again;
	return due;
}

bool rp_jobs_wait(struct gt_plugin *p)
{
	const struct gt_made *m;

	for (unsigned int i = 0; p->host->made && (m = p->host->made(p, i)); i++)
		if (*m->value[RP_JOB_FOLDER])
			return true;
	return false;
}

bool rp_job_has(const struct rp_job *j, const struct rp_file *f)
{
	size_t n = strlen(j->path);

	return (j->whole || f->uid == j->uid) && !strncmp(f->path, j->path, n) && f->path[n] == '/';
}
