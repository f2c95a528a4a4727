/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Jobs that are matched and counted in the kernel: what bpf/jobs.h and backend/bpf/tracepoint/ share.
 * The rules are those of fs/model/match.c, for rings with a source that reports no START, no END and no
 * measured value.
 *
 * Everything lies in arrays that the daemon maps, so it reads them without a system call. Tables of keys
 * find jobs, pairs and rings. A line of such a table is a cache line with eight keys; a key may be in one
 * of three lines.
 *
 * A ring's lock guards the ring and its pairs. A program holds it for some ten ns. It tries for a short
 * time only, and not at all if it has interrupted the holder. What it cannot count then it notes in the
 * job (gt_k_job.owed), and a later event of the job counts it. The daemon takes the lock to free a pair.
 * There are two banks of counters: programs add to one, and the daemon folds the other.
 */
#ifndef GT_BPF_COUNT_H
#define GT_BPF_COUNT_H

#include <stdint.h>

#include "../backend/bucket.h"
#include "../backend/unseen.h"
#include "../backend/wanted.h"

#define GT_K_WAYS  8
#define GT_K_RINGS 512
#define GT_K_PAIRS 2048
#define GT_K_JOBS  32768
#define GT_K_OCTS  8192 /* octaves of all histograms, in one bank */
#define GT_K_OCT   40	/* of one histogram; a greater value, of hours, is sent in a record */
#define GT_K_HOT                                                                                   \
	64 /* lines that are searched first: with few jobs in flight these stay in the cache */
#define GT_K_SPIN 1024 /* tries to get a lock; its holder may be interrupted */
#define GT_K_DAEMON                                                                                \
	UINT32_MAX /* of a lock that the daemon holds; a program writes its CPU's number + 1 */

/* A key is one of these, or has bit 1 set and bit 0 not */
#define GT_K_FREE  0
#define GT_K_BUSY  1 /* being filled, or taken out */
#define GT_K_ENDED 5 /* a job that has ended, but could not be counted */
#define GT_K_LONE  9 /* another job has its key now, so no end will find it */

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

/**
 * struct gt_k_ctl - what the programs and the daemon share
 * @bank: the bank that programs add to
 * @on: jobs are counted
 * @settings: which of the two sets of settings is in force
 * @awake: the daemon comes by itself; a program need not wake it
 * @strangers: ends of jobs that are not in the table
 * @types: for each type below 4, eight bits: enum gt_refusal by level or filter_events; 0: none
 * @spilled: jobs with a key that is not in the first line of its three
 * @making: the lock for new rings is held
 * @limit: at most so many jobs are in records until the daemon sets @taken to 0; 0: no limit
 * @share: of 1024 jobs so many are in records; the others are only counted
 * @next: octaves that are in use, of each bank
 * @no_ring, @no_job, @no_pair: how often there was no room
 * @owed: how often a lock could not be had
 */
struct gt_k_ctl {
	uint32_t bank, on, settings, awake;
	uint32_t spilled, limit, share, taken;
	uint64_t seed, strangers;
	uint32_t next[2];
	uint32_t making, types;
	uint64_t no_ring, no_job, no_pair, owed;
};

/* The ring on which the jobs of a context run: a wait for a job that has ended is shown there. One word,
 * so that it is read and written at once; there are as many as in backend/eventmap/job.c. Rings count from
 * 1. GT_K_SEVERAL: the context has jobs on several rings, of which this is one. */
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

/** struct gt_k_piece - a field of a record: @size bytes at @off. With GT_K_DYN a word at @off says where the
 * field is; with GT_K_REL that place counts from behind the word. */
struct gt_k_piece {
	uint16_t off;
	uint8_t size, kind;
};

#define GT_K_SUBMIT   0x1 /* roles; gt_k_job.reported */
#define GT_K_COMMIT   0x2
#define GT_K_COMPLETE 0x4
#define GT_K_WAIT     0x8 /* a wait: the job that it is for is looked up */

/* gt_k_job.owed: the roles that are not counted yet, and how many further submissions and hand-overs */
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
 * @roles: GT_K_SUBMIT and the like; 0: they are not counted
 * @begins: the event begins a job that is not in the table
 * @key: which of the pieces make a job's key
 * @ring: the @n pieces name the ring, hashed with @seed
 * @known: an end without a job in the table means nothing
 * @submits: submissions are sent to the daemon too, so a job that is not in the table when it is handed
 *	over is in records
 * @vague: @ctx and @seqno are not those of the job's records
 */
