/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One file of the event maps, by way of libinih. Sections' names are taken from the lines here,
 * as inih cuts them at 49 characters and some tracepoints' names are longer.
 */
#include <ctype.h>
#include <ini.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

/**
 * struct reader - a file being read
 * @p: what is still to be read; @line: number of the last line given out
 * @s: the section that is open, NULL before the first
 * @in_map: the open section is [map]
 * @bad: an error was told; the rest is skipped
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

static bool part_ok(const char *p, size_t n)
{
	if (!n || n >= GT_MAP_NAME)
		return false;
	for (size_t i = 0; i < n; i++)
		if (!isalnum((unsigned char)p[i]) && p[i] != '_' && p[i] != '-')
			return false;
	return true;
}

/* "system/event", or "system/event 2" where a tracepoint has several sections. */
static int open_section(struct reader *r, const char *name)
{
	const char *slash = strchr(name, '/'), *event = slash ? slash + 1 : name;
	size_t n = strcspn(event, " ");
	struct gt_section *s;

	r->s = NULL;
	r->in_map = !strcmp(name, "map");
	if (r->in_map)
		return 1;
	if (!slash || !part_ok(name, (size_t)(slash - name)) || !part_ok(event, n) ||
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

static void header(struct reader *r, char *line)
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

/* inih's fgets(). It is given no line that it would cut. */
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
		header(r, buf);
	else if (buf[strspn(buf, " \t")] == '[')
		fault(r, r->line, "a section begins in the first column");
	return buf;
}

/* Copies the word @v to @out; a longer one is refused. */
static bool word(char *out, size_t size, const char *v, char *err, size_t len)
{
	if (part_ok(v, strlen(v)) && strlen(v) < size) {
		strcpy(out, v);
		return true;
	}
	snprintf(err, len, "'%s' is not a name of at most %zu letters", v, size - 1);
	return false;
}

static bool level(struct gt_section *s, const char *v, char *err, size_t len)
{
	s->level = !strcmp(v, "verbose") ? 3 : 2;
	if (s->level == 3 || !strcmp(v, "normal"))
		return true;
	snprintf(err, len, "'%s' is neither normal nor verbose", v);
	return false;
}

static bool only(struct gt_section *s, const char *v, char *err, size_t len)
{
	static const char *const words[] = { [GT_ONLY_KNOWN] = "known",
					     [GT_ONLY_ANY] = "any",
					     [GT_ONLY_RING] = "ring",
					     [GT_ONLY_FILE] = "file" };

	for (s->only = GT_ONLY_KNOWN; s->only <= GT_ONLY_FILE; s->only++)
		if (!strcmp(v, words[s->only]))
			return true;
	snprintf(err, len, "'%s' is none of known, any, ring and file", v);
	return false;
}

enum key {
	KEY_EVENT,
	KEY_NAME,
	KEY_LEVEL,
	KEY_UNLESS,
	KEY_HEARD,
	KEY_WITH,
	KEY_WHERE,
	KEY_ONLY,
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
	[KEY_HEARD] = "unless_heard",
	[KEY_WITH] = "with",
	[KEY_WHERE] = "where",
	[KEY_ONLY] = "only",
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
		return gt_parse_types(s, v, err, len);
	case KEY_NAME:
		if (s->flags) {
			snprintf(err, len, "%s has a name already", s->name);
			return false;
		}
		return word(s->name, sizeof(s->name), v, err, len);
	case KEY_LEVEL:
		return level(s, v, err, len);
	case KEY_UNLESS:
		return gt_parse_tracepoints(s->unless, &s->nunless, v, err, len);
	case KEY_HEARD:
		return gt_parse_tracepoints(s->heard, &s->nheard, v, err, len);
	case KEY_WITH:
		return gt_parse_tracepoints(s->with, &s->nwith, v, err, len);
	case KEY_WHERE:
		return gt_parse_cond(&s->where, v, err, len);
	case KEY_ONLY:
		return only(s, v, err, len);
	case KEY_PROBE:
		return gt_parse_probe(s, v, err, len);
	case KEY_ARGS:
		return gt_parse_args(s, v, err, len);
	case KEY_MATCH:
		return gt_parse_match(s, v, err, len);
	case KEY_DEV:
		return gt_parse_tmpl(&s->dev, v, err, len);
	case KEY_RING:
		return gt_parse_tmpl(&s->ring, v, err, len);
	case KEY_ENGINE:
		return gt_parse_tmpl(&s->engine, v, err, len);
	default:
		k -= KEY_NUM;
		s->nums |= (uint8_t)(1u << k);
		return gt_parse_num(&s->num[k], v, k == GT_NUM_FENCE, err, len);
	}
}

static int map_key(struct reader *r, const char *name, const char *v, char *err, size_t len)
{
	char *to = !strcmp(name, "driver") ? r->driver : !strcmp(name, "module") ? r->module : NULL;

	if (!to)
		return fault(r, r->line, "[map] has no key '%s', only driver and module", name);
	if (*v && !word(to, sizeof(r->driver), v, err, len))
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
	if (r->s->seen & 1u << k && k != KEY_UNLESS && k != KEY_PROBE && k != KEY_ARGS)
		return fault(r, r->line, "'%s' is given twice", name);
	r->s->seen |= 1u << k;
	if (!set_key(r->s, k, v, err, sizeof(err)))
		return fault(r, r->line, "%s: %s", name, err);
	return 1;
}

/* What an alternative of `match` needs that the section does not give, or NULL. */
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

static int check(struct reader *r, const struct gt_section *s)
{
	const uint32_t jobs = 1u << GT_SUBMIT | 1u << GT_COMMIT | 1u << GT_START;
	const uint32_t ends = 1u << GT_SUBMIT | 1u << GT_COMPLETE;

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
	if (s->only && !s->nmatch)
		return fault(r, s->line, "only needs match");
	if (s->only == GT_ONLY_RING && !s->ring.n)
		return fault(r, s->line, "only = ring needs ring");
	if (s->only == GT_ONLY_FILE && s->bits & jobs)
		return fault(r, s->line, "only = file is not for SUBMIT, COMMIT and START");
	if (s->bits & jobs && !s->ring.n && s->only != GT_ONLY_KNOWN)
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
		check(&r, s);
	}
	if (r.bad) {
		gt_sections_free(r.first);
		return -1;
	}
	*list = r.first;
	return r.count;
}
