/* SPDX-License-Identifier: GPL-2.0 */
/* The BPF backend: programs in this kernel, which see events where they happen and send records. */
#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <syslog.h>

#include "bpf.h"

/* libbpf has one way to complain for the whole process: this plugin, which is in the host once. */
static struct gt_plugin *complainer;

static int complain(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	char *text;
	size_t n;

	if (level == LIBBPF_DEBUG || !complainer || vasprintf(&text, fmt, ap) < 0)
		return 0;
	gb_last_words(text, gb_words, sizeof(gb_words));
	n = strlen(text);
	if (n && text[n - 1] == '\n')
		text[n - 1] = 0;
	complainer->host->log(complainer, level == LIBBPF_WARN ? LOG_WARNING : LOG_INFO, "%s",
			      text);
	free(text);
	return 0;
}

/* Whether BPF is allowed at all is seen when a map is made; everything else is a part's matter.
 */
static int probe(struct gt_plugin *p)
{
	struct gb b = { .p = p };
	char err[GB_SENTENCE];
	bool any = false, shows = false;
	int last = 0;

	for (unsigned int i = 0; i < GT_BPF_PARTS; i++) {
		int ret = gb_part(i)->probe(&b, err, sizeof(err));

		any |= !ret;
		shows |= !ret && gb_part(i)->shows;
		if (ret)
			last = ret;
	}
	return any ? !shows : p->host->error(p, -last, "%s", err);
}

static void gb_free(void *backend)
{
	struct gb *b = backend;

	gb_parts_stop(b);
	gb_ring_close(b);
	free(b);
}

static void complain_to(struct gt_plugin *p)
{
	complainer = p;
	libbpf_set_print(complain);
}

/*
 * A backend that was stopped a moment ago goes on, as from a pause: whoever switches the level off
 * and on waits neither for programs to be detached nor for others to be loaded.
 */
static uint64_t parked;

static bool go_on(struct gt_plugin *p)
{
	struct gb *b = gb_detach_cancel(parked);
	char err[GB_SENTENCE];

	parked = 0;
	if (!b)
		return false;
	complain_to(p);
	b->level = 2;
	if (!gb_ring_fits(b) || gb_ring_watch(b, true, err, sizeof(err)) || !gb_parts_look(b)) {
		gb_ring_watch(b, false, NULL, 0);
		gb_detach_later(gb_free, b, 0);
		return false;
	}
	p->priv = b;
	gb_say(&b->ring.wake->idle, 1);
	gb_ring_pause(b, false);
	return true;
}

static int start(struct gt_plugin *p)
{
	struct gb *b;
	char err[GB_SENTENCE];
	int ret;

	if (go_on(p))
		return 0;
	b = calloc(1, sizeof(*b));
	if (!b)
		return p->host->error(p, ENOMEM, "no memory");
	b->p = p;
	b->o = p->options;
	b->level = 2;
	for (unsigned int i = 0; i < GT_BPF_PARTS; i++)
		b->state[i] = -ESHUTDOWN;
	complain_to(p);
	ret = gb_ring_open(b, err, sizeof(err));
	if (!ret && !gb_parts_start(b)) {
		ret = b->state[0];
		snprintf(err, sizeof(err), "%s", b->why[0]);
		gb_ring_watch(b, false, NULL, 0);
	}
	if (ret) {
		complainer = NULL;
		gb_free(b);
		return p->host->error(p, ret, "%s", err);
	}
	p->priv = b;
	return 0;
}

static int drain(struct gt_plugin *p)
{
	return gb_ring_drain(p->priv);
}

static void stop(struct gt_plugin *p)
{
	struct gb *b = p->priv;

	gb_ring_pause(b, true);
	gb_ring_drain_last(b);
	p->host->timer(p, 0);
	p->priv = NULL;
	gb_parts_park(b);
	gb_ring_flush(b);
	gb_ring_watch(b, false, NULL, 0);
	complainer = NULL;
	parked = gb_detach_later(gb_free, b, GB_KEEP_NS);
}

static int set(struct gt_plugin *p, const struct gt_option *o)
{
	struct gb *b = p->priv;
	char err[GB_SENTENCE];
	int ret;

	if (!strcmp(o->name, "buffer_size")) {
		uint64_t raised = gt_caps_set(1ull << CAP_BPF, 0);

		ret = gb_ring_resize(b, err, sizeof(err));
		gt_caps_set(0, raised);
		return ret ? p->host->error(p, ret, "%s", err) : 0;
	}
	for (unsigned int i = 0; i < GT_BPF_PARTS; i++) {
		const struct gb_part *part = gb_part(i);

		if (!part->option || strcmp(part->option, o->name))
			continue;
		if (b->state[i])
			return p->host->error(p, EOPNOTSUPP, "%s", b->why[i]);
		ret = part->set(b, err, sizeof(err));
		return ret ? p->host->error(p, ret, "%s", err) : 0;
	}
	return -EOPNOTSUPP;
}