struct gt_k_tp {
	uint8_t roles, begins, key, ring;
	uint8_t n, known, submits, vague;
	uint64_t seed;
	struct gt_k_piece ctx, seqno, fence, reserved;
	struct gt_k_piece piece[GT_K_PIECES];
};

#define GT_K_REC     0x1 /* the job is in records */
#define GT_K_ENTERED 0x2 /* the ring has counted it in its depth */
#define GT_K_UNSEEN  0x4 /* taken out of the depth: its end was missed, see backend/unseen.h */
#define GT_K_VAGUE   0x8 /* its context and number may be another job's */
#define GT_K_LATE                                                                                  \
	0x10 /* an event was counted late, so its place in the order of hand-over is not known */

/**
 * struct gt_k_job - a job in flight
 * @seen: time of its first event
 * @done: time of its last event, of a job with the key GT_K_ENDED
 * @pair: number of its pair; GT_NONE32: none
 * @owed: events that are not counted yet, see GT_K_MORE()
 * @hw: it occupies the hardware: 1 since its submission, 2 since its hand-over
 * @epoch: the ring's, when @hw was set
 * @why: why it is in no record: enum gt_refusal
 * @pid, @uid, @start: of the process that submitted it; GT_NONE32: not known
 * @unseen: when it was found that its end was missed; @unseen_why: enum gt_unseen
 * @hw_no: its place in the ring's order of hand-over
 * @hw_own: its place in that order among jobs in no record
 * @self: its number, from 1
 * @next, @prev: numbers of its neighbours in the bucket of its context; 0: none
 * @listed: it is in that bucket
 */
struct gt_k_job {
	uint64_t k1, k2, ctx, seqno;
	uint64_t seen, submit, commit, done;
	uint32_t pair, owed;
	uint16_t ring;
	uint8_t reported, flags, hw, epoch, why, reserved;
	uint64_t start;
	uint32_t pid, uid;
	uint64_t unseen;
	uint32_t hw_no, hw_own;
	uint16_t self, next, prev;
	uint8_t listed, unseen_why;
	uint64_t pad; /* two cache lines */
};

/**
 * struct gt_k_stage - values of one stage
 * @under: 2^64 - 1 less the least value, so that the daemon clears it with 0
 * @oct: numbers of its octaves, from 1; 0: none yet
 */
struct gt_k_stage {
	uint64_t sum, max, under;
	uint16_t oct[GT_K_OCT];
};

/**
 * struct gt_k_sum - what a pair did, in one bank
 * @unseen: jobs in no record with an end that was missed
 * @back: those of them, or of an earlier bank, that had another event afterwards
 */
struct gt_k_sum {
	uint64_t submitted, committed, completed, busy, first;
	uint32_t unseen, back;
	struct gt_k_stage stage[GT_NSTAGES];
};

/**
 * struct gt_k_pair - a process on a ring
 * @pid: GT_NONE32: the owner of its jobs is not known
 * @jobs: its jobs in the table
 * @inflight: those of them that are in flight and in no record
 */
struct gt_k_pair {
	uint32_t ring, pid, uid;
	uint32_t jobs, inflight, reserved;
	uint64_t start;
	char comm[16];
	struct gt_k_sum bank[2];
};

#define GT_K_LEFT 16 /* at least GT_NREFUSALS */

/**
 * struct gt_k_bank - events of a ring
 * @left: events of jobs that are in no record, by enum gt_refusal
 * @wanted: jobs that began and are in records, or would be without the limit
 * @unseen, @back: see struct gt_k_sum; of jobs without a pair
 * @peak: most jobs in flight at once, in records or not
 */
struct gt_k_bank {
	uint64_t seen[4], left[GT_K_LEFT], busy, first, last;
	uint32_t peak, wanted, unseen, back;
};

#define GT_K_BUCKETS 64	  /* buckets of a ring, by context */
#define GT_K_GONE    1024 /* the jobs of all rings that ended last, by their keys */

/** struct gt_k_bucket - jobs in flight by first event, as gt_k_job.self */
struct gt_k_bucket {
	uint16_t head, tail;
};

/** struct gt_k_gone - a job that ended at @ts; @hash is of its key, the rest as in struct gt_k_job. It is
 * written without a lock: of two writes at a time one may be lost. */
struct gt_k_gone {
	uint64_t ts;
	uint32_t hash;
	uint16_t ring;
	uint8_t flags, why;
};

