/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Busy time as a union of intervals. The latest disjoint intervals are kept, so that one which
 * overlaps them adds only what was not covered. When there are too many, the oldest become one with
 * the gaps between them: that may miss busy time, but never counts any twice.
 */
#include <string.h>

#include "internal.h"

void gt_busy_reset(struct gt_busy *b)
{
	memset(b, 0, sizeof(*b));
}

void gt_busy_restart(struct gt_busy *b, uint64_t now)
{
	gt_busy_reset(b);
	b->end = now;
}

/* [@start, @end) of one slot number */
static void slot_add(struct gt_busy *b, uint64_t no, uint64_t ns)
{
	unsigned int i = (unsigned int)(no % GT_BUSY_SLOTS);

	if (b->slot_no[i] < no) {
		b->slot_no[i] = no;
		b->slot_ns[i] = 0;
	}
	if (b->slot_no[i] == no)
		b->slot_ns[i] += (uint32_t)ns;
}

/* A piece that was not covered before */
static void piece_add(struct gt_busy *b, uint64_t start, uint64_t end)
{
	uint64_t no = start / GT_BUSY_SLOT_NS, last = end / GT_BUSY_SLOT_NS, edge;

	b->total_ns += end - start;
	if (last - no >= GT_BUSY_SLOTS) { /* longer than all slots: they show its end */
		no = last - GT_BUSY_SLOTS + 1;
		start = no * GT_BUSY_SLOT_NS;
	}
	for (; no < last; no++, start = edge) {
		edge = (no + 1) * GT_BUSY_SLOT_NS;
		slot_add(b, no, edge - start);
	}
	if (end > start)
		slot_add(b, no, end - start);
}

/* What the slot being filled has gathered goes where readers of older time look */
static void pending_flush(struct gt_busy *b)
{
	if (b->pending)
		slot_add(b, b->slot_end / GT_BUSY_SLOT_NS - 1, b->pending);
	b->pending = 0;
}

/* The latest interval joins those before it, the older half of which become one if need be */
static void latest_push(struct gt_busy *b)
{
	const unsigned int half = GT_BUSY_OPEN / 2;

	if (b->end <= b->start)
		return;
	if (b->ncov >= GT_BUSY_OPEN - 1) { /* one is left for cov_join() */
		b->cov[0].end = b->cov[half - 1].end;
		memmove(&b->cov[1], &b->cov[half], (b->ncov - half) * sizeof(b->cov[0]));
		b->ncov -= half - 1;
	}
	b->cov[b->ncov].start = b->start;
	b->cov[b->ncov++].end = b->end;
}

/* Adds what of [@start, @end) is not covered; @i: past the last interval that begins before @end */
static void add_uncovered(struct gt_busy *b, uint64_t start, uint64_t end, unsigned int i)
{
	while (end > start) {
		if (!i || b->cov[i - 1].end <= start) {
			piece_add(b, start, end);
			return;
		}
		i--;
		if (b->cov[i].end < end)
			piece_add(b, b->cov[i].end, end);
		end = b->cov[i].start < end ? b->cov[i].start : end;
	}
}

/* [@start, @end) joins cov[@from] to cov[@to - 1], all of which it touches */
static void cov_join(struct gt_busy *b, uint64_t start, uint64_t end, unsigned int from,
		     unsigned int to)
{
	if (from == to) {
		memmove(&b->cov[from + 1], &b->cov[from], (b->ncov - from) * sizeof(b->cov[0]));
		b->ncov++;
	} else {
		start = b->cov[from].start < start ? b->cov[from].start : start;
		end = b->cov[to - 1].end > end ? b->cov[to - 1].end : end;
		memmove(&b->cov[from + 1], &b->cov[to], (b->ncov - to) * sizeof(b->cov[0]));
		b->ncov -= to - from - 1;
	}
	b->cov[from].start = start;
	b->cov[from].end = end;
}

/* An interval that overlaps others, or runs into another slot */
static void add_slow(struct gt_busy *b, uint64_t start, uint64_t end)
{
	unsigned int from, to;

	pending_flush(b);
	latest_push(b);
	for (to = b->ncov; to && b->cov[to - 1].start > end; to--)
		;
	for (from = to; from && b->cov[from - 1].end >= start; from--)
		;
	add_uncovered(b, start, end, to);
	cov_join(b, start, end, from, to);
	b->ncov--;
	b->start = b->cov[b->ncov].start;
	b->end = b->cov[b->ncov].end;
	b->slot_end = (b->end / GT_BUSY_SLOT_NS + 1) * GT_BUSY_SLOT_NS;
}

void gt_busy_add(struct gt_busy *b, uint64_t start, uint64_t end)
{
	uint64_t news; /* from here on nothing is covered */

	if (unlikely(end <= start))
		return;
	news = start < b->end ? b->end : start;
	if (unlikely(start < b->start || end > b->slot_end ||
		     news + GT_BUSY_SLOT_NS < b->slot_end)) {
		add_slow(b, start, end);
		return;
	}
	if (end <= news)
		return;
	if (start > b->end) {
		latest_push(b);
		b->start = start;
	}
	b->end = end;
	b->total_ns += end - news;
	b->pending += end - news;
}

