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

/** enum gt_see - how much of a process's work a caller is shown: whole, blanked, or not at all */
enum gt_see { GT_SEE_WHOLE, GT_SEE_BLANK, GT_SEE_NOT };
/* @pid, @uid: whose work; @ts: when */
static inline enum gt_see gt_see(const struct gt_view *v, uint32_t pid, uint32_t uid, uint64_t ts)
{
	if (gt_view_sees(v, pid, uid, ts))
		return GT_SEE_WHOLE;
	return gt_view_blanks(v) ? GT_SEE_BLANK : GT_SEE_NOT;
}

/* cells.c: each cell puts a blank before itself unless it begins a line; unknown is "-" */
void gt_cell(struct gt_text *t, const char *s); /* our own words: as they are; NULL: unknown */
void gt_cell_word(struct gt_text *t, const char *s, size_t max); /* from outside: escaped */
void gt_cell_u64(struct gt_text *t, uint64_t v);		 /* GT_NONE64: unknown */
void gt_cell_u32(struct gt_text *t, uint32_t v);		 /* GT_NONE32: unknown */
void gt_cell_ring(struct gt_text *t, uint16_t ring);		 /* "ring0", as the directory */
void gt_cell_ratio(struct gt_text *t, uint64_t n, uint64_t d);	 /* n / d, "1.23"; d 0: unknown */
void gt_cell_time(struct gt_text *t, uint64_t ts);
void gt_time(struct gt_text *t, uint64_t ts); /* "12.000345678", nothing before it */
/* lines and words of what may be unknown, GT_NONE64: then there is none */
void gt_known_kv(struct gt_text *t, const char *key, uint64_t v);  /* gt_text_kv() */
void gt_known_gkv(struct gt_text *t, const char *key, uint64_t v); /* gt_text_gkv() */
/** gt_pad() - blanks up to column @width, counted from byte @from of the text */
void gt_pad(struct gt_text *t, size_t from, size_t width);
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
/** gt_was() - was it process @uid, first met at @first_ts, that had event @e's pid then? */
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

/* latency.c */
/** gt_ring_tells() - can the ring's source tell this stage? True while nothing is known of it yet.
 * Lock held. */
bool gt_ring_tells(const struct gt_ring *r, enum gt_stage_id st);
extern const char *const gt_stage_names[GT_NSTAGES];
/** gt_stage_line() - "NAME count=9 min_ns=… 10s_count=…\n" */
void gt_stage_line(struct gt_text *t, const char *name, const struct gt_summary *all,
		   const struct gt_summary *last10);
int gt_show_ring_latency(struct gt_text *t, const struct gt_show *s);
int gt_show_ring_histogram(struct gt_text *t, const struct gt_show *s);

/* stats.c */
/** struct gt_util - busy time of the last 1, 10 and 60 s, and of all times */
struct gt_util {
	uint64_t ns[3], total;
};
extern const uint64_t gt_util_windows[3];
/** gt_util_of() - of one struct gt_busy; lock held */
struct gt_util gt_util_of(const struct gt_busy *b, uint64_t now);
/** gt_util_avgs() - " avg1=0.00 avg10=0.00 avg60=0.00 total_ns=0\n" */
void gt_util_avgs(struct gt_text *t, const struct gt_util *u);
/** gt_util_ring() - of a ring, with the job now running; lock held */
struct gt_util gt_util_ring(const struct gt_model *m, const struct gt_ring *r, uint64_t now);

#define GT_TOLD_COMMITS 0x1
#define GT_TOLD_WAITS	0x2
#define GT_TOLD_IOCTLS	0x4
#define GT_TOLD_CALLS	0x8
/** gt_told() - which counters some source tells: a 0 among these is a true 0. Lock held. */
unsigned int gt_told(const struct gt_model *m);
/** gt_counts_lines() - flat-keyed; what is 0 and not in @told is left out
 * @inflight: GT_NONE64 if not known */
void gt_counts_lines(struct gt_text *t, const struct gt_counts *c, unsigned int told,
		     uint64_t inflight);
/** gt_call_lines() - what was asked of runtimes; likewise */
void gt_call_lines(struct gt_text *t, const struct gt_counts *c, unsigned int told);
void gt_depth_lines(struct gt_text *t, const struct gt_depth *d, uint64_t now);
int gt_show_throughput(struct gt_text *t, const struct gt_show *s);

/* readings.c */
/** gt_gauge_lines() - "key value\n" of those of @kind. -EAGAIN: there may be some, but not now; -ENOENT:
 * nothing tells any; -ENODEV: the GPU has gone. Takes the lock */
int gt_gauge_lines(struct gt_text *t, const struct gt_show *s, enum gt_gauge_kind kind);

/* uses.c: lines of `utilization` that are read off: "amdgpu0/drm-engine-gfx avg1=…". All take the lock */
/** gt_proc_engine_lines() - of a process; 0 or -errno */
int gt_proc_engine_lines(struct gt_text *t, const struct gt_show *s);
/** gt_gpu_engine_lines() - of all processes of a GPU; false: none is told */
bool gt_gpu_engine_lines(struct gt_text *t, const struct gt_show *s);
/** gt_work_engine_lines(), gt_work_memory_lines() - of a user or control group */
void gt_work_engine_lines(struct gt_text *t, const struct gt_show *s, const struct gt_work *w);
void gt_work_memory_lines(struct gt_text *t, const struct gt_show *s, struct gt_work *w);

/* proc.c */
/** gt_ring_label() - "amdgpu0/ring0", or "ring0" below a GPU; takes the lock */
void gt_ring_label(struct gt_text *t, const struct gt_show *s, struct gt_ring_key k);

/* jobs.c */
#define GT_FLIGHT_ROWS 64 /* jobs copied under one lock */
/**
 * struct gt_flying - a job in flight, copied
 * @running: the hardware is at work on it, as told or concluded
 * @uid: whose, as far as it is known
 * @met: its process's first_ts, GT_NONE64 unknown
 * @dep: what it waits for
 */
struct gt_flying {
	struct gt_job job;
	struct gt_dependency dep;
	bool running;
	uint32_t uid;
	uint64_t met;
	char comm[16];
};
/**
 * struct gt_flight - a place in a ring's list of jobs in flight that outlives the lock
 * @idx: the last job taken, GT_NONE32 none; @seen, @ctx, @seqno say who it was
 * @after: jobs first seen up to then have been passed
 * @running: the one that runs has been met (where that is not told but concluded)
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

/* gen.c */
uint64_t gt_gen_depth(const struct gt_show *s);
/** gt_gen_mix() - one number of two: differs if either does */
uint64_t gt_gen_mix(uint64_t gen, uint64_t other);

/* errors.c */
const char *gt_error_name(uint64_t code); /* NULL: none that we know */

/* traceline.c */
const char *gt_type_name(unsigned int type); /* an event's; NULL if it is none */
/** gt_event_keys() - " key=value" for what the type's value and ref mean, queue, and flags
 * @name: of the function that a FUNCTION's value means, or of an ioctl's command; NULL or "": not
 *	known */
void gt_event_keys(struct gt_text *t, const struct gt_event *e, const char *name);
void gt_lost_line(struct gt_text *t, const struct gt_lost *l);

#endif
