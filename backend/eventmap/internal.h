/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the files of the event maps share. The way of an event: gt_tp_raw() or gt_tp_text()
 * (decode.c) takes each section of the tracepoint, reads the fields it names (raw.c, text.c by way
 * of value.c), finds the numbers of GPU and ring (names.c, submitter.c) and the job (job.c,
 * state.c), and writes records. What a map says of events that are to be made first is in probe.c.
 */
#ifndef GT_EVENTMAP_INTERNAL_H
#define GT_EVENTMAP_INTERNAL_H

#include <stdarg.h>
#include <string.h>
#include <strings.h>

#include "eventmap.h"

#define GT_MAP_FILES	 64	     /* *.ini in one folder */
#define GT_MAP_FILE_SIZE (64 * 1024) /* bytes of one */
#define GT_MAP_SECTIONS	 512	     /* in all files */
#define GT_MAP_UNLESS	 8	     /* tracepoints in `unless`, and in `with` */
#define GT_MAP_NAME	 64	     /* a system, an event, a field, with its NUL */
#define GT_MAP_STR	 64	     /* what a template may give, with its NUL */
#define GT_MAP_TEXT_MAX	 4096	     /* of a line; what stands behind is not looked at */
#define GT_MAP_JOBS	 65536	     /* remembered */
#define GT_MAP_SMALL	 4096 /* pointers that have a number, and waits, and FIFOs of rings */

/** struct gt_slice - @n bytes somewhere else, no NUL */
struct gt_slice {
	const char *p;
	size_t n;
};

/** struct gt_src - one event: a raw record, or the text behind its name */
struct gt_src {
	bool raw;
	const char *data;
	size_t len;
};

enum gt_kind {
	GT_K_NONE,  /* not there, or nothing that can be read */
	GT_K_INT,   /* 1, 2, 4 or 8 bytes */
	GT_K_PTR,   /* the same, but a pointer: only ever a key */
	GT_K_DYN,   /* __data_loc char[]: u32, offset in the record | length << 16 */
	GT_K_REL,   /* __rel_loc char[]: likewise, the offset counts from the field's end */
	GT_K_CHARS, /* char name[N] */
};

/** struct gt_field - where a field lies in a raw record, by the `format` file */
struct gt_field {
	uint8_t kind; /* enum gt_kind */
	bool sign;
	uint16_t off;
	uint16_t size;
};

/**
 * struct gt_ref - a field, as a map names it: FIELD, FIELD@KEY, FIELD@KEY:N, FIELD@%N
 * @raw: since gt_tp_bind()
 * @key: what stands before the value in text; empty: the field's name
 * @piece: the N-th of a value split at ':', or -1
 * @token: the N-th of the text split at ',', or -1
 */
struct gt_ref {
	struct gt_field raw;
	int8_t piece;
	int8_t token;
	char field[GT_MAP_NAME];
	char key[GT_MAP_NAME];
};

enum gt_num_kind {
	GT_N_NONE,
	GT_N_CONST,
	GT_N_FIELD,
	GT_N_NUMBERED, /* #field: a small number for each distinct value */
	GT_N_KEY,      /* the value itself, but never in a record */
};

/**
 * struct gt_num - an integer of the map: a constant, or a field times @scale
 * @more: a second field, times @more_scale, that is added where the event has it; its name is empty
 *	if there is none
 */
struct gt_num {
	uint8_t kind; /* enum gt_num_kind */
	uint64_t constant;
	uint64_t scale, more_scale;
	struct gt_ref ref, more;
};

#define GT_TMPL_PARTS 4
#define GT_TMPL_ALTS  2

/**
 * struct gt_part - a literal, then a field, of a template; either may be missing
 * @words: @nwords words, each with its NUL: an integer chooses one
 */
struct gt_part {
	bool has_ref;
	uint8_t nwords;
	struct gt_ref ref;
	char lit[24];
	char words[96];
};

struct gt_alt {
	uint8_t n;
	struct gt_part part[GT_TMPL_PARTS];
};

/** struct gt_tmpl - a string of the map; @n 0: not given. @raw_alt: the first that a record has */
struct gt_tmpl {
	uint8_t n;
	int8_t raw_alt;
	struct gt_alt alt[GT_TMPL_ALTS];
};

enum gt_op { GT_OP_NONE, GT_OP_EQ, GT_OP_NE, GT_OP_AND, GT_OP_ENDS };

/** struct gt_cond - a condition on a field: an integer, or with GT_OP_ENDS a string's last bytes */
struct gt_cond {
	enum gt_op op;
	uint64_t value;
	char text[32];
	struct gt_ref ref;
};

