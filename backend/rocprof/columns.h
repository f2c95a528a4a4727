/* SPDX-License-Identifier: GPL-2.0 */
/* Columns of CSV tables: found by name, whatever their order, case and version. */
#ifndef GT_ROCPROF_COLUMNS_H
#define GT_ROCPROF_COLUMNS_H

#include "internal.h"

#define RP_COLUMNS 128 /* of a table */

/**
 * struct rp_columns - a header
 * @what: by place: enum rp_column; @n: how many
 * @kind: of its rows; @agents: they tell of devices instead
 * @first: what the first column is called, as a header is known by
 */
struct rp_columns {
	uint8_t what[RP_COLUMNS];
	unsigned int n;
	enum rp_row_kind kind;
	bool agents;
	const char *name;
	char first[32];
};

/** rp_columns_bind() - false: it is no header of a table that is known */
bool rp_columns_bind(struct rp_columns *c, const char *const *names, unsigned int n,
		     const struct rp_source *s);
/** rp_columns_first() - does a row that begins so repeat a header? */
bool rp_columns_first(const struct rp_columns *c, const char *s, size_t len);
/** rp_column_take() - cell @i into the row or device; false: it is not what it should be */
bool rp_column_take(struct rp_input *in, const struct rp_columns *c, unsigned int i, const char *s,
		    size_t len, struct rp_row *row, struct rp_agent *agent);

#endif
