/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Who has a GPU open. All processes are looked at when the daemon comes, when somebody opened a
 * device node (inotify), when one that had a GPU ended, which it may have left to another, and now
 * and then, as a container's own nodes tell nothing; single ones when another backend meets them.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../rights.h"
#include "client.h"

#define DRM_MAJOR  226	 /* Documentation/admin-guide/devices.txt */
#define FDS_EACH   4096	 /* descriptors of a process that are looked at */
#define FDS_A_SCAN 65536 /* 1 us each */
#define PROCESSES  32768
#define A_TIME	   16 /* of these between two looks at the clock */

void sf_scan_start(struct sf *sf)
{
	struct sf_clients *cs = sf->clients;
	char path[4096];

	cs->inotify = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	if (cs->inotify < 0)
		return;
	if (!gt_root_real(&sf->root, "dev/dri", path, sizeof(path)))
		inotify_add_watch(cs->inotify, path, IN_OPEN | IN_ONLYDIR);
	if (!gt_root_real(&sf->root, "dev/kfd", path, sizeof(path)))
		inotify_add_watch(cs->inotify, path, IN_OPEN);
	if (sf->p->host->watch(sf->p, cs->inotify, true)) {
		close(cs->inotify);
		cs->inotify = -1;
	}
}

void sf_scan_stop(struct sf *sf)
{
	if (sf->clients->inotify < 0)
		return;
	sf->p->host->watch(sf->p, sf->clients->inotify, false);
	close(sf->clients->inotify);
}

bool sf_scan_heard(struct sf *sf)
{
	char buf[4096] __attribute__((aligned(8)));
	bool any = false;

	while (sf->clients->inotify >= 0 && read(sf->clients->inotify, buf, sizeof(buf)) > 0)
		any = true;
	return any;
}

/* Index of the device that has this minor number, of its card or render node; GT_NONE16: none */
static uint16_t device_of(const struct sf *sf, unsigned int minor)
{
	for (unsigned int i = 0; i < sf->n; i++)
		if ((int)minor == sf->dev[i].minor || (int)minor == sf->dev[i].render)
			return (uint16_t)i;
	return GT_NONE16;
}

/* A captured tree has links where /proc has what leads to the files. */
static bool captured_minor(const struct sf *sf, const char *path, unsigned int *minor)
{
	char name[32];
	int64_t n;
	bool card;

	gt_root_link(&sf->root, path, name, sizeof(name));
	card = !strncmp(name, "card", 4);
	if ((!card && strncmp(name, "renderD", 7)) ||
	    gt_root_number(name + (card ? 4 : 7), &n, NULL) || n < 0 || n > 1048575)
		return false;
	*minor = (unsigned int)n;
	return true;
}

/* What the kernel knows of the file must do: a file system of somebody's is not asked. */
static bool is_drm(const struct sf *sf, int dir, const char *name, const char *path,
		   unsigned int *minor)
{
	struct statx st;

	if (sf->root.captured)
		return captured_minor(sf, path, minor);
	if (statx(dir, name, AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT, STATX_TYPE, &st))
		return false;
	*minor = st.stx_rdev_minor;
	return S_ISCHR(st.stx_mode) && st.stx_rdev_major == DRM_MAJOR;
}

/* Whose it is: not who it acts as, which a program that is set to do so can be anybody's. Of
 * /proc/PID itself its user is told even of a process that hides the rest. */
struct sf_user *sf_user_of(struct sf *sf, uint32_t pid)
{
	uint32_t uid = sf_uid(sf, pid);
	struct stat st;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%u", pid);
	if (sf->root.captured)
		uid = uid == GT_NONE32 ? 0 : uid; /* nobody to be kept from anything */
	else if (uid == GT_NONE32 && !stat(path, &st))
		uid = st.st_uid;
	return sf_user(sf->clients, uid);
}

/* Descriptor @name of process @pid */
static void look_at(struct sf *sf, DIR *list, struct sf_user *user, uint32_t pid, const char *name)
{
	unsigned int minor;
	char path[64];
	uint16_t dev;

	sf->clients->stats.descriptors++;
	snprintf(path, sizeof(path), "proc/%u/fd/%.10s", pid, name);
	if (!is_drm(sf, dirfd(list), name, path, &minor))
		return;
	dev = device_of(sf, minor);
	snprintf(path, sizeof(path), "proc/%u/fdinfo/%.10s", pid, name);
	if (dev != GT_NONE16)
		sf_client_found(sf, user, pid, (unsigned int)atoi(name), dev, path);
}

static DIR *open_fds(struct sf *sf, uint32_t pid)
{
	char path[32];
	DIR *list;

	snprintf(path, sizeof(path), "proc/%u/fd", pid);
	list = gt_root_dir(&sf->root, path);
	sf->clients->stats.processes += list != NULL;
	return list;
}

/* The next one of the folder; NULL: there is none */
static const char *next_fd(DIR *list)
{
	struct dirent *e;
	int64_t fd;

	while ((e = readdir(list)))
		if (!gt_root_number(e->d_name, &fd, NULL) && fd >= 0 && fd <= INT32_MAX)
			return e->d_name;
	return NULL;
}

