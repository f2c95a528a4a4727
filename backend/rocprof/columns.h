/* SPDX-License-Identifier: GPL-2.0 */
/* Columns of CSV tables: found by name, whatever their order, case and version. */
#ifndef GT_ROCPROF_COLUMNS_H
#define GT_ROCPROF_COLUMNS_H

#include <string.h>

#include "internal.h"

#define RP_COLUMNS 8192 /* of a table: rocprof-compute writes up to 2718 */

/**
 * struct rp_columns - a header
 * @what: by place: enum rp_column; @n: how many
 * @counter: of a column that is a counter: number of its name, GT_NONE32 of others
 * @kind: of its rows; @agents: they describe devices instead; @timed: each is a dispatch and its
 * times
 * @counters: how many columns are counters
 * @either: rows are statistics of kernels or of functions: their names say which
 * @first: what the first column is called, as a header is known by
 * @missing: the column that a header lacks which is not known but for that, or NULL
 */
struct rp_columns {
	uint8_t what[RP_COLUMNS];
	uint32_t counter[RP_COLUMNS];
	unsigned int n, counters;
	enum rp_row_kind kind;
	bool agents, timed, either;
	const char *name, *missing;
	char first[32];
};

/** rp_columns_mark() - bytes of the mark of UTF-8 that may come before the first name */
static inline size_t rp_columns_mark(const char *text, size_t len)
{
	return len >= 3 && !memcmp(text, "\xef\xbb\xbf", 3) ? 3 : 0;
}

/** rp_columns_bind() - false: it is no header of a table that is known */
bool rp_columns_bind(struct rp_columns *c, const char *const *names, unsigned int n,
		     const struct rp_source *s);
/** rp_columns_known() - does the line that @text begins with, cut or not, name a table's columns?
 */
bool rp_columns_known(const char *text, size_t len);
/** rp_columns_counter() - is column @i a counter? */
static inline bool rp_columns_counter(const struct rp_columns *c, unsigned int i)
{
	return c->counter[i] != GT_NONE32;
}
/** rp_column_take() - cell @i into the row or device; false: it is not what it should be */
bool rp_column_take(struct rp_input *in, const struct rp_columns *c, unsigned int i, const char *s,
		    size_t len, struct rp_row *row, struct rp_agent *agent);

#endif
