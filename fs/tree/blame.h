/* SPDX-License-Identifier: GPL-2.0 */
#ifndef GT_BLAME_H
#define GT_BLAME_H

#include <stdint.h>
#include "../../backend/lib/hash.h"
#include "internal.h"

/*
 * Who held a ring while jobs waited for it: worked out from a list of jobs, whoever made it. No
 * model, no view and no text here.
 *
 * The job that began first holds the ring until it ends; of others that run beside it counts what
 * is left then. So at any time one holds it, or nobody, or nobody knows.
 */
#define GT_HELD_LANES 32 /* holders of a ring that are kept apart */
/* What a wait is shared out among: lanes 0 to 31, and behind them: */
enum {
	GT_HELD_OTHERS = GT_HELD_LANES, /* holders beyond those */
	GT_HELD_IDLE,			/* nobody held it */
	GT_HELD_UNKNOWN,		/* nobody knows who */
	GT_HELD_KEPT,			/* it could not have run, whoever held it */
	GT_HELD_KINDS
};

/**
 * struct gt_held_job - one job; times in ns
 * @wait_from, @wait_to: it waited so long; the same: it did not, or it is not known
 * @start, @end: the hardware worked on it; @start GT_NONE64: not known since when
 * @quiet: nothing else ended on the ring since: when nobody is seen to hold it from then to @start,
 *	nobody did. GT_NONE64: not known
 * @kept_from, @kept_to: part of the wait in which another job, or a fence, had to come first; the
 * same: none was
 * @who: its owner: index of a struct gt_held_party
 * @nr: its number in the history; GT_NONE64: in flight
 * @kept_pid, @kept_uid: the owner of that job; GT_NONE32 not known
 */
struct gt_held_job {
	uint64_t wait_from, wait_to;
	uint64_t start, end;
	uint64_t quiet;
	uint64_t kept_from, kept_to;
	uint64_t nr;
	uint32_t who, kept_pid, kept_uid;
};

/**
 * struct gt_held_party - one process on one ring: each ring has its own
 * @waiter: index in the waiters + 1; 0: its waits are not asked for
 * @lane, @held: gt_held_by()'s; zeroed before
 */
struct gt_held_party {
	uint64_t held;
	uint8_t waiter, lane;
};

/**
 * struct gt_held_waiter - its waits, shared out
 * @ns: within the window; @jobs: so many of its jobs waited for that one at all
 */
struct gt_held_waiter {
	uint64_t ns[GT_HELD_KINDS], jobs[GT_HELD_KINDS];
};

/** struct gt_held_lanes - parties by lane, those that held the ring longest */
struct gt_held_lanes {
	unsigned int n;
	uint32_t who[GT_HELD_LANES];
};

/**
 * struct gt_held_ring - what is known of a ring in a window of time
 * @job: @n of them, in any order; those in order of @start are dealt with fastest
 * @from, @until: the window; what is outside counts for nothing
 * @quiet: nothing has ended since, and nobody is at work at @until but jobs of the list; GT_NONE64:
 *	not known
 */
struct gt_held_ring {
	const struct gt_held_job *job;
	uint32_t n;
	uint64_t from, until, quiet;
};

/** gt_held_waited() - ns that @j waited within the window of @r */
uint64_t gt_held_waited(const struct gt_held_ring *r, const struct gt_held_job *j);
/** gt_held_kept() - ns of these in which another had to come first */
uint64_t gt_held_kept(const struct gt_held_ring *r, const struct gt_held_job *j);

/**
 * gt_held_by() - shares out the waits of those who ask
 * @party: that jobs name
 * @waiter: added to
 * @lanes: filled
 *
 * Costs n log n, and GT_HELD_KINDS additions a wait. Return: 0 or -ENOMEM.
 */
int gt_held_by(const struct gt_held_ring *r, struct gt_held_party *party,
	       struct gt_held_waiter *waiter, struct gt_held_lanes *lanes);

#define GT_HELD_OWNER (GT_NONE32 - 1) /* the owner of the job that it depended on */

/**
 * gt_held_longest() - which process each job waited for longest, by the same rule
 * @party: those with waits that are asked for have a waiter; held is zeroed before
 * @longest: of each of @r->job: a party, GT_HELD_OWNER, or GT_NONE32: none held the ring, it is
 *	not known who held it longest, or nobody asked
 *
 * Looks at no more than some 10^8 changes of holder: of jobs beyond these it is not known.
 * Return: 0 or -ENOMEM.
 */
int gt_held_longest(const struct gt_held_ring *r, struct gt_held_party *party, uint32_t *longest);

