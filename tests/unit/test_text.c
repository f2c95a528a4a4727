/* SPDX-License-Identifier: GPL-2.0 */
/* fs/text: emitters against printf, words from outside, strict parsers. */
#include <errno.h>
#include <stdlib.h>

#include "../../fs/text/text.h"
#include "../lib/tap.h"

static struct gt_text text;

static const char *done(void)
{
	gt_text_ch(&text, '\0');
	text.len = 0;
	return text.buf;
}

static void test_numbers(void)
{
	static const uint64_t values[] = {
		0,    1,     9,		 10,	     99,	 100,	     101,	    999,
		1000, 12345, 4294967295, 4294967296, 1ULL << 63, UINT64_MAX, UINT64_MAX - 1
	};
	char want[64];

	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		snprintf(want, sizeof(want), "%" PRIu64, values[i]);
		gt_text_u64(&text, values[i]);
		is_str(done(), want, "u64 %s", want);
		snprintf(want, sizeof(want), "%" PRId64, (int64_t)values[i]);
		gt_text_i64(&text, (int64_t)values[i]);
		is_str(done(), want, "i64 %s", want);
		snprintf(want, sizeof(want), "0x%" PRIx64, values[i]);
		gt_text_hex(&text, values[i]);
		is_str(done(), want, "hex %s", want);
	}
	for (unsigned int i = 0; i < 200000 && !text.failed; i += 7) {
		snprintf(want, sizeof(want), "%u", i);
		gt_text_u64(&text, i);
		if (strcmp(done(), want))
			text.failed = true;
	}
	ok(!text.failed, "u64 of every 7th number to 200000");
}

static void test_milli(void)
{
	gt_text_milli(&text, 12345, 2);
	is_str(done(), "12.34", "milli 2");
	gt_text_milli(&text, 12345, 0);
	is_str(done(), "12", "milli 0");
	gt_text_milli(&text, 99999, 1);
	is_str(done(), "99.9", "milli cuts");
	gt_text_milli(&text, 7, 3);
	is_str(done(), "0.007", "milli 3");
	gt_text_milli(&text, 50, 9);
	is_str(done(), "0.050", "milli has three places at most");
}

static void test_lines(void)
{
	static const char *const names[] = { "off", "on", "auto", NULL };

	gt_text_kv(&text, "busy_ns", 123);
	is_str(done(), "busy_ns 123\n", "kv");
	gt_text_gkv(&text, "count", UINT64_MAX);
	is_str(done(), " count=18446744073709551615", "gkv");
	gt_text_kvs(&text, "state", "x");
	is_str(done(), "state x\n", "kvs");
	gt_text_choice(&text, names, 1);
	is_str(done(), "off [on] auto", "choice");
	gt_text_printf(&text, "%s-%d", "a", 5);
	is_str(done(), "a-5", "printf");
}

static void word(const char *in, size_t max, const char *want, const char *what)
{
	gt_text_word(&text, in, max);
	is_str(done(), want, "word: %s", what);
}

static void test_words(void)
{
	word("gfx_0.0.0", 40, "gfx_0.0.0", "plain");
	word("", 40, "-", "empty");
	word("abcdef", 3, "abc", "bounded");
	word("a b\nc\td", 40, "a\\x20b\\x0ac\\x09d", "blanks");
	word("#x#", 40, "\\x23x#", "a header's mark at the start only");
	word("\\", 40, "\\x5c", "backslash");
	word("gr\xc3\xbc\xc3\x9f", 40, "gr\xc3\xbc\xc3\x9f", "UTF-8");
	word("\xe2\x82\xac\xf0\x9f\x98\x80", 40, "\xe2\x82\xac\xf0\x9f\x98\x80", "3 and 4 bytes");
	word("a\xc3", 40, "a\\xc3", "cut character");
	word("\xc3\xbcx", 1, "\\xc3", "cut by the bound");
	word("\xc0\x80", 40, "\\xc0\\x80", "overlong");
	word("\xe0\x80\xaf", 40, "\\xe0\\x80\\xaf", "overlong, 3 bytes");
	word("\xed\xa0\x80", 40, "\\xed\\xa0\\x80", "surrogate");
	word("\xf4\x90\x80\x80", 40, "\\xf4\\x90\\x80\\x80", "past U+10FFFF");
	word("a\xc2\x85z", 40, "a\\xc2\\x85z", "U+0085, a line's end");
	word("a\xe2\x80\xa8z", 40, "a\\xe2\\x80\\xa8z", "U+2028, likewise");
	word("a\xe3\x80\x80z", 40, "a\\xe3\\x80\\x80z", "U+3000, a blank");
	word("a\xe2\x80\xaez", 40, "a\\xe2\\x80\\xaez", "U+202E turns the text around");
	word("\x1b[31m", 40, "\\x1b[31m", "escape sequence");
	word("\x7f", 40, "\\x7f", "delete");
}

