/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Private to the event maps. gt_tp_raw() and gt_tp_text() (decode.c) take each section of the
 * tracepoint in use, read the fields that it names (bind.c), find GPU and ring (names.c) and the job
 * (jobs.c), and write records. Maps are read by parse.c and synth.c and selected and bound to the
 * kernel's formats by load.c.
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
#define GT_MAP_UNLESS	 8     /* tracepoints in `unless`, `unless_heard` and `requires`, each */
#define GT_MAP_NAME	 64    /* a system, an event, a field, with its NUL */
#define GT_MAP_STR	 64    /* a template's string, with its NUL */
#define GT_MAP_TEXT_MAX	 4096  /* bytes of a line; the rest is ignored */
#define GT_MAP_JOBS	 65536 /* remembered */
#define GT_MAP_SMALL	 4096  /* numbered pointers, waits, FIFOs of rings, each */

/** struct gt_slice - a reference to @n bytes, without a NUL */
struct gt_slice {
	const char *p;
	size_t n;
};

/** struct gt_src - one event: a raw record, or the printed text after its name */
struct gt_src {
	bool raw;
	const char *data;
	size_t len;
};

enum gt_kind {
	GT_K_NONE,  /* missing, or of a type that cannot be read */
	GT_K_INT,   /* 1, 2, 4 or 8 bytes */
	GT_K_PTR,   /* the same, but a pointer: only used as a key */
	GT_K_DYN,   /* __data_loc char[]: u32, offset in the record | length << 16 */
	GT_K_REL,   /* __rel_loc char[]: likewise, the offset counts from the field's end */
	GT_K_CHARS, /* char name[N] */
};

/** struct gt_field - place of a field in a raw record, by the `format` file */
struct gt_field {
	uint8_t kind; /* enum gt_kind */
	bool sign;
	uint16_t off;
	uint16_t size;
};

/**
 * struct gt_ref - a field, as a map names it: FIELD, FIELD@KEY, FIELD@KEY:N, FIELD@%N
 * @raw: valid after gt_tp_bind()
 * @piece: the N-th part of a value split at ':', or -1
 * @token: the N-th part of the text split at ',', or -1
 * @key: the key before the value in text; empty: the field's name
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
 * @more: a second field, times @more_scale, that is added if the event has it; an empty name: none
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

/** struct gt_tmpl - a string of the map, not given if @n is 0; @raw_alt: the first alternative that a
 * record has all fields of, or -1 */
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

/* An alternative of `match`: the parts of a job's key */
#define GT_M_FENCE 0x1
#define GT_M_CTX   0x2
#define GT_M_SEQNO 0x4
#define GT_M_RING  0x8
#define GT_M_ORDER 0x10 /* the ring's jobs are first in, first out */
#define GT_M_ALTS  4

enum gt_unknown_job {
	GT_UNKNOWN_DEFAULT,
	GT_UNKNOWN_IGNORE,
	GT_UNKNOWN_KEEP,
	GT_UNKNOWN_RING,
	GT_UNKNOWN_SAME_FILE
};

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
 * @probe, @args: NULL: no such key
 * @use: selected
 * @bound: can be used for raw records
 * @links: when left out, it still links the key by which its job ends: see jobs.c
 * @flags: of its records: GT_F_DEPENDS, GT_F_WAITS
 * @unknown_job: enum gt_unknown_job
 * @nums: a bit for each GT_NUM_* that is given
 * @gpu, @gpu_known: if it names no device: the GPU of the driver alone
 * @map: number of its file
 * @bits: a bit for each event type
 * @seen: keys given, while the file is read
 * @live: @unless is from `unless_live`
 * @second: of a recording that has one of these: it ends jobs that no other section has ended
 * @unless, @requires, @heard: names of tracepoints in `unless`, `requires` and `unless_heard`
 * @heard_tp: those of @heard in use; NULL for others
 */
