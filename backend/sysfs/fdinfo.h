/* SPDX-License-Identifier: GPL-2.0 */
/* What /proc/<pid>/fdinfo/<fd> says of a DRM client (Documentation/gpu/drm-usage-stats.rst). */
#ifndef GT_SYSFS_FDINFO_H
#define GT_SYSFS_FDINFO_H

#include "../backend.h"

#define SF_FDINFO_MAX 8192 /* bytes that are looked at: amdgpu's take 1.5 KiB */

/** struct sf_engine - GT_NONE64: not told; @capacity 0: one */
struct sf_engine {
	char name[GT_USE_NAME];
	uint64_t ns, cycles, total_cycles, max_hz;
	uint32_t capacity;
};

/** struct sf_fdinfo - @drm: it is a DRM client's; @id: GT_NONE64 not told */
struct sf_fdinfo {
	bool drm;
	uint64_t id;
	unsigned int nengines, nregions;
	struct sf_engine engine[GT_USE_ENGINES];
	struct gt_use_region region[GT_USE_REGIONS];
};

/** sf_fdinfo_parse() - @text may hold anything; what is none of the keys' values is left out */
void sf_fdinfo_parse(const char *text, struct sf_fdinfo *out);
/**
 * sf_engine_busy() - ns that an engine was busy for a client between two looks, @dt apart
 * @old: NULL: since the client was made
 *
 * By what it tells: time; else cycles of the engine's, or of the greatest clock. 0 if that went
 * back.
 */
uint64_t sf_engine_busy(const struct sf_engine *old, const struct sf_engine *now, uint64_t dt);

#endif
