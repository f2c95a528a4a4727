/* SPDX-License-Identifier: GPL-2.0 */
/*
 * State of GPUs and of the processes that use them, read from sysfs and /proc on demand. sysfs.c: the
 * plugin's hooks; device.c: devices and their files; clients.c: DRM clients; kfd.c, kfd_events.c: AMD's
 * compute driver; kfd_hw.c: dumps of its queues, also saved ones.
 */
#ifndef GT_SYSFS_H
#define GT_SYSFS_H

#include <linux/capability.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../backend.h"
#include "../lib/file.h"

#define SF_DEVICES  64
#define SF_KIND	    32 /* files of a device of one kind */
#define SF_ATTRS    (SF_KIND * GT_GAUGE_KINDS)
#define SF_ENTRIES  4096 /* entries of a folder that are read */
#define SF_SLOW	    50	 /* a file that takes T to read is read at most every SF_SLOW * T */
#define SF_STALE_NS 5000000000ull /* older values are not reported */

/** struct sf_options - see the table in sysfs.c; @interval and @sample in ms, @sweep in s */
struct sf_options {
	char *sysroot, *files, *speed;
	int64_t interval, sample, sweep;
	bool events;
};

/* How a file's text becomes a value: a number, a percentage, a table of levels */
enum sf_how { SF_NUMBER, SF_PERCENT, SF_LEVELS };

/**
 * struct sf_attr - one file of a device
 * @path: below the root
 * @key: of its gauge
 * @label: name of the file with the channel's name, "" for none; @labelled: it was read
 * @suffix: of the key, after the label
 * @how: enum sf_how
 * @factor: from the file's unit to the key's
 * @gauge: the last @n values, read at @at
 * @due: CLOCK_MONOTONIC before which it is not read again
 */
struct sf_attr {
	char *path;
	char key[44];
	char label[16], suffix[24];
	bool labelled;
	uint8_t kind, how;
	int32_t factor;
	unsigned int n;
	struct gt_gauge gauge[3];
	uint64_t at, due;
};

/**
 * struct sf_device - a GPU
 * @path: of its folder below the root
 * @render: minor number of its render node, -1 none
 * @kfd_id: 0 none
 * @skipped: it slept during the scan of its clients; @unseen: so some of them may be unknown
 * @gpu: the host's number
 */
struct sf_device {
	char path[64];
	int minor, render;
	uint32_t kfd_id;
	bool skipped, unseen;
	uint16_t gpu, has;
	unsigned int nattrs;
	struct sf_attr *attr;
};

struct sf_stats {
	uint64_t looks, reads, asleep, slow, bad;
};

struct sf_clients;
struct sf_kfd;
struct sf_smi;

struct sf {
	struct gt_plugin *p;
	struct gt_root root;
	unsigned int n;
	struct sf_device dev[SF_DEVICES];
	uint64_t looked; /* when the devices were read last */
	struct sf_stats stats;
	struct sf_clients *clients;
	struct sf_kfd *kfd;
	struct sf_smi *smi; /* NULL: the setting is off */
};

/* device.c */
/** sf_devices_any() - is there a GPU? Does not call the host */
bool sf_devices_any(const struct gt_root *root);
/** sf_devices_scan() - lists the devices anew; true: they have changed */
bool sf_devices_scan(struct sf *sf);
void sf_devices_free(struct sf *sf);
/** sf_device_awake() - may it be read? @word: the kernel's word for its state, "" if unknown */
bool sf_device_awake(struct sf *sf, const struct sf_device *d, char *word, size_t len);
/** sf_devices_read() - reads all devices that are awake, and hands the values over */
void sf_devices_read(struct sf *sf);

/** sf_levels() - parses "0: 500Mhz\n1: 1000Mhz *": the current, lowest and highest clock in Hz, GT_NONE64
 * for unknown; false: no level */
bool sf_levels(const char *text, uint64_t out[3]);

