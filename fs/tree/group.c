/* SPDX-License-Identifier: GPL-2.0 */
/*
 * users/<uid>/ and cgroups/<path>/: whose totals a caller may see, and their files. A total is
 * shown to who may know of every process that was ever counted in it; a cgroup's directory also to
 * who may see the total of one below it, and then has no files.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lines.h"
#include "node.h"

const struct gt_group *gt_obj_group(const struct gt_show *s)
{
	return gt_model_group(s->app->model, s->obj.id, s->obj.start);
}

bool gt_group_told(const struct gt_group *g, const struct gt_view *v)
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

		if (!m->groups[i] || !gt_group_told(m->groups[i], v))
			continue;
		for (; up != GT_NONE32 && !gt_group_has(set, up); up = m->groups[up]->parent)
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

static bool exists(const struct gt_show *s)
{
	const struct gt_group *g;

	GT_MODEL_LOCK(s->app->model);
	g = gt_obj_group(s);
	return g && gt_group_told(g, &s->view);
}

static int take(const struct gt_show *s, unsigned int what, struct gt_work *w)
{
	int err;

	if (!exists(s))
		return -EACCES;
	err = gt_group_work(s->app->model, s->obj.id, s->obj.start, what, w);
	/* somebody else's process may have joined meanwhile, and be in it: that is never undone */
	if (!err && !exists(s)) {
		gt_work_free(w);
		err = -EACCES;
	}
	return err;
}

static int show_stats(struct gt_text *t, const struct gt_show *s)
{
	struct gt_work w = { 0 };
	uint64_t busy = 0;
	unsigned int told;
	int err = take(s, 0, &w);

	if (err)
		return err;
	for (const struct gt_proc_ring *r = w.rings; r; r = r->next)
		busy += r->busy.total_ns;
	{
		GT_MODEL_LOCK(s->app->model);
		told = gt_told(s->app->model);
	}
	gt_counts_lines(t, &w.counts, told, w.inflight);
	gt_text_kv(t, "busy_ns", busy);
	gt_call_lines(t, &w.counts, told);
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
static unsigned int stages_told(struct gt_model *m, struct gt_ring_key k)
{
	unsigned int told = 0;

	GT_MODEL_LOCK(m);
	for (enum gt_stage_id st = 0; !m->gpus[k.gpu]->gone && st < GT_NSTAGES; st++)
		told |= gt_ring_tells(m->gpus[k.gpu]->rings[k.ring], st) ? 1U << st : 0;
	return told;
}

static int show_latency(struct gt_text *t, const struct gt_show *s)
{
	uint64_t now = gt_model_now(s->app->model);
	const struct gt_proc_ring *r;
	struct gt_ring_key k = { 0 };
	struct gt_work w = { 0 };
	int err = take(s, GT_WORK_STAGES, &w);

	if (err)
		return err;
	for (; (r = next_ring(&w, &k)); k.ring++) {
		unsigned int told = stages_told(s->app->model, k);

		for (enum gt_stage_id st = 0; st < GT_NSTAGES; st++) {
			struct gt_summary all, last10;

			if (!(told & 1U << st))
				continue;
			gt_stage_summary(&r->stage[st], now, &all, &last10);
			gt_ring_label(t, s, k);
			gt_text_ch(t, ' ');
			gt_stage_line(t, gt_stage_names[st], &all, &last10);
		}
	}
	gt_work_free(&w);
	return 0;
}

static int show_utilization(struct gt_text *t, const struct gt_show *s)
{
	uint64_t now = gt_model_now(s->app->model);
	const struct gt_proc_ring *r;
	struct gt_ring_key k = { 0 };
	struct gt_work w = { 0 };
	struct gt_util u;
	int err;

	gt_app_look(s->app, GT_LOOK_PROCS);
	err = take(s, GT_WORK_BUSY | GT_WORK_USES, &w);
	if (err)
		return err;
	for (; (r = next_ring(&w, &k)); k.ring++) {
		if (!stages_told(s->app->model, k))
			continue;
		u = gt_util_of(&r->busy, now);
		gt_ring_label(t, s, k);
		gt_util_avgs(t, &u);
	}
	gt_work_engine_lines(t, s, &w);
	gt_work_free(&w);
	return 0;
}

static int show_memory(struct gt_text *t, const struct gt_show *s)
{
	struct gt_work w = { 0 };
	int err;

	gt_app_look(s->app, GT_LOOK_PROCS);
	err = take(s, GT_WORK_USES, &w);
	if (err)
		return err;
	gt_work_memory_lines(t, s, &w);
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
	return any && exists(s);
}

/* What thousands of processes did takes long: not for the thread that answers all others */
enum { SUM = GT_FILE_VIEW | GT_FILE_LONG | GT_FILE_AGAIN };

const struct gt_file gt_group_files[] = {
	{ .name = "stats",
	  .mode = 0444,
	  .flags = SUM,
	  .show = show_stats,
	  .exists = exists,
	  .gen = gt_gen_model,
	  .help = "counters of all its processes, ended ones too, since the start or clear" },
	{ .name = "latency",
	  .mode = 0444,
	  .flags = SUM,
	  .show = show_latency,
	  .exists = exists,
	  .gen = gt_gen_model,
	  .help = "as a process's latency, of all its processes together" },
	{ .name = "utilization",
	  .mode = 0444,
	  .flags = SUM,
	  .show = show_utilization,
	  .exists = exists,
	  .gen = gt_gen_model,
	  .help = "share of each ring's and engine's time over 1, 10 and 60 s, its processes' added up" },
	{ .name = "memory",
	  .mode = 0444,
	  .flags = SUM,
	  .show = show_memory,
	  .exists = memory_exists,
	  .gen = gt_gen_model,
	  .help = "memory that its processes hold now on each GPU, by kind" },
	{ 0 },
};
