// SPDX-License-Identifier: GPL-2.0
/*
 * Probes at tracepoints. These are found by name: the kernel's by walking them, modules' by the
 * notifier, which reports those that are loaded already as well. No symbol of theirs is needed, and
 * no module is held: one that goes is let go of first.
 *
 * A name does not say what a tracepoint passes. The probes are built with the kernel's headers, so
 * they know the structures of the kernel and of the modules that were built with it. A module that was
 * not may have others: its tracepoints are hooked only if somebody wants it so. One with another
 * number of arguments is never hooked; a module shows that number, the kernel itself does not.
 *
 * Of structures that only a driver's own headers have no more is used than what they begin with.
 */
#include <linux/build_bug.h>
#include <linux/dma-fence.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/trace_events.h>
#include <linux/tracepoint.h>
#include <linux/virtio.h>
#include <linux/virtio_gpu.h>
#include <drm/gpu_scheduler.h>

#include "internal.h"

struct amdgpu_job;   /* begins with a struct drm_sched_job */
struct i915_request; /* begins with a struct dma_fence */

/* Whether a tracepoint passes what its probe takes; the better the lower */
enum proto { FITS, UNVERIFIED, REFUSED };

/**
 * struct hook - a tracepoint that some kernel has
 * @name: of the tracepoint
 * @probe: what is called there, with this as its first argument; @args: how many others it takes
 * @type: of the event that it reports
 * @source: who reports it
 * @tp: where it is, NULL as long as it is not
 * @owner: the module it is in, NULL: the kernel
 * @on: whether @probe is registered there
 * @proto: whether it may be
 * @why: if not, what is in the way
 */
struct hook {
	const char *name;
	void *probe;
	int args;
	u16 type;
	u8 source;
	struct tracepoint *tp;
	struct module *owner;
	bool on;
	enum proto proto;
	char why[80];
};

/* The scheduler, by either set of names, and amdgpu's jobs on it -------------------------------
 */

static struct grt_ring *ring_of(const struct drm_gpu_scheduler *sched)
{
	return sched ? grt_ring_of(sched, sched->name, sched->dev) : NULL;
}

static void report_job(const struct hook *hook, const struct drm_sched_job *job)
{
	const struct drm_sched_fence *f = job->s_fence;
	struct grt_report e = { hook->type, hook->source, .value = GRT_NONE64, .ref = GRT_NONE64 };

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
	report_job(data, job);
}

