/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The record: 64 bytes, little-endian, one cache line. The same bytes travel from a plugin to the
 * event log, to every reader of an `events` pipe and into a saved file. See gputrace-event(5).
 *
 * A field whose bits are all ones is unknown (GT_NONE16, GT_NONE32, GT_NONE64). Times are
 * nanoseconds of CLOCK_MONOTONIC, or of the recording's clock in a replay.
 */
#ifndef GT_EVENT_H
#define GT_EVENT_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#define GT_RECORD_VERSION 1
#define GT_RECORD_SIZE 64
#define GT_RECORD_MAGIC "gputrace-stream"

#define GT_NONE16 UINT16_MAX
#define GT_NONE32 UINT32_MAX
#define GT_NONE64 UINT64_MAX

/**
 * enum gt_type - what a record tells
 *
 * 0 to 31 are events; the number is the bit in `config/filter_events`, so grtrace's documented
 * masks keep their meaning (0x3 is SUBMIT and COMPLETE). 64 and up describe: they are never
 * filtered, and have layouts of their own behind the same first 12 bytes.
 */
enum gt_type {
	GT_SUBMIT = 0,		 /* a job was given to its ring's software queue */
	GT_COMPLETE = 1,	 /* its completion was seen; value: measured execution in ns, if told;
				  * of a queue without a ring, ref: ns since it was enqueued */
	GT_CTX_SWITCH = 2,	 /* hardware switched context; ref: the context before */
	GT_COMMIT = 3,		 /* handed over to the hardware */
	GT_START = 4,		 /* the hardware began, as hardware or driver tell it */
	GT_END = 5,		 /* the hardware ended, likewise; value: ns since it began, if told */
	GT_IRQ = 6,		 /* value: source of the interrupt */
	GT_SYNC_WAIT_ENTER = 7,	 /* pid begins to wait for ctx:seqno */
	GT_SYNC_WAIT_EXIT = 8,	 /* value: ns waited, if known */
	GT_ERROR = 9,		 /* value: enum gt_error */
	GT_IOCTL_ENTER = 10,	 /* value: command */
	GT_IOCTL_EXIT = 11,	 /* value: result; ref: ns inside */
	GT_QUEUE_CREATE = 12,
	GT_QUEUE_SCHEDULE = 13,	 /* asked to run; value: 1 allowed, 0 refused */
	GT_QUEUE_TOKEN = 14,	 /* value: the number to ring with, no count of work; ref: channel */
	GT_QUEUE_DESTROY = 15,
	GT_QUEUE_MAP = 16,
	GT_QUEUE_UNMAP = 17,
	GT_LAUNCH = 18,		 /* a runtime API call */
	GT_DISPATCH = 19,	 /* a kernel that ran; value: ns, ref: kernel id */
	GT_COPY = 20,		 /* value: bytes, ref: ns */
	GT_COUNTER = 21,	 /* value: reading, ref: counter id */
	GT_CLOCK = 22,		 /* value: Hz */
	GT_POWER = 23,		 /* value: uW */
	GT_FUNCTION = 24,	 /* value: function id */
	GT_CUSTOM0 = 25,	 /* to 31: event maps may use these, with a name */
	GT_CUSTOM6 = 31,
	GT_NTYPES = 32,

	GT_HEADER = 64,		 /* struct gt_header */
	GT_GPU_NAME = 65,	 /* struct gt_gpu_name */
	GT_RING_NAME = 66,	 /* struct gt_ring_name */
	GT_PROCESS = 67,	 /* struct gt_process */
	GT_NAME = 68,		 /* struct gt_name */
	GT_QUEUE = 69,		 /* struct gt_queue_desc */
	GT_LOST = 70,		 /* struct gt_lost */
	GT_TYPE_END = 71,
};

/* Names of the event types, in order; GT_TYPE_NAMES[GT_COMMIT] is "COMMIT". */
#define GT_TYPE_NAMES                                                                              \
	{                                                                                          \
		"SUBMIT", "COMPLETE", "CTX_SWITCH", "COMMIT", "START", "END", "IRQ",               \
			"SYNC_WAIT_ENTER", "SYNC_WAIT_EXIT", "ERROR", "IOCTL_ENTER", "IOCTL_EXIT", \
			"QUEUE_CREATE", "QUEUE_SCHEDULE", "QUEUE_TOKEN", "QUEUE_DESTROY",          \
			"QUEUE_MAP", "QUEUE_UNMAP", "LAUNCH", "DISPATCH", "COPY", "COUNTER",       \
			"CLOCK", "POWER", "FUNCTION", "CUSTOM0", "CUSTOM1", "CUSTOM2", "CUSTOM3",  \
			"CUSTOM4", "CUSTOM5", "CUSTOM6"                                            \
	}

