/* SPDX-License-Identifier: GPL-2.0 */
/* Tables of the root and of a GPU. A row is copied under the lock, and formatted without it. */
#include <errno.h>
#include <string.h>

#include "lines.h"

#define LATE_NS 100000000ULL

/** struct gpu_row - what a row of gpus tells, copied */
struct gpu_row {
	char name[16], driver[16], pci[16], card[16], render[16], uuid[48], partition[16];
	uint32_t kfd_id;
	bool any, gone, rings;
	bool busy, used; /* something is read off of it, of its processes */
};

static bool take_gpu(const struct gt_show *s, unsigned int i, struct gpu_row *row)
{
	struct gt_model *m = s->app->model;
	const struct gt_gpu *g;

	GT_MODEL_LOCK(m);
	if (i >= m->ngpus)
		return false;
	g = m->gpus[i];
	memcpy(row->name, g->name, sizeof(row->name));
	memcpy(row->driver, g->driver, sizeof(row->driver));
	memcpy(row->pci, g->pci, sizeof(row->pci));
	memcpy(row->card, g->card, sizeof(row->card));
	memcpy(row->render, g->render, sizeof(row->render));
	memcpy(row->uuid, g->uuid, sizeof(row->uuid));
	memcpy(row->partition, g->partition, sizeof(row->partition));
	row->kfd_id = g->kfd_id;
	row->any = g->any;
	row->gone = g->gone;
	row->rings = g->nrings;
	row->used = g->use && g->use->engines;
	row->busy = g->gauges && g->gauges->has & 1U << GT_GAUGE_BUSY;
	return true;
}

static void optional_word(struct gt_text *t, const char *s, size_t max)
{
	gt_cell_word(t, s[0] ? s : NULL, max);
}

int gt_show_gpus(struct gt_text *t, const struct gt_show *s)
{
	struct gpu_row row;

	gt_text_str(t, "# name driver pci card render kfd_id uuid partition utilization_source "
		       "flags\n");
	for (unsigned int i = 0; take_gpu(s, i, &row); i++) {
		if (row.gone)
			continue;
		optional_word(t, row.name, sizeof(row.name));
		optional_word(t, row.driver, sizeof(row.driver));
		optional_word(t, row.pci, sizeof(row.pci));
		optional_word(t, row.card, sizeof(row.card));
		optional_word(t, row.render, sizeof(row.render));
		gt_cell_u64(t, row.kfd_id ? row.kfd_id : GT_NONE64);
		optional_word(t, row.uuid, sizeof(row.uuid));
		optional_word(t, row.partition, sizeof(row.partition));
		gt_cell(t, row.rings ? "scheduler" : row.used ? "fdinfo" : row.busy ? "sysfs" : NULL);
		gt_cell(t, row.any ? "any" : NULL);
		gt_text_ch(t, '\n');
	}
	return 0;
}

/** struct ring_row - what tables tell of a ring, copied */
struct ring_row {
	char gpu[16], name[40];
	uint16_t id;
	enum gt_engine engine;
	bool measured, commits;
	uint32_t depth;
	uint64_t busy_ns; /* of the last 10 s */
	struct gt_counts counts;
	struct gt_window_stats last;
	uint64_t window_busy_ns; /* of it */
};

/*
 * Live events come a little after their time: a window ends no earlier for a reader than it may for
 * them.
 */
static uint64_t window_now(const struct gt_model *m, uint64_t now)
{
	return m->wall && now > m->now + LATE_NS ? now - LATE_NS : m->now;
}

static bool take_ring(const struct gt_show *s, struct gt_ring_pos *p, struct ring_row *row)
{
	struct gt_model *m = s->app->model;
	uint64_t now = gt_model_now(m);
	struct gt_ring *r;

	GT_MODEL_LOCK(m);
	r = gt_ring_next(s, p);
	if (!r)
		return false;
	gt_ring_window(r, window_now(m, now), m->window_ns);
	memcpy(row->gpu, m->gpus[r->gpu]->name, sizeof(row->gpu));
	memcpy(row->name, r->name, sizeof(row->name));
	row->id = r->id;
	row->engine = r->engine;
	row->measured = r->measured;
	row->commits = r->commits;
	row->depth = r->depth.now;
	row->busy_ns = gt_ring_busy_ns(m, r, now, 10 * GT_SEC);
	row->counts = r->counts;
	row->last = r->last;
	row->window_busy_ns = gt_window_busy(r, &r->last, now);
	return true;
}

/* ENODEV where a GPU's table is asked for and the GPU has gone */
static int check(const struct gt_show *s)
{
	GT_MODEL_LOCK(s->app->model);
	return s->obj.kind == GT_DIR_ROOT || gt_obj_gpu(s) ? 0 : -ENODEV;
}

static void ring_cells(struct gt_text *t, const struct ring_row *row)
{
	gt_cell_word(t, row->gpu, sizeof(row->gpu));
	gt_cell_ring(t, row->id);
	gt_cell_word(t, row->name, sizeof(row->name));
}

