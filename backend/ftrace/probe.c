/* SPDX-License-Identifier: GPL-2.0 */
/* Can the backend work here? If not: what exactly is in the way, and what to do about it. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "internal.h"

static bool locked_down(void)
{
	ft_auto_free char *text = gt_live_read("/sys/kernel/security", "lockdown", NULL);

	return text && strstr(text, "[confidentiality]");
}

/* Why tracefs cannot be used, after @err of trying. */
static int refused(struct gt_plugin *p, int err, const char *path)
{
	if (locked_down())
		return p->host->error(p, EPERM,
				      "the kernel is locked down (confidentiality), which forbids "
				      "tracing; boot with lockdown=integrity, or Secure Boot off");
	if (err == EACCES || err == EPERM)
		return p->host->error(p, err,
				      "%s may not be used by uid %u; mount as root, or with "
				      "CAP_DAC_OVERRIDE",
				      path, (unsigned int)geteuid());
	return p->host->error(p, err, "%s: %s; this kernel may lack CONFIG_TRACING", path,
			      strerror(err));
}

/* Faults that need no kernel to be found */
static int check_options(struct gt_plugin *p)
{
	const struct ft_options *o = p->options;
	ft_auto_free struct ft_filter *f = NULL;
	char err[400] = "";
	int ret = o->functions ? ft_filter_parse(o->functions, &f, err, sizeof(err)) : 0;

	return ret ? p->host->error(p, -ret, "%s", err) : 0;
}

int ft_probe(struct gt_plugin *p)
{
	static const char *const files[] = { "events/header_page", "trace_clock" };
	char path[PATH_MAX], err[600];
	int ret = check_options(p);

	if (ret)
		return ret;
	if (!p->tracefs)
		return p->host->error(p, ENOENT,
				      "tracefs is not mounted: mount -t tracefs nodev "
				      "/sys/kernel/tracing");
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		ft_auto_close int fd = -1;

		snprintf(path, sizeof(path), "%s/%s", p->tracefs, files[i]);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			return refused(p, errno, path);
	}
	snprintf(path, sizeof(path), "%s/instances", p->tracefs);
	if (gt_live_access(path, W_OK | X_OK))
		return refused(p, errno, path);
	ret = gt_live_check(p, err, sizeof(err));
	return ret ? p->host->error(p, -ret, "%s", err) : 0;
}
