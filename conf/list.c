/* SPDX-License-Identifier: GPL-2.0 */
/* Values that are lists: pids, uids, rings, events, contexts; patterns of names. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "../backend/event.h"
#include "../fs/text/text.h"
#include "list.h"

#define ITEM_MAX 96 /* bytes of one value, with its NUL */

/**
 * struct items - what is left of a list
 * @item: the one that was taken last, which began at @from
 */
struct items {
	const char *s, *from;
	unsigned int n;
	char item[ITEM_MAX];
	char *err;
	size_t len;
};

static int fault(const struct items *l, const char *at, int err, const char *sentence)
{
	gt_parse_at = at;
	snprintf(l->err, l->len, "%s", sentence);
	return err;
}

/* The next value; 1: there is one, 0: there is none, or an error */
static int next(struct items *l)
{
	size_t n = strcspn(l->s, ",");

	if (!*l->s && !l->from)
		return 0;
	if (l->from) {
		if (!*l->s)
			return 0;
		n = strcspn(++l->s, ",");
	}
	l->from = l->s;
	if (!n)
		return fault(l, l->s, -EINVAL, "a value is missing: lists are separated by commas");
	if (n >= ITEM_MAX)
		return fault(l, l->s, -EINVAL, "no value is as long as that");
	if (l->n++ == GT_LIST_MAX)
		return fault(l, l->s, -E2BIG, "a list has at most 64 values");
	memcpy(l->item, l->s, n);
	l->item[n] = '\0';
	l->s += n;
	return 1;
}

/* Takes the ! off. Later values may have one, too: grtrace's users write !1,!2 */
static int take_but(struct items *l, bool allowed, bool *but)
{
	bool has = l->item[0] == '!';

	if (!has)
		return 0;
	if (!allowed)
		return fault(l, l->from, -EINVAL, "this list takes no !");
	if (l->n > 1 && !*but)
		return fault(l, l->from, -EINVAL,
			     "! goes before the first: then it means all of them");
	*but = true;
	memmove(l->item, l->item + 1, strlen(l->item));
	l->from++;
	return 0;
}

/* The next value without its !: as next() */
static int next_of(struct items *l, bool allowed, bool *but)
{
	int ret = next(l), bad = ret > 0 ? take_but(l, allowed, but) : 0;

	return bad ? bad : ret;
}

