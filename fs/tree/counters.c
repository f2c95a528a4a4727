/* SPDX-License-Identifier: GPL-2.0 */
/* Hardware counters of a kernel, or of all of a GPU's that the caller may see. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lines.h"

#define COUNTERS_MAX 512 /* different ones of a GPU */

/** struct sums - counters by name */
struct sums {
	unsigned int n;
	struct gt_kernel_counter c[COUNTERS_MAX];
};

static void add(struct sums *sums, const struct gt_kernel_counter *c)
{
	struct gt_kernel_counter *to = NULL;

	for (unsigned int i = 0; i < sums->n && !to; i++)
		if (!strcmp(sums->c[i].name, c->name))
			to = &sums->c[i];
	if (!c->count)
		return;
	if (!to && sums->n == COUNTERS_MAX)
		return;
	if (!to) {
		sums->c[sums->n++] = *c;
		return;
	}
	to->count += c->count;
	to->sum += c->sum;
	to->min = c->min < to->min ? c->min : to->min;
	to->max = c->max > to->max ? c->max : to->max;
}

static void add_kernel(struct sums *sums, const struct gt_kernel *k)
{
	for (unsigned int i = 0; i < k->ncounters; i++)
		add(sums, &k->counter[i]);
}

/* Of the kernel, or of those of the GPU that the caller sees. Lock for some kernels at a time */
static int take(const struct gt_show *s, struct sums *sums)
{
	struct gt_model *m = s->app->model;
	bool one = s->obj.kind == GT_DIR_KERNEL;

	for (unsigned int i = one ? s->obj.id : 0, end;; i = end) {
		GT_MODEL_LOCK(m);
		if (one ? !gt_obj_kernel(s) : !gt_obj_gpu(s))
			return -ENODEV;
		end = one ? i + 1 : i + 64;
		for (unsigned int k = i; k < end && k < m->nkernels; k++)
			if (m->kernels[k]->gpu == s->obj.gpu &&
			    gt_kernel_seen(m->kernels[k], &s->view))
				add_kernel(sums, m->kernels[k]);
		if (one || end >= m->nkernels)
			return 0;
	}
}

bool gt_has_counters(const struct gt_show *s)
{
	const struct gt_model *m = s->app->model;
	GT_MODEL_LOCK(s->app->model);

	for (unsigned int i = 0; i < m->nkernels; i++) {
		const struct gt_kernel *k = m->kernels[i];

		if (k->gpu == s->obj.gpu && k->ncounters && gt_kernel_seen(k, &s->view) &&
		    (s->obj.kind != GT_DIR_KERNEL || s->obj.id == i))
			return true;
	}
	return false;
}

/* Most counters count; some are averages and the like */
static void number(struct gt_text *t, const char *key, double v)
{
	char text[48];

	gt_text_str(t, key);
	if (v == (double)(int64_t)v && v > -9e15 && v < 9e15) {
		gt_text_i64(t, (int64_t)v);
		return;
	}
	snprintf(text, sizeof(text), "%.6f", v);
	for (char *c = text; *c; c++)
		if (*c == ',')
			*c = '.';
	gt_text_str(t, text);
}

/*
 * Of an instance or the sum over all, by AMD's several names of one thing: L2 is TCC on CDNA, GL2C
 * on RDNA; EA, its way to memory, was renamed to EA0. False: not counted.
 */
static bool value(const struct sums *s, const char *const *names, double *out)
{
	for (; *names; names++) {
		char sum[GT_KERNEL_COUNTER];

		snprintf(sum, sizeof(sum), "%s_sum", *names);
		for (unsigned int i = 0; i < s->n; i++)
			if (!strcmp(s->c[i].name, sum) || !strcmp(s->c[i].name, *names)) {
				*out = s->c[i].sum;
				return true;
			}
	}
	return false;
}

static const char *const hit[] = { "TCC_HIT", "GL2C_HIT", NULL };
static const char *const miss[] = { "TCC_MISS", "GL2C_MISS", NULL };
static const char *const reads[] = { "TCC_EA0_RDREQ", "TCC_EA_RDREQ", "GL2C_EA_RDREQ", NULL };
static const char *const reads_32[] = { "TCC_EA0_RDREQ_32B", "TCC_EA_RDREQ_32B",
					"GL2C_EA_RDREQ_32B", NULL };
static const char *const reads_dram[] = { "TCC_EA0_RDREQ_DRAM", "TCC_EA_RDREQ_DRAM", NULL };

static void percent(struct gt_text *t, const char *key, double part, double whole)
{
	double p = whole > 0 ? part / whole : -1;

	if (!(p >= 0 && p <= 1))
		return; /* nothing was asked for, or these are not of the same dispatches */
	gt_text_str(t, key);
	gt_text_ch(t, ' ');
	gt_text_milli(t, (uint64_t)(p * 100000 + 0.5), 2);
	gt_text_ch(t, '\n');
}

static void derived(struct gt_text *t, const struct sums *s)
{
	double a, b;

	if (value(s, hit, &a) && value(s, miss, &b))
		percent(t, "l2_hit_percent", a, a + b);
	if (!value(s, reads, &b))
		return;
	if (value(s, reads_32, &a))
		percent(t, "read_32b_percent", a, b);
	if (value(s, reads_dram, &a))
		percent(t, "read_dram_percent", a, b);
}

int gt_show_counters(struct gt_text *t, const struct gt_show *s)
{
	struct sums *sums = calloc(1, sizeof(*sums));
	int ret = sums ? take(s, sums) : -ENOMEM;

	for (unsigned int i = 0; !ret && i < sums->n; i++) {
		const struct gt_kernel_counter *c = &sums->c[i];

		gt_text_word(t, c->name, sizeof(c->name));
		gt_text_gkv(t, "count", c->count);
		number(t, " sum=", c->sum);
		number(t, " min=", c->min);
		number(t, " avg=", c->sum / (double)c->count);
		number(t, " max=", c->max);
		gt_text_ch(t, '\n');
	}
	if (!ret)
		derived(t, sums);
	free(sums);
	return ret;
}
