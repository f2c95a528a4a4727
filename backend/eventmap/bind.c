/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Takes offsets and sizes from a `format` file (Linux kernel/trace/trace_events.c, f_show()):
 *
 *	ID: 1343
 *	field:unsigned short common_type;	offset:0;	size:2;	signed:0;
 *	field:__data_loc char[] name;	offset:24;	size:4;	signed:1;
 *
 * The declaration is C, more or less: the name is its last word, or the one before "[N]".
 */
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

#define FIELDS_MAX 64

struct fmt_field {
	char name[GT_MAP_NAME];
	struct gt_field f;
};

struct format {
	struct fmt_field field[FIELDS_MAX];
	unsigned int n;
	int id;
};

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* "key:NUMBER;" within a line; false if it is missing or out of range. */
static bool attribute(const char *line, const char *key, long max, long *v)
{
	const char *p = strstr(line, key);
	char *end;

	if (!p)
		return false;
	p += strlen(key);
	*v = strtol(p, &end, 10);
	return end != p && *v >= 0 && *v <= max;
}

static bool has_word(const char *decl, const char *w)
{
	size_t n = strlen(w);

	for (const char *p = decl; (p = strstr(p, w)); p += n)
		if ((p == decl || !is_word(p[-1])) && !is_word(p[n]))
			return true;
	return false;
}

static enum gt_kind kind_of(const char *decl, bool array, long size)
{
	bool chars = has_word(decl, "char") || has_word(decl, "u8") || has_word(decl, "uint8_t");

	if (has_word(decl, "__data_loc") || has_word(decl, "__rel_loc")) {
		if (size != 4 || !chars)
			return GT_K_NONE;
		return has_word(decl, "__data_loc") ? GT_K_DYN : GT_K_REL;
	}
	if (array)
		return chars ? GT_K_CHARS : GT_K_NONE;
	if (size != 1 && size != 2 && size != 4 && size != 8)
		return GT_K_NONE;
	return strchr(decl, '*') ? GT_K_PTR : GT_K_INT;
}

/* @decl: what stands between "field:" and ';', cut to size. Its name is cut off. */
static bool split_decl(char *decl, char name[GT_MAP_NAME], bool *array)
{
	size_t n = strlen(decl), end;

	while (n && isspace((unsigned char)decl[n - 1]))
		n--;
	*array = n && decl[n - 1] == ']';
	if (*array) {
		while (n && decl[n - 1] != '[')
			n--;
		n -= n > 0;
	}
	end = n;
	while (n && is_word(decl[n - 1]))
		n--;
	if (end == n || end - n >= GT_MAP_NAME)
		return false;
	memcpy(name, decl + n, end - n);
	name[end - n] = '\0';
	decl[n] = '\0';
	return true;
}

/* A line that does not look like a field is no field: what needs it will say that it is missing. */
static void field_line(struct format *fmt, const char *line)
{
	const char *p = strstr(line, "field:"), *semi = p ? strchr(p, ';') : NULL;
	struct fmt_field *f = &fmt->field[fmt->n];
	long off, size, sign = 0;
	char decl[160];
	bool array;

	if (!semi || fmt->n == FIELDS_MAX)
		return;
	p += strlen("field:");
	if ((size_t)(semi - p) >= sizeof(decl))
		return;
	memcpy(decl, p, (size_t)(semi - p));
	decl[semi - p] = '\0';
	if (!split_decl(decl, f->name, &array) || !attribute(semi, "offset:", UINT16_MAX, &off) ||
	    !attribute(semi, "size:", UINT16_MAX, &size))
		return;
	attribute(semi, "signed:", 1, &sign);
	f->f = (struct gt_field){ .kind = kind_of(decl, array, size),
				  .sign = sign > 0,
				  .off = (uint16_t)off,
				  .size = (uint16_t)size };
	fmt->n++;
}

static void parse_format(struct format *fmt, const char *text, size_t len)
{
	const char *end = text + len;
	char line[512];

	fmt->n = 0;
	fmt->id = -1;
	while (text < end) {
		const char *nl = memchr(text, '\n', end - text);
		size_t n = (size_t)((nl ? nl : end) - text);
		long id;

		if (n && n < sizeof(line)) {
			memcpy(line, text, n);
			line[n] = '\0';
			if (!strncmp(line, "ID:", 3) && attribute(line, "ID:", INT_MAX, &id))
				fmt->id = (int)id;
			else if (strncmp(line, "print fmt:", 10))
				field_line(fmt, line);
		}
		text += n + 1;
	}
}

enum gt_format_kind gt_format_field(const char *format, size_t len, const char *name,
				    unsigned int *size)
{
	static const uint8_t kinds[] = {
		[GT_K_PTR] = GT_F_POINTER,
		[GT_K_DYN] = GT_F_STRING,
		[GT_K_REL] = GT_F_STRING,
		[GT_K_CHARS] = GT_F_STRING,
	};
	struct format fmt;

	parse_format(&fmt, format, len);
	for (unsigned int i = 0; i < fmt.n; i++) {
		const struct gt_field *f = &fmt.field[i].f;

		if (strcmp(fmt.field[i].name, name))
			continue;
		*size = f->size;
		if (f->kind == GT_K_INT)
			return f->sign ? GT_F_SIGNED : GT_F_UNSIGNED;
		return kinds[f->kind];
	}
	return GT_F_ABSENT;
}

