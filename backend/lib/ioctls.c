/* SPDX-License-Identifier: GPL-2.0 */
#include <stdbool.h>
#include <string.h>

#include "ioctls.h"

static const struct {
	const char *name;
	enum gt_ioctl_what what;
} commands[GT_IOCTL_DRIVERS][256] = {
#define GT_IOCTL(driver, nr, what, name) [GT_IOCTL_BY_##driver][nr] = { name, GT_IOCTL_##what },
#include "ioctls.def"
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
