/* SPDX-License-Identifier: GPL-2.0 */
/* Files of a GPU's directory and of its rings', and the table of all GPUs. */
#include <errno.h>
#include <string.h>

#include "internal.h"

/*
 * Which rings a process used, noted under the lock and looked at one by one without it: a process
 * or a ring's numbers may go between two looks.
 */

void gt_ring_set_of(struct gt_ring_set *set, const struct gt_proc *p, uint16_t gpu)
{
	for (const struct gt_proc_ring *r = p->rings; r; r = r->next)
		if (r->gpu < GT_MAX_GPUS && r->ring < GT_MAX_RINGS &&
		    (gpu == GT_NONE16 || r->gpu == gpu))
			set->bit[r->gpu][r->ring / 64] |= 1ULL << (r->ring % 64);
}

bool gt_ring_set_next(const struct gt_ring_set *set, struct gt_ring_key *k)
{
	for (; k->gpu < GT_MAX_GPUS; k->gpu++, k->ring = 0) {
		for (; k->ring < GT_MAX_RINGS; k->ring = (uint16_t)((k->ring | 63) + 1)) {
			uint64_t rest = set->bit[k->gpu][k->ring / 64] >> (k->ring % 64);

			if (!rest)
				continue;
			k->ring = (uint16_t)(k->ring + __builtin_ctzll(rest));
			return true;
		}
	}
	return false;
}

const struct gt_proc_ring *gt_proc_ring_at(const struct gt_proc *p, struct gt_ring_key k)
{
	const struct gt_proc_ring *r = p->rings;

	while (r && (r->gpu != k.gpu || r->ring != k.ring))
		r = r->next;
	return r;
}

/*
 * memory, clock, power, temperature and activity of a GPU: sensors that a backend reads when
 * somebody looks.
 */

#define STALE_NS (5 * GT_SEC) /* then whoever reads it off does not any more */

static const char *const gauge_names[GT_GAUGE_KINDS] = {
	[GT_GAUGE_MEMORY] = "memory", [GT_GAUGE_CLOCK] = "clock",
	[GT_GAUGE_POWER] = "power",   [GT_GAUGE_TEMPERATURE] = "temperature",
	[GT_GAUGE_BUSY] = "activity",
};

static enum gt_gauge_kind kind_of(const struct gt_show *s)
{
	enum gt_gauge_kind k = 0;

	while (k < GT_GAUGE_KINDS && strcmp(gauge_names[k], s->file->name))
		k++;
	return k;
}

/* Of @kind, copied; -errno as gauge_lines() */
static int take_reading(const struct gt_show *s, enum gt_gauge_kind kind, struct gt_gauge *out)
{
	uint64_t now = gt_model_now(s->app->model);
	const struct gt_gauges *g;
	const struct gt_gpu *gpu;
	int n = 0;

	GT_MODEL_LOCK(s->app->model);
	gpu = gt_obj_gpu(s);
	if (!gpu)
		return -ENODEV;
	g = gpu->gauges;
	if (!g || !(g->has & 1U << kind))
		return -ENOENT;
	for (unsigned int i = 0; now < g->at + STALE_NS && i < g->n; i++)
		if (g->g[i].kind == kind)
			out[n++] = g->g[i];
	return n ? n : -EAGAIN;
}

/* Backends read whole numbers of small units: @digits of these are behind the point of ours */
static const struct unit {
	const char *small, *ours;
	unsigned int digits;
} units[] = {
	{ "_uw", "_watts", 6 },
	{ "_uj", "_joules", 6 },
	{ "_millicelsius", "_celsius", 3 },
};

static void gauge_line(struct gt_text *t, const struct gt_gauge *g)
{
	size_t n = strnlen(g->key, sizeof(g->key));
	const struct unit *u = NULL;

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]) && !u; i++) {
		size_t len = strlen(units[i].small);

		if (n > len && !memcmp(g->key + n - len, units[i].small, len)) {
			u = &units[i];
			n -= len;
		}
	}
	gt_text_word(t, g->key, n);
	if (u)
		gt_text_str(t, u->ours);
	gt_text_ch(t, ' ');
	gt_text_decimal(t, g->value, u ? u->digits : 0);
	gt_text_ch(t, '\n');
}

/* "key value\n" of those of the file's kind. -EAGAIN: there may be some, but not now; -ENOENT:
 * there are none; -ENODEV: the GPU has gone */
