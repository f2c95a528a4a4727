/* SPDX-License-Identifier: GPL-2.0 */
/* What the BPF programs and backend/bpf share: the layouts of maps. */
#ifndef GT_BPF_SHARED_H
#define GT_BPF_SHARED_H

#include <stdint.h>

/*
 * In the ring a record's flags hold the part that wrote it: backend/bpf takes that out, and has the
 * part complete the record (numbers of GPUs and rings are the daemon's).
 */
#define GT_BPF_PART_SHIFT 4

enum gt_bpf_part_id {
	GT_BPF_IOCTL,
	GT_BPF_TRACEPOINT,
	GT_BPF_NVIDIA,
	GT_BPF_RUNTIME,
	GT_BPF_PARTS
};

#define GT_BPF_CPUS 8	/* that share a ring buffer */
#define GT_BPF_TPS  512 /* tracepoints */

/* Counters in gt_count: of each part, then of each tracepoint, by its number */
#define GT_BPF_COUNTS (GT_BPF_PARTS + GT_BPF_TPS)

#define GT_BPF_OWNERS	   8192 /* processes with an end that is reported, of one part */
#define GT_BPF_USER_OWNERS 1024 /* of a user's, root apart */
#define GT_BPF_SHARES	   4096 /* users that have the same remainder by this have one share */

/** struct gt_bpf_owner - one of these; @gen: distinguishes it from others that had its pid; @uid: has the
 * share, all ones: none */
struct gt_bpf_owner {
	uint32_t gen, uid;
};

#define GT_BPF_LOOK 64 /* records of a CPU between looks at how full the ring is */

/**
 * struct gt_bpf_wake - when the daemon is to be woken
 * @idle: it has found the ring empty, and waits: the next record wakes it
 * @level: bytes in the ring at which it is to hurry
 * @paused: nothing is sent
 * @lost: something had no room; the daemon takes it back when it has looked what
 */
struct gt_bpf_wake {
	uint32_t idle;
	uint32_t level;
	uint32_t paused;
	uint32_t lost;
};

/**
 * struct gt_bpf_count - of a part or a tracepoint, on one CPU
 * @seen: events that a program was called for
 * @other: of these, events of no interest
 * @sent: records in the ring
 * @lost: records that had no room
 * @unreported: of @lost, those that no record in the ring counts yet
 * @since: time of the first of @unreported
 */
struct gt_bpf_count {
	uint64_t seen, other, sent, lost, unreported, since;
};

#define GT_BPF_RAW     0xff /* type: a struct gt_bpf_raw, where others are a union gt_record */
#define GT_BPF_RAW_MAX 256  /* bytes of a tracepoint's record that are sent */

/**
 * struct gt_bpf_raw - an event of a tracepoint, for the event maps
 * @ts: CLOCK_MONOTONIC, ns
 * @type: GT_BPF_RAW
 * @flags: the part, see GT_BPF_PART_SHIFT
 * @index, @serial: as in struct gt_bpf_tp
 * @len: bytes of @data that are valid; the first 8 mean nothing
 * @tid, @pid, @uid: of the running thread; @pid is its process
 * @start: CLOCK_BOOTTIME, ns, at which the process began; 0: the tracepoint's events are not the
 *	running process's (gt_bpf_tp.owner), and @comm is not valid
 * @comm: name of the process
 * @data: the tracepoint's record, or fields that were followed to
 */
struct gt_bpf_raw {
	uint64_t ts;
	uint8_t type;
	uint8_t flags;
	uint16_t cpu;
	uint16_t index, serial;
	uint32_t len, tid, pid, uid;
	uint64_t start;
	char comm[16];
	uint8_t data[];
};

#define GT_BPF_STRINGS 4 /* of a record, that have no fixed place */
#define GT_BPF_REL     0x8000
#define GT_BPF_SHORT   32 /* bytes of all strings of most records */

enum gt_bpf_test { GT_BPF_ANY, GT_BPF_EQUAL, GT_BPF_UNLIKE, GT_BPF_BITS };

#define GT_BPF_FIELDS 16
#define GT_BPF_ARGS   5
#define GT_BPF_LOADS  8
#define GT_BPF_TEXT   40 /* bytes of a string that was followed to, with its NUL */

enum gt_bpf_base { GT_BPF_NUMBER, GT_BPF_STRING, GT_BPF_CHARS, GT_BPF_ARG };

