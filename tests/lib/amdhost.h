/* SPDX-License-Identifier: GPL-2.0 */
/* A host for the amdlog backend without the daemon: keeps what is pushed; time passes when a test says so. */
#ifndef GT_TESTS_AMDHOST_H
#define GT_TESTS_AMDHOST_H

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../../backend/amdlog/amdlog.h"
#include "tmp.h"

/** struct ah - the host and its plugin; @rec: what was pushed, if @keep; @tick: ns that pass with
 * each look at the clock */
struct ah {
	struct gt_plugin p;
	struct gt_amd_options opt;
	union gt_record *rec;
	size_t n, cap;
	bool keep;
	uint64_t pushed, back, last, timer, ahead, tick, mark;
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

static inline void ah_watermark(struct gt_plugin *p, uint64_t ts)
{
	((struct ah *)p)->mark = ts;
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

	((struct ah *)p)->ahead += ((struct ah *)p)->tick;
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
	.watermark = ah_watermark,
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

/** ah_settle() - drains until nothing more comes and inotify is listened to. On a busy machine the
 * time of a drain may be over after one log, so there are as many quiet drains in a row as logs */
static inline void ah_settle(struct ah *h)
{
	const struct gt_amd *a = h->p.priv;
	unsigned int quiet = 0;

	for (int i = 0; i < 10000 && quiet <= a->n; i++) {
		gt_amd_drain(&h->p);
		quiet = h->watched >= 0 ? quiet + 1 : 0;
	}
}

/* What was pushed, and files to read
 * --------------------------------------------------------------- */

static char ah_folder[TMP_PATH_MAX];

/** ah_dir() - makes a folder for the test's logs; false: cannot */
static inline bool ah_dir(void)
{
	return tmp_dir(ah_folder, "gt-amdlog");
}

/** ah_name() - path of @n in it, good until the next call */
static inline const char *ah_name(const char *n)
{
	static char path[TMP_PATH_MAX + 256];

	snprintf(path, sizeof(path), "%s/%s", ah_folder, n);
	return path;
}

/** ah_write() - @text into log @n; @flags: O_APPEND, O_TRUNC */
static inline void ah_write(const char *n, const char *text, int flags)
{
	int fd = open(ah_name(n), O_WRONLY | O_CREAT | flags, 0644);

	if (write(fd, text, strlen(text)) < 0)
		printf("# %s\n", strerror(errno));
	close(fd);
}

/** ah_nth() - record number @n of that type that was pushed; one of zeros if there is none */
static inline const union gt_record *ah_nth(const struct ah *h, enum gt_type type, unsigned int n)
{
	static const union gt_record none;

	for (size_t i = 0; i < h->n; i++)
		if (h->rec[i].ev.type == type && !n--)
			return &h->rec[i];
	return &none;
}

/** ah_follow() - a live host that follows the logs of the folder that are like @pattern, old lines
 * of theirs as well */
static inline struct ah *ah_follow(const char *pattern)
{
	struct ah *h = ah_new(ah_name(pattern), false);
	struct gt_amd *a;

	if (gt_amd_start(&h->p))
		printf("# %s\n", h->error);
	a = h->p.priv;
	a->since = 0; /* the lines of the test are old */
	for (unsigned int i = 0; i < a->n; i++)
		a->file[i]->log.since = 0;
	ah_settle(h);
	return h;
}

/** ah_counts() - of all logs */
static inline struct gt_amd_counts ah_counts(const struct ah *h)
{
	const struct gt_amd *a = h->p.priv;
	struct gt_amd_counts n = a->gone;

	for (unsigned int f = 0; f < a->n; f++)
		for (size_t i = 0; i < sizeof(n) / sizeof(uint64_t); i++)
			((uint64_t *)&n)[i] += ((const uint64_t *)&a->file[f]->log.n)[i];
	return n;
}

#endif
