/* SPDX-License-Identifier: GPL-2.0 */
/* What the files of the model share with each other, and with no other folder. */
#ifndef GT_MODEL_INTERNAL_H
#define GT_MODEL_INTERNAL_H

#include <stdatomic.h>
#include <stdint.h>

#include "../../backend/lib/hash.h"
#include "model.h"

/*
 * Jobs with a missed end. Such a job leaves as soon as this is known: it is counted as ended_unseen,
 * and is in no depth, no busy time, no list of jobs and no blame.
 *
 * It is known when
 *
 * - a later job of the same context on the same ring has ended: jobs of a context end in order;
 * - a job with the same context and number is submitted: it is another one by then;
 * - the source was paused, or lost events, while the job was in flight;
 * - the records of a CPU begin later than those of others, the job was seen before that, and so was a
 * superseded one: then the CPU's buffer had run over. Otherwise the CPU had no events;
 * - no end of a job has been seen of its ring so far, though GT_UNSEEN_NO_END jobs occupy the
 * hardware, some for GT_UNSEEN_NO_END_NS: the ring lacks ends, and with it all rings of a GPU
 * without any end, up to the first one. Of a GPU with ends on other rings only a ring that says
 * what it hands over, as else a job that hangs may keep those behind it;
 * - the GPU, or the job's queue alone, was reset while the hardware had the job;
 * - its submitter has ended while the job was queued: the scheduler frees such jobs without an
 * event.
 *
 * If its end comes after all, the job is matched with it, and is not counted as ended_unseen any
 * more; but for a loss, its hw_wait and exec stay unknown, and where ends are missing up to some
 * time (the last CPU's begin, the first end) if it began before that. A CPU that begins late may have
 * had no events after all: what ends behind a job that was handed over before another that seems
 * lost may have waited for that one, so its hw_wait and exec are unknown. Where an end comes before
 * other events of its job, as in a recording of CPUs with different clocks, those count, and the job
 * is not in flight.
 *
 * Where it turns out that ends may be missing from a recording's beginning on, busy times and depths
 * begin again when that time is over. Jobs that ended unseen had been in them.
 */

/* Records of one moment may come in another order: by so much they do not contradict each other */
#define GT_UNSEEN_ORDER_NS 10000000ull
/* A second end of a job within this time is the first one, reported again */
#define GT_UNSEEN_AGAIN_NS 1000000ull
/* So long after its end, everything that a process did has been delivered */
#define GT_UNSEEN_DEAD_NS 200000000ull

/* Before its first end, a ring has fewer jobs than this at its hardware, for a shorter time */
#define GT_UNSEEN_NO_END    64
#define GT_UNSEEN_NO_END_NS 1000000000ull

/* A stray, which ends after a job that was handed over later, cancels so many ends in order */
#define GT_UNSEEN_STRAY 4
/* With so many strays more than that, the ring has no order */
#define GT_UNSEEN_STRAYS 16

/* Why a job is known to have ended; the start of one that comes back from a loss may still be known */
enum gt_unseen { GT_UNSEEN_SUPERSEDED, GT_UNSEEN_LOST, GT_UNSEEN_RESET, GT_UNSEEN_DEAD };

/**
 * struct gt_unseen_end - a job that ended
 * @seqno: its number in its context
 * @submit: when it was submitted; 0: not known
 */
struct gt_unseen_end {
	uint64_t seqno, submit;
};

/**
 * gt_unseen_superseded() - was the end of a job missed, since @by, of the same context and ring,
 * has ended?
 * @seqno, @seen: of that job: its number, and when it was seen first
 *
 * A number that is higher, though the job was seen much earlier than the other was submitted, means
 * that the context is another by now, or that its numbers began again.
 */
static inline __attribute__((always_inline)) int
gt_unseen_superseded(uint64_t seqno, uint64_t seen, const struct gt_unseen_end *by)
{
	if (seqno == UINT64_MAX || by->seqno == UINT64_MAX || seqno == by->seqno)
		return 0;
	if (seqno < by->seqno)
		return 1;
	return by->submit > seen && by->submit - seen > GT_UNSEEN_ORDER_NS;
}