static int control(struct gt_plugin *p, enum gt_control what, int64_t arg)
{
	struct gb *b = p->priv;

	switch (what) {
	case GT_CTL_PAUSE:
		gb_ring_pause(b, true);
		gb_ring_drain_last(b); /* before the mark that nothing comes any more */
		return 0;
	case GT_CTL_RESUME:
		gb_parts_look(b);
		gb_ring_pause(b, false);
		return 0;
	case GT_CTL_LEVEL:
		b->level = (int)arg;
		break;
	case GT_CTL_RESCAN:
		break;
	default:
		return -EOPNOTSUPP;
	}
	gb_parts_look(b);
	return 0;
}

static const struct gt_option options[] = {
	{
		.name = "buffer_size",
		.type = GT_OPT_INT,
		.flags = GT_OPT_RUNTIME,
		.off = offsetof(struct gb_options, buffer_size),
		.def = "4194304",
		.min = 4096,
		.max = 1LL << 40,
		.help = "bytes, for each CPU, of the buffer in which records wait for the daemon",
	},
	{
		.name = "tracepoints",
		.type = GT_OPT_BOOL,
		.off = offsetof(struct gb_options, tracepoints),
		.def = "1",
		.help = "1: BPF programs at the event maps' tracepoints; 0: none, another backend "
			"reads these",
	},
	{
		.name = "record_rate",
		.flags = GT_OPT_GONE,
		.help = "the daemon matches all jobs; config/rate_limit bounds what is recorded",
	},
	{
		.name = "missed_share",
		.flags = GT_OPT_GONE,
		.help = "who reports the tracepoints is decided when a source starts",
	},
	{
		.name = "match",
		.flags = GT_OPT_GONE,
		.help = "the daemon matches all jobs",
	},
	{
		.name = "btf",
		.type = GT_OPT_STR,
		.flags = GT_OPT_HIDDEN,
		.off = offsetof(struct gb_options, btf),
		.help = "folder of the kernel's types, instead of /sys/kernel/btf",
	},
	{
		.name = "nvidia_any_result",
		.type = GT_OPT_BOOL,
		.flags = GT_OPT_HIDDEN,
		.off = offsetof(struct gb_options, nvidia_any_result),
		.help = "a call of NVIDIA's driver that failed counts too, and none needs to be "
			"loaded",
	},
	{
		.name = "o_path",
		.type = GT_OPT_BOOL,
		.flags = GT_OPT_HIDDEN,
		.off = offsetof(struct gb_options, o_path),
		.help = "a call on a device that was opened by name only (O_PATH) counts, too",
	},
	{
		.name = "ioctl_devices",
		.type = GT_OPT_STR,
		.flags = GT_OPT_HIDDEN,
		.off = offsetof(struct gb_options, ioctl_devices),
		.help = "devices instead of those of sysfs: TYPE/MAJOR/MINOR/DRIVER/NAME ...",
	},
	{
		.name = "ioctl_by",
		.type = GT_OPT_STR,
		.flags = GT_OPT_HIDDEN,
		.off = offsetof(struct gb_options, ioctl_by),
		.help = "how ioctls may be seen: fentry, kprobe, tracepoint; empty: the best",
	},
	{
		.name = "sysfs",
		.type = GT_OPT_STR,
		.flags = GT_OPT_HIDDEN,
		.off = offsetof(struct gb_options, sysfs),
		.help = "where the compute driver lists queues, instead of /sys",
	},
	{
		.name = "runtimes",
		.type = GT_OPT_STR,
		.flags = GT_OPT_RUNTIME,
		.off = offsetof(struct gb_options, runtimes),
		.help = "libraries with calls that are reported: hsa, hip, cuda, cudart; empty: "
			"none",
	},
	{
		.name = "probes_singly",
		.type = GT_OPT_BOOL,
		.flags = GT_OPT_HIDDEN,
		.off = offsetof(struct gb_options, probes_singly),
		.help = "probes on libraries as on a kernel before Linux 6.6",
	},
	{ 0 },
};

static const struct gt_backend_file files[] = {
	{ .name = "nvidia_trace",
	  .help = "the last events of NVIDIA's queues, as gpu_sched_trace prints them, and how "
		  "many there were",
	  .show = gb_nvidia_trace },
	{ 0 },
};

GT_EXPORT const struct gt_backend gt_backend = {
	.abi = GT_BACKEND_ABI,
	.size = sizeof(struct gt_backend),
	.name = "bpf",
	.version = "1",
	.help = "programs in this kernel, at tracepoints, system calls and functions of libraries",
	.flags = GT_BACKEND_LIVE_PIDS,
	.options = options,
	.options_size = sizeof(struct gb_options),
	.probe = probe,
	.start = start,
	.drain = drain,
	.stop = stop,
	.set = set,
	.control = control,
	.doctor = gb_doctor,
	/* to look at what others have mapped: the thread of runtime/ takes them when it does so */
	.start_caps = 1ULL << CAP_BPF | 1ULL << CAP_PERFMON | 1ULL << CAP_CHECKPOINT_RESTORE |
		      1ULL << CAP_DAC_READ_SEARCH,
	.syscalls = "bpf perf_event_open",
	.files = files,
	.detaching = gb_detaching,
};
