/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Private to the BPF backend: bpf.c (the vtable), part.c (its parts begin and end, what is in the
 * way of one, doctor), ring.c (records on their way from the programs), detach.c (programs
 * are detached by a thread of its own), one file or folder for each part.
 *
 * A part is one object of bpf/NAME.bpf.c with what belongs to it here. What is in the way of one
 * makes that one unavailable, with a sentence; the others go on. A new part is an entry in parts[]
 * (part.c), a number in bpf/shared.h, a file here and one there.
 *
 * Everything runs in the ingest thread, but for what part.c ends.
 */
#ifndef GT_BPF_H
#define GT_BPF_H

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "../../bpf/shared.h"
#include "../backend.h"
#include "../lib/detail.h"
#include "../lib/file.h"

#define GB_SENTENCE 400
#define GB_DRAIN_NS 20000000ull /* between drains while records come */
#define GB_SLACK_NS 1000000ull	/* what came in this time waits for the next drain, see ring.c */
#define GB_LEVEL    (64u << 10) /* bytes in the ring that wake the daemon */
#define GB_OUT	    256		/* records handed over at a time */
#define GB_WAITING  65536	/* records put in order of time at once */
#define GB_BYTES    (8u << 20)	/* that they may take */
#define GB_RING_MAX (256ll << 20)

struct gb;
struct perf_event_attr;

/**
 * struct gb_part - a part of the backend
 * @name: as in doctor; its number is its place in parts[]
 * @shows: where it can work there is a GPU
 * @parks: when the backend is stopped the part stays as it is in a pause, for GB_KEEP_NS, and goes on
 *	with look() if the backend is started again; else it is stopped at once
 * @probe: can it work here? Changes nothing. 0, or -errno with the sentence: what is in the way and
 *	what to do about it
 * @start: opens, loads and attaches; likewise. Records may come from now on
 * @stop: ends and frees everything of start(); of a part that parks in any thread, without host
 * @record: completes a record of its programs, which wrote down what the kernel knows; false: there
 *	is nothing more to hand over than what it gave to gb_out(). Of a part with programs that send
 *	such
 * @lost: some of its records had no room. Optional
 * @raw: a tracepoint's event: gives what it means to gb_out(). Of a part with programs that send
 *	such
 * @round: all records up to @until are emitted; may emit more of that time. Optional
 * @look: looks again for what there is (GT_CTL_RESCAN, another level, or after a pause, which
 *	hides all events); a part that does not run is probed and started anew instead. Optional
 * @option, @set: an option that is the part's, as it runs, and what is done when it was changed: 0,
 *	or -errno with the sentence. Optional
 * @doctor: lines of its own, by gt_detail(). Optional
 */
struct gb_part {
	const char *name;
	bool shows, parks;
	int (*probe)(struct gb *b, char *err, size_t len);
	int (*start)(struct gb *b, char *err, size_t len);
	void (*stop)(struct gb *b);
	bool (*record)(struct gb *b, union gt_record *r);
	void (*lost)(struct gb *b, const struct gt_lost *l);
	void (*raw)(struct gb *b, const struct gt_bpf_raw *raw);
	void (*round)(struct gb *b, uint64_t until);
	int (*look)(struct gb *b, char *err, size_t len);
	const char *option;
	int (*set)(struct gb *b, char *err, size_t len);
	void (*doctor)(struct gb *b, struct gt_details *t);
};

/** struct gb_options - section [backend bpf] */
struct gb_options {
	int64_t buffer_size;
	bool tracepoints;
	char *btf;
	bool nvidia_any_result;
	bool o_path;
	char *ioctl_devices;
	char *sysfs;
	char *ioctl_by;
	char *runtimes;
	bool probes_singly;
};

/** struct gb_wait - a record that waits: @len bytes at @at of gb_ring.bytes */
struct gb_wait {
	uint64_t ts;
	uint32_t at, len;
};

/** struct gb_drained - what a look found: @some: records; @full: more than a buffer's share of the room;
 * @held: a record is reserved and not written yet, and keeps back what is behind it */
struct gb_drained {
	bool some, full, held;
};

/** struct gb_loss - records that had no room: @heard: from the programs; @reported: reported to the host */
struct gb_loss {
	uint64_t heard, reported;
};

/**
 * struct gb_buffer - the ring buffer of GT_BPF_CPUS CPUs
 * @reserved, @read: how far it is reserved, and read: the kernel's own words
 * @upto: @reserved when a drain began, at which time it is to be read so far
 * @mark, @mark_ts: likewise of an earlier drain, if it is not read so far yet; @mark_ts 0: none
 * @until: all records before that time have come out
 * @room: records that the drain may still take from it
 */
struct gb_buffer {
	struct gb_ring *ring;
	int fd;
	struct ring_buffer *rb;
	const unsigned long *reserved, *read;
	unsigned long upto, mark;
	uint64_t mark_ts, until;
	uint32_t room;
};

