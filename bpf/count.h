/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Jobs that are matched and counted in the kernel: what bpf/jobs.h and backend/bpf/tracepoint/
 * share. The rules are those of fs/model/match.c, for rings whose source tells no START, no END and
 * no measured value.
 *
 * Everything lies in arrays that the daemon maps: it reads them without a system call. Who is found
 * where is said by lines of eight keys, a cache line each; a key has three lines where it may be.
 *
 * A ring's lock guards the ring and its pairs. A program holds it for some ten ns and does not wait
 * long, and not at all for one that it has interrupted: what it could not count then is owed, and
 * noted in the job, which is its own. The daemon takes it too, to free a pair. What is counted goes
 * into one of two banks, and the daemon folds the other.
 */
#ifndef GT_BPF_COUNT_H
#define GT_BPF_COUNT_H

#include <stdint.h>

#include "../backend/bucket.h"
#include "../backend/wanted.h"

#define GT_K_WAYS   8
#define GT_K_RINGS  512
#define GT_K_PAIRS  2048
#define GT_K_JOBS   32768
#define GT_K_OCTS   8192 /* octaves of all histograms, in one bank */
#define GT_K_OCT    40	 /* of one; beyond, some hours, a value is told by itself */
#define GT_K_HOT    64	 /* lines that are looked into first: little in flight stays in the cache */
#define GT_K_SPIN   1024 /* tries to get a lock: who has it may be interrupted */
#define GT_K_DAEMON UINT32_MAX /* who has it; a program is its CPU's number, from 1 */

/* A key is one of these, or has bit 1 set and bit 0 not */
#define GT_K_FREE  0
#define GT_K_BUSY  1 /* being filled, or taken out */
#define GT_K_ENDED 5 /* a job that has ended, but could not be counted */
#define GT_K_LONE  9 /* another job has its key now: it never ends */

static inline __attribute__((always_inline)) uint64_t gt_k_key(uint64_t h)
{
	return (h | 2) & ~1ull;
}

struct gt_k_line {
	uint64_t key[GT_K_WAYS];
};

static inline __attribute__((always_inline)) uint64_t gt_k_mix(uint64_t h, uint64_t v)
{
	h = (h ^ v) * 0x9e3779b97f4a7c15ull;
	return h ^ h >> 32;
}

/** struct gt_k_ctl - @bank: where it is counted now; @on: at all; @settings: which of the two that
 * there are hold now; @awake: the daemon comes by itself; @strangers: ends of jobs that are not
 * known here
 * @types: why level or filter_events refuse events, eight bits for each type below 4; 0: they do
 *not
 * @spilled: so many jobs are not in the first of the lines where their keys may be
 * @making: somebody has the lock for new rings
 * @limit: so many jobs may be in records until the daemon says that @taken counts from 0 again; 0:
 *any number. @share: of 1024, so many are. The rest is counted only
 * @next: octaves given out, of each bank
 * @no_ring, @no_job, @no_pair: how often there was no room; @owed: or the lock was not to be had */
struct gt_k_ctl {
	uint32_t bank, on, settings, awake;
	uint32_t spilled, limit, share, taken;
	uint64_t seed, strangers;
	uint32_t next[2];
	uint32_t making, types;
	uint64_t no_ring, no_job, no_pair, owed;
};

/* Where the jobs of a context run, for who waits for one that has ended: a word that is read and
 * written at once, as many as backend/eventmap/job.c has. The ring counts from 1; GT_K_SEVERAL: it
 * is one of those that they run on */
#define GT_K_CTXS    4096
#define GT_K_SEVERAL (1ull << 31)

static inline __attribute__((always_inline)) uint64_t gt_k_place(uint64_t was, uint64_t ctx,
								 uint32_t ring)
{
	uint64_t now = ctx << 32 | (ring + 1);

	if (was >> 32 == now >> 32 && was && was != now)
		now |= GT_K_SEVERAL;
	return now;
}

enum gt_k_kind { GT_K_INT, GT_K_DYN, GT_K_REL, GT_K_CHARS };

/** struct gt_k_piece - @size bytes at @off of a record; of GT_K_DYN a word says where they are, in
 * GT_K_REL it counts from behind it */
struct gt_k_piece {
	uint16_t off;
	uint8_t size, kind;
};

