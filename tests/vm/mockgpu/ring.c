// SPDX-License-Identifier: GPL-2.0
/*
 * Rings: a DRM scheduler each, and the hardware it hands its jobs to. The hardware is a list of
 * jobs and a timer for each that is worked on; the end of a job signals its hardware fence, in
 * the timer's interrupt as a GPU does.
 */
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>
#include <linux/wait_bit.h>

#include "mockgpu.h"

static uint hw_jobs = 4;
module_param(hw_jobs, uint, 0444);
MODULE_PARM_DESC(hw_jobs, "jobs that the hardware of a ring takes at once");

static uint timeout_ms = 2000;
module_param(timeout_ms, uint, 0444);
MODULE_PARM_DESC(timeout_ms, "after which the scheduler holds a job for hung");

const char *const mock_ring_name[MOCKGPU_RINGS] = MOCKGPU_RING_NAMES;
static const enum mock_class ring_class[MOCKGPU_RINGS] = { MOCK_GFX, MOCK_COMPUTE, MOCK_COMPUTE,
							   MOCK_DMA, MOCK_DEC };
static atomic_t live_jobs, live_fences, killed;

/**
 * mock_rings_clean() - Return: whether every job and fence there ever was is freed
 *
 * When it kills the jobs of a queue, 6.1's scheduler drops a reference to the fence of the last one
 * that ran, without giving it back (Linux a952f1ab6968 mends that): so many may be left.
 */
bool mock_rings_clean(void)
{
	return atomic_read(&live_jobs) == 0 && atomic_read(&live_fences) <= atomic_read(&killed);
}

/* The hardware's fence -------------------------------------------------------------------------
 */

static const char *fence_driver(struct dma_fence *fence)
{
	return "mockgpu";
}

static const char *fence_timeline(struct dma_fence *fence)
{
	return container_of(fence, struct mock_fence, base)->name;
}

static void fence_release(struct dma_fence *fence)
{
	atomic_dec(&live_fences);
	dma_fence_free(fence);
}

static const struct dma_fence_ops fence_ops = {
	.get_driver_name = fence_driver,
	.get_timeline_name = fence_timeline,
	.release = fence_release,
};

/* A timeline signals in order, so each job of a ring that does not has its own */
static void fence_start(struct mock_fence *fence, struct mock_ring *ring)
{
	u64 context = ring->unordered ? dma_fence_context_alloc(1) : ring->context;
	u64 seqno = ring->unordered ? 1 : ++ring->seqno;

	fence->name = ring->name;
	spin_lock_init(&fence->lock);
	dma_fence_init(&fence->base, &fence_ops, &fence->lock, context, seqno);
	atomic_inc(&live_fences);
}

/* The hardware; all with the ring's lock held --------------------------------------------------
 */

static void hw_begin(struct mock_job *job, u64 now)
{
	job->busy = true;
	WRITE_ONCE(job->truth->hw_start, now);
	if (!(job->flags & MOCKGPU_JOB_HANG))
		hrtimer_start(&job->timer, ns_to_ktime(job->length), HRTIMER_MODE_REL);
}

static void hw_next(struct mock_ring *ring, u64 now)
{
	struct mock_job *job;

	list_for_each_entry(job, &ring->jobs, link) {
		if (!job->busy)
			hw_begin(job, now);
		if (!ring->unordered)
			return;
	}
}

static void hw_take_off(struct mock_job *job)
{
	list_del(&job->link);
	job->on_hw = false;
	job->busy = false;
}

/* The job has a result, and may be freed as soon as this is reported: with the lock held, so that jobs
 * end in the same order for everybody. 6.1's scheduler does not pass on the hardware fence's error,
 * so that is done here. */
static void job_end(struct mock_job *job, int result, u64 now)
{
	struct mock_truth *t = job->truth;

	job->ended = true;
	if (t->hw_start) {
		WRITE_ONCE(t->hw_end, now);
		atomic64_add(now - t->hw_start, &job->client->busy[job->ring->class]);
	}
	WRITE_ONCE(t->result, result);
	if (result) {
		dma_fence_set_error(&job->fence->base, result);
		dma_fence_set_error(&job->base.s_fence->finished, result);
	}
	WRITE_ONCE(t->before_done, ktime_get_mono_fast_ns());
	dma_fence_signal(&job->fence->base);
}

