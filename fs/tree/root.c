/* SPDX-License-Identifier: GPL-2.0 */
/* The root directory's files. */
#include <errno.h>
#include <string.h>

#include "../stream/ctf.h"
#include "about.h"
#include "control.h"
#include "lines.h"
#include "shows.h"
#include "writelog.h"

static int show_version(struct gt_text *t, const struct gt_show *s)
{
	gt_text_kvs(t, "release", GT_VERSION);
	gt_text_kv(t, "record_version", GT_RECORD_VERSION);
	gt_text_kv(t, "backend_abi", GT_BACKEND_ABI);
	return 0;
}

/* Names are only ever appended. */
static int show_features(struct gt_text *t, const struct gt_show *s)
{
	gt_text_str(t, "control\n"
		       "level\n"
		       "sampling\n"
		       "last_cmd_status\n"
		       "error_log\n"
		       "doctor\n"
		       "clocks\n"
		       "snapshot_texts\n"
		       "poll\n"
		       "events\n"
		       "metadata_ctf\n"
		       "trace\n"
		       "report\n"
		       "timeline\n"
		       "by_name\n"
		       "queues\n"
		       "processes\n"
		       "self\n"
		       "replay\n"
		       "replay_stream\n"
		       "replay_trace_dat\n"
		       "replay_ftrace_text\n"
		       "replay_grtrace\n"
		       "replay_annotator_text\n"
		       "seek\n"
		       "hotplug\n"
		       "pid_namespaces\n"
		       "containers\n"
		       "users\n"
		       "cgroups\n"
		       "setting_permissions\n"
		       "blame\n"
		       "user_limits\n"
		       "backend_texts\n"
		       "ioctls\n"
		       "runtime_calls\n"
		       "kfd_queues\n"
		       "nvidia_queues\n"
		       "kernel_counting\n"
		       "windows\n"
		       "kernels\n"
		       "rocprof_results\n"
		       "sampling_modes\n"
		       "rate_limit\n"
		       "filters\n"
		       "watchlists\n"
		       "profiles\n"
		       "kept_settings\n"
		       "gpu_readings\n"
		       "fdinfo\n"
		       "kfd_processes\n"
		       "sysroot\n"
		       "profiler_jobs\n"
		       "kfd_queue_list\n"
		       "kfd_hqds\n"
		       "kfd_events\n"
		       "gpu_links\n"
		       "queue_slots\n"
		       "kfd_dump_replay\n");
	return 0;
}

static int show_last_cmd_status(struct gt_text *t, const struct gt_show *s)
{
	if (s->app->writes)
		gt_writelog_show_status(s->app->writes, t, &s->view);
	return 0;
}

static int show_error_log(struct gt_text *t, const struct gt_show *s)
{
	if (s->app->writes)
		gt_writelog_show_errors(s->app->writes, t, &s->view);
	return 0;
}

static uint64_t gen_writes(const struct gt_show *s)
{
	return s->app->writes ? gt_writelog_gen(s->app->writes) : 0;
}

static int show_metadata(struct gt_text *t, const struct gt_show *s)
{
	const struct gt_log *l = s->app->log;
	__attribute__((cleanup(gt_names_freep))) struct gt_names *n = gt_names_take(s->app->model);
	struct gt_ctf_functions f;

	if (!n)
		return -ENOMEM;
	f.n = n->nfunctions;
	f.name = (const char(*)[GT_FUNCTION_NAME])n->function;
	gt_ctf_metadata(t, (const char(*)[32])n->custom, &f, l->realtime_offset, l->session);
	return 0;
}

/* Who is not known has no directory either: the link then dangles.
 */
static int show_self(struct gt_text *t, const struct gt_show *s)
{
	gt_text_str(t, "proc/");
	if (s->view.own_pid)
		gt_text_u64(t, s->view.own_pid);
	else
		gt_text_str(t, "unknown");
	return 0;
}