#define GT_K_SUBMIT   0x1 /* roles; gt_k_job.told */
#define GT_K_COMMIT   0x2
#define GT_K_COMPLETE 0x4
#define GT_K_WAIT     0x8 /* it is of interest which job it is for */

/* gt_k_job.owed: the roles, and how many more submissions and hand-overs of it were seen */
#define GT_K_MORE(type)	      (1u << GT_K_MORE_AT(type))
#define GT_K_MORE_AT(type)    ((type) ? 20 : 8) /* COMMIT : SUBMIT */
#define GT_K_MORE_OF(o, type) ((o) >> GT_K_MORE_AT(type) & 0xfff)

#define GT_K_BY_FENCE                                                                              \
	0x1 /* keys; the same numbers as in backend/eventmap/eventmap.h, as the kinds above */
#define GT_K_BY_CTX   0x2
#define GT_K_BY_SEQNO 0x4
#define GT_K_BY_RING  0x8

#define GT_K_PIECES 4

/**
 * struct gt_k_tp - how a tracepoint's events are counted
 * @roles: 0: they are not; @begins: a job that is not known begins with it
 * @key: which of the pieces make a job's key
 * @ring: the ring is told: by @n pieces, with @seed
 * @known: an end of a job that is not known means nothing
 * @submits: submissions are told, too: a job that is not known when it is handed over is in records
 * @vague: @ctx and @seqno are not what the job's records tell
 */
struct gt_k_tp {
	uint8_t roles, begins, key, ring;
	uint8_t n, known, submits, vague;
	uint64_t seed;
	struct gt_k_piece ctx, seqno, fence, reserved;
	struct gt_k_piece piece[GT_K_PIECES];
};

#define GT_K_REC     0x1 /* it is in records */
#define GT_K_ENTERED 0x2 /* its ring counts it */

/**
 * struct gt_k_job - in flight
 * @seen: its first event; @done: its last, of GT_K_ENDED
 * @pair: number of its pair; GT_NONE32 none
 * @hw: it occupies the hardware: 1 since its submission, 2 since its hand-over; @epoch: the ring's
 *	then
 * @owed: events that are not counted yet, see GT_K_MORE()
 * @why: it is in no record: enum gt_refusal
 * @pid, @uid, @start: who submitted it; GT_NONE32: not known
 */
struct gt_k_job {
	uint64_t k1, k2, ctx, seqno;
	uint64_t seen, submit, commit, done;
	uint32_t pair, owed;
	uint16_t ring;
	uint8_t told, flags, hw, epoch, why, reserved;
	uint64_t start;
	uint32_t pid, uid;
	uint64_t pad[4]; /* two cache lines */
};

/** struct gt_k_stage - @under: the least value, from above: 2^64 - 1 less it; @oct: numbers of
 * octaves, from 1 */
struct gt_k_stage {
	uint64_t sum, max, under;
	uint16_t oct[GT_K_OCT];
};

/** struct gt_k_sum - what a pair did, in one bank */
struct gt_k_sum {
	uint64_t submitted, committed, completed, busy, first;
	struct gt_k_stage stage[GT_NSTAGES];
};

/**
 * struct gt_k_pair - a process on a ring
 * @pid: GT_NONE32: of jobs whose owner is not known
 * @jobs: in flight; @inflight: those of them that are in no record
 */
struct gt_k_pair {
	uint32_t ring, pid, uid;
	uint32_t jobs, inflight, reserved;
	uint64_t start;
	char comm[16];
	struct gt_k_sum bank[2];
};

#define GT_K_LEFT 16 /* at least GT_NREFUSALS */

/** struct gt_k_bank - what came on a ring; @left: events of jobs that are in no record, by enum
 * gt_refusal; @wanted: jobs that began and are in records, or would be if there were not too many
 */
struct gt_k_bank {
	uint64_t seen[4], left[GT_K_LEFT], busy, first, last;
	uint32_t peak, wanted;
};

/* gt_k_ring.about: the ring is known to the daemon, by these numbers; why its jobs are refused */
#define GT_K_PLACED	      (1ull << 63)
#define GT_K_ABOUT_GPU(a)     ((uint16_t)((a) >> 16))
#define GT_K_ABOUT_RING(a)    ((uint16_t)(a))
#define GT_K_ABOUT_REFUSED(a) ((uint32_t)((a) >> 32) & 0x7fffffff)

