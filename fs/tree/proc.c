/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Files of a process's directory, below the root (its work on every GPU) and below one GPU. The
 * directory's mode keeps others out; each look at the process asks the view again.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../processes.h"
#include "internal.h"

static void gt_ring_cells(struct gt_text *t, const struct gt_show *s, struct gt_ring_key k);
static const char *gt_ring_engine_cells(struct gt_text *t, const struct gt_show *s,
					struct gt_ring_key k);

/* Files that identify a process: comm, uid, cgroup, and what the cgroup's path says. */

/** struct who - identity, copied */
struct who {
	uint32_t uid;
	bool dead;
	char comm[16], cgroup[GT_CGROUP_MAX];
};

static int take_who(const struct gt_show *s, struct who *w)
{
	const struct gt_proc *p;
	int err;

	GT_MODEL_LOCK(s->app->model);
	p = gt_obj_known_proc(s, &err);
	if (!p)
		return err;
	w->uid = p->uid;
	w->dead = p->dead;
	memcpy(w->comm, p->comm, sizeof(w->comm));
	memcpy(w->cgroup, p->cgroup, sizeof(w->cgroup));
	return 0;
}

enum { COMM, UID, CGROUP, RUNTIME, CONTAINER, POD, JOB, UNIT, STATE, NFILES };
static const char *const names[NFILES] = { "comm", "uid", "cgroup", "runtime", "container",
					   "pod",  "job", "unit",   "state" };

/* "" where it does not say */
static const char *said(const struct gt_container *c, int what)
{
	switch (what) {
	case RUNTIME:
		return c->runtime;
	case CONTAINER:
		return c->container;
	case POD:
		return c->pod;
	case JOB:
		return c->job;
	default:
		return c->unit;
	}
}

/* Nothing where it is not known */
static void put(struct gt_text *t, const struct who *w, int what)
{
	struct gt_container c;

	switch (what) {
	case COMM:
		if (w->comm[0])
			gt_text_line(t, w->comm, sizeof(w->comm));
		break;
	case UID:
		if (w->uid != GT_NONE32)
			gt_cell_u32(t, w->uid);
		break;
	case CGROUP:
		if (w->cgroup[0])
			gt_text_line(t, w->cgroup, sizeof(w->cgroup));
		break;
	case STATE:
		gt_text_str(t, w->dead ? "dead" : "alive");
		break;
	default:
		gt_container_of(w->cgroup, &c);
		if (*said(&c, what))
			gt_text_line(t, said(&c, what), sizeof(c.unit));
	}
}

static int gt_show_who(struct gt_text *t, const struct gt_show *s)
{
	int what = 0, err;
	struct who w;

	while (what < STATE && strcmp(s->file->name, names[what]))
		what++;
	err = take_who(s, &w);
	if (err)
		return err;
	put(t, &w, what);
	if (!t->len)
		return -ENODEV;
	gt_text_ch(t, '\n');
	return 0;
}

static bool gt_has_who(const struct gt_show *s)
{
	struct gt_text t;
	bool has;

	gt_text_init(&t, 0);
	has = !gt_show_who(&t, s);
	gt_text_free(&t);
	return has;
}

/*
 * What is read off of processes: `memory`, and the engines in `utilization` that are known without
 * any event. Of a process, a user, a control group, or all processes of a GPU.
 */

#define KFD_STALE_NS (5 * GT_SEC)

static void gpu_name(struct gt_text *t, const struct gt_show *s, uint16_t gpu)
{
	char name[16];

	{
		GT_MODEL_LOCK(s->app->model);
		memcpy(name, s->app->model->gpus[gpu]->name, sizeof(name));
	}
	gt_text_word(t, name, sizeof(name));
}

static void region_row(struct gt_text *t, const struct gt_show *s, uint16_t gpu,
		       const struct gt_use_region *r)
{
	gpu_name(t, s, gpu);
	gt_cell_word(t, r->name, sizeof(r->name));
	gt_cell_u64(t, r->total);
	gt_cell_u64(t, r->resident);
	gt_cell_u64(t, r->shared);
	gt_cell_u64(t, r->active);
	gt_cell_u64(t, r->purgeable);
	gt_text_ch(t, '\n');
}

/** struct engine_look - one engine, copied */
struct engine_look {
	char name[GT_USE_NAME];
	uint32_t capacity;
	struct gt_util util;
};

/* Of an engine of which there are several all together are all of the time. */
static void engine_row(struct gt_text *t, const struct gt_show *s, uint16_t gpu,
		       const struct engine_look *e)
{
	struct gt_util u = e->util;

	for (int i = 0; i < 3; i++)
		u.ns[i] /= e->capacity ? e->capacity : 1;
	if (s->obj.kind != GT_DIR_GPU) {
		gpu_name(t, s, gpu);
		gt_cell(t, NULL); /* which rings feed it the driver does not say */
	}
	gt_cell_word(t, e->name, sizeof(e->name));
	gt_util_row(t, &u, "fdinfo");
}

