/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The model: what GPUs, rings, queues and processes there are, and the statistics of each. It knows
 * no FUSE, no text and no settings; every event that a source delivers goes through it.
 *
 * The ingest thread is its only writer. Readers hold gt_model.lock while they look, for
 * microseconds: copy, unlock, then format; long tables lock per row. GPUs, rings and queues are
 * never freed while the model lives (a gone GPU is flagged); processes are: find them by slot or
 * pid under the lock, each time.
 *
 * event.c    an event comes in: which GPU, ring and process it belongs to
 * jobs.c     the table of jobs in flight; jobs with a missed end
 * match.c    events of one job: its times and stages, and what its end adds to whom
 * ring.c     GPUs, rings, windows of time       busy.c     busy time and depth
 * stats.c    histograms and percentiles         queue.c    queues, and their hardware state
 * process.c  processes and their work           group.c    totals of users and cgroups
 * kernel.c   GPU kernels, counters and calls
 */
#ifndef GT_MODEL_H
#define GT_MODEL_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../backend/event.h"
#include "../../backend/backend.h"

/*
 * The stages of a job, and the rule by which a time falls into a bucket of their histograms.
 *
 * Values below 64 have a bucket each; above, every power of two is an octave of 64 buckets. So the
 * middle of a bucket is within 0.8 % of every value in it.
 */

enum gt_stage_id {
	GT_ST_QUEUE,
	GT_ST_HW_WAIT,
	GT_ST_EXEC,
	GT_ST_COMPLETE,
	GT_ST_TOTAL,
	GT_NSTAGES
};

#define GT_HIST_SUB_BITS 6
#define GT_HIST_SUB	 (1U << GT_HIST_SUB_BITS)
#define GT_HIST_OCTAVES	 (64 - GT_HIST_SUB_BITS + 1)

/* Number of the highest bit of @v, which is not 0 */
static inline __attribute__((always_inline)) unsigned int gt_log2(uint64_t v)
{
	return 63 - (unsigned int)__builtin_clzll(v);
}

/** gt_hist_bucket() - number of the bucket that holds @v: octave * 64 + place in it */
static inline __attribute__((always_inline)) unsigned int gt_hist_bucket(uint64_t v)
{
	unsigned int shift;

	if (v < GT_HIST_SUB)
		return (unsigned int)v;
	shift = gt_log2(v) - GT_HIST_SUB_BITS;
	return ((shift + 1) << GT_HIST_SUB_BITS) + ((unsigned int)(v >> shift) & (GT_HIST_SUB - 1));
}

/** gt_hist_bounds() - the lowest and highest value of bucket @b */
static inline void gt_hist_bounds(unsigned int b, uint64_t *lo, uint64_t *hi)
{
	unsigned int oct = b >> GT_HIST_SUB_BITS, sub = b & (GT_HIST_SUB - 1);
	uint64_t width = oct ? 1ULL << (oct - 1) : 1;

	*lo = oct ? (uint64_t)(GT_HIST_SUB + sub) << (oct - 1) : sub;
	*hi = *lo + (width - 1);
}

/*
 * Busy time of a ring, an engine or a process: a union of intervals (never counted twice, so never
 * over 100 %), in slots of 250 ms for the last minute.
 */

#define GT_BUSY_SLOT_NS 250000000ULL
#define GT_BUSY_SLOTS	244 /* 61 s */
/* Disjoint intervals that are kept. Older ones are merged with the gaps between them, so an interval that ends
 * after more than this many others adds too little busy time. */
#define GT_BUSY_OPEN 128

/**
 * struct gt_busy - busy time
 * @total_ns: since start or clear
 * @start, @end: the latest interval; @cov: the disjoint ones before it, by time
 * @slot_end: end of the slot being filled, of which @pending is not in slot_ns yet
 * @unclear: when the last interval ended of which it is not known how long it was; 0: none
 */
struct gt_busy {
	uint64_t total_ns;
	uint64_t start, end;
	uint64_t slot_end;
	uint64_t pending;
	uint64_t unclear;
	unsigned int ncov;
	struct {
		uint64_t start, end;
	} cov[GT_BUSY_OPEN];
	uint64_t slot_no[GT_BUSY_SLOTS];
	uint32_t slot_ns[GT_BUSY_SLOTS];
} __attribute__((aligned(64))); /* most jobs write to the first cache line alone */

/** gt_busy_add() - [@start, @end) was busy; intervals come by rising @end */
void gt_busy_add(struct gt_busy *b, uint64_t start, uint64_t end);
/** gt_busy_unclear() - it was busy until @end, since when is not known */
static inline void gt_busy_unclear(struct gt_busy *b, uint64_t end)
{
	b->unclear = end > b->unclear ? end : b->unclear;
}
#define GT_ALL UINT64_MAX /* a window: since the start or clear */
/** gt_busy_known() - is all of the @window ns before @now known? */
static inline bool gt_busy_known(const struct gt_busy *b, uint64_t now, uint64_t window)
{
	return !b->unclear || (window < now && b->unclear <= now - window);
}
/** gt_busy_ns() - busy time within the @window ns before @now (window at most 60 s, or GT_ALL);
 * GT_NONE64: not known */
uint64_t gt_busy_ns(const struct gt_busy *b, uint64_t now, uint64_t window);
/** gt_busy_fold() - adds @from to @to, which then is for reading; more than the time there was is cut */
void gt_busy_fold(struct gt_busy *to, const struct gt_busy *from);
/** gt_busy_fold_total() - likewise, of all times together alone */
void gt_busy_fold_total(struct gt_busy *to, const struct gt_busy *from);
/** gt_busy_spread() - it was busy for @ns of [@since, @end), when is not known: all the time alike */
void gt_busy_spread(struct gt_busy *b, uint64_t since, uint64_t end, uint64_t ns);
void gt_busy_reset(struct gt_busy *b);

/*
 * Log-linear histograms: 64 buckets per power of two, so that the middle of a bucket is within
 * 0.8 % of every value in it. Memory grows with use: the first few values are kept as bucket
 * numbers, then come the octaves from the lowest to the highest in use (520 bytes each).
 */

#define GT_HIST_FEW    35 /* values kept before octaves are made: the struct is 128 bytes */
#define GT_STAGE_SLOTS 10 /* seconds kept apart, for the 10s_ keys */
#define GT_STATS_BYTES (512ULL << 20) /* that all may have, see gt_hist_set_limit() */

struct gt_hist_octave {
	uint64_t total;
	uint64_t n[GT_HIST_SUB];
};

/**
 * struct gt_hist - @min, @max, @sum are exact; min is UINT64_MAX while count is 0
 * @octave: @noct octaves from number @first on; NULL: the values are in @few
 * @from, @room: the same in u64, counted from the lowest octave that could be
 * @stale: the octaves' totals are behind their buckets
 * @uncounted: values that are in count, sum, min and max but, memory lacking, in no bucket
 * @few: buckets of the first @nfew values
 * @account: that its memory counts for, see group.c
 */
