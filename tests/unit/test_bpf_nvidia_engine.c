/* SPDX-License-Identifier: GPL-2.0 */
/* What numbers of engines mean, by whose they are and by the driver's version. */
#include "../../backend/bpf/nvidia.h"
#include "../../fs/model/model.h"
#include "../lib/tap.h"

static void engine(uint32_t driver, bool rm, uint32_t number, const char *name, int class)
{
	char got[16];
	enum gt_engine e = gv_engine(driver, rm, number, got);

	ok(!strcmp(got, name) && (int)e == class, "%s 0x%x of %u: %s, %s", rm ? "RM" : "NV2080",
	   number, driver, got, gt_engine_name(e));
}

int main(void)
{
	engine(575, true, 0, "", GT_ENGINE_UNKNOWN);
	engine(575, true, 1, "GR0", GT_ENGINE_GRAPHICS);
	engine(575, true, 0x1c, "COPY19", GT_ENGINE_COPY);
	engine(575, true, 0x1d, "NVDEC0", GT_ENGINE_VIDEO_DECODE);
	engine(575, true, 0x28, "NVENC3", GT_ENGINE_VIDEO_ENCODE);
	engine(575, true, 0x36, "NVJPEG0", GT_ENGINE_VIDEO_DECODE);
	engine(535, true, 0x36, "NVJPEG1", GT_ENGINE_VIDEO_DECODE);
	engine(535, true, 0x28, "", GT_ENGINE_UNKNOWN);
	engine(545, true, 0x36, "", GT_ENGINE_UNKNOWN);
	engine(545, true, 0x27, "NVENC2", GT_ENGINE_VIDEO_ENCODE);
	engine(515, true, 0x12, "COPY9", GT_ENGINE_COPY);
	engine(515, true, 0x13, "", GT_ENGINE_UNKNOWN);
	engine(0, false, 0x13, "NVDEC0", GT_ENGINE_VIDEO_DECODE);
	engine(0, false, 0x34, "COPY10", GT_ENGINE_COPY);
	engine(0, false, 0x3f, "NVENC3", GT_ENGINE_VIDEO_ENCODE);
	engine(0, false, 0xffffffff, "", GT_ENGINE_UNKNOWN);
	is(gv_driver_parse("575.57.08\n"), 575, "a version");
	is(gv_driver_parse(
		   "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release\n"),
	   580, "in a line");
	is(gv_driver_parse("no x1.2 version 999999999999.1 here 7"), 0, "none");
	return done_testing();
}
