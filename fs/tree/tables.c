/* SPDX-License-Identifier: GPL-2.0 */
/* Tables of the root and of a GPU. A row is copied under the lock, and formatted without it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../backend/lib/ioctl_names.h"
#include "internal.h"

/* Cells of tables, and names copied from the model. */

/* Rings or processes that are copied under one lock: some microseconds. */
#define COPY_AT_ONCE 64

static void gap(struct gt_text *t)
{
	if (t->len && t->buf[t->len - 1] != '\n')
		gt_text_ch(t, ' ');
}

void gt_cell(struct gt_text *t, const char *s)
{
	gap(t);
	gt_text_str(t, s ? s : "-");
}

void gt_cell_word(struct gt_text *t, const char *s, size_t max)
{
	gap(t);
	if (s)
		gt_text_word(t, s, max);
	else
		gt_text_dash(t);
}

void gt_cell_u64(struct gt_text *t, uint64_t v)
{
	gap(t);
	if (v == GT_NONE64)
		gt_text_dash(t);
	else
		gt_text_u64(t, v);
}

void gt_known_kv(struct gt_text *t, const char *key, uint64_t v)
{
	if (v != GT_NONE64)
		gt_text_kv(t, key, v);
}

void gt_known_gkv(struct gt_text *t, const char *key, uint64_t v)
{
	if (v != GT_NONE64)
		gt_text_gkv(t, key, v);
}

void gt_cell_u32(struct gt_text *t, uint32_t v)
{
	gt_cell_u64(t, v == GT_NONE32 ? GT_NONE64 : v);
}

void gt_cell_ring(struct gt_text *t, uint16_t ring)
{
	if (ring == GT_NONE16) {
		gt_cell(t, NULL);
		return;
	}
	gt_cell(t, "ring");
	gt_text_u64(t, ring);
}

void gt_cell_ratio(struct gt_text *t, uint64_t n, uint64_t d)
{
	gap(t);
	if (d)
		gt_text_milli(t, (uint64_t)((unsigned __int128)n * 1000 / d), 2);
	else
		gt_text_dash(t);
}

void gt_cell_percent(struct gt_text *t, uint64_t ns, uint64_t window)
{
	gt_cell_ratio(t, gt_percent(ns, window), window && ns != GT_NONE64 ? 1000 : 0);
}

void gt_time(struct gt_text *t, uint64_t ts)
{
	char nsec[10] = ".";
	uint64_t rest = ts % GT_SEC;

	for (int i = 9; i > 0; i--, rest /= 10)
		nsec[i] = (char)('0' + rest % 10);
	gt_text_u64(t, ts / GT_SEC);
	gt_text_mem(t, nsec, sizeof(nsec));
}

void gt_cell_time(struct gt_text *t, uint64_t ts)
{
	gap(t);
	if (ts == GT_NONE64)
		gt_text_dash(t);
	else
		gt_time(t, ts);
}

uint64_t gt_percent(uint64_t ns, uint64_t window)
{
	if (!window)
		return 0;
	if (ns > window)
		ns = window;
	return (uint64_t)((unsigned __int128)ns * 100000 / window);
}

struct gt_ring *gt_ring_next(const struct gt_show *s, struct gt_ring_pos *p)
{
	const struct gt_model *m = s->app->model;
	bool one = s->obj.kind != GT_DIR_ROOT;
	unsigned int end = one ? s->obj.gpu + 1U : m->ngpus;

	if (one && p->gpu < s->obj.gpu)
		p->gpu = s->obj.gpu;
	for (; p->gpu < end && p->gpu < m->ngpus; p->gpu++, p->ring = 0)
		if (!m->gpus[p->gpu]->gone && p->ring < m->gpus[p->gpu]->nrings)
			return m->gpus[p->gpu]->rings[p->ring++];
	return NULL;
}

