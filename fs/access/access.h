/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Who sees what.
 *
 * pid_namespace.c   pids of processes in the PID namespaces below the daemon's own
 * caller.c          who calls, by /proc, and from that struct gt_view: what the caller may see
 * quota.c, quota.h  how much of what readers share each user may hold
 */
#ifndef GT_ACCESS_H
#define GT_ACCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "../../backend/event.h"

struct gt_app;

/*
 * PID namespaces. Only processes of namespaces below the daemon's own are kept: all others have one
 * pid. Safe from every thread; the model's lock may be held.
 */

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

/* What one caller may see. Made by gt_access_view(); fixed when a file is opened. */

enum gt_visibility { GT_VIS_ALL, GT_VIS_REDACTED, GT_VIS_OWNER };

/**
 * struct gt_view - what one caller may see
 * @all: root, the group or the mount's owner, in the daemon's own PID and user namespaces
 * @there: stands where root stands in @ns, which is another
 * @uid: the caller's
 * @groups: of those that settings may belong to, which it is in, see gt_access_in_group()
 * @pid: its thread group in the daemon's PID namespace, 0 unknown
 * @own_pid: the same as the caller itself knows it
 * @visibility: enum gt_visibility: what it sees of others
 * @ns: the caller's PID namespace: GT_PIDNS_OWN, GT_PIDNS_NONE or an id
 */
struct gt_view {
	bool all, there;
	uint32_t uid;
	uint32_t groups;
	uint32_t pid, own_pid;
	int visibility;
	uint64_t ns;
};

/** gt_view_nobody() - the view of an unknown caller: what everybody may see of rings and GPUs */
static inline struct gt_view gt_view_nobody(void)
{
	return (struct gt_view){ .uid = GT_NONE32,
				 .ns = GT_PIDNS_NONE,
				 .visibility = GT_VIS_OWNER };
}

/** gt_view_same() - is everything shown to both in the same way? */
static inline bool gt_view_same(const struct gt_view *a, const struct gt_view *b)
{
	return a->all == b->all && a->there == b->there && a->uid == b->uid &&
	       a->groups == b->groups && a->pid == b->pid && a->visibility == b->visibility &&
	       a->ns == b->ns;
}

/** gt_view_whole() - is nothing blanked, left out or translated for this caller? */
static inline bool gt_view_whole(const struct gt_view *v)
{
	return v->ns == GT_PIDNS_OWN && (v->all || v->visibility == GT_VIS_ALL);
}

/**
 * gt_view_pid() - a process's pid as the caller knows it; GT_NONE32: it has none there
 * @ts: when that was the process, as pids are used again
 */
static inline uint32_t gt_view_pid(const struct gt_view *v, uint32_t pid, uint64_t ts)
{
	return v->ns == GT_PIDNS_OWN ? pid : gt_pidns_pid(v->ns, pid, ts);
}

/**
 * gt_view_sees() - may this caller see the owner of the work?
 * @pid, @uid: of the owner, GT_NONE32 unknown; @ts: when
 *
 * What has no pid in the caller's PID namespace is another's, whatever its uid.
 */
static inline bool gt_view_sees(const struct gt_view *v, uint32_t pid, uint32_t uid, uint64_t ts)
{
	if (v->ns != GT_PIDNS_OWN && gt_pidns_pid(v->ns, pid, ts) == GT_NONE32)
		return false;
	return v->all || v->there || v->visibility == GT_VIS_ALL ||
	       (uid != GT_NONE32 && uid == v->uid);
}

/** gt_view_blanks() - are others' rows and events shown blanked? Else they are left out. */
static inline bool gt_view_blanks(const struct gt_view *v)
{
	return v->ns != GT_PIDNS_NONE &&
	       (v->visibility == GT_VIS_REDACTED || v->visibility == GT_VIS_ALL);
}

/* Who calls: what /proc says about a task, kept until the task ends. Session thread only. */

/**
 * struct gt_caller - a task that made a request
 * @tgid: its thread group in the daemon's PID namespace; @own_pid: in its own
 * @ns: its PID namespace, see gt_pidns_of()
 * @own_userns: it is in the daemon's user namespace
 * @there: it is root in its PID namespace, which is another: the kernel's root, or the root of the
 *	user namespace that the PID namespace belongs to
 * @groups: bit i: gids[i] of gt_caller_groups() is its group or among its supplementary ones
 */
struct gt_caller {
	uint32_t tgid, own_pid;
	uint64_t ns;
	bool own_userns, there;
	uint32_t groups;
};

#define GT_CALLER_GROUPS 32

/** gt_caller_groups() - the groups to look for, at most GT_CALLER_GROUPS; forgets all callers */
void gt_caller_groups(const gid_t *gids, unsigned int n);

/**
 * gt_caller_find() - what is known of a caller
 * @tid, @uid, @gid: as FUSE passes them; @tid 0: outside the daemon's PID namespace
 *
 * Some 15 us for the first request of a task, then one poll(2) of its pidfd. What it is may change
 * without its uid or gid changing (setgroups(2), setns(2)): that is not seen while the task is
 * known. One that is in no known PID namespace is looked at again after a second.
 *
 * Return: false if nothing can be known of it.
 */
bool gt_caller_find(uint32_t tid, uid_t uid, gid_t gid, struct gt_caller *c);

/** struct gt_caller_stats - @known: callers; @dropped: how often one had to make room */
struct gt_caller_stats {
	unsigned int known;
	uint64_t dropped;
};
/** gt_caller_stats() - any thread */
struct gt_caller_stats gt_caller_stats(void);

/* Parsers of /proc/<pid>/status and stat, for pid_namespace.c */
/**
 * gt_pidns_pids() - pids of the line @key, from the daemon's namespace on
 * Return: how many there are; more than @max if they are more than that, or unreadable
 */
unsigned int gt_pidns_pids(const char *status, const char *key, uint32_t *pids, unsigned int max);

/** gt_pidns_began() - CLOCK_MONOTONIC, of a start in ns since boot, which counts suspended time */
uint64_t gt_pidns_began(uint64_t start);

/* Who sees what: from a caller's uid, groups and namespaces to a view. */

/**
 * gt_access_init() - finds the group that stands where root stands, and the mount's owner
 * @gid: of mount option gid=, or -1: by name from the configuration
 */
void gt_access_init(struct gt_app *app, int64_t gid);
#define GT_ACCESS_GROUPS 32 /* with that of all settings, and the daemon's */

/** gt_access_add_group() - a setting may belong to @gid too; false: there are too many groups */
bool gt_access_add_group(gid_t gid);
/** gt_access_in_group() - is @v a member of @gid, which is one of those groups? */
bool gt_access_in_group(const struct gt_view *v, gid_t gid);
/** gt_access_gid() - the group of settings; 0 if it does not exist */
gid_t gt_access_gid(void);

/**
 * gt_access_view() - what a caller may see
 * @uid, @gid, @tid: as FUSE passes them: in the mounter's namespaces; @tid is a thread's, 0 for one
 *	outside
 */
struct gt_view gt_access_view(const struct gt_app *app, uid_t uid, gid_t gid, uint32_t tid);

/** gt_access_is_owner() - is @uid root, or the mount's owner? */
bool gt_access_is_owner(uid_t uid);

#endif
