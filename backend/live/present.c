/* SPDX-License-Identifier: GPL-2.0 */
/* Which of the event maps' tracepoints this kernel has, and whether any is a GPU's. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "live.h"

bool gt_live_present(void *arg, const char *system, const char *event)
{
	const char *tracefs = arg;
	char path[PATH_MAX];
	bool found = false;
	struct dirent *d;
	DIR *dir;

	if (system) {
		int n = snprintf(path, sizeof(path), "%s/events/%s/%s/enable", tracefs, system,
				 event);

		return n < (int)sizeof(path) && !gt_live_access(path, F_OK);
	}
	snprintf(path, sizeof(path), "%s/events", tracefs);
	dir = opendir(path);
	while (dir && !found && (d = readdir(dir)))
		found = d->d_name[0] != '.' && gt_live_present(arg, d->d_name, event);
	if (dir)
		closedir(dir);
	return found;
}

/* Systems that a kernel may have without any GPU: alone they are no reason to run. */
static bool generic(const char *system)
{
	static const char *const names[] = { "dma_fence",  "fence",    "drm",	"gpu_mem",
					     "sync_trace", "syscalls", "sched", "raw_syscalls",
					     "power",	   "function" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(system, names[i]))
			return true;
	return false;
}

/* The module that brings a system's tracepoints, where its name differs. */
static const char *module_of(const char *system)
{
	static const struct {
		const char *system, *module;
	} names[] = {
		{ "gpu_scheduler", "gpu-sched" }, { "drm_msm_gpu", "msm" },
		{ "drm_msm_atomic", "msm" },	  { "virtio_gpu", "virtio-gpu" },
		{ "amdgpu_dm", "amdgpu" },	  { "amdkfd", "amdgpu" },
		{ "host1x", "tegra-drm" },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(system, names[i].system))
			return names[i].module;
	return system;
}

static bool absent(void *arg, const char *system, const char *event)
{
	return false;
}

/* Adds the module of @system to the list in @buf unless it is there. */
static void add_module(char *buf, size_t len, const char *system)
{
	const char *module = module_of(system);
	size_t used = strlen(buf), n = strlen(module);

	for (const char *at = buf; (at = strstr(at, module)); at += n)
		if ((at == buf || at[-1] == ' ') && (!at[n] || at[n] == ','))
			return;
	if (used + n + 3 < len)
		snprintf(buf + used, len - used, "%s%s", used ? ", " : "", module);
}

static int no_tracepoints(struct gt_plugin *p, struct gt_eventmap *m, char *err, size_t len)
{
	char modules[300] = "";
	struct gt_tp *tp;

	/* Nothing present: no section is left out in favour of another. */
	gt_eventmap_select(m, absent, NULL, 3);
	for (unsigned int i = 0; (tp = gt_eventmap_each(m, i)); i++)
		if (gt_tp_system(tp) && !generic(gt_tp_system(tp)))
			add_module(modules, sizeof(modules), gt_tp_system(tp));
	snprintf(err, len,
		 "this kernel has none of the GPU tracepoints that the event maps in %s name; load "
		 "the GPU's driver (modprobe with one of: %s), then write rescan to control",
		 p->events_dir, modules);
	return -ENOENT;
}

int gt_live_check(struct gt_plugin *p, char *err, size_t len)
{
	char fault[300] = "";
	struct gt_eventmap *m = gt_eventmap_load(p, p->events_dir, fault, sizeof(fault));
	void *tracefs = (void *)(uintptr_t)p->tracefs;
	struct gt_tp *tp;
	bool found = false;
	int ret = 0;

	if (!m) {
		snprintf(err, len, "no event map can be used: %s", fault);
		return -EINVAL;
	}
	gt_eventmap_select(m, gt_live_present, tracefs, 3);
	for (unsigned int i = 0; !found && (tp = gt_eventmap_each(m, i)); i++)
		found = gt_tp_system(tp) && !generic(gt_tp_system(tp)) &&
			gt_live_present(tracefs, gt_tp_system(tp), gt_tp_event(tp));
	if (!found)
		ret = no_tracepoints(p, m, err, len);
	gt_eventmap_free(m);
	return ret;
}

void gt_live_handed_over(struct gt_plugin *p)
{
	uint64_t now = p->host->now(p);
	union gt_record r = { .lost = { .ts = now,
					.type = GT_LOST,
					.cpu = GT_NONE16,
					.gpu = GT_NONE16,
					.ring = GT_NONE16,
					.count = GT_NONE64,
					.since = now,
					.cause = GT_LOST_SOURCE } };

	p->host->push(p, &r, 1);
}
