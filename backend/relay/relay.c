/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The relay backend: grtrace, a kernel module that traces GPU rings into relay files, one of each
 * CPU. It sees the scheduler's tracepoints, as bpf and ftrace do, and what drivers report
 * themselves; where it is loaded it was meant to be used, so it goes before the others, unless
 * somebody reads its files already: each record goes to one reader only. Where it does not hook a
 * tracepoint because the kernel's or a driver's is not what it was built for, it lacks steps of
 * jobs, and others go first, too.
 */
#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>

#include "relay.h"

#define RANK	 3 /* bpf has 2, ftrace 1 */
#define RANK_OUT 0

static int probe(struct gt_plugin *p)
{
	const struct gr_options *o = p->options;
	char dir[PATH_MAX], err[400];
	int ret = gr_find(o->path, dir, sizeof(dir), err, sizeof(err));

	if (!ret)
		ret = gr_check(dir, err, sizeof(err));
	return ret ? p->host->error(p, -ret, "%s", err) : 0;
}

static const char *claim(struct gr *gr, int rank)
{
	return gr->p->host->claim ? gr->p->host->claim(gr->p, GT_CLAIM_TRACEPOINTS, rank) : NULL;
}

/* There is nothing to read: others may report the tracepoints until there is. */
static int leave(struct gr *gr, int err, const char *why)
{
	gr_close_all(gr);
	gr->dir[0] = gr->level[0] = '\0';
	gr->started = false;
	claim(gr, -1);
	gr->p->host->timer(gr->p, GR_LOOK_NS);
	return gr->p->host->error(gr->p, -err, "%s", why);
}

int gr_take(struct gr *gr)
{
	char err[400];
	const char *by;
	int ret = gr_find(gr->o->path, gr->dir, sizeof(gr->dir), err, sizeof(err));

	if (!ret)
		ret = gr_check(gr->dir, err, sizeof(err));
	if (ret)
		return leave(gr, ret, err);
	gr_look(gr);
	gr_readers(gr, true);
	by = claim(gr, gr_refuses(gr) || gr->readers ? RANK_OUT : RANK);
	snprintf(gr->reported_by, sizeof(gr->reported_by), "%s", by ? by : "");
	if (by) {
		gr_restore(gr);
		gr_tracing(gr, false);
		gr_close_all(gr);
		gr->p->host->timer(gr->p, 0);
		return 0;
	}
	if (gr->readers)
		gr->p->host->error(gr->p, EBUSY,
				   "another process has one of the files in %s open: it and this "
				   "daemon take each other's records; end it (fuser -v %s/* shows "
				   "root which), or leave out backend relay",
				   gr->dir, gr->dir);
	if (!gr->paused)
		gr_tracing(gr, true);
	gr_level(gr);
	gr->p->host->timer(gr->p, 1);
	return 0;
}

static void gr_free(struct gr *gr)
{
	gr_close_all(gr);
	gt_tasks_free(gr->tasks);
	free(gr);
}

static int start(struct gt_plugin *p)
{
	struct gr *gr = calloc(1, sizeof(*gr));
	char err[200];
	int ret;

	if (!gr)
		return p->host->error(p, ENOMEM, "no memory");
	gr->p = p;
	gr->o = p->options;
	gr->idle = GR_DRAIN_NS;
	gr->from = p->host->now(p);
	gr->tasks = gt_tasks_new(NULL); /* nobody records threads for the kernel's lists */
	ret = gt_grt_set_init(&gr->set, p, gr->o->types, err, sizeof(err));
	if (ret)
		ret = p->host->error(p, -ret, "types: %s", err);
	else
		ret = gr->tasks ? gr_take(gr) : p->host->error(p, ENOMEM, "no memory");
	if (ret) {
		p->host->timer(p, 0);
		gr_free(gr);
		return ret;
	}
	p->priv = gr;
	return 0;
}

static void stop(struct gt_plugin *p)
{
	struct gr *gr = p->priv;

	gr_restore(gr);
	gr_tracing(gr, false);
	if (gr->n && !gr->reported_by[0] && !gr->paused)
		gr_drain_all(gr); /* what came until now was observed */
	p->host->timer(p, 0);
	gr_watch(gr, false);
	p->priv = NULL;
	gr_free(gr);
}

static void pause_it(struct gr *gr, bool on)
{
	gr->paused = on;
	gr_tracing(gr, !on);
	if (on) {
		gr_drain_all(gr);
		gr_watch(gr, false);
	}
	gr->from = gr->p->host->now(gr->p);
	gr->p->host->timer(gr->p, on ? 0 : 1);
}