/* play.c */
/** sf_play_knows() - do the first @len bytes start a dump? As gt_backend.knows */
bool sf_play_knows(const char *path, const uint8_t *head, size_t len);
/* The plugin's hooks when it plays; @files: paths, a colon between two */
int sf_play_probe(struct gt_plugin *p, const char *files);
int sf_play_start(struct gt_plugin *p, const char *files);
int sf_play_drain(struct gt_plugin *p);
void sf_play_stop(struct gt_plugin *p);
void sf_play_doctor(const struct gt_plugin *p, char *buf, size_t len);
void sf_play_show(struct gt_plugin *p, char *buf, size_t len);

/*
 * Dumps of queues by AMD's compute driver in debugfs, kfd/mqds and kfd/hqds (kfd_debugfs.c,
 * kfd_device_queue_manager.c of amdkfd): descriptors of queues in memory (MQD), and slots of the
 * hardware to which these are mapped (HQD), with their registers.
 */

#define SF_DUMP_WORDS 56 /* kept of a queue: registers from CP_MQD_BASE_ADDR on */

enum sf_dump_kind {
	SF_DUMP_MQD, /* of a compute queue */
	SF_DUMP_MQD_SDMA,
	SF_DUMP_MQD_OTHER, /* a queue of the driver, without usable registers */
	SF_DUMP_HQD,
	SF_DUMP_HQD_SDMA, /* @pipe is its engine, @queue its number there */
	SF_DUMP_HIQ,	  /* the driver's queue of requests to the scheduler */
};

/**
 * struct sf_dumped - one queue of a dump
 * @gpu_id: of its device
 * @pid: of an MQD; 0: unknown
 * @inst: number of the compute part (XCC), 0 if there is one
 * @have: 1 << index for each word that the dump has
 */
struct sf_dumped {
	enum sf_dump_kind kind;
	uint32_t gpu_id, pid;
	uint32_t inst, mec, pipe, queue;
	uint64_t have;
	uint32_t word[SF_DUMP_WORDS];
};

#define SF_DUMP_GPUS 128 /* of a dump; a machine has 64 at most */

/**
 * struct sf_dump_about - what a dump has besides queues
 * @bad: lines that do not belong to a dump
 * @first_bad: number of the first of these, from 1
 * @gpu: IDs of the @ngpus devices with dumped slots, also without a queue
 */
struct sf_dump_about {
	unsigned int bad, first_bad, ngpus;
	uint32_t gpu[SF_DUMP_GPUS];
};

/**
 * sf_dump_parse() - calls @fn for each queue in @text, which may hold anything, up to its NUL
 * @about: may be NULL
 *
 * Return: number of lines that do not belong to a dump.
 */
unsigned int sf_dump_parse(const char *text, void (*fn)(void *arg, const struct sf_dumped *q),
			   void *arg, struct sf_dump_about *about);

/** sf_dump_begins() - is one of the first lines of @text the first line of a dump? */
bool sf_dump_begins(const char *text, size_t len);

/** struct sf_hw - meaning of the registers, UINT64_MAX for unknown; @doorbell: its offset, bytes */
struct sf_hw {
	bool active;
	uint64_t mqd, vmid, doorbell, base, size, rptr, wptr;
};

/** sf_dump_hw() - reads the registers; false: even the state of the queue is missing */
bool sf_dump_hw(const struct sf_dumped *q, struct sf_hw *out);

#define SF_ROWS	    1024
#define SF_DUMP_MAX (8u << 20) /* bytes of a dump */

/**
 * struct sf_row - a queue
 * @q: its pid is 0 for a slot without a known descriptor; its queue is the number below queues/
 * @vmid, @rptr, @wptr: of its slot, or in memory if it has none
 */
struct sf_row {
	uint32_t gpu_id;
	struct gt_queue_hw q;
	uint64_t vmid, rptr, wptr;
};

