/* SPDX-License-Identifier: GPL-2.0 */
/* The root's `status`: what the daemon does, and where every event went. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../access/access.h"
#include "../state_file.h"
#include "../writer.h"
#include "internal.h"

/* What settings kept out of the records: sampling_stats and filter_stats. */

struct row {
	char gpu[16], name[40];
	struct gt_gate_ring n;
	bool current; /* it had records since settings changed */
};

/* One row under the lock; false: no such ring */
static bool ring_row(struct gt_app *app, unsigned int gpu, unsigned int ring, struct row *row)
{
	struct gt_model *m = app->model;
	const struct gt_gate_ring *n;

	GT_MODEL_LOCK(m);
	if (gpu >= m->ngpus || m->gpus[gpu]->gone || ring >= m->gpus[gpu]->nrings)
		return false;
	__builtin_memcpy(row->gpu, m->gpus[gpu]->name, sizeof(row->gpu));
	__builtin_memcpy(row->name, m->gpus[gpu]->rings[ring]->name, sizeof(row->name));
	n = app->gate->rings[gpu];
	row->n = n ? n[ring] : (struct gt_gate_ring){ 0 };
	row->current = row->n.rules == app->gate->rules && row->n.seen > row->n.seen_before;
	return true;
}

/* @share: of the jobs that are recorded now, in thousandths of a percent */
static void show_row(struct gt_text *t, const struct row *row, unsigned int ring, uint64_t share)
{
	gt_text_word(t, row->gpu, sizeof(row->gpu));
	gt_text_str(t, " ring");
	gt_text_u64(t, ring);
	gt_text_ch(t, ' ');
	gt_text_word(t, row->name, sizeof(row->name));
	gt_cell_percent(t, row->n.recorded - row->n.recorded_before,
			row->current ? row->n.seen - row->n.seen_before : 0);
	gt_text_ch(t, ' ');
	gt_text_milli(t, share, 2);
	gt_cell_u64(t, row->n.seen);
	gt_cell_u64(t, row->n.recorded);
	gt_cell_u64(t, row->n.sampled_out);
	gt_text_ch(t, '\n');
}

static double share_now(struct gt_app *app)
{
	GT_MODEL_LOCK(app->model);
	return (double)app->gate->wanted.share / GT_SHARE_ALL;
}

int gt_show_sampling_stats(struct gt_text *t, const struct gt_show *s)
{
	struct row row;
	double share = share_now(s->app) * 100000 + 0.5;

	for (unsigned int g = 0; g < GT_MAX_GPUS; g++)
		for (unsigned int r = 0; r < GT_MAX_RINGS && ring_row(s->app, g, r, &row); r++)
			show_row(t, &row, r, (uint64_t)share);
	return 0;
}

int gt_show_filter_stats(struct gt_text *t, const struct gt_show *s)
{
	/* settings by their name */
	static const char *const names[GT_NREFUSALS] = {
		[GT_R_LEVEL] = "level",
		[GT_R_TYPE] = "unknown_type",
		[GT_R_EVENTS] = "filter_events",
		[GT_R_RING] = "filter_ring",
		[GT_R_ENGINE] = "filter_engine",
		[GT_R_PID] = "filter_pid",
		[GT_R_UID] = "filter_uid",
		[GT_R_WATCHLIST] = "watchlist",
		[GT_R_CTX] = "watchlist_ctx",
		[GT_R_SAMPLING] = "sampling",
		[GT_R_LATENCY] = "filter_latency",
		[GT_R_THRESHOLD] = "sampling_threshold",
		[GT_R_RATE] = "rate_limit",
		[GT_R_SHARE] = "history_user_percent",
	};
	struct gt_gate_counts n;

	{
		GT_MODEL_LOCK(s->app->model);
		n = s->app->gate->n;
	}
	for (unsigned int i = 0; i < GT_NREFUSALS; i++)
		if (names[i])
			gt_text_kv(t, names[i], n.refused[i]);
	return 0;
}

/* The root's `doctor`: what works here, what does not and why, and what is not traced. */

