// SPDX-License-Identifier: GPL-2.0
/*
 * A GPU that is none: a platform device with a DRM render node and the rings of an AMD GPU, whose
 * jobs go through the kernel's own GPU scheduler. Devices can be unbound and bound while busy.
 */
#include <linux/module.h>
#include <linux/platform_device.h>
#include <linux/rcupdate.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/wait_bit.h>
#include <drm/drm_drv.h>
#include <drm/drm_gem.h>
#include <drm/drm_ioctl.h>

#include "mockgpu.h"

#define MAX_DEVICES 16

static uint devices = 2;
module_param(devices, uint, 0444);
MODULE_PARM_DESC(devices, "how many GPUs, at most 16");

static struct platform_device *pdev[MAX_DEVICES];
static atomic64_t clients;
static atomic_t live_clients;

/* Clients and files ----------------------------------------------------------------------------
 */

static struct mock_client *client_new(void)
{
	struct mock_client *client = kzalloc(sizeof(*client), GFP_KERNEL);

	if (!client)
		return NULL;
	kref_init(&client->ref);
	client->id = atomic64_inc_return(&clients);
	atomic_inc(&live_clients);
	return client;
}

static void client_free(struct kref *ref)
{
	kfree(container_of(ref, struct mock_client, ref));
	atomic_dec(&live_clients);
}

/** mock_client_get() - one more reference. Return: the same */
struct mock_client *mock_client_get(struct mock_client *client)
{
	kref_get(&client->ref);
	return client;
}

/** mock_client_put() - gives back a reference */
void mock_client_put(struct mock_client *client)
{
	kref_put(&client->ref, client_free);
}

/** mock_device_put() - a context or job has gone; the rings stay until then. @dev may be gone after
 */
void mock_device_put(struct mock_device *dev)
{
	if (atomic_dec_and_test(&dev->users))
		wake_up_var(&dev->users);
}

static void file_free(struct mock_file *mf)
{
	for (int i = 0; i < MOCKGPU_MAX_JOBS; i++)
		dma_fence_put(mf->fence[i]);
	xa_destroy(&mf->ctx);
	mutex_destroy(&mf->lock);
	mock_client_put(mf->client);
	kvfree(mf);
}

static int file_open(struct drm_device *drm, struct drm_file *file)
{
	struct mock_device *dev = mock_device(drm);
	struct mock_file *mf = kvzalloc(sizeof(*mf), GFP_KERNEL);
	bool gone;

	if (!mf)
		return -ENOMEM;
	mf->client = client_new();
	if (!mf->client) {
		kvfree(mf);
		return -ENOMEM;
	}
	mutex_init(&mf->lock);
	xa_init_flags(&mf->ctx, XA_FLAGS_ALLOC1);
	mf->next = 1;
	mutex_lock(&dev->lock);
	gone = dev->gone;
	if (!gone)
		list_add_tail(&mf->link, &dev->files);
	mutex_unlock(&dev->lock);
	if (gone) {
		file_free(mf);
		return -ENODEV;
	}
	file->driver_priv = mf;
	return 0;
}

static void file_close(struct drm_device *drm, struct drm_file *file)
{
	struct mock_device *dev = mock_device(drm);
	struct mock_file *mf = file->driver_priv;

	mutex_lock(&dev->lock);
	list_del(&mf->link);
	mutex_unlock(&dev->lock);
	mock_ctx_end_all(dev, mf);
	file_free(mf);
}

/* Documentation/gpu/drm-usage-stats.rst; engines and domains by amdgpu's names (amdgpu_fdinfo.c) */
static void show_fdinfo(struct seq_file *m, struct file *f)
{
	static const char *const engine[MOCK_CLASSES] = { "gfx", "compute", "dma", "dec" };
	static const char *const domain[MOCKGPU_DOMAINS] = { "vram", "gtt" };
	struct drm_file *file = f->private_data;
	struct mock_file *mf = file->driver_priv;
	struct mock_client *client = mf->client;

	seq_printf(m, "drm-driver:\tmockgpu\ndrm-client-id:\t%llu\n", client->id);
	for (int i = 0; i < MOCKGPU_DOMAINS; i++)
		seq_printf(m, "drm-memory-%s:\t%llu KiB\n", domain[i],
			   (u64)atomic64_read(&client->memory[i]) / 1024);
	for (int i = 0; i < MOCK_CLASSES; i++)
		seq_printf(m, "drm-engine-%s:\t%llu ns\n", engine[i],
			   (u64)atomic64_read(&client->busy[i]));
}

/* The driver -----------------------------------------------------------------------------------
 */

