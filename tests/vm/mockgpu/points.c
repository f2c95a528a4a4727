// SPDX-License-Identifier: GPL-2.0
/*
 * The tracepoints: found by name, fired as the kernel fires them, and counted by a probe of our own
 * behind those of tracers: whoever fires one, this is how often it was fired on which CPU and in
 * which context.
 */
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/seq_file.h>
#include <linux/srcu.h>
#include <linux/tracepoint.h>

#include "stress.h"

/* Behind the tracers' probes, which have TRACEPOINT_DEFAULT_PRIO */
#define AFTER_TRACERS 0

enum context { TASK, SOFTIRQ, HARDIRQ, IN_NMI, CONTEXTS };

/* What a tracepoint takes: job and entity; job; the scheduler's fence; job and fence; fence */
enum takes { JOB, JOB_ONLY, SCHED_FENCE, JOB_FENCE, FENCE };

/* The order of a job's steps; where both names exist both are fired */
enum step { QUEUE, DEPEND, RUN, WAIT, DONE, WAITED, STEPS };

#define POINTS 20

/**
 * struct counter - of one CPU
 * @fired: by tracepoint and context
 * @depth: fires of ours that are under way on this CPU
 * @nested: fires that began while another was under way, by context
 * @deepest: the most that were
 */
struct counter {
	u64 fired[POINTS][CONTEXTS];
	u64 nested[CONTEXTS];
	int depth, deepest;
};

static DEFINE_PER_CPU(struct counter, counter);
static DEFINE_MUTEX(lock);

static enum context context(void)
{
	if (in_nmi())
		return IN_NMI;
	if (in_hardirq())
		return HARDIRQ;
	return in_serving_softirq() ? SOFTIRQ : TASK;
}

/* this_cpu_inc() is one instruction: whoever interrupts or preempts it loses no count */
static void count(void *data)
{
	this_cpu_inc(counter.fired[(unsigned long)data][context()]);
}

static void on_job(void *data, struct drm_sched_job *job, struct drm_sched_entity *entity)
{
	count(data);
}

static void on_job_only(void *data, struct drm_sched_job *job)
{
	count(data);
}

static void on_done(void *data, struct drm_sched_fence *fence)
{
	count(data);
}

static void on_job_fence(void *data, struct drm_sched_job *job, struct dma_fence *fence)
{
	count(data);
}

static void on_fence(void *data, struct dma_fence *fence)
{
	count(data);
}

static void *const probe_of[] = {
	[JOB] = on_job,		 [JOB_ONLY] = on_job_only,
	[SCHED_FENCE] = on_done, [JOB_FENCE] = on_job_fence,
	[FENCE] = on_fence,
};

static struct point {
	const char *name;
	enum takes takes;
	enum step step;
	struct tracepoint *tp; /* NULL: there is none now */
	struct module *owner;
} points[POINTS] = {
	{ "drm_sched_job", JOB, QUEUE },
	{ "drm_sched_job_queue", JOB, QUEUE },
	{ "amdgpu_cs_ioctl", JOB_ONLY, QUEUE },
	{ "drm_sched_job_add_dep", JOB_FENCE, DEPEND },
	{ "drm_sched_job_wait_dep", JOB_FENCE, DEPEND },
	{ "drm_sched_job_unschedulable", JOB_FENCE, DEPEND },
	{ "drm_run_job", JOB, RUN },
	{ "drm_sched_job_run", JOB, RUN },
	{ "amdgpu_sched_run_job", JOB_ONLY, RUN },
	{ "dma_fence_init", FENCE, RUN },
	{ "dma_fence_emit", FENCE, RUN },
	{ "dma_fence_enable_signal", FENCE, WAIT },
	{ "dma_fence_wait_start", FENCE, WAIT },
	{ "drm_sched_process_job", SCHED_FENCE, DONE },
	{ "drm_sched_job_done", SCHED_FENCE, DONE },
	{ "dma_fence_signaled", FENCE, DONE },
	{ "dma_fence_wait_end", FENCE, WAITED },
	{ "dma_fence_destroy", FENCE, WAITED },
};

/* Firing ---------------------------------------------------------------------------------------
 */

static void call(const struct point *p, struct tracepoint *tp, struct stress_job *j)
{
	struct drm_sched_job *job = &j->job.base;
	struct dma_fence *fence = &j->sched_fence.finished;

	switch (p->takes) {
	case JOB:
		((int (*)(void *, struct drm_sched_job *, struct drm_sched_entity *))tp->iterator)(
			NULL, job, &j->entity);
		break;
	case JOB_ONLY:
		((int (*)(void *, struct drm_sched_job *))tp->iterator)(NULL, job);
		break;
	case SCHED_FENCE:
		((int (*)(void *, struct drm_sched_fence *))tp->iterator)(NULL, &j->sched_fence);
		break;
	case JOB_FENCE:
		((int (*)(void *, struct drm_sched_job *, struct dma_fence *))tp->iterator)(
			NULL, job, fence);
		break;
	case FENCE:
		((int (*)(void *, struct dma_fence *))tp->iterator)(NULL, fence);
		break;
	}
}