/**
 * struct gb_ring - the ring buffers, and what came out of them
 * @rings_fd: the map by which the programs of @groups of GT_BPF_CPUS CPUs find one of @buffer, of
 *	which there are fewer where not all CPUs are online; @size: bytes of each
 * @waiting: @n records, with @used of their @bytes; @spare: what is kept of them is put there
 * @out: @nout records to be handed over; @last: time of the last of them
 * @until: all before is handed over
 * @late: records that came after @until had passed their time
 * @flowing: the last look found records
 * @wake: shared with the programs
 * @loss: of each part
 */
struct gb_ring {
	int rings_fd, wake_fd, count_fd;
	struct gb_buffer *buffer;
	unsigned int n_buffers, groups;
	size_t size;
	struct gt_bpf_wake *wake;
	struct gb_wait *waiting;
	uint8_t *bytes, *spare;
	uint32_t n, used;
	unsigned int nout;
	bool flowing;
	uint64_t last, until, reported;
	uint64_t drains, full, left_out, late;
	struct gb_loss loss[GT_BPF_PARTS];
	union gt_record out[GB_OUT];
};

/**
 * struct gb - a running backend
 * @level: enum gt_level
 * @tracepoints: numbers of tracepoints that are in use, see gt_bpf_tp.index
 * @due: CLOCK_MONOTONIC at which a part wants its round() at the latest; 0: whenever
 * @quiet: the last look at the ring found nothing new
 * @state: of each part: 0 it runs, -errno, and @why
 * @priv: of each part
 */
struct gb {
	struct gt_plugin *p;
	struct gb_options *o;
	struct gb_ring ring;
	int level;
	uint32_t tracepoints;
	uint64_t due;
	bool quiet;
	int state[GT_BPF_PARTS];
	char why[GT_BPF_PARTS][GB_SENTENCE];
	void *priv[GT_BPF_PARTS];
};

/** gb_now() - CLOCK_MONOTONIC, ns; in any thread */
static inline uint64_t gb_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static inline void gb_freep(void *p)
{
	free(*(void **)p);
}
#define gb_auto_free __attribute__((cleanup(gb_freep)))

/* part.c */

