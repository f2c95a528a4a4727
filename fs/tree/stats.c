/* SPDX-License-Identifier: GPL-2.0 */
/* Utilization, counters, depth and throughput, as GPUs, rings, queues and processes show them. */
#include <errno.h>

#include "lines.h"

const uint64_t gt_util_windows[3] = { GT_SEC, 10 * GT_SEC, 60 * GT_SEC };

struct gt_util gt_util_of(const struct gt_busy *b, uint64_t now)
{
	struct gt_util u = { .total = b->total_ns };

	for (int i = 0; i < 3; i++)
		u.ns[i] = gt_busy_ns(b, now, gt_util_windows[i]);
	return u;
}

struct gt_util gt_util_ring(const struct gt_model *m, const struct gt_ring *r, uint64_t now)
{
	struct gt_util u = { .total = r->busy.total_ns };

	for (int i = 0; i < 3; i++)
		u.ns[i] = gt_ring_busy_ns(m, r, now, gt_util_windows[i]);
	return u;
}

void gt_util_avgs(struct gt_text *t, const struct gt_util *u)
{
	static const char *const keys[3] = { " avg1=", " avg10=", " avg60=" };

	for (int i = 0; i < 3; i++) {
		gt_text_str(t, keys[i]);
		gt_text_milli(t, gt_percent(u->ns[i], gt_util_windows[i]), 2);
	}
	gt_text_gkv(t, "total_ns", u->total);
	gt_text_ch(t, '\n');
}

unsigned int gt_told(const struct gt_model *m)
{
	const struct gt_typecount *c = &m->types;
	unsigned int told = 0;

	if (c->n[GT_COMMIT].seen)
		told |= GT_TOLD_COMMITS;
	if (c->n[GT_SYNC_WAIT_ENTER].seen || c->n[GT_SYNC_WAIT_EXIT].seen)
		told |= GT_TOLD_WAITS;
	if (c->n[GT_IOCTL_ENTER].seen || c->n[GT_IOCTL_EXIT].seen)
		told |= GT_TOLD_IOCTLS;
	if (c->n[GT_LAUNCH].seen || c->n[GT_COPY].seen)
		told |= GT_TOLD_CALLS;
	return told;
}

static void pair(struct gt_text *t, bool told, const char *n_key, uint64_t n, const char *ns_key,
		 uint64_t ns)
{
	if (!told && !n)
		return;
	gt_text_kv(t, n_key, n);
	gt_text_kv(t, ns_key, ns);
}

void gt_counts_lines(struct gt_text *t, const struct gt_counts *c, unsigned int told,
		     uint64_t inflight)
{
	gt_text_kv(t, "submitted", c->submitted);
	if (c->committed || (told & GT_TOLD_COMMITS))
		gt_text_kv(t, "committed", c->committed);
	gt_text_kv(t, "completed", c->completed);
	if (inflight != GT_NONE64)
		gt_text_kv(t, "in_flight", inflight);
	gt_text_kv(t, "errors", c->errors);
	gt_text_kv(t, "lost", c->lost);
	gt_text_kv(t, "aged", c->aged);
	gt_text_kv(t, "evicted", c->evicted);
	gt_text_kv(t, "unmatched", c->unmatched);
	pair(t, told & GT_TOLD_WAITS, "waits", c->waits, "wait_ns", c->wait_ns);
	pair(t, told & GT_TOLD_IOCTLS, "ioctls", c->ioctls, "ioctl_ns", c->ioctl_ns);
}

void gt_call_lines(struct gt_text *t, const struct gt_counts *c, unsigned int told)
{
	if (!(told & GT_TOLD_CALLS) && !c->launches && !c->copies)
		return;
	gt_text_kv(t, "launches", c->launches);
	gt_text_kv(t, "copies", c->copies);
	gt_text_kv(t, "copy_bytes", c->copy_bytes);
}

void gt_depth_lines(struct gt_text *t, const struct gt_depth *d, uint64_t now)
{
	gt_text_kv(t, "now", d->now);
	gt_text_str(t, "avg ");
	gt_text_milli(t, gt_depth_avg(d, now), 2);
	gt_text_ch(t, '\n');
	gt_text_kv(t, "peak", d->peak);
}

static void throughput(struct gt_text *t, const char *name, const struct gt_typecount *c,
		       unsigned int type, uint64_t now)
{
	gt_text_str(t, name);
	gt_text_str(t, " avg1=");
	gt_text_milli(t, gt_types_rate(c, type, now, 1), 2);
	gt_text_str(t, " avg10=");
	gt_text_milli(t, gt_types_rate(c, type, now, 10), 2);
	gt_text_gkv(t, "total", c->n[type].seen);
	gt_text_ch(t, '\n');
}

int gt_show_throughput(struct gt_text *t, const struct gt_show *s)
{
	uint64_t now = gt_model_now(s->app->model);
	struct gt_typecount c;

	{
		GT_MODEL_LOCK(s->app->model);
		const struct gt_ring *r = gt_obj_ring(s);

		if (!r)
			return -ENODEV;
		c = r->types;
	}
	/* where a source tells no SUBMIT, none is known */
	if (c.n[GT_SUBMIT].seen || !c.n[GT_COMPLETE].seen)
		throughput(t, "submitted", &c, GT_SUBMIT, now);
	throughput(t, "completed", &c, GT_COMPLETE, now);
	return 0;
}
