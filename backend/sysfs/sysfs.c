/* SPDX-License-Identifier: GPL-2.0 */
/*
 * State of GPUs from sysfs, without any privilege: the plugin's hooks. Sensors are read only when a user
 * reads them, and no more often than the setting `interval` says, however many users do.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>

#include "../lib/detail.h"
#include "sysfs.h"

#define OFF(m) offsetof(struct sf_options, m)

#define SLICE_NS 2000000ull  /* of a scan of all processes, and the pause to the next */
#define START_NS 50000000ull /* likewise, at the start */

static const struct gt_option options[] = {
	{ "sysroot", GT_OPT_STR, 0, OFF(sysroot), "", 0, 0,
	  "a captured tree with sys, proc and dev of another machine; empty: this one" },
	{ "interval", GT_OPT_INT, GT_OPT_RUNTIME, OFF(interval), "100", 10, 60000,
	  "ms that readings stay good, however many look at them" },
	{ "sample", GT_OPT_INT, GT_OPT_RUNTIME, OFF(sample), "1000", 0, 60000,
	  "ms between two looks at what processes use, when nobody looks; 0: none" },
	{ "sweep", GT_OPT_INT, GT_OPT_RUNTIME, OFF(sweep), "30", 0, 86400,
	  "s after which all processes are looked at for what is open; 0: never" },
	{ "events", GT_OPT_BOOL, GT_OPT_RUNTIME, OFF(events), "0", 0, 0,
	  "1: events of AMD's compute driver: faults, resets, throttles, evictions, migrations" },
	{ .name = "files",
	  .type = GT_OPT_STR,
	  .flags = GT_OPT_HIDDEN,
	  .off = OFF(files),
	  .help = "saved dumps of the compute driver's queues, separated by colons" },
	{ .name = "speed",
	  .type = GT_OPT_STR,
	  .flags = GT_OPT_HIDDEN,
	  .off = OFF(speed),
	  .def = "0",
	  .help = "0: a dump has no times to be played by" },
	{ .name = NULL },
};

static int probe(struct gt_plugin *p)
{
	const struct sf_options *o = p->options;
	struct gt_root root;
	bool any;
	int err;

	if (p->recording && o->speed && *o->speed && strcmp(o->speed, "0"))
		return p->host->error(p, EINVAL,
				      "dumps of queues have no times: speed= is not for them");
	if (p->recording)
		return sf_play_probe(p, o->files);
	err = gt_root_open(&root, o->sysroot);
	if (err)
		return p->host->error(p, -err, "%s: %s", o->sysroot, strerror(-err));
	any = sf_devices_any(&root);
	gt_root_close(&root);
	return any ? 0
		   : p->host->error(p, ENODEV, "no GPU with a driver in %s/sys/class/drm",
				    o->sysroot);
}

static void refresh_sensors(struct sf *sf)
{
	sf->looked = sf->p->host->now(sf->p);
	sf_devices_read(sf);
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return !a || (b && b < a) ? b : a;
}

/* Sets the timer to what is due next; there is none if no process has a GPU open and no sweep is due. */
static void arm(struct sf *sf)
{
	const struct sf_options *o = sf->p->options;
	const struct sf_clients *cs = sf->clients;
	uint64_t now = sf->p->host->now(sf->p), next = cs->due;

	if (o->sweep)
		next = earlier(next, cs->scanned + (uint64_t)o->sweep * 1000000000);
	if (o->sample && (cs->count || sf->kfd->n))
		next = earlier(next, cs->looked + (uint64_t)o->sample * 1000000);
	if (cs->npending || cs->scan.proc)
		next = now + SLICE_NS;
	sf->p->host->timer(sf->p, !next ? 0 : next > now ? next - now : 1);
}

