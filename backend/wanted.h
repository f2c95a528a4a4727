/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which jobs and events are wanted in records, as far as that can be said when a job is submitted:
 * one rule for the daemon's gate (fs/gate) and for a source that can leave out itself what is not
 * wanted, so that both always agree. No header but this is needed: BPF programs include it.
 *
 * The gate asks again for what a source lets through, and does the rest: rate limit, and what only
 * a job's end can tell. So a source may let through too much, but must never leave out more than
 * these functions say; and whole jobs only, decided at their first event. What it leaves out it
 * counts by reason, in gt_tally.left.
 *
 * A job's reasons are looked at in the order of enum gt_refusal, and the first one counts.
 */
#ifndef GT_WANTED_H
#define GT_WANTED_H

#include <stdint.h>

/**
 * enum gt_refusal - why an event is in no record; names of filter_stats
 *
 * Of single events: TYPE, LEVEL and EVENTS; all others are of whole jobs, LEVEL also. An event of a
 * job that is not wanted counts for TYPE, LEVEL or EVENTS if these refuse it anyway, else for its
 * job's reason. From GT_R_RATE on only the daemon decides.
 */
enum gt_refusal {
	GT_R_NONE,	/* it is wanted */
	GT_R_TYPE,	/* no known type */
	GT_R_LEVEL,	/* level */
	GT_R_EVENTS,	/* filter_events */
	GT_R_RING,	/* filter_ring */
	GT_R_ENGINE,	/* filter_engine */
	GT_R_PID,	/* filter_pid */
	GT_R_UID,	/* filter_uid */
	GT_R_WATCHLIST, /* watchlist */
	GT_R_CTX,	/* watchlist_ctx */
	GT_R_SAMPLING,	/* sampling, static or adaptive */
	GT_R_RATE,	/* rate_limit, or there are more than the source can tell of */
	GT_R_LATENCY,	/* filter_latency */
	GT_R_THRESHOLD, /* sampling_threshold */
	GT_NREFUSALS
};

#define GT_WANTED_LIST 64 /* a power of two */
/* A job's own: SUBMIT, COMPLETE, COMMIT, START, END, ERROR, a bit each by enum gt_type */
#define GT_WANTED_JOB_TYPES 0x23bu
#define GT_SHARE_ALL   (1ull << 32)

/**
 * struct gt_wanted - the settings as a source needs them
 * @gen: another with each change
 * @types: events that the level wants, a bit each by enum gt_type; 0: no records at all
 * @events: likewise filter_events
 * @share: of GT_SHARE_ALL: so many jobs are in records
 * @salt: of the choice of these
 * @npid, @nuid, @nctx: how many the lists have; 0: no such filter
 * @ctx_but: @ctx are those that are not wanted
 * @pid, @uid, @ctx: upwards; unused places are all ones
 *
 * What rings are wanted is not in it: gt_host.ring_refused() tells of each.
 */
struct gt_wanted {
	uint64_t gen;
	uint32_t types, events;
	uint64_t share, salt;
	uint32_t npid, nuid, nctx, ctx_but;
	uint32_t pid[GT_WANTED_LIST], uid[GT_WANTED_LIST];
	uint64_t ctx[GT_WANTED_LIST];
};

/**
 * struct gt_wanted_job - what is known of a job at its first event
 * @ctx, @seqno: of the record, gt_event.ctx and .seqno
 * @pid, @uid: of who submitted it, as its SUBMIT tells; all ones: unknown, so that no list has it
 * @gpu, @ring: numbers of the daemon, by gt_host.gpu() and .ring()
 * @refused: gt_host.ring_refused() of its ring: a bit each by enum gt_refusal
 */
struct gt_wanted_job {
	uint64_t ctx, seqno;
	uint32_t pid, uid;
	uint16_t gpu, ring;
	uint32_t refused;
};

#define GT_WANTED_INLINE static inline __attribute__((always_inline))

