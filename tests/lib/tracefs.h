/* SPDX-License-Identifier: GPL-2.0 */
/*
 * tracefs for tests: an instance of their own, removed at exit, and the files in it. The top-level
 * buffer is never touched. Where tracefs is mounted and may be written, see tfs_dir().
 */
#ifndef GT_TEST_TRACEFS_H
#define GT_TEST_TRACEFS_H

#include <stdbool.h>
#include <stddef.h>

/** tfs_dir() - tracefs, if this process may use it; else NULL with the reason in @why */
const char *tfs_dir(const char **why);

/**
 * tfs_instance() - makes instances/@name, which is removed at exit, also when a test ends by
 * SIGINT, SIGTERM or SIGALRM
 *
 * Return: its folder, valid to the end; NULL if it cannot be made.
 */
const char *tfs_instance(const char *name);

/** tfs_write() - writes @text to DIR/@fmt…; false if that fails */
bool tfs_write(const char *dir, const char *text, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/** tfs_append() - the same without truncation, for uprobe_events */
bool tfs_append(const char *dir, const char *text, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/** tfs_read() - a whole file, malloc()ed and NUL-terminated; NULL if it cannot be read */
char *tfs_read(const char *dir, size_t *len, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/** tfs_at_exit() - @fn runs before the instance goes, however the test ends */
void tfs_at_exit(void (*fn)(void));

#endif
