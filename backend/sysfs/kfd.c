/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What AMD's compute driver tells of the processes that use it: class/kfd/kfd/proc/PID of sysfs
 * (drivers/gpu/drm/amd/amdkfd/kfd_process.c). Their work is in no counter of fdinfo.
 */
#include <stdio.h>
#include <string.h>

#include "client.h"

#define DIR_PROC  "sys/class/kfd/kfd/proc"
#define DIR_NODES "sys/class/kfd/kfd/topology/nodes"
#define PROCESSES 256 /* that a look reads */

static uint64_t number_in(const struct gt_root *root, const char *path)
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

	for (int i = 0; list && i < SF_ENTRIES && (e = readdir(list)); i++) {
		char path[128];
		int64_t node, render;
		uint64_t id;

		if (gt_root_number(e->d_name, &node, NULL))
			continue;
		snprintf(path, sizeof(path), DIR_NODES "/%.16s/gpu_id", e->d_name);
		id = number_in(&sf->root, path);
		render = render_of(&sf->root, e->d_name);
		for (unsigned int k = 0; id && id < GT_NONE32 && render >= 0 && k < sf->n; k++)
			if (sf->dev[k].render == render && !sf->dev[k].kfd_id)
				sf->dev[k].kfd_id = (uint32_t)id;
	}
}

static void read_process(struct sf *sf, uint32_t pid, const struct sf_device *d)
{
	struct gt_use_kfd kfd;
	uint64_t now = sf->p->host->now(sf->p);
	struct gt_usage u = { .gpu = d->gpu, .pid = pid, .since = now, .at = now, .kfd = &kfd };
	char path[128];

	snprintf(path, sizeof(path), DIR_PROC "/%u/vram_%u", pid, d->kfd_id);
	kfd.vram = number_in(&sf->root, path);
	snprintf(path, sizeof(path), DIR_PROC "/%u/sdma_%u", pid, d->kfd_id);
	kfd.sdma_us = number_in(&sf->root, path);
	snprintf(path, sizeof(path), DIR_PROC "/%u/stats_%u/evicted_ms", pid, d->kfd_id);
	kfd.evicted_ms = number_in(&sf->root, path);
	snprintf(path, sizeof(path), DIR_PROC "/%u/stats_%u/cu_occupancy", pid, d->kfd_id);
	kfd.cu_occupancy = number_in(&sf->root, path);
	if (kfd.vram != GT_NONE64 || kfd.sdma_us != GT_NONE64 || kfd.evicted_ms != GT_NONE64)
		sf_tell(sf, &u);
}

void sf_kfd_read(struct sf *sf)
{
	GT_ROOT_DIR list = NULL;
	bool asked[SF_DEVICES], any = false;
	char word[16];
	struct dirent *e;
	int64_t pid;

	for (unsigned int k = 0; k < sf->n; k++) {
		asked[k] =
			sf->dev[k].kfd_id && sf_device_awake(sf, &sf->dev[k], word, sizeof(word));
		any |= asked[k];
	}
	list = any ? gt_root_dir(&sf->root, DIR_PROC) : NULL;
	for (int i = 0; list && i < PROCESSES && (e = readdir(list)); i++) {
		if (gt_root_number(e->d_name, &pid, NULL) || pid <= 0 || pid > INT32_MAX)
			continue;
		for (unsigned int k = 0; k < sf->n; k++)
			if (asked[k])
				read_process(sf, (uint32_t)pid, &sf->dev[k]);
	}
}
