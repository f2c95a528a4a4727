/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Settings that survive a remount: what is changed under config/ is kept in a file of
 * gputrace.conf's format, which is read after the configuration at the next mount. Its folder is
 * opened before the daemon gives up its rights.
 */
#ifndef GT_STATE_FILE_H
#define GT_STATE_FILE_H

#include "../conf/config.h"

#define GT_KEEP_ITEMS 128 /* at least the keys there are */

struct gt_keep;
struct gt_writer; /* writer.h */

/**
 * gt_keep_new() - @path is a file in a folder of root's, or need not be there yet
 *
 * One that cannot be used is refused with a sentence, gt_keep_refused(), and left as it is: then
 * nothing is kept. Return: NULL if there is no memory.
 */
struct gt_keep *gt_keep_new(const char *path);
void gt_keep_free(struct gt_keep *k);
/** gt_keep_read() - sets what is kept; all of it, or nothing. @given: keys that are not to be
 * changed; gets those that were */
void gt_keep_read(struct gt_keep *k, struct gt_config *c, bool *given);
/** gt_keep_file() - the file's path, NULL if nothing is kept; @folder: out: the one that it is in,
 * open */
const char *gt_keep_file(const struct gt_keep *k, int *folder);
/** gt_keep_by() - @w writes the file */
void gt_keep_by(struct gt_keep *k, struct gt_writer *w);
/** gt_keep_refused() - why nothing is kept; NULL: it is */
const char *gt_keep_refused(const struct gt_keep *k);
/** gt_keep_mark() - @key was changed; gt_keep_save() writes it. NULL keeps nothing */
void gt_keep_mark(struct gt_keep *k, const char *key);
/** gt_keep_save() - 0, or -errno with a sentence: then the file is as it was, or holds all but @key,
 * which has changed: -E2BIG. Another that it cannot hold is left out; that was said when it changed */
int gt_keep_save(struct gt_keep *k, const struct gt_config *c, const char *key, char *err,
		 size_t len);

#endif
