/* SPDX-License-Identifier: GPL-2.0 */
/* A folder for a made machine's files: top_make() at first, top_drop() at last. */
#ifndef GT_TESTS_TOP_H
#define GT_TESTS_TOP_H

#include <errno.h>
#include <ftw.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include "tmp.h"

static char top[TMP_PATH_MAX];

/* Valid until four more are asked for */
static inline const char *top_at(const char *path)
{
	static char full[4][512];
	static unsigned int turn;
	char *f = full[turn++ % 4];

	snprintf(f, sizeof(full[0]), "%s/%s", top, path);
	return f;
}

static inline void top_put(const char *path, const char *text)
{
	FILE *f = fopen(top_at(path), "w");

	if (!f)
		return;
	fputs(text, f);
	fclose(f);
}

static inline bool top_make(void)
{
	return tmp_dir(top, program_invocation_short_name);
}

static inline int top_remove(const char *path, const struct stat *st, int type, struct FTW *f)
{
	return remove(path);
}

static inline void top_drop(void)
{
	nftw(top, top_remove, 16, FTW_DEPTH | FTW_PHYS);
}

#endif
