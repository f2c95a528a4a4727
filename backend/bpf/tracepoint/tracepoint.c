/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tracepoints that the event maps name, seen by a BPF program. Only one backend may: gt_host.claim.
 * Where BPF works it is this one, as it knows who did what without asking later.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <syslog.h>

#include "internal.h"

/*
 * Above ftrace's, but where events may be missed that the kernel does not count (before Linux 6.7,
 * see may_miss()): there ftrace reports, where both can.
 */
#define RANK	       2
#define RANK_UNCOUNTED 0

static int probe(struct gb *b, char *err, size_t len)
{
	const struct gb_options *o = b->p->options;
	int ret;

	if (!o->tracepoints)
		return gb_sentence(err, len, ECANCELED, "the setting tracepoints is 0");
	ret = gb_tracefs(b, NULL, err, len);
	return ret ? ret : gt_live_check(b->p, err, len);
}

static void shadow_push(struct gt_plugin *p, const union gt_record *r, size_t n)
{
	struct gb *b = ((struct tp_shadow *)p)->b;
	union gt_record named;

	for (size_t i = 0; i < n; i++) {
		named = r[i];
		/* Names emitted while the maps are loaded have no event's time. */
		if (!named.ev.ts)
			named.ev.ts = b->ring.last ? b->ring.last : b->p->host->now(b->p);
		gb_out(b, &named);
	}
}

static uint16_t shadow_gpu(struct gt_plugin *p, const struct gt_gpu_desc *desc)
{
	struct gb *b = ((struct tp_shadow *)p)->b;
	const struct tp_state *t = b->priv[GT_BPF_TRACEPOINT];

	/* the kernel's thread ids are not those of our /proc */
	if (desc->pid && gt_tasks_foreign(t->tasks))
		return GT_NONE16;
	return b->p->host->gpu(b->p, desc);
}

static uint16_t shadow_ring(struct gt_plugin *p, uint16_t gpu, const char *name, enum gt_engine e)
{
	struct gt_plugin *real = ((struct tp_shadow *)p)->b->p;

	return real->host->ring(real, gpu, name, e);
}

static void stop(struct gb *b)
{
	struct tp_state *t = b->priv[GT_BPF_TRACEPOINT];

	b->priv[GT_BPF_TRACEPOINT] = NULL;
	if (!t)
		return;
	tp_detach_all(t);
	tp_template_free(t);
	b->due = 0;
	gt_tasks_free(t->tasks);
	gt_eventmap_free(t->map);
	free(t);
}

static int load_maps(struct tp_state *t, char *err, size_t len)
{
	struct tp_shadow *s = &t->shadow;

	s->b = t->b;
	s->p = *t->b->p;
	s->host = (struct gt_host){ .push = shadow_push, .gpu = shadow_gpu, .ring = shadow_ring };
	s->p.host = &s->host;
	t->map = gt_eventmap_load(&s->p, s->p.events_dir, t->map_error, sizeof(t->map_error));
	if (!t->map)
		return gb_sentence(err, len, EINVAL, "%s", t->map_error);
	if (t->map_error[0])
		t->b->p->host->log(t->b->p, LOG_WARNING, "%s", t->map_error);
	return 0;
}

/* Can events come in interrupts, while a program of a record runs that keeps theirs from running? */
static bool may_miss(const struct tp_state *t)
{
	for (unsigned int i = 0; i < t->n; i++) {
		const struct tp_slot *s = &t->slot[i];

		if ((s->how == TP_RAW || s->how == TP_MADE) && tp_in_interrupts(s))
			return true;
	}
	return false;
}

/* Asks for the tracepoints, and takes them. Where none can be had others may try. */
static int take(struct tp_state *t, char *err, size_t len)
{
	struct gb *b = t->b;
	const char *by =
		b->p->host->claim ? b->p->host->claim(b->p, GT_CLAIM_TRACEPOINTS, t->rank) : NULL;
	int n;

	t->gap = by && !t->reported_by[0] && t->attached;
	snprintf(t->reported_by, sizeof(t->reported_by), "%s", by ? by : "");
	n = tp_select(t);
	if (t->gap)
		gt_live_report_handover(b->p);
	if (n || t->reported_by[0]) {
		if (t->uncounted && t->rank == RANK && may_miss(t)) {
			tp_detach_all(t); /* before another begins */
			t->rank = RANK_UNCOUNTED;
			return take(t, err, len);
		}
		return 0;
	}
	snprintf(err, len, "%s",
		 t->bind_error[0] ? t->bind_error
				  : "of the tracepoints that there are none is for this level");
	if (b->p->host->claim)
		b->p->host->claim(b->p, GT_CLAIM_TRACEPOINTS, -1);
	return -ENOENT;
}

static int begin(struct tp_state *t, char *err, size_t len)
{
	int ret = load_maps(t, err, len);

	if (!ret)
		ret = tp_template_load(t, err, len);
	return ret ? ret : take(t, err, len);
}