static int by_name(const void *a, const void *b)
{
	return strncmp(a, b, GT_USE_NAME); /* begins either struct */
}

static_assert(offsetof(struct engine_look, name) == 0 && offsetof(struct gt_use_region, name) == 0,
	      "by_name()");

/* Of one GPU, by name: the order in which they came means nothing */
static unsigned int copy_engines(const struct gt_model *m, const struct gt_use *u, uint64_t now,
				 struct engine_look *out)
{
	unsigned int n = 0;

	for (const struct gt_use_busy *e = u ? u->engines : NULL; e; e = e->next, n++) {
		memcpy(out[n].name, e->name, sizeof(out[n].name));
		out[n].capacity = e->capacity;
		out[n].util = gt_util_use(m, &e->busy, now);
	}
	qsort(out, n, sizeof(*out), by_name);
	return n;
}

static void engine_rows(struct gt_text *t, const struct gt_show *s, uint16_t gpu,
			const struct engine_look *e, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		engine_row(t, s, gpu, &e[i]);
}

static bool uses_here(const struct gt_show *s, uint16_t gpu)
{
	return (s->obj.gpu == GT_NONE16 || gpu == s->obj.gpu) && !s->app->model->gpus[gpu]->gone;
}

/* A process ---------------------------------------------------------------------------------------
 */

static bool has_regions(const struct gt_use *u)
{
	return u->nregions;
}

static bool has_kfd(const struct gt_use *u)
{
	return u->kfd_at;
}

/* Is there a GPU where @has is true of the process? */
static bool any_use(const struct gt_show *s, bool (*has)(const struct gt_use *u))
{
	const struct gt_proc *p;
	bool any = false;
	int err;

	GT_MODEL_LOCK(s->app->model);
	p = gt_obj_known_proc(s, &err);
	for (const struct gt_use *u = p ? p->uses : NULL; u; u = u->next)
		any |= uses_here(s, u->gpu) && has(u);
	return any;
}

static bool gt_has_proc_memory(const struct gt_show *s)
{
	return any_use(s, has_regions);
}

static bool gt_has_proc_kfd(const struct gt_show *s)
{
	return any_use(s, has_kfd);
}

/* 1: @out is what was read off of the process on @gpu, but for engines; 0: nothing was; -errno */
static int take_use(const struct gt_show *s, uint16_t gpu, struct gt_use *out)
{
	const struct gt_proc *p;
	const struct gt_use *u;
	int err;

	GT_MODEL_LOCK(s->app->model);
	p = gt_obj_known_proc(s, &err);
	u = p ? gt_use_of(p->uses, gpu) : NULL;
	if (!u || !uses_here(s, gpu))
		return err;
	*out = *u;
	out->engines = NULL; /* the model's, unlocked from here on */
	return 1;
}

static unsigned int gpus(const struct gt_show *s)
{
	GT_MODEL_LOCK(s->app->model);
	return s->app->model->ngpus;
}

static int gt_show_proc_memory(struct gt_text *t, const struct gt_show *s)
{
	struct gt_use u = { 0 };
	int n = 0;

	gt_app_look(s->app, GT_REFRESH_PROCS);
	for (unsigned int g = 0; n >= 0 && g < gpus(s); g++) {
		n = take_use(s, (uint16_t)g, &u);
		if (n <= 0)
			continue;
		qsort(u.region, u.nregions, sizeof(u.region[0]), by_name);
		for (unsigned int i = 0; i < u.nregions; i++)
			region_row(t, s, (uint16_t)g, &u.region[i]);
	}
	return n < 0 ? n : 0;
}

static int gt_show_proc_kfd(struct gt_text *t, const struct gt_show *s)
{
	unsigned int rows = 0;
	struct gt_use u = { 0 };
	uint64_t now;
	int n = 0;

	gt_app_look(s->app, GT_REFRESH_PROCS);
	now = gt_model_now(s->app->model);
	for (unsigned int g = 0; n >= 0 && g < gpus(s); g++) {
		n = take_use(s, (uint16_t)g, &u);
		if (n <= 0 || !u.kfd_at || now > u.kfd_at + KFD_STALE_NS)
			continue;
		rows++;
		gpu_name(t, s, (uint16_t)g);
		gt_cell_u64(t, u.kfd.vram);
		gt_cell_u64(t, u.kfd.sdma_us);
		gt_cell_u64(t, u.kfd.evicted_ms);
		gt_cell_u64(t, u.kfd.cu_occupancy);
		gt_text_ch(t, '\n');
	}
	if (n >= 0 && !rows)
		return -ENODATA; /* its GPU sleeps, or it let go of it */
	return n < 0 ? n : 0;
}

