/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What sysfs tells of GPUs, without any privilege: the plugin's hooks. Nothing is read while nobody
 * looks, and no more often than the setting `interval` says, however many look.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

#define OFF(m) offsetof(struct sf_options, m)

static const struct gt_option options[] = {
	{ "sysroot", GT_OPT_STR, 0, OFF(sysroot), "", 0, 0,
	  "a captured tree with sys, proc and dev of another machine; empty: this one" },
	{ "interval", GT_OPT_INT, GT_OPT_RUNTIME, OFF(interval), "100", 10, 60000,
	  "ms that readings stay good, however many look at them" },
	{ .name = NULL },
};

static int probe(struct gt_plugin *p)
{
	const struct sf_options *o = p->options;
	struct gt_root root;
	int err = gt_root_open(&root, o->sysroot);
	bool any;

	if (err)
		return p->host->error(p, -err, "%s: %s", o->sysroot, strerror(-err));
	any = sf_devices_any(&root);
	gt_root_close(&root);
	return any ? 0
		   : p->host->error(p, ENODEV, "no GPU with a driver in %s/sys/class/drm",
				    o->sysroot);
}

static void read_all(struct sf *sf)
{
	sf->looked = sf->p->host->now(sf->p);
	sf_devices_read(sf);
}

static int start(struct gt_plugin *p)
{
	const struct sf_options *o = p->options;
	struct sf *sf = calloc(1, sizeof(*sf));
	int err;

	if (!sf)
		return -ENOMEM;
	sf->p = p;
	err = gt_root_open(&sf->root, o->sysroot);
	if (err) {
		free(sf);
		return p->host->error(p, -err, "%s: %s", o->sysroot, strerror(-err));
	}
	p->priv = sf;
	sf_devices_scan(sf);
	read_all(sf); /* from now on it is known what there is to be shown */
	return 0;
}

static int drain(struct gt_plugin *p)
{
	return 0;
}

static void stop(struct gt_plugin *p)
{
	struct sf *sf = p->priv;

	sf_devices_free(sf);
	gt_root_close(&sf->root);
	free(sf);
	p->priv = NULL;
}

static int set(struct gt_plugin *p, const struct gt_option *o)
{
	return 0; /* looked at each time */
}

static int control(struct gt_plugin *p, enum gt_control what, int64_t arg)
{
	switch (what) {
	case GT_CTL_RESCAN:
		sf_devices_scan(p->priv);
		read_all(p->priv);
		return 0;
	case GT_CTL_PAUSE:
	case GT_CTL_RESUME:
	case GT_CTL_LEVEL:
	case GT_CTL_WANTED:
		return 0; /* what is asked for is told all the same */
	default:
		return -EOPNOTSUPP;
	}
}

static void look(struct gt_plugin *p, unsigned int what)
{
	const struct sf_options *o = p->options;
	struct sf *sf = p->priv;

	sf->stats.looks++;
	if (what & GT_LOOK_GPUS && p->host->now(p) - sf->looked >= (uint64_t)o->interval * 1000000)
		read_all(sf);
}

static void doctor(struct gt_plugin *p, char *buf, size_t len)
{
	const struct sf *sf = p->priv;
	unsigned int attrs = 0;

	for (unsigned int i = 0; i < sf->n; i++)
		attrs += sf->dev[i].nattrs;
	snprintf(buf, len,
		 "gpus %u\nattributes %u\nlooks %" PRIu64 "\nreads %" PRIu64 "\nbad_values %" PRIu64
		 "\nslow_reads %" PRIu64 "\nleft_asleep %" PRIu64 "\n",
		 sf->n, attrs, sf->stats.looks, sf->stats.reads, sf->stats.bad, sf->stats.slow,
		 sf->stats.asleep);
}

GT_EXPORT const struct gt_backend gt_backend = {
	.abi = GT_BACKEND_ABI,
	.size = sizeof(struct gt_backend),
	.name = "sysfs",
	.version = "1",
	.help = "state of GPUs, as sysfs tells it",
	.flags = GT_BACKEND_LIVE_PIDS,
	.options = options,
	.options_size = sizeof(struct sf_options),
	.probe = probe,
	.start = start,
	.drain = drain,
	.stop = stop,
	.set = set,
	.control = control,
	.doctor = doctor,
	.look = look,
};
