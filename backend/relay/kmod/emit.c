// SPDX-License-Identifier: GPL-2.0
/*
 * The way of an event: is it recorded already, who owns it, does it pass, and into the buffer of this
 * CPU. With interrupts off, so nothing comes between an event's number and its place.
 */
#include <linux/cred.h>
#include <linux/hardirq.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/timekeeping.h>
#include <linux/uidgid.h>

#include "internal.h"

static bool on;
static atomic64_t gseq ____cacheline_aligned;

/* What is found out of an event on its way */
struct way {
	const struct grt_says *e;
	struct grt_cpu *c;
	struct grt_ring_stat *ring;
	struct grt_job *job;
	u64 ts, latency;
	u32 pid, tid, uid;
};

static int step_of(u16 type)
{
	switch (type) {
	case GRT_SUBMIT:
		return GRT_STEP_SUBMIT;
	case GRT_COMMIT:
		return GRT_STEP_COMMIT;
	case GRT_COMPLETE:
		return GRT_STEP_COMPLETE;
	default:
		return -1;
	}
}

/* How deep rings are, and since when the hardware is busy ---------------------------------------
 */

static void hw_add(struct grt_ring *r, u64 ts)
{
	if (atomic_inc_return(&r->on_hw) == 1)
		WRITE_ONCE(r->busy_since, ts);
}

static void hw_del(struct grt_ring *r, u64 ts)
{
	u64 since = READ_ONCE(r->busy_since);

	if (atomic_dec_return(&r->on_hw) == 0 && ts > since)
		atomic64_add(ts - since, &r->busy);
}

/* A job that never ended has made room for another */
static void forget(const struct grt_job *j, u64 ts)
{
	struct grt_ring *r = j->key ? grt_ring_at(j->ring) : NULL;

	if (!r || j->reported[GRT_STEP_COMPLETE])
		return;
	if (j->reported[GRT_STEP_SUBMIT])
		atomic_dec(&r->depth);
	if (j->reported[GRT_STEP_COMMIT])
		hw_del(r, ts);
}

static void submitted(struct way *w)
{
	struct grt_ring *r = w->e->ring;
	struct grt_job *j = w->job;
	int depth;

	if (j->reported[GRT_STEP_COMPLETE]) { /* the number is used anew */
		memset(j->reported, 0, sizeof(j->reported));
		j->commit = 0;
		j->paid = 0;
	}
	if (!j->reported[GRT_STEP_SUBMIT]) {
		depth = atomic_inc_return(&r->depth);
		/* below 0 for a moment where another CPU forgets a job just now */
		if (depth > (int)READ_ONCE(r->peak))
			WRITE_ONCE(r->peak, depth);
		if (depth > (int)READ_ONCE(r->window_peak))
			WRITE_ONCE(r->window_peak, depth);
	}
	WRITE_ONCE(j->pid, w->pid);
	WRITE_ONCE(j->tid, w->tid);
	WRITE_ONCE(j->uid, w->uid);
	WRITE_ONCE(j->submit, w->ts);
}

static void stepped(struct way *w, int step)
{
	struct grt_job *j = w->job;
	struct grt_ring *r = w->e->ring;

	if (step == GRT_STEP_SUBMIT) {
		submitted(w);
	} else if (step == GRT_STEP_COMMIT && !j->reported[step]) {
		WRITE_ONCE(j->commit, w->ts);
		if (!j->reported[GRT_STEP_COMPLETE]) /* it came late, of a job that has ended */
			hw_add(r, w->ts);
	} else if (step == GRT_STEP_COMPLETE && !j->reported[step]) {
		if (j->reported[GRT_STEP_SUBMIT])
			atomic_dec(&r->depth);
		if (j->reported[GRT_STEP_COMMIT])
			hw_del(r, w->ts);
	}
	grt_job_reported(j, step, w->e->source);
}

/* Its job ---------------------------------------------------------------------------------------
 */

/* Who is running, unless it is an interrupt that came to somebody */
static void whoever_runs(struct way *w)
{
	w->pid = w->tid = w->uid = GRT_NONE32;
	if (!in_task())
		return;
	w->pid = current->tgid;
	w->tid = current->pid;
	w->uid = from_kuid(&init_user_ns, current_uid());
}

static void make_job(struct way *w)
{
	const struct grt_says *e = w->e;
	struct grt_job gone;

	w->job = grt_job_new(grt_jobs, e->ring->id, e->ctx, e->seqno, w->ts, &gone);
	if (w->job)
		forget(&gone, w->ts);
	else
		w->c->untracked++;
}

/* Return: false if another source has reported it */
static bool follow(struct way *w)
{
	const struct grt_says *e = w->e;
	int step = step_of(e->type);
	u64 submit;

	if (e->type == GRT_SUBMIT || e->type == GRT_SYNC_WAIT_ENTER ||
	    e->type == GRT_SYNC_WAIT_EXIT)
		whoever_runs(w);
	else
		w->pid = w->tid = w->uid = GRT_NONE32;
	w->latency = GRT_NONE64;
	if (!e->ring || (!grt_is_job_event(e->type) && e->type != GRT_ERROR))
		return true;
	w->job = grt_job_find(grt_jobs, e->ring->id, e->ctx, e->seqno);
	if (!w->job && e->type == GRT_SUBMIT)
		make_job(w);
	if (!w->job)
		return true;
	if (step >= 0 && grt_job_twice(w->job, step, e->source))
		return false;
	if (e->type != GRT_SUBMIT) {
		w->pid = READ_ONCE(w->job->pid);
		w->tid = READ_ONCE(w->job->tid);
		w->uid = READ_ONCE(w->job->uid);
		submit = READ_ONCE(w->job->submit);
		if (submit && w->ts >= submit)
			w->latency = w->ts - submit;
	}
	if (step >= 0)
		stepped(w, step);
	return true;
}

