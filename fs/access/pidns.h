/* SPDX-License-Identifier: GPL-2.0 */
/*
 * PID namespaces below the daemon's own, and the pids that processes have in them. Only processes
 * of such namespaces are kept here: all others have one pid only. Safe from every thread; the
 * model's lock may be held.
 */
#ifndef GT_PIDNS_H
#define GT_PIDNS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define GT_PIDNS_OWN   0		/* the daemon's own */
#define GT_PIDNS_NONE  UINT64_MAX	/* not below it, or not known: no process has a pid there */
#define GT_PIDNS_NOW   (UINT64_MAX - 1) /* as a time */
#define GT_PIDNS_DEPTH 8		/* nested namespaces that are tracked */

enum {
#define GT_BOUND(id, what, key, all, user) GT_ALL_##id = (all), GT_USER_##id = (user),
#include "../shares.def"
#undef GT_BOUND
};

/**
 * gt_pidns_of() - the innermost PID namespace of a task
 * @tid: in the daemon's namespace; @status: what /proc/<tid>/status said just now
 *
 * Return: its id, never used again for another; GT_PIDNS_NONE if it is not known.
 */
uint64_t gt_pidns_of(uint32_t tid, const char *status);

/** gt_pidns_used() - marks @ns as used now. Return: false if it was dropped meanwhile, to make room for another */
bool gt_pidns_used(uint64_t ns);

/**
 * gt_pidns_owner_is() - does the namespace belong to user namespace @ino?
 * @ns: an id; @ino: of /proc/<pid>/ns/user
 */
bool gt_pidns_owner_is(uint64_t ns, uint64_t ino);

/**
 * gt_pidns_add() - from now on @pid is this process
 * @from: since when, CLOCK_MONOTONIC ns; @start: or if that is known, when it began, see
 *	gt_pidns_since(); 0
 * @status: its /proc/<pid>/status, NULL if it is gone already
 */
void gt_pidns_add(uint32_t pid, uint64_t from, uint64_t start, const char *status);

/**
 * gt_pidns_since() - when a process was there already
 * @start: its start, ns since boot, rounded down to clock ticks (proc(5))
 * Return: CLOCK_MONOTONIC, rounded up
 */
uint64_t gt_pidns_since(uint64_t start);

/**
 * gt_pidns_chain() - the namespaces below the daemon's own that process @pid is in
 * @ns: from the outermost on. Return: how many, 0 if it is in none of them
 */
unsigned int gt_pidns_chain(uint32_t pid, uint64_t ns[GT_PIDNS_DEPTH]);

/** gt_pidns_pid() - the pid in @ns of who was @pid at @ts; GT_NONE32: none */
uint32_t gt_pidns_pid(uint64_t ns, uint32_t pid, uint64_t ts);
/** gt_pidns_find() - who is @pid in @ns now, or was last; GT_NONE32: nobody */
uint32_t gt_pidns_find(uint64_t ns, uint32_t pid);

/**
 * gt_pidns_sweep() - lets go of namespaces that have ended; now and then
 * @now: CLOCK_MONOTONIC ns. Return: when it wants to be called next, at the latest
 */
uint64_t gt_pidns_sweep(uint64_t now);

/** struct gt_pidns_stats - @namespaces: held open; @refused: processes and namespaces there was no
 * room for */
struct gt_pidns_stats {
	unsigned int namespaces, processes;
	uint64_t refused;
};
struct gt_pidns_stats gt_pidns_stats(void);
/** gt_pidns_forget() - everything; for tests and the end */
void gt_pidns_forget(void);

/** struct gt_ended_space - a namespace that is held open: @ino of nsfs; @id is the caller's */
struct gt_ended_space {
	uint64_t ino, id;
	bool ended;
};

/**
 * gt_pidns_scan() - finds which of @n namespaces have ended by a look at every process
 * Return: false if the namespace of some process is not known; nothing is known then
 */
bool gt_pidns_scan(struct gt_ended_space *s, unsigned int n);

#endif