/*
 * The jobs of the last seconds, by ring: those of the history and those in flight, as what blame is
 * worked out from. Costs nothing while nobody asks.
 */
#define GT_GATHER_NS   (10 * GT_SEC)
#define GT_GATHER_JOBS 131072 /* of the history, and as many in flight: some 10 ms */
#define GT_GATHER_MORE 262144 /* of the history, for a report: more than its rows */

/**
 * struct gt_gathered_ring - one ring
 * @held: its jobs, and what is known of its time
 * @head: jobs of the history from that number on had not ended at held.until; @bare_head: likewise
 * of those without a record
 * @linked: the history's last job that was looked at is number @nth of the ring's; all that ended
 *	before it had by @ended
 * @inside, @closed: it has jobs in the window, and one from before is known to be the one before
 * @completed: the ring's completions at held.until; @of_window: of these, those of the window, as
 *	the ring counts them by the second
 * @counted: the highest number of all that were looked at; @listed: those in the window
 * @missing: of the ring's numbers, those that the history lacks in the window; @maybe: likewise, in
 * it or before it
 */
struct gt_gathered_ring {
	uint16_t gpu, ring;
	uint32_t life;
	struct gt_held_ring held;
	uint64_t head, bare_head;
	bool linked, inside, closed;
	uint32_t nth;
	uint64_t ended;
	uint32_t completed, counted;
	uint64_t of_window, listed, missing, maybe;
};

/**
 * struct gt_gathered_party - one process on one ring
 * @first_ts: distinguishes it from others with its pid; GT_NONE64 unknown
 * @ts: a time when it was there, for views
 * @waited: ns within the window
 */
struct gt_gathered_party {
	uint32_t ring; /* index in gt_gathered.ring */
	uint32_t pid, uid;
	uint64_t first_ts, ts, waited;
	char comm[16];
};

/**
 * struct gt_gathered - all of it; gt_gathered_done() frees
 * @jobs: of the history, at most; @all: not just of some seconds: jobs without a record may be
 * missing
 * @base: of each GPU: index of its first ring; GT_NONE32: not asked for, or gone
 * @bits: of the rings, for gt_fins
 * @from, @until: the window; a ring's own ends may differ by what happened while we looked
 * @finished, @flying: jobs of either kind in it, those in flight that are left out as well
 * @cut: jobs of the last seconds that are older than @from were left out, for there are too many
 * @unlisted: jobs that have finished in the window, and are neither in the history nor beside it
 * @left: jobs in flight that were left out, likewise
 */
struct gt_gathered {
	struct gt_app *app;
	bool all;
	uint32_t jobs, slots;
	uint32_t base[GT_MAX_GPUS], nrings[GT_MAX_GPUS];
	struct gt_gathered_ring *ring;
	uint32_t rings;
	uint64_t bits;
	struct gt_held_job *job;
	uint32_t njobs;
	struct gt_gathered_party *party;
	struct gt_held_party *held; /* of each party */
	uint32_t parties;
	uint32_t *slot; /* hash table of parties: index + 1 */
	uint64_t salt[2];
	uint64_t from, until;
	uint32_t finished, flying;
	bool cut;
	uint64_t unlisted, left;
};

/**
 * gt_gather() - of the rings that s->obj is about
 * @ns: how far to look back, live; of a recording it is all
 * @jobs: of the history, at most: those that ended last on these rings
 *
 * Return: 0, -ENODEV or -ENOMEM; @g is to be freed anyway
 */
int gt_gather(struct gt_gathered *g, const struct gt_show *s, uint64_t ns, uint32_t jobs);
void gt_gathered_done(struct gt_gathered *g);
/** gt_gather_nr() - gt_held_job.nr of job @i of the history that has a record: between two of them
 * are those without one */
static inline uint64_t gt_gather_nr(uint64_t i)
{
	return 2 * i + 1;
}

/* blame.c */

/**
 * struct gt_blame_name - a process that waited or held the ring, as its reader sees it
 * @pid: GT_NONE32 if it is unknown or hidden; @comm: "" likewise
 */
struct gt_blame_name {
	uint32_t pid;
	char comm[16];
};

/** gt_blame_party() - @p NULL: unknown */
struct gt_blame_name gt_blame_party(const struct gt_show *s, const struct gt_gathered_party *p);
/** gt_blame_owner() - of a job that another depended on, at @ts */
struct gt_blame_name gt_blame_owner(const struct gt_show *s, uint32_t pid, uint32_t uid,
				    uint64_t ts);
/** gt_cell_comm() - "-" if it is empty */
void gt_cell_comm(struct gt_text *t, const char comm[16]);

/* blame.c, for report.c */

#endif
