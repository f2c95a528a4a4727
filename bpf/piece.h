/* SPDX-License-Identifier: GPL-2.0 */
/* What a tracepoint's record says of its job: numbers, and what identifies the ring. */
#ifndef GT_BPF_PIECE_H
#define GT_BPF_PIECE_H

#include "table.h"

static __always_inline uint64_t k_load(const uint8_t *data, uint32_t at)
{
	gt_opaque(at);
	return at <= GT_BPF_RAW_MAX ? *(const uint64_t *)(data + at) : 0;
}

/* False: it may be an address, which is for user space to judge. */
static __always_inline bool k_number(const uint8_t *data, const struct gt_k_piece *p, uint64_t *out)
{
	uint64_t v = k_load(data, p->off);

	if (p->size == 4)
		v = (uint32_t)v;
	else if (p->size == 2)
		v = (uint16_t)v;
	else if (p->size == 1)
		v = (uint8_t)v;
	*out = v;
	return v < 0xff00000000000000ull;
}

/* The bytes before the first NUL */
static __always_inline uint64_t k_text_mask(uint64_t w, uint64_t *ends)
{
	uint64_t nul = (w - 0x0101010101010101ull) & ~w & 0x8080808080808080ull;

	*ends = nul;
	return nul ? ((nul & -nul) >> 7) - 1 : ~0ull;
}

#define GT_K_WORDS 6 /* so much of a name counts */

static __always_inline uint64_t k_text(const uint8_t *data, const struct gt_k_piece *p, uint64_t h)
{
	uint32_t at = p->off, len = p->size;
	uint64_t w, mask, ends;

	if (p->kind != GT_K_CHARS) {
		uint32_t loc = (uint32_t)k_load(data, p->off);

		at = (loc & 0xffff) + (p->kind == GT_K_REL ? p->off + 4u : 0);
		len = loc >> 16;
	}
	for (uint32_t i = 0; i < GT_K_WORDS; i++) {
		if (i * 8 >= len)
			break;
		w = k_load(data, at + i * 8);
		if (len - i * 8 < 8)
			w &= (1ull << ((len - i * 8) * 8)) - 1;
		mask = k_text_mask(w, &ends);
		h = gt_k_mix(h, w & mask);
		if (ends)
			break;
	}
	return gt_k_mix(h, 0x100);
}

/* What identifies the ring, as one number */
static __always_inline uint64_t k_place(const struct gt_k_tp *tp, const uint8_t *data, uint64_t h)
{
	uint64_t v;

	h = gt_k_mix(h, tp->seed);
	for (unsigned int i = 0; i < GT_K_PIECES && i < tp->n; i++) {
		const struct gt_k_piece *p = &tp->piece[i];

		if (p->kind == GT_K_INT) {
			k_number(data, p, &v);
			h = gt_k_mix(h, v);
		} else {
			h = k_text(data, p, h);
		}
	}
	return h;
}

#endif
