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

/**
 * gt_proc_text() - all of such a file, with a NUL, whatever its size, up to a MiB
 * Return: to be freed; NULL if it cannot be had, or not as a whole
 */
char *gt_proc_text(uint32_t pid, const char *name);
void gt_proc_textp(char **text);
/** gt_proc_auto - frees a text at the end of the block */
#define gt_proc_auto __attribute__((cleanup(gt_proc_textp)))

/**
 * gt_proc_line() - what stands behind @key, with which a line of @text begins; NULL if none does
 *
 * Elsewhere in a line it may be what a process calls itself (comm), in which the kernel has escaped
 * newlines only (proc(5)). @text may be NULL.
 */
const char *gt_proc_line(const char *text, const char *key);

#endif
