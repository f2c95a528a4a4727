/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Synthetic tracepoints: the keys `probe` and `args`, by which a source makes an event that the kernel
 * does not have. Here is only their syntax; backend/lib/kernel_types.c resolves the members of an
 * expression, where the types of the kernel are known.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

static bool __attribute__((format(printf, 3, 4))) fail(char *err, size_t len, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(err, len, fmt, ap);
	va_end(ap);
	return false;
}

static bool starts_name(char c)
{
	return isalpha((unsigned char)c) || c == '_';
}

/* Length of the C identifier at @p, at most @max, or 0. */
static size_t name_length(const char *p, size_t max)
{
	size_t n = 0;

	if (!starts_name(*p))
		return 0;
	while (isalnum((unsigned char)p[n]) || p[n] == '_')
		n++;
	return n < max ? n : 0;
}

/* "T.m.n": its length, or 0 */
static size_t dotted_length(const char *p, size_t max)
{
	size_t n = 0, part;

	while ((part = name_length(p + n, max))) {
		n += part;
		if (p[n] != '.')
			return n < max ? n : 0;
		n++;
	}
	return 0;
}

static bool take(struct gt_probe_step *s, enum gt_probe_kind kind, const char *from, size_t n,
		 const char **p, size_t behind)
{
	if (!n)
		return false;
	s->kind = kind;
	memcpy(s->name, from, n);
	s->name[n] = '\0';
	*p = from + n + behind;
	return true;
}

bool gt_probe_next(const char **p, struct gt_probe_step *s)
{
	const char *at = *p;
	size_t n;

	switch (*at) {
	case '$':
		n = name_length(at + 1, sizeof(s->name));
		return take(s, GT_P_BASE, at + 1, n, p, 0);
	case '<':
		n = dotted_length(at + 1, sizeof(s->name));
		return at[n + 1] == '>' && take(s, GT_P_CAST, at + 1, n, p, 1);
	case '-':
		n = at[1] == '>' ? name_length(at + 2, sizeof(s->name)) : 0;
		return take(s, GT_P_ARROW, at + 2, n, p, 0);
	case '.':
		n = name_length(at + 1, sizeof(s->name));
		return take(s, GT_P_DOT, at + 1, n, p, 0);
	default:
		return false;
	}
}

/* May @step follow @last? A pointer is dereferenced, a struct has members. */
static bool may_follow(enum gt_probe_kind last, enum gt_probe_kind step)
{
	switch (step) {
	case GT_P_BASE:
		return false;
	case GT_P_CAST:
		return last != GT_P_CAST;
	case GT_P_ARROW:
		return last != GT_P_BASE;
	default:
		return last == GT_P_ARROW || last == GT_P_DOT;
	}
}

bool gt_probe_expr_ok(const char *expr)
{
	struct gt_probe_step s;
	enum gt_probe_kind last;
	const char *p = expr;
	int n = 1;

	if (!gt_probe_next(&p, &s) || s.kind != GT_P_BASE)
		return false;
	for (last = s.kind; *p; last = s.kind, n++)
		if (!gt_probe_next(&p, &s) || !may_follow(last, s.kind))
			return false;
	/* A cast at the end only declares the type of the pointer. */
	return last != GT_P_CAST || n == 2;
}

/* SYSTEM/EVENT, or [MODULE:]FUNCTION */
static bool parse_source(struct gt_probe *b, const char *w, size_t n, char *err, size_t len)
{
	const char *slash = memchr(w, '/', n), *colon = memchr(w, ':', n);
	const char *sep = slash ? slash : colon, *name = sep ? sep + 1 : w;
	size_t nscope = sep ? (size_t)(sep - w) : 0, nname = n - (size_t)(name - w);

	if ((sep && name_length(w, sizeof(b->scope)) != nscope) || (sep && !nscope) ||
	    name_length(name, sizeof(b->name)) != nname || !nname)
		return fail(err, len, "'%.*s' is neither system/event nor [module:]function",
			    (int)n, w);
	b->function = !slash;
	memcpy(b->scope, w, nscope);
	memcpy(b->name, name, nname);
	return true;
}

/* FIELD=EXPR */
static bool parse_field(struct gt_probe *b, const char *w, size_t n, char *err, size_t len)
{
	struct gt_probe_field *f = &b->field[b->n];
	size_t name = name_length(w, sizeof(f->name));
	const char *expr = w + name + 1;
	size_t nexpr = n - name - 1;

	if (!name || w[name] != '=')
		return fail(err, len, "'%.*s' is not FIELD=EXPRESSION", (int)n, w);
	if (b->n == GT_PROBE_FIELDS)
		return fail(err, len, "more than %d fields", GT_PROBE_FIELDS);
	if (nexpr >= sizeof(f->expr))
		return fail(err, len, "%.*s: more than %zu characters", (int)name, w,
			    sizeof(f->expr) - 1);
	memcpy(f->name, w, name);
	f->name[name] = '\0';
	memcpy(f->expr, expr, nexpr);
	f->expr[nexpr] = '\0';
	for (unsigned int i = 0; i < b->n; i++)
		if (!strcmp(b->field[i].name, f->name))
			return fail(err, len, "field %s is given twice", f->name);
	b->n++;
	return gt_probe_expr_ok(f->expr) ||
	       fail(err, len, "'%s' is not $FIELD, $argN, with <struct>->member.member", f->expr);
}

/* Appends the words of @v to *@b; with @source the very first word is the source. */
static bool parse_words(struct gt_probe **b, bool source, const char *v, char *err, size_t len)
{
	bool first = source && !*b;

	if (!*b)
		*b = calloc(1, sizeof(**b));
	if (!*b)
		return fail(err, len, "no memory");
	for (;;) {
		size_t n;

		v += strspn(v, " \t");
		n = strcspn(v, " \t");
		if (!n)
			break;
		if (!(first ? parse_source : parse_field)(*b, v, n, err, len))
			return false;
		first = false;
		v += n;
	}
	return !first || fail(err, len, "no source");
}

bool gt_parse_probe(struct gt_section *s, const char *v, char *err, size_t len)
{
	return parse_words(&s->probe, true, v, err, len);
}

bool gt_parse_args(struct gt_section *s, const char *v, char *err, size_t len)
{
	if (!parse_words(&s->args, false, v, err, len))
		return false;
	s->args->function = true;
	memcpy(s->args->name, s->event, sizeof(s->args->name));
	return s->args->n || fail(err, len, "no field");
}

const struct gt_probe *gt_tp_probe(const struct gt_tp *tp)
{
	for (const struct gt_section *s = tp->sections; s; s = s->next)
		if (s->use && s->probe)
			return s->probe;
	return NULL;
}

const struct gt_probe *gt_tp_args(const struct gt_tp *tp)
{
	const struct gt_section *one = NULL;

	for (const struct gt_section *s = tp->sections; s; s = s->next) {
		if (s->use && one)
			return NULL;
		one = s->use ? s : one;
	}
	return one ? one->args : NULL;
}

void gt_tp_set_synth(struct gt_tp *tp, bool on)
{
	tp->synth = on;
}

bool gt_synth_replaces(const struct gt_section *s)
{
	const struct gt_eventmap *m = s->tp->m;

	for (unsigned int i = 0; i < m->ntps; i++) {
		const struct gt_section *o;

		if (!m->tps[i]->synth)
			continue;
		for (o = m->tps[i]->sections; o; o = o->next)
			if (o->probe && o->map == s->map && !o->probe->function &&
			    !strcmp(o->probe->scope, s->system) &&
			    !strcmp(o->probe->name, s->event))
				return true;
	}
	return false;
}