/* "key 0": a counter that counts nothing, or an option that is off; backends/NAME/ has those, too */
static bool is_zero(const char *line, size_t len)
{
	size_t key = strcspn(line, " \n");

	return len == key + 2 && line[key + 1] == '0';
}

/* Lines from elsewhere, each indented, so that none can look like a line of ours */
static void indented(struct gt_text *t, const char *key, const char *lines)
{
	size_t len;

	for (; *lines; lines += len + (lines[len] == '\n')) {
		len = strcspn(lines, "\n");
		if (is_zero(lines, len))
			continue;
		gt_text_str(t, "  ");
		gt_text_str(t, key);
		gt_text_mem(t, lines, len);
		gt_text_ch(t, '\n');
	}
}

static void show_backend(struct gt_text *t, struct gt_host_state *h, unsigned int i)
{
	struct gt_backend_info info;
	char *text;

	if (!gt_host_info(h, i, &info))
		return;
	gt_text_str(t, "backend ");
	gt_text_word(t, info.name, sizeof(info.name));
	gt_text_ch(t, ' ');
	gt_text_str(t, gt_backend_state_name(info.state));
	gt_text_ch(t, '\n');
	indented(t, "error ", info.last_error);
	if (info.records || info.lost || info.uncounted) {
		gt_text_str(t, "  ");
		gt_text_kv(t, "records", info.records);
		gt_lost_lines(t, "  ", "lost", info.lost, info.uncounted);
	}
	text = malloc(GT_BACKEND_DOCTOR_MAX);
	if (text && !gt_host_doctor(h, i, text, GT_BACKEND_DOCTOR_MAX))
		indented(t, "", text);
	free(text);
}

static void show_losses(struct gt_text *t, struct gt_app *app)
{
	struct gt_counts c;
	uint64_t source, refused, queues, share, over = 0;

	{
		GT_MODEL_LOCK(app->model);
		c = app->model->counts;
		source = app->gate->n.lost_source;
		refused = app->model->procs_refused;
		queues = app->model->queues_refused;
		share = app->gate->n.refused[GT_R_SHARE];
	}
	if (source)
		gt_text_printf(t,
			       "lost %llu events in the buffers of their sources: statistics lack "
			       "them; a larger buffer_size in gputrace.conf helps\n",
			       (unsigned long long)source);
	if (share)
		gt_text_printf(
			t,
			"lost %llu records of users' own files in the history: a user had more "
			"than history_user_percent of it; statistics have them\n",
			(unsigned long long)share);
	if (c.uncounted)
		gt_text_printf(t,
			       "lost events %llu times, how many is not known: statistics lack "
			       "them\n",
			       (unsigned long long)c.uncounted);
	if (c.dropped_table_full)
		gt_text_printf(t, "lost %llu jobs in flight: raise max_jobs in gputrace.conf\n",
			       (unsigned long long)c.dropped_table_full);
	if (c.given_up)
		gt_text_printf(t, "lost %llu jobs that did not end within max_job_age_s\n",
			       (unsigned long long)c.given_up);
	if (c.ended_unseen)
		gt_text_printf(
			t,
			"lost the ends of %llu jobs, which count as ended_unseen: their source "
			"was paused, lost events or did not report them\n",
			(unsigned long long)c.ended_unseen);
	if (refused)
		gt_text_printf(t,
			       "lost %llu events of processes too many: raise max_processes in "
			       "gputrace.conf\n",
			       (unsigned long long)refused);
	if (gt_hist_refused())
		gt_text_printf(t,
			       "memory of the statistics, %llu bytes, is all there is for them: "
			       "what had no "
			       "room is left out; a lower max_processes or proc_linger_s helps\n",
			       (unsigned long long)gt_hist_memory());
	if (queues)
		gt_text_printf(t,
			       "lost %llu events of queues: more than %d live, or %d of one user\n",
			       (unsigned long long)queues, GT_MAX_QUEUES, GT_USER_QUEUES);
	for (enum gt_share i = 0; i < GT_NSHARES; i++)
		over += gt_share_refused(i);
	if (over)
		gt_text_printf(
			t,
			"a user had a whole share of something %llu times: the lines over_share_* "
			"of status say of what; what was beyond is left out, and others have "
			"theirs\n",
			(unsigned long long)over);
}

