/* SPDX-License-Identifier: GPL-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "drmfds.h"
#include "naming_internal.h"

/* At most, a second: processes that are looked into, and descriptors, which take 1 us each */
#define LOOKS_A_SECOND 200
#define FDS_A_SECOND   20000
#define FDS_A_LOOK     4096

/* May a source that names no device mean @dev? */
static bool fits(const struct gt_device *dev, const struct gt_gpu_desc *d)
{
	return (!d->driver || !*d->driver || !strcmp(dev->driver, d->driver)) &&
	       (!d->module || gt_device_uses(dev, d->module));
}

static const struct gt_device *device_by(const struct gt_naming *nm, const struct gt_gpu_desc *d)
{
	const struct gt_device *only = NULL;
	unsigned int n = 0;

	for (unsigned int i = 0; i < nm->devices->n; i++) {
		const struct gt_device *dev = &nm->devices->dev[i];

		if (d->dev && *d->dev) {
			if (!strcmp(dev->dev, d->dev) || !strcmp(dev->pci, d->dev))
				return dev;
		} else if (d->minor >= 0) {
			if (gt_device_is(dev, (unsigned int)d->minor))
				return dev;
		} else if (d->kfd_id) {
			if (dev->kfd_id == d->kfd_id)
				return dev;
		} else if (fits(dev, d)) {
			only = dev;
			n++;
		}
	}
	return n == 1 ? only : NULL;
}

/*
 * The driver of a device that sysfs does not list as a GPU: by its bus, else from a name such as
 * "mockgpu.0", as platform devices have.
 */
static void driver_of(const struct gt_gpu_desc *d, bool recording, char *out, size_t len)
{
	static const char *const buses[] = { "pci", "platform" };
	const char *dot = d->dev ? strrchr(d->dev, '.') : NULL;
	char path[128], link[256];

	if (d->driver && *d->driver) {
		snprintf(out, len, "%s", d->driver);
		return;
	}
	snprintf(out, len, "drm");
	if (!d->dev || !*d->dev || strchr(d->dev, '/'))
		return;
	for (size_t i = 0; !recording && i < 2; i++) {
		ssize_t n;
		const char *base;

		snprintf(path, sizeof(path), "/sys/bus/%s/devices/%.64s/driver", buses[i], d->dev);
		n = readlink(path, link, sizeof(link) - 1);
		if (n <= 0)
			continue;
		link[n] = 0;
		base = strrchr(link, '/');
		snprintf(out, len, "%.15s", base ? base + 1 : link);
		return;
	}
	if (dot && dot > d->dev && !strchr(d->dev, ':') && (size_t)(dot - d->dev) < len &&
	    strspn(dot + 1, "0123456789") == strlen(dot + 1))
		snprintf(out, len, "%.*s", (int)(dot - d->dev), d->dev);
}

static bool same_gpu(const struct known *k, const struct gt_gpu_desc *d, bool recording)
{
	if (k->recording != recording || (d->kfd_id && !(d->dev && *d->dev) && d->minor < 0))
		return false;
	if (d->dev && *d->dev)
		return !strncmp(k->dev, d->dev, sizeof(k->dev) - 1);
	if (d->minor >= 0)
		return k->minor == d->minor && (!d->driver || !strcmp(k->driver, d->driver));
	return !*k->dev && k->minor < 0 && !strcmp(k->driver, d->driver ? d->driver : "");
}

/* Directory names are file names: what a hostile recording calls a driver must be one, too. */
static void clean(char *s)
{
	for (; *s; s++)
		if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-", *s))
			*s = '_';
}

void gt_naming_free_name(struct gt_naming *nm, const char *driver, char *out, size_t len)
{
	struct gt_model *m = nm->app->model;

	for (unsigned int n = 0; n <= GT_MAX_GPUS + nm->devices->n; n++) {
		bool taken = false;

		gt_device_name(out, len, driver, n);
		for (unsigned int i = 0; i < m->ngpus; i++)
			taken |= !strcmp(m->gpus[i]->name, out);
		for (unsigned int i = 0; i < nm->devices->n; i++)
			taken |= !strcmp(nm->devices->dev[i].name, out);
		if (!taken)
			return;
	}
}

void gt_naming_fill(struct gt_gpu *g, const struct gt_device *dev)
{
	snprintf(g->driver, sizeof(g->driver), "%s", dev->driver);
	snprintf(g->dev, sizeof(g->dev), "%s", dev->dev);
	snprintf(g->pci, sizeof(g->pci), "%s", dev->pci);
	snprintf(g->card, sizeof(g->card), "%s", dev->card);
	snprintf(g->render, sizeof(g->render), "%s", dev->render);
	snprintf(g->uuid, sizeof(g->uuid), "%s", dev->uuid);
	snprintf(g->partition, sizeof(g->partition), "%s", dev->partition);
	g->kfd_node = dev->kfd_node;
	g->kfd_id = dev->kfd_id;
}

