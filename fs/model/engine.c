/* SPDX-License-Identifier: GPL-2.0 */
/* Engines: their names, and which one a ring feeds, by the names that drivers give their rings. */
#include <string.h>
#include <strings.h>

#include "internal.h"

/* The first that fits wins: "vcn_enc" stands before "vcn". amdgpu, i915, xe, v3d, lima, etnaviv. */
static const struct {
	const char *part;
	enum gt_engine engine;
	bool anywhere; /* not only at the beginning */
} guesses[] = {
	{ "gfx", GT_ENGINE_GRAPHICS, false },	   { "comp", GT_ENGINE_COMPUTE, false },
	{ "sdma", GT_ENGINE_COPY, false },	   { "enc", GT_ENGINE_VIDEO_ENCODE, true },
	{ "vce", GT_ENGINE_VIDEO_ENCODE, false },  { "dec", GT_ENGINE_VIDEO_DECODE, true },
	{ "uvd", GT_ENGINE_VIDEO_DECODE, false },  { "vcn", GT_ENGINE_VIDEO_DECODE, false },
	{ "jpeg", GT_ENGINE_VIDEO_DECODE, true },  { "rcs", GT_ENGINE_GRAPHICS, false },
	{ "bcs", GT_ENGINE_COPY, false },	   { "vecs", GT_ENGINE_VIDEO_DECODE, false },
	{ "vcs", GT_ENGINE_VIDEO_DECODE, false },  { "ccs", GT_ENGINE_COMPUTE, false },
	{ "render", GT_ENGINE_GRAPHICS, true },	   { "graphics", GT_ENGINE_GRAPHICS, true },
	{ "compute", GT_ENGINE_COMPUTE, true },	   { "csd", GT_ENGINE_COMPUTE, true },
	{ "v3d_bin", GT_ENGINE_GRAPHICS, false },  { "v3d_tfu", GT_ENGINE_COPY, false },
	{ "copy", GT_ENGINE_COPY, true },	   { "blt", GT_ENGINE_COPY, true },
	{ "dma", GT_ENGINE_COPY, false },	   { "3d", GT_ENGINE_GRAPHICS, false },
	{ "fragment", GT_ENGINE_GRAPHICS, false }, { "vertex", GT_ENGINE_GRAPHICS, false },
};

enum gt_engine gt_engine_guess(const char *ring_name)
{
	for (size_t i = 0; i < sizeof(guesses) / sizeof(*guesses); i++) {
		const char *part = guesses[i].part;

		if (guesses[i].anywhere ? strcasestr(ring_name, part) != NULL
					: !strncasecmp(ring_name, part, strlen(part)))
			return guesses[i].engine;
	}
	/* lima's geometry and pixel processors */
	if (!strcmp(ring_name, "gp") || !strcmp(ring_name, "pp"))
		return GT_ENGINE_GRAPHICS;
	return GT_ENGINE_UNKNOWN;
}

const char *gt_engine_name(enum gt_engine e)
{
	static const char *const names[GT_NENGINES] = { "UNKNOWN", "GRAPHICS",	   "COMPUTE",
							"COPY",	   "VIDEO_DECODE", "VIDEO_ENCODE" };

	return (unsigned int)e < GT_NENGINES ? names[e] : names[GT_ENGINE_UNKNOWN];
}