/* As much of @ns as the slot that ends with or holds @end has room for, before @end */
static uint64_t slot_fill(struct gt_busy *b, uint64_t no, uint64_t end, uint64_t ns)
{
	unsigned int i = (unsigned int)(no % GT_BUSY_SLOTS);
	uint64_t had = b->slot_no[i] == no ? b->slot_ns[i] : 0, room = end - no * GT_BUSY_SLOT_NS;

	if (b->slot_no[i] > no)
		return 0;
	room = room < GT_BUSY_SLOT_NS ? room : GT_BUSY_SLOT_NS;
	room = room > had ? room - had : 0;
	ns = ns < room ? ns : room;
	slot_add(b, no, ns);
	return ns;
}

uint64_t gt_busy_tally(struct gt_busy *b, uint64_t since, uint64_t end, uint64_t ns)
{
	uint64_t from = end > since && end - since >= ns ? since : end > ns ? end - ns : 0;
	uint64_t no = end ? (end - 1) / GT_BUSY_SLOT_NS : 0, left = ns;

	b->total_ns += ns;
	if (!ns || end <= from)
		return 0;
	pending_flush(b);
	latest_push(b);
	for (unsigned int i = 0; left && i < GT_BUSY_SLOTS; i++, no--) {
		left -= slot_fill(b, no, end, left);
		if (!no || no * GT_BUSY_SLOT_NS <= from)
			break;
	}
	if (end <= b->end)
		return left;
	b->start = from > b->end ? from : b->end;
	b->end = end;
	b->slot_end = (end / GT_BUSY_SLOT_NS + 1) * GT_BUSY_SLOT_NS;
	return left;
}

void gt_busy_spread(struct gt_busy *b, uint64_t since, uint64_t end, uint64_t ns)
{
	const uint64_t all = GT_BUSY_SLOT_NS * (GT_BUSY_SLOTS - 1);
	uint64_t from, edge;

	b->total_ns = gt_sum(b->total_ns, ns);
	if (end <= since || !ns)
		return;
	for (from = end - since > all ? end - all : since; from < end; from = edge) {
		uint64_t no = from / GT_BUSY_SLOT_NS, share;
		unsigned int i = (unsigned int)(no % GT_BUSY_SLOTS);

		edge = (no + 1) * GT_BUSY_SLOT_NS < end ? (no + 1) * GT_BUSY_SLOT_NS : end;
		share = (uint64_t)((unsigned __int128)ns * (edge - from) / (end - since));
		if (share > UINT32_MAX / 2)
			share = UINT32_MAX / 2;
		if (b->slot_no[i] == no && b->slot_ns[i] > UINT32_MAX / 2)
			continue;
		if (b->slot_no[i] <= no)
			slot_add(b, no, share);
	}
}

static void slot_fold(struct gt_busy *b, uint64_t no, uint64_t ns)
{
	unsigned int i = (unsigned int)(no % GT_BUSY_SLOTS);
	uint64_t had = b->slot_no[i] == no ? b->slot_ns[i] : 0;

	if (b->slot_no[i] > no)
		return;
	b->slot_no[i] = no;
	b->slot_ns[i] = (uint32_t)(had + ns < GT_BUSY_SLOT_NS ? had + ns : GT_BUSY_SLOT_NS);
}

void gt_busy_fold(struct gt_busy *to, const struct gt_busy *from)
{
	to->total_ns += from->total_ns;
	for (unsigned int i = 0; i < GT_BUSY_SLOTS; i++)
		if (from->slot_ns[i])
			slot_fold(to, from->slot_no[i], from->slot_ns[i]);
	if (from->pending)
		slot_fold(to, from->slot_end / GT_BUSY_SLOT_NS - 1, from->pending);
}

uint64_t gt_busy_ns(const struct gt_busy *b, uint64_t now, uint64_t window)
{
	uint64_t since, sum = 0;

	if (window > (GT_BUSY_SLOTS - 1) * GT_BUSY_SLOT_NS)
		window = (GT_BUSY_SLOTS - 1) * GT_BUSY_SLOT_NS;
	if (!now || !window)
		return 0;
	since = now > window ? now - window : 0;
	for (uint64_t no = since / GT_BUSY_SLOT_NS; no <= (now - 1) / GT_BUSY_SLOT_NS; no++) {
		unsigned int i = (unsigned int)(no % GT_BUSY_SLOTS);
		uint64_t lo = no * GT_BUSY_SLOT_NS, hi = lo + GT_BUSY_SLOT_NS, ns;

		ns = b->slot_no[i] == no ? b->slot_ns[i] : 0;
		if (b->slot_end == hi)
			ns += b->pending;
		if (lo < since) /* the slot that the window cuts: its share */
			ns = ns * (hi - since) / GT_BUSY_SLOT_NS;
		lo = lo < since ? since : lo;
		hi = hi > now ? now : hi;
		sum += ns < hi - lo ? ns : hi - lo;
	}
	return sum;
}
