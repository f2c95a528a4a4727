// SPDX-License-Identifier: GPL-2.0
/*
 * Turns of tasks: on each CPU two of ordinary priority that run as long as there are turns, and two
 * of real-time priorities that preempt them and each other, of which one moves from CPU to CPU.
 */
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/timekeeping.h>

#include "stress.h"

static uint sleep_us = 1000;
module_param(sleep_us, uint, 0644);
MODULE_PARM_DESC(sleep_us, "mean us that a real-time task sleeps between its turns");

/* None where its last interrupt is on its way yet */
static void interrupt_another(void)
{
	unsigned int cpu = cpumask_any_but(cpu_online_mask, raw_smp_processor_id());

	if (cpu < nr_cpu_ids)
		smp_call_function_single_async(cpu, &stress_cpus[cpu].ipi);
}

/* Sleeps until there are turns */
static void wait_for_turns(void)
{
	unsigned long us = (unsigned long)div_u64(stress_pause(), 1000);

	if (us)
		usleep_range(us, us + 100);
}

static int go_on(struct stress_cpu *c, int which)
{
	unsigned int n = 0;

	while (!kthread_should_stop()) {
		wait_for_turns();
		stress_turn(c, which, 1);
		if (++n % 8 == 0)
			interrupt_another();
		if (n % 16 == 0)
			usleep_range(50, 100);
		cond_resched_tasks_rcu_qs();
	}
	return 0;
}

/* Two of the same priority, which take turns */
static int hog(void *data)
{
	return go_on(data, STRESS_HOG);
}

static int hog2(void *data)
{
	return go_on(data, STRESS_HOG2);
}

static int real_time(struct stress_cpu *c, int which, bool moves)
{
	unsigned int cpu = raw_smp_processor_id();
	u64 began, took;
	u32 us;

	while (!kthread_should_stop()) {
		wait_for_turns();
		began = ktime_get_mono_fast_ns();
		stress_turn(c, which, 1 + stress_draw(c) % 3);
		took = (ktime_get_mono_fast_ns() - began) / 1000;
		us = sleep_us / 4 + stress_draw(c) % (sleep_us * 3 / 2 + 1) +
		     4 * min(took, 100000ull);
		usleep_range(us, us + 10);
		if (moves && stress_draw(c) % 16 == 0) {
			cpu = cpumask_next(cpu, cpu_online_mask);
			if (cpu >= nr_cpu_ids)
				cpu = cpumask_first(cpu_online_mask);
			set_cpus_allowed_ptr(current, cpumask_of(cpu));
		}
	}
	return 0;
}

static int fifo(void *data)
{
	sched_set_fifo(current);
	return real_time(data, STRESS_FIFO, false);
}

static int fifo_low(void *data)
{
	sched_set_fifo_low(current);
	return real_time(data, STRESS_FIFO_LOW, true);
}

/** stress_tasks_start() - those of a CPU. Return: 0 or -errno */
int stress_tasks_start(int cpu)
{
	static int (*const what[STRESS_TASKS])(void *) = { hog, hog2, fifo, fifo_low };
	struct stress_cpu *c = &stress_cpus[cpu];

	for (int i = 0; i < STRESS_TASKS; i++) {
		struct task_struct *t = kthread_create(what[i], c, "stress_%s/%d",
						       stress_who_name[STRESS_HOG + i], cpu);

		if (IS_ERR(t))
			return PTR_ERR(t);
		set_cpus_allowed_ptr(t, cpumask_of(cpu));
		get_task_struct(t);
		c->task[i] = t;
		wake_up_process(t);
	}
	return 0;
}

/** stress_tasks_stop() - all of them; returns when they have ended */
void stress_tasks_stop(void)
{
	for (unsigned int cpu = 0; cpu < nr_cpu_ids; cpu++) {
		for (int i = 0; i < STRESS_TASKS; i++) {
			struct task_struct **t = &stress_cpus[cpu].task[i];

			if (!*t)
				continue;
			kthread_stop(*t);
			put_task_struct(*t);
			*t = NULL;
		}
	}
}
