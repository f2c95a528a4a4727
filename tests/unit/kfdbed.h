/* SPDX-License-Identifier: GPL-2.0 */
/* A made tree of AMD's compute driver, and a host that keeps what backend/sysfs emits. */
#ifndef GT_TESTS_KFDBED_H
#define GT_TESTS_KFDBED_H

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../../backend/sysfs/sysfs.h"
#include "../lib/tap.h"
#include "../lib/top.h"

#define PROC "sys/class/kfd/kfd/proc"

/* A host that keeps what it gets -------------------------------------------------------------
 */

static union gt_record rec[8192];
static unsigned int nrec;
static uint64_t usages, last_usage_pid;
static const char *better; /* who has the claim on queues */
static int rank_asked;

static void (*meanwhile)(void); /* happens when the time is asked for, once */

static inline uint64_t host_now(struct gt_plugin *p)
{
	void (*now)(void) = meanwhile;
	struct timespec t;

	meanwhile = NULL;
	if (now)
		now();
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}
static inline uint16_t host_gpu(struct gt_plugin *p, const struct gt_gpu_desc *d)
{
	return (uint16_t)d->minor;
}
static inline void host_usage(struct gt_plugin *p, const struct gt_usage *u)
{
	usages++;
	last_usage_pid = u->pid;
}
static inline void host_push(struct gt_plugin *p, const union gt_record *r, size_t n)
{
	for (size_t i = 0; i < n && nrec < 8192; i++)
		rec[nrec++] = r[i];
}
static inline const char *host_claim(struct gt_plugin *p, const char *what, int rank)
{
	rank_asked = rank;
	return rank < 0 ? NULL : better;
}
static size_t rounds, placed; /* reports of places of queues, and how many the last one had */

static inline void host_queues_hw(struct gt_plugin *p, const struct gt_queue_hw *q, size_t n)
{
	rounds++;
	placed = n;
}
static const struct gt_host host = { .now = host_now,
				     .gpu = host_gpu,
				     .usage = host_usage,
				     .push = host_push,
				     .claim = host_claim,
				     .queues_hw = host_queues_hw };
static struct gt_plugin plugin = { .host = &host };

/* A tree -----------------------------------------------------------------------------------------
 */

static inline void shell(const char *fmt, ...)
{
	char cmd[2048];
	va_list ap;
	int n = snprintf(cmd, sizeof(cmd), "cd %s && ", top);

	va_start(ap, fmt);
	vsnprintf(cmd + n, sizeof(cmd) - (size_t)n, fmt, ap);
	va_end(ap);
	if (system(cmd))
		ok(false, "%s", cmd);
}

/* Cards 0 and 1; KFD calls them 100 and 101 */
static inline void make_gpus(void)
{
	for (int i = 0; i < 2; i++) {
		shell("mkdir -p sys/class/drm sys/devices/d%d/drm/card%d "
		      "sys/devices/d%d/drm/renderD%d && ln -s ../../devices/d%d/drm/card%d "
		      "sys/class/drm/card%d && ln -s ../.. sys/devices/d%d/drm/card%d/device && "
		      "ln -s x/amdgpu sys/devices/d%d/driver",
		      i, i, i, 128 + i, i, i, i, i, i, i);
		shell("d=sys/class/kfd/kfd/topology/nodes/%d && mkdir -p $d && echo %d >$d/gpu_id "
		      "&& echo drm_render_minor %d >$d/properties",
		      i + 1, 100 + i, 128 + i);
	}
}

static inline void make_dir(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static inline void make_dir(const char *fmt, ...)
{
	char path[512];
	va_list ap;
	int n = snprintf(path, sizeof(path), "%s/" PROC "/", top);

	va_start(ap, fmt);
	vsnprintf(path + n, sizeof(path) - (size_t)n, fmt, ap);
	va_end(ap);
	for (char *at = path + strlen(top) + 1; (at = strchr(at, '/')); *at++ = '/') {
		*at = '\0';
		mkdir(path, 0755);
	}
	mkdir(path, 0755);
}

static inline void put(int pid, const char *name, const char *text)
{
	char path[512];
	FILE *f;

	snprintf(path, sizeof(path), "%s/" PROC "/%d/%s", top, pid, name);
	f = fopen(path, "w");
	if (!f)
		return;
	fputs(text, f);
	fclose(f);
}

static inline void make_queue(int pid, int number, const char *gpu, const char *type,
			      const char *size)
{
	char name[64];

	make_dir("%d/queues/%d", pid, number);
	snprintf(name, sizeof(name), "queues/%d/gpuid", number);
	put(pid, name, gpu);
	snprintf(name, sizeof(name), "queues/%d/type", number);
	put(pid, name, type);
	snprintf(name, sizeof(name), "queues/%d/size", number);
	put(pid, name, size);
}

/* A folder of queues is of links to one: they are folders of their own by their inodes. */
static inline void link_queue(int pid, int number, const char *to)
{
	char path[512];

	make_dir("%d/queues", pid);
	snprintf(path, sizeof(path), "%s/" PROC "/%d/queues/%d", top, pid, number);
	if (symlink(to, path))
		perror(path);
}

static inline void open_sf(struct sf *sf)
{
	*sf = (struct sf){ .p = &plugin };
	sf->clients = sf_clients_new();
	sf->kfd = sf_kfd_new();
	is(gt_root_open(&sf->root, top), 0, "a tree");
	sf_devices_scan(sf);
	sf_kfd_claim(sf);
}

static inline void close_sf(struct sf *sf)
{
	sf_devices_free(sf);
	sf_clients_free(sf->clients);
	sf_kfd_free(sf->kfd);
	gt_root_close(&sf->root);
}

static inline unsigned int look(struct sf *sf)
{
	nrec = 0;
	sf_kfd_look(sf, false);
	return nrec;
}

static inline unsigned int of_type(unsigned int type)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < nrec; i++)
		n += rec[i].ev.type == type;
	return n;
}

static inline const union gt_record *first(unsigned int type)
{
	for (unsigned int i = 0; i < nrec; i++)
		if (rec[i].ev.type == type)
			return &rec[i];
	return &rec[8191];
}

#endif
