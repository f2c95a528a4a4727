// SPDX-License-Identifier: GPL-2.0
/*
 * Who fires: each has a job of its own, which it takes a step further whenever it has its turn.
 *
 * All have their turns at the same time, so that they nest, for a short time in each period, and
 * only so many turns. The rest of the period is left to everybody else, however slow the machine
 * is: tracers are to keep up with what is fired, and with their settings.
 */
#include <linux/cpu.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>

#include "stress.h"

/* Rings are shared by firers of all contexts */
static const char *const ring_name[] = { "stress_gfx", "stress_comp", "stress_dma" };

#define RINGS ARRAY_SIZE(ring_name)

static uint share = 20;
module_param(share, uint, 0644);
MODULE_PARM_DESC(share, "percent of the time in which tracepoints are fired");

static uint most = 150;
module_param(most, uint, 0644);
MODULE_PARM_DESC(most, "turns of all in 100 ms");

#define PERIOD_NS 100000000u

const char *const stress_who_name[] = { "timer1", "timer2",  "softtimer", "tasklet",
					"ipi",	  "irqwork", "bhwork",	  "nmi",
					"hog",	  "hog2",    "fifo",	  "fifolow" };

struct stress_cpu *stress_cpus;
static struct drm_gpu_scheduler *scheds;
static bool on;
static u64 period;     /* the last one's number */
static atomic_t turns; /* in that */

/** stress_draw() - a random number. Only its own CPU draws from @c, but whoever interrupts that may
 *  draw the same */
u32 stress_draw(struct stress_cpu *c)
{
	u32 x = READ_ONCE(c->random);

	x ^= x << 13;
	x ^= x >> 17;
	x ^= x << 5;
	WRITE_ONCE(c->random, x);
	return x;
}

/** stress_pause() - Return: ns until there are turns again, 0: now */
u64 stress_pause(void)
{
	u32 at;
	u64 nth = div_u64_rem(ktime_get_mono_fast_ns(), PERIOD_NS, &at);

	if (READ_ONCE(period) != nth) {
		WRITE_ONCE(period, nth);
		atomic_set(&turns, 0);
	}
	if (at < PERIOD_NS / 100 * READ_ONCE(share) && atomic_read(&turns) < READ_ONCE(most))
		return 0;
	return PERIOD_NS - at;
}

/** stress_turn() - @who of a CPU fires the tracepoints of so many steps */
void stress_turn(struct stress_cpu *c, enum stress_who who, unsigned int steps)
{
	struct stress_firer *f = &c->firer[who];

	WRITE_ONCE(f->turns, f->turns + 1);
	atomic_inc(&turns);
	while (steps--)
		stress_fire(f->job, &f->step);
}

/* What a tracer could not count at once it counts by the job's next event */
static void end_all_jobs(void)
{
	for (unsigned int cpu = 0; cpu < nr_cpu_ids; cpu++)
		for (int i = 0; i < STRESS_FIRERS; i++)
			while (stress_cpus[cpu].firer[i].step)
				stress_fire(stress_cpus[cpu].firer[i].job,
					    &stress_cpus[cpu].firer[i].step);
}

static void run_stop(void)
{
	stress_tasks_stop();
	stress_interrupts_stop();
	end_all_jobs();
	on = false;
}

static int run_start(void)
{
	int cpu, r = stress_interrupts_start();

	on = true;
	for_each_online_cpu(cpu)
	{
		if (!r)
			r = stress_tasks_start(cpu);
	}
	if (r)
		run_stop();
	return r;
}

/** stress_run() - from now on all fire, or none does when this returns. Return: 0 or -errno */
int stress_run(bool yes)
{
	static DEFINE_MUTEX(lock);
	int r = 0;

	mutex_lock(&lock);
	cpus_read_lock();
	if (yes && !on)
		r = run_start();
	if (!yes && on)
		run_stop();
	cpus_read_unlock();
	mutex_unlock(&lock);
	return r;
}

/* The firers -----------------------------------------------------------------------------------
 */

static const char *fence_name(struct dma_fence *fence)
{
	return "mockgpu_stress";
}

static const struct dma_fence_ops fence_ops = {
	.get_driver_name = fence_name,
	.get_timeline_name = fence_name,
};

static struct stress_job *job_new(unsigned int nth)
{
	struct stress_job *j = kzalloc(sizeof(*j), GFP_KERNEL);
	u64 context = dma_fence_context_alloc(2);

	if (!j)
		return NULL;
	spin_lock_init(&j->lock);
	dma_fence_init(&j->sched_fence.scheduled, &fence_ops, &j->lock, context, 1);
	dma_fence_init(&j->sched_fence.finished, &fence_ops, &j->lock, context + 1, 1);
	j->sched_fence.sched = &scheds[nth % RINGS];
	j->job.base.sched = &scheds[nth % RINGS];
	j->job.base.s_fence = &j->sched_fence;
	xa_init(&j->job.base.dependencies);
	j->job.truth = &j->truth;
	j->truth.client = 1000 + nth;
	return j;
}

/** stress_firers_show() - a line for each firer: how often it had its turn */
void stress_firers_show(struct seq_file *m)
{
	int cpu;

	for_each_online_cpu(cpu) for (int i = 0; i < STRESS_FIRERS; i++)
		seq_printf(m, "turns %d %s %llu\n", cpu, stress_who_name[i],
			   READ_ONCE(stress_cpus[cpu].firer[i].turns));
}

/** stress_stop() - the end of all firers */
void stress_stop(void)
{
	unsigned int cpu;

	stress_run(false);
	for (cpu = 0; cpu < nr_cpu_ids; cpu++)
		for (int i = 0; i < STRESS_FIRERS; i++)
			kfree(stress_cpus[cpu].firer[i].job);
	kfree(stress_cpus);
	kfree(scheds);
}

static int firers_init(unsigned int cpu)
{
	struct stress_cpu *c = &stress_cpus[cpu];

	c->random = 0x9e3779b9u * (cpu + 1);
	for (int i = 0; i < STRESS_FIRERS; i++) {
		c->firer[i].job = job_new(cpu * STRESS_FIRERS + i);
		if (!c->firer[i].job)
			return -ENOMEM;
	}
	stress_interrupts_init(c);
	return 0;
}

/**
 * stress_start() - makes the firers, which do nothing yet
 * @dev: the device of their rings
 * Return: 0 or -ENOMEM
 */
int stress_start(struct device *dev)
{
	int r = 0;

	stress_cpus = kcalloc(nr_cpu_ids, sizeof(*stress_cpus), GFP_KERNEL);
	scheds = kcalloc(RINGS, sizeof(*scheds), GFP_KERNEL);
	if (!stress_cpus || !scheds) {
		kfree(stress_cpus);
		kfree(scheds);
		return -ENOMEM;
	}
	for (int i = 0; i < RINGS; i++) {
		scheds[i].name = ring_name[i];
		scheds[i].dev = dev;
	}
	for (unsigned int cpu = 0; cpu < nr_cpu_ids && !r; cpu++)
		r = firers_init(cpu);
	if (r)
		stress_stop();
	return r;
}
