/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Simulated GPUs. Jobs arrive as a Poisson stream at rings that serve one after the other; what is
 * drawn depends on the seed alone, so two runs with one seed differ in their start time only,
 * however often drain() is called. Times are simulated, and never later than now.
 */
#ifndef GT_SIM_H
#define GT_SIM_H

#include <stdio.h>

#include "../backend.h"

#define GT_SIM_MAX_GPUS	 16
#define GT_SIM_MAX_RINGS 64 /* of a GPU */
#define GT_SIM_MAX_PROCS 1024
#define GT_SIM_MAX_USERS 64
#define GT_SIM_INFLIGHT	 64	  /* jobs of a ring; what comes then is not submitted */
#define GT_SIM_HW_DEPTH	 4	  /* jobs handed over to a ring's hardware at a time */
#define GT_SIM_FIRST_PID 5000000u /* above the kernel's limit of 2^22: nobody's pid */
#define GT_SIM_PERIOD_NS 10000000ull /* between two drains while jobs come */
#define GT_SIM_BATCH	 65536	     /* records of one drain() */

/** struct gt_sim_options - see the table in sim.c */
struct gt_sim_options {
	int64_t seed, rate, gpus, rings, users, procs, jobs, first_uid;
	bool measured;
	char *truth;
};

/* rng.c: no libm, which a plugin would have to be linked with */

/** gt_sim_random() - 64 random bits; @state must not be 0 */
uint64_t gt_sim_random(uint64_t *state);
/** gt_sim_exponential() - exponentially distributed, of mean @mean; at least 1 */
uint64_t gt_sim_exponential(uint64_t *state, uint64_t mean);
/** gt_sim_duration() - close to lognormal, of mean @mean, from about an eighth to six times it */
uint64_t gt_sim_duration(uint64_t *state, uint64_t mean);

enum gt_sim_step {
	GT_SIM_SUBMIT,
	GT_SIM_COMMIT,
	GT_SIM_START,
	GT_SIM_END,
	GT_SIM_COMPLETE,
	GT_SIM_STEPS
};

/**
 * struct gt_sim_job - one job; all its times are known when it is submitted
 * @at: ns, for each step; START and END without `measured` are as a reader would infer them
 * @told: bit for each step whose record has been pushed
 */
struct gt_sim_job {
	uint64_t at[GT_SIM_STEPS];
	uint64_t ctx, seqno;
	uint32_t pid, uid, queue;
	uint16_t proc, gpu, ring;
	uint8_t told;
	bool failed;   /* an ERROR comes with its end */
	bool waiting;  /* a SYNC_WAIT_EXIT is still to come */
	uint64_t wait; /* when its process began to wait for it, 0 never */
};

/* truth.c: what really happened, as CSV, for tests */

struct gt_sim_truth;
/**
 * gt_sim_truth_open() - begins the file anew; never through a symbolic link
 *
 * Return: NULL after host->log() if it cannot be written: the simulation goes on without.
 */
struct gt_sim_truth *gt_sim_truth_open(struct gt_plugin *p, const char *path);
/** gt_sim_truth_job() - a row; what was not pushed yet, or is not measured, is empty */
void gt_sim_truth_job(struct gt_sim_truth *t, const struct gt_sim_job *j, const char *ring_name,
		      const char *comm, bool measured);
/** gt_sim_truth_event() - a row "#TYPE,…" for a record that is not of a job's steps */
void gt_sim_truth_event(struct gt_sim_truth *t, const union gt_record *r);
void gt_sim_truth_flush(struct gt_sim_truth *t);
void gt_sim_truth_close(struct gt_sim_truth *t);

/* gen.c */

struct gt_sim;

/**
 * gt_sim_new() - describes GPUs, rings, processes and queues to the host
 * @truth: gets all that is pushed, and becomes the simulation's; may be NULL
 * @t0: now
 *
 * Return: NULL if there is no memory, or the host has no room for the GPUs.
 */
struct gt_sim *gt_sim_new(struct gt_plugin *p, const struct gt_sim_options *o,
			  struct gt_sim_truth *truth, uint64_t t0);
void gt_sim_free(struct gt_sim *s);
/**
 * gt_sim_advance() - pushes what happened up to @now, at most about GT_SIM_BATCH records
 * @next: when it is to be called again (a time), 0: nothing will ever happen
 *
 * Return: records pushed.
 */
int gt_sim_advance(struct gt_sim *s, uint64_t now, uint64_t *next);
/** gt_sim_rate() - events per second from @now on */
void gt_sim_rate(struct gt_sim *s, uint64_t rate, uint64_t now);
/** gt_sim_pause() - nothing is submitted, what was goes on to its end; or submissions go on */
void gt_sim_pause(struct gt_sim *s, bool pause, uint64_t now);
void gt_sim_doctor(const struct gt_sim *s, char *buf, size_t len);

/* world.c: what is simulated; used by gen.c */

/** struct gt_sim_ring - @ends: completions of its last jobs handed over, by number */
struct gt_sim_ring {
	uint16_t gpu, id;    /* the host's numbers */
	unsigned int weight; /* share of the jobs */
	unsigned int load;   /* percent of the time that it is to be busy */
	bool queues;	     /* its jobs come from user queues */
	char name[40];
	uint64_t mean;			/* of a job's execution, ns */
	uint64_t commit, end, complete; /* of the last job */
	uint64_t ends[GT_SIM_HW_DEPTH];
	uint64_t first, next; /* jobs in flight: numbers first .. next-1 */
	struct gt_sim_job jobs[GT_SIM_INFLIGHT];
};

/** struct gt_sim_queue - a process's compute queue on a GPU */
struct gt_sim_queue {
	uint32_t id;
	uint32_t inflight;
	bool mapped;
	bool renew; /* its owner will make another once no job is in it */
};

struct gt_sim_proc {
	uint32_t pid, uid;
	char comm[16];
};

/** struct gt_sim_world - rings[gpu * nrings + ring], queues[gpu * nprocs + proc], seqno[ring][proc]
 */
struct gt_sim_world {
	unsigned int ngpus, nrings, nprocs;
	unsigned int weights; /* of the rings of one GPU */
	struct gt_sim_ring *rings;
	struct gt_sim_proc *procs;
	struct gt_sim_queue *queues;
	uint64_t *seqno;
	uint32_t last_queue;
};

/** gt_sim_world_init() - names everything to the host; -ENOMEM, or -ENOSPC if the host has no room
 */
int gt_sim_world_init(struct gt_sim_world *w, struct gt_plugin *p, const struct gt_sim_options *o,
		      uint64_t t0);
void gt_sim_world_free(struct gt_sim_world *w);
/** gt_sim_world_load() - sets the rings' mean execution times for a rate of jobs per second */
void gt_sim_world_load(struct gt_sim_world *w, uint64_t jobs_per_s);
/** gt_sim_queue_new() - another id for the queue of @proc */
void gt_sim_queue_new(struct gt_sim_world *w, unsigned int gpu, unsigned int proc);
/** gt_sim_queue_record() - fills in a queue's record of @type */
void gt_sim_queue_record(const struct gt_sim_world *w, unsigned int gpu, unsigned int proc,
			 uint64_t ts, enum gt_type type, union gt_record *r);
/** gt_sim_queue_desc() - and the record that describes it */
void gt_sim_queue_desc(const struct gt_sim_world *w, unsigned int gpu, unsigned int proc,
		       uint64_t ts, union gt_record *r);

#endif
