/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The model: what GPUs, rings, queues and processes there are, and the statistics of each. It knows
 * no FUSE, no text and no settings; every event that a source delivers goes through it.
 *
 * The ingest thread is its only writer. Readers hold gt_model.lock while they look, for
 * microseconds: copy, unlock, then format; long tables lock per row. GPUs, rings and queues are
 * never freed while the model lives (a gone GPU is flagged); processes are: find them by slot or
 * pid under the lock, each time.
 */
#ifndef GT_MODEL_H
#define GT_MODEL_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "../../backend/event.h"
#include "../../backend/reading.h"
#include "busy.h"
#include "counts.h"
#include "hist.h"
#include "kernel.h"
#include "use.h"
#include "window.h"

#define GT_MAX_GPUS   64
#define GT_MAX_RINGS  256 /* of one GPU */
#define GT_MAX_QUEUES 16384
#define GT_USER_QUEUES (GT_MAX_QUEUES / 4) /* of a user of this machine, but root, that live */
#define GT_MAX_USERS   1024
#define GT_MAX_CGROUPS 3071
#define GT_MAX_GROUPS  (GT_MAX_USERS + GT_MAX_CGROUPS + 1)
#define GT_MAX_NS      8
#define GT_DEPS_KEPT   65536 /* jobs that ended of which it is known what they waited for */
#define GT_IOCTL_JOBS  4 /* of those submitted by one ioctl, that know its time */
#define GT_CGROUP_MAX 512 /* bytes of a path: a pod in a machine in a container takes 310 */

#define GT_STAGE_NAMES                                                                             \
	{                                                                                          \
		"queue", "hw_wait", "exec", "complete", "total"                                    \
	}

struct gt_limits {
	unsigned int max_jobs;	 /* in flight, all rings */
	uint64_t max_job_age_ns; /* then it leaves the table */
	unsigned int max_procs;
	uint64_t proc_linger_ns; /* a dead process stays this long: 60 s */
};

struct gt_gpu;
struct gt_proc;

/* gt_job.told: which of its events came */
#define GT_JOB_SUBMIT 0x01
#define GT_JOB_COMMIT 0x02
#define GT_JOB_START  0x04
#define GT_JOB_END    0x08
#define GT_JOB_WAITS  0x10 /* no event of the job's own: it waits, or waited, for a dependency */

#define GT_JOB_OUTER 2 /* gt_job.live */

/**
 * struct gt_job - a job in flight; times that are not known are 0
 * @seen: first sight
 * @start: as told, or concluded when END was told without it
 * @proc: slot of the owner, or GT_NONE32
 * @after_loss: its hw_wait and exec are not known
 * @recorded: the gate's decision for the whole job: 0 undecided, 1 yes, 2 no
 * @live: it is in the table; GT_JOB_OUTER: by a tally, and all that counts it is the source's
 * @told: GT_JOB_*: exact where a time could be 0
 * @hash: of the key
 * @hash_next, @age_prev, @age_next, @ring_prev, @ring_next: indices in gt_model.jobs, or GT_NONE32;
 *	by age are all jobs, by ring those of one ring, in order of first sight
 * @hw_epoch: it occupies the hardware if this is its ring's
 * @queue: index in gt_model.queues, or GT_NONE16
 * @waiting: since when somebody waits for it
 * @ioctl: ns its submission took; GT_NONE64 unknown, and a little less while it lasts (wait.c)
 */
struct gt_job {
	uint64_t ctx, seqno;
	uint64_t submit, commit;
	struct gt_proc_ring *pring;
	uint16_t gpu, ring;
	uint32_t hash_next;
	uint32_t hash;
	uint32_t proc;
	uint16_t hw_epoch, queue;
	uint8_t after_loss, recorded, live, told;

	uint64_t start, end;
	uint64_t seen;
	uint64_t waiting, ioctl;
	uint32_t pid, uid;
	uint32_t age_prev, age_next;
	uint32_t ring_prev, ring_next;
};

/**
 * gt_job_hand_over() - when it was handed over to the hardware; GT_NONE64: not known, or not yet
 * @commits, @gap_end: of its ring. One that never told of a hand-over has none (so the submission is
 *	it), but for what a loss may have taken
 */
uint64_t gt_job_hand_over(const struct gt_job *j, bool commits, uint64_t gap_end);

