/* SPDX-License-Identifier: GPL-2.0 */
/* The end of internal.h: what runs for each field of each raw record, and so is put in line. */
#ifndef GT_EVENTMAP_FAST_H
#define GT_EVENTMAP_FAST_H

#include "internal.h"

/*
 * A kernel's address must not get into a record, whatever a map says: unprivileged users read them.
 * They begin at 0xff11… with five levels of pages (x86-64), above that elsewhere. Small negative
 * numbers (results) are none.
 */
static inline bool gt_is_address(uint64_t v)
{
	return v >= 0xff00000000000000ull && v < 0xffffffffffff0000ull;
}

/* What the kernel's probes write for a string that they could not read: FAULT_STRING in Linux
 * kernel/trace/trace_probe_kernel.h. Unquoted text ends at the bracket. */
static inline bool gt_is_fault(struct gt_slice s)
{
	return (s.n == 7 || s.n == 6) && !memcmp(s.p, "(fault)", s.n);
}

static inline bool gt_raw_int(const struct gt_src *src, const struct gt_field *f, uint64_t *v)
{
	const char *p = src->data + f->off;
	uint64_t x = 0;

	if ((f->kind != GT_K_INT && f->kind != GT_K_PTR) || (size_t)f->off + f->size > src->len)
		return false;
	switch (f->size) {
	case 8:
		memcpy(&x, p, 8);
		break;
	case 4:
		memcpy(&x, p, 4);
		x = f->sign ? (uint64_t)(int32_t)x : x;
		break;
	case 2:
		memcpy(&x, p, 2);
		x = f->sign ? (uint64_t)(int16_t)x : x;
		break;
	default:
		memcpy(&x, p, 1);
		x = f->sign ? (uint64_t)(int8_t)x : x;
	}
	*v = x;
	return true;
}

/** gt_src_int() - an integer for a record; never an address */
static inline bool gt_src_int(const struct gt_src *src, const struct gt_ref *r, uint64_t *v)
{
	if (src->raw)
		return gt_raw_int(src, &r->raw, v) && !gt_is_address(*v);
	return gt_text_ref_int(src, r, v);
}

/** gt_src_key() - a value that is only compared, never shown; not 0 */
static inline bool gt_src_key(const struct gt_src *src, const struct gt_ref *r, uint64_t *v)
{
	if (src->raw)
		return gt_raw_int(src, &r->raw, v) && *v;
	return gt_text_ref_key(src, r, v);
}

static inline uint64_t gt_load(const char *p, size_t n)
{
	uint64_t w = 0;

	memcpy(&w, p, n);
	return w;
}

static inline uint64_t gt_mix(uint64_t h, uint64_t w)
{
	h = (h ^ w) * 0xd6e8feb86659fd93ull;
	return h ^ h >> 32;
}

static inline uint64_t gt_hash_bytes(const char *p, size_t n)
{
	uint64_t h = n * 0x9e3779b97f4a7c15ull;
	size_t i = 0;

	for (; n - i >= 8; i += 8)
		h = gt_mix(h, gt_load(p + i, 8));
	if (i < n && n >= 8) /* the rest, with some again */
		return gt_mix(h, gt_load(p + n - 8, 8));
	if (i < n && n >= 4)
		return gt_mix(h, gt_load(p, 4) << 32 | gt_load(p + n - 4, 4));
	for (; i < n; i++)
		h = gt_mix(h, (uint8_t)p[i]);
	return h;
}

/** gt_same_bytes() - memcmp() for short strings */
static inline bool gt_same_bytes(const char *a, const char *b, size_t n)
{
	size_t i = 0;

	for (; n - i >= 8; i += 8)
		if (gt_load(a + i, 8) != gt_load(b + i, 8))
			return false;
	if (i < n && n >= 8)
		return gt_load(a + n - 8, 8) == gt_load(b + n - 8, 8);
	for (; i < n; i++)
		if (a[i] != b[i])
			return false;
	return true;
}

/* Both halves of one wide product: cheap, and without the seed nobody can tell who meets whom. */
static inline uint32_t gt_table_bucket(const struct gt_table *t, uint64_t k1, uint64_t k2)
{
	unsigned __int128 h = (unsigned __int128)(k1 ^ t->seed) * (k2 ^ t->seed2);

	return (uint32_t)((uint64_t)h ^ (uint64_t)(h >> 64)) & t->mask;
}

/** gt_table_find() - the slot with this key; 0: there is none */
static inline uint32_t gt_table_find(const struct gt_table *t, uint64_t k1, uint64_t k2)
{
	uint32_t i = t->heads[gt_table_bucket(t, k1, k2)];

	while (i && (t->slots[i].k1 != k1 || t->slots[i].k2 != k2))
		i = t->slots[i].hnext;
	return i;
}

#endif