struct gt_section {
	struct gt_section *next;
	struct gt_tp *tp;
	struct gt_probe *probe, *args;
	bool use, bound, gpu_known;
	bool links, live, second;
	uint8_t flags;
	uint8_t ntypes, nmatch, nunless, nheard, nrequires, level;
	uint8_t types[GT_TP_MAX_RECORDS];
	uint8_t match[GT_M_ALTS];
	uint8_t unknown_job;
	uint8_t nums;
	uint16_t gpu;
	uint16_t map;
	uint64_t bits;
	struct gt_cond where;
	struct gt_num num[GT_NUM_IDS];
	struct gt_tmpl dev, ring, engine;
	int line;
	uint32_t seen;
	char file[32];
	char driver[32];
	char module[32];
	char name[32];
	char system[GT_MAP_NAME];
	char event[GT_MAP_NAME];
	char unless[GT_MAP_UNLESS][2 * GT_MAP_NAME];
	char requires[GT_MAP_UNLESS][2 * GT_MAP_NAME];
	char heard[GT_MAP_UNLESS][2 * GT_MAP_NAME];
	struct gt_tp *heard_tp[GT_MAP_UNLESS];
};

/**
 * struct gt_tp - a tracepoint with all sections of all maps
 * @hnext: next with the same hash of the event's name
 * @use: a section is in use
 * @synth: its events are synthetic, see gt_tp_set_synth()
 * @gone: see gt_eventmap_refresh()
 * @linked: it reports jobs that sections with links report as well
 * @heard: time of its last event, 0 none
 */
struct gt_tp {
	struct gt_eventmap *m;
	struct gt_tp *hnext;
	struct gt_section *sections;
	bool use;
	bool synth;
	bool gone;
	bool linked;
	uint64_t heard;
	char system[GT_MAP_NAME];
	char event[GT_MAP_NAME];
};

/**
 * struct gt_slot - remembered under a key: a job, a pointer's number, a wait, a ring's FIFO, a
 *	submitter or the GPU of a context
 * @a, @b: job: ctx and seqno; pointer: number, in @a; wait: its begin and ctx; FIFO: next out and next
 *	in; submitter: when the host was asked, in @a
 * @map: job: number of the file with the section that remembered it
 * @renamed: a job that has other numbers than its key, see jobs.c
 */
struct gt_slot {
	uint64_t k1, k2;
	uint64_t a, b;
	uint32_t bucket, hnext, older, newer;
	uint32_t pid;
	uint16_t gpu, ring, map;
	bool renamed;
};

/**
 * struct gt_table - a bounded hash table; when it is full, the oldest slot is dropped. Index 0: none
 * @forgotten: counts dropped slots
 */
struct gt_table {
	struct gt_slot *slots;
	uint32_t *heads;
	uint64_t seed, seed2;
	uint64_t *forgotten;
	uint32_t mask, cap, count, fresh, free, oldest, newest;
};

#define GT_NAME_SLOTS 1024
#define GT_NAME_PROBE 4

/** struct gt_name_slot - a name and its number from the host */
struct gt_name_slot {
	uint64_t hash;
	uint32_t scope;
	uint16_t id;
	uint8_t len; /* 0: empty */
	char text[49];
};

/** struct gt_job - the job of an event; @fence: value of the map's `fence`, 0 for none */
struct gt_job {
	uint16_t gpu, ring;
	uint32_t pid;
	uint64_t ctx, seqno, fence;
};

/** struct gt_noted - the last begin of a job in a thread, by section @s, NULL for none */
struct gt_noted {
	const struct gt_section *s;
	uint64_t ts;
	uint32_t tid;
	struct gt_job job;
};

/** enum gt_link_order - which of two tracepoints of one job comes first, by the first pair seen */
enum gt_link_order { GT_LINK_ANY, GT_LINK_NEWER_FIRST, GT_LINK_NEWER_LAST };

#define GT_DEPENDENCY (GT_CUSTOM0 + 2) /* the type of JOB_DEPENDS and JOB_WAITS */

#define GT_RING_DEVS 256

/**
 * struct gt_ring_dev - a ring of a recording, and its device
 * @dev, @driver: "" if unknown
 * @several: more than one device has such a ring
 * @gpu: the host's answer, GT_NONE16 if it was not asked yet
 */
struct gt_ring_dev {
	char ring[40], dev[64], driver[32];
	bool several;
	uint16_t gpu;
};

