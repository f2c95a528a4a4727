/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The stress module: it fires tracepoints that tracers attach to from every context at once. Its
 * parts: points.c (the tracepoints, and how often each was fired), firers.c (who fires), tasks.c
 * and interrupts.c (when they have their turn), stress.c (the module and its files).
 */
#ifndef MOCKGPU_STRESS_H
#define MOCKGPU_STRESS_H

#include <linux/interrupt.h>
#include <linux/irq_work.h>
#include <linux/seq_file.h>
#include <linux/smp.h>
#include <linux/workqueue.h>

#include "mockgpu.h"

/**
 * struct stress_job - what the tracepoints of a job are given; there is one for each firer, whose
 * job has another seqno each time it begins anew
 * @job: of the mock's own kind, for its modules that look into it
 * @entity: its queue
 * @sched_fence: the scheduler's fences of it
 * @lock: of the fences
 * @truth: of the job
 */
struct stress_job {
	struct mock_job job;
	struct drm_sched_entity entity;
	struct drm_sched_fence sched_fence;
	spinlock_t lock;
	struct mock_truth truth;
};

/** The firers of each CPU: two timers in interrupts, one in softirqs, and so on */
enum stress_who {
	STRESS_HARD1,
	STRESS_HARD2,
	STRESS_SOFT,
	STRESS_TASKLET,
	STRESS_IPI,
	STRESS_IRQ_WORK,
	STRESS_BH_WORK,
	STRESS_NMI,
	STRESS_HOG,
	STRESS_HOG2,
	STRESS_FIFO,
	STRESS_FIFO_LOW,
	STRESS_FIRERS
};

#define STRESS_TASKS  (STRESS_FIRERS - STRESS_HOG)
#define STRESS_TIMERS (STRESS_SOFT + 1)

/**
 * struct stress_firer - one of them; it never runs twice at a time
 * @job: its job
 * @step: of its job
 * @turns: how often it had its turn
 */
struct stress_firer {
	struct stress_job *job;
	unsigned int step;
	u64 turns;
};

/**
 * struct stress_cpu - the firers that are, or begin, on a CPU
 * @firer: by enum stress_who
 * @timer: the first of them
 * @tasklet: likewise
 * @ipi: likewise, by another CPU
 * @irq_work: likewise
 * @bh_work: likewise
 * @task: the last of them
 * @took: ns that turns in interrupts and softirqs took
 * @took_before: likewise when the timers were set
 * @random: the generator's state
 * @nmi_due: when this CPU is to send another NMI
 * @nmi_sent: one is on its way here
 */
struct stress_cpu {
	struct stress_firer firer[STRESS_FIRERS];
	struct hrtimer timer[STRESS_TIMERS];
	struct tasklet_struct tasklet;
	call_single_data_t ipi;
	struct irq_work irq_work;
	struct work_struct bh_work;
	struct task_struct *task[STRESS_TASKS];
	u64 took, took_before[STRESS_TIMERS];
	u32 random;
	u64 nmi_due;
	bool nmi_sent;
};

extern struct stress_cpu *stress_cpus; /* by number */
extern const char *const stress_who_name[STRESS_FIRERS];

/* points.c */
int stress_points_start(void);
void stress_points_stop(void);
void stress_fire(struct stress_job *job, unsigned int *step);
void stress_points_show(struct seq_file *m);

/* firers.c */
int stress_start(struct device *dev);
void stress_stop(void);
int stress_run(bool yes);
u64 stress_pause(void);
void stress_turn(struct stress_cpu *c, enum stress_who who, unsigned int steps);
u32 stress_draw(struct stress_cpu *c);
void stress_firers_show(struct seq_file *m);

/* tasks.c */
int stress_tasks_start(int cpu);
void stress_tasks_stop(void);

/* interrupts.c */
void stress_interrupts_init(struct stress_cpu *c);
int stress_interrupts_start(void);
void stress_interrupts_stop(void);

#endif