static int gauge_lines(struct gt_text *t, const struct gt_show *s)
{
	struct gt_gauge g[GT_GAUGES_MAX];
	int n = take_reading(s, kind_of(s), g);

	for (int i = 0; i < n; i++)
		gauge_line(t, &g[i]);
	return n < 0 ? n : 0;
}

static bool has_gauges(const struct gt_show *s)
{
	enum gt_gauge_kind kind = kind_of(s);
	const struct gt_gpu *g;

	GT_MODEL_LOCK(s->app->model);
	g = gt_obj_gpu(s);
	return kind < GT_GAUGE_KINDS && g && g->gauges && g->gauges->has & 1U << kind;
}

static uint64_t gen_gauges(const struct gt_show *s)
{
	uint64_t now = gt_model_now(s->app->model);
	bool read_off;

	{
		GT_MODEL_LOCK(s->app->model);
		const struct gt_gpu *g = gt_obj_gpu(s);

		read_off = g && (g->gauges || g->use);
	}
	return gt_gen_mix(gt_gen_moving(s), read_off ? now / GT_READ_NS : 0);
}

static int show_gauges(struct gt_text *t, const struct gt_show *s)
{
	int err;

	gt_app_look(s->app, GT_REFRESH_GPUS);
	err = gauge_lines(t, s);
	return err == -EAGAIN ? -ENODATA : err; /* it sleeps, and is left asleep */
}

/* gpus: a line for each GPU */

/* Thousandths of a percent of the window; GT_NONE64: not known. Lock held */
static uint64_t engine_busy(const struct gt_model *m, const struct gt_gpu *g, enum gt_engine e,
			    uint64_t now)
{
	uint64_t window = gt_table_window(m), ns = GT_NONE64, observed = 0;
	bool timed = false;

	for (unsigned int i = 0; i < g->nrings; i++)
		timed |= g->rings[i]->engine == e && gt_ring_timed(g->rings[i]);
	if (timed) {
		ns = gt_engine_busy_ns(m, g, e, now, window);
		observed = gt_observed_of(m, gt_engine_extent(g, e), now, window);
	} else if (g->use) {
		ns = gt_use_engine_ns(g->use, e, now, window);
		observed = gt_observed(m, GT_OBSERVED_USE, now, window);
	}
	return ns == GT_NONE64 || !observed ? GT_NONE64 : gt_percent(ns, observed);
}

static uint64_t busiest_engine(const struct gt_model *m, const struct gt_gpu *g, uint64_t now)
{
	uint64_t most = GT_NONE64;

	for (enum gt_engine e = 0; e < GT_NENGINES; e++) {
		uint64_t busy = engine_busy(m, g, e, now);

		if (busy != GT_NONE64 && (most == GT_NONE64 || busy > most))
			most = busy;
	}
	return most;
}

enum reading { BUSY, MEMORY_USED, MEMORY_TOTAL, POWER, TEMPERATURE, CLOCK, NREADINGS };

/** readings - the keys that a column may come from, the best first; of one with `_` in front, its end */
static const struct {
	enum gt_gauge_kind kind;
	const char *key[5];
} readings[NREADINGS] = {
	[BUSY] = { GT_GAUGE_BUSY, { "gpu_busy_percent" } },
	[MEMORY_USED] = { GT_GAUGE_MEMORY, { "vram_used_bytes" } },
	[MEMORY_TOTAL] = { GT_GAUGE_MEMORY, { "vram_total_bytes" } },
	[POWER] = { GT_GAUGE_POWER, { "_average_uw", "_input_uw" } },
	[TEMPERATURE] = { GT_GAUGE_TEMPERATURE,
			  { "edge_millicelsius", "junction_millicelsius", "pkg_millicelsius",
			    "temp1_millicelsius" } },
	[CLOCK] = { GT_GAUGE_CLOCK, { "sclk_hz", "sclk_level_hz", "_act_hz" } },
};

static bool is_of(const struct gt_gauge *g, const char *key)
{
	size_t n = strnlen(g->key, sizeof(g->key)), len = strlen(key);

	return (*key == '_' ? n >= len : n == len) && !memcmp(g->key + n - len, key, len);
}

static const struct gt_gauge *find_reading(const struct gt_gauges *g, enum reading which)
{
	for (const char *const *key = readings[which].key; *key; key++)
		for (unsigned int i = 0; i < g->n; i++)
			if (g->g[i].kind == readings[which].kind && is_of(&g->g[i], *key))
				return &g->g[i];
	return NULL;
}

