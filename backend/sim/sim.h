/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Simulated GPUs. Jobs arrive as a Poisson process at rings that work on one after the other. What is
 * drawn depends on the seed alone: two runs with one seed differ in their start time only, however
 * often drain() is called. Times are simulated, and never later than now.
 */
#ifndef GT_SIM_H
#define GT_SIM_H

#include <stdio.h>

#include "../backend.h"

#define GT_SIM_MAX_GPUS	 16
#define GT_SIM_MAX_RINGS 64 /* of a GPU */
#define GT_SIM_MAX_PROCS 1024
#define GT_SIM_MAX_USERS 64
#define GT_SIM_INFLIGHT	 64	     /* jobs of a ring; no more are submitted then */
#define GT_SIM_HW_DEPTH	 4	     /* jobs handed over to a ring's hardware at a time */
#define GT_SIM_FIRST_PID 5000000u    /* above the kernel's limit of 2^22: no real process */
#define GT_SIM_PERIOD_NS 10000000ull /* between two drains while jobs come */
#define GT_SIM_BATCH	 65536	     /* records of one drain() */

/** struct gt_sim_options - see the table in sim.c */
struct gt_sim_options {
	int64_t seed, rate, gpus, rings, users, procs, jobs, first_uid;
	bool measured;
	char *truth;
};

struct gt_sim_truth;
/**
 * gt_sim_truth_open() - opens the file for the ground truth, which tests read; truncates it, and
 * follows no symbolic link
 *
 * Return: NULL after host->log() if it cannot be written: the simulation goes on without it.
 */
struct gt_sim_truth *gt_sim_truth_open(struct gt_plugin *p, const char *path);

struct gt_sim;

/**
 * gt_sim_new() - describes GPUs, rings, processes and queues to the host
 * @truth: gets all that is pushed, and belongs to the simulation from now on; may be NULL
 * @t0: now
 *
 * Return: NULL if there is no memory, or the host has no room for the GPUs.
 */
struct gt_sim *gt_sim_new(struct gt_plugin *p, const struct gt_sim_options *o,
			  struct gt_sim_truth *truth, uint64_t t0);
void gt_sim_free(struct gt_sim *s);
/**
 * gt_sim_advance() - pushes events up to @now, at most about GT_SIM_BATCH records
 * @next: gets the time of the next call, 0: nothing is to come
 *
 * Return: records pushed.
 */
int gt_sim_advance(struct gt_sim *s, uint64_t now, uint64_t *next);
/** gt_sim_rate() - events per second from @now on */
void gt_sim_rate(struct gt_sim *s, uint64_t rate, uint64_t now);
/** gt_sim_pause() - stops submissions (jobs in flight go on to their end), or resumes them */
void gt_sim_pause(struct gt_sim *s, bool pause, uint64_t now);
void gt_sim_doctor(const struct gt_sim *s, char *buf, size_t len);

#endif
