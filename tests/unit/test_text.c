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
	gt_text_kv(&text, "busy_ns", 123);
	is_str(done(), "busy_ns 123\n", "kv");
	gt_text_gkv(&text, "count", UINT64_MAX);
	is_str(done(), " count=18446744073709551615", "gkv");
	gt_text_kvs(&text, "state", "x");
	is_str(done(), "state x\n", "kvs");
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
	word("a b\nc\td", 40, "a\\040b\\012c\\011d", "blanks");
	word("#x#", 40, "#x#", "no mark of a comment");
	word("\"a'b\"", 40, "\"a'b\"", "quotes");
	word("\\", 40, "\\134", "backslash");
	word("-", 40, "\\055", "what looks like unknown");
	word("-a", 40, "-a", "… alone");
	word("gr\xc3\xbc\xc3\x9f", 40, "gr\\303\\274\\303\\237", "UTF-8");
	word("a\xc3", 40, "a\\303", "cut character");
	word("a\xe2\x80\xa8z", 40, "a\\342\\200\\250z", "U+2028, a line's end");
	word("\x1b[31m", 40, "\\033[31m", "escape sequence");
	word("\x7f", 40, "\\177", "delete");
	gt_text_line(&text, "a b\\\n-\x1b\xc3", 40);
	is_str(done(), "a b\\134\\012-\\033\\303", "a value keeps its blanks");
	gt_text_line(&text, "-", 1);
	is_str(done(), "-", "… and is no word that stands for something");
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
		bad += strpbrk(done(), " \n\t\r\v\f") != NULL || !text.buf[0];
	}
	is(bad, 0, "word: 100000 random ones stay one word");
}

static void test_limit(void)
{
	static const char in[1001] = "x";
	struct gt_text t;

	gt_text_init(&t, 1000);
	for (int i = 0; i < 100; i++)
		gt_text_str(&t, "0123456789");
	ok(!t.failed && t.len == 1000, "a text may be as long as its limit");
	gt_text_ch(&t, 'x');
	ok(t.failed && t.len == 1000, "and no longer");
	gt_text_free(&t);
	gt_text_mem(&t, in, 1000);
	ok(!t.failed && t.len == 1000, "all at once, too");
	gt_text_free(&t);
	gt_text_mem(&t, in, 1001);
	ok(t.failed && !t.len, "one byte more is none");
	gt_text_free(&t);
	gt_text_printf(&t, "%999d", 1);
	ok(!t.failed && t.len == 999, "printf takes room for its NUL");
	gt_text_free(&t);
	gt_text_printf(&t, "%1000d", 1);
	ok(t.failed && !t.len, "which the limit has none for");
	gt_text_free(&t);
	gt_text_str(&t, "again");
	ok(!t.failed && t.len == 5 && t.limit == 1000, "a freed text is usable");
	gt_text_mem(&t, NULL, 0);
	is(t.len, 5, "nothing adds nothing");
	gt_text_free(&t);
	gt_text_init(&t, 0);
	for (int i = 0; i < 300000; i++)
		gt_text_kv(&t, "some_key", (uint64_t)i);
	ok(!t.failed && t.len > 4000000, "megabytes");
	gt_text_free(&t);
}

/* A table of @columns and @rows, as it is shown */
static const char *laid_out(const char *columns, const char *rows, size_t limit)
{
	size_t at;

	gt_text_free(&text);
	gt_text_init(&text, limit);
	gt_text_str(&text, "before\n");
	at = gt_table_begin(&text, columns);
	gt_text_str(&text, rows);
	gt_table_end(&text, at);
	return done();
}

/* A table, with @n bytes of its text cut off */
static const char *cut_short(const char *whole, size_t n)
{
	gt_text_free(&text);
	gt_text_init(&text, 0);
	gt_text_str(&text, whole);
	text.len -= n;
	gt_table_end(&text, 0);
	return done();
}

/* Where only @limit bytes may be had? */
static bool is_laid_out(size_t limit)
{
	static const char wide[] = "before\nlong_name n\na         1\n";
	size_t at;

	gt_text_free(&text);
	gt_text_init(&text, limit);
	gt_text_str(&text, "before\n");
	at = gt_table_begin(&text, "long_name n");
	gt_text_str(&text, "a 1\n");
	gt_table_end(&text, at);
	return text.len == sizeof(wide) - 1 && !memcmp(text.buf, wide, text.len);
}