/* An alternative of `match`: which of them make the key of a job */
#define GT_M_FENCE 0x1
#define GT_M_CTX   0x2
#define GT_M_SEQNO 0x4
#define GT_M_RING  0x8
#define GT_M_ORDER 0x10 /* the ring's jobs first in, first out */
#define GT_M_ALTS  4

enum gt_only { GT_ONLY_DEFAULT, GT_ONLY_KNOWN, GT_ONLY_ANY, GT_ONLY_RING, GT_ONLY_FILE };

/* The integers of a section, in gt_section.num[] */
enum gt_num_id {
	GT_NUM_CTX,
	GT_NUM_SEQNO,
	GT_NUM_PID,
	GT_NUM_VALUE,
	GT_NUM_REF,
	GT_NUM_QUEUE,
	GT_NUM_FENCE,
	GT_NUM_MINOR,
	GT_NUM_IDS
};

/**
 * struct gt_section - one section of one file: a way to make records of a tracepoint
 * @next: of the same tracepoint
 * @use: selected; @bound: can be used raw
 * @gpu, @gpu_known: for a section that names no device: the GPU told by the driver alone
 * @map: number of its file, for caches
 * @nums: bit per GT_NUM_* that is given; @bits: per event type
 */
struct gt_section {
	struct gt_section *next;
	struct gt_tp *tp;
	struct gt_probe *probe, *args; /* the section's own; NULL: no such key */
	bool use, bound, gpu_known;
	uint8_t flags; /* of its records: GT_F_DEPENDS, GT_F_WAITS */
	uint8_t ntypes, nmatch, nunless, nheard, nwith, level;
	uint8_t types[GT_TP_MAX_RECORDS];
	uint8_t match[GT_M_ALTS];
	uint8_t only; /* enum gt_only */
	uint8_t nums;
	uint16_t gpu;
	uint16_t map;
	uint32_t bits;
	struct gt_cond where;
	struct gt_num num[GT_NUM_IDS];
	struct gt_tmpl dev, ring, engine;
	int line;
	uint32_t seen; /* keys given, while the file is read */
	char file[32];
	char driver[32];
	char module[32];
	char name[32];
	char system[GT_MAP_NAME];
	char event[GT_MAP_NAME];
	char unless[GT_MAP_UNLESS][2 * GT_MAP_NAME];
	char with[GT_MAP_UNLESS][2 * GT_MAP_NAME];   /* names in `with` */
	char heard[GT_MAP_UNLESS][2 * GT_MAP_NAME];  /* names in `unless_heard` */
	const struct gt_tp *heard_tp[GT_MAP_UNLESS]; /* those of them in use; NULL others */
};

struct gt_tp {
	struct gt_eventmap *m;
	struct gt_tp *hnext; /* same hash of the event's name */
	struct gt_section *sections;
	bool use;
	bool stand_in;	/* told by a probe: see gt_tp_stand_in() */
	bool gone;	/* see gt_eventmap_look() */
	uint64_t heard; /* time of its last event, 0 none */
	char system[GT_MAP_NAME];
	char event[GT_MAP_NAME];
};

/**
 * struct gt_slot - what is remembered under a key: a job, a pointer's number, a wait, a ring's FIFO
 * @a, @b: job: ctx and seqno; number: in @a; wait: its begin and ctx; FIFO: next out and next in;
 *	submitter: when it was asked about, in @a
 * @map: job: number of the file with the section that remembered it
 */
struct gt_slot {
	uint64_t k1, k2;
	uint64_t a, b;
	uint32_t bucket, hnext, older, newer;
	uint32_t pid;
	uint16_t gpu, ring, map;
	bool renamed; /* a job that has other numbers than its key says, see twice.c */
};

/** struct gt_table - a hash of slots that is bounded: when full, the oldest leaves. Index 0: none
 */
struct gt_table {
	struct gt_slot *slots;
	uint32_t *heads;
	uint64_t seed, seed2;
	uint64_t *forgotten; /* counts those that left */
	uint32_t mask, cap, count, fresh, free, oldest, newest;
};

#define GT_NAME_SLOTS 1024
#define GT_NAME_PROBE 4

/** struct gt_name_slot - a string that the host gave a number */
struct gt_name_slot {
	uint64_t hash;
	uint32_t scope;
	uint16_t id;
	uint8_t len; /* 0: empty */
	char text[49];
};

/**
 * struct gt_job - what an event tells of its job, and what is remembered of it
 * @fence: the key that the map's `fence` gave; 0: none
 */