/* What happened since the old files' end is in none: jobs in flight may have ended there. */
static void emit_gap(struct gr *gr)
{
	union gt_record r;

	gt_record_init(&r, gr->mark, GT_LOST);
	r.lost.count = 0;
	r.lost.since = gr->mark;
	r.lost.cause = GT_LOST_SOURCE;
	r.lost.until = gr->p->host->now(gr->p);
	gr->p->host->push(gr->p, &r, 1);
}

/* Buffers of another size are others: grtrace stops for that moment, and begins with new files. */
static int restart(struct gr *gr, int64_t old)
{
	bool more;

	gr_tracing(gr, false);
	gr_drain_all(gr);
	more = gr->more;
	if (more)
		gr->o->buffer_size = old;
	gr_watch(gr, false);
	gr_tracing(gr, true);
	if (gr->mark)
		emit_gap(gr);
	gr->p->host->timer(gr->p, 1);
	if (!gr->started)
		return gr->p->host->error(gr->p, EIO, "grtrace could not be started again");
	if (more)
		return gr->p->host->error(gr->p, EBUSY,
					  "grtrace has more records than can be read at once: its "
					  "buffers stay as they are");
	return 0;
}

static int set(struct gt_plugin *p, const struct gt_option *o)
{
	struct gr *gr = p->priv;
	char text[32];
	int64_t old;

	if (o->type != GT_OPT_INT)
		return -EOPNOTSUPP;
	if (gr->reported_by[0] || gr->paused || !*gr->dir)
		return 0; /* it is asked when tracing is started */
	if (!gr->started && gr_traces(gr))
		return p->host->error(p, EBUSY,
				      "grtrace was started by somebody else: its buffers stay as "
				      "they are");
	gr_read(gr->dir, "buffer_size", text, sizeof(text));
	old = strtoll(text, NULL, 10);
	if (gr->started && old > 0 && (!gr->o->buffer_size || gr->o->buffer_size == old)) {
		gr->o->buffer_size = old;
		return 0;
	}
	gr_readers(gr, true);
	if (gr->readers)
		return p->host->error(
			p, EBUSY,
			"another process has one of grtrace's files open: its buffers "
			"stay as they are");
	return restart(gr, old);
}

static int control(struct gt_plugin *p, enum gt_control what, int64_t arg)
{
	struct gr *gr = p->priv;

	switch (what) {
	case GT_CTL_PAUSE:
	case GT_CTL_RESUME:
		if (!gr->reported_by[0])
			pause_it(gr, what == GT_CTL_PAUSE);
		return 0;
	case GT_CTL_LEVEL:
		gr->verbose = arg > 2;
		if (!gr->reported_by[0])
			gr_level(gr);
		return 0;
	case GT_CTL_RESCAN:
		gr->looked = 0;
		gr_take(gr); /* what is wrong is reported; it looks again by itself */
		return 0;
	default:
		return -EOPNOTSUPP;
	}
}

static const struct gt_option options[] = {
	{
		.name = "path",
		.type = GT_OPT_STR,
		.off = offsetof(struct gr_options, path),
		.help = "folder of grtrace's files; empty: grtrace in debugfs, wherever that is "
			"mounted",
	},
	{
		.name = "types",
		.type = GT_OPT_STR,
		.off = offsetof(struct gr_options, types),
		.help = "numbers of grtrace's types where it has no table of them: "
			"SUBMIT=0,START=4; empty: its own",
	},
	{
		.name = "buffer_size",
		.type = GT_OPT_INT,
		.off = offsetof(struct gr_options, buffer_size),
		.def = "0",
		.min = 0,
		.max = 1LL << 40,
		.flags = GT_OPT_RUNTIME,
		.help = "bytes per CPU asked of grtrace, where tracing is started here, up to 256 "
			"MiB and a 64th of the memory for all; reads what was granted; 0: as it is",
	},
	{ 0 },
};

GT_EXPORT const struct gt_backend gt_backend = {
	.abi = GT_BACKEND_ABI,
	.size = sizeof(struct gt_backend),
	.name = "relay",
	.version = "1",
	.help = "grtrace, a kernel module that traces GPU rings into relay files",
	.flags = GT_BACKEND_LIVE_PIDS,
	.options = options,
	.options_size = sizeof(struct gr_options),
	.probe = probe,
	.start = start,
	.drain = gr_drain,
	.stop = stop,
	.set = set,
	.control = control,
	.doctor = gr_doctor,
	.writes = gr_writes,
	.start_caps = 1ULL << CAP_DAC_READ_SEARCH, /* descriptors of others */
};