/** struct gpu_row - a GPU, copied; @busy: thousandths of a percent, GT_NONE64 unknown */
struct gpu_row {
	char name[16], driver[16], pci[16];
	bool any, unknown, claimed, gone;
	uint64_t busy;
	bool known[NREADINGS];
	int64_t value[NREADINGS];
};

static bool take_gpu(const struct gt_show *s, unsigned int i, struct gpu_row *row)
{
	struct gt_model *m = s->app->model;
	uint64_t now = gt_model_now(m);
	const struct gt_gauge *reading;
	const struct gt_gpu *g;

	GT_MODEL_LOCK(m);
	if (i >= m->ngpus)
		return false;
	g = m->gpus[i];
	*row = (struct gpu_row){
		.any = g->any, .unknown = g->unknown, .claimed = g->claimed, .gone = g->gone
	};
	memcpy(row->name, g->name, sizeof(row->name));
	memcpy(row->driver, g->driver, sizeof(row->driver));
	memcpy(row->pci, g->pci, sizeof(row->pci));
	for (enum reading r = 0; g->gauges && now < g->gauges->at + STALE_NS && r < NREADINGS;
	     r++) {
		reading = find_reading(g->gauges, r);
		row->known[r] = reading;
		row->value[r] = reading ? reading->value : 0;
	}
	/* the driver's own number, where it has one, is of work that never passes its rings, too */
	row->busy =
		row->known[BUSY] ? (uint64_t)row->value[BUSY] * 1000 : busiest_engine(m, g, now);
	return true;
}

static void reading_cell(struct gt_text *t, const struct gpu_row *row, enum reading which,
			 unsigned int digits)
{
	gt_cell(t, row->known[which] ? "" : NULL);
	if (row->known[which])
		gt_text_decimal(t, row->value[which], digits);
}

int gt_show_gpus(struct gt_text *t, const struct gt_show *s)
{
	struct gpu_row row;

	gt_app_look(s->app, GT_REFRESH_GPUS | GT_REFRESH_PROCS);
	for (unsigned int i = 0; take_gpu(s, i, &row); i++) {
		if (row.gone)
			continue;
		gt_cell_word(t, row.name, sizeof(row.name));
		gt_cell_percent(t, row.busy, row.busy == GT_NONE64 ? 0 : 100000);
		reading_cell(t, &row, MEMORY_USED, 0);
		reading_cell(t, &row, MEMORY_TOTAL, 0);
		reading_cell(t, &row, POWER, 6);
		reading_cell(t, &row, TEMPERATURE, 3);
		reading_cell(t, &row, CLOCK, 0);
		gt_cell_word(t, *row.driver ? row.driver : NULL, sizeof(row.driver));
		gt_cell_word(t, *row.pci ? row.pci : NULL, sizeof(row.pci));
		gt_cell(t, row.any	 ? "any"
			   : row.unknown ? "device_unknown"
			   : row.claimed ? "claimed"
					 : NULL);
		gt_text_ch(t, '\n');
	}
	return 0;
}

/* Files of a ring's directory. */

static int show_name(struct gt_text *t, const struct gt_show *s)
{
	char name[40];
	{
		GT_MODEL_LOCK(s->app->model);
		const struct gt_ring *r = gt_obj_ring(s);

		if (!r)
			return -ENODEV;
		memcpy(name, r->name, sizeof(name));
	}
	gt_text_line(t, name, sizeof(name));
	gt_text_ch(t, '\n');
	return 0;
}

static int show_engine(struct gt_text *t, const struct gt_show *s)
{
	enum gt_engine e;
	{
		GT_MODEL_LOCK(s->app->model);
		const struct gt_ring *r = gt_obj_ring(s);

		if (!r)
			return -ENODEV;
		e = r->engine;
	}
	gt_text_str(t, gt_engine_name(e));
	gt_text_ch(t, '\n');
	return 0;
}

/* How many jobs of programs' own queues are in flight is not known */
static bool has_depth(const struct gt_show *s)
{
	const struct gt_ring *r;

	GT_MODEL_LOCK(s->app->model);
	r = gt_obj_ring(s);
	return !r || !r->work; /* one that has gone says so itself */
}