static void test_tables(void)
{
	char columns[300] = "", rows[200] = "", *c = columns, *r = rows;

	is_str(laid_out("stage n", "", 0), "before\nstage n\n", "no rows: the names as they are");
	is_str(laid_out("name count avg", "a 1 2.50\nlonger 123456 -\n", 0),
	       "before\nname    count  avg\na           1 2.50\nlonger 123456    -\n",
	       "text to the left, numbers to the right");
	is_str(laid_out("t what", "-5 x\n1 -\n", 0), "before\n t what\n-5 x\n 1 -\n",
	       "signs; the last cell is not padded to the right");
	is_str(laid_out("a b", "- -\n", 0), "before\na b\n- -\n", "nothing is known");
	is_str(laid_out("version n", "1.2.x 1\n", 0), "before\nversion n\n1.2.x   1\n",
	       "what only begins like a number is text");
	is_str(laid_out("long_name n", "a 1\n", 24), "before\nlong_name n\na 1\n",
	       "no room for blanks: as it was");
	ok(!text.failed, "… and whole");
	ok(is_laid_out(31), "just room for them");
	ok(!is_laid_out(30), "one byte less");
	is_str(laid_out("aaa", "+\n--\n", 0), "before\naaa\n+\n--\n", "a sign alone is no number");
	is_str(laid_out("a b", "12:30 1\n/ 2\n", 0), "before\na     b\n12:30 1\n/     2\n",
	       "nor is what has other signs in it");
	is_str(laid_out("num n", "+1.50 7\n0 8\n9 9\n", 0),
	       "before\n  num n\n+1.50 7\n    0 8\n    9 9\n", "from 0 to 9");
	is_str(cut_short("aa bb\n1 2\n33 45", 1), "aa bb\n 1  2\n33  4", "a row that is cut");
	is_str(cut_short("aaa b\n12", 1), "aaa b\n1", "... says nothing of its column");
	for (int i = 0; i < 65; i++) {
		c += sprintf(c, i ? " c%d" : "c%d", i);
		r += sprintf(r, i ? " %d" : "%d", i % 10);
	}
	strcpy(r, "\n");
	ok(strstr(laid_out(columns, rows, 0), rows), "too many columns to lay out: as it was");
	gt_text_free(&text);
	gt_text_init(&text, 0);
}

static void test_decimal(void)
{
	gt_text_free(&text);
	gt_text_decimal(&text, 31000000, 6);
	gt_text_ch(&text, ' ');
	gt_text_decimal(&text, -5, 3);
	gt_text_ch(&text, ' ');
	gt_text_decimal(&text, 7, 0);
	gt_text_ch(&text, ' ');
	gt_text_decimal(&text, INT64_MIN, 6);
	gt_text_ch(&text, ' ');
	gt_text_decimal(&text, 0, 2);
	is_str(done(), "31.000000 -0.005 7 -9223372036854.775808 0.00", "decimals");
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
	is_str(gt_parse_at, "x4", "the fault's place is reported");
}

static void test_parse_bool(void)
{
	bool b = false;

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
	char s[8];

	trim("5\n", 2, 0, "5");
	trim(" \t5 \t\n", 6, 0, "5");
	trim("5", 1, 0, "5");
	trim("", 0, 0, "");
	trim("\n", 1, 0, "");
	trim("5\n\n", 3, 0, "5\n");
	trim("a b\n", 4, 0, "a b");
	trim("5\0\n", 3, -EINVAL, "");
	trim("\0", 1, -EINVAL, "");
	trim("  \n", 3, 0, "");
	trim("\t", 1, 0, "");
	memcpy(s, "ab\0cd", 5);
	(void)gt_parse_trim(s, 5);
	is(gt_parse_at - s, 2, "where a value ends too soon is reported");
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
	test_tables();
	test_decimal();
	test_parse_u64();
	test_parse_bool();
	test_trim();
	gt_text_free(&text);
	return done_testing();
}