/* gt_k_ring.about: the daemon knows the ring, by these numbers; and why its jobs are refused */
#define GT_K_PLACED	      (1ull << 63)
#define GT_K_ABOUT_GPU(a)     ((uint16_t)((a) >> 16))
#define GT_K_ABOUT_RING(a)    ((uint16_t)(a))
#define GT_K_ABOUT_REFUSED(a) ((uint32_t)((a) >> 32) & 0x7fffffff)

#define GT_K_NAME 256 /* of a record */

/**
 * struct gt_k_ring - a ring
 * @index, @len, @data: the record that named it first; @tid, @pid: the thread that it came from
 * @refused: the daemon found no ring in that record: its events go to the daemon as records
 * @about: GT_K_ABOUT_*, for each set of settings; 0: nothing but that it is a ring
 * @late: a job that ended while the lock was held, as gt_k_job.self; the next end counts it first; 0: none
 * @strangers: gt_k_ctl.strangers when its last job ended
 * @unsure: strangers that may be this ring's; @unsure_was: @unsure when its last job ended
 * @epoch: changes with each loss: from then on it is not known what occupies the hardware
 * @inflight: jobs in flight, in records or not
 * @depth: those of them that are in no record
 * @area: @depth times ns, of jobs that have left
 * @hw: jobs of @depth that occupy the hardware, see gt_k_job.hw; @hw_since: since when
 * @completed: jobs that ended
 * @entered: jobs that were handed over in this epoch; @own: those of them in no record
 * @at_hw: jobs that occupy the hardware, in records or not
 * @passed: jobs up to this place in the order of hand-over have left the hardware, because a later one has
 *	ended; @passed_at: when the last of them was found
 * @strays, @unordered: as in struct gt_ring
 */
struct gt_k_ring {
	uint32_t lock, refused, late, reserved;
	uint64_t about[2];
	uint32_t commits, after_loss;
	uint64_t strangers, last_end;
	uint32_t unsure, unsure_was, epoch, inflight;
	uint32_t depth, completed;
	uint64_t area;
	uint32_t hw[2];
	uint64_t hw_since[2];
	uint32_t entered, own, at_hw, passed;
	uint32_t strays, unordered;
	uint64_t passed_at;
	struct gt_k_bucket bucket[GT_K_BUCKETS];
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
	uint64_t busy;	    /* ns that it kept the ring busy */
	uint64_t pair_busy; /* ns of @busy that its process is charged with */
};

/**
 * struct gt_k_tale - behind a struct gt_bpf_raw: a job that ended with values that had no room in a
 *	histogram of its pair; values that had room are GT_NONE64
 * @counted: the pair has its counters and its busy time
 */
struct gt_k_tale {
	uint64_t v[GT_NSTAGES];
	uint64_t busy, start;
	uint32_t pid, uid;
	uint16_t ring;
	uint8_t reported, counted;
	uint32_t reserved;
};

#define GT_K_NONE UINT64_MAX

static inline __attribute__((always_inline)) uint64_t gt_k_later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/** gt_k_seen_n() - counts @n events of @type (enum gt_type) of a job; @flags, @reason: gt_k_job's, .why */
static inline __attribute__((always_inline)) void gt_k_seen_n(const struct gt_k_ctl *c,
							      struct gt_k_bank *b, uint8_t flags,
							      uint8_t reason, unsigned int type,
							      uint64_t ts, uint32_t n)
{
	uint32_t why = c->types >> (type & 3) * 8 & 0xff;

	b->seen[type & 3] += n;
	if (!(flags & GT_K_REC))
		b->left[(why ? why : reason) & (GT_K_LEFT - 1)] += n;
	if (!b->first)
		b->first = ts;
	b->last = gt_k_later(b->last, ts);
}

/** gt_k_seen() - counts one event of a job */
static inline __attribute__((always_inline)) void gt_k_seen(const struct gt_k_ctl *c,
							    struct gt_k_bank *b, uint8_t flags,
							    uint8_t reason, unsigned int type,
							    uint64_t ts)
{
	gt_k_seen_n(c, b, flags, reason, type, ts, 1);
}

/** gt_k_more() - counts the further submissions and hand-overs of @j that @owed has */
static inline __attribute__((always_inline)) void
gt_k_more(const struct gt_k_ctl *c, struct gt_k_bank *b, const struct gt_k_job *j, uint32_t owed)
{
	if (GT_K_MORE_OF(owed, 0))
		gt_k_seen_n(c, b, j->flags, j->why, 0, j->submit, GT_K_MORE_OF(owed, 0));
	if (GT_K_MORE_OF(owed, 3))
		gt_k_seen_n(c, b, j->flags, j->why, 3, j->commit, GT_K_MORE_OF(owed, 3));
}