static int take_engines(const struct gt_show *s, uint16_t gpu, uint64_t now,
			struct engine_look *out)
{
	const struct gt_proc *p;
	int err;

	GT_MODEL_LOCK(s->app->model);
	p = gt_obj_known_proc(s, &err);
	if (!p || !uses_here(s, gpu))
		return err;
	return (int)copy_engines(s->app->model, gt_use_of(p->uses, gpu), now, out);
}

/** gt_proc_engine_rows() - of a process; 0 or -errno */
static int gt_proc_engine_rows(struct gt_text *t, const struct gt_show *s)
{
	uint64_t now = gt_model_now(s->app->model);
	struct engine_look e[GT_USE_ENGINES];
	int n = 0;

	for (unsigned int g = 0; n >= 0 && g < gpus(s); g++) {
		n = take_engines(s, (uint16_t)g, now, e);
		if (n > 0)
			engine_rows(t, s, (uint16_t)g, e, (unsigned int)n);
	}
	return n < 0 ? n : 0;
}

/* All processes of a GPU --------------------------------------------------------------------------
 */

void gt_gpu_engine_rows(struct gt_text *t, const struct gt_show *s)
{
	uint64_t now = gt_model_now(s->app->model);
	struct engine_look e[GT_USE_ENGINES];
	unsigned int n = 0;

	{
		GT_MODEL_LOCK(s->app->model);
		const struct gt_gpu *g = gt_obj_gpu(s);

		if (g)
			n = copy_engines(s->app->model, g->use, now, e);
	}
	engine_rows(t, s, s->obj.gpu, e, n);
}

/* A user or a control group -----------------------------------------------------------------------
 */

static bool reported(const struct gt_show *s, uint16_t gpu)
{
	GT_MODEL_LOCK(s->app->model);
	return uses_here(s, gpu);
}

/** gt_work_engine_rows(), gt_work_memory_rows() - of a user or control group */
static void gt_work_engine_rows(struct gt_text *t, const struct gt_show *s, const struct gt_work *w)
{
	uint64_t now = gt_model_now(s->app->model);
	struct engine_look e[GT_USE_ENGINES];

	for (uint16_t g = 0; g < GT_MAX_GPUS; g++) {
		const struct gt_use *u = gt_use_of(w->uses, g);

		if (u && reported(s, g))
			engine_rows(t, s, g, e, copy_engines(s->app->model, u, now, e));
	}
}

static void gt_work_memory_rows(struct gt_text *t, const struct gt_show *s, struct gt_work *w)
{
	for (uint16_t g = 0; g < GT_MAX_GPUS; g++) {
		struct gt_use *u = gt_use_of(w->uses, g);

		if (!u || !reported(s, g))
			continue;
		qsort(u->region, u->nregions, sizeof(u->region[0]), by_name);
		for (unsigned int i = 0; i < u->nregions; i++)
			region_row(t, s, g, &u->region[i]);
	}
}

/*
 * users/<uid>/ and cgroups/<path>/: the totals that a caller may see, and their files. A total is
 * shown to who may know of every process that was ever counted in it; a cgroup's directory also to
 * who may see the total of one below it, and then has no files.
 */

const struct gt_group *gt_obj_group(const struct gt_show *s)
{
	return gt_model_group(s->app->model, s->obj.id, s->obj.start);
}

/** gt_group_shown() - may @v see the total of @g? Model's lock held */
static bool gt_group_shown(const struct gt_group *g, const struct gt_view *v)
{
	bool there = v->ns == GT_PIDNS_OWN;

	if (gt_view_whole(v))
		return true;
	for (unsigned int i = 0; i < g->ns.n; i++)
		there |= g->ns.id[i] == v->ns;
	if (!g->counted || !there)
		return false;
	return v->all || v->there || v->visibility == GT_VIS_ALL || (!g->mixed && g->uid == v->uid);
}

void gt_group_seen(const struct gt_model *m, const struct gt_view *v, struct gt_group_set *set)
{
	memset(set, 0, sizeof(*set));
	for (uint32_t i = 0; i < m->ngroups; i++) {
		uint32_t up = i;

		if (!m->groups[i] || !gt_group_shown(m->groups[i], v))
			continue;
		for (; up != GT_NONE32 && !gt_group_set_has(set, up); up = m->groups[up]->parent)
			set->bit[up / 64] |= 1ULL << (up % 64);
	}
}

