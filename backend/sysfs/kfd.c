/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What AMD's compute driver tells of the processes that use it: class/kfd/kfd/proc/PID of sysfs
 * (drivers/gpu/drm/amd/amdkfd/kfd_process.c). Their work is in no counter of fdinfo.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client.h"
#include "kfd.h"

#define DIR_NODES "sys/class/kfd/kfd/topology/nodes"

uint64_t sf_kfd_number(const struct gt_root *root, const char *path)
{
	char text[32];
	int64_t n;

	/* some are without a line's end */
	if (gt_root_read(root, path, text, sizeof(text)) <= 0 || gt_root_number(text, &n, NULL) ||
	    n < 0)
		return GT_NONE64;
	return (uint64_t)n;
}

/* "drm_render_minor 128" of a node's properties; -1: none */
static int64_t render_of(const struct gt_root *root, const char *node)
{
	static const char key[] = "drm_render_minor ";
	char path[128], text[4096];
	const char *line;
	int64_t n;

	snprintf(path, sizeof(path), DIR_NODES "/%.16s/properties", node);
	gt_root_read(root, path, text, sizeof(text));
	line = strstr(text, key);
	return line && !gt_root_number(line + sizeof(key) - 1, &n, NULL) ? n : -1;
}

void sf_kfd_find(struct sf *sf)
{
	GT_ROOT_DIR list = gt_root_dir(&sf->root, DIR_NODES);
	struct dirent *e;

	sf->kfd_nodes = 0;
	for (int i = 0; list && i < SF_ENTRIES && (e = readdir(list)); i++) {
		char path[128];
		int64_t node, render;
		uint64_t id;

		if (gt_root_number(e->d_name, &node, NULL))
			continue;
		snprintf(path, sizeof(path), DIR_NODES "/%.16s/gpu_id", e->d_name);
		id = sf_kfd_number(&sf->root, path);
		render = render_of(&sf->root, e->d_name);
		sf->kfd_nodes += id && id < GT_NONE32; /* node 0 is a CPU */
		for (unsigned int k = 0; id && id < GT_NONE32 && render >= 0 && k < sf->n; k++)
			if (sf->dev[k].render == render && !sf->dev[k].kfd_id)
				sf->dev[k].kfd_id = (uint32_t)id;
	}
}

void sf_kfd_tell(struct sf *sf, uint32_t pid, const struct sf_device *d, bool anyway)
{
	struct gt_use_kfd kfd;
	uint64_t now = sf->p->host->now(sf->p);
	struct gt_usage u = { .gpu = d->gpu, .pid = pid, .since = now, .at = now, .kfd = &kfd };
	char path[128];

	snprintf(path, sizeof(path), SF_KFD_PROC "/%u/vram_%u", pid, d->kfd_id);
	kfd.vram = sf_kfd_number(&sf->root, path);
	snprintf(path, sizeof(path), SF_KFD_PROC "/%u/sdma_%u", pid, d->kfd_id);
	kfd.sdma_us = sf_kfd_number(&sf->root, path);
	snprintf(path, sizeof(path), SF_KFD_PROC "/%u/stats_%u/evicted_ms", pid, d->kfd_id);
	kfd.evicted_ms = sf_kfd_number(&sf->root, path);
	snprintf(path, sizeof(path), SF_KFD_PROC "/%u/stats_%u/cu_occupancy", pid, d->kfd_id);
	kfd.cu_occupancy = sf_kfd_number(&sf->root, path);
	if (anyway || kfd.vram != GT_NONE64 || kfd.sdma_us != GT_NONE64 ||
	    kfd.evicted_ms != GT_NONE64)
		sf_tell(sf, &u);
}

static int by_pid(const void *a, const void *b)
{
	const struct sf_kfd_proc *x = a, *y = b;

	return (x->pid > y->pid) - (x->pid < y->pid);
}

/* In their order. Return: how many, or -errno: nobody knows */
static int list(struct sf *sf, struct sf_kfd_proc *out)
{
	GT_ROOT_DIR dir = gt_root_dir(&sf->root, SF_KFD_PROC);
	struct dirent *e;
	unsigned int n = 0;
	int64_t pid;

	if (!dir)
		return errno == ENOENT ? 0 : -errno;
	for (int i = 0; i < SF_ENTRIES && (e = readdir(dir)); i++) {
		if (gt_root_number(e->d_name, &pid, NULL) || pid <= 0 || pid > INT32_MAX)
			continue;
		if (!sf->root.captured && pid == getpid()) /* by asking for events */
			continue;
		if (n == SF_KFD_PROCS) {
			sf->kfd->stats.cut++;
			break;
		}
		out[n++] = (struct sf_kfd_proc){ .pid = (uint32_t)pid, .ino = e->d_ino };
	}
	qsort(out, n, sizeof(*out), by_pid);
	return (int)n;
}

/* Those that were there before keep their queues; those that are no more have none. */
static void update(struct sf *sf)
{
	struct sf_kfd *k = sf->kfd;
	struct sf_kfd_proc now[SF_KFD_PROCS];
	int listed = list(sf, now);
	unsigned int n = (unsigned int)listed, old = 0;

	if (listed < 0)
		return;
	for (unsigned int i = 0; i < n; i++) {
		for (; old < k->n && k->proc[old].pid < now[i].pid; old++)
			sf_kfd_drop(sf, &k->proc[old]);
		if (old == k->n || k->proc[old].pid != now[i].pid)
			continue;
		if (k->proc[old].ino == now[i].ino)
			now[i].first = k->proc[old].first;
		else
			sf_kfd_drop(sf, &k->proc[old]);
		old++;
	}
	for (; old < k->n; old++)
		sf_kfd_drop(sf, &k->proc[old]);
	memcpy(k->proc, now, n * sizeof(*now));
	k->n = n;
}

/* What processes use of the devices that are awake; of some, the rest in turn */
static void tell_some(struct sf *sf)
{
	struct sf_kfd *k = sf->kfd;
	const struct sf_device *d[SF_DEVICES];
	unsigned int n = 0, pairs;
	char word[16];

	for (unsigned int i = 0; k->n && i < sf->n; i++)
		if (sf->dev[i].kfd_id && sf_device_awake(sf, &sf->dev[i], word, sizeof(word)))
			d[n++] = &sf->dev[i];
	pairs = k->n * n;
	for (unsigned int i = 0; i < (pairs > SF_KFD_ALL ? SF_KFD_PAIRS : pairs); i++) {
		unsigned int at = k->pair++ % pairs;

		sf_kfd_tell(sf, k->proc[at / n].pid, d[at % n], false);
	}
}

void sf_kfd_look(struct sf *sf, bool numbers)
{
	bool any = sf->kfd->n;

	for (unsigned int i = 0; i < sf->n; i++)
		any |= sf->dev[i].kfd_id != 0;
	if (!any)
		return;
	sf->kfd->stats.looks++;
	update(sf);
	if (numbers)
		tell_some(sf);
	if (sf->kfd->tells)
		sf_kfd_queues(sf);
	sf_kfd_flush(sf);
}

struct sf_kfd *sf_kfd_new(void)
{
	return calloc(1, sizeof(struct sf_kfd));
}

void sf_kfd_free(struct sf_kfd *k)
{
	if (k)
		free(k->table);
	free(k);
}
