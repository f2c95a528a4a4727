/* SPDX-License-Identifier: GPL-2.0 */
/* Words that came from outside, written so that they stay one word. */
#include <string.h>

#include "text.h"

/*
 * Characters that some reader takes for a blank, a line's end or an order to turn the text around
 * (Unicode White_Space, Cc and Bidi_Control, with the invisible ones beside them).
 */
static bool breaks_word(uint32_t c)
{
	static const struct {
		uint32_t from, to;
	} bad[] = {
		{ 0x00, 0x20 },	    { 0x7f, 0xa0 },	{ 0x61c, 0x61c },   { 0x1680, 0x1680 },
		{ 0x180e, 0x180e }, { 0x2000, 0x200f }, { 0x2028, 0x202f }, { 0x205f, 0x206f },
		{ 0x3000, 0x3000 }, { 0xfeff, 0xfeff }, { 0xfff9, 0xfffb },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (c >= bad[i].from && c <= bad[i].to)
			return true;
	return false;
}

/*
 * Length of the character at @s, of which @n bytes may be looked at; 0 if it is not UTF-8 (cut,
 * overlong, a surrogate, past U+10FFFF) or would break the word.
 */
static size_t clean_char(const unsigned char *s, size_t n)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t len = s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : s[0] < 0xf5 ? 4 : 0;
	uint32_t c;

	if (!len || len > n)
		return 0;
	c = s[0] & (0x7fU >> len);
	for (size_t i = 1; i < len; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (s[i] & 0x3f);
	}
	if (c < least[len] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000) || breaks_word(c))
		return 0;
	return len;
}

static void escape(struct gt_text *t, unsigned char c)
{
	const char *hex = "0123456789abcdef";
	char x[4] = { '\\', 'x', hex[c >> 4], hex[c & 15] };

	gt_text_mem(t, x, sizeof(x));
}

/**
 * gt_text_word() - one word from at most @max bytes of @s; "" is "-"
 *
 * A backslash is escaped too, so that what was there can be had back.
 */
void gt_text_word(struct gt_text *t, const char *s, size_t max)
{
	const unsigned char *u = (const unsigned char *)s;
	size_t n = strnlen(s, max), run = 0, len;

	if (!n)
		gt_text_dash(t);
	for (size_t i = 0; i < n;) {
		if (u[i] < 0x80)
			len = u[i] > 0x20 && u[i] != 0x7f && u[i] != '\\' && (u[i] != '#' || i);
		else
			len = clean_char(u + i, n - i);
		if (len) {
			i += len;
			continue;
		}
		gt_text_mem(t, s + run, i - run);
		escape(t, u[i]);
		run = ++i;
	}
	gt_text_mem(t, s + run, n - run);
}
