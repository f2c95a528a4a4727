/* SPDX-License-Identifier: GPL-2.0 */
/* A host for the amdlog backend without the daemon: keeps what is pushed; time passes when it is
 * told. */
#ifndef GT_TESTS_AMDHOST_H
#define GT_TESTS_AMDHOST_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../backend/amdlog/internal.h"

/** struct ah - the host and its plugin; @rec: what was pushed, if @keep */
struct ah {
	struct gt_plugin p;
	struct gt_amd_options opt;
	union gt_record *rec;
	size_t n, cap;
	bool keep;
	uint64_t pushed, back, last, timer, ahead;
	uint64_t types[256];
	int watched;
	char kernel[64][128];
	uint32_t kernels;
	char error[512];
};

static inline void ah_push(struct gt_plugin *p, const union gt_record *r, size_t n)
{
	struct ah *h = (struct ah *)p;

	h->pushed += n;
	for (size_t i = 0; i < n; i++) {
		h->types[r[i].ev.type]++;
		h->back += r[i].ev.ts < h->last;
		h->last = r[i].ev.ts;
	}
	if (!h->keep)
		return;
	if (h->n + n > h->cap) {
		h->cap = (h->n + n) * 2;
		h->rec = realloc(h->rec, h->cap * sizeof(*h->rec));
	}
	memcpy(h->rec + h->n, r, n * sizeof(*r));
	h->n += n;
}

static inline uint16_t ah_gpu(struct gt_plugin *p, const struct gt_gpu_desc *d)
{
	return 0;
}

static inline int ah_watch(struct gt_plugin *p, int fd, bool on)
{
	((struct ah *)p)->watched = on ? fd : -1;
	return 0;
}

static inline void ah_timer(struct gt_plugin *p, uint64_t ns)
{
	((struct ah *)p)->timer = ns;
}

static inline int __attribute__((format(printf, 3, 4)))
ah_error(struct gt_plugin *p, int err, const char *fmt, ...)
{
	struct ah *h = (struct ah *)p;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(h->error, sizeof(h->error), fmt, ap);
	va_end(ap);
	return -err;
}

static inline uint64_t ah_now(struct gt_plugin *p)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec + ((struct ah *)p)->ahead;
}

static inline size_t ah_clock_lines(struct gt_plugin *p, enum gt_clock_id clock, char *buf,
				    size_t len)
{
	return 0;
}

static inline uint32_t ah_kernel(struct gt_plugin *p, const struct gt_kernel_desc *d)
{
	struct ah *h = (struct ah *)p;

	for (uint32_t i = 0; i < h->kernels; i++)
		if (d->len < sizeof(h->kernel[i]) && !strncmp(h->kernel[i], d->name, d->len) &&
		    !h->kernel[i][d->len])
			return i;
	if (h->kernels == 64 || d->len >= sizeof(h->kernel[0]))
		return GT_NONE32;
	memcpy(h->kernel[h->kernels], d->name, d->len);
	return h->kernels++;
}

static const struct gt_host ah_host = {
	.push = ah_push,
	.gpu = ah_gpu,
	.watch = ah_watch,
	.timer = ah_timer,
	.error = ah_error,
	.kernel = ah_kernel,
	.now = ah_now,
	.clock_lines = ah_clock_lines,
};

static inline struct ah *ah_new(const char *files, bool recording)
{
	struct ah *h = calloc(1, sizeof(*h));

	h->p.host = &ah_host;
	h->p.options = &h->opt;
	h->p.recording = recording;
	h->opt.files = strdup(files);
	h->keep = true;
	h->watched = -1;
	return h;
}

static inline void ah_free(struct ah *h)
{
	gt_amd_stop(&h->p);
	free(h->opt.files);
	free(h->rec);
	free(h);
}

/** ah_play() - a recording to its end: what start() or the last drain() returned */
static inline int ah_play(struct ah *h)
{
	int ret = gt_amd_start(&h->p);

	while (ret >= 0)
		ret = gt_amd_drain(&h->p);
	return ret;
}

/** ah_settle() - drains until nothing more comes and inotify is listened to */
static inline void ah_settle(struct ah *h)
{
	for (int i = 0; i < 1000; i++) {
		gt_amd_drain(&h->p);
		if (h->watched >= 0)
			return;
	}
}

#endif