static int start(struct gb *b, char *err, size_t len)
{
	struct tp_state *t = calloc(1, sizeof(*t));
	int ret;

	if (!t)
		return gb_sentence(err, len, ENOMEM, "no memory");
	b->priv[GT_BPF_TRACEPOINT] = t;
	t->b = b;
	t->uncounted = gb_kernel_before(6, 7);
	t->preemptible = !gb_kernel_before(7, 0);
	t->rank = RANK;
	t->tick = 1000000000ull / (uint64_t)sysconf(_SC_CLK_TCK);
	/* a record has its process, and nobody records threads for the kernel's lists */
	t->tasks = gt_tasks_new(NULL);
	ret = t->tasks ? begin(t, err, len) : gb_sentence(err, len, ENOMEM, "no memory");
	if (ret)
		stop(b);
	return ret;
}

/* What came is reported in the way that it was chosen for. */
static int look(struct gb *b, char *err, size_t len)
{
	struct tp_state *t = b->priv[GT_BPF_TRACEPOINT];
	int ret;

	gt_eventmap_refresh(t->map, gt_tracepoint_exists, (void *)(uintptr_t)b->p->tracefs);
	if (gb_said(&b->ring.wake->paused))
		tp_forget_skipped(t);
	gb_ring_drain_all(b);
	ret = take(t, err, len);
	if (ret)
		stop(b);
	return ret;
}

static void emit_slot(const struct tp_slot *s, struct gt_details *out)
{
	const char *system = gt_tp_system(s->tp), *event = gt_tp_event(s->tp);
	bool by_args = s->how == TP_ARGS || s->how == TP_MADE_ARGS;

	if (!s->how)
		return;
	gt_detail(out, "tracepoint %s/%s%s%s%s\n", system, event, by_args ? " by_arguments" : "",
		  by_args && s->noargs[0] ? ", without " : "", by_args ? s->noargs : "");
	if (s->noargs[0] && !by_args)
		gt_detail(out, "arguments_unavailable %s/%s: %s\n", system, event, s->noargs);
}

static void doctor(struct gb *b, struct gt_details *out)
{
	struct tp_state *t = b->priv[GT_BPF_TRACEPOINT];
	struct gt_bpf_count c;
	const struct gt_eventmap_stats *m = gt_eventmap_stats(t->map);
	bool counted = gb_ring_counts(b, GT_BPF_TRACEPOINT, &c);
	char reported[500];
	uint64_t skipped;

	gt_detail(out, "tracepoints %u\n", t->attached);
	if (t->reported_by[0])
		gt_detail(out, "tracepoints_reported_by %s\n", t->reported_by);
	gt_detail(out, "ignored %" PRIu64 "\n", m->ignored + (counted ? c.other : 0));
	gt_detail(out, "unmatched %" PRIu64 "\n", m->unmatched);
	gt_detail(out, "malformed %" PRIu64 "\n", m->malformed);
	gt_detail(out, "jobs_forgotten %" PRIu64 "\n", m->forgotten);
	gt_detail(out, "events_unknown %" PRIu64 "\n", t->unknown);
	if (t->uncounted && may_miss(t))
		gt_detail(out, "events_missed unknown: before Linux 6.7 the kernel does not count "
			       "what it keeps from a program while another runs\n");
	else
		gt_detail(out, "events_missed %" PRIu64 "\n", t->missed);
	if (tp_skipped(t, &skipped))
		gt_detail(out, "events_skipped %" PRIu64 "\n", skipped);
	if (gt_tasks_foreign(t->tasks))
		gt_detail(out,
			  "pids unknown: the kernel reports pids of the first PID namespace, and "
			  "this is another\n");
	if (t->map_error[0])
		gt_detail(out, "event_map_error %s\n", t->map_error);
	for (unsigned int i = 0; i < t->n; i++)
		if (t->slot[i].error[0])
			gt_detail(out, "tracepoint_error %s\n", t->slot[i].error);
	if (t->nowhere)
		gt_detail(out, "tracepoint_error %u more than there is room for are left out\n",
			  t->nowhere);
	if (t->attached)
		gt_detail(out,
			  "modules_pinned those of the tracepoints below: while they are attached "
			  "to, a driver cannot be unloaded; `echo off > config/level` lets go\n");
	for (unsigned int i = 0; i < t->n; i++)
		if (tp_standins_emit(t, &t->slot[i], reported, sizeof(reported)))
			gt_detail(out, "%s\n", reported);
	for (unsigned int i = 0; i < t->n; i++)
		emit_slot(&t->slot[i], out);
}

const struct gb_part gb_tracepoint = {
	.name = "tracepoint",
	.shows = true,
	.parks = true,
	.probe = probe,
	.start = start,
	.stop = stop,
	.raw = tp_raw,
	.round = tp_round,
	.look = look,
	.doctor = doctor,
};
