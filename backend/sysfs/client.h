/* SPDX-License-Identifier: GPL-2.0 */
/*
 * DRM clients: what processes have open of GPUs. scan.c finds them, client.c reads what they use. A
 * look reads those that were at work lately, and of the others some in turn.
 */
#ifndef GT_SYSFS_CLIENT_H
#define GT_SYSFS_CLIENT_H

#include <linux/capability.h>

#include "fdinfo.h"
#include "internal.h"

#define SF_CLIENTS  8192
#define SF_USERS    256
#define SF_SHARE    4 /* a user but root may have the fourth part of what is bounded for all */
#define SF_HEADS    4096
#define SF_AT_WORK  256 /* clients that a look reads of those at work lately, and of the others */
#define SF_IDLE	    32
#define SF_WARM	    8 /* looks without a change until a client is one of the others */
#define SF_GRAVES   64
#define SF_AGAIN_NS 1000000000ull /* between two looks at all processes, at least */
#define SF_RIGHTS                                                                                  \
	(1ull << CAP_DAC_READ_SEARCH) /* to open what /proc has for a process's user alone */

/**
 * struct sf_client - a client, as its first holder has it
 * @path: of its fdinfo below the root; @fd: that is open
 * @dev: index in sf.dev
 * @warm: looks until it counts as idle
 * @last: what it told last, at @at; @tells: anything yet
 * @user: index of whose it is
 * @since_begin: it was made after the daemon came: all of its work counts
 * @next: of the same hash, index + 1
 */
struct sf_client {
	uint64_t id;
	uint32_t pid;
	unsigned int number; /* of the descriptor */
	int fd;
	uint16_t dev, user;
	uint8_t warm;
	bool tells, since_begin;
	uint64_t at;
	uint32_t next;
	struct sf_fdinfo last;
};

/**
 * struct sf_user - what one user has had of what is bounded for all: else who has many processes,
 * descriptors or clients hides those of others
 * @processes, @fds: looked at in this scan; @clients, and of the compute driver @kfd (processes)
 * and @queues: that there are
 * @known: the place is taken; it is given to another when there is nothing of it left
 */
struct sf_user {
	uint32_t uid;
	bool known;
	unsigned int processes, fds, clients, kfd, queues;
};

/**
 * struct sf_scan - a look at all processes, a little at a time; @proc: NULL: none is under way
 * @pid: of a captured tree all, in order, @npid of them; @at: the next
 * @fds: of process @now, of @user, which is being looked at; @looked: descriptors of it
 * @processes, @left: looked at, and descriptors that may be
 */
struct sf_scan {
	DIR *proc, *fds;
	uint32_t *pid, now;
	unsigned int npid, at, looked, processes, left, steps;
	struct sf_user *user;
	uint64_t began, cost;
};

/** struct sf_grave - a client that ended, or changed hands: what was counted of it already */
struct sf_grave {
	uint64_t id, at;
	uint16_t dev;
	struct sf_fdinfo last;
};

/**
 * struct sf_clients - all of them
 * @found: clients by slot; NULL none. @n: slots looked at
 * @work, @idle: where the next look begins
 * @scanned: when all processes were looked at last; @due: when they are to be again, 0 never
 * @complete: all there were at the daemon's begin are known
 */
struct sf_clients {
	struct sf_client *c[SF_CLIENTS];
	unsigned int n, count, work, idle;
	uint32_t head[SF_HEADS];
	struct sf_grave grave[SF_GRAVES];
	unsigned int ngraves;
	int inotify;
	uint64_t scanned, due, cost;
	uint64_t looked;
	uint32_t pending[64];
	unsigned int npending;
	bool complete;
	struct sf_scan scan;
	struct sf_user user[SF_USERS]; /* the last one is of all that there is no room for */
	struct {
		uint64_t looks, reads, scans, processes, descriptors, cut, over, refused, ended,
			unseen_ns;
	} stats;
};

/* client.c */
struct sf_clients *sf_clients_new(void);
void sf_clients_free(struct sf_clients *cs);
/** sf_user() - what user @uid has had; good until something is counted, or the next call */
struct sf_user *sf_user(struct sf_clients *cs, uint32_t uid);
/** sf_user_of() - what the user who began @pid has had, whoever it acts as; likewise */
struct sf_user *sf_user_of(struct sf *sf, uint32_t pid);
/** sf_client_found() - process @pid of @user has descriptor @number open, of the device of index
 * @dev
 */
void sf_client_found(struct sf *sf, struct sf_user *user, uint32_t pid, unsigned int number,
		     uint16_t dev, const char *path);
/** sf_clients_read() - what they use now: some of them, see above */
void sf_clients_read(struct sf *sf);
/** sf_clients_forget() - the devices are others: all are to be found again */
void sf_clients_forget(struct sf *sf);

/** sf_uid() - real user of @pid; GT_NONE32: not to be had */
uint32_t sf_uid(const struct sf *sf, uint32_t pid);
/** sf_tell() - hands @u over, with who it is in a captured tree */
void sf_tell(struct sf *sf, struct gt_usage *u);

/* scan.c */
/** sf_scan_start() - listens to who opens a GPU */
void sf_scan_start(struct sf *sf);
void sf_scan_stop(struct sf *sf);
/** sf_scan_heard() - reads what was heard; true: somebody opened one */
bool sf_scan_heard(struct sf *sf);
/** sf_scan_process() - looks what @pid has open */
void sf_scan_process(struct sf *sf, uint32_t pid);
/** sf_scan_begin() - all processes are to be looked at, from the first on */
void sf_scan_begin(struct sf *sf);
/** sf_scan_on() - goes on with that until @until, CLOCK_MONOTONIC; true: all have been */
bool sf_scan_on(struct sf *sf, uint64_t until);
/** sf_scan_end() - it is given up */
void sf_scan_end(struct sf *sf);

#endif
