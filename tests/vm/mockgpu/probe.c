// SPDX-License-Identifier: GPL-2.0
/*
 * Probes of our own on the scheduler's tracepoints: the time that a job passed them is taken in
 * the same place as the tracer takes it, after all tracers had theirs. Other modules hook in here
 * to emit events beside them.
 */
#include <linux/module.h>
#include <linux/rculist.h>
#include <linux/timekeeping.h>
#include <linux/tracepoint.h>

#include "mockgpu.h"

static LIST_HEAD(hooks);
static DEFINE_MUTEX(hooks_lock);

/* Calls METHOD of all hooks. A tracepoint's probes may be preempted on Linux 7. */
#define call_hooks(method, ...)                                                                    \
	do {                                                                                       \
		struct mockgpu_hooks *h;                                                           \
                                                                                                   \
		rcu_read_lock();                                                                   \
		list_for_each_entry_rcu(h, &hooks, link)                                           \
			if (h->method)                                                             \
				h->method(__VA_ARGS__);                                            \
		rcu_read_unlock();                                                                 \
	} while (0)

void mockgpu_add_hooks(struct mockgpu_hooks *h)
{
	mutex_lock(&hooks_lock);
	list_add_tail_rcu(&h->link, &hooks);
	mutex_unlock(&hooks_lock);
}
EXPORT_SYMBOL_GPL(mockgpu_add_hooks);

void mockgpu_del_hooks(struct mockgpu_hooks *h)
{
	mutex_lock(&hooks_lock);
	list_del_rcu(&h->link);
	mutex_unlock(&hooks_lock);
	synchronize_rcu();
}
EXPORT_SYMBOL_GPL(mockgpu_del_hooks);

u64 mockgpu_client_id(const struct drm_sched_job *job)
{
	return container_of(job, struct mock_job, base)->truth->client;
}
EXPORT_SYMBOL_GPL(mockgpu_client_id);

static bool ours(const struct drm_gpu_scheduler *sched)
{
	return sched->ops == &mock_sched_ops;
}

static void on_queue(void *data, struct drm_sched_job *job, struct drm_sched_entity *entity)
{
	if (!ours(job->sched))
		return;
	call_hooks(queue, job, entity);
	WRITE_ONCE(mock_job(job)->truth->submit, ktime_get_mono_fast_ns());
}

static void on_run(void *data, struct drm_sched_job *job, struct drm_sched_entity *entity)
{
	if (!ours(job->sched))
		return;
	call_hooks(run, job, entity);
	WRITE_ONCE(mock_job(job)->truth->run, ktime_get_mono_fast_ns());
}

/* The job is not at hand here; its truth is the owner that the fence was made with (ioctl.c) */
static void on_done(void *data, struct drm_sched_fence *fence)
{
	if (!ours(fence->sched))
		return;
	call_hooks(done, fence);
	WRITE_ONCE(((struct mock_truth *)fence->owner)->done, ktime_get_mono_fast_ns());
}

static void on_wait(void *data, struct drm_sched_job *job, struct dma_fence *fence)
{
	if (!ours(job->sched))
		return;
	call_hooks(wait, job, fence);
}

static struct {
	const char *name, *newer;
	void *probe;
	struct tracepoint *tp;
	bool on;
} points[] = {
	{ "drm_sched_job", "drm_sched_job_queue", on_queue },
	{ "drm_run_job", "drm_sched_job_run", on_run },
	{ "drm_sched_process_job", "drm_sched_job_done", on_done },
	{ "drm_sched_job_wait_dep", "drm_sched_job_unschedulable", on_wait },
};

/* Tracers' probes have TRACEPOINT_DEFAULT_PRIO, 10: ours come behind, so that our time is after
 * theirs. */
#define AFTER_TRACERS 0

static void find_points(struct module *mod)
{
	for (int i = 0; i < mod->num_tracepoints; i++) {
		struct tracepoint *tp = tracepoint_ptr_deref(&mod->tracepoints_ptrs[i]);

		for (int p = 0; p < ARRAY_SIZE(points); p++)
			if (!strcmp(points[p].name, tp->name) || !strcmp(points[p].newer, tp->name))
				points[p].tp = tp;
	}
}

/* The scheduler's tracepoints are not exported: the notifier is reported each module that has some,
 * those already loaded included. gpu_sched cannot go while we use its functions. */
static int module_seen(struct notifier_block *nb, unsigned long state, void *data)
{
	struct tp_module *tpm = data;

	if (state == MODULE_STATE_COMING && !strcmp(tpm->mod->name, "gpu_sched"))
		find_points(tpm->mod);
	return 0;
}

static struct notifier_block nb = { .notifier_call = module_seen };

/** mock_probes_start() - Return: 0, -ENOENT if the scheduler has not all the tracepoints, -errno */
int mock_probes_start(void)
{
	int r = register_tracepoint_module_notifier(&nb);

	if (r)
		return r;
	unregister_tracepoint_module_notifier(&nb);
	for (int i = 0; i < ARRAY_SIZE(points); i++) {
		r = -ENOENT;
		if (points[i].tp)
			r = tracepoint_probe_register_prio(points[i].tp, points[i].probe, NULL,
							   AFTER_TRACERS);
		if (r) {
			pr_err("mockgpu: tracepoint %s: %d\n", points[i].name, r);
			mock_probes_stop();
			return r;
		}
		points[i].on = true;
	}
	return 0;
}

/** mock_probes_stop() - returns when no probe runs any more */
void mock_probes_stop(void)
{
	for (int i = 0; i < ARRAY_SIZE(points); i++) {
		if (points[i].on)
			tracepoint_probe_unregister(points[i].tp, points[i].probe, NULL);
		points[i].on = false;
	}
	tracepoint_synchronize_unregister();
}
