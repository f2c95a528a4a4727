/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What files of the tree share with each other, and with no other folder: names, inode numbers and
 * owners of objects; tables and lines that several kinds of directory show; settings; directories
 * that users make. tree.h has the map of the folder.
 */
#ifndef GT_TREE_INTERNAL_H
#define GT_TREE_INTERNAL_H

#include "../../backend/host/host.h"
#include "tree.h"

/* A file's name with its NUL; a name of up to 40 bytes, each as %NN, fits */
#define GT_NAME_MAX 256

/**
 * gt_obj() - an object with every field it does not use at its neutral value
 * @gpu, @ring: GT_NONE16 where the kind has none
 */
struct gt_obj gt_obj(enum gt_dir_kind kind, uint16_t gpu, uint16_t ring, uint32_t id);
struct gt_obj gt_obj_of_proc(enum gt_dir_kind kind, uint16_t gpu, const struct gt_proc *p);

/**
 * gt_ino() - inode number of a directory (@index 0) or of thing number @index - 1 in it
 *
 * 63 bits: who (slot and pid of a process, ring, queue or backend), GPU, kind, index. The root
 * is 1.
 */
ino_t gt_ino(const struct gt_obj *dir, unsigned int index);
/** gt_ino_queue_link() - of the link to queue @queue (index in the model) in @dir */
ino_t gt_ino_queue_link(const struct gt_obj *dir, uint32_t queue);

/**
 * gt_name_escape() - a name from outside as a file name: `/`, `%`, control characters and bytes
 *	that are not ASCII become %NN, likewise the first dot of "." and ".."; "" becomes "%"
 */
void gt_name_escape(char out[GT_NAME_MAX], const char *name, size_t max);

/** gt_tree_owner() - who owns what no process owns: the daemon's user, and the group that may write
 */
void gt_tree_owner(uid_t *uid, gid_t *gid);

/**
 * gt_tree_enter() - gt_tree_entry() for a caller who wants to look inside. Takes the model's lock
 * Return: 0, -ENODEV if it has gone, -ENOENT if it is hidden, -EACCES if it is only closed
 */
int gt_tree_enter(struct gt_app *app, const struct gt_obj *dir, const struct gt_view *v,
		  struct gt_entry *out);

/** gt_queue_seen() - is the directory of @q there for @v? Model's lock held */
bool gt_queue_seen(struct gt_model *m, const struct gt_queue *q, const struct gt_view *v);
/** gt_proc_seen() - likewise of a process */
bool gt_proc_seen(const struct gt_proc *p, const struct gt_view *v);
/** struct gt_group_set - groups by index */
struct gt_group_set {
	uint64_t bit[GT_MAX_GROUPS / 64 + 1];
};
static inline bool gt_group_set_has(const struct gt_group_set *set, uint32_t i)
{
	return set->bit[i / 64] >> (i % 64) & 1;
}
/** gt_group_seen() - the groups with directories for @v. Model's lock held */
void gt_group_seen(const struct gt_model *m, const struct gt_view *v, struct gt_group_set *set);
/** gt_group_name() - name of a cgroup's directory; false: too long, it has none. Lock held */
bool gt_group_name(const struct gt_group *g, char out[GT_NAME_MAX]);
struct gt_obj gt_obj_of_group(const struct gt_model *m, uint32_t i);
/** gt_proc_on_ring() - has it used a ring of @gpu? GT_NONE16: of any. Model's lock held */
bool gt_proc_on_ring(const struct gt_proc *p, uint16_t gpu);

/**
 * gt_queue_link() - name and target of the link to @q in a process's queues directory
 * @gpu: of that directory; GT_NONE16: below the root, where names include the GPU
 * Return: false if @q is not of @pid, or not of @gpu. Model's lock held
 */
bool gt_queue_link(const struct gt_model *m, const struct gt_queue *q, uint16_t gpu, uint32_t pid,
		   char name[GT_NAME_MAX], char target[256]);

#define GT_GPU_IDS 5 /* names that a GPU may have in by-id/ */
/**
 * gt_gpu_link() - link number @i of by-id/: GPU number @i / GT_GPU_IDS by one of its names
 * Return: false if there is none of that number. Model's lock held
 */
bool gt_gpu_link(const struct gt_model *m, uint32_t i, char name[GT_NAME_MAX], char target[256]);