#define GT_NOTED   64
#define GT_TP_HASH 256
#define GT_CTX_SET 4096

/**
 * struct gt_ctx_place - a context with a remembered job, and where its jobs run
 * @ctx: its low 32 bits
 * @ended: low 32 bits of the last seqno that a section with `unknown_job = same_file` ended; valid if @ends
 * @done: low 32 bits of the highest seqno that any section ended; valid if @some_done
 * @ring: GT_NONE16 once there were several
 * @map: number of the file with the section that remembered the job
 */
struct gt_ctx_place {
	uint32_t ctx, ended, done;
	uint16_t gpu, ring, map;
	bool known, ends, some_done;
};

/**
 * struct gt_eventmap - the maps of one source, and what is remembered between events
 * @submitters, @contexts: and their GPUs, see names.c
 * @reasked: dropped slots of these two, which are only asked for again
 * @noted: by thread, the last begin by a section with `unless_heard`
 * @begun: by thread, the last begin by a linked tracepoint that has no partner yet
 * @link_order: enum gt_link_order, by type
 * @ctx_place: by hash; a newer context replaces an older one
 * @named: a bit for each custom type with its NAME pushed
 * @given: another section has given a record of the current event
 */
struct gt_eventmap {
	struct gt_plugin *p;
	struct gt_eventmap_stats stats;
	struct gt_table jobs, numbers, waits, fifos;
	struct gt_table submitters, contexts;
	uint64_t reasked;
	uint64_t next_number;
	struct gt_noted noted[GT_NOTED];
	struct gt_noted begun[GT_NOTED];
	uint8_t link_order[GT_NTYPES];
	struct gt_ctx_place ctx_place[GT_CTX_SET];
	struct gt_name_slot names[GT_NAME_SLOTS];
	struct gt_ring_dev ring_dev[GT_RING_DEVS];
	unsigned int nring_devs;
	struct gt_tp *tps[GT_MAP_SECTIONS];
	unsigned int ntps, nsections, nmaps;
	struct gt_tp *hash[GT_TP_HASH];
	char custom[GT_NTYPES - GT_CUSTOM0][32];
	uint64_t named;
	bool given;
};

/* parse.c */

/**
 * gt_ini_read() - reads the sections of one file, as a list in order
 * @text: NUL-terminated
 * @base: the file's name, for sentences
 *
 * Return: their number (0 is fine), or -1 with file, line and fault in @err.
 */
int gt_ini_read(const char *text, const char *base, struct gt_section **list, char *err,
		size_t len);
void gt_sections_free(struct gt_section *s);

/* synth.c: false with a sentence (without file and line) in @err */
bool gt_parse_probe(struct gt_section *s, const char *v, char *err, size_t len);
bool gt_parse_args(struct gt_section *s, const char *v, char *err, size_t len);
/** gt_synth_replaces() - do synthetic events of the same file, made of this section's, report the
 * same? */
bool gt_synth_replaces(const struct gt_section *s);

/* bind.c; false: the event has no such field */

/** gt_src_text() - an event as printed text */
static inline struct gt_src gt_src_text(const char *text, size_t len)
{
	return (struct gt_src){ .data = text,
				.len = len < GT_MAP_TEXT_MAX ? len : GT_MAP_TEXT_MAX };
}
/** gt_text_ref_int(), gt_text_ref_key() - gt_src_int() and gt_src_key() of printed text */
bool gt_text_ref_int(const struct gt_src *src, const struct gt_ref *r, uint64_t *v);
bool gt_text_ref_key(const struct gt_src *src, const struct gt_ref *r, uint64_t *v);
/** gt_src_str() - a string */
bool gt_src_str(const struct gt_src *src, const struct gt_ref *r, struct gt_slice *out);
/** gt_tmpl_eval() - a template's string; it lies in the event or in @buf */
bool gt_tmpl_eval(const struct gt_tmpl *t, const struct gt_src *src, char buf[GT_MAP_STR],
		  struct gt_slice *out);

/* names.c */

/** gt_event_place() - finds GPU and ring, by name or inferred. If the event names neither, its job
 * may have them. False: malformed */