/**
 * struct sf_rows - a table of queues
 * @row: room for SF_ROWS
 * @most: rows of one process; 0: no limit
 * @cut: queues without room
 * @bad: lines that do not belong to a dump
 */
struct sf_rows {
	struct sf_row *row;
	unsigned int n, most;
	uint64_t cut, bad;
};

/** sf_rows_mqd(), sf_rows_hqd() - add a queue to the struct sf_rows @arg: first all descriptors, then
 * all slots */
void sf_rows_mqd(void *arg, const struct sf_dumped *q);
void sf_rows_hqd(void *arg, const struct sf_dumped *q);
/** sf_rows_print() - writes the table */
void sf_rows_print(struct sf_rows *all, char *buf, size_t len);

/* DRM clients: which processes have a GPU open, and what they use of it; see clients.c. */

#define SF_FDINFO_MAX 8192 /* bytes that are read; amdgpu's have 1.5 KiB */

/** struct sf_engine - GT_NONE64 for unknown; @capacity 0 means 1 */
struct sf_engine {
	char name[GT_USE_NAME];
	uint64_t ns, cycles, total_cycles, max_hz;
	uint32_t capacity;
};

/** struct sf_fdinfo - /proc/PID/fdinfo/FD; @drm: of a DRM client; @id: GT_NONE64 for unknown */
struct sf_fdinfo {
	bool drm;
	uint64_t id;
	unsigned int nengines, nregions;
	struct sf_engine engine[GT_USE_ENGINES];
	struct gt_use_region region[GT_USE_REGIONS];
};

/** sf_fdinfo_parse() - @text may hold anything; invalid values are ignored */
void sf_fdinfo_parse(const char *text, struct sf_fdinfo *out);
/**
 * sf_engine_busy() - ns that an engine was busy for a client between two reads, @dt apart
 * @old: NULL: since the client was made
 *
 * By time if the driver reports that; else by cycles, of the engine's cycles or of its highest clock. 0
 * if the counter went back.
 */
uint64_t sf_engine_busy(const struct sf_engine *old, const struct sf_engine *now, uint64_t dt);

#define SF_CLIENTS  8192
#define SF_USERS    256
#define SF_SHARE    4 /* a user other than root gets at most a fourth of each limit */
#define SF_HEADS    4096
#define SF_AT_WORK  256 /* active clients that are read at a time, and idle ones */
#define SF_IDLE	    32
#define SF_WARM	    8 /* reads without a change until a client is idle */
#define SF_GRAVES   64
#define SF_AGAIN_NS 1000000000ull /* between two scans of all processes, at least */
#define SF_RIGHTS                                                                                  \
	(1ull                                                                                      \
	 << CAP_DAC_READ_SEARCH) /* to open files of /proc that only the process's user may open */

/**
 * struct sf_client - a client, in the first process that has it
 * @number: of the descriptor
 * @fd: its fdinfo, or -1: opened for each read
 * @dev: index in sf.dev
 * @user: index of its user
 * @warm: reads until it counts as idle
 * @emitted: something of it was emitted
 * @since_begin: it is newer than the daemon, so all of its work counts
 * @at, @last: time and content of the last read
 * @next: next of the same hash, index + 1
 */
struct sf_client {
	uint64_t id;
	uint32_t pid;
	unsigned int number;
	int fd;
	uint16_t dev, user;
	uint8_t warm;
	bool emitted, since_begin;
	uint64_t at;
	uint32_t next;
	struct sf_fdinfo last;
};

/**
 * struct sf_user - what one user takes of the limits, so that nobody hides the clients of others behind
 * many processes, descriptors or clients
 * @known: the entry is in use; it is given to another user when nothing is counted any more
 * @processes, @fds: scanned in this scan
 * @clients: DRM clients
 * @kfd, @queues: processes and queues of the compute driver
 */
struct sf_user {
	uint32_t uid;
	bool known;
	unsigned int processes, fds, clients, kfd, queues;
};

