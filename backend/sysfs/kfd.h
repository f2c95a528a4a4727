/* SPDX-License-Identifier: GPL-2.0 */
/*
 * AMD's compute driver, as class/kfd/kfd of sysfs tells of it. kfd.c: which of its numbers is which
 * GPU, which processes use it and what of it; kfd_queue.c: their queues; kfd_hw.c, kfd_dump.c:
 * which of them are on the hardware.
 */
#ifndef GT_SYSFS_KFD_H
#define GT_SYSFS_KFD_H

#include "internal.h"

#define SF_KFD_PROC    "sys/class/kfd/kfd/proc"
#define SF_KFD_PROCS   1024
#define SF_KFD_QUEUES  4096
#define SF_KFD_ENTRIES 2048 /* of a process's folder of queues that are looked at */
/* A look reads so much, the rest in turn: processes' folders of queues; numbers of a process on a
 * GPU, which are four files */
#define SF_KFD_TURN    32
#define SF_KFD_NEW     64 /* processes that are asked whose they are */
#define SF_KFD_ALL     64 /* all are read, if there are no more */
#define SF_KFD_PAIRS   16
#define SF_KFD_BASE    3000000u /* numbers below queues/ from here on */
#define SF_KFD_NUMBERS 1000000u

/**
 * struct sf_kfd_queue - a queue that its driver lists
 * @id: below queues/; GT_NONE32: of no GPU that is known, or there are too many: not told
 * @number: the driver's, of its process; @ino: of its folder: another queue has another
 * @next: of the same process, index + 1; @user: index of whose it is
 * @base: where its packets are, 0: not known
 */
struct sf_kfd_queue {
	uint64_t ino, base;
	uint32_t id, number, next;
	uint16_t gpu, user;
	uint16_t kind; /* enum gt_queue_kind */
	uint64_t size;
	bool listed;
};

/**
 * struct sf_kfd_proc - @first: of its queues, index + 1; @ino, @user: as of a queue
 * @refused: queues of its that there was no room for at the last look; @changes: that came or went
 * @known: of one that is listed: it was before
 */
struct sf_kfd_proc {
	uint64_t ino;
	uint32_t pid, first, refused, changes;
	uint16_t user;
	bool known;
};

/**
 * struct sf_kfd - @proc: by pid; @listed: all that there are now
 * @hw: it can be told which of them are on the hardware
 * @tells: queues are for this backend to tell of; @begun: those that were there before it are known
 * @turn, @pair, @fresh: where the next look goes on
 * @last: the number that is given next, less SF_KFD_BASE; @wrapped: all were given once
 * @unplaced: there is a queue of which it is to be found out where its packets are, from @place_due
 * on
 * @table: what kfd_hw.c showed last, good until @table_due; NULL nothing yet
 * @told: where some queue is; @asleep_until: a GPU slept, which is not asked for again before
 * @last_ts: of the last record
 * @out: records that wait for sf_kfd_flush()
 */
struct sf_kfd {
	struct sf_kfd_proc proc[SF_KFD_PROCS], listed[SF_ENTRIES];
	unsigned int n, turn, pair, fresh;
	struct sf_kfd_queue queue[SF_KFD_QUEUES];
	uint32_t used, free, nqueues, last;
	bool hw, tells, begun, wrapped, unplaced, told;
	char *table;
	uint64_t table_due, place_due, asleep_until, last_ts;
	union gt_record out[64];
	unsigned int nout;
	struct {
		uint64_t looks, pushed, refused, strange, cut, dumps, dump_bad, dump_cut, placed;
	} stats;
};

/* kfd.c */
/** sf_kfd_new() - NULL: no memory */
struct sf_kfd *sf_kfd_new(void);
void sf_kfd_free(struct sf_kfd *k);
/** sf_kfd_find() - which numbers AMD's compute driver gives the devices */
void sf_kfd_find(struct sf *sf);
/** sf_kfd_all_known() - is each GPU that the driver has now one of the devices? */
bool sf_kfd_all_known(const struct sf *sf);
/**
 * sf_kfd_look() - which processes there are, and which queues they have
 * @numbers: and what they use, unless their device sleeps
 */
void sf_kfd_look(struct sf *sf, bool numbers);
/** sf_kfd_number() - in a small file; some are without a line's end. GT_NONE64: none */
uint64_t sf_kfd_number(const struct gt_root *root, const char *path);
/** sf_kfd_tell() - what process @pid uses of @d; @anyway: also if nothing is known but that it does
 */
void sf_kfd_tell(struct sf *sf, uint32_t pid, const struct sf_device *d, bool anyway);

/* kfd_queue.c */
/** sf_kfd_claim() - asks whether queues are for this backend to tell of */
void sf_kfd_claim(struct sf *sf);
/** sf_kfd_queues() - which queues some of the processes have, in turn */
void sf_kfd_queues(struct sf *sf);
/** sf_kfd_queues_again() - which queues the processes have that have one without a place; from then
 * on their changes are counted */
void sf_kfd_queues_again(struct sf *sf);
/** sf_kfd_place() - the packets of @q, of process @pid, are at @base */
void sf_kfd_place(struct sf *sf, struct sf_kfd_queue *q, uint32_t pid, uint64_t base);
/** sf_kfd_drop() - @p has ended, and with it its queues */
void sf_kfd_drop(struct sf *sf, struct sf_kfd_proc *p);
/** sf_kfd_forget() - none is known any more: they are to be found again */
void sf_kfd_forget(struct sf *sf);
/** sf_kfd_queue() - NULL: there is none; @i: index + 1 */
static inline const struct sf_kfd_queue *sf_kfd_queue(const struct sf_kfd *k, uint32_t i)
{
	return i ? &k->queue[i - 1] : NULL;
}
/** sf_kfd_record() - one more that waits, to be filled */
union gt_record *sf_kfd_record(struct sf *sf, uint16_t gpu, enum gt_type type, uint64_t ts);
/** sf_kfd_queues_event() - an event of each queue that @pid has on @gpu; false: none is known */
bool sf_kfd_queues_event(struct sf *sf, uint32_t pid, uint16_t gpu, enum gt_type type, uint64_t ts);
/** sf_kfd_flush() - hands over what waits */
void sf_kfd_flush(struct sf *sf);

/* kfd_hw.c */
/** sf_kfd_hw_begin() - says that it can tell which queues are mapped where, if it can */
void sf_kfd_hw_begin(struct sf *sf);
/** sf_kfd_hw_look() - tells that, unless it was a moment ago; false: nobody knows now */
bool sf_kfd_hw_look(struct sf *sf);
/** sf_kfd_hw_tell() - hands over what is known: nothing else is */
void sf_kfd_hw_tell(struct sf *sf, const struct gt_queue_hw *q, size_t n);
/** sf_kfd_find_places() - where the packets of queues are that are new, as far as debugfs tells */
void sf_kfd_find_places(struct sf *sf);
/** sf_kfd_show() - which queues are mapped where: a backend's file */
void sf_kfd_show(struct gt_plugin *p, char *buf, size_t len);

#endif