/* Of jobs that began none has ended, though there was time for it */
static bool is_endless(const struct gt_ring *r, bool over)
{
	if (r->work || r->last_end || !(r->counts.submitted || r->counts.committed))
		return false;
	return over || gt_ring_lacks_ends(r) || r->counts.given_up;
}

static void ring_words(struct gt_text *t, const struct gt_app *app, const char *what,
		       const struct gt_ring *r)
{
	const struct gt_gpu *g = app->model->gpus[r->gpu];

	gt_text_str(t, what);
	gt_text_word(t, g->name, sizeof(g->name));
	gt_text_printf(t, " ring%u ", r->id);
	gt_text_word(t, r->name, sizeof(r->name));
}

static void show_unhanded(struct gt_text *t, struct gt_app *app)
{
	const struct gt_show s = { .app = app, .obj = { .kind = GT_DIR_ROOT } };
	struct gt_ring_pos at = { 0 };
	const struct gt_ring *r;
	bool any = false;

	GT_MODEL_LOCK(app->model);
	while ((r = gt_ring_next(&s, &at))) {
		if (!gt_ring_lacks_commits(r))
			continue;
		any = true;
		ring_words(t, app, "unhanded ", r);
		gt_text_str(t, ": jobs ended and none was seen to be handed over: for how long it "
			       "was busy is not known\n");
	}
	if (any)
		gt_text_str(t, "  remedy events are missing: record on all CPUs, and with "
			       "amdgpu_sched_run_job, drm_run_job, or drm_sched_job_run from "
			       "Linux 6.17 on\n");
}

static void show_endless(struct gt_text *t, struct gt_app *app)
{
	const bool over = app->replay && app->host && !gt_host_replaying(app->host);
	const struct gt_show s = { .app = app, .obj = { .kind = GT_DIR_ROOT } };
	struct gt_ring_pos at = { 0 };
	const struct gt_ring *r;
	bool any = false;

	GT_MODEL_LOCK(app->model);
	while ((r = gt_ring_next(&s, &at))) {
		uint64_t n = r->counts.submitted;

		if (!is_endless(r, over))
			continue;
		if (r->counts.committed > n)
			n = r->counts.committed;
		any = true;
		ring_words(t, app, "endless ", r);
		gt_text_printf(
			t, ": %llu job%s began and none was seen to end: %s\n",
			(unsigned long long)n, n == 1 ? "" : "s",
			gt_ring_lacks_ends(r)
				? "what is in flight there, for how long it was busy and who "
				  "waited is not known"
				: "what is shown as in flight there may have ended");
	}
	if (any && app->replay)
		gt_text_str(t,
			    "  remedy the recording lacks the ends: record on all CPUs, and with "
			    "dma_fence_signaled, or drm_sched_job_done from Linux 6.17 on\n");
	else if (any)
		gt_text_str(
			t,
			"  remedy the GPU hangs, or events of the ends are missing "
			"(dma_fence_signaled, or drm_sched_job_done from Linux 6.17 on): above is "
			"what each backend lacks\n");
}

/*
 * struct blind - GPU work that passes no tracepoint
 * @path: there where this machine can have such work
 */
