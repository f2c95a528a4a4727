/* SPDX-License-Identifier: GPL-2.0 */
/* Values of keys, by options.def: the one parser for gputrace.conf, mount options and config/. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../fs/text/text.h"
#include "config.h"
#include "list.h"

/* clang-format off */
#define AT(key) .off = offsetof(struct gt_config, key)
const struct gt_conf_item gt_conf_items[] = {
#define GT_SECTION(name, help)
#define GT_INT(s, k, d, low, high, h) \
	{ .section = #s, .key = #k, .type = GT_CONF_INT, .def = #d, .min = low, .max = high, .help = h, AT(k) },
#define GT_BOOL(s, k, d, h) \
	{ .section = #s, .key = #k, .type = GT_CONF_BOOL, .def = #d, .max = 1, .help = h, AT(k) },
#define GT_STR(s, k, d, h) \
	{ .section = #s, .key = #k, .type = GT_CONF_STR, .def = d, .help = h, AT(k) },
#define GT_CHOICE(s, k, d, n, h) \
	{ .section = #s, .key = #k, .type = GT_CONF_CHOICE, .def = #d, .names = n, .help = h, AT(k) },
#define GT_LIST(s, k, kind, h) \
	{ .section = #s, .key = #k, .type = GT_CONF_LIST, .def = "", .check = gt_check_##kind, .help = h, AT(k) },
#include "options.def"
#undef GT_SECTION
#undef GT_INT
#undef GT_BOOL
#undef GT_STR
#undef GT_CHOICE
#undef GT_LIST
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

static int parse_int(const struct gt_conf_item *it, const char *s, int64_t *out, char *err,
		     size_t len)
{
	bool minus = *s == '-' && s[1] && !s[1 + strspn(s + 1, "0123456789")];
	uint64_t v = 0;
	int ret = minus ? -ERANGE : gt_parse_u64(s, (uint64_t)it->min, (uint64_t)it->max, &v);

	if (minus)
		gt_parse_at = s;
	if (ret == -ERANGE)
		snprintf(err, len, "%.64s is not within %" PRId64 " to %" PRId64, s, it->min,
			 it->max);
	else if (ret)
		snprintf(err, len, "'%.64s' is not a number", s);
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
static int parse_choice(const struct gt_conf_item *it, const char *s, int64_t *out, char *err,
			size_t len)
{
	const char *name = it->names;
	size_t n = strlen(s);
	char number[24];

	for (int64_t i = 0; *name; i++) {
		size_t l = strcspn(name, " ");

		snprintf(number, sizeof(number), "%" PRId64, i);
		if ((l == n && !memcmp(name, s, n)) || !strcmp(s, number)) {
			*out = i;
			return 0;
		}
		name += l + strspn(name + l, " ");
	}
	gt_parse_at = s;
	snprintf(err, len, "'%.64s' is none of: %s", s, it->names);
	return n && !s[strspn(s, "0123456789")] ? -ERANGE : -EINVAL;
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
