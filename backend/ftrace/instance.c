/* SPDX-License-Identifier: GPL-2.0 */
/* Our own instance of tracefs: instances/gputrace-<pid>. The top-level buffer is never touched. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <syslog.h>

#include "probes.h"

int ft_write(const char *dir, const char *file, const char *text)
{
	ft_auto_close int fd = -1;
	char path[PATH_MAX];
	ssize_t n;

	if (snprintf(path, sizeof(path), "%s/%s", dir, file) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	n = write(fd, text, strlen(text));
	return n < 0 ? -errno : 0;
}

/* A process that was killed may stay a zombie: in a container whose first process does not reap. */
static bool is_alive(pid_t pid)
{
	ft_auto_free char *stat = NULL;
	char dir[32], *state;

	if (kill(pid, 0) && errno == ESRCH)
		return false;
	snprintf(dir, sizeof(dir), "/proc/%d", (int)pid);
	stat = gt_live_read(dir, "stat", NULL);
	state = stat ? strrchr(stat, ')') : NULL;
	return !state || (strncmp(state, ") Z", 3) && strncmp(state, ") X", 3));
}

bool ft_is_stale(const char *name, const char *prefix)
{
	const char *p = name + strlen(prefix);
	char *end;
	long pid;

	if (strncmp(name, prefix, strlen(prefix)) || !isdigit((unsigned char)*p))
		return false;
	pid = strtol(p, &end, 10);
	if (*end || pid <= 0 || pid > INT_MAX)
		return false;
	return pid == getpid() || !is_alive((pid_t)pid);
}

static void remove_stale(struct gt_plugin *p)
{
	char path[PATH_MAX];
	struct dirent *d;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/instances", p->tracefs);
	dir = opendir(path);
	while (dir && (d = readdir(dir))) {
		/* One that is in use cannot be removed anyway: its owner has files of it open. */
		if (!ft_is_stale(d->d_name, FT_INSTANCE_PREFIX))
			continue;
		snprintf(path, sizeof(path), "%s/instances/%s", p->tracefs, d->d_name);
		if (!rmdir(path))
			p->host->log(p, LOG_NOTICE, "removed %s, left by a gputrace that is gone",
				     path);
	}
	if (dir)
		closedir(dir);
}

/* Layout of our pages: header_page tells the top-level buffer's size, an instance may differ. */
static int read_format(struct ft *ft)
{
	size_t page_len = 0, event_len = 0;
	ft_auto_free char *page = gt_live_read(ft->p->tracefs, "events/header_page", &page_len);
	ft_auto_free char *event = gt_live_read(ft->p->tracefs, "events/header_event", &event_len);
	ft_auto_free char *subbuf = gt_live_read(ft->dir, "buffer_subbuf_size_kb", NULL);
	long kib = subbuf ? strtol(subbuf, NULL, 10) : 0;
	int ret;

	if (!page)
		return ft->p->host->error(ft->p, EIO, "%s/events/header_page cannot be read",
					  ft->p->tracefs);
	ret = gt_page_format_parse(&ft->format, page, page_len, event, event_len, false);
	if (ret)
		return ft->p->host->error(ft->p, -ret,
					  "this kernel's buffer pages have a layout not known here "
					  "(see %s/events/header_page)",
					  ft->p->tracefs);
	if (kib > 0 && kib <= (long)(GT_PAGE_SIZE_MAX >> 10))
		ft->format.size = (uint32_t)kib << 10;
	return 0;
}

static int set_up(struct ft *ft)
{
	int ret;

	ft_tracing_on(ft, false);
	ret = ft_write(ft->dir, "trace_clock", "mono");
	if (ret)
		return ft->p->host->error(ft->p, -ret, "trace_clock cannot be set to mono");
	/* Wishes: an older kernel may lack one, and works without. */
	ft_write(ft->dir, "trace_options", "overwrite");
	ft_write(ft->dir, "trace_options", "record-cmd");
	ft_write(ft->dir, "trace_options", "record-tgid");
	/* Readable from the first event on, not when half full. */
	ft_write(ft->dir, "buffer_percent", "0");
	return read_format(ft);
}

int ft_instance_create(struct ft *ft)
{
	struct gt_plugin *p = ft->p;
	char name[32];

	remove_stale(p);
	ft_dynamic_clean(p); /* they cannot go while an instance has them enabled */
	snprintf(name, sizeof(name), FT_INSTANCE_PREFIX "%d", (int)getpid());
	if (snprintf(ft->dir, sizeof(ft->dir), "%s/instances/%s", p->tracefs, name) >=
	    (int)sizeof(ft->dir))
		return p->host->error(p, ENAMETOOLONG, "the path of tracefs is too long");
	if (mkdir(ft->dir, 0750))
		return p->host->error(p, errno, "%s cannot be made (%s)%s", ft->dir,
				      strerror(errno),
				      errno == EEXIST ? ": something else uses it" : "");
	ft->instance = tracefs_instance_alloc(p->tracefs, name);
	if (!ft->instance) {
		rmdir(ft->dir);
		return p->host->error(p, ENOMEM, "%s cannot be used", ft->dir);
	}
	return set_up(ft);
}

void ft_instance_destroy(struct ft *ft)
{
	if (!ft->instance)
		return;
	ft_tracing_on(ft, false);
	/* It stays while somebody looks into it; what is made for it shall go all the same. */
	ft_write(ft->dir, "events/enable", "0");
	if (tracefs_instance_destroy(ft->instance))
		ft->p->host->log(ft->p, LOG_WARNING, "%s could not be removed", ft->dir);
	tracefs_instance_free(ft->instance);
	ft->instance = NULL;
}

int ft_tracing_on(struct ft *ft, bool on)
{
	int ret = ft_write(ft->dir, "tracing_on", on ? "1" : "0");

	return ret ? ft->p->host->error(ft->p, -ret, "%s/tracing_on cannot be written", ft->dir)
		   : 0;
}