static const struct blind {
	const char *name, *path, *why, *remedy;
} blinds[] = {
	{ "doorbell-submits", "/sys/class/kfd/kfd",
	  "ROCm (HSA) queues and amdgpu user queues are rung by a doorbell in the program's own "
	  "memory: no tracepoint fires for their jobs",
	  "echo hsa,hip > backends/bpf/runtimes shows each launch and copy that a program asks "
	  "its "
	  "runtime for; rocprofv3, or AMD_LOG_LEVEL=3 of the runtime, shows each job" },
	{ "kfd-queues", "/sys/class/kfd/kfd",
	  "a stock kernel has no tracepoint for the making, mapping and preemption of KFD queues",
	  "the sysfs backend shows those that there are, the bpf backend how programs make them by "
	  "ioctl; :mod:amdgpu in "
	  "backends/ftrace/functions shows the calls that do it; ROCm's DKMS module "
	  "has amdkfd tracepoints; backends/sysfs/hqds shows which are on the hardware" },
	{ "nvidia", "/proc/driver/nvidia/version",
	  "NVIDIA's own driver passes no DRM scheduler, and work is rung by a doorbell",
	  "backend bpf shows its queues (TSGs), by calls of its resource manager and by the "
	  "hooks of a patched open kernel module; of single launches nothing in the kernel does: "
	  "echo cuda > backends/bpf/runtimes shows those that programs ask their runtime for" },
	{ "firmware-scheduling", "/sys/module/xe",
	  "the GuC firmware orders the work of xe: start times are concluded, exec_source says so",
	  "nothing in a stock kernel" },
	{ "firmware-scheduling", "/sys/module/i915",
	  "where the GuC firmware orders the work of i915, start times are concluded",
	  "a kernel with CONFIG_DRM_I915_LOW_LEVEL_TRACEPOINTS has i915_request_in and _out" },
};

/* Those that this machine can have, or else the others */
static void show_blinds(struct gt_text *t, bool here)
{
	for (const struct blind *b = blinds; b < blinds + sizeof(blinds) / sizeof(blinds[0]); b++)
		if (!access(b->path, F_OK) == here)
			gt_text_printf(t, "not_traced %s %s\n  reason %s\n  use %s\n", b->name,
				       here ? "here" : "not-on-this-machine", b->why, b->remedy);
}

/* Without fs/fuse/guard.c, which needs the kernel's AIO */
static void show_unguarded(struct gt_text *t, int err)
{
	gt_text_printf(t,
		       "suspend may-fail the kernel cannot suspend while a program reads events or "
		       "trace: no AIO context (%s)\n",
		       strerror(err));
	if (err == EAGAIN)
		gt_text_str(t, "  remedy sysctl fs.aio-max-nr=1048576, and mount again\n");
}

/* More requests wait than the guard has room for */
static void show_no_slot(struct gt_text *t, unsigned int n)
{
	gt_text_printf(
		t,
		"suspend may-fail %u reads that wait have no AIO operation: a mount takes a 64th "
		"of fs.aio-max-nr\n  remedy sysctl fs.aio-max-nr=1048576, and mount again\n",
		n);
}

static void show_unfiltered(struct gt_text *t)
{
	gt_text_str(t, "seccomp missing this kernel has no filters of system calls: the daemon may "
		       "make any, and write root's files\n  remedy a kernel with "
		       "CONFIG_SECCOMP_FILTER\n");
}

static void show_writer(struct gt_text *t, const struct gt_writer *w)
{
	if (gt_writer_lost(w))
		gt_text_str(t, "writer ended the process that opens files for writing was killed: "
			       "tracing and what is kept stay as they are\n  remedy mount again\n");
	else if (!w->landlocked)
		gt_text_str(t, "landlock missing this kernel does not hold the process that opens "
			       "files for writing to the daemon's: only its own checks do\n"
			       "  remedy a kernel with CONFIG_SECURITY_LANDLOCK, and landlock in "
			       "lsm= on its command line\n");
}

/* Of sources, in the order of what they say about this machine */
enum part {
	FAULTS,	 /* they failed, or nothing works and they say why */
	AT_WORK, /* running, paused, ended */
	REST,
};

static enum part part_of(const struct gt_backend_info *info, bool any_at_work)
{
	switch (info->state) {
	case GT_BS_REFUSED:
	case GT_BS_QUARANTINED:
		return FAULTS;
	case GT_BS_UNAVAILABLE:
		return any_at_work ? REST : FAULTS;
	case GT_BS_OFF:
		return REST;
	default:
		return AT_WORK;
	}
}

static bool any_at_work(struct gt_host_state *h)
{
	struct gt_backend_info info;

	for (unsigned int i = 0; gt_host_info(h, i, &info); i++)
		if (part_of(&info, true) == AT_WORK)
			return true;
	return false;
}

