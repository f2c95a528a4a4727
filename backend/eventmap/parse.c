/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One file of the event maps, read by libinih, and the values of its keys. Names of sections are taken
 * from the lines here: inih cuts them at 49 characters, and some tracepoints have longer names.
 */
#include <ctype.h>
#include <errno.h>
#include <ini.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

/* Values of keys: each parser takes the whole value, or refuses it with a sentence in @err. */

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

static bool parse_num(struct gt_num *n, const char *v, bool key, char *err, size_t len)
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

/* Makes lower-case words of "a,b,c" */
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

/* Parses the text between '{' and '}': a field, and perhaps '|' and a list */
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

static bool parse_tmpl(struct gt_tmpl *t, const char *v, char *err, size_t len)
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

static bool parse_cond(struct gt_cond *c, const char *v, char *err, size_t len)
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

/* Takes the next word off *@v. Words end at blanks or commas; '|' is a word. */
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

static bool parse_match(struct gt_section *s, const char *v, char *err, size_t len)
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

/* JOB_DEPENDS and JOB_WAITS: a custom type with a fixed name, and flags */
static bool parse_dependency(struct gt_section *s, struct gt_slice w)
{
	bool waits = word_is(w, "JOB_WAITS");

	if (!waits && !word_is(w, "JOB_DEPENDS"))
		return false;
	s->flags = waits ? GT_F_DEPENDS | GT_F_WAITS : GT_F_DEPENDS;
	strcpy(s->name, "job_dependency");
	return true;
}

static bool parse_types(struct gt_section *s, const char *v, char *err, size_t len)
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
		/* a section has one name, so only one custom type */
		if (s->ntypes == GT_TP_MAX_RECORDS || s->bits & GT_BIT(t) ||
		    (s->ntypes && (t >= GT_CUSTOM0 || s->types[0] >= GT_CUSTOM0)))
			return fail(err, len, "'%.*s' is too much here", (int)w.n, w.p);
		s->bits |= GT_BIT(t);
		s->types[s->ntypes++] = t;
	}
	return s->ntypes || fail(err, len, "no event type");
}

