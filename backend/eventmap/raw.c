/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Strings of raw records, by the offsets of the `format` file; every read is checked against the
 * record's length. (Integers are in fast.h.) __data_loc and __rel_loc: Linux
 * include/trace/stages/stage1_struct_define.h.
 */
#include <string.h>

#include "internal.h"

bool gt_raw_str(const struct gt_src *src, const struct gt_field *f, struct gt_slice *out)
{
	size_t off = f->off, n = f->size;

	if (off + n > src->len)
		return false;
	if (f->kind == GT_K_DYN || f->kind == GT_K_REL) {
		uint32_t loc;

		memcpy(&loc, src->data + off, 4);

		off = (f->kind == GT_K_REL ? off + 4 : 0) + (loc & 0xffff);
		n = loc >> 16;
		if (off + n > src->len)
			return false;
	} else if (f->kind != GT_K_CHARS) {
		return false;
	}
	out->p = src->data + off;
	/* the usual case: one NUL, at the end of what a dynamic string takes up */
	if (f->kind != GT_K_CHARS && n > 1 && !out->p[n - 1] && out->p[n - 2])
		out->n = n - 1;
	else
		out->n = strnlen(out->p, n);
	return out->n > 0 && !gt_is_fault(*out);
}
