/* SPDX-License-Identifier: GPL-2.0 */
/* ioctls of GPU devices: names and what they do (ioctl_names.def). Names of runtime calls. */
#ifndef GT_IOCTL_NAMES_H
#define GT_IOCTL_NAMES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "../event.h"

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

/* Numbers of functions, for FUNCTION records, and the NAME records with their names. */

#define GT_CALLNAME_PIECE   sizeof(((struct gt_name *)0)->text)
#define GT_CALLNAME_RECORDS (GT_FUNCTION_NAME / GT_CALLNAME_PIECE)
static_assert(GT_FUNCTION_NAME % GT_CALLNAME_PIECE == 0, "a name is made of whole pieces");

/** gt_callname_piece() - adds the piece of a NAME record to the name; ignored if earlier pieces are missing,
 * as the rest would be taken for the whole name */
static inline void gt_callname_piece(char name[GT_FUNCTION_NAME], const struct gt_name *n)
{
	size_t at = n->part * GT_CALLNAME_PIECE;

	if (n->part >= GT_CALLNAME_RECORDS || strnlen(name, GT_FUNCTION_NAME) < at)
		return;
	memset(name + at, 0, GT_FUNCTION_NAME - at);
	memcpy(name + at, n->text, strnlen(n->text, GT_CALLNAME_PIECE));
	name[GT_FUNCTION_NAME - 1] = '\0';
}

/** gt_callname_id() - a small number for a function's name, the same as long as the daemon runs; GT_NONE32:
 * too many names, or too long a name */
uint32_t gt_callname_id(const char *name, size_t len);

/** gt_callname_base() - length of a name without a suffix of the compiler for a special version of the
 * function; a part that was split off is another function */
size_t gt_callname_base(const char *name, size_t len);

/** gt_callname_records() - writes the name of @id in pieces, at most GT_CALLNAME_RECORDS. Return: their
 * number */
unsigned int gt_callname_records(uint32_t id, uint64_t ts, union gt_record *out);

#endif
