/* SPDX-License-Identifier: GPL-2.0 */
/*
 * All CPUs' events in order of time. The event maps need that order, as they match what one CPU
 * began and another ended.
 *
 * A drain takes what is older than the moment before it began: by then every CPU has reported what it
 * had of that time, so the order is final. Of each CPU only one page is held; the rest
 * waits in the kernel's buffer.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "../lib/heap.h"
#include "ftrace.h"

static void ft_emptied(struct ft *ft, struct ft_cpu *c, uint64_t count);

/* One CPU's buffer: per_cpu/cpuN/trace_pipe_raw, a page at a time. */

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

/* The number behind @key, "\noverrun: ", in the text of a stats file; 0 if it has none */
static uint64_t number_of(const char *text, const char *key)
{
	const char *at;

	/* the first line has none before it, and "commit overrun" is something else */
	if (!strncmp(text, key + 1, strlen(key + 1)))
		return strtoull(text + strlen(key + 1), NULL, 10);
	at = strstr(text, key);
	return at ? strtoull(at + strlen(key), NULL, 10) : 0;
}

/* The CPU's stats file; the caller frees it. NULL if it cannot be read */
static char *stats_text(struct ft *ft, const struct ft_cpu *c)
{
	char file[64];

	snprintf(file, sizeof(file), "per_cpu/cpu%u/stats", c->cpu);
	return gt_live_read(ft->dir, file, NULL);
}

static uint64_t stats_of(struct ft *ft, const struct ft_cpu *c, const char *key)
{
	ft_auto_free char *text = stats_text(ft, c);

	return text ? number_of(text, key) : 0;
}

uint64_t ft_cpu_dropped(struct ft *ft, struct ft_cpu *c)
{
	ft_auto_free char *text = stats_text(ft, c);
	uint64_t was = c->dropped;

	if (!text)
		return 0;
	c->dropped = number_of(text, "\ncommit overrun: ") + number_of(text, "\ndropped events: ");
	return c->dropped > was ? c->dropped - was : 0;
}

void ft_cpus_anew(struct ft *ft)
{
	for (unsigned int i = 0; i < ft->ncpus; i++) {
		struct ft_cpu *c = &ft->cpus[i];

		if (stats_of(ft, c, "\noverrun: ") >= c->reported)
			continue;
		c->reported = 0;
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
	ret = ft_write(ft->p, ft->dir, "current_tracer", tracer);
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

/** ft_cpu_next() - moves to the CPU's next event (@c->have): reads on when the page is at its end
 */
static void ft_cpu_next(struct ft *ft, struct ft_cpu *c)
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
		/* The file may report now what a later page reports again: never more than it in all */
		all = stats_of(ft, c, "\noverrun: ");
		ft->stats.guessed += c->unknown;
		if (c->unknown || c->reported + n > all)
			n = all > c->reported ? all - c->reported : 1;
		c->guessed = true;
	}
	c->pending = 0;
	c->unknown = false;
	c->reported += n;
	/* Where it says less, the kernel began anew: it does when a module with events of ours
	 * goes. */
	if (all && c->reported > all)
		c->reported = all;
	return n;
}

static void flush(struct ft *ft)
{
	if (ft->nout)
		ft->p->host->push(ft->p, ft->out, ft->nout);
	ft->stats.records += ft->nout;
	ft->nout = 0;
}

void ft_out(struct ft *ft, const union gt_record *r)
{
	if (ft->nout == FT_OUT)
		flush(ft);
	ft->out[ft->nout++] = *r;
}

static bool older(struct ft_cpu *const *a, struct ft_cpu *const *b)
{
	return (*a)->ev.ts < (*b)->ev.ts || ((*a)->ev.ts == (*b)->ev.ts && (*a)->cpu < (*b)->cpu);
}

/* A gap that ends at @until is reported now, at its begin: what other CPUs report of the time in
 * between lacks what this one lost. */
static void report_lost(struct ft *ft, struct ft_cpu *c, uint64_t count, uint64_t until)
{
	uint64_t at = ft->merged > ft->mark ? ft->merged : ft->mark;
	union gt_record r;

	if (!count)
		return;
	if (!at || at > until)
		at = until;
	gt_record_init(&r, at, (enum gt_type)GT_LOST);
	r.lost.cpu = c->cpu;
	r.lost.count = count;
	r.lost.since = c->last_ts ? c->last_ts : GT_NONE64;
	r.lost.until = until;
	r.lost.cause = GT_LOST_SOURCE;
	r.lost.reserved = 0;
	memset(r.lost.reserved2, 0, sizeof(r.lost.reserved2));
	ft->stats.lost += count;
	ft_out(ft, &r);
}

/** ft_emptied() - @count events of the CPU were thrown away just now */
static void ft_emptied(struct ft *ft, struct ft_cpu *c, uint64_t count)
{
	report_lost(ft, c, count, ft->p->host->now(ft->p));
	flush(ft);
}

/* Moves on to the CPU's next event. */
static void next_event(struct ft *ft, struct ft_cpu *c)
{
	ft_cpu_next(ft, c);
	if (c->have)
		report_lost(ft, c, ft_cpu_lost(ft, c), c->ev.ts);
}

