/* SPDX-License-Identifier: GPL-2.0 */
/* The plugin's state, for play.c and watch.c. */
#ifndef GT_ROCPROF_PLAY_H
#define GT_ROCPROF_PLAY_H

#include "../lib/rate.h"
#include "internal.h"

#define RP_READERS  8		 /* processes that read at a time, each for another user */
#define RP_USERS    128		 /* with files in watched folders */
#define RP_QUICK_NS 200000000ull /* of CPU time: a reader's first moments, see watch.c */

/**
 * struct rp_user - an owner of files in watched folders
 * @turn: number of the last turn, 0: none yet
 * @rate: of rows; root has no bound
 * @quick: when the CPU time of first moments begins to be whole again, see watch.c
 * @left: a reader that was killed @left_at, and none begins before it has ended; 0: none
 * @strikes: readings that failed, less those since that did not; until @again none begins
 * @readings, @failed, @rows, @cpu_ns: so far; @waits: how often rows had to wait
 */
struct rp_user {
	uint32_t uid;
	bool used;
	uint64_t turn;
	struct gt_rate rate;
	uint64_t quick, again;
	pid_t left;
	uint64_t left_at;
	unsigned int strikes;
	uint64_t readings, failed, rows, cpu_ns, waits;
};

/**
 * struct rp_reader - a process that reads the files of one run, one at most for each user
 * @index: of its @n files: ours
 * @user: owner of these; NULL: of a recording
 * @begun: when it began
 * @on: there is such a process; @idle: it gets the CPU time that nobody else wants; @watched: its
 * pipe wakes us; @dry: its user may read no more rows before the next refill
 */
struct rp_reader {
	struct rp_child child;
	struct rp_said *said;
	uint16_t index[RP_FILES];
	unsigned int n;
	struct rp_user *user;
	uint64_t begun;
	bool on, idle, watched, dry;
};

/**
 * struct rp - the plugin
 * @reading: how many of @reader are on; a recording has one
 * @ended: of a recording: it has been read
 * @dirty: when to look through the folders, 0: nothing has changed; @next_look: when to do so though
 *	nothing was reported; @rests: not before
 * @more: readers have said more than was taken
 * @turns: so many were given
 * @paused: of a recording: rows wait, but up to @seek, where it @stood last; @held: the first is
 * @row, of @frame
 * @again: no reader could begin, and none is tried before; @full: it was reported that too many hang
 */
struct rp {
	struct gt_plugin *p;
	struct rp_files files;
	struct rp_emitter *emitter;
	struct rp_reader reader[RP_READERS];
	struct rp_user user[RP_USERS];
	unsigned int reading;
	bool ended, full, paused, held, more;
	uint64_t dirty, next_look, rests, again, seek, stood, turns;
	struct rp_frame frame;
	struct rp_row row;
};

/** rp_reader_begin() - has the files of @rd read, which are open in @s; 0 or -errno */
int rp_reader_begin(struct rp *r, struct rp_reader *rd, const struct rp_source *s);
/** rp_reader_end() - that process is no more; @failed: why, or NULL: it has read all */
void rp_reader_end(struct rp *r, struct rp_reader *rd, const char *failed);
/** rp_hear() - what has come of a reader, for @ns at most: records; @waits: nothing more yet */
int rp_hear(struct rp *r, struct rp_reader *rd, uint64_t ns, bool *waits);

/* watch.c */

/** rp_user_of() - the account of @uid; NULL: there are too many that read now */
struct rp_user *rp_user_of(struct rp *r, uint32_t uid);
/** rp_user_begins() - a reading of that user's begins: the seconds of CPU time that it may take,
 * of @most; @idle: none of them before others */
uint64_t rp_user_begins(struct rp *r, struct rp_user *u, uint64_t most, bool *idle);
/** rp_user_ended() - likewise it has ended, and took @cpu_ns */
void rp_user_ended(struct rp *r, struct rp_user *u, uint64_t cpu_ns, bool failed);
/** rp_user_may() - may another of the user's frames be taken @now, or a reading begin? rp_user_took(): one was */
bool rp_user_may(struct rp *r, struct rp_user *u, uint64_t now);
void rp_user_took(struct rp_user *u);
/** rp_over_share() - records of the user's for which the history had no room */
uint64_t rp_over_share(struct gt_plugin *p, uint32_t uid);
void rp_show_users(struct gt_plugin *p, char *buf, size_t len);

/* watch.c */
int rp_watch_start(struct rp *r);
int rp_watch_drain(struct rp *r);
/** rp_watch_soon() - looks through them after a moment: more may be to come */
int rp_watch_soon(struct rp *r);
/** rp_watch_look() - looks through the folders at once */
int rp_watch_look(struct rp *r);

#endif
