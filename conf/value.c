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
