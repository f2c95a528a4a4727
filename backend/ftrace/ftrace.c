/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The ftrace backend: GPU tracepoints of this kernel through an instance of tracefs of our own,
 * read as raw pages. Which tracepoint means what is said by the event maps; see
 * gputrace-events.d(5).
 */
#include <errno.h>
#include <linux/capability.h>
#include <syslog.h>

#include "ftrace.h"

static void ft_free(struct ft *ft)
{
	ft_functions_stop(ft);
	ft_cpus_close(ft);
	ft_instance_destroy(ft);
	ft_standins_free(ft);
	ft_select_free(ft);
	gt_tasks_free(ft->tasks);
	gt_eventmap_free(ft->map);
	free(ft);
}

/* What the event maps push themselves (names) must not overtake what waits in ft->out. */
static struct ft *of_shadow(struct gt_plugin *p)
{
	return ((struct ft_shadow *)p)->ft;
}

static void shadow_push(struct gt_plugin *p, const union gt_record *r, size_t n)
{
	struct ft *ft = of_shadow(p);
	union gt_record named;

	for (size_t i = 0; i < n; i++) {
		named = r[i];
		/* Names emitted while the maps are loaded have no event's time. */
		if (!named.ev.ts)
			named.ev.ts = ft->mark ? ft->mark : ft->p->host->now(ft->p);
		ft_out(ft, &named);
	}
}

static uint16_t shadow_gpu(struct gt_plugin *p, const struct gt_gpu_desc *desc)
{
	struct ft *ft = of_shadow(p);

	/* the trace's thread ids are not those of our /proc */
	if (desc->pid && gt_tasks_foreign(ft->tasks))
		return GT_NONE16;
	return ft->p->host->gpu(ft->p, desc);
}

static uint16_t shadow_ring(struct gt_plugin *p, uint16_t gpu, const char *name, enum gt_engine e)
{
	struct gt_plugin *real = of_shadow(p)->p;

	return real->host->ring(real, gpu, name, e);
}

static int load_maps(struct ft *ft)
{
	ft->shadow.ft = ft;
	ft->shadow.p = *ft->p;
	ft->shadow.host = (struct gt_host){
		.push = shadow_push,
		.gpu = shadow_gpu,
		.ring = shadow_ring,
	};
	ft->shadow.p.host = &ft->shadow.host;
	ft->map = gt_eventmap_load(&ft->shadow.p, ft->p->events_dir, ft->map_error,
				   sizeof(ft->map_error));
	if (!ft->map)
		return ft->p->host->error(ft->p, EINVAL, "%s", ft->map_error);
	if (ft->map_error[0])
		ft->p->host->log(ft->p, LOG_WARNING, "%s", ft->map_error);
	return 0;
}

static int begin(struct ft *ft)
{
	const struct gt_host *host = ft->p->host;
	char err[400] = "";
	int ret;

	ret = ft_instance_create(ft);
	if (ret)
		return ret;
	ft_buffer_ask(ft, ft->o->buffer_size);
	ret = ft_cpus_open(ft);
	if (ret)
		return ret;
	ret = ft_select(ft);
	if (ret < 0)
		return host->error(ft->p, -ret, "no memory for the tracepoints");
	if (!ret && !ft->reported_by[0])
		return host->error(ft->p, ENOENT, "no tracepoint could be enabled: %s",
				   ft->bind_error);
	ret = ft_functions_set(ft, ft->o->functions, false, err, sizeof(err));
	if (ret)
		return host->error(ft->p, -ret, "%s", err);
	ret = ft_watch(ft, true);
	if (ret)
		return host->error(ft->p, -ret, "trace_pipe_raw cannot be waited for");
	return ft_tracing_on(ft, true);
}

static int start(struct gt_plugin *p)
{
	struct ft *ft = calloc(1, sizeof(*ft));
	int ret;

	if (!ft)
		return p->host->error(p, ENOMEM, "no memory");
	ft->p = p;
	ft->o = p->options;
	ft->functions.id = -1;
	ft->functions.matched = -1;
	ft->by_id = calloc(FT_MAX_ID, sizeof(*ft->by_id));
	ft->tasks = gt_tasks_new(p->tracefs);
	if (!ft->by_id || !ft->tasks)
		ret = p->host->error(p, ENOMEM, "no memory");
	else
		ret = load_maps(ft);
	if (!ret)
		ret = begin(ft);
	if (ret) {
		ft_free(ft);
		return ret;
	}
	p->priv = ft;
	return 0;
}

