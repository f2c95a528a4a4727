/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the files of GPUs, rings, queues and processes are put together from: cells of tables, lines
 * of statistics, and copied names for those that walk the history without the model's lock.
 */
#ifndef GT_LINES_H
#define GT_LINES_H

#include "shows.h"

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

#endif
