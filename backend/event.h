/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The record: 64 bytes, little-endian, one cache line. The same bytes travel from a plugin to the
 * event log, to every reader of an `events` pipe and into a saved file. See gputrace-event(5).
 *
 * A field of all ones is unknown (GT_NONE16, GT_NONE32, GT_NONE64). Times are
 * nanoseconds of CLOCK_MONOTONIC, or of the recording's clock in a replay.
 */
#ifndef GT_EVENT_H
#define GT_EVENT_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#define GT_RECORD_VERSION 2 /* of 1 there were types of events up to 31; nothing else differs */
#define GT_RECORD_SIZE	  64
#define GT_RECORD_MAGIC	  "gputrace-stream"

#define GT_NONE16 UINT16_MAX
#define GT_NONE32 UINT32_MAX
#define GT_NONE64 UINT64_MAX

/*
 * GT_TYPES() - the types of events: X(name, number, class, level), by number
 *
 * 0 to 63: the number is the bit in `config/filter_events`, so grtrace's documented masks keep
 * their meaning (0x3 is SUBMIT and COMPLETE). Numbers from GT_NTYPES on are for types to come: a reader
 * leaves out records of types that it does not know. The class is what the event is about: enum
 * gt_type_class. VERBOSE: only level verbose records it, because it comes by the million and belongs
 * to no job. COMPLETE's value is the measured execution in ns, if known; of a queue without a ring,
 * its ref is ns since it was enqueued.
 */
/* clang-format off */
#define GT_TYPES(X) \
	X(SUBMIT,           0, WORK,   NORMAL)  /* a job was given to its ring's software queue */ \
	X(COMPLETE,         1, WORK,   NORMAL)  /* its completion was seen */ \
	X(CTX_SWITCH,       2, WORK,   VERBOSE) /* hardware switched context; ref: the context before */ \
	X(COMMIT,           3, WORK,   NORMAL)  /* handed over to the hardware */ \
	X(START,            4, WORK,   NORMAL)  /* the hardware began, as reported by hardware or driver */ \
	X(END,              5, WORK,   NORMAL)  /* the hardware ended, likewise; value: ns since it began, if known; ref: of a queue its kernel */ \
	X(IRQ,              6, DEVICE, VERBOSE) /* value: source of the interrupt */ \
	X(SYNC_WAIT_ENTER,  7, WORK,   NORMAL)  /* pid begins to wait for ctx:seqno */ \
	X(SYNC_WAIT_EXIT,   8, WORK,   NORMAL)  /* value: ns waited, if known */ \
	X(ERROR,            9, WORK,   NORMAL)  /* value: enum gt_error */ \
	X(IOCTL_ENTER,     10, CALL,   NORMAL)  /* value: command */ \
	X(IOCTL_EXIT,      11, CALL,   NORMAL)  /* value: result; ref: ns inside */ \
	X(QUEUE_CREATE,    12, WORK,   NORMAL)  \
	X(QUEUE_SCHEDULE,  13, WORK,   NORMAL)  /* asked to run; value: 1 allowed, 0 refused */ \
	X(QUEUE_TOKEN,     14, WORK,   NORMAL)  /* value: the number to ring with, no count; ref: channel */ \
	X(QUEUE_DESTROY,   15, WORK,   NORMAL)  \
	X(QUEUE_MAP,       16, WORK,   NORMAL)  \
	X(QUEUE_UNMAP,     17, WORK,   NORMAL)  \
	X(LAUNCH,          18, WORK,   NORMAL)  /* a runtime API call */ \
	X(DISPATCH,        19, OWN,    NORMAL)  /* a kernel that ran; value: ns, ref: kernel id */ \
	X(COPY,            20, OWN,    NORMAL)  /* value: bytes, ref: ns */ \
	X(COUNTER,         21, DEVICE, NORMAL)  /* value: reading, ref: counter id */ \
	X(CLOCK,           22, DEVICE, NORMAL)  /* value: Hz */ \
	X(POWER,           23, DEVICE, NORMAL)  /* value: uW */ \
	X(FUNCTION,        24, CALL,   NORMAL)  /* value: function id */ \
	X(CUSTOM0,         25, WORK,   NORMAL)  /* event maps may use these, with a name */ \
	X(CUSTOM1,         26, WORK,   NORMAL)  \
	X(CUSTOM2,         27, WORK,   NORMAL)  \
	X(CUSTOM3,         28, WORK,   NORMAL)  \
	X(CUSTOM4,         29, WORK,   NORMAL)  \
	X(CUSTOM5,         30, WORK,   NORMAL)  \
	X(CUSTOM6,         31, WORK,   NORMAL)