/**
 * struct gt_bpf_field - a field of an event that the kernel lacks: pointers are followed to it
 * @base: what is at @from, an offset in the source's record; GT_BPF_ARG: argument @from of a
 *	function or tracepoint
 * @bytes: of that number
 * @text: it ends at characters, else at a number; @size: bytes of that number
 * @to: where it is put in gt_bpf_raw.data
 * @n: how many times what lies @off bytes on is read; the last gives the value. 0: the base does
 */
struct gt_bpf_field {
	uint8_t base, bytes, text, size;
	uint16_t from, to;
	uint32_t n;
	int32_t off[GT_BPF_LOADS];
};

/**
 * struct gt_bpf_tp - a tracepoint's program: what it sends of an event
 * @index: number of the tracepoint
 * @serial: of the program: another one's records may look different
 * @len: bytes of gt_bpf_raw.data; of a record (@nfield 0): those before its strings
 * @owner: the events are the running process's
 * @nargs: arguments that are read
 * @nstring, @string: where the words are that say where a string is and how long (length << 16 |
 *	offset), as `__data_loc` has them; GT_BPF_REL: the offset counts from behind the word
 * @test: what the @test_size bytes at @test_at (of a record), or field @test_at, must be to
 *	@test_value, else the event is of no interest; @test_signed: they are a signed number
 * @nfield, @field: fields that make up the record; none: it is the kernel's
 */
struct gt_bpf_tp {
	uint16_t index, serial;
	uint16_t len;
	uint8_t owner, nargs, nstring, nfield;
	uint8_t test, test_size, test_signed;
	uint16_t test_at;
	uint64_t test_value;
	uint16_t string[GT_BPF_STRINGS];
	struct gt_bpf_field field[GT_BPF_FIELDS];
};

/*
 * runtime.bpf.c: which call a probe is on, as its cookie: what its record is, and in which word of
 * the arguments (from 1; 0: none) is what. A structure of 9 to 16 bytes is two words.
 */
#define GT_RT_TYPE(c)  ((c)&0xff)	  /* enum gt_type */
#define GT_RT_CTX(c)   ((c) >> 8 & 0xf)	  /* the stream or queue */
#define GT_RT_BYTES(c) ((c) >> 12 & 0xf)  /* how many bytes */
#define GT_RT_TIMES(c) ((c) >> 16 & 0xf)  /* … times that */
#define GT_RT_HOW(c)   ((c) >> 20 & 0xf)  /* GT_RT_* below */
#define GT_RT_SLOT(c)  ((c) >> 24 & 0xff) /* which library */
#define GT_RT_COOKIE(type, ctx, bytes, times, how, slot)                                           \
	((uint64_t)(type) | (uint64_t)(ctx) << 8 | (uint64_t)(bytes) << 12 |                       \
	 (uint64_t)(times) << 16 | (uint64_t)(how) << 20 | (uint64_t)(slot) << 24)

#define GT_RT_RETURN 1 /* there is a probe on its return as well */
#define GT_RT_AT_END 2 /* it is reported when it returns, with the time it took */
#define GT_RT_OUT    4 /* ctx is where it writes the handle to */

#define GT_RT_SLOTS	256
#define GT_RT_MAX_BYTES (1ull << 56) /* of a copy: no program has more memory */

/**
 * struct gt_rt_slot - a library that has probes
 * @on: it is not on its way out
 * @serial: another for each library that had this slot
 */
struct gt_rt_slot {
	uint32_t on, serial;
};

enum gt_rt_known { GT_RT_UNKNOWN, GT_RT_BUSY, GT_RT_KNOWN };

/**
 * struct gt_rt_check - a question of the daemon's, and the answer: what is behind a file
 * @fd: the daemon's descriptor of the file (O_PATH); -1: none, only whether the process is busy
 * @addr: where a process has the file mapped; 0: the file as it is opened
 * @state: enum gt_rt_known; busy: the process's mappings are being changed, or are about to be
 * @inode: the kernel's own, below any overlay: a number, as long as something keeps it
 * @magic: of its file system, as statfs(2) has them
 * @stacked: @fd is on another file system than that: an overlay; @by_user: and on one that was
 *	mounted in a user namespace
 * @account: who answers for it: a user's id, or with GT_RT_BY_CGROUP a control group's
 */
struct gt_rt_check {
	int32_t fd;
	uint32_t state;
	uint64_t addr, inode, magic;
	uint32_t stacked, by_user;
	uint64_t account;
};
#define GT_RT_BY_CGROUP (1ull << 63)

/** struct gt_rt_mapped - a process that has mapped a file that is called like a library */
struct gt_rt_mapped {
	uint32_t pid;
};

#endif
