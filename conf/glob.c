/* SPDX-License-Identifier: GPL-2.0 */
/* Which rings a list means. No fnmatch(3): names come from recordings, and patterns from users. */
#include <stdlib.h>
#include <string.h>

#include "list.h"

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
