/* SPDX-License-Identifier: GPL-2.0 */
/* The system calls that root's daemon may make, from before its first thread on. */
#ifndef GT_SECCOMP_H
#define GT_SECCOMP_H

#include <stddef.h>

/**
 * gt_seccomp_drop() - from now on only the calls of the tables in seccomp.c are made, by
 * whatever thread: every other fails with EPERM, those of other ABIs too. Nothing is killed for it.
 * None opens a file for writing, makes, names or removes one
 * @more: names of calls beside these, separated by blanks: gt_host_syscalls(). What this libseccomp
 * or this machine does not know is left out. "mkstemp" is no call: new files may be made, and
 * removed
 *
 * After gt_privs_drop(), because it needs no_new_privs. Does nothing where the daemon is not root: an
 * ordinary user's needs fusermount3, which is setuid, to unmount.
 *
 * Return: 0; -EOPNOTSUPP, with nothing in @err, on a kernel without seccomp filters; or -errno with
 * a sentence in @err
 */
int gt_seccomp_drop(const char *more, char *err, size_t len);
/** gt_seccomp_only() - likewise, for a process that needs little: @calls_left alone are made */
int gt_seccomp_only(const char *calls_left, char *err, size_t len);

#endif
