/* SPDX-License-Identifier: GPL-2.0 */
/*
 * From an event map's expression to the kernel's: offsets are taken from the kernel's types, so
 * that the map holds for every kernel that has these members. The kernel's syntax: Linux
 * Documentation/trace/kprobetrace.rst and eprobetrace.rst; +OFF(X) is what lies OFF bytes behind
 * the address X, and a string's X is the address of its first character.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "live.h"

#define LOADS_MAX 12	      /* FETCH_INSN_MAX is 16 */
#define OFF_MAX	  (1ll << 24) /* no struct is larger */

/**
 * struct walk - an expression, as far as it was followed
 * @value: the kernel's words for an address (or a plain value, at first)
 * @off: to be added to it
 * @place: what is meant lies there, and has type @type; else the sum is a pointer to a @type
 */
struct walk {
	const struct gt_types *t;
	char value[GT_FETCH];
	char base[8]; /* the type of a plain value */
	int64_t off;
	uint32_t type;
	bool place;
	int loads;
	char *err;
	size_t len;
};

static int __attribute__((format(printf, 2, 3))) fail(struct walk *w, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(w->err, w->len, fmt, ap);
	va_end(ap);
	return -EINVAL;
}

static int base_field(struct walk *w, const char *format, const char *name)
{
	unsigned int size = 0;

	switch (gt_format_field(format, strlen(format), name, &size)) {
	case GT_F_STRING:
		snprintf(w->base, sizeof(w->base), "string");
		return 0;
	case GT_F_SIGNED:
		snprintf(w->base, sizeof(w->base), "s%u", (size * 8) & 127);
		return 0;
	case GT_F_UNSIGNED:
		snprintf(w->base, sizeof(w->base), "u%u", (size * 8) & 127);
		return 0;
	case GT_F_POINTER:
		snprintf(w->base, sizeof(w->base), "x%u", (size * 8) & 127);
		return 0;
	default:
		return fail(w, "its source has no field %s", name);
	}
}

static int begin(struct walk *w, const char *format, const char *name)
{
	const char *digits = name + 3;

	if (snprintf(w->value, sizeof(w->value), "$%s", name) >= (int)sizeof(w->value))
		return fail(w, "%s is too long a name", name);
	if (format)
		return base_field(w, format, name);
	if (strncmp(name, "arg", 3) || *digits < '1' || strspn(digits, "0123456789") > 2 ||
	    digits[strspn(digits, "0123456789")])
		return fail(w, "$%s is none of a function's arguments $arg1, $arg2, …", name);
	snprintf(w->base, sizeof(w->base), "x%zu", sizeof(void *) * 8);
	return 0;
}

/* What lies at the place is a pointer: it becomes the value. */
static int load(struct walk *w)
{
	char old[GT_FETCH];

	if (++w->loads > LOADS_MAX)
		return fail(w, "more than %d pointers in a row", LOADS_MAX);
	memcpy(old, w->value, sizeof(old));
	if (snprintf(w->value, sizeof(w->value), "%+lld(%s)", (long long)w->off, old) >=
	    (int)sizeof(w->value))
		return fail(w, "longer than the kernel takes");
	w->off = 0;
	w->place = false;
	return 0;
}

static int member(struct walk *w, const char *name)
{
	if (gt_type_member(w->t, &w->type, name, &w->off, w->err, w->len))
		return -ENOENT;
	if (w->off > OFF_MAX || w->off < -OFF_MAX)
		return fail(w, "%s lies too far away", name);
	return 0;
}

/* "T.m.n": a pointer to that member of a T becomes a pointer to the T */
static int cast(struct walk *w, char *name)
{
	uint32_t id = 0, in;
	int64_t off = 0;
	char *next;
	int ret;

	if (w->place && gt_type_target(w->t, &w->type))
		return fail(w, "what stands before <%s> is no pointer", name);
	if (w->place && load(w))
		return -EINVAL;
	next = strchr(name, '.');
	if (next)
		*next++ = '\0';
	ret = gt_type_find(w->t, name, &id, w->err, w->len);
	in = id;
	while (!ret && next) {
		char *m = next;

		next = strchr(m, '.');
		if (next)
			*next++ = '\0';
		ret = gt_type_member(w->t, &in, m, &off, w->err, w->len);
	}
	w->off -= off;
	w->type = id;
	return ret;
}

static int arrow(struct walk *w, const char *name)
{
	if (w->place && gt_type_target(w->t, &w->type))
		return fail(w, "what stands before ->%s is no pointer", name);
	if (w->place && load(w))
		return -EINVAL;
	w->place = true;
	return member(w, name);
}

static int step(struct walk *w, struct gt_probe_step *s)
{
	switch (s->kind) {
	case GT_P_CAST:
		return cast(w, s->name);
	case GT_P_ARROW:
		return arrow(w, s->name);
	default:
		return member(w, s->name);
	}
}

/* What lies at the end of the way, as the kernel's type of an argument. */
static int finish(struct walk *w, char out[GT_FETCH])
{
	char type[8] = "";
	int n;

	if (!w->place) {
		n = snprintf(out, GT_FETCH, "%s:%s", w->value, w->base);
		return n < GT_FETCH ? 0 : fail(w, "longer than the kernel takes");
	}
	switch (gt_type_class(w->t, w->type, type)) {
	case GT_CLASS_STRING_PTR:
		if (load(w))
			return -EINVAL;
		snprintf(type, sizeof(type), "string");
		break;
	case GT_CLASS_STRING:
		snprintf(type, sizeof(type), "string");
		break;
	case GT_CLASS_NUMBER:
		break;
	default:
		return fail(w, "what it leads to is neither a number nor a string");
	}
	n = snprintf(out, GT_FETCH, "%+lld(%s):%s", (long long)w->off, w->value, type);
	return n < GT_FETCH ? 0 : fail(w, "longer than the kernel takes");
}

int gt_fetch(const struct gt_types *t, const char *format, const char *expr, char out[GT_FETCH],
	     char *err, size_t len)
{
	struct walk w = { .t = t, .err = err, .len = len };
	struct gt_probe_step s;
	int ret;

	if (!gt_probe_expr_ok(expr) || !gt_probe_next(&expr, &s))
		return fail(&w, "not an expression");
	ret = begin(&w, format, s.name);
	while (!ret && gt_probe_next(&expr, &s))
		ret = step(&w, &s);
	return ret ? ret : finish(&w, out);
}
