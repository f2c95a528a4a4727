/* SPDX-License-Identifier: GPL-2.0 */
/* A growing buffer and the emitters of every file's format; see text.h. No printf on hot paths. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text.h"

/* Words that came from outside, written so that they stay one word. */

static bool is_plain(unsigned char c)
{
	return c > 0x20 && c < 0x7f && c != '\\';
}

static void escape(struct gt_text *t, unsigned char c)
{
	char octal[4] = { '\\', (char)('0' + (c >> 6)), (char)('0' + (c >> 3 & 7)),
			  (char)('0' + (c & 7)) };

	gt_text_mem(t, octal, sizeof(octal));
}

static void escaped(struct gt_text *t, const char *s, size_t n, bool blanks)
{
	size_t run = 0;

	for (size_t i = 0; i < n; i++) {
		if (is_plain((unsigned char)s[i]) || (blanks && s[i] == ' '))
			continue;
		gt_text_mem(t, s + run, i - run);
		escape(t, (unsigned char)s[i]);
		run = i + 1;
	}
	gt_text_mem(t, s + run, n - run);
}

/**
 * gt_text_word() - one word from at most @max bytes of @s; "" is "-"
 *
 * A backslash is escaped too, so that what was there can be had back.
 */
void gt_text_word(struct gt_text *t, const char *s, size_t max)
{
	size_t n = strnlen(s, max);

	if (!n)
		gt_text_dash(t);
	if (n == 1 && *s == '-') /* it is known, and this is it */
		escape(t, '-');
	else
		escaped(t, s, n, false);
}

/** gt_text_line() - the rest of a line, in which blanks may stay */
void gt_text_line(struct gt_text *t, const char *s, size_t max)
{
	escaped(t, s, strnlen(s, max), true);
}

/* Strict parsers of settings; each stores where it stopped in gt_parse_at. */

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

#define LIMIT_DEFAULT (64U << 20)
#define FIRST_CAP     512

/**
 * gt_text_init() - an empty text; takes no memory yet
 * @limit: bytes it may grow to, 0: 64 MiB
 */
void gt_text_init(struct gt_text *t, size_t limit)
{
	memset(t, 0, sizeof(*t));
	t->limit = limit ? limit : LIMIT_DEFAULT;
}

/** gt_text_free() - gives the memory back; the text is empty and usable again */
void gt_text_free(struct gt_text *t)
{
	size_t limit = t->limit;

	free(t->buf);
	gt_text_init(t, limit);
}

static bool grow(struct gt_text *t, size_t n)
{
	size_t cap = t->cap ? t->cap : FIRST_CAP;
	char *buf;

	if (t->failed || n > t->limit - t->len) {
		t->failed = true;
		return false;
	}
	while (cap - t->len < n)
		cap *= 2;
	buf = realloc(t->buf, cap);
	if (!buf) {
		t->failed = true;
		return false;
	}
	t->buf = buf;
	t->cap = cap;
	return true;
}

/* Room for @n more bytes, or NULL; a failed text takes nothing more, so that it stays a prefix. */
static inline char *room(struct gt_text *t, size_t n)
{
	if (__builtin_expect(t->failed || t->cap - t->len < n || t->limit - t->len < n, 0) &&
	    !grow(t, n))
		return NULL;
	return t->buf + t->len;
}

/** gt_text_reserve() - room for @n more bytes; false: there is none, and the text stays as it is */
static bool gt_text_reserve(struct gt_text *t, size_t n)
{
	bool failed = t->failed, ok = room(t, n);

	t->failed = failed;
	return ok;
}

/** gt_text_mem() - @n bytes as they are */
void gt_text_mem(struct gt_text *t, const char *s, size_t n)
{
	char *p = n ? room(t, n) : NULL;

	if (!p)
		return;
	memcpy(p, s, n);
	t->len += n;
}

/** gt_text_str() - a string of ours, as it is */
void gt_text_str(struct gt_text *t, const char *s)
{
	gt_text_mem(t, s, strlen(s));
}

/** gt_text_ch() - one byte */
void gt_text_ch(struct gt_text *t, char c)
{
	char *p = room(t, 1);

	if (!p)
		return;
	*p = c;
	t->len++;
}