/** struct gt_subdir - a directory of a fixed name; @exists: NULL: it is always there */
struct gt_subdir {
	const char *name;
	enum gt_dir_kind kind;
	bool (*exists)(const struct gt_show *s);
};
/** gt_tree_subdirs - by kind of the directory they are in; each ends with a NULL name */
extern const struct gt_subdir *const gt_tree_subdirs[GT_NDIRS];
/** gt_subdir_obj() - the object of @sub in @dir */
struct gt_obj gt_subdir_obj(const struct gt_obj *dir, const struct gt_subdir *sub);

/** gt_backend_good_name() - may a file of a backend's have that name? */
bool gt_backend_good_name(const char *name);
/** gt_option_visible() - does option @o of a backend show as a file? */
bool gt_option_visible(const struct gt_option *o);
struct gt_backend_info;
/**
 * gt_backend_own() - the @i'th file that a backend itself brings: its options, then its texts
 * @dyn, @name: describe it; an empty name: there is one, but it does not show
 * Return: false after the last
 */
bool gt_backend_own(const struct gt_backend_info *info, unsigned int i, struct gt_file *dyn,
		    char name[64]);

/*
 * What files of several kinds of directory show: each looks at s->obj and shows the whole machine
 * (root), one GPU, one ring, one queue or one process.
 */

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

/*
 * What the files of GPUs, rings, queues and processes are put together from: cells of tables, lines
 * of statistics, and copied names for those that walk the history without the model's lock.
 */

#define GT_ROWS_MAX 200000 /* of a report or a timeline; what is older is counted in a line */
#define GT_SEC	    1000000000ULL
#define GT_READ_NS  (GT_SEC / 4) /* so long a text of what is read off may be shown again */

/** enum gt_see - how much of a process's work a caller is shown: whole, blanked, or not at all */
enum gt_see { GT_SEE_WHOLE, GT_SEE_BLANK, GT_SEE_NOT };
/* @pid, @uid: of the owner of the work; @ts: when */
static inline enum gt_see gt_see(const struct gt_view *v, uint32_t pid, uint32_t uid, uint64_t ts)
{
	if (gt_view_sees(v, pid, uid, ts))
		return GT_SEE_WHOLE;
	return gt_view_blanks(v) ? GT_SEE_BLANK : GT_SEE_NOT;
}

/* tables.c: each cell puts a blank before itself unless it begins a line; unknown is "-" */
void gt_cell(struct gt_text *t, const char *s); /* our own words: as they are; NULL: unknown */
void gt_cell_word(struct gt_text *t, const char *s, size_t max); /* from outside: escaped */
void gt_cell_u64(struct gt_text *t, uint64_t v);		 /* GT_NONE64: unknown */
void gt_cell_u32(struct gt_text *t, uint32_t v);		 /* GT_NONE32: unknown */
void gt_cell_ring(struct gt_text *t, uint16_t ring);		 /* "ring0", as the directory */
void gt_cell_ratio(struct gt_text *t, uint64_t n, uint64_t d);	 /* n / d, "1.23"; d 0: unknown */
/* @ns of @window, "12.34"; 0 or GT_NONE64: unknown */
void gt_cell_percent(struct gt_text *t, uint64_t ns, uint64_t window);
void gt_cell_time(struct gt_text *t, uint64_t ts);
void gt_time(struct gt_text *t, uint64_t ts); /* "12.000345678", nothing before it */
/* lines and words of what may be unknown, GT_NONE64: then there is none */
void gt_known_kv(struct gt_text *t, const char *key, uint64_t v);  /* gt_text_kv() */
void gt_known_gkv(struct gt_text *t, const char *key, uint64_t v); /* gt_text_gkv() */
/** gt_percent() - thousandths of a percent of @ns within @window, at most 100 % */
uint64_t gt_percent(uint64_t ns, uint64_t window);

/**
 * struct gt_names - a copy of all names, so that formatting needs no lock
 * @proc: by pid, one each, the living before the dead
 */
struct gt_names {
	unsigned int ngpus;
	struct {
		char name[16], driver[16];
		unsigned int nrings;
		struct gt_name_ring {
			char name[40];
			enum gt_engine engine;
			bool work; /* see gt_ring.work */
		} * ring;
	} gpu[GT_MAX_GPUS];
	size_t nprocs;
	struct gt_name_proc {
		uint32_t pid, uid;
		uint64_t first_ts;
		bool dead;
		char comm[16];
	} * proc;
	char custom[7][32];
	unsigned int nfunctions;
	char (*function)[GT_FUNCTION_NAME]; /* by id */
	unsigned int nkernels;
	char (*kernel)[GT_KERNEL_DIR]; /* by id: names of their directories */
};

/** gt_names_take() - copies; locks for each GPU and for some processes at a time. NULL: no memory
 */
