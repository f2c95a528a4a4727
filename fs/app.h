/* SPDX-License-Identifier: GPL-2.0 */
/* The parts of the daemon, as main.c puts them together and as files see them. */
#ifndef GT_APP_H
#define GT_APP_H

#include <stdatomic.h>

#include "../backend/host/host.h"
#include "../conf/config.h"
#include "access/quota.h"
#include "gate/gate.h"
#include "model/model.h"
#include "stream/stream.h"

struct gt_writelog; /* fs/tree/tree.h: last_cmd_status and error_log */
struct gt_keep;	    /* fs/state_file.h: settings that survive a remount */
struct gt_writer;   /* fs/writer.h: opens files for writing */
struct gt_naming;   /* fs/gpu_names.h: GPUs that come and go */

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
	struct gt_keep *keep;	  /* NULL: nothing is kept */
	struct gt_writer *writer; /* NULL: none was started */
	bool stopped;		  /* control: stop */
	_Atomic uint64_t seeking; /* where a seek that is under way goes, plus 1; 0: none is */
	bool simulated;		  /* its GPUs are not real */
	bool replay;
	bool paced;	   /* … with speed=: readers of pipes begin where it plays */
	char history[128]; /* why that of a replay is in memory, and not whole; "" it is not */
	uint64_t started;  /* CLOCK_MONOTONIC */
	const char *mountpoint;
	int unguarded; /* errno: why parked reads keep the machine from suspending; 0 */
	_Atomic unsigned int no_slot; /* requests that wait and that the guard has no room for */
	bool unfiltered;	      /* this kernel has no seccomp filters: the daemon has none */
	struct gt_quota quota;
	_Atomic uint64_t nodes;
	_Atomic uint64_t snapshots; /* texts alive */
	_Atomic uint64_t snapshot_bytes;
};

/** gt_app_played() - is this a replay of which all is in the log? */
static inline bool gt_app_played(const struct gt_app *app)
{
	return app->replay && !(app->host && gt_host_replaying(app->host));
}

/** gt_app_look() - has backends read what they read on demand (@what: GT_REFRESH_*) into the model. Any
 * thread but that which serves the mount, without the model's lock. Return: false if that takes longer than a reader waits */
static inline bool gt_app_look(struct gt_app *app, unsigned int what)
{
	return !app->host || gt_host_refresh_sensors(app->host, what);
}

#endif