/* Rings are never fewer than they were: room is made for those of now, more are left out. */
static int take_rings(struct gt_model *m, struct gt_names *n, unsigned int gpu)
{
	struct gt_name_ring *to;
	unsigned int nrings, at = 0;

	{
		GT_MODEL_LOCK(m);
		nrings = m->gpus[gpu]->nrings;
		memcpy(n->gpu[gpu].name, m->gpus[gpu]->name, sizeof(n->gpu[gpu].name));
		memcpy(n->gpu[gpu].driver, m->gpus[gpu]->driver, sizeof(n->gpu[gpu].driver));
	}
	to = calloc(nrings ? nrings : 1, sizeof(*to));
	if (!to)
		return -1;
	n->gpu[gpu].ring = to;
	n->gpu[gpu].nrings = nrings;
	while (at < nrings) {
		GT_MODEL_LOCK(m);
		for (unsigned int i = 0; i < COPY_AT_ONCE && at < nrings; i++, at++) {
			const struct gt_ring *r = m->gpus[gpu]->rings[at];

			memcpy(to[at].name, r->name, sizeof(to[at].name));
			to[at].engine = r->engine;
			to[at].work = r->work;
		}
	}
	return 0;
}

static int by_pid(const void *a, const void *b)
{
	const struct gt_name_proc *p = a, *q = b;

	if (p->pid != q->pid)
		return p->pid < q->pid ? -1 : 1;
	return (int)p->dead - (int)q->dead;
}

static int take_procs(struct gt_model *m, struct gt_names *n)
{
	unsigned int slots, at = 0, room;
	size_t kept = 0;

	{
		GT_MODEL_LOCK(m);
		slots = m->proc_slots;
	}
	room = slots;
	n->proc = calloc(room ? room : 1, sizeof(*n->proc));
	if (!n->proc)
		return -1;
	while (at < slots) {
		GT_MODEL_LOCK(m);
		if (slots > m->proc_slots)
			slots = m->proc_slots;
		for (unsigned int i = 0; i < COPY_AT_ONCE && at < slots; i++, at++) {
			const struct gt_proc *p = m->procs[at];
			struct gt_name_proc *to = &n->proc[n->nprocs];

			if (!p)
				continue;
			to->uid = p->uid;
			to->first_ts = p->first_ts;
			to->pid = p->pid;
			to->dead = p->dead;
			memcpy(to->comm, p->comm, sizeof(to->comm));
			n->nprocs++;
		}
	}
	qsort(n->proc, n->nprocs, sizeof(*n->proc), by_pid);
	for (size_t i = 0; i < n->nprocs; i++)
		if (!kept || n->proc[kept - 1].pid != n->proc[i].pid)
			n->proc[kept++] = n->proc[i];
	n->nprocs = kept;
	return 0;
}

static int take_kernels(struct gt_model *m, struct gt_names *n)
{
	unsigned int room;
	{
		GT_MODEL_LOCK(m);
		room = m->nkernels;
	}
	n->kernel = calloc(room ? room : 1, sizeof(*n->kernel));
	if (!n->kernel)
		return -1;
	while (n->nkernels < room) {
		unsigned int end = room - n->nkernels > 64 ? n->nkernels + 64 : room;
		GT_MODEL_LOCK(m);

		/* a recording that is played again begins without any */
		if (room > m->nkernels)
			room = m->nkernels;
		for (; n->nkernels < end && n->nkernels < room; n->nkernels++)
			memcpy(n->kernel[n->nkernels], m->kernels[n->nkernels]->dir,
			       sizeof(*n->kernel));
	}
	return 0;
}

static int take_functions(struct gt_model *m, struct gt_names *n)
{
	unsigned int room;

	{
		GT_MODEL_LOCK(m);
		room = m->nfunctions;
	}
	n->function = calloc(room ? room : 1, sizeof(*n->function));
	if (!n->function)
		return -1;
	while (n->nfunctions < room) {
		unsigned int some = room - n->nfunctions;
		GT_MODEL_LOCK(m);

		if (some > COPY_AT_ONCE)
			some = COPY_AT_ONCE;
		memcpy(n->function[n->nfunctions], m->functions[n->nfunctions],
		       some * sizeof(*n->function));
		n->nfunctions += some;
	}
	return 0;
}

