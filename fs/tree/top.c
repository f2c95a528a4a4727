/* SPDX-License-Identifier: GPL-2.0 */
/* top: processes by GPU time over the last 10 s, a row for each GPU that one uses. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lines.h"

#define TOP_ROWS 100
#define WINDOW	 (10 * GT_SEC)

/** struct top_row - one process on one GPU; @slot and @start say which process */
struct top_row {
	uint32_t slot, pid, uid;
	uint64_t start, first_ts;
	uint16_t gpu;
	char comm[16];
	uint64_t busy_ns; /* all its rings together: more than the window if several ran at once */
	uint64_t bytes;	  /* memory that it holds; GT_NONE64 unknown */
};

/* Where no event tells how busy it was on GPU @g: what is read off, if any is */
static bool read_off(const struct gt_proc *p, uint16_t g, uint64_t now, uint64_t *busy, uint64_t *bytes)
{
	const struct gt_use *u = gt_use_of(p->uses, g);
	uint64_t ns = gt_use_ns(u, now, WINDOW);

	*bytes = gt_use_bytes(u);
	if (!*busy && ns != GT_NONE64)
		*busy = ns;
	return *busy || (*bytes && *bytes != GT_NONE64);
}

/* One process into @rows; returns how many GPUs it was busy on, or holds memory of. Lock held. */
static unsigned int measure(const struct gt_model *m, const struct gt_proc *p, uint64_t now,
			    struct top_row *rows)
{
	uint64_t busy[GT_MAX_GPUS] = { 0 }, bytes;
	unsigned int n = 0;

	for (const struct gt_proc_ring *r = p->rings; r; r = r->next)
		if (r->gpu < m->ngpus && !m->gpus[r->gpu]->gone)
			busy[r->gpu] += gt_busy_ns(&r->busy, now, WINDOW);
	for (uint16_t g = 0; g < GT_MAX_GPUS; g++) {
		if (g >= m->ngpus || m->gpus[g]->gone || !read_off(p, g, now, &busy[g], &bytes))
			continue;
		rows[n] = (struct top_row){ .slot = p->slot,
					    .pid = p->pid,
					    .uid = p->uid,
					    .start = p->start,
					    .first_ts = p->first_ts,
					    .gpu = g,
					    .busy_ns = busy[g],
					    .bytes = bytes };
		memcpy(rows[n++].comm, p->comm, sizeof(p->comm));
	}
	return n;
}

/* Processes whose last event is older were busy with nothing that is known. */
static bool recent(const struct gt_proc *p, uint64_t now)
{
	return p->last_ts + WINDOW > now || p->uses;
}

static int by_busy(const void *a, const void *b)
{
	const struct top_row *x = a, *y = b;

	if (x->busy_ns != y->busy_ns)
		return x->busy_ns > y->busy_ns ? -1 : 1;
	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return (int)x->gpu - (int)y->gpu;
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

/* The busiest that the caller is shown. */
static unsigned int find_top(const struct gt_show *s, uint64_t now, struct top_row *top)
{
	struct gt_model *m = s->app->model;
	struct top_row found[GT_MAX_GPUS];
	unsigned int n = 0, slots = 1;

	for (unsigned int i = 0; i < slots; i++) {
		unsigned int k = 0;
		{
			GT_MODEL_LOCK(m);
			const struct gt_proc *p = i < m->proc_slots ? m->procs[i] : NULL;

			slots = m->proc_slots;
			if (p && recent(p, now) &&
			    gt_see(&s->view, p->pid, p->uid, p->first_ts) != GT_SEE_NOT)
				k = measure(m, p, now, found);
		}
		while (k)
			n = insert(top, n, &found[--k]);
	}
	return n;
}

/**
 * struct recent_work - of one process on one GPU in the window: jobs, and their times queued
 * @unknown: memory was lacking to keep the window apart; @told: events told of any
 */
struct recent_work {
	uint64_t jobs;
	bool unknown, told;
	struct gt_stage queue; /* all in its base */
};

static void add_ring(struct recent_work *w, const struct gt_proc_ring *r, uint64_t now)
{
	const struct gt_stage *q = &r->stage[GT_ST_QUEUE];
	struct gt_summary total;

	gt_stage_summary(&r->stage[GT_ST_TOTAL], now, NULL, &total);
	w->told = true;
	w->jobs += total.count;
	w->unknown |= total.unknown;
	for (int i = 0; i < GT_STAGE_SLOTS; i++) {
		uint64_t age = now / GT_SEC - q->slot_sec[i];

		if (q->slot[i] && q->slot_sec[i] <= now / GT_SEC && age < GT_STAGE_SLOTS)
			gt_hist_fold(&w->queue.base, q->slot[i]);
	}
}

/* Locks for each ring: adding one takes microseconds. */
static void look_closer(const struct gt_show *s, const struct top_row *row, uint64_t now,
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
		if (r)
			add_ring(w, r, now);
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

static void top_line(struct gt_text *t, const struct gt_show *s, const struct top_row *row,
		     uint64_t now)
{
	bool whole = gt_see(&s->view, row->pid, row->uid, row->first_ts) == GT_SEE_WHOLE;
	uint32_t pid = gt_view_pid(&s->view, row->pid, row->first_ts);
	struct recent_work w = { 0 };
	struct gt_summary queue;

	gt_stage_init(&w.queue);
	look_closer(s, row, now, &w);
	gt_stage_summary(&w.queue, now, &queue, NULL);
	gt_stage_reset(&w.queue);
	gt_cell_u32(t, whole ? pid : GT_NONE32);
	gt_cell_u32(t, whole ? row->uid : GT_NONE32);
	gt_cell_word(t, whole && row->comm[0] ? row->comm : NULL, sizeof(row->comm));
	gpu_name(t, s->app->model, row->gpu);
	gt_cell_ratio(t, row->busy_ns * 100, WINDOW);
	gt_cell_u64(t, w.unknown || !w.told ? GT_NONE64 : w.jobs);
	gt_cell_u64(t, queue.count && !queue.unranked && !w.unknown ? queue.p99 : GT_NONE64);
	gt_cell_u64(t, row->bytes);
	gt_text_ch(t, '\n');
}

int gt_show_top(struct gt_text *t, const struct gt_show *s)
{
	struct top_row top[TOP_ROWS];
	uint64_t now;
	unsigned int n;

	gt_app_look(s->app, GT_LOOK_PROCS);
	now = gt_model_now(s->app->model);
	n = find_top(s, now, top);
	gt_text_str(t, "# pid uid comm gpu busy_percent jobs queue_p99_ns memory_bytes\n");
	for (unsigned int i = 0; i < n && !t->failed; i++)
		top_line(t, s, &top[i], now);
	return 0;
}
