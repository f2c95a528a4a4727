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
 * @name: of the field or argument that it is, as long as it is one: then @arg is the type of the
 *	argument, or @decl that of the field as the format has it
 * @off: to be added to it
 * @place: what is meant lies there, and has type @type; else the sum is a pointer to a @type
 */
struct walk {
	const struct gt_types *t;
	char value[GT_FETCH];
	char base[8]; /* the type of a plain value */
	char name[128], decl[128];
	uint32_t arg;
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

static int __attribute__((format(printf, 2, 3))) other(struct walk *w, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(w->err, w->len, fmt, ap);
	va_end(ap);
	return -EPROTOTYPE;
}

/* "	field:const struct dma_fence * fence;" has the type "struct dma_fence *" */
static void declared(const char *format, const char *name, char *buf, size_t len)
{
	static const char *const qualifiers[] = { "const ", "volatile " };
	size_t n = strlen(name);

	*buf = '\0';
	for (const char *p = format; (p = strstr(p, "field:"));) {
		const char *begin = p + strlen("field:"), *end = begin + strcspn(begin, ";\n");

		p = end;
		if ((size_t)(end - begin) <= n || memcmp(end - n, name, n) != 0 ||
		    !strchr(" *", end[-(long)n - 1]))
			continue;
		for (size_t i = 0; i < 2; i++)
			if (!strncmp(begin, qualifiers[i], strlen(qualifiers[i])))
				begin += strlen(qualifiers[i]);
		for (end -= n; end > begin && end[-1] == ' ';)
			end--;
		snprintf(buf, len, "%.*s", (int)(end - begin), begin);
		return;
	}
}

static int base_field(struct walk *w, const char *format, const char *name)
{
	unsigned int size = 0;

	declared(format, name, w->decl, sizeof(w->decl));
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

/* A value that fits a register, as all are passed to us */
static int base_argument(struct walk *w, const struct gt_source *s, unsigned int n)
{
	char type[8];

	if (!s->function)
		return other(w, "the kernel's types do not have its arguments");
	if (gt_type_parameter(w->t, s->function, s->first + n - 1, &w->arg))
		return other(w, "it has no argument $arg%u", n);
	if (gt_type_class(w->t, w->arg, type) == GT_CLASS_NONE)
		return other(w, "$arg%u is neither a number nor a pointer", n);
	snprintf(w->base, sizeof(w->base), "x%zu", sizeof(void *) * 8);
	return 0;
}

static int begin(struct walk *w, const struct gt_source *s, const char *name)
{
	const char *digits = name + 3;

	if (snprintf(w->value, sizeof(w->value), "$%s", name) >= (int)sizeof(w->value))
		return fail(w, "%s is too long a name", name);
	snprintf(w->name, sizeof(w->name), "%s", name);
	if (s->format)
		return base_field(w, s->format, name);
	if (strncmp(name, "arg", 3) || *digits < '1' || strspn(digits, "0123456789") > 2 ||
	    digits[strspn(digits, "0123456789")])
		return fail(w, "$%s is none of a function's arguments $arg1, $arg2, …", name);
	return base_argument(w, s, (unsigned int)atoi(digits));
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

/* Is what the expression begins with a pointer to a @to? A field that is only an address, "void *",
 * may be; what it leads to is read with faults allowed for. */
static int check_base(struct walk *w, uint32_t to)
{
	char spelled[128], want[132];
	uint32_t is = w->arg;

	gt_type_spell(w->t, to, spelled, sizeof(spelled));
	snprintf(want, sizeof(want), "%s *", spelled);
	if (w->arg ? !gt_type_target(w->t, &is) && gt_type_same(w->t, is, to)
		   : !strcmp(w->decl, want) || !strcmp(w->decl, "void *"))
		return 0;
	return other(w, "$%s is no pointer to a %s", w->name, *spelled ? spelled : "nameless type");
}

/* Of the structs of that name it is the one that the argument points to. */
static int find_struct(struct walk *w, const char *name, bool whole, uint32_t *id)
{
	char spelled[128];
	uint32_t to = w->arg;

	if (whole && *w->name && w->arg && !gt_type_target(w->t, &to)) {
		gt_type_spell(w->t, to, spelled, sizeof(spelled));
		if (!strncmp(spelled, "struct ", 7) && !strcmp(spelled + 7, name)) {
			*id = to;
			return 0;
		}
	}
	return gt_type_find(w->t, name, id, w->err, w->len);
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
	ret = find_struct(w, name, !next, &id);
	in = id;
	while (!ret && next) {
		char *m = next;

		next = strchr(m, '.');
		if (next)
			*next++ = '\0';
		ret = gt_type_member(w->t, &in, m, &off, w->err, w->len);
	}
	if (!ret && *w->name)
		ret = check_base(w, in);
	w->name[0] = '\0';
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

	if (!w->place && w->off)
		return fail(w, "of the struct that is meant no member is named");
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

struct gt_source gt_source_record(const char *format)
{
	return (struct gt_source){ .format = format };
}

struct gt_source gt_source_tracepoint(const struct gt_types *t, const char *name)
{
	return (struct gt_source){ .function = gt_type_tracepoint(t, name), .first = 1 };
}

struct gt_source gt_source_function(const struct gt_types *t, const char *name)
{
	return (struct gt_source){ .function = gt_type_function(t, name) };
}

int gt_fetch(const struct gt_types *t, const struct gt_source *s, const char *expr,
	     char out[GT_FETCH], char *err, size_t len)
{
	struct walk w = { .t = t, .err = err, .len = len };
	struct gt_probe_step next;
	int ret;

	if (!gt_probe_expr_ok(expr) || !gt_probe_next(&expr, &next))
		return fail(&w, "not an expression");
	ret = begin(&w, s, next.name);
	while (!ret && gt_probe_next(&expr, &next))
		ret = step(&w, &next);
	return ret ? ret : finish(&w, out);
}
