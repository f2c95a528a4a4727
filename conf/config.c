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
#include "config.h"

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
