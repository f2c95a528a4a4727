/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the logs tell, by time. A log's own records are mostly in order, and one that is not is put
 * in its place, unless that is far away: then all are sorted, once, before they are handed over.
 * Whatever order a log's lines have, it costs the same.
 */
#include <string.h>

#include "internal.h"

#define NEAR  32 /* places that a record is moved ahead */
#define BATCH 256

void gt_amd_log_put(struct gt_amd_log *l, const union gt_record *r)
{
	uint32_t i = l->count, least = l->count > l->head + NEAR ? l->count - NEAR : l->head;

	if (r->ev.ts < l->since) {
		l->n.older++;
		return;
	}
	if (l->count == GT_AMD_RECORDS)
		return; /* never: who reads leaves room for GT_AMD_PER_LINE */
	while (!l->unsorted && i > least && l->out[i - 1].ev.ts > r->ev.ts)
		i--;
	if (!l->unsorted && i == least && i > l->head && l->out[i - 1].ev.ts > r->ev.ts) {
		l->unsorted = true;
		i = l->count;
	}
	memmove(&l->out[i + 1], &l->out[i], (l->count - i) * sizeof(*r));
	l->out[i] = *r;
	l->count++;
	l->n.records++;
}

/* Two runs of @n, of which the second may be shorter or not there, as one in @to */
static void merge_runs(const union gt_record *from, union gt_record *to, uint32_t n, uint32_t end)
{
	uint32_t a = 0, b = n < end ? n : end, mid = b;

	for (uint32_t i = 0; i < end; i++)
		to[i] = a < mid && (b == end || from[a].ev.ts <= from[b].ev.ts) ? from[a++]
										: from[b++];
}

/* Those of one time stay as they came. */
static void sort(struct gt_amd_log *l)
{
	union gt_record *from = l->out + l->head, *to = l->a->sorting, *t;
	uint32_t n = l->count - l->head;

	for (uint32_t run = 1; run < n; run *= 2) {
		for (uint32_t i = 0; i < n; i += 2 * run)
			merge_runs(from + i, to + i, run, n - i < 2 * run ? n - i : 2 * run);
		t = from;
		from = to;
		to = t;
	}
	if (from != l->out + l->head)
		memcpy(l->out + l->head, from, n * sizeof(*from));
	l->unsorted = false;
}

/** struct heap - logs with something to hand over, the earliest first */
struct heap {
	struct gt_amd_log *l[GT_AMD_FILES];
	unsigned int n;
};

static bool before(const struct gt_amd_log *a, const struct gt_amd_log *b)
{
	return a->out[a->head].ev.ts < b->out[b->head].ev.ts;
}

static void down(struct heap *h, unsigned int i)
{
	for (unsigned int k = 2 * i + 1; k < h->n; i = k, k = 2 * i + 1) {
		struct gt_amd_log *t = h->l[i];

		if (k + 1 < h->n && before(h->l[k + 1], h->l[k]))
			k++;
		if (!before(h->l[k], t))
			return;
		h->l[i] = h->l[k];
		h->l[k] = t;
	}
}

static void fill(struct gt_amd *a, struct heap *h)
{
	h->n = 0;
	for (unsigned int i = 0; i < a->n; i++) {
		struct gt_amd_log *l = &a->file[i]->log;

		if (l->head == l->count)
			continue;
		if (l->unsorted)
			sort(l);
		h->l[h->n++] = l;
	}
	for (unsigned int i = h->n / 2; i-- > 0;)
		down(h, i);
}

/* Of a recording half of what was read stays: a line a little out of order finds its place there.
 */
static bool ready(const struct gt_amd_file *f)
{
	return f->eof || f->log.count - f->log.head >= GT_AMD_RECORDS / 2;
}

static bool all_ready(const struct gt_amd *a)
{
	for (unsigned int i = 0; i < a->n; i++)
		if (!ready(a->file[i]))
			return false;
	return true;
}

int gt_amd_hand_over(struct gt_amd *a)
{
	bool all = !a->p->recording;
	union gt_record batch[BATCH];
	unsigned int n = 0;
	struct heap h;
	int total = 0;

	if (!all && !all_ready(a))
		return 0;
	fill(a, &h);
	while (h.n) {
		struct gt_amd_log *l = h.l[0];

		batch[n++] = l->out[l->head++];
		total++;
		if (l->head == l->count)
			h.l[0] = h.l[--h.n];
		down(&h, 0);
		if (n == BATCH) {
			a->p->host->push(a->p, batch, n);
			n = 0;
		}
		if (!all && !ready(gt_amd_file_of(l)))
			break;
	}
	if (n)
		a->p->host->push(a->p, batch, n);
	return total;
}
