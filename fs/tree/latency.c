/* SPDX-License-Identifier: GPL-2.0 */
/* latency and histogram of a ring, and the line of a stage that rings, queues and processes share.
 */
#include <errno.h>

#include "lines.h"

const char *const gt_stage_names[GT_NSTAGES] = GT_STAGE_NAMES;

bool gt_ring_tells(const struct gt_ring *r, enum gt_stage_id st)
{
	if (gt_stage_count(&r->stage[st]))
		return true;
	if (st == GT_ST_QUEUE) /* while no job has ended it may yet be told */
		return r->commits || !r->counts.completed;
	return st != GT_ST_COMPLETE || r->types.n[GT_END].seen;
}

static void summary(struct gt_text *t, const char *prefix, const struct gt_summary *m)
{
	static const char *const keys[] = { "min_ns=", "avg_ns=",  "p50_ns=", "p90_ns=",
					    "p99_ns=", "p999_ns=", "max_ns=" };
	const uint64_t values[] = { m->min, m->avg, m->p50, m->p90, m->p99, m->p999, m->max };

	if (m->unknown)
		return;
	gt_text_str(t, prefix);
	gt_text_str(t, "count=");
	gt_text_u64(t, m->count);
	if (!m->count)
		return;
	for (unsigned int i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		if (keys[i][0] == 'p' && m->unranked)
			continue;
		gt_text_str(t, prefix);
		gt_text_str(t, keys[i]);
		gt_text_u64(t, values[i]);
	}
}

void gt_stage_line(struct gt_text *t, const char *name, const struct gt_summary *all,
		   const struct gt_summary *last10)
{
	gt_text_str(t, name);
	summary(t, " ", all);
	summary(t, " 10s_", last10);
	gt_text_ch(t, '\n');
}

/* The lock is taken for each stage: summing up one takes microseconds. */
int gt_show_ring_latency(struct gt_text *t, const struct gt_show *s)
{
	uint64_t now = gt_model_now(s->app->model);
	struct gt_summary all, last10;
	bool told, measured = false;

	for (enum gt_stage_id st = 0; st < GT_NSTAGES; st++) {
		{
			GT_MODEL_LOCK(s->app->model);
			const struct gt_ring *r = gt_obj_ring(s);

			if (!r)
				return -ENODEV;
			measured = r->measured;
			told = gt_ring_tells(r, st);
			if (told)
				gt_stage_summary(&r->stage[st], now, &all, &last10);
		}
		if (told)
			gt_stage_line(t, gt_stage_names[st], &all, &last10);
	}
	gt_text_kvs(t, "exec_source", measured ? "measured" : "inferred");
	return 0;
}

/*
 * Fixed bounds, so that two reads subtract: 1023, 1535, 2047, 3071 … ns. They are the ends of
 * buckets of struct gt_hist, so the counts are exact.
 */
#define BOUND_FIRST 10 /* 2^10 - 1 ns */
#define BOUND_LAST  40 /* 2^40 - 1 ns, 18 minutes */
#define NBOUNDS	    (2 * (BOUND_LAST - BOUND_FIRST) + 1)

static uint64_t bound(unsigned int i)
{
	uint64_t base = 1ULL << (BOUND_FIRST + i / 2);

	return (i & 1 ? base + base / 2 : base) - 1;
}

/** struct per_bound - values above the bound before and up to this one; the last: above all */
struct per_bound {
	uint64_t n[NBOUNDS + 1];
};

static void add_bucket(void *arg, uint64_t le, uint64_t n)
{
	struct per_bound *c = arg;
	unsigned int i = 0;

	if (le > bound(0)) /* the bounds before this octave are all smaller */
		i = 2 * (63 - (unsigned int)__builtin_clzll(le) - BOUND_FIRST);
	while (i < NBOUNDS && le > bound(i))
		i++;
	c->n[i < NBOUNDS ? i : NBOUNDS] += n;
}

static void histogram_rows(struct gt_text *t, const char *stage, const struct gt_hist *h)
{
	struct per_bound c = { { 0 } };
	uint64_t sum = 0;

	gt_hist_buckets(h, add_bucket, &c);
	for (unsigned int i = 0; i < NBOUNDS; i++) {
		gt_cell(t, stage);
		gt_cell_u64(t, bound(i));
		gt_cell_u64(t, sum += c.n[i]);
		gt_text_ch(t, '\n');
	}
	gt_cell(t, stage);
	gt_cell(t, "+Inf");
	gt_cell_u64(t, h->count);
	gt_text_ch(t, '\n');
}

int gt_show_ring_histogram(struct gt_text *t, const struct gt_show *s)
{
	struct gt_hist h;
	bool told;

	gt_text_str(t, "# stage le_ns count\n");
	for (enum gt_stage_id st = 0; st < GT_NSTAGES; st++) {
		{
			GT_MODEL_LOCK(s->app->model);
			const struct gt_ring *r = gt_obj_ring(s);

			if (!r)
				return -ENODEV;
			told = gt_ring_tells(r, st);
			if (told)
				gt_stage_total(&r->stage[st], &h);
		}
		if (!told)
			continue;
		histogram_rows(t, gt_stage_names[st], &h);
		gt_hist_reset(&h);
	}
	return 0;
}
