/* SPDX-License-Identifier: GPL-2.0 */
/* Utilization, counters, depth and throughput, as GPUs, rings, queues and processes show them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "../../backend/lib/clock.h"
#include "../../backend/lib/hash.h"
#include "internal.h"

/* latency and histogram of a ring, and the row of a stage in every latency file. */

static const char *const stage_names[GT_NSTAGES] = GT_STAGE_NAMES;

bool gt_ring_reports(const struct gt_ring *r, enum gt_stage_id st)
{
	if (gt_stage_count(&r->stage[st]))
		return true;
	if (r->work)
		return false;
	if (st == GT_ST_QUEUE) /* while no job has ended it may still be reported */
		return r->commits || !r->counts.completed;
	return st != GT_ST_COMPLETE || r->types.n[GT_END].seen;
}

void gt_stage_row(struct gt_text *t, enum gt_stage_id st, const struct gt_summary *sum)
{
	static const struct gt_summary unreported = { .unknown = true };
	bool some, ranked;

	sum = sum ? sum : &unreported;
	some = !sum->unknown && sum->count;
	ranked = some && !sum->unranked;
	gt_cell(t, stage_names[st]);
	gt_cell_u64(t, sum->unknown ? GT_NONE64 : sum->count);
	gt_cell_u64(t, sum->unknown ? GT_NONE64 : sum->sum);
	gt_cell_u64(t, some ? sum->avg : GT_NONE64);
	gt_cell_u64(t, ranked ? sum->p50 : GT_NONE64);
	gt_cell_u64(t, ranked ? sum->p90 : GT_NONE64);
	gt_cell_u64(t, ranked ? sum->p99 : GT_NONE64);
	gt_cell_u64(t, some ? sum->max : GT_NONE64);
	gt_text_ch(t, '\n');
}

/* The rows of a ring. The lock is taken for each stage: summing up one takes microseconds.
 * @gpu: its name, for the columns `gpu` and `ring`; NULL: without these */
static int stage_rows(struct gt_text *t, const struct gt_show *s, bool last10, const char *gpu)
{
	uint64_t now = gt_model_now(s->app->model);
	struct gt_summary sum[2];
	bool reported;

	for (enum gt_stage_id st = 0; st < GT_NSTAGES; st++) {
		{
			GT_MODEL_LOCK(s->app->model);
			const struct gt_ring *r = gt_obj_ring(s);

			if (!r)
				return -ENODEV;
			reported = gt_ring_reports(r, st);
			if (reported)
				gt_stage_summary(&r->stage[st], now, &sum[0], &sum[1]);
		}
		if (gpu) {
			gt_cell_word(t, gpu, strlen(gpu));
			gt_cell_ring(t, s->obj.ring);
		}
		gt_stage_row(t, st, reported ? &sum[last10] : NULL);
	}
	return 0;
}

static int show_latency(struct gt_text *t, const struct gt_show *s, bool last10)
{
	const struct gt_model *m = s->app->model;
	struct gt_show of = *s;
	struct gt_ring_pos pos = { 0 };
	const struct gt_ring *r;
	char gpu[16];

	if (s->obj.kind == GT_DIR_RING)
		return stage_rows(t, s, last10, NULL);
	for (;;) {
		{
			GT_MODEL_LOCK(s->app->model);
			r = gt_ring_next(s, &pos);
			if (!r)
				return 0;
			of.obj = (struct gt_obj){ .kind = GT_DIR_RING,
						  .gpu = r->gpu,
						  .ring = r->id,
						  .life = m->gpus[r->gpu]->life };
			memcpy(gpu, m->gpus[r->gpu]->name, sizeof(gpu));
		}
		stage_rows(t, &of, last10, gpu); /* a GPU that goes meanwhile has fewer rows */
	}
}

int gt_show_latency(struct gt_text *t, const struct gt_show *s)
{
	return show_latency(t, s, false);
}