static const struct file_operations fops = {
	.owner = THIS_MODULE,
	.open = drm_open,
	.release = drm_release,
	.unlocked_ioctl = drm_ioctl,
	.compat_ioctl = drm_compat_ioctl,
	.poll = drm_poll,
	.read = drm_read,
	.llseek = noop_llseek,
	.show_fdinfo = show_fdinfo,
#ifdef FOP_UNSIGNED_OFFSET
	.fop_flags = FOP_UNSIGNED_OFFSET,
#endif
};

static const struct drm_ioctl_desc ioctls[] = {
	DRM_IOCTL_DEF_DRV(MOCKGPU_CTX, mock_ctx_ioctl, DRM_RENDER_ALLOW),
	DRM_IOCTL_DEF_DRV(MOCKGPU_SUBMIT, mock_submit_ioctl, DRM_RENDER_ALLOW),
	DRM_IOCTL_DEF_DRV(MOCKGPU_WAIT, mock_wait_ioctl, DRM_RENDER_ALLOW),
	DRM_IOCTL_DEF_DRV(MOCKGPU_ALLOC, mock_alloc_ioctl, DRM_RENDER_ALLOW),
};

static const struct drm_driver drm_driver = {
	.driver_features = DRIVER_RENDER,
	.open = file_open,
	.postclose = file_close,
	.ioctls = ioctls,
	.num_ioctls = ARRAY_SIZE(ioctls),
	.fops = &fops,
	.name = "mockgpu",
	.desc = "Mock GPU",
#ifdef HAVE_DRIVER_DATE
	.date = "20260101",
#endif
	.major = 1,
};

static int probe(struct platform_device *p)
{
	struct mock_device *dev;
	int r;

	dev = devm_drm_dev_alloc(&p->dev, &drm_driver, struct mock_device, drm);
	if (IS_ERR(dev))
		return PTR_ERR(dev);
	mutex_init(&dev->lock);
	INIT_LIST_HEAD(&dev->files);
	r = mock_rings_start(dev);
	if (r)
		return r;
	platform_set_drvdata(p, dev);
	r = drm_dev_register(&dev->drm, 0);
	if (r)
		mock_rings_stop(dev);
	return r;
}

/*
 * Files stay open, and what they ask from now on gives ENODEV; no request is under way any more
 * once drm_dev_unplug() has returned. All jobs end, then contexts, then rings. The memory of the
 * device stays until the last file is closed: fences name their scheduler.
 */
static void unplug(struct platform_device *p)
{
	struct mock_device *dev = platform_get_drvdata(p);
	struct mock_file *mf;

	drm_dev_unplug(&dev->drm);
	for (int i = 0; i < MOCKGPU_RINGS; i++)
		mock_ring_kill(&dev->ring[i]);
	mutex_lock(&dev->lock);
	dev->gone = true;
	list_for_each_entry(mf, &dev->files, link)
		mock_ctx_end_all(dev, mf);
	mutex_unlock(&dev->lock);
	mock_rings_stop(dev);
}

#ifndef HAVE_REMOVE_NEW
#define remove_new remove
#endif

static struct platform_driver driver = {
	.driver.name = "mockgpu",
	.probe = probe,
	.remove_new = unplug,
};

static void devices_del(void)
{
	for (int i = 0; i < MAX_DEVICES; i++)
		if (pdev[i])
			platform_device_unregister(pdev[i]);
}

static int devices_add(void)
{
	for (uint i = 0; i < min_t(uint, devices, MAX_DEVICES); i++) {
		struct platform_device *p = platform_device_register_simple("mockgpu", i, NULL, 0);

		if (IS_ERR(p)) {
			devices_del();
			return PTR_ERR(p);
		}
		pdev[i] = p;
	}
	return 0;
}

static int __init mock_init(void)
{
	int r = mock_truth_start();

	if (r)
		return r;
	r = mock_probes_start();
	if (r)
		goto truth;
	r = platform_driver_register(&driver);
	if (r)
		goto probes;
	r = devices_add();
	if (r)
		goto driver;
	return 0;
driver:
	platform_driver_unregister(&driver);
probes:
	mock_probes_stop();
truth:
	mock_truth_stop();
	return r;
}

static void __exit mock_exit(void)
{
	devices_del();
	platform_driver_unregister(&driver);
	/* A worker of the scheduler may be on its way out of our function that freed the last job
	 */
	synchronize_rcu_tasks();
	mock_probes_stop();
	mock_truth_stop();
	WARN_ON(!mock_rings_clean() || atomic_read(&live_clients));
}

module_init(mock_init);
module_exit(mock_exit);
MODULE_DESCRIPTION("A mock GPU on the DRM scheduler");
MODULE_LICENSE("GPL");
