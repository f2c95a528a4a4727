/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Configuration, see config.h. Lines are read and counted here and handed to inih one by one: the
 * library as distributions build it gives neither a handler's line nor that a line was cut.
 */
#include <errno.h>
#include <fcntl.h>
#include <ini.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../backend/lib/file.h"
#include "../fs/text/text.h"
#include "config.h"
#include "list.h"

#define ITEMS	    GT_CONF_NITEMS
#define BACKEND_LEN 32 /* a backend's name, with its NUL */
#define KEY_LEN	    32
#define MAX_EXTRA   1024

/** struct gt_conf_extra - one [backend NAME] key; @file: which gt_config_read() set it, 0 none */
struct gt_conf_extra {
	struct gt_conf_extra *next;
	char backend[BACKEND_LEN];
	char key[KEY_LEN];
	char *value;
	char *where; /* "FILE:LINE", NULL if no file says it */
	const void *file;
};

/** struct reader - one file being read; @line: the last one read, from 1 */
struct reader {
	struct gt_config *c;
	FILE *f;
	const char *path;
	int line;
	bool seen[ITEMS];
	bool failed;
	bool values; /* nothing else is taken */
	char *err;
	size_t len;
};

static char *fail(struct reader *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Sets the sentence of the first fault. Always NULL, for those who return a pointer. */
static char *fail(struct reader *r, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (!r->failed)
		snprintf(r->err, r->len, "%s:%d: %s", r->path, r->line, text);
	r->failed = true;
	return NULL;
}

static int set_item(struct gt_config *c, const struct gt_conf_item *it, const char *s, char *err,
		    size_t len)
{
	struct gt_conf_value v;
	char why[256];
	int ret = gt_conf_parse(it, s, &v, why, sizeof(why));

	if (ret) {
		snprintf(err, len, "%s: %s", it->key, why);
		return ret;
	}
	gt_conf_swap(c, it, &v);
	gt_conf_drop(&v);
	return 0;
}

static bool is_text(const struct gt_conf_item *it)
{
	return it->type == GT_CONF_STR || it->type == GT_CONF_LIST;
}

int gt_config_init(struct gt_config *c)
{
	char err[160];
	int ret = 0;

	memset(c, 0, sizeof(*c));
	for (size_t i = 0; !ret && i < ITEMS; i++)
		ret = set_item(c, &gt_conf_items[i], gt_conf_items[i].def, err, sizeof(err));
	if (ret)
		gt_config_free(c);
	return ret;
}

void gt_config_free(struct gt_config *c)
{
	for (size_t i = 0; i < ITEMS; i++)
		if (is_text(&gt_conf_items[i]))
			free(*(char **)((char *)c + gt_conf_items[i].off));
	while (c->extra) {
		struct gt_conf_extra *e = c->extra;

		c->extra = e->next;
		free(e->value);
		free(e->where);
		free(e);
	}
	gt_conf_rules_free(c->rules);
	memset(c, 0, sizeof(*c));
}

int gt_config_set(struct gt_config *c, const char *key, const char *value, char *err, size_t len)
{
	const struct gt_conf_item *it = gt_conf_item(key);

	if (it)
		return set_item(c, it, value, err, len);
	snprintf(err, len, "there is no key '%.64s'", key);
	return -ENOENT;
}

static struct gt_conf_extra *find_extra(const struct gt_config *c, const char *backend,
					const char *key)
{
	struct gt_conf_extra *e = c->extra;

	while (e && (strcmp(e->backend, backend) || strcmp(e->key, key)))
		e = e->next;
	return e;
}

const char *gt_config_backend(void *c, const char *backend, const char *key)
{
	const struct gt_conf_extra *e = find_extra(c, backend, key);

	return e ? e->value : NULL;
}

const char *gt_config_backend_where(void *c, const char *backend, const char *key)
{
	const struct gt_conf_extra *e = find_extra(c, backend, key);

	return e ? e->where : NULL;
}

bool gt_config_backend_each(void *c, unsigned int i, const char **backend, const char **key)
{
	const struct gt_conf_extra *e = ((struct gt_config *)c)->extra;

	while (e && i--)
		e = e->next;
	if (!e)
		return false;
	*backend = e->backend;
	*key = e->key;
	return true;
}

/* A new entry, at the end: the order is that of the file. */
static struct gt_conf_extra *add_extra(struct gt_config *c, const char *backend, const char *key)
{
	struct gt_conf_extra **at = &c->extra, *e;
	unsigned int n = 0;

	for (; *at; n++)
		at = &(*at)->next;
	e = n < MAX_EXTRA ? calloc(1, sizeof(*e)) : NULL;
	if (!e)
		return NULL;
	snprintf(e->backend, sizeof(e->backend), "%s", backend);
	snprintf(e->key, sizeof(e->key), "%s", key);
	*at = e;
	return e;
}

int gt_config_backend_set(struct gt_config *c, const char *backend, const char *key,
			  const char *value)
{
	struct gt_conf_extra *e;
	char *copy;

	if (!*backend || strlen(backend) >= BACKEND_LEN || !*key || strlen(key) >= KEY_LEN)
		return -EINVAL;
	copy = strdup(value);
	if (!copy)
		return -ENOMEM;
	e = find_extra(c, backend, key);
	if (!e)
		e = add_extra(c, backend, key);
	if (!e) {
		free(copy);
		return -ENOMEM;
	}
	free(e->value);
	e->value = copy;
	free(e->where);
	e->where = NULL;
	e->file = NULL;
	return 0;
}

static bool known_section(const char *name)
{
#define GT_SECTION(s, help)                                                                        \
	if (!strcmp(name, #s))                                                                     \
		return true;
#include "options.def"
	return false;
}

/* "NAME" of "backend NAME", or NULL. */
static const char *backend_of(const char *section)
{
	const char *name;

	if (strncmp(section, "backend ", 8))
		return NULL;
	name = section + 8 + strspn(section + 8, " ");
	return *name && strlen(name) < BACKEND_LEN && !strpbrk(name, " \t") ? name : NULL;
}

/* inih has no call for a section without keys, so its line is looked at before. */
static void check_section(struct reader *r, const char *line)
{
	size_t n = strcspn(line + 1, "]");
	const char *rest = line + 1 + n + (line[1 + n] == ']');
	char name[64];

	snprintf(name, sizeof(name), "%.*s", (int)(n < 63 ? n : 63), line + 1);
	rest += strspn(rest, " \t\r\n");
	if (line[1 + n] != ']' || (*rest && *rest != ';' && *rest != '#'))
		fail(r, "a section is one name in [brackets] on a line of its own");
	else if (!known_section(name) && !backend_of(name))
		fail(r, "there is no section [%s]", name);
}

/*
 * One line for inih. Leading blanks go, so that an indented line is never taken for more of the
 * value before it.
 */
static char *read_line(char *buf, int size, void *arg)
{
	struct reader *r = arg;
	size_t n = 0;
	int ch = EOF;

	if (r->failed)
		return NULL;
	r->line++;
	while (n + 1 < (size_t)size && ch != '\n' && (ch = getc_unlocked(r->f)) != EOF && ch)
		if (n || (ch != ' ' && ch != '\t'))
			buf[n++] = (char)ch;
	buf[n] = 0;
	if (ch == EOF)
		return ferror(r->f) ? fail(r, "%s", strerror(errno)) : n ? buf : NULL;
	if (!ch)
		return fail(r, "a NUL byte: this is not a text file");
	if (ch != '\n')
		return fail(r, "a line longer than %d bytes", size - 2);
	if (buf[0] == '[')
		check_section(r, buf);
	return r->failed ? NULL : buf;
}

static void backend_key(struct reader *r, const char *backend, const char *key, const char *value)
{
	struct gt_conf_extra *e = find_extra(r->c, backend, key);

	if (e && e->file == r) {
		fail(r, "%s is set twice in [backend %s]", key, backend);
		return;
	}
	if (gt_config_backend_set(r->c, backend, key, value)) {
		fail(r, "'%.64s' cannot be a backend's key", key);
		return;
	}
	e = find_extra(r->c, backend, key);
	e->file = r;
	if (asprintf(&e->where, "%s:%d", r->path, r->line) < 0)
		e->where = NULL;
}

static void access_rule(struct reader *r, const char *pattern, const char *value)
{
	char *where = NULL, err[256];

	if (asprintf(&where, "%s:%d", r->path, r->line) < 0)
		where = NULL;
	if (gt_conf_rule_add(&r->c->rules, r, where, pattern, value, err, sizeof(err)))
		fail(r, "%.64s: %s", pattern, err);
}

static int on_key(void *arg, const char *section, const char *key, const char *value)
{
	struct reader *r = arg;
	const struct gt_conf_item *it = gt_conf_item(key);
	const char *backend = backend_of(section);
	char err[256];

	if (r->values && (backend || gt_conf_is_pattern(key)))
		fail(r, "'%.64s' is no setting of config/", key);
	else if (backend)
		backend_key(r, backend, key, value);
	else if (!*section)
		fail(r, "'%.64s' stands before any [section]", key);
	else if (!strcmp(section, "access") && gt_conf_is_pattern(key))
		access_rule(r, key, value);
	else if (!it || strcmp(it->section, section))
		fail(r, "section [%s] has no key '%.64s'%s%s", section, key,
		     it ? ", it belongs in " : "", it ? it->section : "");
	else if (r->seen[it - gt_conf_items])
		fail(r, "%s is set twice", key);
	else if (set_item(r->c, it, value, err, sizeof(err)))
		fail(r, "%s", err);
	else
		r->seen[it - gt_conf_items] = true;
	return !r->failed;
}

/* The file's marks on keys are only good while it is read. */
static void forget_marks(struct gt_config *c)
{
	for (struct gt_conf_extra *e = c->extra; e; e = e->next)
		e->file = NULL;
	for (struct gt_conf_rule *a = c->rules; a; a = a->next)
		a->file = NULL;
}

/* Where this program has more rights than who called it: a sentence about the file may say what is
 * in it, so who called must be able to read it, too. access(2) asks for that user */
static bool is_callers(const char *path)
{
	return getuid() == geteuid() || !access(path, R_OK);
}

static int open_file(struct reader *r)
{
	char open[64];
	int fd = -EACCES;

	if (is_callers(r->path))
		fd = gt_trusted_open(AT_FDCWD, r->path, S_IFREG, r->err, r->len);
	else
		snprintf(r->err, r->len, "%s: %s", r->path, strerror(EACCES));
	if (fd < 0)
		return fd;
	/* the path may lead elsewhere by now */
	snprintf(open, sizeof(open), "/proc/self/fd/%d", fd);
	if (!is_callers(open)) {
		snprintf(r->err, r->len, "%s: %s", r->path, strerror(EACCES));
		close(fd);
		return -EACCES;
	}
	r->f = fdopen(fd, "r");
	if (r->f)
		return 0;
	snprintf(r->err, r->len, "%s: %s", r->path, strerror(errno));
	close(fd);
	return -ENOMEM;
}

static int read_file(struct gt_config *c, const char *path, bool values, bool *seen, char *err,
		     size_t len)
{
	struct reader r = { .c = c, .path = path, .values = values, .err = err, .len = len };
	int bad, ret = open_file(&r);

	if (ret)
		return ret;
	bad = ini_parse_stream(read_line, &r, on_key, &r);
	fclose(r.f);
	forget_marks(c);
	if (seen)
		memcpy(seen, r.seen, sizeof(r.seen));
	if (bad < 0) {
		snprintf(err, len, "%s: %s", path, strerror(ENOMEM));
		return -ENOMEM;
	}
	if (bad && (!r.failed || bad < r.line)) {
		snprintf(err, len, "%s:%d: neither a [section] nor key = value", path, bad);
		return -EINVAL;
	}
	return r.failed ? -EINVAL : 0;
}

int gt_config_read(struct gt_config *c, const char *path, char *err, size_t len)
{
	return read_file(c, path, false, NULL, err, len);
}

int gt_config_read_seen(struct gt_config *c, const char *path, bool *seen, char *err, size_t len)
{
	return read_file(c, path, false, seen, err, len);
}

int gt_config_read_values(struct gt_config *c, const char *path, bool *seen, char *err, size_t len)
{
	return read_file(c, path, true, seen, err, len);
}

/* Values of keys, by options.def: the one parser for gputrace.conf, mount options and config/. */

/* clang-format off */
#define AT(key) .off = offsetof(struct gt_config, key)
const struct gt_conf_item gt_conf_items[] = {
#define GT_INT(s, k, d, low, high, u, h) \
	{ .section = #s, .key = #k, .type = GT_CONF_INT, .def = #d, .min = low, .max = high, .unit = GT_UNIT_##u, .help = h, AT(k) },
#define GT_BOOL(s, k, d, h) \
	{ .section = #s, .key = #k, .type = GT_CONF_BOOL, .def = #d, .max = 1, .help = h, AT(k) },
#define GT_STR(s, k, d, h) \
	{ .section = #s, .key = #k, .type = GT_CONF_STR, .def = d, .help = h, AT(k) },
#define GT_CHOICE(s, k, d, n, h) \
	{ .section = #s, .key = #k, .type = GT_CONF_CHOICE, .def = #d, .names = n, .help = h, AT(k) },
#define GT_LIST(s, k, kind, h) \
	{ .section = #s, .key = #k, .type = GT_CONF_LIST, .def = "", .check = gt_check_##kind, .help = h, AT(k) },
#include "options.def"
	{ .key = NULL },
};
#undef AT
/* clang-format on */

const struct gt_conf_item *gt_conf_item(const char *key)
{
	for (size_t i = 0; i < GT_CONF_NITEMS; i++)
		if (!strcmp(gt_conf_items[i].key, key))
			return &gt_conf_items[i];
	return NULL;
}

/* Units: of times in ns, of sizes in bytes */
static const struct unit {
	const char *name;
	uint64_t size;
	bool bytes;
} units[] = {
	{ "h", 3600000000000, false }, { "m", 60000000000, false }, { "s", 1000000000, false },
	{ "ms", 1000000, false },      { "us", 1000, false },	    { "ns", 1, false },
	{ "T", 1ULL << 40, true },     { "G", 1ULL << 30, true },   { "M", 1ULL << 20, true },
	{ "K", 1ULL << 10, true },
};
#define NUNITS (sizeof(units) / sizeof(units[0]))

/* What a number without a unit counts: ns, or bytes; 0: it takes no unit */
static uint64_t base_of(const struct gt_conf_item *it)
{
	static const uint64_t size[] = { [GT_UNIT_NS] = 1,
					 [GT_UNIT_US] = 1000,
					 [GT_UNIT_MS] = 1000000,
					 [GT_UNIT_S] = 1000000000,
					 [GT_UNIT_BYTES] = 1 };

	return size[it->unit];
}

static bool takes(const struct gt_conf_item *it, const struct unit *u)
{
	return it->unit != GT_UNIT_NONE && u->bytes == (it->unit == GT_UNIT_BYTES);
}

/* Digits, and a unit that the key takes: in units of the key. -EINVAL: no number, or a part of one
 */
static int parse_number(const struct gt_conf_item *it, const char *s, uint64_t *out)
{
	size_t digits = strspn(s, "0123456789");
	const struct unit *u = NULL;
	unsigned __int128 all;
	char number[32];
	int ret;

	for (size_t i = 0; s[digits] && i < NUNITS; i++)
		if (takes(it, &units[i]) && !strcmp(s + digits, units[i].name))
			u = &units[i];
	if (!u || !digits)
		return gt_parse_u64(s, (uint64_t)it->min, (uint64_t)it->max, out);
	gt_parse_at = s;
	if (digits >= sizeof(number))
		return -ERANGE;
	snprintf(number, sizeof(number), "%.*s", (int)digits, s);
	ret = gt_parse_u64(number, 0, UINT64_MAX, out);
	gt_parse_at = s;
	if (ret)
		return ret;
	all = (unsigned __int128)*out * u->size;
	if (all % base_of(it))
		return -EINVAL;
	all /= base_of(it);
	if (all < (uint64_t)it->min || all > (uint64_t)it->max)
		return -ERANGE;
	*out = (uint64_t)all;
	return 0;
}

static int parse_int(const struct gt_conf_item *it, const char *s, int64_t *out, char *err,
		     size_t len)
{
	bool minus = *s == '-' && s[1] && !s[1 + strspn(s + 1, "0123456789")];
	uint64_t v = 0;
	int ret = minus ? -ERANGE : parse_number(it, s, &v);

	if (minus)
		gt_parse_at = s;
	if (ret == -ERANGE)
		snprintf(err, len, "%.64s is not within %" PRId64 " to %" PRId64, s, it->min,
			 it->max);
	else if (ret)
		snprintf(err, len, "'%.64s' is not a number%s", s,
			 it->unit == GT_UNIT_NONE ? ""
			 : it->unit == GT_UNIT_BYTES
				 ? ", or one with K, M, G or T"
				 : ", or a whole one with ns, us, ms, s, m or h");
	*out = (int64_t)v;
	return ret;
}

static int parse_bool(const char *s, int64_t *out, char *err, size_t len)
{
	static const char *const words[] = { "0", "1", "no", "yes", "false", "true", "off", "on" };

	for (unsigned int i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (!strcmp(s, words[i])) {
			*out = i & 1;
			return 0;
		}
	gt_parse_at = s;
	snprintf(err, len, "'%.64s' is neither 0 nor 1", s);
	return *s && !s[strspn(s, "0123456789")] ? -ERANGE : -EINVAL;
}

/* A name of the choice, or its number. */
static int parse_choice(const struct gt_conf_item *it, const char *value, int64_t *out, char *err,
			size_t len)
{
	const char *name = it->names;
	size_t n = strlen(value);
	char number[24];

	for (int64_t i = 0; *name; i++) {
		size_t l = strcspn(name, " ");

		snprintf(number, sizeof(number), "%" PRId64, i);
		if ((l == n && !memcmp(name, value, n)) || !strcmp(value, number)) {
			*out = i;
			return 0;
		}
		name += l + strspn(name + l, " ");
	}
	gt_parse_at = value;
	snprintf(err, len, "'%.64s' is none of: %s", value, it->names);
	return n && !value[strspn(value, "0123456789")] ? -ERANGE : -EINVAL;
}

static int parse_str(const struct gt_conf_item *it, const char *s, char **out, char *err,
		     size_t len)
{
	int ret = it->check ? it->check(s, err, len) : 0;

	if (ret)
		return ret;
	if (strlen(s) >= GT_CONF_PATHLEN) {
		snprintf(err, len, "longer than %d bytes", GT_CONF_PATHLEN - 1);
		return -E2BIG;
	}
	*out = strdup(s);
	if (*out)
		return 0;
	snprintf(err, len, "%s", strerror(ENOMEM));
	return -ENOMEM;
}

int gt_conf_parse(const struct gt_conf_item *it, const char *s, struct gt_conf_value *v, char *err,
		  size_t len)
{
	*v = (struct gt_conf_value){ 0 };
	switch (it->type) {
	case GT_CONF_INT:
		return parse_int(it, s, &v->n, err, len);
	case GT_CONF_BOOL:
		return parse_bool(s, &v->n, err, len);
	case GT_CONF_CHOICE:
		return parse_choice(it, s, &v->n, err, len);
	default:
		return parse_str(it, s, &v->s, err, len);
	}
}

void gt_conf_swap(struct gt_config *c, const struct gt_conf_item *it, struct gt_conf_value *v)
{
	void *at = (char *)c + it->off;
	struct gt_conf_value old = { 0 };

	if (it->type == GT_CONF_BOOL) {
		old.n = *(bool *)at;
		*(bool *)at = v->n;
	} else if (it->type == GT_CONF_INT || it->type == GT_CONF_CHOICE) {
		old.n = *(int64_t *)at;
		*(int64_t *)at = v->n;
	} else {
		old.s = *(char **)at;
		*(char **)at = v->s;
	}
	*v = old;
}

void gt_conf_drop(struct gt_conf_value *v)
{
	free(v->s);
	v->s = NULL;
}