/* clang-format on */

/**
 * enum gt_type_class - what an event is about, and so what of it is blanked for whom
 * @GT_CLASS_WORK: a job, a wait, a queue of a process
 * @GT_CLASS_DEVICE: a device: where it names no process, everybody may see it
 * @GT_CLASS_CALL: its value is which call into the kernel it was
 * @GT_CLASS_OWN: what a process did without a driver's ring; the model has rings for it
 */
enum gt_type_class { GT_CLASS_WORK, GT_CLASS_DEVICE, GT_CLASS_CALL, GT_CLASS_OWN };

/**
 * enum gt_type - type of a record: GT_SUBMIT and so on are events, see GT_TYPES()
 *
 * 64 and up describe: they are never filtered, and have layouts of their own after the same first
 * 12 bytes.
 */
enum gt_type {
#define GT_TYPE_NUMBER(name, number, class, level) GT_##name = number,
	GT_TYPES(GT_TYPE_NUMBER)
#undef GT_TYPE_NUMBER
		GT_NTYPES,

	GT_HEADER = 64,		/* struct gt_header */
	GT_GPU_NAME = 65,	/* struct gt_gpu_name */
	GT_RING_NAME = 66,	/* struct gt_ring_name */
	GT_PROCESS = 67,	/* struct gt_process */
	GT_NAME = 68,		/* struct gt_name */
	GT_QUEUE = 69,		/* struct gt_queue_desc */
	GT_LOST = 70,		/* struct gt_lost */
	GT_MACHINE = 71,	/* struct gt_machine */
	GT_CLOCK_SNAPSHOT = 72, /* struct gt_clock_snapshot */
	GT_TYPE_END = 73,
};

/** GT_BIT() - a type of events in a mask */
#define GT_BIT(type) (1ull << (type))
static_assert(GT_NTYPES <= GT_HEADER, "a bit each, and a number of their own");

/* Names of the types of events, in order; GT_TYPE_NAMES[GT_COMMIT] is "COMMIT". */
#define GT_TYPE_NAME(name, number, class, level) #name,
#define GT_TYPE_NAMES                                                                              \
	{                                                                                          \
		GT_TYPES(GT_TYPE_NAME)                                                             \
	}

/* gt_event.flags */
#define GT_F_LATE     0x01 /* came after its time: ts is the stream's last, ref its own time */
#define GT_F_INFERRED 0x02 /* reported by no source, but inferred */
/* pid, tid, uid, ctx, ref, and a token, and without a driver's ring seqno and value, were blanked
 * for this reader */
#define GT_F_REDACTED 0x04
/* Of a recording where the clocks of some CPUs differ. SUBMIT, COMMIT: the other of the two was
 * measured with another clock; SUBMIT, COMMIT, START: it comes after its job's COMPLETE; COMPLETE:
 * SUBMIT was measured with another clock. Also where SUBMIT's CPU is not known. */
#define GT_F_CLOCK 0x08
/* COMPLETE: COMMIT, START, END, or one of the last ends on the ring, was measured with another
 * clock, or the hand-over's CPU is not known */
#define GT_F_CLOCK_HW  0x10
#define GT_F_CLOCK_END 0x40 /* COMPLETE: END was measured with another clock */
#define GT_F_COMMITS   0x10 /* SUBMIT: the recording has a COMMIT for jobs of this kind */
#define GT_F_END_REPORTED                                                                          \
	0x08 /* QUEUE: its source reports its end; the end of its process is not that */