/**
 * gt_unseen_stray() - a stray ended, within GT_UNSEEN_ORDER_NS: has the ring no order?
 * @strays: the ring's; each end in order takes 1 from it, down to 0
 *
 * Records change places, and clocks of CPUs differ: such strays are few among the ends in order,
 * however many there are in time. When a stray began is not known. A ring without an order works on
 * jobs side by side: there it is inferred.
 */
static inline __attribute__((always_inline)) int gt_unseen_stray(uint32_t *strays)
{
	*strays += GT_UNSEEN_STRAY;
	return *strays >= GT_UNSEEN_STRAY * GT_UNSEEN_STRAYS;
}

/**
 * gt_unseen_again() - is a submission at @ts, of a job that was submitted at @submit already,
 *	another job with the same number?
 */
static inline __attribute__((always_inline)) int gt_unseen_again(uint64_t submit, uint64_t ts)
{
	return ts > submit && ts - submit > GT_UNSEEN_ORDER_NS;
}

#define GT_SEC		  1000000000ULL
#define GT_RATE_SLOTS	  11   /* gt_typecount.slot_sec */
#define GT_AHEAD	  8    /* records looked at ahead, a power of two */
#define GT_TIDS		  1024 /* threads inside an ioctl or a wait that are remembered */
#define GT_PROC_MAX_RINGS 256  /* rings with statistics of one process */
#define GT_CTX_BUCKETS	  4096 /* lists of jobs by context */

#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

/* model.c ------------------------------------------------------------------------------------- */

/** gt_mem_get() - zeroed and counted; NULL also when the limit is reached and @bounded */
void *gt_mem_get(size_t size, bool bounded);
void gt_mem_put(void *p, size_t size);
/** gt_mem_get_for() - bounded, and of @account's share; gt_mem_put_for() gives it back */
void *gt_mem_get_for(uint16_t account, size_t size);
void gt_mem_put_for(uint16_t account, void *p, size_t size);

/* group.c ----------------------------------------------------------------------------------- */

#define GT_ACCOUNTS 1024

/** gt_account() - a number for @uid; 0: it has no bound. What it is for must be taken at once. Lock
 * held */
uint16_t gt_account(const struct gt_model *m, uint32_t uid);
/** gt_share_has() - is there room for @n more of @what, of which there are @all? */
bool gt_share_has(uint16_t account, enum gt_share what, uint64_t n, uint64_t all);
/** gt_share_take() - takes them if there is; if not, that is counted */
bool gt_share_take(uint16_t account, enum gt_share what, uint64_t n, uint64_t all);
/** gt_share_add() - takes them whatever the bound */
void gt_share_add(uint16_t account, enum gt_share what, uint64_t n);
void gt_share_give(uint16_t account, enum gt_share what, uint64_t n);
/** gt_share_refuse() - counts that a user was refused one beyond a share */
void gt_share_refuse(enum gt_share what);

/* stats.c --------------------------------------------------------------------------- */

/** gt_hist_bucket_add() - @n values into bucket @b, wherever there is room for it */
void gt_hist_bucket_add(struct gt_hist *h, unsigned int b, uint64_t n);

/**
 * gt_hist_place() - where bucket @b is, counted in u64 from the first octave there is: each octave
 *	has its total before its buckets
 */
static inline unsigned int gt_hist_place(unsigned int b)
{
	return b + (b >> GT_HIST_SUB_BITS) + 1;
}

/** gt_hist_put() - gt_hist_add() of @v with bucket @b and place known already */
static inline void gt_hist_put(struct gt_hist *h, uint64_t v, unsigned int b, unsigned int place)
{
	unsigned int at = place - h->from;

	h->count++;
	h->sum += v;
	h->min = v < h->min ? v : h->min;
	h->max = v > h->max ? v : h->max;
	if (likely(at < h->room)) {
		((uint64_t *)h->octave)[at]++;
		h->stale = 1;
	} else {
		gt_hist_bucket_add(h, b, 1);
	}
}

/** gt_stage_slow() - a value of another second than the latest */
void gt_stage_slow(struct gt_stage *s, uint64_t sec, uint64_t v, unsigned int b);

/** gt_stage_put() - gt_stage_add() with the second, the bucket and its place at hand */
static inline void gt_stage_put(struct gt_stage *s, uint64_t sec, uint64_t v, unsigned int b,
				unsigned int place)
{
	if (likely(s->sec == sec))
		gt_hist_put(&s->cur, v, b, place);
	else
		gt_stage_slow(s, sec, v, b);
}

