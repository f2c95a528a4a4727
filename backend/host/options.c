/* SPDX-License-Identifier: GPL-2.0 */
/* A backend's settings: its table, what the configuration says, and changes while it runs. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>

#include "internal.h"

/* A value outside of the options struct */
union value {
	int64_t i;
	bool b;
	char *s;
};

static size_t type_size(enum gt_option_type t)
{
	return t == GT_OPT_INT ? sizeof(int64_t) : t == GT_OPT_BOOL ? sizeof(bool) : sizeof(char *);
}

static bool good_key(const char *s)
{
	size_t n = 0;

	for (; s[n]; n++)
		if (n == 31 ||
		    !(islower((unsigned char)s[n]) || isdigit((unsigned char)s[n]) || s[n] == '_'))
			return false;
	return n > 0;
}

static const char *fault_of(const struct gt_backend *be, const struct gt_option *o)
{
	size_t size = type_size(o->type);

	if (!good_key(o->name))
		return "its name is not 1 to 31 of [a-z0-9_]";
	if (o->type != GT_OPT_INT && o->type != GT_OPT_BOOL && o->type != GT_OPT_STR)
		return "its type is unknown";
	if (o->off > be->options_size || be->options_size - o->off < size || o->off % size)
		return "it lies outside of the options struct";
	if (o->type == GT_OPT_INT && o->min > o->max)
		return "its bounds are the wrong way round";
	if ((o->flags & GT_OPT_RUNTIME) && !be->set)
		return "it may change at run time, but there is no set() hook";
	return NULL;
}

int gt_options_check(const struct gt_backend *be, char *err, size_t len)
{
	const struct gt_option *o = be->options;

	for (; o && o->name; o++) {
		const char *fault = fault_of(be, o);

		if (!fault && o - be->options == GT_HOST_MAX_OPTIONS)
			fault = "there are too many before it";
		if (fault) {
			snprintf(err, len, "option %.40s: %s", o->name, fault);
			return -EINVAL;
		}
	}
	return 0;
}

static int parse_int(const struct gt_option *o, const char *s, int64_t *out, char *err, size_t len)
{
	char *end;

	errno = 0;
	*out = strtoll(s, &end, 10);
	if (end == s || *end || isspace((unsigned char)*s) || *s == '+') {
		snprintf(err, len, "%s: '%.64s' is not a number", o->name, s);
		return -EINVAL;
	}
	if (errno == ERANGE || *out < o->min || *out > o->max) {
		snprintf(err, len, "%s: %.64s is not within %" PRId64 " to %" PRId64, o->name, s,
			 o->min, o->max);
		return -ERANGE;
	}
	return 0;
}

