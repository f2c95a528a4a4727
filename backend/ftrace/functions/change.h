/* SPDX-License-Identifier: GPL-2.0 */
/* A filter on its way to work: between functions.c, in the ingest thread, and change.c's thread. */
#ifndef GT_FTRACE_CHANGE_H
#define GT_FTRACE_CHANGE_H

#include "../internal.h"

#define FT_KALLSYMS "/proc/kallsyms"

/* NAMED: the table is made, and waits to be taken over before the first call can come. */
enum ft_stage { FT_NAMING, FT_NAMED, FT_TAKEN, FT_DONE };

/**
 * struct ft_change - what the thread is told, and what it answers
 * @want: to be at work; @old: is, or NULL; both are only read by the thread, but for @want's
 *	ft_word.hit
 * @lenient: as ft_tracer_filter()
 * @matched: where the number of functions goes, once it is known
 * @lock: guards @stage; what a stage is named after is finished then
 * @syms: from FT_NAMED on; who takes them over leaves NULL
 * @ret: 0 or -errno, with @err; from FT_DONE on
 */
struct ft_change {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t moved;
	enum ft_stage stage;
	_Atomic bool cancel;
	_Atomic long *matched;
	const char *dir;
	struct ft_filter *want;
	const struct ft_filter *old;
	struct ft_syms *syms;
	bool lenient;
	int ret;
	char err[400];
};

/** ft_change_begin() - starts the thread; -errno, then @c is still the caller's alone */
int ft_change_begin(struct ft_change *c);
enum ft_stage ft_change_stage(struct ft_change *c);
/** ft_change_wait() - waits FT_DRAIN_NS at most for the stage to leave @from; the stage then */
enum ft_stage ft_change_wait(struct ft_change *c, enum ft_stage from);
/** ft_change_move() - the stage is @to, which who waits for it is told */
void ft_change_move(struct ft_change *c, enum ft_stage to);
/** ft_change_end() - ends what still counts, and frees @c, which may be NULL */
void ft_change_end(struct ft_change *c);

#endif