#define U64_DIGITS 20

/* Digits of @v at the end of @out, which holds U64_DIGITS bytes; returns where they begin. */
static inline char *digits(char *out, uint64_t v)
{
	static const char pairs[] = "00010203040506070809101112131415161718192021222324"
				    "25262728293031323334353637383940414243444546474849"
				    "50515253545556575859606162636465666768697071727374"
				    "75767778798081828384858687888990919293949596979899";
	char *p = out + U64_DIGITS;

	while (v >= 100) {
		p -= 2;
		memcpy(p, pairs + v % 100 * 2, 2);
		v /= 100;
	}
	if (v >= 10) {
		p -= 2;
		memcpy(p, pairs + v * 2, 2);
	} else {
		*--p = (char)('0' + v);
	}
	return p;
}

/** gt_text_u64() - decimal */
void gt_text_u64(struct gt_text *t, uint64_t v)
{
	char d[U64_DIGITS], *p = digits(d, v);

	gt_text_mem(t, p, (size_t)(d + U64_DIGITS - p));
}

/** gt_text_i64() - decimal, with a minus sign where it needs one */
void gt_text_i64(struct gt_text *t, int64_t v)
{
	if (v < 0)
		gt_text_ch(t, '-');
	gt_text_u64(t, v < 0 ? 0 - (uint64_t)v : (uint64_t)v);
}

/** gt_text_hex() - 0x and lower-case digits without leading zeros */
void gt_text_hex(struct gt_text *t, uint64_t v)
{
	char d[18], *p = d + sizeof(d);

	do {
		*--p = "0123456789abcdef"[v & 15];
		v >>= 4;
	} while (v);
	*--p = 'x';
	*--p = '0';
	gt_text_mem(t, p, (size_t)(d + sizeof(d) - p));
}

/**
 * gt_text_milli() - a number given in thousandths
 * @decimals: 0 to 3 places, cut and not rounded: 99.999 % is not 100
 */
void gt_text_milli(struct gt_text *t, uint64_t thousandths, int decimals)
{
	unsigned int rest = (unsigned int)(thousandths % 1000);
	char d[4] = { '.', (char)('0' + rest / 100), (char)('0' + rest / 10 % 10),
		      (char)('0' + rest % 10) };

	gt_text_u64(t, thousandths / 1000);
	if (decimals > 0)
		gt_text_mem(t, d, decimals > 3 ? 4 : 1 + (size_t)decimals);
}

/** gt_text_decimal() - @v with a point before its last @digits digits */
void gt_text_decimal(struct gt_text *t, int64_t v, unsigned int digits)
{
	uint64_t n = v < 0 ? 0 - (uint64_t)v : (uint64_t)v, unit = 1;

	for (unsigned int i = 0; i < digits; i++)
		unit *= 10;
	if (v < 0)
		gt_text_ch(t, '-');
	gt_text_u64(t, n / unit);
	if (digits)
		gt_text_ch(t, '.');
	for (n %= unit; unit > 1; n %= unit) {
		unit /= 10;
		gt_text_ch(t, (char)('0' + n / unit));
	}
}

/** gt_text_printf() - for what is rendered seldom */
void gt_text_printf(struct gt_text *t, const char *fmt, ...)
{
	va_list ap;
	char *p;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n <= 0)
		return;
	p = room(t, (size_t)n + 1);
	if (!p)
		return;
	va_start(ap, fmt);
	vsnprintf(p, (size_t)n + 1, fmt, ap);
	va_end(ap);
	t->len += (size_t)n;
}

/* @before key @between number @after, with one check for room: the shape of every keyed line. */
static inline void keyed(struct gt_text *t, char before, const char *key, char between, uint64_t v,
			 char after)
{
	char d[U64_DIGITS], *from = digits(d, v);
	size_t nd = (size_t)(d + U64_DIGITS - from), nk = strlen(key);
	char *p = room(t, nk + nd + 3), *at = p;

	if (!p)
		return;
	if (before)
		*at++ = before;
	memcpy(at, key, nk);
	at += nk;
	*at++ = between;
	memcpy(at, from, nd);
	at += nd;
	if (after)
		*at++ = after;
	t->len += (size_t)(at - p);
}