struct gt_hist {
	uint64_t count, sum, min, max;
	struct gt_hist_octave *octave;
	uint8_t first, noct, nfew, stale;
	uint16_t from, room;
	uint64_t uncounted;
	uint16_t few[GT_HIST_FEW];
	uint16_t account;
};

/**
 * struct gt_summary - of the values of one or several histograms
 * @unknown: memory was lacking to keep these apart from others: nothing is known of them
 * @unranked: likewise of their distribution: no percentile is known
 */
struct gt_summary {
	uint64_t count, sum, min, avg, p50, p90, p99, p999, max;
	bool unknown, unranked;
};

void gt_hist_init(struct gt_hist *h);
void gt_hist_add(struct gt_hist *h, uint64_t v);
void gt_hist_fold(struct gt_hist *to, const struct gt_hist *from);
void gt_hist_reset(struct gt_hist *h); /* frees the octaves */

/** gt_hist_buckets() - calls @fn for each non-empty bucket, upwards: its upper bound (inclusive)
 * and count */
void gt_hist_buckets(const struct gt_hist *h, void (*fn)(void *arg, uint64_t le, uint64_t n),
		     void *arg);

/**
 * struct gt_stage - a histogram since start or clear, and of the last 10 seconds; not to be copied
 *
 * A value goes only into the histogram of its second: that of the latest, @sec, is @cur, and its
 * slot points there; slots fold into @base when they leave the window. So adding touches one cache
 * line and the bucket.
 *
 * @gap: the latest second with values in @base too early, as there was no memory for a slot
 */
struct gt_stage {
	uint64_t sec;
	struct gt_hist cur;
	struct gt_hist base;
	struct gt_hist *slot[GT_STAGE_SLOTS];
	uint64_t slot_sec[GT_STAGE_SLOTS];
	uint64_t gap;
} __attribute__((aligned(64)));

void gt_stage_init(struct gt_stage *s);
/** gt_stage_init_for() - its memory is of @account's share */
void gt_stage_init_for(struct gt_stage *s, uint16_t account);
void gt_stage_add(struct gt_stage *s, uint64_t ts, uint64_t v);
void gt_stage_reset(struct gt_stage *s);
/** gt_stage_fold() - adds all of @from, each second to its own */
void gt_stage_fold(struct gt_stage *to, const struct gt_stage *from);
uint64_t gt_stage_count(const struct gt_stage *s);
/**
 * gt_stage_summary() - since the start, and of the 10 s (in whole seconds) before @now
 * @all, @last10: either may be NULL
 */
void gt_stage_summary(const struct gt_stage *s, uint64_t now, struct gt_summary *all,
		      struct gt_summary *last10);
/** gt_stage_total() - everything since the start, folded into @out (initialised here; reset it) */
void gt_stage_total(const struct gt_stage *s, struct gt_hist *out);

/** gt_stage_expire() - folds what is older than the 10 s before @now, and frees its memory */
void gt_stage_expire(struct gt_stage *s, uint64_t now);

/** gt_hist_memory() - bytes that histograms and processes' parts hold, of all models; any thread */
uint64_t gt_hist_memory(void);
/** gt_hist_refused() - how often there was no memory for them; any thread */
uint64_t gt_hist_refused(void);
/** gt_hist_set_limit() - no more than @bytes (GT_STATS_BYTES); beyond, values are `uncounted` */
void gt_hist_set_limit(uint64_t bytes);

/* What a ring, a GPU or a process counts: jobs, types of events, depth, errors.. */
/**
 * struct gt_typecount - per event type: how many were seen and how many recorded
 * @n: those of a job's usual events lie in one cache line
 * @sec: second of the last event
 * @before: what had been seen when second @slot_sec began, for "per second"
 */
struct gt_typecount {
	struct {
		uint64_t seen, recorded;
	} n[GT_NTYPES];
	uint64_t sec;
	uint64_t before[11][GT_NTYPES];
	uint64_t slot_sec[11];
} __attribute__((aligned(64)));

/** struct gt_jobs_before - what a ring had counted when a second of its types began */
struct gt_jobs_before {
	uint64_t submitted, completed;
};

/** struct gt_depth - jobs submitted and not complete; @integral: depth x ns since @t0, up to @at */
struct gt_depth {
	uint32_t now, peak;
	uint64_t integral, at, t0;
};

/** struct gt_counts - counters of a ring, a GPU or a process */
struct gt_counts {
	uint64_t submitted, committed, completed;
	uint64_t errors;
	uint64_t lost;		     /* records that its sources lost */
	uint64_t uncounted;	     /* losses of an unknown number of its records */
	uint64_t given_up;	     /* jobs that left the table because they were too old */
	uint64_t dropped_table_full; /* jobs that left the table because it was full */
	uint64_t begin_unseen;	     /* ends of jobs with a begin that was not seen */
	uint64_t ended_unseen;	     /* jobs with an end that was missed, see internal.h */
	uint64_t waits, wait_ns;
	uint64_t ioctls, ioctl_ns;
	uint64_t launches, copies, copy_bytes; /* bytes: of copies with a known size */
};

#define GT_ERRLOG 16
struct gt_error_entry {
	uint64_t ts, ctx, seqno, code;
	uint16_t ring;
	uint32_t pid, uid;
};
/** struct gt_errlog - the last errors; entry i of n is e[(n - 1 - i) % GT_ERRLOG] */
struct gt_errlog {
	uint64_t n;
	struct gt_error_entry e[GT_ERRLOG];
};

/** gt_counts_add() - each counter of @c is added to @to's */
void gt_counts_add(struct gt_counts *to, const struct gt_counts *c);
/** gt_depth_avg() - average since @d->t0, in thousandths; @observed: ns of that time in which it was observed */
uint64_t gt_depth_avg(const struct gt_depth *d, uint64_t now, uint64_t observed);
/** gt_types_rate() - events of @type in the last @window seconds (1 to 10), per second, in
 * thousandths; @observed: ns of these in which they were counted
 */
uint64_t gt_types_rate(const struct gt_typecount *t, unsigned int type, uint64_t now,
		       unsigned int window, uint64_t observed);

/* Kernels that ran on GPUs, from a profiler's results. */
#define GT_MAX_KERNELS	   8192
#define GT_USER_KERNELS	   (GT_MAX_KERNELS / GT_SHARE_PART)
#define GT_KERNEL_DIR	   96			/* a directory's name with its NUL */
#define GT_KERNEL_ALIAS	   (GT_KERNEL_DIR + 12) /* the same, unique among all users */
#define GT_KERNEL_COUNTERS 8192 /* most counters of one kernel: rocprof-compute reads thousands */
#define GT_KERNEL_FEW	   64	/* counters that every kernel may have */
#define GT_MANY_COUNTERS   (1u << 19)  /* further counters of all kernels together */
#define GT_KERNEL_COUNTER  48	       /* a counter's name with its NUL */
#define GT_KERNEL_KEPT	   32	       /* dispatches that a kernel keeps */
#define GT_KERNEL_BYTES	   (32u << 20) /* names and texts of all kernels together */

