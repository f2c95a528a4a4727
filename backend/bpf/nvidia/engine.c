/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Numbers of engines. NV2080_ENGINE_TYPE_* (class/cl2080_notification.h) is what programs say, and
 * was only added to. RM_ENGINE_TYPE_* (kernel/gpu/gpu_engine_type.h) is what the driver says
 * inside, and changed: with 535.113.01 NVJPEG began at 0x35, with 560.35 at 0x36, with 570 an
 * NVENC3 came in between. Where the change was between those is not known, so there nothing is
 * claimed.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "nvidia.h"

struct range {
	uint8_t first, last, index; /* index of the first, with @one: none */
	bool one;
	uint8_t engine;
	const char *name;
};

static const struct range nv2080[] = {
	{ 0x01, 0x08, 0, false, GT_ENGINE_GRAPHICS, "GR" },
	{ 0x09, 0x12, 0, false, GT_ENGINE_COPY, "COPY" },
	{ 0x13, 0x1a, 0, false, GT_ENGINE_VIDEO_DECODE, "NVDEC" },
	{ 0x1b, 0x1d, 0, false, GT_ENGINE_VIDEO_ENCODE, "NVENC" },
	{ 0x22, 0x22, 0, true, GT_ENGINE_UNKNOWN, "SW" },
	{ 0x26, 0x26, 0, true, GT_ENGINE_UNKNOWN, "SEC2" },
	{ 0x2b, 0x32, 0, false, GT_ENGINE_VIDEO_DECODE, "NVJPEG" },
	{ 0x33, 0x33, 0, false, GT_ENGINE_UNKNOWN, "OFA" },
	{ 0x34, 0x3d, 10, false, GT_ENGINE_COPY, "COPY" },
	{ 0x3e, 0x3e, 1, false, GT_ENGINE_UNKNOWN, "OFA" },
	{ 0x3f, 0x3f, 3, false, GT_ENGINE_VIDEO_ENCODE, "NVENC" },
	{ 0 },
};

/* The same with every driver from 535 on */
static const struct range rm_all[] = {
	{ 0x01, 0x08, 0, false, GT_ENGINE_GRAPHICS, "GR" },
	{ 0x09, 0x1c, 0, false, GT_ENGINE_COPY, "COPY" },
	{ 0x1d, 0x24, 0, false, GT_ENGINE_VIDEO_DECODE, "NVDEC" },
	{ 0x25, 0x27, 0, false, GT_ENGINE_VIDEO_ENCODE, "NVENC" },
	{ 0 },
};

static const struct range rm_535[] = {
	{ 0x2c, 0x2c, 0, true, GT_ENGINE_UNKNOWN, "SW" },
	{ 0x30, 0x30, 0, true, GT_ENGINE_UNKNOWN, "SEC2" },
	{ 0x35, 0x3c, 0, false, GT_ENGINE_VIDEO_DECODE, "NVJPEG" },
	{ 0x3d, 0x3d, 0, false, GT_ENGINE_UNKNOWN, "OFA" },
	{ 0 },
};

static const struct range rm_560[] = {
	{ 0x28, 0x28, 3, false, GT_ENGINE_VIDEO_ENCODE, "NVENC" }, /* reserved before 570 */
	{ 0x2d, 0x2d, 0, true, GT_ENGINE_UNKNOWN, "SW" },
	{ 0x31, 0x31, 0, true, GT_ENGINE_UNKNOWN, "SEC2" },
	{ 0x36, 0x3d, 0, false, GT_ENGINE_VIDEO_DECODE, "NVJPEG" },
	{ 0x3e, 0x3f, 0, false, GT_ENGINE_UNKNOWN, "OFA" },
	{ 0 },
};

static const struct range *find(const struct range *r, uint32_t number)
{
	for (; r && r->name; r++)
		if (number >= r->first && number <= r->last)
			return r;
	return NULL;
}

/* Before 535 the driver's own numbers were a program's, at least as far as the first copy engines.
 */
static const struct range *find_rm(uint32_t driver, uint32_t number)
{
	const struct range *r;

	if (driver < 535)
		return number <= 0x12 ? find(nv2080, number) : NULL;
	r = find(rm_all, number);
	if (r)
		return r;
	return find(driver == 535 ? rm_535 : driver >= 560 ? rm_560 : NULL, number);
}

enum gt_engine gv_engine(uint32_t driver, bool rm, uint32_t number, char name[16])
{
	const struct range *r = rm ? find_rm(driver, number) : find(nv2080, number);

	name[0] = '\0';
	if (!r)
		return GT_ENGINE_UNKNOWN;
	if (r->one)
		snprintf(name, 16, "%s", r->name);
	else
		snprintf(name, 16, "%s%u", r->name,
			 (unsigned int)(number - r->first + r->index) & 0xff);
	return (enum gt_engine)r->engine;
}

/* "575.57.08", or the line of /proc/driver/nvidia/version that has such a word */
uint32_t gv_driver_parse(const char *text)
{
	for (const char *s = text; *s; s++) {
		uint32_t major = 0;
		int n = 0;

		if (s > text && !isspace((unsigned char)s[-1]))
			continue;
		for (; isdigit((unsigned char)s[n]) && n < 6; n++)
			major = major * 10 + (uint32_t)(s[n] - '0');
		if (n && s[n] == '.' && isdigit((unsigned char)s[n + 1]))
			return major;
	}
	return 0;
}

uint32_t gv_driver_read(void)
{
	static const char *const paths[] = { "/sys/module/nvidia/version",
					     "/proc/driver/nvidia/version" };
	uint32_t found = 0;
	char line[256];

	for (size_t i = 0; i < 2 && !found; i++) {
		FILE *f = fopen(paths[i], "re");

		if (!f)
			continue;
		if (fgets(line, sizeof(line), f))
			found = gv_driver_parse(line);
		fclose(f);
	}
	return found;
}
