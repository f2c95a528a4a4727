/* SPDX-License-Identifier: GPL-2.0 */
/* DRM clients: which processes have a GPU open, and what they use of it; see client.c. */
#ifndef GT_SYSFS_CLIENT_H
#define GT_SYSFS_CLIENT_H

#include <linux/capability.h>

#include "internal.h"

#define SF_FDINFO_MAX 8192 /* bytes that are read; amdgpu's have 1.5 KiB */

/** struct sf_engine - GT_NONE64 for unknown; @capacity 0 means 1 */
struct sf_engine {
	char name[GT_USE_NAME];
	uint64_t ns, cycles, total_cycles, max_hz;
	uint32_t capacity;
};

/** struct sf_fdinfo - /proc/PID/fdinfo/FD; @drm: of a DRM client; @id: GT_NONE64 for unknown */
struct sf_fdinfo {
	bool drm;
	uint64_t id;
	unsigned int nengines, nregions;
	struct sf_engine engine[GT_USE_ENGINES];
	struct gt_use_region region[GT_USE_REGIONS];
};

/** sf_fdinfo_parse() - @text may hold anything; invalid values are ignored */
void sf_fdinfo_parse(const char *text, struct sf_fdinfo *out);
/**
 * sf_engine_busy() - ns that an engine was busy for a client between two reads, @dt apart
 * @old: NULL: since the client was made
 *
 * By time if the driver reports that; else by cycles, of the engine's cycles or of its highest clock. 0
 * if the counter went back.
 */
uint64_t sf_engine_busy(const struct sf_engine *old, const struct sf_engine *now, uint64_t dt);

#define SF_CLIENTS  8192
#define SF_USERS    256
#define SF_SHARE    4 /* a user other than root gets at most a fourth of each limit */
#define SF_HEADS    4096
#define SF_AT_WORK  256 /* active clients that are read at a time, and idle ones */
#define SF_IDLE	    32
#define SF_WARM	    8 /* reads without a change until a client is idle */
#define SF_GRAVES   64
#define SF_AGAIN_NS 1000000000ull /* between two scans of all processes, at least */
#define SF_RIGHTS                                                                                  \
	(1ull                                                                                      \
	 << CAP_DAC_READ_SEARCH) /* to open files of /proc that only the process's user may open */

/**
 * struct sf_client - a client, in the first process that has it
 * @number: of the descriptor
 * @fd: its fdinfo, or -1: opened for each read
 * @dev: index in sf.dev
 * @user: index of its user
 * @warm: reads until it counts as idle
 * @emitted: something of it was emitted
 * @since_begin: it is newer than the daemon, so all of its work counts
 * @at, @last: time and content of the last read
 * @next: next of the same hash, index + 1
 */
struct sf_client {
	uint64_t id;
	uint32_t pid;
	unsigned int number;
	int fd;
	uint16_t dev, user;
	uint8_t warm;
	bool emitted, since_begin;
	uint64_t at;
	uint32_t next;
	struct sf_fdinfo last;
};

/**
 * struct sf_user - what one user takes of the limits, so that nobody hides the clients of others behind
 * many processes, descriptors or clients
 * @known: the entry is in use; it is given to another user when nothing is counted any more
 * @processes, @fds: scanned in this scan
 * @clients: DRM clients
 * @kfd, @queues: processes and queues of the compute driver
 */
struct sf_user {
	uint32_t uid;
	bool known;
	unsigned int processes, fds, clients, kfd, queues;
};

/**
 * struct sf_scan - a scan of all processes, done in steps
 * @proc: NULL if none is under way
 * @fds: descriptors of process @now, of @user
 * @pid: of a captured tree: all @npid processes in order, @at is the next one
 * @looked: scanned descriptors of this process
 * @processes: scanned processes
 * @left: descriptors that may still be scanned
 */
struct sf_scan {
	DIR *proc, *fds;
	uint32_t *pid, now;
	unsigned int npid, at, looked, processes, left, steps;
	struct sf_user *user;
	uint64_t began, cost;
};

/** struct sf_grave - a client that has ended or changed hands, and what was counted of it */
struct sf_grave {
	uint64_t id, at;
	uint16_t dev;
	struct sf_fdinfo last;
};

/**
 * struct sf_clients - all of them
 * @c: by slot, NULL for a free one; @n slots are in use or free
 * @work, @idle: slots where the next read begins
 * @scanned: when all processes were scanned last
 * @due: when they are to be scanned again, 0 never
 * @cost: ns that a scan takes
 * @looked: time of the last read
 * @pending: processes to be scanned, as another backend saw them
 * @complete: all clients that are older than the daemon are known
 * @user: the last entry is for all users without one of their own
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
	struct sf_user user[SF_USERS];
	struct {
		uint64_t looks, reads, scans, processes, descriptors, cut, over, refused, ended,
			unseen_ns;
	} stats;
};

struct sf_clients *sf_clients_new(void);
void sf_clients_free(struct sf_clients *cs);
/** sf_user() - the entry of @uid; valid until something is counted, or the next call */
struct sf_user *sf_user(struct sf_clients *cs, uint32_t uid);
/** sf_user_of() - likewise of the real user of process @pid */
struct sf_user *sf_user_of(struct sf *sf, uint32_t pid);
/** sf_clients_read() - reads the active clients, and some of the idle ones in turn */
void sf_clients_read(struct sf *sf);
/** sf_clients_forget() - drops all clients, as the devices have changed */
void sf_clients_forget(struct sf *sf);

/** sf_uid() - real user of @pid; GT_NONE32 if unknown */
uint32_t sf_uid(const struct sf *sf, uint32_t pid);
/** sf_emit_usage() - hands @u over, in a captured tree with the identity of the process */
void sf_emit_usage(struct sf *sf, struct gt_usage *u);

/** sf_scan_start() - watches device nodes, to notice when somebody opens a GPU */
void sf_scan_start(struct sf *sf);
void sf_scan_stop(struct sf *sf);
/** sf_scan_noticed() - did somebody open a GPU since the last call? */
bool sf_scan_noticed(struct sf *sf);
/** sf_scan_process() - scans the descriptors of process @pid */
void sf_scan_process(struct sf *sf, uint32_t pid);
/** sf_scan_begin() - starts a scan of all processes */
void sf_scan_begin(struct sf *sf);
/** sf_scan_continue() - goes on with it until @until, CLOCK_MONOTONIC; true: it is complete */
bool sf_scan_continue(struct sf *sf, uint64_t until);
/** sf_scan_end() - gives it up */
void sf_scan_end(struct sf *sf);

#endif