void sf_scan_process(struct sf *sf, uint32_t pid)
{
	uint64_t raised = gt_rights(SF_RIGHTS, 0);
	GT_ROOT_DIR list = open_fds(sf, pid);
	struct sf_user *user = sf_user_of(sf, pid);
	const char *name = NULL;

	for (unsigned int n = 0; list && n < FDS_EACH && (name = next_fd(list)); n++)
		look_at(sf, list, user, pid, name);
	sf->clients->stats.cut += name != NULL;
	gt_rights(0, raised);
}

/* All ----------------------------------------------------------------------------------------- */

static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/* The next process of the folder; 0: there is none */
static uint32_t next_in(DIR *proc)
{
	struct dirent *e;
	int64_t pid;

	while ((e = readdir(proc)))
		if (!gt_root_number(e->d_name, &pid, NULL) && pid > 0 && pid <= INT32_MAX)
			return (uint32_t)pid;
	return 0;
}

/* In their order: a client belongs to the first who has it. /proc lists them so, a captured tree in
 * any. */
static void sort_captured(struct sf_scan *s)
{
	uint32_t pid;

	s->pid = malloc(PROCESSES * sizeof(*s->pid));
	while (s->pid && s->npid < PROCESSES && (pid = next_in(s->proc)))
		s->pid[s->npid++] = pid;
	if (s->npid)
		qsort(s->pid, s->npid, sizeof(*s->pid), by_number);
}

void sf_scan_end(struct sf *sf)
{
	struct sf_scan *s = &sf->clients->scan;

	if (s->fds)
		closedir(s->fds);
	if (s->proc)
		closedir(s->proc);
	free(s->pid);
	*s = (struct sf_scan){ .proc = NULL };
}

void sf_scan_begin(struct sf *sf)
{
	struct sf_clients *cs = sf->clients;

	sf_scan_end(sf);
	cs->scan.began = sf->p->host->now(sf->p);
	cs->scan.left = FDS_A_SCAN;
	cs->scan.proc = gt_root_dir(&sf->root, "proc");
	if (cs->scan.proc && sf->root.captured)
		sort_captured(&cs->scan);
	for (unsigned int i = 0; i < SF_USERS; i++)
		cs->user[i].processes = cs->user[i].fds = 0;
	for (unsigned int i = 0; i < sf->n; i++)
		sf->dev[i].skipped = false;
}

static bool has_enough(const struct sf_user *u)
{
	return u->uid && (u->processes >= PROCESSES / SF_SHARE || u->fds >= FDS_A_SCAN / SF_SHARE);
}

/* False: there is none, or no more are looked at */
static bool next_process(struct sf *sf)
{
	struct sf_clients *cs = sf->clients;
	struct sf_scan *s = &cs->scan;

	if (!s->proc)
		return false;
	if (sf->root.captured)
		s->now = s->at < s->npid ? s->pid[s->at++] : 0;
	else
		s->now = next_in(s->proc);
	if (!s->now)
		return false;
	if (!s->left || s->processes == PROCESSES) {
		cs->stats.cut++;
		return false;
	}
	s->user = sf_user_of(sf, s->now);
	if (has_enough(s->user)) {
		cs->stats.over++;
		return true;
	}
	s->looked = 0;
	s->processes++;
	s->user->processes++;
	s->fds = open_fds(sf, s->now);
	return true;
}

/* A process, or a descriptor of it; false: that was all */
static bool step(struct sf *sf)
{
	struct sf_clients *cs = sf->clients;
	struct sf_scan *s = &cs->scan;
	const char *name;

	if (!s->fds)
		return next_process(sf);
	name = next_fd(s->fds);
	if (name && s->left && s->looked < FDS_EACH && !has_enough(s->user)) {
		s->left--;
		s->looked++;
		s->user->fds++;
		look_at(sf, s->fds, s->user, s->now, name);
		return true;
	}
	cs->stats.cut += name != NULL;
	closedir(s->fds);
	s->fds = NULL;
	return true;
}

static void finish(struct sf *sf)
{
	struct sf_clients *cs = sf->clients;

	for (unsigned int i = 0; i < sf->n; i++)
		sf->dev[i].unseen = sf->dev[i].skipped;
	cs->scanned = cs->scan.began;
	cs->cost = cs->scan.cost;
	cs->complete = true;
	cs->stats.scans++;
	sf_scan_end(sf);
}

bool sf_scan_on(struct sf *sf, uint64_t until)
{
	uint64_t raised = gt_rights(SF_RIGHTS, 0), began = sf->p->host->now(sf->p), now = began;
	struct sf_scan *s = &sf->clients->scan;
	bool more;

	do {
		more = step(sf);
		if (!(++s->steps % A_TIME) || !more)
			now = sf->p->host->now(sf->p);
	} while (more && now < until);
	s->cost += now - began;
	gt_rights(0, raised);
	if (!more)
		finish(sf);
	return !more;
}