/* Scans processes that another backend saw, while there is time. */
static void scan_pending(struct sf *sf, uint64_t until)
{
	struct sf_clients *cs = sf->clients;
	unsigned int n = 0;

	while (n < cs->npending && (!n || sf->p->host->now(sf->p) < until))
		sf_scan_process(sf, cs->pending[n++]);
	cs->npending -= n;
	memmove(cs->pending, cs->pending + n, cs->npending * sizeof(cs->pending[0]));
}

/* True: a scan of all processes is complete */
static bool scan_if_due(struct sf *sf)
{
	const struct sf_options *o = sf->p->options;
	struct sf_clients *cs = sf->clients;
	uint64_t now = sf->p->host->now(sf->p);

	scan_pending(sf, now + SLICE_NS);
	if (!cs->scan.proc) {
		if (!(cs->due && now >= cs->due) &&
		    !(o->sweep && now >= cs->scanned + (uint64_t)o->sweep * 1000000000))
			return false;
		cs->due = 0;
		sf_scan_begin(sf);
	}
	return sf_scan_continue(sf, now + SLICE_NS);
}

/* Scans for START_NS; the rest follows at once, SLICE_NS at a time. */
static void scan_all(struct sf *sf)
{
	sf_scan_begin(sf);
	sf_scan_continue(sf, sf->p->host->now(sf->p) + START_NS);
}

/* After somebody opened a device: a scan soon, but scans take at most a twentieth of the time */
static void check_opens(struct sf *sf)
{
	struct sf_clients *cs = sf->clients;
	uint64_t pause = cs->cost * 20 > SF_AGAIN_NS / 10 ? cs->cost * 20 : SF_AGAIN_NS / 10;
	uint64_t now = sf->p->host->now(sf->p);

	if (sf_scan_noticed(sf))
		cs->due = earlier(cs->due, cs->scanned + pause > now ? cs->scanned + pause : now);
}

static void free_all(struct sf *sf)
{
	sf_smi_stop(sf);
	sf_clients_free(sf->clients);
	sf_kfd_free(sf->kfd);
	sf_devices_free(sf);
	gt_root_close(&sf->root);
	free(sf);
}

/* A captured tree has no driver, so no events. */
static int apply_events_setting(struct sf *sf)
{
	const struct sf_options *o = sf->p->options;

	sf_smi_stop(sf);
	if (!o->events)
		return 0;
	return sf->root.captured
		       ? sf->p->host->error(sf->p, ENODEV, "a captured tree has no events")
		       : sf_smi_start(sf);
}

static int start(struct gt_plugin *p)
{
	const struct sf_options *o = p->options;
	struct sf *sf;
	int err;

	if (p->recording)
		return sf_play_start(p, o->files);
	sf = calloc(1, sizeof(*sf));
	if (!sf)
		return -ENOMEM;
	sf->p = p;
	err = gt_root_open(&sf->root, o->sysroot);
	if (err) {
		free(sf);
		return p->host->error(p, -err, "%s: %s", o->sysroot, strerror(-err));
	}
	sf->clients = sf_clients_new();
	sf->kfd = sf_kfd_new();
	if (!sf->clients || !sf->kfd) {
		free_all(sf);
		return -ENOMEM;
	}
	p->priv = sf;
	sf_devices_scan(sf);
	sf_kfd_claim(sf);
	sf_kfd_hw_begin(sf);
	refresh_sensors(sf); /* from now on the host knows which gauges there are */
	sf_scan_start(sf);
	scan_all(sf);
	sf_kfd_look(sf, true);
	if (apply_events_setting(sf))
		p->host->log(p, LOG_WARNING, "no events of AMD's compute driver");
	arm(sf);
	return 0;
}

static int drain(struct gt_plugin *p)
{
	const struct sf_options *o = p->options;
	struct sf *sf = p->priv;
	uint64_t pushed;

	if (p->recording)
		return sf_play_drain(p);
	pushed = sf->kfd->stats.pushed;
	sf_smi_read(sf);
	check_opens(sf);
	if (scan_if_due(sf))
		sf_kfd_look(sf, false);
	if (o->sample && (sf->clients->count || sf->kfd->n) &&
	    p->host->now(p) >= sf->clients->looked + (uint64_t)o->sample * 1000000) {
		sf_clients_read(sf);
		sf_kfd_look(sf, false);
	}
	arm(sf);
	return (int)(sf->kfd->stats.pushed - pushed);
}

