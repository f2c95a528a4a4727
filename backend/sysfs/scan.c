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

static void look_at(struct sf *sf, uint32_t pid, unsigned int *left)
{
	char path[64];
	GT_ROOT_DIR list = NULL;
	struct dirent *e;
	unsigned int n = 0, minor;
	int64_t fd;

	snprintf(path, sizeof(path), "proc/%u/fd", pid);
	list = gt_root_dir(&sf->root, path);
	sf->clients->stats.processes += list != NULL;
	while (list && (e = readdir(list))) {
		uint16_t dev;

		if (gt_root_number(e->d_name, &fd, NULL) || fd < 0 || fd > INT32_MAX)
			continue;
		if (!*left || n++ == FDS_EACH) {
			sf->clients->stats.cut++;
			return;
		}
		--*left;
		snprintf(path, sizeof(path), "proc/%u/fd/%u", pid, (unsigned int)fd);
		if (!is_drm(sf, dirfd(list), e->d_name, path, &minor))
			continue;
		dev = device_of(sf, minor);
		snprintf(path, sizeof(path), "proc/%u/fdinfo/%u", pid, (unsigned int)fd);
		if (dev != GT_NONE16)
			sf_client_found(sf, pid, (unsigned int)fd, dev, path);
	}
	sf->clients->stats.descriptors += n;
}

void sf_scan_process(struct sf *sf, uint32_t pid)
{
	uint64_t raised = gt_rights(SF_RIGHTS, 0);
	unsigned int left = FDS_EACH;

	look_at(sf, pid, &left);
	gt_rights(0, raised);
}

static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/* In their order: a client belongs to the first who has it, though a folder may be listed in any.
 */
static unsigned int list_processes(struct sf *sf, uint32_t *out)
{
	GT_ROOT_DIR list = gt_root_dir(&sf->root, "proc");
	unsigned int n = 0;
	struct dirent *e;
	int64_t pid;

	while (list && (e = readdir(list))) {
		if (gt_root_number(e->d_name, &pid, NULL) || pid <= 0 || pid > INT32_MAX)
			continue;
		if (n == PROCESSES) {
			sf->clients->stats.cut++;
			break;
		}
		out[n++] = (uint32_t)pid;
	}
	qsort(out, n, sizeof(*out), by_number);
	return n;
}

void sf_scan_all(struct sf *sf)
{
	uint64_t raised = gt_rights(SF_RIGHTS, 0), began = sf->p->host->now(sf->p);
	uint32_t *pid = malloc(PROCESSES * sizeof(*pid));
	unsigned int left = FDS_A_SCAN, n = pid ? list_processes(sf, pid) : 0;

	for (unsigned int i = 0; i < sf->n; i++)
		sf->dev[i].skipped = false;
	for (unsigned int i = 0; i < n; i++)
		look_at(sf, pid[i], &left);
	free(pid);
	gt_rights(0, raised);
	for (unsigned int i = 0; i < sf->n; i++)
		sf->dev[i].unseen = sf->dev[i].skipped;
	sf->clients->scanned = sf->p->host->now(sf->p);
	sf->clients->cost = sf->clients->scanned - began;
	sf->clients->complete = true;
	sf->clients->stats.scans++;
}
