/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What sysfs tells of GPUs, read off when somebody looks. sysfs.c: the plugin's hooks; device.c:
 * which devices there are, and whether they sleep; attr.c: which of their files tell what;
 * client.h and kfd.h: processes.
 */
#ifndef GT_SYSFS_INTERNAL_H
#define GT_SYSFS_INTERNAL_H

#include "../backend.h"
#include "../sysroot.h"

#define SF_DEVICES  64
#define SF_KIND	    32 /* files of a device that tell of one kind of thing */
#define SF_ATTRS    (SF_KIND * GT_GAUGE_KINDS)
#define SF_ENTRIES  4096 /* of a folder that are looked at */
#define SF_SLOW	    50	 /* a file that takes T to read is read every SF_SLOW * T at most */
#define SF_STALE_NS 5000000000ull /* what was read longer ago is not told */

/** struct sf_options - see the table in sysfs.c; @interval and @sample in ms, @sweep in s */
struct sf_options {
	char *sysroot, *files;
	int64_t interval, sample, sweep;
	bool events;
};

/* How a file's text becomes a value: a number, a percentage, a table of levels */
enum sf_how { SF_NUMBER, SF_PERCENT, SF_LEVELS };

/**
 * struct sf_attr - one file of a device
 * @path: below the root
 * @label: of the file that names the channel, "" none; @labelled: it was read
 * @suffix: of the key, behind the label
 * @factor: from the file's unit to the key's
 * @gauge: what it told last, at @at, @n of them
 * @due: not to be read again before that
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

/** struct sf_device - @path: of its folder below the root; @gpu: the host's number
 * @render: minor of its render node, -1 none
 * @skipped: it slept when its clients were looked for; @unseen: and so not all of them are known */
struct sf_device {
	char path[64];
	int minor, render;
	uint32_t kfd_id; /* 0 none */
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
	struct sf_smi *smi; /* NULL: none is asked for */
};

/* device.c */
/** sf_devices_any() - is there a GPU at all? Asks the host nothing */
bool sf_devices_any(const struct gt_root *root);
/** sf_devices_scan() - which there are now, in place of those there were; true: they are others */
bool sf_devices_scan(struct sf *sf);
void sf_devices_free(struct sf *sf);
/** sf_device_awake() - may it be asked? @word: what the kernel says of that, "" nothing */
bool sf_device_awake(struct sf *sf, const struct sf_device *d, char *word, size_t len);
/** sf_devices_read() - reads all that are awake, and tells the host */
void sf_devices_read(struct sf *sf);

/* attr.c */
/** sf_attrs_find() - files of @d that tell something. Reads none of them: it may sleep */
void sf_attrs_find(const struct gt_root *root, struct sf_device *d);
void sf_attrs_free(struct sf_device *d);
/** sf_attr_read() - into @a->gauge, unless it is too early for that; @now: CLOCK_MONOTONIC */
void sf_attr_read(struct sf *sf, struct sf_attr *a, uint64_t now);
/** sf_levels() - "0: 500Mhz\n1: 1000Mhz *": Hz now, least and greatest. How many of @out are told,
 * each GT_NONE64 if it is not */
bool sf_levels(const char *text, uint64_t out[3]);

#endif
