/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Private to the part for ioctls: ioctl.c (the part, the queues that ioctls make, the records),
 * ioctl_attach.c (which devices are GPUs, and where their calls are seen). Its programs are
 * bpf/ioctl.bpf.c.
 */
#ifndef GT_IOCTL_H
#define GT_IOCTL_H

#include "../../bpf/ioctl.h"
#include "bpf.h"

#define GI_QUEUES      16384
#define GI_USER_QUEUES (GI_QUEUES / 4) /* of a user, but root */
#define GI_USERS       256
#define GI_SWEEP_NS    1000000000ull /* between looks at all processes */

/**
 * struct gi_device - a device that the program knows
 * @gpu: GT_NONE16: its commands do not say which
 * @kfd_id: an entry without a device, which only says that this number means @gpu; 0: a device
 * @here: it was found when it was last looked
 */
struct gi_device {
	struct gt_ioctl_key key;
	enum gt_ioctl_driver driver;
	uint16_t gpu;
	uint32_t kfd_id;
	bool here;
};

/**
 * struct gi_devices - by slot, which is their number in records
 * @fd, @config_fd: the programs' maps of them, and of what is wanted
 * @refused: for which there was no room
 */
struct gi_devices {
	struct gb *b;
	int fd, config_fd;
	struct gi_device dev[GT_IOCTL_DEVICES];
	unsigned int n;
	uint64_t refused;
};

/** gi_devices_look() - all there are now, by sysfs or the hidden option */
void gi_devices_look(struct gi_devices *d);
/**
 * gi_devices_emit() - the programs get them, and what is wanted
 * @functions: kinds, as in struct gt_ioctl_config
 */
void gi_devices_emit(const struct gi_devices *d, uint32_t functions);
/** gi_devices_slot() - of the device of @kind, of which there is one; -1: none */
int gi_devices_slot(const struct gi_devices *d, enum gt_ioctl_kind kind);
/** gi_devices_made() - is there one of @driver? */
bool gi_devices_made(const struct gi_devices *d, enum gt_ioctl_driver driver);
/** gi_devices_gpu() - GPU of what is at @slot; false: there is no such slot */
bool gi_devices_gpu(const struct gi_devices *d, unsigned int slot, uint16_t *gpu);
/** gi_devices_kfd() - GPU that KFD calls @id, GT_NONE16 if there is none */
uint16_t gi_devices_kfd(const struct gi_devices *d, uint32_t id);

/** enum gi_list - queues that have something in common: who made them, or the owner */
enum gi_list { GI_BY_PID, GI_BY_OWNER, GI_LISTS };

/**
 * struct gi_queue - a queue that lives
 * @owner, @slot, @number: who numbers it, and how
 * @pid, @uid: who made it; @gen: distinguishes processes with the same pid, 0 not known
 * @found: in the kernel's list, and that it was made has not been reported since
 * @listed: it was there when the list was last read
 */
struct gi_queue {
	uint64_t owner;
	uint32_t slot, number;
	uint32_t pid, uid, gen;
	uint16_t gpu;
	bool used, found, listed;
	uint32_t next; /* index + 1 of the next with its hash, or of the free ones */
	struct {
		uint32_t prev, next;
	} in[GI_LISTS]; /* likewise */
};

/** struct gi_user - @queues 0: nobody's */
struct gi_user {
	uint32_t uid, queues;
};

/**
 * struct gi_queues - queues by who made them
 * @head: index + 1 of the first by hash, which @salt makes nobody foresee
 * @list: likewise, by hash of a pid or an owner
 * @free: likewise of the free ones; @used: those from there on were never used
 * @refused: for which there was no room, for all or for their user
 */
struct gi_queues {
	struct gi_queue *q;
	uint32_t head[4096], list[GI_LISTS][4096], free, used;
	uint64_t salt[2];
	struct gi_user user[GI_USERS];
	uint64_t refused;
};

int gi_queues_init(struct gi_queues *qs);
void gi_queues_free(struct gi_queues *qs);
struct gi_queue *gi_queue_find(struct gi_queues *qs, uint32_t slot, uint64_t owner,
			       uint32_t number);