/* model.c ------------------------------------------------------------------------------------- */

/** struct gt_map - numbers by 64-bit key: linear probing, at most half full, no tombstones */
struct gt_map {
	struct gt_map_entry {
		uint64_t key;
		uint32_t value; /* GT_NONE32: empty */
	} * e;
	uint32_t mask, n;
	uint64_t salt;
};

int gt_map_init(struct gt_map *map, uint64_t salt);
void gt_map_destroy(struct gt_map *map);
/** gt_map_get() - GT_NONE32 if there is none */
static inline uint32_t gt_map_get(const struct gt_map *map, uint64_t key)
{
	uint32_t i = (uint32_t)gt_mix(key ^ map->salt, 0x9e3779b97f4a7c15ULL) & map->mask;

	while (map->e[i].value != GT_NONE32 && map->e[i].key != key)
		i = (i + 1) & map->mask;
	return map->e[i].value;
}
int gt_map_set(struct gt_map *map, uint64_t key, uint32_t value);
void gt_map_del(struct gt_map *map, uint64_t key);

/* The model's own part ---------------------------------------------------------------------- */

/**
 * struct gt_inside - a thread inside an ioctl (@kind 0) or a wait (1)
 * @entered: since is known
 * @job: @n jobs that it submitted
 * @seen: first sight of the one at @index: shows whether it is the same still
 * @at: when it was submitted
 * @number: of one that has ended, see gt_model_logged(), else GT_NONE64
 */
struct gt_inside {
	uint32_t tid;
	uint8_t kind, used, n;
	bool entered;
	uint64_t since;
	struct {
		uint64_t seen, at, number;
		uint32_t index;
	} job[GT_IOCTL_JOBS];
};

/** struct gt_where - what one event is about; NULL: not known */
struct gt_where {
	struct gt_gpu *gpu;
	struct gt_ring *ring;
	struct gt_proc *proc;
	struct gt_queue *queue;
};

/**
 * struct gt_pauses - when nothing was observed
 * @time: counted like busy time
 * @since: a pause lasts since then and is not in @time yet; 0: no pause
 * @changed: a pause began or ended then; 0: never
 * @begun: something has been observed
 */
struct gt_pauses {
	struct gt_busy time;
	uint64_t since, changed;
	bool begun;
};

#define GT_SESSIONS 16

/** struct gt_session - time of recordings that was played without a break */
struct gt_session {
	uint64_t from, to;
};

struct gt_model_private {
	/* not swapped by a reset */
	pthread_mutex_t pauses_lock; /* of what follows; readers do not hold the model's lock */
	struct gt_pauses pauses[GT_NOBSERVED];
	uint64_t pauses_cleared; /* gt_observed_between() leaves out what was before */
	_Atomic uint64_t tidied; /* when gt_model_tidy() did something; without the lock */
	/* the second of the event at hand: [sec_start, sec_start + 1 s) */
	uint64_t sec_start, sec;
	unsigned int rate_slot; /* sec % 11 */

	/* the sessions before the last, which began at @session; read with pauses_lock */
	unsigned int nsessions;
	struct gt_session sessions[GT_SESSIONS];
	uint64_t session;

	bool from_first; /* gt_model.cleared is the time of a recording's first event */

	uint64_t salt[3];
	uint32_t *heads; /* of hash chains; as many as a power of two, at least twice the jobs */
	uint32_t head_mask;
	uint32_t free_job;  /* by hash_next */
	uint32_t fresh_job; /* from here on the jobs were never used: their memory is untouched */
	struct gt_bucket {
		uint32_t head, tail;
	} * buckets, unseen; /* jobs by context, in order of first sight; those that ended unseen */
	uint64_t reap_at;    /* no job in flight is too old before */
	unsigned int
		trim_after; /* places that are given before the jobs of one user may be trimmed again */
	uint64_t
		gap_until; /* the first of the rings' gaps ends then; UINT64_MAX: no ring has one */
	/* of losses and ends on a ring that is not known, for rings that come later: as in gt_ring */
	bool after_loss;
	uint64_t loss_until, gap_end;
	uint64_t unplaced; /* losses since the last clear, for GPUs and rings that come later */
	uint64_t
		front_until; /* a loss from a recording's beginning on lasts until then; 0: none, or over */
	uint64_t since; /* as in gt_ring, of all rings */
	uint64_t begun; /* the last GT_LOST_BEGIN that has shown no loss so far; 0 none */

