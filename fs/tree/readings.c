/* SPDX-License-Identifier: GPL-2.0 */
/*
 * memory, clock, power and temperature of a GPU, and what `utilization` has beside its rings: what
 * a backend reads off when somebody looks.
 */
#include <errno.h>
#include <string.h>

#include "lines.h"

#define TICK_NS	 (GT_SEC / 4) /* so long a text may be shown again */
#define STALE_NS (5 * GT_SEC) /* then whoever reads it off does not any more */

static const char *const names[GT_GAUGE_KINDS] = {
	[GT_GAUGE_MEMORY] = "memory",	 [GT_GAUGE_CLOCK] = "clock",
	[GT_GAUGE_POWER] = "power",	 [GT_GAUGE_TEMPERATURE] = "temperature",
	[GT_GAUGE_BUSY] = "utilization",
};

static enum gt_gauge_kind kind_of(const struct gt_show *s)
{
	enum gt_gauge_kind k = 0;

	while (k < GT_GAUGE_KINDS && strcmp(names[k], s->file->name))
		k++;
	return k;
}

/* Of @kind, copied; -errno as gt_gauge_lines() */
static int take(const struct gt_show *s, enum gt_gauge_kind kind, struct gt_gauge *out)
{
	uint64_t now = gt_model_now(s->app->model);
	const struct gt_gauges *g;
	const struct gt_gpu *gpu;
	int n = 0;

	GT_MODEL_LOCK(s->app->model);
	gpu = gt_obj_gpu(s);
	if (!gpu)
		return -ENODEV;
	g = gpu->gauges;
	if (!g || !(g->has & 1U << kind))
		return -ENOENT;
	for (unsigned int i = 0; now < g->at + STALE_NS && i < g->n; i++)
		if (g->g[i].kind == kind)
			out[n++] = g->g[i];
	return n ? n : -EAGAIN;
}

int gt_gauge_lines(struct gt_text *t, const struct gt_show *s, enum gt_gauge_kind kind)
{
	struct gt_gauge g[GT_GAUGES_MAX];
	int n = take(s, kind, g);

	for (int i = 0; i < n; i++) {
		gt_text_word(t, g[i].key, sizeof(g[i].key));
		gt_text_ch(t, ' ');
		gt_text_i64(t, g[i].value);
		gt_text_ch(t, '\n');
	}
	return n < 0 ? n : 0;
}

bool gt_has_gauges(const struct gt_show *s)
{
	enum gt_gauge_kind kind = kind_of(s);
	const struct gt_gpu *g;

	GT_MODEL_LOCK(s->app->model);
	g = gt_obj_gpu(s);
	return kind < GT_GAUGE_KINDS && g && g->gauges && g->gauges->has & 1U << kind;
}

uint64_t gt_gen_gauges(const struct gt_show *s)
{
	uint64_t now = gt_model_now(s->app->model);
	bool read_off;

	{
		GT_MODEL_LOCK(s->app->model);
		const struct gt_gpu *g = gt_obj_gpu(s);

		read_off = g && (g->gauges || g->use);
	}
	return gt_gen_mix(gt_gen_moving(s), read_off ? now / TICK_NS : 0);
}

uint64_t gt_gen_uses(const struct gt_show *s)
{
	uint64_t now = gt_model_now(s->app->model);
	bool read_off;

	{
		GT_MODEL_LOCK(s->app->model);
		const struct gt_proc *p = gt_obj_proc(s);

		read_off = p && p->uses && !p->dead;
	}
	return gt_gen_mix(gt_gen_moving(s), read_off ? now / TICK_NS : 0);
}

int gt_show_gauges(struct gt_text *t, const struct gt_show *s)
{
	int err;

	gt_app_look(s->app, GT_LOOK_GPUS);
	err = gt_gauge_lines(t, s, kind_of(s));
	if (err == -EAGAIN) {
		gt_text_str(t, "unavailable\n"); /* it sleeps, and is left asleep */
		err = 0;
	}
	return err;
}