static int parse_bool(const struct gt_option *o, const char *s, bool *out, char *err, size_t len)
{
	static const char *const words[] = { "0", "1", "no", "yes", "false", "true", "off", "on" };

	for (unsigned int i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (!strcmp(s, words[i])) {
			*out = i & 1;
			return 0;
		}
	snprintf(err, len, "%s: '%.64s' is neither 0 nor 1", o->name, s);
	return -EINVAL;
}

static int parse_str(const struct gt_option *o, const char *s, char **out, char *err, size_t len)
{
	if (strlen(s) >= GT_HOST_VALUE_LEN) {
		snprintf(err, len, "%s: longer than %d bytes", o->name, GT_HOST_VALUE_LEN - 1);
		return -E2BIG;
	}
	*out = strdup(s);
	return *out ? 0 : -ENOMEM;
}

static int parse(const struct gt_option *o, const char *s, union value *v, char *err, size_t len)
{
	switch (o->type) {
	case GT_OPT_INT:
		return parse_int(o, s, &v->i, err, len);
	case GT_OPT_BOOL:
		return parse_bool(o, s, &v->b, err, len);
	default:
		return parse_str(o, s, &v->s, err, len);
	}
}

/* Exchanges @v and the value in the options struct. */
static void swap(const struct gt_be *b, const struct gt_option *o, union value *v)
{
	char *at = (char *)b->p.options + o->off;
	union value old = { 0 };
	size_t size = type_size(o->type);

	memcpy(&old, at, size);
	memcpy(at, v, size);
	*v = old;
}

static void discard(const struct gt_option *o, union value *v)
{
	if (o->type == GT_OPT_STR)
		free(v->s);
}

static const struct gt_option *find(const struct gt_be *b, const char *name)
{
	const struct gt_option *o = b->be ? b->be->options : NULL;

	for (; o && o->name; o++)
		if (!strcmp(o->name, name))
			return o;
	return NULL;
}

const struct gt_option *gt_options_find(const struct gt_be *b, const char *name)
{
	const struct gt_option *o = find(b, name);

	return o && !(o->flags & GT_OPT_GONE) ? o : NULL;
}

/* Puts the place of @key in the configuration before the sentence. Keeps the first such sentence. */
static int bad_key(struct gt_be *b, const char *key, int ret, char *err, size_t len)
{
	const struct gt_host_conf *c = &b->h->conf;
	const char *where =
		c->option_where ? c->option_where(c->option_arg, b->be->name, key) : NULL;
	char said[256];

	if (where) {
		snprintf(said, sizeof(said), "%s", err);
		snprintf(err, len, "%s: %s", where, said);
	}
	if (c->strict && !*b->h->bad_conf)
		snprintf(b->h->bad_conf, sizeof(b->h->bad_conf), "%s", err);
	return ret;
}

static int fill_one(struct gt_be *b, const struct gt_option *o, char *err, size_t len)
{
	const struct gt_host_conf *c = &b->h->conf;
	const char *set = c->option ? c->option(c->option_arg, b->be->name, o->name) : NULL;
	const char *def = o->def ? o->def : o->type == GT_OPT_STR ? "" : "0";
	union value v = { 0 };
	int ret;

	if (o->flags & GT_OPT_GONE) {
		if (set)
			gt_host_log(b->h, b, LOG_WARNING, "%s has no effect any more: %s", o->name,
				    o->help);
		return 0;
	}
	ret = parse(o, set ? set : def, &v, err, len);
	if (ret)
		return bad_key(b, o->name, ret, err, len);
	swap(b, o, &v);
	discard(o, &v);
	return 0;
}

static int check_keys(struct gt_be *b, char *err, size_t len)
{
	const struct gt_host_conf *c = &b->h->conf;
	const char *section, *key;

	for (unsigned int i = 0; c->option_each && c->option_each(c->option_arg, i, &section, &key);
	     i++)
		if (!strcmp(section, b->be->name) && !find(b, key)) {
			snprintf(err, len, "section [backend %s] has no key '%.64s'", section, key);
			return bad_key(b, key, -EINVAL, err, len);
		}
	return 0;
}

int gt_options_fill(struct gt_be *b, char *err, size_t len)
{
	int ret = check_keys(b, err, len);

	if (ret || !b->be->options_size)
		return ret;
	b->p.options = calloc(1, b->be->options_size);
	if (!b->p.options) {
		snprintf(err, len, "%s", strerror(ENOMEM));
		return -ENOMEM;
	}
	for (const struct gt_option *o = b->be->options; !ret && o && o->name; o++)
		ret = fill_one(b, o, err, len);
	if (ret)
		gt_options_free(b);
	return ret;
}

int gt_options_append(struct gt_be *b, const char *path)
{
	const struct gt_option *o = gt_options_find(b, "files");
	union value v = { 0 };
	char *all;

	if (!o || o->type != GT_OPT_STR)
		return -ENOENT;
	swap(b, o, &v);
	if (asprintf(&all, "%s%s%s", v.s ? v.s : "", v.s && *v.s ? ":" : "", path) < 0)
		all = NULL;
	free(v.s);
	v.s = all;
	swap(b, o, &v);
	return all ? 0 : -ENOMEM;
}

void gt_options_free(struct gt_be *b)
{
	const struct gt_option *o = b->be ? b->be->options : NULL;
	union value none;

	for (; b->p.options && o && o->name; o++) {
		memset(&none, 0, sizeof(none));
		swap(b, o, &none);
		discard(o, &none);
	}
	free(b->p.options);
	b->p.options = NULL;
}

void gt_options_print(const struct gt_be *b, const struct gt_option *o, char *buf, size_t len)
{
	const void *at = (const char *)b->p.options + o->off;

	if (o->type == GT_OPT_INT)
		snprintf(buf, len, "%" PRId64, *(const int64_t *)at);
	else if (o->type == GT_OPT_BOOL)
		snprintf(buf, len, "%d", *(const bool *)at);
	else
		snprintf(buf, len, "%s", *(char *const *)at);
}

static void swap_locked(struct gt_be *b, const struct gt_option *o, union value *v)
{
	GT_HOST_LOCK(b->h);

	swap(b, o, v);
}

int gt_options_set(struct gt_be *b, const char *name, const char *value, char *err, size_t len)
{
	const struct gt_option *o = gt_options_find(b, name);
	union value v = { 0 };
	int ret;

	if (!o) {
		snprintf(err, len, "backend %s has no setting '%.64s'", b->info.name, name);
		return -ENOENT;
	}
	if (b->started && !(o->flags & GT_OPT_RUNTIME)) {
		snprintf(err, len, "%s of backend %s can only be set while level is off", name,
			 b->info.name);
		return -EBUSY;
	}
	ret = parse(o, value, &v, err, len);
	if (ret)
		return ret;
	swap_locked(b, o, &v);
	if (b->started) {
		gt_be_clear_error(b);
		ret = b->be->set(&b->p, o);
		if (ret < 0) {
			swap_locked(b, o, &v);
			snprintf(err, len, "%s",
				 b->has_error ? b->info.last_error : strerror(-ret));
		}
	}
	discard(o, &v);
	return ret < 0 ? ret : 0;
}