struct gt_job {
	uint16_t gpu, ring;
	uint32_t pid;
	uint64_t ctx, seqno, fence;
};

/** struct gt_noted - a thread's last begin of a job by a section with `unless_heard`; @s NULL: none
 */
struct gt_noted {
	const struct gt_section *s;
	uint64_t ts;
	uint32_t tid;
	struct gt_job job;
};

#define GT_DEPENDENCY (GT_CUSTOM0 + 2) /* the type of JOB_DEPENDS and JOB_WAITS */

#define GT_NOTED   64
#define GT_TP_HASH 256
#define GT_CTX_SET 4096

/**
 * struct gt_ctx_place - a context of which a job was remembered, and where its jobs run
 * @ctx: its low 32 bits; @ring: GT_NONE16 once there were several
 * @map: number of the file with the section that remembered the job
 * @ended: the last number, of 32 bits, that ended by a section with `only = file`, if @ends
 */
struct gt_ctx_place {
	uint32_t ctx, ended;
	uint16_t gpu, ring, map;
	bool known, ends;
};

struct gt_eventmap {
	struct gt_plugin *p;
	struct gt_eventmap_stats stats;
	struct gt_table jobs, numbers, waits, fifos;
	struct gt_table submitters, contexts; /* and their GPUs, see submitter.c */
	uint64_t reasked; /* of the last two, those that left: they are only found out again */
	uint64_t next_number;
	struct gt_noted noted[GT_NOTED]; /* by thread: those of several CPUs are told at once */
	struct gt_ctx_place ctx_place[GT_CTX_SET]; /* by hash: the last to come has the place */
	struct gt_name_slot names[GT_NAME_SLOTS];
	struct gt_tp *tps[GT_MAP_SECTIONS];
	unsigned int ntps, nsections, nmaps;
	struct gt_tp *hash[GT_TP_HASH];
	char custom[GT_NTYPES - GT_CUSTOM0][32];
	uint32_t named; /* bit per custom type whose NAME was pushed */
};

/* parse.c: the values of a map; false with a sentence (without file and line) in @err */
bool gt_parse_num(struct gt_num *n, const char *s, bool key, char *err, size_t len);
bool gt_parse_tmpl(struct gt_tmpl *t, const char *s, char *err, size_t len);
bool gt_parse_cond(struct gt_cond *c, const char *s, char *err, size_t len);
bool gt_parse_match(struct gt_section *s, const char *v, char *err, size_t len);
bool gt_parse_types(struct gt_section *s, const char *v, char *err, size_t len);
bool gt_parse_tracepoints(char (*names)[2 * GT_MAP_NAME], uint8_t *n, const char *v, char *err,
			  size_t len);

/* probe.c */
bool gt_parse_probe(struct gt_section *s, const char *v, char *err, size_t len);
bool gt_parse_args(struct gt_section *s, const char *v, char *err, size_t len);
/** gt_told_by_probe() - do events made of this section's tell the same, by the same file? */
bool gt_told_by_probe(const struct gt_section *s);

/**
 * gt_ini_read() - the sections of one file's text, as a list in order
 * @text: NUL-terminated; @base: the file's name, for sentences
 *
 * Return: how many (0 is fine), or -1 with file, line and fault in @err.
 */
int gt_ini_read(const char *text, const char *base, struct gt_section **list, char *err,
		size_t len);
void gt_sections_free(struct gt_section *s);

/* raw.c, text.c and value.c; false: not there */
bool gt_raw_str(const struct gt_src *src, const struct gt_field *f, struct gt_slice *out);
bool gt_text_value(const struct gt_src *src, const struct gt_ref *r, struct gt_slice *out);
bool gt_text_int(struct gt_slice s, uint64_t *v);
bool gt_text_opaque(struct gt_slice s, uint64_t *v);
bool gt_text_pointer(struct gt_slice s); /* looks like a pointer's digits */
bool gt_text_ref_int(const struct gt_src *src, const struct gt_ref *r, uint64_t *v);
bool gt_text_ref_key(const struct gt_src *src, const struct gt_ref *r, uint64_t *v);
bool gt_tmpl_eval(const struct gt_tmpl *t, const struct gt_src *src, char buf[GT_MAP_STR],
		  struct gt_slice *out);

/* names.c: numbers of GPU and ring; GT_NONE16: the host has no room, or the name is missing */

/** gt_gpu_told() - does the event name its device? Then *@gpu is it */
bool gt_gpu_told(struct gt_eventmap *m, struct gt_section *s, const struct gt_src *src,
		 uint16_t *gpu);