static bool bind_ref(struct gt_ref *r, const struct format *fmt)
{
	r->raw = (struct gt_field){ .kind = GT_K_NONE };
	for (unsigned int i = 0; i < fmt->n; i++) {
		if (!strcmp(fmt->field[i].name, r->field)) {
			r->raw = fmt->field[i].f;
			return r->raw.kind != GT_K_NONE;
		}
	}
	return false;
}

static bool bind_num(struct gt_num *n, const struct format *fmt)
{
	switch (n->kind) {
	case GT_N_NONE:
		return false;
	case GT_N_CONST:
		return true;
	case GT_N_FIELD:
		if (n->more.field[0] && (!bind_ref(&n->more, fmt) || n->more.raw.kind != GT_K_INT))
			n->more.raw.kind = GT_K_NONE;
		if (bind_ref(&n->ref, fmt) && n->ref.raw.kind == GT_K_INT)
			return true;
		n->ref.raw.kind = GT_K_NONE; /* a pointer must not get into a record */
		return false;
	default:
		return bind_ref(&n->ref, fmt) &&
		       (n->ref.raw.kind == GT_K_INT || n->ref.raw.kind == GT_K_PTR);
	}
}

static bool bind_alt(struct gt_alt *a, const struct format *fmt)
{
	bool whole = true;

	for (unsigned int i = 0; i < a->n; i++) {
		struct gt_part *p = &a->part[i];

		if (p->has_ref && (!bind_ref(&p->ref, fmt) || p->ref.raw.kind == GT_K_PTR))
			whole = false;
	}
	return whole;
}

static bool bind_tmpl(struct gt_tmpl *t, const struct format *fmt)
{
	t->raw_alt = -1;
	for (int i = 0; i < t->n && t->raw_alt < 0; i++)
		if (bind_alt(&t->alt[i], fmt))
			t->raw_alt = (int8_t)i;
	return t->raw_alt >= 0;
}

static const char *tmpl_field(const struct gt_tmpl *t)
{
	for (unsigned int i = 0; i < t->alt[0].n; i++)
		if (t->alt[0].part[i].has_ref && t->alt[0].part[i].ref.raw.kind == GT_K_NONE)
			return t->alt[0].part[i].ref.field;
	return t->alt[0].part[0].ref.field;
}

/* Is there an alternative whose fields are all in the record? If not: one that is missing. */
static const char *bind_match(const struct gt_section *s, uint8_t nums)
{
	const char *missing = NULL;

	for (unsigned int i = 0; i < s->nmatch; i++) {
		uint8_t need = 0, alt = s->match[i];

		need |= alt & GT_M_FENCE ? 1u << GT_NUM_FENCE : 0;
		need |= alt & GT_M_CTX ? 1u << GT_NUM_CTX : 0;
		need |= alt & GT_M_SEQNO ? 1u << GT_NUM_SEQNO : 0;
		if ((need & nums) == need)
			return NULL;
		need &= ~nums;
		if (!missing)
			missing = s->num[__builtin_ctz(need)].ref.field;
	}
	return missing;
}

static bool bind_cond(struct gt_cond *c, const struct format *fmt)
{
	bool number;

	if (!bind_ref(&c->ref, fmt))
		return false;
	number = c->ref.raw.kind == GT_K_INT;
	return c->op == GT_OP_ENDS ? !number && c->ref.raw.kind != GT_K_PTR : number;
}

/* Returns NULL, or the field that is needed and missing. */
static const char *bind_section(struct gt_section *s, const struct format *fmt)
{
	const char *missing = NULL;
	uint8_t nums = 0;

	for (unsigned int i = 0; i < GT_NUM_IDS; i++)
		if (bind_num(&s->num[i], fmt))
			nums |= (uint8_t)(1u << i);
	bind_tmpl(&s->dev, fmt);
	bind_tmpl(&s->engine, fmt);
	if (!bind_tmpl(&s->ring, fmt) && s->ring.n)
		missing = tmpl_field(&s->ring);
	if (s->where.op && !bind_cond(&s->where, fmt))
		missing = s->where.ref.field;
	if (!missing && s->nmatch && s->only != GT_ONLY_ANY)
		missing = bind_match(s, nums);
	s->bound = !missing;
	return missing;
}

int gt_tp_bind(struct gt_tp *tp, const char *format, size_t len, int *id, char *err, size_t errlen)
{
	struct format fmt;
	bool usable = false;

	if (errlen)
		err[0] = '\0';
	parse_format(&fmt, format, len);
	if (id)
		*id = fmt.id;
	for (struct gt_section *s = tp->sections; s; s = s->next) {
		const char *missing = bind_section(s, &fmt);

		if (!missing)
			usable = true;
		else if (errlen && !err[0])
			snprintf(err, errlen, "%s/%s has no usable field '%s' (%s:%d)", tp->system,
				 tp->event, missing, s->file, s->line);
	}
	return usable ? 0 : -EINVAL;
}