static enum hrtimer_restart hw_timer(struct hrtimer *timer)
{
	struct mock_job *job = container_of(timer, struct mock_job, timer);
	struct mock_ring *ring = job->ring;
	unsigned long flags;
	u64 now;

	spin_lock_irqsave(&ring->lock, flags);
	if (job->on_hw) {
		now = ktime_get_mono_fast_ns();
		hw_take_off(job);
		hw_next(ring, now);
		job_end(job, 0, now); /* who frees it waits for this function to return */
	}
	spin_unlock_irqrestore(&ring->lock, flags);
	return HRTIMER_NORESTART;
}

/**
 * mock_ring_kill() - the device is gone: what the hardware has fails now, what comes later at once
 * @ring: a ring of it
 */
void mock_ring_kill(struct mock_ring *ring)
{
	struct mock_job *job, *next;

	spin_lock_irq(&ring->lock);
	ring->dead = true;
	list_for_each_entry_safe(job, next, &ring->jobs, link) {
		hw_take_off(job);
		job_end(job, -ENODEV, ktime_get_mono_fast_ns());
	}
	spin_unlock_irq(&ring->lock);
}

/* What the scheduler asks ----------------------------------------------------------------------
 */

/* Its last question before drm_run_job: is there anything to wait for? */
static struct dma_fence *prepare_job(struct drm_sched_job *base, struct drm_sched_entity *entity)
{
	WRITE_ONCE(mock_job(base)->truth->before_run, ktime_get_mono_fast_ns());
	return NULL;
}

static struct dma_fence *run_job(struct drm_sched_job *base)
{
	struct mock_job *job = mock_job(base);
	struct mock_ring *ring = job->ring;
	u64 now;

	spin_lock_irq(&ring->lock);
	now = ktime_get_mono_fast_ns();
	if (!job->known)
		fence_start(job->fence, ring);
	job->known = true;
	if (!job->ended && ring->dead)
		job_end(job, -ENODEV, now);
	if (!job->ended) {
		list_add_tail(&job->link, &ring->jobs);
		job->on_hw = true;
		hw_next(ring, now);
	}
	spin_unlock_irq(&ring->lock);
	return dma_fence_get(&job->fence->base);
}

/* The hung job ends with -ETIME, if it has not ended after all; the others begin again */
static void hw_reset(struct mock_ring *ring, struct mock_job *bad)
{
	struct mock_job *job, *next;
	LIST_HEAD(stopped);

	spin_lock_irq(&ring->lock);
	list_for_each_entry_safe(job, next, &ring->jobs, link) {
		hw_take_off(job);
		list_add_tail(&job->link, &stopped);
	}
	if (!bad->ended)
		job_end(bad, -ETIME, ktime_get_mono_fast_ns());
	spin_unlock_irq(&ring->lock);
	list_for_each_entry(job, &stopped, link)
		hrtimer_cancel(&job->timer);
}

static enum drm_gpu_sched_stat timedout_job(struct drm_sched_job *base)
{
	struct mock_job *bad = mock_job(base);
	struct drm_gpu_scheduler *sched = base->sched;

	drm_sched_stop(sched, base);
	hw_reset(bad->ring, bad);
	drm_sched_resubmit_jobs(sched);
#ifdef HAVE_START_FULL
	drm_sched_start(sched, true);
#elif defined(HAVE_START_ERRNO)
	drm_sched_start(sched, 0);
#else
	drm_sched_start(sched);
#endif
#ifdef HAVE_STAT_RESET
	return DRM_GPU_SCHED_STAT_RESET;
#else
	return DRM_GPU_SCHED_STAT_NOMINAL;
#endif
}