static bool parse_tracepoints(char (*names)[2 * GT_MAP_NAME], uint8_t *n, const char *v, char *err,
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

/* The file ----------------------------------------------------------------------------------- */

/**
 * struct reader - a file being read
 * @p: the text still to be read
 * @line: number of the last line given to inih
 * @s: the current section, NULL before the first one and in [map]
 * @in_map: the current section is [map]
 * @bad: @err has a sentence; the rest of the file is skipped
 */
struct reader {
	const char *p;
	const char *base;
	struct gt_section *first, **end, *s;
	char driver[32], module[32];
	int line, count;
	bool in_map, bad;
	char *err;
	size_t len;
};

static int __attribute__((format(printf, 3, 4)))
fault(struct reader *r, int line, const char *fmt, ...)
{
	va_list ap;
	int n;

	if (r->bad)
		return 0;
	r->bad = true;
	n = snprintf(r->err, r->len, "%s:%d: ", r->base, line);
	if (n < 0 || (size_t)n >= r->len)
		return 0;
	va_start(ap, fmt);
	vsnprintf(r->err + n, r->len - (size_t)n, fmt, ap);
	va_end(ap);
	return 0;
}

static bool is_part(const char *p, size_t n)
{
	if (!n || n >= GT_MAP_NAME)
		return false;
	for (size_t i = 0; i < n; i++)
		if (!isalnum((unsigned char)p[i]) && p[i] != '_' && p[i] != '-')
			return false;
	return true;
}

/* @name: "system/event", or "system/event 2" if a tracepoint has several sections */
static int open_section(struct reader *r, const char *name)
{
	const char *slash = strchr(name, '/'), *event = slash ? slash + 1 : name;
	size_t n = strcspn(event, " ");
	struct gt_section *s;

	r->s = NULL;
	r->in_map = !strcmp(name, "map");
	if (r->in_map)
		return 1;
	if (!slash || !is_part(name, (size_t)(slash - name)) || !is_part(event, n) ||
	    (event[n] && strspn(event + n, " 0123456789") != strlen(event + n)))
		return fault(r, r->line, "[%s] is neither [map] nor [system/event]", name);
	if (++r->count > GT_MAP_SECTIONS)
		return fault(r, r->line, "more than %d sections", GT_MAP_SECTIONS);
	s = calloc(1, sizeof(*s));
	if (!s)
		return fault(r, r->line, "no memory");
	memcpy(s->system, name, (size_t)(slash - name));
	memcpy(s->event, event, n);
	s->line = r->line;
	s->level = 2;
	s->dev.raw_alt = s->ring.raw_alt = s->engine.raw_alt = -1;
	snprintf(s->file, sizeof(s->file), "%.31s", r->base);
	*r->end = s;
	r->end = &s->next;
	r->s = s;
	return 1;
}

static void parse_header(struct reader *r, char *line)
{
	char *close = strchr(line, ']');

	if (!close) {
		fault(r, r->line, "'[' without ']'");
		return;
	}
	*close = '\0';
	open_section(r, line + 1);
	*close = ']';
}

/* inih's fgets(). A line that inih would cut is refused. */
static char *next_line(char *buf, int size, void *arg)
{
	struct reader *r = arg;
	size_t n = strcspn(r->p, "\n");

	if (!*r->p || r->bad)
		return NULL;
	r->line++;
	if (n + 2 > (size_t)size) {
		fault(r, r->line, "a line of more than %d characters", size - 2);
		return NULL;
	}
	memcpy(buf, r->p, n);
	buf[n] = '\0';
	r->p += n + (r->p[n] == '\n');
	if (buf[0] == '[')
		parse_header(r, buf);
	else if (buf[strspn(buf, " \t")] == '[')
		fault(r, r->line, "a section begins in the first column");
	return buf;
}

/* Copies name @v to @out; a longer one is refused. */
static bool parse_name(char *out, size_t size, const char *v, char *err, size_t len)
{
	if (is_part(v, strlen(v)) && strlen(v) < size) {
		strcpy(out, v);
		return true;
	}
	snprintf(err, len, "'%s' is not a name of at most %zu letters", v, size - 1);
	return false;
}

static bool parse_level(struct gt_section *s, const char *v, char *err, size_t len)
{
	s->level = !strcmp(v, "verbose") ? 3 : 2;
	if (s->level == 3 || !strcmp(v, "normal"))
		return true;
	snprintf(err, len, "'%s' is neither normal nor verbose", v);
	return false;
}

static bool parse_unknown_job(struct gt_section *s, const char *v, char *err, size_t len)
{
	static const char *const words[] = { [GT_UNKNOWN_IGNORE] = "ignore",
					     [GT_UNKNOWN_KEEP] = "keep",
					     [GT_UNKNOWN_RING] = "ring",
					     [GT_UNKNOWN_SAME_FILE] = "same_file" };

	for (s->unknown_job = GT_UNKNOWN_IGNORE; s->unknown_job <= GT_UNKNOWN_SAME_FILE;
	     s->unknown_job++)
		if (!strcmp(v, words[s->unknown_job]))
			return true;
	snprintf(err, len, "'%s' is none of ignore, keep, ring and same_file", v);
	return false;
}

enum key {
	KEY_EVENT,
	KEY_NAME,
	KEY_LEVEL,
	KEY_UNLESS,
	KEY_LIVE,
	KEY_HEARD,
	KEY_REQUIRES,
	KEY_WHERE,
	KEY_UNKNOWN_JOB,
	KEY_PROBE,
	KEY_ARGS,
	KEY_MATCH,
	KEY_DEV,
	KEY_RING,
	KEY_ENGINE,
	KEY_NUM, /* and GT_NUM_IDS more */
	KEYS = KEY_NUM + GT_NUM_IDS
};

static const char *const keys[KEYS] = {
	[KEY_EVENT] = "event",
	[KEY_NAME] = "name",
	[KEY_LEVEL] = "level",
	[KEY_UNLESS] = "unless",
	[KEY_LIVE] = "unless_live",
	[KEY_HEARD] = "unless_heard",
	[KEY_REQUIRES] = "requires",
	[KEY_WHERE] = "where",
	[KEY_UNKNOWN_JOB] = "unknown_job",
	[KEY_PROBE] = "probe",
	[KEY_ARGS] = "args",
	[KEY_MATCH] = "match",
	[KEY_DEV] = "dev",
	[KEY_RING] = "ring",
	[KEY_ENGINE] = "engine",
	[KEY_NUM + GT_NUM_CTX] = "ctx",
	[KEY_NUM + GT_NUM_SEQNO] = "seqno",
	[KEY_NUM + GT_NUM_PID] = "pid",
	[KEY_NUM + GT_NUM_VALUE] = "value",
	[KEY_NUM + GT_NUM_REF] = "ref",
	[KEY_NUM + GT_NUM_QUEUE] = "queue",
	[KEY_NUM + GT_NUM_FENCE] = "fence",
	[KEY_NUM + GT_NUM_MINOR] = "minor",
};

static bool set_key(struct gt_section *s, unsigned int k, const char *v, char *err, size_t len)
{
	switch (k) {
	case KEY_EVENT:
		return parse_types(s, v, err, len);
	case KEY_NAME:
		if (s->flags) {
			snprintf(err, len, "%s has a name already", s->name);
			return false;
		}
		return parse_name(s->name, sizeof(s->name), v, err, len);
	case KEY_LEVEL:
		return parse_level(s, v, err, len);
	case KEY_UNLESS:
	case KEY_LIVE:
		s->live = k == KEY_LIVE;
		if (s->seen & 1u << KEY_UNLESS && s->seen & 1u << KEY_LIVE)
			return fail(err, len, "unless and unless_live exclude each other");
		return parse_tracepoints(s->unless, &s->nunless, v, err, len);
	case KEY_HEARD:
		return parse_tracepoints(s->heard, &s->nheard, v, err, len);
	case KEY_REQUIRES:
		return parse_tracepoints(s->requires, &s->nrequires, v, err, len);
	case KEY_WHERE:
		return parse_cond(&s->where, v, err, len);
	case KEY_UNKNOWN_JOB:
		return parse_unknown_job(s, v, err, len);
	case KEY_PROBE:
		return gt_parse_probe(s, v, err, len);
	case KEY_ARGS:
		return gt_parse_args(s, v, err, len);
	case KEY_MATCH:
		return parse_match(s, v, err, len);
	case KEY_DEV:
		return parse_tmpl(&s->dev, v, err, len);
	case KEY_RING:
		return parse_tmpl(&s->ring, v, err, len);
	case KEY_ENGINE:
		return parse_tmpl(&s->engine, v, err, len);
	default:
		k -= KEY_NUM;
		s->nums |= (uint8_t)(1u << k);
		return parse_num(&s->num[k], v, k == GT_NUM_FENCE, err, len);
	}
}

static int map_key(struct reader *r, const char *name, const char *v, char *err, size_t len)
{
	char *to = !strcmp(name, "driver") ? r->driver : !strcmp(name, "module") ? r->module : NULL;

	if (!to)
		return fault(r, r->line, "[map] has no key '%s', only driver and module", name);
	if (*v && !parse_name(to, sizeof(r->driver), v, err, len))
		return fault(r, r->line, "%s: %s", name, err);
	return 1;
}

/* inih's handler */
static int on_key(void *arg, const char *section, const char *name, const char *v)
{
	struct reader *r = arg;
	char err[160];
	unsigned int k;

	if (r->bad)
		return 0;
	if (r->in_map)
		return map_key(r, name, v, err, sizeof(err));
	if (!r->s)
		return fault(r, r->line, "'%s' stands before any section", name);
	for (k = 0; k < KEYS && strcmp(name, keys[k]); k++)
		;
	if (k == KEYS)
		return fault(r, r->line, "there is no key '%s'", name);
	if (r->s->seen & 1u << k && k != KEY_UNLESS && k != KEY_LIVE && k != KEY_PROBE &&
	    k != KEY_ARGS)
		return fault(r, r->line, "'%s' is given twice", name);
	r->s->seen |= 1u << k;
	if (!set_key(r->s, k, v, err, sizeof(err)))
		return fault(r, r->line, "%s: %s", name, err);
	return 1;
}

/* A key that an alternative of `match` needs and the section lacks, or NULL */
static const char *lacks(const struct gt_section *s, uint8_t alt)
{
	if (alt & GT_M_FENCE && !(s->nums & 1u << GT_NUM_FENCE))
		return "fence";
	if (alt & GT_M_CTX && !(s->nums & 1u << GT_NUM_CTX))
		return "ctx";
	if (alt & GT_M_SEQNO && !(s->nums & 1u << GT_NUM_SEQNO))
		return "seqno";
	if (alt & (GT_M_RING | GT_M_ORDER) && !s->ring.n)
		return "ring";
	return NULL;
}

static int check_section(struct reader *r, const struct gt_section *s)
{
	const uint64_t jobs = GT_BIT(GT_SUBMIT) | GT_BIT(GT_COMMIT) | GT_BIT(GT_START);
	const uint64_t ends = GT_BIT(GT_SUBMIT) | GT_BIT(GT_COMPLETE);

	if (!s->ntypes)
		return fault(r, s->line, "[%s/%s] has no event", s->system, s->event);
	if ((s->types[0] >= GT_CUSTOM0) != (s->name[0] != '\0'))
		return fault(r, s->line, "name is needed for CUSTOM events, and only there");
	if (s->flags && ~s->nums & (1u << GT_NUM_CTX | 1u << GT_NUM_REF | 1u << GT_NUM_VALUE))
		return fault(r, s->line, "a dependency needs ctx, ref and value");
	for (unsigned int i = 0; i < s->nmatch; i++) {
		const char *what = lacks(s, s->match[i]);

		if (what)
			return fault(r, s->line, "match names %s, which is not given", what);
		if (s->match[i] & GT_M_ORDER && (s->match[i] != GT_M_ORDER || !(s->bits & ends)))
			return fault(r, s->line,
				     "order stands alone, at events with SUBMIT or COMPLETE");
	}
	if (s->unknown_job && !s->nmatch)
		return fault(r, s->line, "unknown_job needs match");
	if (s->unknown_job == GT_UNKNOWN_RING && !s->ring.n)
		return fault(r, s->line, "unknown_job = ring needs ring");
	if (s->unknown_job == GT_UNKNOWN_SAME_FILE && s->bits & jobs)
		return fault(r, s->line,
			     "unknown_job = same_file is not for SUBMIT, COMMIT and START");
	if (s->bits & jobs && !s->ring.n && s->unknown_job != GT_UNKNOWN_IGNORE)
		return fault(r, s->line, "SUBMIT, COMMIT and START need ring");
	return 1;
}

void gt_sections_free(struct gt_section *s)
{
	while (s) {
		struct gt_section *next = s->next;

		free(s->probe);
		free(s->args);
		free(s);
		s = next;
	}
}

int gt_ini_read(const char *text, const char *base, struct gt_section **list, char *err, size_t len)
{
	struct reader r = { .p = text, .base = base, .err = err, .len = len };
	int rc;

	r.end = &r.first;
	rc = ini_parse_stream(next_line, &r, on_key, &r);
	if (rc && !r.bad)
		fault(&r, rc > 0 ? rc : r.line, "neither 'key = value' nor [section]");
	for (struct gt_section *s = r.first; s && !r.bad; s = s->next) {
		memcpy(s->driver, r.driver, sizeof(s->driver));
		memcpy(s->module, r.module, sizeof(s->module));
		if (s->probe)
			memcpy(s->probe->module, s->module, sizeof(s->module));
		if (s->args)
			memcpy(s->args->scope, s->module, sizeof(s->module));
		check_section(&r, s);
	}
	if (r.bad) {
		gt_sections_free(r.first);
		return -1;
	}
	*list = r.first;
	return r.count;
}