	struct gt_map pids;	      /* to slots: the living, or the last dead */
	struct gt_map queues;	      /* gpu and id to slot */
	struct gt_map addresses;      /* process and address to slot, see queue.c */
	struct gt_map aliases;	      /* gpu and the runtime's id to slot */
	struct gt_map kernels;	      /* key of GPU, user and name to index */
	struct gt_map kernel_dirs;    /* hash of GPU, user and directory's name to index */
	struct gt_map kernel_aliases; /* hash of GPU and alias to index */
	struct gt_map groups;	      /* uid, or parent and name, to index */
	uint64_t group_serial;
	uint32_t group_expired; /* where gt_groups_expire() goes on */
	uint32_t free_queues;	/* the first free slot + 1, by gt_queue.next_free */
	uint32_t ended_head,
		ended_tail;    /* destroyed queues, slot + 1, the first that ended first */
	uint32_t queue_reaped; /* where gt_queues_reap() goes on */
	uint64_t queue_serial;
	uint32_t *free_slots;
	unsigned int nfree;
	uint32_t dead_head, dead_tail;
	/* the first of the dead that may have jobs queued still; while jobs are looked at for those
	 * that had died by burying: the job where that goes on */
	uint32_t bury, bury_at;
	uint64_t burying;
	unsigned int nprings;
	uint32_t expire_at; /* slot where gt_model_reap() goes on */
	bool elsewhere;	    /* there are processes that are not of this machine */
	struct gt_ahead {   /* the latest gt_model_fetch() */
		uint32_t hash;
		uint8_t type; /* GT_NTYPES: no event of a job */
	} ahead[GT_AHEAD];
	unsigned int nahead;
	/* the last event, and the objects that it named: the gate mostly asks for its record next */
	const union gt_record *last;
	struct gt_where where;

	struct gt_inside inside[GT_TIDS];

	/* of jobs in flight, by their index, and of the last that have ended; NULL: of none yet */
	struct gt_dependency *dep, *dep_ended;
	uint64_t deps_ended; /* so many jobs that waited */
};

/** gt_bump() - something about these changed */
static inline void gt_bump(struct gt_model *m, const struct gt_where *w)
{
	m->gen++;
	if (w->gpu)
		w->gpu->gen++;
	if (w->ring)
		w->ring->gen++;
	if (w->proc)
		w->proc->gen++;
	if (w->queue)
		w->queue->gen++;
}

#define GT_COUNT_BY(m, w, add, field, by)                                                          \
	do {                                                                                       \
		add((m)->counts.field, by);                                                        \
		if ((w)->gpu)                                                                      \
			add((w)->gpu->counts.field, by);                                           \
		if ((w)->ring)                                                                     \
			add((w)->ring->counts.field, by);                                          \
		if ((w)->proc)                                                                     \
			add((w)->proc->counts.field, by);                                          \
		if ((w)->queue)                                                                    \
			add((w)->queue->counts.field, by);                                         \
	} while (0)
#define GT_ADD(n, by)	     ((n) += (by))
#define GT_ADD_TO_MAX(n, by) ((n) = gt_sum(n, by))
#define GT_ADD_LOST(n, by)   ((n) = gt_lost_sum(n, by))

/** GT_COUNT() - adds to a counter of the root and of everything @w names */
#define GT_COUNT(m, w, field, by) GT_COUNT_BY(m, w, GT_ADD, field, by)
/** GT_COUNT_REPORTED() - likewise a number that a program says: it ends at the greatest there is */
#define GT_COUNT_REPORTED(m, w, field, by) GT_COUNT_BY(m, w, GT_ADD_TO_MAX, field, by)

/** gt_set_now() - time has come to @ts; it never goes back. Read by other threads without the lock
 */
static inline void gt_set_now(struct gt_model *m, uint64_t ts)
{
	if (ts > m->now)
		__atomic_store_n(&m->now, ts, __ATOMIC_RELAXED);
}

/** gt_set_cleared() - counted since @ts. Read likewise */
static inline void gt_set_cleared(struct gt_model *m, uint64_t ts)
{
	__atomic_store_n(&m->cleared, ts, __ATOMIC_RELAXED);
}

