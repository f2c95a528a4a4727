// SPDX-License-Identifier: GPL-2.0
/*
 * The way of an event: who owns it, is it recorded already, does the level have it, and into the
 * buffer of this CPU. With interrupts off, so nothing comes between an event's number and its place.
 */
#include <linux/cred.h>
#include <linux/hardirq.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/timekeeping.h>
#include <linux/uidgid.h>
#include <linux/vmalloc.h>

#include "internal.h"

u32 grt_level = GRT_LEVEL_NORMAL;

static bool on;
static atomic64_t gseq ____cacheline_aligned;
static struct grt_jobs *jobs;

/* struct owner - of an event; GRT_NONE32: not known */
struct owner {
	u32 pid, tid, uid;
};

static const struct owner nobody = { GRT_NONE32, GRT_NONE32, GRT_NONE32 };

/* The one of its job's steps that an event is; -1: none that another source may report as well */
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

static bool is_of_a_job(u16 type)
{
	return step_of(type) >= 0 || type == GRT_START || type == GRT_END || type == GRT_ERROR;
}

/* Who is running, unless it is an interrupt that came to somebody */
static struct owner whoever_runs(void)
{
	if (!in_task())
		return nobody;
	return (struct owner){ current->tgid, current->pid,
			       from_kuid(&init_user_ns, current_uid()) };
}

static void submitted(struct grt_job *j, u64 ts, const struct owner *o)
{
	if (j->reported[GRT_STEP_COMPLETE]) { /* the number is used anew */
		memset(j->reported, 0, sizeof(j->reported));
		j->commit = 0;
	}
	WRITE_ONCE(j->pid, o->pid);
	WRITE_ONCE(j->tid, o->tid);
	WRITE_ONCE(j->uid, o->uid);
	WRITE_ONCE(j->submit, ts);
}

/*
 * Follows the event's job: its events are its submitter's, and each step is reported once.
 * @owner: out, and @took: ns since the job's SUBMIT; GRT_NONE64: not known
 *
 * Return: false if another source has reported that step
 */
static bool follow(struct grt_cpu *c, const struct grt_report *r, u64 ts, struct owner *owner,
		   u64 *took)
{
	bool begins = r->type == GRT_SUBMIT;
	int step = step_of(r->type);
	struct grt_job *j;
	u64 submit;

	*took = GRT_NONE64;
	*owner = begins || r->type == GRT_SYNC_WAIT_ENTER || r->type == GRT_SYNC_WAIT_EXIT
			 ? whoever_runs()
			 : nobody;
	if (!r->ring || !is_of_a_job(r->type))
		return true;
	j = grt_job_find(jobs, r->ring->id, r->ctx, r->seqno);
	if (!j && step >= 0) {
		j = grt_job_new(jobs, r->ring->id, r->ctx, r->seqno, ts, begins);
		c->n.untracked += !j;
	}
	if (!j)
		return true;
	if (step >= 0 && grt_job_twice(j, step, r->source))
		return false;
	if (begins) {
		submitted(j, ts, owner);
	} else {
		*owner = (struct owner){ READ_ONCE(j->pid), READ_ONCE(j->tid), READ_ONCE(j->uid) };
		submit = READ_ONCE(j->submit);
		if (submit && ts >= submit)
			*took = ts - submit;
	}
	if (r->type == GRT_COMMIT && !j->reported[GRT_STEP_COMMIT])
		WRITE_ONCE(j->commit, ts);
	if (step >= 0)
		grt_job_reported(j, step, r->source);
	return true;
}

static bool level_has(u16 type)
{
	u32 level = READ_ONCE(grt_level);

	if (type == GRT_IRQ || type == GRT_CTX_SWITCH)
		return level >= GRT_LEVEL_VERBOSE;
	return level >= GRT_LEVEL_NORMAL;
}

static void put(struct grt_cpu *c, const struct grt_report *r, u64 ts, const struct owner *o,
		u64 took)
{
	bool ends = r->type == GRT_COMMIT || r->type == GRT_COMPLETE;
	struct grt_event ev = {
		.engine_class = r->ring ? r->ring->engine : 0,
		.ring_id = r->ring ? r->ring->id : GRT_NONE16,
		.ctx_id = (u32)r->ctx,
		.seqno = (u32)r->seqno,
		.pid = o->pid,
		.tid = o->tid,
		.uid = o->uid,
		.ctx_high = r->ctx >> 32,
		.seqno_high = r->seqno >> 32,
		.value = r->value,
		.ref = ends && took != GRT_NONE64 ? took : r->ref,
	};

	c->gseq = atomic64_fetch_inc(&gseq);
	c->n.kept[r->type]++;
	if (grt_channel_write(c, ts, r, &ev))
		c->n.written++;
	else
		c->n.lost++;
}

/**
 * grt_emit() - an event has happened, here and now
 * @r: what
 *
 * From any context but an NMI.
 */
void grt_emit(const struct grt_report *r)
{
	struct owner owner;
	struct grt_cpu *c;
	unsigned long flags;
	u64 ts, took;

	local_irq_save(flags);
	if (!grt_running()) /* since interrupts are off nobody closes the buffers */
		goto out;
	c = *this_cpu_ptr(grt_cpus);
	ts = ktime_get_mono_fast_ns();
	c->n.nameless += !r->ring && is_of_a_job(r->type);
	if (!follow(c, r, ts, &owner, &took)) {
		c->n.twice++;
		goto out;
	}
	c->n.seen[r->type]++;
	if (level_has(r->type))
		put(c, r, ts, &owner, took);
	else
		c->n.by_level++;
out:
	local_irq_restore(flags);
}

/** grt_running() - Return: whether a session is under way */
bool grt_running(void)
{
	return smp_load_acquire(&on); /* with the session and the buffers that were made before */
}

/** grt_emit_on() - lets events in; or no more, and returns when none is on its way */
void grt_emit_on(bool yes)
{
	smp_store_release(&on, yes);
	if (!yes)
		synchronize_rcu();
}

/** grt_gseq_now() - Return: the next event's number */
u64 grt_gseq_now(void)
{
	return atomic64_read(&gseq);
}

/** grt_emit_begin() - a session begins, while no events are let in: nothing is in flight, numbers and
 * counters begin at 0 */
void grt_emit_begin(void)
{
	int cpu;

	memset(jobs, 0, sizeof(*jobs));
	atomic64_set(&gseq, 0);
	for_each_possible_cpu(cpu) {
		struct grt_cpu *c = *per_cpu_ptr(grt_cpus, cpu);

		c->gseq = c->cseq = 0;
		memset(&c->n, 0, sizeof(c->n));
	}
}

/** grt_emit_exit() - after the last event */
void grt_emit_exit(void)
{
	vfree(jobs);
}

/** grt_emit_init() - Return: 0 or -ENOMEM */
int grt_emit_init(void)
{
	jobs = vzalloc(sizeof(*jobs));
	return jobs ? 0 : -ENOMEM;
}
