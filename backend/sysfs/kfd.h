/* SPDX-License-Identifier: GPL-2.0 */
/* AMD's compute driver: its processes and queues (kfd.c), and its events (kfd_smi.c). */
#ifndef GT_SYSFS_KFD_H
#define GT_SYSFS_KFD_H

#include "internal.h"

#define SF_KFD_PROC    "sys/class/kfd/kfd/proc"
#define SF_KFD_PROCS   1024
#define SF_KFD_QUEUES  4096
#define SF_KFD_ENTRIES 2048 /* entries of a process's folder of queues that are read */
/* Read at a time, the rest in turn: folders of queues; usage of a process on a GPU, which is four
 * files */
#define SF_KFD_TURN    32
#define SF_KFD_NEW     64 /* new processes, of which the user is read */
#define SF_KFD_ALL     64 /* up to so many are all read */
#define SF_KFD_PAIRS   16
#define SF_KFD_BASE    3000000u /* first number below queues/ */
#define SF_KFD_NUMBERS 1000000u

/**
 * struct sf_kfd_queue - a queue that the driver lists
 * @ino: inode of its folder, which identifies the queue
 * @base: address of its packets, 0: unknown
 * @id: number below queues/; GT_NONE32: not reported, as the GPU is unknown or the table is full
 * @number: the driver's number in the process
 * @next: next queue of the process, index + 1
 * @user: index of its user
 * @kind: enum gt_queue_kind
 */
struct sf_kfd_queue {
	uint64_t ino, base;
	uint32_t id, number, next;
	uint16_t gpu, user;
	uint16_t kind;
	uint64_t size;
	bool listed;
};

/**
 * struct sf_kfd_proc - a process
 * @ino, @user: as of a queue
 * @first: its first queue, index + 1
 * @refused: queues without room at the last read
 * @changes: queues that came or went
 * @known: of one in the list: it was known before
 */
struct sf_kfd_proc {
	uint64_t ino;
	uint32_t pid, first, refused, changes;
	uint16_t user;
	bool known;
};

/**
 * struct sf_kfd - the driver's processes and queues
 * @proc: @n processes by pid
 * @listed: those of the current list
 * @turn, @pair, @fresh: where the next read goes on
 * @last: next number, less SF_KFD_BASE
 * @hw: places on the hardware can be reported
 * @reports: queues are reported by this backend, by its exclusive claim
 * @begun: queues that are older than the backend are known
 * @wrapped: every number was given once
 * @unplaced: there is a queue without @base, to be looked for after @place_due
 * @reported: a place of a queue was reported
 * @table: the last text of sf_kfd_show(), valid until @table_due; NULL none
 * @asleep_until: a GPU slept; the GPUs are not asked again before
 * @last_ts: time of the last record
 * @out: records that wait for sf_kfd_flush()
 */
struct sf_kfd {
	struct sf_kfd_proc proc[SF_KFD_PROCS], listed[SF_ENTRIES];
	unsigned int n, turn, pair, fresh;
	struct sf_kfd_queue queue[SF_KFD_QUEUES];
	uint32_t used, free, nqueues, last;
	bool hw, reports, begun, wrapped, unplaced, reported;
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
/** sf_kfd_find() - finds the GPU IDs that the driver gives the devices */
void sf_kfd_find(struct sf *sf);
/**
 * sf_kfd_look() - reads which processes there are, and their queues
 * @numbers: and what they use, unless their device sleeps
 */
void sf_kfd_look(struct sf *sf, bool numbers);
/** sf_kfd_claim() - asks for the exclusive claim on queues */
void sf_kfd_claim(struct sf *sf);
/** sf_kfd_queues() - reads the queues of some processes, in turn */
void sf_kfd_queues(struct sf *sf);
/** sf_kfd_forget() - drops all queues */
void sf_kfd_forget(struct sf *sf);
/** sf_kfd_queue() - by index + 1; NULL for 0 */
static inline const struct sf_kfd_queue *sf_kfd_queue(const struct sf_kfd *k, uint32_t i)
{
	return i ? &k->queue[i - 1] : NULL;
}
/** sf_kfd_record() - a new record to fill, which waits for sf_kfd_flush() */
union gt_record *sf_kfd_record(struct sf *sf, uint16_t gpu, enum gt_type type, uint64_t ts);
/** sf_kfd_queues_event() - emits an event of each queue of @pid on @gpu; false: none is known */
bool sf_kfd_queues_event(struct sf *sf, uint32_t pid, uint16_t gpu, enum gt_type type, uint64_t ts);
/** sf_kfd_flush() - pushes the records that wait */
void sf_kfd_flush(struct sf *sf);

/** sf_kfd_hw_begin() - checks whether places on the hardware can be reported */
void sf_kfd_hw_begin(struct sf *sf);
/** sf_kfd_hw_look() - reports them, unless that was a moment ago; false: unknown now */
bool sf_kfd_hw_look(struct sf *sf);
/** sf_kfd_hw_report() - hands over all that is known */
void sf_kfd_hw_report(struct sf *sf, const struct gt_queue_hw *q, size_t n);
/** sf_kfd_find_places() - finds the addresses of packets of new queues in debugfs */
void sf_kfd_find_places(struct sf *sf);
/** sf_kfd_show() - gt_backend_file.show: which queues are mapped where */
void sf_kfd_show(struct gt_plugin *p, char *buf, size_t len);

/* kfd_smi.c: events, by the descriptors that AMDKFD_IOC_SMI_EVENTS of /dev/kfd gives: a line of text each
 * (kfd_smi_events.c of amdkfd) */

/* Numbers of linux/kfd_ioctl.h, which needs libdrm's headers */
enum sf_smi_id {
	SF_SMI_VMFAULT = 1,
	SF_SMI_THROTTLE = 2,
	SF_SMI_PRE_RESET = 3,
	SF_SMI_MIGRATE_START = 5,
	SF_SMI_MIGRATE_END = 6,
	SF_SMI_EVICTION = 9,
	SF_SMI_RESTORE = 10,
	SF_SMI_ALL_PROCESS = 64,
};

/**
 * struct sf_smi_event - one line; unknown values are all ones
 * @id: enum sf_smi_id
 * @trigger: the reason, by kind of event
 * @ts: CLOCK_BOOTTIME, ns
 * @addr, @size: pages, of a migration
 * @value, @mask: of a throttle
 * @again: a restore failed, and is tried again
 */
struct sf_smi_event {
	uint32_t id, pid, trigger;
	uint64_t ts, addr, size, value, mask;
	bool again;
};

/** sf_smi_parse() - parses @line, without its newline; false: another event, or no event */
bool sf_smi_parse(const char *line, struct sf_smi_event *out);

/** struct sf_smi - the descriptors, one for each GPU */
struct sf_smi;

/** sf_smi_start() - opens the events of all GPUs of the driver; -errno after host->error() */
int sf_smi_start(struct sf *sf);
/** sf_smi_stop() - may be called when nothing was started */
void sf_smi_stop(struct sf *sf);
/** sf_smi_add() - takes over @fd with events of @gpu; closes it on an error */
int sf_smi_add(struct sf *sf, int fd, uint16_t gpu);
/** sf_smi_read() - pushes the events that have come */
void sf_smi_read(struct sf *sf);
/** sf_smi_fds() - number of open descriptors */
unsigned int sf_smi_fds(const struct sf *sf);
struct gt_details;
void sf_smi_doctor(const struct sf *sf, struct gt_details *t);

#endif
