/* SPDX-License-Identifier: GPL-2.0 */
/* The plugin's state, for play.c and watch.c. */
#ifndef GT_ROCPROF_PLAY_H
#define GT_ROCPROF_PLAY_H

#include "internal.h"

/**
 * struct rp - the plugin
 * @index: of the child's files: ours
 * @reading: there is a child; @ended: of a recording: it has been read
 * @dirty: when to look through the folders, 0: nothing has changed
 * @turn: which file is asked first whether it is to be read
 * @again: no reader could begin, and none is tried before; @full: it was told that too many hang
 */
struct rp {
	struct gt_plugin *p;
	struct rp_files files;
	struct rp_teller *teller;
	struct rp_child child;
	uint16_t index[RP_FILES];
	bool reading, ended, full;
	uint64_t dirty, again;
	unsigned int turn;
};

/** rp_hear() - what has come of the child: records; @waits: nothing more yet */
int rp_hear(struct rp *r, bool *waits);

/* watch.c */
int rp_watch_start(struct rp *r);
int rp_watch_drain(struct rp *r);
/** rp_watch_soon() - looks through them after a moment: more may be to come */
int rp_watch_soon(struct rp *r);
/** rp_watch_look() - looks through the folders at once */
int rp_watch_look(struct rp *r);

#endif
