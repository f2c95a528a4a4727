// SPDX-License-Identifier: GPL-2.0
/* What events meet on their way: the settings, the jobs in flight, each CPU's counters. */
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/topology.h>
#include <linux/vmalloc.h>

#include "internal.h"

struct grt_cpu *__percpu *grt_cpus;
struct grt_jobs *grt_jobs;
struct grt_gate __rcu *grt_gate;
struct grt_rate grt_rate;
u32 grt_percent = 100;
unsigned int grt_window_now;
atomic64_t grt_nmi;

/** grt_gate_set() - these settings from now on. Return: 0 or -ENOMEM */
int grt_gate_set(const struct grt_gate *g)
{
	struct grt_gate *new = kmemdup(g, sizeof(*g), GFP_KERNEL), *old;

	if (!new)
		return -ENOMEM;
	old = rcu_replace_pointer(grt_gate, new, lockdep_is_held(&grt_lock));
	atomic64_set(&grt_rate.window, 0);
	WRITE_ONCE(grt_percent, g->percent);
	if (old) {
		synchronize_rcu();
		/* an event on its way may have left there what the other kind of limit counts */
		if (old->bucket != new->bucket)
			atomic64_set(&grt_rate.window, 0);
		kfree(old);
	}
	return 0;
}

/** grt_stats_clear() - all counters at 0; an event that comes at the same moment may be lost to it
 */
void grt_stats_clear(void)
{
	int cpu;

	for_each_possible_cpu(cpu) {
		struct grt_cpu *c = *per_cpu_ptr(grt_cpus, cpu);
		size_t from = offsetof(struct grt_cpu, written);

		memset((char *)c + from, 0, sizeof(*c) - from);
	}
	atomic64_set(&grt_nmi, 0);
	for (unsigned int i = 0; i < grt_ring_count(); i++) {
		grt_ring_at(i)->peak = 0;
		atomic64_set(&grt_ring_at(i)->busy, 0);
	}
}

/** grt_jobs_clear() - nothing is in flight; while no events are let in */
void grt_jobs_clear(void)
{
	memset(grt_jobs, 0, sizeof(*grt_jobs));
	for (unsigned int i = 0; i < grt_ring_count(); i++) {
		atomic_set(&grt_ring_at(i)->depth, 0);
		atomic_set(&grt_ring_at(i)->on_hw, 0);
	}
}

/** grt_state_exit() - after the last event */
void grt_state_exit(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		if (grt_cpus)
			vfree(*per_cpu_ptr(grt_cpus, cpu));
	free_percpu(grt_cpus);
	vfree(grt_jobs);
	kfree(rcu_dereference_protected(grt_gate, true));
}

/** grt_state_init() - Return: 0 or -ENOMEM, to be followed by grt_state_exit() all the same */
int grt_state_init(void)
{
	struct grt_gate g;
	int cpu;

	grt_cpus = alloc_percpu(struct grt_cpu *);
	grt_jobs = vzalloc(sizeof(*grt_jobs));
	if (!grt_cpus || !grt_jobs)
		return -ENOMEM;
	for_each_possible_cpu(cpu) {
		struct grt_cpu *c = vzalloc_node(sizeof(*c), cpu_to_node(cpu));

		if (!c)
			return -ENOMEM;
		*per_cpu_ptr(grt_cpus, cpu) = c;
	}
	grt_gate_default(&g);
	mutex_lock(&grt_lock);
	cpu = grt_gate_set(&g);
	mutex_unlock(&grt_lock);
	return cpu;
}
