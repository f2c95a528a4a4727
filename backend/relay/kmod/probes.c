// SPDX-License-Identifier: GPL-2.0
/*
 * What is called at tracepoints, with their own arguments. Structures that only a driver's own
 * headers have are not looked into beyond what they begin with.
 */
#include <linux/build_bug.h>
#include <linux/dma-fence.h>
#include <linux/virtio.h>
#include <linux/virtio_gpu.h>
#include <drm/gpu_scheduler.h>

#include "btf.h"
#include "internal.h"

struct amdgpu_job;   /* begins with a struct drm_sched_job */
struct i915_request; /* begins with a struct dma_fence */

/* The scheduler, by either set of names, and amdgpu's jobs on it -------------------------------
 */

static struct grt_ring *ring_of(const struct drm_gpu_scheduler *sched)
{
	return sched ? grt_ring_of(sched, sched->name, sched->dev, 0) : NULL;
}

static void say_job(const struct grt_hook *hook, const struct drm_sched_job *job)
{
	const struct drm_sched_fence *f = job->s_fence;
	struct grt_says e = { hook->type, hook->source, .value = GRT_NONE64, .ref = GRT_NONE64 };

	if (!f)
		return;
	e.ring = ring_of(job->sched);
	e.ctx = f->finished.context;
	e.seqno = f->finished.seqno;
#ifdef HAVE_FENCE_CLIENT
	if (hook->type == GRT_SUBMIT)
		e.value = f->drm_client_id;
#endif
	if (hook->type == GRT_SUBMIT && e.ring)
		grt_ring_learn(e.ctx, e.ring);
	grt_emit(&e);
}

static void on_job(void *data, struct drm_sched_job *job, struct drm_sched_entity *entity)
{
	say_job(data, job);
}

static void on_amdgpu_job(void *data, struct amdgpu_job *job)
{
	say_job(data, (const struct drm_sched_job *)job);
}

static u64 error_of(int result)
{
	switch (result) {
	case -ETIME:
	case -ETIMEDOUT:
		return GRT_ERR_TIMEOUT;
	case -ECANCELED:
	case -ENODATA:
		return GRT_ERR_RESET;
	default:
		return GRT_ERR_UNKNOWN;
	}
}

static void say_end(const struct grt_hook *hook, struct grt_ring *ring, u64 ctx, u64 seqno,
		    int result)
{
	struct grt_says e = {
		hook->type, hook->source, ring, ctx, seqno, (u64)(s64)result, GRT_NONE64,
	};

	grt_emit(&e);
	if (!result)
		return;
	e.type = GRT_ERROR;
	e.value = error_of(result);
	grt_emit(&e);
}

static void on_done(void *data, struct drm_sched_fence *f)
{
	const struct dma_fence *hw = f->parent;
	int result = READ_ONCE(f->finished.error);

	if (!result && !IS_ERR_OR_NULL(hw))
		result = READ_ONCE(hw->error);
	say_end(data, ring_of(f->sched), f->finished.context, f->finished.seqno, result);
}

/* Waits for any fence ---------------------------------------------------------------------------
 */

static void on_wait(void *data, struct dma_fence *fence)
{
	const struct grt_hook *hook = data;
	struct grt_says e = {
		hook->type,	hook->source, grt_ring_of_ctx(fence->context),
		fence->context, fence->seqno, GRT_NONE64,
		GRT_NONE64,
	};

	grt_emit(&e);
}

/* i915: of a request only its fence is known, so all its engines are one ring -------------------
 */

static void say_request(const struct grt_hook *hook, const struct i915_request *rq)
{
	const struct dma_fence *fence = (const struct dma_fence *)rq;
	struct grt_ring *ring = grt_ring_of(hook->probe, "i915", NULL, 0);
	struct grt_says e = {
		hook->type,   hook->source, ring,	fence->context,
		fence->seqno, GRT_NONE64,   GRT_NONE64,
	};

	if (hook->type == GRT_COMPLETE) {
		say_end(hook, ring, fence->context, fence->seqno, READ_ONCE(fence->error));
		return;
	}
	if (hook->type == GRT_SUBMIT && ring)
		grt_ring_learn(fence->context, ring);
	grt_emit(&e);
}

static void on_request_flags(void *data, struct i915_request *rq, u32 flags)
{
	say_request(data, rq);
}

static void on_request_port(void *data, struct i915_request *rq, unsigned int port)
{
	say_request(data, rq);
}

static void on_request(void *data, struct i915_request *rq)
{
	say_request(data, rq);
}

/* virtio_gpu: its commands, a virtqueue is a ring ------------------------------------------------
 */

static void say_command(const struct grt_hook *hook, const struct virtqueue *vq,
			const struct virtio_gpu_ctrl_hdr *hdr, u32 seqno)
{
	struct grt_says e = {
		hook->type,
		hook->source,
		grt_ring_of(vq, vq->name, vq->vdev ? &vq->vdev->dev : NULL, 0),
		le32_to_cpu(hdr->ctx_id),
		seqno ?: le64_to_cpu(hdr->fence_id),
		hook->type == GRT_COMPLETE ? 0 : GRT_NONE64,
		GRT_NONE64,
	};

	grt_emit(&e);
}

static void on_command(void *data, struct virtqueue *vq, struct virtio_gpu_ctrl_hdr *hdr, u32 seqno)
{
	say_command(data, vq, hdr, seqno);
}

/* Before Linux 6.12 */
static void on_command_old(void *data, struct virtqueue *vq, struct virtio_gpu_ctrl_hdr *hdr)
{
	say_command(data, vq, hdr, 0);
}

/* What is read of their arguments: proto.c holds it against what the running kernel has -----------
 */

