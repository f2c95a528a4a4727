/* SPDX-License-Identifier: GPL-2.0 */
/*
 * GPUs as sysfs tells of them: class/drm has every device with a DRM driver, bus/pci/drivers/nvidia
 * those of NVIDIA's own where nvidia-drm is not loaded, class/kfd/kfd/topology the numbers that
 * ROCm gives them.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "devices.h"

#define DEVICES_MAX 256 /* a bound on what is read, not on what there can be */

static void close_dir(DIR **d)
{
	if (*d)
		closedir(*d);
}
#define AUTO_DIR __attribute__((cleanup(close_dir))) DIR *

/*
 * 0, with *@d NULL, if there is no such folder: a device comes and goes while it is read. Anything
 * else, such as no descriptor left, says nothing about what there is.
 */
static int open_dir(DIR **d, const char *path)
{
	*d = opendir(path);
	return *d || errno == ENOENT || errno == ENOTDIR || errno == ENODEV ? 0 : -errno;
}

void gt_device_name(char *out, unsigned long len, const char *driver, unsigned int n)
{
	size_t dl = strlen(driver);
	char number[16];
	int nl;

	nl = snprintf(number, sizeof(number), "%s%u",
		      dl && driver[dl - 1] >= '0' && driver[dl - 1] <= '9' ? "-" : "", n);
	/* a driver's name is cut rather than its number: that one tells devices apart */
	if (dl + (size_t)nl + 1 > len)
		dl = len > (size_t)nl ? len - (size_t)nl - 1 : 0;
	snprintf(out, len, "%.*s%s", (int)dl, driver, number);
}

/* "card12" with prefix "card" is 12; anything else -1 */
static int numbered(const char *name, const char *prefix)
{
	size_t n = strlen(prefix);
	char *end;
	long v;

	if (strncmp(name, prefix, n) || name[n] < '0' || name[n] > '9')
		return -1;
	v = strtol(name + n, &end, 10);
	return *end || v > 1048575 ? -1 : (int)v;
}

/* 0000:04:00.0 */
static bool is_pci(const char *s, size_t n)
{
	static const char shape[] = "xxxx:xx:xx.x";

	if (n != sizeof(shape) - 1)
		return false;
	for (size_t i = 0; i < n; i++)
		if (shape[i] == 'x' ? !strchr("0123456789abcdef", s[i]) : s[i] != shape[i])
			return false;
	return true;
}

/* The nearest PCI device at or above @path: a virtio GPU is a child of one. */
static void find_pci(char out[16], const char *path)
{
	const char *end = path + strlen(path), *from;

	for (; end > path; end = from - 1) {
		from = memrchr(path, '/', (size_t)(end - path));
		if (!from++)
			return;
		if (is_pci(from, (size_t)(end - from))) {
			snprintf(out, 16, "%.*s", (int)(end - from), from);
			return;
		}
	}
}

static void base_of_link(char *out, size_t len, const char *path)
{
	char target[PATH_MAX];
	ssize_t n = readlink(path, target, sizeof(target) - 1);
	const char *slash;

	if (n <= 0)
		return;
	target[n] = '\0';
	slash = strrchr(target, '/');
	snprintf(out, len, "%.*s", (int)len - 1, slash ? slash + 1 : target);
}

/* First line of a small file without its end; "" if there is none */
static void read_word(char *out, size_t len, const char *path)
{
	FILE *f = fopen(path, "re");

	out[0] = '\0';
	if (!f)
		return;
	if (fgets(out, (int)len, f))
		out[strcspn(out, " \t\r\n")] = '\0';
	else
		out[0] = '\0';
	fclose(f);
}

static int find_render(char *out, size_t len, const char *device)
{
	char path[PATH_MAX + 8];
	struct dirent *e;
	AUTO_DIR d = NULL;
	int ret;

	snprintf(path, sizeof(path), "%s/drm", device);
	ret = open_dir(&d, path);
	while (d && (e = readdir(d)))
		if (numbered(e->d_name, "renderD") >= 0)
			snprintf(out, len, "%.*s", (int)len - 1, e->d_name);
	return ret;
}

/* sysfs gives an entry a new inode number each time it is made (kernfs_get_ino) */
static uint64_t instance_of(const char *path, bool follow)
{
	struct stat st;

	return fstatat(AT_FDCWD, path, &st, follow ? 0 : AT_SYMLINK_NOFOLLOW) ? 0 : st.st_ino;
}

static struct gt_device *append(struct gt_devices *d)
{
	struct gt_device *dev;

	if (d->n >= DEVICES_MAX)
		return NULL;
	dev = realloc(d->dev, (d->n + 1) * sizeof(*dev));
	if (!dev)
		return NULL;
	d->dev = dev;
	dev += d->n++;
	memset(dev, 0, sizeof(*dev));
	dev->minor = -1;
	return dev;
}

