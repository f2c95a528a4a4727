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

/* The GPU that folder @name of the nodes is of; 0: none. Node 0 is a CPU */
static uint32_t gpu_of_node(const struct gt_root *root, const char *name)
{
	char path[128];
	int64_t node;
	uint64_t id;

	if (gt_root_number(name, &node, NULL))
		return 0;
	snprintf(path, sizeof(path), DIR_NODES "/%.16s/gpu_id", name);
	id = sf_kfd_number(root, path);
	return id < GT_NONE32 ? (uint32_t)id : 0;
}

void sf_kfd_find(struct sf *sf)
{
	GT_ROOT_DIR list = gt_root_dir(&sf->root, DIR_NODES);
	struct dirent *e;

	for (int i = 0; list && i < SF_ENTRIES && (e = readdir(list)); i++) {
		uint32_t id = gpu_of_node(&sf->root, e->d_name);
		int64_t render = id ? render_of(&sf->root, e->d_name) : -1;

		for (unsigned int k = 0; render >= 0 && k < sf->n; k++)
			if (sf->dev[k].render == render && !sf->dev[k].kfd_id)
				sf->dev[k].kfd_id = id;
	}
}

static bool is_known(const struct sf *sf, uint32_t id)
{
	for (unsigned int i = 0; i < sf->n; i++)
		if (sf->dev[i].kfd_id == id)
			return true;
	return false;
}

bool sf_kfd_all_known(const struct sf *sf)
{
	GT_ROOT_DIR list = gt_root_dir(&sf->root, DIR_NODES);
	struct dirent *e;
	bool any = false;

	for (int i = 0; list && (e = readdir(list)); i++) {
		uint32_t id = gpu_of_node(&sf->root, e->d_name);

		if (i == SF_ENTRIES || (id && !is_known(sf, id)))
			return false;
		any |= id;
	}
	return any;
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

/* In their order, in k->listed. Return: how many, or -errno: nobody knows. @whole: that is all */
static int list(struct sf *sf, bool *whole)
{
	GT_ROOT_DIR dir = gt_root_dir(&sf->root, SF_KFD_PROC);
	struct sf_kfd_proc *out = sf->kfd->listed;
	struct dirent *e;
	unsigned int n = 0;
	int64_t pid;

	if (!dir)
		return errno == ENOENT ? 0 : -errno;
	for (int i = 0; (e = readdir(dir)); i++) {
		if (i == SF_ENTRIES) {
			*whole = false;
			break;
		}
		if (gt_root_number(e->d_name, &pid, NULL) || pid <= 0 || pid > INT32_MAX)
			continue;
		if (!sf->root.captured && pid == getpid()) /* by asking for events */
			continue;
		out[n++] = (struct sf_kfd_proc){ .pid = (uint32_t)pid, .ino = e->d_ino };
	}
	qsort(out, n, sizeof(*out), by_pid);
	return (int)n;
}

/* One that a list had no room for may be there all the same. */
static bool is_there(const struct sf *sf, const struct sf_kfd_proc *p)
{
	char path[64];

	snprintf(path, sizeof(path), SF_KFD_PROC "/%u", p->pid);
	return gt_root_inode(&sf->root, path, false) == p->ino;
}

static void ended(struct sf *sf, struct sf_kfd_proc *p)
{
	sf_kfd_drop(sf, p);
	sf->clients->user[p->user].kfd--;
}

/* Those that were there before keep their queues; those that are no more have none. */
static void keep(struct sf *sf, unsigned int n, bool whole)
{
	struct sf_kfd *k = sf->kfd;
	struct sf_kfd_proc *now = k->listed, *end = now + n;
	unsigned int kept = 0;

	for (unsigned int i = 0; i < k->n; i++) {
		struct sf_kfd_proc *p = &k->proc[i];

		while (now < end && now->pid < p->pid)
			now++;
		if (now < end && now->pid == p->pid)
			now->known = now->ino == p->ino;
		if (now < end && now->pid == p->pid ? now->known : !whole && is_there(sf, p))
			k->proc[kept++] = *p;
		else
			ended(sf, p);
	}
	k->n = kept;
}

/* Others, as long as there is room; a user's many do not keep out another's. */
static void meet(struct sf *sf, unsigned int n, bool whole)
{
	struct sf_kfd *k = sf->kfd;
	unsigned int begin = n ? k->fresh % n : 0, asked = 0;

	for (unsigned int i = 0; i < n; i++) {
		struct sf_kfd_proc *p = &k->listed[(begin + i) % n];
		struct sf_user *user;

		if (p->known)
			continue;
		if (k->n == SF_KFD_PROCS || (k->begun && asked++ == SF_KFD_NEW)) {
			k->fresh = begin + i;
			whole = false;
			break;
		}
		user = sf_user_of(sf, p->pid);
		if (user->uid && user->kfd >= SF_KFD_PROCS / SF_SHARE) {
			whole = false;
			continue;
		}
		user->kfd++;
		p->user = (uint16_t)(user - sf->clients->user);
		k->proc[k->n++] = *p;
	}
	k->stats.cut += !whole;
}

static void update(struct sf *sf)
{
	struct sf_kfd *k = sf->kfd;
	bool whole = true;
	int n = list(sf, &whole);

	if (n < 0)
		return;
	keep(sf, (unsigned int)n, whole);
	meet(sf, (unsigned int)n, whole);
	qsort(k->proc, k->n, sizeof(k->proc[0]), by_pid);
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
	if (sf->kfd->tells) {
		sf_kfd_queues(sf);
		sf_kfd_find_places(sf);
	}
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
