/* SPDX-License-Identifier: GPL-2.0 */
/* Integers and strings of an event, whichever form it has. */
#include <ctype.h>
#include <string.h>

#include "internal.h"

bool gt_text_ref_int(const struct gt_src *src, const struct gt_ref *r, uint64_t *v)
{
	struct gt_slice s;

	return gt_text_value(src, r, &s) && gt_text_int(s, v) && !gt_is_address(*v);
}

bool gt_text_ref_key(const struct gt_src *src, const struct gt_ref *r, uint64_t *v)
{
	struct gt_slice s;

	return gt_text_value(src, r, &s) && gt_text_opaque(s, v);
}

/** struct buf - a string being made; what does not fit is cut */
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

/* The @v-th word; one beyond the list is written as a number. */
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
	if (!gt_raw_str(src, &part->ref.raw, &s))
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

	if (!gt_text_value(src, &part->ref, &s) || gt_text_pointer(s) || gt_is_fault(s))
		return false;
	if (!part->nwords)
		put(b, s.p, s.n);
	else if (gt_text_int(s, &v))
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

/* The usual case: the field's own bytes, where they lie. */
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
			return gt_raw_str(src, &a->part[0].ref.raw, out);
		return alt_eval(a, src, buf, out);
	}
	for (unsigned int i = 0; i < t->n; i++)
		if (alt_eval(&t->alt[i], src, buf, out))
			return true;
	return false;
}
