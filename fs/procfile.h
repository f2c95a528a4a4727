/* SPDX-License-Identifier: GPL-2.0 */
#ifndef GT_PROCFILE_H
#define GT_PROCFILE_H

#include <stdint.h>
#include <sys/types.h>

/**
 * gt_proc_read() - the beginning of /proc/<@pid>/<@name>, with a NUL
 * @pid: a process or a thread, in the namespace of this /proc; @len: of @buf, at least 1
 * Return: bytes read, 0 or less if there are none; @buf is "" then, or untouched if it cannot be
 * opened
 */
ssize_t gt_proc_read(uint32_t pid, const char *name, char *buf, size_t len);

#endif
