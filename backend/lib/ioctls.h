/* SPDX-License-Identifier: GPL-2.0 */
/* Commands of GPU devices, their names and what they do, from the table ioctls.def. */
#ifndef GT_IOCTLS_H
#define GT_IOCTLS_H

#include <stdint.h>

/**
 * enum gt_ioctl_what - what a command does
 * @GT_IOCTL_UNKNOWN: a command of a driver that is not in the table
 */
enum gt_ioctl_what {
	GT_IOCTL_OTHER,
	GT_IOCTL_SUBMIT,
	GT_IOCTL_WAIT,
	GT_IOCTL_QUEUE,
	GT_IOCTL_UNKNOWN,
};

/** enum gt_ioctl_driver - definer of a command; DRM drivers start at GT_IOCTL_FIRST_DRM */
enum gt_ioctl_driver {
	GT_IOCTL_BY_NOBODY, /* a DRM driver that the table does not have */
	GT_IOCTL_BY_DRM,    /* every DRM driver's */
	GT_IOCTL_BY_KFD,
	GT_IOCTL_BY_NVIDIA,
	GT_IOCTL_FIRST_DRM,
	GT_IOCTL_BY_AMDGPU = GT_IOCTL_FIRST_DRM,
	GT_IOCTL_BY_I915,
	GT_IOCTL_BY_XE,
	GT_IOCTL_BY_NOUVEAU,
	GT_IOCTL_BY_VIRTIO_GPU,
	GT_IOCTL_BY_MSM,
	GT_IOCTL_BY_PANFROST,
	GT_IOCTL_BY_PANTHOR,
	GT_IOCTL_BY_V3D,
	GT_IOCTL_BY_VC4,
	GT_IOCTL_BY_ETNAVIV,
	GT_IOCTL_BY_LIMA,
	GT_IOCTL_BY_RADEON,
	GT_IOCTL_BY_VMWGFX,
	GT_IOCTL_BY_QXL,
	GT_IOCTL_BY_TEGRA,
	GT_IOCTL_DRIVERS
};

/* include/uapi/drm/drm.h, DRM_COMMAND_BASE and DRM_COMMAND_END: numbers between them are the
 * driver's */
#define GT_IOCTL_DRM_BASE 0x40
#define GT_IOCTL_DRM_END  0xa0

/* include/uapi/asm-generic/ioctl.h; these two are the same on all architectures */
#define GT_IOCTL_NR(cmd)   ((uint32_t)(cmd)&0xff)
#define GT_IOCTL_TYPE(cmd) ((uint32_t)(cmd) >> 8 & 0xff)

/** gt_ioctl_driver() - the driver of a DRM device by its name in sysfs */
enum gt_ioctl_driver gt_ioctl_driver(const char *name);
/** gt_ioctl_what() - what number @nr of @driver does */
enum gt_ioctl_what gt_ioctl_what(enum gt_ioctl_driver driver, uint32_t nr);
/**
 * gt_ioctl_name() - "AMDGPU_CS" for 0xc0186444
 * @driver: of its GPU, as in sysfs; NULL or "" if unknown
 *
 * Return: NULL if the table does not have it.
 */
const char *gt_ioctl_name(const char *driver, uint64_t cmd);

#endif