static void show_backends(struct gt_text *t, struct gt_app *app, enum part part)
{
	struct gt_backend_info info;
	bool any = app->host && any_at_work(app->host);

	for (unsigned int i = 0; app->host && gt_host_info(app->host, i, &info); i++)
		if (part_of(&info, any) == part)
			show_backend(t, app->host, i);
}

/* The mount itself: not what it shows */
static void show_mount_faults(struct gt_text *t, struct gt_app *app)
{
	if (app->unguarded)
		show_unguarded(t, app->unguarded);
	if (atomic_load(&app->no_slot))
		show_no_slot(t, atomic_load(&app->no_slot));
	if (app->unfiltered)
		show_unfiltered(t);
	if (app->writer)
		show_writer(t, app->writer);
	if (app->keep && gt_keep_refused(app->keep))
		gt_text_printf(t, "settings are not kept\n  error %s\n",
			       gt_keep_refused(app->keep));
	if (*app->history)
		gt_text_printf(t, "history not-whole\n  error %s\n", app->history);
	if (app->log->full)
		gt_text_printf(
			t,
			"history full: %llu events are not in it (%s); statistics have them\n"
			"  remedy mount with TMPDIR=DIR, a folder with more room\n",
			(unsigned long long)app->log->unkept, strerror(app->log->full));
}

/* What is in the way, each with a remedy as far as there is one, which is indented */
static void show_faults(struct gt_text *t, struct gt_app *app)
{
	if (!app->replay)
		gt_show_devices(t, app, true);
	if (getuid() && !app->replay)
		gt_text_str(t, "unprivileged mounted by an ordinary user: live tracing needs a "
			       "mount made by root, or CAP_BPF, CAP_PERFMON and "
			       "CAP_DAC_READ_SEARCH (tracefs is root's alone) for bpf\n");
	show_backends(t, app, FAULTS);
	show_mount_faults(t, app);
	show_losses(t, app);
	if (gt_pidns_stats().refused)
		gt_text_printf(
			t,
			"refused PID namespaces or processes in them %llu times: who is in one "
			"that is not known sees nobody's work; one user has 64, see LIMITS in "
			"gputrace-security(7)\n",
			(unsigned long long)gt_pidns_stats().refused);
	show_endless(t, app);
	show_unhanded(t, app);
}

/* The first lines: what works here */
static void show_summary(struct gt_text *t, struct gt_app *app, const struct gt_text *faults)
{
	struct gt_backend_info info;
	unsigned int n = 0;

	gt_text_str(t, "gpus     ");
	{
		GT_MODEL_LOCK(app->model);
		for (unsigned int i = 0; i < app->model->ngpus; i++) {
			if (app->model->gpus[i]->gone)
				continue;
			gt_text_str(t, n++ ? ", " : " ");
			gt_text_word(t, app->model->gpus[i]->name,
				     sizeof(app->model->gpus[i]->name));
		}
	}
	gt_text_str(t, n ? "\nsources  " : " none\nsources  ");
	n = 0;
	for (unsigned int i = 0; app->host && gt_host_info(app->host, i, &info); i++) {
		if (part_of(&info, true) != AT_WORK)
			continue;
		gt_text_str(t, n++ ? ", " : " ");
		gt_text_word(t, info.name, sizeof(info.name));
		gt_text_printf(t, " %s", gt_backend_state_name(info.state));
	}
	gt_text_str(t, n ? "\nproblems  " : " none\nproblems  ");
	n = 0;
	for (size_t i = 0; i < faults->len; i++)
		n += (!i || faults->buf[i - 1] == '\n') && faults->buf[i] != ' ';
	gt_text_printf(t, n ? "%u, which follow\n\n" : "none\n\n", n);
}

