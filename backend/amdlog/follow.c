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

int gt_amd_fault(struct gt_amd *a, int err, const char *path, const char *why)
{
	a->refused++;
	snprintf(a->fault[a->faults++ % GT_AMD_FAULTS], sizeof(a->fault[0]), "%s: %s",
		 path ? path : "", why);
	if (a->told)
		return err > 0 ? -err : -EIO;
	a->told = true;
	if (a->p->recording)
		return a->p->host->error(a->p, err, "%s: %s", path ? path : "", why);
	return a->p->host->error(a->p, err, "a log, or a folder of logs, was left out: see logs");
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

static void open_recordings(struct gt_amd *a)
{
	const struct gt_amd_options *o = a->p->options;
	char *list = strdup(o->files ? o->files : ""), *save = NULL;

	for (char *w = list ? strtok_r(list, ":", &save) : NULL; w; w = strtok_r(NULL, ":", &save))
		if (a->n == GT_AMD_FILES)
			gt_amd_fault(a, E2BIG, w, "more than 256 logs at a time");
		else if (!gt_amd_file_open(a, NULL, w, &a->file[a->n]))
			a->n++;
	free(list);
}

/* From now on what the option names is followed. */
static int begin(struct gt_amd *a)
{
	a->told = false;
	a->deadline = a->p->host->now(a->p) + DRAIN_NS;
	if (a->p->recording) {
		open_recordings(a);
		if (!a->n)
			return -EINVAL; /* told */
	} else {
		a->since = a->p->host->now(a->p);
		a->names = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
		if (a->names < 0)
			return a->p->host->error(a->p, errno, "inotify: %s", strerror(errno));
		gt_amd_folders(a);
		gt_amd_find(a);
	}
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
	a->sorting = malloc(GT_AMD_RECORDS * sizeof(*a->sorting));
	return a->block && a->sorting ? begin(a) : a->p->host->error(a->p, ENOMEM, "no memory");
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
	if (a->waiting)
		gt_amd_find_again(a);
	a->waiting = false;
}

static void end(struct gt_amd *a)
{
	while (a->n)
		drop(a, a->n - 1);
	while (a->nfolders)
		gt_amd_folder_free(&a->folder[--a->nfolders]);
	a->heard = a->heard_at = 0;
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
	free(a->sorting);
	free(a->block);
	free(a);
	p->priv = NULL;
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
	a->waiting |= n == -ESTALE; /* as the new owner's it is another log */
	if (n >= 0 && !(f->gone && f->eof && !n && f->log.head == f->log.count))
		return true;
	if (!a->p->recording)
		gt_amd_log_end(&f->log);
	f->eof = true;
	if (f->log.head != f->log.count) { /* what it told is handed over first */
		a->ending = true;
		return true;
	}
	drop(a, i);
	return false;
}

/* Each file once, in turn, as long as there is time; bytes read */
static ssize_t read_all(struct gt_amd *a)
{
	ssize_t got = 0;

	for (unsigned int i = a->n; i && a->n; i--) {
		a->turn = a->turn < a->n ? a->turn : 0;
		a->turn += read_on(a, a->turn, &got);
		if (gt_amd_late(a))
			break;
	}
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
	ssize_t got, all = 0;
	bool more;
	int n = 0;

	a->round++;
	a->ending = false;
	a->deadline = p->host->now(p) + DRAIN_NS / 2;
	more = gt_amd_find(a);
	a->deadline += DRAIN_NS / 2; /* many names do not keep it from reading */
	do {
		got = read_all(a);
		all += got;
		n += gt_amd_hand_over(a);
	} while (got && !gt_amd_late(a));
	if (p->recording && !n && finished(a))
		return -ENODATA;
	wait_for_more(a, more || a->ending || all > 0);
	return n || !p->recording ? n : 1;
}

int gt_amd_set(struct gt_plugin *p, const struct gt_option *o)
{
	struct gt_amd_options *set = p->options;
	struct gt_amd *a = p->priv;

	if (strcmp(o->name, "files"))
		return -EOPNOTSUPP;
	set->written = true;
	if (!a)
		return 0;
	for (unsigned int i = 0; i < a->n; i++)
		gt_amd_log_end(&a->file[i]->log);
	gt_amd_hand_over(a);
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
		if (!p->recording) {
			gt_amd_folders(a);
			gt_amd_find_again(a);
		}
		p->host->timer(p, 1);
		return 0;
	case GT_CTL_LEVEL:
		return 0;
	default:
		return -EOPNOTSUPP;
	}
}
