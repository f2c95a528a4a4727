/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Reads all logs, and hands over what they tell merged by time. Live, inotify wakes it; as each
 * line is a wake-up, it then reads at intervals until nothing more comes. A recording is read to
 * its end.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "internal.h"

#define DRAIN_NS    5000000u  /* of a drain */
#define INTERVAL_NS 10000000u /* between two while files grow */
#define BATCH	    256

int gt_amd_fault(struct gt_amd *a, int err, const char *path, const char *why)
{
	a->refused += err != EEXIST;
	if (a->told)
		return err > 0 ? -err : -EIO;
	a->told = true;
	return a->p->host->error(a->p, err, "%s: %s", path, why);
}

int gt_amd_probe(struct gt_plugin *p)
{
	const struct gt_amd_options *o = p->options;

	if (o->files && *o->files)
		return 1;
	return p->host->error(p, ENOENT,
			      "no logs are named: set files in [backend amdlog] to what "
			      "AMD_LOG_LEVEL_FILE names, such as /tmp/amdlog/*");
}

/* From now on what the option names is followed. */
static int begin(struct gt_amd *a)
{
	if (!a->p->recording) {
		a->since = a->p->host->now(a->p);
		a->names = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
		if (a->names < 0)
			return a->p->host->error(a->p, errno, "inotify: %s", strerror(errno));
	}
	a->told = false;
	gt_amd_find(a);
	if (a->p->recording && !a->n)
		return -EINVAL; /* told */
	a->awake = true;
	a->p->host->timer(a->p, 1);
	return 0;
}

bool gt_amd_knows(const char *path, const uint8_t *head, size_t len)
{
	const char *p = (const char *)head, *end = p + len, *nl;
	struct gt_amd_line l;

	for (; head && p < end; p = nl + 1) {
		nl = memchr(p, '\n', (size_t)(end - p));
		if (!nl)
			nl = end;
		if (gt_amd_line(p, (size_t)(nl - p), &l) && l.us != GT_NONE64)
			return true;
	}
	return false;
}

static int start(struct gt_amd *a)
{
	a->block = malloc(GT_AMD_BLOCK);
	return a->block ? begin(a) : a->p->host->error(a->p, ENOMEM, "no memory");
}

int gt_amd_start(struct gt_plugin *p)
{
	struct gt_amd *a = calloc(1, sizeof(*a));
	int ret;

	if (!a)
		return p->host->error(p, ENOMEM, "no memory");
	a->p = p;
	a->names = -1;
	p->priv = a;
	ret = start(a);
	if (ret)
		gt_amd_stop(p);
	return ret;
}

static void add_counts(struct gt_amd_counts *to, const struct gt_amd_counts *n)
{
	uint64_t *t = (uint64_t *)to;
	const uint64_t *f = (const uint64_t *)n;

	for (size_t i = 0; i < sizeof(*to) / sizeof(*t); i++)
		t[i] += f[i];
}

static void drop(struct gt_amd *a, unsigned int i)
{
	add_counts(&a->gone, &a->file[i]->log.n);
	gt_amd_file_close(a->file[i]);
	a->file[i] = a->file[--a->n];
	a->closed++;
}

static void end(struct gt_amd *a)
{
	while (a->n)
		drop(a, a->n - 1);
	if (a->names < 0)
		return;
	if (!a->awake)
		a->p->host->watch(a->p, a->names, false);
	close(a->names);
	a->names = -1;
}

void gt_amd_stop(struct gt_plugin *p)
{
	struct gt_amd *a = p->priv;

	if (!a)
		return;
	end(a);
	free(a->numbers.free);
	free(a->block);
	free(a);
	p->priv = NULL;
}

/* A line a little out of order finds its place among the half that stays. */
static bool ready(const struct gt_amd *a)
{
	for (unsigned int i = 0; i < a->n && a->p->recording; i++) {
		const struct gt_amd_file *f = a->file[i];

		if (!f->eof && f->log.count - f->log.head < GT_AMD_RECORDS / 2)
			return false;
	}
	return true;
}

static struct gt_amd_log *earliest(const struct gt_amd *a)
{
	struct gt_amd_log *first = NULL;

