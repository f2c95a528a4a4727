/* SPDX-License-Identifier: GPL-2.0 */
/* The merge by time: held against a brute-force stable sort, and its promises one by one. */
#include <stdlib.h>

#include "../../backend/backend.h"
#include "../../backend/host/internal.h"
#include "../lib/tap.h"

#define MAX 20000
#define MS  1000000ull

/* Everything that came out: the record's seqno is its arrival in its source, ctx the source. */
static struct {
	union gt_record r[MAX];
	size_t n;
	uint64_t mark;
	unsigned int marks, backward, broken;
	unsigned int calls;
	const union gt_record *last;
} got;

static void records(void *arg, unsigned int src, const union gt_record *r, size_t n)
{
	got.calls++;
	got.last = r;
	for (size_t i = 0; i < n && got.n < MAX; i++) {
		if (r[i].ev.ts < got.mark)
			got.broken++;
		got.r[got.n++] = r[i];
	}
}

static void watermark(void *arg, uint64_t ts)
{
	if (ts < got.mark)
		got.backward++;
	got.mark = ts;
	got.marks++;
}

static struct gt_order *fresh(unsigned int n, bool recording)
{
	static const struct gt_order_ops ops = { .records = records, .watermark = watermark };
	struct gt_order *o = gt_order_new(n, &ops);

	memset(&got, 0, sizeof(got));
	for (unsigned int i = 0; o && i < n; i++)
		gt_order_begin(o, i, recording);
	return o;
}

static union gt_record rec(unsigned int src, uint64_t ts, uint64_t nr)
{
	union gt_record r;

	gt_record_init(&r, ts, GT_SUBMIT);
	r.ev.ctx = src;
	r.ev.seqno = nr;
	return r;
}

static void push1(struct gt_order *o, unsigned int src, uint64_t ts, uint64_t now)
{
	union gt_record r = rec(src, ts, 0);

	gt_order_push(o, src, &r, 1, now);
}

/* The reference: by newest time so far in the own source, then source, then arrival. */
struct ref {
	uint64_t key, src, nr, ts;
};

static int by_key(const void *a, const void *b)
{
	const struct ref *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	if (x->src != y->src)
		return x->src < y->src ? -1 : 1;
	return x->nr < y->nr ? -1 : x->nr > y->nr;
}

/* Random sources, some a little out of order, some that end early, with promises now and then. */
static size_t random_run(struct gt_order *o, unsigned int n, unsigned int jitter, struct ref *ref)
{
	uint64_t t[8] = { 0 }, key[8] = { 0 }, nr[8] = { 0 };
	union gt_record batch[16];
	size_t total = 0;

	for (unsigned int step = 0; step < 400; step++) {
		unsigned int s = (unsigned int)rand() % n, k = (unsigned int)rand() % 16;

		for (unsigned int i = 0; i < k; i++) {
			uint64_t ts;

			t[s] += (unsigned int)rand() % 4;
			ts = t[s] - (jitter && t[s] > 8 ? (unsigned int)rand() % jitter : 0);
			key[s] = ts > key[s] ? ts : key[s];
			ref[total++] = (struct ref){ key[s], s, nr[s], ts };
			batch[i] = rec(s, ts, nr[s]++);
		}
		gt_order_push(o, s, batch, k, 0);
		if (rand() % 3 == 0) {
			t[s] = key[s] + (unsigned int)rand() % 3 + (jitter ? jitter : 0);
			gt_order_watermark(o, s, key[s]);
		}
		if (rand() % 4 == 0)
			gt_order_run(o, 0);
	}
	for (unsigned int s = 0; s < n; s++)
		gt_order_end(o, s);
	gt_order_run(o, 0);
	return total;
}

static void test_property(void)
{
	static struct ref ref[MAX];
	unsigned int wrong = 0, lost = 0, backward = 0, broken = 0;

	for (unsigned int seed = 1; seed <= 300; seed++) {
		unsigned int n = 1 + seed % 6, jitter = seed % 3 == 0 ? 5 : 0;
		struct gt_order *o;
		size_t total;

		srand(seed);
		o = fresh(n, seed & 1);
		total = random_run(o, n, jitter, ref);
		qsort(ref, total, sizeof(ref[0]), by_key);
		lost += got.n != total || gt_order_pending(o) != 0;
		for (size_t i = 0; i < total && i < got.n; i++)
			wrong += got.r[i].ev.ts != ref[i].ts || got.r[i].ev.ctx != ref[i].src ||
				 got.r[i].ev.seqno != ref[i].nr;
		backward += got.backward;
		broken += jitter ? 0 : got.broken;
		gt_order_free(o);
	}
	is(lost, 0, "300 random runs: every record comes out");
	is(wrong, 0, "in the order of a stable sort");
	is(backward, 0, "the watermark never goes back");
	is(broken, 0, "nothing older than the watermark follows it");
}

