/* SPDX-License-Identifier: GPL-2.0 */
/*
 * top: processes by GPU time, a row for each engine of each GPU that one uses. Live over the last
 * 10 s, of a recording over all of it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lines.h"

#define TOP_ROWS  100
#define NO_ENGINE GT_NENGINES /* it holds memory only */

/** struct top_row - one process on one engine; @slot and @start say which process */
struct top_row {
	uint32_t slot, pid, uid;
	uint64_t start, first_ts;
	uint16_t gpu;
	unsigned int engine;
	char comm[16];
	uint64_t busy_ns;
	uint64_t bytes; /* memory that it holds on the GPU; GT_NONE64 unknown */
};

/** struct top - the busiest; @used: ns of each engine, by all together */
struct top {
	uint64_t now, window, observed;
	unsigned int n;
	struct top_row row[TOP_ROWS];
	uint64_t used[GT_MAX_GPUS][GT_NENGINES];
};

static unsigned int engine_of(const struct gt_model *m, const struct gt_proc_ring *r)
{
	return m->gpus[r->gpu]->rings[r->ring]->engine;
}

static bool here(const struct gt_model *m, const struct gt_proc_ring *r)
{
	return r->gpu < m->ngpus && !m->gpus[r->gpu]->gone;
}

static bool same_engine(const struct gt_model *m, const struct gt_proc_ring *a,
			const struct gt_proc_ring *b)
{
	return a->gpu == b->gpu && engine_of(m, a) == engine_of(m, b);
}

/* How long the engine of @first was busy with the process, of whose rings there that is the first:
 * when several work at once, their time counts once */
static uint64_t engine_ns(const struct top *t, const struct gt_model *m,
			  const struct gt_proc_ring *first)
{
	uint64_t ns = 0;

	if (first->engine)
		return gt_busy_ns(first->engine, t->now, t->window);
	for (const struct gt_proc_ring *r = first; r; r = r->next)
		if (here(m, r) && same_engine(m, r, first))
			ns += gt_busy_ns(&r->busy, t->now, t->window);
	return ns < t->observed ? ns : t->observed;
}

static bool is_first(const struct gt_model *m, const struct gt_proc *p,
		     const struct gt_proc_ring *r)
{
	for (const struct gt_proc_ring *o = p->rings; o != r; o = o->next)
		if (here(m, o) && same_engine(m, o, r))
			return false;
	return true;
}

/** struct busy - of a process by GPU and engine; @told: events told of it */
struct busy {
	uint64_t ns[GT_NENGINES];
	bool told;
};

/* Where no event tells how busy it was on GPU @g: what is read off, if any is */
static void read_off(const struct top *t, const struct gt_use *u, struct busy *b)
{
	for (unsigned int e = 0; !b->told && e < GT_NENGINES; e++) {
		uint64_t ns = gt_use_engine_ns(u, e, t->now, t->window);

		b->ns[e] = ns == GT_NONE64 ? 0 : ns < t->observed ? ns : t->observed;
	}
}

static struct top_row row_of(const struct gt_proc *p, uint16_t gpu, unsigned int engine,
			     uint64_t busy, uint64_t bytes)
{
	struct top_row row = { .slot = p->slot,
			       .pid = p->pid,
			       .uid = p->uid,
			       .start = p->start,
			       .first_ts = p->first_ts,
			       .gpu = gpu,
			       .engine = engine,
			       .busy_ns = busy,
			       .bytes = bytes };

	memcpy(row.comm, p->comm, sizeof(p->comm));
	return row;
}

/* One process into @rows; returns how many engines it was busy on, or GPUs that it only holds
 * memory of. Lock held. */
static unsigned int measure(struct top *t, const struct gt_model *m, const struct gt_proc *p,
			    struct top_row *rows)
{
	struct busy busy[GT_MAX_GPUS] = { 0 };
	unsigned int n = 0;