static int show_depth(struct gt_text *t, const struct gt_show *s)
{
	uint64_t now = gt_model_now(s->app->model);
	const struct gt_pauses *pauses;
	struct gt_depth d;
	bool endless;
	{
		GT_MODEL_LOCK(s->app->model);
		const struct gt_ring *r = gt_obj_ring(s);

		if (!r)
			return -ENODEV;
		d = r->depth;
		pauses = r->pauses;
		endless = gt_ring_lacks_ends(r);
	}
	if (endless)
		return -ENODATA;
	gt_depth_lines(t, s->app->model, &d, pauses, now);
	return 0;
}

static int show_ring_utilization(struct gt_text *t, const struct gt_show *s)
{
	uint64_t now = gt_model_now(s->app->model);
	struct gt_util u = { .total = GT_NONE64 };
	enum gt_engine engine;
	const char *source;
	{
		GT_MODEL_LOCK(s->app->model);
		const struct gt_ring *r = gt_obj_ring(s);

		if (!r)
			return -ENODEV;
		engine = r->engine;
		source = gt_ring_source(r);
		if (gt_ring_timed(r))
			u = gt_util_ring(s->app->model, r, now);
	}
	gt_cell(t, gt_engine_name(engine));
	gt_util_row(t, &u, source);
	return 0;
}

static int show_exec_source(struct gt_text *t, const struct gt_show *s)
{
	bool timed, measured;
	{
		GT_MODEL_LOCK(s->app->model);
		const struct gt_ring *r = gt_obj_ring(s);

		if (!r)
			return -ENODEV;
		timed = gt_ring_timed(r);
		measured = r->measured;
	}
	gt_text_str(t, !timed ? "-\n" : measured ? "measured\n" : "inferred\n");
	return 0;
}

static int show_ring_stats(struct gt_text *t, const struct gt_show *s)
{
	uint64_t inflight, busy;
	struct gt_counts c;
	unsigned int reported;
	bool timed;
	{
		GT_MODEL_LOCK(s->app->model);
		const struct gt_ring *r = gt_obj_ring(s);

		if (!r)
			return -ENODEV;
		c = r->counts;
		reported = gt_reported_ring(r) | (r->commits ? GT_REPORTS_COMMITS : 0);
		inflight = r->depth.now;
		busy = gt_busy_ns(&r->busy, 0, GT_ALL);
		timed = gt_ring_timed(r);
	}
	gt_counts_lines(t, &c, reported, inflight);
	if (timed)
		gt_known_kv(t, "busy_ns", busy);
	return 0;
}

const struct gt_file gt_ring_files[] = {
	{ .name = "name",
	  .mode = 0444,
	  .flags = GT_FILE_STATIC,
	  .show = show_name,
	  .help = "the ring's name as its driver calls it" },
	{ .name = "engine",
	  .mode = 0444,
	  .show = show_engine,
	  .gen = gt_gen_object_only,
	  .help = "GRAPHICS COMPUTE COPY VIDEO_DECODE VIDEO_ENCODE UNKNOWN" },
	{ .name = "latency",
	  .mode = 0444,
	  .show = gt_show_latency,
	  .gen = gt_gen_object_only,
	  .fields = GT_STAGE_COLUMNS,
	  .help = "jobs, total, average, percentiles and maximum of each stage" },
	{ .name = "latency_10s",
	  .mode = 0444,
	  .show = gt_show_latency_10s,
	  .gen = gt_gen_object,
	  .fields = GT_STAGE_COLUMNS,
	  .help = "the same of the last 10 s" },
	{ .name = "exec_source",
	  .mode = 0444,
	  .show = show_exec_source,
	  .gen = gt_gen_object_only,
	  .help = "whether exec is measured, or inferred from hand-overs and ends" },
	{ .name = "histogram",
	  .mode = 0444,
	  .show = gt_show_ring_histogram,
	  .gen = gt_gen_object_only,
	  .fields = "stage le_ns count",
	  .help = "cumulative buckets per stage at fixed bounds (2^k-1 and 1.5*2^k-1 ns, 1 us to "
		  "18 min), so that two reads subtract" },
	{ .name = "depth",
	  .mode = 0444,
	  .flags = GT_FILE_KEYED,
	  .show = show_depth,
	  .exists = has_depth,
	  .gen = gt_gen_depth,
	  .fields = GT_DEPTH_KEYS,
	  .help = "jobs submitted and not complete: now, average since clear, peak" },
	{ .name = "utilization",
	  .mode = 0444,
	  .show = show_ring_utilization,
	  .gen = gt_gen_moving,
	  .fields = "engine " GT_UTIL_COLUMNS,
	  .help = "busy percent over 1, 10 and 60 s, as far as they were observed" },
	{ .name = "throughput",
	  .mode = 0444,
	  .show = gt_show_throughput,
	  .gen = gt_gen_moving,
	  .fields = "jobs avg1_per_second avg10_per_second total",
	  .help = "jobs per second over the last whole second and over 10 s" },
	{ .name = "stats",
	  .mode = 0444,
	  .flags = GT_FILE_KEYED,
	  .show = show_ring_stats,
	  .gen = gt_gen_object_only,
	  .fields = GT_COUNTS_KEYS " busy_ns",
	  .help = "counters since the start or the last clear" },
	{ .name = "events_by_type",
	  .mode = 0444,
	  .show = gt_show_events_by_type,
	  .gen = gt_gen_moving,
	  .fields = GT_TYPES_COLUMNS,
	  .help = "type, seen, recorded, per second over 10 s" },
	{ .name = "jobs",
	  .mode = 0444,
	  .flags = GT_FILE_VIEW,
	  .show = gt_show_jobs,
	  .exists = has_depth,
	  .gen = gt_gen_jobs,
	  .fields = "ctx seqno pid state age_ns comm",
	  .help = "jobs in flight now, oldest first" },
	{ .name = "errors",
	  .mode = 0444,
	  .flags = GT_FILE_VIEW,
	  .show = gt_show_errors,
	  .gen = gt_gen_object_only,
	  .fields = GT_ERRORS_COLUMNS,
	  .help = "the last 16 errors, newest last" },
	GT_FILE_BLAME(" of this ring"),
	GT_FILE_BLAME_STATS,
	GT_FILE_REPORT,
	GT_FILE_REPORT_STATS,
	GT_FILE_EVENTS("ring"),
	GT_FILE_TRACE("ring"),
	{ 0 },
};

