/* SPDX-License-Identifier: GPL-2.0 */
/* Which tracepoints are on: those that the event maps want and this kernel has. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <syslog.h>

#include "internal.h"

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
	format = ft_read(ft->dir, file, &len);
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
	return ft_write(ft->dir, file, on ? "1" : "0");
}

/* Takes @tp into use if the kernel has it; "system/event" in *@name then, else NULL. */
static int use(struct ft *ft, struct gt_tp *tp, char **name)
{
	ft_auto_free char *full = NULL;
	int id, ret;

	*name = NULL;
	if (!ft_present((void *)(uintptr_t)ft->dir, gt_tp_system(tp), gt_tp_event(tp)))
		return 0;
	if (asprintf(&full, "%s/%s", gt_tp_system(tp), gt_tp_event(tp)) < 0) {
		full = NULL;
		return -ENOMEM;
	}
	id = bind(ft, tp, full);
	if (id < 0)
		return 0;
	/* Known before it is on, or its first events would be no one's. */
	ft->by_id[id] = tp;
	ret = enable(ft, full, true);
	if (ret) {
		snprintf(ft->bind_error, sizeof(ft->bind_error), "%.100s cannot be enabled: %s",
			 full, strerror(-ret));
		return 0;
	}
	*name = full;
	full = NULL;
	return 0;
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

int ft_select(struct ft *ft)
{
	char **old = ft->enabled, **now, *name;
	unsigned int n = 0, nold = ft->nenabled, count = 0;
	struct gt_tp *tp;

	gt_eventmap_select(ft->map, ft_present, ft->dir, (int)ft->o->level);
	while (gt_eventmap_each(ft->map, count))
		count++;
	now = calloc(count + 1, sizeof(*now));
	if (!now)
		return -ENOMEM;
	ft->bind_error[0] = '\0';
	memset(ft->by_id, 0, FT_MAX_ID * sizeof(struct gt_tp *));
	for (unsigned int i = 0; (tp = gt_eventmap_each(ft->map, i)) && i < count; i++)
		if (!use(ft, tp, &name) && name)
			now[n++] = name;
	for (unsigned int i = 0; i < nold; i++)
		if (!listed(now, n, old[i]))
			enable(ft, old[i], false);
	free_list(old, nold);
	ft->enabled = now;
	ft->nenabled = n;
	return (int)n;
}