static void fill_heap(struct ft *ft)
{
	ft->nheap = 0;
	for (unsigned int i = 0; i < ft->ncpus; i++) {
		if (!ft->cpus[i].have)
			next_event(ft, &ft->cpus[i]);
		if (ft->cpus[i].have)
			ft->heap[ft->nheap++] = &ft->cpus[i];
	}
	GT_HEAP_MAKE(ft->heap, ft->nheap, older);
}

static void decode(struct ft *ft, struct ft_cpu *c)
{
	const struct gt_page_event *ev = &c->ev;
	union gt_record r[GT_TP_MAX_RECORDS], process;
	struct gt_evctx ctx = { .ts = ev->ts, .pid = GT_NONE32, .cpu = c->cpu };
	struct gt_tp *tp;
	uint16_t id;
	int n;

	if (ev->len < sizeof(id) || ev->len < ft->pid_off + sizeof(ctx.tid)) {
		ft->stats.unknown++;
		return;
	}
	memcpy(&id, ev->data, sizeof(id));
	memcpy(&ctx.tid, ev->data + ft->pid_off, sizeof(ctx.tid));
	tp = ft->by_id[id];
	if (!tp && id == ft->functions.id) {
		ft_call(ft, &ctx, ev->data, ev->len);
		return;
	}
	if (!tp) {
		ft->stats.unknown++;
		return;
	}
	n = gt_tp_raw(tp, &ctx, ev->data, ev->len, r, GT_TP_MAX_RECORDS);
	for (int i = 0; i < n; i++) {
		if (gt_tasks_fill(ft->tasks, &r[i], &process))
			ft_out(ft, &process);
		ft_out(ft, &r[i]);
	}
}

static void handle(struct ft *ft, struct ft_cpu *c)
{
	ft->stats.events++;
	ft->stats.late += c->ev.ts < ft->mark;
	if (c->ev.ts > ft->merged)
		ft->merged = c->ev.ts;
	decode(ft, c);
	c->last_ts = c->ev.ts;
}

/* Hands over what is older than @until, at most FT_DRAIN_EVENTS; returns up to when it is done. */
static uint64_t merge(struct ft *ft, uint64_t until)
{
	uint64_t last = ft->mark;

	for (int i = 0; ft->nheap && ft->heap[0]->ev.ts < until; i++) {
		struct ft_cpu *c = ft->heap[0];

		if (i == FT_DRAIN_EVENTS) {
			ft->stats.full++;
			return last;
		}
		if (c->ev.ts > last)
			last = c->ev.ts;
		handle(ft, c);
		next_event(ft, c);
		if (!c->have)
			ft->heap[0] = ft->heap[--ft->nheap];
		if (ft->nheap)
			GT_HEAP_SINK(ft->heap, ft->nheap, 0, older);
	}
	return until;
}

int ft_watch(struct ft *ft, bool on)
{
	int ret = 0;

	if (ft->watching == on)
		return 0;
	for (unsigned int i = 0; i < ft->ncpus && !ret; i++)
		ret = ft->p->host->watch(ft->p, ft->cpus[i].fd, on);
	/* Half watched is watched: to be undone in full. */
	ft->watching = on || ret;
	return ret;
}

/*
 * While events come the descriptors are not watched, or each event would wake us; a timer does, and
 * collects many at a time. With nothing to do there is no timer.
 */
static int wait_for_more(struct ft *ft, bool busy, bool full)
{
	const struct gt_host *host = ft->p->host;

	if (!busy)
		return ft_watch(ft, true);
	host->timer(ft->p, full ? 1 : FT_DRAIN_NS);
	return ft_watch(ft, false);
}

/* Now and then: no page says it, and the file takes some microseconds. */
static void look_at_dropped(struct ft *ft, uint64_t now)
{
	if (now < ft->asked + FT_ASK_NS)
		return;
	ft->asked = now;
	for (unsigned int i = 0; i < ft->ncpus; i++) {
		uint64_t n = ft_cpu_dropped(ft, &ft->cpus[i]);

		ft->stats.dropped += n;
		report_lost(ft, &ft->cpus[i], n, now);
	}
}

int ft_drain(struct gt_plugin *p)
{
	struct ft *ft = p->priv;
	uint64_t until = p->host->now(p), events = ft->stats.events, records = ft->stats.records;
	uint64_t done;
	int ret;

	ft->stats.drains++;
	gt_tasks_round(ft->tasks, until);
	fill_heap(ft);
	done = merge(ft, until);
	if (ft->stats.events != events)
		look_at_dropped(ft, until);
	flush(ft);
	if (done > ft->mark)
		ft->mark = done;
	p->host->watermark(p, ft->mark);
	ret = wait_for_more(ft, ft->nheap || ft->stats.events != events, done != until);
	if (ret)
		return p->host->error(p, -ret, "trace_pipe_raw cannot be waited for");
	return (int)(ft->stats.records - records);
}

void ft_drain_all(struct ft *ft)
{
	uint64_t full;

	for (int i = 0; i < FT_DRAINS && ft->p->priv == ft; i++) {
		full = ft->stats.full;
		if (ft_drain(ft->p) < 0 || ft->stats.full == full)
			return;
	}
}
