/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What drivers call to report to grtrace what their rings do, where no tracepoint does. From any
 * context but an NMI; each is a load and a branch while nothing is traced.
 *
 * @ring is the name of the ring, @ctx and @seqno name a job of it.
 */
#ifndef GRTRACE_H
#define GRTRACE_H

#include <linux/types.h>

void grtrace_submit(const char *ring, u64 seqno, u64 ctx);
void grtrace_commit(const char *ring, u64 seqno, u64 ctx);
void grtrace_start(const char *ring, u64 seqno, u64 ctx);
void grtrace_end(const char *ring, u64 seqno, u64 ctx);
void grtrace_complete(const char *ring, u64 seqno, u64 ctx, int status);
void grtrace_ctx_switch(const char *ring, u64 from_ctx, u64 to_ctx, bool preempted);
void grtrace_irq(const char *ring, u64 source);
void grtrace_sync_wait_enter(const char *ring, u64 seqno, u64 ctx);
void grtrace_sync_wait_exit(const char *ring, u64 seqno, u64 ctx, u64 waited_ns);
void grtrace_error(const char *ring, u64 seqno, u64 ctx, unsigned int code);
void grtrace_custom_event(const char *name, const char *ring, u64 data);

#endif