struct gt_names *gt_names_take(struct gt_model *m);
void gt_names_free(struct gt_names *n);
static inline void gt_names_freep(struct gt_names **n)
{
	gt_names_free(*n);
}
/* What is not known gives NULL. */
const char *gt_names_gpu(const struct gt_names *n, uint16_t gpu);
const struct gt_name_ring *gt_names_ring(const struct gt_names *n, uint16_t gpu, uint16_t ring);
/** gt_was() - was it process @uid, first seen at @first_ts, that had event @e's pid then? */
static inline bool gt_was(uint32_t uid, uint64_t first_ts, const struct gt_event *e)
{
	return first_ts <= e->ts && (e->uid == GT_NONE32 || e->uid == uid);
}
const char *gt_names_comm(const struct gt_names *n, const struct gt_event *e);
/** gt_names_value() - what a FUNCTION's value is, the command of an IOCTL_ENTER, a DISPATCH's kernel */
const char *gt_names_value(const struct gt_names *n, const struct gt_event *e);

/** struct gt_ring_set - rings by GPU and number */
struct gt_ring_set {
	uint64_t bit[GT_MAX_GPUS][GT_MAX_RINGS / 64];
};
struct gt_ring_key {
	uint16_t gpu, ring;
};
/** gt_ring_set_next() - the first member from @k on; false if there is none */
bool gt_ring_set_next(const struct gt_ring_set *set, struct gt_ring_key *k);
/** gt_ring_set_of() - rings that @p used; of GPU @gpu, GT_NONE16: of any. Lock held */
void gt_ring_set_of(struct gt_ring_set *set, const struct gt_proc *p, uint16_t gpu);
/** gt_proc_ring_at() - what @p did on a ring, or NULL. Lock held */
const struct gt_proc_ring *gt_proc_ring_at(const struct gt_proc *p, struct gt_ring_key k);

/* Walking rings; s->obj is the root or a GPU. */
struct gt_ring_pos {
	unsigned int gpu, ring;
};
/** gt_ring_next() - ring at @p, which moves on; NULL at the end. Model's lock held. */
struct gt_ring *gt_ring_next(const struct gt_show *s, struct gt_ring_pos *p);

/* stats.c */
/** gt_ring_reports() - can the ring's source measure this stage? True while nothing is known of it yet.
 * Lock held. */
bool gt_ring_reports(const struct gt_ring *r, enum gt_stage_id st);
/* Columns of a stage */
#define GT_STAGE_COLUMNS "stage count total_ns avg_ns p50_ns p90_ns p99_ns max_ns"
/**
 * gt_stage_row() - the cells of these columns, and the end of the row
 * @sum: NULL: the source does not report this stage
 */
void gt_stage_row(struct gt_text *t, enum gt_stage_id st, const struct gt_summary *sum);
int gt_show_ring_histogram(struct gt_text *t, const struct gt_show *s);

/* stats.c */
/** struct gt_util - busy time of the last 1, 10 and 60 s, as far as they were observed, and of all
 * times; GT_NONE64: not known */
struct gt_util {
	uint64_t ns[3], observed[3], total;
};
/** gt_util_of() - of one struct gt_busy, which nobody writes meanwhile; @e: of its ring, where only since and
 * pauses count */
struct gt_util gt_util_of(const struct gt_model *m, const struct gt_busy *b, struct gt_extent e,
			  uint64_t now);
/** gt_util_running() - likewise, with what runs since @since, which is not in it yet */
struct gt_util gt_util_running(const struct gt_model *m, const struct gt_busy *b,
			       struct gt_extent e, uint64_t since, uint64_t now);
/** gt_util_use() - gt_util_of() of what is read off of processes */
struct gt_util gt_util_use(const struct gt_model *m, const struct gt_busy *b, uint64_t now);
/** gt_rate_observed() - gt_types_rate() in the part of the @window that was observed; false: less than a
 * second of a window that slides */
bool gt_rate_observed(const struct gt_model *m, const struct gt_typecount *c,
		      const struct gt_pauses *pauses, unsigned int type, uint64_t now,
		      unsigned int window, uint64_t *rate);
/** gt_table_window() - what tables are of: the last 10 s, or the whole recording */
uint64_t gt_table_window(const struct gt_model *m);
/* Columns of busy time */
#define GT_UTIL_COLUMNS "avg1_percent avg10_percent avg60_percent total_ns source"
/** gt_util_row() - the cells of these columns, and the end of the row; of no observed time no
 * average is known. @source: what the time was taken from */