/** struct gt_kernel_dispatch - one of a kernel's dispatches; @end: of the execution */
struct gt_kernel_dispatch {
	uint64_t end, exec_ns, dispatch, correlation;
	uint32_t pid, queue;
};

/** struct gt_kernel_counter - readings of a hardware counter, one a dispatch */
struct gt_kernel_counter {
	char name[GT_KERNEL_COUNTER];
	uint32_t hash; /* of @name */
	uint64_t count;
	double sum, min, max;
};

/**
 * struct gt_kernel - a kernel of a user on a GPU; never freed while the model lives
 * @dir: its directory's name: safe, and no other of its user's on the GPU has it: what others have is not to
 * be identified by it
 * @alias: what it is called for those who see all: no other of the GPU has it
 * @name: @len bytes, not terminated; cut where @cut
 * @min, @max: by enum gt_kernel_value; GT_NONE32 not known
 * @calls, @total_ns, @min_ns, @max_ns: from a file of statistics, GT_NONE64 unknown
 * @exec, @queue: times of its dispatches
 * @kept: the last dispatches: entry i of n is kept[(dispatches - 1 - i) % GT_KERNEL_KEPT]; NULL:
 * none
 * @counter: @ncounters of them; @counter_at: by hash, a number from 1 on, twice as many as there is room for
 * @text: NULL: none
 */
struct gt_kernel {
	uint32_t id, uid;
	uint16_t gpu;
	uint16_t account; /* the account of its user's share; 0: none */
	bool cut;
	uint64_t gen, first_ts, last_ts;
	char dir[GT_KERNEL_DIR], alias[GT_KERNEL_ALIAS];
	char *name;
	size_t len;
	uint32_t min[GT_KERNEL_VALUES], max[GT_KERNEL_VALUES];
	uint64_t calls, total_ns, min_ns, max_ns;
	uint64_t dispatches;
	struct gt_stage exec, queue;
	struct gt_kernel_dispatch *kept;
	unsigned int ncounters, counters_room;
	struct gt_kernel_counter *counter;
	uint16_t *counter_at;
	char *text[GT_KERNEL_TEXTS];
};

struct gt_model;

/** gt_model_kernel() - see gt_host.kernel. Lock held */
uint32_t gt_model_kernel(struct gt_model *m, const struct gt_kernel_desc *d);
/** gt_model_counter() - see gt_host.counter. Lock held */
void gt_model_counter(struct gt_model *m, uint32_t kernel, const char *name, double value);
/** gt_model_kernel_text() - see gt_host.kernel_text. Lock held */
void gt_model_kernel_text(struct gt_model *m, uint32_t kernel, enum gt_kernel_text which,
			  const char *text);
/** gt_model_kernel_dir() - the kernel of @uid on @gpu with that directory, or NULL. Lock held */
struct gt_kernel *gt_model_kernel_dir(const struct gt_model *m, uint16_t gpu, uint32_t uid,
				      const char *dir);
/** gt_model_kernel_alias() - the kernel on @gpu with that alias, or NULL. Lock held */
struct gt_kernel *gt_model_kernel_alias(const struct gt_model *m, uint16_t gpu, const char *alias);

/* What a process uses of a GPU, as it was read off: engines and memory.. */
/** struct gt_use_busy - busy time of an engine, by the driver's name; @capacity: how many of it there are */
struct gt_use_busy {
	char name[GT_USE_NAME];
	uint32_t capacity;
	struct gt_busy busy;
	struct gt_use_busy *next;
};

/**
 * struct gt_use - what a process, or all processes, use of a GPU, as fdinfo and the like report it
 * @regions: memory that it holds now
 * @kfd: what AMD's compute driver reported at @kfd_at
 */
struct gt_use {
	uint16_t gpu, account; /* of the share that its memory counts in */
	unsigned int nengines, nregions;
	struct gt_use_busy *engines; /* those seen last come first */
	struct gt_use_region region[GT_USE_REGIONS];
	struct gt_use_kfd kfd;
	uint64_t kfd_at; /* 0: never */
	struct gt_use *next;
};

/** gt_use_of() - the use of @gpu in the list @u; NULL: none */
static inline struct gt_use *gt_use_of(struct gt_use *u, uint16_t gpu)
{
	while (u && u->gpu != gpu)
		u = u->next;
	return u;
}
/** gt_use_ns() - busy time of all its engines within @window before @now; GT_NONE64: no engine is
 * reported */
uint64_t gt_use_ns(const struct gt_use *u, uint64_t now, uint64_t window);
/** gt_use_engine_ns() - busy time within the window of those engines that do the work of engine @e, by their
 * names; GT_NONE64: none of them does */
uint64_t gt_use_engine_ns(const struct gt_use *u, unsigned int e, uint64_t now, uint64_t window);
/** gt_use_bytes() - memory that it holds; GT_NONE64: not known */
uint64_t gt_use_bytes(const struct gt_use *u);

/* The aggregator's windows: what happened on a ring between two moments.. */
struct gt_model;
struct gt_ring;

/**
 * struct gt_window_stats - the aggregator's: one being filled and the last finished one
 * @end: 0: there is none
 * @lat_count: totals in lat_*; lat_min is UINT64_MAX while it is 0
 * @depth_integral: depth x ns
 * @busy_ns: of jobs that ended; see gt_window_busy()
 * @lost: records of this ring; @blind: a loss that may have been of this ring or of others
 * @unclear: it is not known how long the ring was busy
 */
struct gt_window_stats {
	uint64_t end, events, completed, lat_sum, lat_min, lat_max, lat_count, busy_ns;
	uint64_t start, lost, depth_integral;
	uint32_t depth_peak;
	bool blind, unclear;
} __attribute__((aligned(64))); /* each job writes to the first cache line */

/**
 * gt_ring_window() - ends @r's window if @now has passed its end: cur becomes last, or, if whole
 *	windows went by with no event, last becomes an empty one. Events do so too. Lock held.
 * @window_ns: length of the next one; windows are aligned to it. 0: there is none
 */
void gt_ring_window(struct gt_ring *r, uint64_t now, uint64_t window_ns);
/** gt_ring_window_restart() - begins a window at @now, and forgets the one before. Lock held */
void gt_ring_window_restart(struct gt_ring *r, uint64_t now, uint64_t window_ns);
/** gt_model_windows() - windows are of @window_ns from now on, 0: there are none. Takes the lock, for
 * a GPU at a time */
void gt_model_windows(struct gt_model *m, uint64_t window_ns);
/**
 * gt_window_busy() - busy time in @r's window @w, which has ended, with the job that ran at its end
 *	and runs still: as @now. Exact but for jobs of which it is not known yet when they began.
 *	GT_NONE64: not known
 */
uint64_t gt_window_busy(const struct gt_ring *r, const struct gt_window_stats *w, uint64_t now);