struct gt_ring {
	uint16_t id;
	uint16_t gpu;
	enum gt_engine engine;
	uint64_t gen;	     /* changes with anything below */
	bool measured;	     /* exec_source */
	bool after_loss;     /* the next job's hw_wait and exec are not known */
	bool commits;	     /* its source tells COMMIT */
	bool starts;	     /* its source tells START */
	uint64_t last_end;   /* the ring's previous completion; 0 none */
	uint64_t loss_until; /* nor are those of jobs that end before this */
	uint64_t gap_end;    /* of the latest loss: what was not told before this may have happened */
	uint64_t first_ts, last_ts;
	uint32_t jobs_head, jobs_tail; /* in flight, gt_job.ring_next */
	/* jobs that occupy the hardware now, and since when there has been one without a break */
	uint32_t hw_jobs;
	uint16_t hw_epoch;
	uint64_t hw_since;
	/* of jobs that a source counts and no record tells of: how many are among depth.now, since when
	 * they occupy the hardware, 0 they do not; completions that it counted */
	uint32_t outer_depth, outer_completed;
	uint64_t outer_since;
	struct gt_depth depth;
	struct gt_window_stats cur, last;
	uint64_t told; /* tallies are in up to there, 0: there are none */
	struct gt_stage stage[GT_NSTAGES];
	struct gt_counts counts;
	struct gt_typecount types;
	struct gt_busy busy;
	struct gt_errlog errors;
	char name[40];
};

/** struct gt_gauges - what was read off a GPU last, see struct gt_reading */
struct gt_gauges {
	uint64_t at;
	uint16_t has;
	char power[16];
	unsigned int n;
	struct gt_gauge g[GT_GAUGES_MAX];
};

struct gt_gpu {
	uint16_t id;
	uint32_t kfd_id; /* 0 none */
	bool any;	 /* cannot be told apart: <driver>-any */
	bool gone;
	uint32_t life; /* how often it has gone: what was opened in an earlier life is gone too */
	uint64_t gen;
	unsigned int nrings;
	struct gt_ring *rings[GT_MAX_RINGS];
	struct gt_counts counts;
	struct gt_typecount types;
	struct gt_busy engine[GT_NENGINES];
	struct gt_errlog errors;
	struct gt_gauges *gauges; /* NULL: nobody reads any */
	struct gt_use *use;	  /* of its processes together; no memory */
	char name[16]; /* the directory's */
	char driver[16];
	char dev[32]; /* as its sources name it */
	char pci[16], card[16], render[16], uuid[48], partition[16];
	int kfd_node; /* its number in KFD's topology, -1 none */
};

/** struct gt_proc_ring - what one process did on one ring */
struct gt_proc_ring {
	uint16_t gpu, ring;
	uint32_t inflight;
	uint32_t outer; /* of these, jobs that no record tells of */
	struct gt_counts counts;
	struct gt_stage stage[GT_NSTAGES];
	struct gt_busy busy;
	struct gt_proc_ring *next;
};

struct gt_proc {
	uint32_t slot;
	uint32_t pid, uid;
	uint64_t start; /* ns since boot, 0 unknown; identity with pid */
	uint64_t first_ts, last_ts;
	bool dead;
	uint64_t died; /* model time */
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
	bool not_here;	/* see gt_model_not_here() */
	bool user_told; /* there may have been no room for it all the same */
	uint32_t user, group; /* index in gt_model.groups, GT_NONE32 none: as it was first told */
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
	struct gt_counts counts;
	uint64_t inflight;
	unsigned int nrings;
	struct gt_proc_ring *rings;
	struct gt_use *uses;
};

/**
 * struct gt_group - a user, or a cgroup with all that is below it
 * @cgroup: else it is a user, and has no name
 * @counted: it has had a process; @uid, @mixed and @ns tell whose work there has ever been in it
 * @uid: theirs; GT_NONE32 unknown; @mixed: of several users, or not known whose
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
 * @depth_told: depth is what its source tells, not counted from jobs; @worked: it has work that is
 *no job of a ring, so that else its depth is not known
 * @runtime: the program's runtime tells of it, not the driver; @address: where its packets are, as
 *	join.c keys it, 0 not known; @alias: the runtime's number of it, GT_NONE64 none
 * @slot: its own; @user: in whose share it counts, while it lives; GT_NONE32: in nobody's
 * @next_free: slot number + 1; @ended_prev, @ended_next: likewise, of those that are destroyed
 */
struct gt_queue {
	uint32_t id;
	uint16_t gpu;
	uint64_t serial, destroyed;
	uint32_t slot, user;
	uint32_t next_free, ended_prev, ended_next;
	struct gt_queue_desc desc; /* what is unknown is all ones */
	int state;		   /* enum gt_queue_state */
	uint64_t created, gen;
	struct gt_counts counts;
	uint64_t last_ts;
	struct gt_stage stage[GT_NSTAGES];
	struct gt_depth depth;
	bool depth_told, worked, runtime;
	uint64_t address, alias;
	struct gt_queue_hw *hw; /* as it was told in @hw_round; NULL: never */
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
 * @met: its process's first_ts, which tells it from others that had its pid
 * @nth: of the ring's completions since the last clear, from 1 on, modulo 2^32: one that is missing
 *	in the history was not recorded, or its job not known
 * @dep: for gt_depend_get(): what it waited for; 0: nothing that is known
 *
 * Times that are not known are GT_NONE64.
 */
struct gt_finished {
	uint64_t end, ctx, seqno;
	uint64_t queue, hw_wait, exec, complete, gpu_wait, ioctl, total;
	uint64_t met;
	uint32_t pid, uid;
	uint16_t gpu, ring;
	char comm[16];
	uint32_t nth;
	uint64_t dep;
};

struct gt_model {
	pthread_mutex_t lock;
	struct gt_limits limits;
	uint64_t now;	  /* last time that is known to have passed, ns */
	bool wall;	  /* live: now is CLOCK_MONOTONIC; else it stands with the recording */
	uint64_t gen;	  /* changes with anything at all */
	uint64_t dir_gen; /* changes when a GPU, ring, queue or process comes or goes */
	uint64_t cleared; /* time of the last clear, or of the start */