int gt_show_latency_10s(struct gt_text *t, const struct gt_show *s)
{
	return show_latency(t, s, true);
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
	bool reported;

	for (enum gt_stage_id st = 0; st < GT_NSTAGES; st++) {
		{
			GT_MODEL_LOCK(s->app->model);
			const struct gt_ring *r = gt_obj_ring(s);

			if (!r)
				return -ENODEV;
			reported = gt_ring_reports(r, st);
			if (reported)
				gt_stage_total(&r->stage[st], &h);
		}
		if (!reported)
			continue;
		histogram_rows(t, stage_names[st], &h);
		gt_hist_reset(&h);
	}
	return 0;
}

/* errors: the last of the machine, a GPU or a ring; newest last. */

const char *gt_error_name(uint64_t code)
{
	static const char *const names[] = {
		[GT_ERR_UNKNOWN] = NULL,  [GT_ERR_TIMEOUT] = "timeout", [GT_ERR_RESET] = "reset",
		[GT_ERR_FAULT] = "fault", [GT_ERR_GUILTY] = "guilty",
	};

	return code < sizeof(names) / sizeof(names[0]) ? names[code] : NULL;
}

static void error_row(struct gt_text *t, const struct gt_show *s, const char *gpu,
		      const struct gt_error_entry *e)
{
	enum gt_see see = gt_see(&s->view, e->pid, e->uid, e->ts);
	bool whole = see == GT_SEE_WHOLE;

	if (see == GT_SEE_NOT)
		return;
	gt_cell_time(t, e->ts);
	gt_cell(t, gpu);
	gt_cell_ring(t, e->ring);
	gt_cell_u64(t, whole ? e->ctx : GT_NONE64);
	gt_cell_u64(t, whole || e->ring != GT_NONE16 ? e->seqno : GT_NONE64);
	gt_cell_u32(t, whole ? gt_view_pid(&s->view, e->pid, e->ts) : GT_NONE32);
	if (gt_error_name(e->code) || e->code == GT_ERR_UNKNOWN)
		gt_cell(t, gt_error_name(e->code));
	else
		gt_cell_u64(t, e->code);
	gt_text_ch(t, '\n');
}

static void error_rows(struct gt_text *t, const struct gt_show *s, const char *gpu,
		       const struct gt_errlog *log)
{
	uint64_t n = log->n < GT_ERRLOG ? log->n : GT_ERRLOG;

	for (uint64_t i = n; i > 0; i--)
		error_row(t, s, gpu, &log->e[(log->n - i) % GT_ERRLOG]);
}

/* Copies the log of GPU @gpu, or of the ring in it that s->obj names. Lock taken. */
static bool take_log(const struct gt_show *s, unsigned int gpu, char *name, struct gt_errlog *log)
{
	struct gt_show at = *s;
	const struct gt_ring *r;
	const struct gt_gpu *g;

	at.obj.gpu = (uint16_t)gpu;
	GT_MODEL_LOCK(s->app->model);
	if (s->obj.kind == GT_DIR_ROOT && gpu < s->app->model->ngpus)
		at.obj.life = s->app->model->gpus[gpu]->life;
	g = gt_obj_gpu(&at);
	r = s->obj.kind == GT_DIR_RING ? gt_obj_ring(&at) : NULL;
	if (!g || (s->obj.kind == GT_DIR_RING && !r))
		return false;
	memcpy(name, g->name, sizeof(g->name));
	*log = r ? r->errors : g->errors;
	return true;
}

int gt_show_errors(struct gt_text *t, const struct gt_show *s)
{
	bool all = s->obj.kind == GT_DIR_ROOT;
	unsigned int end = GT_MAX_GPUS;
	struct gt_errlog log;
	char name[16];

	if (!all && !take_log(s, s->obj.gpu, name, &log))
		return -ENODEV;
	if (!all)
		error_rows(t, s, name, &log);
	for (unsigned int i = 0; all && i < end; i++)
		if (take_log(s, i, name, &log))
			error_rows(t, s, name, &log);
	return 0;
}