/**
 * gi_queue_new() - a queue that process @pid of user @uid made; there is none of that number
 * Return: NULL: there is no room.
 */
struct gi_queue *gi_queue_new(struct gi_queues *qs, uint32_t slot, uint64_t owner, uint32_t number,
			      uint32_t pid, uint32_t uid);
/** gi_queue_first() - of those that have @key in common, with some that have another; NULL: none */
struct gi_queue *gi_queue_first(const struct gi_queues *qs, enum gi_list list, uint64_t key);
/** gi_queue_next() - the next after @q */
struct gi_queue *gi_queue_next(const struct gi_queues *qs, enum gi_list list,
			       const struct gi_queue *q);
void gi_queue_end(struct gi_queues *qs, struct gi_queue *q);
/** gi_queue_id() - its number below queues/: one of those that are free */
static inline uint32_t gi_queue_id(const struct gi_queues *qs, const struct gi_queue *q)
{
	return (uint32_t)(q - qs->q) + 1;
}

/** enum gi_how - where the calls of a kind are seen; GI_BLIND: nowhere, and struct gi_way says why
 */
enum gi_how { GI_NOT_YET, GI_FENTRY, GI_KPROBE, GI_TRACEPOINT, GI_BLIND };

/**
 * struct gi_way - of a kind of device
 * @own: programs that are loaded for it alone
 * @begin, @end: links at its driver's function @at
 * @instance: the module that a kprobe is in, see gb_module_instance()
 * @why: what is in the way of a better one
 */
struct gi_way {
	enum gi_how how;
	struct ioctl_bpf *own;
	struct bpf_link *begin, *end;
	const char *at;
	uint64_t instance;
	char why[GB_SENTENCE];
};

/**
 * struct gi - the part
 * @call: links at the tracepoints of ioctl(): begin and end
 * @file: link at the end of files, where there are devices with queues that end with them; of module
 *	@file_instance
 * @end: at those of execve() and of the end of processes, where there are devices that have queues
 * @owner: the number of process @pid (gi_queue.gen), 0 none. @make: it gets one if it is there
 * @swept: when ended processes were last looked for; @sweep: they are to be, soon
 * @unended: how many calls' ends were missing at the last look; @missed, @asked:
 *	likewise events that the kernel kept from the programs
 * @unknown_queues: records about queues that were made before the daemon came, or have gone
 */
struct gi {
	struct gb *b;
	struct ioctl_bpf *skel;
	struct gi_devices devices;
	struct gi_way way[GT_IOCTL_KINDS];
	struct bpf_link *call[2], *end[2], *file;
	uint64_t file_instance;
	struct gi_queues queues;
	uint32_t (*owner)(struct gi *gi, uint32_t pid, bool make);
	uint64_t swept;
	bool sweep;
	uint32_t last_gen;
	uint64_t unended, missed, asked, unknown_queues;
};

/**
 * gi_ways_look() - attaches for the kinds of devices that have come, detaches for those that went
 * Return: kinds with calls that are seen at a function, as in struct gt_ioctl_config
 */
uint32_t gi_ways_look(struct gi *gi);
/** gi_files_look() - likewise for the end of files */
void gi_files_look(struct gi *gi);
void gi_ways_end(struct gi *gi);
/** gi_ways_blind() - are there devices, and none with calls that can be seen? @why: the reason */
bool gi_ways_blind(const struct gi *gi, const char **why);
void gi_ways_doctor(const struct gi *gi, struct gt_details *t);

/** gi_queue_reported() - what a program reported of a queue, or of who has some */
void gi_queue_reported(struct gi *gi, const struct gt_bpf_queue *r);
/** gi_sweep() - at @ts: ends what processes left behind with an end that was not reported */
void gi_sweep(struct gi *gi, uint64_t ts);
/** gi_kfd_look() - likewise what the compute driver's list below @sysfs lacks, and makes what it
 * has
 */
void gi_kfd_look(struct gi *gi, const char *sysfs, uint64_t ts);

#endif
