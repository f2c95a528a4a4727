/* SPDX-License-Identifier: GPL-2.0 */
/* The devices that sysfs has, and what is read off them. One that sleeps is not woken. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client.h"
#include "kfd.h"

/* "card12" is 12; anything else -1 */
static int card_of(const char *name)
{
	int64_t n;

	return strncmp(name, "card", 4) || gt_root_number(name + 4, &n, NULL) || n < 0 ||
			       n > 1048575
		       ? -1
		       : (int)n;
}

/* Minor number of the render node of @card; -1: none */
static int render_of(const struct gt_root *root, const char *card)
{
	char path[128];
	GT_ROOT_DIR list = NULL;
	struct dirent *e;
	int64_t n;

	snprintf(path, sizeof(path), "sys/class/drm/%.24s/device/drm", card);
	list = gt_root_dir(root, path);
	for (int i = 0; list && i < SF_ENTRIES && (e = readdir(list)); i++)
		if (!strncmp(e->d_name, "renderD", 7) && !gt_root_number(e->d_name + 7, &n, NULL) &&
		    n >= 0 && n <= 1048575)
			return (int)n;
	return -1;
}

/* vgem and vkms are for tests of programs; what has no render node only shows pictures */
static bool is_gpu(const struct gt_root *root, const char *card)
{
	char path[128], driver[16];

	snprintf(path, sizeof(path), "sys/class/drm/%.24s/device/driver", card);
	gt_root_link(root, path, driver, sizeof(driver));
	return *driver && strcmp(driver, "vgem") && strcmp(driver, "vkms") &&
	       render_of(root, card) >= 0;
}

bool sf_devices_any(const struct gt_root *root)
{
	GT_ROOT_DIR list = gt_root_dir(root, "sys/class/drm");
	struct dirent *e;

	for (int i = 0; list && i < SF_ENTRIES && (e = readdir(list)); i++)
		if (card_of(e->d_name) >= 0 && is_gpu(root, e->d_name))
			return true;
	return false;
}

void sf_devices_free(struct sf *sf)
{
	for (unsigned int i = 0; i < sf->n; i++)
		sf_attrs_free(&sf->dev[i]);
	sf->n = 0;
}

static void add(struct sf *sf, const char *card)
{
	struct gt_gpu_desc desc = { .minor = card_of(card), .listed = true };
	struct sf_device *d = &sf->dev[sf->n];

	if (desc.minor < 0 || !is_gpu(&sf->root, card))
		return;
	*d = (struct sf_device){ .minor = desc.minor, .gpu = sf->p->host->gpu(sf->p, &desc) };
	if (d->gpu == GT_NONE16)
		return;
	d->render = render_of(&sf->root, card);
	snprintf(d->path, sizeof(d->path), "sys/class/drm/%.24s/device", card);
	sf_attrs_find(&sf->root, d);
	sf->n++;
}

bool sf_devices_scan(struct sf *sf)
{
	GT_ROOT_DIR list = gt_root_dir(&sf->root, "sys/class/drm");
	struct sf_device was[SF_DEVICES];
	unsigned int n = sf->n;
	struct dirent *e;
	bool same;

	memcpy(was, sf->dev, sizeof(was));
	sf_devices_free(sf);
	for (int i = 0; list && i < SF_ENTRIES && sf->n < SF_DEVICES && (e = readdir(list)); i++)
		add(sf, e->d_name);
	sf_kfd_find(sf);
	same = sf->n == n;
	for (unsigned int i = 0; same && i < n; i++)
		same = was[i].minor == sf->dev[i].minor && was[i].render == sf->dev[i].render &&
		       was[i].gpu == sf->dev[i].gpu;
	return !same;
}

/*
 * Documentation/power/runtime_pm.rst. Only what is awake may be asked: one that is about to sleep
 * would be kept from it.
 */
bool sf_device_awake(struct sf *sf, const struct sf_device *d, char *word, size_t len)
{
	char path[sizeof(d->path) + 32];

	snprintf(path, sizeof(path), "%s/power/runtime_status", d->path);
	gt_root_word(&sf->root, path, word, len);
	return !*word || !strcmp(word, "active") || !strcmp(word, "unsupported");
}

static void read_device(struct sf *sf, struct sf_device *d)
{
	struct gt_gauge g[GT_GAUGES_MAX];
	uint64_t now = sf->p->host->now(sf->p);
	struct gt_reading r = { .gpu = d->gpu, .has = d->has, .at = now, .gauge = g };
	bool is_awake = sf_device_awake(sf, d, r.power, sizeof(r.power));

	sf->stats.asleep += !is_awake;
	for (unsigned int i = 0; is_awake && i < d->nattrs; i++) {
		struct sf_attr *a = &d->attr[i];

		sf_attr_read(sf, a, sf->p->host->now(sf->p));
		if (a->at + SF_STALE_NS < now)
			continue;
		for (unsigned int k = 0; k < a->n && r.n < GT_GAUGES_MAX; k++)
			g[r.n++] = a->gauge[k];
	}
	sf->p->host->reading(sf->p, &r);
}

void sf_devices_read(struct sf *sf)
{
	for (unsigned int i = 0; i < sf->n; i++)
		read_device(sf, &sf->dev[i]);
}