void gt_naming_log(struct gt_app *app, const struct gt_gpu *g)
{
	union gt_record r;

	gt_record_init(&r, 0, GT_GPU_NAME);
	r.gpu_name.gpu = g->id;
	memset(r.gpu_name.name, 0, sizeof(r.gpu_name.name) + sizeof(r.gpu_name.dev));
	snprintf(r.gpu_name.name, sizeof(r.gpu_name.name), "%s", g->name);
	snprintf(r.gpu_name.dev, sizeof(r.gpu_name.dev), "%s", g->dev);
	gt_log_append(app->log, &r);
}

/* May a source that names no device mean GPU @i, which sysfs had? */
static bool may_be(const struct gt_naming *nm, unsigned int i, const struct gt_gpu_desc *d)
{
	return nm->known[i].listed &&
	       (!d->driver || !*d->driver || !strcmp(nm->known[i].driver, d->driver));
}

/* Late events of the only GPU that there was, which has gone: they say no more than its driver. */
static struct gt_gpu *only_gone(const struct gt_naming *nm, const struct gt_gpu_desc *d)
{
	const struct gt_model *m = nm->app->model;
	struct gt_gpu *only = NULL;

	for (unsigned int i = 0; i < m->ngpus; i++) {
		if (!may_be(nm, i, d))
			continue;
		if (only || !m->gpus[i]->gone)
			return NULL;
		only = m->gpus[i];
	}
	return only;
}

/* Of a recording that names devices, all of them before its events: the only one of the driver */
static struct gt_gpu *only_named(const struct gt_naming *nm, const struct gt_gpu_desc *d)
{
	const struct gt_model *m = nm->app->model;
	struct gt_gpu *only = NULL;

	if (!d->driver || !*d->driver)
		return NULL;
	for (unsigned int i = 0; i < m->ngpus; i++) {
		if (m->gpus[i]->any || strcmp(m->gpus[i]->driver, d->driver))
			continue;
		if (only)
			return NULL;
		only = m->gpus[i];
	}
	return only;
}

static struct gt_gpu *make_gpu(struct gt_naming *nm, const struct gt_gpu_desc *d, bool recording)
{
	const struct gt_device *dev = recording ? NULL : device_by(nm, d);
	bool any = !dev && !(d->dev && *d->dev) && d->minor < 0, is_new = false;
	char name[32], driver[16];
	struct gt_gpu *g;

	driver_of(d, recording, driver, sizeof(driver));
	clean(driver);
	g = !any ? NULL : recording ? only_named(nm, d) : only_gone(nm, d);
	if (g)
		return g;
	if (dev)
		snprintf(name, sizeof(name), "%s", dev->name);
	else if (any)
		snprintf(name, sizeof(name), "%.11s-any", driver);
	else
		gt_naming_free_name(nm, driver, name, 16);
	g = gt_model_gpu(nm->app->model, name, &is_new);
	if (!g || !is_new)
		return g;
	if (dev) {
		gt_naming_fill(g, dev);
	} else {
		snprintf(g->driver, sizeof(g->driver), "%s", driver);
		snprintf(g->dev, sizeof(g->dev), "%s", d->dev ? d->dev : "");
		if (d->dev && strlen(d->dev) == 12 && d->dev[4] == ':' && d->dev[7] == ':')
			snprintf(g->pci, sizeof(g->pci), "%.12s", d->dev);
		g->any = any;
	}
	gt_naming_log(nm->app, g);
	return g;
}

/* Of devices that all may be meant: the one of these minors; NULL: none, or several. */
static const struct gt_device *device_open(const struct gt_naming *nm, const struct gt_gpu_desc *d,
					   const unsigned int *minors, int n)
{
	const struct gt_device *found = NULL;

	for (unsigned int i = 0; i < nm->devices->n; i++) {
		const struct gt_device *dev = &nm->devices->dev[i];
		bool open = false;

		for (int k = 0; k < n; k++)
			open |= gt_device_is(dev, minors[k]);
		if (!open || !fits(dev, d))
			continue;
		if (found)
			return NULL;
		found = dev;
	}
	return found;
}

/* One that may be meant has gone: what there is now does not tell whose late events these are. */
static bool one_gone(const struct gt_naming *nm, const struct gt_gpu_desc *d)
{
	const struct gt_model *m = nm->app->model;

	for (unsigned int i = 0; i < m->ngpus; i++)
		if (m->gpus[i]->gone && may_be(nm, i, d))
			return true;
	return false;
}

/* Name on its bus, into @out, of the only device that @d can mean, or the only one of @minors. */
static bool only_device(struct gt_naming *nm, const struct gt_gpu_desc *d,
			const unsigned int *minors, int n, char *out, size_t len)
{
	const struct gt_device *dev;
	GT_MODEL_LOCK(nm->app->model);

	if (minors)
		dev = device_open(nm, d, minors, n);
	else
		dev = one_gone(nm, d) ? NULL : device_by(nm, d);
	if (dev)
		snprintf(out, len, "%s", dev->dev);
	return dev;
}

