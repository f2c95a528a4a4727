/* SPDX-License-Identifier: GPL-2.0 */
/* fs/devices.c on a sysfs made here: two amdgpu out of order, i915, virtio, NVIDIA, and no GPUs. */
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../fs/devices.h"
#include "../lib/tap.h"
#include "../lib/top.h"

static void make_dir(const char *path)
{
	char full[512];

	snprintf(full, sizeof(full), "%s", top_at(path));
	for (char *p = full + strlen(top) + 1; *p; p++) {
		if (*p != '/')
			continue;
		*p = '\0';
		mkdir(full, 0755);
		*p = '/';
	}
	mkdir(full, 0755);
}

/* A device @dev with @driver, its card and, if >= 0, its render node */
static void make_card(const char *dev, const char *driver, int card, int render)
{
	char path[256], target[256];

	snprintf(path, sizeof(path), "sys/%s/drm/card%d", dev, card);
	make_dir(path);
	if (render >= 0) {
		snprintf(path, sizeof(path), "sys/%s/drm/renderD%d", dev, render);
		make_dir(path);
	}
	snprintf(path, sizeof(path), "sys/%s/driver", dev);
	snprintf(target, sizeof(target), "../../bus/drivers/%s", driver);
	if (symlink(target, top_at(path)))
		perror(path);
	snprintf(path, sizeof(path), "sys/class/drm/card%d", card);
	make_dir(path);
	snprintf(path, sizeof(path), "sys/class/drm/card%d/device", card);
	snprintf(target, sizeof(target), "/sys/%s", dev);
	if (symlink(target, top_at(path)))
		perror(path);
}

static void make_sysfs(void)
{
	make_card("devices/pci0000:00/0000:c4:00.0", "amdgpu", 0, 128);
	make_card("devices/pci0000:00/0000:03:00.0", "amdgpu", 1, 129);
	make_card("devices/pci0000:00/0000:00:02.0", "i915", 2, 130);
	make_card("devices/pci0000:00/0000:00:04.0/virtio1", "virtio_gpu", 3, 131);
	make_card("devices/pci0000:00/0000:00:05.0", "virtio-pci", 8, 134);
	make_dir("sys/devices/pci0000:00/0000:00:05.0/virtio2");
	if (symlink("../../bus/drivers/virtio_gpu",
		    top_at("sys/devices/pci0000:00/0000:00:05.0/virtio2/driver")))
		perror("virtio2");
	make_card("devices/platform/vgem", "vgem", 4, 132);
	make_card("devices/platform/vkms", "vkms", 5, -1);
	make_card("devices/platform/simple-framebuffer.0", "simpledrm", 6, -1);
	make_card("devices/platform/soc/ae00000.gpu", "msm_dpu", 7, 133);
	make_dir("sys/class/drm/card1-HDMI-A-1");
	make_dir("sys/class/drm/renderD128");
	top_put("sys/devices/pci0000:00/0000:03:00.0/unique_id", "1f2e3d4c5b6a7988\n");
	make_dir("sys/bus/pci/drivers/nvidia/0000:41:00.0");
	make_dir("sys/bus/pci/drivers/nvidia/module");
	make_dir("proc/driver/nvidia/gpus/0000:41:00.0");
	top_put("proc/driver/nvidia/gpus/0000:41:00.0/information",
		"Model: \t\t NVIDIA H100\nIRQ:   \t\t 1\nGPU UUID: \t GPU-aaaa-bbbb\n");
	make_dir("sys/class/kfd/kfd/topology/nodes/0");
	make_dir("sys/class/kfd/kfd/topology/nodes/1");
	top_put("sys/class/kfd/kfd/topology/nodes/0/gpu_id", "0\n");
	top_put("sys/class/kfd/kfd/topology/nodes/0/properties", "cpu_cores_count 8\n");
	top_put("sys/class/kfd/kfd/topology/nodes/1/gpu_id", "51221\n");
	top_put("sys/class/kfd/kfd/topology/nodes/1/properties",
		"cpu_cores_count 0\nlocation_id 768\ndomain 0\ndrm_render_minor 129\n");
}

static void check(const struct gt_device *d, const char *name, const char *dev, const char *pci,
		  const char *card, const char *render, int minor)
{
	is_str(d->name, name, "%s: name", name);
	is_str(d->dev, dev, "%s: dev", name);
	is_str(d->pci, pci, "%s: pci", name);
	is_str(d->card, card, "%s: card", name);
	is_str(d->render, render, "%s: render", name);
	is(d->minor, minor, "%s: minor", name);
}

static void test_scan(void)
{
	struct gt_devices d;

	is(gt_devices_scan(&d, top), 0, "scan");
	is(d.n, 7, "number of GPUs");
	if (d.n != 7)
		return;
	check(&d.dev[0], "i915-0", "0000:00:02.0", "0000:00:02.0", "card2", "renderD130", 2);
	check(&d.dev[1], "virtio_gpu0", "virtio1", "0000:00:04.0", "card3", "renderD131", 3);
	check(&d.dev[2], "virtio_gpu1", "virtio2", "0000:00:05.0", "card8", "renderD134", 8);
	check(&d.dev[3], "amdgpu0", "0000:03:00.0", "0000:03:00.0", "card1", "renderD129", 1);
	check(&d.dev[4], "nvidia0", "0000:41:00.0", "0000:41:00.0", "", "", -1);
	check(&d.dev[5], "amdgpu1", "0000:c4:00.0", "0000:c4:00.0", "card0", "renderD128", 0);
	check(&d.dev[6], "msm_dpu0", "ae00000.gpu", "", "card7", "renderD133", 7);
	is_str(d.dev[3].uuid, "GPU-1f2e3d4c5b6a7988", "amdgpu's uuid");
	is_str(d.dev[4].uuid, "GPU-aaaa-bbbb", "NVIDIA's uuid");
	is(d.dev[3].kfd_id, 51221, "KFD's number is matched by render node");
	is(d.dev[5].kfd_id, 0, "and no other GPU has it");
	is_str(d.dev[3].driver, "amdgpu", "driver");
	gt_devices_free(&d);
	is(d.n, 0, "freed");
}

static void test_none(void)
{
	struct gt_devices d;

	is(gt_devices_scan(&d, top_at("sys/class")), 0, "a machine without sysfs");
	is(d.n, 0, "has no GPU");
	gt_devices_free(&d);
}

static void test_names(void)
{
	char s[16];

	gt_device_name(s, sizeof(s), "amdgpu", 3);
	is_str(s, "amdgpu3", "number");
	gt_device_name(s, sizeof(s), "i915", 12);
	is_str(s, "i915-12", "a dash behind a digit");
	gt_device_name(s, sizeof(s), "averyveryverylongdriver", 7);
	is_str(s, "averyveryveryl7", "a long driver is cut, its number is not");
	gt_device_name(s, sizeof(s), "", 0);
	is_str(s, "0", "no driver");
}

int main(void)
{
	if (!top_make())
		return 1;
	make_sysfs();
	test_scan();
	test_none();
	test_names();
	top_drop();
	return done_testing();
}
