/* SPDX-License-Identifier: GPL-2.0 */
/* A test's files and folders are made below $TMPDIR, or /tmp where that is not set. */
#ifndef GT_TESTS_TMP_H
#define GT_TESTS_TMP_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TMP_PATH_MAX 256 /* bytes of a path */

/** tmp_path() - the pattern that mkdtemp(3) and mkstemp(3) take, in @path */
static inline char *tmp_path(char path[static TMP_PATH_MAX], const char *name)
{
	const char *dir = getenv("TMPDIR");

	snprintf(path, TMP_PATH_MAX, "%.200s/%.40s-XXXXXX", dir && *dir ? dir : "/tmp", name);
	return path;
}

/** tmp_dir() - makes a folder, its path is in @path; NULL: cannot */
static inline char *tmp_dir(char path[static TMP_PATH_MAX], const char *name)
{
	return mkdtemp(tmp_path(path, name));
}

/** tmp_file() - makes a file, its path is in @path, and opens it; -1: cannot */
static inline int tmp_file(char path[static TMP_PATH_MAX], const char *name)
{
	return mkstemp(tmp_path(path, name));
}

/** tmp_put() - file @name in folder @dir gets @len bytes of @text; tmp_drop() removes it */
static inline void tmp_put(const char *dir, const char *name, const char *text, size_t len)
{
	char path[TMP_PATH_MAX + 64];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "w");
	if (!f || fwrite(text, 1, len, f) != len)
		printf("# cannot write %s\n", path);
	if (f)
		fclose(f);
}

static inline void tmp_drop(const char *dir, const char *name)
{
	char path[TMP_PATH_MAX + 64];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	unlink(path);
}

#endif
