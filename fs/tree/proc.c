/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Files of a process's directory, below the root (its work on every GPU) and below one GPU. The
 * directory's mode keeps others out; each look at the process asks the view again.
 */
#include <errno.h>
#include <string.h>

#include "lines.h"

const struct gt_proc *gt_obj_known_proc(const struct gt_show *s, int *err)
{
	const struct gt_proc *p = gt_obj_proc(s);

	*err = !p ? -ENODEV : gt_view_sees(&s->view, p->pid, p->uid, p->first_ts) ? 0 : -EACCES;
	return *err ? NULL : p;
}

static bool here(const struct gt_show *s, const struct gt_proc_ring *r)
{
	return s->obj.gpu == GT_NONE16 || r->gpu == s->obj.gpu;
}

/** struct work - what it did: at all, or on the directory's GPU */
struct work {
	struct gt_counts counts;
	unsigned int told;
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
	w->told = gt_told(s->app->model);
	if (s->obj.gpu == GT_NONE16)
		w->counts = p->counts; /* with what belongs to no ring */
	else
		w->told &= GT_TOLD_COMMITS; /* waits and ioctls are not told by ring */
	return 0;
}

static int show_stats(struct gt_text *t, const struct gt_show *s)
{
	struct work w = { 0 };
	int err = take_work(s, &w);

	if (err)
		return err;
	gt_counts_lines(t, &w.counts, w.told, w.inflight);
	gt_text_kv(t, "busy_ns", w.busy_ns);
	gt_call_lines(t, &w.counts, w.told);
	return 0;
}

static void wait_line(struct gt_text *t, const char *name, bool told, uint64_t n, uint64_t ns)
{
	if (!told && !n)
		return;
	gt_text_str(t, name);
	gt_text_gkv(t, "count", n);
	gt_text_gkv(t, "total_ns", ns);
	gt_text_ch(t, '\n');
}

static int show_waits(struct gt_text *t, const struct gt_show *s)
{
	struct work w = { 0 };
	int err = take_work(s, &w);

	if (err)
		return err;
	wait_line(t, "sync_wait", w.told & GT_TOLD_WAITS, w.counts.waits, w.counts.wait_ns);
	wait_line(t, "ioctl", w.told & GT_TOLD_IOCTLS, w.counts.ioctls, w.counts.ioctl_ns);
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

void gt_ring_label(struct gt_text *t, const struct gt_show *s, struct gt_ring_key k)
{
	char gpu[16];
	{
		GT_MODEL_LOCK(s->app->model);
		memcpy(gpu, s->app->model->gpus[k.gpu]->name, sizeof(gpu));
	}
	if (s->obj.gpu == GT_NONE16) {
		gt_text_word(t, gpu, sizeof(gpu));
		gt_text_ch(t, '/');
	}
	gt_text_str(t, "ring");
	gt_text_u64(t, k.ring);
}

/** struct stage_look - one stage of one ring, copied; @told: it is known or may yet be */
struct stage_look {
	bool told;
	struct gt_summary all, last10;
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
	l->told = r && gt_ring_tells(m->gpus[k.gpu]->rings[k.ring], st);
	if (l->told)
		gt_stage_summary(&r->stage[st], now, &l->all, &l->last10);
	return 0;
}

static int show_latency(struct gt_text *t, const struct gt_show *s)
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
			if (!l.told)
				continue;
			gt_ring_label(t, s, k);
			gt_text_ch(t, ' ');
			gt_stage_line(t, gt_stage_names[st], &l.all, &l.last10);
		}
	}
	return err;
}

static int take_util(const struct gt_show *s, struct gt_ring_key k, uint64_t now, struct gt_util *u)
{
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
	*u = gt_util_of(&r->busy, now);
	return 0;
}

static int show_utilization(struct gt_text *t, const struct gt_show *s)
{
	uint64_t now = gt_model_now(s->app->model);
	struct gt_ring_set set = { { { 0 } } };
	struct gt_ring_key k = { 0 };
	struct gt_util u;
	int err;

	gt_app_look(s->app, GT_LOOK_PROCS);
	err = take_rings(s, &set);
	for (; !err && gt_ring_set_next(&set, &k); k.ring++) {
		err = take_util(s, k, now, &u);
		if (err)
			break;
		gt_ring_label(t, s, k);
		gt_util_avgs(t, &u);
	}
	return err ? err : gt_proc_engine_lines(t, s);
}

#define WHO(file, what)                                                                            \
	{                                                                                          \
		.name = file, .mode = 0444, .flags = GT_FILE_VIEW, .show = gt_show_who,            \
		.exists = gt_has_who, .gen = gt_gen_object_only, .help = what                      \
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
	  .flags = GT_FILE_VIEW,
	  .show = show_stats,
	  .gen = gt_gen_object_only,
	  .help = "counters since the start or the last clear" },
	{ .name = "latency",
	  .mode = 0444,
	  .flags = GT_FILE_VIEW,
	  .show = show_latency,
	  .gen = gt_gen_object,
	  .help = "as a ring's latency, a group for each ring it used" },
	{ .name = "utilization",
	  .mode = 0444,
	  .flags = GT_FILE_VIEW,
	  .show = show_utilization,
	  .gen = gt_gen_uses,
	  .help = "share of each ring's and engine's time over 1, 10 and 60 s" },
	{ .name = "memory",
	  .mode = 0444,
	  .flags = GT_FILE_VIEW,
	  .show = gt_show_proc_memory,
	  .exists = gt_has_proc_memory,
	  .gen = gt_gen_uses,
	  .help = "memory that it holds on each GPU, by kind, as the driver tells" },
	{ .name = "kfd",
	  .mode = 0444,
	  .flags = GT_FILE_VIEW,
	  .show = gt_show_proc_kfd,
	  .exists = gt_has_proc_kfd,
	  .gen = gt_gen_uses,
	  .help = "by GPU: memory, copies, evictions and compute units, as AMD's compute driver tells" },
	{ .name = "waits",
	  .mode = 0444,
	  .flags = GT_FILE_VIEW,
	  .show = show_waits,
	  .gen = gt_gen_object_only,
	  .help = "waits for the GPU, and ioctls: count and time" },
	GT_FILE_BLAME(" of this process"),
	GT_FILE_REPORT,
	GT_FILE_EVENTS("process"),
	GT_FILE_TRACE("process"),
	{ 0 },
};