/* stats.c */
/** struct gt_second - when an event counts: second, its slot (@sec % 11), and as what */
struct gt_second {
	uint64_t sec;
	unsigned int slot, type;
};
/** gt_types_slow() - before an event of another second than the latest */
void gt_types_slow(struct gt_typecount *t, const struct gt_second *s);
static inline void gt_types_seen(struct gt_typecount *t, const struct gt_second *s)
{
	if (unlikely(t->sec != s->sec))
		gt_types_slow(t, s);
	t->n[s->type].seen++;
}
/** gt_ring_second() - likewise of a ring, before the event counts in any way */
void gt_ring_second(struct gt_ring *r, const struct gt_second *s);
/** gt_depth_to() - brings the integral up to @ts. Return: what that added, depth x ns */
static inline uint64_t gt_depth_to(struct gt_depth *d, uint64_t ts)
{
	uint64_t area;

	if (ts <= d->at)
		return 0;
	area = d->now * (ts - d->at);
	d->integral += area;
	d->at = ts;
	return area;
}
void gt_depth_reset(struct gt_depth *d, uint64_t now);
void gt_errlog_add(struct gt_errlog *l, const struct gt_error_entry *e);
void gt_stages_init(struct gt_stage *s, uint16_t account);
void gt_stages_reset(struct gt_stage *s);
/** gt_busy_restart() - sets the busy time to zero at @now; an interval that began before counts from @now on */
void gt_busy_restart(struct gt_busy *b, uint64_t now);

/* ring.c */
/** gt_front_ended() - what was before @ts is not known: busy times, depths and windows begin again */
void gt_front_ended(struct gt_model *m, uint64_t ts);
/** gt_ring_front_ended() - likewise of one ring, of which only jobs ended that were not seen to begin */
void gt_ring_front_ended(struct gt_model *m, struct gt_ring *r, uint64_t ts);
void gt_gpu_free(struct gt_gpu *g);
void gt_gpu_clear(struct gt_gpu *g, uint64_t now, uint64_t window_ns);
/**
 * gt_ring_take_work() - @r, by its name one of gt_gpu.work, here or in the stream that is read, is
 *	for such work from now on. False: it has another name, or jobs of a driver
 */
bool gt_ring_take_work(struct gt_gpu *g, struct gt_ring *r);
/** gt_ring_depth() - one job more (+1) or less (-1) at @ts */
static inline void gt_ring_depth(struct gt_ring *r, int by, uint64_t ts)
{
	r->cur.depth_integral += gt_depth_to(&r->depth, ts);
	r->depth.now += (uint32_t)by;
	if (r->depth.now > r->depth.peak)
		r->depth.peak = r->depth.now;
	if (r->depth.now > r->cur.depth_peak)
		r->cur.depth_peak = r->depth.now;
}
/** gt_ring_hw_forget() - it is not known any more which jobs occupy the hardware */
void gt_ring_hw_forget(struct gt_ring *r);
static inline void gt_ring_hw_enter(struct gt_ring *r, struct gt_job *j, uint64_t ts)
{
	if (j->hw_epoch == r->hw_epoch)
		return;
	if (unlikely(r->hw_entered == INT32_MAX)) /* one more would count as passed */
		gt_ring_hw_forget(r);
	j->hw_epoch = r->hw_epoch;
	j->hw_no = ++r->hw_entered;
	if (!r->hw_jobs++)
		r->hw_since = ts;
}
static inline void gt_ring_hw_leave(struct gt_ring *r, struct gt_job *j)
{
	if (j->hw_epoch != r->hw_epoch)
		return;
	j->hw_epoch = 0;
	if (gt_job_not_passed(j, r->hw_passed))
		r->hw_jobs--;
}
/** gt_ring_hw_left() - jobs left the hardware of @r, and nobody saw them end: it is busy since the first
 * of those that are still there began */
void gt_ring_hw_left(const struct gt_model *m, struct gt_ring *r);
/**
 * gt_ring_no_end() - a job of @r has been submitted or handed over, and none has ended there yet:
 * does the ring lack ends? Then no job of it is in flight
 */