/* gt_event.flags */
#define GT_F_LATE 0x01	   /* came after its time: ts is the stream's last, ref its own time */
#define GT_F_INFERRED 0x02 /* not told by a source but concluded */
/* pid, tid, uid, ctx, ref, and a token, and without a ring seqno and value, were blanked for this
 * reader */
#define GT_F_REDACTED 0x04
#define GT_F_END_TOLD 0x08 /* QUEUE: its source tells its end, which its process's is not */
#define GT_F_RUNTIME 0x10  /* QUEUE, QUEUE_*: told by the program's runtime, not the driver */
/* CUSTOM: job ctx:seqno depends on fence ref:value; tid: process of that fence's job, if known */
#define GT_F_DEPENDS 0x20
#define GT_F_WAITS 0x40	   /* likewise, and it cannot be handed over before the fence signals */

/* COUNTER's ref: value is how many packets or jobs the event's queue holds */
#define GT_COUNTER_DEPTH (1ull << 63)

enum gt_error { GT_ERR_UNKNOWN, GT_ERR_TIMEOUT, GT_ERR_RESET, GT_ERR_FAULT, GT_ERR_GUILTY };

enum gt_engine {
	GT_ENGINE_UNKNOWN,
	GT_ENGINE_GRAPHICS,
	GT_ENGINE_COMPUTE,
	GT_ENGINE_COPY,
	GT_ENGINE_VIDEO_DECODE,
	GT_ENGINE_VIDEO_ENCODE,
	GT_NENGINES
};

/**
 * struct gt_event - one event
 * @ts: nanoseconds; never decreases within a stream
 * @cpu: where it was seen
 * @gpu: number of the GPU, as its GPU_NAME record tells
 * @ring: number of the ring in its GPU, as its RING_NAME record tells
 * @ctx: the job's fence context or the source's own context number
 * @seqno: the job's number in its context
 * @pid: thread group, of the job's owner where there is a job
 * @tid: the thread that did it
 * @queue: id under queues/
 * @value: by type, see enum gt_type
 * @ref: by type; SUBMIT: the DRM client id where the source tells it
 */
struct gt_event {
	uint64_t ts;
	uint8_t type;
	uint8_t flags;
	uint16_t cpu;
	uint16_t gpu;
	uint16_t ring;
	uint64_t ctx;
	uint64_t seqno;
	uint32_t pid;
	uint32_t tid;
	uint32_t uid;
	uint32_t queue;
	uint64_t value;
	uint64_t ref;
};

/**
 * struct gt_header - first record of every stream
 * @realtime_offset: CLOCK_REALTIME minus CLOCK_MONOTONIC, ns; 0 in a replay
 * @boottime_offset: CLOCK_BOOTTIME minus CLOCK_MONOTONIC, ns
 * @session: differs from one run of the daemon to the next
 */
struct gt_header {
	uint64_t ts;
	uint8_t type;
	uint8_t flags;
	uint16_t cpu;
	uint16_t version;
	uint16_t record_size;
	char magic[16];
	int64_t realtime_offset;
	int64_t boottime_offset;
	uint64_t session;
	uint64_t reserved;
};

/** struct gt_gpu_name - @dev is the device's name on its bus, "0000:04:00.0", may be empty */
struct gt_gpu_name {
	uint64_t ts;
	uint8_t type;
	uint8_t flags;
	uint16_t cpu;
	uint16_t gpu;
	uint16_t ring;
	char name[16];
	char dev[32];
};

/** struct gt_ring_name - @engine is enum gt_engine */
struct gt_ring_name {
	uint64_t ts;
	uint8_t type;
	uint8_t flags;
	uint16_t cpu;
	uint16_t gpu;
	uint16_t ring;
	uint32_t engine;
	uint32_t reserved;
	char name[40];
};

/** struct gt_process - @start: start time in ns since boot; identity is pid and start */
struct gt_process {
	uint64_t ts;
	uint8_t type;
	uint8_t flags;
	uint16_t cpu;
	uint16_t gpu;
	uint16_t ring;
	uint64_t start;
	uint64_t cgroup;
	uint32_t pid;
	uint32_t uid;
	char comm[16];
	uint64_t reserved;
};