/**
 * struct sf_scan - a scan of all processes, done in steps
 * @proc: NULL if none is under way
 * @fds: descriptors of process @now, of @user
 * @pid: of a captured tree: all @npid processes in order, @at is the next one
 * @looked: scanned descriptors of this process
 * @processes: scanned processes
 * @left: descriptors that may still be scanned
 */
struct sf_scan {
	DIR *proc, *fds;
	uint32_t *pid, now;
	unsigned int npid, at, looked, processes, left, steps;
	struct sf_user *user;
	uint64_t began, cost;
};

/** struct sf_grave - a client that has ended or changed hands, and what was counted of it */
struct sf_grave {
	uint64_t id, at;
	uint16_t dev;
	struct sf_fdinfo last;
};

/**
 * struct sf_clients - all of them
 * @c: by slot, NULL for a free one; @n slots are in use or free
 * @work, @idle: slots where the next read begins
 * @scanned: when all processes were scanned last
 * @due: when they are to be scanned again, 0 never
 * @cost: ns that a scan takes
 * @looked: time of the last read
 * @pending: processes to be scanned, as another backend saw them
 * @complete: all clients that are older than the daemon are known
 * @user: the last entry is for all users without one of their own
 */
struct sf_clients {
	struct sf_client *c[SF_CLIENTS];
	unsigned int n, count, work, idle;
	uint32_t head[SF_HEADS];
	struct sf_grave grave[SF_GRAVES];
	unsigned int ngraves;
	int inotify;
	uint64_t scanned, due, cost;
	uint64_t looked;
	uint32_t pending[64];
	unsigned int npending;
	bool complete;
	struct sf_scan scan;
	struct sf_user user[SF_USERS];
	struct {
		uint64_t looks, reads, scans, processes, descriptors, cut, over, refused, ended,
			unseen_ns;
	} stats;
};

struct sf_clients *sf_clients_new(void);
void sf_clients_free(struct sf_clients *cs);
/** sf_user() - the entry of @uid; valid until something is counted, or the next call */
struct sf_user *sf_user(struct sf_clients *cs, uint32_t uid);
/** sf_user_of() - likewise of the real user of process @pid */
struct sf_user *sf_user_of(struct sf *sf, uint32_t pid);
/** sf_clients_read() - reads the active clients, and some of the idle ones in turn */
void sf_clients_read(struct sf *sf);
/** sf_clients_forget() - drops all clients, as the devices have changed */
void sf_clients_forget(struct sf *sf);

/** sf_uid() - real user of @pid; GT_NONE32 if unknown */
uint32_t sf_uid(const struct sf *sf, uint32_t pid);
/** sf_emit_usage() - hands @u over, in a captured tree with the identity of the process */
void sf_emit_usage(struct sf *sf, struct gt_usage *u);

/** sf_scan_start() - watches device nodes, to notice when somebody opens a GPU */
void sf_scan_start(struct sf *sf);
void sf_scan_stop(struct sf *sf);
/** sf_scan_noticed() - did somebody open a GPU since the last call? */
bool sf_scan_noticed(struct sf *sf);
/** sf_scan_process() - scans the descriptors of process @pid */
void sf_scan_process(struct sf *sf, uint32_t pid);
/** sf_scan_begin() - starts a scan of all processes */
void sf_scan_begin(struct sf *sf);
/** sf_scan_continue() - goes on with it until @until, CLOCK_MONOTONIC; true: it is complete */
bool sf_scan_continue(struct sf *sf, uint64_t until);
/** sf_scan_end() - gives it up */
void sf_scan_end(struct sf *sf);

/* AMD's compute driver: its processes and queues (kfd.c), and its events (kfd_events.c). */

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

/* kfd_events.c: events, by the descriptors that AMDKFD_IOC_SMI_EVENTS of /dev/kfd gives: a line of text each
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
