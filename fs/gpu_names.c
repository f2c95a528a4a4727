/* SPDX-License-Identifier: GPL-2.0 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "devices.h"
#include "gpu_names.h"

/* All of it with the model's lock held. */
/**
 * struct known - how a source named the GPU of one number
 * @listed: sysfs had it: only then can it go
 * @forgotten: gt_gpu.life up to which the kernel has been made to forget its directory
 */
struct known {
	char driver[16], dev[32];
	int minor;
	bool recording, listed;
	uint32_t forgotten;
	uint64_t instance;
};

#define ACCESS_KEPT 16
#define ACCESS_S    10

/** struct user_access - @may user @uid use the device of @node? Known until second @until */
struct user_access {
	uint32_t uid;
	bool may;
	uint64_t until;
	char node[4096 + 32];
};

struct gt_naming {
	struct gt_app *app;
	struct gt_devices *devices; /* guarded by the model's lock, as all here */
	struct known known[GT_MAX_GPUS];
	pthread_mutex_t scanning; /* an older scan never replaces a newer one */
	bool full;
	bool settled;	 /* names are in use: readers get records of new ones, and none changes */
	uint64_t second; /* the one that these are of */
	struct user_access access[ACCESS_KEPT]; /* the ingest thread's */
	unsigned int looks, fds; /* which may still be made in it, into processes and descriptors */
};

static int gt_naming_adopt(struct gt_naming *nm, struct gt_devices *fresh);

/* At most, a second: processes that are looked into, and descriptors, which take 1 us each */
#define LOOKS_A_SECOND 200
#define FDS_A_SECOND   20000
#define FDS_A_LOOK     4096

#define NO_DRIVER "drm" /* where a source names none */

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
	snprintf(out, len, NO_DRIVER);
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

/** gt_naming_free_name() - the name of the driver's lowest number that no GPU ever had */
static void gt_naming_free_name(struct gt_naming *nm, const char *driver, char *out, size_t len)
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

/** gt_naming_fill() - what sysfs has of @g */
static void gt_naming_fill(struct gt_gpu *g, const struct gt_device *dev)
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

/** gt_naming_log() - readers get a record with the name of @g */
static void gt_naming_log(struct gt_app *app, const struct gt_gpu *g)
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
		if (m->gpus[i]->any || m->gpus[i]->unknown || strcmp(m->gpus[i]->driver, d->driver))
			continue;
		if (only)
			return NULL;
		only = m->gpus[i];
	}
	return only;
}

/* Is a recording's GPU of @driver, which no event names, the only one? Of no driver: of all */
static bool only_of(const struct gt_model *m, const char *driver, const struct gt_gpu *but)
{
	for (unsigned int i = 0; i < m->ngpus; i++)
		if (m->gpus[i] != but &&
		    (!strcmp(m->gpus[i]->driver, driver) || !strcmp(driver, NO_DRIVER)))
			return false;
	return true;
}

static void name_any(char *out, size_t len, const char *driver)
{
	snprintf(out, len, "%.11s-any", driver);
}

static struct gt_gpu *make_gpu(struct gt_naming *nm, const struct gt_gpu_desc *d, bool recording)
{
	const struct gt_device *dev = recording ? NULL : device_by(nm, d);
	bool any = !dev && !(d->dev && *d->dev) && d->minor < 0, is_new = false, unknown;
	char name[32], driver[16];
	struct gt_gpu *g;

	driver_of(d, recording, driver, sizeof(driver));
	clean(driver);
	g = !any ? NULL : recording ? only_named(nm, d) : only_gone(nm, d);
	if (g)
		return g;
	unknown = any && recording && only_of(nm->app->model, driver, NULL);
	any = any && !unknown;
	if (dev)
		snprintf(name, sizeof(name), "%s", dev->name);
	else if (any)
		name_any(name, sizeof(name), driver);
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
		g->unknown = unknown;
	}
	if (nm->settled)
		gt_naming_log(nm->app, g);
	return g;
}

/* By PCI address, then by minor, then by first sight; those that have neither come last */
static bool comes_before(const struct gt_naming *nm, const struct gt_gpu *a, const struct gt_gpu *b)
{
	int minor_a = nm->known[a->id].minor, minor_b = nm->known[b->id].minor;

	if (strcmp(a->pci, b->pci))
		return *a->pci && (!*b->pci || strcmp(a->pci, b->pci) < 0);
	if (minor_a != minor_b)
		return minor_a >= 0 && (minor_b < 0 || minor_a < minor_b);
	return a->id < b->id;
}

