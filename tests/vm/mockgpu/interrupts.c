// SPDX-License-Identifier: GPL-2.0
/*
 * Turns outside of tasks: by timers, in interrupts and in softirqs, whose times are random, so that
 * they find the others anywhere within a tracer's program; by what these ask for (tasklets, work in
 * interrupts and softirqs, NMIs), and by interrupts of other CPUs.
 */
#include <linux/delay.h>
#include <linux/module.h>
#include <linux/timekeeping.h>
#ifdef CONFIG_X86
#include <asm/apic.h>
#include <asm/nmi.h>
#endif

#include "stress.h"

static uint hard_us = 500;
module_param(hard_us, uint, 0644);
MODULE_PARM_DESC(hard_us, "mean us between the interrupts of a timer; there are two on each CPU");

static uint soft_us = 1000;
module_param(soft_us, uint, 0644);
MODULE_PARM_DESC(soft_us, "mean us between the softirqs of a timer");

static uint nmi_ms = 5;
module_param(nmi_ms, uint, 0644);
MODULE_PARM_DESC(nmi_ms, "mean ms between NMIs on each CPU, 0: none");

static bool nmi_fires;
module_param(nmi_fires, bool, 0644);
MODULE_PARM_DESC(nmi_fires, "NMIs fire tracepoints, too");

static bool on;

/* NMIs: by the interrupt controller, to whichever CPU ------------------------------------------
 */

#ifdef CONFIG_X86
static void send_nmi(struct stress_cpu *from, u64 now)
{
	unsigned int cpu = stress_draw(from) % nr_cpu_ids;
	struct stress_cpu *c;

	if (!nmi_ms || now < READ_ONCE(from->nmi_due) || !cpu_online(cpu))
		return;
	c = &stress_cpus[cpu];
	WRITE_ONCE(from->nmi_due, now + stress_draw(from) % (nmi_ms * 2000000));
	if (!xchg(&c->nmi_sent, true))
		apic->send_IPI(cpu, NMI_VECTOR);
}

static int on_nmi(unsigned int what, struct pt_regs *regs)
{
	struct stress_cpu *c = &stress_cpus[smp_processor_id()];

	if (!xchg(&c->nmi_sent, false))
		return NMI_DONE;
	stress_turn(c, STRESS_NMI, nmi_fires ? 1 : 0);
	return NMI_HANDLED;
}

static int nmis_start(void)
{
	return register_nmi_handler(NMI_LOCAL, on_nmi, 0, "mockgpu_stress");
}

static void nmis_stop(void)
{
	msleep(20); /* one may be on its way */
	unregister_nmi_handler(NMI_LOCAL, "mockgpu_stress");
}
#else
static void send_nmi(struct stress_cpu *from, u64 now)
{
}

static int nmis_start(void)
{
	return 0;
}

static void nmis_stop(void)
{
}
#endif

/* Interrupts and softirqs ----------------------------------------------------------------------
 */

static struct stress_cpu *here(void)
{
	return &stress_cpus[raw_smp_processor_id()];
}

static void timed_turn(struct stress_cpu *c, int which)
{
	u64 began = ktime_get_mono_fast_ns();

	stress_turn(c, which, 1);
	c->took += ktime_get_mono_fast_ns() - began;
}

/* However slow the machine is, tasks have their turns, too: a timer waits for four times what all
 * turns took since it was set. @pause: until all have turns again */
static void again(struct stress_cpu *c, struct hrtimer *t, uint mean_us, u64 pause)
{
	u64 mean = (u64)clamp(mean_us, 1u, 1000000u) * 1000,
	    *before = &c->took_before[t - c->timer];
	u64 took = pause ? pause : 4 * (c->took - *before);

	*before = c->took;
	hrtimer_forward_now(t, ns_to_ktime(took + mean / 4 + stress_draw(c) % (u32)(mean * 3 / 2)));
}

static enum hrtimer_restart in_hardirq_timer(struct hrtimer *t)
{
	struct stress_cpu *c = here();
	u64 pause = stress_pause();
	u32 r = stress_draw(c);