static int upwards(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void sort(struct gt_numbers *out)
{
	unsigned int n = 0;

	qsort(out->v, out->n, sizeof(out->v[0]), upwards);
	for (unsigned int i = 0; i < out->n; i++)
		if (!n || out->v[n - 1] != out->v[i])
			out->v[n++] = out->v[i];
	out->n = n;
}

int gt_list_numbers(const char *s, uint64_t max, bool but, struct gt_numbers *out, char *err,
		    size_t len)
{
	struct items l = { .s = s, .err = err, .len = len };
	int ret;

	out->n = 0;
	out->but = false;
	while ((ret = next_of(&l, but, &out->but)) > 0) {
		ret = gt_parse_u64(l.item, 0, max, &out->v[out->n]);
		if (ret)
			return fault(&l, l.from + (gt_parse_at - l.item), ret,
				     ret == -ERANGE ? "that number is too great for what it is"
						    : "numbers, separated by commas: 12,34");
		out->n++;
	}
	sort(out);
	return ret;
}

/* Names of rings are taken as they are: anything but blanks, control characters and the comma */
static int check_pattern(const struct items *l)
{
	unsigned int slashes = 0;

	for (const char *p = l->item; *p; p++) {
		slashes += *p == '/';
		if ((unsigned char)*p <= ' ' || *p == 0x7f || slashes > 1 ||
		    (p == l->item && *p == '!'))
			return fault(l, l->from + (p - l->item), -EINVAL,
				     "a ring is a number, a name or a glob, or GPU/RING: "
				     "0,sdma*,amdgpu0/ring2");
	}
	if (!l->item[0] || l->item[0] == '/' || l->item[strlen(l->item) - 1] == '/')
		return fault(l, l->from, -EINVAL, "one side of a / is empty");
	return 0;
}

int gt_list_rings(const char *s, bool but, struct gt_patterns *out, char *err, size_t len)
{
	struct items l = { .s = s, .err = err, .len = len };
	int ret;

	out->n = 0;
	out->but = false;
	while ((ret = next_of(&l, but, &out->but)) > 0) {
		ret = check_pattern(&l);
		if (ret)
			return ret;
		memcpy(out->v[out->n++], l.item, sizeof(l.item));
	}
	return ret;
}

/* 0x3, or 3 */
static int parse_mask(const struct items *l, uint64_t *out)
{
	bool hex = l->item[0] == '0' && (l->item[1] == 'x' || l->item[1] == 'X');
	const char *digits = l->item + (hex ? 2 : 0);
	size_t n = strspn(digits, hex ? "0123456789abcdefABCDEF" : "0123456789");
	unsigned long long v;

	if (!n || digits[n])
		return fault(l, l->from + (digits + n - l->item), -EINVAL,
			     "a mask is 0x and hexadecimal digits: 0x3");
	errno = 0;
	v = strtoull(digits, NULL, hex ? 16 : 10);
	if (errno)
		return fault(l, l->from, -ERANGE, "a mask has 64 bits");
	*out = v;
	return 0;
}

static int add_name(const struct items *l, const char *const *names, unsigned int n, uint64_t *out)
{
	for (unsigned int i = 0; i < n; i++)
		if (!strcasecmp(names[i], l->item)) {
			*out |= 1ull << i;
			return 0;
		}
	return fault(l, l->from, -EINVAL, "neither a mask, 0x3, nor a name that there is");
}

/* A mask, 0x3, or some of @names[@n], which are its bits from 0 on; "": all ones */
static int mask_of(const char *s, const char *const *names, unsigned int n, uint64_t *out,
		   char *err, size_t len)
{
	struct items l = { .s = s, .err = err, .len = len };
	int ret;

	*out = *s ? 0 : UINT64_MAX;
	if (*s >= '0' && *s <= '9') {
		ret = next(&l);
		if (ret > 0)
			ret = parse_mask(&l, out);
		return ret || !*l.s ? ret : fault(&l, l.s, -EINVAL, "a mask is one value");
	}
	while ((ret = next(&l)) > 0) {
		ret = add_name(&l, names, n, out);
		if (ret)
			return ret;
	}
	return ret;
}

int gt_list_engines(const char *s, uint64_t *out, char *err, size_t len)
{
	static const char *const names[] = { "UNKNOWN", "GRAPHICS",	"COMPUTE",
					     "COPY",	"VIDEO_DECODE", "VIDEO_ENCODE" };
	static_assert(sizeof(names) / sizeof(names[0]) == GT_NENGINES, "a name each");

	return mask_of(s, names, GT_NENGINES, out, err, len);
}

int gt_list_events(const char *s, uint64_t *out, char *err, size_t len)
{
	static const char *const names[] = GT_TYPE_NAMES;

	return mask_of(s, names, GT_NTYPES, out, err, len);
}

static int check_numbers(const char *s, uint64_t max, bool but, char *err, size_t len)
{
	struct gt_numbers out;

	return gt_list_numbers(s, max, but, &out, err, len);
}

int gt_check_pids(const char *s, char *err, size_t len)
{
	return check_numbers(s, GT_NONE32 - 1, false, err, len);
}

int gt_check_uids(const char *s, char *err, size_t len)
{
	return check_numbers(s, GT_NONE32 - 1, false, err, len);
}

int gt_check_contexts(const char *s, char *err, size_t len)
{
	return check_numbers(s, GT_NONE64 - 1, true, err, len);
}

int gt_check_rings(const char *s, char *err, size_t len)
{
	struct gt_patterns out;

	return gt_list_rings(s, false, &out, err, len);
}

int gt_check_watchlist(const char *s, char *err, size_t len)
{
	struct gt_patterns out;

	return gt_list_rings(s, true, &out, err, len);
}

int gt_check_engines(const char *s, char *err, size_t len)
{
	uint64_t mask;

	return gt_list_engines(s, &mask, err, len);
}

int gt_check_events(const char *s, char *err, size_t len)
{
	uint64_t mask;

	return gt_list_events(s, &mask, err, len);
}

/* Which rings a list means. No fnmatch(3): names come from recordings, and patterns from users. */

/* A set, from behind its [: does it have @c? *@end: behind its ]; NULL: it has none, and is no set
 */
static bool in_set(const char *p, char c, const char **end)
{
	bool not = *p == '!' || *p == '^', has = false;
	const char *first = p += not ;

	*end = NULL;
	for (; *p && (*p != ']' || p == first); p++) {
		if (p[1] == '-' && p[2] && p[2] != ']') {
			has |= c >= p[0] && c <= p[2];
			p += 2;
		} else {
			has |= c == *p;
		}
	}
	if (*p)
		*end = p + 1;
	return has != not ;
}

/* One character; *@next: what is to follow */
static bool one(const char *p, char c, const char **next)
{
	const char *end;
	bool has;

	*next = p + 1;
	if (*p != '[')
		return *p == '?' || *p == c;
	has = in_set(p + 1, c, &end);
	if (!end)
		return c == '[';
	*next = end;
	return has;
}

bool gt_glob(const char *pattern, const char *s)
{
	const char *star = NULL, *from = NULL, *next;

	while (*s) {
		if (*pattern == '*') { /* what came before it need not be tried again */
			star = ++pattern;
			from = s;
		} else if (*pattern && one(pattern, *s, &next)) {
			pattern = next;
			s++;
		} else if (star) {
			pattern = star;
			s = ++from;
		} else {
			return false;
		}
	}
	while (*pattern == '*')
		pattern++;
	return !*pattern;
}

static bool is_number(const char *s, unsigned int id)
{
	size_t n = strspn(s, "0123456789");

	return n && n < 10 && !s[n] && strtoul(s, NULL, 10) == id;
}

static bool matches(const char *pattern, const char *gpu, unsigned int id, const char *ring)
{
	const char *slash = strchr(pattern, '/');
	char of[GT_PATTERN_LEN];

	if (slash) {
		memcpy(of, pattern, (size_t)(slash - pattern));
		of[slash - pattern] = '\0';
		if (!gt_glob(of, gpu))
			return false;
		pattern = slash + 1;
	}
	if (is_number(pattern, id) || (!strncmp(pattern, "ring", 4) && is_number(pattern + 4, id)))
		return true;
	return gt_glob(pattern, ring);
}

bool gt_ring_matches(const struct gt_patterns *p, const char *gpu, unsigned int id,
		     const char *ring)
{
	for (unsigned int i = 0; i < p->n; i++)
		if (matches(p->v[i], gpu, id, ring))
			return true;
	return false;
}