void gt_util_row(struct gt_text *t, const struct gt_util *u, const char *source);
/** gt_ring_source() - what a ring's busy time is taken from */
static inline const char *gt_ring_source(const struct gt_ring *r)
{
	return r->work ? "dispatches" : "scheduler";
}
/** gt_util_engine() - of all rings of @g that feed engine @e; lock held */
struct gt_util gt_util_engine(const struct gt_model *m, const struct gt_gpu *g, enum gt_engine e,
			      uint64_t now);
/** gt_util_ring() - of a ring, with the job now running; lock held */
struct gt_util gt_util_ring(const struct gt_model *m, const struct gt_ring *r, uint64_t now);

#define GT_REPORTS_COMMITS    0x1
#define GT_REPORTS_WAITS      0x2
#define GT_REPORTS_IOCTLS     0x4
#define GT_REPORTS_CALLS      0x8
#define GT_REPORTS_JOBS	      0x10 /* ends of jobs */
#define GT_REPORTS_NO_ENDS    0x40 /* of some jobs not when they end: what is in flight is not known */
#define GT_REPORTS_NO_SUBMITS 0x80 /* of some jobs not that they were submitted */
#define GT_REPORTS_SUBMITS    0x20 /* their submission, how many are in flight, and what goes wrong */
/** gt_reported() - which counters some source reports: a 0 among these is a true 0. Lock held. */
unsigned int gt_reported(const struct gt_model *m);
/** gt_ring_timed() - is it known how long the ring was busy? Lock held */
static inline bool gt_ring_timed(const struct gt_ring *r)
{
	return (!r->work || r->measured) && !gt_ring_lacks_ends(r) && !gt_ring_lacks_commits(r) &&
	       (gt_ring_sees_hw(r) || !r->counts.submitted);
}
/** gt_reported_ring() - GT_REPORTS_JOBS and GT_REPORTS_SUBMITS, as far as the source of ring @r reports them. Lock held. */
unsigned int gt_reported_ring(const struct gt_ring *r);
/** gt_counts_lines() - flat-keyed; what is 0 and not in @reported is left out
 * @inflight: GT_NONE64 if not known */
void gt_counts_lines(struct gt_text *t, const struct gt_counts *c, unsigned int reported,
		     uint64_t inflight);
/** gt_call_lines() - what was asked of runtimes; likewise */
void gt_call_lines(struct gt_text *t, const struct gt_counts *c, unsigned int reported);
/** gt_depth_lines() - of observed time only; of none there is no average. @pauses: of its ring, or NULL */
void gt_depth_lines(struct gt_text *t, const struct gt_model *m, const struct gt_depth *d,
		    const struct gt_pauses *pauses, uint64_t now);
int gt_show_throughput(struct gt_text *t, const struct gt_show *s);

/* proc.c: rows of `utilization` and `memory` that come from /proc/<pid>/fdinfo. All take the lock */
#define GT_MEMORY_COLUMNS                                                                          \
	"gpu region total_bytes resident_bytes shared_bytes active_bytes purgeable_bytes"
/** gt_gpu_engine_rows() - of all processes of a GPU */
void gt_gpu_engine_rows(struct gt_text *t, const struct gt_show *s);

/* report.c */
#define GT_FLIGHT_ROWS 64 /* jobs copied under one lock */
/**
 * struct gt_flying - a job in flight, copied
 * @running: the hardware is at work on it, reported or inferred
 * @uid: of the owner, as far as it is known
 * @first_ts: its process's first_ts, GT_NONE64 unknown
 * @dep: what it waits for
 */
struct gt_flying {
	struct gt_job job;
	struct gt_dependency dep;
	bool running;
	uint32_t uid;
	uint64_t first_ts;
	char comm[16];
};
/**
 * struct gt_flight - a place in a ring's list of jobs in flight that outlives the lock
 * @idx: the last job taken, GT_NONE32 none; @seen, @ctx, @seqno say who it was
 * @after: jobs first seen up to then have been passed
 * @running: the one that runs has been passed (where that is inferred, not reported)
 */
struct gt_flight {
	uint32_t idx;
	uint64_t seen, ctx, seqno;
	uint64_t after;
	bool running;
};
#define GT_FLIGHT_BEGIN                                                                            \
	{                                                                                          \
		.idx = GT_NONE32                                                                   \
	}
/** gt_flight_take() - the next jobs, oldest first; lock held. Return: how many; @more: there may be
 * others, though none was copied */
int gt_flight_take(const struct gt_model *m, const struct gt_ring *r, struct gt_flight *w,
		   struct gt_flying out[GT_FLIGHT_ROWS], bool *more);
