/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What files of several kinds of directory show: each looks at s->obj and shows the whole machine
 * (root), one GPU, one ring, one queue or one process.
 */
#ifndef GT_SHOWS_H
#define GT_SHOWS_H

#include "tree.h"

/* gpu.c, tables.c, stats.c */
int gt_show_gpus(struct gt_text *t, const struct gt_show *s);
int gt_show_rings(struct gt_text *t, const struct gt_show *s);
int gt_show_aggregate(struct gt_text *t, const struct gt_show *s);
int gt_show_perf(struct gt_text *t, const struct gt_show *s);
int gt_show_top(struct gt_text *t, const struct gt_show *s);
int gt_show_memory(struct gt_text *t, const struct gt_show *s);
int gt_show_events_by_type(struct gt_text *t, const struct gt_show *s);
int gt_show_errors(struct gt_text *t, const struct gt_show *s);
/* stats.c: the stages of a ring; of the root, those of each ring */
int gt_show_latency(struct gt_text *t, const struct gt_show *s);
int gt_show_latency_10s(struct gt_text *t, const struct gt_show *s);
/* kernel.c */
int gt_show_kernel_stats(struct gt_text *t, const struct gt_show *s);
/* report.c */
int gt_show_report(struct gt_text *t, const struct gt_show *s);
int gt_show_report_stats(struct gt_text *t, const struct gt_show *s);
int gt_show_timeline(struct gt_text *t, const struct gt_show *s);
int gt_show_timeline_stats(struct gt_text *t, const struct gt_show *s);
/* blame.c */
int gt_show_blame(struct gt_text *t, const struct gt_show *s);
int gt_show_blame_stats(struct gt_text *t, const struct gt_show *s);

/* tree.c: gt_file.gen for files that change with the object, and for a while with the clock */
uint64_t gt_gen_model(const struct gt_show *s);	 /* anything at all, and the clock while active */
uint64_t gt_gen_object(const struct gt_show *s); /* the object of s->obj, and each second while it
						  * was active in the last minute */
/** gt_gen_moving() - as gt_gen_object(), but the clock counts in steps of 50 ms: for windows that end at
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

/* kernel.c, stats.c; lock held for the first two */
struct gt_kernel *gt_obj_kernel(const struct gt_show *s);
/** gt_kernel_seen() - may @v know that there is this kernel? */
bool gt_kernel_seen(const struct gt_kernel *k, const struct gt_view *v);
bool gt_has_kernels(const struct gt_show *s); /* that the caller may see */
int gt_show_counters(struct gt_text *t, const struct gt_show *s);
bool gt_has_counters(const struct gt_show *s);

/* Keys of keyed files, and columns of tables, that directories of several kinds have */
#define GT_COUNTS_KEYS                                                                             \
	"submitted committed completed in_flight errors lost losses_uncounted given_up "           \
	"dropped_table_full begin_unseen ended_unseen waits wait_ns ioctls ioctl_ns"
#define GT_CALLS_KEYS	  "launches copies copy_bytes"
#define GT_DEPTH_KEYS	  "now avg peak"
#define GT_TYPES_COLUMNS  "type seen recorded per_second"
#define GT_ERRORS_COLUMNS "time_s gpu ring ctx seqno pid error"
#define GT_RINGS_COLUMNS                                                                           \
	"gpu ring name engine depth busy_percent submitted completed errors lost exec_source"
#define GT_AGGREGATE_COLUMNS                                                                       \
	"gpu ring name events avg_latency_ns min_latency_ns max_latency_ns avg_depth peak_depth "  \
	"start_s window_ns"
#define GT_COUNTERS_COLUMNS "counter readings sum min avg max"
#define GT_REPORT_COLUMNS                                                                          \
	"end_s gpu ring engine ctx seqno pid t_ioctl_ns t_queue_ns t_hw_wait_ns t_exec_ns "        \
	"t_cpu_wait_ns t_complete_ns reason t_reason_ns for_gpu for_ring for_seqno for_pid "       \
	"submit_s start_s total_ns blocked_by_pid comm blocked_by_comm"
#define GT_BLAME_COLUMNS                                                                           \
	"waiter_pid gpu ring blocked_by holder_pid wait_ns share_percent jobs reason waiter_comm " \
	"holder_comm"