/*
 * The root's `clocks`. A plugin describes its own clock in its doctor() lines: `clock NAME`,
 * `clock_offset_ns N` (to be added to it to have CLOCK_MONOTONIC), `clock_uncertainty_ns N`,
 * `clock_measured WORD`; a line that is missing is not known. This machine's clocks are measured by
 * the host: at the start, and again when one was set or the machine slept.
 */

/* @since, @until: GT_NONE64: always */
static void show_row(struct gt_text *t, const char *name, enum gt_clock_id id, int64_t offset,
		     uint64_t uncertainty, uint64_t since, uint64_t until)
{
	gt_text_printf(t, "%s %s %lld %llu", name, gt_clock_name(id), (long long)offset,
		       (unsigned long long)uncertainty);
	gt_cell_time(t, since);
	gt_cell_time(t, until);
	gt_cell(t, "between_readings");
	gt_text_ch(t, '\n');
}

/* The offset now, and the ones before: the machine slept, or the clock was set */
static void show_steps(struct gt_text *t, const char *name, enum gt_clock_id id,
		       const struct gt_clock_steps *s)
{
	for (unsigned int i = s->n; i-- > 0;) {
		const struct gt_clock_piece *p = &s->piece[i];

		show_row(t, name, id, p->offset, p->uncertainty, p->since ? p->since : GT_NONE64,
			 i + 1 < s->n ? p[1].since : GT_NONE64);
	}
}

static void show_machine(struct gt_text *t, struct gt_host_state *h)
{
	struct gt_clocks c;
	uint64_t uncertainty;
	int64_t offset;

	if (h)
		gt_host_clocks(h, &c);
	else
		gt_clocks_init(&c, NULL, NULL);
	show_steps(t, "boottime", GT_CLOCK_ID_BOOTTIME, &c.boottime);
	show_steps(t, "realtime", GT_CLOCK_ID_REALTIME, &c.realtime);
	offset = gt_clocks_offset(&c, GT_CLOCK_ID_MONOTONIC_RAW, &uncertainty);
	show_row(t, "monotonic_raw", GT_CLOCK_ID_MONOTONIC_RAW, offset, uncertainty, GT_NONE64,
		 GT_NONE64);
}

/* Value of line "@key value" in @text, up to its end; "-" if there is none */
static void show_value(struct gt_text *t, const char *text, const char *key)
{
	size_t n = strlen(key), len;
	const char *p = text;

	while (p && (strncmp(p, key, n) || p[n] != ' ')) {
		p = strchr(p, '\n');
		p = p ? p + 1 : NULL;
	}
	if (!p) {
		gt_text_dash(t);
		return;
	}
	p += n + 1;
	len = strcspn(p, "\n");
	gt_text_word(t, p, len);
}

static void show_backend(struct gt_text *t, struct gt_host_state *h, unsigned int i)
{
	struct gt_backend_info info;
	char text[4096] = "";

	if (!gt_host_info(h, i, &info) || info.state == GT_BS_OFF || info.state == GT_BS_REFUSED ||
	    info.state == GT_BS_UNAVAILABLE || gt_host_doctor(h, i, text, sizeof(text)))
		return;
	gt_text_word(t, info.name, sizeof(info.name));
	gt_text_ch(t, ' ');
	show_value(t, text, "clock");
	gt_text_ch(t, ' ');
	if (info.clock_offset)
		gt_text_i64(t, info.clock_offset);
	else
		show_value(t, text, "clock_offset_ns");
	gt_text_ch(t, ' ');
	show_value(t, text, "clock_uncertainty_ns");
	gt_text_str(t, " - - ");
	if (info.clock_offset)
		gt_text_str(t, "by_hand");
	else
		show_value(t, text, "clock_measured");
	gt_text_ch(t, '\n');
}

int gt_show_clocks(struct gt_text *t, const struct gt_show *s)
{
	struct gt_host_state *h = s->app->host;
	unsigned int n = h ? gt_host_count(h) : 0;
	if (s->app->replay) {
		gt_text_str(t, "records recording 0 0 - - by_definition\n");
	} else {
		gt_text_str(t, "records CLOCK_MONOTONIC 0 0 - - by_definition\n");
		show_machine(t, h);
	}
	for (unsigned int i = 0; i < n; i++)
		show_backend(t, h, i);
	return 0;
}

