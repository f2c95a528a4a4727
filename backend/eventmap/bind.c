/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Reads the fields of an event, in either form: a raw record, by the offsets of its `format` file, or
 * printed text, by the key before the value.
 *
 * Every read of a raw record is checked against its length. For __data_loc and __rel_loc see Linux
 * include/trace/stages/stage1_struct_define.h.
 *
 * Print formats differ between tracepoints and kernels. So any of "key=value", "key: value",
 * "key =value" and "key = value" is taken, with ',' or blanks between them, keys of several words,
 * and values in quotes (uprobes) or in brackets. A value ends at a blank, a comma or a closing
 * bracket.
 */
#include <ctype.h>
#include <string.h>

#include "internal.h"

/* Written by the kernel's probes for a string that they could not read: FAULT_STRING in Linux
 * kernel/trace/trace_probe_kernel.h. Unquoted text ends at the bracket. */
static inline bool is_fault(struct gt_slice s)
{
	return (s.n == 7 || s.n == 6) && !memcmp(s.p, "(fault)", s.n);
}

/* Raw records ---------------------------------------------------------------------------------- */

static bool raw_str(const struct gt_src *src, const struct gt_field *f, struct gt_slice *out)
{
	size_t off = f->off, n = f->size;

	if (off + n > src->len)
		return false;
	if (f->kind == GT_K_DYN || f->kind == GT_K_REL) {
		uint32_t loc;

		memcpy(&loc, src->data + off, 4);

		off = (f->kind == GT_K_REL ? off + 4 : 0) + (loc & 0xffff);
		n = loc >> 16;
		if (off + n > src->len)
			return false;
	} else if (f->kind != GT_K_CHARS) {
		return false;
	}
	out->p = src->data + off;
	/* the usual case: a dynamic string with one NUL, at its end */
	if (f->kind != GT_K_CHARS && n > 1 && !out->p[n - 1] && out->p[n - 2])
		out->n = n - 1;
	else
		out->n = strnlen(out->p, n);
	return out->n > 0 && !is_fault(*out);
}

/* Printed text --------------------------------------------------------------------------------- */

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

/* The value that begins at @p */
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

static bool text_value(const struct gt_src *src, const struct gt_ref *r, struct gt_slice *out)
{
	bool found = r->token >= 0 ? find_token(src, r->token, out)
				   : find_key(src, r->key[0] ? r->key : r->field, out);

	if (found && r->piece >= 0)
		found = cut_piece(out, r->piece);
	if (found && out->n)
		return true;
	/* a uprobe in place of a tracepoint prints the field's own name */
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

static bool text_int(struct gt_slice s, uint64_t *v)
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
static bool text_opaque(struct gt_slice s, uint64_t *v)
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

static bool is_text_pointer(struct gt_slice s)
{
	uint64_t v;

	if (has_0x(s))
		return s.n >= 12;
	return s.n == 16 && parse_hex(s, &v);
}

/* Either form ---------------------------------------------------------------------------------- */

bool gt_text_ref_int(const struct gt_src *src, const struct gt_ref *r, uint64_t *v)
{
	struct gt_slice s;

	return text_value(src, r, &s) && text_int(s, v) && !gt_is_address(*v);
}

bool gt_text_ref_key(const struct gt_src *src, const struct gt_ref *r, uint64_t *v)
{
	struct gt_slice s;

	return text_value(src, r, &s) && text_opaque(s, v);
}

bool gt_src_str(const struct gt_src *src, const struct gt_ref *r, struct gt_slice *out)
{
	return src->raw ? raw_str(src, &r->raw, out) : text_value(src, r, out);
}

/** struct buf - a string that is being built, GT_MAP_STR bytes; longer ones are cut */
struct buf {
	char *p;
	size_t n;
};

static void put(struct buf *b, const char *p, size_t n)
{
	if (n > GT_MAP_STR - 1 - b->n)
		n = GT_MAP_STR - 1 - b->n;
	memcpy(b->p + b->n, p, n);
	b->n += n;
}

static void put_num(struct buf *b, uint64_t v)
{
	char d[20];
	size_t n = sizeof(d);

	do
		d[--n] = (char)('0' + v % 10);
	while (v /= 10);
	put(b, d + n, sizeof(d) - n);
}

/* The @v-th word, or the number itself if the list is shorter */
static void put_word(struct buf *b, const struct gt_part *part, uint64_t v)
{
	const char *w = part->words;

	if (v >= part->nwords) {
		put_num(b, v);
		return;
	}
	while (v--)
		w += strlen(w) + 1;
	put(b, w, strlen(w));
}

static void put_lower(struct buf *b, struct gt_slice s)
{
	for (size_t i = 0; i < s.n && i < GT_MAP_STR; i++)
		put(b, &(char){ (char)tolower((unsigned char)s.p[i]) }, 1);
}

static bool put_raw(struct buf *b, const struct gt_part *part, const struct gt_src *src)
{
	struct gt_slice s;
	uint64_t v;

	if (part->ref.raw.kind == GT_K_INT) {
		if (!gt_raw_int(src, &part->ref.raw, &v) || gt_is_address(v))
			return false;
		put_word(b, part, v);
		return true;
	}
	if (!raw_str(src, &part->ref.raw, &s))
		return false;
	if (part->nwords)
		put_lower(b, s);
	else
		put(b, s.p, s.n);
	return true;
}

static bool put_text(struct buf *b, const struct gt_part *part, const struct gt_src *src)
{
	struct gt_slice s;
	uint64_t v;

	if (!text_value(src, &part->ref, &s) || is_text_pointer(s) || is_fault(s))
		return false;
	if (!part->nwords)
		put(b, s.p, s.n);
	else if (text_int(s, &v))
		put_word(b, part, v);
	else
		put_lower(b, s);
	return true;
}

static bool alt_eval(const struct gt_alt *a, const struct gt_src *src, char *mem,
		     struct gt_slice *out)
{
	struct buf b = { mem, 0 };

	for (unsigned int i = 0; i < a->n; i++) {
		const struct gt_part *part = &a->part[i];

		put(&b, part->lit, strlen(part->lit));
		if (part->has_ref && !(src->raw ? put_raw(&b, part, src) : put_text(&b, part, src)))
			return false;
	}
	*out = (struct gt_slice){ mem, b.n };
	return b.n > 0;
}

/* The usual case: the field's own bytes, without a copy */
static bool is_plain(const struct gt_alt *a)
{
	const struct gt_part *part = &a->part[0];

	return a->n == 1 && part->has_ref && !part->lit[0] && !part->nwords &&
	       part->ref.raw.kind != GT_K_INT;
}

bool gt_tmpl_eval(const struct gt_tmpl *t, const struct gt_src *src, char buf[GT_MAP_STR],
		  struct gt_slice *out)
{
	if (src->raw) {
		const struct gt_alt *a;

		if (t->raw_alt < 0)
			return false;
		a = &t->alt[t->raw_alt];
		if (is_plain(a))
			return raw_str(src, &a->part[0].ref.raw, out);
		return alt_eval(a, src, buf, out);
	}
	for (unsigned int i = 0; i < t->n; i++)
		if (alt_eval(&t->alt[i], src, buf, out))
			return true;
	return false;
}