	for (const struct gt_proc_ring *r = p->rings; r; r = r->next)
		if (here(m, r) && is_first(m, p, r)) {
			uint64_t ns = engine_ns(t, m, r);

			busy[r->gpu].ns[engine_of(m, r)] = ns;
			busy[r->gpu].told |= ns != 0;
		}
	for (uint16_t g = 0; g < m->ngpus; g++) {
		const struct gt_use *u = gt_use_of(p->uses, g);
		uint64_t bytes = gt_use_bytes(u);
		unsigned int had = n;

		if (m->gpus[g]->gone)
			continue;
		read_off(t, u, &busy[g]);
		for (unsigned int e = 0; e < GT_NENGINES; e++) {
			t->used[g][e] += busy[g].ns[e];
			if (busy[g].ns[e])
				rows[n++] = row_of(p, g, e, busy[g].ns[e], bytes);
		}
		if (n == had && bytes && bytes != GT_NONE64)
			rows[n++] = row_of(p, g, NO_ENGINE, 0, bytes);
	}
	return n;
}

/* Processes whose last event is older were busy with nothing that is known. */
static bool recent(const struct top *t, const struct gt_proc *p)
{
	return t->window == GT_ALL || p->last_ts + t->window > t->now || p->uses;
}

static int by_busy(const void *a, const void *b)
{
	const struct top_row *x = a, *y = b;

	if (x->busy_ns != y->busy_ns)
		return x->busy_ns > y->busy_ns ? -1 : 1;
	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	if (x->gpu != y->gpu)
		return (int)x->gpu - (int)y->gpu;
	return (int)x->engine - (int)y->engine;
}

/* Puts @row among the @n busiest, of which there are at most TOP_ROWS; returns the new @n. */
static unsigned int insert(struct top_row *top, unsigned int n, const struct top_row *row)
{
	unsigned int at = n;

	while (at && by_busy(row, &top[at - 1]) < 0)
		at--;
	if (at == TOP_ROWS)
		return n;
	if (n < TOP_ROWS)
		n++;
	memmove(&top[at + 1], &top[at], (n - 1 - at) * sizeof(*top));
	top[at] = *row;
	return n;
}

/* The busiest that the caller is shown; what others did is in the sums. */
static void find_top(const struct gt_show *s, struct top *t)
{
	struct gt_model *m = s->app->model;
	struct top_row found[GT_MAX_GPUS * GT_NENGINES];
	unsigned int slots = 1;

	for (unsigned int i = 0; i < slots; i++) {
		unsigned int k = 0;
		{
			GT_MODEL_LOCK(m);
			const struct gt_proc *p = i < m->proc_slots ? m->procs[i] : NULL;

			slots = m->proc_slots;
			if (p && recent(t, p))
				k = measure(t, m, p, found);
			if (p && gt_see(&s->view, p->pid, p->uid, p->first_ts) == GT_SEE_NOT)
				k = 0;
		}
		while (k)
			t->n = insert(t->row, t->n, &found[--k]);
	}
}

/**
 * struct recent_work - of one process on one engine in the window: jobs, and their times queued
 * @unknown: memory was lacking to keep the window apart; @told: events told of any
 */
struct recent_work {
	uint64_t jobs;
	bool unknown, told;
	struct gt_stage queue; /* all in its base */
};

static void add_ring(struct recent_work *w, const struct gt_proc_ring *r, const struct top *t)
{
	const struct gt_stage *q = &r->stage[GT_ST_QUEUE];
	struct gt_summary total;
	uint64_t now = t->now;

	w->told = true;
	if (t->window == GT_ALL) {
		w->jobs += gt_stage_count(&r->stage[GT_ST_TOTAL]);
		gt_stage_fold(&w->queue, q);
		return;
	}
	gt_stage_summary(&r->stage[GT_ST_TOTAL], now, NULL, &total);
	w->jobs += total.count;
	w->unknown |= total.unknown;
	for (int i = 0; i < GT_STAGE_SLOTS; i++) {
		uint64_t age = now / GT_SEC - q->slot_sec[i];

		if (q->slot[i] && q->slot_sec[i] <= now / GT_SEC && age < GT_STAGE_SLOTS)
			gt_hist_fold(&w->queue.base, q->slot[i]);
	}
}

