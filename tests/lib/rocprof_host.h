/* SPDX-License-Identifier: GPL-2.0 */
/* A host for the rocprof backend without the daemon: keeps what is reported. */
#ifndef GT_TESTS_ROCPROF_HOST_H
#define GT_TESTS_ROCPROF_HOST_H

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../../backend/rocprof/rocprof.h"

#define PH_KERNELS 256

/** struct ph_kernel - a kernel as it was reported */
struct ph_kernel {
	char *name, *text[GT_KERNEL_TEXTS];
	size_t len;
	uint64_t hash, n, ns, queue_ns, calls, total_ns;
	uint32_t uid, v[GT_KERNEL_VALUES];
	uint16_t gpu;
	char counter[64];
	double sum;
	unsigned int readings;
};

/** struct ph - the host and its plugin; @back: records that came earlier than one before */
struct ph {
	struct gt_plugin p;
	struct rp_options opt;
	struct ph_kernel kernel[PH_KERNELS];
	unsigned int kernels, gpus, errors, asked; /* for a GPU */
	char gpu[64][64];
	uint64_t types[256], copy_bytes, back, last, watermark, bad;
	char error[512];
	union gt_record first;
	uint64_t ahead, timer; /* of time; what was asked for last */
	const struct gt_userdir *made;
	unsigned int looks; /* at what users made */
};

static inline void ph_push(struct gt_plugin *p, const union gt_record *r, size_t n)
{
	struct ph *h = (struct ph *)p;

	for (; n; n--, r++) {
		if (!h->last)
			h->first = *r;
		h->back += r->ev.ts < h->last;
		h->last = r->ev.ts;
		h->types[r->ev.type]++;
		h->bad += r->ev.gpu != GT_NONE16 && r->ev.gpu >= h->gpus;
		if (r->ev.type == GT_DISPATCH && r->ev.ref < h->kernels) {
			h->kernel[r->ev.ref].n++;
			h->kernel[r->ev.ref].ns += r->ev.value;
		}
		if (r->ev.type == GT_COPY && r->ev.value != GT_NONE64)
			h->copy_bytes += r->ev.value;
	}
}

static inline void ph_watermark(struct gt_plugin *p, uint64_t ts)
{
	((struct ph *)p)->watermark = ts;
}

static inline uint16_t ph_gpu(struct gt_plugin *p, const struct gt_gpu_desc *d)
{
	struct ph *h = (struct ph *)p;
	const char *dev = d->dev ? d->dev : "any";

	h->asked++;
	for (unsigned int i = 0; i < h->gpus; i++)
		if (!strcmp(h->gpu[i], dev))
			return (uint16_t)i;
	snprintf(h->gpu[h->gpus], sizeof(h->gpu[0]), "%s", dev);
	return (uint16_t)h->gpus++;
}

static inline void ph_timer(struct gt_plugin *p, uint64_t ns)
{
	((struct ph *)p)->timer = ns;
}

static inline const struct gt_userdir *ph_userdir(struct gt_plugin *p, unsigned int i)
{
	struct ph *h = (struct ph *)p;

	h->looks += !i;
	return i ? NULL : h->made;
}

static inline int ph_watch(struct gt_plugin *p, int fd, bool on)
{
	return 0;
}

static inline int __attribute__((format(printf, 3, 4)))
ph_error(struct gt_plugin *p, int err, const char *fmt, ...)
{
	struct ph *h = (struct ph *)p;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(h->error, sizeof(h->error), fmt, ap);
	va_end(ap);
	h->errors++;
	return -err;
}

static inline uint64_t ph_now(struct gt_plugin *p)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec + ((struct ph *)p)->ahead;
}

static inline uint32_t ph_kernel(struct gt_plugin *p, const struct gt_kernel_desc *d)
{
	struct ph *h = (struct ph *)p;
	struct ph_kernel *k;
	unsigned int i = d->id;

	if (d->id == GT_NONE32)
		for (i = 0; i < h->kernels; i++)
			if (h->kernel[i].gpu == d->gpu && h->kernel[i].uid == d->uid &&
			    h->kernel[i].len == d->len &&
			    !memcmp(h->kernel[i].name, d->name, d->len))
				break;
	if (i == PH_KERNELS)
		return GT_NONE32;
	k = &h->kernel[i];
	if (i == h->kernels) {
		h->kernels++;
		k->name = malloc(d->len + 1);
		memcpy(k->name, d->name, d->len);
		k->name[d->len] = '\0';
		k->len = d->len;
		k->hash = d->hash;
		k->gpu = d->gpu;
		k->uid = d->uid;
	}
	memcpy(k->v, d->value, sizeof(k->v));
	if (d->queue_ns != GT_NONE64)
		k->queue_ns += d->queue_ns;
	if (d->calls != GT_NONE64) {
		k->calls = d->calls;
		k->total_ns = d->total_ns;
	}
	return i;
}

static inline void ph_counter(struct gt_plugin *p, uint32_t kernel, const char *name, double value)
{
	struct ph_kernel *k = &((struct ph *)p)->kernel[kernel];

	snprintf(k->counter, sizeof(k->counter), "%s", name);
	k->sum += value;
	k->readings++;
}

static inline void ph_kernel_text(struct gt_plugin *p, uint32_t kernel, enum gt_kernel_text which,
				  const char *text)
{
	struct ph_kernel *k = &((struct ph *)p)->kernel[kernel];

	free(k->text[which]);
	k->text[which] = text ? strdup(text) : NULL;
}

static inline uint64_t ph_monotonic(struct gt_plugin *p, enum gt_clock_id clock, uint64_t ts,
				    uint64_t *uncertainty)
{
	return ts;
}

static inline void ph_init(struct ph *h)
{
	static const struct gt_host host = {
		.push = ph_push,
		.watermark = ph_watermark,
		.gpu = ph_gpu,
		.timer = ph_timer,
		.watch = ph_watch,
		.error = ph_error,
		.now = ph_now,
		.kernel = ph_kernel,
		.counter = ph_counter,
		.kernel_text = ph_kernel_text,
		.monotonic = ph_monotonic,
		.userdir = ph_userdir,
	};

	memset(h, 0, sizeof(*h));
	h->p.host = &host;
	h->p.options = &h->opt;
}

/** ph_play() - reads @files to the end, as a recording; what start() said */
static inline int ph_play(struct ph *h, const char *files)
{
	int ret;

	ph_init(h);
	h->p.recording = true;
	h->opt.files = (char *)files;
	ret = rp_start(&h->p);
	while (ret >= 0)
		ret = rp_drain(&h->p);
	return ret == -ENODATA ? 0 : ret;
}

static inline void ph_done(struct ph *h)
{
	rp_stop(&h->p);
	for (unsigned int i = 0; i < h->kernels; i++) {
		free(h->kernel[i].name);
		for (unsigned int t = 0; t < GT_KERNEL_TEXTS; t++)
			free(h->kernel[i].text[t]);
	}
}

/** ph_find() - the kernel whose name begins so */
static inline struct ph_kernel *ph_find(struct ph *h, const char *begin)
{
	for (unsigned int i = 0; i < h->kernels; i++)
		if (!strncmp(h->kernel[i].name, begin, strlen(begin)))
			return &h->kernel[i];
	return NULL;
}

/** ph_file() - a file of a test's own folder, made anew */
static inline void ph_file(const char *path, const char *text, size_t len)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	if (fd < 0 || write(fd, text, len) != (ssize_t)len)
		perror(path);
	close(fd);
}

static inline void ph_text(const char *path, const char *text)
{
	ph_file(path, text, strlen(text));
}

#endif