static void process_seen(struct gt_plugin *p, uint32_t pid)
{
	struct sf *sf = p->priv;
	struct sf_clients *cs;

	if (p->recording || sf->root.captured)
		return; /* its processes are not this machine's */
	cs = sf->clients;
	if (cs->npending < sizeof(cs->pending) / sizeof(cs->pending[0]))
		cs->pending[cs->npending++] = pid;
	else
		cs->due = earlier(cs->due, cs->scanned + SF_AGAIN_NS);
	p->host->timer(p, 1000000);
}

static void stop(struct gt_plugin *p)
{
	struct sf *sf = p->priv;

	if (p->recording) {
		sf_play_stop(p);
		return;
	}
	sf_scan_stop(sf);
	sf_scan_end(sf);
	sf_kfd_hw_report(sf, NULL, 0);
	free_all(sf);
	p->priv = NULL;
}

static int set(struct gt_plugin *p, const struct gt_option *o)
{
	struct sf *sf = p->priv;
	int err;

	if (p->recording)
		return p->host->error(p, EOPNOTSUPP, "a recording is played");
	err = o->off == OFF(events) ? apply_events_setting(sf) : 0;
	arm(sf); /* the other settings are read each time */
	return err;
}

static void rescan(struct sf *sf)
{
	if (sf_devices_scan(sf)) {
		sf_clients_forget(sf);
		sf_kfd_forget(sf);
		apply_events_setting(sf);
	}
	sf_kfd_claim(sf);
	sf_kfd_hw_begin(sf);
	refresh_sensors(sf);
	scan_all(sf);
	sf_kfd_look(sf, true);
	arm(sf);
}

static int control(struct gt_plugin *p, enum gt_control what, int64_t arg)
{
	if (p->recording && (what == GT_CTL_PAUSE || what == GT_CTL_SEEK))
		return p->host->error(p, EOPNOTSUPP,
				      "dumps of queues have no times: %s is not for them",
				      what == GT_CTL_SEEK ? "seek" : "pause");
	if (p->recording)
		return -EOPNOTSUPP;
	switch (what) {
	case GT_CTL_RESCAN:
		rescan(p->priv);
		return 0;
	case GT_CTL_PAUSE:
	case GT_CTL_RESUME:
	case GT_CTL_LEVEL:
		return 0; /* nothing to do: sensors are read on demand only */
	default:
		return -EOPNOTSUPP;
	}
}

static void on_refresh(struct gt_plugin *p, unsigned int what)
{
	const struct sf_options *o = p->options;
	struct sf *sf = p->priv;

	if (p->recording)
		return;
	sf->stats.looks++;
	if (what & GT_REFRESH_GPUS &&
	    p->host->now(p) - sf->looked >= (uint64_t)o->interval * 1000000)
		refresh_sensors(sf);
	if (what & GT_REFRESH_PROCS &&
	    p->host->now(p) - sf->clients->looked >= (uint64_t)o->interval * 1000000) {
		check_opens(sf);
		scan_if_due(sf);
		sf_clients_read(sf);
		sf_kfd_look(sf, true);
		arm(sf);
	}
	if (what & GT_REFRESH_SLOTS)
		sf_kfd_hw_look(sf);
}