#define GT_STATUS_KEYS                                                                             \
	"state level detaching uptime_s simulated events_seen events_recorded "                    \
	"events_filtered_level "                                                                   \
	"events_filtered events_sampled_out events_rate_limited events_over_share "                \
	"events_lost_source losses_uncounted readers reads_blocked unguarded gpus rings queues "   \
	"queues_refused counters_refused processes processes_refused over_share_* jobs_in_flight " \
	"jobs_given_up "                                                                           \
	"jobs_dropped_table_full jobs_begin_unseen jobs_ended_unseen memory_bytes model_bytes "    \
	"model_refused "                                                                           \
	"history_bytes history_unkept history_max_bytes hold_queue_bytes unrecorded_job_bytes "    \
	"snapshots snapshot_bytes nodes records_late daemon_cpu_ns ingest_cpu_ns pid_namespaces "  \
	"pid_namespaces_processes pid_namespaces_refused userdirs_refused callers_known "          \
	"callers_dropped users "                                                                   \
	"users_refused cgroups cgroups_refused cgroups_merged users_evicted users_with_handles "   \
	"names "                                                                                   \
	"names_in_use descriptors opens_waiting polls text_bytes *_over_quota "                    \
	"events_dropped_hold_full hold_queue_records sampling_mode sampling_percent "              \
	"sampling_cpu_percent"
#define GT_REPORT_STATS_KEYS   "rows older_rows_left_out"
#define GT_TIMELINE_STATS_KEYS "events duration_ns events_per_second older_events_left_out"
#define GT_BLAME_STATS_KEYS                                                                        \
	"from_s to_s jobs_finished jobs_in_flight jobs_without_record older_jobs_left_out "        \
	"jobs_in_flight_left_out waiters_left_out"

/* Files that directories of several kinds have alike */
#define GT_FILE_REPORT                                                                             \
	{                                                                                          \
		.name = "report", .mode = 0444, .flags = GT_FILE_VIEW | GT_FILE_LONG,              \
		.show = gt_show_report, .gen = gt_gen_history, .fields = GT_REPORT_COLUMNS,        \
		.help = "a row a finished job of the history, oldest first"                        \
	}
#define GT_FILE_BLAME(of)                                                                          \
	{                                                                                          \
		.name = "blame", .mode = 0444, .flags = GT_FILE_VIEW | GT_FILE_LONG,               \
		.show = gt_show_blame, .gen = gt_gen_moving, .fields = GT_BLAME_COLUMNS,           \
		.help = "whom jobs" of " waited for in the last 10 s"                              \
	}
#define GT_FILE_REPORT_STATS                                                                       \
	{                                                                                          \
		.name = "report_stats", .mode = 0444,                                              \
		.flags = GT_FILE_VIEW | GT_FILE_LONG | GT_FILE_KEYED,                              \
		.show = gt_show_report_stats, .gen = gt_gen_history,                               \
		.fields = GT_REPORT_STATS_KEYS,                                                    \
		.help = "rows that report has, and older ones that it leaves out"                  \
	}
#define GT_FILE_BLAME_STATS                                                                        \
	{                                                                                          \
		.name = "blame_stats", .mode = 0444,                                               \
		.flags = GT_FILE_VIEW | GT_FILE_LONG | GT_FILE_KEYED, .show = gt_show_blame_stats, \
		.gen = gt_gen_moving, .fields = GT_BLAME_STATS_KEYS,                               \
		.help = "what blame covers: time, jobs, and what it leaves out"                    \
	}
#define GT_FILE_EVENTS(object)                                                                     \
	{                                                                                          \
		.name = "events", .mode = 0444, .flags = GT_FILE_VIEW | GT_FILE_PIPE,              \
		.help = "records of this " object ", see gputrace-event(5)"                        \
	}
#define GT_FILE_TRACE(object)                                                                      \
	{                                                                                          \
		.name = "trace", .mode = 0444, .flags = GT_FILE_VIEW | GT_FILE_TPIPE,              \
		.help = "one line an event of this " object ", blocking"                           \
	}

/* Tables of files: gpu.c, queue.c, proc.c, root.c, settings.c */
extern const struct gt_file gt_root_files[], gt_config_files[], gt_backend_files[];
extern const struct gt_file gt_gpu_files[], gt_ring_files[], gt_queue_files[], gt_proc_files[];
extern const struct gt_file gt_group_files[], gt_kernel_files[];

#endif
