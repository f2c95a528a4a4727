/* SPDX-License-Identifier: GPL-2.0 */
/* Files that say what the daemon does: nobody else may have written them. */
#ifndef GT_TRUSTED_H
#define GT_TRUSTED_H

#include <stddef.h>
#include <sys/types.h>

/**
 * gt_trusted_open() - opens a file or folder that belongs to root or to the daemon's own user, and
 *that neither its group nor others may write
 * @dir: folder that the file lies in, with @path one name in it that is no link; or AT_FDCWD, with
 *a
 *	@path that the caller vouches for, links included
 * @type: S_IFREG or S_IFDIR; what is anything else is refused, and not waited for
 * @err: the sentence: @path, what is wrong with it, and the remedy
 *
 * Return: a descriptor, the caller's to close, or -errno
 */
int gt_trusted_open(int dir, const char *path, mode_t type, char *err, size_t len);

#endif
