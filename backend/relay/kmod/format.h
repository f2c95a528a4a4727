/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * The records of grtrace's per-CPU relay files events<cpu>, version 1: see grtrace(5). grtrace.ko
 * writes them, backend/relay reads them, and nothing else is shared between the two.
 *
 * grtrace's documents say which fields there are and their order; the widths and numbers that they
 * leave open are fixed here. All numbers are little-endian, and every record's size is a multiple
 * of 8, so that fields are aligned wherever records follow each other.
 */
#ifndef GRT_FORMAT_H
#define GRT_FORMAT_H

#include <linux/types.h>
#ifdef __KERNEL__
#include <linux/build_bug.h>
#include <linux/stddef.h>
#else
#include <assert.h>
#include <stddef.h>
#endif

#define GRT_VERSION 1
#define GRT_MAGIC   0x52545247 /* "GRTR" */

/* All bits set: not known */
#define GRT_NONE16 ((__u16)~0)
#define GRT_NONE32 ((__u32)~0)
#define GRT_NONE64 ((__u64)~0)

/**
 * enum grt_type - what a record is
 *
 * Below 32 it is an event. The documents have contradictory numbers; these are of their masks (0x3
 * is SUBMIT and COMPLETE). METADATA has them, and a reader takes them from there. From 256 on are
 * descriptions: they are not numbered.
 */
enum grt_type {
	GRT_SUBMIT = 0,		 /* given to its ring's software queue; value: DRM client */
	GRT_COMPLETE = 1,	 /* its end was seen; value: result, ref: ns since its SUBMIT */
	GRT_CTX_SWITCH = 2,	 /* to ctx; value: the context before, ref: 1 if preempted */
	GRT_COMMIT = 3,		 /* handed over to the hardware; ref: ns since its SUBMIT */
	GRT_START = 4,		 /* the hardware began, by its driver */
	GRT_END = 5,		 /* the hardware ended, likewise */
	GRT_IRQ = 6,		 /* value: source of the interrupt */
	GRT_SYNC_WAIT_ENTER = 7, /* pid, tid begin to wait for ctx and seqno */
	GRT_SYNC_WAIT_EXIT = 8,	 /* value: ns waited */
	GRT_ERROR = 9,		 /* value: enum grt_error */
	GRT_CUSTOM = 25,	 /* struct grt_custom */
	GRT_NTYPES = 32,

	GRT_STREAM_INFO = 256, /* struct grt_stream_info */
	GRT_METADATA = 257,    /* struct grt_metadata */
	GRT_RING = 258,	       /* struct grt_ring_info */
};

/* X(number, name, bytes of payload) of each event's type: the table in METADATA */
#define GRT_TYPES(X)                                                                               \
	X(GRT_SUBMIT, "SUBMIT", struct grt_event)                                                  \
	X(GRT_COMPLETE, "COMPLETE", struct grt_event)                                              \
	X(GRT_CTX_SWITCH, "CTX_SWITCH", struct grt_event)                                          \
	X(GRT_COMMIT, "COMMIT", struct grt_event)                                                  \
	X(GRT_START, "START", struct grt_event)                                                    \
	X(GRT_END, "END", struct grt_event)                                                        \
	X(GRT_IRQ, "IRQ", struct grt_event)                                                        \
	X(GRT_SYNC_WAIT_ENTER, "SYNC_WAIT_ENTER", struct grt_event)                                \
	X(GRT_SYNC_WAIT_EXIT, "SYNC_WAIT_EXIT", struct grt_event)                                  \
	X(GRT_ERROR, "ERROR", struct grt_event)                                                    \
	X(GRT_CUSTOM, "CUSTOM", struct grt_custom)
#define GRT_TYPES_USED 11

/* enum grt_error - what an ERROR's value says */
enum grt_error {
	GRT_ERR_UNKNOWN = 0,
	GRT_ERR_TIMEOUT = 1,
	GRT_ERR_RESET = 2,
	GRT_ERR_FAULT = 3,
	GRT_ERR_GUILTY = 4,
};

/* engine_class: one bit; 0 is not known */
#define GRT_ENGINE_GRAPHICS	(1 << 0)
#define GRT_ENGINE_COMPUTE	(1 << 1)
#define GRT_ENGINE_COPY		(1 << 2)
#define GRT_ENGINE_VIDEO_DECODE (1 << 3)
#define GRT_ENGINE_VIDEO_ENCODE (1 << 4)

#define GRT_ENGINES(X)                                                                             \
	X(GRT_ENGINE_GRAPHICS, "GRAPHICS")                                                         \
	X(GRT_ENGINE_COMPUTE, "COMPUTE")                                                           \
	X(GRT_ENGINE_COPY, "COPY")                                                                 \
	X(GRT_ENGINE_VIDEO_DECODE, "VIDEO_DECODE")                                                 \
	X(GRT_ENGINE_VIDEO_ENCODE, "VIDEO_ENCODE")
#define GRT_ENGINES_USED 5

/**
 * struct grt_header - begins every record
 * @type: enum grt_type; a reader leaves out what it does not know, by @size
 * @size: of the whole record, this header included
 * @cpu: of the file that it was written to
 * @ts: CLOCK_MONOTONIC ns (ktime_get_mono_fast_ns(), the one clock that may be read wherever a
 *      tracepoint is)
 * @gseq: number of the event among those of all CPUs in this session, from 0
 * @cseq: number of the event among those of this CPU in this session, from 0
 *
 * Numbers are given to events that the level has, before room is looked for: a gap in @cseq is
 * exactly what this CPU's file lost, in either mode. A description has the numbers that the next
 * event of its CPU gets at the earliest, so one behind lost events counts them too.
 */
