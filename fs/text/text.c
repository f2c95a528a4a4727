/* SPDX-License-Identifier: GPL-2.0 */
/* A growing buffer and the emitters of every file's format; see text.h. No printf on hot paths. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text.h"

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

/** gt_text_choice() - "[selected] other"; no newline */
void gt_text_choice(struct gt_text *t, const char *const *names, unsigned int selected)
{
	for (unsigned int i = 0; names[i]; i++) {
		if (i)
			gt_text_ch(t, ' ');
		if (i == selected)
			gt_text_ch(t, '[');
		gt_text_str(t, names[i]);
		if (i == selected)
			gt_text_ch(t, ']');
	}
}
