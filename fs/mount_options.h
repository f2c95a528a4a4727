/* SPDX-License-Identifier: GPL-2.0 */
/* The command line: mount(8)'s helper convention, and the mount options. */
#ifndef GT_MOUNT_OPTIONS_H
#define GT_MOUNT_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* mount(8)'s exit codes */
#define GT_EXIT_USAGE  1
#define GT_EXIT_SYSTEM 2
#define GT_EXIT_MOUNT  32

/**
 * struct gt_setting - `key=value` for gputrace.conf's table, in the order given
 */
struct gt_setting {
	char *key, *value;
	struct gt_setting *next;
};

/**
 * struct gt_mountargs - what the command line asked for
 * @fake: -f: check everything, mount nothing
 * @auto_unmount: a process stays that unmounts when the daemon has gone
 * @mountns: file of the mount namespace to mount in, or NULL
 * @gid: of gid=, or -1
 * @fuse: options that are FUSE's or the kernel's own, separated by commas
 */
struct gt_mountargs {
	char *dir;
	char *conf;
	char *replay, *speed;
	char *mountns;
	bool fake, foreground, verbose, sloppy, help, version, read_only, auto_unmount;
	int64_t gid;
	unsigned int max_read; /* 0: none; in @fuse, too */
	char *fuse;
	struct gt_setting *settings;
};

/** gt_mountargs_parse() - 0, or -EINVAL with the sentence in @err */
int gt_mountargs_parse(struct gt_mountargs *a, int argc, char **argv, char *err, size_t len);
void gt_mountargs_free(struct gt_mountargs *a);
/** gt_mountargs_help() - the text of --help */
void gt_mountargs_help(const char *program);

#endif
