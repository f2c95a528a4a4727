/* SPDX-License-Identifier: GPL-2.0 */
/* Can the backend work here? If not: what exactly is in the way, and what to do about it. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "internal.h"

bool ft_present(void *arg, const char *system, const char *event)
{
	const char *tracefs = arg;
	char path[PATH_MAX];
	bool found = false;
	struct dirent *d;
	DIR *dir;

	if (system) {
		int n = snprintf(path, sizeof(path), "%s/events/%s/%s/enable", tracefs, system,
				 event);

		return n < (int)sizeof(path) && !access(path, F_OK);
	}
	snprintf(path, sizeof(path), "%s/events", tracefs);
	dir = opendir(path);
	while (dir && !found && (d = readdir(dir)))
		found = d->d_name[0] != '.' && ft_present(arg, d->d_name, event);
	if (dir)
		closedir(dir);
	return found;
}

/* Systems that a kernel may have without any GPU: alone they are no reason to run. */
static bool generic(const char *system)
{
	static const char *const names[] = { "dma_fence",  "fence",	    "drm",   "gpu_mem",
					     "sync_trace", "syscalls",	    "sched", "raw_syscalls",
					     "power",	   FT_FUNCTION_NAME };

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

static int no_tracepoints(struct gt_plugin *p, struct gt_eventmap *m)
{
	char modules[300] = "";
	struct gt_tp *tp;

	/* Nothing present: no section is left out in favour of another. */
	gt_eventmap_select(m, absent, NULL, 3);
	for (unsigned int i = 0; (tp = gt_eventmap_each(m, i)); i++)
		if (gt_tp_system(tp) && !generic(gt_tp_system(tp)))
			add_module(modules, sizeof(modules), gt_tp_system(tp));
	return p->host->error(p, ENOENT,
			      "this kernel has none of the GPU tracepoints that the event maps in "
			      "%s name; load the GPU's driver (modprobe with one of: %s), then "
			      "write rescan to control",
			      p->events_dir, modules);
}

static int check_tracepoints(struct gt_plugin *p)
{
	char err[300] = "";
	struct gt_eventmap *m = gt_eventmap_load(p, p->events_dir, err, sizeof(err));
	struct gt_tp *tp;
	bool found = false;
	int ret = 0;

	if (!m)
		return p->host->error(p, EINVAL, "no event map can be used: %s", err);
	gt_eventmap_select(m, ft_present, (void *)(uintptr_t)p->tracefs, 3);
	for (unsigned int i = 0; !found && (tp = gt_eventmap_each(m, i)); i++)
		found = gt_tp_system(tp) && !generic(gt_tp_system(tp)) &&
			ft_present((void *)(uintptr_t)p->tracefs, gt_tp_system(tp),
				   gt_tp_event(tp));
	if (!found)
		ret = no_tracepoints(p, m);
	gt_eventmap_free(m);
	return ret;
}

static bool locked_down(void)
{
	ft_auto_free char *text = ft_read("/sys/kernel/security", "lockdown", NULL);

	return text && strstr(text, "[confidentiality]");
}

/* Why tracefs cannot be used, after @err of trying. */
static int refused(struct gt_plugin *p, int err, const char *path)
{
	if (locked_down())
		return p->host->error(p, EPERM,
				      "the kernel is locked down (confidentiality), which forbids "
				      "tracing; boot with lockdown=integrity, or Secure Boot off");
	if (err == EACCES || err == EPERM)
		return p->host->error(p, err,
				      "%s may not be used by uid %u; mount as root, or with "
				      "CAP_DAC_OVERRIDE",
				      path, (unsigned int)geteuid());
	return p->host->error(p, err, "%s: %s; this kernel may lack CONFIG_TRACING", path,
			      strerror(err));
}

/* Faults that need no kernel to be found */
static int check_options(struct gt_plugin *p)
{
	const struct ft_options *o = p->options;
	ft_auto_free struct ft_filter *f = NULL;
	char err[400] = "";
	int ret = o->functions ? ft_filter_parse(o->functions, &f, err, sizeof(err)) : 0;

	return ret ? p->host->error(p, -ret, "%s", err) : 0;
}

int ft_probe(struct gt_plugin *p)
{
	static const char *const files[] = { "events/header_page", "trace_clock" };
	char path[PATH_MAX];
	int ret = check_options(p);

	if (ret)
		return ret;
	if (!p->tracefs)
		return p->host->error(p, ENOENT,
				      "tracefs is not mounted: mount -t tracefs nodev "
				      "/sys/kernel/tracing");
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		ft_auto_close int fd = -1;

		snprintf(path, sizeof(path), "%s/%s", p->tracefs, files[i]);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			return refused(p, errno, path);
	}
	snprintf(path, sizeof(path), "%s/instances", p->tracefs);
	if (access(path, W_OK | X_OK))
		return refused(p, errno, path);
	return check_tracepoints(p);
}