/* clang-format off */
const struct gt_file gt_root_files[] = {
	{ "README", 0444, 0, gt_show_readme, NULL, NULL, NULL,
	  "how to use this tree: every file in one line, and examples" },
	{ "version", 0444, GT_FILE_STATIC, show_version, NULL, NULL, NULL,
	  "release, version of the record, backend ABI" },
	{ "features", 0444, GT_FILE_STATIC, show_features, NULL, NULL, NULL,
	  "names of capabilities, one a line; names are only ever added" },
	{ "status", 0444, 0, gt_show_status, NULL, NULL, NULL,
	  "state, level, uptime; where every event went; readers, objects, memory" },
	{ "control", 0664, 0, gt_show_control, gt_store_control, NULL, gt_gen_control,
	  "start, stop, clear, rescan; in a replay also play, pause, seek +5s" },
	{ "last_cmd_status", 0444, GT_FILE_VIEW, show_last_cmd_status, NULL, NULL, gen_writes,
	  "what became of the last write of this user and session" },
	{ "error_log", 0444, GT_FILE_VIEW, show_error_log, NULL, NULL, gen_writes,
	  "the last 8 refused writes of each user, with place and reason" },
	{ "doctor", 0444, GT_FILE_LONG | GT_FILE_AGAIN, gt_show_doctor, NULL, NULL, NULL,
	  "each backend's state, what blocks it and the remedy; GPU work that stays invisible" },
	{ "clocks", 0444, 0, gt_show_clocks, NULL, NULL, NULL,
	  "each source's clock, its offset to CLOCK_MONOTONIC and how well it is known" },
	{ "gpus", 0444, 0, gt_show_gpus, NULL, NULL, gt_gen_dirs,
	  "table of GPUs" },
	{ "events", 0444, GT_FILE_PIPE, NULL, NULL, NULL, NULL,
	  "binary pipe: every GPU's events as 64-byte records, a CTF 1.8 stream" },
	{ "metadata", 0444, 0, show_metadata, NULL, NULL, NULL,
	  "CTF metadata that describes the binary pipes" },
	{ "trace", 0444, GT_FILE_TPIPE, NULL, NULL, NULL, NULL,
	  "text pipe: one line an event" },
	{ "events_by_type", 0444, 0, gt_show_events_by_type, NULL, NULL, gt_gen_model,
	  "table of event types: seen, recorded, per second" },
	{ "report", 0444, GT_FILE_VIEW | GT_FILE_LONG, gt_show_report, NULL, NULL, gt_gen_history,
	  "table of the history's finished jobs and the time of each stage" },
	{ "timeline", 0444, GT_FILE_VIEW | GT_FILE_LONG, gt_show_timeline, NULL, NULL, gt_gen_history,
	  "the history's CPU and GPU events by time, with notes on waits" },
	{ "rings", 0444, 0, gt_show_rings, NULL, NULL, gt_gen_model,
	  "table of all rings with name and engine" },
	{ "aggregate", 0444, 0, gt_show_aggregate, NULL, NULL, gt_gen_model,
	  "table of rings over the last finished window: events, latency, depth" },
	{ "perf", 0444, 0, gt_show_perf, NULL, NULL, gt_gen_model,
	  "table of rings: utilization, drop rate, mean latency" },
	{ "top", 0444, GT_FILE_VIEW | GT_FILE_LONG | GT_FILE_AGAIN, gt_show_top, NULL, NULL, gt_gen_model,
	  "processes by GPU time over the last window" },
	{ "blame", 0444, GT_FILE_VIEW | GT_FILE_LONG, gt_show_blame, NULL, NULL, gt_gen_model,
	  "for whom jobs waited in the last 10 s: those 100 processes and rings that waited longest" },
	{ "sampling_stats", 0444, 0, gt_show_sampling_stats, NULL, NULL, gt_gen_model,
	  "table of rings: how much of what was seen was recorded" },
	{ "filter_stats", 0444, 0, gt_show_filter_stats, NULL, NULL, gt_gen_model,
	  "per filter: how many events it refused" },
	{ "self", 0777, GT_FILE_VIEW | GT_FILE_LINK, show_self, NULL, NULL, NULL,
	  "link to the reader's own directory under proc/" },
	{ 0 },
};
/* clang-format on */