static void live_doctor(const struct sf *sf, struct gt_details *t)
{
	const struct sf_clients *cs = sf->clients;
	const struct sf_kfd *k = sf->kfd;
	unsigned int attrs = 0;

	for (unsigned int i = 0; i < sf->n; i++)
		attrs += sf->dev[i].nattrs;
	gt_detail(t, "gpus %u\nattributes %u\n", sf->n, attrs);
	gt_detail(t, "looks %" PRIu64 "\nreads %" PRIu64 "\n", sf->stats.looks, sf->stats.reads);
	gt_detail(t, "bad_values %" PRIu64 "\nslow_reads %" PRIu64 "\n", sf->stats.bad,
		  sf->stats.slow);
	gt_detail(t, "devices_skipped_asleep %" PRIu64 "\n", sf->stats.asleep);
	gt_detail(t, "clients %u\nclient_looks %" PRIu64 "\nclient_reads %" PRIu64 "\n", cs->count,
		  cs->stats.looks, cs->stats.reads);
	gt_detail(t, "clients_ended %" PRIu64 "\nunseen_ns %" PRIu64 "\n", cs->stats.ended,
		  cs->stats.unseen_ns);
	gt_detail(t, "clients_refused %" PRIu64 "\n", cs->stats.refused);
	gt_detail(t, "scans %" PRIu64 "\nscan_ns %" PRIu64 "\n", cs->stats.scans, cs->cost);
	gt_detail(t, "scanned_processes %" PRIu64 "\nscanned_descriptors %" PRIu64 "\n",
		  cs->stats.processes, cs->stats.descriptors);
	gt_detail(t, "scans_truncated %" PRIu64 "\nover_share %" PRIu64 "\n", cs->stats.cut,
		  cs->stats.over);
	gt_detail(t, "kfd_processes %u\nkfd_queues %u\n", k->n, k->nqueues);
	gt_detail(t, "kfd_queues_reported %d\nkfd_looks %" PRIu64 "\n", k->reports, k->stats.looks);
	gt_detail(t, "kfd_unknown_queues %" PRIu64 "\n", k->stats.strange);
	gt_detail(t, "kfd_dumps %" PRIu64 "\nkfd_dump_bad_lines %" PRIu64 "\n", k->stats.dumps,
		  k->stats.dump_bad);
	gt_detail(t, "kfd_dump_cut %" PRIu64 "\nkfd_placed %" PRIu64 "\n", k->stats.dump_cut,
		  k->stats.placed);
	sf_smi_doctor(sf, t);
	gt_detail(t, "kfd_refused %" PRIu64 "\nkfd_cut %" PRIu64 "\n", k->stats.refused,
		  k->stats.cut);
}

static void doctor(struct gt_plugin *p, char *buf, size_t len)
{
	const struct sf *sf = p->priv;
	struct gt_details t = { buf, len };

	if (p->recording)
		sf_play_doctor(p, buf, len);
	else
		live_doctor(sf, &t);
}

static void show_hqds(struct gt_plugin *p, char *buf, size_t len)
{
	if (p->recording)
		sf_play_show(p, buf, len);
	else
		sf_kfd_show(p, buf, len);
}

static const struct gt_backend_file files[] = {
	{ "hqds", "queues of AMD's compute driver, and slots of the hardware that they are on",
	  show_hqds, "kfd_id pid queue type active vmid doorbell base size_bytes rptr wptr slots" },
	{ 0 },
};

GT_EXPORT const struct gt_backend gt_backend = {
	.abi = GT_BACKEND_ABI,
	.size = sizeof(struct gt_backend),
	.name = "sysfs",
	.version = "1",
	.help = "state of GPUs and what processes use of them, from sysfs and fdinfo",
	.flags = GT_BACKEND_LIVE_PIDS | GT_BACKEND_STAYS,
	.options = options,
	.options_size = sizeof(struct sf_options),
	.probe = probe,
	.start = start,
	.drain = drain,
	.stop = stop,
	.set = set,
	.control = control,
	.doctor = doctor,
	.files = files,
	.probe_recording = sf_play_knows,
	.refresh_sensors = on_refresh,
	.process_seen = process_seen,
	.start_caps = 1ull << CAP_DAC_READ_SEARCH,
	.syscalls = "kill inotify_init1 inotify_add_watch inotify_rm_watch", /* its child; opened */
};
