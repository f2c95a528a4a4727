// SPDX-License-Identifier: GPL-2.0
/* grtrace: traces the rings of GPUs into relay files. Sessions, the module's beginning and end, and
 * what drivers call. */
#include <linux/debugfs.h>
#include <linux/export.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/timekeeping.h>
#include <linux/topology.h>
#include <linux/vmalloc.h>

#include "grtrace.h"
#include "internal.h"

DEFINE_MUTEX(grt_lock);
struct grt_cpu *__percpu *grt_cpus;
struct grt_session grt_session;

static struct dentry *dir;

static void session_begin(void)
{
	u64 now = ktime_get_mono_fast_ns(), id;

	do {
		id = get_random_u64();
	} while (!id);
	grt_session = (struct grt_session){
		.id = id,
		.started = now,
		.realtime = ktime_get_real_ns() - now,
		.boottime = ktime_get_boottime_ns() - now,
		.features = GRT_F_SIZE_SKIP | (grt_overwrite ? GRT_F_OVERWRITE : 0),
	};
}

/** grt_start() - a session begins, unless one is under way. Return: 0 or -ENOMEM */
int grt_start(void)
{
	int r = grt_channel_ready();

	if (r || grt_running())
		return r;
	grt_emit_begin();
	session_begin();
	grt_channel_mark();
	grt_emit_on(true);
	grt_hooks_on();
	return 0;
}

/** grt_stop() - the session ends; what it wrote can be read yet */
void grt_stop(void)
{
	if (!grt_running())
		return;
	grt_hooks_off();
	grt_emit_on(false);
	grt_session.features |= GRT_F_STOPPED;
	grt_channel_mark();
}

/* What drivers call, see grtrace.h -------------------------------------------------------------- */

static void report(u16 type, const char *ring, u64 ctx, u64 seqno, u64 value, u64 ref,
		   const char *name)
{
	struct grt_report r = { type, GRT_SRC_DRIVER, NULL, ctx, seqno, value, ref, name };

	if (!grt_running())
		return;
	r.ring = grt_ring_of(ring, ring, NULL);
	grt_emit(&r);
}

/** grtrace_submit() - a job was given to its ring's software queue, by the current process */
void grtrace_submit(const char *ring, u64 seqno, u64 ctx)
{
	report(GRT_SUBMIT, ring, ctx, seqno, GRT_NONE64, GRT_NONE64, NULL);
}
EXPORT_SYMBOL_GPL(grtrace_submit);

/** grtrace_commit() - it was handed over to the hardware */
void grtrace_commit(const char *ring, u64 seqno, u64 ctx)
{
	report(GRT_COMMIT, ring, ctx, seqno, GRT_NONE64, GRT_NONE64, NULL);
}
EXPORT_SYMBOL_GPL(grtrace_commit);

/** grtrace_start() - the hardware began it */
void grtrace_start(const char *ring, u64 seqno, u64 ctx)
{
	report(GRT_START, ring, ctx, seqno, GRT_NONE64, GRT_NONE64, NULL);
}
EXPORT_SYMBOL_GPL(grtrace_start);

/** grtrace_end() - the hardware ended it */
void grtrace_end(const char *ring, u64 seqno, u64 ctx)
{
	report(GRT_END, ring, ctx, seqno, GRT_NONE64, GRT_NONE64, NULL);
}
EXPORT_SYMBOL_GPL(grtrace_end);

/** grtrace_complete() - its completion was seen; @status is 0 or a negative errno */
void grtrace_complete(const char *ring, u64 seqno, u64 ctx, int status)
{
	report(GRT_COMPLETE, ring, ctx, seqno, (u64)(s64)status, GRT_NONE64, NULL);
}
EXPORT_SYMBOL_GPL(grtrace_complete);

/** grtrace_ctx_switch() - the hardware turned from one context to another */
void grtrace_ctx_switch(const char *ring, u64 from_ctx, u64 to_ctx, bool preempted)
{
	report(GRT_CTX_SWITCH, ring, to_ctx, GRT_NONE64, from_ctx, preempted, NULL);
}
EXPORT_SYMBOL_GPL(grtrace_ctx_switch);

