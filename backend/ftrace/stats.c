/* SPDX-License-Identifier: GPL-2.0 */
/* What doctor and backends/ftrace/stats say. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "probes.h"

struct text {
	char *p;
	size_t left;
};

static void __attribute__((format(printf, 2, 3))) line(struct text *t, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(t->p, t->left, fmt, ap);
	va_end(ap);
	if (n < 0 || (size_t)n >= t->left) {
		/* A line that does not fit is left out whole. */
		*t->p = '\0';
		return;
	}
	t->p += n;
	t->left -= (size_t)n;
}

static void buffers(struct text *t, const struct ft *ft)
{
	line(t, "buffer_asked %" PRId64 "\n", ft->buffer.asked);
	line(t, "buffer_cap %" PRId64 "\n", ft->buffer.cap);
	line(t, "buffer_granted %" PRId64 "\n", ft->buffer.granted);
	line(t, "buffer_total %" PRId64 "\n", ft->buffer.total);
	line(t, "subbuffer_size %u\n", ft->format.size);
}

static void counters(struct text *t, const struct ft *ft)
{
	const struct gt_eventmap_stats *m = gt_eventmap_stats(ft->map);

	line(t, "events %" PRIu64 "\n", ft->stats.events);
	line(t, "records %" PRIu64 "\n", ft->stats.records);
	/* Losses whose number the page had no room for are taken from per_cpu/cpuN/stats. */
	line(t, "lost %" PRIu64 "\n", ft->stats.lost);
	line(t, "lost_marks_without_count %" PRIu64 "\n", ft->stats.guessed);
	line(t, "late %" PRIu64 "\n", ft->stats.late);
	line(t, "events_unknown %" PRIu64 "\n", ft->stats.unknown);
	line(t, "pages_malformed %" PRIu64 "\n", ft->stats.malformed);
	line(t, "pages_restamped %" PRIu64 "\n", ft->stats.restamped);
	line(t, "drains %" PRIu64 "\n", ft->stats.drains);
	line(t, "drains_full %" PRIu64 "\n", ft->stats.full);
	line(t, "ignored %" PRIu64 "\n", m->ignored);
	line(t, "unmatched %" PRIu64 "\n", m->unmatched);
	line(t, "malformed %" PRIu64 "\n", m->malformed);
	line(t, "forgotten %" PRIu64 "\n", m->forgotten);
}

static void functions(struct text *t, const struct ft *ft)
{
	const struct ft_functions *fn = &ft->functions;
	char word[FT_WORD_NAME + FT_WORD_MODULE + 8];
	long matched = fn->matched;

	if (fn->calls) {
		line(t, "function_calls %" PRIu64 "\n", fn->calls);
		line(t, "function_calls_unknown %" PRIu64 "\n", fn->unknown);
		line(t, "function_calls_unnamed %" PRIu64 "\n", fn->unnamed);
	}
	if (!fn->filter)
		return;
	line(t, "functions_filter %.400s\n", ft->o->functions);
	if (matched >= 0)
		line(t, "functions_traced %ld\n", matched);
	if (fn->syms && fn->syms->cut)
		line(t, "functions_named %zu, the others' calls are unknown\n", fn->syms->n);
	for (unsigned int i = 0; i < fn->filter->n; i++) {
		if (!ft_functions_pending(&fn->filter->word[i]))
			continue;
		ft_filter_print(&fn->filter->word[i], word, sizeof(word));
		line(t, "functions_pending %s: module %s is not loaded\n", word,
		     fn->filter->word[i].module);
	}
}

void ft_doctor(struct gt_plugin *p, char *buf, size_t len)
{
	struct text t = { buf, len };
	struct ft *ft = p->priv;
	char told[500];

	if (!len)
		return;
	*buf = '\0';
	if (!ft)
		return;
	ft_functions_rescan(ft);
	line(&t, "instance %s\nclock mono\nclock_offset_ns 0\nclock_uncertainty_ns 0\n"
	     "clock_measured trace_clock of the instance is CLOCK_MONOTONIC\ncpus %u\n", ft->dir, ft->ncpus);
	buffers(&t, ft);
	counters(&t, ft);
	functions(&t, ft);
	line(&t, "tracepoints %u\n", ft->nenabled);
	if (ft->told_by[0])
		line(&t, "tracepoints_told_by %s, which is better at it here\n", ft->told_by);
	if (ft->queues_by[0])
		line(&t, "kfd_queues_told_by %s, as programs ask for them: the functions are calls\n",
		     ft->queues_by);
	if (gt_tasks_foreign(ft->tasks))
		line(&t,
		     "pids unknown: not in the first PID namespace, whose pids the trace has\n");
	if (ft->map_error[0])
		line(&t, "event_map_error %s\n", ft->map_error);
	if (ft->bind_error[0])
		line(&t, "tracepoint_error %s\n", ft->bind_error);
	for (unsigned int i = 0; ft_standins_tell(ft, i, told, sizeof(told)); i++)
		line(&t, "%s\n", told);
	for (unsigned int i = 0; i < ft->nenabled; i++)
		line(&t, "tracepoint %s\n", ft->enabled[i]);
}