struct grt_header {
	__u16 type;
	__u16 size;
	__u32 cpu;
	__u64 ts;
	__u64 gseq;
	__u64 cseq;
};

/**
 * struct grt_event - what happened to a job
 * @engine_class: GRT_ENGINE_*, one bit; 0: not known
 * @ring_id: as in its RING record; GRT_NONE16: not known
 * @ctx_id: low half of the job's fence context, or the source's own context number
 * @seqno: low half of the job's number in its context
 * @pid: thread group, of the job's submitter where that is known; else GRT_NONE32
 * @tid: likewise the thread; of a wait, who waits
 * @uid: the user of @pid
 * @ctx_high: high half of the context
 * @seqno_high: high half of the number
 * @value: by type, GRT_NONE64 where it is not known
 * @ref: likewise
 */
struct grt_event {
	__u16 engine_class;
	__u16 ring_id;
	__u32 ctx_id;
	__u32 seqno;
	__u32 pid;
	__u32 tid;
	__u32 uid;
	__u32 ctx_high;
	__u32 seqno_high;
	__u64 value;
	__u64 ref;
};

/**
 * struct grt_custom - a driver's own event
 * @event: its value is the driver's
 * @name: what the driver calls it, filled up with NUL; with no NUL where it is that long
 */
struct grt_custom {
	struct grt_event event;
	char name[16];
};

/* stream_info.feature_bits: the documents' first (they have three more), then ours */
#define GRT_F_SIZE_SKIP (1ull << 0)
#define GRT_F_OVERWRITE (1ull << 32) /* without room the oldest records go, else the newest */
#define GRT_F_STOPPED	(1ull << 33) /* written by a stop: the session has ended here */

/**
 * struct grt_stream_info - what the records are of
 * @magic: GRT_MAGIC
 * @version: GRT_VERSION; any other is another format
 * @header_size: of struct grt_header
 * @session_id: another one at each start, never 0
 * @start_ts: when the session began
 * @feature_bits: GRT_F_*
 * @clock_src: the clockid of ts: 1, CLOCK_MONOTONIC
 * @nr_cpus: CPUs that may have files
 * @subbuf_size: bytes of a sub-buffer; no record crosses one's end
 * @n_subbufs: how many a CPU has
 * @realtime_offset: CLOCK_REALTIME minus ts at start_ts, ns
 * @boottime_offset: CLOCK_BOOTTIME minus ts at start_ts, ns
 *
 * With METADATA it begins every sub-buffer, so that what is left of an overwritten file can be
 * read: one with the same session_id as before says nothing new but its flags.
 */
struct grt_stream_info {
	__u32 magic;
	__u16 version;
	__u16 header_size;
	__u64 session_id;
	__u64 start_ts;
	__u64 feature_bits;
	__u32 clock_src;
	__u32 nr_cpus;
	__u32 subbuf_size;
	__u32 n_subbufs;
	__s64 realtime_offset;
	__s64 boottime_offset;
};

/**
 * struct grt_type_info - a row of METADATA's types
 * @type: its number
 * @size: bytes of its payload, as this producer writes it
 * @name: filled up with NUL
 */
struct grt_type_info {
	__u16 type;
	__u16 size;
	char name[20];
};

/**
 * struct grt_engine_info - a row of METADATA's engines
 * @engine_class: its bit
 * @name: filled up with NUL
 */
struct grt_engine_info {
	__u16 engine_class;
	char name[14];
};

/**
 * struct grt_metadata - what numbers stand for; tables follow, @types then @engines rows
 * @types: rows of struct grt_type_info
 * @type_size: bytes of a row; more than is known here are skipped
 * @engines: rows of struct grt_engine_info
 * @engine_size: bytes of a row, likewise
 * @field_sizes: bytes of type, size, cpu, ts, gseq, cseq, engine_class, ring_id, ctx_id, seqno
 * @reserved: 0
 * @driver: of the first GPU that was seen, may be empty; RING has each ring's
 * @model: of that GPU, may be empty
 */
struct grt_metadata {
	__u16 types;
	__u16 type_size;
	__u16 engines;
	__u16 engine_size;
	__u8 field_sizes[10];
	__u8 reserved[6];
	char driver[16];
	char model[32];
};

/**
 * struct grt_ring_info - a ring; before its first event in each sub-buffer
 * @engine_class: GRT_ENGINE_*, by its name; 0: not known
 * @ring_id: the number that is named; it stands for the same ring until the module is unloaded
 * @reserved: 0
 * @driver: of its device, filled up with NUL; empty: not known
 * @name: "gfx_0.0.0"
 * @dev: of its device on its bus: "0000:04:00.0"; empty: not known
 */
struct grt_ring_info {
	__u16 engine_class;
	__u16 ring_id;
	__u32 reserved;
	char driver[16];
	char name[32];
	char dev[32];
};

static_assert(sizeof(struct grt_header) == 32, "the header");
static_assert(offsetof(struct grt_header, ts) == 8, "the header's times are aligned");
static_assert(sizeof(struct grt_event) == 48, "an event");
static_assert(offsetof(struct grt_event, value) == 32, "an event's values are aligned");
static_assert(sizeof(struct grt_custom) == 64, "a driver's event");
static_assert(sizeof(struct grt_stream_info) == 64, "STREAM_INFO");
static_assert(sizeof(struct grt_type_info) == 24, "a type's row");
static_assert(sizeof(struct grt_engine_info) == 16, "an engine's row");
static_assert(sizeof(struct grt_metadata) == 72, "METADATA");
static_assert(sizeof(struct grt_ring_info) == 88, "a ring");

#endif