/** gt_gpu_any() - the only GPU that the section can mean, or the one that stands for all of them */
uint16_t gt_gpu_any(struct gt_eventmap *m, struct gt_section *s);
/** gt_gpu_ask() - the host's answer; @tid: see struct gt_gpu_desc.pid */
uint16_t gt_gpu_ask(struct gt_eventmap *m, const struct gt_section *s, const char *dev, int minor,
		    uint32_t tid);
uint16_t gt_ring_of(struct gt_eventmap *m, struct gt_section *s, const struct gt_src *src,
		    uint16_t gpu);
/** gt_names_forget() - the host is asked again */
void gt_names_forget(struct gt_eventmap *m);

/* state.c */
int gt_table_init(struct gt_table *t, uint32_t cap, uint64_t seed, uint64_t *forgotten);
void gt_table_free(struct gt_table *t);
/** gt_table_add() - a new slot, with everything but its key unset; the key must not be there yet */
uint32_t gt_table_add(struct gt_table *t, uint64_t k1, uint64_t k2);
void gt_table_del(struct gt_table *t, uint32_t i);
/** gt_table_touch() - it is the newest again */
void gt_table_touch(struct gt_table *t, uint32_t i);
/** gt_number() - a small number for a pointer, the same as long as it is remembered */
uint64_t gt_number(struct gt_eventmap *m, uint64_t pointer);

enum gt_found { GT_JOB_NO_KEY, GT_JOB_UNKNOWN, GT_JOB_FOUND };

/* submitter.c */

/**
 * gt_gpu_concluded() - the GPU of an event that names no device: by its job, by who submits, or by
 * its context, else gt_gpu_any()
 * @tid: the thread; @ts: the time
 */
uint16_t gt_gpu_concluded(struct gt_eventmap *m, struct gt_section *s, const struct gt_job *j,
			  uint32_t tid, uint64_t ts);

/* job.c */
/** gt_job_known() - is the job of @j remembered by the key of section @s? False for a ring's order
 */
bool gt_job_known(const struct gt_eventmap *m, const struct gt_section *s, const struct gt_job *j);
/** gt_job_gpu() - the GPU of a job that is remembered under a key without a ring, or GT_NONE16 */
uint16_t gt_job_gpu(const struct gt_eventmap *m, const struct gt_section *s,
		    const struct gt_job *j);
/**
 * gt_job_resolve() - finds, remembers or forgets the job of an event of section @s
 * @j: in: what the event itself tells; out: completed by what was remembered
 */
enum gt_found gt_job_resolve(struct gt_eventmap *m, const struct gt_section *s, struct gt_job *j);
/** gt_job_same() - the job of @j, by the key of section @s, is @known: it has that one's numbers */
void gt_job_same(struct gt_eventmap *m, const struct gt_section *s, const struct gt_job *j,
		 const struct gt_job *known);
/** gt_job_forget() - the job of @j by the key of section @s: what comes under it is of no job */
void gt_job_forget(struct gt_eventmap *m, const struct gt_section *s, const struct gt_job *j);
/** gt_job_context_known() - was a job of this context remembered lately? With `only = file` in
 * section @s by its file */
bool gt_job_context_known(const struct gt_eventmap *m, const struct gt_section *s, uint64_t ctx);
/** gt_job_context_ended() - a job of the context of @j ended, by a section with `only = file` */
void gt_job_context_ended(struct gt_eventmap *m, const struct gt_job *j);
/** gt_job_ended_before() - had this job, or a later one of its context, ended before it began? */
bool gt_job_ended_before(const struct gt_eventmap *m, const struct gt_job *j);
/** gt_job_context_place() - GPU and ring of a job that is not remembered any more, by its context
 */
void gt_job_context_place(const struct gt_eventmap *m, struct gt_job *j);
/** gt_wait_enter(), gt_wait_exit() - a thread's wait; exit gives its GPU, ring and length */
void gt_wait_enter(struct gt_eventmap *m, uint32_t tid, uint64_t ts, const struct gt_job *j);
uint64_t gt_wait_exit(struct gt_eventmap *m, uint32_t tid, uint64_t ts, struct gt_job *j);

/* twice.c */
/** gt_twice_note() - section @s told of job @j */
void gt_twice_note(struct gt_eventmap *m, const struct gt_section *s, const struct gt_evctx *c,
		   const struct gt_job *j);
/** gt_twice_told() - did another tracepoint tell just that, before it was known that @tp does? */
bool gt_twice_told(struct gt_eventmap *m, const struct gt_tp *tp, const struct gt_section *s,
		   const struct gt_evctx *c, const struct gt_job *j);

#include "fast.h"

#endif