static void test_direct(void)
{
	struct gt_order *o = fresh(2, false);
	union gt_record r[3] = { rec(0, 5, 0), rec(0, 6, 1), rec(0, 4, 2) };

	gt_order_end(o, 1);
	gt_order_push(o, 0, r, 3, 100);
	is(got.n, 3, "a single source passes straight through");
	ok(got.last == r && got.calls == 1, "without a copy, late ones too");
	is(gt_order_stats(o)->queued, 0, "nothing is queued");
	is(gt_order_run(o, 100), 0, "and no timer is wanted");
	is(got.mark, 6, "its last record is its watermark");
	gt_order_free(o);
}

static void test_hold(void)
{
	struct gt_order *o = fresh(2, false);
	uint64_t now = 1000 * MS, due;

	push1(o, 0, now - 1, now);
	is(got.n, 0, "a silent live source holds others back");
	due = gt_order_run(o, now);
	is(due, now + GT_ORDER_HOLD_NS, "for 20 ms");
	gt_order_run(o, due - 1);
	is(got.n, 0, "not less");
	is(gt_order_run(o, due), 0, "not more");
	is(got.n, 1, "then the record goes out");
	is(gt_order_stats(o)->held, 1, "and is counted");
	push1(o, 1, now - 5, due);
	is(got.n, 2, "what comes late goes out at once");
	gt_order_watermark(o, 0, due + 10);
	push1(o, 1, due + 10, due + 10);
	is(got.n, 2, "a promise up to a time leaves a lower number's equal time open");
	gt_order_watermark(o, 0, due + 11);
	gt_order_run(o, due + 11);
	is(got.n, 3, "a promise lets out what is before it");
	gt_order_free(o);
}

static void test_busy(void)
{
	struct gt_order *o = fresh(1, false);

	gt_order_watermark(o, 0, 1000 * MS);
	gt_order_busy(o, 0, true);
	gt_order_run(o, 1100 * MS);
	is(got.mark, 1000 * MS, "a source that comes back for more has the time it needs");
	gt_order_busy(o, 0, false);
	gt_order_run(o, 1100 * MS);
	is(got.mark, 1100 * MS - GT_ORDER_HOLD_NS, "one that waits for events has none to deliver");
	gt_order_free(o);
}

static void test_future(void)
{
	struct gt_order *o = fresh(2, false);

	push1(o, 0, 1ull << 60, 1000 * MS);
	gt_order_run(o, 1020 * MS);
	is(got.n, 1, "a time in the future waits no longer than any other");
	gt_order_free(o);
}

static void test_older_goes_along(void)
{
	struct gt_order *o = fresh(3, false);

	push1(o, 0, 900, 1000 * MS);
	push1(o, 1, 800, 1010 * MS);
	gt_order_run(o, 1020 * MS);
	is(got.n, 2, "what is older goes out before what has waited long enough");
	is(got.r[0].ev.ts, 800, "in order");
	gt_order_free(o);
}

static void test_recording(void)
{
	struct gt_order *o = fresh(2, true);

	push1(o, 0, 10, 0);
	is(gt_order_run(o, 1ull << 62), 0, "recordings want no timer");
	is(got.n, 0, "and wait for each other whatever the clock says");
	gt_order_end(o, 1);
	gt_order_run(o, 0);
	is(got.n, 1, "until the other ends");
	push1(o, 0, 100, 0);
	gt_order_run(o, 0);
	gt_order_rewind(o, 0);
	push1(o, 0, 50, 0);
	gt_order_run(o, 0);
	is(got.n, 3, "after a jump back records go on");
	is(got.mark, 50, "and so does the watermark");
	gt_order_free(o);
}

static void test_apart(void)
{
	struct gt_order *o = fresh(2, true);

	gt_order_begin(o, 1, false);
	push1(o, 0, 10, 0);
	push1(o, 1, 1000 * MS, 1000 * MS);
	is(got.n, 2, "a recording and a live source do not wait for each other");
	gt_order_free(o);
}

