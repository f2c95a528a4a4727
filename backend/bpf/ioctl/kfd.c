/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The compute driver's own list of queues, class/kfd/kfd/proc/PID/queues/NUMBER/{gpuid,size,type}
 * of sysfs (drivers/gpu/drm/amd/amdkfd/kfd_process.c, Linux 6.12). It tells of those that were made
 * before the daemon came, and which have ended while nothing was told.
 */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "internal.h"

/* enum kfd_queue_type, which is not what CREATE_QUEUE takes */
enum { LIST_COMPUTE = 0, LIST_SDMA = 1, LIST_SDMA_XGMI = 4, LIST_SDMA_BY_ENG_ID = 5 };

static void close_dir(DIR **d)
{
	if (*d)
		closedir(*d);
}
#define AUTO_DIR __attribute__((cleanup(close_dir))) DIR *

/* A name that is all digits; 0: another, or more than @max */
static uint32_t number_of(const char *name, uint32_t max)
{
	char *end;
	unsigned long n = strtoul(name, &end, 10);

	return *name < '0' || *name > '9' || *end || n > max ? 0 : (uint32_t)n;
}

static bool is_number(const char *name)
{
	return !strcmp(name, "0") || number_of(name, UINT32_MAX - 1);
}

static bool read_number(const char *dir, const char *name, uint64_t *out)
{
	char path[PATH_MAX];
	FILE *f;
	bool ok;

	if (snprintf(path, sizeof(path), "%s/%s", dir, name) >= (int)sizeof(path))
		return false;
	f = fopen(path, "re");
	ok = f && fscanf(f, "%" SCNu64, out) == 1;
	if (f)
		fclose(f);
	return ok;
}

/* The real user, as a call tells it; GT_NONE32: the process has gone */
static uint32_t uid_of(uint32_t pid)
{
	uint32_t uid = GT_NONE32;
	char path[32], line[128];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%u/status", pid);
	f = fopen(path, "re");
	while (f && uid == GT_NONE32 && fgets(line, sizeof(line), f))
		sscanf(line, "Uid: %" SCNu32, &uid);
	if (f)
		fclose(f);
	return uid;
}

/* What is known of a queue with the files in @dir; false: nothing, as it has gone */
static bool read_queue(const char *dir, struct gt_bpf_queue *r)
{
	uint64_t gpu, type, size;

	if (!read_number(dir, "gpuid", &gpu) || gpu >= GT_NONE32 ||
	    !read_number(dir, "type", &type) || !read_number(dir, "size", &size))
		return false;
	r->kfd_id = (uint32_t)gpu;
	r->size = size < GT_NONE32 ? (uint32_t)size : GT_NONE32;
	if (type == LIST_COMPUTE) {
		r->kind = GT_QUEUE_COMPUTE;
		r->engine = GT_ENGINE_COMPUTE;
	} else if (type == LIST_SDMA || type == LIST_SDMA_XGMI || type == LIST_SDMA_BY_ENG_ID) {
		r->kind = GT_QUEUE_SDMA;
		r->engine = GT_ENGINE_COPY;
	}
	return true;
}

/* Those of process r->pid, in @dir; false: it cannot be told which there are */
static bool look_process(struct gi *gi, const char *dir, struct gt_bpf_queue *r)
{
	char path[PATH_MAX];
	struct gi_queue *q;
	struct dirent *e;
	AUTO_DIR list = opendir(dir);

	if (!list)
		return errno == ENOENT;
	while ((e = readdir(list))) {
		if (!is_number(e->d_name) ||
		    snprintf(path, sizeof(path), "%s/%s", dir, e->d_name) >= (int)sizeof(path))
			continue;
		r->id = (uint32_t)strtoul(e->d_name, NULL, 10);
		q = gi_queue_find(&gi->queues, r->device, r->owner, r->id);
		if (q)
			q->listed = true;
		else if (read_queue(path, r))
			gi_found(gi, r);
	}
	return true;
}

static bool look_all(struct gi *gi, const char *dir, struct gt_bpf_queue *r)
{
	char path[PATH_MAX];
	AUTO_DIR list = opendir(dir);
	struct dirent *e;
	bool all = list;

	while (list && (e = readdir(list))) {
		struct gt_bpf_queue own = *r;

		own.pid = number_of(e->d_name, INT32_MAX);
		own.owner = own.pid;
		if (!own.pid || snprintf(path, sizeof(path), "%s/%s/queues", dir, e->d_name) >=
					(int)sizeof(path))
			continue;
		own.gen = gi->owner(gi, own.pid, true);
		own.uid = uid_of(own.pid);
		if (own.uid != GT_NONE32)
			all &= look_process(gi, path, &own);
	}
	return all;
}

void gi_kfd_look(struct gi *gi, const char *sysfs, uint64_t ts)
{
	int slot = gi_devices_slot(&gi->devices, GT_IOCTL_KFD);
	char dir[PATH_MAX];
	struct gt_bpf_queue r;

	if (slot < 0 ||
	    snprintf(dir, sizeof(dir), "%s/class/kfd/kfd/proc", sysfs) >= (int)sizeof(dir))
		return;
	for (uint32_t i = 0; i < gi->queues.used; i++)
		gi->queues.q[i].listed = false;
	memset(&r, 0xff, sizeof(r));
	r.ts = ts;
	r.what = GT_IQ_CREATE;
	r.device = (uint16_t)slot;
	if (!look_all(gi, dir, &r))
		return;
	for (uint32_t i = 0; i < gi->queues.used; i++) {
		struct gi_queue *q = &gi->queues.q[i];

		if (q->used && !q->listed && q->slot == (uint32_t)slot)
			gi_ended(gi, q, ts);
	}
}