	for (unsigned int i = 0; i < a->n; i++) {
		struct gt_amd_log *l = &a->file[i]->log;

		if (l->head == l->count)
			continue;
		if (!first || l->out[l->head].ev.ts < first->out[first->head].ev.ts)
			first = l;
	}
	return first;
}

static int hand_over(struct gt_amd *a)
{
	union gt_record batch[BATCH];
	struct gt_amd_log *l;
	unsigned int n = 0;
	int all = 0;

	while (ready(a) && (l = earliest(a))) {
		batch[n++] = l->out[l->head++];
		all++;
		if (n < BATCH)
			continue;
		a->p->host->push(a->p, batch, n);
		n = 0;
	}
	if (n)
		a->p->host->push(a->p, batch, n);
	return all;
}

/* Reads on in file @i. False: it has gone, and another may be in its place. */
static bool read_on(struct gt_amd *a, unsigned int i, ssize_t *got)
{
	struct gt_amd_file *f = a->file[i];
	ssize_t n = gt_amd_file_read(f);

	*got += n > 0 ? n : 0;
	if (n == 0 && f->eof)
		gt_amd_log_settle(&f->log, a->p->recording);
	if (n < 0)
		gt_amd_fault(a, (int)-n, f->path,
			     n == -ESTALE ? "has another owner now" : strerror((int)-n));
	if (n >= 0 && !(f->gone && f->eof && !n && f->log.head == f->log.count))
		return true;
	if (!a->p->recording)
		gt_amd_log_end(&f->log);
	f->eof = true;
	if (f->log.head != f->log.count)
		return true; /* what it told is handed over first */
	drop(a, i);
	return false;
}

/* All files once; bytes read */
static ssize_t read_all(struct gt_amd *a)
{
	ssize_t got = 0;

	for (unsigned int i = 0; i < a->n;)
		i += read_on(a, i, &got);
	return got;
}

static bool finished(const struct gt_amd *a)
{
	for (unsigned int i = 0; i < a->n; i++)
		if (!a->file[i]->eof || a->file[i]->log.head != a->file[i]->log.count)
			return false;
	return true;
}

/* While something comes it looks again after a while; else inotify wakes it. */
static void wait_for_more(struct gt_amd *a, bool more)
{
	if (a->p->recording || more)
		a->p->host->timer(a->p, a->p->recording ? 1 : INTERVAL_NS);
	if (a->p->recording || more == a->awake)
		return;
	a->awake = more;
	a->p->host->watch(a->p, a->names, !more);
}

int gt_amd_drain(struct gt_plugin *p)
{
	struct gt_amd *a = p->priv;
	uint64_t deadline = p->host->now(p) + DRAIN_NS;
	ssize_t got, all = 0;
	int n = 0;

	for (unsigned int i = 0; i < a->n; i++)
		a->file[i]->log.checked = 0; /* a pid may be another's by now */
	if (a->names >= 0 && gt_amd_find_changed(a))
		gt_amd_find(a);
	do {
		got = read_all(a);
		all += got;
		n += hand_over(a);
	} while (got && p->host->now(p) < deadline);
	if (p->recording && !n && finished(a))
		return -ENODATA;
	wait_for_more(a, all > 0);
	return n || !p->recording ? n : 1;
}

int gt_amd_set(struct gt_plugin *p, const struct gt_option *o)
{
	struct gt_amd *a = p->priv;

	if (strcmp(o->name, "files"))
		return -EOPNOTSUPP;
	if (!a)
		return 0;
	for (unsigned int i = 0; i < a->n; i++)
		gt_amd_log_end(&a->file[i]->log);
	hand_over(a);
	end(a);
	return begin(a);
}

int gt_amd_control(struct gt_plugin *p, enum gt_control what, int64_t arg)
{
	struct gt_amd *a = p->priv;

	switch (what) {
	case GT_CTL_PAUSE:
		if (!p->recording && !a->awake)
			p->host->watch(p, a->names, false);
		a->awake = true;
		p->host->timer(p, 0);
		return 0;
	case GT_CTL_RESUME:
		p->host->timer(p, 1);
		return 0;
	case GT_CTL_RESCAN:
		if (!p->recording)
			gt_amd_find(a);
		p->host->timer(p, 1);
		return 0;
	case GT_CTL_LEVEL:
		return 0;
	default:
		return -EOPNOTSUPP;
	}
}
