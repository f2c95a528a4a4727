/* SPDX-License-Identifier: GPL-2.0 */
/* What doctor and backends/ftrace/stats say. */
#include <inttypes.h>

#include "../lib/detail.h"
#include "probes.h"

static void buffers(struct gt_details *t, const struct ft *ft)
{
	gt_detail(t, "buffer_asked %" PRId64 "\n", ft->buffer.asked);
	gt_detail(t, "buffer_cap %" PRId64 "\n", ft->buffer.cap);
	gt_detail(t, "buffer_granted %" PRId64 "\n", ft->buffer.granted);
	gt_detail(t, "buffer_total %" PRId64 "\n", ft->buffer.total);
	gt_detail(t, "subbuffer_size %u\n", ft->format.size);
}

static void counters(struct gt_details *t, const struct ft *ft)
{
	const struct gt_eventmap_stats *m = gt_eventmap_stats(ft->map);

	gt_detail(t, "events %" PRIu64 "\n", ft->stats.events);
	gt_detail(t, "records %" PRIu64 "\n", ft->stats.records);
	/* Losses without room for their number in the page are taken from per_cpu/cpuN/stats. */
	gt_detail(t, "lost %" PRIu64 "\n", ft->stats.lost);
	gt_detail(t, "lost_not_in_buffer %" PRIu64 "\n", ft->stats.dropped);
	gt_detail(t, "lost_marks_without_count %" PRIu64 "\n", ft->stats.guessed);
	gt_detail(t, "records_out_of_order %" PRIu64 "\n", ft->stats.late);
	gt_detail(t, "events_unknown %" PRIu64 "\n", ft->stats.unknown);
	gt_detail(t, "pages_malformed %" PRIu64 "\n", ft->stats.malformed);
	gt_detail(t, "pages_time_corrected %" PRIu64 "\n", ft->stats.restamped);
	gt_detail(t, "drains %" PRIu64 "\n", ft->stats.drains);
	gt_detail(t, "drains_full %" PRIu64 "\n", ft->stats.full);
	gt_detail(t, "ignored %" PRIu64 "\n", m->ignored);
	gt_detail(t, "unmatched %" PRIu64 "\n", m->unmatched);
	gt_detail(t, "malformed %" PRIu64 "\n", m->malformed);
	gt_detail(t, "jobs_forgotten %" PRIu64 "\n", m->forgotten);
}

static void functions(struct gt_details *t, const struct ft *ft)
{
	const struct ft_functions *fn = &ft->functions;
	char word[FT_WORD_NAME + FT_WORD_MODULE + 8];
	long matched = fn->matched;

	if (fn->calls) {
		gt_detail(t, "function_calls %" PRIu64 "\n", fn->calls);
		gt_detail(t, "function_calls_unknown %" PRIu64 "\n", fn->unknown);
		gt_detail(t, "function_calls_unnamed %" PRIu64 "\n", fn->unnamed);
	}
	if (!fn->filter)
		return;
	gt_detail(t, "functions_filter %.400s\n", ft->o->functions);
	if (matched >= 0)
		gt_detail(t, "functions_traced %ld\n", matched);
	if (fn->syms && fn->syms->cut)
		gt_detail(t, "functions_named %zu, the others' calls are unknown\n", fn->syms->n);
	for (unsigned int i = 0; i < fn->filter->n; i++) {
		if (!ft_functions_pending(&fn->filter->word[i]))
			continue;
		ft_filter_print(&fn->filter->word[i], word, sizeof(word));
		gt_detail(t, "functions_pending %s: module %s is not loaded\n", word,
			  fn->filter->word[i].module);
	}
}

void ft_doctor(struct gt_plugin *p, char *buf, size_t len)
{
	struct gt_details t = { buf, len };
	struct ft *ft = p->priv;
	char reported[500];

	if (!len)
		return;
	*buf = '\0';
	if (!ft)
		return;
	ft_functions_rescan(ft);
	gt_detail(&t,
		  "instance %s\nclock mono\nclock_offset_ns 0\nclock_uncertainty_ns 0\n"
		  "clock_measured trace_clock\ncpus %u\n",
		  ft->dir, ft->ncpus);
	buffers(&t, ft);
	counters(&t, ft);
	functions(&t, ft);
	gt_detail(&t, "tracepoints %u\n", ft->nenabled);
	if (ft->reported_by[0])
		gt_detail(&t, "tracepoints_reported_by %s, which is better at it here\n",
			  ft->reported_by);
	if (ft->queues_by[0])
		gt_detail(&t,
			  "kfd_queues_reported_by %s, as programs ask for them: the functions are "
			  "calls\n",
			  ft->queues_by);
	if (gt_tasks_foreign(ft->tasks))
		gt_detail(&t, "pids unknown: the trace has pids of the first PID namespace, and "
			      "this is another\n");
	if (ft->map_error[0])
		gt_detail(&t, "event_map_error %s\n", ft->map_error);
	if (ft->bind_error[0])
		gt_detail(&t, "tracepoint_error %s\n", ft->bind_error);
	for (unsigned int i = 0; ft_standins_emit(ft, i, reported, sizeof(reported)); i++)
		gt_detail(&t, "%s\n", reported);
	for (unsigned int i = 0; i < ft->nenabled; i++)
		gt_detail(&t, "tracepoint %s\n", ft->enabled[i]);
}