/* Hardware counters of a kernel, or of all of a GPU's that the caller may see. */

#define COUNTERS_MAX GT_KERNEL_COUNTERS /* different ones of a GPU */
#define SLOTS	     (2 * COUNTERS_MAX)
#define LOCKED_MAX   256 /* counters that are copied, and kernels that are looked at, at once */

/**
 * struct sums - counters by name
 * @slot: index + 1 in @c, by hash of the name and @salt: the names are whatever a file says
 * @left: readings of others, for which there was no room
 */
struct sums {
	unsigned int n;
	uint64_t salt[2], left;
	uint16_t slot[SLOTS];
	struct gt_kernel_counter c[COUNTERS_MAX];
};

/** struct place - the next counter to be copied: @counter of @kernel */
struct place {
	unsigned int kernel, counter;
};

static uint16_t *slot_of(struct sums *sums, const char *name)
{
	uint64_t h = sums->salt[0];
	unsigned int i;

	for (const char *p = name; *p; p++)
		h = gt_mix(h ^ (unsigned char)*p, sums->salt[1]);
	for (i = (unsigned int)h % SLOTS; sums->slot[i]; i = (i + 1) % SLOTS)
		if (!strcmp(sums->c[sums->slot[i] - 1].name, name))
			break;
	return &sums->slot[i];
}

static void add(struct sums *sums, const struct gt_kernel_counter *c)
{
	struct gt_kernel_counter *to;
	uint16_t *slot;

	if (!c->count)
		return;
	slot = slot_of(sums, c->name);
	if (!*slot && sums->n == COUNTERS_MAX) {
		sums->left += c->count;
		return;
	}
	if (!*slot) {
		sums->c[sums->n++] = *c;
		*slot = (uint16_t)sums->n;
		return;
	}
	to = &sums->c[*slot - 1];
	to->count += c->count;
	to->sum += c->sum;
	to->min = c->min < to->min ? c->min : to->min;
	to->max = c->max > to->max ? c->max : to->max;
}

static bool shown(const struct gt_show *s, const struct gt_kernel *k)
{
	return k->gpu == s->obj.gpu && gt_kernel_seen(k, &s->view);
}

/*
 * From @at on, of the kernel or of those of the GPU that the caller sees; for so much the lock is
 * held. @more: that was not all. Return: how many, or -ENODEV
 */
static int copy_some(const struct gt_show *s, struct place *at, struct gt_kernel_counter *out,
		     bool *more)
{
	const struct gt_model *m = s->app->model;
	bool one = s->obj.kind == GT_DIR_KERNEL;
	unsigned int n = 0, end;
	GT_MODEL_LOCK(s->app->model);

	if (one ? !gt_obj_kernel(s) : !gt_obj_gpu(s))
		return -ENODEV;
	end = one ? s->obj.id + 1 : m->nkernels;
	for (int looks = 0; at->kernel < end && n < LOCKED_MAX && looks < LOCKED_MAX; looks++) {
		const struct gt_kernel *k = m->kernels[at->kernel];

		while (shown(s, k) && at->counter < k->ncounters && n < LOCKED_MAX)
			out[n++] = k->counter[at->counter++];
		if (shown(s, k) && at->counter < k->ncounters)
			break;
		*at = (struct place){ .kernel = at->kernel + 1 };
	}
	*more = at->kernel < end;
	return (int)n;
}

static int take_counters(const struct gt_show *s, struct sums *sums)
{
	struct place at = { .kernel = s->obj.kind == GT_DIR_KERNEL ? s->obj.id : 0 };
	struct gt_kernel_counter some[LOCKED_MAX];
	bool more = true;

	if (getrandom(sums->salt, sizeof(sums->salt), GRND_NONBLOCK) != sizeof(sums->salt))
		sums->salt[0] = sums->salt[1] = gt_mix((uintptr_t)sums, 0x9e3779b97f4a7c15ULL);
	sums->salt[1] |= 1;
	while (more) {
		int n = copy_some(s, &at, some, &more);

		if (n < 0)
			return n;
		for (int i = 0; i < n; i++)
			add(sums, &some[i]);
	}
	return 0;
}

