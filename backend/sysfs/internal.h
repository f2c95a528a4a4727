/* SPDX-License-Identifier: GPL-2.0 */
/*
 * State of GPUs and of the processes that use them, read from sysfs and /proc on demand. sysfs.c: the
 * plugin's hooks; device.c: devices and their files; client.c: DRM clients; kfd.c, kfd_smi.c: AMD's
 * compute driver; kfd_dump.c, kfd_dump_play.c: dumps of its queues, also saved ones.
 */
#ifndef GT_SYSFS_INTERNAL_H
#define GT_SYSFS_INTERNAL_H

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

#endif