/* A name that a file has, too, gives way: anybody may make a cgroup called "stats". */
bool gt_group_name(const struct gt_group *g, char out[GT_NAME_MAX])
{
	size_t need = 0;

	for (const char *c = g->name; *c; c++)
		need += *c > 0x1f && *c < 0x7f && *c != '%' ? 1 : 3;
	if (need + 8 >= GT_NAME_MAX)
		return false;
	gt_name_escape(out, g->name, sizeof(g->name));
	for (const struct gt_file *f = gt_tree_files[GT_DIR_CGROUP]; f->name; f++) {
		if (strcmp(out, f->name))
			continue;
		memmove(out + 3, out + 1, strlen(out));
		snprintf(out, 4, "%%%02X", (unsigned char)f->name[0]);
		out[3] = f->name[1];
		break;
	}
	return true;
}

struct gt_obj gt_obj_of_group(const struct gt_model *m, uint32_t i)
{
	struct gt_obj o =
		gt_obj(m->groups[i]->cgroup ? GT_DIR_CGROUP : GT_DIR_USER, GT_NONE16, GT_NONE16, i);

	o.start = m->groups[i]->serial;
	return o;
}

static bool group_exists(const struct gt_show *s)
{
	const struct gt_group *g;

	GT_MODEL_LOCK(s->app->model);
	g = gt_obj_group(s);
	return g && gt_group_shown(g, &s->view);
}

static int take_group(const struct gt_show *s, unsigned int what, struct gt_work *w)
{
	int err;

	if (!group_exists(s))
		return -EACCES;
	err = gt_group_work(s->app->model, s->obj.id, s->obj.start, what, w);
	/* somebody else's process may have joined meanwhile, and be in it: that is never undone */
	if (!err && !group_exists(s)) {
		gt_work_free(w);
		err = -EACCES;
	}
	return err;
}

/* Where no process has a known cgroup, nobody knows what those below / did. Live, with no
 * process at all, they did nothing. */
static bool unknown(const struct gt_model *m, const struct gt_group *g)
{
	return g && !g->counted && (!m->wall || m->nprocs);
}

/* What is known of a group: GT_REPORTS_*. Lock held. */
static unsigned int reports_of(const struct gt_show *s, const struct gt_work *w)
{
	const struct gt_model *m = s->app->model;
	unsigned int reported = gt_reported(m) & ~GT_REPORTS_NO_ENDS;

	if (unknown(m, gt_obj_group(s)))
		return 0;
	if (w->rings)
		reported &= ~(GT_REPORTS_JOBS | GT_REPORTS_SUBMITS | GT_REPORTS_NO_SUBMITS);
	for (const struct gt_proc_ring *r = w->rings; r; r = r->next)
		reported |= gt_reported_ring(m->gpus[r->gpu]->rings[r->ring]);
	return reported;
}

static int show_group_stats(struct gt_text *t, const struct gt_show *s)
{
	struct gt_work w = { 0 };
	uint64_t busy = 0;
	unsigned int reported;
	int err = take_group(s, 0, &w);

	if (err)
		return err;
	for (const struct gt_proc_ring *r = w.rings; r; r = r->next)
		busy = busy == GT_NONE64 || r->busy.unclear ? GT_NONE64 : busy + r->busy.total_ns;
	{
		GT_MODEL_LOCK(s->app->model);
		reported = reports_of(s, &w);
	}
	gt_counts_lines(t, &w.counts, reported, w.inflight);
	if (busy || (reported & GT_REPORTS_SUBMITS && !(reported & GT_REPORTS_NO_ENDS)))
		gt_known_kv(t, "busy_ns", busy);
	gt_call_lines(t, &w.counts, reported);
	gt_work_free(&w);
	return 0;
}

/* The ring of @w that comes next in the order of GPUs and rings, which is at @k or after it */
static const struct gt_proc_ring *next_ring(const struct gt_work *w, struct gt_ring_key *k)
{
	const struct gt_proc_ring *best = NULL;

	for (const struct gt_proc_ring *r = w->rings; r; r = r->next) {
		if (r->gpu < k->gpu || (r->gpu == k->gpu && r->ring < k->ring))
			continue;
		if (!best || r->gpu < best->gpu || (r->gpu == best->gpu && r->ring < best->ring))
			best = r;
	}
	if (best)
		*k = (struct gt_ring_key){ best->gpu, best->ring };
	return best;
}

/* Bits by stage: known or may yet be; none if the GPU has gone */
static unsigned int stages_reported(struct gt_model *m, struct gt_ring_key k)
{
	unsigned int reported = 0;

	GT_MODEL_LOCK(m);
	for (enum gt_stage_id st = 0; !m->gpus[k.gpu]->gone && st < GT_NSTAGES; st++)
		reported |= gt_ring_reports(m->gpus[k.gpu]->rings[k.ring], st) ? 1U << st : 0;
	return reported;
}