struct gt_names *gt_names_take(struct gt_model *m)
{
	struct gt_names *n = calloc(1, sizeof(*n));

	if (!n)
		return NULL;
	{
		GT_MODEL_LOCK(m);
		n->ngpus = m->ngpus;
		memcpy(n->custom, m->custom, sizeof(n->custom));
	}
	for (unsigned int i = 0; i < n->ngpus; i++)
		if (take_rings(m, n, i))
			goto fail;
	if (take_procs(m, n) || take_functions(m, n) || take_kernels(m, n))
		goto fail;
	return n;
fail:
	gt_names_free(n);
	return NULL;
}

void gt_names_free(struct gt_names *n)
{
	if (!n)
		return;
	for (unsigned int i = 0; i < n->ngpus; i++)
		free(n->gpu[i].ring);
	free(n->proc);
	free(n->function);
	free(n->kernel);
	free(n);
}

const char *gt_names_gpu(const struct gt_names *n, uint16_t gpu)
{
	return gpu < n->ngpus ? n->gpu[gpu].name : NULL;
}

const struct gt_name_ring *gt_names_ring(const struct gt_names *n, uint16_t gpu, uint16_t ring)
{
	if (gpu >= n->ngpus || ring >= n->gpu[gpu].nrings)
		return NULL;
	return &n->gpu[gpu].ring[ring];
}

const char *gt_names_value(const struct gt_names *n, const struct gt_event *e)
{
	if (e->type == GT_FUNCTION && e->value < n->nfunctions)
		return n->function[e->value];
	if (e->type == GT_DISPATCH && !(e->flags & GT_F_LATE) && e->ref < n->nkernels)
		return n->kernel[e->ref];
	if (e->type == GT_IOCTL_ENTER)
		return gt_ioctl_name(e->gpu < n->ngpus ? n->gpu[e->gpu].driver : NULL, e->value);
	return NULL;
}

const char *gt_names_comm(const struct gt_names *n, const struct gt_event *e)
{
	const struct gt_name_proc *p;
	size_t lo = 0, hi = n->nprocs;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (n->proc[mid].pid < e->pid)
			lo = mid + 1;
		else
			hi = mid;
	}
	p = lo < n->nprocs ? &n->proc[lo] : NULL;
	/* who has the pid now may be another than who had it then */
	return p && p->pid == e->pid && gt_was(p->uid, p->first_ts, e) ? p->comm : NULL;
}

/*
 * top: processes by GPU time, a row for each engine of each GPU that one uses. Live over the last
 * 10 s, of a recording over all of it.
 */

#define TOP_ROWS 100

/** struct top_row - one process on one engine; @slot and @start say which process */
struct top_row {
	uint32_t slot, pid, uid;
	uint64_t start, first_ts;
	uint16_t gpu;
	unsigned int engine;
	char comm[16];
	uint64_t busy_ns, observed;
};

/**
 * struct top - the busiest
 * @observed: so much of the window was, of events and of what is read off
 * @used: ns of each engine, by all together; GT_NONE64: not known
 */
struct top {
	uint64_t now, window, observed[GT_NOBSERVED];
	unsigned int n;
	struct top_row row[TOP_ROWS];
	uint64_t used[GT_MAX_GPUS][GT_NENGINES];
};

