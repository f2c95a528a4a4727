/* SPDX-License-Identifier: GPL-2.0 */
/* The values of a map's keys. Each parser takes the whole value or refuses it with a sentence. */
#include <ctype.h>
#include <errno.h>
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

static struct gt_slice trim(struct gt_slice s)
{
	while (s.n && isspace((unsigned char)s.p[0])) {
		s.p++;
		s.n--;
	}
	while (s.n && isspace((unsigned char)s.p[s.n - 1]))
		s.n--;
	return s;
}

static struct gt_slice slice(const char *p, const char *end)
{
	return trim((struct gt_slice){ p, (size_t)(end - p) });
}

static bool copy(char *out, size_t size, struct gt_slice s)
{
	if (!s.n || s.n >= size)
		return false;
	memcpy(out, s.p, s.n);
	out[s.n] = '\0';
	return true;
}

static bool is_name(struct gt_slice s)
{
	for (size_t i = 0; i < s.n; i++)
		if (!isalnum((unsigned char)s.p[i]) && s.p[i] != '_')
			return false;
	return s.n > 0;
}

/* 0 to 9: pieces and tokens */
static bool one_digit(struct gt_slice s, int8_t *v)
{
	if (s.n != 1 || !isdigit((unsigned char)s.p[0]))
		return false;
	*v = (int8_t)(s.p[0] - '0');
	return true;
}

/* FIELD, FIELD@KEY, FIELD@KEY:N, FIELD@%N, FIELD@%N:M */
static bool parse_ref(struct gt_ref *r, struct gt_slice s, char *err, size_t len)
{
	const char *end = s.p + s.n, *at = memchr(s.p, '@', s.n), *colon;
	struct gt_slice key;

	*r = (struct gt_ref){ .piece = -1, .token = -1 };
	if (!is_name(slice(s.p, at ? at : end)) ||
	    !copy(r->field, sizeof(r->field), slice(s.p, at ? at : end)))
		return fail(err, len, "'%.*s' does not begin with a field's name", (int)s.n, s.p);
	if (!at)
		return true;
	colon = memchr(at, ':', end - at);
	if (colon && !one_digit(slice(colon + 1, end), &r->piece))
		return fail(err, len, "'%.*s': behind ':' stands 0 to 9", (int)s.n, s.p);
	key = slice(at + 1, colon ? colon : end);
	if (key.n && key.p[0] == '%') {
		if (!one_digit(slice(key.p + 1, key.p + key.n), &r->token))
			return fail(err, len, "'%.*s': behind '%%' stands 0 to 9", (int)s.n, s.p);
		return true;
	}
	if (!copy(r->key, sizeof(r->key), key))
		return fail(err, len, "'%.*s': no key behind '@'", (int)s.n, s.p);
	return true;
}

static bool parse_u64(struct gt_slice s, uint64_t *v)
{
	char buf[24], *end;

	if (!copy(buf, sizeof(buf), s) || !isdigit((unsigned char)buf[0]))
		return false;
	errno = 0;
	*v = strtoull(buf, &end, 0);
	return !*end && !errno;
}

/* FIELD or FIELD * NUMBER */
static bool parse_term(struct gt_ref *r, uint64_t *scale, struct gt_slice s, char *err, size_t len)
{
	const char *star = memchr(s.p, '*', s.n);

	*scale = 1;
	if (star && !parse_u64(slice(star + 1, s.p + s.n), scale))
		return fail(err, len, "behind '*' stands a number");
	return parse_ref(r, star ? slice(s.p, star) : s, err, len);
}

bool gt_parse_num(struct gt_num *n, const char *v, bool key, char *err, size_t len)
{
	struct gt_slice s = slice(v, v + strlen(v));
	const char *plus = memchr(s.p, '+', s.n);

	*n = (struct gt_num){ .kind = key ? GT_N_KEY : GT_N_FIELD, .scale = 1 };
	if (!key && s.n && isdigit((unsigned char)s.p[0])) {
		n->kind = GT_N_CONST;
		return parse_u64(s, &n->constant) || fail(err, len, "'%s' is not a number", v);
	}
	if (!key && s.n && s.p[0] == '#') {
		n->kind = GT_N_NUMBERED;
		s = slice(s.p + 1, s.p + s.n);
	} else if (!key) {
		if (plus &&
		    !parse_term(&n->more, &n->more_scale, slice(plus + 1, s.p + s.n), err, len))
			return false;
		return parse_term(&n->ref, &n->scale, plus ? slice(s.p, plus) : s, err, len);
	}
	return parse_ref(&n->ref, s, err, len);
}