#define GT_K_NAME 256 /* of a record */

/**
 * struct gt_k_ring - a ring
 * @index, @len, @data: the record that told of it first; @tid, @pid: and who ran
 * @refused: the daemon cannot make anything of it: it gets records
 * @about: GT_K_ABOUT_*, by gt_k_ctl.settings; 0: no more is known than that it is one
 * @strangers: gt_k_ctl's, when its last job ended; @unsure: likewise of the ring alone, and
 *	@unsure_was when its last job ended
 * @epoch: another after each loss: what occupies the hardware since before it is not known
 * @depth: jobs that are in no record; @hw: those of them that occupy the hardware, see gt_k_job.hw;
 *	@area: depth x ns of those that are no more
 * @completed: jobs
 */
struct gt_k_ring {
	uint32_t lock, refused;
	uint64_t about[2];
	uint32_t commits, after_loss;
	uint64_t strangers, last_end;
	uint32_t unsure, unsure_was, epoch, reserved;
	uint32_t depth, completed;
	uint64_t area;
	uint32_t hw[2];
	uint64_t hw_since[2];
	struct gt_k_bank bank[2];
	uint16_t index, len;
	uint32_t tid, pid, cpu;
	uint8_t data[GT_K_NAME];
};

struct gt_k_octave {
	uint32_t n[GT_HIST_SUB];
};

/** struct gt_k_ended - what is known of a job that ended; GT_NONE64: not known */
struct gt_k_ended {
	uint64_t v[GT_NSTAGES];
	uint64_t busy;	    /* what it kept the ring busy */
	uint64_t pair_busy; /* of which the process is told */
};

/**
 * struct gt_k_tale - behind a struct gt_bpf_raw: a job that ended whose values had no room in a
 * pair's histograms; those that had are left out (GT_NONE64)
 * @counted: the pair has its counters, and what it kept the ring busy
 */
struct gt_k_tale {
	uint64_t v[GT_NSTAGES];
	uint64_t busy, start;
	uint32_t pid, uid;
	uint16_t ring;
	uint8_t told, counted;
	uint32_t reserved;
};

#define GT_K_NONE UINT64_MAX

static inline __attribute__((always_inline)) uint64_t gt_k_later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/** gt_k_seen_n() - @n events of type @type (enum gt_type) of @j's ring */
static inline __attribute__((always_inline)) void
gt_k_seen_n(const struct gt_k_ctl *c, struct gt_k_bank *b, const struct gt_k_job *j,
	    unsigned int type, uint64_t ts, uint32_t n)
{
	uint32_t why = c->types >> (type & 3) * 8 & 0xff;

	b->seen[type & 3] += n;
	if (!(j->flags & GT_K_REC))
		b->left[(why ? why : j->why) & (GT_K_LEFT - 1)] += n;
	if (!b->first)
		b->first = ts;
	b->last = gt_k_later(b->last, ts);
}

/** gt_k_seen() - one of them */
static inline __attribute__((always_inline)) void gt_k_seen(const struct gt_k_ctl *c,
							    struct gt_k_bank *b,
							    const struct gt_k_job *j,
							    unsigned int type, uint64_t ts)
{
	gt_k_seen_n(c, b, j, type, ts, 1);
}

/** gt_k_more() - submissions and hand-overs of @j that were seen again, as @owed has them */
static inline __attribute__((always_inline)) void
gt_k_more(const struct gt_k_ctl *c, struct gt_k_bank *b, const struct gt_k_job *j, uint32_t owed)
{
	if (GT_K_MORE_OF(owed, 0))
		gt_k_seen_n(c, b, j, 0, j->submit, GT_K_MORE_OF(owed, 0));
	if (GT_K_MORE_OF(owed, 3))
		gt_k_seen_n(c, b, j, 3, j->commit, GT_K_MORE_OF(owed, 3));
}

/** gt_k_enter() - @j is new on the ring; its lock is held, as by all that follow */
static inline __attribute__((always_inline)) void
gt_k_enter(struct gt_k_ring *r, struct gt_k_bank *b, struct gt_k_job *j)
{
	b->wanted += j->flags & GT_K_REC || j->why == GT_R_RATE;
	if (j->flags & GT_K_REC)
		return;
	r->depth++;
	if (r->depth > b->peak)
		b->peak = r->depth;
}