bool gt_event_place(struct gt_eventmap *m, struct gt_section *s, const struct gt_src *src,
		    const struct gt_evctx *c, struct gt_job *j);

/* jobs.c */

int gt_tables_init(struct gt_eventmap *m);
void gt_tables_free(struct gt_eventmap *m);
/** gt_table_add() - a new slot with only its key set; the key must not be there yet */
uint32_t gt_table_add(struct gt_table *t, uint64_t k1, uint64_t k2);
/** gt_number() - a small number for a pointer, the same as long as it is remembered */
uint64_t gt_number(struct gt_eventmap *m, uint64_t pointer);

enum gt_found { GT_JOB_NO_KEY, GT_JOB_UNKNOWN, GT_JOB_FOUND };

/** gt_job_known() - is the job of @j remembered by the key of section @s? False for a ring's order
 */
bool gt_job_known(const struct gt_eventmap *m, const struct gt_section *s, const struct gt_job *j);
/** gt_job_gpu() - the GPU of a remembered job with a key without a ring, or GT_NONE16 */
uint16_t gt_job_gpu(const struct gt_eventmap *m, const struct gt_section *s,
		    const struct gt_job *j);
/**
 * gt_job_resolve() - finds, remembers or forgets the job of an event of section @s
 * @j: in: the event's own fields; out: completed from the remembered job
 */
enum gt_found gt_job_resolve(struct gt_eventmap *m, const struct gt_section *s, struct gt_job *j);
/** gt_job_forget() - forgets the job of @j by the key of section @s */
void gt_job_forget(struct gt_eventmap *m, const struct gt_section *s, const struct gt_job *j);
/** gt_job_context_known() - was a job of this context remembered lately? If section @s has
 * `unknown_job = same_file`: by its file */
bool gt_job_context_known(const struct gt_eventmap *m, const struct gt_section *s, uint64_t ctx);
/** gt_job_context_ended() - a job of the context of @j ended, by a section with `unknown_job = same_file` */
void gt_job_context_ended(struct gt_eventmap *m, const struct gt_job *j);
/** gt_job_ended_before() - had this job, or a later one of its context, ended before it began? */
bool gt_job_ended_before(const struct gt_eventmap *m, const struct gt_job *j);
/** gt_job_is_done() - has it, or a later one of its context, been ended by any section? */
bool gt_job_is_done(const struct gt_eventmap *m, const struct gt_job *j);
/** gt_job_context_place() - GPU and ring of a job that is no longer remembered, by its context */
void gt_job_context_place(const struct gt_eventmap *m, struct gt_job *j);
/** gt_wait_enter(), gt_wait_exit() - a thread's wait; exit gives its GPU, ring and length */
void gt_wait_enter(struct gt_eventmap *m, uint32_t tid, uint64_t ts, const struct gt_job *j);
uint64_t gt_wait_exit(struct gt_eventmap *m, uint32_t tid, uint64_t ts, struct gt_job *j);

/** gt_dedup_note() - section @s reported job @j */
void gt_dedup_note(struct gt_eventmap *m, const struct gt_section *s, const struct gt_evctx *c,
		   const struct gt_job *j);
/** gt_dedup_is_duplicate() - did another tracepoint report this event, before it was known that @tp
 * does? */
bool gt_dedup_is_duplicate(struct gt_eventmap *m, const struct gt_tp *tp,
			   const struct gt_section *s, const struct gt_evctx *c,
			   const struct gt_job *j);
/** gt_dedup_select() - finds sections with links; @present: see gt_eventmap_select() */
void gt_dedup_select(struct gt_eventmap *m, gt_tracepoint_exists_fn present, void *arg);
/** gt_dedup_begun() - section @s of a linked tracepoint reported job @j */
void gt_dedup_begun(struct gt_eventmap *m, const struct gt_section *s, const struct gt_evctx *c,
		    const struct gt_job *j);
/** gt_dedup_skipped() - section @s, which has links, was left out */
void gt_dedup_skipped(struct gt_eventmap *m, const struct gt_section *s, const struct gt_src *src,
		      const struct gt_evctx *c);

/* Inline, because it runs for each field of each raw record */

