// SPDX-License-Identifier: GPL-2.0
/*
 * What a process asks of a device: contexts, jobs, waiting, memory. Each but waiting holds the
 * device against being unbound while it is at it.
 */
#include <linux/jiffies.h>
#include <linux/slab.h>
#include <drm/drm_drv.h>

#include "mockgpu.h"

static void ctx_free(struct kref *ref)
{
	struct mock_ctx *ctx = container_of(ref, struct mock_ctx, ref);

	kfree_rcu(ctx, rcu);
}

/** mock_ctx_put() - gives back a reference */
void mock_ctx_put(struct mock_ctx *ctx)
{
	kref_put(&ctx->ref, ctx_free);
}

static void ctx_end(struct mock_device *dev, struct mock_ctx *ctx, int entities)
{
	while (--entities >= 0)
		drm_sched_entity_destroy(&ctx->entity[entities]);
	mock_ctx_put(ctx);
	mock_device_put(dev);
}

/**
 * mock_ctx_end_all() - every context of a file
 * @dev: its device
 * @mf: locked, or of no use to anybody else
 */
void mock_ctx_end_all(struct mock_device *dev, struct mock_file *mf)
{
	struct mock_ctx *ctx;
	unsigned long id;

	xa_for_each(&mf->ctx, id, ctx) {
		xa_erase(&mf->ctx, id);
		ctx_end(dev, ctx, MOCKGPU_RINGS);
	}
}

static int ctx_new(struct mock_device *dev, struct mock_file *mf, u32 *id)
{
	struct mock_ctx *ctx = kzalloc(sizeof(*ctx), GFP_KERNEL);
	int i, r = 0;

	if (!ctx)
		return -ENOMEM;
	kref_init(&ctx->ref);
	atomic_inc(&dev->users);
	for (i = 0; i < MOCKGPU_RINGS && !r; i++) {
		struct drm_gpu_scheduler *sched = &dev->ring[i].sched;

		r = drm_sched_entity_init(&ctx->entity[i], DRM_SCHED_PRIORITY_NORMAL, &sched, 1,
					  NULL);
	}
	if (r)
		i--; /* which did not become one */
	else
		r = xa_alloc(&mf->ctx, id, ctx, XA_LIMIT(1, MOCKGPU_MAX_CTX), GFP_KERNEL);
	if (r)
		ctx_end(dev, ctx, i);
	return r == -EBUSY ? -ENOSPC : r;
}

static int ctx_op(struct mock_device *dev, struct mock_file *mf, struct drm_mockgpu_ctx *args)
{
	struct mock_ctx *ctx;

	switch (args->op) {
	case MOCKGPU_CTX_CREATE:
		return ctx_new(dev, mf, &args->id);
	case MOCKGPU_CTX_DESTROY:
		ctx = xa_erase(&mf->ctx, args->id);
		if (!ctx)
			return -ENOENT;
		ctx_end(dev, ctx, MOCKGPU_RINGS);
		return 0;
	}
	return -EINVAL;
}

/** mock_ctx_ioctl() - DRM_IOCTL_MOCKGPU_CTX. Return: 0, -EINVAL, -ENOENT, -ENOSPC, -ENODEV */
int mock_ctx_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct mock_file *mf = file->driver_priv;
	int idx, r;

	if (!drm_dev_enter(drm, &idx))
		return -ENODEV;
	mutex_lock(&mf->lock);
	r = ctx_op(mock_device(drm), mf, data);
	mutex_unlock(&mf->lock);
	drm_dev_exit(idx);
	return r;
}

/* Submitting -----------------------------------------------------------------------------------
 */

/* A reference to the finished fence of a job, NULL if it is not among the latest */
static struct dma_fence *fence_of(struct mock_file *mf, u64 job)
{
	if (job == 0 || job >= mf->next || mf->next - job > MOCKGPU_MAX_JOBS)
		return NULL;
	return dma_fence_get(mf->fence[job % MOCKGPU_MAX_JOBS]);
}

static int job_init(struct mock_job *job, struct drm_sched_entity *entity)
{
	/* The truth as the owner: the probe of drm_sched_process_job sees the fence only */
	return drm_sched_job_init(&job->base, entity,
#ifdef HAVE_JOB_CREDITS
				  1,
#endif
				  job->truth
#ifdef HAVE_JOB_CLIENT
				  ,
				  job->client->id
#endif
	);
}

/* From here on the job goes its way, and the scheduler frees it */
static void job_push(struct mock_device *dev, struct mock_file *mf, struct mock_job *job,
		     struct drm_mockgpu_submit *args)
{
	struct dma_fence **slot, *finished;

