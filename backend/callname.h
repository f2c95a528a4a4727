/* SPDX-License-Identifier: GPL-2.0 */
/* Numbers of functions, for FUNCTION records, and the NAME records that tell what they mean. */
#ifndef GT_CALLNAME_H
#define GT_CALLNAME_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "event.h"

#define GT_CALLNAME_PIECE   sizeof(((struct gt_name *)0)->text)
#define GT_CALLNAME_RECORDS (GT_FUNCTION_NAME / GT_CALLNAME_PIECE)
static_assert(GT_FUNCTION_NAME % GT_CALLNAME_PIECE == 0, "a name is made of whole pieces");

/** gt_callname_piece() - what a NAME record adds to the name that it means; one whose first pieces
 * were never told would be taken for the whole, and is not taken */
static inline void gt_callname_piece(char name[GT_FUNCTION_NAME], const struct gt_name *n)
{
	size_t at = n->part * GT_CALLNAME_PIECE;

	if (n->part >= GT_CALLNAME_RECORDS || strnlen(name, GT_FUNCTION_NAME) < at)
		return;
	memset(name + at, 0, GT_FUNCTION_NAME - at);
	memcpy(name + at, n->text, strnlen(n->text, GT_CALLNAME_PIECE));
	name[GT_FUNCTION_NAME - 1] = '\0';
}

/** gt_callname_id() - a small number for a function's name, the same as long as the daemon runs;
 * GT_NONE32: there are too many, or it is too long */
uint32_t gt_callname_id(const char *name, size_t len);

/** gt_callname_base() - bytes of a name less what the compiler puts behind that of a special
 * version of a function; a part that it split off is not the function */
size_t gt_callname_base(const char *name, size_t len);

/** gt_callname_records() - the name of @id in pieces, @out has room for GT_CALLNAME_RECORDS; how
 * many */
unsigned int gt_callname_records(uint32_t id, uint64_t ts, union gt_record *out);

#endif