/* No bytes at all may make two words of one. */
static void test_random_words(void)
{
	unsigned int bad = 0;
	char in[24];

	srand(1);
	for (int i = 0; i < 100000; i++) {
		for (size_t j = 0; j < sizeof(in); j++)
			in[j] = (char)rand();
		gt_text_word(&text, in, sizeof(in));
		bad += strpbrk(done(), " \n\t\r\v\f") != NULL || text.buf[0] == '#' || !text.buf[0];
	}
	is(bad, 0, "word: 100000 random ones stay one word");
}

static void test_limit(void)
{
	struct gt_text t;

	gt_text_init(&t, 1000);
	for (int i = 0; i < 100; i++)
		gt_text_str(&t, "0123456789");
	ok(!t.failed && t.len == 1000, "a text may be as long as its limit");
	gt_text_ch(&t, 'x');
	ok(t.failed && t.len == 1000, "and no longer");
	gt_text_free(&t);
	gt_text_str(&t, "again");
	ok(!t.failed && t.len == 5 && t.limit == 1000, "a freed text is usable");
	gt_text_mem(&t, NULL, 0);
	is(t.len, 5, "nothing adds nothing");
	gt_text_free(&t);
	gt_text_init(&t, 0);
	is(t.limit, 64 << 20, "default limit");
	for (int i = 0; i < 300000; i++)
		gt_text_kv(&t, "some_key", (uint64_t)i);
	ok(!t.failed && t.len > 4000000, "megabytes");
	gt_text_free(&t);
}

static void test_parse_u64(void)
{
	static const char *const bad[] = { "",	  " 1",	 "1 ", "+1", "-1",
					   "0x1", "1.0", "a",  "1a", "1\n" };
	uint64_t v = 7;

	ok(!gt_parse_u64("0", 0, 100, &v) && v == 0, "u64 0");
	ok(!gt_parse_u64("18446744073709551615", 0, UINT64_MAX, &v) && v == UINT64_MAX, "u64 max");
	is(gt_parse_u64("18446744073709551616", 0, UINT64_MAX, &v), -ERANGE, "u64 max + 1");
	is(gt_parse_u64("99999999999999999999999999", 0, UINT64_MAX, &v), -ERANGE, "u64 far over");
	is(gt_parse_u64("101", 0, 100, &v), -ERANGE, "over the bound");
	is(gt_parse_u64("4", 5, 100, &v), -ERANGE, "under the bound");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		is(gt_parse_u64(bad[i], 0, 100, &v), -EINVAL, "no number: case %zu", i);
	is(v, UINT64_MAX, "what is refused changes nothing");
	gt_parse_u64("12x4", 0, 100, &v);
	is_str(gt_parse_at, "x4", "the fault's place is told");
}

static void test_parse_choice(void)
{
	static const char *const names[] = { "off", "on", NULL };
	static const char *const none[] = { NULL };
	unsigned int c = 9;
	bool b = false;

	ok(!gt_parse_choice("on", names, &c) && c == 1, "choice by name");
	ok(!gt_parse_choice("0", names, &c) && c == 0, "choice by number");
	is(gt_parse_choice("2", names, &c), -ERANGE, "choice out of bounds");
	is(gt_parse_choice("o", names, &c), -EINVAL, "a part of a name is none");
	is(gt_parse_choice("", names, &c), -EINVAL, "nothing is no choice");
	is(gt_parse_choice("0", none, &c), -EINVAL, "no names, no choice");
	ok(!gt_parse_bool("1", &b) && b, "bool 1");
	is(gt_parse_bool("2", &b), -ERANGE, "bool 2");
	is(gt_parse_bool("yes", &b), -EINVAL, "bool yes");
}

static void trim(const char *in, size_t len, int ret, const char *want)
{
	char s[32];

	memcpy(s, in, len);
	s[len] = 'x';
	is(gt_parse_trim(s, len), ret, "trim %zu bytes", len);
	if (!ret)
		is_str(s, want, "trim leaves the value");
}

static void test_trim(void)
{
	trim("5\n", 2, 0, "5");
	trim(" \t5 \t\n", 6, 0, "5");
	trim("5", 1, 0, "5");
	trim("", 0, 0, "");
	trim("\n", 1, 0, "");
	trim("5\n\n", 3, 0, "5\n");
	trim("a b\n", 4, 0, "a b");
	trim("5\0\n", 3, -EINVAL, "");
	trim("\0", 1, -EINVAL, "");
}

int main(void)
{
	gt_text_init(&text, 0);
	test_numbers();
	test_milli();
	test_lines();
	test_words();
	test_random_words();
	test_limit();
	test_parse_u64();
	test_parse_choice();
	test_trim();
	gt_text_free(&text);
	return done_testing();
}