/* vgem and vkms are drivers for tests; the first has a render node all the same. */
static bool is_gpu(const struct gt_device *dev)
{
	return dev->render[0] && dev->driver[0] && strcmp(dev->driver, "vgem") &&
	       strcmp(dev->driver, "vkms");
}

/* ROCm's name of an AMD GPU, as rocminfo prints it, from amdgpu's unique_id (amdgpu_pm.c) */
static void find_amd_uuid(struct gt_device *dev, const char *device)
{
	char path[PATH_MAX + 16], id[32];

	snprintf(path, sizeof(path), "%s/unique_id", device);
	read_word(id, sizeof(id), path);
	if (id[0])
		snprintf(dev->uuid, sizeof(dev->uuid), "GPU-%s", id);
}

static void find_driver(struct gt_device *dev, const char *device)
{
	char link[PATH_MAX + 300];

	snprintf(link, sizeof(link), "%s/driver", device);
	base_of_link(dev->driver, sizeof(dev->driver), link);
	snprintf(link, sizeof(link), "%s/driver/module", device);
	base_of_link(dev->module, sizeof(dev->module), link);
}

/*
 * A virtio GPU's card hangs below the device that carries virtio, which has the driver virtio-pci: the
 * GPU, as its own events call it, is that one's child (virtgpu_drv.c).
 */
static int find_virtio(struct gt_device *dev, const char *device)
{
	char child[PATH_MAX + 272];
	struct dirent *e;
	AUTO_DIR d = NULL;
	int ret;

	if (strncmp(dev->driver, "virtio-", 7))
		return 0;
	ret = open_dir(&d, device);
	while (d && (e = readdir(d))) {
		if (numbered(e->d_name, "virtio") < 0)
			continue;
		snprintf(dev->dev, sizeof(dev->dev), "%.31s", e->d_name);
		snprintf(child, sizeof(child), "%s/%s", device, e->d_name);
		find_driver(dev, child);
	}
	return ret;
}

static int add_card(struct gt_devices *d, const char *sysfs, const char *card)
{
	char path[PATH_MAX], device[PATH_MAX];
	struct gt_device dev = { .minor = numbered(card, "card") }, *to;
	int ret;

	snprintf(path, sizeof(path), "%s/class/drm/%s/device", sysfs, card);
	if (dev.minor < 0 || !realpath(path, device))
		return 0;
	*strrchr(path, '/') = '\0';
	dev.instance = instance_of(path, true);
	snprintf(dev.card, sizeof(dev.card), "%.15s", card);
	snprintf(dev.dev, sizeof(dev.dev), "%.31s", strrchr(device, '/') + 1);
	find_driver(&dev, device);
	ret = find_virtio(&dev, device);
	if (!ret)
		ret = find_render(dev.render, sizeof(dev.render), device);
	find_pci(dev.pci, device);
	if (ret || !is_gpu(&dev))
		return ret;
	find_amd_uuid(&dev, device);
	to = append(d);
	if (!to)
		return -ENOMEM;
	*to = dev;
	return 0;
}

static int scan_drm(struct gt_devices *d, const char *sysfs)
{
	char path[PATH_MAX];
	struct dirent *e;
	AUTO_DIR dir = NULL;
	int ret;

	snprintf(path, sizeof(path), "%s/class/drm", sysfs);
	ret = open_dir(&dir, path);
	while (dir && !ret && (e = readdir(dir)))
		ret = add_card(d, sysfs, e->d_name);
	return ret;
}

static struct gt_device *by_pci(struct gt_devices *d, const char *pci)
{
	for (unsigned int i = 0; i < d->n; i++)
		if (!strcmp(d->dev[i].pci, pci))
			return &d->dev[i];
	return NULL;
}

/* Line "GPU UUID: GPU-…" of the proprietary driver's own file, beside sysfs */
static void find_nvidia_uuid(struct gt_device *dev, const char *sysfs)
{
	char path[PATH_MAX], line[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/../proc/driver/nvidia/gpus/%s/information", sysfs,
		 dev->pci);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		sscanf(line, "GPU UUID: %47s", dev->uuid);
	if (f)
		fclose(f);
}

static int add_nvidia(struct gt_devices *d, const char *sysfs, const char *pci)
{
	struct gt_device *dev = by_pci(d, pci);
	char link[PATH_MAX];

	if (!dev) {
		dev = append(d);
		if (!dev)
			return -ENOMEM;
		snprintf(dev->driver, sizeof(dev->driver), "nvidia");
		snprintf(dev->pci, sizeof(dev->pci), "%.12s", pci);
		snprintf(dev->dev, sizeof(dev->dev), "%.12s", pci);
		snprintf(link, sizeof(link), "%s/bus/pci/drivers/nvidia/%s", sysfs, pci);
		dev->instance = instance_of(link, false);
	}
	find_nvidia_uuid(dev, sysfs);
	return 0;
}

