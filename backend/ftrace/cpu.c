/* SPDX-License-Identifier: GPL-2.0 */
/* One CPU's buffer: per_cpu/cpuN/trace_pipe_raw, a page at a time. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "internal.h"

static int open_raw(struct ft *ft, struct ft_cpu *c)
{
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%s/per_cpu/cpu%u/trace_pipe_raw", ft->dir, c->cpu) >=
	    (int)sizeof(path))
		return -ENAMETOOLONG;
	c->fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	return c->fd < 0 ? -errno : 0;
}

static int open_cpu(struct ft *ft, unsigned int cpu)
{
	struct ft_cpu *c = &ft->cpus[ft->ncpus];
	int ret;

	c->cpu = (uint16_t)cpu;
	ret = open_raw(ft, c);
	if (ret)
		return ret;
	ft->ncpus++;
	c->page = malloc(ft->format.size);
	return c->page ? 0 : -ENOMEM;
}

/* The numbers of per_cpu/cpuN, in @set (of @max); returns how many. */
static unsigned int find_cpus(const char *dir, bool *set, unsigned int max)
{
	char path[PATH_MAX];
	unsigned int n = 0, cpu;
	struct dirent *d;
	DIR *per_cpu;

	snprintf(path, sizeof(path), "%s/per_cpu", dir);
	per_cpu = opendir(path);
	while (per_cpu && (d = readdir(per_cpu)))
		if (sscanf(d->d_name, "cpu%u", &cpu) == 1 && cpu < max && !set[cpu]) {
			set[cpu] = true;
			n++;
		}
	if (per_cpu)
		closedir(per_cpu);
	return n;
}

int ft_cpus_open(struct ft *ft)
{
	ft_auto_free bool *set = calloc(GT_NONE16, sizeof(*set));
	unsigned int n = set ? find_cpus(ft->dir, set, GT_NONE16) : 0;
	int ret = n ? 0 : -ENOENT;

	ft->cpus = calloc(n + 1, sizeof(*ft->cpus));
	ft->heap = calloc(n + 1, sizeof(struct ft_cpu *));
	if (!set || !ft->cpus || !ft->heap)
		ret = -ENOMEM;
	for (unsigned int cpu = 0; !ret && cpu < GT_NONE16; cpu++)
		if (set[cpu])
			ret = open_cpu(ft, cpu);
	if (ret)
		return ft->p->host->error(ft->p, -ret, "%s/per_cpu cannot be read (%s)", ft->dir,
					  strerror(-ret));
	return 0;
}

void ft_cpus_close(struct ft *ft)
{
	for (unsigned int i = 0; i < ft->ncpus; i++) {
		if (ft->cpus[i].fd >= 0)
			close(ft->cpus[i].fd);
		free(ft->cpus[i].page);
	}
	free(ft->cpus);
	free(ft->heap);
	ft->cpus = NULL;
	ft->heap = NULL;
	ft->ncpus = ft->nheap = 0;
}

/* What the CPU's stats file says of @key, "\noverrun: "; 0 if it does not say. */
static uint64_t stats_of(struct ft *ft, struct ft_cpu *c, const char *key)
{
	ft_auto_free char *text = NULL;
	char file[64];
	const char *at;

	snprintf(file, sizeof(file), "per_cpu/cpu%u/stats", c->cpu);
	text = gt_live_read(ft->dir, file, NULL);
	if (!text)
		return 0;
	/* the first line has none before it, and "commit overrun" is something else */
	if (!strncmp(text, key + 1, strlen(key + 1)))
		return strtoull(text + strlen(key + 1), NULL, 10);
	at = strstr(text, key);
	return at ? strtoull(at + strlen(key), NULL, 10) : 0;
}

void ft_cpus_anew(struct ft *ft)
{
	for (unsigned int i = 0; i < ft->ncpus; i++) {
		struct ft_cpu *c = &ft->cpus[i];

		if (stats_of(ft, c, "\noverrun: ") >= c->told)
			continue;
		c->told = 0;
		c->guessed = false;
	}
}

static int set_tracer(struct ft *ft, const char *tracer)
{
	ft_auto_free uint64_t *left = calloc(ft->ncpus + 1, sizeof(*left));
	int ret;

	if (!left)
		return -ENOMEM;
	for (unsigned int i = 0; i < ft->ncpus; i++)
		left[i] = stats_of(ft, &ft->cpus[i], "\nentries: ");
	ret = ft_write(ft->dir, "current_tracer", tracer);
	if (ret)
		return ret;
	ft_cpus_anew(ft);
	for (unsigned int i = 0; i < ft->ncpus; i++)
		ft_emptied(ft, &ft->cpus[i], left[i]);
	return 0;
}

int ft_cpus_tracer(struct ft *ft, const char *tracer)
{
	bool watched;
	int ret, err;

	ft_drain_all(ft);
	watched = ft->watching;
	ft_watch(ft, false);
	for (unsigned int i = 0; i < ft->ncpus; i++) {
		close(ft->cpus[i].fd);
		ft->cpus[i].fd = -1;
	}
	ret = set_tracer(ft, tracer);
	for (unsigned int i = 0; i < ft->ncpus; i++) {
		err = open_raw(ft, &ft->cpus[i]);
		ret = ret ? ret : err;
	}
	err = watched ? ft_watch(ft, true) : 0;
	return ret ? ret : err;
}

/* The next page; false when there is none now (or the CPU's buffer cannot be read). */
static bool read_page(struct ft *ft, struct ft_cpu *c)
{
	ssize_t n;

	do
		n = read(c->fd, c->page, ft->format.size);
	while (n < 0 && errno == EINTR);
	if (n <= 0)
		return false;
	gt_page_begin(&c->it, &ft->format, c->page, (size_t)n);
	/*
	 * The rest of a page that was read in part begins at the time which the kernel thinks it
	 * came to (rb_update_read_stamp()). That leaves out what passed before discarded events, of
	 * which event probes make some: the base event of a nested one. Ours does not.
	 */
	if (c->it.ts < c->page_end) {
		c->it.ts = c->page_end;
		ft->stats.restamped++;
	}
	if (c->it.missed == GT_PAGE_MISSED_UNKNOWN)
		c->unknown = true;
	else
		c->pending += c->it.missed;
	return true;
}

void ft_cpu_next(struct ft *ft, struct ft_cpu *c)
{
	do {
		c->have = gt_page_next(&c->it, &c->ev);
		if (c->have)
			return;
		ft->stats.malformed += c->it.malformed;
		if (c->it.ts > c->page_end)
			c->page_end = c->it.ts;
		c->it = (struct gt_page_iter){ 0 };
	} while (read_page(ft, c));
}

uint64_t ft_cpu_lost(struct ft *ft, struct ft_cpu *c)
{
	uint64_t n = c->pending, all = 0;

	if (!n && !c->unknown)
		return 0;
	if (c->unknown || c->guessed) {
		/* The file may tell now what a later page tells again: never more than it in all */
		all = stats_of(ft, c, "\noverrun: ");
		ft->stats.guessed += c->unknown;
		if (c->unknown || c->told + n > all)
			n = all > c->told ? all - c->told : 1;
		c->guessed = true;
	}
	c->pending = 0;
	c->unknown = false;
	c->told += n;
	/* Where it says less, the kernel began anew: it does when a module with events of ours
	 * goes. */
	if (all && c->told > all)
		c->told = all;
	return n;
}
