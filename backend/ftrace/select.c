/* SPDX-License-Identifier: GPL-2.0 */
/* Which tracepoints are on: those that the event maps want and this kernel has. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <syslog.h>

#include "ftrace.h"

/* "	field:int common_pid;	offset:4;	size:4;	signed:1;" -> 4 */
static uint32_t pid_offset(const char *format)
{
	const char *at = strstr(format, " common_pid;");
	unsigned int off = 4;

	at = at ? strstr(at, "offset:") : NULL;
	return at && sscanf(at, "offset:%u", &off) == 1 && off < 64 ? off : 4;
}

/* Binds @tp to this kernel's format: its number, or -1. */
static int bind(struct ft *ft, struct gt_tp *tp, const char *name)
{
	ft_auto_free char *format = NULL;
	char file[PATH_MAX], err[200] = "";
	size_t len = 0;
	int id = -1;

	snprintf(file, sizeof(file), "events/%s/format", name);
	format = gt_live_read(ft->dir, file, &len);
	if (!format || gt_tp_bind(tp, format, len, &id, err, sizeof(err)) || id < 0 ||
	    id >= FT_MAX_ID) {
		snprintf(ft->bind_error, sizeof(ft->bind_error), "%.60s: %.180s", name,
			 err[0] ? err : "its format cannot be read");
		ft->p->host->log(ft->p, LOG_WARNING, "%s", ft->bind_error);
		return -1;
	}
	ft->pid_off = pid_offset(format);
	return id;
}

static int enable(struct ft *ft, const char *name, bool on)
{
	char file[PATH_MAX];

	snprintf(file, sizeof(file), "events/%s/enable", name);
	return ft_write(ft->p, ft->dir, file, on ? "1" : "0");
}

/* "system/event" of what reports @tp here, malloc()ed; NULL if nothing does, or there is no memory.
 */
static char *name_of(struct ft *ft, struct gt_tp *tp)
{
	const char *group = ft_standins_group(ft, tp);
	char *name;

	if (!group)
		group = gt_tp_system(tp);
	if (!gt_tracepoint_exists(ft->dir, group, gt_tp_event(tp)) ||
	    asprintf(&name, "%s/%s", group, gt_tp_event(tp)) < 0)
		return NULL;
	return name;
}

static bool listed(char *const *list, unsigned int n, const char *name)
{
	for (unsigned int i = 0; i < n; i++)
		if (!strcmp(list[i], name))
			return true;
	return false;
}

static void free_list(char **list, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		free(list[i]);
	free(list);
}

void ft_select_free(struct ft *ft)
{
	free_list(ft->enabled, ft->nenabled);
	free(ft->by_id);
}

static bool ends_jobs(const struct gt_tp *tp)
{
	return gt_tp_types(tp) & (GT_BIT(GT_COMPLETE) | GT_BIT(GT_END));
}

/* The tracepoints in use that there are and that can be bound, into @tps and @names. */
static unsigned int find_all(struct ft *ft, struct gt_tp **tps, char **names, unsigned int max)
{
	unsigned int n = 0;
	struct gt_tp *tp;
	int id;

	memset(ft->by_id, 0, FT_MAX_ID * sizeof(struct gt_tp *));
	/* The ends of jobs before their beginnings: who is seen to begin is seen to end. */
	for (unsigned int i = 0; i < 2 * max; i++) {
		char *name;

		tp = gt_eventmap_each(ft->map, i % max);
		if (ends_jobs(tp) != (i < max))
			continue;
		name = name_of(ft, tp);
		id = name ? bind(ft, tp, name) : -1;
		if (id < 0) {
			free(name);
			continue;
		}
		/* Known before it is on, or its first events would be no one's. */
		ft->by_id[id] = tp;
		tps[n] = tp;
		names[n++] = name;
	}
	return n;
}

/* Enables those of @names; what cannot be leaves the list. True: another way is to be tried. */
static bool enable_all(struct ft *ft, struct gt_tp **tps, char **names, unsigned int *n)
{
	unsigned int kept = 0;
	bool again = false;

	for (unsigned int i = 0; i < *n; i++) {
		int ret = enable(ft, names[i], true);

		if (!ret) {
			names[kept++] = names[i];
			continue;
		}
		snprintf(ft->bind_error, sizeof(ft->bind_error), "%.100s cannot be enabled: %s",
			 names[i], strerror(-ret));
		again |= ft_standins_refuse(ft, tps[i], ft->bind_error);
		free(names[i]);
	}
	*n = kept;
	return again;
}

/* Returns 1 if it is to be done again, as one of our events turned out to be of no use. */
static int select_once(struct ft *ft)
{
	ft_auto_free struct gt_tp **tps = NULL;
	unsigned int n, count = 0;
	char **names;
	bool again;

	gt_eventmap_select(ft->map, gt_tracepoint_exists, ft->dir, (int)ft->o->level);
	if (ft_standins_update(ft))
		return -ENOMEM;
	gt_eventmap_select(ft->map, gt_tracepoint_exists, ft->dir, (int)ft->o->level);
	while (!ft->reported_by[0] && gt_eventmap_each(ft->map, count))
		count++;
	names = calloc(count + 1, sizeof(*names));
	tps = calloc(count + 1, sizeof(*tps));
	if (!names || !tps) {
		free(names);
		return -ENOMEM;
	}
	n = find_all(ft, tps, names, count);
	/* First of all these, or a job could be reported in two ways. */
	for (unsigned int i = 0; i < ft->nenabled; i++)
		if (!listed(names, n, ft->enabled[i]))
			enable(ft, ft->enabled[i], false);
	again = enable_all(ft, tps, names, &n);
	free_list(ft->enabled, ft->nenabled);
	ft->enabled = names;
	ft->nenabled = n;
	return again;
}

static void yield(const struct gt_host *host, struct gt_plugin *p, const char *what, char by[32])
{
	const char *who = host->claim ? host->claim(p, what, 1) : NULL;

	snprintf(by, 32, "%s", who ? who : "");
}

int ft_select(struct ft *ft)
{
	bool reported = !ft->reported_by[0] && ft->nenabled;
	int ret;

	ft->bind_error[0] = '\0';
	/* Another backend may be better at these; functions are reported here all the same. */
	yield(ft->p->host, ft->p, GT_CLAIM_TRACEPOINTS, ft->reported_by);
	if (reported && ft->reported_by[0])
		gt_live_report_handover(ft->p);
	yield(ft->p->host, ft->p, GT_CLAIM_KFD_QUEUES, ft->queues_by);
	ft_standins_retry(ft);
	do
		ret = select_once(ft);
	while (ret > 0);
	ft_standins_trim(ft, false);
	return ret ? ret : (int)ft->nenabled;
}