	unsigned int ngpus;
	struct gt_gpu *gpus[GT_MAX_GPUS];

	struct gt_job *jobs;
	unsigned int njobs;

	unsigned int nprocs;	 /* in use */
	unsigned int proc_slots; /* slots to look at: 0 .. proc_slots-1, NULL where free */
	struct gt_proc **procs;
	uint64_t procs_refused;	 /* events of processes without an entry: there were too many */
	uint64_t prings_refused; /* jobs without statistics per process and ring, likewise */

	unsigned int nqueues;	  /* slots to look at */
	unsigned int free_queues; /* of which so many are free */
	struct gt_queue *queues[GT_MAX_QUEUES];
	uint64_t queues_refused; /* events of queues without an entry */
	uint64_t hw_round;	 /* how often it was told where queues are on the hardware */

	unsigned int nkernels;
	struct gt_kernel *kernels[GT_MAX_KERNELS];
	uint64_t kernel_bytes;	   /* of their names and texts */
	uint64_t kernels_refused;  /* descriptions for which there was no room */
	uint64_t counters_refused; /* readings, likewise */

	unsigned int ngroups; /* to look at; NULL where free; [0] is the cgroup all others are in */
	struct gt_group *groups[GT_MAX_GROUPS];
	unsigned int nusers, ncgroups;
	uint64_t users_refused;	  /* processes without a total for their user */
	uint64_t users_dropped;	  /* users whose total made room */
	uint64_t cgroups_refused; /* processes that count in a group above their own only */
	uint64_t cgroups_folded;  /* groups that made room: their totals are in those above */

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
/** gt_model_gpu_back() - it is there again: its statistics go on. Likewise. */
void gt_model_gpu_back(struct gt_model *m, struct gt_gpu *g);
/** gt_model_reading() - in place of what was read off before; false: no such GPU, or no memory. Ingest
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
/** gt_depend_get() - that of a job that ended, by gt_finished.dep; takes the lock. False: none, or
 *	GT_DEPS_KEPT other jobs that waited have ended since */
bool gt_depend_get(struct gt_model *m, uint64_t number, struct gt_dependency *d);

struct gt_proc *gt_model_proc(struct gt_model *m,
			      uint32_t pid); /* living, or the last dead; lock held */
struct gt_queue *gt_model_queue(struct gt_model *m, uint16_t gpu,
				uint32_t id); /* NULL none; lock held */
/**
 * gt_model_process() - tells who a pid is; makes the process if it is new. Lock held.
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
/** gt_model_not_here() - no process of this machine, as sim's: /proc will not tell of it. Lock held */
void gt_model_not_here(struct gt_model *m, struct gt_proc *p);
/** gt_model_exit() - process @slot ended. Lock held. */
void gt_model_exit(struct gt_model *m, uint32_t slot);
/** gt_model_user() - index of a user's group, GT_NONE32 none; lock held */
uint32_t gt_model_user(const struct gt_model *m, uint32_t uid);
/** gt_model_group() - group @i if it is still the same; NULL: it has gone. Lock held */
struct gt_group *gt_model_group(const struct gt_model *m, uint32_t i, uint64_t serial);

#define GT_WORK_BUSY   0x1 /* busy time by window, not only in total */
#define GT_WORK_STAGES 0x2
#define GT_WORK_USES   0x4 /* what was read off: engines and memory */
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
/** gt_sum() - of two, or the greatest there is */
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
 * gt_ring_busy_ns() - busy time of the @window before @now, with the job now running; lock held
 */
uint64_t gt_ring_busy_ns(const struct gt_model *m, const struct gt_ring *r, uint64_t now,
			 uint64_t window);
/** gt_engine_busy_ns() - the same of all rings of @g that feed engine @e, never counted twice */
uint64_t gt_engine_busy_ns(const struct gt_model *m, const struct gt_gpu *g, enum gt_engine e,
			   uint64_t now, uint64_t window);

/** gt_model_queue_hw() - where @q is on the hardware; NULL: not known now. Lock held */
static inline const struct gt_queue_hw *gt_model_queue_hw(const struct gt_model *m,
							  const struct gt_queue *q)
{
	return q->hw && q->hw_round == m->hw_round ? q->hw : NULL;
}

#endif