static void test_cap(void)
{
	struct gt_order *o = fresh(2, true);

	for (uint64_t i = 0; i < GT_ORDER_CAP; i++)
		push1(o, 0, i + 1, 0);
	is(gt_order_pending(o), GT_ORDER_CAP, "65536 records wait for a recording");
	is(got.n, 0, "all of them");
	push1(o, 0, GT_ORDER_CAP + 1, 0);
	ok(got.n > 0 && gt_order_stats(o)->forced == got.n,
	   "one more lets the oldest out, counted");
	is(got.n, GT_ORDER_CAP / 16, "a sixteenth of what there is room for");
	is(got.n + gt_order_pending(o), GT_ORDER_CAP + 1, "and none is lost");
	ok(got.r[0].ev.ts == 1 && got.r[got.n - 1].ev.ts == got.n, "in order");
	gt_order_flush(o);
	is(gt_order_pending(o), 0, "a flush lets everything out");
	gt_order_free(o);
}

static void test_silent_mark(void)
{
	struct gt_order *o = fresh(2, false);

	gt_order_run(o, 1000 * MS);
	is(got.mark, 980 * MS, "with nothing at all, the watermark follows the clock by 20 ms");
	gt_order_end(o, 0);
	gt_order_end(o, 1);
	gt_order_run(o, 2000 * MS);
	is(got.mark, 980 * MS, "and stands when all have ended");
	gt_order_free(o);
}

/* Of equal times the lower source's is first; what is late goes along */
static void test_prefix(void)
{
	struct gt_order *o = fresh(2, false);
	union gt_record r[3] = { rec(0, 100, 0), rec(0, 50, 1), rec(0, 200, 2) };

	gt_order_watermark(o, 1, 150);
	gt_order_watermark(o, 1, 20);
	gt_order_push(o, 0, r, 3, 1000 * MS);
	ok(got.n == 2 && got.r[1].ev.ts == 50, "up to a promise, which is not taken back");
	is(gt_order_stats(o)->direct, 2, "at once");
	is(gt_order_stats(o)->queued, 1, "the rest waits");
	gt_order_free(o);
	o = fresh(2, false);
	gt_order_watermark(o, 1, 150);
	push1(o, 0, 150, 1000 * MS);
	is(got.n, 1, "a lower number's equal time does not wait");
	gt_order_free(o);
}

/* A source that begins or jumps promises nothing of what it did before */
static void test_begin(void)
{
	struct gt_order *o = fresh(2, true);

	gt_order_watermark(o, 1, 500);
	gt_order_begin(o, 1, true);
	push1(o, 0, 100, 0);
	is(got.n, 0, "a source that begins again is waited for");
	gt_order_watermark(o, 1, 500);
	gt_order_run(o, 0);
	is(got.n, 1, "until it promises");
	gt_order_rewind(o, 1);
	push1(o, 0, 200, 0);
	is(got.n, 1, "likewise one that jumps");
	gt_order_begin(o, 0, true);
	is(got.n, 1, "what it has queued waits on");
	gt_order_begin(o, 0, false);
	ok(got.n == 2 && gt_order_stats(o)->forced == 1, "but not if it is live from now on");
	gt_order_busy(o, 0, true);
	gt_order_begin(o, 0, false);
	gt_order_end(o, 1);
	gt_order_run(o, 1000 * MS);
	is(got.mark, 1000 * MS - GT_ORDER_HOLD_NS, "one that begins is not busy");
	gt_order_free(o);
}

static void test_due(void)
{
	struct gt_order *o = fresh(3, false);

	push1(o, 1, 900 * MS, 1005 * MS);
	push1(o, 0, 901 * MS, 1000 * MS);
	is(gt_order_run(o, 1005 * MS), 1000 * MS + GT_ORDER_HOLD_NS,
	   "the first that is due is next");
	is(got.mark, 900 * MS, "the oldest that waits holds time");
	gt_order_free(o);
	o = fresh(1, false);
	gt_order_busy(o, 0, true);
	gt_order_watermark(o, 0, 1000 * MS);
	gt_order_run(o, 1000 * MS + GT_ORDER_BUSY_NS + 5);
	is(got.mark, 1000 * MS + 5, "who is busy for long holds it no longer");
	got.marks = 0;
	gt_order_run(o, 1000 * MS + GT_ORDER_BUSY_NS + 5);
	is(got.marks, 0, "the same time is reported once");
	gt_order_free(o);
}

int main(void)
{
	test_property();
	test_direct();
	test_hold();
	test_busy();
	test_future();
	test_older_goes_along();
	test_recording();
	test_apart();
	test_cap();
	test_silent_mark();
	test_prefix();
	test_begin();
	test_due();
	return done_testing();
}