/* Is there one from kernel @i on? For some kernels at a time, again with the lock */
static bool has_some(const struct gt_show *s, unsigned int *i, bool *more)
{
	const struct gt_model *m = s->app->model;
	unsigned int end = *i + LOCKED_MAX;
	GT_MODEL_LOCK(s->app->model);

	if (s->obj.kind == GT_DIR_KERNEL)
		end = *i + 1;
	for (; *i < end && *i < m->nkernels; ++*i)
		if (m->kernels[*i]->ncounters && shown(s, m->kernels[*i]))
			return true;
	*more = s->obj.kind != GT_DIR_KERNEL && *i < m->nkernels;
	return false;
}

bool gt_has_counters(const struct gt_show *s)
{
	unsigned int i = s->obj.kind == GT_DIR_KERNEL ? s->obj.id : 0;
	bool more = true, has = false;

	while (more && !has)
		has = has_some(s, &i, &more);
	return has;
}

/* Most counters count; some are averages and the like */
static void number(struct gt_text *t, double v)
{
	char text[48];

	gt_text_ch(t, ' ');
	if (v == (double)(int64_t)v && v > -9e15 && v < 9e15) {
		gt_text_i64(t, (int64_t)v);
		return;
	}
	snprintf(text, sizeof(text), "%.6f", v);
	for (char *c = text; *c; c++)
		if (*c == ',')
			*c = '.';
	gt_text_str(t, text);
}

/*
 * Of an instance or the sum over all, by AMD's several names of one thing: L2 is TCC on CDNA, GL2C
 * on RDNA; EA, its way to memory, was renamed to EA0. False: not counted.
 */
static bool value(struct sums *s, const char *const *names, double *out)
{
	for (; *names; names++) {
		char sum[GT_KERNEL_COUNTER];
		uint16_t slot;

		snprintf(sum, sizeof(sum), "%s_sum", *names);
		slot = *slot_of(s, sum);
		if (!slot)
			slot = *slot_of(s, *names);
		if (slot) {
			*out = s->c[slot - 1].sum;
			return true;
		}
	}
	return false;
}

static const char *const hit[] = { "TCC_HIT", "GL2C_HIT", NULL };
static const char *const miss[] = { "TCC_MISS", "GL2C_MISS", NULL };
static const char *const reads[] = { "TCC_EA0_RDREQ", "TCC_EA_RDREQ", "GL2C_EA_RDREQ", NULL };
static const char *const reads_32[] = { "TCC_EA0_RDREQ_32B", "TCC_EA_RDREQ_32B",
					"GL2C_EA_RDREQ_32B", NULL };
static const char *const reads_dram[] = { "TCC_EA0_RDREQ_DRAM", "TCC_EA_RDREQ_DRAM", NULL };

static void percent(struct gt_text *t, const char *key, double part, double whole)
{
	double p = whole > 0 ? part / whole : -1;

	if (!(p >= 0 && p <= 1))
		return; /* nothing was asked for, or these are not of the same dispatches */
	gt_text_str(t, key);
	gt_text_str(t, " - - - "); /* no reading: what follows from sums */
	gt_text_milli(t, (uint64_t)(p * 100000 + 0.5), 2);
	gt_text_str(t, " -\n");
}

static void derived(struct gt_text *t, struct sums *s)
{
	double a, b;

	if (value(s, hit, &a) && value(s, miss, &b))
		percent(t, "l2_hit_percent", a, a + b);
	if (!value(s, reads, &b))
		return;
	if (value(s, reads_32, &a))
		percent(t, "read_32b_percent", a, b);
	if (value(s, reads_dram, &a))
		percent(t, "read_dram_percent", a, b);
}

