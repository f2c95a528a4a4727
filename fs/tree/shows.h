/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What files of several kinds of directory show: each looks at s->obj and tells of the whole
 * machine (root), one GPU, one ring, one queue or one process.
 */
#ifndef GT_SHOWS_H
#define GT_SHOWS_H

#include "tree.h"

/* tables.c, top.c, errors.c */
int gt_show_gpus(struct gt_text *t, const struct gt_show *s);
int gt_show_rings(struct gt_text *t, const struct gt_show *s);
int gt_show_aggregate(struct gt_text *t, const struct gt_show *s);
int gt_show_perf(struct gt_text *t, const struct gt_show *s);
int gt_show_top(struct gt_text *t, const struct gt_show *s);
int gt_show_events_by_type(struct gt_text *t, const struct gt_show *s);
int gt_show_errors(struct gt_text *t, const struct gt_show *s);
/* who.c: the file's name says which */
int gt_show_who(struct gt_text *t, const struct gt_show *s);
bool gt_has_who(const struct gt_show *s);
/* readings.c: what is read off a GPU when somebody looks; the file's name says which */
int gt_show_gauges(struct gt_text *t, const struct gt_show *s);
bool gt_has_gauges(const struct gt_show *s);
uint64_t gt_gen_uses(const struct gt_show *s);	 /* likewise, of a process */
uint64_t gt_gen_gauges(const struct gt_show *s); /* as gt_gen_moving(); the clock, if any are read */
/* uses.c: memory that a process holds, where it is read off */
int gt_show_proc_memory(struct gt_text *t, const struct gt_show *s);
bool gt_has_proc_memory(const struct gt_show *s);
int gt_show_proc_kfd(struct gt_text *t, const struct gt_show *s);
bool gt_has_proc_kfd(const struct gt_show *s);
/* slots.c: where a queue is on the hardware */
int gt_show_hqd(struct gt_text *t, const struct gt_show *s);
int gt_show_mqd(struct gt_text *t, const struct gt_show *s);
bool gt_has_slots(const struct gt_show *s);
uint64_t gt_gen_slots(const struct gt_show *s);
/* report.c, timeline.c */
int gt_show_report(struct gt_text *t, const struct gt_show *s);
int gt_show_timeline(struct gt_text *t, const struct gt_show *s);
int gt_show_blame(struct gt_text *t, const struct gt_show *s); /* blame.c */

/* gen.c: gt_file.gen for files that change with the object, and for a while with the clock */
uint64_t gt_gen_model(const struct gt_show *s);	 /* anything at all, and the clock while active */
uint64_t gt_gen_dirs(const struct gt_show *s);	 /* objects came or went */
uint64_t gt_gen_object(const struct gt_show *s); /* the object of s->obj, and each second while it
						  * was active in the last minute */
/** gt_gen_moving() - as gt_gen_object(), but the clock is told by 50 ms: for windows that end at
 * now */
uint64_t gt_gen_moving(const struct gt_show *s);
uint64_t gt_gen_object_only(const struct gt_show *s); /* the object alone: no clock in the text */
uint64_t gt_gen_history(const struct gt_show *s);     /* the log: report, timeline */

/* Objects by s->obj; model's lock held; NULL: gone */
struct gt_gpu *gt_obj_gpu(const struct gt_show *s);
struct gt_ring *gt_obj_ring(const struct gt_show *s);
struct gt_proc *gt_obj_proc(const struct gt_show *s);
/** gt_obj_known_proc() - likewise, if the caller may know all of it; else NULL, and @err says why:
 * -ENODEV or -EACCES */
const struct gt_proc *gt_obj_known_proc(const struct gt_show *s, int *err);
const struct gt_group *gt_obj_group(const struct gt_show *s);
struct gt_queue *gt_obj_queue(const struct gt_show *s);

bool gt_has_gpu_links(const struct gt_show *s); /* ids.c: has any GPU another name? */

/* kernel.c, counters.c; lock held for the first two */
struct gt_kernel *gt_obj_kernel(const struct gt_show *s);
/** gt_kernel_seen() - may @v know that there is this kernel? */
bool gt_kernel_seen(const struct gt_kernel *k, const struct gt_view *v);
bool gt_has_kernels(const struct gt_show *s); /* that the caller may see */
uint64_t gt_gen_kernel(const struct gt_show *s);
int gt_show_counters(struct gt_text *t, const struct gt_show *s);
bool gt_has_counters(const struct gt_show *s);

/* Files that directories of several kinds have alike */
#define GT_FILE_REPORT                                                                             \
	{                                                                                          \
		.name = "report", .mode = 0444, .flags = GT_FILE_VIEW | GT_FILE_LONG,              \
		.show = gt_show_report, .gen = gt_gen_history,                                     \
		.help = "table: a row a finished job of the history, oldest first"                 \
	}
#define GT_FILE_BLAME(of)                                                                          \
	{                                                                                          \
		.name = "blame", .mode = 0444, .flags = GT_FILE_VIEW | GT_FILE_LONG,               \
		.show = gt_show_blame, .gen = gt_gen_moving,                                       \
		.help = "table: for whom jobs" of " waited in the last 10 s"                       \
	}
#define GT_FILE_EVENTS(whose)                                                                      \
	{                                                                                          \
		.name = "events", .mode = 0444, .flags = GT_FILE_VIEW | GT_FILE_PIPE,              \
		.help = "binary pipe of this " whose "'s records, see gputrace-event(5)"           \
	}
#define GT_FILE_TRACE(whose)                                                                       \
	{                                                                                          \
		.name = "trace", .mode = 0444, .flags = GT_FILE_VIEW | GT_FILE_TPIPE,              \
		.help = "text pipe: one line an event of this " whose ", blocking"                 \
	}

/* Tables of files: gpu.c, ring.c, queue.c, proc.c; root.c, settings.c, backends.c */
extern const struct gt_file gt_root_files[], gt_config_files[], gt_backend_files[];
extern const struct gt_file gt_gpu_files[], gt_ring_files[], gt_queue_files[], gt_proc_files[];
extern const struct gt_file gt_group_files[], gt_kernel_files[];

#endif
