/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The GPU of an event that names none, as gpu_scheduler's before Linux 6.17. Its job tells, if that
 * is remembered. A submission is made by a thread of the process that uses the GPU: the host looks
 * which GPUs that process has open. Where it has several, or has ended already, the context tells:
 * a scheduler entity belongs to one GPU for life. A context's number may be a pointer that is used
 * again, so the submitter is asked first. Queues are made and destroyed by their process, too.
 *
 * In a recording there is nobody to ask: all is said of the GPU that stands for all.
 */
#include "internal.h"

/* Calls of the process that uses the GPU, besides SUBMIT */
#define BY_OWNER (1u << GT_QUEUE_CREATE | 1u << GT_QUEUE_DESTROY)

#define ASK_AGAIN_NS 1000000000ull /* a process may open another GPU, or none had been open yet */

/* What the host said of this thread lately. */
static uint16_t by_thread(struct gt_eventmap *m, const struct gt_section *s, uint32_t tid,
			  uint64_t ts)
{
	struct gt_table *t = &m->submitters;
	uint32_t i = gt_table_find(t, s->map, tid);
	uint16_t gpu;

	if (i && ts - t->slots[i].a < ASK_AGAIN_NS)
		return t->slots[i].gpu;
	gpu = gt_gpu_ask(m, s, NULL, -1, tid);
	if (!i)
		i = gt_table_add(t, s->map, tid);
	t->slots[i].a = ts;
	t->slots[i].gpu = gpu;
	return gpu;
}

static void remember_context(struct gt_eventmap *m, const struct gt_section *s, uint64_t ctx,
			     uint16_t gpu)
{
	struct gt_table *t = &m->contexts;
	uint32_t i = gt_table_find(t, s->map, ctx);

	if (!i)
		i = gt_table_add(t, s->map, ctx);
	t->slots[i].gpu = gpu;
}

static uint16_t by_context(const struct gt_eventmap *m, const struct gt_section *s, uint64_t ctx)
{
	uint32_t i = ctx == GT_NONE64 ? 0 : gt_table_find(&m->contexts, s->map, ctx);

	return i ? m->contexts.slots[i].gpu : GT_NONE16;
}

uint16_t gt_gpu_concluded(struct gt_eventmap *m, struct gt_section *s, const struct gt_job *j,
			  uint32_t tid, uint64_t ts)
{
	bool submit = s->bits & (1u << GT_SUBMIT), caller = submit || s->bits & BY_OWNER;
	uint16_t gpu = GT_NONE16;

	if (m->p->recording || (!s->nmatch && !caller))
		return gt_gpu_any(m, s);
	if (!caller)
		gpu = gt_job_gpu(m, s, j);
	else if (tid && tid != GT_NONE32)
		gpu = by_thread(m, s, tid, ts);
	if (gpu == GT_NONE16)
		gpu = by_context(m, s, j->ctx);
	else if (submit && j->ctx != GT_NONE64)
		remember_context(m, s, j->ctx, gpu);
	return gpu == GT_NONE16 ? gt_gpu_any(m, s) : gpu;
}