#define GT_MAX_GPUS    64
#define GT_MAX_RINGS   256 /* rings of one GPU */
#define GT_MAX_QUEUES  16384
#define GT_MAX_USERS   1024
#define GT_MAX_CGROUPS 3071
#define GT_MAX_GROUPS  (GT_MAX_USERS + GT_MAX_CGROUPS + 1)
#define GT_MAX_NS      8
#define GT_DEPS_KEPT   65536 /* jobs that ended with a known dependency */
#define GT_IOCTL_JOBS  4     /* jobs of one ioctl that get its time */
#define GT_CGROUP_MAX  512   /* bytes of a path: a pod in a machine in a container takes 310 */

/* A user other than root has a quarter of each table of shares.def. */
#define GT_SHARE_PART  4
#define GT_USER_QUEUES (GT_MAX_QUEUES / GT_SHARE_PART)
enum gt_share {
#define GT_SHARE(id, ...) GT_SH_##id,
#include "../shares.def"
#undef GT_SHARE
	GT_NSHARES
};

#define GT_STAGE_NAMES                                                                             \
	{                                                                                          \
		"queue", "hw_wait", "exec", "complete", "total"                                    \
	}

struct gt_limits {
	unsigned int max_jobs;	 /* jobs in flight, of all rings */
	uint64_t max_job_age_ns; /* a job leaves the table at this age */
	unsigned int max_procs;
	uint64_t proc_linger_ns; /* a dead process stays this long: 60 s */
};

struct gt_gpu;
struct gt_proc;

/* gt_job.reported: which of its events came */
#define GT_JOB_SUBMIT 0x01
#define GT_JOB_COMMIT 0x02
#define GT_JOB_START  0x04
#define GT_JOB_END    0x08
#define GT_JOB_WAITS  0x10 /* not an event: the job waits, or waited, for a dependency */

#define GT_JOB_CLOCKS 0x20 /* not an event: submission and hand-over have clocks that differ */

#define GT_JOB_UNCLEAR                                                                             \
	0x40 /* not an event: its events came in an order in which it cannot have run */

#define GT_JOB_UNSEEN 2 /* gt_job.live */

/**
 * struct gt_job - a job in flight; times that are not known are 0
 * @seen: first sight
 * @start: reported, or inferred when END came without it
 * @proc: slot of the owner, or GT_NONE32
 * @after_loss: its hw_wait and exec are not known
 * @recorded: the gate's decision for the whole job: 0 undecided, 1 yes, 2 no
 * @live: it is in the table; GT_JOB_UNSEEN: its end was missed, it is kept only in case that it comes
 *	after all
 * @reported: GT_JOB_*: exact where a time could be 0
 * @hash_next, @ring_prev, @ring_next: indices in gt_model.jobs, or GT_NONE32; by ring are those of one
 *	ring, in order of first sight, and jobs that ended unseen, in the order in which that was found
 * @hw_epoch, @hw_no: it occupies the hardware if the first is its ring's, and the second, its place
 *	in the order of hand-over, is after gt_ring.hw_passed
 * @queue: index in gt_model.queues, or GT_NONE16
 * @waiting: since when somebody waits for it
 * @ioctl: ns its submission took; GT_NONE64 unknown, and a little less while it lasts (process.c)
 * @ctx_prev, @ctx_next: as @ring_prev, of the jobs of one bucket of contexts, where @ctx and @seqno are
 *	known
 * @unseen: of GT_JOB_UNSEEN, when it was found that its end was missed; @unseen_why: enum gt_unseen
 */
struct gt_job {
	uint64_t ctx, seqno;
	uint64_t submit, commit;
	struct gt_proc_ring *pring;
	uint16_t gpu, ring;
	uint32_t hash_next;
	uint32_t hw_no;
	uint32_t proc;
	union {
		uint16_t hw_epoch;
		uint16_t unseen_why;
	};
	uint16_t queue;
	uint8_t after_loss, recorded, live, reported;

	uint64_t start, end;
	uint64_t seen;
	uint64_t waiting, ioctl;
	uint32_t pid, uid;
	uint32_t ring_prev, ring_next;
	union {
		struct {
			uint32_t ctx_prev, ctx_next;
		};
		uint64_t unseen;
	};
} __attribute__((aligned(64)));

/**
 * gt_job_hand_over() - when it was handed over to the hardware; GT_NONE64: not known, or not yet
 * @commits, @gap_end: of its ring. One that never reported a hand-over has none (so the submission
 * is it), but for what a loss may have taken
 *
 * By the clock of the hand-over, where that is another than the submission's.
 */
uint64_t gt_job_hand_over(const struct gt_job *j, bool commits, uint64_t gap_end);

/** struct gt_ended_job - a job that ended at @ts, by the hash of its key */
struct gt_ended_job {
	uint64_t ts;
	uint32_t hash;
};
/** struct gt_early_job - a job that ended before other events of it came; @reported: its GT_JOB_*; @pid: its
 * owner, GT_NONE32: not known */
struct gt_early_job {
	uint64_t ts;
	uint32_t hash, pid;
	uint8_t reported;
};
#define GT_RING_ENDED 16 /* of a ring */
#define GT_RING_EARLY 32

struct gt_ring {
	uint16_t id;
	uint16_t gpu;
	enum gt_engine engine;
	uint64_t gen;	     /* changes with anything below */
	bool measured;	     /* exec_source */
	bool after_loss;     /* the next job's hw_wait and exec are not known */
	bool commits;	     /* its source reports COMMIT */
	bool starts;	     /* its source reports START */
	bool submits;	     /* its source reports SUBMIT */
	bool handed;	     /* a COMMIT of it was seen */
	bool work;	     /* see struct gt_gpu, @work */
	bool lacks_ends;     /* see gt_ring_lacks_ends() */
	uint64_t last_end;   /* the ring's previous completion; 0 none */
	uint64_t loss_until; /* hw_wait and exec of jobs that end before this are not known */
	uint64_t
		gap_end; /* end of the latest loss: what was not reported before may have happened */
	uint64_t begun;	 /* ends before this may be missing, and will not come */
	/* the last hand-over of a job that only seems to be lost, see gt_jobs_begun(): behind a job
	 * that was handed over before, such a one may run still */
	uint64_t lost_until;
	/* averages begin then; 0: at the start or the last clear. Before it ends of jobs may be missing
	 * from a recording: a CPU's buffer had run over, or jobs that ended were not seen to begin */
	uint64_t since;
	uint64_t ended_before; /* how many jobs had ended by then */
	uint64_t first_ts, last_ts;
	uint32_t jobs_head, jobs_tail; /* list of its jobs in flight, by gt_job.ring_next */
	/* jobs that occupy the hardware now, and since when there has been one without a break */
	uint32_t hw_jobs;
	uint16_t hw_epoch;
	uint64_t hw_since;
	/* how many have been handed over in this epoch; those up to hw_passed have left the
	 * hardware, as a later one has ended, the last of them found at passed_at */
	uint32_t hw_entered, hw_passed;
	uint64_t passed_at;
	uint32_t strays;      /* ends of jobs that had been passed, see gt_unseen_stray() */
	bool unordered;	      /* its jobs do not end in the order of hand-over */
	bool gap;	      /* at gap_end, jobs from before the loss are taken out of flight */
	uint8_t ended_at;     /* where the next one goes in ended */
	uint64_t early_until; /* events of jobs in early may come up to then */
	struct gt_depth depth;
	struct gt_window_stats cur, last;
	struct gt_stage stage[GT_NSTAGES];
	struct gt_counts counts;
	struct gt_typecount types;
	struct gt_jobs_before jobs_before[11]; /* by types.slot_sec */
	struct gt_busy busy;
	struct gt_errlog errors;
	char name[40];
	struct gt_ended_job ended[GT_RING_ENDED];
	/* ends that came before an earlier event of their job */
	struct gt_early_job early[GT_RING_EARLY];
	uint8_t early_at;
	struct gt_pauses *pauses; /* NULL: it is observed whenever anything is */
};