int gt_show_counters(struct gt_text *t, const struct gt_show *s)
{
	struct sums *sums = calloc(1, sizeof(*sums));
	int ret = sums ? take_counters(s, sums) : -ENOMEM;

	for (unsigned int i = 0; !ret && i < sums->n; i++) {
		const struct gt_kernel_counter *c = &sums->c[i];

		gt_text_word(t, c->name, sizeof(c->name));
		gt_cell_u64(t, c->count);
		number(t, c->sum);
		number(t, c->min);
		number(t, c->sum / (double)c->count);
		number(t, c->max);
		gt_text_ch(t, '\n');
	}
	if (!ret)
		derived(t, sums);
	if (!ret && sums->left) /* of those that there is no room for */
		gt_text_printf(t, "- %llu - - - -\n", (unsigned long long)sums->left);
	free(sums);
	return ret;
}

static const uint64_t util_windows[3] = { GT_SEC, 10 * GT_SEC, 60 * GT_SEC };

/* Of events: of recordings with different clocks those count that have @e */
static struct gt_util observed_of(const struct gt_model *m, struct gt_extent e, uint64_t now)
{
	struct gt_util u = { 0 };

	for (int i = 0; i < 3; i++)
		u.observed[i] = gt_observed_of(m, e, now, util_windows[i]);
	return u;
}

struct gt_util gt_util_running(const struct gt_model *m, const struct gt_busy *b,
			       struct gt_extent e, uint64_t since, uint64_t now)
{
	struct gt_util u =
		observed_of(m, (struct gt_extent){ .since = e.since, .pauses = e.pauses }, now);

	u.total = gt_busy_running_ns(b, since, now, GT_ALL);
	for (int i = 0; i < 3; i++)
		u.ns[i] = gt_busy_running_ns(b, since, now, util_windows[i]);
	return u;
}

struct gt_util gt_util_of(const struct gt_model *m, const struct gt_busy *b, struct gt_extent e,
			  uint64_t now)
{
	return gt_util_running(m, b, e, UINT64_MAX, now);
}

struct gt_util gt_util_use(const struct gt_model *m, const struct gt_busy *b, uint64_t now)
{
	struct gt_util u = { .total = gt_busy_ns(b, now, GT_ALL) };

	for (int i = 0; i < 3; i++) {
		u.ns[i] = gt_busy_ns(b, now, util_windows[i]);
		u.observed[i] = gt_observed(m, GT_OBSERVED_USE, now, util_windows[i]);
	}
	return u;
}

struct gt_util gt_util_engine(const struct gt_model *m, const struct gt_gpu *g, enum gt_engine e,
			      uint64_t now)
{
	struct gt_util u = observed_of(m, gt_engine_extent(g, e), now);

	u.total = gt_engine_busy_ns(m, g, e, now, GT_ALL);
	for (int i = 0; i < 3; i++)
		u.ns[i] = gt_engine_busy_ns(m, g, e, now, util_windows[i]);
	return u;
}

uint64_t gt_table_window(const struct gt_model *m)
{
	return m->wall ? 10 * GT_SEC : GT_ALL;
}

struct gt_util gt_util_ring(const struct gt_model *m, const struct gt_ring *r, uint64_t now)
{
	struct gt_util u = observed_of(m, gt_ring_extent(r), now);

	u.total = gt_ring_busy_ns(m, r, now, GT_ALL);
	for (int i = 0; i < 3; i++)
		u.ns[i] = gt_ring_busy_ns(m, r, now, util_windows[i]);
	return u;
}

void gt_util_row(struct gt_text *t, const struct gt_util *u, const char *source)
{
	for (int i = 0; i < 3; i++)
		gt_cell_percent(t, u->ns[i], u->observed[i]);
	gt_cell_u64(t, u->total);
	gt_cell(t, source);
	gt_text_ch(t, '\n');
}

