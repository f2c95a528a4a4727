/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Dumps of the compute driver's queues that were saved to files: `-o replay=`. They are read by a
 * child without rights, as whoever saved them may have put anything there.
 */
#ifndef GT_SYSFS_PLAY_H
#define GT_SYSFS_PLAY_H

#include "../backend.h"

/** sf_play_knows() - do the first @len bytes begin such a dump? As gt_backend.knows */
bool sf_play_knows(const char *path, const uint8_t *head, size_t len);
/* The plugin's hooks when it plays; @files: paths, a colon between two */
int sf_play_probe(struct gt_plugin *p, const char *files);
int sf_play_start(struct gt_plugin *p, const char *files);
int sf_play_drain(struct gt_plugin *p);
void sf_play_stop(struct gt_plugin *p);
void sf_play_doctor(const struct gt_plugin *p, char *buf, size_t len);
void sf_play_show(struct gt_plugin *p, char *buf, size_t len);

/** struct sf_played - what the child says before the rows */
struct sf_played {
	uint64_t n, cut, bad;
};

#define SF_PLAY_OUT   3 /* descriptors of the child: the pipe, and files */
#define SF_PLAY_FIRST 4

/** sf_play_child() - all of the child: reads @n files, and writes what they hold; @parent: its pid
 */
void sf_play_child(unsigned int n, int parent) __attribute__((noreturn));

#endif