/** gt_k_flies() - counts @j as in flight from now on */
static inline __attribute__((always_inline)) void
gt_k_flies(struct gt_k_ring *r, struct gt_k_bank *b, const struct gt_k_job *j)
{
	r->depth += !(j->flags & GT_K_REC);
	if (++r->inflight > b->peak)
		b->peak = r->inflight;
}

/** gt_k_enter() - counts @j, which is new on the ring. The ring's lock is held, here and in all that follow. */
static inline __attribute__((always_inline)) void
gt_k_enter(struct gt_k_ring *r, struct gt_k_bank *b, struct gt_k_job *j)
{
	b->wanted += j->flags & GT_K_REC || j->why == GT_R_RATE;
	gt_k_flies(r, b, j);
}

/** gt_k_hw_forget() - from now on it is not known which jobs occupy the hardware */
static inline __attribute__((always_inline)) void gt_k_hw_forget(struct gt_k_ring *r)
{
	r->hw[0] = r->hw[1] = 0;
	r->entered = r->own = r->at_hw = r->passed = 0;
	r->epoch++;
}

/* All jobs have a place in the order of hand-over: if one ends, those before it have left the hardware. */
static inline __attribute__((always_inline)) void gt_k_hw(struct gt_k_ring *r, struct gt_k_job *j,
							  uint8_t hw, uint64_t ts)
{
	if (j->hw == hw && j->epoch == (uint8_t)r->epoch)
		return;
	if (hw == 2 &&
	    r->entered == INT32_MAX) /* the number would come around, and the job count as passed */
		gt_k_hw_forget(r);
	j->hw = hw;
	j->epoch = (uint8_t)r->epoch;
	if (!(j->flags & GT_K_REC)) {
		if (!r->hw[hw - 1]++)
			r->hw_since[hw - 1] = ts;
		r->own += hw == 2;
	}
	if (hw != 2)
		return;
	j->hw_no = ++r->entered;
	j->hw_own = r->own;
	r->at_hw++;
}

/** gt_k_passed() - has @j left the hardware, because a job that was handed over later has ended? */
static inline __attribute__((always_inline)) int gt_k_passed(const struct gt_k_ring *r,
							     const struct gt_k_job *j)
{
	return (int32_t)(j->hw_no - r->passed) <= 0;
}

/** gt_k_at_hw() - does @j occupy the hardware? */
static inline __attribute__((always_inline)) int gt_k_at_hw(const struct gt_k_ring *r,
							    const struct gt_k_job *j)
{
	if (j->epoch != (uint8_t)r->epoch)
		return 0;
	return j->hw == 2 ? !gt_k_passed(r, j) : j->hw == 1 && !r->commits;
}

/* The job leaves the hardware. */
static inline __attribute__((always_inline)) void gt_k_hw_leave(struct gt_k_ring *r,
								struct gt_k_job *j)
{
	if (gt_k_at_hw(r, j)) {
		r->at_hw -= j->hw == 2;
		if (!(j->flags & GT_K_REC))
			r->hw[(j->hw - 1) & 1]--;
	}
	j->hw = 0;
}

/**
 * gt_k_hw_end() - @j leaves the hardware at @ts, and so do the jobs that were handed over before it: see
 *	gt_ring_hw_end() in fs/model/ring.c
 * Return: 0: there were such jobs, so it is not known when @j began
 */
static inline __attribute__((always_inline)) int gt_k_hw_end(struct gt_k_ring *r,
							     struct gt_k_job *j, uint64_t ts)
{
	int there = j->hw == 2 && j->epoch == (uint8_t)r->epoch;
	int passed = there && gt_k_passed(r, j);
	uint32_t behind = r->entered - j->hw_no, own = r->own - j->hw_own;

	gt_k_hw_leave(r, j);
	if (!there || r->unordered || j->flags & GT_K_LATE)
		return 1;
	if (passed) {
		r->unordered =
			gt_unseen_stray(&r->strays) || ts > r->passed_at + GT_UNSEEN_ORDER_NS;
		return 0;
	}
	if (r->at_hw <= behind) {
		r->strays -= r->strays > 0;
		return 1;
	}
	r->at_hw = behind;
	r->hw[1] = r->hw[1] < own ? r->hw[1] : own;
	r->passed = j->hw_no;
	r->passed_at = ts;
	return 0;
}