/* Counting --------------------------------------------------------------------------------------
 */

static void spread_add(struct grt_spread *s, const struct way *w)
{
	s->events++;
	if (w->job)
		s->depth += max(atomic_read(&w->e->ring->depth), 0);
	else
		return;
	if (w->e->type != GRT_COMPLETE || w->latency == GRT_NONE64)
		return;
	s->sum += w->latency;
	if (!s->jobs || w->latency < s->min)
		s->min = w->latency;
	if (w->latency > s->max)
		s->max = w->latency;
	s->jobs++;
}

static void count(struct way *w)
{
	w->c->seen[w->e->type & (GRT_NTYPES - 1)]++;
	if (!w->ring)
		return;
	w->ring->seen++;
	spread_add(&w->ring->all, w);
	spread_add(&w->ring->window[READ_ONCE(grt_window_now) & 1], w);
}

/* Writing ---------------------------------------------------------------------------------------
 */

/* All of a job is paid for at its first event */
static bool paid(struct way *w, const struct grt_gate *g)
{
	struct grt_job *j = grt_is_job_event(w->e->type) ? w->job : NULL;

	if (!g->limit)
		return true;
	if (!j)
		return grt_rate_take(&grt_rate, g, w->ts, 1);
	if (!j->paid)
		j->paid = grt_rate_take(&grt_rate, g, w->ts, GRT_STEPS) ? 1 : 2;
	return j->paid == 1;
}

static enum grt_verdict judge(struct way *w)
{
	const struct grt_gate *g = rcu_dereference_sched(grt_gate);
	struct grt_ask a = {
		.type = w->e->type,
		.engine = w->e->ring ? w->e->ring->engine : 0,
		.ring = w->e->ring ? w->e->ring->id : GRT_NONE32,
		.pid = w->pid,
		.uid = w->uid,
		.ctx = w->e->ctx,
		.seqno = w->e->seqno,
		.latency = w->latency,
	};
	enum grt_verdict v = grt_gate_ask(
		g, g->sampling == GRT_ADAPTIVE ? READ_ONCE(grt_percent) : g->percent, &a);

	return v != GRT_PASS || paid(w, g) ? v : GRT_BY_RATE;
}

static void put(struct way *w)
{
	const struct grt_says *e = w->e;
	bool took = step_of(e->type) > GRT_STEP_SUBMIT && w->latency != GRT_NONE64;
	struct grt_event ev = {
		.engine_class = e->ring ? e->ring->engine : 0,
		.ring_id = e->ring ? e->ring->id : GRT_NONE16,
		.ctx_id = (u32)e->ctx,
		.seqno = (u32)e->seqno,
		.pid = w->pid,
		.tid = w->tid,
		.uid = w->uid,
		.ctx_high = e->ctx >> 32,
		.seqno_high = e->seqno >> 32,
		.value = e->value,
		.ref = took ? w->latency : e->ref,
	};

	w->c->gseq = atomic64_fetch_inc(&gseq);
	w->c->kept[e->type & (GRT_NTYPES - 1)]++;
	if (w->ring)
		w->ring->kept++;
	if (grt_channel_write(w->c, w->ts, e, &ev)) {
		w->c->written++;
		return;
	}
	w->c->lost++;
	if (w->ring)
		w->ring->lost++;
}

/**
 * grt_emit() - an event has happened, here and now
 * @e: what
 *
 * From wherever a tracepoint may be, but no NMI: there it is counted and left out.
 */
void grt_emit(const struct grt_says *e)
{
	struct way w = { .e = e };
	enum grt_verdict v;
	unsigned long flags;

	if (!READ_ONCE(on))
		return;
	if (in_nmi()) {
		atomic64_inc(&grt_nmi);
		return;
	}
	local_irq_save(flags);
	if (!READ_ONCE(on)) /* since interrupts are off nobody closes the buffers */
		goto out;
	w.c = *this_cpu_ptr(grt_cpus);
	w.ts = ktime_get_mono_fast_ns();
	if (e->ring)
		w.ring = &w.c->ring[e->ring->id];
	else if (grt_is_job_event(e->type))
		w.c->nameless++;
	if (!follow(&w)) {
		w.c->twice++;
		goto out;
	}
	count(&w);
	v = judge(&w);
	w.c->verdict[v]++;
	if (v == GRT_PASS)
		put(&w);
out:
	local_irq_restore(flags);
}

/** grt_emit_on() - lets events in; or no more, and returns when none is on its way */
void grt_emit_on(bool yes)
{
	WRITE_ONCE(on, yes);
	if (!yes)
		synchronize_rcu();
}

/** grt_gseq_now() - Return: the next event's number */
u64 grt_gseq_now(void)
{
	return atomic64_read(&gseq);
}

/** grt_gseq_clear() - a session begins */
void grt_gseq_clear(void)
{
	int cpu;

	atomic64_set(&gseq, 0);
	for_each_possible_cpu(cpu) {
		struct grt_cpu *c = *per_cpu_ptr(grt_cpus, cpu);

		c->gseq = c->cseq = 0;
	}
}