unsigned int gt_reported_ring(const struct gt_ring *r)
{
	/* a source that reports ends alone reports no submission */
	const unsigned int submits =
		GT_REPORTS_SUBMITS | (gt_ring_submits(r) ? 0 : GT_REPORTS_NO_SUBMITS);

	if (gt_ring_lacks_ends(r))
		return submits | GT_REPORTS_NO_ENDS;
	if (!r->work)
		return submits | GT_REPORTS_JOBS;
	return r->counts.completed ? GT_REPORTS_JOBS
				   : 0; /* some sources only report what was asked for */
}

unsigned int gt_reported(const struct gt_model *m)
{
	const struct gt_typecount *c = &m->types;
	unsigned int reported = 0;

	for (unsigned int i = 0; i < m->ngpus; i++)
		for (unsigned int k = 0; k < m->gpus[i]->nrings; k++)
			reported |= gt_reported_ring(m->gpus[i]->rings[k]);
	if (c->n[GT_COMMIT].seen)
		reported |= GT_REPORTS_COMMITS;
	if (c->n[GT_SYNC_WAIT_ENTER].seen || c->n[GT_SYNC_WAIT_EXIT].seen)
		reported |= GT_REPORTS_WAITS;
	if (c->n[GT_IOCTL_ENTER].seen || c->n[GT_IOCTL_EXIT].seen)
		reported |= GT_REPORTS_IOCTLS;
	if (c->n[GT_LAUNCH].seen || c->n[GT_COPY].seen)
		reported |= GT_REPORTS_CALLS;
	return reported;
}

/* A 0 that no source reports is not known to be 0 */
static void line(struct gt_text *t, bool reported, const char *key, uint64_t n)
{
	if (reported || n)
		gt_text_kv(t, key, n);
}

static void pair(struct gt_text *t, bool reported, const char *n_key, uint64_t n,
		 const char *ns_key, uint64_t ns)
{
	if (!reported && !n)
		return;
	gt_text_kv(t, n_key, n);
	gt_text_kv(t, ns_key, ns);
}

void gt_lost_lines(struct gt_text *t, const char *indent, const char *key, uint64_t lost,
		   uint64_t uncounted)
{
	if (lost || !uncounted) {
		gt_text_str(t, indent);
		gt_text_kv(t, key, lost);
	}
	if (uncounted) {
		gt_text_str(t, indent);
		gt_text_kv(t, "losses_uncounted", uncounted);
	}
}

void gt_counts_lines(struct gt_text *t, const struct gt_counts *c, unsigned int reported,
		     uint64_t inflight)
{
	const bool jobs = reported & GT_REPORTS_JOBS, submits = reported & GT_REPORTS_SUBMITS;

	if (reported & GT_REPORTS_NO_ENDS)
		inflight = GT_NONE64;

	line(t, submits && !(reported & GT_REPORTS_NO_SUBMITS), "submitted", c->submitted);
	line(t, reported & GT_REPORTS_COMMITS, "committed", c->committed);
	line(t, jobs, "completed", c->completed);
	if (inflight && inflight != GT_NONE64)
		gt_text_kv(t, "in_flight", inflight);
	else if (submits && !inflight)
		gt_text_kv(t, "in_flight", 0);
	line(t, submits, "errors", c->errors);
	if (c->uncounted)
		gt_lost_lines(t, "", "lost", c->lost, c->uncounted);
	else
		line(t, jobs, "lost", c->lost);
	line(t, submits, "given_up", c->given_up);
	line(t, submits, "dropped_table_full", c->dropped_table_full);
	line(t, submits, "begin_unseen", c->begin_unseen);
	line(t, submits, "ended_unseen", c->ended_unseen);
	pair(t, reported & GT_REPORTS_WAITS, "waits", c->waits, "wait_ns", c->wait_ns);
	pair(t, reported & GT_REPORTS_IOCTLS, "ioctls", c->ioctls, "ioctl_ns", c->ioctl_ns);
}

void gt_call_lines(struct gt_text *t, const struct gt_counts *c, unsigned int reported)
{
	if (!(reported & GT_REPORTS_CALLS) && !c->launches && !c->copies)
		return;
	gt_text_kv(t, "launches", c->launches);
	gt_text_kv(t, "copies", c->copies);
	/* copies of 0 bytes altogether are copies of which no size is known */
	line(t, !c->copies, "copy_bytes", c->copy_bytes);
}

