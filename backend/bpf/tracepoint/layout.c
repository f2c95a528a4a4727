/* SPDX-License-Identifier: GPL-2.0 */
/* Which bytes of a tracepoint's record are told: those that its `format` file says there are. */
#include <stdio.h>
#include <string.h>

#include "internal.h"

/* The C name at the end of a declaration: "char name[32]" -> "name" */
static void name_of(const char *decl, size_t n, char name[32])
{
	const char *bracket = memchr(decl, '[', n), *end = bracket ? bracket : decl + n;
	const char *begin = end;

	while (begin > decl && begin[-1] != ' ' && begin[-1] != '*')
		begin--;
	snprintf(name, 32, "%.*s", (int)(end - begin), begin);
}

bool tp_field_next(const char **p, struct tp_field *f)
{
	const char *decl = strstr(*p, "field:"), *end, *off, *size;

	end = decl ? strchr(decl, ';') : NULL;
	off = end ? strstr(end, "offset:") : NULL;
	size = off ? strstr(off, "size:") : NULL;
	if (!size || sscanf(off, "offset:%u", &f->off) != 1 ||
	    sscanf(size, "size:%u", &f->size) != 1)
		return false;
	decl += strlen("field:");
	f->rel = !strncmp(decl, "__rel_loc", 9);
	f->string = f->rel || !strncmp(decl, "__data_loc", 10);
	name_of(decl, (size_t)(end - decl), f->name);
	f->chars = !f->string && memchr(decl, '[', (size_t)(end - decl)) &&
		   !strncmp(decl + strspn(decl, " "), "char", 4);
	/* __data_loc char[] name: the brackets are the type's */
	if (f->string) {
		const char *at = end;

		while (at > decl && at[-1] != ' ' && at[-1] != ']')
			at--;
		snprintf(f->name, sizeof(f->name), "%.*s", (int)(end - at), at);
	}
	*p = size;
	return true;
}

bool tp_layout(const char *format, struct gt_bpf_tp *out)
{
	bool whole = true;
	struct tp_field f;

	*out = (struct gt_bpf_tp){ .fixed = 8 };
	while (tp_field_next(&format, &f)) {
		unsigned int end = f.off + f.size;

		if (end > GT_BPF_RAW_MAX || f.off > GT_BPF_RAW_MAX ||
		    (f.string && out->nstring == GT_BPF_STRINGS)) {
			whole = false;
			continue;
		}
		if (end > out->fixed)
			out->fixed = (uint16_t)end;
		if (f.string)
			out->string[out->nstring++] = (uint16_t)(f.off | (f.rel ? GT_BPF_REL : 0));
	}
	return whole;
}
