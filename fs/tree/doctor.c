/* SPDX-License-Identifier: GPL-2.0 */
/* The root's `doctor`: what works here, what does not and why, and what stays invisible. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "../keep.h"
#include "about.h"

/* Lines from elsewhere, each indented: none can look like a line of ours. */
static void indented(struct gt_text *t, const char *key, const char *lines)
{
	size_t len;

	for (; *lines; lines += len + (lines[len] == '\n')) {
		len = strcspn(lines, "\n");
		gt_text_str(t, "  ");
		gt_text_str(t, key);
		gt_text_mem(t, lines, len);
		gt_text_ch(t, '\n');
	}
}

static void show_backend(struct gt_text *t, struct gt_host_state *h, unsigned int i)
{
	struct gt_backend_info info;
	char text[4096] = "";

	if (!gt_host_info(h, i, &info))
		return;
	gt_text_str(t, "backend ");
	gt_text_word(t, info.name, sizeof(info.name));
	gt_text_ch(t, ' ');
	gt_text_str(t, gt_backend_state_name(info.state));
	gt_text_ch(t, '\n');
	indented(t, "error ", info.last_error);
	if (info.records || info.lost) {
		gt_text_str(t, "  ");
		gt_text_kv(t, "records", info.records);
		gt_text_str(t, "  ");
		gt_text_kv(t, "lost", info.lost);
	}
	if (!gt_host_doctor(h, i, text, sizeof(text)))
		indented(t, "", text);
}

static void show_losses(struct gt_text *t, struct gt_app *app)
{
	struct gt_counts c;
	uint64_t source, refused, queues;

	{
		GT_MODEL_LOCK(app->model);
		c = app->model->counts;
		source = app->gate->n.lost_source;
		refused = app->model->procs_refused;
		queues = app->model->queues_refused;
	}
	if (source)
		gt_text_printf(t,
			       "lost %llu events in the buffers of their sources: statistics lack "
			       "them; a larger buffer_size in gputrace.conf helps\n",
			       (unsigned long long)source);
	if (c.evicted)
		gt_text_printf(t, "lost %llu jobs in flight: raise max_jobs in gputrace.conf\n",
			       (unsigned long long)c.evicted);
	if (c.aged)
		gt_text_printf(t, "lost %llu jobs that did not end within max_job_age_s\n",
			       (unsigned long long)c.aged);
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
		gt_text_printf(t, "lost %llu events of queues: more than %d live, or %d of one user\n",
			       (unsigned long long)queues, GT_MAX_QUEUES, GT_USER_QUEUES);
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
	  "echo hsa,hip > backends/bpf/runtimes tells of each launch and copy that a program asks "
	  "its "
	  "runtime for; rocprofv3, or AMD_LOG_LEVEL=3 of the runtime, tells of each job" },
	{ "kfd-queues", "/sys/class/kfd/kfd",
	  "a stock kernel has no tracepoint for the making, mapping and preemption of KFD queues",
	  "the sysfs backend shows those that there are, the bpf backend how programs make them by "
	  "ioctl; :mod:amdgpu in "
	  "backends/ftrace/functions shows the calls that do it; ROCm's DKMS module "
	  "has amdkfd tracepoints; backends/sysfs/hqds shows which are on the hardware" },
	{ "nvidia", "/proc/driver/nvidia/version",
	  "NVIDIA's own driver passes no DRM scheduler, and work is rung by a doorbell",
	  "backend bpf tells of its queues (TSGs), by calls of its resource manager and by the "
	  "hooks of a patched open kernel module; of single launches nothing in the kernel does: "
	  "echo cuda > backends/bpf/runtimes tells of those that programs ask their runtime for" },
	{ "firmware-scheduling", "/sys/module/xe",
	  "the GuC firmware orders the work of xe: start times are concluded, exec_source says so",
	  "nothing in a stock kernel" },
	{ "firmware-scheduling", "/sys/module/i915",
	  "where the GuC firmware orders the work of i915, start times are concluded",
	  "a kernel with CONFIG_DRM_I915_LOW_LEVEL_TRACEPOINTS has i915_request_in and _out" },
};

static void show_blinds(struct gt_text *t)
{
	for (const struct blind *b = blinds; b < blinds + sizeof(blinds) / sizeof(blinds[0]); b++) {
		gt_text_printf(t, "invisible %s %s\n  why %s\n  shown-by %s\n", b->name,
			       access(b->path, F_OK) ? "not-on-this-machine" : "here", b->why,
			       b->remedy);
	}
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

static void show_unfiltered(struct gt_text *t)
{
	gt_text_str(t, "seccomp missing this kernel has no filters of system calls: the daemon may "
		       "make any\n  remedy a kernel with CONFIG_SECCOMP_FILTER\n");
}

int gt_show_doctor(struct gt_text *t, const struct gt_show *s)
{
	struct gt_app *app = s->app;
	unsigned int n = app->host ? gt_host_count(app->host) : 0;

	if (app->simulated)
		gt_text_str(t, "simulated sim0 is no GPU, its work never happened: it stands in "
			       "where none was found, or where backend=sim asks for it\n");
	if (app->replay)
		gt_text_str(t, "replay what is shown was recorded: this machine's GPUs are not\n");
	if (getuid())
		gt_text_str(t, "unprivileged mounted by an ordinary user: live tracing needs a "
			       "mount made by root, or CAP_BPF, CAP_PERFMON and "
			       "CAP_DAC_READ_SEARCH (tracefs is root's alone) for bpf\n");
	for (unsigned int i = 0; i < n; i++)
		show_backend(t, app->host, i);
	if (app->unguarded)
		show_unguarded(t, app->unguarded);
	if (app->unfiltered)
		show_unfiltered(t);
	if (app->keep && gt_keep_refused(app->keep))
		gt_text_printf(t, "settings are not kept\n  error %s\n",
			       gt_keep_refused(app->keep));
	gt_text_str(t, "buffers\n  ");
	gt_text_kv(t, "history_bytes", (app->log->mask + 1) * sizeof(*app->log->rec));
	if (app->conf) {
		gt_text_str(t, "  ");
		gt_text_kv(t, "buffer_size_asked_bytes", (uint64_t)app->conf->buffer_size);
	}
	show_losses(t, app);
	if (!app->replay)
		show_blinds(t);
	return 0;
}