	drm_sched_job_arm(&job->base);
	finished = &job->base.s_fence->finished;
	args->fence_context = finished->context;
	args->fence_seqno = finished->seqno;
	args->job = mf->next++;
	slot = &mf->fence[args->job % MOCKGPU_MAX_JOBS];
	dma_fence_put(*slot);
	*slot = dma_fence_get(finished);
	job->truth->context = finished->context;
	job->truth->seqno = finished->seqno;
#ifdef HAVE_JOB_ID
	job->truth->id = job->base.id;
#endif
	job->truth->length = job->length;
	mock_truth_publish(job->truth);
	atomic_inc(&dev->users);
	WRITE_ONCE(job->truth->before_submit, ktime_get_mono_fast_ns());
	drm_sched_entity_push_job(&job->base);
}

static int job_submit(struct mock_device *dev, struct mock_file *mf, struct mock_job *job,
		      struct mock_ctx *ctx, struct drm_mockgpu_submit *args)
{
	struct dma_fence *depends = NULL;
	int r;

	job->client = mock_client_get(mf->client);
	kref_get(&ctx->ref);
	job->ctx = ctx;
	job->truth = mock_truth_new(job->ring, job->client);
	if (!job->truth)
		return -ENOMEM;
	if (args->depends) {
		depends = fence_of(mf, args->depends);
		if (!depends)
			return -ENOENT;
	}
	r = job_init(job, &ctx->entity[args->ring]);
	if (r) {
		dma_fence_put(depends);
		return r;
	}
	if (depends)
		r = drm_sched_job_add_dependency(&job->base, depends); /* takes the reference */
	if (r) {
		drm_sched_job_cleanup(&job->base);
		return r;
	}
	job_push(dev, mf, job, args);
	return 0;
}

static int submit(struct mock_device *dev, struct mock_file *mf, struct drm_mockgpu_submit *args)
{
	struct dma_fence *last = mf->fence[mf->next % MOCKGPU_MAX_JOBS];
	struct mock_ctx *ctx = xa_load(&mf->ctx, args->ctx);
	struct mock_job *job;
	int r;

	if (!ctx)
		return -ENOENT;
	if (last && !dma_fence_is_signaled(last))
		return -EBUSY;
	job = mock_job_new(&dev->ring[args->ring], args->length_ns, args->flags);
	if (!job)
		return -ENOMEM;
	r = job_submit(dev, mf, job, ctx, args);
	if (r)
		mock_job_free(job);
	return r;
}

/**
 * mock_submit_ioctl() - DRM_IOCTL_MOCKGPU_SUBMIT
 * Return: 0, -EINVAL, -ENOENT: no such context, or no such job to depend on; -EBUSY: too many jobs
 * in flight; -ENODEV, -ENOMEM
 */
int mock_submit_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct mock_file *mf = file->driver_priv;
	struct drm_mockgpu_submit *args = data;
	int idx, r;

	if (args->ring >= MOCKGPU_RINGS || args->flags & ~MOCKGPU_JOB_HANG || args->pad ||
	    args->length_ns > MOCKGPU_MAX_NS)
		return -EINVAL;
	if (!drm_dev_enter(drm, &idx))
		return -ENODEV;
	mutex_lock(&mf->lock);
	r = submit(mock_device(drm), mf, args);
	mutex_unlock(&mf->lock);
	drm_dev_exit(idx);
	return r;
}

/* Waiting, memory ------------------------------------------------------------------------------
 */

/** mock_wait_ioctl() - DRM_IOCTL_MOCKGPU_WAIT. Return: 0, -EINVAL, -ENOENT, -ETIME, -ERESTARTSYS */
int mock_wait_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct mock_file *mf = file->driver_priv;
	struct drm_mockgpu_wait *args = data;
	long timeout = MAX_SCHEDULE_TIMEOUT;
	struct dma_fence *fence;

	if (args->pad)
		return -EINVAL;
	mutex_lock(&mf->lock);
	fence = fence_of(mf, args->job);
	mutex_unlock(&mf->lock);
	if (!fence)
		return -ENOENT;
	if (args->timeout_ns >= 0)
		timeout = nsecs_to_jiffies(args->timeout_ns);
	timeout = dma_fence_wait_timeout(fence, true, timeout);
	if (timeout > 0)
		args->result = fence->error;
	dma_fence_put(fence);
	return timeout > 0 ? 0 : timeout ?: -ETIME;
}

/** mock_alloc_ioctl() - DRM_IOCTL_MOCKGPU_ALLOC. Return: 0, -EINVAL, -ENODEV */
int mock_alloc_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct mock_file *mf = file->driver_priv;
	struct drm_mockgpu_alloc *args = data;
	s64 limit = 1LL << 40, now;
	int r = -EINVAL;

	if (args->domain >= MOCKGPU_DOMAINS || args->pad || args->bytes > limit ||
	    args->bytes < -limit)
		return -EINVAL;
	mutex_lock(&mf->lock);
	now = atomic64_read(&mf->client->memory[args->domain]) + args->bytes;
	if (now >= 0 && now <= limit) {
		atomic64_set(&mf->client->memory[args->domain], now);
		r = 0;
	}
	mutex_unlock(&mf->lock);
	return r;
}
