/* SPDX-License-Identifier: GPL-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "model/model.h"
#include "gpu_names.h"
#include "pipeline.h"
#include "processes.h"

#define CLOCKS_NS 1000000000u
#define BATCH	  128 /* records for which the model stays locked: some 8 us */

struct gt_pipeline {
	struct gt_app *app;
	struct gt_naming *naming;
	int processes;
	void (*notify)(void *arg);
	void *notify_arg;
	_Atomic bool *wanted;
	uint64_t clocks_due;
};

/* --- events ------------------------------------------------------------------------------- */

static void log_process(struct gt_app *app, const struct gt_proc *p, uint64_t ts)
{
	union gt_record r;

	gt_record_init(&r, ts, GT_PROCESS);
	r.process.start = p->start;
	r.process.cgroup = p->cgroup_id;
	r.process.pid = p->pid;
	r.process.uid = p->uid;
	memset(r.process.comm, 0, sizeof(r.process.comm));
	snprintf(r.process.comm, sizeof(r.process.comm), "%s", p->comm);
	gt_log_append(app->log, &r);
}

/*
 * A process that was not known: /proc is asked while it is there, it is watched until it ends, and
 * readers get its name before its events. @r may be the record that named it.
 */
static void meet(struct gt_pipeline *p, struct gt_proc *proc, union gt_record *r, bool live)
{
	struct gt_model *m = p->app->model;

	if (live) {
		gt_procwatch_add(m, p->processes, proc->pid);
		if (p->app->host)
			gt_host_process_seen(p->app->host, proc->pid);
		proc = gt_model_proc(m, proc->pid);
		if (!proc)
			return;
		if (r->ev.type < GT_NTYPES && r->ev.uid == GT_NONE32)
			r->ev.uid = proc->uid;
	} else {
		gt_model_not_here(m, proc);
	}
	if (r->ev.type != GT_PROCESS)
		log_process(p->app, proc, r->ev.ts);
}

static void record(struct gt_app *app, const union gt_record *r, unsigned int owner)
{
	gt_log_append_of(app->log, r, owner);
	gt_model_recorded(app->model, r);
}

/* Owner, in the log, of the file that @r is from */
static unsigned int owner_of(struct gt_app *app, const union gt_record *r)
{
	return gt_log_owner(app->log, r->ev.type == GT_QUEUE ? r->queue.uid : r->ev.uid);
}

/* @own: of a file that a user wrote */
static void one(struct gt_pipeline *p, union gt_record *r, bool live, bool own)
{
	struct gt_app *app = p->app;
	const union gt_record *held;
	unsigned int owner = 0;
	struct gt_folded f;
	bool pass, full = false;

	gt_model_event(app->model, r, &f);
	if (f.new_proc)
		meet(p, f.new_proc, r, live);
	if (f.new_ring)
		gt_naming_log_ring(app, f.new_ring);
	pass = gt_gate_pass(app->gate, r, f.job, f.finished ? f.fin.total : GT_NONE64);
	if (pass && own) {
		owner = owner_of(app, r);
		full = !gt_log_has_room(app->log, owner, app->model->now, f.finished);
	}
	if (full) {
		gt_gate_no_room(app->gate, r);
		pass = false;
	}
	while ((held = gt_gate_held(app->gate)))
		record(app, held, owner);
	if (pass) {
		record(app, r, owner);
		if (f.finished)
			gt_model_logged(app->model, &f,
					gt_log_finished_of(app->log, &f.fin, owner));
	} else if (f.finished && !full) {
		gt_log_finished_bare(app->log, &f.fin);
	}
	for (unsigned int i = 0; i < f.nlate; i++)
		gt_log_fin_ioctl(app->log, f.late[i], f.ioctl);
	gt_model_done(app->model, &f);
}

static uint64_t clock_ns(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* Once a second, before the events that may have come after a change */
static void look_at_clocks(struct gt_pipeline *p)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);

	if (now < p->clocks_due)
		return;
	p->clocks_due = now + CLOCKS_NS;
	gt_log_clocks(p->app->log);
}

static void on_records(void *arg, const union gt_record *r, size_t n, bool live, bool own)
{
	struct gt_pipeline *p = arg;

	look_at_clocks(p);
	while (n) {
		size_t some = n < BATCH ? n : BATCH;
		GT_MODEL_LOCK(p->app->model);

		p->app->gate->users = own;
		for (size_t i = 0; i < some + GT_FETCH_AHEAD; i++) {
			union gt_record copy;

			if (i < some)
				gt_model_fetch(p->app->model, &r[i]);
			if (i < GT_FETCH_AHEAD)
				continue;
			copy = r[i - GT_FETCH_AHEAD];
			one(p, &copy, live, own);
		}
		r += some;
		n -= some;
	}
}

static void on_reading(void *arg, const struct gt_reading *r)
{
	struct gt_pipeline *p = arg;
	GT_MODEL_LOCK(p->app->model);

	gt_model_reading(p->app->model, r);
}

/* Counts what a process uses, as an event would. A process that only holds memory is not in the history. */
static void on_usage(void *arg, const struct gt_usage *u)
{
	struct gt_pipeline *p = arg;
	struct gt_model *m = p->app->model;
	const struct gt_use_who *who = u->who;
	struct gt_folded f = { 0 };
	struct gt_proc *proc;
	GT_MODEL_LOCK(m);

	if (who && (u->nengines || u->nregions || u->kfd)) {
		proc = gt_model_process(m, u->pid, who->start, who->uid, who->comm, who->cgroup, 0);
		if (proc)
			gt_model_not_here(m, proc);
	}
	gt_model_usage(m, u, &f);
	if (!f.new_proc || who)
		return;
	gt_procwatch_add(m, p->processes, u->pid);
}

