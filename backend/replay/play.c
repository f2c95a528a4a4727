/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Plays the files of the `files` option: reads each for the first time, gives the devices they name
 * their numbers, then hands over what they hold, merged by time, at the pace asked for.
 */
#include "../detail.h"
#include "play.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILES_MAX 64
#define DRAIN_MAX 16384	  /* records a call of drain() */
#define DRAIN_NS  5000000 /* and its time */
#define WAIT_NS	  1000000 /* until a file that had nothing yet is asked again */

struct gt_plugin *gt_replay_plugin(const struct gt_replay *r)
{
	return r->p;
}

struct gt_source *gt_replay_source(struct gt_replay *r, unsigned int i)
{
	return i < r->n ? &r->src[i] : NULL;
}

bool gt_replay_told(struct gt_replay *r)
{
	bool first = !r->told;

	r->told = true;
	return first;
}

int gt_replay_probe(struct gt_plugin *p)
{
	const struct gt_replay_options *o = p->options;

	if (!o->files || !*o->files)
		return p->host->error(p, ENOENT, "no file to play: mount with -o replay=FILE");
	return 0;
}

static int open_files(struct gt_replay *r, const char *files)
{
	char *list = strdup(files), *save = NULL;
	int ret = list ? 0 : -ENOMEM;

	r->src = calloc(FILES_MAX, sizeof(*r->src));
	if (!r->src)
		ret = -ENOMEM;
	for (char *f = ret ? NULL : strtok_r(list, ":", &save); f && !ret;
	     f = strtok_r(NULL, ":", &save)) {
		if (r->n == FILES_MAX)
			ret = r->p->host->error(r->p, E2BIG, "more than %d files", FILES_MAX);
		else
			ret = gt_source_open(r, &r->src[r->n++], f);
	}
	free(list);
	if (!ret && !r->n)
		ret = r->p->host->error(r->p, ENOENT, "no file to play");
	return ret;
}

void gt_replay_stop(struct gt_plugin *p)
{
	struct gt_replay *r = p->priv;

	if (!r)
		return;
	for (unsigned int i = 0; i < r->n; i++)
		gt_source_close(&r->src[i]);
	free(r->src);
	free(r);
	p->priv = NULL;
}

int gt_replay_start(struct gt_plugin *p)
{
	const struct gt_replay_options *o = p->options;
	struct gt_replay *r = calloc(1, sizeof(*r));
	int ret;

	if (!r)
		return p->host->error(p, ENOMEM, "no memory");
	p->priv = r;
	r->p = p;
	r->level = 2;
	ret = gt_pace_parse(p, o->speed && *o->speed ? o->speed : "0", &r->speed);
	if (!ret)
		ret = gt_replay_probe(p);
	if (!ret)
		ret = open_files(r, o->files);
	if (ret < 0)
		gt_replay_stop(p);
	else
		p->host->timer(p, 1);
	return ret;
}

/* Devices of all files, in order of their names; the GPU's number is then that of its name. */
static void register_devices(struct gt_replay *r)
{
	unsigned int at[FILES_MAX] = { 0 };

	for (;;) {
		struct gt_gpu_desc d = { .minor = -1 };
		const char(*devs)[GT_REPLAY_DEV];
		unsigned int n;

		for (unsigned int i = 0; i < r->n; i++) {
			if (!r->src[i].events)
				continue;
			devs = gt_events_devs(r->src[i].events, &n);
			if (at[i] < n && (!d.dev || strcmp(devs[at[i]], d.dev) < 0))
				d.dev = devs[at[i]];
		}
		if (!d.dev)
			return;
		for (unsigned int i = 0; i < r->n; i++) {
			if (!r->src[i].events)
				continue;
			devs = gt_events_devs(r->src[i].events, &n);
			if (at[i] == n || strcmp(devs[at[i]], d.dev))
				continue;
			if (!d.driver)
				d.driver = gt_events_driver(r->src[i].events, at[i]);
			at[i]++;
		}
		r->p->host->gpu(r->p, &d);
	}
}

void gt_replay_select(struct gt_replay *r)
{
	for (unsigned int i = 0; i < r->n; i++)
		if (r->src[i].events)
			gt_events_select(r->src[i].events, r->level);
}

/* A piece of the first reading. A file that fails here is played as far as it goes. */
static void scan(struct gt_replay *r, uint64_t deadline)
{
	for (unsigned int i = 0; i < r->n; i++) {
		struct gt_source *s = &r->src[i];

		while (!s->scanned) {
			int ret = s->reader->scan ? s->reader->scan(s) : 1;

			s->scanned = ret != 0;
			if (r->p->host->now(r->p) >= deadline)
				return;
		}
	}
	register_devices(r);
	gt_replay_select(r);
	r->phase = GT_REPLAY_PLAYS;
}

static void flush(struct gt_replay *r)
{
	if (r->batched)
		r->p->host->push(r->p, r->batch, r->batched);
	r->batched = 0;
}

static void add(struct gt_replay *r, const union gt_record *rec)
{
	if (rec->ev.ts > r->pos)
		r->pos = rec->ev.ts;
	if (r->batched == GT_REPLAY_BATCH)
		flush(r);
	r->batch[r->batched++] = *rec;
}