/** gt_k_submitted() - the ring's part of a submission */
static inline __attribute__((always_inline)) void gt_k_submitted(const struct gt_k_ctl *c,
								 struct gt_k_ring *r,
								 struct gt_k_bank *b,
								 struct gt_k_job *j)
{
	gt_k_seen(c, b, j->flags, j->why, 0, j->submit);
	if (!r->commits)
		gt_k_hw(r, j, 1, j->submit);
}

/** gt_k_committed() - the ring's part of a hand-over */
static inline __attribute__((always_inline)) void gt_k_committed(const struct gt_k_ctl *c,
								 struct gt_k_ring *r,
								 struct gt_k_bank *b,
								 struct gt_k_job *j)
{
	gt_k_seen(c, b, j->flags, j->why, 3, j->commit);
	if (!r->commits) {
		r->commits = 1; /* the ring has hand-overs of its own, so a submission is none */
		r->hw[0] = 0;
	}
	gt_k_hw(r, j, 2, j->commit);
}

/* The job leaves the ring at @ts */
static inline __attribute__((always_inline)) void gt_k_leave(struct gt_k_ring *r,
							     struct gt_k_job *j, uint64_t ts)
{
	gt_k_hw_leave(r, j);
	if (j->flags & GT_K_UNSEEN)
		return;
	r->inflight--;
	if (j->flags & GT_K_REC)
		return;
	r->depth--;
	r->area += ts - j->seen;
}

/** gt_k_pair_leaves() - the job leaves its pair at @ts; @p NULL: it has none */
static inline __attribute__((always_inline)) void gt_k_pair_leaves(struct gt_k_pair *p,
								   const struct gt_k_job *j)
{
	if (!p)
		return;
	p->jobs--;
	p->inflight -= !(j->flags & (GT_K_REC | GT_K_UNSEEN));
}

/** gt_k_note_gone() - notes that @j, with the key's hash @h, ended at @ts, for gt_k_just_gone() */
static inline __attribute__((always_inline)) void
gt_k_note_gone(struct gt_k_gone *g, const struct gt_k_job *j, uint64_t h, uint64_t ts)
{
	g->ts = ts;
	g->hash = (uint32_t)(h >> 32);
	g->ring = j->ring;
	g->flags = j->flags;
	g->why = j->why;
}

/** gt_k_just_gone() - is an end at @ts without a job a second report of the end in @g? */
static inline __attribute__((always_inline)) int gt_k_just_gone(const struct gt_k_gone *g,
								uint64_t h, uint64_t ts)
{
	return g->ts && g->hash == (uint32_t)(h >> 32) && ts <= g->ts + GT_UNSEEN_AGAIN_NS;
}

/**
 * gt_k_finish() - computes a job's stages at its end, @ts: conclude() and stage_values() of fs/model/match.c
 * @sure: the ring's last end is that of the job before, and no end was missed; else hw_wait and exec are not
 *	known
 */
static inline __attribute__((always_inline)) void
gt_k_finish(const struct gt_k_ctl *c, struct gt_k_ring *r, struct gt_k_bank *b, struct gt_k_job *j,
	    uint64_t ts, int sure, struct gt_k_ended *e)
{
	int submit = j->reported & GT_K_SUBMIT, commit = j->reported & GT_K_COMMIT;
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
	gt_k_seen(c, b, j->flags, j->why, 1, ts);
	gt_k_leave(r, j, end);
	r->last_end = gt_k_later(r->last_end, end);
	r->completed++;
}

/**
 * gt_k_distrust() - the job was handed over before it was submitted: neither time is used
 * @e: what gt_k_finish() computed. A function of its own, as a program's stack has no room for it there.
 */
static inline __attribute__((always_inline)) void gt_k_distrust(const struct gt_k_job *j,
								struct gt_k_ended *e)
{
	if (!(j->reported & GT_K_SUBMIT) || !(j->reported & GT_K_COMMIT) || j->commit >= j->submit)
		return;
	if (!e->v[GT_ST_HW_WAIT]) { /* exec was taken to begin at the hand-over */
		e->v[GT_ST_EXEC] = GT_K_NONE;
		e->pair_busy = 0;
	}
	e->v[GT_ST_QUEUE] = e->v[GT_ST_HW_WAIT] = e->v[GT_ST_TOTAL] = GT_K_NONE;
}

#endif
