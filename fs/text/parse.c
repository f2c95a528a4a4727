/* SPDX-License-Identifier: GPL-2.0 */
/* Strict parsers of settings; each tells where it stopped in gt_parse_at. */
#include <errno.h>
#include <string.h>

#include "text.h"

_Thread_local const char *gt_parse_at;

static int fault(const char *at, int err)
{
	gt_parse_at = at;
	return err;
}

/**
 * gt_parse_u64() - decimal digits and nothing else
 * Return: -EINVAL if it is no number, -ERANGE if it is not within @min to @max
 */
int gt_parse_u64(const char *s, uint64_t min, uint64_t max, uint64_t *out)
{
	bool over = false;
	const char *p = s;
	uint64_t v = 0;

	for (; *p >= '0' && *p <= '9'; p++)
		over |= __builtin_mul_overflow(v, 10, &v) ||
			__builtin_add_overflow(v, (uint64_t)(*p - '0'), &v);
	if (*p || p == s)
		return fault(p, -EINVAL);
	if (over || v < min || v > max)
		return fault(s, -ERANGE);
	*out = v;
	return 0;
}

/** gt_parse_bool() - 0 or 1; another number is -ERANGE */
int gt_parse_bool(const char *s, bool *out)
{
	uint64_t v;
	int ret = gt_parse_u64(s, 0, 1, &v);

	if (!ret)
		*out = v;
	return ret;
}

/**
 * gt_parse_choice() - one of @names, or its number
 * Return: -EINVAL if it is neither, -ERANGE for a number that is too large
 */
int gt_parse_choice(const char *s, const char *const *names, unsigned int *out)
{
	unsigned int n;
	uint64_t v;
	int ret;

	for (n = 0; names[n]; n++) {
		if (!strcmp(s, names[n])) {
			*out = n;
			return 0;
		}
	}
	if (!n || *s < '0' || *s > '9')
		return fault(s, -EINVAL);
	ret = gt_parse_u64(s, 0, n - 1, &v);
	if (!ret)
		*out = (unsigned int)v;
	return ret;
}

static bool blank(char c)
{
	return c == ' ' || c == '\t';
}

/**
 * gt_parse_trim() - strips one trailing newline and outer blanks in place
 * @s: @len bytes and room for a NUL
 */
int gt_parse_trim(char *s, size_t len)
{
	size_t from = 0;

	s[len] = '\0';
	if (strlen(s) != len)
		return fault(s + strlen(s), -EINVAL);
	if (len && s[len - 1] == '\n')
		len--;
	while (len && blank(s[len - 1]))
		len--;
	while (from < len && blank(s[from]))
		from++;
	memmove(s, s + from, len - from);
	s[len - from] = '\0';
	return 0;
}