/* Ids of GT_NAME_FUNCTION are below the first; a name with its NUL is no longer than the second. */
#define GT_MAX_FUNCTIONS 8192
#define GT_FUNCTION_NAME 128

enum gt_name_kind { GT_NAME_CUSTOM, GT_NAME_KERNEL, GT_NAME_COUNTER, GT_NAME_FUNCTION };

/** struct gt_name - @part counts the pieces of a name longer than 32 bytes, from 0 */
struct gt_name {
	uint64_t ts;
	uint8_t type;
	uint8_t flags;
	uint16_t cpu;
	uint16_t gpu;
	uint16_t ring;
	uint64_t id;
	uint32_t kind;
	uint32_t part;
	char text[32];
};

/**
 * struct gt_queue_desc - what is known of queue @queue; @engine is enum gt_engine
 * @ctx: of AMD's compute driver and runtime the address of its packets in the process: what both tell
 *	of is one queue by that
 * @size: bytes of its ring in memory, 0 unknown as well
 */
struct gt_queue_desc {
	uint64_t ts;
	uint8_t type;
	uint8_t flags;
	uint16_t cpu;
	uint16_t gpu;
	uint16_t ring;
	uint64_t ctx;
	uint32_t queue;
	uint32_t pid;
	uint32_t uid;
	uint32_t runlist;
	uint32_t timeslice_us;
	uint32_t channels;
	uint16_t kind; /* enum gt_queue_kind */
	uint16_t engine;
	uint16_t interleave;
	uint16_t priority;
	uint64_t size;
};

enum gt_queue_kind {
	GT_QUEUE_COMPUTE,
	GT_QUEUE_SDMA,
	GT_QUEUE_TSG,
	GT_QUEUE_EXEC,
	GT_QUEUE_USER,
};

enum gt_lost_cause {
	GT_LOST_SOURCE, /* the source's own buffer ran over, before any statistics */
	GT_LOST_READER, /* this reader was too slow; statistics are whole */
	GT_LOST_CAUSES
};

/**
 * struct gt_lost - @count records that this stream does not have, from @since to @until
 * @until: end of the gap where it is later than ts, else 0 or unknown: a source of several parts,
 *	like one buffer for each CPU, tells of a gap at its begin, as the others go on within it
 */
struct gt_lost {
	uint64_t ts;
	uint8_t type;
	uint8_t flags;
	uint16_t cpu;
	uint16_t gpu;
	uint16_t ring;
	uint64_t count;
	uint64_t since;
	uint32_t cause; /* enum gt_lost_cause */
	uint32_t reserved;
	uint64_t until;
	uint32_t reserved2[4];
};

union gt_record {
	struct gt_event ev;
	struct gt_header header;
	struct gt_gpu_name gpu_name;
	struct gt_ring_name ring_name;
	struct gt_process process;
	struct gt_name name;
	struct gt_queue_desc queue;
	struct gt_lost lost;
	uint8_t bytes[GT_RECORD_SIZE];
};

#define GT_ASSERT_LAYOUT(s)                                                                        \
	static_assert(sizeof(struct s) == GT_RECORD_SIZE, #s " is 64 bytes");                      \
	static_assert(offsetof(struct s, ts) == 0, #s ".ts");                                      \
	static_assert(offsetof(struct s, type) == 8, #s ".type");                                  \
	static_assert(offsetof(struct s, flags) == 9, #s ".flags");                                \
	static_assert(offsetof(struct s, cpu) == 10, #s ".cpu")

GT_ASSERT_LAYOUT(gt_event);
GT_ASSERT_LAYOUT(gt_header);
GT_ASSERT_LAYOUT(gt_gpu_name);
GT_ASSERT_LAYOUT(gt_ring_name);
GT_ASSERT_LAYOUT(gt_process);
GT_ASSERT_LAYOUT(gt_name);
GT_ASSERT_LAYOUT(gt_queue_desc);
GT_ASSERT_LAYOUT(gt_lost);
static_assert(offsetof(struct gt_event, gpu) == 12 && offsetof(struct gt_event, ring) == 14 &&
		      offsetof(struct gt_event, ctx) == 16 && offsetof(struct gt_event, pid) == 32 &&
		      offsetof(struct gt_event, value) == 48,
	      "record version 1");

/** gt_type_known() - is @type one that version 1 of the record defines? */
static inline int gt_type_known(unsigned int type)
{
	return type < GT_NTYPES || (type >= GT_HEADER && type < GT_TYPE_END);
}

#endif