/*
 * A kernel address must not get into a record, whatever a map says: unprivileged users read records.
 * Addresses begin at 0xff11… with five levels of page tables (x86-64), and above that elsewhere.
 * Small negative numbers (results) are no addresses.
 */
static inline bool gt_is_address(uint64_t v)
{
	return v >= 0xff00000000000000ull && v < 0xffffffffffff0000ull;
}

static inline bool gt_raw_int(const struct gt_src *src, const struct gt_field *f, uint64_t *v)
{
	const char *p = src->data + f->off;
	uint64_t x = 0;

	if ((f->kind != GT_K_INT && f->kind != GT_K_PTR) || (size_t)f->off + f->size > src->len)
		return false;
	switch (f->size) {
	case 8:
		memcpy(&x, p, 8);
		break;
	case 4:
		memcpy(&x, p, 4);
		x = f->sign ? (uint64_t)(int32_t)x : x;
		break;
	case 2:
		memcpy(&x, p, 2);
		x = f->sign ? (uint64_t)(int16_t)x : x;
		break;
	default:
		memcpy(&x, p, 1);
		x = f->sign ? (uint64_t)(int8_t)x : x;
	}
	*v = x;
	return true;
}

/** gt_src_int() - an integer for a record; never an address */
static inline bool gt_src_int(const struct gt_src *src, const struct gt_ref *r, uint64_t *v)
{
	if (src->raw)
		return gt_raw_int(src, &r->raw, v) && !gt_is_address(*v);
	return gt_text_ref_int(src, r, v);
}

/** gt_src_key() - a value that is only compared, never shown; not 0 */
static inline bool gt_src_key(const struct gt_src *src, const struct gt_ref *r, uint64_t *v)
{
	if (src->raw)
		return gt_raw_int(src, &r->raw, v) && *v;
	return gt_text_ref_key(src, r, v);
}

static inline uint64_t gt_load(const char *p, size_t n)
{
	uint64_t w = 0;

	memcpy(&w, p, n);
	return w;
}

static inline uint64_t gt_mix(uint64_t h, uint64_t w)
{
	h = (h ^ w) * 0xd6e8feb86659fd93ull;
	return h ^ h >> 32;
}

static inline uint64_t gt_hash_bytes(const char *p, size_t n)
{
	uint64_t h = n * 0x9e3779b97f4a7c15ull;
	size_t i = 0;

	for (; n - i >= 8; i += 8)
		h = gt_mix(h, gt_load(p + i, 8));
	if (i < n && n >= 8) /* the rest, overlapping */
		return gt_mix(h, gt_load(p + n - 8, 8));
	if (i < n && n >= 4)
		return gt_mix(h, gt_load(p, 4) << 32 | gt_load(p + n - 4, 4));
	for (; i < n; i++)
		h = gt_mix(h, (uint8_t)p[i]);
	return h;
}

/** gt_same_bytes() - memcmp() for short strings */
static inline bool gt_same_bytes(const char *a, const char *b, size_t n)
{
	size_t i = 0;

	for (; n - i >= 8; i += 8)
		if (gt_load(a + i, 8) != gt_load(b + i, 8))
			return false;
	if (i < n && n >= 8)
		return gt_load(a + n - 8, 8) == gt_load(b + n - 8, 8);
	for (; i < n; i++)
		if (a[i] != b[i])
			return false;
	return true;
}

/* Both halves of one wide product: cheap, and collisions cannot be computed without the seed. */
static inline uint32_t gt_table_bucket(const struct gt_table *t, uint64_t k1, uint64_t k2)
{
	unsigned __int128 h = (unsigned __int128)(k1 ^ t->seed) * (k2 ^ t->seed2);

	return (uint32_t)((uint64_t)h ^ (uint64_t)(h >> 64)) & t->mask;
}

/** gt_table_find() - the slot with this key, 0: none */
static inline uint32_t gt_table_find(const struct gt_table *t, uint64_t k1, uint64_t k2)
{
	uint32_t i = t->heads[gt_table_bucket(t, k1, k2)];

	while (i && (t->slots[i].k1 != k1 || t->slots[i].k2 != k2))
		i = t->slots[i].hnext;
	return i;
}

#endif