static void word_line(struct gt_text *t, const char *key, const char *s, size_t max)
{
	if (!s[0])
		return;
	gt_text_str(t, key);
	gt_text_ch(t, ' ');
	gt_text_line(t, s, max);
	gt_text_ch(t, '\n');
}

/** struct gpu_info - what info shows, copied */
struct gpu_info {
	char name[16], driver[16], pci[16], card[16], render[16], uuid[48], partition[16],
		power[16];
	uint32_t kfd_id;
	int kfd_node;
	bool any, unknown, claimed;
	unsigned int rings, engines; /* engines: a bit each */
};

static int take_info(const struct gt_show *s, struct gpu_info *i)
{
	const struct gt_gpu *g;

	GT_MODEL_LOCK(s->app->model);
	g = gt_obj_gpu(s);
	if (!g)
		return -ENODEV;
	memcpy(i->name, g->name, sizeof(i->name));
	memcpy(i->driver, g->driver, sizeof(i->driver));
	memcpy(i->pci, g->pci, sizeof(i->pci));
	memcpy(i->card, g->card, sizeof(i->card));
	memcpy(i->render, g->render, sizeof(i->render));
	memcpy(i->uuid, g->uuid, sizeof(i->uuid));
	memcpy(i->partition, g->partition, sizeof(i->partition));
	if (g->gauges)
		memcpy(i->power, g->gauges->power, sizeof(i->power));
	i->kfd_id = g->kfd_id;
	i->kfd_node = g->kfd_node;
	i->any = g->any;
	i->unknown = g->unknown;
	i->claimed = g->claimed;
	i->rings = g->nrings;
	for (unsigned int r = 0; r < g->nrings; r++)
		i->engines |= 1U << g->rings[r]->engine;
	return 0;
}

static void engines_line(struct gt_text *t, unsigned int engines)
{
	bool first = true;

	if (!engines)
		return;
	gt_text_str(t, "engines ");
	/* UNKNOWN is number 0: last, whatever there is */
	for (unsigned int i = 1; i <= GT_NENGINES; i++) {
		unsigned int e = i % GT_NENGINES;

		if (!(engines & 1U << e))
			continue;
		if (!first)
			gt_text_ch(t, ',');
		first = false;
		gt_text_str(t, gt_engine_name((enum gt_engine)e));
	}
	gt_text_ch(t, '\n');
}

