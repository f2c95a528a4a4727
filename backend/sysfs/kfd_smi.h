/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Events of AMD's compute driver: what the descriptors tell that AMDKFD_IOC_SMI_EVENTS of /dev/kfd
 * gives, a line of text each (kfd_smi_events.c of amdkfd).
 */
#ifndef GT_SYSFS_KFD_SMI_H
#define GT_SYSFS_KFD_SMI_H

#include "internal.h"

/* As linux/kfd_ioctl.h numbers them, which asks for libdrm's headers */
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
 * struct sf_smi_event - one line; what it does not tell is all ones
 * @id: enum sf_smi_id
 * @ts: CLOCK_BOOTTIME, ns
 * @addr, @size: pages, of a migration
 * @trigger: why, by kind of event; @value, @mask: of a throttle
 * @again: of a restore: it failed, and is tried again
 */
struct sf_smi_event {
	uint32_t id, pid, trigger;
	uint64_t ts, addr, size, value, mask;
	bool again;
};

/** sf_smi_parse() - @line, without its end; false: none of those that are asked for, or none */
bool sf_smi_parse(const char *line, struct sf_smi_event *out);

/** struct sf_smi - the descriptors, one a GPU; see kfd_smi.c */
struct sf_smi;

/** sf_smi_start() - asks the driver for events of all its GPUs; -errno after host->error() */
int sf_smi_start(struct sf *sf);
/** sf_smi_stop() - may be called when nothing was started */
void sf_smi_stop(struct sf *sf);
/** sf_smi_add() - @fd, which is its from here on, tells of @gpu; -errno: and is closed */
int sf_smi_add(struct sf *sf, int fd, uint16_t gpu);
/** sf_smi_read() - hands over what has come */
void sf_smi_read(struct sf *sf);
/** sf_smi_fds() - how many tell */
unsigned int sf_smi_fds(const struct sf *sf);
struct gt_details;
void sf_smi_doctor(const struct sf *sf, struct gt_details *t);

#endif