/* Locks for each ring: adding one takes microseconds. */
static void look_closer(const struct gt_show *s, const struct top_row *row, const struct top *t,
			struct recent_work *w)
{
	const struct gt_show who = { .app = s->app,
				     .obj = { .kind = GT_DIR_PROC,
					      .gpu = GT_NONE16,
					      .id = row->slot,
					      .pid = row->pid,
					      .start = row->start } };
	struct gt_ring_set set = { { { 0 } } };
	struct gt_ring_key k = { 0 };
	const struct gt_proc_ring *r;
	const struct gt_proc *p;

	{
		GT_MODEL_LOCK(s->app->model);
		p = gt_obj_proc(&who);
		if (p)
			gt_ring_set_of(&set, p, row->gpu);
	}
	for (; gt_ring_set_next(&set, &k); k.ring++) {
		GT_MODEL_LOCK(s->app->model);
		p = gt_obj_proc(&who);
		r = p ? gt_proc_ring_at(p, k) : NULL;
		if (r && engine_of(s->app->model, r) == row->engine)
			add_ring(w, r, t);
	}
}

static void gpu_name(struct gt_text *t, struct gt_model *m, uint16_t gpu)
{
	char name[16];
	{
		GT_MODEL_LOCK(m);
		memcpy(name, m->gpus[gpu]->name, sizeof(name));
	}
	gt_cell_word(t, name, sizeof(name));
}

static void top_line(struct gt_text *t, const struct gt_show *s, const struct top *top,
		     const struct top_row *row)
{
	bool engine = row->engine != NO_ENGINE;
	bool whole = gt_see(&s->view, row->pid, row->uid, row->first_ts) == GT_SEE_WHOLE;
	uint32_t pid = gt_view_pid(&s->view, row->pid, row->first_ts);
	struct recent_work w = { 0 };
	struct gt_summary queue;
	uint64_t used;

	gt_stage_init(&w.queue);
	look_closer(s, row, top, &w);
	gt_stage_summary(&w.queue, top->now, &queue, NULL);
	gt_stage_reset(&w.queue);
	gt_cell_u32(t, whole ? pid : GT_NONE32);
	gt_cell_u32(t, whole ? row->uid : GT_NONE32);
	gt_cell_word(t, whole && row->comm[0] ? row->comm : NULL, sizeof(row->comm));
	gpu_name(t, s->app->model, row->gpu);
	gt_cell_ratio(t, gt_percent(row->busy_ns, top->observed), top->observed ? 1000 : 0);
	gt_cell_u64(t, w.unknown || !w.told ? GT_NONE64 : w.jobs);
	gt_cell_u64(t, queue.count && !queue.unranked && !w.unknown ? queue.p99 : GT_NONE64);
	gt_cell_u64(t, row->bytes);
	gt_cell(t, engine ? gt_engine_name((enum gt_engine)row->engine) : NULL);
	used = engine ? top->used[row->gpu][row->engine] : 0;
	gt_cell_ratio(t, gt_percent(row->busy_ns, used), used ? 1000 : 0);
	gt_text_ch(t, '\n');
}

int gt_show_top(struct gt_text *t, const struct gt_show *s)
{
	struct top *top = calloc(1, sizeof(*top));

	if (!top)
		return -ENOMEM;
	gt_app_look(s->app, GT_LOOK_PROCS);
	top->now = gt_model_now(s->app->model);
	top->window = gt_table_window(s->app->model);
	top->observed = gt_observed(s->app->model, top->now, top->window);
	find_top(s, top);
	gt_text_str(t, "# pid uid comm gpu busy_percent jobs queue_p99_ns memory_bytes engine "
		       "share_percent\n");
	for (unsigned int i = 0; i < top->n && !t->failed; i++)
		top_line(t, s, top, &top->row[i]);
	free(top);
	return 0;
}
