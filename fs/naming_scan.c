/* SPDX-License-Identifier: GPL-2.0 */
/* GPUs that come and go: what sysfs has now against what it had. */
#include <stdio.h>
#include <string.h>
#include <syslog.h>

#include "naming_internal.h"

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
int gt_naming_adopt(struct gt_naming *nm, struct gt_devices *fresh)
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