static void on_amdgpu_job(void *data, struct amdgpu_job *job)
{
	report_job(data, (const struct drm_sched_job *)job);
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

static void report_end(const struct hook *hook, struct grt_ring *ring, u64 ctx, u64 seqno,
		       int result)
{
	struct grt_report e = {
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
	report_end(data, ring_of(f->sched), f->finished.context, f->finished.seqno, result);
}

/* Waits for any fence ---------------------------------------------------------------------------
 */

static void on_wait(void *data, struct dma_fence *fence)
{
	const struct hook *hook = data;
	struct grt_report e = {
		hook->type,	hook->source, grt_ring_of_ctx(fence->context),
		fence->context, fence->seqno, GRT_NONE64,
		GRT_NONE64,
	};

	grt_emit(&e);
}

/* i915: of a request only its fence is known, so all its engines are one ring -------------------
 */

static void report_request(const struct hook *hook, const struct i915_request *rq)
{
	const struct dma_fence *fence = (const struct dma_fence *)rq;
	struct grt_ring *ring = grt_ring_of(hook->probe, "i915", NULL);
	struct grt_report e = {
		hook->type,   hook->source, ring,	fence->context,
		fence->seqno, GRT_NONE64,   GRT_NONE64,
	};

	if (hook->type == GRT_COMPLETE) {
		report_end(hook, ring, fence->context, fence->seqno, READ_ONCE(fence->error));
		return;
	}
	if (hook->type == GRT_SUBMIT && ring)
		grt_ring_learn(fence->context, ring);
	grt_emit(&e);
}

static void on_request_flags(void *data, struct i915_request *rq, u32 flags)
{
	report_request(data, rq);
}

static void on_request_port(void *data, struct i915_request *rq, unsigned int port)
{
	report_request(data, rq);
}

static void on_request(void *data, struct i915_request *rq)
{
	report_request(data, rq);
}

/* virtio_gpu: its commands, a virtqueue is a ring ------------------------------------------------
 */

static void report_command(const struct hook *hook, const struct virtqueue *vq,
			   const struct virtio_gpu_ctrl_hdr *hdr, u32 seqno)
{
	struct grt_report e = {
		hook->type,
		hook->source,
		grt_ring_of(vq, vq->name, vq->vdev ? &vq->vdev->dev : NULL),
		le32_to_cpu(hdr->ctx_id),
		seqno ?: le64_to_cpu(hdr->fence_id),
		hook->type == GRT_COMPLETE ? 0 : GRT_NONE64,
		GRT_NONE64,
	};

	grt_emit(&e);
}

static void on_command(void *data, struct virtqueue *vq, struct virtio_gpu_ctrl_hdr *hdr, u32 seqno)
{
	report_command(data, vq, hdr, seqno);
}

/* In older kernels */
static void on_command_old(void *data, struct virtqueue *vq, struct virtio_gpu_ctrl_hdr *hdr)
{
	report_command(data, vq, hdr, 0);
}

/* How many arguments follow, four at most */
#define COUNT(...)		       COUNT_(__VA_ARGS__, 4, 3, 2, 1)
#define COUNT_(_1, _2, _3, _4, n, ...) n
/* The probe @fn, which takes these arguments: the compiler sees to it */
#define PROBE(fn, ...)                                                                             \
	(void *)(fn) + BUILD_BUG_ON_ZERO(!__same_type(fn, void(void *, __VA_ARGS__))),             \
		COUNT(__VA_ARGS__)

#define JOB	    PROBE(on_job, struct drm_sched_job *, struct drm_sched_entity *)
#define DONE	    PROBE(on_done, struct drm_sched_fence *)
#define AMD	    PROBE(on_amdgpu_job, struct amdgpu_job *)
#define WAIT	    PROBE(on_wait, struct dma_fence *)
#define REQUEST	    PROBE(on_request, struct i915_request *)
#define COMMAND	    PROBE(on_command, struct virtqueue *, struct virtio_gpu_ctrl_hdr *, u32)
#define COMMAND_OLD PROBE(on_command_old, struct virtqueue *, struct virtio_gpu_ctrl_hdr *)

static struct hook hooks[] = {
	{ "drm_sched_job", JOB, GRT_SUBMIT, GRT_SRC_SCHED },
	{ "drm_run_job", JOB, GRT_COMMIT, GRT_SRC_SCHED },
	{ "drm_sched_process_job", DONE, GRT_COMPLETE, GRT_SRC_SCHED },
	{ "drm_sched_job_queue", JOB, GRT_SUBMIT, GRT_SRC_SCHED_NEW },
	{ "drm_sched_job_run", JOB, GRT_COMMIT, GRT_SRC_SCHED_NEW },
	{ "drm_sched_job_done", DONE, GRT_COMPLETE, GRT_SRC_SCHED_NEW },
	{ "amdgpu_cs_ioctl", AMD, GRT_SUBMIT, GRT_SRC_AMDGPU },
	{ "amdgpu_sched_run_job", AMD, GRT_COMMIT, GRT_SRC_AMDGPU },
	{ "dma_fence_wait_start", WAIT, GRT_SYNC_WAIT_ENTER, GRT_SRC_FENCE },
	{ "dma_fence_wait_end", WAIT, GRT_SYNC_WAIT_EXIT, GRT_SRC_FENCE },
	{ "i915_request_queue", PROBE(on_request_flags, struct i915_request *, u32), GRT_SUBMIT,
	  GRT_SRC_I915 },
	{ "i915_request_submit", REQUEST, GRT_COMMIT, GRT_SRC_I915 },
	{ "i915_request_in", PROBE(on_request_port, struct i915_request *, unsigned int), GRT_START,
	  GRT_SRC_I915 },
	{ "i915_request_out", REQUEST, GRT_END, GRT_SRC_I915 },
	{ "i915_request_retire", REQUEST, GRT_COMPLETE, GRT_SRC_I915 },
	{ "virtio_gpu_cmd_queue", COMMAND, GRT_SUBMIT, GRT_SRC_VIRTIO },
	{ "virtio_gpu_cmd_queue", COMMAND_OLD, GRT_SUBMIT, GRT_SRC_VIRTIO },
	{ "virtio_gpu_cmd_response", COMMAND, GRT_COMPLETE, GRT_SRC_VIRTIO },
	{ "virtio_gpu_cmd_response", COMMAND_OLD, GRT_COMPLETE, GRT_SRC_VIRTIO },
};

/* Which tracepoints there are, and hooking them ------------------------------------------------- */

static DEFINE_MUTEX(lock); /* inside grt_lock, and inside the notifier's */
static bool wanted;
static bool hook_unverified;
module_param(hook_unverified, bool, 0600);
MODULE_PARM_DESC(hook_unverified,
		 "hook tracepoints of modules that were not built with this kernel, from the next "
		 "start on: another layout of its structures crashes the kernel (default: 0)");

static bool may_hook(enum proto proto)
{
	return proto == FITS || (proto == UNVERIFIED && READ_ONCE(hook_unverified));
}

static void hook_on(struct hook *h)
{
	if (!h->tp || h->on || !may_hook(h->proto))
		return;
	h->on = !tracepoint_probe_register(h->tp, h->probe, h);
	if (!h->on)
		pr_warn("grtrace: tracepoint %s cannot be hooked\n", h->name);
}

static void hook_off(struct hook *h)
{
	if (h->on)
		tracepoint_probe_unregister(h->tp, h->probe, h);
	h->on = false;
}

static void leave(struct hook *h)
{
	hook_off(h);
	h->tp = NULL;
	h->owner = NULL;
}

/* How many arguments it has, as the module has it for BPF; -1: it is not known */
static int arguments(const struct tracepoint *tp, const struct module *owner)
{
#ifdef CONFIG_BPF_EVENTS
	for (unsigned int i = 0; owner && i < owner->num_bpf_raw_events; i++)
		if (owner->bpf_raw_events[i].tp == tp)
			return owner->bpf_raw_events[i].num_args;
#endif
	return -1;
}

static bool has_rivals(const struct hook *h)
{
	for (int i = 0; i < ARRAY_SIZE(hooks); i++)
		if (&hooks[i] != h && !strcmp(hooks[i].name, h->name))
			return true;
	return false;
}

static enum proto proto_of(const struct hook *h, const struct tracepoint *tp,
			   const struct module *owner, char *why, size_t len)
{
	int has = arguments(tp, owner);

	why[0] = '\0';
	if (has >= 0 && has != h->args) {
		snprintf(why, len, "it has %d arguments instead of %d", has, h->args);
		return REFUSED;
	}
	if (owner && test_bit(TAINT_OOT_MODULE, &owner->taints)) {
		snprintf(why, len, "its module was not built with this kernel");
		return UNVERIFIED;
	}
	if (has < 0 && has_rivals(h)) {
		snprintf(why, len, "how many arguments it has is not known");
		return UNVERIFIED;
	}
	return FITS;
}

/* The hook that a tracepoint of this name is held by, if there is one */
static struct hook *held(const char *name)
{
	for (int i = 0; i < ARRAY_SIZE(hooks); i++)
		if (hooks[i].tp && !strcmp(hooks[i].name, name))
			return &hooks[i];
	return NULL;
}

/* Several hooks may have one name, for tracepoints that have changed: the one that fits best is taken.
 * Two modules may have one of that name, too: the one that fits better stays, and the other is not
 * looked at again. */
static void found(struct tracepoint *tp, struct module *owner)
{
	struct hook *best = NULL, *was = held(tp->name);
	enum proto best_proto = REFUSED, proto;
	char why[sizeof(best->why)], best_why[sizeof(best->why)];

	for (int i = 0; i < ARRAY_SIZE(hooks); i++) {
		if (strcmp(hooks[i].name, tp->name))
			continue;
		proto = proto_of(&hooks[i], tp, owner, why, sizeof(why));
		if (best && proto >= best_proto)
			continue;
		best = &hooks[i];
		best_proto = proto;
		memcpy(best_why, why, sizeof(why));
	}
	if (!best)
		return;
	if (!may_hook(best_proto))
		pr_warn("grtrace: tracepoint %s of %s is %s: %s\n", tp->name,
			owner ? owner->name : "the kernel",
			best_proto == REFUSED ? "not hooked" : "hooked only with hook_unverified=1",
			best_why);
	if (was && was->proto <= best_proto)
		return;
	if (was)
		leave(was);
	best->tp = tp;
	best->owner = owner;
	best->proto = best_proto;
	memcpy(best->why, best_why, sizeof(best_why));
	if (wanted)
		hook_on(best);
}

static int module_event(struct notifier_block *nb, unsigned long state, void *data)
{
	struct module *mod = ((struct tp_module *)data)->mod;

	mutex_lock(&lock);
	if (state == MODULE_STATE_COMING)
		for (unsigned int i = 0; i < mod->num_tracepoints; i++)
			found(tracepoint_ptr_deref(&mod->tracepoints_ptrs[i]), mod);
	else if (state == MODULE_STATE_GOING)
		for (int i = 0; i < ARRAY_SIZE(hooks); i++)
			if (hooks[i].tp && hooks[i].owner == mod)
				leave(&hooks[i]);
	mutex_unlock(&lock);
	return NOTIFY_OK;
}

static struct notifier_block notifier = { .notifier_call = module_event };

/** grt_hooks_on() - hooks what there is, and from now on what comes */
void grt_hooks_on(void)
{
	mutex_lock(&lock);
	wanted = true;
	for (int i = 0; i < ARRAY_SIZE(hooks); i++)
		hook_on(&hooks[i]);
	mutex_unlock(&lock);
}

/** grt_hooks_off() - lets go of all; returns when no probe runs any more */
void grt_hooks_off(void)
{
	mutex_lock(&lock);
	wanted = false;
	for (int i = 0; i < ARRAY_SIZE(hooks); i++)
		hook_off(&hooks[i]);
	mutex_unlock(&lock);
	tracepoint_synchronize_unregister();
}

/** grt_hooks_stats() - a line for each tracepoint there is: whether it is hooked */
void grt_hooks_stats(struct seq_file *m)
{
	unsigned int n[] = { 0, 0, 0 };

	mutex_lock(&lock);
	for (int i = 0; i < ARRAY_SIZE(hooks); i++) {
		if (!hooks[i].tp)
			continue;
		seq_printf(m, "tracepoint.%s=%d\n", hooks[i].name, hooks[i].on);
		n[hooks[i].proto]++;
	}
	mutex_unlock(&lock);
	seq_printf(m, "tracepoints_refused=%u\ntracepoints_unverified=%u\n", n[REFUSED],
		   n[UNVERIFIED]);
}

/** grt_hooks_list() - each tracepoint there is, with what is in the way of hooking it */
void grt_hooks_list(struct seq_file *m)
{
	static const char *const states[] = { "fits", "unverified", "refused" };
	const char *state;

	seq_puts(m, "# tracepoint module hooked arguments reason\n");
	mutex_lock(&lock);
	for (int i = 0; i < ARRAY_SIZE(hooks); i++) {
		const struct hook *h = &hooks[i];

		if (!h->tp)
			continue;
		state = h->proto == UNVERIFIED && may_hook(UNVERIFIED) ? "allowed"
								       : states[h->proto];
		seq_printf(m, "%s %s %d %s %s\n", h->name, h->owner ? h->owner->name : "vmlinux",
			   h->on, state, h->why[0] ? h->why : "-");
	}
	mutex_unlock(&lock);
}

static void found_in_kernel(struct tracepoint *tp, void *unused)
{
	found(tp, NULL);
}

/** grt_hooks_init() - looks what there is. Return: 0 or -errno */
int grt_hooks_init(void)
{
	mutex_lock(&lock);
	for_each_kernel_tracepoint(found_in_kernel, NULL);
	mutex_unlock(&lock);
	return register_tracepoint_module_notifier(&notifier);
}

/** grt_hooks_exit() - hears of nothing more, and has nothing hooked */
void grt_hooks_exit(void)
{
	unregister_tracepoint_module_notifier(&notifier);
	grt_hooks_off();
}