int gt_show_doctor(struct gt_text *t, const struct gt_show *s)
{
	struct gt_app *app = s->app;
	struct gt_text faults;

	gt_text_init(&faults, 0);
	show_faults(&faults, app);
	show_summary(t, app, &faults);
	gt_text_mem(t, faults.buf, faults.len);
	if (faults.len)
		gt_text_ch(t, '\n');
	gt_text_free(&faults);
	if (app->simulated)
		gt_text_str(t, "simulated sim0 is no GPU, its work never happened: backend=sim "
			       "asked for it\n");
	if (app->replay)
		gt_text_str(t, "replay what is shown was recorded: this machine's GPUs are not\n");
	if (!app->replay) {
		gt_show_devices(t, app, false);
		show_blinds(t, true);
	}
	show_backends(t, app, AT_WORK);
	gt_text_str(t, "buffers\n  ");
	if (app->log->recs.fd < 0)
		gt_text_kv(t, "history_bytes", gt_log_room_bytes(app->log));
	else
		gt_text_kv(t, "history_file_bytes", gt_log_bytes(app->log));
	if (app->conf) {
		gt_text_str(t, "  ");
		gt_text_kv(t, "buffer_size_asked_bytes", (uint64_t)app->conf->buffer_size);
	}
	show_backends(t, app, REST);
	if (!app->replay)
		show_blinds(t, false);
	return 0;
}

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
	uint64_t given_up, dropped_table_full, begin_unseen, ended_unseen, procs_refused,
		queues_refused, counters_refused, memory;
	uint64_t users, users_refused, users_evicted, cgroups, cgroups_refused, cgroups_merged;
	bool endless; /* a ring's source does not say when jobs end */
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
	c.jobs = m->njobs - m->nunseen;
	for (unsigned int i = 0; i < m->ngpus; i++) {
		for (unsigned int k = 0; k < m->gpus[i]->nrings; k++) {
			c.endless |= gt_ring_lacks_ends(m->gpus[i]->rings[k]);
		}
		if (m->gpus[i]->gone)
			continue;
		c.gpus++;
		c.rings += m->gpus[i]->nrings;
	}
	c.queues = m->nqueues - m->free_queues;
	c.procs = m->nprocs;
	c.given_up = m->counts.given_up;
	c.dropped_table_full = m->counts.dropped_table_full;
	c.begin_unseen = m->counts.begin_unseen;
	c.ended_unseen = m->counts.ended_unseen;
	c.procs_refused = m->procs_refused;
	c.queues_refused = m->queues_refused;
	c.users = m->nusers;
	c.users_refused = m->users_refused;
	c.users_evicted = m->users_evicted;
	c.cgroups = m->ncgroups;
	c.cgroups_refused = m->cgroups_refused;
	c.cgroups_merged = m->cgroups_merged;
	c.memory = m->memory;
	c.counters_refused = m->counters_refused;
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
	gt_text_kv(t, "events_over_share", c->n.refused[GT_R_SHARE]);
	gt_lost_lines(t, "", "events_lost_source", c->n.lost_source, c->n.uncounted);
}

static void show_memory(struct gt_text *t, const struct gt_app *app, const struct counts *c)
{
	uint64_t history = gt_log_bytes(app->log), texts = app->snapshot_bytes;
	uint64_t unrecorded = gt_log_bare_bytes(app->log);
	bool in_file = app->log->recs.fd >= 0;

	gt_text_kv(t, "memory_bytes",
		   c->memory + (in_file ? 0 : history) + unrecorded + texts + c->hold_bytes);
	gt_text_kv(t, "model_bytes", c->memory);
	gt_text_kv(t, "model_refused", gt_hist_refused());
	gt_text_kv(t, "history_bytes", history);
	if (in_file)
		gt_text_kv(t, "history_unkept", app->log->unkept);
	else
		gt_text_kv(t, "history_max_bytes", gt_log_room_bytes(app->log));
	gt_text_kv(t, "hold_queue_bytes", c->hold_bytes);
	gt_text_kv(t, "unrecorded_job_bytes", unrecorded);
	gt_text_kv(t, "snapshots", app->snapshots);
	gt_text_kv(t, "snapshot_bytes", texts);
	gt_text_kv(t, "nodes", app->nodes);
}

/* Requests that a suspend cannot answer, see fs/fuse/guard.c */
static uint64_t unguarded(const struct gt_app *app)
{
	const struct gt_quota *q = &app->quota;

	return app->unguarded ? q->total[GT_Q_READS] + q->total[GT_Q_OPENS] : app->no_slot;
}