static struct gt_extent ring_extent(struct gt_model *m, struct gt_ring_key k)
{
	GT_MODEL_LOCK(m);

	return gt_ring_extent(m->gpus[k.gpu]->rings[k.ring]);
}

static int group_latency(struct gt_text *t, const struct gt_show *s, bool last10)
{
	uint64_t now = gt_model_now(s->app->model);
	const struct gt_proc_ring *r;
	struct gt_ring_key k = { 0 };
	struct gt_work w = { 0 };
	int err = take_group(s, GT_WORK_STAGES, &w);

	if (err)
		return err;
	for (; (r = next_ring(&w, &k)); k.ring++) {
		unsigned int reported = stages_reported(s->app->model, k);

		for (enum gt_stage_id st = 0; reported && st < GT_NSTAGES; st++) {
			struct gt_summary sum[2];

			gt_stage_summary(&r->stage[st], now, &sum[0], &sum[1]);
			gt_ring_cells(t, s, k);
			gt_stage_row(t, st, reported & 1U << st ? &sum[last10] : NULL);
		}
	}
	gt_work_free(&w);
	return 0;
}

static int show_group_latency(struct gt_text *t, const struct gt_show *s)
{
	return group_latency(t, s, false);
}

static int show_group_latency_10s(struct gt_text *t, const struct gt_show *s)
{
	return group_latency(t, s, true);
}

static int show_group_utilization(struct gt_text *t, const struct gt_show *s)
{
	uint64_t now = gt_model_now(s->app->model);
	const struct gt_proc_ring *r;
	struct gt_ring_key k = { 0 };
	struct gt_work w = { 0 };
	const char *source;
	struct gt_util u;
	int err;

	gt_app_look(s->app, GT_REFRESH_PROCS);
	err = take_group(s, GT_WORK_BUSY | GT_WORK_USES, &w);
	if (err)
		return err;
	for (; (r = next_ring(&w, &k)); k.ring++) {
		if (!stages_reported(s->app->model, k))
			continue;
		u = gt_util_of(s->app->model, &r->busy, ring_extent(s->app->model, k), now);
		source = gt_ring_engine_cells(t, s, k);
		gt_util_row(t, &u, source);
	}
	gt_work_engine_rows(t, s, &w);
	gt_work_free(&w);
	return 0;
}

static int show_group_memory(struct gt_text *t, const struct gt_show *s)
{
	struct gt_work w = { 0 };
	int err;

	gt_app_look(s->app, GT_REFRESH_PROCS);
	err = take_group(s, GT_WORK_USES, &w);
	if (err)
		return err;
	gt_work_memory_rows(t, s, &w);
	gt_work_free(&w);
	return 0;
}

/* Where any process's is read off: then nothing of it is nothing */
static bool memory_exists(const struct gt_show *s)
{
	bool any = false;

	{
		GT_MODEL_LOCK(s->app->model);
		for (unsigned int i = 0; i < s->app->model->ngpus; i++)
			any |= s->app->model->gpus[i]->use != NULL;
	}
	return any && group_exists(s);
}

/* What thousands of processes did takes long: not for the thread that answers all others */
enum { SUM = GT_FILE_VIEW | GT_FILE_LOOKS };

const struct gt_file gt_group_files[] = {
	{ .name = "stats",
	  .mode = 0444,
	  .flags = SUM | GT_FILE_KEYED,
	  .show = show_group_stats,
	  .exists = group_exists,
	  .gen = gt_gen_model,
	  .fields = GT_COUNTS_KEYS " busy_ns " GT_CALLS_KEYS,
	  .help = "counters of all its processes, ended ones too, since the start or clear" },
	{ .name = "latency",
	  .mode = 0444,
	  .flags = SUM,
	  .show = show_group_latency,
	  .exists = group_exists,
	  .gen = gt_gen_model,
	  .fields = "gpu ring " GT_STAGE_COLUMNS,
	  .help = "as a process's latency, of all its processes together" },
	{ .name = "latency_10s",
	  .mode = 0444,
	  .flags = SUM,
	  .show = show_group_latency_10s,
	  .exists = group_exists,
	  .gen = gt_gen_model,
	  .fields = "gpu ring " GT_STAGE_COLUMNS,
	  .help = "the same of the last 10 s" },
	{ .name = "utilization",
	  .mode = 0444,
	  .flags = SUM,
	  .show = show_group_utilization,
	  .exists = group_exists,
	  .gen = gt_gen_model,
	  .fields = "gpu ring engine " GT_UTIL_COLUMNS,
	  .help = "share of each ring's and engine's time over 1, 10 and 60 s, its "
		  "processes' "
		  "added up" },
	{ .name = "memory",
	  .mode = 0444,
	  .flags = SUM,
	  .show = show_group_memory,
	  .exists = memory_exists,
	  .gen = gt_gen_model,
	  .fields = GT_MEMORY_COLUMNS,
	  .help = "memory that its processes hold now on each GPU, by kind" },
	{ 0 },
};

