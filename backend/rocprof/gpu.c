/* SPDX-License-Identifier: GPL-2.0 */
/* Devices and queues as results call them, and as the tree does. */
#include "internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define QUEUES	   1024
#define LIVE_QUEUE (1u << 30) /* ids of queues from results begin there beside the machine's own   \
			       */

static struct rp_place *find(struct rp_places *pl, uint16_t group, uint64_t key)
{
	struct rp_place *last = &pl->place[pl->last];

	if (pl->n && last->key == key && last->group == group)
		return last;
	for (unsigned int i = 0; i < pl->n; i++)
		if (pl->place[i].key == key && pl->place[i].group == group) {
			pl->last = i;
			return &pl->place[i];
		}
	return NULL;
}

static uint16_t add(struct rp_places *pl, uint16_t group, uint64_t key, uint16_t gpu)
{
	if (pl->n == RP_AGENTS) {
		pl->refused++;
		return GT_NONE16;
	}
	pl->place[pl->n++] = (struct rp_place){ .group = group, .gpu = gpu, .key = key };
	return gpu;
}

/* KFD's location_id is bus, device and function; the bits above tell a partition */
static uint16_t by_location(struct gt_plugin *p, const struct rp_agent *a)
{
	struct gt_gpu_desc d = { .driver = "amdgpu", .minor = -1, .listed = !p->recording };
	uint64_t domain = a->domain == GT_NONE64 ? 0 : a->domain & 0xffff;
	char dev[32];
	uint16_t gpu = GT_NONE16;

	if (!p->recording && a->gpu_id && a->gpu_id < GT_NONE32) {
		d.kfd_id = (uint32_t)a->gpu_id;
		gpu = p->host->gpu(p, &d);
	}
	if (gpu != GT_NONE16 || a->location == GT_NONE64)
		return gpu;
	snprintf(dev, sizeof(dev), "%04x:%02x:%02x.%x", (unsigned int)domain,
		 (unsigned int)(a->location >> 8 & 0xff), (unsigned int)(a->location >> 3 & 0x1f),
		 (unsigned int)(a->location & 7));
	d.kfd_id = 0;
	d.dev = dev;
	return p->host->gpu(p, &d);
}

/* Where no table of devices tells, the agent's number is that of its node on this machine */
static uint16_t of_node(struct gt_plugin *p, uint64_t node)
{
	struct gt_gpu_desc d = { .driver = "amdgpu", .minor = -1, .listed = true };
	char path[96];
	FILE *f;

	if (node > 1024)
		return GT_NONE16;
	snprintf(path, sizeof(path), "/sys/class/kfd/kfd/topology/nodes/%u/gpu_id",
		 (unsigned int)node);
	f = fopen(path, "re");
	if (f && fscanf(f, "%u", &d.kfd_id) != 1)
		d.kfd_id = 0;
	if (f)
		fclose(f);
	return d.kfd_id ? p->host->gpu(p, &d) : GT_NONE16;
}

void rp_place_agent(struct rp_places *pl, uint16_t group, const struct rp_agent *a)
{
	const struct gt_gpu_desc any = { .driver = "amdgpu", .minor = -1 };
	uint16_t gpu = GT_NONE16;

	if (a->key == GT_NONE64 || find(pl, group, a->key))
		return;
	if (a->gpu)
		gpu = by_location(pl->p, a);
	if (a->gpu && gpu == GT_NONE16) /* another machine's */
		gpu = pl->p->host->gpu(pl->p, &any);
	add(pl, group, a->key, gpu);
}

/* The only GPU that the run told of; GT_NONE16: none, or several */
static uint16_t only_one(const struct rp_places *pl, uint16_t group)
{
	uint16_t gpu = GT_NONE16;

	for (unsigned int i = 0; i < pl->n; i++) {
		if (pl->place[i].group != group || pl->place[i].gpu == GT_NONE16)
			continue;
		if (gpu != GT_NONE16 && gpu != pl->place[i].gpu)
			return GT_NONE16;
		gpu = pl->place[i].gpu;
	}
	return gpu;
}

uint16_t rp_place_gpu(struct rp_places *pl, uint16_t group, uint64_t key)
{
	struct gt_gpu_desc d = { .driver = "amdgpu", .minor = -1 };
	const struct rp_place *known = find(pl, group, key);
	char dev[32];
	uint16_t gpu;

	if (known)
		return known->gpu;
	gpu = key == GT_NONE64 ? only_one(pl, group) : GT_NONE16;
	if (gpu != GT_NONE16)
		return gpu; /* of others it may learn yet */
	snprintf(dev, sizeof(dev), "agent%llu", (unsigned long long)key);
	if (pl->p->recording && key != GT_NONE64)
		d.dev = dev;
	gpu = pl->p->recording ? GT_NONE16 : of_node(pl->p, key);
	if (gpu != GT_NONE16)
		return add(pl, group, key, gpu);
	return add(pl, group, key, pl->p->host->gpu(pl->p, &d));
}

uint16_t rp_place_any(struct rp_places *pl, uint16_t group, uint64_t key)
{
	if (!find(pl, group, key))
		for (unsigned int i = 0; i < pl->n; i++)
			if (pl->place[i].key == key && pl->place[i].gpu != GT_NONE16)
				return pl->place[i].gpu;
	return rp_place_gpu(pl, group, key);
}

static bool same_queue(const struct rp_queue *q, uint16_t group, uint16_t gpu, uint64_t handle,
		       uint32_t pid, uint32_t uid)
{
	return q->handle == handle && q->pid == pid && q->uid == uid && q->gpu == gpu &&
	       q->group == group;
}

uint32_t rp_place_queue(struct rp_places *pl, uint16_t group, uint16_t gpu, uint64_t handle,
			uint32_t pid, uint32_t uid, bool *is_new)
{
	uint32_t first = pl->p->recording ? 1 : LIVE_QUEUE + pl->queue_base % LIVE_QUEUE;

	*is_new = false;
	if (handle == GT_NONE64)
		return GT_NONE32;
	if (!pl->queue)
		pl->queue = calloc(QUEUES, sizeof(*pl->queue));
	if (pl->nqueues && same_queue(&pl->queue[pl->last_queue], group, gpu, handle, pid, uid))
		return first + pl->last_queue;
	for (unsigned int i = 0; i < pl->nqueues; i++)
		if (same_queue(&pl->queue[i], group, gpu, handle, pid, uid)) {
			pl->last_queue = i;
			return first + i;
		}
	if (!pl->queue || pl->nqueues == QUEUES) {
		pl->refused++;
		return GT_NONE32;
	}
	pl->queue[pl->nqueues] = (struct rp_queue){ handle, pid, uid, gpu, group };
	*is_new = true;
	return first + pl->nqueues++;
}