/** gt_text_kv() - "key value\n" */
void gt_text_kv(struct gt_text *t, const char *key, uint64_t v)
{
	keyed(t, 0, key, ' ', v, '\n');
}

/** gt_text_gkv() - " key=value" */
void gt_text_gkv(struct gt_text *t, const char *key, uint64_t v)
{
	keyed(t, ' ', key, '=', v, 0);
}

/** gt_text_kvs() - "key value\n"; what came from outside goes through gt_text_word() instead */
void gt_text_kvs(struct gt_text *t, const char *key, const char *v)
{
	gt_text_str(t, key);
	gt_text_ch(t, ' ');
	gt_text_str(t, v);
	gt_text_ch(t, '\n');
}

/** gt_text_dash() - "-" */
void gt_text_dash(struct gt_text *t)
{
	gt_text_ch(t, '-');
}

/* Tables: lines of cells, padded so that columns line up. */

#define COLUMNS 64

/** struct layout - of a table's columns; @text: aligned to the left, as a cell is no number */
struct layout {
	size_t width[COLUMNS];
	bool text[COLUMNS];
	unsigned int columns;
};

size_t gt_table_begin(struct gt_text *t, const char *columns)
{
	size_t begin = t->len;

	gt_text_str(t, columns);
	gt_text_ch(t, '\n');
	return begin;
}

/* Digits, with a sign, a point or a slash between; or "-" */
static bool is_number(const char *cell, size_t n)
{
	if (n == 1 && *cell == '-')
		return true;
	if (*cell == '-' || *cell == '+') {
		cell++;
		n--;
	}
	return n && *cell >= '0' && *cell <= '9' && strspn(cell, "0123456789.") >= n;
}

/* Length of the cell at @p, which ends by @end */
static size_t cell_len(const char *p, const char *end)
{
	size_t n = 0;

	while (p + n < end && p[n] != ' ' && p[n] != '\n')
		n++;
	return n;
}

/* False: it has more columns than can be laid out */
static bool measure(const char *p, const char *end, struct layout *l)
{
	unsigned int column = 0, row = 0;

	while (p < end) {
		size_t n = cell_len(p, end);

		if (column >= COLUMNS)
			return false;
		if (n > l->width[column])
			l->width[column] = n;
		if (row && !is_number(p, n))
			l->text[column] = true;
		column++;
		if (column > l->columns)
			l->columns = column;
		p += n;
		if (p < end && *p == '\n') {
			column = 0;
			row++;
		}
		p++;
	}
	/* of the names alone nothing is known */
	for (unsigned int i = 0; row < 2 && i < l->columns; i++)
		l->text[i] = true;
	return true;
}

/* Writes the cells of [@p, @end) to @out, or only counts what that takes if @out is NULL */
static size_t lay_out(char *out, const char *p, const char *end, const struct layout *l)
{
	unsigned int column = 0;
	size_t len = 0;

	while (p < end) {
		size_t n = cell_len(p, end), pad = l->width[column] - n;
		bool left = l->text[column], last = p + n >= end || p[n] == '\n';

		if (!left) {
			if (out)
				memset(out + len, ' ', pad);
			len += pad;
		}
		if (out)
			memmove(out + len, p, n);
		len += n;
		if (left && !last) {
			if (out)
				memset(out + len, ' ', pad);
			len += pad;
		}
		if (p + n < end) {
			if (out)
				out[len] = last ? '\n' : ' ';
			len++;
		}
		column = last ? 0 : column + 1;
		p += n + 1;
	}
	return len;
}

void gt_table_end(struct gt_text *t, size_t begin)
{
	size_t old = t->len - begin, len;
	struct layout l = { 0 };
	char *from;

	if (t->failed || !old || !measure(t->buf + begin, t->buf + t->len, &l))
		return;
	len = lay_out(NULL, t->buf + begin, t->buf + t->len, &l);
	if (len <= old || !gt_text_reserve(t, len - old))
		return;
	/* what is written never comes to where is read: both end together */
	from = t->buf + begin + (len - old);
	memmove(from, t->buf + begin, old);
	lay_out(t->buf + begin, from, from + old, &l);
	t->len = begin + len;
}