static uint64_t shorter(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

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

/* Of two, either of which may be not known */
static uint64_t both(uint64_t a, uint64_t b)
{
	return a == GT_NONE64 || b == GT_NONE64 ? GT_NONE64 : a + b;
}

/* How long the engine of @first was busy with the process, @first being its first ring there:
 * when several work at once, their time counts once; GT_NONE64: not known */
static uint64_t engine_ns(const struct top *t, const struct gt_model *m, const struct gt_proc *p,
			  const struct gt_proc_ring *first)
{
	uint64_t ns = 0, running = UINT64_MAX;

	for (const struct gt_proc_ring *r = first; r; r = r->next) {
		uint64_t since;

		if (!here(m, r) || !same_engine(m, r, first))
			continue;
		since = gt_pring_running(m, r, p->slot);
		running = since < running ? since : running;
		ns = both(ns, gt_busy_running_ns(&r->busy, since, t->now, t->window));
	}
	if (first->engine)
		ns = gt_busy_running_ns(first->engine, running, t->now, t->window);
	return ns == GT_NONE64 ? ns : shorter(ns, t->observed[GT_OBSERVED_EVENTS]);
}

static bool is_first(const struct gt_model *m, const struct gt_proc *p,
		     const struct gt_proc_ring *r)
{
	for (const struct gt_proc_ring *o = p->rings; o != r; o = o->next)
		if (here(m, o) && same_engine(m, o, r))
			return false;
	return true;
}

/** struct busy - of a process by GPU and engine; @reported: events reported it; @ended: jobs ended there */
struct busy {
	uint64_t ns[GT_NENGINES];
	bool reported, ended[GT_NENGINES];
};

static bool in_window(const struct top *t, const struct gt_stage *s)
{
	uint64_t sec = t->now / GT_SEC;

	for (int i = 0; i < GT_STAGE_SLOTS; i++)
		if (s->slot[i] && s->slot_sec[i] <= sec && sec - s->slot_sec[i] < GT_STAGE_SLOTS)
			return true;
	return false;
}

/* Did any job end there in the window? It may not be known how long it ran. */
static bool any_ended(const struct top *t, const struct gt_proc_ring *r)
{
	if (t->window == GT_ALL)
		return r->counts.completed;
	return in_window(t, &r->stage[GT_ST_TOTAL]) || in_window(t, &r->stage[GT_ST_EXEC]);
}

/* Where no event shows how busy it was on GPU @g: what is read off, if any is */
static void read_off(const struct top *t, const struct gt_use *u, struct busy *b)
{
	for (unsigned int e = 0; !b->reported && e < GT_NENGINES; e++) {
		uint64_t ns = gt_use_engine_ns(u, e, t->now, t->window);

		b->ns[e] = ns == GT_NONE64 ? 0 : shorter(ns, t->observed[GT_OBSERVED_USE]);
	}
}

static struct top_row row_of(const struct gt_proc *p, uint16_t gpu, unsigned int engine,
			     uint64_t busy, uint64_t observed)
{
	struct top_row row = { .slot = p->slot,
			       .pid = p->pid,
			       .uid = p->uid,
			       .start = p->start,
			       .first_ts = p->first_ts,
			       .gpu = gpu,
			       .engine = engine,
			       .busy_ns = busy,
			       .observed = observed };

	memcpy(row.comm, p->comm, sizeof(p->comm));
	return row;
}

/* One process into @rows; returns how many engines it was busy on, or had jobs of unknown times on.
 * Lock held. */
static unsigned int measure(struct top *t, const struct gt_model *m, const struct gt_proc *p,
			    struct top_row *rows)
{
	struct busy busy[GT_MAX_GPUS] = { 0 };
	unsigned int n = 0;

	for (const struct gt_proc_ring *r = p->rings; r; r = r->next) {
		if (!here(m, r))
			continue;
		busy[r->gpu].ended[engine_of(m, r)] |= any_ended(t, r);
		if (is_first(m, p, r)) {
			uint64_t ns = engine_ns(t, m, p, r);

			busy[r->gpu].ns[engine_of(m, r)] = ns;
			busy[r->gpu].reported |= ns != 0;
		}
	}
	for (uint16_t g = 0; g < m->ngpus; g++) {
		const struct gt_use *u = gt_use_of(p->uses, g);
		uint64_t observed = t->observed[GT_OBSERVED_USE];

		if (m->gpus[g]->gone)
			continue;
		read_off(t, u, &busy[g]);
		for (unsigned int e = 0; e < GT_NENGINES; e++) {
			t->used[g][e] = both(t->used[g][e], busy[g].ns[e]);
			if (!busy[g].ns[e] && !busy[g].ended[e])
				continue;
			if (busy[g].reported)
				observed = gt_observed_of(m, gt_engine_extent(m->gpus[g], e),
							  t->now, t->window);
			rows[n++] = row_of(p, g, e, busy[g].ns[e], observed);
		}
	}
	return n;
}

/* Processes with an older last event were busy with nothing that is known, but for a job in flight
 */
static bool recent(const struct top *t, const struct gt_proc *p)
{
	return t->window == GT_ALL || p->last_ts + t->window > t->now || p->uses || p->inflight;
}

/* Those of which it is not known come last */
static uint64_t known_ns(const struct top_row *r)
{
	return r->busy_ns == GT_NONE64 ? 0 : r->busy_ns;
}

static int by_busy(const void *a, const void *b)
{
	const struct top_row *x = a, *y = b;

	if (known_ns(x) != known_ns(y))
		return known_ns(x) > known_ns(y) ? -1 : 1;
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

/* What is of nobody who is known, as if it were one process */
static unsigned int measure_nobody(const struct gt_show *s, struct top *t, struct top_row *rows)
{
	struct gt_model *m = s->app->model;
	unsigned int n;

	GT_MODEL_LOCK(m);
	gt_nobody_rings(m);
	n = measure(t, m, m->nobody, rows);
	return gt_see(&s->view, GT_NONE32, GT_NONE32, t->now) == GT_SEE_NOT ? 0 : n;
}

/* The busiest that the caller is shown; what others did is in the sums. */
static void find_top(const struct gt_show *s, struct top *t)
{
	struct gt_model *m = s->app->model;
	struct top_row found[GT_MAX_GPUS * GT_NENGINES];
	unsigned int slots = 1;

	for (unsigned int k = measure_nobody(s, t, found); k;)
		t->n = insert(t->row, t->n, &found[--k]);

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
 * @unknown: memory was lacking to keep the window apart; @reported: events reported any; @timed: of any job
 *	it is known how long it ran
 */
struct recent_work {
	uint64_t jobs;
	bool unknown, reported, timed;
	struct gt_stage queue; /* all in its base */
};

static void add_ring(struct recent_work *w, const struct gt_proc_ring *r, const struct top *t)
{
	const struct gt_stage *q = &r->stage[GT_ST_QUEUE];
	struct gt_summary total, exec;
	uint64_t now = t->now;

	w->reported = true;
	if (t->window == GT_ALL) {
		gt_stage_summary(&r->stage[GT_ST_EXEC], now, &exec, NULL);
		w->timed |= exec.count;
		w->jobs += r->counts.completed;
		gt_stage_fold(&w->queue, q);
		return;
	}
	/* kernels that ran have no total, and jobs of a loss no exec */
	gt_stage_summary(&r->stage[GT_ST_TOTAL], now, NULL, &total);
	gt_stage_summary(&r->stage[GT_ST_EXEC], now, NULL, &exec);
	w->jobs += total.count > exec.count ? total.count : exec.count;
	w->timed |= exec.count;
	w->unknown |= total.unknown | exec.unknown;
	for (int i = 0; i < GT_STAGE_SLOTS; i++) {
		uint64_t age = now / GT_SEC - q->slot_sec[i];

		if (q->slot[i] && q->slot_sec[i] <= now / GT_SEC && age < GT_STAGE_SLOTS)
			gt_hist_fold(&w->queue.base, q->slot[i]);
	}
}

static const struct gt_proc *proc_of(const struct gt_show *who)
{
	return who->obj.id == GT_NONE32 ? who->app->model->nobody : gt_obj_proc(who);
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
		p = proc_of(&who);
		if (p)
			gt_ring_set_of(&set, p, row->gpu);
	}
	for (; gt_ring_set_next(&set, &k); k.ring++) {
		GT_MODEL_LOCK(s->app->model);
		p = proc_of(&who);
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
	bool whole = gt_see(&s->view, row->pid, row->uid, row->first_ts) == GT_SEE_WHOLE;
	uint32_t pid = gt_view_pid(&s->view, row->pid, row->first_ts);
	struct recent_work w = { 0 };
	struct gt_summary queue;
	uint64_t used = top->used[row->gpu][row->engine];
	bool timed;

	gt_stage_init(&w.queue);
	look_closer(s, row, top, &w);
	gt_stage_summary(&w.queue, top->now, &queue, NULL);
	gt_stage_reset(&w.queue);
	gt_cell_u32(t, whole ? pid : GT_NONE32);
	gt_cell_u32(t, whole ? row->uid : GT_NONE32);
	gpu_name(t, s->app->model, row->gpu);
	timed = row->busy_ns || w.timed;
	gt_cell(t, gt_engine_name((enum gt_engine)row->engine));
	gt_cell_percent(t, row->busy_ns, timed ? row->observed : 0);
	gt_cell_percent(t, row->busy_ns, timed && used != GT_NONE64 ? used : 0);
	gt_cell_u64(t, w.unknown || !w.reported ? GT_NONE64 : w.jobs);
	gt_cell_u64(t, queue.count && !queue.unranked && !w.unknown ? queue.p99 : GT_NONE64);
	gt_cell_word(t, whole && row->comm[0] ? row->comm : NULL, sizeof(row->comm));
	gt_text_ch(t, '\n');
}

int gt_show_top(struct gt_text *t, const struct gt_show *s)
{
	struct top *top = calloc(1, sizeof(*top));

	if (!top)
		return -ENOMEM;
	gt_app_look(s->app, GT_REFRESH_PROCS);
	top->now = gt_model_now(s->app->model);
	top->window = gt_table_window(s->app->model);
	for (enum gt_observation i = 0; i < GT_NOBSERVED; i++)
		top->observed[i] = gt_observed(s->app->model, i, top->now, top->window);
	find_top(s, top);
	for (unsigned int i = 0; i < top->n && !t->failed; i++)
		top_line(t, s, top, &top->row[i]);
	free(top);
	return 0;
}

/* memory: processes by the memory that they hold on each GPU, as it is read off */

/** struct memory_row - of a process on a GPU; @resident, @shared: bytes, GT_NONE64 unknown */
struct memory_row {
	uint32_t pid, uid;
	uint64_t first_ts, resident, shared;
	uint16_t gpu;
	char comm[16];
};
struct memory_rows {
	struct memory_row *row;
	size_t n, room;
};

static int by_resident(const void *a, const void *b)
{
	const struct memory_row *x = a, *y = b;

	if (x->resident != y->resident)
		return x->resident > y->resident ? -1 : 1;
	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return (int)x->gpu - (int)y->gpu;
}

static uint64_t shared_bytes(const struct gt_use *u)
{
	uint64_t bytes = GT_NONE64;

	for (unsigned int i = 0; i < u->nregions; i++)
		if (u->region[i].shared != GT_NONE64)
			bytes = (bytes == GT_NONE64 ? 0 : bytes) + u->region[i].shared;
	return bytes;
}

/* The process's GPUs, as far as there is room. Lock held. Return: how many there are */
static size_t take_memory(const struct gt_model *m, const struct gt_proc *p, struct memory_rows *to)
{
	size_t n = 0;

	for (const struct gt_use *u = p->uses; u; u = u->next) {
		struct memory_row row = { .pid = p->pid,
					  .uid = p->uid,
					  .first_ts = p->first_ts,
					  .gpu = u->gpu,
					  .resident = gt_use_bytes(u),
					  .shared = shared_bytes(u) };

		if (m->gpus[u->gpu]->gone || !row.resident || row.resident == GT_NONE64)
			continue;
		memcpy(row.comm, p->comm, sizeof(row.comm));
		if (to->n + n < to->room)
			to->row[to->n + n] = row;
		n++;
	}
	return n;
}

static int find_memory(const struct gt_show *s, struct memory_rows *to)
{
	struct gt_model *m = s->app->model;
	unsigned int slots = 1;

	for (unsigned int i = 0; i < slots; i++) {
		struct memory_row *larger;
		size_t n = 0;
		{
			GT_MODEL_LOCK(m);
			const struct gt_proc *p = i < m->proc_slots ? m->procs[i] : NULL;

			slots = m->proc_slots;
			if (p && !p->dead &&
			    gt_see(&s->view, p->pid, p->uid, p->first_ts) != GT_SEE_NOT)
				n = take_memory(m, p, to);
		}
		if (to->n + n <= to->room) {
			to->n += n;
			continue;
		}
		larger = realloc(to->row, (to->room + n) * 2 * sizeof(*larger));
		if (!larger)
			return -ENOMEM;
		to->row = larger;
		to->room = (to->room + n) * 2;
		i--; /* once more, with room for it */
	}
	return 0;
}

int gt_show_memory(struct gt_text *t, const struct gt_show *s)
{
	struct memory_rows rows = { 0 };
	int err;

	gt_app_look(s->app, GT_REFRESH_PROCS);
	err = find_memory(s, &rows);
	if (rows.n)
		qsort(rows.row, rows.n, sizeof(*rows.row), by_resident);
	for (size_t i = 0; !err && i < rows.n && !t->failed; i++) {
		const struct memory_row *r = &rows.row[i];
		bool whole = gt_see(&s->view, r->pid, r->uid, r->first_ts) == GT_SEE_WHOLE;
		uint32_t pid = gt_view_pid(&s->view, r->pid, r->first_ts);

		gt_cell_u32(t, whole ? pid : GT_NONE32);
		gt_cell_u32(t, whole ? r->uid : GT_NONE32);
		gpu_name(t, s->app->model, r->gpu);
		gt_cell_u64(t, r->resident);
		gt_cell_u64(t, r->shared);
		gt_cell_word(t, whole && r->comm[0] ? r->comm : NULL, sizeof(r->comm));
		gt_text_ch(t, '\n');
	}
	free(rows.row);
	return err;
}

/** struct ring_row - a ring's columns in tables, copied */
struct ring_row {
	char gpu[16], name[40];
	uint16_t id;
	enum gt_engine engine;
	bool measured, commits, work, timed, endless, submits;
	uint32_t depth;
	uint64_t busy_ns, observed; /* in gt_table_window() */
	struct gt_counts counts;
	struct gt_window_stats last;
	uint64_t window_busy_ns, window_observed; /* of it */
};

#define LATE_NS 1000000000ULL

/*
 * Live events come after their time: GT_ORDER_BUSY_NS at most, and later where the machine is
 * overloaded. A window ends no earlier for a reader than it may for them.
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
	row->work = r->work;
	row->submits = gt_ring_submits(r);
	row->endless = gt_ring_lacks_ends(r);
	row->timed = gt_ring_timed(r);
	row->depth = r->depth.now;
	row->busy_ns = gt_ring_busy_ns(m, r, now, gt_table_window(m));
	row->observed = gt_observed_of(m, gt_ring_extent(r), now, gt_table_window(m));
	row->counts = r->counts;
	row->last = r->last;
	row->window_busy_ns = gt_window_busy(r, &r->last, now);
	row->window_observed = gt_observed_between_of(m, (struct gt_extent){ .pauses = r->pauses },
						      r->last.start, r->last.end);
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

/* A 0 of programs' own queues may be what no source reports */
static uint64_t reported(const struct ring_row *row, uint64_t n)
{
	return row->work && !n ? GT_NONE64 : n;
}

int gt_show_rings(struct gt_text *t, const struct gt_show *s)
{
	struct gt_ring_pos p = { 0 };
	struct ring_row row;
	int err = check(s);

	while (!err && take_ring(s, &p, &row)) {
		ring_cells(t, &row);
		gt_cell(t, gt_engine_name(row.engine));
		gt_cell_u64(t, row.work || row.endless ? GT_NONE64 : row.depth);
		gt_cell_percent(t, row.busy_ns, row.timed ? row.observed : 0);
		gt_cell_u64(t, row.submits || row.counts.submitted
				       ? reported(&row, row.counts.submitted)
				       : GT_NONE64);
		gt_cell_u64(t, row.endless ? GT_NONE64 : reported(&row, row.counts.completed));
		gt_cell_u64(t, reported(&row, row.counts.errors));
		gt_cell_u64(t,
			    row.counts.lost || !row.counts.uncounted ? row.counts.lost : GT_NONE64);
		gt_cell(t, !row.timed ? NULL : row.measured ? "measured" : "inferred");
		gt_text_ch(t, '\n');
	}
	return err;
}

int gt_show_aggregate(struct gt_text *t, const struct gt_show *s)
{
	struct gt_ring_pos p = { 0 };
	struct ring_row row;
	int err = check(s);

	while (!err && take_ring(s, &p, &row)) {
		const struct gt_window_stats *w = &row.last;
		bool known = w->events || row.window_observed;
		uint64_t n = w->lat_count;

		ring_cells(t, &row);
		gt_cell_u64(t, known ? w->events : GT_NONE64);
		gt_cell_u64(t, n ? w->lat_sum / n : GT_NONE64);
		gt_cell_u64(t, n ? w->lat_min : GT_NONE64);
		gt_cell_u64(t, n ? w->lat_max : GT_NONE64);
		gt_cell_ratio(t, w->depth_integral,
			      row.work || row.endless ? 0 : row.window_observed);
		gt_cell_u64(t, known && !row.work && !row.endless ? w->depth_peak : GT_NONE64);
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

	while (!err && take_ring(s, &p, &row)) {
		const struct gt_window_stats *w = &row.last;
		/* what was lost of any ring may have been of this one: its rate is not known */
		bool known = w->lost || !w->blind;

		gt_cell_word(t, row.gpu, sizeof(row.gpu));
		gt_text_str(t, "/ring");
		gt_text_u64(t, row.id);
		gt_cell_percent(t, row.window_busy_ns, row.timed ? row.window_observed : 0);
		gt_cell_ratio(t, w->lost * 100, known ? w->lost + w->events : 0);
		gt_cell_ratio(t, w->lat_sum, w->lat_count * 1000);
		gt_text_ch(t, '\n');
	}
	return err;
}

/* Return: 0, or -ENODEV; @custom: names of the CUSTOM events */
static int take_types(const struct gt_show *s, struct gt_typecount *c,
		      const struct gt_pauses **pauses, char custom[7][32])
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
	*pauses = r ? r->pauses : NULL;
	memcpy(custom, m->custom, sizeof(m->custom));
	return 0;
}

/* Of a recording all there were; false: of no observed time */
static bool rate(const struct gt_model *m, const struct gt_typecount *c,
		 const struct gt_pauses *pauses, unsigned int type, uint64_t now, uint64_t *out)
{
	uint64_t all = gt_observed(m, GT_OBSERVED_EVENTS, now, GT_ALL);

	if (m->wall)
		return gt_rate_observed(m, c, pauses, type, now, 10, out);
	*out = all ? (uint64_t)((unsigned __int128)c->n[type].seen * 1000 * GT_SEC / all) : 0;
	return all;
}

int gt_show_events_by_type(struct gt_text *t, const struct gt_show *s)
{
	uint64_t now = gt_model_now(s->app->model);
	struct gt_typecount c;
	uint64_t per_second;
	char custom[7][32];
	const struct gt_pauses *pauses;
	int err = take_types(s, &c, &pauses, custom);

	if (err)
		return err;
	for (unsigned int i = 0; i < GT_NTYPES; i++) {
		bool named = i >= GT_CUSTOM0 && custom[i - GT_CUSTOM0][0], known;

		if (!c.n[i].seen)
			continue;
		known = rate(s->app->model, &c, pauses, i, now, &per_second);
		gt_cell_word(t, named ? custom[i - GT_CUSTOM0] : gt_type_name(i), 32);
		gt_cell_u64(t, c.n[i].seen);
		gt_cell_u64(t, c.n[i].recorded);
		gt_cell_ratio(t, per_second, known ? 1000 : 0);
		gt_text_ch(t, '\n');
	}
	return 0;
}