/* How often a user had a whole share of something */
static void show_shares(struct gt_text *t)
{
	static const char *const keys[] = {
#define GT_SHARE(id, what, key, ...) key,
#include "../shares.def"
#undef GT_SHARE
	};

	for (enum gt_share i = 0; i < GT_NSHARES; i++)
		gt_text_kv(t, keys[i], gt_share_refused(i));
}

static void show_objects(struct gt_text *t, const struct counts *c)
{
	gt_text_kv(t, "gpus", c->gpus);
	gt_text_kv(t, "rings", c->rings);
	gt_text_kv(t, "queues", c->queues);
	gt_text_kv(t, "queues_refused", c->queues_refused);
	gt_text_kv(t, "counters_refused", c->counters_refused);
	gt_text_kv(t, "processes", c->procs);
	gt_text_kv(t, "processes_refused", c->procs_refused);
	show_shares(t);
	if (!c->endless)
		gt_text_kv(t, "jobs_in_flight", c->jobs);
	gt_text_kv(t, "jobs_given_up", c->given_up);
	gt_text_kv(t, "jobs_dropped_table_full", c->dropped_table_full);
	gt_text_kv(t, "jobs_begin_unseen", c->begin_unseen);
	gt_text_kv(t, "jobs_ended_unseen", c->ended_unseen);
}

/* What callers hold of what is limited, and how often they were refused it; NULL: shown elsewhere */
static const struct {
	const char *held, *refused;
} limits[GT_NQ] = {
#define GT_QUOTA(id, what, held, refused, ...) { held, refused },
#include "../shares.def"
#undef GT_QUOTA
};

static void show_limits(struct gt_text *t, const struct gt_quota *q)
{
	gt_text_kv(t, "users_with_handles", q->users);
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

	gt_text_kv(t, "events_dropped_hold_full", c->n.lost_held);
	gt_text_kv(t, "hold_queue_records", c->held);
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
	struct gt_caller_stats callers = gt_caller_stats();
	unsigned int detaching = app->host ? gt_host_detaching(app->host) : 0;

	gt_text_kvs(t, "state", state_of(app));
	gt_text_kvs(t, "level", levels[c.level & 3]);
	if (detaching)
		gt_text_kv(t, "detaching", detaching);
	gt_text_kv(t, "uptime_s", (clock_ns(CLOCK_MONOTONIC) - app->started) / 1000000000);
	if (app->simulated)
		gt_text_kv(t, "simulated", 1);
	show_events(t, &c);
	gt_text_kv(t, "readers", app->quota.total[GT_Q_PIPES]);
	gt_text_kv(t, "reads_blocked", app->quota.total[GT_Q_READS]);
	gt_text_kv(t, "unguarded", unguarded(app));
	show_objects(t, &c);
	show_memory(t, app, &c);
	gt_text_kv(t, "records_late", atomic_load(&app->log->late));
	gt_text_kv(t, "daemon_cpu_ns", clock_ns(CLOCK_PROCESS_CPUTIME_ID));
	if (app->host)
		gt_text_kv(t, "ingest_cpu_ns", gt_host_cpu_ns(app->host));
	gt_text_kv(t, "pid_namespaces", namespaces.namespaces);
	gt_text_kv(t, "pid_namespaces_processes", namespaces.processes);
	gt_text_kv(t, "pid_namespaces_refused", namespaces.refused);
	if (app->host)
		gt_text_kv(t, "userdirs_refused", gt_host_userdirs_refused(app->host));
	gt_text_kv(t, "callers_known", callers.known);
	gt_text_kv(t, "callers_dropped", callers.dropped);
	gt_text_kv(t, "users", c.users);
	gt_text_kv(t, "users_refused", c.users_refused);
	gt_text_kv(t, "cgroups", c.cgroups);
	gt_text_kv(t, "cgroups_refused", c.cgroups_refused);
	gt_text_kv(t, "cgroups_merged", c.cgroups_merged);
	gt_text_kv(t, "users_evicted", c.users_evicted);
	show_limits(t, &app->quota);
	show_gate(t, &c);
	return 0;
}
