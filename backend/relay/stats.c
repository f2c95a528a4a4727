/* SPDX-License-Identifier: GPL-2.0 */
/* What doctor and backends/relay/stats say. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "../lib/detail.h"
#include "internal.h"

static void counters(struct gt_details *t, const struct gr *gr)
{
	struct gt_grt_stats n = gr->gone;

	for (unsigned int i = 0; i < gr->n; i++)
		gr_sum(&n, &gr->cpu[i]->g.n);
	gt_detail(t, "events %" PRIu64 "\nlost_events %" PRIu64 "\ngaps %" PRIu64 "\n", n.records,
		  n.lost, n.gaps);
	gt_detail(t, "before %" PRIu64 "\nrecords_out_of_order %" PRIu64 "\n", gr->before,
		  gr->late);
	gt_detail(t, "sessions %" PRIu64 "\ndescriptions %" PRIu64 "\n", n.sessions,
		  n.descriptions);
	gt_detail(t, "unknown_types %" PRIu64 "\ndamaged %" PRIu64 "\nskipped_bytes %" PRIu64 "\n",
		  n.unknown, n.damaged, n.skipped);
	gt_detail(t, "padding_bytes %" PRIu64 "\nbad_times %" PRIu64 "\n", n.padding, n.times);
	gt_detail(t, "custom_unnamed %" PRIu64 "\nring_ids_too_high %" PRIu64 "\n", n.unnamed,
		  n.ringless);
	gt_detail(t, "other_layout %" PRIu64 "\n", n.layout);
	gt_detail(t,
		  "drains_full %" PRIu64 "\nfiles_opened %" PRIu64 "\nfiles_closed %" PRIu64 "\n",
		  gr->full, gr->opened, gr->closed);
	if (gr->faults)
		gt_detail(t, "first_damage %s\n", gr->fault);
}

/* Of one session: gseq counts events of all CPUs, so that what no file here has is seen, too. */
static void session(struct gt_details *t, const struct gr *gr)
{
	uint64_t id = 0, min = GT_NONE64, max = 0, here = 0;

	for (unsigned int i = 0; i < gr->n; i++) {
		const struct gt_grt *g = &gr->cpu[i]->g;

		if (id && g->session && g->session != id)
			return; /* one has begun just now */
		id = g->session ? g->session : id;
		if (!g->events)
			continue;
		min = g->gseq_min < min ? g->gseq_min : min;
		max = g->gseq_max > max ? g->gseq_max : max;
		here += g->events + g->lost;
	}
	if (!id)
		return;
	gt_detail(t, "session %" PRIu64 "\n", id);
	if (here)
		gt_detail(t, "session_elsewhere %" PRIu64 "\n",
			  max - min + 1 > here ? max - min + 1 - here : 0);
}

/* grtrace's own level may leave events out. */
static void left_out(struct gt_details *t, const struct gr *gr)
{
	char text[64];

	gr_read(gr->dir, "level", text, sizeof(text));
	if (!strcmp(text, "off") || !strcmp(text, "stats"))
		gt_detail(t, "left_out_by_grtrace level is %s: it writes no events\n", text);
}

/* What is not hooked, and why: a driver that is not the one that grtrace was built for */
static void refused(struct gt_details *t, const struct gr *gr)
{
	char text[GR_TRACEPOINTS];
	const char *at = text;
	struct gr_refused r;

	gr_read_lines(gr->dir, "tracepoints", text, sizeof(text));
	while (gr_refused_next(&at, &r))
		gt_detail(t, "%s %s of %s: %s%s\n",
			  r.unverified ? "tracepoint_unverified" : "tracepoint_refused",
			  r.tracepoint, r.module, r.why,
			  r.unverified
				  ? "; grtrace's parameter hook_unverified=1 hooks it all the same"
				  : "");
}

static void grtrace(struct gt_details *t, const struct gr *gr)
{
	char text[64];

	gr_read(gr->dir, "buffer_size", text, sizeof(text));
	if (*text)
		gt_detail(t, "buffer_granted %.20s\n", text);
	gr_read(gr->dir, "buffer_mode", text, sizeof(text));
	if (*text)
		gt_detail(t, "buffer_mode %.20s\n", text);
	gt_detail(t, "tracing %s\n", gr->started ? "started-here" : "not-started-here");
	left_out(t, gr);
}

void gr_doctor(struct gt_plugin *p, char *buf, size_t len)
{
	struct gt_details t = { buf, len };
	struct gr *gr = p->priv;

	if (!len)
		return;
	*buf = '\0';
	if (!gr)
		return;
	if (*gr->dir)
		refused(&t, gr);
	if (gr->reported_by[0]) {
		gt_detail(&t, "tracepoints_reported_by %s: grtrace's files are left alone\n",
			  gr->reported_by);
		return;
	}
	gt_detail(&t, "folder %.300s\n", *gr->dir ? gr->dir : "none");
	gt_detail(&t, "files %u\nclock mono\nclock_offset_ns 0\nclock_uncertainty_ns 0\n", gr->n);
	gt_detail(&t, "clock_measured by_definition\n");
	if (!*gr->dir)
		return;
	gr_readers(gr, false);
	gt_detail(&t, "other_readers %u\n", gr->readers);
	grtrace(&t, gr);
	session(&t, gr);
	counters(&t, gr);
}