static int show_info(struct gt_text *t, const struct gt_show *s)
{
	struct gpu_info i = { 0 };
	int err;

	gt_app_look(s->app, GT_REFRESH_GPUS);
	err = take_info(s, &i);
	if (err)
		return err;
	word_line(t, "driver", i.driver, sizeof(i.driver));
	word_line(t, "name", i.name, sizeof(i.name));
	word_line(t, "pci", i.pci, sizeof(i.pci));
	word_line(t, "card", i.card, sizeof(i.card));
	word_line(t, "render", i.render, sizeof(i.render));
	if (i.kfd_id)
		gt_text_kv(t, "kfd_id", i.kfd_id);
	word_line(t, "uuid", i.uuid, sizeof(i.uuid));
	gt_text_kv(t, "rings", i.rings);
	engines_line(t, i.engines);
	if (i.any)
		gt_text_kvs(t, "flags", "any");
	else if (i.unknown)
		gt_text_kvs(t, "flags", "device_unknown");
	else if (i.claimed)
		gt_text_kvs(t, "flags", "claimed");
	if (i.kfd_id && i.kfd_node > 0) /* node 0 is a CPU */
		gt_text_kv(t, "kfd_node", (uint64_t)i.kfd_node);
	word_line(t, "partition", i.partition, sizeof(i.partition));
	word_line(t, "runtime_status", i.power, sizeof(i.power));
	return 0;
}

static int show_gpu_stats(struct gt_text *t, const struct gt_show *s)
{
	uint64_t inflight = 0;
	struct gt_counts c;
	unsigned int reported;
	{
		GT_MODEL_LOCK(s->app->model);
		const struct gt_gpu *g = gt_obj_gpu(s);

		if (!g)
			return -ENODEV;
		c = g->counts;
		reported =
			gt_reported(s->app->model) & ~(GT_REPORTS_JOBS | GT_REPORTS_SUBMITS |
						       GT_REPORTS_NO_ENDS | GT_REPORTS_NO_SUBMITS);
		for (unsigned int i = 0; i < g->nrings; i++) {
			inflight += g->rings[i]->depth.now;
			reported |= gt_reported_ring(g->rings[i]);
		}
	}
	gt_counts_lines(t, &c, reported, inflight);
	gt_call_lines(t, &c,
		      reported & ~GT_REPORTS_CALLS); /* most runtimes do not report the GPU */
	return 0;
}

/* Engine @e, if the GPU has a ring of it. Return: 1, 0 if it has none, or -ENODEV; @source: what
 * its time is taken from, the driver's rings before queues of programs */
static int take_engine(const struct gt_show *s, enum gt_engine e, uint64_t now, struct gt_util *u,
		       const char **source)
{
	struct gt_model *m = s->app->model;
	const struct gt_gpu *g;
	int has = 0;

	GT_MODEL_LOCK(m);
	g = gt_obj_gpu(s);
	if (!g)
		return -ENODEV;
	for (unsigned int i = 0; i < g->nrings; i++) {
		const struct gt_ring *r = g->rings[i];

		if (r->engine != e || !gt_ring_timed(r))
			continue;
		if (!has || !r->work)
			*source = gt_ring_source(r);
		has = 1;
	}
	if (has)
		*u = gt_util_engine(m, g, e, now);
	return has;
}

static int show_gpu_utilization(struct gt_text *t, const struct gt_show *s)
{
	uint64_t now = gt_model_now(s->app->model);
	const char *source = NULL;
	bool any = false;
	struct gt_util u;

	gt_app_look(s->app, GT_REFRESH_GPUS | GT_REFRESH_PROCS);
	for (unsigned int i = 1; i <= GT_NENGINES; i++) {
		enum gt_engine e = (enum gt_engine)(i % GT_NENGINES);
		int has = take_engine(s, e, now, &u, &source);

		if (has < 0)
			return has;
		if (!has)
			continue;
		any = true;
		gt_cell(t, gt_engine_name(e));
		gt_util_row(t, &u, source);
	}
	if (!any)
		gt_gpu_engine_rows(t, s);
	return 0;
}

#define GAUGES(file, keys, what)                                                                   \
	{                                                                                          \
		.name = file, .mode = 0444, .flags = GT_FILE_KEYED | GT_FILE_LOOKS,                \
		.show = show_gauges, .exists = has_gauges, .gen = gen_gauges, .fields = keys,      \
		.help = what                                                                       \
	}

