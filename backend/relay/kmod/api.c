// SPDX-License-Identifier: GPL-2.0
/* What drivers call; see grtrace.h. */
#include <linux/export.h>

#include "grtrace.h"
#include "internal.h"

static void say(u16 type, const char *ring, u64 ctx, u64 seqno, u64 value, u64 ref)
{
	struct grt_says e = { type, GRT_SRC_DRIVER, NULL, ctx, seqno, value, ref };

	if (!grt_running())
		return;
	e.ring = grt_ring_of(ring, ring, NULL, 0);
	grt_emit(&e);
}

/** grtrace_submit() - a job was given to its ring's software queue, by the current process */
void grtrace_submit(const char *ring, u64 seqno, u64 ctx)
{
	say(GRT_SUBMIT, ring, ctx, seqno, GRT_NONE64, GRT_NONE64);
}
EXPORT_SYMBOL_GPL(grtrace_submit);

/** grtrace_commit() - it was handed over to the hardware */
void grtrace_commit(const char *ring, u64 seqno, u64 ctx)
{
	say(GRT_COMMIT, ring, ctx, seqno, GRT_NONE64, GRT_NONE64);
}
EXPORT_SYMBOL_GPL(grtrace_commit);

/** grtrace_start() - the hardware began it */
void grtrace_start(const char *ring, u64 seqno, u64 ctx)
{
	say(GRT_START, ring, ctx, seqno, GRT_NONE64, GRT_NONE64);
}
EXPORT_SYMBOL_GPL(grtrace_start);

/** grtrace_end() - the hardware ended it */
void grtrace_end(const char *ring, u64 seqno, u64 ctx)
{
	say(GRT_END, ring, ctx, seqno, GRT_NONE64, GRT_NONE64);
}
EXPORT_SYMBOL_GPL(grtrace_end);

/** grtrace_complete() - its completion was seen; @status is 0 or a negative errno */
void grtrace_complete(const char *ring, u64 seqno, u64 ctx, int status)
{
	say(GRT_COMPLETE, ring, ctx, seqno, (u64)(s64)status, GRT_NONE64);
}
EXPORT_SYMBOL_GPL(grtrace_complete);

/** grtrace_ctx_switch() - the hardware turned from one context to another */
void grtrace_ctx_switch(const char *ring, u64 from_ctx, u64 to_ctx, bool preempted)
{
	say(GRT_CTX_SWITCH, ring, to_ctx, GRT_NONE64, from_ctx, preempted);
}
EXPORT_SYMBOL_GPL(grtrace_ctx_switch);

/** grtrace_irq() - the ring interrupted; @source says what for */
void grtrace_irq(const char *ring, u64 source)
{
	say(GRT_IRQ, ring, GRT_NONE64, GRT_NONE64, source, GRT_NONE64);
}
EXPORT_SYMBOL_GPL(grtrace_irq);

/** grtrace_sync_wait_enter() - the current process begins to wait for a job */
void grtrace_sync_wait_enter(const char *ring, u64 seqno, u64 ctx)
{
	say(GRT_SYNC_WAIT_ENTER, ring, ctx, seqno, GRT_NONE64, GRT_NONE64);
}
EXPORT_SYMBOL_GPL(grtrace_sync_wait_enter);

/** grtrace_sync_wait_exit() - it waits no more; @waited_ns may be U64_MAX, for not known */
void grtrace_sync_wait_exit(const char *ring, u64 seqno, u64 ctx, u64 waited_ns)
{
	say(GRT_SYNC_WAIT_EXIT, ring, ctx, seqno, waited_ns, GRT_NONE64);
}
EXPORT_SYMBOL_GPL(grtrace_sync_wait_exit);

/** grtrace_error() - a job or its ring failed; @code is an enum grt_error of format.h */
void grtrace_error(const char *ring, u64 seqno, u64 ctx, unsigned int code)
{
	say(GRT_ERROR, ring, ctx, seqno, code, GRT_NONE64);
}
EXPORT_SYMBOL_GPL(grtrace_error);

/** grtrace_custom_event() - an event of the driver's own; the first 16 letters of @name are recorded */
void grtrace_custom_event(const char *name, const char *ring, u64 data)
{
	struct grt_says e = {
		.type = GRT_CUSTOM,
		.source = GRT_SRC_DRIVER,
		.ctx = GRT_NONE64,
		.seqno = GRT_NONE64,
		.value = data,
		.ref = GRT_NONE64,
		.name = name,
	};

	if (!grt_running())
		return;
	e.ring = grt_ring_of(ring, ring, NULL, 0);
	grt_emit(&e);
}
EXPORT_SYMBOL_GPL(grtrace_custom_event);