#define FENCE_MEMBERS                                                                              \
	GRT_MEMBER(dma_fence, context), GRT_MEMBER(dma_fence, seqno), GRT_MEMBER(dma_fence, error)

#ifdef HAVE_FENCE_CLIENT
#define CLIENT_MEMBER GRT_MEMBER(drm_sched_fence, drm_client_id),
#else
#define CLIENT_MEMBER
#endif

#define SCHED_FENCE_MEMBERS                                                                        \
	GRT_MEMBER_TO(drm_sched_fence, finished, dma_fence),                                       \
		GRT_MEMBER_TO(drm_sched_fence, parent, dma_fence),                                 \
		GRT_MEMBER_TO(drm_sched_fence, sched, drm_gpu_scheduler),                          \
		CLIENT_MEMBER GRT_MEMBER(drm_gpu_scheduler, name),                                 \
		GRT_MEMBER_TO(drm_gpu_scheduler, dev, device), FENCE_MEMBERS

#define JOB_MEMBERS                                                                                \
	GRT_MEMBER_TO(drm_sched_job, s_fence, drm_sched_fence),                                    \
		GRT_MEMBER_TO(drm_sched_job, sched, drm_gpu_scheduler), SCHED_FENCE_MEMBERS

static const struct grt_member of_job[] = { JOB_MEMBERS, {} };
static const struct grt_member of_amdgpu_job[] = {
	GRT_BEGINS_WITH(amdgpu_job, drm_sched_job),
	JOB_MEMBERS,
	{},
};
static const struct grt_member of_done[] = { SCHED_FENCE_MEMBERS, {} };
static const struct grt_member of_fence[] = { FENCE_MEMBERS, {} };
static const struct grt_member of_request[] = {
	GRT_BEGINS_WITH(i915_request, dma_fence),
	FENCE_MEMBERS,
	{},
};
static const struct grt_member of_command[] = {
	GRT_MEMBER(virtqueue, name),
	GRT_MEMBER_TO(virtqueue, vdev, virtio_device),
	GRT_MEMBER_TO(virtio_device, dev, device),
	GRT_MEMBER(virtio_gpu_ctrl_hdr, ctx_id),
	GRT_MEMBER(virtio_gpu_ctrl_hdr, fence_id),
	{},
};

/* The probe @fn, which takes these arguments: the compiler sees to it, and proto.c reads the words
 */
#define PROBE(fn, of, ...)                                                                         \
	(void *)(fn) + BUILD_BUG_ON_ZERO(!__same_type(fn, void(void *, __VA_ARGS__))),             \
		#__VA_ARGS__, of

#define JOB(fn)	    PROBE(fn, of_job, struct drm_sched_job *, struct drm_sched_entity *)
#define DONE(fn)    PROBE(fn, of_done, struct drm_sched_fence *)
#define AMD(fn)	    PROBE(fn, of_amdgpu_job, struct amdgpu_job *)
#define FENCE(fn)   PROBE(fn, of_fence, struct dma_fence *)
#define REQUEST(fn) PROBE(fn, of_request, struct i915_request *)

struct grt_hook grt_hooks[] = {
	{ "drm_sched_job", JOB(on_job), GRT_SUBMIT, GRT_SRC_SCHED },
	{ "drm_run_job", JOB(on_job), GRT_COMMIT, GRT_SRC_SCHED },
	{ "drm_sched_process_job", DONE(on_done), GRT_COMPLETE, GRT_SRC_SCHED },
	{ "drm_sched_job_queue", JOB(on_job), GRT_SUBMIT, GRT_SRC_SCHED_NEW },
	{ "drm_sched_job_run", JOB(on_job), GRT_COMMIT, GRT_SRC_SCHED_NEW },
	{ "drm_sched_job_done", DONE(on_done), GRT_COMPLETE, GRT_SRC_SCHED_NEW },
	{ "amdgpu_cs_ioctl", AMD(on_amdgpu_job), GRT_SUBMIT, GRT_SRC_AMDGPU },
	{ "amdgpu_sched_run_job", AMD(on_amdgpu_job), GRT_COMMIT, GRT_SRC_AMDGPU },
	{ "dma_fence_wait_start", FENCE(on_wait), GRT_SYNC_WAIT_ENTER, GRT_SRC_FENCE },
	{ "dma_fence_wait_end", FENCE(on_wait), GRT_SYNC_WAIT_EXIT, GRT_SRC_FENCE },
	{ "i915_request_queue", PROBE(on_request_flags, of_request, struct i915_request *, u32),
	  GRT_SUBMIT, GRT_SRC_I915 },
	{ "i915_request_submit", REQUEST(on_request), GRT_COMMIT, GRT_SRC_I915 },
	{ "i915_request_in",
	  PROBE(on_request_port, of_request, struct i915_request *, unsigned int), GRT_START,
	  GRT_SRC_I915 },
	{ "i915_request_out", REQUEST(on_request), GRT_END, GRT_SRC_I915 },
	{ "i915_request_retire", REQUEST(on_request), GRT_COMPLETE, GRT_SRC_I915 },
#define COMMAND(name, type)                                                                        \
	{ name,                                                                                    \
	  PROBE(on_command, of_command, struct virtqueue *, struct virtio_gpu_ctrl_hdr *, u32),    \
	  type, GRT_SRC_VIRTIO },                                                                  \
	{                                                                                          \
		name,                                                                              \
			PROBE(on_command_old, of_command, struct virtqueue *,                      \
			      struct virtio_gpu_ctrl_hdr *),                                       \
			type, GRT_SRC_VIRTIO                                                       \
	}
	COMMAND("virtio_gpu_cmd_queue", GRT_SUBMIT),
	COMMAND("virtio_gpu_cmd_response", GRT_COMPLETE),
};

const unsigned int grt_hook_count = ARRAY_SIZE(grt_hooks);
