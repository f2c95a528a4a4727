/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Fields of printed text, found by the key that stands before them. Print formats differ between
 * tracepoints and kernels, so any of "key=value", "key: value", "key =value", "key = value" is
 * taken, with ',' or blanks between, keys of several words, values in quotes (uprobes) and in
 * brackets. A value ends at a blank, a comma or a closing bracket.
 */
#include <ctype.h>
#include <string.h>

#include "internal.h"

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

static bool ends_value(char c)
{
	return is_blank(c) || c == ',' || c == ')' || c == '\n' || c == '\r' || c == '\0';
}

/* The value that begins at @p. */
static struct gt_slice value_at(const char *p, const char *end)
{
	const char *e;

	while (p < end && is_blank(*p))
		p++;
	if (p < end && *p == '"') {
		p++;
		e = memchr(p, '"', end - p);
		return (struct gt_slice){ p, (e ? e : end) - p };
	}
	for (e = p; e < end && !ends_value(*e); e++)
		;
	return (struct gt_slice){ p, e - p };
}

static bool find_key(const struct gt_src *src, const char *key, struct gt_slice *out)
{
	const char *end = src->data + src->len, *p = src->data;
	size_t n = strlen(key);

	while ((p = memmem(p, end - p, key, n))) {
		const char *q = p + n;

		while (q < end && is_blank(*q))
			q++;
		if ((p == src->data || !is_word(p[-1])) && q < end && (*q == '=' || *q == ':')) {
			*out = value_at(q + 1, end);
			return true;
		}
		p++;
	}
	return false;
}

static bool find_token(const struct gt_src *src, int n, struct gt_slice *out)
{
	const char *p = src->data, *end = p + src->len, *e;

	for (; n > 0; n--) {
		p = memchr(p, ',', end - p);
		if (!p)
			return false;
		p++;
	}
	while (p < end && is_blank(*p))
		p++;
	for (e = p; e < end && *e != ',' && *e != '\n'; e++)
		;
	while (e > p && is_blank(e[-1]))
		e--;
	*out = (struct gt_slice){ p, e - p };
	return true;
}

static bool cut_piece(struct gt_slice *s, int n)
{
	const char *end = s->p + s->n, *e;

	for (; n > 0; n--) {
		const char *colon = memchr(s->p, ':', end - s->p);

		if (!colon)
			return false;
		s->p = colon + 1;
	}
	e = memchr(s->p, ':', end - s->p);
	s->n = (e ? e : end) - s->p;
	return true;
}

bool gt_text_value(const struct gt_src *src, const struct gt_ref *r, struct gt_slice *out)
{
	bool found = r->token >= 0 ? find_token(src, r->token, out)
				   : find_key(src, r->key[0] ? r->key : r->field, out);

	if (found && r->piece >= 0)
		found = cut_piece(out, r->piece);
	if (found && out->n)
		return true;
	/* uprobes that stand in for a tracepoint print the field's own name */
	return (r->token >= 0 || r->key[0]) && find_key(src, r->field, out) && out->n;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool parse_hex(struct gt_slice s, uint64_t *v)
{
	uint64_t x = 0;

	if (!s.n || s.n > 16)
		return false;
	for (size_t i = 0; i < s.n; i++) {
		int d = hex_digit(s.p[i]);

		if (d < 0)
			return false;
		x = x << 4 | (unsigned int)d;
	}
	*v = x;
	return true;
}

static bool has_0x(struct gt_slice s)
{
	return s.n > 2 && s.p[0] == '0' && (s.p[1] | 0x20) == 'x';
}

bool gt_text_int(struct gt_slice s, uint64_t *v)
{
	bool minus = s.n && s.p[0] == '-';
	uint64_t x = 0;

	if (has_0x(s))
		return parse_hex((struct gt_slice){ s.p + 2, s.n - 2 }, v);
	if (minus) {
		s.p++;
		s.n--;
	}
	if (!s.n)
		return false;
	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] < '0' || s.p[i] > '9' || __builtin_mul_overflow(x, 10, &x) ||
		    __builtin_add_overflow(x, (uint64_t)(s.p[i] - '0'), &x))
			return false;
	}
	*v = minus ? 0 - x : x;
	return true;
}

/* %p prints hexadecimal without 0x, "(null)", or "(____ptrval____)" before there is entropy. */
bool gt_text_opaque(struct gt_slice s, uint64_t *v)
{
	if (!s.n || s.p[0] == '(')
		return false;
	if (has_0x(s)) {
		s.p += 2;
		s.n -= 2;
	}
	if (!parse_hex(s, v))
		*v = gt_hash_bytes(s.p, s.n);
	return *v != 0;
}

bool gt_text_pointer(struct gt_slice s)
{
	uint64_t v;

	if (has_0x(s))
		return s.n >= 12;
	return s.n == 16 && parse_hex(s, &v);
}