const struct gt_proc *gt_obj_known_proc(const struct gt_show *s, int *err)
{
	const struct gt_proc *p = gt_obj_proc(s);
	bool sees = p &&
		    (gt_obj_is_own(&s->obj) || gt_view_sees(&s->view, p->pid, p->uid, p->first_ts));

	*err = !p ? -ENODEV : sees ? 0 : -EACCES;
	return *err ? NULL : p;
}

static bool here(const struct gt_show *s, const struct gt_proc_ring *r)
{
	return s->obj.gpu == GT_NONE16 || r->gpu == s->obj.gpu;
}

/*
 * There are GPUs, and nobody has used any: rings are known by their first job only. A recording
 * without any, as a dump of queues, does not say what was done. NVIDIA's own driver passes no DRM
 * scheduler, and its programs hand over work by doorbell: that nobody saw a job means nothing there.
 */
static bool no_work_yet(const struct gt_show *s)
{
	const struct gt_model *m = s->app->model;
	unsigned int rings = 0;

	for (unsigned int i = 0; i < m->ngpus; i++) {
		rings += m->gpus[i]->nrings;
		if ((s->obj.gpu == GT_NONE16 || s->obj.gpu == i) &&
		    !strcmp(m->gpus[i]->driver, "nvidia"))
			return false;
	}
	return m->wall && m->ngpus && !rings;
}

/** struct work - what it did: at all, or on the directory's GPU */
struct work {
	struct gt_counts counts;
	unsigned int reported;
	uint64_t inflight, busy_ns;
};

static int take_work(const struct gt_show *s, struct work *w)
{
	const struct gt_proc *p;
	int err;

	GT_MODEL_LOCK(s->app->model);
	p = gt_obj_known_proc(s, &err);
	if (!p)
		return err;
	for (const struct gt_proc_ring *r = p->rings; r; r = r->next) {
		if (!here(s, r))
			continue;
		w->inflight += r->inflight;
		w->busy_ns += r->busy.total_ns;
		gt_counts_add(&w->counts, &r->counts);
	}
	w->reported = gt_reported(s->app->model) & ~GT_REPORTS_NO_ENDS;
	if (p->rings)
		w->reported &= ~(GT_REPORTS_JOBS | GT_REPORTS_SUBMITS | GT_REPORTS_NO_SUBMITS);
	else if (no_work_yet(s))
		w->reported |= GT_REPORTS_JOBS | GT_REPORTS_SUBMITS;
	for (const struct gt_proc_ring *r = p->rings; r; r = r->next)
		if (here(s, r))
			w->reported |=
				gt_reported_ring(s->app->model->gpus[r->gpu]->rings[r->ring]);
	if (s->obj.gpu == GT_NONE16)
		w->counts = p->counts; /* with what belongs to no ring */
	else
		w->reported &= ~(GT_REPORTS_WAITS | GT_REPORTS_IOCTLS |
				 GT_REPORTS_CALLS); /* these are not known by ring */
	return 0;
}

static int show_stats(struct gt_text *t, const struct gt_show *s)
{
	struct work w = { 0 };
	int err = take_work(s, &w);

	if (err)
		return err;
	gt_counts_lines(t, &w.counts, w.reported, w.inflight);
	if (w.busy_ns || (w.reported & GT_REPORTS_SUBMITS && !(w.reported & GT_REPORTS_NO_ENDS)))
		gt_text_kv(t, "busy_ns", w.busy_ns);
	gt_call_lines(t, &w.counts, w.reported);
	return 0;
}

static void wait_row(struct gt_text *t, const char *name, bool reported, uint64_t n, uint64_t ns)
{
	if (!reported && !n)
		return;
	gt_cell(t, name);
	gt_cell_u64(t, n);
	gt_cell_u64(t, ns);
	gt_text_ch(t, '\n');
}

static int show_waits(struct gt_text *t, const struct gt_show *s)
{
	struct work w = { 0 };
	int err = take_work(s, &w);

	if (err)
		return err;
	wait_row(t, "sync_wait", w.reported & GT_REPORTS_WAITS, w.counts.waits, w.counts.wait_ns);
	wait_row(t, "ioctl", w.reported & GT_REPORTS_IOCTLS, w.counts.ioctls, w.counts.ioctl_ns);
	return 0;
}

