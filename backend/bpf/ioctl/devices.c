/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which devices are GPUs: those that sysfs lists and the daemon knows. class/drm has cards and
 * render nodes, class/kfd the one device of AMD's compute driver, with its numbers of GPUs below
 * it. NVIDIA's driver has its own number of devices, which do not tell their GPU.
 */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"

#define DRM   "/sys/class/drm"
#define KFD   "/sys/class/kfd/kfd"
#define NODES KFD "/topology/nodes"

static void close_dir(DIR **d)
{
	if (*d)
		closedir(*d);
}
#define AUTO_DIR __attribute__((cleanup(close_dir))) DIR *

static uint32_t rdev_of(unsigned int major, unsigned int minor)
{
	return major << 20 | (minor & 0xfffff); /* include/linux/kdev_t.h, MKDEV() */
}

/* First line of a small file; false: there is none */
static bool read_line(const char *path, char *out, size_t len)
{
	FILE *f = fopen(path, "re");
	bool ok;

	if (!f)
		return false;
	ok = fgets(out, (int)len, f);
	fclose(f);
	return ok;
}

/* "226:128" */
static bool read_dev(const char *dir, uint32_t *rdev)
{
	char path[PATH_MAX], text[32];
	unsigned int major, minor;

	snprintf(path, sizeof(path), "%s/dev", dir);
	if (!read_line(path, text, sizeof(text)) || sscanf(text, "%u:%u", &major, &minor) != 2)
		return false;
	*rdev = rdev_of(major, minor);
	return true;
}

static enum gt_ioctl_driver driver_of(const char *dir)
{
	char path[PATH_MAX], link[PATH_MAX];
	const char *base;
	ssize_t n;

	snprintf(path, sizeof(path), "%s/device/driver", dir);
	n = readlink(path, link, sizeof(link) - 1);
	if (n <= 0)
		return GT_IOCTL_BY_NOBODY;
	link[n] = '\0';
	base = strrchr(link, '/');
	return gt_ioctl_driver(base ? base + 1 : link);
}

static struct gi_device *find(struct gi_devices *d, struct gt_ioctl_key key, uint32_t kfd_id)
{
	for (unsigned int i = 0; i < d->n; i++) {
		struct gi_device *dev = &d->dev[i];

		if (dev->kfd_id == kfd_id && dev->key.kind == key.kind && dev->key.rdev == key.rdev)
			return dev;
	}
	return NULL;
}

/* @dev is there: under the slot that it had, or a new one */
static void put(struct gi_devices *d, const struct gi_device *dev)
{
	struct gi_device *to = find(d, dev->key, dev->kfd_id);

	if (!to && d->n == GT_IOCTL_DEVICES) {
		d->refused++;
		return;
	}
	if (!to)
		to = &d->dev[d->n++];
	*to = *dev;
	to->here = true;
}

static uint16_t gpu_listed(const struct gi_devices *d, int minor, uint32_t kfd_id)
{
	struct gt_gpu_desc desc = { .minor = minor, .kfd_id = kfd_id, .listed = true };

	return d->b->p->host->gpu(d->b->p, &desc);
}

/* What is a GPU's is for the daemon to say, which leaves out displays without one. */
static void look_drm(struct gi_devices *d)
{
	char dir[sizeof(DRM) + 264];
	AUTO_DIR list = opendir(DRM);
	struct dirent *e;

	while (list && (e = readdir(list))) {
		struct gi_device dev = { .key.kind = GT_IOCTL_DRM };

		snprintf(dir, sizeof(dir), DRM "/%s", e->d_name);
		if (e->d_name[0] == '.' || !read_dev(dir, &dev.key.rdev))
			continue;
		dev.gpu = gpu_listed(d, (int)(dev.key.rdev & 0xfffff), 0);
		dev.driver = driver_of(dir);
		if (dev.gpu != GT_NONE16)
			put(d, &dev);
	}
}

static void look_kfd(struct gi_devices *d)
{
	struct gi_device dev = { .key.kind = GT_IOCTL_KFD, .driver = GT_IOCTL_BY_KFD };
	char path[sizeof(NODES) + 272], text[32];
	AUTO_DIR list = opendir(NODES);
	struct dirent *e;

	dev.gpu = GT_NONE16;
	if (!read_dev(KFD, &dev.key.rdev))
		return;
	put(d, &dev);
	while (list && (e = readdir(list))) {
		snprintf(path, sizeof(path), NODES "/%s/gpu_id", e->d_name);
		if (e->d_name[0] == '.' || !read_line(path, text, sizeof(text)))
			continue;
		dev.kfd_id = (uint32_t)strtoul(text, NULL, 10);
		dev.gpu = dev.kfd_id ? gpu_listed(d, -1, dev.kfd_id) : GT_NONE16;
		if (dev.gpu != GT_NONE16)
			put(d, &dev);
	}
}