static void free_job(struct drm_sched_job *base)
{
	struct mock_job *job = mock_job(base);
	struct mock_device *dev = job->ring->dev;

	hrtimer_cancel(&job->timer);
	/* Killed before it ran, its process being gone */
	if (job->truth->result > 0) {
		WRITE_ONCE(job->truth->result, base->s_fence->finished.error ?: -ECANCELED);
		atomic_inc(&killed);
	}
	drm_sched_job_cleanup(base);
	mock_job_free(job);
	mock_device_put(dev);
}

const struct drm_sched_backend_ops mock_sched_ops = {
#ifdef HAVE_PREPARE_JOB
	.prepare_job = prepare_job,
#else
	.dependency = prepare_job,
#endif
	.run_job = run_job,
	.timedout_job = timedout_job,
	.free_job = free_job,
};

/* Jobs and rings -------------------------------------------------------------------------------
 */

/**
 * mock_job_new() - a job that the scheduler does not know yet
 * @ring: where it is to run
 * @length: ns
 * @flags: MOCKGPU_JOB_HANG
 * Return: it, to be ended by mock_job_free(); NULL without memory
 */
struct mock_job *mock_job_new(struct mock_ring *ring, u64 length, u32 flags)
{
	struct mock_job *job = kzalloc(sizeof(*job), GFP_KERNEL);

	if (!job)
		return NULL;
	atomic_inc(&live_jobs);
	job->ring = ring;
	job->length = length;
	job->flags = flags;
#ifdef HAVE_HRTIMER_SETUP
	hrtimer_setup(&job->timer, hw_timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL);
#else
	hrtimer_init(&job->timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL);
	job->timer.function = hw_timer;
#endif
	job->fence = kzalloc(sizeof(*job->fence), GFP_KERNEL);
	if (!job->fence) {
		mock_job_free(job);
		return NULL;
	}
	return job;
}

/** mock_job_free() - a job that the scheduler does not know any more, with all it holds */
void mock_job_free(struct mock_job *job)
{
	if (job->known)
		dma_fence_put(&job->fence->base);
	else
		kfree(job->fence);
	if (job->truth)
		mock_truth_put(job->truth);
	if (job->client)
		mock_client_put(job->client);
	if (job->ctx)
		mock_ctx_put(job->ctx);
	kfree(job);
	atomic_dec(&live_jobs);
}

static int ring_start(struct mock_ring *ring, struct mock_device *dev, int i)
{
	const struct drm_sched_init_args args = {
		.ops = &mock_sched_ops,
#ifdef HAVE_NUM_RQS
		.num_rqs = DRM_SCHED_PRIORITY_COUNT,
#endif
		.credit_limit = max(hw_jobs, 1u),
		.timeout = msecs_to_jiffies(timeout_ms),
		.name = mock_ring_name[i],
		.dev = dev->drm.dev,
	};

	ring->dev = dev;
	ring->name = mock_ring_name[i];
	ring->class = ring_class[i];
	ring->unordered = i == MOCKGPU_RING_UNORDERED;
	ring->context = dma_fence_context_alloc(1);
	spin_lock_init(&ring->lock);
	INIT_LIST_HEAD(&ring->jobs);
	return drm_sched_init(&ring->sched, &args);
}

/** mock_rings_start() - all rings of a device. Return: 0, or -errno with none left */
int mock_rings_start(struct mock_device *dev)
{
	for (int i = 0; i < MOCKGPU_RINGS; i++) {
		int r = ring_start(&dev->ring[i], dev, i);

		if (r) {
			while (--i >= 0)
				drm_sched_fini(&dev->ring[i].sched);
			return r;
		}
	}
	return 0;
}

/** mock_rings_stop() - all rings of a device; waits for the end of contexts and jobs */
void mock_rings_stop(struct mock_device *dev)
{
	wait_var_event(&dev->users, !atomic_read(&dev->users));
	synchronize_rcu(); /* as mock_ctx.rcu: the queue's callback looks at its scheduler */
	for (int i = 0; i < MOCKGPU_RINGS; i++)
		drm_sched_fini(&dev->ring[i].sched);
}
