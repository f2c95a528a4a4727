/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Dynamic events of the kernel, one at a time: tracefs' dynamic_events, Linux
 * Documentation/trace/kprobetrace.rst and eprobetrace.rst. The file is everyone's: it is opened for
 * appending only, as O_TRUNC removes all events there are.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <syslog.h>

#include "probes.h"

static int command(const char *tracefs, const char *text)
{
	ft_auto_close int fd = -1;
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%s/dynamic_events", tracefs) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	return write(fd, text, strlen(text)) < 0 ? -errno : 0;
}

static bool file_has(const char *dir, const char *file, const char *text)
{
	ft_auto_free char *all = gt_live_read(dir, file, NULL);

	return all && strstr(all, text);
}

/* Is there a line "… NAME	[MODULE]" in /proc/kallsyms? */
static bool function_exists(const struct gt_probe *b)
{
	char want[160], line[600];
	FILE *f = fopen("/proc/kallsyms", "re");
	bool found = false;

	snprintf(want, sizeof(want), b->scope[0] ? " %s\t[%s]\n" : " %s\n%s", b->name, b->scope);
	while (f && !found && fgets(line, sizeof(line), f)) {
		const char *at = strchr(line, ' ');

		at = at ? strchr(at + 1, ' ') : NULL;
		found = at && !strcmp(at, want);
	}
	if (f)
		fclose(f);
	return found;
}

/* Why the kernel refused, with @ret of trying. */
static void explain(const char *tracefs, const struct gt_probe *b, int ret, char *err, size_t len)
{
	char module[100];

	snprintf(module, sizeof(module), "/sys/module/%s", b->scope);
	if (ret == -EPERM && file_has("/sys/kernel/security", "lockdown", "[confidentiality]"))
		snprintf(err, len, "the kernel is locked down (confidentiality)");
	else if (ret == -ENOENT && !file_has(tracefs, "README", "dynamic_events"))
		snprintf(err, len, "the kernel has no dynamic_events (CONFIG_DYNAMIC_EVENTS)");
	else if (!b->function && !file_has(tracefs, "README", "<attached-event>"))
		snprintf(err, len,
			 "the kernel has no event probes (Linux 5.15, CONFIG_PROBE_EVENTS)");
	else if (b->function && !file_has(tracefs, "README", "kprobe_events"))
		snprintf(err, len, "the kernel has no kprobes (CONFIG_KPROBE_EVENTS)");
	else if (b->function && b->scope[0] && access(module, F_OK))
		snprintf(err, len, "module %s is not loaded", b->scope);
	else if (b->function && !function_exists(b))
		snprintf(err, len, "the kernel has no function %s to stop at", b->name);
	else
		snprintf(err, len, "refused (%s), see %s/error_log", strerror(-ret), tracefs);
}

int ft_dynamic_make(const char *tracefs, const char *group, const char *name,
		    const struct gt_probe *b, const char *args, char *err, size_t len)
{
	char text[4096]; /* the kernel takes no longer one */
	int n, ret;

	n = snprintf(text, sizeof(text), "%c:%s/%s %s%s%s%s\n", b->function ? 'p' : 'e', group,
		     name, b->scope,
		     !b->scope[0]  ? ""
		     : b->function ? ":"
				   : ".",
		     b->name, args);
	ret = n < (int)sizeof(text) ? command(tracefs, text) : -E2BIG;
	if (ret)
		explain(tracefs, b, ret, err, len);
	return ret;
}

int ft_dynamic_remove(const char *tracefs, const char *group, const char *name)
{
	char text[160];

	if (snprintf(text, sizeof(text), "-:%s/%s\n", group, name) >= (int)sizeof(text))
		return -E2BIG;
	return command(tracefs, text);
}

/* "e:GROUP/NAME …", "p:GROUP/NAME …": removed if its group is a dead gputrace's. */
static bool clean_line(struct gt_plugin *p, const char *line)
{
	char group[64], name[64];

	if (sscanf(line, "%*1[pe]:%63[^/ \n]/%63[^ \n]", group, name) != 2)
		return false;
	return ft_is_stale(group, FT_GROUP_PREFIX) && !ft_dynamic_remove(p->tracefs, group, name);
}

void ft_dynamic_clean(struct gt_plugin *p)
{
	ft_auto_free char *list = gt_live_read(p->tracefs, "dynamic_events", NULL);
	unsigned int n = 0;

	for (char *line = list, *next; line && *line; line = next) {
		next = line + strcspn(line, "\n");
		next += *next == '\n';
		n += clean_line(p, line);
	}
	if (n)
		p->host->log(p, LOG_NOTICE,
			     "removed %u dynamic events, left by a gputrace that is gone", n);
}