void gt_depth_lines(struct gt_text *t, const struct gt_model *m, const struct gt_depth *d,
		    const struct gt_pauses *pauses, uint64_t now)
{
	uint64_t observed = gt_observed_between_of(m, (struct gt_extent){ d->t0, d->at, 0, pauses },
						   d->t0, now);

	gt_text_kv(t, "now", d->now);
	if (observed || now <= d->t0) {
		gt_text_str(t, "avg ");
		gt_text_milli(t, gt_depth_avg(d, now, observed), 2);
		gt_text_ch(t, '\n');
	}
	gt_text_kv(t, "peak", d->peak);
}

bool gt_rate_observed(const struct gt_model *m, const struct gt_typecount *c,
		      const struct gt_pauses *pauses, unsigned int type, uint64_t now,
		      unsigned int window, uint64_t *rate)
{
	uint64_t counted = gt_counted(m, now, window * GT_SEC);
	uint64_t observed =
		gt_observed_of(m, (struct gt_extent){ .pauses = pauses }, now, window * GT_SEC);
	unsigned __int128 all = gt_types_rate(c, type, now, window, gt_counted(m, now, GT_ALL));

	/* events are counted by the second, and a window that slides cuts one */
	if (!observed || (counted == window * GT_SEC && observed < counted && observed < GT_SEC))
		return false;
	*rate = (uint64_t)(all * counted / observed);
	return true;
}

/* struct rate - what a row of throughput counts: @type in @c. With @since only what came later, and not the
 * @before that had come by then */
struct rate {
	const struct gt_typecount *c;
	const struct gt_pauses *pauses;
	unsigned int type;
	uint64_t since, before;
};

static void rate_cell(struct gt_text *t, const struct gt_model *m, const struct rate *r,
		      uint64_t now, unsigned int window)
{
	const struct gt_extent e = { .since = r->since, .pauses = r->pauses };
	uint64_t rate = 0, observed;
	bool known;

	if (r->since && now - r->since < window * GT_SEC) {
		observed = gt_observed_of(m, e, now, window * GT_SEC);
		known = observed;
		if (known)
			rate = (uint64_t)((unsigned __int128)(r->c->n[r->type].seen - r->before) *
					  1000 * GT_SEC / observed);
	} else {
		known = gt_rate_observed(m, r->c, r->pauses, r->type, now, window, &rate);
	}
	gt_cell_ratio(t, rate, known ? 1000 : 0);
}

static void throughput(struct gt_text *t, const char *name, const struct gt_model *m,
		       const struct rate *r, uint64_t now)
{
	gt_cell(t, name);
	rate_cell(t, m, r, now, 1);
	rate_cell(t, m, r, now, 10);
	gt_cell_u64(t, r->c->n[r->type].seen);
	gt_text_ch(t, '\n');
}

int gt_show_throughput(struct gt_text *t, const struct gt_show *s)
{
	uint64_t now = gt_model_now(s->app->model);
	struct gt_typecount c;
	struct rate submitted = { .c = &c, .type = GT_SUBMIT };
	struct rate completed = { .c = &c, .type = GT_COMPLETE };
	unsigned int reported;

	{
		GT_MODEL_LOCK(s->app->model);
		const struct gt_ring *r = gt_obj_ring(s);

		if (!r)
			return -ENODEV;
		gt_ring_jobs(r, &c);
		submitted.pauses = completed.pauses = r->pauses;
		completed.since = gt_ring_since(r);
		completed.before = r->ended_before;
		reported = gt_reported_ring(r);
	}
	/* where only ends are known, no submission is */
	if (c.n[GT_SUBMIT].seen ||
	    (reported & GT_REPORTS_SUBMITS && !(reported & GT_REPORTS_NO_SUBMITS)))
		throughput(t, "submitted", s->app->model, &submitted, now);
	if (reported & GT_REPORTS_JOBS)
		throughput(t, "completed", s->app->model, &completed, now);
	return 0;
}
