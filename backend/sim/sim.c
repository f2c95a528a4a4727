/* SPDX-License-Identifier: GPL-2.0 */
/* Simulated GPUs, for a machine without one: the plugin's hooks. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim.h"

#define OFF(m) offsetof(struct gt_sim_options, m)

static const struct gt_option options[] = {
	{ "seed", GT_OPT_INT, 0, OFF(seed), "1", 0, INT64_MAX,
	  "the same seed gives the same jobs" },
	{ "rate", GT_OPT_INT, GT_OPT_RUNTIME, OFF(rate), "2000", 0, 1000000,
	  "events per second, all GPUs together" },
	{ "gpus", GT_OPT_INT, 0, OFF(gpus), "1", 1, GT_SIM_MAX_GPUS, "simulated GPUs" },
	{ "rings", GT_OPT_INT, 0, OFF(rings), "5", 1, GT_SIM_MAX_RINGS, "rings of each GPU" },
	{ "users", GT_OPT_INT, 0, OFF(users), "3", 1, GT_SIM_MAX_USERS, "users of the processes" },
	{ "procs", GT_OPT_INT, 0, OFF(procs), "8", 1, GT_SIM_MAX_PROCS, "processes" },
	{ "measured", GT_OPT_BOOL, 0, OFF(measured), "0", 0, 1,
	  "report the hardware's start and end of each job too" },
	{ "jobs", GT_OPT_INT, 0, OFF(jobs), "0", 0, INT64_MAX,
	  "stop after so many jobs; 0: never" },
	{ "first_uid", GT_OPT_INT, GT_OPT_HIDDEN, OFF(first_uid), "60001", 0,
	  UINT32_MAX - GT_SIM_MAX_USERS, "of the users; for tests" },
	{ "truth", GT_OPT_STR, GT_OPT_HIDDEN, OFF(truth), NULL, 0, 0,
	  "file for what really happened; only with GPUTRACE_TEST=1 in the environment" },
	{ .name = NULL },
};

static int probe(struct gt_plugin *p)
{
	return 0;
}

/*
 * Emits what is due and sets the timer for the next event. On a busy machine much time may have passed
 * meanwhile: then it is due at once.
 */
static int advance(struct gt_plugin *p)
{
	uint64_t now = p->host->now(p), next;
	int n = gt_sim_advance(p->priv, now, &next);

	now = p->host->now(p);
	p->host->timer(p, !next ? 0 : next > now ? next - now : 1);
	return n;
}

static bool writes_truth(const struct gt_sim_options *o)
{
	const char *test = secure_getenv("GPUTRACE_TEST");

	return *o->truth && test && !strcmp(test, "1");
}

static void writes(struct gt_plugin *p, void (*add)(void *arg, const char *path), void *arg)
{
	const struct gt_sim_options *o = p->options;

	if (writes_truth(o))
		add(arg, o->truth);
}

static int start(struct gt_plugin *p)
{
	const struct gt_sim_options *o = p->options;
	struct gt_sim_truth *truth = NULL;
	struct gt_sim *s;

	if (writes_truth(o))
		truth = gt_sim_truth_open(p, o->truth);
	s = gt_sim_new(p, o, truth, p->host->now(p));
	if (!s)
		return p->host->error(p, ENOMEM, "no memory, or no room for %d more GPUs",
				      (int)o->gpus);
	p->priv = s;
	advance(p);
	return 0;
}

static void stop(struct gt_plugin *p)
{
	gt_sim_free(p->priv);
	p->priv = NULL;
}

static int set(struct gt_plugin *p, const struct gt_option *o)
{
	const struct gt_sim_options *opt = p->options;

	if (strcmp(o->name, "rate"))
		return -EOPNOTSUPP;
	gt_sim_rate(p->priv, (uint64_t)opt->rate, p->host->now(p));
	advance(p);
	return 0;
}

static int control(struct gt_plugin *p, enum gt_control what, int64_t arg)
{
	if (what == GT_CTL_LEVEL)
		return 0;
	if (what != GT_CTL_PAUSE && what != GT_CTL_RESUME)
		return -EOPNOTSUPP;
	gt_sim_pause(p->priv, what == GT_CTL_PAUSE, p->host->now(p));
	advance(p);
	return what == GT_CTL_PAUSE; /* jobs in flight go on */
}

static void doctor(struct gt_plugin *p, char *buf, size_t len)
{
	gt_sim_doctor(p->priv, buf, len);
}

GT_EXPORT const struct gt_backend gt_backend = {
	.abi = GT_BACKEND_ABI,
	.size = sizeof(struct gt_backend),
	.name = "sim",
	.version = "1",
	.help = "simulated GPUs, for backend=sim",
	.flags = GT_BACKEND_SIMULATED,
	.options = options,
	.options_size = sizeof(struct gt_sim_options),
	.probe = probe,
	.start = start,
	.drain = advance,
	.stop = stop,
	.writes = writes,
	.set = set,
	.control = control,
	.doctor = doctor,
};