/** gt_ring_lacks_ends() - its source says when jobs begin, but not when they end: what is in flight
 * is not known, nor how long it was busy */
static inline bool gt_ring_lacks_ends(const struct gt_ring *r)
{
	return r->lacks_ends && !r->last_end;
}

/** gt_ring_lacks_commits() - its source reports hand-overs, but of this ring none was seen, though jobs
 * ended: for how long it was busy is not known */
static inline bool gt_ring_lacks_commits(const struct gt_ring *r)
{
	return r->commits && !r->handed && !r->starts && r->last_end;
}

/** gt_ring_sees_hw() - is it known what the hardware has? A hand-over, a start or an end was seen */
static inline bool gt_ring_sees_hw(const struct gt_ring *r)
{
	return r->commits || r->starts || r->last_end;
}

/** gt_ring_since() - when its averages begin. Of a ring of which only ends are reported nothing is known anyway */
static inline uint64_t gt_ring_since(const struct gt_ring *r)
{
	return r->submits || r->commits ? r->since : 0;
}

/** gt_ring_submits() - as far as is known its source reports submissions: not only what comes later */
static inline bool gt_ring_submits(const struct gt_ring *r)
{
	return r->submits || !(r->last_end || r->commits);
}

/** gt_job_not_passed() - was it handed over after @passed? */
static inline bool gt_job_not_passed(const struct gt_job *j, uint32_t passed)
{
	return (int32_t)(j->hw_no - passed) > 0;
}

/** gt_job_is_on_hw() - does it occupy the hardware of its ring? */
static inline bool gt_job_is_on_hw(const struct gt_ring *r, const struct gt_job *j)
{
	return j->hw_epoch == r->hw_epoch && gt_job_not_passed(j, r->hw_passed);
}

/** struct gt_gauges - what was read off a GPU last, see struct gt_reading */
struct gt_gauges {
	uint64_t at;
	uint16_t has;
	char power[16];
	unsigned int n;
	struct gt_gauge g[GT_GAUGES_MAX];
};

#define GT_WORK_RINGS 2

/**
 * struct gt_gpu - a GPU
 * @work: rings for work that programs give to their queues themselves, without a ring of a driver:
 *	kernels, and copies. Made with the first such work. Its jobs' ends are known, and how long
 *	they ran; not when they were submitted, so that no depth is known.
 */
struct gt_gpu {
	uint16_t id;
	uint32_t kfd_id; /* 0 none */
	bool any;	 /* cannot be distinguished: <driver>-any */
	bool unknown;	 /* the only one of a recording that names no device */
	bool claimed;	 /* users say so of GPUs that they may not use, or that are not here */
	bool gone;
	uint32_t life; /* how often it has gone: what was opened in an earlier life is gone too */
	uint64_t gen;
	unsigned int nrings;
	struct gt_ring *rings[GT_MAX_RINGS], *work[GT_WORK_RINGS];
	struct gt_counts counts;
	struct gt_typecount types;
	struct gt_busy engine[GT_NENGINES];
	struct gt_errlog errors;
	struct gt_gauges *gauges; /* NULL: nobody reads any */
	struct gt_use *use;	  /* of its processes together; no memory */
	char name[16];		  /* the directory's */
	char driver[16];
	char dev[32]; /* as its sources name it */
	char pci[16], card[16], render[16], uuid[48], partition[16];
	int kfd_node; /* its number in KFD's topology, -1 none */
};

/**
 * struct gt_proc_ring - what one process did on one ring
 * @engine: NULL: its only ring of that engine, as far as there is memory to say more; else busy time
 *	of all of them, counted once, which belongs to the one that is @first
 */
struct gt_proc_ring {
	uint16_t gpu, ring;
	uint32_t inflight;
	uint16_t account; /* of the share that its memory counts in */
	bool first;
	struct gt_busy *engine;
	struct gt_proc_ring *next;
	struct gt_counts counts;
	struct gt_stage stage[GT_NSTAGES];
	struct gt_busy busy;
};

struct gt_proc {
	uint32_t slot;
	uint32_t pid, uid;
	uint64_t start; /* ns since boot, 0 unknown; identity with pid */
	uint64_t first_ts, last_ts;
	bool dead;
	uint16_t account; /* of its user's share, as first known; 0: none */
	uint64_t died;	  /* model time */
	uint64_t gen;
	unsigned int nrings;
	uint32_t inflight;  /* jobs; it is not freed while there are any */
	uint32_t dead_next; /* slot of the next to die */
	struct gt_counts counts;
	struct gt_proc_ring *rings;
	struct gt_use *uses;	       /* one for each GPU */
	struct gt_proc_ring *near[16]; /* those used last, by ring number: saves the walk */
	char comm[16];
	char cgroup[GT_CGROUP_MAX]; /* path, "" unknown or longer than that */
	uint64_t cgroup_id;
	bool not_here;	   /* see gt_model_not_here() */
	bool user_counted; /* there may have been no room for it all the same */
	uint32_t user,
		group; /* index in gt_model.groups, GT_NONE32 none: as it was first reported */
};

/** struct gt_ns - PID namespaces that a process is in below the daemon's own: ids that never return */
struct gt_ns {
	unsigned int n;
	uint64_t id[GT_MAX_NS];
};

/**
 * struct gt_work - what several processes did, or one that is no more
 * @rings: a ring each, in no order; gt_work_free() frees them
 */
struct gt_work {
	uint16_t account; /* that they count for; 0: none */
	struct gt_counts counts;
	uint64_t inflight;
	unsigned int nrings;
	struct gt_proc_ring *rings;
	struct gt_use *uses;
};

