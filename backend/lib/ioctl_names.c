/* SPDX-License-Identifier: GPL-2.0 */
/* Names of ioctls, of their drivers, and of calls of runtimes. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "../backend.h"
#include "ioctl_names.h"

static const struct {
	const char *name;
	enum gt_ioctl_what what;
} commands[GT_IOCTL_DRIVERS][256] = {
#define GT_IOCTL(driver, nr, what, name) [GT_IOCTL_BY_##driver][nr] = { name, GT_IOCTL_##what },
#include "ioctl_names.def"
#undef GT_IOCTL
};

/*
 * Names in sysfs are those of the bus's driver and differ from DRM's names (drivers/gpu/drm, Linux 6.12:
 * struct pci_driver, platform_driver and virtio_driver).
 */
static const struct {
	const char *name;
	enum gt_ioctl_driver driver;
} drivers[] = {
	{ "amdgpu", GT_IOCTL_BY_AMDGPU },
	{ "i915", GT_IOCTL_BY_I915 },
	{ "xe", GT_IOCTL_BY_XE },
	{ "nouveau", GT_IOCTL_BY_NOUVEAU },
	{ "virtio_gpu", GT_IOCTL_BY_VIRTIO_GPU },
	{ "msm", GT_IOCTL_BY_MSM },
	{ "msm_dpu", GT_IOCTL_BY_MSM },
	{ "msm_mdp", GT_IOCTL_BY_MSM },
	{ "msm-mdss", GT_IOCTL_BY_MSM },
	{ "adreno", GT_IOCTL_BY_MSM },
	{ "panfrost", GT_IOCTL_BY_PANFROST },
	{ "panthor", GT_IOCTL_BY_PANTHOR },
	{ "v3d", GT_IOCTL_BY_V3D },
	{ "vc4", GT_IOCTL_BY_VC4 },
	{ "vc4-drm", GT_IOCTL_BY_VC4 },
	{ "etnaviv", GT_IOCTL_BY_ETNAVIV },
	{ "etnaviv-gpu", GT_IOCTL_BY_ETNAVIV },
	{ "lima", GT_IOCTL_BY_LIMA },
	{ "radeon", GT_IOCTL_BY_RADEON },
	{ "vmwgfx", GT_IOCTL_BY_VMWGFX },
	{ "qxl", GT_IOCTL_BY_QXL },
	{ "tegra-drm", GT_IOCTL_BY_TEGRA },
};

enum gt_ioctl_driver gt_ioctl_driver(const char *name)
{
	for (unsigned int i = 0; i < sizeof(drivers) / sizeof(drivers[0]); i++)
		if (name && !strcmp(drivers[i].name, name))
			return drivers[i].driver;
	return GT_IOCTL_BY_NOBODY;
}

static bool is_drm(enum gt_ioctl_driver driver)
{
	return driver == GT_IOCTL_BY_NOBODY || driver >= GT_IOCTL_FIRST_DRM;
}

/* Definer of number @nr of a device of @driver */
static enum gt_ioctl_driver definer(enum gt_ioctl_driver driver, uint32_t nr)
{
	if (is_drm(driver) && (nr < GT_IOCTL_DRM_BASE || nr >= GT_IOCTL_DRM_END))
		return GT_IOCTL_BY_DRM;
	return driver;
}

enum gt_ioctl_what gt_ioctl_what(enum gt_ioctl_driver driver, uint32_t nr)
{
	enum gt_ioctl_driver by = definer(driver, nr);

	if (nr > 255 || by >= GT_IOCTL_DRIVERS || by == GT_IOCTL_BY_NOBODY)
		return GT_IOCTL_UNKNOWN;
	return commands[by][nr].what;
}

const char *gt_ioctl_name(const char *driver, uint64_t cmd)
{
	uint32_t nr = GT_IOCTL_NR(cmd);

	if (cmd > UINT32_MAX)
		return NULL;
	switch (GT_IOCTL_TYPE(cmd)) {
	case 'd':
		return commands[definer(gt_ioctl_driver(driver), nr)][nr].name;
	case 'K':
		return commands[GT_IOCTL_BY_KFD][nr].name;
	case 'F':
		return commands[GT_IOCTL_BY_NVIDIA][nr].name;
	default:
		return NULL;
	}
}

/*
 * A number belongs to a name, so a function of a module that is loaded again keeps it. Numbers stay after
 * the backend has stopped, since older records refer to them.
 */

#define NAME_HASH 4096

/* Names by number; @next: of the same hash, number + 1, 0 none */
static struct {
	char *name[GT_MAX_FUNCTIONS];
	uint32_t next[GT_MAX_FUNCTIONS];
	uint32_t head[NAME_HASH];
	uint32_t n;
} ids;

static void __attribute__((destructor)) free_ids(void)
{
	for (uint32_t i = 0; i < ids.n; i++)
		free(ids.name[i]);
	ids.n = 0;
}

uint32_t gt_callname_id(const char *name, size_t len)
{
	uint32_t hash = 2166136261u, i; /* FNV-1a */

	if (len >= GT_FUNCTION_NAME)
		return GT_NONE32;
	for (size_t k = 0; k < len; k++)
		hash = (hash ^ (uint8_t)name[k]) * 16777619u;
	hash = (hash ^ hash >> 16) % NAME_HASH;
	for (i = ids.head[hash]; i; i = ids.next[i - 1])
		if (strlen(ids.name[i - 1]) == len && !memcmp(ids.name[i - 1], name, len))
			return i - 1;
	if (ids.n == GT_MAX_FUNCTIONS)
		return GT_NONE32;
	ids.name[ids.n] = strndup(name, len);
	if (!ids.name[ids.n])
		return GT_NONE32;
	ids.next[ids.n] = ids.head[hash];
	ids.head[hash] = ids.n + 1;
	return ids.n++;
}

size_t gt_callname_base(const char *name, size_t len)
{
	static const char *const versions[] = { ".constprop.", ".isra." };
	const char *dot = memchr(name, '.', len);
	size_t base = dot ? (size_t)(dot - name) : len;

	for (size_t i = 0; i < 2; i++)
		if (len - base > strlen(versions[i]) &&
		    !memcmp(name + base, versions[i], strlen(versions[i])))
			return base;
	return len;
}

unsigned int gt_callname_records(uint32_t id, uint64_t ts, union gt_record *out)
{
	const size_t piece = GT_CALLNAME_PIECE;
	size_t len = strlen(ids.name[id]);
	unsigned int n = 0;

	for (size_t at = 0; at < len; at += piece, n++) {
		gt_record_init(&out[n], ts, (enum gt_type)GT_NAME);
		out[n].name.id = id;
		out[n].name.kind = GT_NAME_FUNCTION;
		out[n].name.part = n;
		memset(out[n].name.text, 0, piece);
		memcpy(out[n].name.text, ids.name[id] + at, len - at < piece ? len - at : piece);
	}
	return n;
}