bool gt_ring_no_end(struct gt_model *m, struct gt_gpu *g, struct gt_ring *r, uint64_t ts);
/** gt_ring_ends() - there is an end, at @ts, of a ring of @g that lacked them */
void gt_ring_ends(struct gt_gpu *g, uint64_t ts);
/** gt_ring_running() - since when the job at the hardware runs: earlier ones ended at last_end.
 * UINT64_MAX: none runs */
uint64_t gt_ring_running(const struct gt_ring *r);
/** gt_ring_busy() - it was busy from @start to @end: now, and in the windows that this was in */
void gt_ring_busy_slow(struct gt_ring *r, uint64_t start, uint64_t end);
static inline void gt_ring_busy(struct gt_ring *r, uint64_t start, uint64_t end)
{
	uint64_t had = r->busy.total_ns;

	if (unlikely(start < r->cur.start)) {
		gt_ring_busy_slow(r, start, end);
		return;
	}
	gt_busy_add(&r->busy, start, end);
	r->cur.busy_ns += r->busy.total_ns - had;
}
/** gt_ring_unclear() - it was busy within [@start, @end), for how long is not known */
void gt_ring_unclear(struct gt_ring *r, uint64_t start, uint64_t end);
/** gt_ring_hw_other() - the rest of gt_ring_hw_end(), where @j was @passed or passes others */
bool gt_ring_hw_other(struct gt_ring *r, const struct gt_job *j, uint64_t ts, bool passed);
/** gt_ring_hw_end() - @j leaves the hardware at @ts, and with it what was handed over before
 * Return: false: there was such a job, so when @j began is not known */
static inline bool gt_ring_hw_end(struct gt_ring *r, struct gt_job *j, uint64_t ts)
{
	bool passed;

	if (j->hw_epoch != r->hw_epoch)
		return true;
	passed = !gt_job_not_passed(j, r->hw_passed);
	j->hw_epoch = 0;
	r->hw_jobs -= !passed;
	if (!r->commits || r->starts || r->unordered)
		return true;
	if (likely(!passed && r->hw_jobs <= r->hw_entered - j->hw_no)) {
		r->strays -= r->strays > 0;
		return true;
	}
	return gt_ring_hw_other(r, j, ts, passed);
}

/* busy.c */
/**
 * gt_session_break() - between m->now and @ts nobody has observed anything: of several recordings
 * the clocks differ
 */
void gt_session_break(struct gt_model *m, uint64_t ts);
/** gt_pauses_clear() - forgets pauses before @now */
void gt_pauses_clear(struct gt_model *m, uint64_t now);
/** gt_busy_between() - how much of [@from, @to) was busy; exact for the latest GT_BUSY_OPEN intervals */
uint64_t gt_busy_between(const struct gt_busy *b, uint64_t from, uint64_t to);

/* jobs.c */
int gt_jobs_init(struct gt_model *m);
void gt_jobs_destroy(struct gt_model *m);
/** gt_job_place() - GPU and ring as one number: they lie side by side in events and jobs */
static inline uint32_t gt_job_place(const uint16_t *gpu)
{
	uint32_t place;

	__builtin_memcpy(&place, gpu, sizeof(place));
	return place;
}
static inline uint32_t gt_key_hash(const struct gt_model *m, uint64_t ctx, uint64_t seqno,
				   const uint16_t *gpu)
{
	const uint64_t *salt = m->priv->salt;
	uint64_t place = gt_job_place(gpu);

	return (uint32_t)gt_mix((ctx + place * 0x9e3779b97f4a7c15ULL) ^ salt[0], seqno ^ salt[1]);
}
static inline uint32_t gt_event_hash(const struct gt_model *m, const struct gt_event *e)
{
	return gt_key_hash(m, e->ctx, e->seqno, &e->gpu);
}
static inline struct gt_job *gt_job_find(const struct gt_model *m, const struct gt_event *e,
					 uint32_t hash)
{
	uint32_t i = m->priv->heads[hash & m->priv->head_mask];

	while (i != GT_NONE32) {
		struct gt_job *j = &m->jobs[i];

		if (j->ctx == e->ctx && j->seqno == e->seqno &&
		    gt_job_place(&j->gpu) == gt_job_place(&e->gpu))
			return j;
		i = j->hash_next;
	}
	return NULL;
}
/** gt_job_new() - never fails: the oldest job makes room if it must */
struct gt_job *gt_job_new(struct gt_model *m, const struct gt_where *w, const struct gt_event *e,
			  uint32_t hash);