/**
 * struct gt_group - a user, or a cgroup with all that is below it
 * @cgroup: else it is a user, and has no name
 * @counted: it has had a process; @uid, @mixed and @ns are of all work that has ever been in it
 * @account: that it counts for: of the user of its first process; 0: none
 * @uid: theirs; GT_NONE32 unknown; @mixed: of several users, or of unknown ones
 * @ns: the namespaces that all of them are in
 * @parent: index of the group above; GT_NONE32 none
 * @members: processes that are not freed; @below: groups directly below it
 * @serial: another for each group that had this index; 0: the cgroup that all others are in
 * @left: changes when a process that it counts is freed, or its total begins anew
 * @last: when a process was freed last
 * @gone: what its own freed processes did, and cgroups that made room
 */
struct gt_group {
	bool cgroup, counted, mixed;
	uint16_t account;
	uint32_t uid, parent;
	uint32_t members, below;
	uint64_t serial, left, last;
	struct gt_ns ns;
	struct gt_work gone;
	char name[256];
};

/**
 * struct gt_queue - a queue that a program made
 * @gpu: GT_NONE16: the slot is free; a destroyed queue is forgotten like a dead process
 * @serial: another for each queue that had this slot
 * @depth_set: depth is what its source reports, not counted from jobs; @worked: it has work that is
 * no job of a ring, so that else its depth is not known
 * @runtime: the program's runtime reports it, not the driver; @address: where its packets are, as
 *	queue.c keys it, 0 not known; @alias: the runtime's number of it, GT_NONE64 none
 * @slot: its own; @account: of its user's share, as it was first known; 0: none; @counted: it
 *	counts there as one that lives
 * @next_free: slot number + 1; @ended_prev, @ended_next: likewise, of those that are destroyed
 */
struct gt_queue {
	uint32_t id;
	uint16_t gpu;
	uint64_t serial, destroyed;
	uint32_t slot;
	uint16_t account;
	bool counted;
	uint32_t next_free, ended_prev, ended_next;
	struct gt_queue_desc desc; /* what is unknown is all ones */
	int state;		   /* enum gt_queue_state */
	uint64_t created, gen;
	struct gt_counts counts;
	uint64_t last_ts;
	struct gt_stage stage[GT_NSTAGES];
	struct gt_depth depth;
	bool depth_set, worked, runtime;
	uint64_t address, alias;
	struct gt_queue_hw *hw; /* as it was reported in @hw_round; NULL: never */
	uint64_t hw_round;
};

enum gt_queue_state { GT_QS_CREATED, GT_QS_MAPPED, GT_QS_UNMAPPED, GT_QS_DENIED, GT_QS_DESTROYED };

/**
 * struct gt_dependency - the fence that a job waits for before it can be handed over, the last of
 *	several; what is not known is all ones
 * @ctx, @seqno: the fence, or its job
 * @since: when the first was seen to keep it; 0: none was
 * @waited: ns from then to its hand-over
 * @pid, @uid: the process of the fence's job; @gpu, @ring: where that runs
 * @job: it is the fence of a job that is known
 */
struct gt_dependency {
	uint64_t ctx, seqno, since, waited;
	uint32_t pid, uid;
	uint16_t gpu, ring;
	bool job;
};

/**
 * struct gt_finished - a job that ended, as the `report` shows it
 * @first_ts: its process's first_ts, which distinguishes it from others that had its pid
 * @nth: of the ring's completions since the last clear, from 1 on, modulo 2^32: one that is missing
 *	in the history was not recorded, or its job not known
 * @dep: for gt_depend_get(): what it waited for; 0: nothing that is known
 *
 * Times that are not known are GT_NONE64.
 */
struct gt_finished {
	uint64_t end, ctx, seqno;
	uint64_t queue, hw_wait, exec, complete, cpu_wait, ioctl, total;
	uint64_t first_ts;
	uint32_t pid, uid;
	uint16_t gpu, ring;
	char comm[16];
	uint32_t nth;
	uint64_t dep;
};

struct gt_model {
	pthread_mutex_t lock;
	/* Up to @limits: read by other threads without the lock, so each is written as one word. */
	uint64_t now; /* the latest time that has passed, ns */
	uint64_t
		cleared; /* time of the last clear, or of the start: of a recording's first event or work */
	bool wall; /* live: time is CLOCK_MONOTONIC; else it is @now, and stands with the recording */
	bool several; /* several recordings are played, with clocks that may differ */
	struct gt_limits limits;
	uint64_t gen;	  /* changes with anything at all */
	uint64_t dir_gen; /* changes when a GPU, ring, queue or process comes or goes */
	uint64_t resets;  /* gt_model_reset() */

	unsigned int ngpus;
	struct gt_gpu *gpus[GT_MAX_GPUS];

	struct gt_job *jobs;
	unsigned int njobs;   /* in the table */
	unsigned int nunseen; /* jobs in the table with an end that was missed: GT_JOB_UNSEEN */

	unsigned int nprocs;	 /* in use */
	unsigned int proc_slots; /* slots to look at: 0 .. proc_slots-1, NULL where free */
	struct gt_proc **procs;
	struct gt_proc *nobody; /* counts the work of unknown processes; in no slot */
	uint64_t
		procs_refused; /* events of processes without a slot, because there were too many */
	uint64_t
		prings_refused; /* jobs without statistics per process and ring, for want of room */

	unsigned int nqueues;	  /* slots to look at */
	unsigned int free_queues; /* free slots among them */
	struct gt_queue *queues[GT_MAX_QUEUES];
	uint64_t queues_refused; /* events of queues without a slot */
	uint64_t hw_round;	 /* how often the place of queues on the hardware was reported */

	unsigned int nkernels;
	struct gt_kernel *kernels[GT_MAX_KERNELS];
	uint64_t kernel_bytes;	   /* bytes of names and texts of kernels */
	uint64_t kernels_refused;  /* descriptions for which there was no room */
	uint64_t many_counters;	   /* counters in use of GT_MANY_COUNTERS */
	uint64_t counters_refused; /* readings for which there was no room */

	unsigned int ngroups; /* to look at; NULL where free; [0] is the cgroup all others are in */
	struct gt_group *groups[GT_MAX_GROUPS];
	unsigned int nusers, ncgroups;
	uint64_t users_refused;	  /* processes without a total for their user */
	uint64_t users_evicted;	  /* users with a total that made room */
	uint64_t cgroups_refused; /* processes that count in a group above their own only */
	uint64_t cgroups_merged;  /* groups that made room: their totals are in those above */

	struct gt_typecount types;
	struct gt_counts counts;
	uint64_t memory;	 /* bytes the model holds */
	char custom[7][32];	 /* names of the CUSTOM events, "" none */
	unsigned int nfunctions; /* names of functions by id, "" none; the array may move */
	char (*functions)[GT_FUNCTION_NAME];
	uint64_t window_ns; /* the aggregator's, 1 s; 0: there are no windows */

	struct gt_model_private *priv;
};

#define GT_MODEL_LOCK(m)                                                                           \
	__attribute__((cleanup(gt_model_unlockp), unused)) struct gt_model *gt_locked_ =           \
		gt_model_lock(m)