static inline __attribute__((always_inline)) void gt_k_hw(struct gt_k_ring *r, struct gt_k_job *j,
							  uint8_t hw, uint64_t ts)
{
	if ((j->flags & GT_K_REC) || (j->hw == hw && j->epoch == (uint8_t)r->epoch))
		return;
	j->hw = hw;
	j->epoch = (uint8_t)r->epoch;
	if (!r->hw[hw - 1]++)
		r->hw_since[hw - 1] = ts;
}

/** gt_k_submitted() - the ring's part of a submission */
static inline __attribute__((always_inline)) void gt_k_submitted(const struct gt_k_ctl *c,
								 struct gt_k_ring *r,
								 struct gt_k_bank *b,
								 struct gt_k_job *j)
{
	gt_k_seen(c, b, j, 0, j->submit);
	if (!r->commits)
		gt_k_hw(r, j, 1, j->submit);
}

/** gt_k_committed() - the ring's part of a hand-over */
static inline __attribute__((always_inline)) void gt_k_committed(const struct gt_k_ctl *c,
								 struct gt_k_ring *r,
								 struct gt_k_bank *b,
								 struct gt_k_job *j)
{
	gt_k_seen(c, b, j, 3, j->commit);
	if (!r->commits) {
		r->commits = 1; /* so SUBMIT was not the hand-over after all */
		r->hw[0] = 0;
	}
	gt_k_hw(r, j, 2, j->commit);
}

/* The job leaves the ring at @ts */
static inline __attribute__((always_inline)) void gt_k_leave(struct gt_k_ring *r,
							     struct gt_k_job *j, uint64_t ts)
{
	if (j->flags & GT_K_REC)
		return;
	if (j->epoch == (uint8_t)r->epoch && (j->hw == 2 || (j->hw == 1 && !r->commits)))
		r->hw[j->hw - 1]--;
	j->hw = 0;
	r->depth--;
	r->area += ts - j->seen;
}

/** gt_k_pair_leaves() - likewise its pair; NULL: it has none */
static inline __attribute__((always_inline)) void gt_k_pair_leaves(struct gt_k_pair *p,
								   const struct gt_k_job *j)
{
	if (!p)
		return;
	p->jobs--;
	p->inflight -= !(j->flags & GT_K_REC);
}

/**
 * gt_k_finish() - the job ended at @ts: fs/model/match.c's conclude() and stage_values()
 * @sure: the ring's last end is that of the job before; else hw_wait and exec are not known
 */
static inline __attribute__((always_inline)) void
gt_k_finish(const struct gt_k_ctl *c, struct gt_k_ring *r, struct gt_k_bank *b, struct gt_k_job *j,
	    uint64_t ts, int sure, struct gt_k_ended *e)
{
	int submit = j->told & GT_K_SUBMIT, commit = j->told & GT_K_COMMIT;
	int has_hand = commit || (submit && !r->commits),
	    known = has_hand && sure && !r->after_loss;
	uint64_t hand = commit ? j->commit : j->submit, lowest, end, start;

	if (submit && hand < j->submit)
		hand = j->submit;
	lowest = has_hand ? hand : j->submit;
	end = gt_k_later(ts, lowest);
	start = gt_k_later(hand, r->last_end);
	start = start > end ? end : start;
	e->v[GT_ST_QUEUE] = submit && commit ? hand - j->submit : GT_K_NONE;
	e->v[GT_ST_HW_WAIT] = known ? start - hand : GT_K_NONE;
	e->v[GT_ST_EXEC] = known ? end - start : GT_K_NONE;
	e->v[GT_ST_COMPLETE] = GT_K_NONE;
	e->v[GT_ST_TOTAL] = submit ? end - j->submit : GT_K_NONE;
	e->busy = has_hand ? end - start : 0;
	e->pair_busy = known ? e->busy : 0;
	r->after_loss = 0;
	b->busy += e->busy;
	gt_k_seen(c, b, j, 1, ts);
	gt_k_leave(r, j, end);
	r->last_end = gt_k_later(r->last_end, end);
	r->completed++;
}

#endif