/* How many of @list are less than @v: six steps, without a branch that could be guessed wrongly */
#define GT_WANTED_BELOW(list, v)                                                                   \
	({                                                                                         \
		uint32_t at_ = 0;                                                                  \
		at_ += (list)[at_ + 31] < (v) ? 32 : 0;                                            \
		at_ += (list)[at_ + 15] < (v) ? 16 : 0;                                            \
		at_ += (list)[at_ + 7] < (v) ? 8 : 0;                                              \
		at_ += (list)[at_ + 3] < (v) ? 4 : 0;                                              \
		at_ += (list)[at_ + 1] < (v) ? 2 : 0;                                              \
		at_ += (list)[at_] < (v) ? 1 : 0;                                                  \
		at_ &(GT_WANTED_LIST - 1);                                                         \
	})

GT_WANTED_INLINE int gt_wanted_has32(const uint32_t list[GT_WANTED_LIST], uint32_t v)
{
	return v != UINT32_MAX && list[GT_WANTED_BELOW(list, v)] == v;
}

GT_WANTED_INLINE int gt_wanted_has64(const uint64_t list[GT_WANTED_LIST], uint64_t v)
{
	return v != UINT64_MAX && list[GT_WANTED_BELOW(list, v)] == v;
}

GT_WANTED_INLINE uint64_t gt_wanted_mix(uint64_t h, uint64_t v)
{
	h = (h ^ v) * 0x9e3779b97f4a7c15ull; /* 2^64 / golden ratio: spreads counting numbers */
	return h ^ h >> 32;
}

/** gt_wanted_draw() - a job's lot, below GT_SHARE_ALL: it is in records if that is below the share,
 * so that of a smaller share all are in the greater one, too */
GT_WANTED_INLINE uint64_t gt_wanted_draw(const struct gt_wanted *w, const struct gt_wanted_job *j)
{
	uint64_t h = gt_wanted_mix(w->salt, (uint64_t)j->gpu << 16 | j->ring);

	h = gt_wanted_mix(gt_wanted_mix(h, j->ctx), j->seqno);
	return gt_wanted_mix(h, 0) >> 32;
}

/** gt_type_refused() - by the event's type alone: of a job that is wanted, and of one that is not
 * GT_R_NONE: there it counts for the job's reason. @type: below GT_NTYPES */
GT_WANTED_INLINE enum gt_refusal gt_type_refused(const struct gt_wanted *w, unsigned int type)
{
	if (!(w->types >> (type & 31) & 1))
		return GT_R_LEVEL;
	return w->events >> (type & 31) & 1 ? GT_R_NONE : GT_R_EVENTS;
}

/** gt_filters_refused() - by all of a job's filters but not by sampling; also of an event that is
 * of no job */
GT_WANTED_INLINE enum gt_refusal gt_filters_refused(const struct gt_wanted *w,
						    const struct gt_wanted_job *j)
{
	if (j->refused >> GT_R_RING & 1)
		return GT_R_RING;
	if (j->refused >> GT_R_ENGINE & 1)
		return GT_R_ENGINE;
	if (w->npid && !gt_wanted_has32(w->pid, j->pid))
		return GT_R_PID;
	if (w->nuid && !gt_wanted_has32(w->uid, j->uid))
		return GT_R_UID;
	if (j->refused >> GT_R_WATCHLIST & 1)
		return GT_R_WATCHLIST;
	if (w->nctx && gt_wanted_has64(w->ctx, j->ctx) == !!w->ctx_but)
		return GT_R_CTX;
	return GT_R_NONE;
}

/** gt_job_refused() - is a job wanted that begins now? GT_R_NONE: it is. To be asked once of each,
 * at its first event. While no event of jobs is wanted, none is */
GT_WANTED_INLINE enum gt_refusal gt_job_refused(const struct gt_wanted *w,
						const struct gt_wanted_job *j)
{
	enum gt_refusal r;

	if (!w->types)
		return GT_R_LEVEL;
	if (!(w->types & w->events & GT_WANTED_JOB_TYPES))
		return GT_R_EVENTS;
	r = gt_filters_refused(w, j);
	if (r != GT_R_NONE || w->share >= GT_SHARE_ALL)
		return r;
	return gt_wanted_draw(w, j) < w->share ? GT_R_NONE : GT_R_SAMPLING;
}

#endif
