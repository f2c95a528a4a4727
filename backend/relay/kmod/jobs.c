// SPDX-License-Identifier: GPL-2.0
/* Jobs in flight; see jobs.h. */
#ifdef __KERNEL__
#include <linux/atomic.h>
#include <linux/compiler.h>
#include <linux/string.h>
#endif
#include "jobs.h"

/* 0 where the job cannot be distinguished from others */
static u64 key_of(u64 ctx, u64 seqno)
{
	u64 key = ctx << 32 | (u32)seqno;

	return key == GRT_JOB_BUSY || !seqno ? 0 : key;
}

static struct grt_job *set_of(struct grt_jobs *t, u64 key, u32 ring)
{
	/* numbers that follow each other lie evenly by the highest bits, and by no others */
	u64 h = (key ^ (u64)ring << 48) * 0x9e3779b97f4a7c15ull;

	return t->job[h >> (64 - GRT_JOB_BITS)];
}

/**
 * grt_job_find() - Return: that job, NULL if it is not there
 * @t: the table
 * @ring: its ring
 * @ctx: its context
 * @seqno: its number
 */
struct grt_job *grt_job_find(struct grt_jobs *t, u32 ring, u64 ctx, u64 seqno)
{
	u64 key = key_of(ctx, seqno);
	struct grt_job *set = set_of(t, key, ring);

	if (!key)
		return NULL;
	for (int i = 0; i < GRT_JOB_WAYS; i++)
		if (smp_load_acquire(&set[i].key) == key && set[i].ring == (u16)ring)
			return &set[i];
	return NULL;
}

static u64 age(const struct grt_job *j, u64 now)
{
	u64 submit = READ_ONCE(j->submit), commit = READ_ONCE(j->commit);
	u64 last = commit > submit ? commit : submit;

	return now > last ? now - last : 0;
}

/* A free one, else the one that ended longest ago, else one that has been there for too long. @was
 * is the key it had then: whoever takes it sees by it that nobody else was faster. */
static struct grt_job *room(struct grt_job *set, u64 now, u64 *was)
{
	struct grt_job *best = NULL;
	bool best_ended = false;

	for (int i = 0; i < GRT_JOB_WAYS; i++) {
		struct grt_job *j = &set[i];
		u64 key = smp_load_acquire(&j->key);
		bool ended = READ_ONCE(j->reported[GRT_STEP_COMPLETE]);

		if (!key) {
			*was = 0;
			return j;
		}
		if (key == GRT_JOB_BUSY || (!ended && age(j, now) < GRT_JOB_OLD))
			continue;
		if (!best || ended > best_ended ||
		    (ended == best_ended && age(j, now) > age(best, now))) {
			best = j;
			best_ended = ended;
			*was = key;
		}
	}
	return best;
}

/**
 * grt_job_new() - a row for a job that is not there
 * @t: the table
 * @ring: its ring
 * @ctx: its context
 * @seqno: its number
 * @now: the time
 * @begins: it is submitted now; else its SUBMIT was not seen
 *
 * Return: the row, empty but for key and ring; NULL if there is none, or the job cannot be known
 */
struct grt_job *grt_job_new(struct grt_jobs *t, u32 ring, u64 ctx, u64 seqno, u64 now, bool begins)
{
	u64 key = key_of(ctx, seqno), old = 0;
	struct grt_job *j;

	if (!key)
		return NULL;
	for (int tries = 0;; tries++) {
		j = room(set_of(t, key, ring), now, &old);
		if (!j || tries > GRT_JOB_WAYS)
			return NULL;
		if (cmpxchg64(&j->key, old, GRT_JOB_BUSY) == old)
			break;
		/* another CPU has taken it for a job of its own: there are others */
	}
	/* of the time there must be one, else it would look old, and free */
	j->submit = begins ? now : 0;
	j->commit = begins ? 0 : now;
	j->pid = j->tid = j->uid = GRT_NONE32;
	j->ring = ring;
	memset(j->reported, 0, sizeof(j->reported));
	smp_store_release(&j->key, key);
	return j;
}

/**
 * grt_job_twice() - Return: whether another source has reported that step before
 *
 * A source that reports a step again is a driver that uses a number anew.
 */
bool grt_job_twice(const struct grt_job *j, enum grt_step step, u8 source)
{
	u8 by = READ_ONCE(j->reported[step]);

	return by != GRT_SRC_NONE && by != source;
}

/** grt_job_reported() - that step has come */
void grt_job_reported(struct grt_job *j, enum grt_step step, u8 source)
{
	WRITE_ONCE(j->reported[step], source);
}
