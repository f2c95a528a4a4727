/* SPDX-License-Identifier: GPL-2.0 */
/* The parts of the daemon, as main.c puts them together and as files see them. */
#ifndef GT_APP_H
#define GT_APP_H

#include <stdatomic.h>

#include "../backend/host.h"
#include "../conf/config.h"
#include "access/quota.h"
#include "gate/gate.h"
#include "model/model.h"
#include "stream/stream.h"

struct gt_writelog; /* fs/tree/writelog.h: last_cmd_status and error_log */
struct gt_keep;	    /* fs/keep.h: settings that survive a remount */
struct gt_naming;   /* fs/naming.h: GPUs that come and go */

/**
 * struct gt_app - everything a file's show or store may need
 * @nodes: FUSE nodes alive; @quota: who holds how much of what readers share
 */
struct gt_app {
	struct gt_config *conf;
	struct gt_model *model;
	struct gt_gate *gate; /* guarded by model->lock */
	struct gt_log *log;
	struct gt_host_state *host;
	struct gt_writelog *writes;
	struct gt_naming *naming; /* NULL in a replay: this machine's devices say nothing */
	struct gt_keep *keep; /* NULL: nothing is kept */
	bool stopped;		  /* control: stop */
	bool simulated;		  /* sim0 stands in for a GPU */
	bool replay;
	uint64_t started; /* CLOCK_MONOTONIC */
	const char *mountpoint;
	int unguarded;	 /* errno: why parked reads keep the machine from suspending; 0 */
	bool unfiltered; /* this kernel has no seccomp filters: the daemon has none */
	struct gt_quota quota;
	_Atomic uint64_t nodes;
	_Atomic uint64_t snapshots; /* texts alive */
	_Atomic uint64_t snapshot_bytes;
};

/** gt_app_fresh() - before somebody looks: what backends count themselves is in the model. Any
 * thread, without the model's lock */
static inline void gt_app_fresh(struct gt_app *app)
{
	if (app->host)
		gt_host_fresh(app->host);
}

/** gt_app_look() - likewise, what backends read off when somebody looks (GT_LOOK_*). Return: false if
 * it is not, yet */
static inline bool gt_app_look(struct gt_app *app, unsigned int what)
{
	return !app->host || gt_host_look(app->host, what);
}

#endif