static void stop(struct gt_plugin *p)
{
	struct ft *ft = p->priv;

	ft_drain_all(ft); /* what came until now was observed */
	p->host->timer(p, 0);
	ft_watch(ft, false);
	p->priv = NULL;
	ft_free(ft);
}

static int set(struct gt_plugin *p, const struct gt_option *o)
{
	struct ft *ft = p->priv;
	char err[400] = "";
	int ret;

	if (o->type != GT_OPT_STR) {
		ft_buffer_ask(ft, ft->o->buffer_size);
		return 0;
	}
	ret = ft_functions_set(ft, ft->o->functions, true, err, sizeof(err));
	return ret ? p->host->error(p, -ret, "%s", err) : 0;
}

static int rescan(struct ft *ft)
{
	int n;

	/* What came is reported in the way that it was chosen for. A tracepoint that is gone reported nothing
	 * of the last of it. */
	gt_eventmap_refresh(ft->map, gt_tracepoint_exists, ft->dir);
	ft_drain_all(ft);
	n = ft_select(ft);

	if (n < 0)
		return n;
	ft_calls_bind(ft, ft->functions.syms);
	ft_calls_bind(ft, ft->functions.before);
	ft_functions_rescan(ft);
	return 0;
}

/* With the function tracer on the kernel empties the buffers then (function_trace_start()). */
static int resume(struct ft *ft)
{
	int ret;

	if (ft->functions.filter)
		ft_drain_all(ft);
	ret = ft_tracing_on(ft, true);
	if (!ret && ft->functions.filter)
		ft_cpus_anew(ft);
	return ret;
}

/* What the buffers hold is emitted before the mark that nothing comes any more. */
static int pause_it(struct ft *ft)
{
	int ret = ft_tracing_on(ft, false);

	if (!ret)
		ft_drain_all(ft);
	return ret;
}

static int control(struct gt_plugin *p, enum gt_control what, int64_t arg)
{
	struct ft *ft = p->priv;

	switch (what) {
	case GT_CTL_PAUSE:
		return pause_it(ft);
	case GT_CTL_RESUME:
		return resume(ft);
	case GT_CTL_LEVEL:
		ft->o->level = arg > 2 ? arg : 2; /* statistics need what records do */
		return rescan(ft);
	case GT_CTL_RESCAN:
		return rescan(ft);
	default:
		return -EOPNOTSUPP;
	}
}

static const struct gt_option options[] = {
	{
		.name = "buffer_size",
		.type = GT_OPT_INT,
		.flags = GT_OPT_RUNTIME,
		.off = offsetof(struct ft_options, buffer_size),
		.def = "4194304",
		.min = 4096,
		.max = FT_BUFFER_MAX,
		.help = "bytes per CPU asked of the kernel; reads back what was granted",
	},
	{
		.name = "functions",
		.type = GT_OPT_STR,
		.flags = GT_OPT_RUNTIME,
		.off = offsetof(struct ft_options, functions),
		.help = "kernel functions with calls that are reported, in ftrace's syntax: "
			"amdgpu_* "
			":mod:xe !*_irq",
	},
	{
		.name = "level",
		.type = GT_OPT_INT,
		.flags = GT_OPT_HIDDEN,
		.off = offsetof(struct ft_options, level),
		.def = "2",
		.min = 2,
		.max = 3,
		.help = "sections of the event maps up to this level are used from the start",
	},
	{
		.name = "probes",
		.type = GT_OPT_BOOL,
		.off = offsetof(struct ft_options, probes),
		.def = "1",
		.help = "1: events that the kernel lacks are made from its types; 0: only what the "
			"kernel itself offers",
	},
	{ 0 },
};

GT_EXPORT const struct gt_backend gt_backend = {
	.abi = GT_BACKEND_ABI,
	.size = sizeof(struct gt_backend),
	.name = "ftrace",
	.version = "1",
	.help = "GPU tracepoints of this kernel, through tracefs",
	.flags = GT_BACKEND_LIVE_PIDS,
	.options = options,
	.options_size = sizeof(struct ft_options),
	.probe = ft_probe,
	.start = start,
	.drain = ft_drain,
	.stop = stop,
	.set = set,
	.control = control,
	.doctor = ft_doctor,
	.writes = ft_writes,
	.caps = 1ULL << CAP_SYSLOG, /* addresses in /proc/kallsyms */
};
