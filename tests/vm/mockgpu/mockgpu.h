/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The mock GPU's parts: devices (device.c), what files ask (ioctl.c), rings and their hardware
 * (ring.c), the probes on the scheduler's tracepoints (probe.c) and what they saw (truth.c).
 */
#ifndef MOCKGPU_H
#define MOCKGPU_H

#include <linux/atomic.h>
#include <linux/dma-fence.h>
#include <linux/hrtimer.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <linux/xarray.h>
#include <drm/drm_device.h>
#include <drm/drm_file.h>
#include <drm/gpu_scheduler.h>

#include "mockgpu_drm.h"

struct mock_device;

enum mock_class { MOCK_GFX, MOCK_COMPUTE, MOCK_DMA, MOCK_DEC, MOCK_CLASSES };

/**
 * struct mock_truth - what happened to a job
 *
 * Times are CLOCK_MONOTONIC in ns, as trace_clock "mono", 0: not yet. Written by whoever sees the
 * event, without a lock; a job has one reference, the table another.
 *
 * @ref: kref
 * @device: name of the platform device
 * @ring: name of the scheduler
 * @comm: of the submitting thread
 * @pid: its thread group, in the first PID namespace
 * @tid: the thread
 * @uid: of the thread, in the first user namespace
 * @client: drm-client-id of the file
 * @context: of the finished fence
 * @seqno: of the finished fence
 * @id: the scheduler's number of the job
 * @length: ns asked for
 * @submit: drm_sched_job
 * @run: drm_run_job
 * @done: drm_sched_process_job
 * @before_submit: the last thing done before drm_sched_job: a tracer's own time of it lies between
 *	the two, however long another CPU or an interrupt had its turn there
 * @before_run: likewise
 * @before_done: likewise
 * @hw_start: the hardware began (for the last time, when a reset made it begin again)
 * @hw_end: the hardware ended, or was reset
 * @result: 0, a negative errno, or 1: not known yet
 */
struct mock_truth {
	struct kref ref;
	char device[24];
	const char *ring;
	char comm[TASK_COMM_LEN];
	pid_t pid, tid;
	uid_t uid;
	u64 client;
	u64 context, seqno, id, length;
	u64 submit, run, done;
	u64 before_submit, before_run, before_done;
	u64 hw_start, hw_end;
	int result;
};

/**
 * struct mock_client - what an open file has used; its jobs may outlive the file
 * @ref: kref: the file's and one for each job
 * @id: drm-client-id, over all devices
 * @busy: ns that the hardware worked, by class of the ring
 * @memory: bytes, by domain
 */
struct mock_client {
	struct kref ref;
	u64 id;
	atomic64_t busy[MOCK_CLASSES];
	atomic64_t memory[MOCKGPU_DOMAINS];
};

/**
 * struct mock_ring - a scheduler and the hardware behind it
 * @sched: the scheduler
 * @dev: whose ring
 * @name: of MOCKGPU_RING_NAMES
 * @class: for fdinfo
 * @unordered: works on all its jobs at once, not on one after the other
 * @context: of the hardware's fences
 * @seqno: the last one's
 * @lock: for the members below and for the hardware's side of jobs; taken in interrupts
 * @jobs: those the hardware has, in the order they came
 * @dead: the device is gone: jobs fail at once
 */
struct mock_ring {
	struct drm_gpu_scheduler sched;
	struct mock_device *dev;
	const char *name;
	enum mock_class class;
	bool unordered;
	u64 context;
	u64 seqno;
	spinlock_t lock;
	struct list_head jobs;
	bool dead;
};

/**
 * struct mock_device - one GPU
 * @drm: the DRM device
 * @ring: its rings
 * @users: contexts, and jobs that the scheduler has not given back
 * @lock: for the members below
 * @files: open files
 * @gone: unbound
 */
struct mock_device {
	struct drm_device drm;
	struct mock_ring ring[MOCKGPU_RINGS];
	atomic_t users;
	struct mutex lock;
	struct list_head files;
	bool gone;
};

/**
 * struct mock_ctx - a context: a queue of the scheduler for each ring
 * @ref: kref: the file's and one for each job. 6.1's scheduler does not wait, at the end of a queue
 *	that is empty, until it has left the last job's run_job(), and then looks at the queue
 *	again; but it frees a job only after that, in the same thread
 * @rcu: it goes when no fence is being signaled that a job waited for: the scheduler's callback
 *	(drm_sched_entity_wakeup) first lets the job go, then looks at the queue once more
 * @entity: the queues
 */
struct mock_ctx {
	struct kref ref;
	struct rcu_head rcu;
	struct drm_sched_entity entity[MOCKGPU_RINGS];
};