#define GT_F_RUNTIME 0x10 /* QUEUE, QUEUE_*: from the program's runtime, not the driver */
/* CUSTOM: job ctx:seqno depends on fence ref:value; tid: process of that fence's job, if known */
#define GT_F_DEPENDS 0x20
#define GT_F_WAITS   0x40 /* likewise, and it cannot be handed over before the fence signals */

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
 * @gpu: number of the GPU, which its GPU_NAME record names
 * @ring: number of the ring in its GPU, which its RING_NAME record names
 * @ctx: the job's fence context or the source's own context number
 * @seqno: the job's number in its context
 * @pid: thread group, of the job's owner where there is a job
 * @tid: the thread that did it
 * @queue: id under queues/
 * @value: by type, see enum gt_type
 * @ref: by type; SUBMIT: the DRM client ID, if known
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

/**
 * struct gt_machine - where the events of a live stream were seen: streams of one boot of one
 * machine have one clock
 * @boot_id: of /proc/sys/kernel/random/boot_id, the 16 bytes in the order of its digits
 * @name: its host name, of uname(2), cut to what fits
 */
struct gt_machine {
	uint64_t ts;
	uint8_t type;
	uint8_t flags;
	uint16_t cpu;
	uint16_t gpu;
	uint16_t ring;
	uint8_t boot_id[16];
	char name[32];
};

/**
 * struct gt_clock_snapshot - from ts on the offsets of struct gt_header are these: the machine was
 * suspended, or somebody set its clock
 */
struct gt_clock_snapshot {
	uint64_t ts;
	uint8_t type;
	uint8_t flags;
	uint16_t cpu;
	uint16_t gpu;
	uint16_t ring;
	int64_t realtime_offset;
	int64_t boottime_offset;
	uint64_t reserved[4];
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
 * @ctx: of AMD's compute driver and runtime the address of its packets in the process, by which queues
 *	that both report are found to be the same
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
	GT_LOST_BEGIN,	/* perhaps nothing: the records of @cpu begin later than others */
	GT_LOST_CAUSES
};

/**
 * struct gt_lost - @count records that this stream does not have, from @since to @until
 * @until: end of the gap if that is later than ts, else 0 or unknown: a source with several parts, as
 *	one buffer for each CPU, reports a gap at its beginning, because the other parts go on within it
 *
 * With GT_LOST_BEGIN, @count is 0: it may be that the CPU had no events from @since to ts.
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

/* A recording may say any count. Sums of losses end here, and those of sums have room */
#define GT_LOST_MAX (1ULL << 48)

/** gt_lost_sum() - @sum plus a gt_lost.count, at most GT_LOST_MAX; an unknown count adds nothing */
static inline uint64_t gt_lost_sum(uint64_t sum, uint64_t count)
{
	uint64_t n = count == GT_NONE64 ? 0 : count,
		 room = sum < GT_LOST_MAX ? GT_LOST_MAX - sum : 0;

	return sum + (n < room ? n : room);
}

union gt_record {
	struct gt_event ev;
	struct gt_header header;
	struct gt_gpu_name gpu_name;
	struct gt_ring_name ring_name;
	struct gt_process process;
	struct gt_name name;
	struct gt_queue_desc queue;
	struct gt_lost lost;
	struct gt_machine machine;
	struct gt_clock_snapshot clock_snapshot;
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
GT_ASSERT_LAYOUT(gt_machine);
GT_ASSERT_LAYOUT(gt_clock_snapshot);
static_assert(offsetof(struct gt_event, gpu) == 12 && offsetof(struct gt_event, ring) == 14 &&
		      offsetof(struct gt_event, ctx) == 16 &&
		      offsetof(struct gt_event, pid) == 32 &&
		      offsetof(struct gt_event, value) == 48,
	      "record versions 1 and 2");

/** gt_type_known() - is @type one that this version of the record defines? */
static inline int gt_type_known(unsigned int type)
{
	return type < GT_NTYPES || (type >= GT_HEADER && type < GT_TYPE_END);
}

#endif