static inline struct gt_model *gt_model_lock(struct gt_model *m)
{
	pthread_mutex_lock(&m->lock);
	return m;
}
static inline void gt_model_unlockp(struct gt_model **m)
{
	pthread_mutex_unlock(&(*m)->lock);
}

struct gt_model *gt_model_new(const struct gt_limits *limits, bool wall);
void gt_model_free(struct gt_model *m);

/** gt_model_now() - CLOCK_MONOTONIC when live, else the recording's time; any thread */
uint64_t gt_model_now(const struct gt_model *m);
/** gt_counted() - so much of the @window before @now is after the start or clear; any thread */
static inline uint64_t gt_counted(const struct gt_model *m, uint64_t now, uint64_t window)
{
	uint64_t since = __atomic_load_n(&m->cleared, __ATOMIC_RELAXED);
	uint64_t all = now > since ? now - since : 0;

	return window < all ? window : all;
}
/* What sources observe: events, and how much processes use engines, which goes on while events pause */
enum gt_observation { GT_OBSERVED_EVENTS, GT_OBSERVED_USE, GT_NOBSERVED };
/**
 * gt_observed() - so much of gt_counted() was observed: not while the level was off or sources paused
 * @window: at most 60 s, or GT_ALL
 *
 * 0 where a pause leaves less of the @window than a slot of gt_busy: too little for a share. Any thread.
 */
uint64_t gt_observed(const struct gt_model *m, enum gt_observation what, uint64_t now,
		     uint64_t window);
/**
 * struct gt_extent - when something was observed
 * @first, @last: times of its first event and its last; 0: never, or not known
 * @since: time before it does not count; 0: all does
 * @pauses: when it was not observed; NULL: it was whenever anything was. Lives as long as a live model
 */
struct gt_extent {
	uint64_t first, last, since;
	const struct gt_pauses *pauses;
};
/**
 * gt_observed_of() - gt_observed() of events where @e was: of recordings with different clocks only
 *	those count that have it. Lock held for the extents, as for all of the model
 */
uint64_t gt_observed_of(const struct gt_model *m, struct gt_extent e, uint64_t now,
			uint64_t window);
struct gt_extent gt_ring_extent(const struct gt_ring *r);
/** gt_engine_extent() - of all rings of @g; its pauses are those of engine @e */
struct gt_extent gt_engine_extent(const struct gt_gpu *g, enum gt_engine e);
/** gt_observed_between() - in so much of [@from, @to) events were observed; any thread */
uint64_t gt_observed_between(const struct gt_model *m, uint64_t from, uint64_t to);
/** gt_observed_between_of() - likewise where @e was, see gt_observed_of() */
uint64_t gt_observed_between_of(const struct gt_model *m, struct gt_extent e, uint64_t from,
				uint64_t to);
/** gt_observed_changed() - when a pause last began or ended, 0: never; any thread */
uint64_t gt_observed_changed(const struct gt_model *m);
/** gt_model_observe() - from now on live sources observe @what, or do not; any thread */
void gt_model_observe(struct gt_model *m, enum gt_observation what, bool on);
/**
 * gt_model_observe_ring() - while live sources observe events: from now on some do of this ring, or none
 * @ring: GT_NONE16: of work outside the rings
 *
 * Takes the lock.
 */
void gt_model_observe_ring(struct gt_model *m, uint16_t gpu, uint16_t ring, bool on);
/** gt_model_advance() - time has come to @ts with nothing happening (watermark); takes the lock */
void gt_model_advance(struct gt_model *m, uint64_t ts);

/**
 * gt_model_gpu() - finds or makes a GPU by directory name; the caller fills the rest when new
 * Return: NULL if there are too many. Ingest thread, lock held.
 */
struct gt_gpu *gt_model_gpu(struct gt_model *m, const char *name, bool *is_new);
/**
 * gt_model_gpu_gone() - the device of @g is no more: late events are still counted, nothing shows
 *	it. Any thread, lock held.
 */
void gt_model_gpu_gone(struct gt_model *m, struct gt_gpu *g);
/** gt_model_gpu_back() - the device of @g is there again: its statistics go on. Any thread, lock held. */
void gt_model_gpu_back(struct gt_model *m, struct gt_gpu *g);
/** gt_model_reading() - replaces the readings of a GPU's sensors; false: no such GPU, or no memory. Ingest
 * thread, lock held */
bool gt_model_reading(struct gt_model *m, const struct gt_reading *r);
/** gt_model_ring() - finds or makes a ring by name; NULL if there are too many. Lock held. */
struct gt_ring *gt_model_ring(struct gt_model *m, struct gt_gpu *g, const char *name,
			      enum gt_engine engine, bool *is_new);
/** gt_engine_guess() - "gfx_0.0.0" GRAPHICS, "comp_1.0.0" COMPUTE, "sdma0" COPY, "vcn_dec" … */
enum gt_engine gt_engine_guess(const char *ring_name);
const char *gt_engine_name(enum gt_engine e);

/** gt_depend_of() - what job @j waits for, or waited for; lock held */
void gt_depend_of(const struct gt_model *m, const struct gt_job *j, struct gt_dependency *d);
/** gt_depend_get() - what a job that ended waited for, by gt_finished.dep; takes the lock. False: nothing, or
 * GT_DEPS_KEPT other jobs that waited have ended since */
bool gt_depend_get(struct gt_model *m, uint64_t number, struct gt_dependency *d);

/** gt_model_proc() - the process of @pid, alive or the last that ended; NULL: none. Lock held */
struct gt_proc *gt_model_proc(struct gt_model *m, uint32_t pid);
/** gt_model_queue() - NULL: no such queue. Lock held */
struct gt_queue *gt_model_queue(struct gt_model *m, uint16_t gpu, uint32_t id);
/**
 * gt_model_process() - identifies a pid; creates the process if it is new. Lock held.
 * A different @start under a known pid ends the old one and makes a new one.
 */
struct gt_proc *gt_model_process(struct gt_model *m, uint32_t pid, uint64_t start, uint32_t uid,
				 const char *comm, const char *cgroup, uint64_t cgroup_id);
/**
 * gt_model_process_in() - the same of a process in other PID namespaces than the daemon's
 * @ns: these; NULL: not known: live, it then counts in no group until they are, or it ends
 */
struct gt_proc *gt_model_process_in(struct gt_model *m, uint32_t pid, uint64_t start, uint32_t uid,
				    const char *comm, const char *cgroup, uint64_t cgroup_id,
				    const struct gt_ns *ns);
/** gt_model_not_here() - the process is not of this machine, as those of sim: /proc is not asked. Lock held */
void gt_model_not_here(struct gt_model *m, struct gt_proc *p);
/** gt_model_exit() - process @slot ended. Lock held. */
void gt_model_exit(struct gt_model *m, uint32_t slot);
/** gt_model_user() - index of a user's group, GT_NONE32 none; lock held */
uint32_t gt_model_user(const struct gt_model *m, uint32_t uid);
/** gt_model_group() - group @i if it is still the same; NULL: it has gone. Lock held */
struct gt_group *gt_model_group(const struct gt_model *m, uint32_t i, uint64_t serial);