const struct gt_file gt_gpu_files[] = {
	{ .name = "info",
	  .mode = 0444,
	  .flags = GT_FILE_KEYED | GT_FILE_LOOKS,
	  .show = show_info,
	  .gen = gen_gauges,
	  .fields =
		  "driver name pci card render kfd_id uuid rings engines flags kfd_node partition "
		  "runtime_status",
	  .help = "driver, name, PCI address, device nodes, engines, partition, whether it "
		  "sleeps" },
	{ .name = "stats",
	  .mode = 0444,
	  .flags = GT_FILE_KEYED,
	  .show = show_gpu_stats,
	  .gen = gt_gen_object_only,
	  .fields = GT_COUNTS_KEYS " " GT_CALLS_KEYS,
	  .help = "counters of all rings since the start or the last clear" },
	{ .name = "utilization",
	  .mode = 0444,
	  .flags = GT_FILE_LOOKS,
	  .show = show_gpu_utilization,
	  .gen = gen_gauges,
	  .fields = "engine " GT_UTIL_COLUMNS,
	  .help = "busy percent per engine over 1, 10 and 60 s, as far as observed, and "
		  "what it was taken from" },
	GAUGES("activity", "*_busy_percent", "busy percent, from the driver"),
	GAUGES("memory", "*_bytes", "its memory, by kind: total and used, from the driver"),
	GAUGES("clock", "*_hz", "its clocks now, and their limits"),
	GAUGES("power", "*_watts *_joules",
	       "power, its limits, and energy since the driver was loaded"),
	GAUGES("temperature", "*_celsius *_rpm", "temperatures, and those at which it stops"),
	{ .name = "events_by_type",
	  .mode = 0444,
	  .show = gt_show_events_by_type,
	  .gen = gt_gen_moving,
	  .fields = GT_TYPES_COLUMNS,
	  .help = "type, seen, recorded, per second over 10 s" },
	{ .name = "errors",
	  .mode = 0444,
	  .flags = GT_FILE_VIEW,
	  .show = gt_show_errors,
	  .gen = gt_gen_object_only,
	  .fields = GT_ERRORS_COLUMNS,
	  .help = "the last 16 errors, newest last" },
	{ .name = "rings",
	  .mode = 0444,
	  .show = gt_show_rings,
	  .gen = gt_gen_moving,
	  .fields = GT_RINGS_COLUMNS,
	  .help = "all rings; busy_percent is of the last 10 s, or the whole recording" },
	{ .name = "aggregate",
	  .mode = 0444,
	  .show = gt_show_aggregate,
	  .gen = gt_gen_moving,
	  .fields = GT_AGGREGATE_COLUMNS,
	  .help = "the last finished window per ring: events, latency, depth" },
	{ .name = "counters",
	  .mode = 0444,
	  .flags = GT_FILE_VIEW | GT_FILE_LONG,
	  .show = gt_show_counters,
	  .exists = gt_has_counters,
	  .gen = gt_gen_object_only,
	  .fields = GT_COUNTERS_COLUMNS,
	  .help = "hardware counters over the caller's kernels, and what follows from them" },
	{ .name = "kernel_stats",
	  .mode = 0444,
	  .flags = GT_FILE_VIEW | GT_FILE_LONG,
	  .show = gt_show_kernel_stats,
	  .exists = gt_has_kernels,
	  .gen = gt_gen_object_only,
	  .fields = "calls total_ns share_percent avg_ns min_ns max_ns kernel",
	  .help = "the caller's kernels, those that took longest first; share of all of "
		  "these" },
	GT_FILE_BLAME(""),
	GT_FILE_BLAME_STATS,
	GT_FILE_REPORT,
	GT_FILE_REPORT_STATS,
	{ .name = "timeline",
	  .mode = 0444,
	  .flags = GT_FILE_VIEW | GT_FILE_LONG | GT_FILE_PROSE,
	  .show = gt_show_timeline,
	  .gen = gt_gen_history,
	  .help = "CPU and GPU events of the history merged by time, with notes" },
	{ .name = "timeline_stats",
	  .mode = 0444,
	  .flags = GT_FILE_VIEW | GT_FILE_LONG | GT_FILE_KEYED,
	  .show = gt_show_timeline_stats,
	  .gen = gt_gen_history,
	  .fields = GT_TIMELINE_STATS_KEYS,
	  .help = "events of the history, their time and rate, and how many timeline leaves out" },
	GT_FILE_EVENTS("GPU"),
	GT_FILE_TRACE("GPU"),
	{ 0 },
};