	if (!READ_ONCE(on))
		return HRTIMER_NORESTART;
	if (pause)
		goto again;
	timed_turn(c, t == &c->timer[0] ? STRESS_HARD1 : STRESS_HARD2);
	if (r % 4 == 0)
		tasklet_schedule(&c->tasklet);
	if (r / 4 % 4 == 0)
		irq_work_queue(&c->irq_work);
#ifdef HAVE_BH_WQ
	if (r / 16 % 4 == 0)
		queue_work(system_bh_wq, &c->bh_work);
#endif
	send_nmi(c, ktime_get_mono_fast_ns());
again:
	again(c, t, hard_us, pause);
	return HRTIMER_RESTART;
}

static enum hrtimer_restart in_softirq_timer(struct hrtimer *t)
{
	struct stress_cpu *c = here();
	u64 pause = stress_pause();

	if (!READ_ONCE(on))
		return HRTIMER_NORESTART;
	if (!pause)
		timed_turn(c, STRESS_SOFT);
	again(c, t, soft_us, pause);
	return HRTIMER_RESTART;
}

static void in_tasklet(struct tasklet_struct *t)
{
	timed_turn(container_of(t, struct stress_cpu, tasklet), STRESS_TASKLET);
}

static void in_irq_work(struct irq_work *w)
{
	timed_turn(container_of(w, struct stress_cpu, irq_work), STRESS_IRQ_WORK);
}

static void in_bh_work(struct work_struct *w)
{
	timed_turn(container_of(w, struct stress_cpu, bh_work), STRESS_BH_WORK);
}

static void in_ipi(void *c)
{
	timed_turn(c, STRESS_IPI);
}

/* Starting and stopping ------------------------------------------------------------------------
 */

static void timer_init(struct hrtimer *t, enum hrtimer_restart (*fn)(struct hrtimer *),
		       enum hrtimer_mode mode)
{
#ifdef HAVE_HRTIMER_SETUP
	hrtimer_setup(t, fn, CLOCK_MONOTONIC, mode);
#else
	hrtimer_init(t, CLOCK_MONOTONIC, mode);
	t->function = fn;
#endif
}

/** stress_interrupts_init() - of a CPU */
void stress_interrupts_init(struct stress_cpu *c)
{
	timer_init(&c->timer[STRESS_HARD1], in_hardirq_timer, HRTIMER_MODE_REL_PINNED_HARD);
	timer_init(&c->timer[STRESS_HARD2], in_hardirq_timer, HRTIMER_MODE_REL_PINNED_HARD);
	timer_init(&c->timer[STRESS_SOFT], in_softirq_timer, HRTIMER_MODE_REL_PINNED_SOFT);
	tasklet_setup(&c->tasklet, in_tasklet);
	c->irq_work = IRQ_WORK_INIT_HARD(in_irq_work);
	INIT_WORK(&c->bh_work, in_bh_work);
	INIT_CSD(&c->ipi, in_ipi, c);
}

static void timers_start(void *unused)
{
	struct stress_cpu *c = here();

	hrtimer_start(&c->timer[STRESS_HARD1], ns_to_ktime(1000000), HRTIMER_MODE_REL_PINNED_HARD);
	hrtimer_start(&c->timer[STRESS_HARD2], ns_to_ktime(1300000), HRTIMER_MODE_REL_PINNED_HARD);
	hrtimer_start(&c->timer[STRESS_SOFT], ns_to_ktime(1100000), HRTIMER_MODE_REL_PINNED_SOFT);
}

/** stress_interrupts_start() - on all CPUs. Return: 0 or -errno */
int stress_interrupts_start(void)
{
	int cpu, r = nmis_start();

	if (r)
		return r;
	WRITE_ONCE(on, true);
	for_each_online_cpu(cpu) r |= smp_call_function_single(cpu, timers_start, NULL, 1);
	return r;
}

static void nothing(void *unused)
{
}

/** stress_interrupts_stop() - returns when nobody fires outside of tasks; tasks fire no more */
void stress_interrupts_stop(void)
{
	int cpu;

	if (!on)
		return;
	WRITE_ONCE(on, false);
	for_each_online_cpu(cpu)
	{
		for (int i = 0; i < STRESS_TIMERS; i++)
			hrtimer_cancel(&stress_cpus[cpu].timer[i]);
	}
	on_each_cpu(nothing, NULL, 1); /* behind the last interrupt for another CPU */
	for_each_online_cpu(cpu)
	{
		irq_work_sync(&stress_cpus[cpu].irq_work);
		tasklet_kill(&stress_cpus[cpu].tasklet);
		cancel_work_sync(&stress_cpus[cpu].bh_work);
	}
	nmis_stop();
}