int gt_show_jobs(struct gt_text *t, const struct gt_show *s);
uint64_t gt_gen_jobs(const struct gt_show *s);

/* tree.c */
uint64_t gt_gen_depth(const struct gt_show *s);
/** gt_gen_mix() - one number of two: differs if either does */
uint64_t gt_gen_mix(uint64_t gen, uint64_t other);

/* stats.c */
const char *gt_error_name(uint64_t code); /* NULL: none that we know */

/* report.c */
const char *gt_type_name(unsigned int type); /* an event's; NULL if it is none */

/* Files of the root about the daemon itself, not of GPUs. */

#ifndef GT_VERSION
#define GT_VERSION "unknown"
#endif

int gt_show_status(struct gt_text *t, const struct gt_show *s); /* status.c */
int gt_show_doctor(struct gt_text *t, const struct gt_show *s); /* status.c */
/**
 * gt_show_devices() - of doctor: devices that are no GPU of the tree, and why no GPU was found; root.c
 * @faults: those that should be one; where no GPU was found, all. Else those with which nothing is wrong
 */
void gt_show_devices(struct gt_text *t, struct gt_app *app, bool faults);
int gt_show_clocks(struct gt_text *t, const struct gt_show *s);		/* stats.c */
int gt_show_sampling_stats(struct gt_text *t, const struct gt_show *s); /* status.c */
int gt_show_filter_stats(struct gt_text *t, const struct gt_show *s);

/** gt_lost_lines() - so many events are lost, and so many losses are of a number that nobody knows
 */
void gt_lost_lines(struct gt_text *t, const char *indent, const char *key, uint64_t lost,
		   uint64_t uncounted);

/* Directories that users make in one of a backend's own: backends/<name>/<dir>/<made>/. */

/** gt_made_in() - name of the directory of backend @id in which users make others; false: it has
 * none */
bool gt_made_in(const struct gt_app *app, uint32_t id, char name[64]);
/** gt_made_seen() - may @v know what a user made? */
bool gt_made_seen(uint32_t uid, const struct gt_view *v);
/** gt_made_alive() - is what @dir means still there? */
bool gt_made_alive(const struct gt_app *app, const struct gt_obj *dir);
struct gt_obj gt_obj_of_made(uint32_t backend, const struct gt_userdir *m);
/** gt_made_name() - as the caller knows it: another user's has ~UID at its end, as each has names
 * of their own */
void gt_made_name(char out[GT_NAME_MAX], const struct gt_userdir *m, const struct gt_view *v);
/** gt_made_named() - what the caller calls @name in @dir; false: nothing that they see */
bool gt_made_named(const struct gt_app *app, const char *name, const struct gt_obj *dir,
		   const struct gt_view *v, struct gt_obj *out);
/** gt_userdir_file() - the @i'th file in @dir, as gt_backend_own() */
bool gt_userdir_file(const struct gt_app *app, const struct gt_obj *dir, unsigned int i,
		     struct gt_file *dyn, char name[64]);
/** gt_made_path() - "backends/NAME/DIR" of the directory that @dir is in, or is */
void gt_made_path(const struct gt_app *app, const struct gt_obj *dir, char *out, size_t len);

/*
 * Settings: a file of config/ is a key of gputrace.conf by the same name (conf/options.def), which
 * says its type, bounds and default. What it is now is in gt_app.conf, guarded by the model's lock.
 * A new one is a line in gt_config_files and, if its key does not say all, functions of its own.
 */

/** gt_setting() - what options.def says of the file; NULL: nothing */
const struct gt_conf_item *gt_setting(const char *name);

/** gt_store_report() - what came of @path (0 or -errno), in last_cmd_status and error_log of @v */
void gt_store_report(struct gt_app *app, const struct gt_view *v, const char *path,
		     const char *value, int ret, const char *sentence);

/* gt_file.show and .gen of such a setting */

/**
 * gt_setting_parse() - a number, yes-or-no or choice within its bounds
 * Return: 0, or -EINVAL or -ERANGE with the sentence: what the file takes
 */
int gt_setting_parse(const struct gt_show *s, const char *value, int64_t *out, char *err,
		     size_t len);
/** gt_setting_changed() - a file of config/ was written: profile and keep follow. @err: what there is
 * to say already; what could not be kept joins it */
void gt_setting_changed(const struct gt_show *s, char *err, size_t len);
/** gt_setting_set() - from now on it is that. Model's lock held */
void gt_setting_set(const struct gt_show *s, int64_t value);

#endif
