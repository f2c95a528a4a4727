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

/*
 * On one CPU programs run within others: a task's are interrupted by a softirq's, those by an
 * interrupt's, those by an NMI's; where tracepoints are preemptible (Linux 7.0) a task's also by
 * other tasks'. Each run has a level, see bpf/level.h, and counts by itself; those that found none
 * have counters of their own, behind the last level's.
 */
#define GT_BPF_LEVELS 6
#define GT_BPF_COUNTS (GT_BPF_PARTS + GT_BPF_LEVELS)
/* DO(n) for each: where the number is a constant a tail call is a plain jump, and the verifier
 * needs no loop */
#define GT_EACH_LEVEL(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5)

/** gt_bpf_counts_of() - number of @part's counters of @level, GT_BPF_LEVELS: of none; only
 * tracepoints have more than one */
static inline __attribute__((always_inline)) uint32_t gt_bpf_counts_of(uint32_t part,
								       uint32_t level)
{
	return level ? GT_BPF_PARTS + level - 1 : part;
}

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
 * struct gt_bpf_count - of one part, on one CPU
 * @seen: events that it was called for; @other: those that were none of its business
 * @sent: records in the ring; @lost: those that had no room
 * @unreported, @since: of @lost, those that no record counted yet, and the first one's time
 */
struct gt_bpf_count {
	uint64_t seen, other, sent, lost, unreported, since;
};

#define GT_BPF_RAW     0xff /* type: a struct gt_bpf_raw, where others are a union gt_record */
#define GT_BPF_RAW_MAX 256  /* bytes of a tracepoint's record that are sent */

/**
 * struct gt_bpf_raw - before a tracepoint's record as it is, for the event maps
 * @index: which tracepoint: its number in the map of struct gt_bpf_tp
 * @len: bytes of the record that follow; the first 8 mean nothing
 * @tid, @pid, @uid: who ran; @pid: thread group
 */
struct gt_bpf_raw {
	uint64_t ts;
	uint8_t type;
	uint8_t flags;
	uint16_t cpu;
	uint16_t index;
	uint16_t len;
	uint32_t tid, pid, uid, reserved;
};

#define GT_BPF_TPS     512 /* tracepoints */
#define GT_BPF_STRINGS 4   /* of a record, that have no fixed place */
#define GT_BPF_REL     0x8000

enum gt_bpf_test { GT_BPF_ANY, GT_BPF_EQUAL, GT_BPF_UNLIKE, GT_BPF_BITS };

/**
 * struct gt_bpf_tp - what of a tracepoint's record is sent
 * @fixed: bytes before the strings; 0: the tracepoint is not in use
 * @nstring, @string: where the words are that say where a string is and how long (length << 16 |
 *	offset), as `__data_loc` has them; GT_BPF_REL: the offset counts from behind the word
 * @owner: the running thread is the owner
 * @test: what the @size bytes at @at must be to @value, else it is of no interest; @sign: they are
 *	signed
 * @made: its record is made, as a struct gt_bpf_made says
 */
struct gt_bpf_tp {
	uint16_t fixed;
	uint8_t nstring;
	uint8_t owner;
	uint16_t string[GT_BPF_STRINGS];
	uint8_t test, size, sign, made;
	uint16_t at;
	uint64_t value;
};

#define GT_BPF_FIELDS 16
#define GT_BPF_ARGS   5
#define GT_BPF_LOADS  8
#define GT_BPF_TEXT   40 /* bytes of a string that was followed to, with its NUL */

enum gt_bpf_base { GT_BPF_NUMBER, GT_BPF_STRING, GT_BPF_CHARS, GT_BPF_ARG };

/**
 * struct gt_bpf_field - a field of an event that the kernel lacks: pointers are followed to it
 * @base: what is at @from, an offset in the source's record; GT_BPF_ARG: argument @from of a
 * function
 * @bytes: of that number
 * @text: it ends at characters, else at a number; @size: bytes of that number
 * @to: where it is put in the record
 * @n: how many times what lies @off bytes on is read; the last gives the value. 0: the base does
 */
struct gt_bpf_field {
	uint8_t base, bytes, text, size;
	uint16_t from, to;
	uint32_t n;
	int32_t off[GT_BPF_LOADS];
};

/** struct gt_bpf_made - such an event; @len: bytes of its record */
struct gt_bpf_made {
	uint16_t n, len;
	struct gt_bpf_field field[GT_BPF_FIELDS];
};

/** struct gt_bpf_args - of a tracepoint or function; there may be fewer */
struct gt_bpf_args {
	uint64_t arg[GT_BPF_ARGS];
};

/**
 * struct gt_bpf_level - a level of a CPU
 * @busy: taken; all else is of who has taken it
 * @of: the tracepoint that is reported by its arguments, its number + 1; 0: none
 * @since: time of the event that is reported; 0: the clock is not read yet; GT_BPF_READING: it is
 *	being read
 * @args: of that, on their way from the entry to the body
 */
struct gt_bpf_level {
	uint32_t busy, of;
	uint64_t since;
	struct gt_bpf_args args;
};

#define GT_BPF_READING 1

/** struct gt_bpf_levels - those of a CPU; @left: events that a tracepoint's first entry left to its
 * second one; @caught: those, and events that the kernel kept from the first one, which the second
 * one reported */
struct gt_bpf_levels {
	struct gt_bpf_level level[GT_BPF_LEVELS];
	uint64_t left, caught;
};

#define GT_BPF_MARKS 4096

/** struct gt_bpf_marks - events that a tracepoint's first entry reports, see args.bpf.c */
struct gt_bpf_marks {
	uint64_t of[GT_BPF_MARKS];
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