/* As the kernel's own __DO_TRACE(): until Linux 6.19 with preemption off, later not */
static void fire(const struct point *p, struct stress_job *j)
{
	struct tracepoint *tp;
#ifdef HAVE_TRACEPOINT_SRCU
	guard(srcu_fast_notrace)(&tracepoint_srcu);
#else
	preempt_disable_notrace();
#endif
	tp = READ_ONCE(p->tp);
	if (tp)
		call(p, tp, j);
#ifndef HAVE_TRACEPOINT_SRCU
	preempt_enable_notrace();
#endif
}

/* A task stays on its CPU meanwhile, as it does in a BPF program anyway */
static void enter(void)
{
	int depth;

	if (in_task())
		migrate_disable();
	depth = this_cpu_inc_return(counter.depth);
	if (depth > 1)
		this_cpu_inc(counter.nested[context()]);
	if (depth > this_cpu_read(counter.deepest))
		this_cpu_write(counter.deepest, depth);
}

static void leave(void)
{
	this_cpu_dec(counter.depth);
	if (in_task())
		migrate_enable();
}

/**
 * stress_fire() - fires all tracepoints of a step
 * @j: the firer's job
 * @step: of it; the next one's when this returns, and another job's after the last
 */
void stress_fire(struct stress_job *j, unsigned int *step)
{
	for (unsigned int i = 0; i < POINTS; i++) {
		if (!points[i].name || points[i].step != *step)
			continue;
		enter();
		fire(&points[i], j);
		leave();
	}
	if (++*step < STEPS)
		return;
	*step = 0;
	j->sched_fence.finished.seqno++;
	j->sched_fence.scheduled.seqno++;
}

/* Counters -------------------------------------------------------------------------------------
 */

/** stress_points_show() - a line for each tracepoint and CPU: how often it was fired, by context */
void stress_points_show(struct seq_file *m)
{
	static const char *const name[] = { "task", "softirq", "hardirq", "nmi" };
	int cpu;

	for_each_possible_cpu(cpu)
	{
		const struct counter *c = per_cpu_ptr(&counter, cpu);

		for (unsigned int i = 0; i < POINTS && points[i].name; i++)
			for (unsigned int k = 0; k < CONTEXTS; k++)
				if (c->fired[i][k])
					seq_printf(m, "fired %d %s %s %llu\n", cpu, points[i].name,
						   name[k], c->fired[i][k]);
		for (unsigned int k = 0; k < CONTEXTS; k++)
			seq_printf(m, "nested %d %s %llu\n", cpu, name[k], c->nested[k]);
		seq_printf(m, "deepest %d %d\n", cpu, c->deepest);
	}
}

/* The tracepoints ------------------------------------------------------------------------------
 */

static void found(struct tracepoint *tp, void *owner)
{
	for (unsigned long i = 0; i < POINTS && points[i].name; i++) {
		if (points[i].tp || strcmp(points[i].name, tp->name))
			continue;
		if (tracepoint_probe_register_prio(tp, probe_of[points[i].takes], (void *)i,
						   AFTER_TRACERS)) {
			pr_err("mockgpu_stress: tracepoint %s cannot be probed\n", tp->name);
			continue;
		}
		points[i].owner = owner;
		WRITE_ONCE(points[i].tp, tp);
	}
}

static void lose(unsigned long i)
{
	struct tracepoint *tp = points[i].tp;

	if (!tp)
		return;
	WRITE_ONCE(points[i].tp, NULL);
	points[i].owner = NULL;
	tracepoint_probe_unregister(tp, probe_of[points[i].takes], (void *)i);
}

/* The scheduler's tracepoints are not exported: the notifier is called for each module that has
 * some, those already loaded included. */
static int module_event(struct notifier_block *nb, unsigned long state, void *data)
{
	struct module *mod = ((struct tp_module *)data)->mod;

	mutex_lock(&lock);
	if (state == MODULE_STATE_COMING)
		for (int i = 0; i < mod->num_tracepoints; i++)
			found(tracepoint_ptr_deref(&mod->tracepoints_ptrs[i]), mod);
	if (state == MODULE_STATE_GOING) {
		for (unsigned int i = 0; i < POINTS; i++)
			if (points[i].owner == mod)
				lose(i);
		tracepoint_synchronize_unregister();
	}
	mutex_unlock(&lock);
	return NOTIFY_OK;
}

static struct notifier_block nb = { .notifier_call = module_event };

static void found_in_kernel(struct tracepoint *tp, void *unused)
{
	found(tp, NULL);
}

/** stress_points_start() - Return: 0 or -errno */
int stress_points_start(void)
{
	mutex_lock(&lock);
	for_each_kernel_tracepoint(found_in_kernel, NULL);
	mutex_unlock(&lock);
	return register_tracepoint_module_notifier(&nb);
}

/** stress_points_stop() - returns when no probe runs any more */
void stress_points_stop(void)
{
	unregister_tracepoint_module_notifier(&nb);
	for (unsigned int i = 0; i < POINTS; i++)
		lose(i);
	tracepoint_synchronize_unregister();
}
