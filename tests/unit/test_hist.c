/* SPDX-License-Identifier: GPL-2.0 */
/* Histograms against sorted arrays: exact where exact is promised, percentiles within 1 %. */
#include <stdlib.h>

#include "../../fs/model/model.h"
#include "../lib/tap.h"

#define SEC 1000000000ULL

static uint64_t seed;

static uint64_t rnd(void)
{
	seed += 0x9e3779b97f4a7c15ULL;
	uint64_t z = seed;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return z ^ z >> 31;
}

static int by_size(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* The smallest value that at least ceil(permille of @n) values do not exceed; @v is sorted */
static uint64_t exact(const uint64_t *v, size_t n, unsigned int permille)
{
	return v[(n * permille + 999) / 1000 - 1];
}

static bool near(uint64_t got, uint64_t want)
{
	uint64_t d = got > want ? got - want : want - got;

	return (double)d <= 0.01 * (double)want;
}

static bool same(const struct gt_summary *s, uint64_t *v, size_t n)
{
	uint64_t sum = 0;

	qsort(v, n, sizeof(*v), by_size);
	for (size_t i = 0; i < n; i++)
		sum += v[i];
	if (!n)
		return s->count == 0;
	return s->count == n && s->sum == sum && s->avg == sum / n && s->min == v[0] &&
	       s->max == v[n - 1] && near(s->p50, exact(v, n, 500)) &&
	       near(s->p90, exact(v, n, 900)) && near(s->p99, exact(v, n, 990)) &&
	       near(s->p999, exact(v, n, 999));
}

/* Values of every size: the number of bits is random too */
static uint64_t value(void)
{
	return rnd() >> rnd() % 64;
}

static void check_sizes(void)
{
	static const size_t sizes[] = { 1,  2,	3,  9,	 10,  11,   35,	  36,
					37, 38, 99, 100, 101, 1000, 20000 };
	uint64_t *v = malloc(20000 * sizeof(*v));

	for (size_t k = 0; k < sizeof(sizes) / sizeof(*sizes); k++) {
		struct gt_stage s;
		struct gt_summary all;
		bool good = true;

		for (int round = 0; round < 20; round++) {
			gt_stage_init(&s);
			for (size_t i = 0; i < sizes[k]; i++) {
				v[i] = round % 2 ? value() >> 8 : 1000 + rnd() % 1000000;
				gt_stage_add(&s, SEC, v[i]);
			}
			gt_stage_summary(&s, SEC, &all, NULL);
			good &= same(&all, v, sizes[k]);
			gt_stage_reset(&s);
		}
		ok(good, "%zu values: exact, and percentiles within 1 %%", sizes[k]);
	}
	free(v);
}

static void check_edges(void)
{
	static const uint64_t edges[] = { 0, 1, 63, 64, 65, 127, 128, 129, UINT64_MAX, 1ULL << 63 };
	bool good = true;

	for (size_t i = 0; i < sizeof(edges) / sizeof(*edges); i++) {
		struct gt_stage s;
		struct gt_summary a;

		gt_stage_init(&s);
		gt_stage_add(&s, 0, edges[i]);
		gt_stage_summary(&s, 0, &a, NULL);
		good &= a.min == edges[i] && a.p50 == edges[i] && a.max == edges[i];
		gt_stage_reset(&s);
	}
	ok(good, "one value is reported exactly, whatever its size");
}

struct bucket_sum {
	uint64_t n, last;
	bool rising;
	const uint64_t *v; /* sorted */
	size_t size, at;
	bool fits;
};

static void on_bucket(void *arg, uint64_t le, uint64_t n)
{
	struct bucket_sum *b = arg;

	b->rising &= !b->n || le > b->last;
	b->last = le;
	b->n += n;
	while (b->at < b->size && b->v[b->at] <= le)
		b->at++;
	b->fits &= b->at == b->n;
}

static void check_buckets(size_t n)
{
	uint64_t *v = malloc(n * sizeof(*v));
	struct gt_hist h, twice;
	struct bucket_sum b = { .rising = true, .v = v, .size = n, .fits = true };

	gt_hist_init(&h);
	for (size_t i = 0; i < n; i++)
		gt_hist_add(&h, v[i] = value());
	qsort(v, n, sizeof(*v), by_size);
	gt_hist_buckets(&h, on_bucket, &b);
	is(b.n, n, "%zu values are all in buckets", n);
	ok(b.rising, "bounds rise");
	ok(b.fits, "each bound has as many values at or below it as reported");
	gt_hist_init(&twice);
	gt_hist_fold(&twice, &h);
	gt_hist_fold(&twice, &h);
	b = (struct bucket_sum){ .v = v };
	gt_hist_buckets(&twice, on_bucket, &b);
	ok(b.n == 2 * n && twice.count == 2 * n && twice.sum == 2 * h.sum && twice.min == h.min,
	   "folded twice it is twice as much");
	gt_hist_reset(&twice);
	gt_hist_reset(&h);
	free(v);
}

struct point {
	uint64_t ts, v;
};

/* The values of the ten seconds up to and with that of @now, or all if @now is 0 */
static size_t pick(const struct point *p, size_t n, uint64_t now, uint64_t *v)
{
	size_t k = 0;

	for (size_t i = 0; i < n; i++) {
		if (!now || (p[i].ts / SEC <= now / SEC && now / SEC - p[i].ts / SEC < 10))
			v[k++] = p[i].v;
	}
	return k;
}

static void check_window(void)
{
	enum { N = 30000 };
	struct point *p = malloc(N * sizeof(*p));
	uint64_t *v = malloc(N * sizeof(*v)), ts = 5 * SEC;
	struct gt_summary all, ten;
	bool good = true, later = true;
	struct gt_hist total;
	struct gt_stage s;

	gt_stage_init(&s);
	for (size_t i = 0; i < N; i++) {
		ts += i == N / 2 ? 25 * SEC : rnd() % 3000000;
		/* one in ten is late, by up to 3 s: it belongs to its own second */
		p[i] = (struct point){ rnd() % 10 ? ts : ts - rnd() % (3 * SEC), value() >> 16 };
		gt_stage_add(&s, p[i].ts, p[i].v);
		if (i % 997)
			continue;
		gt_stage_summary(&s, ts, &all, &ten);
		good &= same(&ten, v, pick(p, i + 1, ts, v)) && same(&all, v, pick(p, i + 1, 0, v));
		gt_stage_summary(&s, ts + 4 * SEC, &all, &ten);
		later &= same(&ten, v, pick(p, i + 1, ts + 4 * SEC, v));
	}
	ok(good, "10 s and all agree with sorted arrays, late values too");
	ok(later, "and when nothing came for a while");
	is(gt_stage_count(&s), N, "nothing is counted twice");
	gt_stage_expire(&s, ts + 60 * SEC);
	gt_stage_summary(&s, ts + 60 * SEC, &all, &ten);
	ok(ten.count == 0 && same(&all, v, pick(p, N, 0, v)), "expired values are in the whole");
	gt_stage_total(&s, &total);
	ok(total.count == N && total.sum == all.sum && total.max == all.max, "folded total");
	gt_hist_reset(&total);
	gt_stage_reset(&s);
	is(gt_stage_count(&s), 0, "reset is empty");
	gt_stage_reset(&s);
	free(p);
	free(v);
}

static void check_memory(void)
{
	uint64_t before = gt_hist_memory();
	uint64_t refused = gt_hist_refused();
	struct gt_summary all, last10;
	struct gt_stage s, sum;

	gt_stage_init(&s);
	gt_stage_init(&sum);
	gt_hist_set_limit(before); /* nothing more */
	for (int i = 0; i < 1000; i++)
		gt_stage_add(&s, SEC * (uint64_t)(i / 100), 1000 + (uint64_t)i);
	gt_stage_summary(&s, 9 * SEC, &all, &last10);
	ok(last10.unknown, "without memory nothing is known of the last 10 s");
	ok(!all.unknown && all.unranked, "and of all together no percentile");
	ok(gt_hist_refused() > refused, "which is counted");
	gt_stage_fold(&sum, &s);
	gt_stage_summary(&sum, 9 * SEC, NULL, &last10);
	ok(last10.unknown, "nor of a sum with it");
	gt_stage_summary(&s, 19 * SEC, NULL, &last10);
	ok(!last10.unknown && !last10.count, "10 s later it is known again");
	is(all.count, 1000, "without memory everything is counted");
	ok(all.min == 1000 && all.max == 1999, "and the extremes are right");
	ok(s.base.uncounted + s.cur.uncounted > 0, "what is in no bucket is reported");
	ok(all.p50 >= all.min && all.p50 <= all.max, "percentiles stay within");
	gt_hist_set_limit(512ULL << 20);
	gt_stage_reset(&sum);
	gt_stage_reset(&s);
	is(gt_hist_memory(), before, "all memory is given back");
}

/* What leaves the ten seconds gives its memory back, when it does and no sooner */
static void check_expire(void)
{
	uint64_t before = gt_hist_memory(), full, first;
	struct gt_summary all;
	struct gt_stage s;

	gt_stage_init(&s);
	gt_stage_summary(&s, 0, &all, NULL);
	ok(!all.count && !all.min && !all.max && !all.avg, "of nothing all is 0");
	for (uint64_t i = 0; i < 200; i++)
		gt_stage_add(&s, (5 + i / 100) * SEC, i);
	full = gt_hist_memory();
	gt_stage_expire(&s, 15 * SEC - 1);
	is(gt_hist_memory(), full, "the tenth second before stays");
	gt_stage_expire(&s, 15 * SEC);
	first = gt_hist_memory();
	ok(first < full, "the one before goes");
	is(gt_stage_count(&s), 200, "but what it had");
	gt_stage_reset(&s);
	is(gt_hist_memory(), before, "all is given back");
}

int main(void)
{
	seed = 42;
	check_edges();
	check_sizes();
	check_buckets(20);
	check_buckets(5000);
	check_window();
	check_memory();
	check_expire();
	return done_testing();
}