/* Those of a GPU that has gone are left out: their counts stay in stats. */
static int take_rings(const struct gt_show *s, struct gt_ring_set *set)
{
	const struct gt_model *m = s->app->model;
	const struct gt_proc *p;
	int err;

	GT_MODEL_LOCK(s->app->model);
	p = gt_obj_known_proc(s, &err);
	if (p)
		gt_ring_set_of(set, p, s->obj.gpu);
	for (unsigned int i = 0; i < m->ngpus; i++)
		if (m->gpus[i]->gone)
			memset(set->bit[i], 0, sizeof(set->bit[i]));
	return err;
}

/** gt_ring_cells() - the cells "gpu" and "ring"; takes the lock */
static void gt_ring_cells(struct gt_text *t, const struct gt_show *s, struct gt_ring_key k)
{
	char gpu[16];
	{
		GT_MODEL_LOCK(s->app->model);
		memcpy(gpu, s->app->model->gpus[k.gpu]->name, sizeof(gpu));
	}
	gt_cell_word(t, gpu, sizeof(gpu));
	gt_cell_ring(t, k.ring);
}

/** gt_ring_engine_cells() - likewise with "engine". Return: what its busy time is taken from */
static const char *gt_ring_engine_cells(struct gt_text *t, const struct gt_show *s,
					struct gt_ring_key k)
{
	enum gt_engine engine;
	const char *source;
	{
		GT_MODEL_LOCK(s->app->model);
		const struct gt_ring *r = s->app->model->gpus[k.gpu]->rings[k.ring];

		engine = r->engine;
		source = gt_ring_source(r);
	}
	gt_ring_cells(t, s, k);
	gt_cell(t, gt_engine_name(engine));
	return source;
}

/** struct stage_look - one stage of one ring, copied; @reported: it is known or may become known
 * @sum: since the start, and of the last 10 s */
struct stage_look {
	bool reported;
	struct gt_summary sum[2];
};

static int take_stage(const struct gt_show *s, struct gt_ring_key k, enum gt_stage_id st,
		      uint64_t now, struct stage_look *l)
{
	struct gt_model *m = s->app->model;
	const struct gt_proc_ring *r;
	const struct gt_proc *p;
	int err;

	GT_MODEL_LOCK(m);
	p = gt_obj_known_proc(s, &err);
	if (!p)
		return err;
	r = gt_proc_ring_at(p, k);
	l->reported = r && gt_ring_reports(m->gpus[k.gpu]->rings[k.ring], st);
	if (l->reported)
		gt_stage_summary(&r->stage[st], now, &l->sum[0], &l->sum[1]);
	return 0;
}

static int latency(struct gt_text *t, const struct gt_show *s, bool last10)
{
	uint64_t now = gt_model_now(s->app->model);
	struct gt_ring_set set = { { { 0 } } };
	struct gt_ring_key k = { 0 };
	struct stage_look l;
	int err = take_rings(s, &set);

	for (; !err && gt_ring_set_next(&set, &k); k.ring++) {
		for (enum gt_stage_id st = 0; st < GT_NSTAGES; st++) {
			err = take_stage(s, k, st, now, &l);
			if (err)
				break;
			gt_ring_cells(t, s, k);
			gt_stage_row(t, st, l.reported ? &l.sum[last10] : NULL);
		}
	}
	return err;
}

static int show_latency(struct gt_text *t, const struct gt_show *s)
{
	return latency(t, s, false);
}

static int show_latency_10s(struct gt_text *t, const struct gt_show *s)
{
	return latency(t, s, true);
}

static int take_util(const struct gt_show *s, struct gt_ring_key k, uint64_t now, struct gt_util *u)
{
	const struct gt_ring *ring;
	const struct gt_proc_ring *r;
	const struct gt_proc *p;
	int err;

	GT_MODEL_LOCK(s->app->model);
	p = gt_obj_known_proc(s, &err);
	if (!p)
		return err;
	r = gt_proc_ring_at(p, k);
	if (!r)
		return -ENODEV;
	ring = s->app->model->gpus[r->gpu]->rings[r->ring];
	if (gt_ring_lacks_ends(ring))
		return -EAGAIN;
	*u = gt_util_running(s->app->model, &r->busy, gt_ring_extent(ring),
			     gt_pring_running(s->app->model, r, p->slot), now);
	return 0;
}