/**
 * struct mock_file - an open file
 * @link: in the device's files
 * @client: what it has used
 * @lock: for the members below; the order in which jobs are numbered and pushed
 * @ctx: contexts by number
 * @next: number of the next job
 * @fence: finished fences of the latest jobs, by number modulo MOCKGPU_MAX_JOBS
 */
struct mock_file {
	struct list_head link;
	struct mock_client *client;
	struct mutex lock;
	struct xarray ctx;
	u64 next;
	struct dma_fence *fence[MOCKGPU_MAX_JOBS];
};

/**
 * struct mock_fence - the hardware's fence of a job
 * @base: dma_fence
 * @lock: its lock, of its own as a fence may outlive its ring
 * @name: of the ring
 */
struct mock_fence {
	struct dma_fence base;
	spinlock_t lock;
	const char *name;
};

/**
 * struct mock_job - a job
 * @base: the scheduler's part
 * @ring: where it runs
 * @client: who pays
 * @ctx: whose queue it went through
 * @truth: what happened to it
 * @fence: the hardware's; not a fence yet while @known is false
 * @length: ns
 * @flags: MOCKGPU_JOB_HANG
 * @timer: the hardware ends
 * @link: in the ring's jobs while @on_hw
 * @known: the hardware saw it once: its fence is one
 * @on_hw: the hardware has it; who takes it off ends it
 * @busy: the hardware works on it
 * @ended: with a result
 */
struct mock_job {
	struct drm_sched_job base;
	struct mock_ring *ring;
	struct mock_client *client;
	struct mock_ctx *ctx;
	struct mock_truth *truth;
	struct mock_fence *fence;
	u64 length;
	u32 flags;
	struct hrtimer timer;
	struct list_head link;
	bool known, on_hw, busy, ended;
};

/**
 * struct mockgpu_hooks - modules that emit events of their own beside the scheduler's
 *
 * Called from the probes on the scheduler's tracepoints, for the mock's jobs only, with preemption
 * off, maybe in an interrupt.
 *
 * @link: private
 * @queue: at drm_sched_job
 * @run: at drm_run_job
 * @done: at drm_sched_process_job
 * @wait: at drm_sched_job_wait_dep
 */
struct mockgpu_hooks {
	struct list_head link;
	void (*queue)(struct drm_sched_job *job, struct drm_sched_entity *entity);
	void (*run)(struct drm_sched_job *job, struct drm_sched_entity *entity);
	void (*done)(struct drm_sched_fence *fence);
	void (*wait)(struct drm_sched_job *job, struct dma_fence *fence);
};

/** mockgpu_add_hooks() - from now on; any number of modules */
void mockgpu_add_hooks(struct mockgpu_hooks *hooks);
/** mockgpu_del_hooks() - returns when none of them is being called */
void mockgpu_del_hooks(struct mockgpu_hooks *hooks);
/** mockgpu_client_id() - drm-client-id of the file that submitted a job of the mock */
u64 mockgpu_client_id(const struct drm_sched_job *job);

static inline struct mock_device *mock_device(struct drm_device *drm)
{
	return container_of(drm, struct mock_device, drm);
}

static inline struct mock_job *mock_job(struct drm_sched_job *base)
{
	return container_of(base, struct mock_job, base);
}

/* ring.c */
extern const struct drm_sched_backend_ops mock_sched_ops;
extern const char *const mock_ring_name[MOCKGPU_RINGS];
int mock_rings_start(struct mock_device *dev);
void mock_rings_stop(struct mock_device *dev);
void mock_ring_kill(struct mock_ring *ring);
struct mock_job *mock_job_new(struct mock_ring *ring, u64 length, u32 flags);
void mock_job_free(struct mock_job *job);
bool mock_rings_clean(void);

/* ioctl.c */
int mock_ctx_ioctl(struct drm_device *drm, void *data, struct drm_file *file);
int mock_submit_ioctl(struct drm_device *drm, void *data, struct drm_file *file);
int mock_wait_ioctl(struct drm_device *drm, void *data, struct drm_file *file);
int mock_alloc_ioctl(struct drm_device *drm, void *data, struct drm_file *file);
void mock_ctx_put(struct mock_ctx *ctx);
void mock_ctx_end_all(struct mock_device *dev, struct mock_file *mf);

/* device.c */
void mock_device_put(struct mock_device *dev);
struct mock_client *mock_client_get(struct mock_client *client);
void mock_client_put(struct mock_client *client);

/* truth.c */
int mock_truth_start(void);
void mock_truth_stop(void);
struct mock_truth *mock_truth_new(const struct mock_ring *ring, const struct mock_client *client);
void mock_truth_put(struct mock_truth *truth);
void mock_truth_publish(struct mock_truth *truth);

/* probe.c */
int mock_probes_start(void);
void mock_probes_stop(void);

#endif