/* "a,b,c" becomes words, lower-cased. */
static bool parse_words(struct gt_part *part, struct gt_slice s, char *err, size_t len)
{
	size_t used = 0;

	if (s.n + 1 > sizeof(part->words))
		return fail(err, len, "the list '%.*s' is too long", (int)s.n, s.p);
	part->nwords = 1;
	for (size_t i = 0; i < s.n; i++) {
		char c = (char)tolower((unsigned char)s.p[i]);

		if (!isgraph((unsigned char)c) || c == '/')
			return fail(err, len, "the list '%.*s' has more than words and commas",
				    (int)s.n, s.p);
		part->words[used++] = c == ',' ? '\0' : c;
		part->nwords += c == ',';
	}
	part->words[used] = '\0';
	return true;
}

/* What stands between '{' and '}': a field, and perhaps '|' and a list. */
static bool parse_braces(struct gt_part *part, struct gt_slice s, char *err, size_t len)
{
	const char *bar = memchr(s.p, '|', s.n), *end = s.p + s.n;

	part->has_ref = true;
	if (!parse_ref(&part->ref, slice(s.p, bar ? bar : end), err, len))
		return false;
	return !bar || parse_words(part, slice(bar + 1, end), err, len);
}

static bool parse_alt(struct gt_alt *a, struct gt_slice s, char *err, size_t len)
{
	const char *p = s.p, *end = s.p + s.n;

	if (!s.n)
		return fail(err, len, "an empty template");
	for (; p < end; a->n++) {
		const char *open = memchr(p, '{', end - p), *close;
		struct gt_slice lit = { p, (open ? open : end) - p };
		struct gt_part *part = &a->part[a->n];

		if (a->n == GT_TMPL_PARTS)
			return fail(err, len, "'%.*s' has more than %d fields", (int)s.n, s.p,
				    GT_TMPL_PARTS);
		if (memchr(lit.p, '}', lit.n) ||
		    (lit.n && !copy(part->lit, sizeof(part->lit), lit)))
			return fail(err, len, "'%.*s': odd text between fields", (int)s.n, s.p);
		p = end;
		if (!open)
			continue;
		close = memchr(open, '}', end - open);
		if (!close)
			return fail(err, len, "'%.*s': '{' without '}'", (int)s.n, s.p);
		if (!parse_braces(part, (struct gt_slice){ open + 1, close - open - 1 }, err, len))
			return false;
		p = close + 1;
	}
	return true;
}

bool gt_parse_tmpl(struct gt_tmpl *t, const char *v, char *err, size_t len)
{
	memset(t, 0, sizeof(*t));
	t->raw_alt = -1;
	while (v) {
		const char *bars = strstr(v, "||");

		if (t->n == GT_TMPL_ALTS)
			return fail(err, len, "more than %d templates", GT_TMPL_ALTS);
		if (!parse_alt(&t->alt[t->n], slice(v, bars ? bars : v + strlen(v)), err, len))
			return false;
		t->n++;
		v = bars ? bars + 2 : NULL;
	}
	return true;
}

bool gt_parse_cond(struct gt_cond *c, const char *v, char *err, size_t len)
{
	static const struct {
		const char *text;
		enum gt_op op;
	} ops[] = { { "==", GT_OP_EQ }, { "!=", GT_OP_NE }, { "&", GT_OP_AND } };
	const char *end = v + strlen(v), *tilde = strchr(v, '~');

	if (tilde) {
		c->op = GT_OP_ENDS;
		if (!copy(c->text, sizeof(c->text), slice(tilde + 1, end)))
			return fail(err, len, "'%s': 1 to %zu letters stand on the right", v,
				    sizeof(c->text) - 1);
		return parse_ref(&c->ref, slice(v, tilde), err, len);
	}
	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
		const char *at = strstr(v, ops[i].text);

		if (!at)
			continue;
		c->op = ops[i].op;
		if (!parse_u64(slice(at + strlen(ops[i].text), end), &c->value))
			return fail(err, len, "'%s': a number stands on the right", v);
		return parse_ref(&c->ref, slice(v, at), err, len);
	}
	return fail(err, len, "'%s' has none of == != & ~", v);
}

