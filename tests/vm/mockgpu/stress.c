// SPDX-License-Identifier: GPL-2.0
/*
 * Fires every tracepoint that tracers of GPU jobs attach to, from tasks, softirqs, interrupts and
 * (parameter nmi_fires) NMIs at once, nested in one another: debugfs, mockgpu_stress/run starts it
 * with 1 and stops it with 0, mockgpu_stress/counts says how often each was fired, by anybody.
 */
#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/platform_device.h>
#include <linux/seq_file.h>

#include "stress.h"

static struct platform_device *pdev;
static struct dentry *dir;

static int counts_show(struct seq_file *m, void *unused)
{
	stress_points_show(m);
	stress_firers_show(m);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(counts);

static int run_set(void *unused, u64 v)
{
	return stress_run(v);
}
DEFINE_DEBUGFS_ATTRIBUTE(run_fops, NULL, run_set, "%llu\n");

static int __init stress_init(void)
{
	int r;

	pdev = platform_device_register_simple("mockgpu_stress", PLATFORM_DEVID_NONE, NULL, 0);
	if (IS_ERR(pdev))
		return PTR_ERR(pdev);
	r = stress_start(&pdev->dev);
	if (r)
		goto device;
	r = stress_points_start();
	if (r)
		goto firers;
	dir = debugfs_create_dir("mockgpu_stress", NULL);
	debugfs_create_file("run", 0200, dir, NULL, &run_fops);
	debugfs_create_file("counts", 0400, dir, NULL, &counts_fops);
	return 0;
firers:
	stress_stop();
device:
	platform_device_unregister(pdev);
	return r;
}

static void __exit stress_exit(void)
{
	debugfs_remove_recursive(dir);
	stress_run(false);
	stress_points_stop();
	stress_stop();
	platform_device_unregister(pdev);
}

module_init(stress_init);
module_exit(stress_exit);
MODULE_DESCRIPTION("Fires tracepoints of GPU jobs from every context at once");
MODULE_LICENSE("GPL");