/** gt_job_owner() - from here on @p, if there is one, owns the job */
void gt_job_owner(struct gt_model *m, struct gt_job *j, struct gt_proc *p);
/** gt_job_queue() - it is in its queue again, if that is the same still. Return: that, or NULL */
struct gt_queue *gt_job_queue(struct gt_model *m, struct gt_job *j, uint64_t ts);
/** gt_job_drop() - out of the table, at @ts */
void gt_job_drop(struct gt_model *m, struct gt_job *j, uint64_t ts);
/** gt_job_drop_hashed() - likewise; @hash: gt_event_hash() of its key */
void gt_job_drop_hashed(struct gt_model *m, struct gt_job *j, uint64_t ts, uint32_t hash);
/** gt_job_unseen() - @j ended unseen, as is found at @ts */
void gt_job_unseen(struct gt_model *m, struct gt_job *j, uint64_t ts, enum gt_unseen why);
/** gt_job_seen_again() - something came of @j, which did not end unseen after all */
void gt_job_seen_again(struct gt_model *m, const struct gt_where *w, struct gt_job *j, uint64_t ts);
/** gt_jobs_superseded() - a job of the context and ring of @e has ended: those before it, too
 * @job: it; NULL: it is not known
 * @complete: with all that follows its end: false leaves jobs that have ended themselves
 * Return: how many ended unseen */
unsigned int gt_jobs_superseded(struct gt_model *m, const struct gt_event *e,
				const struct gt_job *job, const struct gt_unseen_end *by,
				bool complete);
/** gt_job_is_first() - is no other job in flight before @j, of its bucket of contexts? */
static inline bool gt_job_is_first(const struct gt_job *j)
{
	return j->ctx == GT_NONE64 || j->seqno == GT_NONE64 || j->ctx_prev == GT_NONE32;
}
/** gt_jobs_lost() - all jobs of @r that were seen first before @until ended unseen; by a reset
 * those that the hardware has */
void gt_jobs_lost(struct gt_model *m, struct gt_ring *r, uint64_t until, enum gt_unseen why);
/** gt_jobs_of_queue_reset() - jobs of @q at the hardware of @r ended unseen. Return: how many */
unsigned int gt_jobs_of_queue_reset(struct gt_model *m, struct gt_ring *r,
				    const struct gt_queue *q);
/** gt_jobs_gaps() - time has come to @now: likewise the jobs of rings that have a gap behind them
 */
void gt_jobs_gaps(struct gt_model *m, uint64_t now);
/** gt_jobs_buried() - what processes that ended by @died had queued has been freed. False: there was
 *	no time for all jobs, so call it again */
bool gt_jobs_buried(struct gt_model *m, uint64_t died);
/** gt_jobs_reap() - drops jobs that are too old at @now */
void gt_jobs_reap(struct gt_model *m, uint64_t now);

/* match.c */
/** gt_match() - SUBMIT, COMMIT, START, END or COMPLETE of a known ring */
void gt_match(struct gt_model *m, struct gt_where *w, struct gt_event *e, struct gt_folded *f);

/* process.c */
int gt_procs_init(struct gt_model *m);
void gt_procs_destroy(struct gt_model *m);
/** gt_proc_get() - the process an event of time @ts is about; created, and set in @f, if it is new */
struct gt_proc *gt_proc_get(struct gt_model *m, uint32_t pid, uint32_t uid, uint64_t ts,
			    struct gt_folded *f);
void gt_procs_reap(struct gt_model *m);
struct gt_proc_ring *gt_pring(struct gt_model *m, struct gt_proc *p, uint16_t gpu, uint16_t ring);
/** gt_prings_restart() - busy times of @p are 0 at @now */
void gt_prings_restart(struct gt_proc *p, uint64_t now);
void gt_prings_clear(struct gt_proc *p, uint64_t now);

/* process.c */
void gt_uses_free(struct gt_use *u);
/** gt_uses_clear() - engines from zero at @now; memory stays */
void gt_uses_clear(struct gt_use *u, uint64_t now);
/** gt_uses_fold() - adds @from to @to, which is of @account's share; memory too if @memory. 0 or
 * -ENOMEM */
int gt_uses_fold(struct gt_use **to, uint16_t account, const struct gt_use *from, bool memory);