/** grtrace_irq() - the ring interrupted; @source says what for */
void grtrace_irq(const char *ring, u64 source)
{
	report(GRT_IRQ, ring, GRT_NONE64, GRT_NONE64, source, GRT_NONE64, NULL);
}
EXPORT_SYMBOL_GPL(grtrace_irq);

/** grtrace_sync_wait_enter() - the current process begins to wait for a job */
void grtrace_sync_wait_enter(const char *ring, u64 seqno, u64 ctx)
{
	report(GRT_SYNC_WAIT_ENTER, ring, ctx, seqno, GRT_NONE64, GRT_NONE64, NULL);
}
EXPORT_SYMBOL_GPL(grtrace_sync_wait_enter);

/** grtrace_sync_wait_exit() - it waits no more; @waited_ns may be U64_MAX, for not known */
void grtrace_sync_wait_exit(const char *ring, u64 seqno, u64 ctx, u64 waited_ns)
{
	report(GRT_SYNC_WAIT_EXIT, ring, ctx, seqno, waited_ns, GRT_NONE64, NULL);
}
EXPORT_SYMBOL_GPL(grtrace_sync_wait_exit);

/** grtrace_error() - a job or its ring failed; @code is an enum grt_error of format.h */
void grtrace_error(const char *ring, u64 seqno, u64 ctx, unsigned int code)
{
	report(GRT_ERROR, ring, ctx, seqno, code, GRT_NONE64, NULL);
}
EXPORT_SYMBOL_GPL(grtrace_error);

/** grtrace_custom_event() - an event of the driver's own; the first 16 letters of @name are recorded */
void grtrace_custom_event(const char *name, const char *ring, u64 data)
{
	report(GRT_CUSTOM, ring, GRT_NONE64, GRT_NONE64, data, GRT_NONE64, name ?: "");
}
EXPORT_SYMBOL_GPL(grtrace_custom_event);

/* The module ------------------------------------------------------------------------------------ */

static void free_cpus(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		vfree(*per_cpu_ptr(grt_cpus, cpu));
	free_percpu(grt_cpus);
}

static int alloc_cpus(void)
{
	int cpu;

	grt_cpus = alloc_percpu(struct grt_cpu *);
	if (!grt_cpus)
		return -ENOMEM;
	for_each_possible_cpu(cpu) {
		struct grt_cpu *c = vzalloc_node(sizeof(*c), cpu_to_node(cpu));

		if (!c) {
			free_cpus();
			return -ENOMEM;
		}
		*per_cpu_ptr(grt_cpus, cpu) = c;
	}
	return 0;
}

static int __init grt_init(void)
{
	int r = alloc_cpus();

	if (r)
		return r;
	r = grt_emit_init();
	if (r)
		goto no_emit;
	dir = debugfs_create_dir("grtrace", NULL);
	r = PTR_ERR_OR_ZERO(dir);
	if (r)
		goto no_dir;
	r = grt_channel_init(dir);
	if (r)
		goto no_channel;
	r = grt_hooks_init();
	if (r)
		goto no_channel;
	grt_files_init(dir);
	return 0;

no_channel:
	grt_channel_exit();
	debugfs_remove_recursive(dir);
no_dir:
	grt_emit_exit();
no_emit:
	free_cpus();
	return r;
}

static void __exit grt_exit(void)
{
	mutex_lock(&grt_lock);
	grt_stop();
	mutex_unlock(&grt_lock);
	grt_hooks_exit();
	grt_channel_exit();
	debugfs_remove_recursive(dir);
	grt_emit_exit();
	free_cpus();
}

module_init(grt_init);
module_exit(grt_exit);
MODULE_DESCRIPTION("GPU ring trace");
MODULE_VERSION(GRT_MODULE_VERSION);
MODULE_LICENSE("GPL");
