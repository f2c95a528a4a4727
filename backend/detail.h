/* SPDX-License-Identifier: GPL-2.0 */
/* Details of a plugin, into the host's buffer (gt_plugin_ops.doctor). */
#ifndef GT_DETAIL_H
#define GT_DETAIL_H

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

/** struct gt_details - where the next line goes, and bytes left there */
struct gt_details {
	char *p;
	size_t left;
};

/** gt_detail() - appends to @t as printf() does; what does not fit is left out whole */
static inline void __attribute__((format(printf, 2, 3)))
gt_detail(struct gt_details *t, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(t->p, t->left, fmt, ap);
	va_end(ap);
	if (n < 0 || (size_t)n >= t->left) {
		*t->p = '\0';
		return;
	}
	t->p += n;
	t->left -= (size_t)n;
}

#endif