/* One entry for /dev/nvidiactl, by which nearly all calls go, and /dev/nvidia0 and so on: none
 * tells its GPU. nvidia-uvm is another device, whose commands are plain numbers, not of type F. */
static void look_nvidia(struct gi_devices *d)
{
	static const struct gi_device dev = { .key = { GT_IOCTL_NVIDIA, GT_NVIDIA_MAJOR << 20 },
					      .driver = GT_IOCTL_BY_NVIDIA,
					      .gpu = GT_NONE16 };

	if (gb_nvidia_loaded())
		put(d, &dev);
}

/* One word of the hidden option: "d/226/128/amdgpu/0000:04:00.0"; G is KFD's number of a GPU */
static void put_told(struct gi_devices *d, const char *word)
{
	char type, driver[16], name[32];
	unsigned int major, minor;
	struct gt_gpu_desc desc = { .driver = driver, .dev = name, .minor = -1 };
	struct gi_device dev = { .gpu = GT_NONE16 };

	if (sscanf(word, "%c/%u/%u/%15[^/]/%31s", &type, &major, &minor, driver, name) != 5)
		return;
	if (type == 'F')
		minor = 0; /* any */
	else if (type != 'K')
		dev.gpu = d->b->p->host->gpu(d->b->p, &desc);
	dev.key.kind = type == 'd' ? GT_IOCTL_DRM : type == 'F' ? GT_IOCTL_NVIDIA : GT_IOCTL_KFD;
	dev.key.rdev = type == 'G' ? 0 : rdev_of(major, minor);
	dev.driver = type == 'd'   ? gt_ioctl_driver(driver)
		     : type == 'F' ? GT_IOCTL_BY_NVIDIA
				   : GT_IOCTL_BY_KFD;
	dev.kfd_id = type == 'G' ? major : 0;
	put(d, &dev);
}

static void look_told(struct gi_devices *d, const char *list)
{
	char word[96];
	int n;

	for (; sscanf(list, " %95s%n", word, &n) == 1; list += n)
		put_told(d, word);
}

/* Numbers of commands that are wanted on some device that is here */
static void want(const struct gi_devices *d, struct gt_ioctl_config *cfg)
{
	for (unsigned int i = 0; i < d->n; i++) {
		const struct gi_device *dev = &d->dev[i];

		for (uint32_t nr = 0; nr < 256 && dev->here; nr++)
			if (1u << gt_ioctl_what(dev->driver, nr) & cfg->wanted)
				cfg->any[dev->key.kind * 4 + nr / 64] |= 1ull << nr % 64;
	}
}

void gi_devices_tell(const struct gi_devices *d, uint32_t functions)
{
	struct gt_ioctl_config cfg = { .wanted = ~0u, .functions = functions };

	if (d->b->level < 3)
		cfg.wanted &= ~(1u << GT_IOCTL_OTHER);
	want(d, &cfg);
	bpf_map_update_elem(d->config_fd, &(uint32_t){ 0 }, &cfg, BPF_ANY);
	for (unsigned int i = 0; i < d->n; i++) {
		const struct gi_device *dev = &d->dev[i];
		struct gt_ioctl_device to = { (uint16_t)i, (uint16_t)dev->driver };

		if (dev->kfd_id)
			continue;
		if (!dev->here) {
			bpf_map_delete_elem(d->fd, &dev->key);
			continue;
		}
		bpf_map_update_elem(d->fd, &dev->key, &to, BPF_ANY);
	}
}

int gi_devices_slot(const struct gi_devices *d, enum gt_ioctl_kind kind)
{
	for (unsigned int i = 0; i < d->n; i++)
		if (d->dev[i].here && d->dev[i].key.kind == kind && !d->dev[i].kfd_id)
			return (int)i;
	return -1;
}

bool gi_devices_here(const struct gi_devices *d, enum gt_ioctl_kind kind)
{
	return gi_devices_slot(d, kind) >= 0;
}

bool gi_devices_made(const struct gi_devices *d, enum gt_ioctl_driver driver)
{
	for (unsigned int i = 0; i < d->n; i++)
		if (d->dev[i].here && d->dev[i].driver == driver)
			return true;
	return false;
}

void gi_devices_look(struct gi_devices *d)
{
	for (unsigned int i = 0; i < d->n; i++)
		d->dev[i].here = false;
	if (*d->b->o->ioctl_devices) {
		look_told(d, d->b->o->ioctl_devices);
	} else {
		look_drm(d);
		look_kfd(d);
		look_nvidia(d);
	}
}

bool gi_devices_gpu(const struct gi_devices *d, unsigned int slot, uint16_t *gpu)
{
	if (slot >= d->n)
		return false;
	*gpu = d->dev[slot].gpu;
	return true;
}

uint16_t gi_devices_kfd(const struct gi_devices *d, uint32_t id)
{
	for (unsigned int i = 0; i < d->n && id && id != GT_NONE32; i++)
		if (d->dev[i].kfd_id == id)
			return d->dev[i].gpu;
	return GT_NONE16;
}