static int show_utilization(struct gt_text *t, const struct gt_show *s)
{
	uint64_t now = gt_model_now(s->app->model);
	struct gt_ring_set set = { { { 0 } } };
	struct gt_ring_key k = { 0 };
	struct gt_util u;
	const char *source;
	int err;

	gt_app_look(s->app, GT_REFRESH_PROCS);
	err = take_rings(s, &set);
	for (; !err && gt_ring_set_next(&set, &k); k.ring++) {
		err = take_util(s, k, now, &u);
		if (err == -EAGAIN) { /* how long it was busy there is not known */
			u = (struct gt_util){ .total = GT_NONE64 };
			err = 0;
		}
		if (err)
			break;
		source = gt_ring_engine_cells(t, s, k);
		gt_util_row(t, &u, source);
	}
	if (!err)
		err = gt_proc_engine_rows(t, s);
	return err;
}

#define WHO(file, what)                                                                            \
	{                                                                                          \
		.name = file, .mode = 0444, .flags = GT_FILE_VIEW, .show = gt_show_who,            \
		.exists = gt_has_who, .gen = gt_gen_object_only, .help = what                      \
	}

static uint64_t gen_uses(const struct gt_show *s)
{
	uint64_t now = gt_model_now(s->app->model);
	bool read_off;

	{
		GT_MODEL_LOCK(s->app->model);
		const struct gt_proc *p = gt_obj_proc(s);

		read_off = p && p->uses && !p->dead;
	}
	return gt_gen_mix(gt_gen_moving(s), read_off ? now / GT_READ_NS : 0);
}

const struct gt_file gt_proc_files[] = {
	WHO("comm", "name of the program"),
	WHO("uid", "user it runs as"),
	WHO("cgroup", "path of its control group"),
	WHO("runtime", "what made its cgroup: docker, podman, kubernetes, slurm, systemd, …"),
	WHO("container", "id of its container"),
	WHO("pod", "uid of its Kubernetes pod, or id of its podman pod"),
	WHO("job", "its Slurm job and step: 1234.0"),
	WHO("unit", "its systemd service or scope, else its slice"),
	WHO("state", "alive, or dead: then it stays for 60 s"),
	{ .name = "stats",
	  .mode = 0444,
	  .flags = GT_FILE_VIEW | GT_FILE_KEYED,
	  .show = show_stats,
	  .gen = gt_gen_object_only,
	  .fields = GT_COUNTS_KEYS " busy_ns " GT_CALLS_KEYS,
	  .help = "counters since the start or the last clear" },
	{ .name = "latency",
	  .mode = 0444,
	  .flags = GT_FILE_VIEW,
	  .show = show_latency,
	  .gen = gt_gen_object_only,
	  .fields = "gpu ring " GT_STAGE_COLUMNS,
	  .help = "as a ring's latency, for each ring it used" },
	{ .name = "latency_10s",
	  .mode = 0444,
	  .flags = GT_FILE_VIEW,
	  .show = show_latency_10s,
	  .gen = gt_gen_object,
	  .fields = "gpu ring " GT_STAGE_COLUMNS,
	  .help = "the same of the last 10 s" },
	{ .name = "utilization",
	  .mode = 0444,
	  .flags = GT_FILE_VIEW | GT_FILE_LOOKS,
	  .show = show_utilization,
	  .gen = gen_uses,
	  .fields = "gpu ring engine " GT_UTIL_COLUMNS,
	  .help = "share of each ring's and engine's time over 1, 10 and 60 s" },
	{ .name = "memory",
	  .mode = 0444,
	  .flags = GT_FILE_VIEW | GT_FILE_LOOKS,
	  .show = gt_show_proc_memory,
	  .exists = gt_has_proc_memory,
	  .gen = gen_uses,
	  .fields = GT_MEMORY_COLUMNS,
	  .help = "memory that it holds on each GPU, by kind, from the driver" },
	{ .name = "kfd",
	  .mode = 0444,
	  .flags = GT_FILE_VIEW | GT_FILE_LOOKS,
	  .show = gt_show_proc_kfd,
	  .exists = gt_has_proc_kfd,
	  .gen = gen_uses,
	  .fields = "gpu vram_bytes sdma_us evicted_ms cu_occupancy",
	  .help = "by GPU: memory, copies, evictions and compute units, from AMD's compute "
		  "driver" },
	{ .name = "waits",
	  .mode = 0444,
	  .flags = GT_FILE_VIEW,
	  .show = show_waits,
	  .gen = gt_gen_object_only,
	  .fields = "kind count total_ns",
	  .help = "waits for the GPU, and ioctls: count and time" },
	GT_FILE_BLAME(" of this process"),
	GT_FILE_BLAME_STATS,
	GT_FILE_REPORT,
	GT_FILE_REPORT_STATS,
	GT_FILE_EVENTS("process"),
	GT_FILE_TRACE("process"),
	{ 0 },
};
