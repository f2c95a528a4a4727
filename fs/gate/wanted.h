/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which jobs and events are wanted in records, as far as that is decided when a job is submitted. The
 * rate limit, and what depends on a job's end, is gate.c's.
 *
 * The reasons are checked in the order of enum gt_refusal, and the first one counts.
 */
#ifndef GT_WANTED_H
#define GT_WANTED_H

#include <stdint.h>

/**
 * enum gt_refusal - why an event is in no record; names of filter_stats
 *
 * TYPE, LEVEL and EVENTS apply to single events; all others to whole jobs, and LEVEL to both. An event
 * of an unwanted job counts for TYPE, LEVEL or EVENTS if these refuse it anyway, else for its job's
 * reason.
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
	GT_R_RATE,	/* rate_limit */
	GT_R_LATENCY,	/* filter_latency */
	GT_R_THRESHOLD, /* sampling_threshold */
	GT_R_SHARE,	/* more than its user's share of the history; never decided for a job */
	GT_NREFUSALS
};

#define GT_WANTED_LIST 64 /* a power of two */
/* A job's own: SUBMIT, COMPLETE, COMMIT, START, END, ERROR, a bit each by enum gt_type */
#define GT_WANTED_JOB_TYPES 0x23bull
#define GT_SHARE_ALL	    (1ull << 32)

/**
 * struct gt_wanted - the settings, as they decide
 * @types: events that the level wants, a bit each by enum gt_type; 0: no records at all
 * @events: likewise filter_events
 * @share: share of the jobs in records, of GT_SHARE_ALL
 * @salt: of the choice of these
 * @npid, @nuid, @nctx: lengths of the lists; 0: no such filter
 * @ctx_but: @ctx are the unwanted ones
 * @pid, @uid, @ctx: in ascending order; unused places are all ones
 *
 * Which rings are wanted is not in it: see gt_gate_ring.refused.
 */
struct gt_wanted {
	uint64_t types, events;
	uint64_t share, salt;
	uint32_t npid, nuid, nctx, ctx_but;
	uint32_t pid[GT_WANTED_LIST], uid[GT_WANTED_LIST];
	uint64_t ctx[GT_WANTED_LIST];
};

/**
 * struct gt_wanted_job - what is known of a job at its first event
 * @ctx, @seqno: of the record, gt_event.ctx and .seqno
 * @pid, @uid: of its SUBMIT; all ones: unknown, and so in no list
 * @gpu, @ring: by gt_host.gpu() and .ring()
 * @refused: gt_gate_ring.refused of its ring
 */
struct gt_wanted_job {
	uint64_t ctx, seqno;
	uint32_t pid, uid;
	uint16_t gpu, ring;
	uint32_t refused;
};

#define GT_WANTED_INLINE static inline __attribute__((always_inline))

/* Number of entries of @list below @v: six steps, without a branch to mispredict */
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

/** gt_wanted_draw() - a job's number below GT_SHARE_ALL: it is in records if that is below the share, so
 * jobs of a smaller share are in a greater one, too */
GT_WANTED_INLINE uint64_t gt_wanted_draw(const struct gt_wanted *w, const struct gt_wanted_job *j)
{
	uint64_t h = gt_wanted_mix(w->salt, (uint64_t)j->gpu << 16 | j->ring);

	h = gt_wanted_mix(gt_wanted_mix(h, j->ctx), j->seqno);
	return gt_wanted_mix(h, 0) >> 32;
}

/** gt_type_refused() - by the event's type alone. An event of an unwanted job for which this is GT_R_NONE
 * counts for the job's reason. @type: below GT_NTYPES */
GT_WANTED_INLINE enum gt_refusal gt_type_refused(const struct gt_wanted *w, unsigned int type)
{
	if (!(w->types >> (type & 63) & 1))
		return GT_R_LEVEL;
	return w->events >> (type & 63) & 1 ? GT_R_NONE : GT_R_EVENTS;
}

/** gt_filters_refused() - by all filters of jobs but not by sampling; also for an event without a job */
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

/** gt_job_refused() - GT_R_NONE if a job that begins now is wanted. To be called once for each, at its
 * first event. If no event of jobs is wanted, no job is */
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