/** gb_part() - by number */
const struct gb_part *gb_part(unsigned int i);
/** gb_sentence() - writes @err and returns -@e, so that `return gb_sentence(…)` reads well */
int gb_sentence(char *err, size_t len, int e, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/**
 * gb_object_load() - loads a part's object into the kernel, with the maps that all share
 * @what: what it is for, in the sentence of an error
 */
int gb_object_load(struct gb *b, struct bpf_object *o, const char *what, char *err, size_t len);
/** gb_parts_start() - how many run then; those that do not have a sentence in @why */
int gb_parts_start(struct gb *b);
void gb_parts_stop(struct gb *b);
/** gb_parts_park() - those that cannot park are stopped */
void gb_parts_park(struct gb *b);
/** gb_parts_look() - those that run look again, others are tried again. How many run then */
int gb_parts_look(struct gb *b);

/* ring.c */

/** gb_ring_size() - bytes of each ring buffer, if @asked is wanted for each of @ncpus CPUs and the
 * machine has @memory: a power of two of pages, and no more than GB_RING_MAX and a 64th of the memory
 * for all together */
size_t gb_ring_size(int64_t asked, int64_t ncpus, int64_t memory);
int gb_ring_open(struct gb *b, char *err, size_t len);
/** gb_ring_watch() - the host calls drain() when the ring wakes it; with @on false no more */
int gb_ring_watch(struct gb *b, bool on, char *err, size_t len);
/** gb_ring_fits() - are the buffers as large as the option says? */
bool gb_ring_fits(const struct gb *b);
/** gb_ring_resize() - makes them so while the programs run; nothing is lost. The option says what was
 * granted. -errno with the sentence: nothing has changed */
int gb_ring_resize(struct gb *b, char *err, size_t len);
void gb_ring_close(struct gb *b);

/* ring.c */

/** gb_say(), gb_said() - words that programs read and write at the same time */
static inline void gb_say(uint32_t *word, uint32_t v)
{
	__atomic_store_n(word, v, __ATOMIC_SEQ_CST);
}
static inline uint32_t gb_said(const uint32_t *word)
{
	return __atomic_load_n(word, __ATOMIC_SEQ_CST);
}
/** gb_ring_drain() - the plugin's drain() */
int gb_ring_drain(struct gb *b);
/** gb_ring_drain_all() - likewise, also what came just now */
void gb_ring_drain_all(struct gb *b);
/** gb_ring_drain_last() - likewise, until nothing is left and every loss is reported: while the
 * programs are paused */
void gb_ring_drain_last(struct gb *b);
/** gb_ring_flush() - what gb_out() was given goes to the daemon */
void gb_ring_flush(struct gb *b);
/** gb_ring_pause() - programs send nothing (@on), or do again */
void gb_ring_pause(struct gb *b, bool on);
/** gb_out() - a record takes its place in the order of what is handed over */
void gb_out(struct gb *b, const union gt_record *r);
/** gb_ring_counts() - of part @i, all CPUs together; false: not known */
bool gb_ring_counts(const struct gb *b, unsigned int i, struct gt_bpf_count *out);

/* part.c: in any thread */

#define GB_KEEP_NS	 2000000000ull
#define GB_DETACHING_MAX 512 /* a program holds two descriptors */
/**
 * gb_detach_later() - has @end(@what) called by a thread of its own in @ns
 *
 * With GB_DETACHING_MAX waiting it is called here and now.
 *
 * Return: a number for gb_detach_cancel(); 0: it was called.
 */
uint64_t gb_detach_later(void (*end)(void *what), void *what, uint64_t ns);
/** gb_detach_cancel() - takes back what has this number; NULL: it is ended, or is just now */
void *gb_detach_cancel(uint64_t id);
/** gb_detaching() - how many wait */
unsigned int gb_detaching(void);

/* part.c */

#define GB_PATH 512

/**
 * struct gb_facts - what decides whether the kernel allows BPF
 * @caps: in force; @locked: no kernel memory may be read; @release: as uname -r
 * @paranoid: the setting kernel.perf_event_paranoid
 */
struct gb_facts {
	uint64_t caps;
	bool locked, first_userns;
	int paranoid;
	char release[64];
};
void gb_facts(struct gb_facts *f);
/**
 * gb_why() - the sentence for error @e of the kernel: what is in the way, and what to do about it
 * @what: what was tried; @words: the verifier's last ones, may be empty
 *
 * Return: -@e.
 */
int gb_why(const struct gb_facts *f, int e, const char *what, const char *words, char *err,
	   size_t len);
/** gb_kernel_before() - is this Linux older than @major.@minor? */
bool gb_kernel_before(int major, int minor);
/** gb_refused() - the same, by the facts of this moment */
int gb_refused(int e, const char *what, const char *words, char *err, size_t len);
/** gb_words - the verifier's last, of any load since it was emptied */
extern char gb_words[200];
/** gb_last_words() - the verifier's reason out of what libbpf prints, or out of the log alone; without
 * one @out stays as it is */
void gb_last_words(const char *log, char *out, size_t len);
/** gb_tracefs() - can tracepoints be attached to, and those of system call @call (NULL: of none)?
 * 0, or -errno with a sentence */
int gb_tracefs(const struct gb *b, const char *call, char *err, size_t len);
/** gb_btf() - @path of the kernel's types; -errno with a sentence if they cannot be read */
int gb_btf(struct gb *b, char path[GB_PATH], char *err, size_t len);

/* part.c */

/**
 * gb_perf_rights() - what perf_event_open() wants beside CAP_PERFMON, to attach to a tracepoint or
 * a function: CAP_SYS_ADMIN above a perf_event_paranoid of 2, which only Debian's kernels and their
 * kin know (their patch "security,perf: Allow further restriction of perf_event_open") and have by
 * default
 */
uint64_t gb_perf_rights(void);
/** gb_read_number() - the number that @fmt reads in the file, "%d"; 0 or -errno */
int gb_read_number(const char *path, const char *fmt, int *out);
/** gb_perf_link() - has @prog run at the event @a of perf; the link's descriptor, or -errno */
int gb_perf_link(int prog, struct perf_event_attr *a, uint64_t cookie);
/** gb_link_to_tracepoint() - likewise at the records of a tracepoint */
int gb_link_to_tracepoint(const char *tracefs, const char *system, const char *event, int prog);
/** gb_thread() - starts a thread that gets no signals, as these are for the daemon's others; returns
 * like pthread_create() */
int gb_thread(pthread_t *thread, void *(*run)(void *arg), void *arg);
/** gb_module_instance() - another number each time that a module of this name is loaded; 0: it is
 * not, or part of the kernel */
uint64_t gb_module_instance(const char *module);

/* part.c */
/** gb_missed_by() - adds to @n the events for which the kernel skipped the program of descriptor @prog;
 * false: it does not say */
bool gb_missed_by(int prog, uint64_t *n);
/** gb_missed() - likewise for all programs of @o that are loaded */
uint64_t gb_missed(const struct bpf_object *o);
void gb_doctor(struct gt_plugin *p, char *buf, size_t len);

/* ioctl.c */
extern const struct gb_part gb_ioctl;

/* tracepoint.c */
extern const struct gb_part gb_tracepoint;

/* nvidia.c */
extern const struct gb_part gb_nvidia;
/** gb_nvidia_loaded() - is there a driver of NVIDIA's devices? */
bool gb_nvidia_loaded(void);
/** gb_nvidia_trace() - the text nvidia_trace */
void gb_nvidia_trace(struct gt_plugin *p, char *buf, size_t len);

/* runtime.c */
extern const struct gb_part gb_runtime;

#endif
