/* SPDX-License-Identifier: GPL-2.0 */
/* Whether somebody else has one of the files open: each record goes to one reader only, so they
 * take each other's. Who that is, is not told: everybody reads stats and doctor. */
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "internal.h"

#define LOOK_NS	 5000000ull
#define START_NS 100000000ull
#define AGAIN_NS 5000000000ull

static void close_dir(DIR **d)
{
	if (*d)
		closedir(*d);
}
#define AUTO_DIR __attribute__((cleanup(close_dir))) DIR *

static bool is_ours(const struct gr *gr, int dir, const char *name)
{
	struct statx st;
	dev_t dev;

	if (statx(dir, name, AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT, STATX_INO, &st))
		return false;
	dev = makedev(st.stx_dev_major, st.stx_dev_minor);
	for (unsigned int i = 0; i < gr->n; i++)
		if (gr->cpu[i]->ino == st.stx_ino && gr->cpu[i]->dev == dev)
			return true;
	return false;
}

/* What links in a folder of descriptors say is looked at before the file. Anybody may call a file
 * so, also in a file system that does not answer, as this daemon's own while this thread is busy:
 * so the file system is not asked, either. */
static bool is_candidate(int dir, const char *name)
{
	static const char *const spellings[] = { "/events", "/trace", "/buffer" };
	char path[PATH_MAX], *slash;
	ssize_t n = readlinkat(dir, name, path, sizeof(path) - 1);

	if (n <= 0)
		return false;
	path[n] = '\0';
	slash = strrchr(path, '/');
	for (int i = 0; slash && i < 3; i++)
		if (!strncmp(slash, spellings[i], strlen(spellings[i])))
			return true;
	return false;
}

static bool reads(const struct gr *gr, const char *pid, uint64_t deadline)
{
	char path[64];
	AUTO_DIR d = NULL;
	struct dirent *e;

	snprintf(path, sizeof(path), "/proc/%.16s/fd", pid);
	d = opendir(path);
	while (d && (e = readdir(d)) && gr->p->host->now(gr->p) < deadline)
		if (isdigit((unsigned char)*e->d_name) && is_candidate(dirfd(d), e->d_name) &&
		    is_ours(gr, dirfd(d), e->d_name))
			return true;
	return false;
}

void gr_readers(struct gr *gr, bool now)
{
	uint64_t t = gr->p->host->now(gr->p), until = t + (now ? START_NS : LOOK_NS);
	AUTO_DIR d = NULL;
	char self[32];
	struct dirent *e;

	if (!now && gr->asked_readers && t - gr->asked_readers < AGAIN_NS)
		return;
	gr->asked_readers = t;
	gr->readers = 0;
	snprintf(self, sizeof(self), "%d", (int)getpid());
	d = opendir("/proc");
	while (d && (e = readdir(d)) && gr->p->host->now(gr->p) < until) {
		if (!isdigit((unsigned char)*e->d_name) || !strcmp(e->d_name, self) ||
		    !reads(gr, e->d_name, until))
			continue;
		gr->readers++;
	}
}