static int scan_nvidia(struct gt_devices *d, const char *sysfs)
{
	char path[PATH_MAX];
	struct dirent *e;
	AUTO_DIR dir = NULL;
	int ret;

	snprintf(path, sizeof(path), "%s/bus/pci/drivers/nvidia", sysfs);
	ret = open_dir(&dir, path);
	while (dir && !ret && (e = readdir(dir)))
		if (is_pci(e->d_name, strlen(e->d_name)))
			ret = add_nvidia(d, sysfs, e->d_name);
	return ret;
}

/* "drm_render_minor 128" of a node's properties; the key to the DRM device */
static int render_minor_of(const char *node)
{
	char path[PATH_MAX + 300], line[128];
	int minor = -1;
	FILE *f;

	snprintf(path, sizeof(path), "%s/properties", node);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		sscanf(line, "drm_render_minor %d", &minor);
	if (f)
		fclose(f);
	return minor;
}

static void match_kfd(struct gt_devices *d, const char *node)
{
	char path[PATH_MAX + 300], id[32];
	unsigned long v;
	int minor;

	snprintf(path, sizeof(path), "%s/gpu_id", node);
	read_word(id, sizeof(id), path);
	v = strtoul(id, NULL, 10);
	minor = render_minor_of(node);
	if (!v || v > UINT32_MAX || minor < 0)
		return; /* gpu_id 0 is a CPU */
	for (unsigned int i = 0; i < d->n; i++)
		if (numbered(d->dev[i].render, "renderD") == minor && !d->dev[i].kfd_id)
			d->dev[i].kfd_id = (uint32_t)v;
}

static void scan_kfd(struct gt_devices *d, const char *sysfs)
{
	char path[PATH_MAX], node[PATH_MAX + 272];
	struct dirent *e;
	AUTO_DIR dir = NULL;

	snprintf(path, sizeof(path), "%s/class/kfd/kfd/topology/nodes", sysfs);
	dir = opendir(path);
	while (dir && (e = readdir(dir))) {
		if (numbered(e->d_name, "") < 0)
			continue;
		snprintf(node, sizeof(node), "%s/%s", path, e->d_name);
		match_kfd(d, node);
	}
}

/* PCI devices first, by address; the rest, and partitions of one device, by card number */
static int in_pci_order(const void *a, const void *b)
{
	const struct gt_device *x = a, *y = b;
	int c;

	if (!x->pci[0] != !y->pci[0])
		return x->pci[0] ? -1 : 1;
	c = strcmp(x->pci, y->pci);
	return c ? c : (x->minor > y->minor) - (x->minor < y->minor);
}

static void name_all(struct gt_devices *d)
{
	unsigned int n;

	qsort(d->dev, d->n, sizeof(*d->dev), in_pci_order);
	for (unsigned int i = 0; i < d->n; i++) {
		n = 0;
		for (unsigned int j = 0; j < i; j++)
			n += !strcmp(d->dev[i].driver, d->dev[j].driver);
		gt_device_name(d->dev[i].name, sizeof(d->dev[i].name), d->dev[i].driver, n);
	}
}

/* A module's holders/ has those that use it; there is none where it is built in. */
bool gt_device_uses(const struct gt_device *dev, const char *sysfs, const char *module)
{
	char holders[PATH_MAX], path[PATH_MAX + 40];

	snprintf(holders, sizeof(holders), "%.2000s/module/%.60s/holders", sysfs, module);
	if (!dev->module[0] || access(holders, F_OK))
		return true;
	snprintf(path, sizeof(path), "%s/%s", holders, dev->module);
	return !access(path, F_OK);
}

bool gt_device_is(const struct gt_device *dev, unsigned int minor)
{
	return (int)minor == dev->minor || (int)minor == numbered(dev->render, "renderD");
}

int gt_devices_scan(struct gt_devices *d, const char *sysfs)
{
	int ret;

	memset(d, 0, sizeof(*d));
	if (strlen(sysfs) > PATH_MAX / 2)
		return -ENAMETOOLONG;
	ret = scan_drm(d, sysfs);
	if (!ret)
		ret = scan_nvidia(d, sysfs);
	if (ret) {
		gt_devices_free(d);
		return ret;
	}
	scan_kfd(d, sysfs);
	if (d->n)
		name_all(d);
	return 0;
}

void gt_devices_free(struct gt_devices *d)
{
	free(d->dev);
	memset(d, 0, sizeof(*d));
}