/* The next word of @v, which is moved behind it; words end at blanks or commas, '|' is one. */
static bool next_word(const char **v, struct gt_slice *w)
{
	const char *p = *v + strspn(*v, " \t,");

	*w = (struct gt_slice){ p, *p == '|' ? 1 : strcspn(p, " \t,|") };
	*v = p + w->n;
	return w->n > 0;
}

static bool word_is(struct gt_slice w, const char *s)
{
	return strlen(s) == w.n && !memcmp(w.p, s, w.n);
}

bool gt_parse_match(struct gt_section *s, const char *v, char *err, size_t len)
{
	static const struct {
		const char *word;
		uint8_t bit;
	} words[] = { { "fence", GT_M_FENCE },
		      { "ctx", GT_M_CTX },
		      { "seqno", GT_M_SEQNO },
		      { "ring", GT_M_RING },
		      { "order", GT_M_ORDER } };
	struct gt_slice w;

	s->nmatch = 1;
	s->match[0] = 0;
	while (next_word(&v, &w)) {
		size_t i;

		if (word_is(w, "|")) {
			if (!s->match[s->nmatch - 1] || s->nmatch == GT_M_ALTS)
				return fail(err, len, "too many '|'");
			s->match[s->nmatch++] = 0;
			continue;
		}
		for (i = 0; i < 5 && !word_is(w, words[i].word); i++)
			;
		if (i == 5)
			return fail(err, len, "'%.*s' is none of fence ctx seqno ring order | ",
				    (int)w.n, w.p);
		s->match[s->nmatch - 1] |= words[i].bit;
	}
	if (!s->match[s->nmatch - 1])
		return fail(err, len, "an empty match");
	return true;
}

/* Events of the dependencies between jobs: a custom one with a name and flags of its own */
static bool parse_dependency(struct gt_section *s, struct gt_slice w)
{
	bool waits = word_is(w, "JOB_WAITS");

	if (!waits && !word_is(w, "JOB_DEPENDS"))
		return false;
	s->flags = waits ? GT_F_DEPENDS | GT_F_WAITS : GT_F_DEPENDS;
	strcpy(s->name, "job_dependency");
	return true;
}

bool gt_parse_types(struct gt_section *s, const char *v, char *err, size_t len)
{
	static const char *const names[] = GT_TYPE_NAMES;
	struct gt_slice w;

	while (next_word(&v, &w)) {
		uint8_t t;

		for (t = 0; t < GT_NTYPES && !word_is(w, names[t]); t++)
			;
		if (t == GT_NTYPES && parse_dependency(s, w))
			t = GT_DEPENDENCY;
		if (t == GT_NTYPES)
			return fail(err, len, "'%.*s' is not an event type", (int)w.n, w.p);
		/* a custom event comes alone, as it has a name of its own */
		if (s->ntypes == GT_TP_MAX_RECORDS || s->bits & 1u << t ||
		    (s->ntypes && (t >= GT_CUSTOM0 || s->types[0] >= GT_CUSTOM0)))
			return fail(err, len, "'%.*s' is too much here", (int)w.n, w.p);
		s->bits |= 1u << t;
		s->types[s->ntypes++] = t;
	}
	return s->ntypes || fail(err, len, "no event type");
}

bool gt_parse_tracepoints(char (*names)[2 * GT_MAP_NAME], uint8_t *n, const char *v, char *err,
			  size_t len)
{
	struct gt_slice w;

	while (next_word(&v, &w)) {
		if (*n == GT_MAP_UNLESS)
			return fail(err, len, "more than %d tracepoints", GT_MAP_UNLESS);
		if (!copy(names[*n], sizeof(names[0]), w))
			return fail(err, len, "'%.*s' is too long", (int)w.n, w.p);
		++*n;
	}
	return *n || fail(err, len, "no tracepoint");
}