/* group.c */
int gt_groups_init(struct gt_model *m);
void gt_groups_destroy(struct gt_model *m);
/** gt_group_join() - counts @p, and all it did, in its user's and its cgroup's group, once known */
void gt_group_join(struct gt_model *m, struct gt_proc *p, const struct gt_ns *ns);
/** gt_group_leave() - @p is about to be freed: what it did stays in its groups */
void gt_group_leave(struct gt_model *m, const struct gt_proc *p);
void gt_groups_clear(struct gt_model *m);
void gt_groups_expire(struct gt_model *m, uint64_t now);

/* queue.c */
/**
 * gt_queue_get() - the queue an event names; made if it is new
 * @uid: of the owner from then on; GT_NONE32: not known
 *
 * Return: NULL if there are too many, of all or of that user.
 */
struct gt_queue *gt_queue_get(struct gt_model *m, uint16_t gpu, uint32_t id, uint32_t uid,
			      uint64_t ts);
/** gt_join_record() - a queue's number in @r becomes that by which the driver calls it, if it is
 * known */
void gt_join_record(struct gt_model *m, union gt_record *r);
/** gt_queue_event() - QUEUE_CREATE … QUEUE_UNMAP */
void gt_queue_event(struct gt_model *m, struct gt_queue *q, const struct gt_event *e);
/* match.c */
/** gt_queue_set_depth() - the queue holds @n at @ts: reported, not counted */
void gt_queue_set_depth(struct gt_queue *q, uint64_t n, uint64_t ts);
/** gt_work_ring() - is a ring called @name one of gt_gpu.work? Its index there, -1 no */
int gt_work_ring(const char *name);
/** gt_work_place() - an event without a ring: work gets the ring that is kept for it */
void gt_work_place(struct gt_model *m, struct gt_where *w, struct gt_event *e, struct gt_folded *f);
/** gt_work_event() - DISPATCH, COPY, COMPLETE and END of such a ring */
void gt_work_event(struct gt_model *m, const struct gt_where *w, const struct gt_event *e,
		   struct gt_folded *f);
void gt_queue_describe(struct gt_model *m, const struct gt_queue_desc *d, struct gt_folded *f);
int gt_queues_init(struct gt_model *m);
void gt_queues_destroy(struct gt_model *m);
/** gt_queues_reap() - ends the queues of processes that ended; frees the slots of those that were
 *	destroyed long enough ago */
void gt_queues_reap(struct gt_model *m);
void gt_queue_clear(struct gt_queue *q, uint64_t now);

/* kernel.c */
int gt_kernels_init(struct gt_model *m);
void gt_kernels_destroy(struct gt_model *m);
void gt_kernels_clear(struct gt_model *m);
/** gt_kernel_dispatched() - a DISPATCH event of a kernel that is known */
void gt_kernel_dispatched(struct gt_model *m, const struct gt_event *e);
/** gt_kernel_ran() - an END event of a kernel that is known: how long one of its dispatches took */
void gt_kernel_ran(struct gt_model *m, const struct gt_event *e);

/* kernel.c */
/** gt_function_name() - a piece of a function's name; what does not fit is left out */
void gt_function_name(struct gt_model *m, const struct gt_name *n);

/* jobs.c */
/** gt_depend_event() - an event with GT_F_DEPENDS; its tid becomes the process of the fence's job
 */
void gt_depend_event(struct gt_model *m, struct gt_where *w, struct gt_event *e,
		     struct gt_folded *f);
/** gt_depend_ended() - job @j ends. Return: for gt_finished.dep */
uint64_t gt_depend_ended(struct gt_model *m, const struct gt_job *j);
void gt_depend_destroy(struct gt_model *m);

/* process.c */
/** gt_wait_event() - SYNC_WAIT and IOCTL events */
void gt_wait_event(struct gt_model *m, struct gt_where *w, const struct gt_event *e,
		   struct gt_folded *f);
/** gt_wait_submit() - thread @tid submitted @j at @ts: its ioctl's time belongs to the job */
void gt_wait_submit(struct gt_model *m, struct gt_job *j, uint32_t tid, uint64_t ts);
/** gt_wait_ioctl() - what gt_job.ioctl says; GT_NONE64: not known, or not yet */
uint64_t gt_wait_ioctl(uint64_t ioctl);

#endif