#define GT_WORK_BUSY   0x1 /* busy time by window, not only in total */
#define GT_WORK_STAGES 0x2
#define GT_WORK_USES   0x4 /* use of engines and memory, as struct gt_use */
/**
 * gt_group_work() - what the processes of a group did, living and gone, since the start or clear
 * @what: GT_WORK_*: what is wanted besides counters and busy time in total
 * @out: zeroed; to be freed by gt_work_free() if this succeeds
 *
 * Takes the lock, for some processes at a time; busy times of processes are added up, and never
 * exceed the time there was. Each process's numbers are of one moment.
 * Return: 0, -ENODEV: the group has gone, -ENOMEM, -EAGAIN: processes of it end all the time
 */
int gt_group_work(struct gt_model *m, uint32_t i, uint64_t serial, unsigned int what,
		  struct gt_work *out);
void gt_work_free(struct gt_work *w);
/** gt_share_refused() - how often a user had a whole share of @what; any thread */
uint64_t gt_share_refused(enum gt_share what);
/** gt_sum() - @a + @b, at most UINT64_MAX */
static inline uint64_t gt_sum(uint64_t a, uint64_t b)
{
	return b > UINT64_MAX - a ? UINT64_MAX : a + b;
}

/** gt_model_reap() - frees processes dead for longer than the limit and jobs too old. Lock held. */
void gt_model_reap(struct gt_model *m);
/**
 * gt_model_tidy() - gt_model_reap(), at most once a second; any thread, takes the lock
 *
 * The ingest thread asks for it as events come, and whoever looks before looking: on an idle
 * machine a hung job would else keep its ring busy and a dead process its directory for ever. A
 * timer for that would cost more.
 */
void gt_model_tidy(struct gt_model *m);

/** gt_model_clear() - counters and histograms start again; objects, jobs and clocks stay. Lock
 * held. */
void gt_model_clear(struct gt_model *m);
/**
 * gt_model_reset() - as gt_model_new() made it, but for GPUs and rings, which keep their numbers, and the
 *	names of events and functions: a recording is played again. Lock held
 *
 * Return: 0, or -ENOMEM, and nothing has changed.
 */
int gt_model_reset(struct gt_model *m);

/**
 * gt_ring_busy_ns() - busy time of the @window before @now, with the job now running; GT_NONE64:
 * not known. Lock held
 */
uint64_t gt_ring_busy_ns(const struct gt_model *m, const struct gt_ring *r, uint64_t now,
			 uint64_t window);
/** gt_nobody_rings() - gt_model.nobody gets each ring on which a job of nobody who is known runs;
 * lock held */
void gt_nobody_rings(struct gt_model *m);
/**
 * gt_pring_running() - since when a job of process @slot runs on the ring of @pr, of which it is
 * the oldest at the hardware; UINT64_MAX: none does, or not known; @slot GT_NONE32: a job of
 *	nobody who is known. Lock held
 */
uint64_t gt_pring_running(const struct gt_model *m, const struct gt_proc_ring *pr, uint32_t slot);
/** gt_busy_running_ns() - gt_busy_ns() of @b, likewise, with what runs since @since, which is not
 * in it yet */
uint64_t gt_busy_running_ns(const struct gt_busy *b, uint64_t since, uint64_t now, uint64_t window);
/** gt_ring_jobs() - @c: the ring's types, where SUBMIT and COMPLETE count jobs, not events: kernels and
 *	copies are jobs too, and an end that comes twice is one. Lock held */
void gt_ring_jobs(const struct gt_ring *r, struct gt_typecount *c);
/** gt_engine_busy_ns() - busy time of all rings of @g that feed engine @e; time in which several are busy counts
 * once */
uint64_t gt_engine_busy_ns(const struct gt_model *m, const struct gt_gpu *g, enum gt_engine e,
			   uint64_t now, uint64_t window);

/** gt_model_queue_hw() - where @q is on the hardware; NULL: not known now. Lock held */
static inline const struct gt_queue_hw *gt_model_queue_hw(const struct gt_model *m,
							  const struct gt_queue *q)
{
	return q->hw && q->hw_round == m->hw_round ? q->hw : NULL;
}

/* The way of an event into the model. For who feeds it. */

/**
 * struct gt_folded - what became of one event
 * @job: the job it belongs to, still valid until the next call; NULL none
 * @finished: true if a job ended with it: @fin is filled. That need not have been in the table: a
 *	DISPATCH is a whole job, and has no @job
 * @unknown_pid: a pid that the model does not have (then the caller asks /proc and calls
 *	gt_model_process(), and the event has been counted for it by a bare entry already)
 * @new_ring: a ring that the model made for it
 * @nlate: so many jobs had ended before the ioctl that submitted them, which the event ends
 * @late: their numbers, as given to gt_model_logged()
 * @ioctl: their time in it
 */
struct gt_folded {
	struct gt_job *job;
	bool finished;
	uint32_t hash; /* of @job's key, if it finished */
	struct gt_finished fin;
	struct gt_proc *new_proc;
	struct gt_ring *new_ring;
	unsigned int nlate;
	uint64_t late[GT_IOCTL_JOBS], ioctl;
};

/**
 * gt_model_event() - folds one record in, and completes it: pid, tid and uid of the job's owner are
 *	filled in where the source does not have them. Ingest thread, lock held.
 *
 * Takes every type: events, PROCESS, QUEUE, NAME (custom), LOST (with GT_LOST_SOURCE: every ring of
 * the record's GPU, or of all if GT_NONE16, does not know its next hw_wait and exec).
 */
void gt_model_event(struct gt_model *m, union gt_record *r, struct gt_folded *f);
/**
 * gt_model_fetch() - brings what a record to come will touch nearer to the CPU: call it for each
 *	record, GT_FETCH_AHEAD records before gt_model_event(). Lock held. Optional.
 */
#define GT_FETCH_AHEAD 8
void gt_model_fetch(struct gt_model *m, const union gt_record *r);
/**
 * gt_model_logged() - after an event that ended a job
 * @number: distinguishes its record in the history
 *
 * Lock held.
 */
void gt_model_logged(struct gt_model *m, const struct gt_folded *f, uint64_t number);
/** gt_model_done() - after an event: frees the job if it ended. Lock held. */
void gt_model_done(struct gt_model *m, struct gt_folded *f);
/** gt_model_recorded() - counts a record that went to the log. Lock held. */
void gt_model_recorded(struct gt_model *m, const union gt_record *r);

/**
 * gt_model_usage() - what a process has used and holds: created if it is new, which @f says. False: no
 *	such GPU, or no room. Ingest thread, lock held
 */
bool gt_model_usage(struct gt_model *m, const struct gt_usage *u, struct gt_folded *f);

/** gt_model_queues_hw() - see struct gt_host. Ingest thread, lock held */
void gt_model_queues_hw(struct gt_model *m, const struct gt_queue_hw *q, size_t n);

#endif
