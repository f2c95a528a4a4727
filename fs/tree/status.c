/* SPDX-License-Identifier: GPL-2.0 */
/* The root's `status`: what the daemon does, and where every event went. */
#include <time.h>

#include "about.h"

static uint64_t clock_ns(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static const char *state_of(const struct gt_app *app)
{
	if (__atomic_load_n(&app->stopped, __ATOMIC_RELAXED))
		return "stopped";
	if (!app->replay)
		return "running";
	return app->host && gt_host_replaying(app->host) ? "replaying" : "ended";
}

/* struct counts - one moment of everything the model's lock guards, so that sums hold */
struct counts {
	struct gt_gate_counts n;
	int64_t level, mode;
	uint64_t held, hold_bytes;
	struct gt_adapt adapt;
	double share;
	unsigned int gpus, rings, queues, procs, jobs;
	uint64_t aged, evicted, unmatched, procs_refused, queues_refused, memory;
	uint64_t users, users_refused, users_dropped, cgroups, cgroups_refused, cgroups_folded;
};

static struct counts count(struct gt_app *app)
{
	struct gt_model *m = app->model;
	struct counts c = { 0 };

	GT_MODEL_LOCK(m);
	c.n = app->gate->n;
	c.level = app->conf->level;
	c.mode = app->conf->sampling_mode;
	c.held = app->gate->hold.held;
	c.hold_bytes = gt_hold_bytes(&app->gate->hold);
	c.adapt = app->gate->adapt;
	c.share = (double)app->gate->wanted.share / GT_SHARE_ALL;
	for (unsigned int i = 0; i < m->ngpus; i++) {
		if (m->gpus[i]->gone)
			continue;
		c.gpus++;
		c.rings += m->gpus[i]->nrings;
	}
	c.queues = m->nqueues - m->free_queues;
	c.procs = m->nprocs;
	c.jobs = m->njobs;
	c.aged = m->counts.aged;
	c.evicted = m->counts.evicted;
	c.unmatched = m->counts.unmatched;
	c.procs_refused = m->procs_refused;
	c.queues_refused = m->queues_refused;
	c.users = m->nusers;
	c.users_refused = m->users_refused;
	c.users_dropped = m->users_dropped;
	c.cgroups = m->ncgroups;
	c.cgroups_refused = m->cgroups_refused;
	c.cgroups_folded = m->cgroups_folded;
	c.memory = m->memory;
	return c;
}

static void show_events(struct gt_text *t, const struct counts *c)
{
	gt_text_kv(t, "events_seen", c->n.seen);
	gt_text_kv(t, "events_recorded", c->n.recorded);
	gt_text_kv(t, "events_filtered_level", c->n.refused[GT_R_LEVEL]);
	gt_text_kv(t, "events_filtered", gt_gate_filtered(&c->n));
	gt_text_kv(t, "events_sampled_out", gt_gate_sampled(&c->n));
	gt_text_kv(t, "events_rate_limited", c->n.refused[GT_R_RATE]);
	gt_text_kv(t, "events_lost_source", c->n.lost_source);
}

static void show_memory(struct gt_text *t, const struct gt_app *app, const struct counts *c)
{
	uint64_t history = gt_log_bytes(app->log), texts = app->snapshot_bytes;

	gt_text_kv(t, "memory_bytes", c->memory + history + texts + c->hold_bytes);
	gt_text_kv(t, "model_bytes", c->memory);
	gt_text_kv(t, "model_refused", gt_hist_refused());
	gt_text_kv(t, "history_bytes", history);
	gt_text_kv(t, "snapshots", app->snapshots);
	gt_text_kv(t, "snapshot_bytes", texts);
	gt_text_kv(t, "nodes", app->nodes);
}

static void show_objects(struct gt_text *t, const struct counts *c)
{
	gt_text_kv(t, "objects", (uint64_t)c->gpus + c->rings + c->queues + c->procs);
	gt_text_kv(t, "gpus", c->gpus);
	gt_text_kv(t, "rings", c->rings);
	gt_text_kv(t, "queues", c->queues);
	gt_text_kv(t, "queues_refused", c->queues_refused);
	gt_text_kv(t, "processes", c->procs);
	gt_text_kv(t, "processes_refused", c->procs_refused);
	gt_text_kv(t, "jobs_in_flight", c->jobs);
	gt_text_kv(t, "jobs_aged_out", c->aged);
	gt_text_kv(t, "jobs_evicted", c->evicted);
	gt_text_kv(t, "jobs_unmatched", c->unmatched);
}

/* What callers hold of what is limited, and how often they were refused it; NULL: told elsewhere */
static const struct {
	const char *held, *refused;
} limits[GT_NQ] = {
	[GT_Q_NODES] = { "names", NULL }, /* without a bound */
	[GT_Q_NAMES] = { "names_held", "refused_names" },
	[GT_Q_FILES] = { "descriptors", "refused_descriptors" },
	[GT_Q_PIPES] = { NULL, "refused_pipes" }, /* readers */
	[GT_Q_READS] = { NULL, "refused_reads" }, /* parked */
	[GT_Q_OPENS] = { "opens_waiting", "refused_opens" },
	[GT_Q_POLLS] = { "polls", "refused_polls" },
	[GT_Q_BYTES] = { "held_bytes", "refused_texts" },
};

static void show_limits(struct gt_text *t, const struct gt_quota *q)
{
	gt_text_kv(t, "callers", q->users);
	for (int k = 0; k < GT_NQ; k++)
		if (limits[k].held)
			gt_text_kv(t, limits[k].held, q->total[k]);
	for (int k = 0; k < GT_NQ; k++)
		if (limits[k].refused)
			gt_text_kv(t, limits[k].refused, q->refused[k]);
}

static void show_percent(struct gt_text *t, const char *key, double part)
{
	gt_text_str(t, key);
	gt_text_ch(t, ' ');
	gt_text_milli(t, (uint64_t)(part * 100000 + 0.5), 2);
	gt_text_ch(t, '\n');
}

/* What sampling does now */
static void show_gate(struct gt_text *t, const struct counts *c)
{
	static const char *const modes[] = { "static", "adaptive", "threshold" };

	gt_text_kv(t, "events_lost_held", c->n.lost_held);
	gt_text_kv(t, "records_held", c->held);
	gt_text_kvs(t, "sampling_mode", modes[c->mode]);
	show_percent(t, "sampling_percent", c->share);
	if (c->adapt.budget && c->adapt.cpu)
		show_percent(t, "sampling_cpu_percent", c->adapt.use);
}

int gt_show_status(struct gt_text *t, const struct gt_show *s)
{
	static const char *const levels[] = { "off", "stats", "normal", "verbose" };
	struct gt_app *app = s->app;
	struct counts c = count(app);
	struct gt_pidns_stats namespaces = gt_pidns_stats();

	gt_text_kvs(t, "state", state_of(app));
	gt_text_kvs(t, "level", levels[c.level & 3]);
	gt_text_kv(t, "uptime_s", (clock_ns(CLOCK_MONOTONIC) - app->started) / 1000000000);
	if (app->simulated)
		gt_text_kv(t, "simulated", 1);
	show_events(t, &c);
	gt_text_kv(t, "readers", app->quota.total[GT_Q_PIPES]);
	gt_text_kv(t, "parked", app->quota.total[GT_Q_READS]);
	show_objects(t, &c);
	show_memory(t, app, &c);
	gt_text_kv(t, "records_late", atomic_load(&app->log->late));
	gt_text_kv(t, "daemon_cpu_ns", clock_ns(CLOCK_PROCESS_CPUTIME_ID));
	if (app->host)
		gt_text_kv(t, "ingest_cpu_ns", gt_host_cpu_ns(app->host));
	gt_text_kv(t, "pid_namespaces", namespaces.namespaces);
	gt_text_kv(t, "pid_namespaces_processes", namespaces.processes);
	gt_text_kv(t, "pid_namespaces_refused", namespaces.refused);
	gt_text_kv(t, "users", c.users);
	gt_text_kv(t, "users_refused", c.users_refused);
	gt_text_kv(t, "cgroups", c.cgroups);
	gt_text_kv(t, "cgroups_refused", c.cgroups_refused);
	gt_text_kv(t, "cgroups_folded", c.cgroups_folded);
	gt_text_kv(t, "users_dropped", c.users_dropped);
	show_limits(t, &app->quota);
	show_gate(t, &c);
	return 0;
}
