// SPDX-License-Identifier: GPL-2.0
/* Which events are written; see gate.h. */
#ifdef __KERNEL__
#include <linux/hash.h>
#include <linux/string.h>
#endif
#include "gate.h"

/** grt_gate_default() - everything passes */
void grt_gate_default(struct grt_gate *g)
{
	memset(g, 0, sizeof(*g));
	g->level = GRT_LEVEL_NORMAL;
	g->types = ~0u;
	g->engines = (u16)~0u;
	g->percent = 100;
}

/** grt_is_job_event() - Return: whether it is a step of a job, to be sampled with the others of it
 */
bool grt_is_job_event(u16 type)
{
	switch (type) {
	case GRT_SUBMIT:
	case GRT_COMMIT:
	case GRT_START:
	case GRT_END:
	case GRT_COMPLETE:
		return true;
	default:
		return false;
	}
}

static bool listed(const struct grt_list *l, u32 id)
{
	if (!l->n)
		return true;
	for (u32 i = 0; i < l->n; i++)
		if (l->id[i] == id)
			return !l->inverted;
	return l->inverted;
}

static bool level_has(u32 level, u16 type)
{
	if (level >= GRT_LEVEL_VERBOSE)
		return true;
	return level == GRT_LEVEL_NORMAL && type != GRT_IRQ && type != GRT_CTX_SWITCH;
}

/* Only its end shows how long a job took, so of a job only that can be let through */
static bool slower(const struct grt_ask *a, u64 than)
{
	return a->type == GRT_COMPLETE && a->latency != GRT_NONE64 && a->latency > than;
}

static enum grt_verdict filters(const struct grt_gate *g, const struct grt_ask *a)
{
	if (!(g->types & 1u << (a->type & 31)))
		return GRT_BY_TYPE;
	if (a->engine && !(g->engines & a->engine))
		return GRT_BY_ENGINE;
	if (!listed(&g->pids, a->pid))
		return GRT_BY_PID;
	if (!listed(&g->uids, a->uid))
		return GRT_BY_UID;
	if (g->latency_ns && grt_is_job_event(a->type) && !slower(a, g->latency_ns))
		return GRT_BY_LATENCY;
	return GRT_PASS;
}

/* A job is let through or not as a whole, on whatever CPU its events are */
static bool sampled(u32 percent, const struct grt_ask *a)
{
	u64 h;

	if (percent >= 100 || !grt_is_job_event(a->type))
		return true;
	h = (a->ctx ^ a->seqno << 24 ^ (u64)a->ring << 56) * 0x9e3779b97f4a7c15ull;
	return (u32)((h >> 32) * 100 >> 32) < percent;
}

/**
 * grt_gate_ask() - is this event to be written, but for the rate limit?
 * @g: the settings
 * @percent: of jobs that are sampled now
 * @a: the event
 */
enum grt_verdict grt_gate_ask(const struct grt_gate *g, u32 percent, const struct grt_ask *a)
{
	enum grt_verdict v;

	if (!level_has(g->level, a->type))
		return GRT_BY_LEVEL;
	if (g->filter_enabled) {
		v = filters(g, a);
		if (v != GRT_PASS)
			return v;
	}
	if (!listed(&g->rings, a->ring) || !listed(&g->ctxs, (u32)a->ctx))
		return GRT_BY_WATCH;
	if (g->sampling == GRT_THRESHOLD) {
		if (grt_is_job_event(a->type) && !slower(a, g->threshold_ns))
			return GRT_BY_SAMPLING;
		return GRT_PASS;
	}
	return sampled(percent, a) ? GRT_PASS : GRT_BY_SAMPLING;
}

/* The second in the upper half, the count in it in the lower */
static u64 window_next(u64 old, u64 second, u32 limit, u32 n, bool *full)
{
	u64 count = (u32)old;

	if (old >> 32 != (u32)second)
		count = 0;
	*full = count + n > limit && count; /* what asks for more than there ever is gets it once */
	return (second << 32) | (count + n);
}

/* The time when the bucket will be full again moves by the price; too far ahead is refused */
static u64 bucket_next(u64 old, u64 ts, const struct grt_gate *g, u32 n, bool *full)
{
	u64 price = div64_u64(1000000000ull, g->limit), from = old > ts ? old : ts;
	u64 most = price * (g->burst > n ? g->burst : n);

	*full = from + price * n > ts + most;
	return from + price * n;
}

/**
 * grt_rate_take() - may @n events be written now?
 * @r: what is remembered; of all CPUs
 * @g: the settings
 * @ts: now
 * @n: how many: all of a job are charged at its first
 */
bool grt_rate_take(struct grt_rate *r, const struct grt_gate *g, u64 ts, u32 n)
{
	s64 old;
	u64 next;
	bool full;
	int tries = 16;

	if (!g->limit)
		return true;
	old = atomic64_read(&r->window);
	do {
		if (g->bucket)
			next = bucket_next(old, ts, g, n, &full);
		else
			next = window_next(old, div64_u64(ts, 1000000000ull), g->limit, n, &full);
		if (full)
			return false;
	} while (!atomic64_try_cmpxchg(&r->window, &old, next) && --tries);
	return tries > 0;
}

/**
 * grt_adapt() - the next second's share of jobs where sampling is adaptive
 * @percent: this second's
 * @most: never more
 * @pressed: whether buffers ran full
 */
u32 grt_adapt(u32 percent, u32 most, bool pressed)
{
	if (pressed)
		percent /= 2;
	else
		percent += percent / 8 + 1;
	if (percent > most)
		percent = most;
	return percent ? percent : 1;
}