void gt_naming_settle(struct gt_naming *nm)
{
	struct gt_model *m = nm->app->model;
	GT_MODEL_LOCK(m);

	nm->settled = true;
	for (unsigned int i = 0; i < m->ngpus; i++) {
		struct gt_gpu *g = m->gpus[i];

		if (!g->unknown || only_of(m, g->driver, g))
			continue;
		g->unknown = false;
		g->any = true;
		name_any(g->name, sizeof(g->name), g->driver);
	}
	for (unsigned int i = 0; i < m->ngpus; i++) {
		struct gt_gpu *g = m->gpus[i];
		unsigned int n = 0;

		if (g->any || !nm->known[i].recording)
			continue;
		for (unsigned int k = 0; k < m->ngpus; k++)
			n += !m->gpus[k]->any && nm->known[k].recording &&
			     !strcmp(m->gpus[k]->driver, g->driver) &&
			     comes_before(nm, m->gpus[k], g);
		gt_device_name(g->name, sizeof(g->name), g->driver, n);
		g->gen++;
	}
	m->dir_gen++;
	m->gen++;
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

/* One that may be meant has gone: what there is now does not show which GPU late events are of. */
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

/* The minors that @pid has open; none, if they are not all known */
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

/* The GPU of what users say of GPUs that they may not use, or that are not here */
static uint16_t claimed(struct gt_naming *nm, const struct gt_gpu_desc *d)
{
	char driver[16], name[16];
	struct gt_gpu *g;
	bool is_new;
	GT_MODEL_LOCK(nm->app->model);

	snprintf(driver, sizeof(driver), "%s", d->driver && *d->driver ? d->driver : NO_DRIVER);
	clean(driver);
	snprintf(name, sizeof(name), "%.7s-claimed", driver);
	g = gt_model_gpu(nm->app->model, name, &is_new);
	if (!g)
		return GT_NONE16;
	if (!is_new)
		return g->id;
	snprintf(g->driver, sizeof(g->driver), "%s", driver);
	g->claimed = true;
	snprintf(nm->known[g->id].driver, sizeof(nm->known[g->id].driver), "%s", name);
	nm->known[g->id].minor = -1;
	if (nm->settled)
		gt_naming_log(nm->app, g);
	return g->id;
}

/* Has the process of @d one device open that @d can mean? Then its user may use that, whatever its node says */
static bool has_open(struct gt_naming *nm, const struct gt_gpu_desc *d)
{
	char name[sizeof(((struct gt_device *)0)->dev)];
	unsigned int minors[16];
	int n = look_into(nm, d->pid, minors, 16);

	return n && only_device(nm, d, minors, n, name, sizeof(name));
}

/* The render node of the device that @d means; false: there is no such device here */
static bool node_of(struct gt_naming *nm, const struct gt_gpu_desc *d, char *out, size_t len)
{
	const char *root = nm->app->conf ? nm->app->conf->sysroot : "";
	const struct gt_device *dev;
	GT_MODEL_LOCK(nm->app->model);

	dev = device_by(nm, d);
	if (dev)
		snprintf(out, len, "%s/dev/dri/%s", root, dev->render);
	return dev;
}

/* As of a moment ago: each reading of a file asks for each of its devices */
static bool may_use(struct gt_naming *nm, uint32_t uid, const char *node)
{
	struct user_access *a = &nm->access[uid % ACCESS_KEPT];
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	if (a->uid != uid || strcmp(a->node, node) || (uint64_t)now.tv_sec >= a->until) {
		a->uid = uid;
		a->until = (uint64_t)now.tv_sec + ACCESS_S;
		snprintf(a->node, sizeof(a->node), "%s", node);
		a->may = gt_device_access(node, uid);
	}
	return a->may;
}

uint16_t gt_naming_gpu(struct gt_naming *nm, const struct gt_gpu_desc *d, bool recording)
{
	bool named = (d->dev && *d->dev) || d->minor >= 0 || d->kfd_id, here;
	char node[sizeof(nm->access[0].node)];

	if (!recording && d->uid && d->uid != geteuid()) {
		here = node_of(nm, d, node, sizeof(node));
		if (!here && d->listed)
			return GT_NONE16;
		if ((!here || !may_use(nm, d->uid, node)) && (named || !d->pid || !has_open(nm, d)))
			return claimed(nm, d);
	}
	if (named || !d->pid)
		return by_name(nm, d, recording);
	return recording ? GT_NONE16 : by_submitter(nm, d);
}

void gt_naming_log_ring(struct gt_app *app, const struct gt_ring *ring)
{
	union gt_record r;

	gt_record_init(&r, 0, GT_RING_NAME);
	r.ring_name.gpu = ring->gpu;
	r.ring_name.ring = ring->id;
	r.ring_name.engine = ring->engine;
	memset(r.ring_name.name, 0, sizeof(r.ring_name.name));
	snprintf(r.ring_name.name, sizeof(r.ring_name.name), "%s", ring->name);
	gt_log_append(app->log, &r);
}

uint16_t gt_naming_ring(struct gt_naming *nm, uint16_t gpu, const char *name, enum gt_engine engine)
{
	struct gt_model *m = nm->app->model;
	bool is_new = false;
	struct gt_ring *ring;
	GT_MODEL_LOCK(m);

	if (gpu >= m->ngpus)
		return GT_NONE16;
	if (engine == GT_ENGINE_UNKNOWN)
		engine = gt_engine_guess(name);
	ring = gt_model_ring(m, m->gpus[gpu], name, engine, &is_new);
	if (!ring)
		return GT_NONE16;
	if (is_new)
		gt_naming_log_ring(nm->app, ring);
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
	nm->settled = !app->replay;
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

/* GPUs that come and go: what sysfs has now against what it had. */

/* The GPU that @dev was before, if it was: of its bus name and driver, partitions in their order */
static struct gt_gpu *gpu_of(const struct gt_naming *nm, const struct gt_device *dev,
			     const bool *taken)
{
	struct gt_model *m = nm->app->model;

	for (unsigned int i = 0; i < m->ngpus; i++) {
		const struct known *k = &nm->known[i];

		if (!taken[i] && !k->recording && *k->dev && !strcmp(k->dev, dev->dev) &&
		    !strcmp(m->gpus[i]->driver, dev->driver))
			return m->gpus[i];
	}
	return NULL;
}

static struct gt_gpu *new_gpu(struct gt_naming *nm, struct gt_device *dev)
{
	struct gt_gpu *g;
	bool is_new;

	gt_naming_free_name(nm, dev->driver, dev->name, sizeof(dev->name));
	g = gt_model_gpu(nm->app->model, dev->name, &is_new);
	if (!g && !nm->full)
		syslog(LOG_WARNING, "%s: no room for more than %d GPUs", dev->dev, GT_MAX_GPUS);
	nm->full |= !g;
	return g;
}

static bool same_device(const struct gt_gpu *g, const struct gt_device *dev)
{
	return !strcmp(g->card, dev->card) && !strcmp(g->render, dev->render) &&
	       !strcmp(g->uuid, dev->uuid) && !strcmp(g->partition, dev->partition) &&
	       g->kfd_id == dev->kfd_id && g->kfd_node == dev->kfd_node;
}

/* @dev is GPU @g; true if it has come, or gone and come since it was looked at */
static bool keep(struct gt_naming *nm, struct gt_gpu *g, const struct gt_device *dev)
{
	struct known *k = &nm->known[g->id];
	bool came = !k->listed || g->gone || k->instance != dev->instance;

	if (k->listed && k->instance != dev->instance)
		gt_model_gpu_gone(nm->app->model, g);
	gt_model_gpu_back(nm->app->model, g);
	if (!same_device(g, dev))
		g->gen++;
	gt_naming_fill(g, dev);
	if (!k->listed)
		gt_naming_log(nm->app, g);
	/* a card number is given again: its earlier owner is no longer known by it */
	for (unsigned int i = 0; i < nm->app->model->ngpus; i++)
		if (!nm->known[i].recording && nm->known[i].minor == dev->minor)
			nm->known[i].minor = -1;
	snprintf(k->dev, sizeof(k->dev), "%s", dev->dev);
	snprintf(k->driver, sizeof(k->driver), "%s", dev->driver);
	k->minor = dev->minor;
	k->instance = dev->instance;
	k->listed = true;
	return came;
}

/* Devices keep the names they had, whatever their order among those of now would make of them. */
static int gt_naming_adopt(struct gt_naming *nm, struct gt_devices *fresh)
{
	struct gt_model *m = nm->app->model;
	bool taken[GT_MAX_GPUS] = { false };
	int n = 0;

	for (unsigned int i = 0; i < fresh->n; i++) {
		struct gt_device *dev = &fresh->dev[i];
		struct gt_gpu *g = gpu_of(nm, dev, taken);

		if (g)
			memcpy(dev->name, g->name, sizeof(dev->name));
		else
			g = new_gpu(nm, dev);
		if (!g)
			continue;
		taken[g->id] = true;
		n += keep(nm, g, dev);
	}
	for (unsigned int i = 0; i < m->ngpus; i++) {
		if (taken[i] || !nm->known[i].listed || m->gpus[i]->gone)
			continue;
		gt_model_gpu_gone(m, m->gpus[i]);
		n++;
	}
	gt_devices_free(nm->devices);
	*nm->devices = *fresh;
	*fresh = (struct gt_devices){ 0 };
	return n;
}

int gt_naming_scan(struct gt_naming *nm)
{
	struct gt_devices fresh;
	int ret;

	pthread_mutex_lock(&nm->scanning);
	ret = gt_devices_scan(&fresh, nm->app->conf ? nm->app->conf->sysroot : "");
	if (!ret) {
		GT_MODEL_LOCK(nm->app->model);
		ret = gt_naming_adopt(nm, &fresh);
	}
	pthread_mutex_unlock(&nm->scanning);
	return ret;
}

bool gt_naming_stale(struct gt_naming *nm, struct gt_stale *s)
{
	struct gt_model *m = nm->app->model;
	GT_MODEL_LOCK(m);

	for (s->gpu = 0; s->gpu < m->ngpus; s->gpu++) {
		const struct gt_gpu *g = m->gpus[s->gpu];

		if (g->life == nm->known[s->gpu].forgotten)
			continue;
		s->life = g->life;
		memcpy(s->name, g->name, sizeof(s->name));
		return true;
	}
	return false;
}

void gt_naming_forgotten(struct gt_naming *nm, const struct gt_stale *s)
{
	GT_MODEL_LOCK(nm->app->model);

	nm->known[s->gpu].forgotten = s->life;
}