static void on_queues_hw(void *arg, const struct gt_queue_hw *q, size_t n)
{
	struct gt_pipeline *p = arg;
	GT_MODEL_LOCK(p->app->model);

	gt_model_queues_hw(p->app->model, q, n);
}

static void on_watermark(void *arg, uint64_t ts)
{
	struct gt_pipeline *p = arg;

	gt_log_floor(p->app->log, ts);
	gt_model_advance(p->app->model, ts);
}

/* The budget is the whole daemon's: what is recorded costs most where it is read. */
static void adapt(struct gt_app *app)
{
	uint64_t now;
	GT_MODEL_LOCK(app->model);

	if (!app->gate->adapt.budget)
		return;
	now = clock_ns(CLOCK_MONOTONIC);
	if (gt_adapt_due(&app->gate->adapt, now))
		gt_gate_adapt(app->gate, now, clock_ns(CLOCK_PROCESS_CPUTIME_ID));
}

static void on_idle(void *arg)
{
	struct gt_pipeline *p = arg;

	gt_model_tidy(p->app->model);
	adapt(p->app);
	if (p->notify && atomic_load(p->wanted))
		p->notify(p->notify_arg);
}

/* --- names ---------------------------------------------------------------------------------- */

static uint16_t on_gpu(void *arg, const struct gt_gpu_desc *d, bool recording)
{
	struct gt_pipeline *p = arg;

	return gt_naming_gpu(p->naming, d, recording);
}

static uint16_t on_ring(void *arg, uint16_t gpu, const char *name, enum gt_engine engine)
{
	struct gt_pipeline *p = arg;

	return gt_naming_ring(p->naming, gpu, name, engine);
}

static uint32_t on_kernel(void *arg, const struct gt_kernel_desc *d)
{
	struct gt_pipeline *p = arg;
	GT_MODEL_LOCK(p->app->model);

	return gt_model_kernel(p->app->model, d);
}

static void on_counter(void *arg, uint32_t kernel, const char *name, double value)
{
	struct gt_pipeline *p = arg;
	GT_MODEL_LOCK(p->app->model);

	gt_model_counter(p->app->model, kernel, name, value);
}

static void on_kernel_text(void *arg, uint32_t kernel, enum gt_kernel_text which, const char *text)
{
	struct gt_pipeline *p = arg;
	GT_MODEL_LOCK(p->app->model);

	gt_model_kernel_text(p->app->model, kernel, which, text);
}

static uint64_t on_over_share(void *arg, uint32_t uid)
{
	return gt_log_over_share(((struct gt_pipeline *)arg)->app->log, uid);
}

static void on_observing(void *arg, unsigned int what)
{
	struct gt_model *m = ((struct gt_pipeline *)arg)->app->model;

	gt_model_observe(m, GT_OBSERVED_EVENTS, what & GT_OBSERVES_EVENTS);
	gt_model_observe(m, GT_OBSERVED_USE, what & GT_OBSERVES_USE);
}

static void on_ring_observing(void *arg, uint16_t gpu, uint16_t ring, bool on)
{
	gt_model_observe_ring(((struct gt_pipeline *)arg)->app->model, gpu, ring, on);
}

/* --- a recording is played again ------------------------------------------------------------ */

static int on_reset(void *arg)
{
	struct gt_app *app = ((struct gt_pipeline *)arg)->app;
	int ret;
	GT_MODEL_LOCK(app->model);

	ret = gt_model_reset(app->model);
	if (ret)
		return ret;
	gt_gate_reset(app->gate);
	gt_log_reset(app->log);
	return 0;
}

/* --- */

struct gt_pipeline *gt_pipeline_new(struct gt_app *app, struct gt_devices *devices)
{
	struct gt_pipeline *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->app = app;
	p->processes = gt_procwatch_new();
	p->naming = gt_naming_new(app, devices);
	if (!p->naming) {
		gt_pipeline_free(p);
		return NULL;
	}
	app->naming = app->replay ? NULL : p->naming;
	return p;
}

void gt_pipeline_free(struct gt_pipeline *p)
{
	if (!p)
		return;
	if (p->processes >= 0)
		close(p->processes);
	gt_naming_free(p->naming);
	free(p);
}

static void on_level(void *arg, int level)
{
	struct gt_app *app = ((struct gt_pipeline *)arg)->app;

	GT_MODEL_LOCK(app->model);
	app->conf->level = level;
	gt_gate_configure(app->gate, app->conf);
}

void gt_pipeline_sink(struct gt_pipeline *p, struct gt_sink *out)
{
	*out = (struct gt_sink){
		.arg = p,
		.records = on_records,
		.watermark = on_watermark,
		.reading = on_reading,
		.usage = on_usage,
		.queues_hw = on_queues_hw,
		.idle = on_idle,
		.gpu = on_gpu,
		.ring = on_ring,
		.kernel = on_kernel,
		.counter = on_counter,
		.kernel_text = on_kernel_text,
		.observing = on_observing,
		.ring_observing = on_ring_observing,
		.reset = on_reset,
		.over_share = on_over_share,
		.level = on_level,
	};
}

void gt_pipeline_notify(struct gt_pipeline *p, void (*fn)(void *arg), void *arg,
			_Atomic bool *wanted)
{
	p->notify_arg = arg;
	p->wanted = wanted;
	p->notify = fn;
}

void gt_pipeline_settle(struct gt_pipeline *p)
{
	gt_naming_settle(p->naming);
}

int gt_pipeline_processes(const struct gt_pipeline *p)
{
	return p->processes;
}