/* Processes are many, and looking into each costs: bounded, so that nobody can hold up the rest. */
static bool may_look(struct gt_naming *nm)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	if (nm->second != (uint64_t)now.tv_sec) {
		nm->second = (uint64_t)now.tv_sec;
		nm->looks = LOOKS_A_SECOND;
		nm->fds = FDS_A_SECOND;
	}
	return nm->looks && nm->looks-- && nm->fds;
}

/* The minors that @pid has open; none, if they cannot all be told */
static int look_into(struct gt_naming *nm, uint32_t pid, unsigned int *minors, int max)
{
	unsigned int look, left;
	int n;

	if (!may_look(nm))
		return 0;
	look = left = nm->fds < FDS_A_LOOK ? nm->fds : FDS_A_LOOK;
	n = gt_drmfds(pid, minors, max, &left);
	nm->fds -= look - left;
	return n > 0 ? n : 0;
}

static uint16_t by_name(struct gt_naming *nm, const struct gt_gpu_desc *d, bool recording)
{
	struct gt_model *m = nm->app->model;
	uint16_t gone = GT_NONE16;
	struct gt_gpu *g;
	GT_MODEL_LOCK(m);

	/* one that is there before one that has gone: another driver may have its device now */
	for (unsigned int i = 0; i < m->ngpus; i++) {
		if (!same_gpu(&nm->known[i], d, recording))
			continue;
		if (!m->gpus[i]->gone)
			return (uint16_t)i;
		gone = gone == GT_NONE16 ? (uint16_t)i : gone;
	}
	if (gone != GT_NONE16)
		return gone;
	if ((d->listed || d->kfd_id) && (recording || !device_by(nm, d)))
		return GT_NONE16;
	g = make_gpu(nm, d, recording);
	if (!g)
		return GT_NONE16;
	if (!*nm->known[g->id].dev && !*nm->known[g->id].driver) {
		struct known *k = &nm->known[g->id];

		snprintf(k->driver, sizeof(k->driver), "%s", d->driver ? d->driver : "");
		snprintf(k->dev, sizeof(k->dev), "%s", d->dev ? d->dev : "");
		k->minor = d->minor;
		k->recording = recording;
	}
	return g->id;
}

/* The process is looked into with the model unlocked. */
static uint16_t by_submitter(struct gt_naming *nm, const struct gt_gpu_desc *d)
{
	char name[sizeof(((struct gt_device *)0)->dev)];
	struct gt_gpu_desc named = { .driver = d->driver, .dev = name, .minor = -1 };
	unsigned int minors[16];
	int n;

	if (only_device(nm, d, NULL, 0, name, sizeof(name)))
		return by_name(nm, &named, false);
	n = look_into(nm, d->pid, minors, 16);
	if (!n || !only_device(nm, d, minors, n, name, sizeof(name)))
		return GT_NONE16;
	return by_name(nm, &named, false);
}

uint16_t gt_naming_gpu(struct gt_naming *nm, const struct gt_gpu_desc *d, bool recording)
{
	bool named = (d->dev && *d->dev) || d->minor >= 0 || d->kfd_id;

	if (named || !d->pid)
		return by_name(nm, d, recording);
	return recording ? GT_NONE16 : by_submitter(nm, d);
}

uint16_t gt_naming_ring(struct gt_naming *nm, uint16_t gpu, const char *name, enum gt_engine engine)
{
	struct gt_model *m = nm->app->model;
	bool is_new = false;
	union gt_record r;
	struct gt_ring *ring;
	GT_MODEL_LOCK(m);

	if (gpu >= m->ngpus)
		return GT_NONE16;
	if (engine == GT_ENGINE_UNKNOWN)
		engine = gt_engine_guess(name);
	ring = gt_model_ring(m, m->gpus[gpu], name, engine, &is_new);
	if (!ring)
		return GT_NONE16;
	if (is_new) {
		gt_record_init(&r, 0, GT_RING_NAME);
		r.ring_name.gpu = gpu;
		r.ring_name.ring = ring->id;
		r.ring_name.engine = ring->engine;
		memset(r.ring_name.name, 0, sizeof(r.ring_name.name));
		snprintf(r.ring_name.name, sizeof(r.ring_name.name), "%s", ring->name);
		gt_log_append(nm->app->log, &r);
	}
	return ring->id;
}

struct gt_naming *gt_naming_new(struct gt_app *app, struct gt_devices *devices)
{
	struct gt_naming *nm = calloc(1, sizeof(*nm));
	struct gt_devices first = *devices;

	if (!nm)
		return NULL;
	nm->app = app;
	nm->devices = devices;
	pthread_mutex_init(&nm->scanning, NULL);
	*devices = (struct gt_devices){ 0 };
	GT_MODEL_LOCK(app->model);
	gt_naming_adopt(nm, &first);
	return nm;
}

void gt_naming_free(struct gt_naming *nm)
{
	if (!nm)
		return;
	pthread_mutex_destroy(&nm->scanning);
	free(nm);
}
