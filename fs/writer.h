/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What root's daemon writes: files of tracefs, of grtrace, and the settings that it keeps. The
 * daemon, which has to do with what others say, opens nothing for writing (privileges.c): a process
 * beside it does, and nothing but what the daemon was set up to write when it started.
 */
#ifndef GT_WRITER_H
#define GT_WRITER_H

#include <pthread.h>
#include <stdbool.h>

#include "../backend/backend.h"

/**
 * struct gt_writer - the process, as the daemon sees it
 * @sock: to it; -1: there is none, and this process writes as far as it may
 * @lock: one asks at a time
 * @landlocked: the kernel, too, keeps it to its files (landlock(7))
 */
struct gt_writer {
	int sock;
	pthread_mutex_t lock;
	bool landlocked;
};

#define GT_WRITER_PLACES 16
#define GT_WRITER_NONE                                                                             \
	{                                                                                          \
		.sock = -1, .lock = PTHREAD_MUTEX_INITIALIZER                                      \
	}

/**
 * struct gt_writer_conf - what it may do
 * @n: of @path, GT_WRITER_PLACES at most: files and folders, of folders all in them:
 * gt_writer_file() of these
 * @kept: a file that gt_writer_replace() makes anew, or NULL; @folder: the one that it is in, open
 * @argv: of main(): the process calls itself something else
 * @dir: the mount point, for that name
 */
struct gt_writer_conf {
	unsigned int n;
	const char *const *path;
	const char *kept;
	int folder;
	char **argv;
	const char *dir;
};

/**
 * gt_writer_start() - starts it, before the first thread and before rights are given up
 *
 * Does nothing where the daemon is not root, or where there is nothing to write.
 *
 * Return: 0, or -errno with a sentence in @err
 */
int gt_writer_start(struct gt_writer *w, const struct gt_writer_conf *c, char *err, size_t len);
/** gt_writer_stop() - it ends */
void gt_writer_stop(struct gt_writer *w);

/** gt_writer_lost() - has it ended before the daemon? */
bool gt_writer_lost(const struct gt_writer *w);

/** gt_writer_file() - gt_host.file; @flags: of open(2), for writing only. -EACCES: @path is none of
 * those that it may write; -EPIPE: the process has ended. Any thread */
int gt_writer_file(struct gt_writer *w, enum gt_file_op op, const char *path, int flags);
/**
 * gt_writer_replace() - file @path, in @folder, holds @text from now on: whoever reads it has the
 * old one or the new one, even if the machine fails meanwhile. Any thread
 * @w: NULL is one without a process
 */
int gt_writer_replace(struct gt_writer *w, int folder, const char *path, const char *text,
		      size_t len);

#endif
