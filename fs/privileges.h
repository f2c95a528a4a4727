/* SPDX-License-Identifier: GPL-2.0 */
/* What root's daemon may do: the capabilities that it keeps, and the system calls that it may make. */
#ifndef GT_PRIVILEGES_H
#define GT_PRIVILEGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * gt_privs_drop() - gives up every right but these, for good: before the first thread
 * @effective: bits 1 << CAP_*: in force all the time
 * @raised: only between gt_privs_raise() and gt_privs_lower()
 *
 * No program that is executed gets a right back, and what is made is closed to others (umask). Does
 * nothing where the daemon is not root: an ordinary user's has no rights, and needs those of
 * fusermount3 to unmount.
 *
 * Return: 0, or -errno with a sentence in @err
 */
int gt_privs_drop(uint64_t effective, uint64_t raised, char *err, size_t len);

/** gt_privs_raise() - puts @caps in force for this thread; what came of it, for gt_privs_lower() */
uint64_t gt_privs_raise(uint64_t caps);
/** gt_privs_lower() - takes back what gt_privs_raise() returned */
void gt_privs_lower(uint64_t caps);

/**
 * gt_seccomp_drop() - from now on only the calls of the tables in privileges.c are made, by
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