/* The name of whoever submits or calls, before the first. */
static int tell_process(struct gt_replay *r, struct gt_source *s, const union gt_record *rec)
{
	union gt_record proc;
	const char *comm;

	if ((rec->ev.type != GT_SUBMIT && rec->ev.type != GT_FUNCTION) || !s->events ||
	    rec->ev.pid == GT_NONE32 || !rec->ev.pid)
		return 0;
	comm = gt_procs_tell(gt_events_procs(s->events), rec->ev.pid, rec->ev.tid, s->item.comm);
	if (!comm)
		return 0;
	gt_procs_record(&proc, rec->ev.ts, rec->ev.pid, comm);
	add(r, &proc);
	return 1;
}

static int emit(struct gt_replay *r, struct gt_source *s)
{
	union gt_record out[GT_TP_MAX_RECORDS + GT_CALL_RECORDS];
	int n, total = 0;

	s->have = false;
	s->items++;
	if (s->item.kind == GT_ITEM_RECORD && s->item.rec.ev.type != GT_FUNCTION) {
		add(r, &s->item.rec);
		return 1;
	}
	if (s->item.kind == GT_ITEM_RECORD)
		n = gt_call_again(&r->calls, s, &s->item.rec, out);
	else if (s->item.kind == GT_ITEM_CALL)
		n = gt_call_records(&r->calls, s, &s->item, out);
	else
		n = gt_events_decode(s->events, &s->item, out);
	for (int i = 0; i < n; i++, total++) {
		total += tell_process(r, s, &out[i]);
		add(r, &out[i]);
	}
	return total;
}

/* The file with the earliest item; NULL: wait, or with @ended: all is over. */
static struct gt_source *earliest(struct gt_replay *r, bool *ended)
{
	struct gt_source *first = NULL;
	bool wait = false;

	*ended = true;
	for (unsigned int i = 0; i < r->n; i++) {
		struct gt_source *s = &r->src[i];

		if (!s->have && !s->ended) {
			int ret = s->reader->next(s);

			s->have = ret > 0;
			s->ended = ret < 0;
			wait |= !ret;
		}
		*ended &= s->ended;
		if (s->have && (!first || s->item.ts < first->item.ts))
			first = s;
	}
	return wait ? NULL : first;
}

/* An empty tree says nothing: this is why it is empty. */
static void tell_empty(struct gt_replay *r)
{
	for (unsigned int i = 0; i < r->n; i++)
		if (!r->src[i].items && gt_replay_told(r))
			r->p->host->error(r->p, ENODATA, "%s: %s", r->src[i].path,
					  r->src[i].empty ? r->src[i].empty
							  : "has no event that an event map names, "
							    "see gputrace-events.d(5)");
}

static int play(struct gt_replay *r, uint64_t deadline)
{
	bool ended = false, idle = false;
	uint64_t sleep = 1;
	int n = 0;

	for (unsigned int i = 1; n < DRAIN_MAX; i++) {
		struct gt_source *s = earliest(r, &ended);

		if (!s) {
			sleep = ended ? 1 : WAIT_NS;
			break;
		}
		sleep = gt_pace_due(r, s->item.ts);
		idle = sleep != 0;
		if (idle)
			break;
		n += emit(r, s);
		sleep = 1;
		if (i % 256 == 0 && r->p->host->now(r->p) >= deadline)
			break;
	}
	flush(r);
	if (ended) {
		r->phase = GT_REPLAY_ENDED;
		tell_empty(r);
	}
	if (r->pos)
		r->p->host->watermark(r->p, gt_pace_position(r));
	if (!idle || !r->paused)
		r->p->host->timer(r->p, sleep);
	/* 0 means that there is nothing to do: only while it waits for a record's time. */
	return n || idle ? n : 1;
}

int gt_replay_drain(struct gt_plugin *p)
{
	struct gt_replay *r = p->priv;
	uint64_t deadline = p->host->now(p) + DRAIN_NS;

	if (r->phase == GT_REPLAY_ENDED)
		return -ENODATA;
	if (r->phase == GT_REPLAY_PLAYS)
		return play(r, deadline);
	scan(r, deadline);
	p->host->timer(p, 1);
	return 1;
}

void gt_replay_doctor(struct gt_plugin *p, char *buf, size_t len)
{
	static const char *const phases[] = { "scanning", "playing", "ended" };
	struct gt_replay *r = p->priv;
	struct gt_details d = { buf, len };

	if (!len)
		return;
	*buf = '\0';
	if (!r)
		return;
	gt_detail(&d, "phase %s\nposition_ns %llu\n", phases[r->phase],
	      (unsigned long long)r->pos);
	for (unsigned int i = 0; i < r->n; i++) {
		const struct gt_source *s = &r->src[i];

		gt_detail(&d, "file%u %s\nfile%u_kind %s\n", i, s->path, i,
			  s->reader->name);
		gt_detail(&d,
		      "file%u_events %llu\nfile%u_damaged %llu\nfile%u_skipped %llu\nfile%u_lost "
		      "%llu\n",
		      i, (unsigned long long)s->items, i, (unsigned long long)s->bad, i,
		      (unsigned long long)s->skipped, i, (unsigned long long)s->lost);
	}
}