int gt_show_rings(struct gt_text *t, const struct gt_show *s)
{
	struct gt_ring_pos p = { 0 };
	struct ring_row row;
	int err = check(s);

	gt_text_str(t, "# gpu ring name engine depth busy_percent submitted completed errors lost "
		       "exec_source\n");
	while (!err && take_ring(s, &p, &row)) {
		ring_cells(t, &row);
		gt_cell(t, gt_engine_name(row.engine));
		gt_cell_u64(t, row.depth);
		gt_cell_ratio(t, gt_percent(row.busy_ns, 10 * GT_SEC), 1000);
		gt_cell_u64(t, row.counts.submitted);
		gt_cell_u64(t, row.counts.completed);
		gt_cell_u64(t, row.counts.errors);
		gt_cell_u64(t, row.counts.lost);
		gt_cell(t, row.measured ? "measured" : "inferred");
		gt_text_ch(t, '\n');
	}
	return err;
}

int gt_show_aggregate(struct gt_text *t, const struct gt_show *s)
{
	struct gt_ring_pos p = { 0 };
	struct ring_row row;
	int err = check(s);

	gt_text_str(t, "# gpu ring name events avg_latency_ns min_latency_ns max_latency_ns "
		       "avg_depth peak_depth start window_ns\n");
	while (!err && take_ring(s, &p, &row)) {
		const struct gt_window_stats *w = &row.last;
		uint64_t n = w->lat_count;

		ring_cells(t, &row);
		gt_cell_u64(t, w->end ? w->events : GT_NONE64);
		gt_cell_u64(t, n ? w->lat_sum / n : GT_NONE64);
		gt_cell_u64(t, n ? w->lat_min : GT_NONE64);
		gt_cell_u64(t, n ? w->lat_max : GT_NONE64);
		gt_cell_ratio(t, w->depth_integral, w->end - w->start);
		gt_cell_u64(t, w->end ? w->depth_peak : GT_NONE64);
		gt_cell_time(t, w->end ? w->start : GT_NONE64);
		gt_cell_u64(t, w->end ? w->end - w->start : GT_NONE64);
		gt_text_ch(t, '\n');
	}
	return err;
}

int gt_show_perf(struct gt_text *t, const struct gt_show *s)
{
	struct gt_ring_pos p = { 0 };
	struct ring_row row;
	int err = check(s);

	gt_text_str(t, "# ring_id utilization% drop_rate% avg_latency_us\n");
	while (!err && take_ring(s, &p, &row)) {
		const struct gt_window_stats *w = &row.last;
		/* what was lost of any ring may have been of this one: its rate is not known */
		bool known = w->lost || !w->blind;

		gt_cell_word(t, row.gpu, sizeof(row.gpu));
		gt_text_str(t, "/ring");
		gt_text_u64(t, row.id);
		gt_cell_ratio(t, row.window_busy_ns * 100, w->end - w->start);
		gt_cell_ratio(t, w->lost * 100, known ? w->lost + w->events : 0);
		gt_cell_ratio(t, w->lat_sum, w->lat_count * 1000);
		gt_text_ch(t, '\n');
	}
	return err;
}

/* Return: 0, or -ENODEV; @custom: names of the CUSTOM events */
static int take_types(const struct gt_show *s, struct gt_typecount *c, char custom[7][32])
{
	struct gt_model *m = s->app->model;
	const struct gt_typecount *from;
	const struct gt_ring *r;
	const struct gt_gpu *g;

	GT_MODEL_LOCK(m);
	r = s->obj.kind == GT_DIR_RING ? gt_obj_ring(s) : NULL;
	g = s->obj.kind == GT_DIR_GPU ? gt_obj_gpu(s) : NULL;
	from = r ? &r->types : g ? &g->types : s->obj.kind == GT_DIR_ROOT ? &m->types : NULL;
	if (!from)
		return -ENODEV;
	*c = *from;
	memcpy(custom, m->custom, sizeof(m->custom));
	return 0;
}

int gt_show_events_by_type(struct gt_text *t, const struct gt_show *s)
{
	uint64_t now = gt_model_now(s->app->model);
	struct gt_typecount c;
	char custom[7][32];
	int err = take_types(s, &c, custom);

	if (err)
		return err;
	gt_text_str(t, "# type seen recorded per_second\n");
	for (unsigned int i = 0; i < GT_NTYPES; i++) {
		bool named = i >= GT_CUSTOM0 && custom[i - GT_CUSTOM0][0];

		if (!c.n[i].seen)
			continue;
		gt_cell_word(t, named ? custom[i - GT_CUSTOM0] : gt_type_name(i), 32);
		gt_cell_u64(t, c.n[i].seen);
		gt_cell_u64(t, c.n[i].recorded);
		gt_cell_ratio(t, gt_types_rate(&c, i, now, 10), 1000);
		gt_text_ch(t, '\n');
	}
	return 0;
}
