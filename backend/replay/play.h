/* SPDX-License-Identifier: GPL-2.0 */
/* The state of a replay. */
#ifndef GT_REPLAY_PLAY_H
#define GT_REPLAY_PLAY_H

#include "../lib/callname.h"
#include "internal.h"

#define GT_REPLAY_BATCH 512
#define GT_REPLAY_SLEEP 1000000000u /* ns at most until drain() is called again: time goes on */

#define GT_CALL_RECORDS (GT_CALLNAME_RECORDS + 1)

/** struct gt_calls - calls of functions; @named: by number, those with emitted names */
struct gt_calls {
	bool named[GT_MAX_FUNCTIONS];
};

enum gt_replay_phase { GT_REPLAY_SCANS, GT_REPLAY_PLAYS, GT_REPLAY_ENDED };

/**
 * struct gt_replay - a replay
 * @speed: times real time, 0: as fast as it reads
 * @pos: time of the last record handed over; the greatest, and what the watermark says
 * @base_ts, @base_now: recording's time @base_ts was played at @base_now; @based: they are set
 * @seek: play up to there as fast as it reads; 0: no
 */
struct gt_replay {
	struct gt_plugin *p;
	struct gt_source *src;
	unsigned int n;
	enum gt_replay_phase phase;
	int level;
	double speed;
	uint64_t pos, base_ts, base_now, seek;
	bool based, paused, reported;
	struct gt_calls calls;
	unsigned int batched;
	union gt_record batch[GT_REPLAY_BATCH];
};

/* Recordings of CPUs with different clocks */
void gt_clocks_free(struct gt_source *s);

#endif
