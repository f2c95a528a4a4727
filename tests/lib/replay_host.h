/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A host for the replay backend without the daemon: counts and keeps what is pushed, checks that it
 * is well formed, and has a clock that stands still unless a timer is waited for.
 */
#ifndef GT_TESTS_REPLAY_HOST_H
#define GT_TESTS_REPLAY_HOST_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../backend/replay/replay.h"

#define RH_GPUS	 64
#define RH_RINGS 256

struct rh_gpu {
	char driver[32], dev[64];
	char ring[RH_RINGS][64];
	unsigned int rings;
};

/**
 * struct rh - the host and its plugin
 * @rec: what was pushed, @n of it, if @keep
 * @bad: records that are not well formed
 * @error: the last sentence; @first: the first one
 * @reader: plays the first file, whatever it is; NULL: as found
 * @ahead: ns that the clock is ahead of the true one: timers that were "waited for"
 */
struct rh {
	struct gt_plugin p;
	struct gt_replay_options opt;
	struct rh_gpu gpu[RH_GPUS];
	unsigned int gpus;
	union gt_record *rec;
	size_t n, cap;
	bool keep;
	uint64_t pushed, bad, watermark, timer, ahead;
	uint64_t types[256];
	uint64_t by_ring[RH_GPUS][RH_RINGS][4];
	char error[1024], first[1024];
	unsigned int errors;
	const struct gt_reader *reader;
};

static inline void rh_check(struct rh *h, const union gt_record *r)
{
	const struct gt_event *ev = &r->ev;
	bool event = ev->type < GT_NTYPES;

	if (!event && (ev->type < GT_PROCESS || ev->type >= GT_TYPE_END))
		h->bad++;
	else if (ev->gpu != GT_NONE16 && ev->gpu >= h->gpus)
		h->bad++;
	else if (ev->ring != GT_NONE16 &&
		 (ev->gpu == GT_NONE16 || ev->ring >= h->gpu[ev->gpu].rings))
		h->bad++;
	h->types[ev->type]++;
	if (ev->type < 4 && ev->gpu < RH_GPUS && ev->ring < RH_RINGS)
		h->by_ring[ev->gpu][ev->ring][ev->type]++;
}

static inline void rh_push(struct gt_plugin *p, const union gt_record *r, size_t n)
{
	struct rh *h = (struct rh *)p;

	h->pushed += n;
	for (size_t i = 0; i < n; i++)
		rh_check(h, &r[i]);
	if (!h->keep)
		return;
	if (h->n + n > h->cap) {
		h->cap = (h->n + n) * 2;
		h->rec = realloc(h->rec, h->cap * sizeof(*h->rec));
	}
	memcpy(h->rec + h->n, r, n * sizeof(*r));
	h->n += n;
}

static inline void rh_watermark(struct gt_plugin *p, uint64_t ts)
{
	((struct rh *)p)->watermark = ts;
}

static inline uint16_t rh_gpu(struct gt_plugin *p, const struct gt_gpu_desc *d)
{
	struct rh *h = (struct rh *)p;
	char dev[64];

	if (d->dev)
		snprintf(dev, sizeof(dev), "%s", d->dev);
	else if (d->minor >= 0)
		snprintf(dev, sizeof(dev), "card%d", d->minor);
	else
		snprintf(dev, sizeof(dev), "%.40s-any", d->driver ? d->driver : "drm");
	for (unsigned int i = 0; i < h->gpus; i++)
		if (!strcmp(h->gpu[i].dev, dev))
			return (uint16_t)i;
	if (h->gpus == RH_GPUS)
		return GT_NONE16;
	snprintf(h->gpu[h->gpus].driver, 32, "%s", d->driver ? d->driver : "");
	strcpy(h->gpu[h->gpus].dev, dev);
	return (uint16_t)h->gpus++;
}

static inline uint16_t rh_ring(struct gt_plugin *p, uint16_t gpu, const char *name,
			       enum gt_engine engine)
{
	struct rh *h = (struct rh *)p;
	struct rh_gpu *g;

	if (gpu >= h->gpus)
		return GT_NONE16;
	g = &h->gpu[gpu];
	for (unsigned int i = 0; i < g->rings; i++)
		if (!strcmp(g->ring[i], name))
			return (uint16_t)i;
	if (g->rings == RH_RINGS)
		return GT_NONE16;
	snprintf(g->ring[g->rings], sizeof(g->ring[0]), "%s", name);
	return (uint16_t)g->rings++;
}

static inline int rh_watch(struct gt_plugin *p, int fd, bool on)
{
	return 0;
}

static inline void rh_timer(struct gt_plugin *p, uint64_t ns)
{
	((struct rh *)p)->timer = ns;
}

static inline int __attribute__((format(printf, 3, 4)))
rh_error(struct gt_plugin *p, int err, const char *fmt, ...)
{
	struct rh *h = (struct rh *)p;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(h->error, sizeof(h->error), fmt, ap);
	va_end(ap);
	if (!h->errors++)
		strcpy(h->first, h->error);
	return -err;
}

static inline void __attribute__((format(printf, 3, 4)))
rh_log(struct gt_plugin *p, int priority, const char *fmt, ...)
{
}

static inline uint64_t rh_now(struct gt_plugin *p)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec + ((struct rh *)p)->ahead;
}

static const struct gt_host rh_host = {
	.push = rh_push,
	.watermark = rh_watermark,
	.gpu = rh_gpu,
	.ring = rh_ring,
	.watch = rh_watch,
	.timer = rh_timer,
	.error = rh_error,
	.log = rh_log,
	.now = rh_now,
};

/** rh_new() - a host whose plugin has the files and maps given */
static inline struct rh *rh_new(const char *files, const char *events_dir, bool keep)
{
	struct rh *h = calloc(1, sizeof(*h));

	h->p.host = &rh_host;
	h->p.options = &h->opt;
	h->p.recording = true;
	h->p.events_dir = events_dir;
	h->opt.files = strdup(files);
	h->opt.speed = (char *)"0";
	h->keep = keep;
	return h;
}

static inline void rh_free(struct rh *h)
{
	if (h->p.priv)
		gt_replay_stop(&h->p);
	free(h->opt.files);
	free(h->rec);
	free(h);
}

/** rh_play() - starts and plays to the end; what start() or the last drain() returned */
static inline int rh_play(struct rh *h)
{
	int ret = gt_replay_start(&h->p);

	if (ret >= 0 && h->reader)
		ret = gt_source_reopen(gt_replay_source(h->p.priv, 0), h->reader);
	while (ret >= 0) {
		ret = gt_replay_drain(&h->p);
		/* a file that is waited for is waited for; the recording's time passes at once */
		if (!ret)
			h->ahead += h->timer;
	}
	return ret;
}

#endif
