/* SPDX-License-Identifier: GPL-2.0 */
/* Numbers of functions, for FUNCTION records, and the NAME records with their names. */
#ifndef GT_CALLNAME_H
#define GT_CALLNAME_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "../event.h"

#define GT_CALLNAME_PIECE   sizeof(((struct gt_name *)0)->text)
#define GT_CALLNAME_RECORDS (GT_FUNCTION_NAME / GT_CALLNAME_PIECE)
static_assert(GT_FUNCTION_NAME % GT_CALLNAME_PIECE == 0, "a name is made of whole pieces");

/** gt_callname_piece() - adds the piece of a NAME record to the name; ignored if earlier pieces are missing,
 * as the rest would be taken for the whole name */
static inline void gt_callname_piece(char name[GT_FUNCTION_NAME], const struct gt_name *n)
{
	size_t at = n->part * GT_CALLNAME_PIECE;

	if (n->part >= GT_CALLNAME_RECORDS || strnlen(name, GT_FUNCTION_NAME) < at)
		return;
	memset(name + at, 0, GT_FUNCTION_NAME - at);
	memcpy(name + at, n->text, strnlen(n->text, GT_CALLNAME_PIECE));
	name[GT_FUNCTION_NAME - 1] = '\0';
}

/** gt_callname_id() - a small number for a function's name, the same as long as the daemon runs; GT_NONE32:
 * too many names, or too long a name */
uint32_t gt_callname_id(const char *name, size_t len);

/** gt_callname_base() - length of a name without a suffix of the compiler for a special version of the
 * function; a part that was split off is another function */
size_t gt_callname_base(const char *name, size_t len);

/** gt_callname_records() - writes the name of @id in pieces, at most GT_CALLNAME_RECORDS. Return: their
 * number */
unsigned int gt_callname_records(uint32_t id, uint64_t ts, union gt_record *out);

#endif
