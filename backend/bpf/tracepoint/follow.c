/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Events that the kernel lacks: how a BPF program follows the pointers to each field, from the
 * words in which ftrace's own probes are told (backend/live/fetch.c), and the format of what it
 * then sends.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "internal.h"

static int base_of(const char *name, const char *format, struct gt_bpf_field *out, char *err,
		   size_t len)
{
	struct tp_field f;
	unsigned int arg;

	if (!format) {
		if (sscanf(name, "arg%u", &arg) != 1 || arg < 1 || arg > GT_BPF_ARGS)
			return gb_sentence(err, len, EINVAL, "$%s: only $arg1 to $arg%d", name,
					   GT_BPF_ARGS);
		out->base = GT_BPF_ARG;
		out->from = (uint16_t)(arg - 1);
		return 0;
	}
	while (tp_field_next(&format, &f)) {
		if (strcmp(f.name, name))
			continue;
		if (!f.string && !f.chars && f.size > 8)
			return gb_sentence(err, len, EINVAL, "$%s is no number", name);
		out->base = f.string ? GT_BPF_STRING : f.chars ? GT_BPF_CHARS : GT_BPF_NUMBER;
		out->bytes = (uint8_t)(f.size > 8 ? 8 : f.size);
		out->from = (uint16_t)f.off;
		return 0;
	}
	return gb_sentence(err, len, EINVAL, "its source has no field %s", name);
}

int tp_follow(const char *fetch, const char *format, struct gt_bpf_field *out, char type[8],
	      char *err, size_t len)
{
	const char *p = fetch;
	int32_t off[GT_BPF_LOADS];
	char name[64];
	unsigned int n = 0, bits = 64;
	char *end;

	*out = (struct gt_bpf_field){ 0 };
	while (*p == '+' || *p == '-') {
		if (n == GT_BPF_LOADS)
			return gb_sentence(err, len, EINVAL, "more than %d pointers in a row",
					   GT_BPF_LOADS);
		off[n++] = (int32_t)strtol(p, &end, 10);
		p = end + (*end == '(');
	}
	/* The outermost is the last to be followed. */
	for (unsigned int i = 0; i < n; i++)
		out->off[i] = off[n - 1 - i];
	out->n = n;
	if (sscanf(p, "$%63[A-Za-z0-9_]", name) != 1 || !(p = strchr(p, ':')))
		return gb_sentence(err, len, EINVAL, "'%s' is not understood", fetch);
	p++;
	out->text = !strcmp(p, "string");
	if (!out->text && (sscanf(p + 1, "%u", &bits) != 1 || !bits || bits > 64 || bits % 8))
		return gb_sentence(err, len, EINVAL, "'%s' is not understood", fetch);
	out->size = (uint8_t)(bits / 8);
	snprintf(type, 8, "%s", out->text ? "char" : p);
	return base_of(name, format, out, err, len);
}

/* "	field:u64 NAME;	offset:8;	size:8;	signed:0;" */
static size_t describe(char *to, size_t room, const char *name, const char *type,
		       const struct gt_bpf_field *f)
{
	int n;

	if (f->text)
		n = snprintf(to, room, "\tfield:char %s[%d];\toffset:%u;\tsize:%d;\tsigned:0;\n",
			     name, GT_BPF_TEXT, f->to, GT_BPF_TEXT);
	else
		n = snprintf(to, room, "\tfield:%s %s;\toffset:%u;\tsize:%u;\tsigned:%d;\n", type,
			     name, f->to, f->size, *type == 's');
	return (size_t)n < room ? (size_t)n : 0;
}

int tp_make(const struct gt_types *types, const struct gt_probe *probe,
	    const struct gt_source *source, struct gt_bpf_made *made, char out[TP_FORMAT],
	    char *why, size_t len)
{
	char fetch[GT_FETCH], type[8], err[200];
	unsigned int at = 8; /* common_type and so on, which nobody reads */
	size_t used;

	*made = (struct gt_bpf_made){ 0 };
	why[0] = '\0';
	used = (size_t)snprintf(out, TP_FORMAT, "name: %s\nID: 0\nformat:\n", probe->name);
	for (unsigned int i = 0; i < probe->n; i++) {
		struct gt_bpf_field f;
		int ret = gt_fetch(types, source, probe->field[i].expr, fetch, err, sizeof(err));

		if (ret == -EPROTOTYPE)
			return gb_sentence(why, len, -ret, "%s", err);
		if (!ret)
			ret = tp_follow(fetch, source->format, &f, type, err, sizeof(err));
		if (!ret && at + GT_BPF_TEXT > GT_BPF_RAW_MAX)
			ret = gb_sentence(err, sizeof(err), E2BIG, "a record has no room for it");
		if (ret) {
			if (!why[0])
				snprintf(why, len, "%s: %s", probe->field[i].name, err);
			continue;
		}
		f.to = (uint16_t)at;
		at += f.text ? GT_BPF_TEXT : 8;
		made->field[made->n++] = f;
		used += describe(out + used, TP_FORMAT - used, probe->field[i].name, type, &f);
	}
	made->len = (uint16_t)at;
	return made->n ? 0 : -EINVAL;
}
